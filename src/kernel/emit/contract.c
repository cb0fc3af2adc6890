/* Contractions: out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k], then the epilogue.
 *
 * A block computes a tile of TILE x TILE sums, or of twice as many rows and columns if there are enough of
 * those (LARGE). A thread has `rows` x `cols` of them: rows in groups of GROUP
 * neighbours, so that the lanes of a warp read shared memory in whole vectors. Panels of TILE_K points of k go
 * through shared memory, as lanes: while one is used, the next is loaded into registers, and there are two
 * buffers. With target->same, k is cut as on the CPU, evenly into the fewest blocks of at most SAME_K points: a
 * block's products are added in order from zero, then the blocks' sums in order. A large tile keeps the sums of
 * blocks in shared memory, so that a thread needs at most 128 registers. */
#include "kernel/emit/contract.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LARGE_SHARED = 100 * 1024, /* bytes of a block that a device must offer for them */
    LARGE_BLOCKS = 2           /* that a processor runs at once */
};
enum { TILE = 64, TILE_K = 16, SAME_K = 256, GROUP = 4, LANES_N = 8, LANES_M = 4 };

/* A group of axes of an operand: b, m (or n), or k. */
typedef struct axes {
    int first, n;
} axes;

/* name(at): the offset of the at-th point of the group. Only if `special`, the text depends on whether all strides are
 * 0, and on whether one is 1. */
static void write_group(emit_writer *w, const char *name, const view *v, axes a, bool special)
{
    view part = {.ndim = a.n};
    for (int i = 0; i < a.n; i++) {
        part.shape[i] = v->shape[a.first + i];
        part.stride[i] = v->stride[a.first + i];
    }
    view *all[1] = {&part};
    view_collapse(all, 1);
    text_add(&w->body, "static __device__ idx %s(sizes g, idx at)\n{\n", name);
    if (special && part.ndim == 0)
        text_add(&w->body, "    return 0;\n");
    else if (special && part.ndim == 1 && part.stride[0] == 1)
        text_add(&w->body, "    return at;\n");
    else {
        text_add(&w->body, "    idx offset = 0;\n");
        for (int i = part.ndim - 1; i > 0; i--) {
            const int n = writer_number(w, part.shape[i]);
            text_add(&w->body, "    offset += at %% g.n%d * g.n%d;\n    at /= g.n%d;\n", n,
                     writer_number(w, part.stride[i]), n);
        }
        text_add(&w->body, "    return offset + at * g.n%d;\n",
                 writer_number(w, part.ndim ? part.stride[0] : 0));
    }
    text_add(&w->body, "}\n\n");
}

/* The dtype of the sums' lanes: what the epilogue takes. */
ig_dtype contraction_lane(const program *p)
{
    return dtype_lane(p->post.n_inst > 0 ? (ig_dtype)p->post.inst[0].dtype : p->dtype);
}

/* lane_of_m0(x): an element as a lane of the sums. */
static void write_lane_of(emit_writer *w, const contraction *c, int side)
{
    const ig_dtype dtype = c->p->in[side].dtype;
    const char *lane = emit_lane_type(contraction_lane(c->p));
    text_add(&w->body, "static __device__ %s lane_of_%s(%s x)\n{\n    return (%s)", lane,
             c->side[side].name, emit_storage_type(dtype), lane);
    if (dtype_is_half(dtype)) {
        w->uses |= USES_HALF;
        text_add(&w->body, "%s_to_f32(x);\n}\n\n", ig_dtype_name(dtype));
    } else
        text_add(&w->body, "x;\n}\n\n");
}

static void write_multiply(emit_writer *w, int number, ig_dtype lane)
{
    const char *type = emit_lane_type(lane);
    text_add(&w->body, "static __device__ %s multiply_add%d(%s a, %s b, %s c)\n{\n    return ",
             type, number, type, type, type);
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

#define LOCAL_PARAMS (c->locals ? "unsigned char *local, int team, " : "")
#define LOCAL_ARGS (c->locals ? "local, team, " : "")

/* total0(row, col, core...): the epilogue. */
static void write_epilogue(emit_writer *w, const contraction *c)
{
    const program *p = c->p;
    const char *lane = emit_lane_type(contraction_lane(p));
    const emit_space s = {.t = &p->post,
                          .axis = emit_split_axis(&p->post, p->extent[2]),
                          .vector = c->vector,
                          .core = "core",
                          .locals = c->locals,
                          .rows = c->chain_rows,
                          .program = c->program};
    text_add(&w->body, "static __device__ void total%d(PARAMS, %sidx row, idx col", c->number,
             LOCAL_PARAMS);
    for (int u = 0; u < c->vector; u++)
        text_add(&w->body, c->vector > 1 ? ", %s core%d" : ", %s core", lane, u);
    text_add(&w->body, ")\n{\n    const idx i = row * g.n%d + col;\n    (void)i;\n",
             writer_number(w, p->extent[2]));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

/* ---- panels ---- */

/* True if all strides of the axes, or all but that of the last, are multiples of n. */
static bool steps_by(const view *v, axes a, bool last, int64_t n)
{
    for (int i = a.first; i < a.first + a.n - (last ? 0 : 1); i++)
        if (v->stride[i] % n)
            return false;
    return true;
}

/* The groups of axes of an operand. */
typedef struct groups {
    axes batch, rows, k;
} groups;

static groups groups_of(const program *p, int side)
{
    const int b = p->ndim[0], rows = p->ndim[1 + side], k = p->ndim[3];
    return (groups){{0, b}, {b, rows}, {b + rows, k}};
}

int64_t contraction_block(const emit_writer *w, const program *p)
{
    const int64_t k = p->extent[3], parts = w->target->same ? ceil_div(k, SAME_K) : 1;
    return parts && k ? ceil_div(k, parts) : 1;
}

static void plan_side(const emit_writer *w, contraction *c, int number, int tile)
{
    const operand *o = &c->p->in[number];
    const groups q = groups_of(c->p, number);
    const view *v = &o->v;
    const int64_t row = q.rows.n ? llabs(v->stride[q.rows.first + q.rows.n - 1]) : INT64_MAX;
    const int64_t point = q.k.n ? llabs(v->stride[q.k.first + q.k.n - 1]) : INT64_MAX;
    contract_side *s = &c->side[number];
    *s = (contract_side){.tile = tile, .pitch = tile + GROUP, .along_k = point <= row, .vector = 1};
    snprintf(s->name, sizeof s->name, "%c%d", number ? 'n' : 'm', c->number);
    const axes along = s->along_k ? q.k : q.rows, across = s->along_k ? q.rows : q.k;
    const int n = ig_dtype_bytes(o->dtype) <= 4 ? 4 : 1, last = along.first + along.n - 1;
    const bool whole = tile * TILE_K / n % c->shape.threads == 0 &&
                       (!s->along_k || contraction_block(w, c->p) % n == 0 ||
                        contraction_block(w, c->p) == c->p->extent[3]);
    if (n > 1 && whole && along.n && v->stride[last] == 1 && v->shape[last] % n == 0 &&
        v->offset % n == 0 && steps_by(v, q.batch, true, n) && steps_by(v, along, false, n) &&
        steps_by(v, across, true, n))
        s->vector = n;
    if (number == 0 && c->from) {
        s->vector = 1;
        s->along_k = true;
    }
}

static void plan(emit_writer *w, contraction *c)
{
    const contract_shape *s = &c->shape;
    const bool cpu = w->target->cpu;
    plan_side(w, c, 0, cpu ? SERIAL_ROWS : s->threads / 32 / s->warps_n * LANES_M * s->rows);
    plan_side(w, c, 1, cpu ? SERIAL_COLS : s->warps_n * LANES_N * s->cols);
    c->vector = c->p->extent[2] % GROUP == 0 && s->cols >= GROUP && !c->locals
                    ? emit_vector_width(w, &c->p->post)
                    : 1;
}

int64_t contraction_panel_bytes(const emit_writer *w, const contraction *c)
{
    if (w->target->cpu)
        return contraction_serial_bytes(w, c->p);
    return (int64_t)2 * TILE_K * (c->side[0].pitch + c->side[1].pitch) *
           (int64_t)ig_dtype_bytes(contraction_lane(c->p));
}

void contraction_plan(emit_writer *w, contraction *c, int64_t room)
{
    plan(w, c);
    while (contraction_panel_bytes(w, c) > room && c->shape.cols > 1 && !c->shape.matrices) {
        c->shape.cols /= 2;
        plan(w, c);
    }
}

/* Where the u-th load of a thread goes in the panel: r and kk. */
static void write_spot(emit_writer *w, const contract_side *s, int threads)
{
    if (s->along_k)
        text_add(&w->body, "const int e = t + u * %d, kk = e %% %d * %d, r = e / %d;\n", threads,
                 TILE_K / s->vector, s->vector, TILE_K / s->vector);
    else
        text_add(&w->body, "const int e = t + u * %d, r = e %% %d * %d, kk = e / %d;\n", threads,
                 s->tile / s->vector, s->vector, s->tile / s->vector);
}

static int loads_of(const contract_side *s, int threads)
{
    return s->tile * TILE_K / s->vector / threads;
}

/* Some of the loads that bring a panel: those of a side from `first` on. */
typedef struct panel_part {
    int side, first, count;
} panel_part;

/* All of them. */
static panel_part whole_panel(const contraction *c, int side)
{
    return (panel_part){side, 0, loads_of(&c->side[side], c->shape.threads)};
}

/* Declares next_m0[]. */
static void write_next_panel(emit_writer *w, const contraction *c, panel_part part)
{
    const int side = part.side;
    const contract_side *s = &c->side[side];
    const ig_dtype dtype = c->p->in[side].dtype;
    text_add(&w->body, "    %s next_%s[%d];\n",
             s->vector > 1 ? emit_vector_type(dtype, s->vector) : emit_storage_type(dtype), s->name,
             part.count);
}

/* The loop over loads: u is the number of one, and v its place in next_m0[]. */
static void write_loads_begin(emit_writer *w, panel_part part)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int v = 0; v < %d; v++) {\n        const int u = v + %d;\n"
             "        ",
             part.count, part.first);
}

/* next_m0[]: the elements of the panel that begins at point `k`, in registers. Nothing uses them until they are
 * stored, so that the loads need not be waited for. */
static void write_load_panel(emit_writer *w, const contraction *c, panel_part part, const char *k)
{
    const int side = part.side;
    const operand *o = &c->p->in[side];
    const contract_side *s = &c->side[side];
    const int n = s->vector, threads = c->shape.threads;
    const char *x = s->name, *type = emit_vector_type(o->dtype, n);
    char from[64];
    write_loads_begin(w, part);
    write_spot(w, s, threads);
    text_add(&w->body,
             "        const bool in = %s_first + r < %s_end && %s + kk < k_end;\n"
             "        const idx at = in ? %s_at[u] + %s_k(g, %s + kk) : 0;\n",
             x, x, k, x, x, k);
    if (side == 0 && c->from)
        snprintf(from, sizeof from, "((%s *)local)", emit_storage_type(o->dtype));
    else
        snprintf(from, sizeof from, "p%d", writer_operand(w, o, false));
    for (int i = 0; i < n; i++)
        text_add(&w->body, n > 1 ? "        next_%s[v].%s = 0;\n" : "        next_%s[v] = 0;\n", x,
                 component[i]);
    text_add(&w->body, "        if (in)\n            next_%s[v] = *(const %s *)(%s + at);\n    }\n",
             x, n > 1 ? type : emit_storage_type(o->dtype), from);
}

/* Writes next_m0[] to shared memory, neighbouring rows together. */
static void write_store_panel(emit_writer *w, const contraction *c, panel_part part)
{
    const contract_side *s = &c->side[part.side];
    const ig_dtype lane = contraction_lane(c->p);
    const int threads = c->shape.threads;
    const bool together = !s->along_k && s->vector == c->shape.vector;
    const char *type = emit_vector_type(lane, s->vector);
    write_loads_begin(w, part);
    write_spot(w, s, threads);
    if (together)
        text_add(&w->body, "        %s q;\n", type);
    for (int i = 0; i < s->vector; i++)
        if (together)
            text_add(&w->body, "        q.%s = lane_of_%s(next_%s[v].%s);\n", component[i], s->name,
                     s->name, component[i]);
        else
            text_add(&w->body,
                     "        s_%s[(buffer * %d + kk + %d) * %d + r + %d] = "
                     "lane_of_%s(next_%s[v]%s%s);\n",
                     s->name, TILE_K, s->along_k ? i : 0, s->pitch, s->along_k ? 0 : i, s->name,
                     s->name, s->vector > 1 ? "." : "", s->vector > 1 ? component[i] : "");
    if (together)
        text_add(&w->body, "        *(%s *)(s_%s + (buffer * %d + kk) * %d + r) = q;\n", type,
                 s->name, TILE_K, s->pitch);
    text_add(&w->body, "    }\n");
}

/* ---- the tile ---- */

/* x[] or y[]: lanes of point kk, in groups of GROUP neighbours that are `step` apart. */
static void write_fragment(emit_writer *w, const contraction *c, int side, const char *to,
                           const char *first, int count, int step)
{
    const ig_dtype lane = contraction_lane(c->p);
    const contract_side *s = &c->side[side];
    const int n = c->shape.vector < count ? c->shape.vector : count;
    const char *type = n > 1 ? emit_vector_type(lane, n) : emit_lane_type(lane);
    for (int i = 0; i < count; i += n) {
        text_add(&w->body, "        const %s %s%d = *(const %s *)(from_%s + kk * %d + %s + %d);\n",
                 type, to, i, type, s->name, s->pitch, first, i / GROUP * step + i % GROUP);
        for (int k = 0; k < n; k++)
            text_add(&w->body, n > 1 ? "        %s[%d] = %s%d.%s;\n" : "        %s[%d] = %s%d;\n",
                     to, i + k, to, i, component[k]);
    }
}

/* Adds the products of point kk of both panels. */
static void write_products(emit_writer *w, const contraction *c)
{
    const contract_shape *s = &c->shape;
    text_add(&w->body, "        %s x[%d], y[%d];\n", emit_lane_type(contraction_lane(c->p)),
             s->rows, s->cols);
    write_fragment(w, c, 0, "x", "ti", s->rows, LANES_M * GROUP);
    write_fragment(w, c, 1, "y", "tj", s->cols, LANES_N * GROUP);
    text_add(&w->body,
             "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n            for (int j = 0; j < %d; j++)\n"
             "                a[i][j] = multiply_add%d(x[i], y[j], a[i][j]);\n",
             s->rows, s->cols, c->number);
}

/* The place of a thread's sum i, j in shared memory. */
static void write_parked(emit_writer *w, const contraction *c, const char *j)
{
    text_add(&w->body, "parked[(i * %d + %s) * %d + t]", c->shape.cols, j, c->shape.threads);
}

/* Ends a block of k. */
static void write_cut(emit_writer *w, const contraction *c)
{
    if (c->shape.large) {
        text_add(&w->body,
                 "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
                 "#pragma unroll\n            for (int j = 0; j < %d; j++) {\n                ",
                 c->shape.rows, c->shape.cols);
        write_parked(w, c, "j");
        text_add(&w->body, " = from ? ");
        write_parked(w, c, "j");
        text_add(&w->body, " + a[i][j] : a[i][j];\n                a[i][j] = 0;\n            }\n");
        return;
    }
    text_add(&w->body,
             "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n            for (int j = 0; j < %d; j++) {\n"
             "                sum[i][j] = from ? (%s)(sum[i][j] + a[i][j]) : a[i][j];\n"
             "                a[i][j] = 0;\n            }\n",
             c->shape.rows, c->shape.cols, emit_lane_type(contraction_lane(c->p)));
}

/* The offsets of the rows that the thread loads: m0_at[]. */
static void write_rows(emit_writer *w, const contraction *c, int side)
{
    const contract_side *s = &c->side[side];
    const char *x = s->name;
    const int loads = loads_of(s, c->shape.threads);
    text_add(&w->body,
             "    idx %s_at[%d];\n#pragma unroll\n    for (int u = 0; u < %d; u++) {\n        ", x,
             loads, loads);
    write_spot(w, s, c->shape.threads);
    if (side == 0 && c->from)
        text_add(&w->body, "        %s_at[u] = g.n%d + r * g.n%d;\n", x,
                 writer_number(w, c->from->offset / (int64_t)ig_dtype_bytes(c->p->in[0].dtype)),
                 writer_number(w, c->from->own));
    else
        text_add(
            &w->body,
            "        %s_at[u] = %s_b(g, batch) + (%s_first + r < %s_end ? %s_row(g, %s_first + "
            "r) : 0);\n",
            x, x, x, x, x, x);
    text_add(&w->body, "        (void)kk;\n    }\n");
}

static void write_begin(emit_writer *w, const contraction *c)
{
    const program *p = c->p;
    const contract_shape *s = &c->shape;
    const contract_side *m = &c->side[0], *n = &c->side[1];
    const char *type = emit_lane_type(contraction_lane(p));
    const int group = s->cols < GROUP ? s->cols : GROUP;
    text_add(&w->body,
             "    %s *s_%s = (%s *)panels, *s_%s = s_%s + %d;\n"
             "    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;\n"
             "    const int ti = warp / %d * %d + lane / %d * %d;\n"
             "    const int tj = warp %% %d * %d + lane %% %d * %d;\n"
             "    const idx %s_end = g.n%d, %s_end = g.n%d, k_end = g.n%d;\n"
             "    int buffer = 0;\n",
             type, m->name, type, n->name, m->name, 2 * TILE_K * m->pitch, s->warps_n,
             LANES_M * s->rows, LANES_N, GROUP, s->warps_n, LANES_N * s->cols, LANES_N, group,
             m->name, writer_number(w, p->extent[1]), n->name, writer_number(w, p->extent[2]),
             writer_number(w, p->extent[3]));
    for (int i = 0; i < 2; i++) {
        if (!s->large)
            write_next_panel(w, c, whole_panel(c, i));
        write_rows(w, c, i);
    }
    if (s->matrices) {
        contraction_matrix_begin(w, c);
        return;
    }
    text_add(&w->body,
             "    %s a[%d][%d];\n#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j++)\n            a[i][j] = 0;\n",
             type, s->rows, s->cols, s->rows, s->cols);
}

/* Adds the products of the points [first, end) of both panels. */
static void write_whole_products(emit_writer *w, const contraction *c, int first, int end)
{
    text_add(&w->body, "#pragma unroll\n    for (int kk = %d; kk < %d; kk++) {\n", first, end);
    write_products(w, c);
    text_add(&w->body, "    }\n");
}

/* Adds those of the points up to `stop`, of which there are fewer than TILE_K. */
static void write_last_products(emit_writer *w, const contraction *c)
{
    text_add(&w->body, "    for (int kk = 0; k0 + kk < stop; kk++) {\n");
    write_products(w, c);
    text_add(&w->body, "    }\n");
}

/* Adds the products of both panels, up to `stop`. */
static void write_panel_products(emit_writer *w, const contraction *c)
{
    if (c->shape.matrices) {
        contraction_matrix_products(w, c);
        return;
    }
    text_add(&w->body, "    if (k0 + %d <= stop) {\n", TILE_K);
    write_whole_products(w, c, 0, TILE_K);
    text_add(&w->body, "    } else {\n");
    write_last_products(w, c);
    text_add(&w->body, "    }\n");
}

/* Loads (or stores) the panels of the next step, if there is one. */
static void write_next(emit_writer *w, const contraction *c, bool stores)
{
    text_add(&w->body, "    if (next < k_end) {\n");
    for (int i = 0; i < 2; i++)
        if (stores)
            write_store_panel(w, c, whole_panel(c, i));
        else
            write_load_panel(w, c, whole_panel(c, i), "next");
    text_add(&w->body, "    }\n");
}

/* A step of a large tile. It has few registers for loads, so it loads a quarter of the panels while it uses a quarter
 * of the points. Where fewer points are left, nothing is loaded at the same time: that would cost registers, too. Behind
 * the last point the panels get zeros, which nothing reads; a condition there would let the compiler delay the loads. */
static void write_large_step(emit_writer *w, const contraction *c)
{
    enum { QUARTER = TILE_K / 4 };
    text_add(&w->body, "    buffer = 1 - buffer;\n    if (k0 + %d <= stop) {\n", TILE_K);
    for (int i = 0; i < 4; i++) {
        const panel_part all = whole_panel(c, i / 2);
        const panel_part part = {all.side, i % 2 * all.count / 2, all.count / 2};
        text_add(&w->body, "    {\n");
        write_next_panel(w, c, part);
        write_load_panel(w, c, part, "next");
        write_whole_products(w, c, i * QUARTER, (i + 1) * QUARTER);
        write_store_panel(w, c, part);
        text_add(&w->body, "    }\n");
    }
    text_add(&w->body, "    } else {\n");
    write_last_products(w, c);
    for (int i = 0; i < 2; i++) {
        text_add(&w->body, "    {\n");
        write_next_panel(w, c, whole_panel(c, i));
        write_load_panel(w, c, whole_panel(c, i), "next");
        write_store_panel(w, c, whole_panel(c, i));
        text_add(&w->body, "    }\n");
    }
    text_add(&w->body, "    }\n");
}

/* One step: while a panel is used, the next one is loaded. */
static void write_step(emit_writer *w, const contraction *c)
{
    const char *type = emit_lane_type(contraction_lane(c->p));
    const char *m = c->side[0].name, *n = c->side[1].name;
    if (!c->shape.large)
        write_next(w, c, false);
    text_add(&w->body,
             "    const %s *from_%s = s_%s + buffer * %d, *from_%s = s_%s + buffer * %d;\n", type,
             m, m, TILE_K * c->side[0].pitch, n, n, TILE_K * c->side[1].pitch);
    if (c->shape.large) {
        write_large_step(w, c);
        return;
    }
    write_panel_products(w, c);
    text_add(&w->body, "    buffer = 1 - buffer;\n");
    write_next(w, c, true);
}

/* The panels of the first step. */
static void write_first(emit_writer *w, const contraction *c)
{
    if (c->shape.large) {
        text_add(&w->body, "    {\n");
        for (int i = 0; i < 2; i++)
            write_next_panel(w, c, whole_panel(c, i));
    }
    for (int i = 0; i < 2; i++)
        write_load_panel(w, c, whole_panel(c, i), "0");
    for (int i = 0; i < 2; i++)
        write_store_panel(w, c, whole_panel(c, i));
    text_add(&w->body, c->shape.large ? "    }\n" : "");
}

/* All points of k, block by block and panel by panel. */
static void write_points(emit_writer *w, const contraction *c)
{
    const contract_shape *s = &c->shape;
    const char *type = emit_lane_type(contraction_lane(c->p));
    const int part = writer_number(w, contraction_block(w, c->p));
    if (s->large && w->target->same)
        text_add(&w->body, "    %s *parked = s_%s + %d;\n", type, c->side[1].name,
                 2 * TILE_K * c->side[1].pitch);
    else if (w->target->same)
        text_add(&w->body, "    %s sum[%d][%d];\n", type, s->rows, s->cols);
    write_first(w, c);
    text_add(&w->body,
             "    __syncthreads();\n    for (idx from = 0; from < k_end; from += g.n%d) {\n"
             "    const idx stop = k_end - from < g.n%d ? k_end : from + g.n%d;\n"
             "    for (idx k0 = from; k0 < stop; k0 += %d) {\n"
             "    const idx next = k0 + %d < stop ? k0 + %d : stop;\n",
             part, part, part, TILE_K, TILE_K, TILE_K);
    write_step(w, c);
    text_add(&w->body, "    __syncthreads();\n    }\n");
    if (w->target->same)
        write_cut(w, c);
    text_add(&w->body, "    }\n");
}

void contraction_tile(emit_writer *w, const contraction *c)
{
    const contract_shape *s = &c->shape;
    const char *m = c->side[0].name, *n = c->side[1].name;
    if (w->target->cpu) {
        contraction_serial_tile(w, c);
        return;
    }
    write_begin(w, c);
    write_points(w, c);
    if (s->matrices) {
        contraction_matrix_end(w, c);
        return;
    }
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j += %d) {\n"
             "            const int team = ti + i / %d * %d + i %% %d;\n"
             "            const idx row = %s_first + team;\n"
             "            const idx col = %s_first + tj + j / %d * %d + j %% %d;\n"
             "            if (row < %s_end && col < %s_end)\n"
             "                total%d(ARGS, %sbatch * %s_end + row, col",
             s->rows, s->cols, c->vector, GROUP, LANES_M * GROUP, GROUP, m, n, GROUP,
             LANES_N * GROUP, GROUP, m, n, c->number, LOCAL_ARGS, m);
    for (int k = 0; k < c->vector; k++) {
        char at[24];
        snprintf(at, sizeof at, "j + %d", k);
        text_add(&w->body, w->target->same ? ", k_end ? " : ", ");
        if (s->large && w->target->same)
            write_parked(w, c, at);
        else
            text_add(&w->body, w->target->same ? "sum[i][%s]" : "a[i][%s]", at);
        text_add(&w->body, w->target->same ? " : 0" : "");
    }
    text_add(&w->body, ");\n        }\n");
}

void contraction_functions(emit_writer *w, const contraction *c)
{
    static const char *const parts[3] = {"b", "row", "k"};
    w->needs_f64 = w->needs_f64 || contraction_lane(c->p) == IG_F64;
    for (int side = 0; side < 2; side++) {
        const groups q = groups_of(c->p, side);
        const axes all[3] = {q.batch, q.rows, q.k};
        write_lane_of(w, c, side);
        for (int i = 0; i < 3; i++) {
            char name[24];
            snprintf(name, sizeof name, "%s_%s", c->side[side].name, parts[i]);
            /* A CPU gains by a step of 1 in the inner loop that copies a panel only. */
            const bool inner = i == (c->side[side].along_k ? 2 : 1);
            write_group(w, name, &c->p->in[side].v, all[i], inner || !w->target->cpu);
        }
    }
    write_multiply(w, c->number, contraction_lane(c->p));
    write_epilogue(w, c);
}

/* ---- the kernel ---- */

/* Points of an axis that tiles cover. */
static int64_t covered(int64_t n, int tile) { return ceil_div(n, tile) * tile; }

/* True if there are enough large tiles to keep the device busy, and they do not compute much more than small ones. */
static bool is_large(const program *p, const emit_target *t)
{
    const int64_t m = p->extent[1], n = p->extent[2], large = 2 * TILE;
    return contraction_lane(p) == IG_F32 && t->subgroup == 32 && t->threads >= 256 &&
           t->shared_bytes >= LARGE_SHARED && t->processors > 0 &&
           2 * p->extent[0] * ceil_div(m, large) * ceil_div(n, large) >= 3 * t->processors &&
           4 * covered(m, (int)large) * covered(n, (int)large) <=
               5 * covered(m, TILE) * covered(n, TILE);
}

/* Lanes of 8 bytes have fewer sums for each thread, since registers are few. */
static contract_shape shape_of(const program *p, const emit_target *t)
{
    const bool wide = ig_dtype_bytes(contraction_lane(p)) > 4;
    if (t->cpu)
        return SERIAL_SHAPE;
    contract_shape s = {.rows = wide ? 4 : 8, .cols = 4, .vector = wide ? 2 : 4};
    int tile = TILE;
    s.matrices = contraction_uses_matrices(p, t);
    if (!s.matrices && is_large(p, t)) {
        s.cols = 8;
        s.large = true;
        tile *= 2;
    }
    s.warps_n = tile / (LANES_N * s.cols);
    s.threads = 32 * s.warps_n * (tile / (LANES_M * s.rows));
    return s;
}

/* The head of the kernel. Large tiles have their shared memory from the launch: returns its bytes. */
static size_t write_head(emit_writer *w, const contraction *c)
{
    const int64_t bytes =
        contraction_panel_bytes(w, c) +
        (w->target->same && c->shape.large ? (int64_t)c->side[0].tile * c->side[1].tile * 4 : 0);
    const bool large = c->shape.large;
    text_add(&w->body, "extern \"C\" __global__ void ");
    if (large)
        text_add(&w->body, "__launch_bounds__(%d, %d) ", c->shape.threads, LARGE_BLOCKS);
    text_add(&w->body, "contract(PARAMS)\n{\n");
    if (large)
        text_add(&w->body, "    extern __shared__ uint4 panels[];\n");
    else
        text_add(&w->body, "    __shared__ uint4 panels[%lld];\n", (long long)(bytes / 16));
    return large ? (size_t)bytes : 0;
}

ig_status emit_contract(const program *p, const emit_target *t, emitted *out)
{
    contraction c = {.p = p, .shape = shape_of(p, t), .chain_rows = 0};
    if (p->post.size == 0)
        return IG_OK;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1) ||
             (double)p->extent[0] * (double)p->extent[1] * (double)p->extent[2] > INT32_MAX;
    contraction_plan(&w, &c, (int64_t)t->shared_bytes);
    contraction_functions(&w, &c);
    const int rows = c.side[0].tile, cols = c.side[1].tile;
    const int64_t across = ceil_div(p->extent[2], cols), down = ceil_div(p->extent[1], rows);
    const int tiles_n = writer_number(&w, across), tiles_m = writer_number(&w, down);
    const size_t shared_bytes = write_head(&w, &c);
    text_add(&w.body,
             "    const idx job = blockIdx.x, batch = job / g.n%d / g.n%d;\n"
             "    const idx n0_first = job %% g.n%d * %d, m0_first = job / g.n%d %% g.n%d * %d;\n",
             tiles_n, tiles_m, tiles_n, cols, tiles_n, tiles_m, rows);
    contraction_tile(&w, &c);
    text_add(&w.body, "}\n");
    const uint32_t grid[3] = {(uint32_t)(p->extent[0] * down * across), 1, 1};
    const uint32_t block[3] = {(uint32_t)c.shape.threads, 1, 1};
    return writer_finish(&w, "contract", grid, block, shared_bytes);
}
