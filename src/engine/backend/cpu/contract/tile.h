/* One tile of a contraction: packing, sums and the epilogue, by one worker. */
#ifndef CPU_CONTRACT_TILE_H
#define CPU_CONTRACT_TILE_H

#include "engine/backend/cpu/contract/contract.h"

/* The state of a worker: its scratch and its tile. */
typedef struct worker_state {
    char *panel[2], *plain, *own, *edge; /* plain: unpacked rows of a block of k */
    int64_t *row[2], *point[2]; /* offsets of the tile's rows and of the points of a block */
    tape_run run;
    int64_t batch, m0, m, n0, n; /* the tile: first row and number of rows, the same for columns */
    char *sums;                  /* the tile's sums, in scratch or in the output buffer ... */
    int64_t ldc;                 /* ... and the distance between their rows */
    const char *from[2];         /* element 0 of the inputs in this batch ... */
    int64_t element[2];          /* ... or, of blocks, its number, and the buffer's first byte */
} worker_state;

/* Finds the worker's parts of its scratch; worker_start also begins the epilogue. */
void worker_place(worker_state *w, const contraction *c, char *scratch);
void worker_start(worker_state *w, const contraction *c, cpu_fault *fault, char *scratch);

/* The number of distinct batches of a side: 1 for a weight, which all batches share. */
static inline int64_t side_batches(const contraction *c, int side)
{
    return axis_group_is_constant(&c->batch[side]) ? 1 : c->batches;
}

/* A block of k of a part of a side, in the shared panels. */
char *tile_shared(const contraction *c, int side, int64_t batch, int64_t part, int64_t block);
/* Computes the addresses of n rows of a side in a batch. */
void tile_find_rows(const contraction *c, worker_state *w, int side, int64_t batch, int64_t first,
                    int64_t n);
/* Packs a block of k of rows [first, first + n) of a side into w->panel[side]. */
void tile_pack(const contraction *c, const worker_state *w, int side, int64_t first, int64_t n,
               int64_t block);
/* Computes the sums of the tile that w describes, without the epilogue. */
void tile_sum(const contraction *c, const worker_state *w);

/* Rows [m0, m0 + rows) of a batch, columns of part j: sums and epilogue. */
void tile_run(const contraction *c, worker_state *w, int64_t batch, int64_t m0, int64_t rows,
              int64_t j);
/* The same for batches [first, end) of dot products: one row on each side. */
void tile_dots(const contraction *c, worker_state *w, int64_t first, int64_t end);
/* The same for bands [first, end) of windows that are not packed (direct.c). */
void direct_run(const contraction *c, worker_state *w, int64_t first, int64_t end);
/* Computes the sums of the tile by sums of integers (quant.c). */
void quant_sum(const contraction *c, const worker_state *w);
/* Passes n consecutive sums to the epilogue; the first is element `start` of the result. */
void tile_epilogue(const contraction *c, worker_state *w, int64_t start, int64_t n, char *sums);

/* True if BLAS can express a matrix of a row group and a k group: one of them is contiguous.
 * *stride is the stride of the other. */
bool tile_blas_matrix(const axis_group *row, const axis_group *k, bool *turned, int64_t *stride);

#endif
