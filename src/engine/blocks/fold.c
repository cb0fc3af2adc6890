/* The stack of a fold's values; see fold.h. */
#include "engine/blocks/fold.h"

#include "base/error.h"
#include "base/parts.h"
#include "engine/blocks/worker.h"

/* The order of a fold joins parts as the tree over this many parts, which is a power of 2. */
static const int64_t PARTS_MOST = (int64_t)1 << 62;

static void entry_drop(entry *e)
{
    for (int i = 0; i < e->n; i++)
        ig_release(e->made[i]);
    *e = (entry){.n = 0};
}

/* Arrays over the same host memory: an evaluation moves these to its device, and the entry's own stay. False on failure. */
static bool use_values(const entry *e, ig_array **values)
{
    for (int i = 0; i < e->n; i++) {
        const ig_array *x = e->made[i];
        values[i] = array_leaf((ig_dtype)x->dtype, x->view.ndim, x->view.shape,
                               buffer_retain(x->root->data));
        if (!values[i])
            return false;
        values[i]->device = NULL;
    }
    return true;
}

/* Joins the two topmost entries. */
static ig_status join_top(fold_stack *f, worker *w)
{
    entry *left = &f->entry[f->depth - 2], *right = &f->entry[f->depth - 1];
    entry both = {.at = left->at, .count = left->count + right->count};
    TRY(ig_scope_begin());
    ig_array *l[FOLD_VALUES], *r[FOLD_VALUES], *joined[FOLD_VALUES];
    const int n =
        use_values(left, l) && use_values(right, r) ? fold_join(f->root, l, r, joined) : 0;
    ig_status status = n ? worker_take(w, joined, n) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = worker_arrays(w, both.made);
    both.n = status == IG_OK ? n : 0;
    for (int i = 0; i < both.n; i++)
        ig_retain(both.made[i]);
    ig_scope_end();
    TRY(status);
    entry_drop(left);
    entry_drop(right);
    *left = both;
    f->depth--;
    return IG_OK;
}

void fold_add(fold_stack *f, const entry *added)
{
    entry *e = &f->entry[f->depth++];
    *e = *added;
    for (int i = 0; i < e->n; i++)
        ig_retain(e->made[i]);
}

ig_status fold_settle(fold_stack *f, worker *w)
{
    for (;;) {
        const entry *right = &f->entry[f->depth - 1], *left = right - 1;
        if (f->depth < 2 || !part_is_node(left->at, right->at + right->count, PARTS_MOST))
            return IG_OK;
        TRY(join_top(f, w));
    }
}

ig_status fold_finish(fold_stack *f, worker *w, ig_array **values)
{
    while (f->depth > 1)
        TRY(join_top(f, w));
    return use_values(&f->entry[0], values) ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

void fold_clear(fold_stack *f)
{
    while (f->depth > 0)
        entry_drop(&f->entry[--f->depth]);
}
