/* The values of parts of a row, joined in the order of the fold: a stack whose entries are subtrees of that order. */
#ifndef BLOCKS_FOLD_H
#define BLOCKS_FOLD_H

#include "engine/blocks/blocks.h"

/* Results of the parts [at, at + count) of a row, a subtree of the fold. */
typedef struct entry {
    ig_array *made[FOLD_VALUES];
    int n;
    int64_t at, count;
} entry;

enum { FOLD_DEPTH_MOST = 64 };

typedef struct fold_stack {
    const ig_array *root;
    entry entry[FOLD_DEPTH_MOST];
    int depth;
    /* Evaluates n arrays in the current scope. It may replace them by others that have their values. */
    ig_status (*eval)(void *context, ig_array **made, int n);
    void *context;
    ig_array *(*use)(ig_array *value); /* see fold_values; may be NULL */
} fold_stack;

/* Adds the values of some parts, which it retains. */
void fold_add(fold_stack *f, const entry *added);
/* Joins the topmost entries while they stand for as many parts and are one subtree. After a failure, it goes on. */
ig_status fold_settle(fold_stack *f);
/* Does both. */
ig_status fold_push(fold_stack *f, const entry *added);
/* Joins all entries: entry[0] then has the values of the row. */
ig_status fold_join_all(fold_stack *f);
void fold_clear(fold_stack *f);
/* The values of an entry for an evaluation: the entry's arrays, or what f->use makes of them. False on failure. */
bool fold_values(const fold_stack *f, const entry *e, ig_array **values);

#endif
