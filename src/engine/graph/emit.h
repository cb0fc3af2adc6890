/* Declarations shared by the files that emit programs: tape.c writes tapes, emit_kernel.c kernel nodes, emit.c all
 * other programs. */
#ifndef GRAPH_EMIT_H
#define GRAPH_EMIT_H

#include "engine/graph/graph.h"

/* State shared by all groups during emission. */
typedef struct emitter {
    const graph *g;
    schedule *s;
    int *slot_of, *value_of;
} emitter;

/* A tape that is being written. */
typedef struct tape_writer {
    const graph *g;
    schedule *s;
    tape *t;
    int room_inst, room_operand;
    const int *slot_of; /* of each stored node; else -1 */
    const group *grp;
    const view *shape; /* the space, with axes in the order of the nodes */
    bool permuted;
    int *value_of; /* of each node that this tape has computed; else -1 */
    text *label;
    int64_t ops;
} tape_writer;

/* ---- tape.c ---- */

/* The tape of a list of map nodes. core (or -1) is a node whose value the tape starts with; result
 * (or NULL) is an array whose value the tape must leave in t->result. */
ig_status graph_tape(tape_writer *w, const int *nodes, int n, int core, const ig_array *result);
/* A tape that stores the elements of `from` at `to`. */
ig_status graph_tape_copy(tape_writer *w, const ig_array *from, const operand *to);

/* ---- emit.c ---- */

/* A new program of the schedule; NULL: out of memory. */
program *graph_program(emitter *e, program_kind kind);
/* Counts the bytes of the program's tapes and takes its label. */
ig_status graph_finish(const schedule *s, program *p, text *label);
/* A new slot for a temporary; -1: out of memory. */
int graph_temporary(schedule *s, int64_t bytes);
int64_t graph_bytes(const ig_array *x);
/* y as an operand outside of tapes. */
operand graph_operand(const emitter *e, const ig_array *y);
/* The same with plain storage: blocks are copied to a temporary first. */
ig_status graph_plain(emitter *e, const ig_array *y, operand *out);
/* A program that copies `from` to the view `to` of a slot. */
ig_status graph_copy(emitter *e, const ig_array *from, int slot_to, const view *to,
                     const char *name);

/* ---- emit_kernel.c ---- */

/* The program of a kernel node and those that copy its inputs. Results of the same launch share one program. */
ig_status graph_kernel(emitter *e, const ig_array *x, int node);

#endif
