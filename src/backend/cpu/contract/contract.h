/* A contraction as it is planned: how its output is cut into tiles, and k into blocks; which side is read in
 * place; where a worker's scratch keeps what. contract_plan.c makes it, contract.c runs it. */
#ifndef CPU_CONTRACT_H
#define CPU_CONTRACT_H

#include "backend/cpu/contract/blas.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/lanes/gemm.h"
#include "backend/cpu/contract/axis_group.h"

/* How one side of the output, or k, is cut into parts of the same size (the last may be shorter). */
typedef struct cut {
    int64_t extent, parts, size;
} cut;

/* Parts of at most `most`, which is at least one unit; sizes are multiples of it. */
cut cut_at_most(int64_t extent, int64_t most, int64_t unit);

static inline int64_t cut_length(const cut *c, int64_t part)
{
    const int64_t left = c->extent - part * c->size;
    return left < c->size ? left : c->size;
}

/* Where a worker's scratch keeps what, in bytes from its start. */
typedef struct layout {
    size_t panel[2], sums, edge, row[2], point[2], tape, bytes;
} layout;

typedef struct contraction {
    const program *p;
    const binding *bindings;
    const gemm_kernel *kernel;
    int64_t lane_bytes, element_bytes;
    axis_group batch[2], row[2],
        k[2];                   /* of in[0] and in[1]; row is m for the first, n for the second */
    const int64_t *all_rows[2]; /* offsets of all of a side's rows, if they are few; or NULL ... */
    const int64_t *all_points[2]; /* ... and of all points of k */
    int64_t batches;
    cut m, n, kc;
    int64_t strip;    /* rows of in[0] that are packed at a time: they stay in the L2 cache */
    char *shared[2];  /* panels of a side that were packed for all workers; or NULL */
    bool in_place[2]; /* a side is small, and lies as its panels would */
    int result;       /* operand of the post tape that is the sums, no more; -1: there is none */
    bool close;       /* rows of sums follow each other without a gap */
    int thin;         /* which side has few rows and is not packed; -1: neither */
    bool along;       /* the other's points are side by side, else its rows are */
    int64_t ready;    /* blocks of k of the thin side that are laid out at a time ... */
    int64_t x_row, x_point; /* ... and its strides there: see gemm_thin */
    bool dots;              /* one row on either side: batches are summed side by side */
    const blas *blas;       /* what sums the tiles instead of our kernels; or NULL */
    layout at;
    int threads;  /* that the tiles are cut for ... */
    int64_t rows; /* ... or, in a chain, how many rows are under way at once; 0: none */
    int64_t tiles, tasks;
    cpu_fault fault;
} contraction;

/* Bytes of one row's k points in a panel. */
static inline int64_t panel_row(const contraction *c, int64_t k)
{
    const int64_t together = c->kernel->group;
    return (k + together - 1) / together * together * c->kernel->element_bytes;
}

/* For as few tiles as there can be. No offsets are known then. */
void contraction_set(contraction *c, const program *p);
/* Lists the offsets that are worth it in `room`, which must have so many bytes. */
void contraction_offsets(contraction *c, int64_t *room);
size_t contraction_offsets_bytes(const contraction *c);
/* Cuts the tiles further until all threads have work. */
void contraction_share(contraction *c, int threads);
/* After a change: where the scratch keeps what. */
void contraction_layout(contraction *c);

#endif
