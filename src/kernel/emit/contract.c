/* Contractions: out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k], then the epilogue.
 *
 * A block computes a tile of TILE x TILE sums. A thread has `rows` x `cols` of them: rows in groups of GROUP
 * neighbours, so that the lanes of a warp read shared memory in whole vectors. Panels of TILE_K points of k go
 * through shared memory, as lanes: while one is used, the next is loaded into registers, and there are two
 * buffers. With target->same, k is cut as on the CPU, evenly into the fewest blocks of at most SAME_K points: a
 * block's products are added in order from zero, then the blocks' sums in order. */
#include "kernel/emit/writer.h"

#include "base/error.h"

#include <stdlib.h>

enum { TILE = 64, TILE_K = 16, SAME_K = 256, GROUP = 4, LANES_N = 8, LANES_M = 4 };

/* A group of axes of an operand: b, m (or n), or k. */
typedef struct axes {
    int first, n;
} axes;

/* name(at): the offset of the at-th point of the group. */
static void write_group(emit_writer *w, const char *name, const view *v, axes a)
{
    view part = {.ndim = a.n};
    for (int i = 0; i < a.n; i++) {
        part.shape[i] = v->shape[a.first + i];
        part.stride[i] = v->stride[a.first + i];
    }
    view *all[1] = {&part};
    view_collapse(all, 1);
    text_add(&w->body, "static __device__ idx %s(sizes g, idx at)\n{\n", name);
    if (part.ndim == 0)
        text_add(&w->body, "    return 0;\n");
    else if (part.ndim == 1 && part.stride[0] == 1)
        text_add(&w->body, "    return at;\n");
    else {
        text_add(&w->body, "    idx offset = 0;\n");
        for (int i = part.ndim - 1; i > 0; i--) {
            const int n = writer_number(w, part.shape[i]);
            text_add(&w->body, "    offset += at %% g.n%d * g.n%d;\n    at /= g.n%d;\n", n,
                     writer_number(w, part.stride[i]), n);
        }
        text_add(&w->body, "    return offset + at * g.n%d;\n", writer_number(w, part.stride[0]));
    }
    text_add(&w->body, "}\n\n");
}

/* The dtype of the sums' lanes: what the epilogue takes. */
static ig_dtype sum_lane(const program *p)
{
    return dtype_lane(p->post.n_inst > 0 ? (ig_dtype)p->post.inst[0].dtype : p->dtype);
}

/* lane_of0(x): an element of in[0] as a lane of the sums. */
static void write_lane_of(emit_writer *w, const program *p, int number)
{
    const ig_dtype dtype = p->in[number].dtype;
    const char *lane = emit_lane_type(sum_lane(p));
    text_add(&w->body, "static __device__ %s lane_of%d(%s x)\n{\n    return (%s)", lane, number,
             emit_storage_type(dtype), lane);
    if (dtype_is_half(dtype)) {
        w->uses |= USES_HALF;
        text_add(&w->body, "%s_to_f32(x);\n}\n\n", ig_dtype_name(dtype));
    } else
        text_add(&w->body, "x;\n}\n\n");
}

static void write_multiply(emit_writer *w, ig_dtype lane)
{
    const char *type = emit_lane_type(lane);
    text_add(&w->body, "static __device__ %s multiply_add(%s a, %s b, %s c)\n{\n    return ", type,
             type, type, type);
    if (lane == IG_F32)
        text_add(&w->body, "fmaf(a, b, c);\n}\n\n");
    else if (lane == IG_F64)
        text_add(&w->body, "fma(a, b, c);\n}\n\n");
    else
        text_add(
            &w->body,
            "(%s)((unsigned long long)c + (unsigned long long)a * (unsigned long long)b);\n}\n\n",
            type);
}

static const char *const component[4] = {"x", "y", "z", "w"};

static void write_epilogue(emit_writer *w, const program *p, int vector)
{
    const char *lane = emit_lane_type(sum_lane(p));
    const emit_space s = {.t = &p->post,
                          .axis = emit_split_axis(&p->post, p->extent[2]),
                          .vector = vector,
                          .core = "core"};
    text_add(&w->body, "static __device__ void result(PARAMS, idx row, idx col");
    for (int u = 0; u < vector; u++)
        text_add(&w->body, vector > 1 ? ", %s core%d" : ", %s core", lane, u);
    text_add(&w->body, ")\n{\n    const idx i = row * g.n%d + col;\n    (void)i;\n",
             writer_number(w, p->extent[2]));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

/* ---- panels ---- */

/* How a side's panel is loaded. */
typedef struct side {
    const char *name; /* "m" or "n" */
    int number;
    bool along_k; /* neighbouring points of k lie closer together than neighbouring rows */
    int vector;   /* elements of a load */
} side;

/* True if all strides of the axes but that of the last are multiples of n. */
static bool steps_by(const view *v, axes a, bool last, int64_t n)
{
    for (int i = a.first; i < a.first + a.n - (last ? 0 : 1); i++)
        if (v->stride[i] % n)
            return false;
    return true;
}

static side side_of(const program *p, int number, axes batch, axes rows, axes k)
{
    const operand *o = &p->in[number];
    const view *v = &o->v;
    const int64_t row = rows.n ? llabs(v->stride[rows.first + rows.n - 1]) : INT64_MAX;
    const int64_t point = k.n ? llabs(v->stride[k.first + k.n - 1]) : INT64_MAX;
    side s = {.name = number ? "n" : "m", .number = number, .along_k = point <= row, .vector = 1};
    const axes along = s.along_k ? k : rows, across = s.along_k ? rows : k;
    const int bytes = (int)ig_dtype_bytes(o->dtype), n = bytes <= 4 ? 4 : 1;
    if (n > 1 && along.n && v->stride[along.first + along.n - 1] == 1 &&
        v->shape[along.first + along.n - 1] % n == 0 && v->offset % n == 0 &&
        steps_by(v, batch, true, n) && steps_by(v, along, false, n) && steps_by(v, across, true, n))
        s.vector = n;
    return s;
}

/* Where the u-th load of a thread goes in the panel: r and kk. */
static void write_spot(emit_writer *w, const side *s, int threads)
{
    if (s->along_k)
        text_add(&w->body, "const int e = t + u * %d, kk = e %% %d * %d, r = e / %d;\n", threads,
                 TILE_K / s->vector, s->vector, TILE_K / s->vector);
    else
        text_add(&w->body, "const int e = t + u * %d, r = e %% %d * %d, kk = e / %d;\n", threads,
                 TILE / s->vector, s->vector, TILE / s->vector);
}

static int loads_of(const side *s, int threads) { return TILE * TILE_K / s->vector / threads; }

/* next_m[]: the elements of the panel that begins at point `k`, in registers. */
static void write_load_panel(emit_writer *w, const program *p, const side *s, int threads,
                             const char *k, const char *indent)
{
    const operand *o = &p->in[s->number];
    const int at = writer_operand(w, o, false), n = s->vector;
    const char *x = s->name, *type = emit_vector_type(o->dtype, n);
    text_add(&w->body, "#pragma unroll\n%sfor (int u = 0; u < %d; u++) {\n%s    ", indent,
             loads_of(s, threads), indent);
    write_spot(w, s, threads);
    text_add(&w->body,
             "%s    const bool in = %s0 + r < %s_end && %s + kk < k_end;\n"
             "%s    const idx at = in ? %s_at[u] + %s_k(g, %s + kk) : 0;\n",
             indent, x, x, k, indent, x, x, k);
    if (n > 1)
        text_add(&w->body, "%s    %s q;\n%s    if (in)\n%s        q = *(const %s *)(p%d + at);\n",
                 indent, type, indent, indent, type, at);
    for (int c = 0; c < n; c++) {
        text_add(&w->body, "%s    next_%s[u * %d + %d] = in ? lane_of%d(", indent, x, n, c,
                 s->number);
        if (n > 1)
            text_add(&w->body, "q.%s) : 0;\n", component[c]);
        else
            text_add(&w->body, "p%d[at]) : 0;\n", at);
    }
    text_add(&w->body, "%s}\n", indent);
}

/* Writes next_m[] to shared memory. */
static void write_store_panel(emit_writer *w, const side *s, int threads, int pitch,
                              const char *indent)
{
    text_add(&w->body, "#pragma unroll\n%sfor (int u = 0; u < %d; u++) {\n%s    ", indent,
             loads_of(s, threads), indent);
    write_spot(w, s, threads);
    for (int c = 0; c < s->vector; c++)
        text_add(&w->body, "%s    s%s[(buffer * %d + kk%s) * %d + r%s] = next_%s[u * %d + %d];\n",
                 indent, s->name, TILE_K,
                 s->along_k && c ? (const char *[]){"", " + 1", " + 2", " + 3"}[c] : "", pitch,
                 !s->along_k && c ? (const char *[]){"", " + 1", " + 2", " + 3"}[c] : "", s->name,
                 s->vector, c);
    text_add(&w->body, "%s}\n", indent);
}

/* ---- the kernel ---- */

typedef struct shape {
    int rows, cols; /* of a thread */
    int vector;     /* lanes that are read together */
    int threads, warps_n, pitch;
} shape;

/* Without space for more, lanes of 8 bytes have fewer sums for each thread. */
static shape shape_of(ig_dtype lane)
{
    const bool large = ig_dtype_bytes(lane) > 4;
    shape s = {.rows = large ? 4 : 8, .cols = 4, .vector = large ? 2 : 4};
    s.warps_n = TILE / (LANES_N * s.cols);
    s.threads = 32 * s.warps_n * (TILE / (LANES_M * s.rows));
    s.pitch = TILE + GROUP;
    return s;
}

/* x[] or y[]: `count` lanes of point kk, in groups of GROUP that are `step` apart. */
static void write_fragment(emit_writer *w, const shape *s, const char *to, const char *from,
                           const char *first, int count, int step, const char *type)
{
    for (int i = 0; i < count; i += s->vector) {
        text_add(&w->body,
                 "                const %s %s%d = *(const %s *)(%s + kk * %d + %s + %d);\n", type,
                 to, i, type, from, s->pitch, first, i / GROUP * step + i % GROUP);
        for (int c = 0; c < s->vector; c++)
            text_add(&w->body, "                %s[%d] = %s%d.%s;\n", to, i + c, to, i,
                     component[c]);
    }
}

/* Adds the products of point kk of both panels. */
static void write_products(emit_writer *w, const shape *s, ig_dtype lane)
{
    const char *type = emit_lane_type(lane), *vector = emit_vector_type(lane, s->vector);
    text_add(&w->body, "                %s x[%d], y[%d];\n", type, s->rows, s->cols);
    write_fragment(w, s, "x", "from_m", "ti", s->rows, LANES_M * GROUP, vector);
    write_fragment(w, s, "y", "from_n", "tj", s->cols, LANES_N * GROUP, vector);
    text_add(&w->body,
             "#pragma unroll\n                for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n                    for (int j = 0; j < %d; j++)\n"
             "                        a[i][j] = multiply_add(x[i], y[j], a[i][j]);\n",
             s->rows, s->cols);
}

/* Ends a block of k. */
static void write_cut(emit_writer *w, const shape *s, const char *lane, const char *indent)
{
    text_add(&w->body,
             "#pragma unroll\n%sfor (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n%s    for (int j = 0; j < %d; j++) {\n"
             "%s        sum[i][j] = before ? (%s)(sum[i][j] + a[i][j]) : a[i][j];\n"
             "%s        a[i][j] = 0;\n%s    }\n%sbefore = true;\n",
             indent, s->rows, indent, s->cols, indent, lane, indent, indent, indent);
}

/* The offsets of the rows that the thread loads: m_at[]. */
static void write_rows(emit_writer *w, const side *s, int threads)
{
    const char *x = s->name;
    text_add(&w->body,
             "    idx %s_at[%d];\n#pragma unroll\n    for (int u = 0; u < %d; u++) {\n        ", x,
             loads_of(s, threads), loads_of(s, threads));
    write_spot(w, s, threads);
    text_add(&w->body,
             "        %s_at[u] = %s_b(g, batch) + (%s0 + r < %s_end ? %s_row(g, %s0 + r) : 0);\n"
             "        (void)kk;\n    }\n",
             x, x, x, x, x, x);
}

static void write_begin(emit_writer *w, const program *p, const shape *s, const side *sides)
{
    const ig_dtype lane = sum_lane(p);
    const char *type = emit_lane_type(lane), *vector = emit_vector_type(lane, s->vector);
    const int m = writer_number(w, p->extent[1]), n = writer_number(w, p->extent[2]);
    const int tiles_n = writer_number(w, ceil_div(p->extent[2], TILE));
    const int tiles_m = writer_number(w, ceil_div(p->extent[1], TILE));
    const int room = 2 * TILE_K * s->pitch / s->vector;
    text_add(&w->body,
             "extern \"C\" __global__ void contract(PARAMS)\n{\n"
             "    __shared__ %s panel_m[%d], panel_n[%d];\n"
             "    %s *sm = (%s *)panel_m, *sn = (%s *)panel_n;\n"
             "    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;\n"
             "    const int ti = warp / %d * %d + lane / %d * %d;\n"
             "    const int tj = warp %% %d * %d + lane %% %d * %d;\n"
             "    const idx job = blockIdx.x;\n"
             "    const idx n0 = job %% g.n%d * %d, m0 = job / g.n%d %% g.n%d * %d;\n"
             "    const idx batch = job / g.n%d / g.n%d;\n"
             "    const idx m_end = g.n%d, n_end = g.n%d, k_end = g.n%d;\n"
             "    %s a[%d][%d], next_m[%d], next_n[%d];\n    int buffer = 0;\n",
             vector, room, room, type, type, type, s->warps_n, LANES_M * s->rows, LANES_N, GROUP,
             s->warps_n, LANES_N * s->cols, LANES_N, GROUP, tiles_n, TILE, tiles_n, tiles_m, TILE,
             tiles_n, tiles_m, m, n, writer_number(w, p->extent[3]), type, s->rows, s->cols,
             TILE * TILE_K / s->threads, TILE * TILE_K / s->threads);
    for (int i = 0; i < 2; i++)
        write_rows(w, &sides[i], s->threads);
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j++)\n            a[i][j] = 0;\n",
             s->rows, s->cols);
}

/* All points of k, panel by panel. A cut may lie within a panel. */
static void write_points(emit_writer *w, const program *p, const shape *s, const side *sides)
{
    const ig_dtype lane = sum_lane(p);
    const bool cuts = w->target->same;
    const int64_t parts = ceil_div(p->extent[3], SAME_K);
    if (cuts)
        text_add(&w->body, "    %s sum[%d][%d];\n    idx cut = g.n%d;\n    bool before = false;\n",
                 emit_lane_type(lane), s->rows, s->cols,
                 writer_number(w, parts ? ceil_div(p->extent[3], parts) : 1));
    for (int i = 0; i < 2; i++)
        write_load_panel(w, p, &sides[i], s->threads, "0", "    ");
    for (int i = 0; i < 2; i++)
        write_store_panel(w, &sides[i], s->threads, s->pitch, "    ");
    text_add(&w->body,
             "    __syncthreads();\n    for (idx k0 = 0; k0 < k_end; k0 += %d) {\n"
             "        const bool more = k0 + %d < k_end;\n        if (more) {\n",
             TILE_K, TILE_K);
    for (int i = 0; i < 2; i++)
        write_load_panel(w, p, &sides[i], s->threads, "k0 + 16", "            ");
    text_add(
        &w->body,
        "        }\n        const %s *from_m = sm + buffer * %d, *from_n = sn + buffer * %d;\n",
        emit_lane_type(lane), TILE_K * s->pitch, TILE_K * s->pitch);
    if (cuts) {
        text_add(&w->body, "        if (k0 == cut) {\n");
        write_cut(w, s, emit_lane_type(lane), "            ");
        text_add(&w->body, "            cut += g.n%d;\n        }\n", w->n_number - 1);
    }
    text_add(&w->body, "        if (k0 + %d <= %s) {\n#pragma unroll\n", TILE_K,
             cuts ? "cut && k0 + 16 <= k_end" : "k_end");
    text_add(&w->body, "            for (int kk = 0; kk < %d; kk++) {\n", TILE_K);
    write_products(w, s, lane);
    text_add(&w->body,
             "            }\n        } else {\n"
             "            for (int kk = 0; kk < %d && k0 + kk < k_end; kk++) {\n",
             TILE_K);
    if (cuts) {
        text_add(&w->body, "                if (k0 + kk == cut) {\n");
        write_cut(w, s, emit_lane_type(lane), "                    ");
        text_add(&w->body, "                    cut += g.n%d;\n                }\n",
                 w->n_number - 1);
    }
    write_products(w, s, lane);
    text_add(&w->body,
             "            }\n        }\n        buffer = 1 - buffer;\n        if (more) {\n");
    for (int i = 0; i < 2; i++)
        write_store_panel(w, &sides[i], s->threads, s->pitch, "            ");
    text_add(&w->body, "        }\n        __syncthreads();\n    }\n");
    if (cuts)
        write_cut(w, s, emit_lane_type(lane), "    ");
}

static void write_end(emit_writer *w, const shape *s, int vector)
{
    const char *value = w->target->same ? "sum" : "a";
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j += %d) {\n"
             "            const idx row = m0 + ti + i / %d * %d + i %% %d;\n"
             "            const idx col = n0 + tj + j / %d * %d + j %% %d;\n"
             "            if (row < m_end && col < n_end)\n"
             "                result(ARGS, batch * m_end + row, col",
             s->rows, s->cols, vector, GROUP, LANES_M * GROUP, GROUP, GROUP, LANES_N * GROUP,
             GROUP);
    for (int c = 0; c < vector; c++)
        text_add(&w->body, ", %s[i][j + %d]", value, c);
    text_add(&w->body, ");\n        }\n}\n");
}

ig_status emit_contract(const program *p, const emit_target *t, emitted *out)
{
    const int b = p->ndim[0], m = p->ndim[1], n = p->ndim[2], k = p->ndim[3];
    const axes batch = {0, b}, rows = {b, m}, cols = {b, n}, k0 = {b + m, k}, k1 = {b + n, k};
    const ig_dtype lane = sum_lane(p);
    const side sides[2] = {side_of(p, 0, batch, rows, k0), side_of(p, 1, batch, cols, k1)};
    const shape s = shape_of(lane);
    if (p->post.size == 0)
        return IG_OK;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1) ||
             (double)p->extent[0] * (double)p->extent[1] * (double)p->extent[2] > INT32_MAX;
    w.needs_f64 = lane == IG_F64;
    w.rolled = t->cpu;
    write_lane_of(&w, p, 0);
    write_lane_of(&w, p, 1);
    write_multiply(&w, lane);
    write_group(&w, "m_b", &p->in[0].v, batch);
    write_group(&w, "n_b", &p->in[1].v, batch);
    write_group(&w, "m_row", &p->in[0].v, rows);
    write_group(&w, "n_row", &p->in[1].v, cols);
    write_group(&w, "m_k", &p->in[0].v, k0);
    write_group(&w, "n_k", &p->in[1].v, k1);
    const int vector = p->extent[2] % GROUP == 0 ? emit_vector_width(&w, &p->post) : 1;
    write_epilogue(&w, p, vector);
    write_begin(&w, p, &s, sides);
    write_points(&w, p, &s, sides);
    write_end(&w, &s, vector);
    const int64_t tiles =
        p->extent[0] * ceil_div(p->extent[1], TILE) * ceil_div(p->extent[2], TILE);
    const uint32_t grid[3] = {(uint32_t)tiles, 1, 1}, block[3] = {(uint32_t)s.threads, 1, 1};
    return writer_finish(&w, "contract", grid, block, 0);
}
