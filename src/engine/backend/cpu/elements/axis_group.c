/* Groups of axes: a side of a contraction as one list of points. */
#include "engine/backend/cpu/elements/axis_group.h"

void axis_group_set(axis_group *g, const view *v, int first, int ndim)
{
    g->ndim = 0;
    for (int i = first; i < first + ndim; i++) {
        if (v->shape[i] == 1)
            continue;
        const int last = g->ndim - 1;
        if (last >= 0 && g->stride[last] == v->stride[i] * v->shape[i]) {
            g->shape[last] *= v->shape[i];
            g->stride[last] = v->stride[i];
        } else {
            g->shape[g->ndim] = v->shape[i];
            g->stride[g->ndim++] = v->stride[i];
        }
    }
}

void axis_group_offsets(const axis_group *g, int64_t start, int64_t n, int64_t *offset)
{
    if (g->ndim == 0) {
        offset[0] = 0;
        return;
    }
    if (g->ndim == 1) {
        for (int64_t i = 0; i < n; i++)
            offset[i] = (start + i) * g->stride[0];
        return;
    }
    int64_t at[IG_MAX_NDIM], sum = 0;
    for (int d = g->ndim - 1; d >= 0; d--) {
        at[d] = start % g->shape[d];
        start /= g->shape[d];
        sum += at[d] * g->stride[d];
    }
    const int last = g->ndim - 1;
    for (int64_t i = 0; i < n;) {
        int64_t run = g->shape[last] - at[last];
        run = run < n - i ? run : n - i;
        for (int64_t j = 0; j < run; j++)
            offset[i + j] = sum + j * g->stride[last];
        i += run;
        at[last] += run;
        sum += run * g->stride[last];
        for (int d = last; d > 0 && at[d] == g->shape[d]; d--) {
            sum += g->stride[d - 1] - at[d] * g->stride[d];
            at[d] = 0;
            at[d - 1]++;
        }
    }
}

bool axis_group_is_constant(const axis_group *g)
{
    for (int d = 0; d < g->ndim; d++)
        if (g->stride[d] != 0)
            return false;
    return true;
}

bool axis_group_is_contiguous(const axis_group *g)
{
    return g->ndim == 0 || (g->ndim == 1 && g->stride[0] == 1);
}

bool axis_group_ends_contiguous(const axis_group *g)
{
    enum { WORTH = 8 };
    const int last = g->ndim - 1;
    return g->ndim > 0 && g->stride[last] == 1 && g->shape[last] >= WORTH;
}
