/* Values of a row that a chain holds in registers, where a warp takes a whole row: temporaries and results that each
 * thread reads back where it wrote them, and inputs that several programs load. So a row is read once. */
#ifndef EMIT_HELD_H
#define EMIT_HELD_H

#include "engine/emit/writer.h"

enum { HELD_MOST = 3, HELD_STEP = 4 };

typedef enum held_kind {
    HELD_LOCAL, /* a temporary of the chain, which has no other memory */
    HELD_INPUT, /* loaded once, used by several programs */
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
    int each; /* values of a thread at most: a multiple of HELD_STEP, so that few lengths have texts of their own */
} held_values;

/* What the chain of n programs can hold. */
void held_find(held_values *h, const program *p, int n, int64_t rows);
/* Proves that registers have what memory would have: held_check.c. IG_ERR_INTERNAL says what is wrong. */
ig_status held_check(const held_values *h, const program *p, int n, int64_t rows);
/* How many registers of 4 bytes of a thread they take at most. */
int held_registers(const held_values *h, const program *p, int n);
/* True if the temporary is held. */
bool held_has(const held_values *h, int slot);

/* Text: the arrays held<i>; parameters and arguments of functions for element u. */
void held_declare(emit_writer *w, const held_values *h);
void held_params(emit_writer *w, const held_values *h);
void held_args(emit_writer *w, const held_values *h);

/* A LOAD: not of a held value; of one that must be loaded now and kept with held_keep; or done. */
typedef enum held_use { HELD_NOT, HELD_FIRST, HELD_DONE } held_use;
held_use held_load(emit_writer *w, const emit_space *s, int k);
void held_keep(emit_writer *w, const emit_space *s, int k);
/* A STORE of a held value is kept; false if it must be stored to memory, held or not. */
bool held_store(emit_writer *w, const emit_space *s, int k, const int *def);

#endif
