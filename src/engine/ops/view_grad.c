/* Gradients of views: brings the gradient of a view back to the root of the view. */
#include "base/memory.h"
#include "engine/ops/grad.h"
#include "engine/ops/index.h"
#include <string.h>

/* A gradient and the elements of the root that it belongs to. */
typedef struct seen {
    ig_array *g;
    view v;
} seen;

/* Zeros in the root's shape with s->g copied in. */
static ig_array *among_zeros(const seen *s, const view *root)
{
    view *dst = memory_get(2 * sizeof *dst);
    ig_array *zero = build_fill(0, s->g->dtype, root->ndim, root->shape);
    if (!dst || !zero) {
        memory_free(dst);
        return NULL;
    }
    dst[0] = *root;
    dst[1] = s->v;
    return build_assemble(OP_slice_update, s->g->dtype, root->ndim, root->shape,
                          (ig_array *[]){zero, s->g}, dst, 2);
}

/* Sets s to g seen through v, summed over axes with a stride of 0, which repeat elements, and without axes of length 1.
 * False on failure. */
static bool see_once(seen *s, ig_array *x, const view *v)
{
    s->g = x;
    view_copy(&s->v, v);
    int64_t axes[IG_MAX_NDIM];
    int n = 0;
    for (int a = 0; a < s->v.ndim; a++)
        if (s->v.shape[a] > 1 && s->v.stride[a] == 0)
            axes[n++] = a;
    if (n)
        s->g = ig_sum(s->g, (ig_ints){axes, n}, s->g->dtype, false);
    while (n--)
        axis_remove(&s->v, (int)axes[n]);
    if (!s->g)
        return false;
    view g;
    view_copy(&g, &s->g->view);
    for (int a = g.ndim - 1; a >= 0; a--)
        if (g.shape[a] == 1) {
            axis_remove(&g, a);
            axis_remove(&s->v, a);
        }
    if (g.ndim < s->g->view.ndim)
        s->g = array_view(OP_squeeze, s->g, &g);
    return s->g != NULL;
}

/* Orders the axes from the longest stride to the shortest, and makes all strides positive. */
static void walk_forward(seen *s)
{
    int order[IG_MAX_NDIM];
    const int n = view_axes_by_stride(&s->v, order);
    view from, g;
    view_copy(&from, &s->v);
    view_copy(&g, &s->g->view);
    bool as_it_is = true;
    for (int i = 0; i < n; i++) {
        const int a = order[i];
        const bool backward = from.stride[a] < 0;
        as_it_is = as_it_is && a == i && !backward;
        s->v.shape[i] = g.shape[i] = from.shape[a];
        s->v.stride[i] = from.stride[a];
        g.stride[i] = s->g->view.stride[a];
        if (backward) {
            s->v.offset += (from.shape[a] - 1) * s->v.stride[i];
            g.offset += (from.shape[a] - 1) * g.stride[i];
            s->v.stride[i] = -s->v.stride[i];
            g.stride[i] = -g.stride[i];
        }
    }
    if (!as_it_is)
        s->g = array_view(OP_permute_dims, s->g, &g);
}

/* For positions that are seen more than once, with any strides: adds all elements one by one. */
static ig_array *add_up(const seen *s, const view *root)
{
    int64_t size = view_size(root);
    ig_array *at = build_scalar_int(s->v.offset, IG_I64);
    for (int a = 0; a < s->v.ndim; a++) {
        int64_t column[IG_MAX_NDIM];
        for (int i = 0; i < s->v.ndim; i++)
            column[i] = i == a ? s->v.shape[a] : 1;
        at = ig_add(at, ig_multiply(build_iota(s->v.ndim, column), ig_int(s->v.stride[a])));
    }
    const int64_t n = view_size(&s->v);
    ig_array *sum =
        ig_scatter_add(build_fill(0, s->g->dtype, 1, &size), build_reshape(OP_reshape, at, 1, &n),
                       build_reshape(OP_reshape, s->g, 1, &n), 0);
    return build_reshape(OP_reshape, sum, root->ndim, root->shape);
}

/* ---- windows that overlap ---- */

/* The last two axes of g are the windows of one axis, (windows, elements of each). They become the
 * axis of that length, with stride and dilation between windows and elements. Each element of a
 * window gets a row among zeros, and the rows are summed. */
static ig_array *join_windows(ig_array *g, int64_t length, int64_t stride, int64_t dilation)
{
    if (!g)
        return NULL;
    const int lead = g->view.ndim - 2;
    const int64_t windows = g->view.shape[lead], elements = g->view.shape[lead + 1];
    view root, dst;
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, g->view.shape, (size_t)lead * sizeof *shape);
    shape[lead] = elements;
    shape[lead + 1] = length;
    view_contiguous(&root, lead + 2, shape);
    dst = root;
    dst.shape[lead] = windows;
    dst.stride[lead] = stride;
    dst.shape[lead + 1] = elements;
    dst.stride[lead + 1] = length + dilation;
    ig_array *rows = among_zeros(&(seen){g, dst}, &root);
    return ig_sum(rows, IG_AXES(lead), g->dtype, false);
}

/* If x sees the windows of x->in[0], which is (N, C, spatial...), replaces g by the gradient of that array; see
 * window_view. Returns false if x is not such a view. */
static bool close_windows(ig_array **g, const ig_array *x, const view *v)
{
    const bool pools = x->op >= OP_max_pool1d && x->op <= OP_avg_pool3d;
    if (!pools || x == x->root || !view_equal(&x->view, v))
        return false;
    const view *from = &x->in[0]->view;
    const int n = from->ndim - 2;
    if (v->ndim != 2 + 2 * n)
        return false;
    for (int a = 0; a < 2 + n; a++)
        if (from->stride[a] == 0)
            return false;
    ig_array *y = *g;
    for (int a = n - 1; a >= 0; a--) {
        /* (N, C, windows of axes 0 ... a, joined axes..., elements of axes 0 ... a) */
        const int out = 2 + a, in = y->view.ndim - 1;
        const int64_t step = from->stride[2 + a];
        y = ig_moveaxis(y, IG_AXES(out, in), IG_AXES(-2, -1));
        y = join_windows(y, from->shape[2 + a], v->shape[out] > 1 ? v->stride[out] / step : 1,
                         v->shape[2 + n + a] > 1 ? v->stride[2 + n + a] / step : 1);
        y = ig_moveaxis(y, IG_AXES(-1), IG_AXES(out));
        if (!y)
            break;
    }
    *g = y;
    return true;
}

ig_array *grad_place(ig_array *x, const view *v, const view *root)
{
    seen s;
    if (view_size(v) == 0) /* bools have no sum along the axes that repeat */
        return build_fill(0, (ig_dtype)x->dtype, root->ndim, root->shape);
    if (!see_once(&s, x, v))
        return NULL;
    walk_forward(&s);
    if (!s.g)
        return NULL;
    if (s.v.offset == 0 && view_size(&s.v) == view_size(root)) /* every element, each once */
        return view_same_shape(&s.g->view, root)
                   ? s.g
                   : build_reshape(OP_reshape, s.g, root->ndim, root->shape);
    return among_zeros(&s, root);
}

ig_array *grad_through_view(ig_array *g, const ig_array *x, const view *v)
{
    const view *root = &x->root->view;
    if (!g || view_equal(v, root))
        return g;
    if (view_size(v) == 0)
        return build_fill(0, g->dtype, root->ndim, root->shape);
    seen s;
    if (!see_once(&s, g, v))
        return NULL;
    if (!view_is_injective(&s.v)) {
        if (close_windows(&g, x, v))
            return g ? grad_through_view(g, x->in[0], &x->in[0]->view) : NULL;
        return add_up(&s, root);
    }
    return grad_place(s.g, &s.v, root);
}

ig_array *grad_see(ig_array *x, const view *at)
{
    view v = *at, whole;
    if (!x)
        return NULL;
    view_contiguous(&whole, x->view.ndim, x->view.shape);
    if (view_equal(at, &whole))
        return x;
    x = build_contiguous(x);
    if (!x)
        return NULL;
    v.offset += x->view.offset;
    return array_view(OP_slice, x, &v);
}

/* ---- sums of gradients of slices ---- */

enum { PARTS_MOST = 64 };

/* True if x is zero except in the regions of its parts from the second on. */
static bool is_among_zeros(const ig_array *x)
{
    const bool assembles = x == x->root && x->op == OP_assemble && x->n_in > 1 &&
                           view_equal(&x->attr.dst[0], &x->view);
    const void *number = assembles ? array_number_of(x->in[0]->root) : NULL;
    return number && dtype_fetch((ig_dtype)x->dtype, number) == 0;
}

/* True if two regions of a row-major array have no element in common: their ranges do not overlap, or the ranges of their
 * rows do not, where rows begin at multiples of a common stride. May return false in error. */
static bool are_apart(const view *a, const view *b)
{
    view v[2];
    int64_t low[2], high[2];
    for (int i = 0; i < 2; i++) {
        view_copy(&v[i], i ? b : a);
        view_collapse((view *[]){&v[i]}, 1);
        view_bounds(&v[i], &low[i], &high[i]);
    }
    if (high[0] < low[1] || high[1] < low[0])
        return true;
    if (v[0].ndim == 0 || v[1].ndim == 0 || v[0].stride[0] != v[1].stride[0])
        return false;
    const int64_t step = v[0].stride[0];
    for (int i = 0; i < 2; i++) {
        if (step < 1 || low[i] < 0)
            return false;
        high[i] -= step * (v[i].shape[0] - 1) + low[i];
        low[i] %= step;
        high[i] += low[i]; /* of the first row */
        if (high[i] >= step)
            return false;
    }
    return high[0] < low[1] || high[1] < low[0];
}

/* True if both are zero except in regions that do not overlap. */
static bool can_join(const ig_array *a, const ig_array *b)
{
    if (!is_among_zeros(a) || !is_among_zeros(b) || !view_same_shape(&a->view, &b->view) ||
        a->dtype != b->dtype || a->n_in + b->n_in - 1 > PARTS_MOST)
        return false;
    for (int i = 1; i < a->n_in; i++)
        for (int j = 1; j < b->n_in; j++)
            if (!are_apart(&a->attr.dst[i], &b->attr.dst[j]))
                return false;
    return true;
}

/* One assembly of the regions of both, among zeros if anything is left. */
static ig_array *joined(const ig_array *a, const ig_array *b)
{
    const int n = a->n_in + b->n_in - 1;
    int64_t left = view_size(&a->view);
    ig_array *part[PARTS_MOST];
    view *dst = memory_get((size_t)n * sizeof *dst);
    if (!dst)
        return NULL;
    for (int i = 0; i < n; i++) {
        const ig_array *from = i < a->n_in ? a : b;
        const int at = i < a->n_in ? i : i - a->n_in + 1;
        part[i] = from->in[at];
        dst[i] = from->attr.dst[at];
        left -= i ? view_size(&dst[i]) : 0;
    }
    const int first = left == 0; /* without the zeros */
    memmove(dst, dst + first, (size_t)(n - first) * sizeof *dst);
    return build_assemble(OP_assemble, a->dtype, a->view.ndim, a->view.shape, part + first, dst,
                          n - first);
}

ig_array *grad_sum(ig_array *a, ig_array *b)
{
    if (!a || !b)
        return NULL;
    return can_join(a, b) ? joined(a, b) : ig_add(a, b);
}
