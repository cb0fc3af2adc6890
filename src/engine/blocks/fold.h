/* The values of parts of a row, joined in the order of the fold: a stack whose entries are subtrees of that order. */
#ifndef BLOCKS_FOLD_H
#define BLOCKS_FOLD_H

#include "engine/blocks/blocks.h"

typedef struct worker worker;

/* Results of the parts [at, at + count) of a row, a subtree of the fold. They are arrays in host memory, where a device that
 * fails cannot lose them. */
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
} fold_stack;

/* Adds the values of some parts, which it retains. */
void fold_add(fold_stack *f, const entry *added);
/* Joins the topmost entries while they stand for as many parts and are one subtree, on the worker's device. After a failure,
 * another call goes on. */
ig_status fold_settle(fold_stack *f, worker *w);
/* The values of the row, which all entries together are, for an evaluation in the current scope. As above. */
ig_status fold_finish(fold_stack *f, worker *w, ig_array **values);
void fold_clear(fold_stack *f);

#endif
