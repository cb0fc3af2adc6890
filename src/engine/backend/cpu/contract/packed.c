/* Packed matrices: the panels of a matrix that several evaluations multiply with, such as a weight. They are packed
 * once and kept with the buffer of the matrix, until its content changes or the buffer is freed.
 *
 * Arrays never change, except that an evaluation may overwrite a donated one: the engine then calls buffer_forget. So a
 * buffer that was an input of two evaluations will probably be an input of more. If the matrix is in a mapped file, its
 * pages are released after packing: the panels replace them. */
#include "engine/backend/cpu/contract/contract.h"
#include "base/error.h"
#include "base/mapping.h"
#include "base/memory.h"
#include "base/threads.h"

typedef struct packed {
    derived base; /* of a buffer: the first of a list */
    struct packed *next;
    const void *layout; /* the kernel or form that reads the panels */
    int side;           /* of the products */
    size_t offset;
    int64_t row_step, k_step, n, k;
    size_t bytes;
    char *panels;
} packed;

enum {
    READS_LEAST = 2,  /* evaluations that must have read the matrix */
    ROWS_MOST = 2048, /* with more rows, packing each time costs little */
    SHARE = 4         /* panels are at most this part of the memory limit */
};
#define MATRIX_LEAST \
    ((int64_t)256 << 10) /* bytes: packing a smaller matrix takes almost no time ... */
#define BYTES_LEAST \
    ((int64_t)32 \
     << 10) /* ... unless its elements are bytes, which are multiplied faster, or it is multiplied with few rows */

static void packed_free(derived *list)
{
    for (packed *p = (packed *)list, *next; p; p = next) {
        next = p->next;
        memory_data_free(p->panels, p->bytes);
        memory_free(p);
    }
}

static int64_t rows_of(const contraction *c, int side)
{
    return side == 0 ? c->m.extent : c->n.extent;
}

int64_t packed_block(const contraction *c, int side)
{
    return panels_rows(c, side, rows_of(c, side)) * panel_row(c, c->kc.size);
}

/* True if in[0] is a plain matrix of bytes, as the kernels of a convolution. */
static bool is_matrix_0(const contraction *c)
{
    return c->thin < 0 && !c->blas && !c->straight && c->element_bytes == 1 &&
           (c->batches == 1 || axis_group_is_constant(&c->batch[0])) && c->row[0].ndim == 1 &&
           c->k[0].ndim == 1 && c->kernel->element_bytes == 1;
}

/* True if in[1] is a plain matrix whose rows have contiguous points, as in linear layers. A matrix of bytes may also be
 * transposed. */
static bool is_matrix_1(const contraction *c)
{
    const bool may_be_thin = c->thin == 0 && c->along && !c->dots && c->kernel->thin_packed;
    return (c->thin < 0 || may_be_thin) && !c->blas && (c->runs[1] || c->element_bytes == 1) &&
           c->batches == 1 && c->row[1].ndim == 1 && c->k[1].ndim == 1 &&
           c->kernel->element_bytes == c->element_bytes;
}

static const void *layout_of(const contraction *c)
{
    return c->quant ? (const void *)c->quant : c->kernel;
}

bool packed_may_keep(const contraction *c, int side)
{
    return c->quant ? side == 1 : side == 0 ? is_matrix_0(c) : is_matrix_1(c);
}

static packed *packed_find(const contraction *c, int side, const buffer *b, size_t offset)
{
    packed *p = (packed *)b->derived;
    while (p && !(p->layout == layout_of(c) && p->side == side && p->offset == offset &&
                  p->n == rows_of(c, side) && p->k == c->kc.extent &&
                  p->row_step == axis_group_step(&c->row[side]) &&
                  p->k_step == axis_group_step(&c->k[side])))
        p = p->next;
    return p;
}

/* ---- packing ---- */

typedef struct packing {
    const contraction *c;
    int side;
    const char *from;
    char *to;
    cut rows;
} packing;

/* Packs one block of k of some rows. */
static void packing_task(void *context, int64_t task, int worker)
{
    enum { PACKED_MOST = 256 };
    const packing *j = context;
    const contraction *c = j->c;
    const int64_t block = task / j->rows.parts, part = task % j->rows.parts;
    const int64_t k = cut_length(&c->kc, block), n = cut_length(&j->rows, part);
    const int64_t first = part * j->rows.size;
    const bool runs = c->runs[j->side];
    int64_t row[PACKED_MOST], point[GEMM_KC_MOST];
    (void)worker;
    axis_group_offsets(&c->row[j->side], first, n, row);
    axis_group_offsets(&c->k[j->side], block * c->kc.size, runs ? 1 : k, point);
    (j->side == 0 ? c->kernel->pack_m : c->kernel->pack_n)(
        j->to + block * packed_block(c, j->side) + first * panel_row(c, k),
        j->from + (runs ? point[0] : 0) * c->element_bytes, n, row, k, runs ? NULL : point);
}

/* Packs some panels with blocks. */
static void packing_quant(void *context, int64_t task, int worker)
{
    const packing *j = context;
    const int64_t first = task * j->rows.size;
    (void)worker;
    quant_pack(j->c, j->from, first, cut_length(&j->rows, task),
               j->to + first / QUANT_ROWS * quant_panel_bytes(j->c->quant, j->c->kc.extent));
}

static void pack_all(const contraction *c, int side, const char *from, char *to)
{
    enum { TASK_ROWS = 128 }; /* one more panel must not exceed PACKED_MOST */
    const int64_t width = side == 0 ? c->kernel->mr : c->kernel->nr;
    packing j = {c, side, from, to,
                 cut_at_most(rows_of(c, side), TASK_ROWS, c->quant ? QUANT_ROWS : width)};
    if (c->quant) {
        pool_run(j.rows.parts, packing_quant, &j);
        return;
    }
    pool_run(c->kc.parts * j.rows.parts, packing_task, &j);
}

/* True if there is memory for the panels. */
static bool may_keep(size_t bytes)
{
    const uint64_t limit = ig_memory_limit(), used = ig_memory_used();
    return bytes <= limit / SHARE && used <= limit / 2 && bytes <= limit / 2 - used;
}

ig_status packed_get(contraction *c, int side)
{
    const operand *o = &c->p->in[side];
    const binding *at = &c->bindings[o->slot];
    buffer *b = at->buf;
    const size_t offset = at->offset + (size_t)(o->v.offset * c->element_bytes);
    const int64_t n = rows_of(c, side) * c->kc.extent;
    const int64_t matrix = c->quant ? storage_bytes(o->stored, o->dtype, n) : n * c->element_bytes;
    c->packed[side] = NULL;
    if ((b->reads < READS_LEAST && !c->quant) || !packed_may_keep(c, side))
        return IG_OK;
    packed *p = packed_find(c, side, b, offset);
    const size_t bytes = (size_t)(c->quant ? (rows_of(c, side) + QUANT_ROWS - 1) / QUANT_ROWS *
                                                 quant_panel_bytes(c->quant, c->kc.extent)
                                           : c->kc.parts * packed_block(c, side));
    if (p)
        c->packed[side] = p->panels;
    const int64_t least = c->quant                                ? 0
                          : c->element_bytes == 1 || c->thin >= 0 ? BYTES_LEAST
                                                                  : MATRIX_LEAST;
    if (p || (rows_of(c, !side) > ROWS_MOST && !c->quant) || matrix < least || !may_keep(bytes))
        return IG_OK;
    p = memory_get(sizeof *p);
    char *panels = p ? memory_data_get(bytes) : NULL;
    if (!panels) {
        memory_free(p);
        return IG_ERR_MEMORY;
    }
    const char *from = operand_host(o, c->bindings);
    if (c->quant)
        from += o->v.offset / o->stored.block * storage_block_bytes(o->stored);
    pack_all(c, side, from, panels);
    mapping_give_back(from, (size_t)matrix);
    *p = (packed){.base = {packed_free},
                  .next = (packed *)b->derived,
                  .layout = layout_of(c),
                  .side = side,
                  .offset = offset,
                  .row_step = axis_group_step(&c->row[side]),
                  .k_step = axis_group_step(&c->k[side]),
                  .n = rows_of(c, side),
                  .k = c->kc.extent,
                  .bytes = bytes,
                  .panels = panels};
    b->derived = &p->base;
    c->packed[side] = panels;
    return IG_OK;
}
