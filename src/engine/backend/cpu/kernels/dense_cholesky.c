/* Cholesky's factorization of one matrix: see dense.h. For each block of columns: its diagonal block is factored, the
 * rows below it are solved, and the rest is updated. One task of the update factors the next diagonal block. */
#include "base/memory.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/dense.h"

#include <string.h>

enum { WIDE = 128, PRODUCT_COLUMNS_LEAST = 12 };

typedef struct cholesky_run {
    dense d;
    dense_at a, l;
    int64_t n, chunk; /* rows of a task */
    int64_t columns;  /* of a tile of the update: at least a chunk, whole panels */
    int64_t at, wide; /* the block of columns */
    int64_t rest;     /* the first row after it */
    int64_t step;     /* columns that are solved together */
    int64_t few;      /* rows of a task that solves */
    int64_t good;     /* columns that are factored */
    char *panel[2];   /* the rows after the block, as both sides of a product */
    char *diagonal;   /* panels of the diagonal block */
} cholesky_run;

/* ---- blocks ---- */

/* c (m, n) less x y^H, for small parts of l. */
static void less_small(const cholesky_run *r, dense_at x, dense_at y, dense_at c, int64_t m,
                       int64_t n, int64_t k)
{
    enum { MOST = WIDE + GEMM_WIDTH_MAX };
    const dense *d = &r->d;
    char a[2 * MOST * FACTOR_BASE * sizeof(double)], b[4 * MOST * FACTOR_BASE * sizeof(double)];
    dense_pack(d, DENSE_A, a, k, 0, &(dense_rows){x.re, x.im, m, x.ld, k, 1});
    dense_pack(d, DENSE_B_CONJ, b, k, 0, &(dense_rows){y.re, y.im, n, y.ld, k, 1});
    dense_less(d, &(dense_product){a, b, k, k, 0, m, n, k}, c);
}

/* Rows of the block of columns below the diagonal block: x becomes x D^-H. Some columns at a time are solved and packed
 * for the products of the next ones. The update uses the same panels. */
static void solve_rows(const cholesky_run *r, int64_t row, int64_t rows)
{
    const dense *d = &r->d;
    char *solved = r->panel[0] + dense_bytes(d, DENSE_A, row - r->rest, r->wide);
    for (int64_t j = 0; j < r->wide; j += r->step) {
        const int64_t n = r->wide - j < r->step ? r->wide - j : r->step;
        const dense_at x = dense_shift(d, r->l, row, r->at + j);
        const dense_at diagonal = dense_shift(d, r->l, r->at + j, r->at + j);
        const char *factors = r->diagonal + dense_bytes(d, DENSE_B, j, r->wide);
        dense_less(d, &(dense_product){solved, factors, r->wide, r->wide, 0, rows, n, j}, x);
        d->step->right(rows, (int)n, diagonal.re, diagonal.im, r->l.ld, x.re, x.im, r->l.ld);
        dense_pack(d, DENSE_A, solved, r->wide, j, &(dense_rows){x.re, x.im, rows, x.ld, n, 1});
    }
}

/* Packs the rows of the diagonal block to the left of its diagonal. */
static void pack_diagonal(const cholesky_run *r)
{
    const dense *d = &r->d;
    for (int64_t j = r->step; j < r->wide; j += r->step) {
        const dense_at x = dense_shift(d, r->l, r->at + j, r->at);
        const int64_t n = r->wide - j < r->step ? r->wide - j : r->step;
        dense_pack(d, DENSE_B_CONJ, r->diagonal + dense_bytes(d, DENSE_B, j, r->wide), r->wide, 0,
                   &(dense_rows){x.re, x.im, n, x.ld, j, 1});
    }
}

/* Factors the diagonal block of `wide` columns from `at` on. */
static void factor_diagonal(cholesky_run *r, int64_t at, int64_t wide)
{
    const dense *d = &r->d;
    for (int64_t j = 0; j < wide; j += FACTOR_BASE) {
        const int64_t n = wide - j < FACTOR_BASE ? wide - j : FACTOR_BASE, left = wide - j - n;
        const dense_at block = dense_shift(d, r->l, at + j, at + j);
        const int64_t good = d->step->cholesky((int)n, block.re, block.im, r->l.ld);
        r->good += good;
        if (good < n)
            return;
        const dense_at below = dense_shift(d, block, n, 0);
        d->step->right(left, (int)n, block.re, block.im, r->l.ld, below.re, below.im, r->l.ld);
        if (left > 0)
            less_small(r, below, below, dense_shift(d, block, n, n), left, left, n);
    }
}

/* ---- tasks ---- */

/* Copies rows of the lower triangle. */
static void copy_rows(void *context, int64_t task, int worker)
{
    const cholesky_run *r = context;
    const int64_t first = task * r->chunk, end = first + r->chunk < r->n ? first + r->chunk : r->n;
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        const dense_at from = dense_shift(&r->d, r->a, i, 0), to = dense_shift(&r->d, r->l, i, 0);
        memcpy(to.re, from.re, (size_t)((i + 1) * r->d.size));
        if (to.im)
            memcpy(to.im, from.im, (size_t)(i * r->d.size));
        if (to.im)
            memset(to.im + i * r->d.size, 0, (size_t)r->d.size);
    }
}

/* Zeros above the diagonal, and from the first pivot on that is not positive. */
static void clear_rows(void *context, int64_t task, int worker)
{
    const cholesky_run *r = context;
    const int64_t first = task * r->chunk, end = first + r->chunk < r->n ? first + r->chunk : r->n;
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        const int64_t from = i + 1 < r->good ? i + 1 : r->good;
        const dense_at to = dense_shift(&r->d, r->l, i, from);
        memset(to.re, 0, (size_t)((r->n - from) * r->d.size));
        if (to.im)
            memset(to.im, 0, (size_t)((r->n - from) * r->d.size));
    }
}

static void solve_chunk(void *context, int64_t task, int worker)
{
    const cholesky_run *r = context;
    const int64_t row = r->rest + task * r->few, left = r->n - row;
    (void)worker;
    solve_rows(r, row, left < r->few ? left : r->few);
}

/* Packs some rows after the block for the second side. */
static void pack_chunk(void *context, int64_t task, int worker)
{
    const cholesky_run *r = context;
    const int64_t width = dense_width(&r->d, DENSE_B), each = (r->few + width - 1) / width * width;
    const int64_t first = task * each, left = r->n - r->rest - first;
    (void)worker;
    if (left <= 0)
        return;
    const dense_at x = dense_shift(&r->d, r->l, r->rest + first, r->at);
    dense_pack(&r->d, DENSE_B_CONJ, r->panel[1] + dense_bytes(&r->d, DENSE_B, first, r->wide),
               r->wide, 0, &(dense_rows){x.re, x.im, left < each ? left : each, x.ld, r->wide, 1});
}

/* The tiles of a chunk of rows of the rest, up to the diagonal. */
static int64_t tiles_of(const cholesky_run *r, int64_t chunk)
{
    const int64_t end = (chunk + 1) * r->chunk, rows = r->n - r->rest;
    return ((end < rows ? end : rows) + r->columns - 1) / r->columns;
}

/* Rows [row, row + m) of the rest, columns [column, column + n), counted from r->rest on. Both begin at a panel. */
static void update(const cholesky_run *r, int64_t row, int64_t m, int64_t column, int64_t n)
{
    const char *a = r->panel[0] + dense_bytes(&r->d, DENSE_A, row, r->wide);
    const char *b = r->panel[1] + dense_bytes(&r->d, DENSE_B, column, r->wide);
    const dense_product p = {a, b, r->wide, r->wide, 0, m, n, r->wide};
    dense_less_lower(&r->d, &p, row - column,
                     dense_shift(&r->d, r->l, r->rest + row, r->rest + column));
}

/* One tile of the lower triangle. Task 0 has the next diagonal block, which it also factors. The rows of the others are
 * cut into parts of the same number of columns, so that also the last blocks have work for many threads. */
static void update_tile(void *context, int64_t task, int worker)
{
    cholesky_run *r = context;
    int64_t chunk = 0, before = 0; /* chunks of rows, and their tiles */
    while (before + tiles_of(r, chunk) <= task)
        before += tiles_of(r, chunk++);
    const int64_t row = chunk * r->chunk, left = r->n - r->rest - row;
    const int64_t m = left < r->chunk ? left : r->chunk, column = (task - before) * r->columns;
    const int64_t right = row + m - column;
    (void)worker;
    update(r, row, m, column, right < r->columns ? right : r->columns);
    if (task == 0)
        factor_diagonal(r, r->rest, m);
}

ig_status dense_cholesky(const dense *d, int64_t n, dense_at a, dense_at l)
{
    cholesky_run r = {.d = *d, .a = a, .l = l, .n = n};
    r.chunk = r.wide = WIDE / d->gemm->mr * d->gemm->mr;
    const int64_t mr = d->gemm->mr, nr = d->gemm->nr, few = WIDE / 4 / mr * mr;
    r.few = few > mr ? few : mr;
    r.columns = (r.chunk + nr - 1) / nr * nr;
    r.step = nr < PRODUCT_COLUMNS_LEAST ? 2 * nr : nr;
    if (n > r.wide) {
        const int64_t a_bytes = dense_bytes(d, DENSE_A, n, r.wide),
                      b_bytes = dense_bytes(d, DENSE_B, n, r.wide);
        r.panel[0] =
            memory_get((size_t)(a_bytes + b_bytes + dense_bytes(d, DENSE_B, r.wide, r.wide)));
        if (!r.panel[0])
            return IG_ERR_MEMORY;
        r.panel[1] = r.panel[0] + a_bytes;
        r.diagonal = r.panel[1] + b_bytes;
    }
    pool_run((n + r.chunk - 1) / r.chunk, copy_rows, &r);
    factor_diagonal(&r, 0, n < r.wide ? n : r.wide);
    for (; r.at + r.wide < n && r.good >= r.at + r.wide; r.at += r.wide) {
        r.rest = r.at + r.wide;
        const int64_t rows = n - r.rest, tasks = (rows + r.few - 1) / r.few;
        pack_diagonal(&r);
        pool_run(tasks, solve_chunk, &r);
        pool_run(tasks, pack_chunk, &r);
        int64_t tiles = 0;
        for (int64_t i = 0; i * r.chunk < rows; i++)
            tiles += tiles_of(&r, i);
        pool_run(tiles, update_tile, &r);
    }
    pool_run((n + r.chunk - 1) / r.chunk, clear_rows, &r);
    memory_free(r.panel[0]);
    return IG_OK;
}
