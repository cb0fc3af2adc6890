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
    /* All elements in row-major order, if they are in memory that does not change before release, such as a mapped file.
     * Blocks whose elements follow each other there are not copied. NULL: they must be read. */
    const void *data;
} ig_blocks;

/* An array whose elements are read when they are needed. On failure, release is called at once. */
IG_API ig_array *ig_from_blocks(const ig_blocks *blocks);

/* True if x is not evaluated and depends on such an array. */
IG_API bool ig_reads_blocks(ig_array *x);
/* A good choice of chunks for writing x: the chunks of the last ig_rechunk or ig_map_blocks on the way to x, else of an
 * array in blocks that x depends on. Only arrays that have the shape of x count. An empty list (v is NULL) if there is
 * none. The list is valid until x is evaluated. */
IG_API ig_ints ig_chunks_like(ig_array *x);

/* ---- functions of blocks ---- */

/* Computes a chunk of the result from the chunks of n arrays at the same place. index: the number of the chunk along each
 * axis. The result belongs to the scope; it need not be evaluated. On failure the function calls ig_fail and returns
 * NULL. */
typedef ig_array *(*ig_block_function)(void *context, const int64_t *index, ig_array *const *blocks,
                                       int n);

typedef struct ig_block_map {
    size_t size; /* sizeof(ig_block_map) */
    ig_block_function function;
    void (*release)(void *context); /* called when nothing uses the result any more; may be NULL */
    void *context;
    ig_ints chunk; /* of the arrays; IG_NONE: ig_chunks_like of the first, else one chunk */
    /* The shape of a result's chunk; IG_NONE: chunk. Along axes where both are equal, a shorter last chunk gives a result
     * of the same length. Along other axes every chunk gives the same number of elements. */
    ig_ints result_chunk;
    ig_dtype dtype; /* of the result; IG_DTYPE_NONE: of the first array */
    /* Elements of the neighbours that a chunk gets on both sides, for each axis; IG_NONE: 0. The function returns a
     * result for these too, which is dropped. */
    ig_ints depth;
    /* The elements past the ends of the arrays: "reflect" (the elements at the end, mirrored), "periodic", "nearest",
     * "constant" (value), or "none": chunks at the ends get fewer elements. NULL: none. */
    const char *boundary;
    double value;
    uint64_t scratch; /* bytes of array data that a call of function holds; 0: a guess */
} ig_block_map;

/* An array whose chunks a function computes when they are needed, from chunks of n arrays that are broadcast to one shape.
 * Chunks are always the map's, however the evaluation is cut, so results do not depend on the memory limit. The
 * function is called by the thread that evaluates, and may evaluate arrays. It may be called more than once for a chunk,
 * and must return the same elements each time. Gradients do not pass it. On failure, release is called at once. */
IG_API ig_array *ig_map_blocks(const ig_block_map *map, ig_array *const *arrays, int n);

/* ---- results ---- */

/* Where blocks of a result go. */
typedef struct ig_block_sink {
    size_t size; /* sizeof(ig_block_sink) */
    ig_ints
        chunk; /* the unit in which it is written: blocks begin and end at multiples of it, or at the end of an axis */
    /* Writes a block, as ig_block_read reads one. */
    ig_status (*write)(void *context, const int64_t *start, const int64_t *size, const void *data);
    /* True if all of the block has been written before, so that it need not be computed; may be NULL. Long rows are written in
     * parts, which need not begin and end at multiples of chunk. */
    bool (*has)(void *context, const int64_t *start, const int64_t *size);
    void *context;
    uint64_t scratch; /* bytes of array data that a call of write holds while it runs */
} ig_block_sink;

/* Computes n arrays block by block and gives the blocks to the sinks. The arrays stay unevaluated. */
IG_API ig_status ig_eval_to(ig_array *const *arrays, const ig_block_sink *const *sinks, int n);
/* The plan of ig_eval_to, or of ig_eval if sinks is NULL: steps, blocks, and the bytes that are read, written, spilled
 * and held. Release the text with ig_free; NULL on failure. */
IG_API char *ig_explain_blocks(ig_array *const *arrays, const ig_block_sink *const *sinks, int n);

/* Called after each block of a block by block evaluation, from the thread that evaluates: the share of the work that is
 * done, in bytes that the plan reads and writes. Blocks that were written before count as done. The last call has done ==
 * total. NULL switches it off. */
typedef void (*ig_progress)(void *context, uint64_t done, uint64_t total);
IG_API void ig_set_progress(ig_progress progress, void *context);

#ifdef __cplusplus
}
#endif

#endif
