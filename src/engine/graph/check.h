/* The check of schedules: declarations shared by its files. It derives from slots, operands and kinds alone that a
 * schedule is correct. It calls none of the functions that build schedules.
 *
 *   check.c         lists all accesses; shapes of tapes, bounds, recorded live ranges
 *   check_values.c  each element is written before it is read, by the writers that its definition names, in order
 *   check_rows.c    inside a chain, rows do not depend on each other
 *   check_memory.c  values that share memory: arena, outputs, donated leaves, in place
 *
 * The order that it assumes: launches run one after another. A launch is a program, or a chain. In a chain, row r of
 * program k runs after row r of the programs before k. Nothing else is ordered: rows run in any order, or at the same
 * time, and so do the points of a tape. */
#ifndef GRAPH_CHECK_H
#define GRAPH_CHECK_H

#include "engine/graph/graph.h"
#include "engine/program/reach.h"

/* One use of a slot by a program. */
typedef struct access {
    int program, slot;
    bool writes;
    bool
        by_points; /* point i of the tape, or of in[0] of a contraction, reaches element i of the view */
    const tape *t; /* NULL: the core, or a kernel */
    int inst;      /* of the tape */
    const operand *o;
    int64_t element_bytes;
    reach r;
} access;

typedef struct checker {
    const graph *g;
    const schedule *s;
    access *access; /* by program */
    int n_access, room_access;
    int *begin;        /* accesses of program i are [begin[i], begin[i + 1]) */
    int *launch, *end; /* the first and the last program of the launch of each program */
    int *first, *last,
        *written; /* of each slot: the programs that use it first, use it last and write it last; or
                   * -1 */
    struct place *place;                  /* of each slot */
    const int *after_first, *after_chain; /* see schedule_check_order */
    int n_after;
} checker;

/* Where a slot is. Slots of one space may use the same bytes. */
typedef struct place {
    int space; /* -1: the arena; else the slot that owns the buffer */
    int64_t begin;
} place;

/* Fails with IG_ERR_INTERNAL. The message names the rule, program p and slot k, unless they are -1. */
ig_status schedule_broken(const checker *c, const char *rule, int p, int k, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Check the lists of SLOT_ROWS, and which slots share memory; the second fills place. The other checks need both. */
ig_status schedule_check_row_slots(const checker *c);
ig_status schedule_check_places(checker *c);

ig_status schedule_check_values(const checker *c);
ig_status schedule_check_rows(const checker *c);
ig_status schedule_check_memory(const checker *c);
ig_status schedule_check_after(checker *c);

#endif
