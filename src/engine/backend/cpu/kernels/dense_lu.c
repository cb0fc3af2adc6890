/* LU factorization of one matrix: see dense.h. For each panel of columns: the rows of the other columns are exchanged, the
 * columns to the right are solved, and the rest is updated. A task of the update factors the next panel. */
#include "base/memory.h"
#include "base/integer.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/dense.h"

#include <stdatomic.h>
#include <string.h>

enum { WIDE = 64, ROWS = 128, STEP = 16 /* rows that are solved together */ };

typedef struct lu_run {
    dense d;
    dense_at f;
    int64_t m, n, least;
    int *pivot;
    int64_t at, wide;      /* the panel */
    int64_t rows, columns; /* of a task */
    char *panel[2];    /* the panel's rows below its diagonal block, and the columns to its right */
    char *by_columns;  /* the next panel */
    atomic_llong left; /* tasks that update it and have not ended */
} lu_run;

/* Factors the panel from column `at` on. */
static void factor_panel(const lu_run *r, int64_t at, int64_t wide)
{
    const dense *d = &r->d;
    const int64_t m = r->m - at;
    const dense_at from = dense_shift(d, r->f, at, at);
    char *im = r->by_columns + m * wide * d->size;
    d->step->turn(m, wide, r->by_columns, from.re, from.ld, false);
    if (from.im)
        d->step->turn(m, wide, im, from.im, from.ld, false);
    d->step->lu(m, (int)wide, r->by_columns, im, r->pivot + at);
    d->step->turn(m, wide, r->by_columns, from.re, from.ld, true);
    if (from.im)
        d->step->turn(m, wide, im, from.im, from.ld, true);
    for (int64_t i = 0; i < least(m, wide); i++)
        r->pivot[at + i] += (int)at;
}

/* ---- tasks ---- */

/* Exchanges two rows of `bytes` bytes, a multiple of 4. */
static void swap_rows(char *restrict x, char *restrict y, int64_t bytes)
{
    enum { EACH = 64 };
    int64_t i = 0;
    for (; i + EACH <= bytes; i += EACH) {
        char a[EACH], b[EACH];
        memcpy(a, x + i, EACH);
        memcpy(b, y + i, EACH);
        memcpy(x + i, b, EACH);
        memcpy(y + i, a, EACH);
    }
    for (; i < bytes; i += (int64_t)sizeof(float)) {
        float a, b;
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, y + i, sizeof b);
        memcpy(x + i, &b, sizeof b);
        memcpy(y + i, &a, sizeof a);
    }
}

static void exchange(const lu_run *r, int64_t first, int64_t columns)
{
    const int64_t end = r->at + least(r->wide, r->least - r->at);
    for (int64_t k = r->at; k < end; k++)
        for (int64_t part = 0; part < r->d.parts && r->pivot[k] != k; part++) {
            char *plane = (part ? r->f.im : r->f.re) + first * r->d.size;
            swap_rows(plane + k * r->f.ld * r->d.size, plane + r->pivot[k] * r->f.ld * r->d.size,
                      columns * r->d.size);
        }
}

/* Columns to the left of the panel are exchanged; columns to its right are also solved and packed. */
static void follow_columns(void *context, int64_t task, int worker)
{
    const lu_run *r = context;
    const dense *d = &r->d;
    const int64_t before = (r->at + r->columns - 1) / r->columns;
    (void)worker;
    if (task < before) {
        exchange(r, task * r->columns, least(r->columns, r->at - task * r->columns));
        return;
    }
    const int64_t right = r->at + r->wide, offset = (task - before) * r->columns;
    const int64_t columns = least(r->columns, r->n - right - offset);
    const dense_at u = dense_shift(d, r->f, r->at, right + offset);
    char *packed = r->panel[1] + dense_bytes(d, DENSE_B, offset, r->wide);
    exchange(r, right + offset, columns);
    for (int64_t i = 0; i < r->wide; i += STEP) {
        const int64_t n = least(STEP, r->wide - i);
        const dense_at l = dense_shift(d, r->f, r->at + i, r->at), here = dense_shift(d, u, i, 0);
        if (i > 0) {
            char a[2 * (STEP + GEMM_WIDTH_MAX) * WIDE * sizeof(double)];
            dense_pack(d, DENSE_A, a, i, 0, &(dense_rows){l.re, l.im, n, l.ld, i, 1});
            dense_less(d, &(dense_product){a, packed, i, r->wide, 0, n, columns, i}, here);
        }
        const dense_at own = dense_shift(d, l, 0, i);
        d->step->left((int)n, columns, true, own.re, own.im, l.ld, 1, here.re, here.im, here.ld);
        dense_pack(d, DENSE_B, packed, r->wide, i,
                   &(dense_rows){here.re, here.im, columns, 1, n, here.ld});
    }
}

static void pack_rows(void *context, int64_t task, int worker)
{
    const lu_run *r = context;
    const int64_t below = r->at + r->wide, offset = task * r->rows;
    const dense_at x = dense_shift(&r->d, r->f, below + offset, r->at);
    (void)worker;
    const dense_rows rows = {x.re, x.im, least(r->rows, r->m - below - offset), x.ld, r->wide, 1};
    dense_pack(&r->d, DENSE_A, r->panel[0] + dense_bytes(&r->d, DENSE_A, offset, r->wide), r->wide,
               0, &rows);
}

/* Rows [row, row + m) and columns [column, column + n) of the rest. */
static void update(const lu_run *r, int64_t row, int64_t m, int64_t column, int64_t n)
{
    const int64_t next = r->at + r->wide;
    const dense_product p = {r->panel[0] + dense_bytes(&r->d, DENSE_A, row, r->wide),
                             r->panel[1] + dense_bytes(&r->d, DENSE_B, column, r->wide),
                             r->wide,
                             r->wide,
                             0,
                             m,
                             n,
                             r->wide};
    dense_less(&r->d, &p, dense_shift(&r->d, r->f, next + row, next + column));
}

/* The first tasks update the next panel, some rows each. The one that ends last factors it, while other threads update
 * the other columns. */
static void update_part(void *context, int64_t task, int worker)
{
    lu_run *r = context;
    const int64_t next = r->at + r->wide, m = r->m - next, n = r->n - next;
    const int64_t parts = (n + r->columns - 1) / r->columns, chunks = (m + r->rows - 1) / r->rows;
    (void)worker;
    if (task < chunks) {
        const int64_t wide = least(r->wide, n), first = task * r->rows;
        update(r, first, least(r->rows, m - first), 0, wide);
        if (atomic_fetch_sub(&r->left, 1) == 1 && next < r->least)
            factor_panel(r, next, least(wide, r->least - next));
        return;
    }
    const int64_t nth = task - chunks, row = nth / parts * r->rows,
                  column = nth % parts * r->columns;
    const int64_t from = column == 0 ? r->wide : column, end = least(column + r->columns, n);
    if (from < end)
        update(r, row, least(r->rows, m - row), from, end - from);
}

ig_status dense_lu(const dense *d, int64_t m, int64_t n, dense_at f, int *pivot, int *order)
{
    const int64_t mr = d->gemm->mr, nr = d->gemm->nr;
    lu_run r = {.d = *d, .f = f, .m = m, .n = n, .least = least(m, n), .pivot = pivot};
    r.wide = WIDE / nr * nr;
    r.rows = ROWS / mr * mr;
    r.columns = 2 * r.wide;
    const int64_t a = dense_bytes(d, DENSE_A, m, r.wide), b = dense_bytes(d, DENSE_B, n, r.wide);
    r.panel[0] = memory_get((size_t)(a + b + m * r.wide * d->parts * d->size));
    if (!r.panel[0])
        return IG_ERR_MEMORY;
    r.panel[1] = r.panel[0] + a;
    r.by_columns = r.panel[1] + b;
    factor_panel(&r, 0, least(r.wide, r.least));
    for (; r.at < r.least; r.at += r.wide) {
        const int64_t wide = r.wide, next = r.at + wide;
        const int64_t before = (r.at + r.columns - 1) / r.columns;
        if (next > r.least) { /* the last panel: columns to its right are only solved */
            r.wide = r.least - r.at;
        }
        const int64_t right = n - r.at - r.wide, below = m - r.at - r.wide;
        const int64_t parts = right > 0 ? (right + r.columns - 1) / r.columns : 0;
        const int64_t chunks = below > 0 ? (below + r.rows - 1) / r.rows : 0;
        pool_run(before + parts, follow_columns, &r);
        if (parts > 0 && chunks > 0) {
            pool_run(chunks, pack_rows, &r);
            atomic_store(&r.left, chunks);
            pool_run(chunks + chunks * parts, update_part, &r);
        }
        r.wide = wide;
    }
    for (int64_t i = 0; i < m; i++)
        order[i] = (int)i;
    for (int64_t k = 0; k < r.least; k++) {
        const int was = order[k];
        order[k] = order[pivot[k]];
        order[pivot[k]] = was;
    }
    memory_free(r.panel[0]);
    return IG_OK;
}
