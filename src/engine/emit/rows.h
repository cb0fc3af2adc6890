/* Kernels that work row by row.
 *
 *   rows_functions.c  device functions: values at a point, joins, results, temporaries of a chain
 *   rows.c            chains of reductions and maps: a warp or a block takes a row through all programs
 *   rows_reduce.c     reductions alone: long rows, rows that lie across memory
 *   rows_serial.c     the same on a CPU, where a block is one thread */
#ifndef EMIT_ROWS_H
#define EMIT_ROWS_H

#include "engine/emit/writer.h"

/* The order of folds: see rows.c. */
enum { FOLD_CHUNK = 1024, FOLD_WIDTH = 32 };

/* Threads of a block, warps of it, and the most chunks that it folds. */
enum { ROWS_THREADS = 256, ROWS_TEAMS = ROWS_THREADS / FOLD_WIDTH, ROWS_CHUNKS = 64 };

/* Parameters and arguments of functions that use local memory. */
#define ROWS_LOCAL_PARAMS(locals) \
    ((locals) && (locals)->n ? "unsigned char *local, int team, " : "")
#define ROWS_LOCAL_ARGS "local, team, "
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

/* A LOAD or STORE of a slot that exists by rows; false if the operand's slot is not one. */
bool rows_local_load(emit_writer *w, const emit_space *s, int k);
bool rows_local_store(emit_writer *w, const emit_space *s, int k, const int *def);

/* Blocks of a grid that takes so many in turn. */
uint32_t rows_grid(int64_t blocks, const emit_target *t);
/* value<k>(row, col): what the pre tape leaves at a point; of a map, nothing. */
void rows_value(emit_writer *w, const program *p, int k, int64_t rows, const emit_locals *locals,
                const struct held_values *held);
/* result<k>(row, core): the epilogue. */
void rows_result(emit_writer *w, const program *p, int k, const emit_locals *locals);
/* The functions of the k-th program of a chain of `rows` rows: value<k>, and of a reduction join<k>, identity<k>,
 * lanes<k> and result<k>. */
void rows_functions(emit_writer *w, const program *p, int k, int64_t rows,
                    const emit_locals *locals, const struct held_values *held);
/* values<k>(row, col, out): the values of four points that are 32 apart; all lanes of a warp call it. */
void rows_values(emit_writer *w, const program *p, int k, int64_t rows);
/* lanes<k>(x): the values of a warp's 32 lanes joined by halving; all threads of the block call it. */
void rows_lanes(emit_writer *w, const program *p, int k);
/* Statements that fold the chunks [first, first + count) of a row into chunk<k>[0]. */
void rows_chunks(emit_writer *w, const program *p, int k, int inner, const char *first,
                 const char *count, const char *args, bool steps);
/* The call of lanes<k> with a<k>: all threads of the block execute it. */
void rows_call_lanes(emit_writer *w, int k);
/* Shared memory of a reduction: what lanes<k> needs, and chunk<k> of so many values. */
void rows_declare_shared(emit_writer *w, const program *p, int k, int chunks);
/* The type of the values that a program folds. */
const char *rows_type(const program *p);
/* join<k> and identity<k>. */
void rows_join(emit_writer *w, const program *p, int k);
/* The last launch of a reduction: the values of so many parts of each row, in scratch by part and row, are joined
 * pairwise. */
ig_status rows_join_parts(const program *p, const emit_target *t, int64_t parts, emitted *out);

/* ---- rows_serial.c: on a CPU ---- */

/* The kernel `rows`: a thread takes a row through a chain. */
void rows_serial_chain(emit_writer *w, const program *p, int n, int64_t rows,
                       const emit_locals *locals);
/* Statements that take a row through the k-th program of a chain in one thread. */
void rows_serial(emit_writer *w, const program *p, int k, int64_t rows, const char *args);
/* A reduction alone. */
ig_status emit_fold_serial(const program *p, const emit_target *t, emitted *out);

/* Turns `own` from bytes to elements of the slot's dtype, which operands tell. */
void rows_set_lengths(const program *p, int n, emit_locals *locals);

#endif
