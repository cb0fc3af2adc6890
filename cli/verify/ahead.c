/* Compiles the kernels of many cases together, before the first case runs. A GPU's compiler takes tens of milliseconds
 * per call, however short the source is. Each case is built twice for this, which costs much less. */
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

void ahead_add(ahead *a, ig_array *const *y, int n, bool scope_is_open)
{
    if (a->n_array + n > a->room || a->n_case >= a->room) { /* a case may have no arrays */
        a->room = 2 * (a->n_array + n + a->n_case + 1);
        ig_array **array = heap_get((size_t)a->room * sizeof *array);
        int *counts = heap_get((size_t)a->room * sizeof *counts);
        if (a->n_array)
            memcpy(array, a->array, (size_t)a->n_array * sizeof *array);
        if (a->n_case)
            memcpy(counts, a->counts, (size_t)a->n_case * sizeof *counts);
        free(a->array);
        free(a->counts);
        a->array = array;
        a->counts = counts;
    }
    for (int i = 0; i < n; i++)
        a->array[a->n_array++] = y[i];
    a->counts[a->n_case++] = n;
    a->open_scopes += scope_is_open;
}

void ahead_compile(ahead *a)
{
    ig_prepare(a->array, a->counts, a->n_case);
    ig_error(NULL); /* a case that cannot be compiled reports that when it runs */
    for (int i = 0; i < a->n_array; i++)
        ig_release(a->array[i]);
    while (a->open_scopes-- > 0)
        ig_scope_end();
    free(a->array);
    free(a->counts);
    *a = (ahead){0};
}
