/* The plan of a contraction, made once for each program and number of threads. */
#include "engine/backend/cpu/contract/contract.h"
#include "base/machine.h"

#include <assert.h>
#include <stdlib.h>

enum {
    TILE_M = 1024,     /* most rows and columns of a tile: they share the packing of a panel ... */
    TILE_N = 256,      /* ... and a block of k of the columns takes a small part of the L2 cache */
    TILE_BYTES = 1024, /* ... most columns if elements are bytes: longer rows for the epilogue */
    TILE_LEAST = 64,   /* least columns of a tile and rows of a strip, however small the cache is */
    TILE_THIN = 4096,  /* most rows opposite a thin side, whose contiguous rows are read at once
                       * ... */
    TILE_RUN = 1024,   /* ... and are not cut below this if all threads have work */
    TILE_UNIT = 32,    /* ... into parts of multiples of this */
    SMALL_UNIT = 8,    /* the rows of a small product are cut into multiples of this */
    RUN_LEAST = 16,    /* contiguous points of k that are packed as such */
    READY_BYTES = 1 << 16,       /* bytes of the thin side that are copied at a time */
    TILE_SMALL = GEMM_WIDTH_MAX, /* a side is not cut below this to give all threads work ... */
    TASKS_PER_THREAD = 2,        /* tasks for which tiles are cut ... */
    /* A tile with this many rows packs its own columns, and vice versa: that is cheaper than reading
     * shared panels that are not in its cache. */
    TILE_PACKS = 400,
    ROUND_ROWS = 512, /* rows are not cut below this to share fewer panels at a time */
    TASKS_MOST =
        32, /* ... and the most tasks of more tiles: the last task, for which other threads wait, is
             * then a small part of the work */
};
#define ROUND_BYTES \
    ((int64_t)8 << 20)         /* shared panels of in[0] that are kept at a time, if possible */
#define TASK_PRODUCTS 250000.0 /* ... nor are tasks made of fewer products than this, */
#define TASK_THIN 60000.0      /* or than this if each takes a load, because one side is thin, */
#define SPARE_PRODUCTS 8e6     /* or than this if each thread has a task already */

/* At least `parts` parts; sizes are multiples of `unit`. */
static cut cut_into(int64_t extent, int64_t parts, int64_t unit)
{
    const int64_t even = extent > 0 ? (extent + parts - 1) / parts : 1;
    const int64_t size = (even + unit - 1) / unit * unit;
    return (cut){extent, (extent + size - 1) / size, size};
}

cut cut_at_most(int64_t extent, int64_t most, int64_t unit)
{
    most = most / unit * unit;
    return cut_into(extent, (extent + most - 1) / most, unit);
}

static size_t layout_add(scratch_layout *at, int64_t bytes)
{
    const size_t place = at->bytes;
    at->bytes += ((size_t)bytes + 63) / 64 * 64;
    return place;
}

void contraction_layout(contraction *c)
{
    scratch_layout *at = &c->at;
    const bool packs = c->thin < 0 && !c->blas && !c->quant;
    const int64_t m = packs ? panels_rows(c, 0, c->m.size) : c->m.size;
    const int64_t n = c->n.size, kc = c->kc.size, lane = c->lane_bytes;
    const int64_t deep = panel_row(c, kc);
    *at = (scratch_layout){0};
    if (c->direct.on) {
        at->panel[0] = layout_add(at, c->m.extent * c->kc.extent * lane);
        at->panel[1] = layout_add(at, sliding_bytes(&c->direct.windows, c->element_bytes));
        at->sums = layout_add(at, direct_sums_bytes(c));
        at->edge = layout_add(at, direct_flat_bytes(c));
        at->row[0] = layout_add(at, c->m.extent * (int64_t)sizeof(int64_t));
        at->point[0] = layout_add(at, kc * (int64_t)sizeof(int64_t));
        at->point[1] = layout_add(at, kc * (int64_t)sizeof(int64_t));
        at->tape = layout_add(at, (int64_t)tape_scratch_bytes(&c->p->post));
        return;
    }
    if (packs) {
        at->panel[0] = layout_add(at, (m < c->strip ? m : c->strip) * deep);
        at->panel[1] = layout_add(at, n * deep);
    }
    if (c->thin >= 0 && !c->small)
        at->panel[c->thin] = layout_add(at, GEMM_THIN_MAX * c->ready * kc * lane);
    const int64_t unpacked = c->thin >= 0 ? GEMM_THIN_LANES : GEMM_WIDTH_MAX;
    if (c->quant)
        at->plain = layout_add(at, (int64_t)cpu_quant_now()->scratch_bytes +
                                       quant_panel_bytes(c->quant, c->kc.extent));
    else if (c->stored[0] || c->stored[1])
        at->plain = layout_add(at, unpacked * kc * c->element_bytes);
    at->sums = layout_add(at, (c->dots ? TAPE_BLOCK : m * n) * lane);
    at->edge = layout_add(at, c->kernel->mr * c->kernel->nr * lane);
    at->row[0] = layout_add(at, m * (int64_t)sizeof(int64_t));
    at->row[1] = layout_add(at, n * (int64_t)sizeof(int64_t));
    at->point[0] = layout_add(at, kc * (int64_t)sizeof(int64_t));
    at->point[1] = layout_add(at, kc * (int64_t)sizeof(int64_t));
    at->tape = layout_add(at, (int64_t)tape_scratch_bytes(&c->p->post));
}

/* Straight rows: true if matrix instructions read rows of in[0] in place. Nothing pads them with zeros, so there are
 * whole panels of rows and whole groups of points. */
static bool reads_straight(const contraction *c, int64_t rows)
{
    const int64_t group = c->kernel->group;
    return c->kernel->tile_rows && c->runs[0] && c->row[0].ndim == 1 &&
           axis_group_step(&c->row[0]) > 0 && rows % c->kernel->mr == 0 &&
           c->kc.extent % group == 0 && c->kc.size % group == 0;
}

/* Small products: true if both sides are read in place, because in[1] has contiguous rows and stays in the L1 cache. Many
 * rows and a long k pay for packing. */
static bool is_small(const contraction *c)
{
    enum { SMALL_BYTES = 40 << 10, LEAST = 4, DEEP = 32, MANY = 32 };
    const axis_group *row = &c->row[1];
    const int64_t last = row->ndim - 1, columns = c->p->extent[2];
    return c->kernel->thin && c->element_bytes == c->lane_bytes && c->kc.parts == 1 &&
           c->row[0].ndim <= 1 && c->k[0].ndim <= 1 && last >= 0 && row->stride[last] == 1 &&
           row->shape[last] >= LEAST && columns > 0 &&
           columns * c->kc.extent * c->element_bytes <= SMALL_BYTES &&
           (c->kc.extent < DEEP || c->p->extent[1] < MANY);
}

/* Thin products: the side with so few rows that packing the other would not pay, if the other can
 * be read in place; -1 if there is none. The sums have the same bits either way. */
static int thin_side(const contraction *c, int64_t rows, int64_t columns)
{
    /* More than ROWS_MOST rows pay only if the other side has long contiguous rows. */
    enum { ROWS_MOST = 4, LONG = 128 };
    const int side = rows <= columns ? 0 : 1;
    const int64_t few = side == 0 ? rows : columns;
    const axis_group *row = &c->row[!side];
    if (!c->kernel->thin || c->p->extent[3] <= c->stored[!side] || c->stored[side])
        return -1;
    if (axis_group_is_contiguous(&c->k[!side]))
        return few <= c->kernel->thin_along ? side : -1;
    if (c->stored[!side])
        return -1;
    const bool fits = few <= ROWS_MOST ||
                      (axis_group_is_contiguous(row) && row->ndim > 0 && row->shape[0] >= LONG);
    return fits && few <= c->kernel->thin_beside && axis_group_ends_contiguous(row) ? side : -1;
}

/* Rows of this size that fit in a share of the L2 cache, in [TILE_LEAST, most]. */
static int64_t rows_in_cache(int64_t row_bytes, int64_t parts, int64_t most)
{
    enum { USUAL = 1 << 20 };
    const int64_t reported = machine_get()->cache_l2_bytes;
    const int64_t rows = (reported > 0 ? reported : USUAL) / parts / row_bytes;
    return rows < TILE_LEAST ? TILE_LEAST : rows < most ? rows : most;
}

/* The dtype of the sums' lanes: the input of the epilogue. */
static ig_dtype sum_lane(const program *p)
{
    return dtype_lane(p->post.n_inst > 0 ? (ig_dtype)p->post.inst[0].dtype : p->dtype);
}

/* Direct results: the operand that stores the sums unchanged and contiguous, if accumulating there pays; else -1. It
 * does not pay for narrow rows, where most tiles have an edge. Nor does it for many blocks of k: each block reads and
 * writes all sums, which is faster in compact scratch. */
static int result_of(const contraction *c, const tape *post)
{
    enum { K_BLOCKS_MOST = 4 };
    const tape_inst *in = post->inst;
    if (c->kc.parts > K_BLOCKS_MOST || post->n_inst != 2 || in[0].code != TAPE_CORE ||
        in[1].code != TAPE_STORE || (!c->small && c->p->extent[2] < c->kernel->nr) ||
        c->p->extent[3] == 0)
        return -1;
    const operand *o = &post->operand[in[1].operand];
    const bool same = o->dtype == sum_lane(c->p) && view_is_contiguous(&o->v);
    return same ? in[1].operand : -1;
}

/* Tiles begin at multiples of this many rows of a side. */
static int64_t unit_of(const contraction *c, int side)
{
    return c->quant ? QUANT_ROWS : side == 0 ? c->kernel->mr : c->kernel->nr;
}

/* The largest tiles. */
static void contraction_cut(contraction *c, int64_t rows)
{
    enum { SMALL_SUMS = 1 << 13 }; /* of a tile: they stay in the L1 cache */
    const int64_t columns = c->p->extent[2];
    const bool packs = c->thin < 0;
    const int64_t deep = packs ? panel_row(c, c->kernel->kc) : 1;
    const int64_t most = c->along ? TILE_N : TILE_THIN;
    c->strip = rows_in_cache(deep, 8, TILE_M) / c->kernel->mr * c->kernel->mr;
    c->m = cut_at_most(rows, packs ? TILE_M : most, packs ? unit_of(c, 0) : 1);
    const bool panels =
        packs || (c->along && c->thin == 0 && most >= unit_of(c, 1)); /* see packed.c */
    const int64_t wide = c->element_bytes == 1 ? TILE_BYTES : TILE_N;
    c->n = cut_at_most(columns, packs ? rows_in_cache(deep, 1, wide) : most,
                       panels ? unit_of(c, 1) : 1);
    if (packs && c->n.size > TILE_N) /* no more sums than in any other tile */
        c->m = cut_at_most(rows, TILE_M * TILE_N / c->n.size, unit_of(c, 0));
    const int64_t few = c->thin == 0 ? rows : columns;
    const int64_t ready = READY_BYTES / (GEMM_THIN_MAX * c->kernel->kc * c->lane_bytes);
    c->ready = ready < c->kc.parts ? ready : c->kc.parts;
    c->x_point = c->along && few > GEMM_THIN_FEW ? GEMM_THIN_MAX : 1;
    c->x_row = c->x_point > 1 ? 1 : c->ready * c->kc.size;
    if (c->small) {
        c->m = cut_at_most(rows, SMALL_UNIT + SMALL_SUMS / columns, SMALL_UNIT);
        c->n = (cut){columns, 1, columns};
        c->x_row = axis_group_step(&c->row[0]);
        c->x_point = axis_group_step(&c->k[0]);
    }
}

static const gemm_kernel *kernel_for(ig_dtype dtype, ig_math math)
{
    const struct gemm_level *level = cpu_level_now()->gemm;
    return dtype == IG_BF16 && math == IG_MATH_SAME ? &level->bf16_same : &level->of[dtype];
}

int64_t cpu_contract_k(ig_dtype dtype, ig_math math) { return kernel_for(dtype, math)->kc; }

/* Everything that does not depend on the number of threads: the tiles are the largest. */
void contraction_set(contraction *c, const program *p)
{
    const int b = p->ndim[0], m = p->ndim[1], n = p->ndim[2], k = p->ndim[3];
    c->p = p;
    const bool widens = p->dtype == IG_I8 && sum_lane(p) == IG_I32;
    c->kernel = widens ? &cpu_level_now()->gemm->i8_to_i32 : kernel_for(p->dtype, p->math);
    assert(c->kernel->tile);
    c->element_bytes = (int64_t)ig_dtype_bytes(p->dtype);
    c->lane_bytes = (int64_t)ig_dtype_bytes(sum_lane(p));
    axis_group_set(&c->batch[0], &p->in[0].v, 0, b);
    axis_group_set(&c->batch[1], &p->in[1].v, 0, b);
    axis_group_set(&c->row[0], &p->in[0].v, b, m);
    axis_group_set(&c->row[1], &p->in[1].v, b, n);
    axis_group_set(&c->k[0], &p->in[0].v, b + m, k);
    axis_group_set(&c->k[1], &p->in[1].v, b + n, k);
    for (int side = 0; side < 2; side++) {
        c->stored[side] = !storage_is_plain(p->in[side].stored);
        c->runs[side] = !c->stored[side] && p->extent[3] >= RUN_LEAST &&
                        axis_group_is_contiguous(&c->k[side]) &&
                        !axis_group_is_contiguous(&c->row[side]);
    }
    c->batches = p->extent[0];
    int64_t rows = p->extent[1];
    if (axis_group_is_constant(&c->batch[1])) {
        /* in[1] is the same for all batches, so they are treated as more rows of one product. */
        axis_group_set(&c->row[0], &p->in[0].v, 0, b + m);
        c->batch[0].ndim = 0;
        c->batch[1].ndim = 0;
        rows *= c->batches;
        c->batches = 1;
    }
    c->kc = cut_at_most(p->extent[3], c->kernel->kc, 1);
    quant_choose(c);
    c->small = !c->stored[0] && !c->stored[1] && is_small(c);
    c->thin = c->small ? 0 : c->quant ? -1 : thin_side(c, rows, p->extent[2]);
    c->along =
        c->thin >= 0 && !c->small && axis_group_is_contiguous(&c->k[!c->thin]) && p->extent[3] > 1;
    c->dots = c->thin >= 0 && !c->stored[!c->thin] && c->kernel->dots && rows == 1 &&
              p->extent[2] == 1 && axis_group_is_contiguous(&c->k[0]) &&
              axis_group_is_contiguous(&c->k[1]);
    c->shared[0] = c->shared[1] = NULL;
    c->packed[0] = c->packed[1] = NULL;
    c->direct.on = false;
    c->mirror = -1;
    c->blas = NULL;
    c->rows = 0;
    c->first = 0;
    c->result = result_of(c, &p->post);
    c->straight = c->thin < 0 && !c->stored[0] && reads_straight(c, rows);
    c->run = 1;
    axis_group *runs = &c->row[!c->thin];
    if (c->thin >= 0 && !c->along && runs->ndim > 0 && runs->stride[runs->ndim - 1] == 1 &&
        runs->shape[runs->ndim - 1] > 0)
        c->run = runs->shape[--runs->ndim];
    contraction_cut(c, rows);
    contraction_layout(c);
}

/* ---- tasks ---- */

/* This many tasks for each thread, but none too small. */
static int64_t tasks_for(const contraction *c, int threads, int per_thread)
{
    const double products =
        (double)c->batches * (double)c->m.extent * (double)c->n.extent * (double)(c->kc.extent + 1);
    const double each = products / threads / SPARE_PRODUCTS;
    const int64_t tasks = each < 1 ? 1 : each < per_thread ? (int64_t)each : per_thread;
    const int64_t wanted = threads > 1 ? threads * tasks : 1;
    const bool thin = (c->thin >= 0 && !c->small) || (c->quant && c->m.extent <= GEMM_THIN_MAX);
    const double least = thin ? TASK_THIN : TASK_PRODUCTS;
    const int64_t most = (int64_t)(products / least) + (thin ? 0 : 1);
    return products >= (double)wanted * least ? wanted : most > 1 ? most : 1;
}

/* Cuts contiguous rows opposite a thin side while the parts stay long, or until all threads have some. */
static void share_runs(contraction *c, int threads)
{
    cut *rows = c->thin == 0 ? &c->n : &c->m;
    const int64_t wanted = tasks_for(c, threads, TASKS_PER_THREAD) / c->batches;
    const int64_t least = (tasks_for(c, threads, 1) + c->batches - 1) / c->batches;
    const int64_t runs = rows->extent / TILE_RUN, long_ones = runs < wanted ? runs : wanted;
    const int64_t even = long_ones / threads * threads, parts = even > least ? even : least;
    if (parts > rows->parts && rows->size > TILE_UNIT)
        *rows = cut_into(rows->extent, parts, TILE_UNIT);
}

/* Cuts columns finer if there are few tiles, so that all threads end at about the same time. */
static void share_evenly(contraction *c, int threads)
{
    enum { MANY = 8 }; /* tiles for each thread: that many balance by themselves */
    const int64_t rows = c->batches * c->m.parts, nr = unit_of(c, 1);
    int64_t least = INT64_MAX, best = c->n.size;
    for (int64_t size = c->n.size; size > c->n.size / 2; size -= nr) {
        const int64_t parts = (c->n.extent + size - 1) / size;
        const int64_t rounds = (rows * parts + threads - 1) / threads;
        if (rows * parts > (int64_t)threads * MANY && size < c->n.size)
            break;
        if (rounds * size < least) {
            least = rounds * size;
            best = size;
        }
    }
    c->n = (cut){c->n.extent, (c->n.extent + best - 1) / best, best};
}

/* The cost of the longest share of a thread if tiles are cut like this, in products for each point of k. A row or
 * column of a tile costs as much as `fetch` products: it is packed or fetched. Cores differ in the speed of matrix
 * instructions, by up to four times if other cores use them too. So if more tiles need no more packing, the slowest
 * thread is assumed to have one more tile left when the others are done. Bench row: distilbert 8x128 bf16. */
static int64_t share_cost(const contraction *c, int threads, const cut *m, const cut *n)
{
    const int64_t fetch = c->kernel->group > 1 ? 64 : 10, few = c->kernel->few_rows;
    const int64_t late = c->kernel->group > 1 && c->straight && c->runs[1] ? 1 : 0;
    const int64_t rounds = (c->batches * m->parts * n->parts + threads - 1) / threads + late;
    const int64_t rows = m->parts > 1 ? m->size : m->extent, last = rows % c->kernel->mr;
    const int64_t computed = last > 0 && last <= few ? rows : panels_rows(c, 0, rows);
    return rounds * (computed * n->size + fetch * (computed + n->size));
}

/* Cuts both sides again if that is clearly cheaper, because some threads would wait for others. Takes the cheapest cut
 * with at most MANY tiles for each thread and tiles of at most m_most x n_most. */
static void share_again(contraction *c, int threads, int64_t m_most, int64_t n_most)
{
    enum { MANY = 4, FEW_UNIT = 4 }; /* the last tile may have few rows */
    const bool whole = c->kernel->few_rows == 0 || packed_may_keep(c, 0);
    const int64_t unit = whole ? c->kernel->mr : FEW_UNIT, nr = c->kernel->nr;
    const int64_t most = (int64_t)threads * MANY;
    cut best_m = c->m, best_n = c->n;
    int64_t least = share_cost(c, threads, &best_m, &best_n) * 95 / 100;
    if (c->batches * c->m.parts * c->n.parts > most)
        return;
    for (int64_t i = 1; i * c->batches <= most; i++) {
        const cut m = cut_into(c->m.extent, i, unit);
        for (int64_t j = 1; m.size <= m_most && i * j * c->batches <= most; j++) {
            const cut n = cut_into(c->n.extent, j, nr);
            const int64_t cost = share_cost(c, threads, &m, &n);
            if (n.size <= n_most && cost < least) {
                least = cost;
                best_m = m;
                best_n = n;
            }
        }
    }
    c->m = best_m;
    c->n = best_n;
}

bool contraction_packs_again(const contraction *c, int side)
{
    const cut *others = side == 0 ? &c->n : &c->m;
    return others->parts > 1 && others->size < TILE_PACKS;
}

/* True if this many tiles keep all threads busy until the end. */
static bool shares_evenly(int64_t tiles, int threads, int64_t wanted)
{
    enum { MANY = 16 };
    return tiles >= wanted && (tiles % threads == 0 || tiles >= (int64_t)threads * MANY);
}

/* Rounds: shared panels of in[0] are a second copy of it. If they are large, only the panels of some rows are kept at a
 * time, as long as the tiles of these rows occupy all threads. */
static void share_rounds(contraction *c, int threads, int64_t wanted)
{
    const int64_t row = c->kc.parts * panel_row(c, c->kc.size);
    c->round = c->m.parts;
    if (c->thin >= 0 || c->blas || c->quant || c->straight || c->batches != 1 ||
        !contraction_packs_again(c, 0))
        return;
    while (c->round * c->m.size * row > ROUND_BYTES) {
        const int64_t fewer = c->round > 1 ? c->round / 2 : 1, last = c->m.parts % fewer;
        if ((last > 0 && last * c->n.parts % threads != 0) ||
            !shares_evenly(fewer * c->n.parts, threads, wanted))
            break;
        if (c->round > 1)
            c->round = fewer;
        else if (c->m.size >= 2 * ROUND_ROWS)
            c->m = cut_into(c->m.extent, 2 * c->m.parts, c->kernel->mr);
        else
            break;
    }
}

void contraction_share(contraction *c, int threads)
{
    const int64_t wanted = tasks_for(c, threads, TASKS_PER_THREAD);
    const int64_t most = tasks_for(c, threads, TASKS_MOST);
    const int64_t m_most = c->m.size, n_most = c->n.size;
    c->threads = threads;
    if (c->direct.on) {
        c->tiles = c->batches * c->direct.windows.bands;
        c->tasks = c->tiles < most ? c->tiles : most;
        c->round = 1;
        return;
    }
    if (c->small && c->batches > 0 && c->batches * c->m.parts < wanted)
        c->m = cut_into(c->m.extent, (wanted + c->batches - 1) / c->batches, SMALL_UNIT);
    else if (c->thin >= 0 && !c->small && !c->along && c->batches > 0)
        share_runs(c, threads);
    if (c->thin == 0 && c->along && wanted > 1 && c->batches * c->n.parts < wanted) {
        const cut one = cut_into(c->n.extent, wanted, unit_of(c, 1)); /* a tile for each thread */
        if (one.size <= n_most && one.parts == wanted)
            c->n = one;
    }
    while (!c->blas && (c->thin < 0 || c->along) && c->batches * c->m.parts * c->n.parts < wanted) {
        if (c->n.size >= c->m.size && c->n.size > TILE_SMALL)
            c->n = cut_into(c->n.extent, c->n.parts * 2, unit_of(c, 1));
        else if (c->m.size > TILE_SMALL)
            c->m = cut_into(c->m.extent, c->m.parts * 2, unit_of(c, 0));
        else
            break;
    }
    if ((c->thin < 0 || (c->thin == 0 && c->along)) && !c->blas &&
        c->batches * c->m.parts * c->n.parts > threads)
        share_evenly(c, threads);
    if (c->thin < 0 && !c->blas && !c->quant && threads > 1 && wanted >= threads)
        share_again(c, threads, m_most, n_most);
    share_rounds(c, threads, wanted);
    c->tiles = c->batches * c->round * c->n.parts;
    c->tasks =
        c->tiles < 2 * most ? c->tiles : most; /* otherwise some threads would have twice the tiles
                                                * of others */
}
