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
#include "engine/backend/cpu/elements/elements.h"

#include <string.h>

enum {
    ROWS_MOST = 16,          /* of the weight in one group */
    BAND_SUMS = 4096,        /* of a band, in the L1 cache ... */
    BAND_BYTES = 1 << 16,    /* ... and bytes of its dealt elements, in the L2 cache */
    SCRATCH_BYTES = 1 << 19, /* of a band: longer rows of windows are packed */
    EPILOGUE_SUMS = 2048,    /* of small planes that go through the epilogue together */
    SHORT_PLANE =
        160,    /* ... in one block; longer ones have a block each, with one value of a bias */
    WIDE = 64,  /* rows of windows from this length on are separate runs */
    NARROW = 8, /* such runs are not shorter than this */
    RUN_BYTES = 32768, /* all points of a run: the kernel then keeps its sums in registers */
    RUN_UNIT = 64,
    SLACK = 64 /* bytes after a buffer that is read or written in whole vectors */
};

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t group_last(const axis_group *g)
{
    int64_t sum = 0;
    for (int d = 0; d < g->ndim; d++)
        sum += (g->shape[d] - 1) * g->stride[d];
    return sum;
}

static bool all_positive(const axis_group *g)
{
    for (int d = 0; d < g->ndim; d++)
        if (g->stride[d] <= 0)
            return false;
    return true;
}

/* ---- the plan ---- */

int64_t direct_plane_bytes(const contraction *c)
{
    const direct *d = &c->direct;
    return d->line == 0 ? 0
                        : d->classes * d->right * d->lines * d->pitch * c->element_bytes + SLACK;
}

int64_t direct_flat_bytes(const contraction *c)
{
    const direct *d = &c->direct;
    return d->flat ? c->m.extent * d->band * d->pitch * c->lane_bytes + SLACK : 0;
}

int64_t direct_sums_bytes(const contraction *c)
{
    const direct *d = &c->direct;
    return d->together * c->m.extent * d->band * d->width * c->lane_bytes + SLACK;
}

/* True if windows overlap so much that they have clearly fewer elements together than their panels. */
static bool overlap(const contraction *c, int64_t elements)
{
    return elements <= c->n.extent * c->kc.extent / 4 * 3;
}

/* Windows that are further apart than one element. Their lines have the last axis of k, and all other distances are
 * multiples of a line. Returns false if dealing would copy more elements than panels have. */
static bool deal_choose(contraction *c, const axis_group *k)
{
    direct *d = &c->direct;
    const int last = k->ndim - 1;
    const int64_t reach = (k->shape[last] - 1) * k->stride[last];
    const bool along = d->height == 1 || reach < d->down;
    const int64_t within = along ? reach : 0;
    d->points = along ? k->shape[last] : 1;
    d->line = d->height > 1 ? d->down : 0;
    for (int i = 0; i < k->ndim - along; i++)
        d->line = gcd(d->line, k->stride[i]);
    d->line = d->line > 0 ? d->line : 1;
    d->length = (d->width - 1) * d->right + within + 1;
    d->far = (group_last(k) - within) / d->line;
    d->classes = d->height > 1 ? d->down / d->line : 1;
    d->pitch = d->width + within / d->right;
    const int64_t all = d->far + (d->height - 1) * d->classes + 1;
    return all <= d->height * c->kc.extent && overlap(c, all * d->length);
}

/* Cuts planes into bands. */
static void band_choose(contraction *c)
{
    direct *d = &c->direct;
    d->band = BAND_SUMS / (c->m.extent * d->pitch) + 1;
    d->band = d->band < d->height ? d->band : d->height;
    for (;; d->band = (d->band + 1) / 2) {
        d->lines = d->line == 0 ? 0 : d->far / d->classes + d->band;
        if (d->band == 1 || direct_plane_bytes(c) <= BAND_BYTES)
            break;
    }
    d->bands = (d->height + d->band - 1) / d->band;
    const int64_t plane = c->m.extent * d->height * d->width;
    d->together = d->bands > 1 || plane > EPILOGUE_SUMS ? 1 : EPILOGUE_SUMS / plane;
}

static bool direct_fits(contraction *c, const axis_group *row, const axis_group *k)
{
    direct *d = &c->direct;
    const int most = c->kernel->group > 1 ? c->kernel->thin_beside : ROWS_MOST;
    if (!c->kernel->thin || c->kc.parts != 1 || c->batches == 0 || c->m.extent < 1 ||
        c->m.extent > most || row->ndim < 1 || row->ndim > 2 || k->ndim < 1 || !all_positive(row) ||
        !all_positive(k))
        return false;
    const int last = row->ndim - 1;
    *d = (direct){.height = last > 0 ? row->shape[0] : 1,
                  .width = row->shape[last],
                  .down = last > 0 ? row->stride[0] : 0,
                  .right = row->stride[last]};
    if (d->right > 1)
        d->flat = deal_choose(c, k);
    else if (last > 0 && overlap(c, group_last(row) + group_last(k) + 1)) {
        d->pitch = d->down;
        d->flat = d->width < WIDE && d->down >= d->width && d->down <= d->width + d->width / 2 + 2;
    }
    if (!d->flat && (d->right > 1 || d->pitch == 0 || d->width < NARROW))
        return false;
    band_choose(c);
    return direct_plane_bytes(c) + direct_flat_bytes(c) + direct_sums_bytes(c) <= SCRATCH_BYTES;
}

void direct_choose(contraction *c)
{
    const program *p = c->p;
    const int b = p->ndim[0], m = p->ndim[1], n = p->ndim[2];
    axis_group row, k;
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

/* Offsets of the points of k where kernels read them. */
static void find_points(const contraction *c, worker_state *w)
{
    const direct *d = &c->direct;
    const int64_t k = c->kc.extent;
    axis_group_offsets(&c->k[0], 0, k, w->point[0]);
    axis_group_offsets(&c->k[1], 0, k, w->point[1]);
    axis_group_offsets(&c->row[0], 0, c->m.extent, w->row[0]);
    for (int64_t i = k - 1; i >= 0 && d->line > 0;
         i--) { /* the first points, which are in line 0, at the end */
        const int64_t at = w->point[1][i % d->points], line = (w->point[1][i] - at) / d->line;
        const int64_t plane = line % d->classes * d->right + at % d->right;
        w->point[1][i] = (plane * d->lines + line / d->classes) * d->pitch + at / d->right;
    }
}

/* Deals out the lines that `rows` rows of windows use. */
static const char *deal_lines(const contraction *c, const worker_state *w, const char *from,
                              int64_t rows)
{
    const direct *d = &c->direct;
    const element_moves *moves = element_moves_of(c->p->dtype);
    const int64_t lines = d->far + (rows - 1) * d->classes + 1, plane = d->lines * d->pitch;
    for (int64_t u = 0; u < lines; u++) {
        const int64_t to = (u % d->classes * d->right * d->lines + u / d->classes) * d->pitch;
        moves->deal(d->length, d->right, w->panel[1] + to * c->element_bytes, plane,
                    from + u * d->line * c->element_bytes);
    }
    return w->panel[1];
}

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

/* Copies rows of sums, without those between them. All but the last row are copied in whole vectors. */
static void close_rows(int64_t rows, int64_t bytes, char *to, const char *from, int64_t from_row)
{
    typedef int64_t chunk __attribute__((vector_size(16), aligned(1), may_alias));
    for (int64_t r = 0; r < rows - 1; r++, to += bytes, from += from_row)
        for (int64_t i = 0; i < bytes; i += (int64_t)sizeof(chunk))
            *(chunk *)(to + i) = *(const chunk *)(from + i);
    memcpy(to, from, (size_t)bytes);
}

/* The sums of rows [first, first + rows) of the windows of a batch. Rows of the weight are `pitch` sums apart. */
static void sum_band(const contraction *c, const worker_state *w, int64_t first, int64_t rows,
                     char *to, int64_t pitch)
{
    const direct *d = &c->direct;
    const int64_t lane = c->lane_bytes, row = d->width * lane, flat = d->band * d->pitch;
    const char *from = w->from[1] + first * d->down * c->element_bytes;
    if (!d->flat) {
        for (int64_t r = 0; r < rows; r++)
            sum_run(c, w, from + r * d->down * c->element_bytes, d->width, to + r * row, pitch);
        return;
    }
    if (d->line > 0)
        from = deal_lines(c, w, from, rows);
    sum_run(c, w, from, (rows - 1) * d->pitch + d->width, w->edge, flat);
    for (int64_t i = 0; i < c->m.extent; i++)
        close_rows(rows, row, to + i * pitch * lane, w->edge + i * flat * lane, d->pitch * lane);
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
    const direct *d = &c->direct;
    const int64_t first = band * d->band, left = d->height - first;
    const int64_t rows = left < d->band ? left : d->band, n = rows * d->width;
    const int64_t start = batch * c->m.extent * c->n.extent + first * d->width;
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
    const direct *d = &c->direct;
    const int64_t plane = c->m.extent * c->n.extent;
    char *result = c->result < 0 ? NULL : operand_host(&c->p->post.operand[c->result], c->bindings);
    find_points(c, w);
    for (int64_t i = first; i < end && d->bands > 1; i++)
        run_band(c, w, i / d->bands, i % d->bands);
    for (int64_t i = first, n; i < end && d->bands == 1; i += n) {
        char *to = result ? result + i * plane * c->lane_bytes : w->own;
        n = end - i < d->together ? end - i : d->together;
        for (int64_t j = 0; j < n; j++) {
            start_batch(c, w, i + j);
            sum_band(c, w, 0, d->height, to + j * plane * c->lane_bytes, c->n.extent);
        }
        const int64_t rows = c->n.extent > SHORT_PLANE ? n * c->m.extent : 1,
                      each = n * plane / rows;
        for (int64_t r = 0; r < rows && !result; r++)
            tile_epilogue(c, w, i * plane + r * each, each, w->own + r * each * c->lane_bytes);
    }
}
