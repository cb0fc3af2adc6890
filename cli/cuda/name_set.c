/* Sets of names: see name_set.h. */
#include "cuda/name_set.h"

#include <stdlib.h>

bool name_set_has(const name_set *n, const scan_token *t)
{
    for (int i = 0; i < n->n; i++)
        if (scan_is(t, n->at[i]))
            return true;
    return false;
}

void name_set_add(name_set *n, const scan_token *t)
{
    str name = {0};
    if (name_set_has(n, t))
        return;
    str_add(&name, t->at, t->bytes);
    n->at = heap_resize(n->at, (size_t)(n->n + 1) * sizeof *n->at);
    n->at[n->n++] = name.s;
}

void name_set_free(name_set *n)
{
    for (int i = 0; i < n->n; i++)
        free(n->at[i]);
    free(n->at);
    *n = (name_set){0};
}
