/* Kernels that work row by row: kernels/rows.cu, kernels/reduce.cu and the files that they include.
 *
 *   rows_functions.c  device functions: values at a point, joins, results, temporaries of a chain
 *   rows.c            chains of reductions and maps: a warp or a block takes a row through all programs
 *   rows_reduce.c     reductions alone: long rows, strided rows, rows on a CPU */
#ifndef EMIT_ROWS_H
#define EMIT_ROWS_H

#include "engine/emit/writer.h"
#include "engine/program/cuts.h"

/* The order of folds: see rows.c. */
enum { FOLD_CHUNK = CUT_CHUNK, FOLD_WIDTH = 32 };

/* Threads of a block, warps of it, and the most chunks that it folds. */
enum { ROWS_THREADS = 256, ROWS_WARPS = ROWS_THREADS / FOLD_WIDTH, ROWS_CHUNKS = 64 };

/* Parameters and arguments of functions that use local memory. */
#define ROWS_LOCAL_PARAMS(locals) \
    ((locals) && (locals)->n ? "unsigned char *local, int local_row, " : "")
#define ROWS_LOCAL_ARGS "local, local_row, "
#define ROWS_ARGS(locals) ((locals) && (locals)->n ? ROWS_LOCAL_ARGS : "")

/* Offsets count elements of the slot's dtype. */
typedef struct emit_local {
    int slot;
    int64_t own;    /* elements of a row */
    int64_t offset; /* bytes from the start of `local` */
} emit_local;

typedef struct emit_locals {
    emit_local *at;
    int n;
} emit_locals;

/* A LOAD or STORE of a slot that exists by rows; false if the operand's slot is not such a slot. */
bool rows_local_load(emit_writer *w, const emit_space *s, int k);
bool rows_local_store(emit_writer *w, const emit_space *s, int k, const int *def);

/* The size of a persistent grid for that many blocks of work. */
uint32_t rows_grid(int64_t blocks, const emit_target *t);
/* value<k>(row, col): the value of the pre tape at a point; for a map, it returns nothing. */
void rows_value(emit_writer *w, const program *p, int k, int64_t rows, const emit_locals *locals,
                const struct held_values *held);
/* result<k>(row, core): the epilogue. */
void rows_result(emit_writer *w, const program *p, int k, const emit_locals *locals);
/* Shared memory that functions of a reduction take: none, because a block is one thread; for lanes<k>; for lanes<k> and
 * chunk<k>. */
typedef enum rows_shared { ROWS_NO_SHARED, ROWS_LANES_SHARED, ROWS_CHUNK_SHARED } rows_shared;
/* The functions of the k-th program of a chain of `rows` rows: value<k>; for a reduction also the functions of rows_join,
 * result<k>, and lanes<k> of kernels/rows_lanes.cuh or fold<k> of kernels/rows_serial.cuh. K is k afterwards. */
void rows_functions(emit_writer *w, const program *p, int k, int64_t rows,
                    const emit_locals *locals, const struct held_values *held, rows_shared shared);
/* Holes of the k-th program: see kernels/rows_lanes.cuh. */
void rows_fill(emit_writer *w, const program *p, int k, int64_t rows, rows_shared shared);
/* Holes that its templates have in common. */
void rows_fill_common(emit_writer *w, const emit_locals *locals);
/* values<k>(row, col, out): the values of four points that are 32 apart; all lanes of a warp call it. */
void rows_values(emit_writer *w, const program *p, int k, int64_t rows);
/* In one line: declarations of the shared memory of a reduction, with `chunks` values in chunk<k>; the same as
 * arguments. */
void rows_declare_shared(emit_writer *w, const program *p, int k, int chunks);
void rows_pass_shared(emit_writer *w, const program *p, int k, bool chunks);
/* The type of the values that a program folds, and its bytes. */
const char *rows_type(const program *p);
int64_t rows_type_bytes(const program *p);
/* join<k>(x, y) and identity<k>(). */
void rows_join(emit_writer *w, const program *p, int k);
/* Bytes of shared memory that rows_declare_shared takes for the reductions among n programs. */
int64_t rows_shared_bytes(const program *p, int n, const emit_target *t, int chunks);
/* The most chunks of a row that one thread folds in a chain. */
enum { ROWS_CHAIN_CHUNKS = 64 };

/* Converts `own` from bytes to elements of the slot's dtype, taken from its operands. */
void rows_set_lengths(const program *p, int n, emit_locals *locals);

#endif
