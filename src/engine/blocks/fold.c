/* The stack of a fold's values; see fold.h. */
#include "engine/blocks/fold.h"

#include "base/error.h"

static void entry_drop(entry *e)
{
    for (int i = 0; i < e->n; i++)
        ig_release(e->made[i]);
    *e = (entry){.n = 0};
}

bool fold_values(const fold_stack *f, const entry *e, ig_array **values)
{
    for (int i = 0; i < e->n; i++)
        if (!(values[i] = f->use ? f->use(e->made[i]) : e->made[i]))
            return false;
    return true;
}

/* Joins the two topmost entries. */
static ig_status join_top(fold_stack *f)
{
    entry *left = &f->entry[f->depth - 2], *right = &f->entry[f->depth - 1];
    entry both = {.at = left->at, .count = left->count + right->count};
    TRY(ig_scope_begin());
    ig_array *l[FOLD_VALUES], *r[FOLD_VALUES];
    const int n = fold_values(f, left, l) && fold_values(f, right, r)
                      ? fold_join(f->root, l, r, both.made)
                      : 0;
    const ig_status status = n ? f->eval(f->context, both.made, n) : error_waiting(IG_ERR_MEMORY);
    for (int i = 0; i < n && status == IG_OK; i++)
        ig_retain(both.made[i]);
    ig_scope_end();
    TRY(status);
    both.n = n;
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

ig_status fold_settle(fold_stack *f)
{
    for (;;) {
        const entry *right = &f->entry[f->depth - 1], *left = right - 1;
        if (f->depth < 2 || left->count != right->count || left->at % (2 * left->count))
            return IG_OK;
        TRY(join_top(f));
    }
}

ig_status fold_push(fold_stack *f, const entry *added)
{
    fold_add(f, added);
    return fold_settle(f);
}

ig_status fold_join_all(fold_stack *f)
{
    while (f->depth > 1)
        TRY(join_top(f));
    return IG_OK;
}

void fold_clear(fold_stack *f)
{
    while (f->depth > 0)
        entry_drop(&f->entry[--f->depth]);
}
