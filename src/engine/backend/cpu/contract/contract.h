/* The plan of a contraction: how its output is cut into tiles and k into blocks, which side is read
 * in place, and the layout of a worker's scratch. contract_plan.c makes it, contract.c runs it. */
#ifndef CPU_CONTRACT_H
#define CPU_CONTRACT_H

#include "engine/backend/cpu/contract/blas.h"
#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/lanes/gemm.h"
#include "engine/backend/cpu/quant.h"
#include "engine/backend/cpu/elements/sliding.h"

/* A side of the output, or k, cut into parts of equal size; the last may be shorter. */
typedef struct cut {
    int64_t extent, parts, size;
} cut;

/* Parts of at most `most`, which is at least one unit; part sizes are multiples of the unit. */
cut cut_at_most(int64_t extent, int64_t most, int64_t unit);

static inline int64_t cut_length(const cut *c, int64_t part)
{
    const int64_t left = c->extent - part * c->size;
    return left < c->size ? left : c->size;
}

/* The layout of a worker's scratch: offsets in bytes. */
typedef struct scratch_layout {
    size_t panel[2], plain, sums, edge, row[2], point[2], tape, bytes;
} scratch_layout;

/* Windows of in[1] that are not packed: see direct.c. */
typedef struct direct {
    bool on;
    sliding windows;
    int64_t together; /* planes that go through the epilogue together, if they have one band */
} direct;

typedef struct contraction {
    const program *p;
    const binding *bindings;
    const gemm_kernel *kernel;
    int64_t lane_bytes, element_bytes;
    axis_group batch[2], row[2],
        k[2]; /* of in[0] and in[1]; row is m for the first, n for the second */
    int64_t batches;
    cut m, n, kc;
    int64_t strip;         /* rows of in[0] that are packed at a time: they fit in the L2 cache */
    char *shared[2];       /* shared panels of a side; or NULL */
    const char *packed[2]; /* panels of all of a side that its buffer keeps (packed.c); or NULL */
    bool straight;         /* kernels read rows of in[0] in place: see tile_rows */
    bool stored[2];        /* a side's buffer has blocks, which are unpacked some rows at a time */
    bool runs[2];          /* the points of a side's rows are contiguous, and its rows are not */
    int result;            /* operand of the epilogue that stores the sums unchanged; -1: none */
    int thin;      /* which side has few rows (thin); the other is not packed; -1: neither */
    bool along;    /* the other side's points are contiguous, else its rows are ... */
    int64_t run;   /* ... this many at a time: its row group is one of such runs */
    bool small;    /* in[0] is read in place as a thin side, though it may have many rows */
    int64_t ready; /* blocks of k of the thin side that are copied at a time ... */
    int64_t x_row, x_point;  /* ... and the strides of the copy, or of in[0]: see gemm_thin */
    bool dots;               /* one row on either side: batches are computed together */
    direct direct;           /* windows that are not packed */
    int mirror;              /* operand of the epilogue that stores a symmetric result; -1: none */
    const quant_form *quant; /* in[1] is multiplied by sums of integers (quant.c); or NULL */
    char *rounded;           /* ... and these are the rounded rows of in[0] */
    const blas *blas;        /* computes the tiles instead of our kernels; or NULL */
    scratch_layout at;
    int threads;          /* the number of threads that the tiles are cut for ... */
    int64_t rows;         /* ... or, in a chain, the rows of a tile; 0: none */
    int64_t tiles, tasks; /* of a round ... */
    int64_t round,
        first; /* ... which are parts of m that are computed at a time, and the first part of this
                * round */
    cpu_fault fault;
} contraction;

/* Bytes of one row's k points in a panel. */
static inline int64_t panel_row(const contraction *c, int64_t k)
{
    const int64_t together = c->kernel->group;
    return (k + together - 1) / together * together * c->kernel->element_bytes;
}

/* The rows of the panels that hold `rows` rows of a side. */
static inline int64_t panels_rows(const contraction *c, int side, int64_t rows)
{
    const int64_t width = side == 0 ? c->kernel->mr : c->kernel->nr;
    return (rows + width - 1) / width * width;
}

/* Plans the largest tiles. */
void contraction_set(contraction *c, const program *p);
/* Cuts the tiles further until all threads have work. */
void contraction_share(contraction *c, int threads);
/* True if tiles would pack a side many times, because the other side is cut into parts of less than TILE_PACKS. */
bool contraction_packs_again(const contraction *c, int side);
/* Computes the layout of the scratch after a change. */
void contraction_layout(contraction *c);

/* Sets c->direct if the windows of in[1] should not be packed, and the layout of the scratch. */
void direct_choose(contraction *c);
/* Bytes of a band in scratch: of sums with unused ones between rows, and of sums for the epilogue. */
int64_t direct_flat_bytes(const contraction *c);
int64_t direct_sums_bytes(const contraction *c);

/* Sets c->quant if in[1] has blocks that are multiplied by sums of integers. */
void quant_choose(contraction *c);
/* Rounds the rows of in[0] for a launch; quant_end frees them. */
ig_status quant_begin(contraction *c);
void quant_end(contraction *c);
/* Packs rows [first, first + n) of in[1], whole panels. `from`: the first byte of in[1]'s first row. */
void quant_pack(const contraction *c, const char *from, int64_t first, int64_t n, char *to);

/* Sets c->mirror if in[0] and in[1] are the same, so that half of the result is computed. */
void mirror_choose(contraction *c);
/* Copies the elements below the diagonal to the places above it. */
void mirror_run(contraction *c);

/* True if the panels of a side may be kept with its buffer. Its tiles then begin at panels. */
bool packed_may_keep(const contraction *c, int side);
/* Sets c->packed[side] for this launch. Packs the side if its buffer was also an input of earlier evaluations. */
ig_status packed_get(contraction *c, int side);
/* Bytes from one block of k to the next in these panels. Rows begin a panel_row apart. */
int64_t packed_block(const contraction *c, int side);

#endif
