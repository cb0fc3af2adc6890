/* Attention by large tiles, on devices with enough shared memory.
 *
 *   contract_attend.c           which chains, the kernel
 *   contract_attend_products.c  its two products
 *   contract_attend_softmax.c   what is between them */
#ifndef EMIT_CONTRACT_ATTEND_H
#define EMIT_CONTRACT_ATTEND_H

#include "engine/emit/contract.h"

enum {
    ATTEND_KEYS = 64, /* of a tile; also columns of the result at most: KEYS in the text */
    ATTEND_THREADS = 128,
    ATTEND_ROWS = 64, /* of a block; a thread has 4 of them: ROWS in the text */
    ATTEND_LEVELS = 6 /* of pairs of chunks: see ROW_MOST of graph/chain.c */
};

typedef struct attend_kernel {
    const program *p;
    contraction first, last;
    int64_t shared_bytes;   /* of a block */
    const emit_local *base; /* if there is one pass: what exponentials are relative to; else NULL */
} attend_kernel;

/* Sets *done to whether it emitted the chain of n programs. If not, contract_chain.c does. */
ig_status emit_contract_attend(const program *p, int n, const emit_target *t, emitted *out,
                               bool *done);

/* ---- statements; the kernel declares the names that they use: write_begin of contract_attend.c ---- */

/* Zeros of a thread's sums. */
void attend_zeros(emit_writer *w, const char *name);
/* The rows of the queries, once. */
void attend_queries(emit_writer *w, const attend_kernel *a);
/* The panel of the first tile of keys; with two passes, of the last tile. */
void attend_first_keys(emit_writer *w, const attend_kernel *a);
/* a[][]: the products of the queries with the keys at from_keys. During each step a panel is loaded: of the tile's values, or
 * of the keys of the tile before. */
void attend_scores(emit_writer *w, const attend_kernel *a, bool values);
/* o[][] += the products of the exponentials with the values. During each step a panel of the next keys is loaded. `block` is
 * the field with the size of a block of keys. */
void attend_sums(emit_writer *w, const attend_kernel *a, int block);

/* Turns sums into scores. */
void attend_epilogue(emit_writer *w);
/* most[]: the largest score of each of the thread's rows so far. */
void attend_most(emit_writer *w);
/* The epilogue of the first reduction. */
void attend_most_end(emit_writer *w);
/* With one pass: both of the tile. If a row has a new largest score, its sums so far are scaled. */
void attend_rescale(emit_writer *w, const attend_kernel *a);
/* Scores become exponentials, in registers; then they are stored to shared memory. */
void attend_exponentials(emit_writer *w);
void attend_store(emit_writer *w);
/* The fold of the exponentials, tile by tile, and its end with the epilogue. */
void attend_fold(emit_writer *w, const attend_kernel *a);
void attend_fold_end(emit_writer *w, const attend_kernel *a);

#endif
