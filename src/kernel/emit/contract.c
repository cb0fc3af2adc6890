/* Contractions: out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k], then the epilogue.
 *
 * A block computes a tile of TILE x TILE sums; a thread has EACH x EACH of them. Panels of TILE_K points of
 * k go through shared memory, as lanes. With target->same, k is cut as on the CPU, evenly into the fewest
 * blocks of at most SAME_K points: a block's products are added in order from zero, then the blocks' sums in
 * order. */
#include "kernel/emit/writer.h"

#include "base/error.h"

#include <stdlib.h>

enum { TILE_K = 16, SAME_K = 256, THREADS = 256 };

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

static void write_load(emit_writer *w, const program *p, int side)
{
    const operand *o = &p->in[side];
    const char *lane = emit_lane_type(sum_lane(p));
    const int at = writer_operand(w, o, false);
    text_add(&w->body, "static __device__ %s load%d(PARAMS, idx at)\n{\n    return (%s)", lane,
             side, lane);
    if (dtype_is_half(o->dtype)) {
        w->uses |= USES_HALF;
        text_add(&w->body, "%s_to_f32(p%d[at]);\n}\n\n", ig_dtype_name(o->dtype), at);
    } else
        text_add(&w->body, "p%d[at];\n}\n\n", at);
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

static void write_epilogue(emit_writer *w, const program *p)
{
    const emit_space s = {.t = &p->post,
                          .axis = emit_split_axis(&p->post, p->extent[2]),
                          .vector = 1,
                          .core = "core"};
    text_add(&w->body, "static __device__ void result(PARAMS, idx row, idx col, %s core)\n{\n",
             emit_lane_type(sum_lane(p)));
    text_add(&w->body, "    const idx i = row * g.n%d + col;\n    (void)i;\n",
             writer_number(w, p->extent[2]));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

/* True if neighbouring points of k lie closer together than neighbouring rows. */
static bool k_is_close(const view *v, axes rows, axes k)
{
    const int64_t row = rows.n ? llabs(v->stride[rows.first + rows.n - 1]) : INT64_MAX;
    const int64_t point = k.n ? llabs(v->stride[k.first + k.n - 1]) : INT64_MAX;
    return point <= row;
}

/* Statements that put a panel of rows [row0, +TILE) and points [k0, +TILE_K) into shared memory. */
static void write_panel(emit_writer *w, const char *name, int side, int tile, bool close)
{
    const int each = tile * TILE_K / THREADS;
    text_add(&w->body, "#pragma unroll\n            for (int u = 0; u < %d; u++) {\n", each);
    if (close)
        text_add(&w->body, "                const int kk = t %% %d, r = t / %d + u * %d;\n", TILE_K,
                 TILE_K, THREADS / TILE_K);
    else
        text_add(&w->body, "                const int r = t %% %d, kk = t / %d + u * %d;\n", tile,
                 tile, THREADS / tile);
    text_add(&w->body,
             "                const bool in = %s0 + r < %s_end && k0 + kk < k_end;\n"
             "                s%s[kk][r] = in ? load%d(ARGS, %s_batch + %s_row(g, %s0 + r) + "
             "%s_k(g, k0 + kk)) : 0;\n"
             "            }\n",
             name, name, name, side, name, name, name, name);
}

static void write_kernel(emit_writer *w, const program *p, int tile, bool close_m, bool close_n)
{
    const char *lane = emit_lane_type(sum_lane(p));
    const int each = tile / 16;
    const int64_t parts = w->target->same ? ceil_div(p->extent[3], SAME_K) : 1;
    const int m = writer_number(w, p->extent[1]), n = writer_number(w, p->extent[2]);
    const int k = writer_number(w, p->extent[3]);
    const int part = writer_number(w, parts ? ceil_div(p->extent[3], parts) : 0);
    const int tiles_n = writer_number(w, ceil_div(p->extent[2], tile));
    const int tiles_m = writer_number(w, ceil_div(p->extent[1], tile));
    const bool blocks = w->target->same;
    text_add(&w->body,
             "extern \"C\" __global__ void contract(PARAMS)\n{\n"
             "    __shared__ %s sm[%d][%d];\n    __shared__ %s sn[%d][%d];\n"
             "    const int t = threadIdx.x, tx = t & 15, ty = t >> 4;\n"
             "    const idx job = blockIdx.x;\n"
             "    const idx n0 = job %% g.n%d * %d, m0 = job / g.n%d %% g.n%d * %d;\n"
             "    const idx batch = job / g.n%d / g.n%d;\n"
             "    const idx m_end = g.n%d, n_end = g.n%d;\n"
             "    const idx m_batch = m_b(g, batch), n_batch = n_b(g, batch);\n"
             "    %s a[%d][%d];\n",
             lane, TILE_K, tile + 4, lane, TILE_K, tile + 4, tiles_n, tile, tiles_n, tiles_m, tile,
             tiles_n, tiles_m, m, n, lane, each, each);
    if (blocks)
        text_add(&w->body, "    %s sum[%d][%d];\n", lane, each, each);
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j++)\n            a[i][j] = 0;\n",
             each, each);
    text_add(&w->body, "    for (idx from = 0; from < g.n%d; from += g.n%d) {\n", k, part);
    text_add(&w->body,
             "        const idx k_end = from + g.n%d < g.n%d ? from + g.n%d : g.n%d;\n"
             "        for (idx k0 = from; k0 < k_end; k0 += %d) {\n",
             part, k, part, k, TILE_K);
    write_panel(w, "m", 0, tile, close_m);
    write_panel(w, "n", 1, tile, close_n);
    text_add(&w->body,
             "            __syncthreads();\n"
             "            const int points = k_end - k0 < %d ? (int)(k_end - k0) : %d;\n",
             TILE_K, TILE_K);
    const char *step = "                %s x[%d], y[%d];\n"
                       "#pragma unroll\n                for (int i = 0; i < %d; i++) {\n"
                       "                    x[i] = sm[kk][ty * %d + i];\n"
                       "                    y[i] = sn[kk][tx * %d + i];\n                }\n"
                       "#pragma unroll\n                for (int i = 0; i < %d; i++)\n"
                       "#pragma unroll\n                    for (int j = 0; j < %d; j++)\n"
                       "                        a[i][j] = multiply_add(x[i], y[j], a[i][j]);\n";
    text_add(&w->body,
             "            if (points == %d) {\n#pragma unroll\n"
             "                for (int kk = 0; kk < %d; kk++) {\n",
             TILE_K, TILE_K);
    text_add(&w->body, step, lane, each, each, each, each, each, each, each);
    text_add(&w->body, "                }\n            } else {\n"
                       "                for (int kk = 0; kk < points; kk++) {\n");
    text_add(&w->body, step, lane, each, each, each, each, each, each, each);
    text_add(&w->body,
             "                }\n            }\n            __syncthreads();\n        }\n");
    if (blocks)
        text_add(&w->body,
                 "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
                 "#pragma unroll\n            for (int j = 0; j < %d; j++) {\n"
                 "                sum[i][j] = from ? (%s)(sum[i][j] + a[i][j]) : a[i][j];\n"
                 "                a[i][j] = 0;\n            }\n",
                 each, each, lane);
    text_add(&w->body, "    }\n");
    if (blocks)
        text_add(&w->body, "    if (g.n%d == 0) {\n        sum[0][0] = 0;\n    }\n", k);
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j++) {\n"
             "            const idx row = m0 + ty * %d + i, col = n0 + tx * %d + j;\n"
             "            if (row < m_end && col < n_end)\n"
             "                result(ARGS, batch * g.n%d + row, col, %s);\n        }\n}\n",
             each, each, each, each, m, blocks ? "from_zero(g, sum[i][j])" : "a[i][j]");
}

ig_status emit_contract(const program *p, const emit_target *t, emitted *out)
{
    const int b = p->ndim[0], m = p->ndim[1], n = p->ndim[2], k = p->ndim[3];
    const axes batch = {0, b}, rows = {b, m}, cols = {b, n}, k0 = {b + m, k}, k1 = {b + n, k};
    const ig_dtype lane = sum_lane(p);
    if (p->post.size == 0)
        return IG_OK;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1) ||
             (double)p->extent[0] * (double)p->extent[1] * (double)p->extent[2] > INT32_MAX;
    w.needs_f64 = lane == IG_F64;
    write_load(&w, p, 0);
    write_load(&w, p, 1);
    write_multiply(&w, lane);
    write_group(&w, "m_b", &p->in[0].v, batch);
    write_group(&w, "n_b", &p->in[1].v, batch);
    write_group(&w, "m_row", &p->in[0].v, rows);
    write_group(&w, "n_row", &p->in[1].v, cols);
    write_group(&w, "m_k", &p->in[0].v, k0);
    write_group(&w, "n_k", &p->in[1].v, k1);
    write_epilogue(&w, p);
    /* Without points of k the sums are zero. */
    text_add(
        &w.body,
        "static __device__ %s from_zero(sizes g, %s x)\n{\n    return g.n%d ? x : (%s)0;\n}\n\n",
        emit_lane_type(lane), emit_lane_type(lane), writer_number(&w, p->extent[3]),
        emit_lane_type(lane));
    const int64_t big = p->extent[0] * ceil_div(p->extent[1], 128) * ceil_div(p->extent[2], 128);
    const int tile = big >= 64 && ig_dtype_bytes(lane) <= 4 ? 128 : 64;
    write_kernel(&w, p, tile, k_is_close(&p->in[0].v, rows, k0), k_is_close(&p->in[1].v, cols, k1));
    const int64_t tiles =
        p->extent[0] * ceil_div(p->extent[1], tile) * ceil_div(p->extent[2], tile);
    const uint32_t grid[3] = {(uint32_t)tiles, 1, 1}, block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "contract", grid, block, 0);
    writer_drop(&w);
    return status;
}
