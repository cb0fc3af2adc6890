/* Products, triangular systems and panels of blocked factorizations: see dense.h. */
#include "engine/backend/cpu/kernels/dense.h"

#include "base/memory.h"
#include "base/threads.h"
#include "engine/backend/cpu/cpu.h"

#include <string.h>

dense dense_of(int type)
{
    const bool wide = type == FACTOR_F64 || type == FACTOR_C128;
    const cpu_level *level = cpu_level_now();
    return (dense){&level->gemm->of[wide ? IG_F64 : IG_F32], &level->factor->dense[type],
                   wide ? sizeof(double) : sizeof(float), type >= FACTOR_C64 ? 2 : 1};
}

/* ---- products ---- */

int64_t dense_width(const dense *d, dense_side side)
{
    return side == DENSE_A ? d->gemm->mr : d->gemm->nr;
}

int64_t dense_bytes(const dense *d, dense_side side, int64_t n, int64_t k)
{
    const int64_t width = dense_width(d, side), rows = (n + width - 1) / width * width;
    return rows * k * d->parts * d->size * (side == DENSE_A ? 1 : d->parts);
}

/* One panel of real numbers, POINTS points at a time. */
static void pack_real(const dense *d, dense_side side, char *to, const dense_rows *x)
{
    enum { POINTS = 256 };
    const int64_t width = dense_width(d, side);
    int64_t row[GEMM_WIDTH_MAX], point[POINTS];
    for (int64_t r = 0; r < x->n; r++)
        row[r] = r * x->row_step;
    for (int64_t i = 0; i < x->k && i < POINTS; i++)
        point[i] = i * x->k_step;
    for (int64_t i = 0; i < x->k; i += POINTS)
        (side == DENSE_A ? d->gemm->pack_m : d->gemm->pack_n)(
            to + i * width * d->size, x->re + i * x->k_step * d->size, x->n, row,
            x->k - i < POINTS ? x->k - i : POINTS, x->k_step == 1 ? NULL : point);
}

void dense_pack(const dense *d, dense_side side, char *to, int64_t deep, int64_t from,
                const dense_rows *x)
{
    const int64_t width = dense_width(d, side), panel = dense_bytes(d, side, width, deep);
    const int64_t second = panel / 2;
    to += from * width * d->parts * d->size;
    for (int64_t r = 0; r < x->n; r += width, to += panel) {
        dense_rows part = *x;
        part.n = x->n - r < width ? x->n - r : width;
        part.re += r * x->row_step * d->size;
        if (d->parts == 1) {
            pack_real(d, side, to, &part);
            continue;
        }
        part.im += r * x->row_step * d->size;
        d->step->pack(to, (int)width, part.n, x->row_step, x->k, x->k_step, part.re, part.im,
                      side == DENSE_B ? FACTOR_MINUS_SECOND : FACTOR_PLAIN);
        if (side != DENSE_A)
            d->step->pack(to + second, (int)width, part.n, x->row_step, x->k, x->k_step, part.re,
                          part.im, side == DENSE_B ? FACTOR_SWAP : FACTOR_SWAP_MINUS);
    }
}

static void copy_rows(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t rows,
                      int64_t bytes)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * to_row, from + i * from_row, (size_t)bytes);
}

/* A tile of which only some rows and columns exist. */
static void less_aside(const dense *d, int64_t k, const char *a, const char *b, char *c, int64_t ld,
                       int64_t rows, int64_t columns)
{
    _Alignas(64) char tile[GEMM_WIDTH_MAX * GEMM_WIDTH_MAX * sizeof(double)];
    const int64_t row = d->gemm->nr * d->size, bytes = columns * d->size;
    memset(tile, 0, (size_t)(d->gemm->mr * row));
    copy_rows(tile, row, c, ld * d->size, rows, bytes);
    d->gemm->less(k, a, b, tile, d->gemm->nr);
    copy_rows(c, ld * d->size, tile, row, rows, bytes);
}

/* Rows [first, end) of a part of the sums. */
static void less_rows(const dense *d, const dense_product *p, int64_t diagonal, int64_t part,
                      int64_t first, int64_t end, dense_at c)
{
    const int64_t mr = d->gemm->mr, nr = d->gemm->nr, each = d->parts * d->size;
    const int64_t a_panel = dense_bytes(d, DENSE_A, mr, p->a_deep),
                  b_panel = dense_bytes(d, DENSE_B, nr, p->b_deep);
    for (int64_t j = 0; j < p->n; j += nr) {
        const char *b = p->b + j / nr * b_panel + part * (b_panel / 2) + p->from * nr * each;
        const int64_t wide = p->n - j < nr ? p->n - j : nr;
        const int64_t above = j > diagonal ? (j - diagonal) / mr * mr : 0;
        for (int64_t i = first > above ? first : above; i < end; i += mr) {
            const char *a = p->a + i / mr * a_panel + p->from * mr * each;
            const int64_t rows = p->m - i < mr ? p->m - i : mr;
            char *at = (part ? c.im : c.re) + (i * c.ld + j) * d->size;
            if (wide == nr && rows == mr)
                d->gemm->less(p->k * d->parts, a, b, at, c.ld);
            else
                less_aside(d, p->k * d->parts, a, b, at, c.ld, rows, wide);
        }
    }
}

void dense_less_lower(const dense *d, const dense_product *p, int64_t diagonal, dense_at c)
{
    enum { ROWS = 64 }; /* their panels stay in the L1 cache */
    const int64_t mr = d->gemm->mr, rows = ROWS > mr ? ROWS / mr * mr : mr;
    for (int64_t part = 0; part < d->parts && p->k > 0; part++)
        for (int64_t i = 0; i < p->m; i += rows)
            less_rows(d, p, diagonal, part, i, p->m - i < rows ? p->m : i + rows, c);
}

void dense_less(const dense *d, const dense_product *p, dense_at c)
{
    dense_less_lower(d, p, p->n, c);
}

/* ---- triangular systems ----
 *
 * An upper triangular system is a lower one with reversed rows and points. Rows of the matrix are packed in blocks of
 * ROWS; then each task takes some columns through all blocks. Their solutions are packed, too. */

enum { ROWS = 64, POINTS = 256 };

typedef struct system {
    dense d;
    int64_t n, columns, wide; /* columns of a task */
    bool unit;
    dense_at a, x; /* element (0, 0) of the lower system ... */
    int64_t way;   /* ... and 1, or -1 if it is reversed */
    char *panels, *solved;
    int64_t solved_bytes;
} system_run;

/* Bytes of the panels of the rows before block b. */
static int64_t panels_before(const system_run *s, int64_t b)
{
    const int64_t mr = s->d.gemm->mr, rows = (ROWS + mr - 1) / mr * mr;
    return rows * ROWS * (b * (b - 1) / 2) * s->d.parts * s->d.size;
}

static void pack_block(void *context, int64_t b, int worker)
{
    const system_run *s = context;
    const dense *d = &s->d;
    const int64_t i = b * ROWS, left = s->n - i;
    const dense_at from = dense_shift(d, s->a, s->way * i, 0);
    (void)worker;
    if (b == 0)
        return;
    const dense_rows rows = {from.re,          from.im, left < ROWS ? left : ROWS,
                             s->way * s->a.ld, i,       s->way};
    dense_pack(d, DENSE_A, s->panels + panels_before(s, b), i, 0, &rows);
}

/* The first row of some columns that is not 0, rounded down to a whole block. */
static int64_t first_row(const system_run *s, dense_at x, int64_t columns)
{
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t part = 0; part < s->d.parts; part++) {
            const char *at = (part ? x.im : x.re) + i * x.ld * s->d.size;
            for (int64_t j = 0; j < columns; j++)
                if (s->d.size == sizeof(float) ? ((const float *)at)[j] != 0
                                               : ((const double *)at)[j] != 0)
                    return i / ROWS * ROWS;
        }
    return s->n;
}

/* Solves a block of rows of some columns, from which the products of earlier blocks have been subtracted. */
static void solve_block(const system_run *s, dense_at x, int64_t i, int64_t columns, char *packed)
{
    const dense *d = &s->d;
    const int64_t rows = s->n - i < ROWS ? s->n - i : ROWS;
    for (int64_t r = 0; r < rows; r += FACTOR_BASE) {
        const int64_t n = rows - r < FACTOR_BASE ? rows - r : FACTOR_BASE;
        const dense_at a = dense_shift(d, s->a, s->way * (i + r), s->way * (i + r));
        const dense_at here = dense_shift(d, x, i + r, 0);
        if (r > 0) { /* the rows of this block before r */
            const dense_at from = dense_shift(d, s->a, s->way * (i + r), s->way * i);
            char panels[2 * (FACTOR_BASE + GEMM_WIDTH_MAX) * FACTOR_BASE * sizeof(double)];
            dense_pack(d, DENSE_A, panels, r, 0,
                       &(dense_rows){from.re, from.im, n, s->way * s->a.ld, r, s->way});
            const char *own = packed + i * d->gemm->nr * d->parts * d->size;
            dense_less(d, &(dense_product){panels, own, r, s->n, 0, n, columns, r}, here);
        }
        d->step->left((int)n, columns, s->unit, a.re, a.im, s->way * s->a.ld, s->way, here.re,
                      here.im, here.ld);
        dense_pack(d, DENSE_B, packed, s->n, i + r,
                   &(dense_rows){here.re, here.im, columns, 1, n, here.ld});
    }
}

static void solve_columns(void *context, int64_t task, int worker)
{
    const system_run *s = context;
    const dense *d = &s->d;
    const int64_t first = task * s->wide, left = s->columns - first;
    const int64_t columns = left < s->wide ? left : s->wide;
    const dense_at x = dense_shift(d, s->x, 0, first);
    char *packed = s->solved + worker * s->solved_bytes;
    const int64_t start = first_row(s, x, columns);
    for (int64_t i = start; i < s->n; i += ROWS) {
        const int64_t rows = s->n - i < ROWS ? s->n - i : ROWS;
        for (int64_t k = start; k < i; k += POINTS) {
            const dense_product p = {
                s->panels + panels_before(s, i / ROWS), packed, i, s->n, k, rows, columns,
                i - k < POINTS ? i - k : POINTS};
            dense_less(d, &p, dense_shift(d, x, i, 0));
        }
        solve_block(s, x, i, columns, packed);
    }
}

ig_status dense_substitute(const dense *d, int64_t n, int64_t columns, bool upper, bool unit,
                           dense_at a, dense_at x)
{
    enum { WIDE = 96, TASKS = 4 };
    const int64_t nr = d->gemm->nr, blocks = (n + ROWS - 1) / ROWS, threads = pool_threads();
    system_run s = {.d = *d, .n = n, .columns = columns, .unit = unit, .a = a, .x = x, .way = 1};
    if (upper) {
        s.a = dense_shift(d, a, n - 1, n - 1);
        s.x = dense_shift(d, x, n - 1, 0);
        s.x.ld = -x.ld;
        s.way = -1;
    }
    if (n <= FACTOR_BASE) {
        d->step->left((int)n, columns, unit, s.a.re, s.a.im, s.way * a.ld, s.way, s.x.re, s.x.im,
                      s.x.ld);
        return IG_OK;
    }
    if (columns == 1 && d->step->one) { /* reading the matrix takes longest */
        d->step->one(n, unit, s.a.re, s.way * a.ld, s.way, s.x.re, s.x.ld);
        return IG_OK;
    }
    const int64_t even = columns / (threads * TASKS) / nr * nr;
    s.wide = even < nr ? nr : even < WIDE ? even : WIDE / nr * nr;
    s.solved_bytes = dense_bytes(d, DENSE_B, s.wide, n);
    s.panels = memory_get((size_t)(panels_before(&s, blocks) + s.solved_bytes * threads));
    if (!s.panels)
        return IG_ERR_MEMORY;
    s.solved = s.panels + panels_before(&s, blocks);
    pool_run(blocks, pack_block, &s);
    pool_run((columns + s.wide - 1) / s.wide, solve_columns, &s);
    memory_free(s.panels);
    return IG_OK;
}

/* ---- panels of qr ---- */

ig_status dense_qr(const dense *d, int64_t m, int64_t n, dense_at a, dense_at v, dense_at r,
                   dense_at t)
{
    char *columns = memory_get((size_t)(m * n * d->size));
    if (!columns)
        return IG_ERR_MEMORY;
    d->step->turn(m, n, columns, a.re, a.ld, false);
    d->step->qr(m, (int)n, columns, r.re, t.re);
    d->step->turn(m, n, columns, v.re, v.ld, true);
    memory_free(columns);
    return IG_OK;
}
