/* Values of a row that a chain holds in registers, if a warp takes a whole row: temporaries and results that only the
 * thread that wrote them reads, and inputs that several programs load. So a row is read from memory once. */
#ifndef EMIT_HELD_H
#define EMIT_HELD_H

#include "engine/emit/writer.h"

enum { HELD_MOST = 3, HELD_STEP = 4 };

typedef enum held_kind {
    HELD_LOCAL, /* a temporary of the chain, which has no other memory */
    HELD_INPUT, /* loaded once and used by several programs */
    HELD_RESULT /* stored, and used by later programs */
} held_kind;

typedef struct held_value {
    int slot;
    const view *v;
    const tape *t; /* whose space v belongs to */
    ig_dtype dtype;
    int first; /* program that loads or stores it first */
    held_kind kind;
} held_value;

typedef struct held_values {
    held_value at[HELD_MOST];
    int n;
    int64_t points; /* of a row */
    int each; /* the most values of a thread: a multiple of HELD_STEP, so that few lengths need a
               * separate text */
} held_values;

/* Finds the values that the chain of n programs can hold. */
void held_find(held_values *h, const program *p, int n, int64_t rows);
/* Proves that registers hold the same values as memory would: held_check.c. The message of IG_ERR_INTERNAL says what is
 * wrong. */
ig_status held_check(const held_values *h, const program *p, int n, int64_t rows);
/* The most 4-byte registers of a thread that they take. */
int held_registers(const held_values *h, const program *p, int n);
/* True if the temporary is held. */
bool held_has(const held_values *h, int slot);

/* Text: the arrays held<i>; parameters and arguments of functions for element u. */
void held_declare(emit_writer *w, const held_values *h);
void held_params(emit_writer *w, const held_values *h);
void held_args(emit_writer *w, const held_values *h);

/* A LOAD: HELD_NOT: not of a held value. HELD_FIRST: load it now and keep it with held_keep. HELD_DONE: nothing left to
 * do. */
typedef enum held_use { HELD_NOT, HELD_FIRST, HELD_DONE } held_use;
held_use held_load(emit_writer *w, const emit_space *s, int k);
void held_keep(emit_writer *w, const emit_space *s, int k);
/* Keeps the value of a STORE if it is held. Returns false if the STORE must also write memory. */
bool held_store(emit_writer *w, const emit_space *s, int k, const int *def);

#endif
