/* Arrays larger than memory: elements that are read block by block, and results that are written block by block.
 *
 * An array made by ig_from_blocks is used like any other. ig_eval, and all functions that evaluate, split a graph that
 * reads such arrays into blocks, so that it fits in the memory limit. Results do not depend on how they are split. */
#ifndef INGOT_BLOCKS_H
#define INGOT_BLOCKS_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the elements [start, start + size) of each axis to data, in row-major order. Called from any thread, one call at a
 * time for each array unless `concurrent` is set. On failure it calls ig_fail. */
typedef ig_status (*ig_block_read)(void *context, const int64_t *start, const int64_t *size,
                                   void *data);

typedef struct ig_blocks {
    size_t size; /* sizeof(ig_blocks) */
    ig_ints shape;
    ig_dtype dtype;
    ig_ints chunk; /* the unit in which reading is efficient; IG_NONE: any part of the array */
    ig_block_read read;
    void (*release)(void *context); /* called when nothing uses the array any more; may be NULL */
    void *context;
    uint64_t scratch; /* bytes of array data that a call of read holds while it runs */
    bool concurrent;  /* several calls of read may run at the same time */
} ig_blocks;

/* An array whose elements are read when they are needed. On failure, release is called at once. */
IG_API ig_array *ig_from_blocks(const ig_blocks *blocks);

/* True if x is not evaluated and depends on such an array. */
IG_API bool ig_reads_blocks(ig_array *x);
/* The chunks of an array that x depends on and that has the shape of x: a good choice for writing x. An empty list
 * (v is NULL) if there is no such array. The list is valid until x is evaluated. */
IG_API ig_ints ig_chunks_like(ig_array *x);

/* Where blocks of a result go. */
typedef struct ig_block_sink {
    size_t size; /* sizeof(ig_block_sink) */
    ig_ints
        chunk; /* the unit in which it is written: blocks begin and end at multiples of it, or at the end of an axis */
    /* Writes a block, as ig_block_read reads one. */
    ig_status (*write)(void *context, const int64_t *start, const int64_t *size, const void *data);
    /* True if the block has been written before, so that it need not be computed; may be NULL. */
    bool (*has)(void *context, const int64_t *start, const int64_t *size);
    void *context;
    uint64_t scratch; /* bytes of array data that a call of write holds while it runs */
} ig_block_sink;

/* Computes n arrays block by block and gives the blocks to the sinks. The arrays stay unevaluated. */
IG_API ig_status ig_eval_to(ig_array *const *arrays, const ig_block_sink *const *sinks, int n);
/* The plan of ig_eval_to, or of ig_eval if sinks is NULL: steps, blocks, and the bytes that are read, written, spilled
 * and held. Release the text with ig_free; NULL on failure. */
IG_API char *ig_explain_blocks(ig_array *const *arrays, const ig_block_sink *const *sinks, int n);

/* Called during a block by block evaluation, from the thread that evaluates: the bytes of the sources that have been
 * read, and those that the plan reads. NULL switches it off. */
typedef void (*ig_progress)(void *context, uint64_t done, uint64_t total);
IG_API void ig_set_progress(ig_progress progress, void *context);

#ifdef __cplusplus
}
#endif

#endif
