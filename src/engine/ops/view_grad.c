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
