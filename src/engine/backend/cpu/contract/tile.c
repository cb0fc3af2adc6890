/* One tile of a contraction: see tile.h and contract.c. */
#include "engine/backend/cpu/contract/tile.h"

#include <string.h>

/* ---- scratch and panels ---- */

void worker_place(worker_state *w, const contraction *c, char *scratch)
{
    for (int side = 0; side < 2; side++) {
        w->panel[side] = scratch + c->at.panel[side];
        w->row[side] = (int64_t *)(scratch + c->at.row[side]);
        w->point[side] = (int64_t *)(scratch + c->at.point[side]);
    }
    w->plain = scratch + c->at.plain;
    w->own = w->sums = scratch + c->at.sums;
    w->edge = scratch + c->at.edge;
}

void worker_start(worker_state *w, const contraction *c, cpu_fault *fault, char *scratch)
{
    worker_place(w, c, scratch);
    tape_start(&w->run, &c->p->post, c->bindings, fault, scratch + c->at.tape);
}

char *tile_shared(const contraction *c, int side, int64_t batch, int64_t part, int64_t block)
{
    const cut *rows = side == 0 ? &c->m : &c->n;
    const int64_t own = side_batches(c, side) == 1 ? 0 : batch;
    const int64_t parts = side == 0 ? c->round : rows->parts,
                  at = part - (side == 0 ? c->first : 0);
    const int64_t nth = (own * parts + at) * c->kc.parts + block;
    return c->shared[side] + nth * panels_rows(c, side, rows->size) * panel_row(c, c->kc.size);
}

/* Offsets of the points of a side in a block of k. */
static const int64_t *block_points(const contraction *c, const worker_state *w, int side,
                                   int64_t block)
{
    axis_group_offsets(&c->k[side], block * c->kc.size, cut_length(&c->kc, block), w->point[side]);
    return w->point[side];
}

/* Rows of a side in a block of k, as kernels read them. */
typedef struct sheet {
    const char *at;
    int64_t row_bytes; /* distance between rows that begin a panel */
} sheet;

/* Unpacks a block of k of rows [first, first + n) of a side into w->plain, row after row. */
static void tile_unpack(const contraction *c, const worker_state *w, int side, int64_t first,
                        int64_t n, int64_t block)
{
    enum { LINE = 64, AHEAD = 2048 };
    const cpu_level *level = cpu_level_now();
    const operand *o = &c->p->in[side];
    const bool run = axis_group_is_contiguous(&c->k[side]), lanes = o->dtype == IG_F32;
    const int64_t k = cut_length(&c->kc, block), skip = run ? block * c->kc.size : 0;
    const int64_t *point = run ? NULL : block_points(c, w, side, block);
    const double each = (double)storage_block_bytes(o->stored) / o->stored.block; /* bytes */
    const int64_t bytes = (int64_t)((double)k * each);
    float wide[GEMM_KC_MOST];
    int64_t offset[GEMM_KC_MOST];
    for (int64_t r = 0; r < n; r++) {
        const int64_t at = w->element[side] + w->row[side][first + r] + skip;
        char *row = w->plain + r * k * c->element_bytes;
        float *to = lanes ? (float *)row : wide;
        for (int64_t i = 0; i < k && !run; i++)
            offset[i] = at + point[i];
        if (run) {
            const int64_t next = (int64_t)((double)(at + k) * each);
            for (int64_t i = 0; i < bytes; i += LINE) /* rows that follow soon */
                __builtin_prefetch(w->from[side] + next + AHEAD + i);
            level->unpack(o->stored, k, to, w->from[side], at);
        }
        if (!run)
            level->unpack_at(o->stored, k, to, w->from[side], offset);
        if (!lanes)
            level->convert(IG_F32, o->dtype, k, row, 1, wide, 1);
    }
}

/* tile_pack of blocks: some rows at a time. */
static void tile_pack_stored(const contraction *c, const worker_state *w, int side, int64_t first,
                             int64_t n, int64_t block)
{
    const int64_t k = cut_length(&c->kc, block);
    const int64_t width = side == 0 ? c->kernel->mr : c->kernel->nr;
    int64_t row[GEMM_WIDTH_MAX];
    for (int64_t i = 0; i < n; i += width) {
        const int64_t rows = n - i < width ? n - i : width;
        for (int64_t r = 0; r < rows; r++)
            row[r] = r * k;
        tile_unpack(c, w, side, first + i, rows, block);
        (side == 0 ? c->kernel->pack_m : c->kernel->pack_n)(w->panel[side] + i * panel_row(c, k),
                                                            w->plain, rows, row, k, NULL);
    }
}

void tile_pack(const contraction *c, const worker_state *w, int side, int64_t first, int64_t n,
               int64_t block)
{
    if (c->stored[side]) {
        tile_pack_stored(c, w, side, first, n, block);
        return;
    }
    const bool runs = c->runs[side];
    const char *from = w->from[side] + (runs ? block * c->kc.size * c->element_bytes : 0);
    (side == 0 ? c->kernel->pack_m : c->kernel->pack_n)(
        w->panel[side], from, n, w->row[side] + first, cut_length(&c->kc, block),
        runs ? NULL : block_points(c, w, side, block));
}

/* Rows [first, first + n) of the worker's tile in a block of k: in kept or shared panels, in panels packed now, or
 * straight. first is 0, unless the rows of in[0] are packed strip by strip. */
static sheet sheet_of(const contraction *c, const worker_state *w, int side, int64_t first,
                      int64_t n, int64_t block)
{
    const int64_t deep = panel_row(c, cut_length(&c->kc, block));
    if (c->packed[side]) {
        const int64_t row = (side == 0 ? w->m0 : w->n0) + first;
        return (sheet){c->packed[side] + block * packed_block(c, side) + row * deep, deep};
    }
    if (side == 0 && c->straight) {
        const int64_t at = w->row[0][first] + block * c->kc.size;
        return (sheet){w->from[0] + at * c->element_bytes,
                       axis_group_step(&c->row[0]) * c->element_bytes};
    }
    if (c->shared[side]) {
        const int64_t part = side == 0 ? w->m0 / c->m.size : w->n0 / c->n.size;
        const int64_t row = first + (side == 0 ? w->m0 % c->m.size : 0);
        return (sheet){tile_shared(c, side, w->batch, part, block) + row * deep, deep};
    }
    tile_pack(c, w, side, first, n, block);
    return (sheet){w->panel[side], deep};
}

/* The work of one kernel call: at least the first `rows` of mr rows, and `wide` columns, of two sheets. */
typedef struct patch {
    const char *a, *b;
    int64_t a_row; /* for straight rows: the distance between two, in bytes; otherwise 0 */
    int64_t rows, wide, k;
    bool add;
} patch;

static void patch_sum(const gemm_kernel *g, const patch *p, char *sums, int64_t ldc)
{
    if (p->a_row)
        g->tile_rows(p->k, p->a, p->a_row, p->b, sums, ldc, p->add);
    else if (p->wide == g->nr && p->rows > g->few_rows)
        g->tile(p->k, p->a, p->b, sums, ldc, p->add);
    else
        g->tile_at(p->rows, p->wide, p->k, p->a, p->b, sums, ldc, p->add);
}

static void lanes_copy(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t rows,
                       int64_t bytes)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * to_row, from + i * from_row, (size_t)bytes);
}

/* The same if only the first rows and columns belong to the tile, and the memory after them to
 * other tiles. */
static void patch_sum_aside(const contraction *c, const worker_state *w, const patch *p, char *sums,
                            int64_t rows, int64_t columns)
{
    const gemm_kernel *g = c->kernel;
    const int64_t row = w->ldc * c->lane_bytes, edge_row = g->nr * c->lane_bytes;
    if (p->add)
        lanes_copy(w->edge, edge_row, sums, row, rows, columns * c->lane_bytes);
    patch_sum(g, p, w->edge, g->nr);
    lanes_copy(sums, row, w->edge, edge_row, rows, columns * c->lane_bytes);
}

/* Fetches the next panel into the L2 cache, some columns of it with every kernel call. */
typedef struct ahead {
    const char *from;
    const int64_t *row;   /* the columns' offsets; NULL: they are consecutive */
    int64_t n, each;      /* columns that are left, and columns per call */
    int64_t column_bytes; /* of a block of k */
} ahead;

static ahead ahead_of(const contraction *c, const worker_state *w, int64_t first, int64_t block)
{
    const int64_t calls = (w->m + c->kernel->mr - 1) / c->kernel->mr;
    const int64_t left = w->n - first, n = left < c->kernel->nr ? left : c->kernel->nr;
    if (block == c->kc.parts || !c->runs[1])
        return (ahead){.n = 0};
    ahead next = {.n = n, .each = (n + calls - 1) / calls};
    next.column_bytes = cut_length(&c->kc, block) * c->element_bytes;
    if (c->packed[1]) {
        next.from = sheet_of(c, w, 1, first, n, block).at;
    } else {
        next.from = w->from[1] + block * c->kc.size * c->element_bytes;
        next.row = w->row[1] + first;
    }
    return next;
}

static void ahead_fetch(ahead *next, int64_t element_bytes)
{
    enum { LINE = 64, TO_L2 = 2 };
    for (int64_t i = next->each; i > 0 && next->n > 0; i--, next->n--) {
        const char *column = next->from + (next->row ? *next->row++ * element_bytes : 0);
        for (int64_t at = 0; at < next->column_bytes; at += LINE)
            __builtin_prefetch(column + at, 0, TO_L2);
        next->from += next->row ? 0 : next->column_bytes;
    }
}

/* Accumulates rows [s, s + n) of the tile, columns from j on. */
static void tile_sum_panel(const contraction *c, const worker_state *w, patch p, const sheet *rows,
                           int64_t s, int64_t n, int64_t j, ahead *next)
{
    const gemm_kernel *g = c->kernel;
    const bool whole = w->sums == w->own || j + p.wide <= w->n;
    /* Rows that lie above the diagonal of a symmetric result are left out. */
    const int64_t above = c->mirror < 0 ? 0 : (w->n0 + j - w->m0 - s) / g->mr * g->mr;
    for (int64_t i = above > 0 ? above : 0; i < n; i += g->mr) {
        char *sums = w->sums + ((s + i) * w->ldc + j) * c->lane_bytes;
        p.a = rows->at + i * rows->row_bytes;
        p.rows = n - i < g->mr ? n - i : g->mr;
        if (whole && (w->sums == w->own || p.rows == g->mr))
            patch_sum(g, &p, sums, w->ldc);
        else
            patch_sum_aside(c, w, &p, sums, p.rows, w->n - j < p.wide ? w->n - j : p.wide);
        if (next->n > 0)
            ahead_fetch(next, c->element_bytes);
    }
}

/* Accumulates one block of k into the tile. If all rows fit in a strip, a panel of columns is packed immediately before
 * use, so that it stays in the L1 cache. */
static void tile_sum_block(const contraction *c, const worker_state *w, int64_t block)
{
    const gemm_kernel *g = c->kernel;
    const int64_t strip = c->straight ? w->m : c->strip, start = (w->n - 1) / g->nr * g->nr;
    const bool one = !c->shared[1] && w->m <= strip;
    sheet columns = {.at = NULL};
    if (!one)
        columns = sheet_of(c, w, 1, 0, w->n, block);
    for (int64_t s = 0; s < w->m; s += strip) {
        const int64_t n = w->m - s < strip ? w->m - s : strip;
        const sheet rows = sheet_of(c, w, 0, s, n, block);
        for (int64_t j = start; j >= 0; j -= g->nr) {
            const int64_t left = w->n - j;
            ahead next = {.n = 0};
            if (one) {
                columns = sheet_of(c, w, 1, j, left < g->nr ? left : g->nr, block);
                next = j > 0 ? ahead_of(c, w, j - g->nr, block) : ahead_of(c, w, start, block + 1);
            }
            const patch p = {
                .b = columns.at + (one ? 0 : j * columns.row_bytes),
                .a_row = c->straight ? rows.row_bytes : 0,
                .wide = left < g->nr ? (left + g->unit - 1) / g->unit * g->unit : g->nr,
                .k = cut_length(&c->kc, block),
                .add = block > 0,
            };
            tile_sum_panel(c, w, p, &rows, s, n, j, &next);
        }
    }
}

/* Copies the thin side's lanes of some blocks of k: x[t * row + i * point]. */
static void thin_gather(const contraction *c, const worker_state *w, int64_t thin, int64_t first,
                        int64_t end)
{
    const int side = c->thin;
    /* Lanes without a row are not used, but products with subnormal values would take a hundred times as long. */
    if (c->x_point > thin && !c->small)
        memset(w->panel[side], 0,
               (size_t)((end - first) * c->kc.size * c->x_point * c->lane_bytes));
    for (int64_t block = first; block < end; block++) {
        const int64_t k = cut_length(&c->kc, block), i = (block - first) * c->kc.size;
        const int64_t *point = block_points(c, w, side, block);
        for (int64_t t = 0; t < thin; t++)
            c->kernel->gather(w->panel[side] + (t * c->x_row + i * c->x_point) * c->lane_bytes,
                              c->x_point, w->from[side] + w->row[side][t] * c->element_bytes, k,
                              point);
    }
}

/* Thin products: sums a tile with few rows on one side; the other side is read in place. If the points of its rows are
 * contiguous, a few rows at a time are read to their end; else its rows are contiguous, and a run of them is read at a
 * time. */
static void tile_sum_thin(const contraction *c, const worker_state *w)
{
    const int x = c->thin, y = !x;
    const int64_t n = y == 0 ? w->m : w->n, thin = y == 0 ? w->n : w->m;
    const int64_t size = c->kc.size, row = y == 0 ? w->ldc : 1;
    const int64_t before = (y == 0 ? w->m0 : w->n0) % c->run;
    int64_t plain[GEMM_THIN_LANES];
    gemm_thin g = {.thin = thin,
                   .x_row = c->x_row,
                   .x_point = c->x_point,
                   .c_row = row,
                   .c_thin = y == 0 ? 1 : w->ldc};
    for (int64_t first = 0; first < c->kc.parts; first += c->ready) {
        const int64_t left = c->kc.parts - first, blocks = left < c->ready ? left : c->ready;
        if (!c->small)
            thin_gather(c, w, thin, first, first + blocks);
        for (int64_t r = 0; r < n; r += g.n) {
            const int64_t at = before + r, most = c->along ? GEMM_THIN_LANES : c->run - at % c->run;
            const int64_t start = w->row[y][c->along ? r : at / c->run] + at % c->run;
            g.n = n - r < most ? n - r : most;
            g.row = c->along ? w->row[y] + r : &start;
            g.c = w->sums + r * row * c->lane_bytes;
            for (int64_t block = first; block < first + blocks; block++) {
                const int64_t done = (block - first) * size * c->x_point * c->lane_bytes;
                g.x = c->small ? w->from[0] + w->row[0][0] * c->element_bytes : w->panel[x] + done;
                g.from = w->from[y] + (c->along ? block * size * c->element_bytes : 0);
                g.k = cut_length(&c->kc, block);
                g.point = c->along ? NULL : block_points(c, w, y, block);
                g.add = block > 0;
                if (c->stored[y]) {
                    for (int64_t i = 0; i < g.n; i++)
                        plain[i] = i * g.k;
                    tile_unpack(c, w, y, r, g.n, block);
                    g.from = w->plain;
                    g.row = plain;
                }
                c->kernel->thin(&g);
            }
        }
    }
}

/* The same if the other side is in panels kept with its buffer. */
static void tile_sum_thin_packed(const contraction *c, const worker_state *w)
{
    for (int64_t block = 0; block < c->kc.parts; block++) {
        const int64_t k = cut_length(&c->kc, block), nth = block % c->ready;
        if (nth == 0)
            thin_gather(c, w, w->m, block,
                        c->kc.parts - block < c->ready ? c->kc.parts : block + c->ready);
        const gemm_thin g = {
            .thin = w->m,
            .n = w->n,
            .k = k,
            .x = w->panel[0] + nth * c->kc.size * c->x_point * c->lane_bytes,
            .x_row = c->x_row,
            .x_point = c->x_point,
            .from = c->packed[1] + block * packed_block(c, 1) + w->n0 * panel_row(c, k),
            .c = w->sums,
            .c_row = 1,
            .c_thin = w->ldc,
            .add = block > 0,
        };
        c->kernel->thin_packed(&g);
    }
}

bool tile_blas_matrix(const axis_group *row, const axis_group *k, bool *turned, int64_t *stride)
{
    if (row->ndim != 1 || k->ndim != 1)
        return false;
    *turned = k->stride[0] != 1;
    *stride = *turned ? k->stride[0] : row->stride[0];
    return (*turned ? row : k)->stride[0] == 1 && *stride >= (*turned ? row : k)->shape[0] &&
           *stride <= INT32_MAX;
}

/* Sums a tile by BLAS: its rows have a constant stride, so the first offset is its address. */
static void tile_sum_blas(const contraction *c, const worker_state *w)
{
    bool turned[2];
    int64_t stride[2];
    for (int side = 0; side < 2; side++)
        tile_blas_matrix(&c->row[side], &c->k[side], &turned[side], &stride[side]);
    const int m = (int)w->m, n = (int)w->n, k = (int)c->kc.extent, ldc = (int)w->ldc;
    const int turn_a = turned[0] ? BLAS_TURNED : BLAS_PLAIN;
    const int turn_b = turned[1] ? BLAS_PLAIN : BLAS_TURNED; /* in[1] is (n, k) */
    const char *a = w->from[0] + w->row[0][0] * c->element_bytes;
    const char *b = w->from[1] + w->row[1][0] * c->element_bytes;
    if (c->p->dtype == IG_F32)
        c->blas->sgemm(BLAS_ROW_MAJOR, turn_a, turn_b, m, n, k, 1, (const float *)a, (int)stride[0],
                       (const float *)b, (int)stride[1], 0, (float *)w->sums, ldc);
    else
        c->blas->dgemm(BLAS_ROW_MAJOR, turn_a, turn_b, m, n, k, 1, (const double *)a,
                       (int)stride[0], (const double *)b, (int)stride[1], 0, (double *)w->sums,
                       ldc);
}

void tile_sum(const contraction *c, const worker_state *w)
{
    if (c->quant)
        quant_sum(c, w);
    else if (c->blas)
        tile_sum_blas(c, w);
    else if (c->thin >= 0 && c->packed[1])
        tile_sum_thin_packed(c, w);
    else if (c->thin >= 0)
        tile_sum_thin(c, w);
    else
        for (int64_t block = 0; block < c->kc.parts; block++)
            tile_sum_block(c, w, block);
}

void tile_epilogue(const contraction *c, worker_state *w, int64_t start, int64_t n, char *sums)
{
    for (int64_t i = 0; i < n; i += TAPE_BLOCK)
        tape_block(&w->run, start + i, n - i < TAPE_BLOCK ? n - i : TAPE_BLOCK,
                   sums + i * c->lane_bytes);
}

/* The tile's first element in the result. */
static int64_t tile_start(const contraction *c, const worker_state *w)
{
    return (w->batch * c->m.extent + w->m0) * c->n.extent + w->n0;
}

/* Selects where the tile accumulates: in the output buffer if the contraction has no epilogue, else
 * in scratch. */
static void tile_place(const contraction *c, worker_state *w)
{
    w->sums = w->own;
    w->ldc = c->n.size;
    if (c->result >= 0) {
        w->sums = operand_host(&c->p->post.operand[c->result], c->bindings);
        w->sums += tile_start(c, w) * c->lane_bytes;
        w->ldc = c->n.extent;
    }
}

/* Passes the tile's rows to the epilogue. */
static void tile_finish(const contraction *c, worker_state *w)
{
    enum { SHORT_ROW = TAPE_BLOCK / 8 };
    const int64_t lane = c->lane_bytes, ldc = w->ldc, n_all = c->n.extent;
    const int64_t start = tile_start(c, w);
    if (w->n < n_all || n_all > SHORT_ROW) {
        for (int64_t i = 0; i < w->m; i++)
            tile_epilogue(c, w, start + i * n_all, w->n, w->sums + i * ldc * lane);
        return;
    }
    /* Whole rows are consecutive in the output, so a block may have many short rows. */
    for (int64_t i = 1; i < w->m && ldc > n_all; i++)
        memmove(w->sums + i * n_all * lane, w->sums + i * ldc * lane, (size_t)(n_all * lane));
    tile_epilogue(c, w, start, w->m * n_all, w->sums);
}

void tile_find_rows(const contraction *c, worker_state *w, int side, int64_t batch, int64_t first,
                    int64_t n)
{
    int64_t offset;
    axis_group_offsets(&c->batch[side], batch, 1, &offset);
    w->from[side] = operand_host(&c->p->in[side], c->bindings);
    if (c->stored[side])
        w->element[side] = c->p->in[side].v.offset + offset;
    else
        w->from[side] += offset * c->element_bytes;
    if (c->thin >= 0 && side != c->thin && !c->along) { /* whole runs */
        n = (first + n - 1) / c->run - first / c->run + 1;
        first /= c->run;
    }
    axis_group_offsets(&c->row[side], first, side == 0 && c->small ? 1 : n, w->row[side]);
}

/* Sums and epilogue of straight rows, one panel of rows after another: the epilogue reads a panel's sums from the L1
 * cache. */
static void tile_run_strips(const contraction *c, worker_state *w)
{
    const gemm_kernel *g = c->kernel;
    const int64_t m0 = w->m0, m = w->m;
    const sheet columns = sheet_of(c, w, 1, 0, w->n, 0), rows = sheet_of(c, w, 0, 0, m, 0);
    for (int64_t first = 0; first < m; first += g->mr) {
        g->panels(&(gemm_panels){.n = (w->n + g->nr - 1) / g->nr,
                                 .k = c->kc.extent,
                                 .parts = 1,
                                 .a = {rows.at + first * rows.row_bytes},
                                 .a_row = rows.row_bytes,
                                 .b = columns.at,
                                 .c = w->sums,
                                 .ldc = w->ldc});
        w->m0 = m0 + first;
        w->m = g->mr;
        tile_finish(c, w);
    }
}

void tile_run(const contraction *c, worker_state *w, int64_t batch, int64_t m0, int64_t rows,
              int64_t j)
{
    w->batch = batch;
    w->m0 = m0;
    w->m = rows;
    w->n0 = j * c->n.size;
    w->n = cut_length(&c->n, j);
    tile_place(c, w);
    for (int side = 0; side < 2; side++)
        if (!c->packed[side] && !c->quant) /* else no row is read in place */
            tile_find_rows(c, w, side, batch, side == 0 ? w->m0 : w->n0, side == 0 ? w->m : w->n);
    if (c->straight && c->kernel->panels && c->kc.parts == 1 && c->result < 0) {
        tile_run_strips(c, w);
        return;
    }
    if (c->kc.parts == 0)
        memset(w->sums, 0, (size_t)(w->m * c->n.size * c->lane_bytes));
    tile_sum(c, w);
    if (c->result < 0)
        tile_finish(c, w);
}

/* ---- dot products: one row on each side ---- */

/* Dot products that are computed together: blocks of k of several batches. */
typedef struct dots {
    const void *x[GEMM_THIN_LANES], *y[GEMM_THIN_LANES];
    void *c[GEMM_THIN_LANES];
    bool add[GEMM_THIN_LANES];
    int64_t n, k;
} dots;

static void dots_flush(const contraction *c, dots *d)
{
    if (d->n > 0)
        c->kernel->dots(d->n, d->k, d->x, d->y, d->c, d->add);
    d->n = 0;
}

/* Computes batches [first, first + n). The last block of k may be shorter, so it is computed in a second round. */
static void dots_sum(const contraction *c, const worker_state *w, int64_t first, int64_t n)
{
    dots d = {.n = 0};
    const int64_t even = c->kc.extent % c->kc.size ? c->kc.parts - 1 : c->kc.parts;
    for (int round = 0; round < 2; round++) {
        const int64_t begin = round == 0 ? 0 : even, end = round == 0 ? even : c->kc.parts;
        d.k = round == 0 ? c->kc.size : c->kc.extent % c->kc.size;
        for (int64_t i = 0; i < n * (end - begin); i++) {
            const int64_t batch = i / (end - begin), block = begin + i % (end - begin);
            const int64_t k0 = block * c->kc.size;
            int64_t offset[2];
            for (int side = 0; side < 2; side++)
                axis_group_offsets(&c->batch[side], first + batch, 1, &offset[side]);
            d.x[d.n] = w->from[0] + (offset[0] + k0) * c->element_bytes;
            d.y[d.n] = w->from[1] + (offset[1] + k0) * c->element_bytes;
            d.c[d.n] = w->sums + batch * c->lane_bytes;
            d.add[d.n++] = block > 0;
            if (d.n == GEMM_THIN_LANES)
                dots_flush(c, &d);
        }
        dots_flush(c, &d);
    }
}

void tile_dots(const contraction *c, worker_state *w, int64_t first, int64_t end)
{
    for (int side = 0; side < 2; side++)
        w->from[side] = operand_host(&c->p->in[side], c->bindings);
    for (int64_t n; first < end; first += n) {
        n = end - first < TAPE_BLOCK ? end - first : TAPE_BLOCK;
        dots_sum(c, w, first, n);
        tape_block(&w->run, first, n, w->sums);
    }
}
