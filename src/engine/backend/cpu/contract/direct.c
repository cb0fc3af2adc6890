/* Convolutions with few channels of output in each group, such as depthwise ones, without panels: the kernel for thin
 * products multiplies the weights of a group with its windows where they are. A panel would hold each element of
 * the input as often as windows overlap, and few products would use it.
 *
 * Windows one element apart are runs of contiguous rows for this kernel. Rows of windows that are short are computed as
 * one run through the whole plane, in which the sums between the rows are not used. If windows are further apart, the
 * lines of a plane are first dealt out in scratch, so that windows are one element apart there.
 *
 * A sum has the order of every other product: its k is one block. */
#include "engine/backend/cpu/contract/tile.h"

enum {
    ROWS_MOST = 16,          /* of the weight in one group */
    BAND_SUMS = 4096,        /* of a band, in the L1 cache */
    SCRATCH_BYTES = 1 << 19, /* of a band: longer rows of windows are packed */
    EPILOGUE_SUMS = 2048,    /* of small planes that go through the epilogue together ... */
    SHORT_PLANE =
        160, /* ... in one block; longer ones have a block each, with one value of a bias */
    RUN_BYTES = 32768, /* all points of a run: the kernel then keeps its sums in registers */
    RUN_UNIT = 64
};

/* ---- the plan ---- */

int64_t direct_flat_bytes(const contraction *c)
{
    const sliding *s = &c->direct.windows;
    return s->flat ? c->m.extent * s->band * s->pitch * c->lane_bytes + SLIDING_SLACK : 0;
}

int64_t direct_sums_bytes(const contraction *c)
{
    const sliding *s = &c->direct.windows;
    return c->direct.together * c->m.extent * s->band * s->width * c->lane_bytes + SLIDING_SLACK;
}

static bool direct_fits(contraction *c, const axis_group *row, const axis_group *k)
{
    const int most = c->kernel->group > 1 ? c->kernel->thin_beside : ROWS_MOST;
    sliding *s = &c->direct.windows;
    if (!c->kernel->thin || c->kc.parts != 1 || c->batches == 0 || c->m.extent < 1 ||
        c->m.extent > most || !sliding_set(s, row, k) || !sliding_overlaps(s, c->kc.extent))
        return false;
    sliding_cut(s, BAND_SUMS / c->m.extent, c->element_bytes);
    const int64_t plane = c->m.extent * s->height * s->width;
    c->direct.together = s->bands > 1 || plane > EPILOGUE_SUMS ? 1 : EPILOGUE_SUMS / plane;
    return sliding_bytes(s, c->element_bytes) + direct_flat_bytes(c) + direct_sums_bytes(c) <=
           SCRATCH_BYTES;
}

void direct_choose(contraction *c)
{
    const program *p = c->p;
    const int b = p->ndim[0], m = p->ndim[1], n = p->ndim[2];
    axis_group row, k;
    if (c->stored[0] || c->stored[1])
        return;
    axis_group_set(&row, &p->in[1].v, b, n);
    axis_group_set(&k, &p->in[1].v, b + n, p->ndim[3]);
    if (!direct_fits(c, &row, &k))
        return;
    const bool merged = c->batch[0].ndim == 0 && c->batch[1].ndim == 0;
    c->direct.on = true;
    c->thin = 0;
    c->small = c->along = c->dots = c->straight = false;
    axis_group_set(&c->row[0], &p->in[0].v, merged ? 0 : b, merged ? b + m : m);
    c->m = (cut){c->m.extent, 1, c->m.extent};
    c->n = (cut){c->n.extent, 1, c->n.extent};
    contraction_layout(c);
}

/* ---- a band ---- */

/* The sums of n windows one element apart. */
static void sum_run(const contraction *c, const worker_state *w, const char *from, int64_t n,
                    char *to, int64_t pitch)
{
    const int64_t fit = RUN_BYTES / (c->kc.extent * c->element_bytes) / RUN_UNIT * RUN_UNIT;
    const int64_t most = fit > 0 ? fit : RUN_UNIT, start = 0;
    gemm_thin g = {.thin = c->m.extent,
                   .k = c->kc.extent,
                   .x = w->panel[0],
                   .x_row = c->kc.extent,
                   .x_point = 1,
                   .row = &start,
                   .point = w->point[1],
                   .c_row = 1,
                   .c_thin = pitch};
    for (int64_t i = 0; i < n; i += most) {
        g.n = n - i < most ? n - i : most;
        g.from = from + i * c->element_bytes;
        g.c = to + i * c->lane_bytes;
        c->kernel->thin(&g);
    }
}

/* The sums of rows [first, first + rows) of the windows of a batch. Rows of the weight are `pitch` sums apart. */
static void sum_band(const contraction *c, const worker_state *w, int64_t first, int64_t rows,
                     char *to, int64_t pitch)
{
    const sliding *s = &c->direct.windows;
    const int64_t lane = c->lane_bytes, flat = s->band * s->pitch;
    const char *from = w->from[1] + first * s->down * c->element_bytes;
    from = sliding_lines(s, c->p->dtype, from, rows, w->panel[1]);
    for (int64_t r = 0; r < rows && !s->flat; r++)
        sum_run(c, w, from + r * s->pitch * c->element_bytes, s->width, to + r * s->width * lane,
                pitch);
    if (!s->flat)
        return;
    sum_run(c, w, from, sliding_run(s, rows), w->edge, flat);
    for (int64_t i = 0; i < c->m.extent; i++)
        sliding_close(s, rows, lane, to + i * pitch * lane, w->edge + i * flat * lane);
}

/* Finds the operands of a batch, and the weights as lanes. */
static void start_batch(const contraction *c, worker_state *w, int64_t batch)
{
    for (int side = 0; side < 2; side++) {
        int64_t offset;
        axis_group_offsets(&c->batch[side], batch, 1, &offset);
        w->from[side] = operand_host(&c->p->in[side], c->bindings) + offset * c->element_bytes;
    }
    for (int64_t i = 0; i < c->m.extent; i++)
        c->kernel->gather(w->panel[0] + i * c->kc.extent * c->lane_bytes, 1,
                          w->from[0] + w->row[0][i] * c->element_bytes, c->kc.extent, w->point[0]);
}

/* One band of a plane that has several. */
static void run_band(const contraction *c, worker_state *w, int64_t batch, int64_t band)
{
    const sliding *s = &c->direct.windows;
    const int64_t first = band * s->band, left = s->height - first;
    const int64_t rows = left < s->band ? left : s->band, n = rows * s->width;
    const int64_t start = batch * c->m.extent * c->n.extent + first * s->width;
    char *result = c->result < 0 ? NULL : operand_host(&c->p->post.operand[c->result], c->bindings);
    start_batch(c, w, batch);
    if (result)
        sum_band(c, w, first, rows, result + start * c->lane_bytes, c->n.extent);
    else
        sum_band(c, w, first, rows, w->own, n);
    for (int64_t i = 0; i < c->m.extent && !result; i++)
        tile_epilogue(c, w, start + i * c->n.extent, n, w->own + i * n * c->lane_bytes);
}

void direct_run(const contraction *c, worker_state *w, int64_t first, int64_t end)
{
    const sliding *s = &c->direct.windows;
    const int64_t plane = c->m.extent * c->n.extent;
    char *result = c->result < 0 ? NULL : operand_host(&c->p->post.operand[c->result], c->bindings);
    axis_group_offsets(&c->k[0], 0, c->kc.extent, w->point[0]);
    axis_group_offsets(&c->row[0], 0, c->m.extent, w->row[0]);
    sliding_points(s, &c->k[1], c->kc.extent, w->point[1]);
    for (int64_t i = first; i < end && s->bands > 1; i++)
        run_band(c, w, i / s->bands, i % s->bands);
    for (int64_t i = first, n; i < end && s->bands == 1; i += n) {
        char *to = result ? result + i * plane * c->lane_bytes : w->own;
        n = end - i < c->direct.together ? end - i : c->direct.together;
        for (int64_t j = 0; j < n; j++) {
            start_batch(c, w, i + j);
            sum_band(c, w, 0, s->height, to + j * plane * c->lane_bytes, c->n.extent);
        }
        const int64_t rows = c->n.extent > SHORT_PLANE ? n * c->m.extent : 1,
                      each = n * plane / rows;
        for (int64_t r = 0; r < rows && !result; r++)
            tile_epilogue(c, w, i * plane + r * each, each, w->own + r * each * c->lane_bytes);
    }
}
