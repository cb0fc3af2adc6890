/* Products with matrices in blocks by sums of integers (lanes/quant.h), for contractions that allow it (program/rounded.h).
 *
 * The rows of in[0] are rounded once for each launch. in[1] is packed at the first launch, in place of the mapped pages, and
 * kept with its buffer (packed.c). If there is no memory for that, each tile packs its panels again. */
#include "engine/backend/cpu/contract/tile.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "engine/program/rounded.h"

/* True if the rows of in[1] are whole blocks, one after another. */
static bool has_block_rows(const contraction *c)
{
    const operand *o = &c->p->in[1];
    const int64_t k = c->p->extent[3], step = axis_group_step(&c->row[1]);
    return c->row[1].ndim == 1 && axis_group_is_contiguous(&c->k[1]) && k > 0 &&
           k % o->stored.block == 0 && step == k && o->v.offset % o->stored.block == 0;
}

void quant_choose(contraction *c)
{
    const program *p = c->p;
    const quant_form *f = &cpu_quant_now()->forms[p->in[1].stored.format];
    const bool fits = program_may_round(p) && p->dtype == IG_F32 && p->in[1].dtype == IG_F32 &&
                      f->low > 0 && c->batches == 1 && !c->stored[0] &&
                      axis_group_is_contiguous(&c->k[0]) && has_block_rows(c);
    c->quant = fits ? f : NULL;
    c->rounded = NULL;
}

/* ---- rows of in[0] ---- */

static size_t row_bytes(const contraction *c) { return quant_row_bytes(c->kc.extent); }

enum { TOGETHER = 8 }; /* rows that a task rounds */

static void round_task(void *context, int64_t task, int worker)
{
    const contraction *c = context;
    const char *from = operand_host(&c->p->in[0], c->bindings);
    const int64_t first = task * TOGETHER, left = c->m.extent - first;
    int64_t batch, row[TOGETHER];
    (void)worker;
    axis_group_offsets(&c->batch[0], 0, 1, &batch);
    axis_group_offsets(&c->row[0], first, left < TOGETHER ? left : TOGETHER, row);
    for (int64_t i = 0; i < TOGETHER && i < left; i++)
        cpu_quant_now()->round(c->quant, c->kc.extent,
                               (const float *)(const void *)from + batch + row[i],
                               c->rounded + (size_t)(first + i) * row_bytes(c));
}

ig_status quant_begin(contraction *c)
{
    if (!c->quant)
        return IG_OK;
    c->rounded = memory_data_get((size_t)c->m.extent * row_bytes(c));
    if (!c->rounded)
        return IG_ERR_MEMORY;
    const int64_t tasks = (c->m.extent + TOGETHER - 1) / TOGETHER;
    if (tasks == 1)
        round_task(c, 0, 0);
    else
        pool_run(tasks, round_task, c);
    return IG_OK;
}

void quant_end(contraction *c)
{
    if (c->rounded)
        memory_data_free(c->rounded, (size_t)c->m.extent * row_bytes(c));
    c->rounded = NULL;
}

/* ---- panels of in[1] ---- */

void quant_pack(const contraction *c, const char *from, int64_t first, int64_t n, char *to)
{
    const storage s = c->p->in[1].stored;
    const int64_t k = c->kc.extent, row = k / s.block * storage_block_bytes(s);
    for (int64_t i = 0; i < n; i += QUANT_ROWS, to += quant_panel_bytes(c->quant, k))
        cpu_quant_now()->pack(s, k, n - i < QUANT_ROWS ? n - i : QUANT_ROWS,
                              from + (first + i) * row, row, to);
}

void quant_sum(const contraction *c, const worker_state *w)
{
    const quant_level *level = cpu_quant_now();
    const operand *o = &c->p->in[1];
    const int64_t k = c->kc.extent, bytes = quant_panel_bytes(c->quant, k);
    const char *from = operand_host(o, c->bindings) +
                       o->v.offset / o->stored.block * storage_block_bytes(o->stored);
    char *own = w->plain + level->scratch_bytes;
    for (int64_t j = 0; j < w->n; j += QUANT_ROWS) {
        const int64_t n = w->n - j < QUANT_ROWS ? w->n - j : QUANT_ROWS;
        const char *panel = own;
        if (c->packed[1])
            panel = c->packed[1] + (w->n0 + j) / QUANT_ROWS * bytes;
        else
            quant_pack(c, from, w->n0 + j, n, own);
        level->rows(o->stored, k, w->m, c->rounded + (size_t)w->m0 * row_bytes(c), panel, n,
                    (float *)(void *)w->sums + j, w->ldc, w->plain);
    }
}
