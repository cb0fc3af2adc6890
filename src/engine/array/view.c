/* Arithmetic of shapes and strides. Nothing here allocates or sets an error. */
#include "engine/array/view.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t view_size(const view *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->ndim; i++)
        n *= v->shape[i];
    return n;
}

void view_contiguous(view *v, int ndim, const int64_t *shape)
{
    v->ndim = ndim;
    v->offset = 0;
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        v->shape[i] = shape[i];
        v->stride[i] = step;
        step *= shape[i];
    }
}

bool view_is_contiguous(const view *v)
{
    int64_t step = 1;
    bool packed = true;
    for (int i = v->ndim - 1; i >= 0; i--) {
        if (v->shape[i] == 0)
            return true;
        if (v->shape[i] != 1 && v->stride[i] != step)
            packed = false;
        step *= v->shape[i];
    }
    return packed;
}

bool view_same_shape(const view *a, const view *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

bool view_equal(const view *a, const view *b)
{
    return a->offset == b->offset && view_same_shape(a, b) &&
           memcmp(a->stride, b->stride, (size_t)a->ndim * sizeof *a->stride) == 0;
}

bool view_broadcast(const view *v, int ndim, const int64_t *shape, view *out)
{
    if (v->ndim > ndim)
        return false;
    out->ndim = ndim;
    out->offset = v->offset;
    for (int i = 0, lead = ndim - v->ndim; i < ndim; i++) {
        int64_t have = i < lead ? 1 : v->shape[i - lead];
        if (have != shape[i] && have != 1)
            return false;
        out->shape[i] = shape[i];
        out->stride[i] = have == 1 && shape[i] != 1 ? 0 : i < lead ? 0 : v->stride[i - lead];
    }
    return true;
}

bool view_reshape(const view *v, int ndim, const int64_t *shape, view *out)
{
    view r, old = *v;
    view_contiguous(&r, ndim, shape);
    r.offset = v->offset;
    if (view_size(v) == 0) {
        *out = r;
        return true;
    }
    /* Each regular walk of the old view must be divided into whole new axes, from the right. */
    view_collapse((view *[]){&old}, 1);
    int j = ndim - 1;
    for (int i = old.ndim - 1; i >= 0; i--) {
        int64_t step = old.stride[i];
        for (int64_t left = old.shape[i]; left > 1; left /= shape[j--]) {
            if (left % shape[j] != 0)
                return false;
            r.stride[j] = step;
            step *= shape[j];
        }
    }
    *out = r;
    return true;
}

void view_permute(const view *v, const int *axes, view *out)
{
    assert(out != v);
    out->ndim = v->ndim;
    out->offset = v->offset;
    for (int i = 0; i < v->ndim; i++) {
        out->shape[i] = v->shape[axes[i]];
        out->stride[i] = v->stride[axes[i]];
    }
}

void view_bounds(const view *v, int64_t *low, int64_t *high)
{
    *low = *high = v->offset;
    for (int i = 0; i < v->ndim; i++) {
        int64_t reach = v->stride[i] * (v->shape[i] - 1);
        *(reach < 0 ? low : high) += reach;
    }
}

/* True if axes a and a + 1 of v are one regular walk. */
static bool mergeable(const view *v, int a)
{
    return v->stride[a] == v->stride[a + 1] * v->shape[a + 1];
}

static void drop_axis(view *v, int a)
{
    v->ndim--;
    memmove(v->shape + a, v->shape + a + 1, (size_t)(v->ndim - a) * sizeof *v->shape);
    memmove(v->stride + a, v->stride + a + 1, (size_t)(v->ndim - a) * sizeof *v->stride);
}

int view_axes_by_stride(const view *v, int axes[static IG_MAX_NDIM])
{
    int n = 0;
    for (int a = 0; a < v->ndim; a++) {
        if (v->shape[a] == 1)
            continue;
        int at = n++;
        for (; at > 0 && llabs(v->stride[axes[at - 1]]) < llabs(v->stride[a]); at--)
            axes[at] = axes[at - 1];
        axes[at] = a;
    }
    return n;
}

/* Each axis must step past everything that the axes of shorter strides reach. An empty view sees nothing twice. */
bool view_is_injective(const view *v)
{
    if (view_size(v) == 0)
        return true;
    int axes[IG_MAX_NDIM];
    int64_t reach = 0;
    for (int i = view_axes_by_stride(v, axes) - 1; i >= 0; i--) {
        const int64_t step = llabs(v->stride[axes[i]]);
        if (step <= reach)
            return false;
        reach += step * (v->shape[axes[i]] - 1);
    }
    return true;
}

void view_collapse(view *const *views, int n)
{
    if (n == 0)
        return;
    const view *first = views[0];
    for (int a = first->ndim - 1; a >= 0; a--)
        if (first->shape[a] == 1)
            for (int i = 0; i < n; i++)
                drop_axis(views[i], a);
    for (int a = first->ndim - 2; a >= 0; a--) {
        bool all = true;
        for (int i = 0; i < n && all; i++)
            all = mergeable(views[i], a);
        if (!all)
            continue;
        for (int i = 0; i < n; i++) {
            view *v = views[i];
            v->shape[a + 1] *= v->shape[a];
            drop_axis(v, a);
        }
    }
}

int64_t view_at(const view *v, int64_t index)
{
    int64_t at = v->offset;
    for (int i = v->ndim - 1; i >= 0 && index; i--) {
        at += index % v->shape[i] * v->stride[i];
        index /= v->shape[i];
    }
    return at;
}

const char *view_shape_text(int ndim, const int64_t *shape, char text[static 400])
{
    size_t n = 1;
    strcpy(text, "(");
    for (int i = 0; i < ndim; i++)
        n += (size_t)snprintf(text + n, 400 - n, "%s%lld", i ? ", " : "", (long long)shape[i]);
    snprintf(text + n, 400 - n, ndim == 1 ? ",)" : ")");
    return text;
}
