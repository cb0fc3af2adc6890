/* Builders of pooling: a view of the windows of x (N, C, spatial...) is reduced. Means are summed in f32 (f64
 * for f64) and divided once by the number of elements that count. */
#include "base/error.h"
#include "engine/ops/index.h"
#include "engine/ops/layout.h"
#include "engine/ops/window.h"

/* The arguments kernel_size, stride and padding, which all sliding pools have. */
static ig_status pool_read(op_id op, const ig_arg *args, windows *w)
{
    const ig_array *x = args[0].u.array;
    *w = (windows){.n = window_axes(op), .dilation = {1, 1, 1}};
    TRY(window_check(op, "x", x));
    TRY(window_numbers(op, "kernel_size", args[1].u.ints, w->n, 1, w->kernel));
    ig_ints stride = args[2].kind == IG_ARG_NONE ? args[1].u.ints : args[2].u.ints;
    TRY(window_numbers(op, "stride", stride, w->n, 1, w->stride));
    TRY(window_numbers(op, "padding", args[3].u.ints, w->n, 0, w->padding));
    for (int a = 0; a < w->n; a++) {
        if (x->view.shape[2 + a] == 0)
            FAIL(IG_ERR_SHAPE, "%s: spatial axis %d of x has length 0", op_rows[op].name, a);
        if (w->padding[a] > w->kernel[a] / 2)
            FAIL(IG_ERR_ARGUMENT,
                 "%s: padding is %lld, but may be at most half of kernel_size %lld",
                 op_rows[op].name, (long long)w->padding[a], (long long)w->kernel[a]);
    }
    return IG_OK;
}

/* The windows (N, C, out..., kernel...) of the padded x. */
static ig_array *pool_windows(op_id op, ig_array *x, const windows *w, window_border border)
{
    view v;
    if (!(x = window_pad(x, w, border)))
        return NULL;
    window_view(&x->view, w, &v);
    return array_view(op, x, &v);
}

/* The axes of the kernel: the trailing axes of pool_windows. */
static ig_ints kernel_axes(const windows *w)
{
    static const int64_t axes[] = {-3, -2, -1};
    return (ig_ints){axes + WINDOW_AXES_MOST - w->n, w->n};
}

/* Folds the windows of seen (N, C, out..., kernel...), which shows x, to (N, C, out...). */
static ig_array *pool_fold(ig_array *x, ig_array *seen, const windows *w,
                           ig_array *(*fold)(ig_array *seen, ig_ints axes))
{
    int axes[IG_MAX_NDIM];
    if (!seen || !layout_kept(x, axes))
        return seen ? fold(seen, kernel_axes(w)) : NULL;
    const int n = 2 + w->n;
    for (int i = 0; i < w->n; i++)
        axes[n + i] = n + i;
    return layout_back(fold(build_permute(OP_permute_dims, seen, axes), kernel_axes(w)), axes);
}

/* ---- the largest element ---- */

static ig_array *fold_max(ig_array *seen, ig_ints axes) { return ig_max(seen, axes, false); }

static ig_status max_pool_read(op_id op, const ig_arg *args, windows *w)
{
    const ig_array *x = args[0].u.array;
    if (x->dtype == IG_BOOL)
        FAIL(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype", op_rows[op].name);
    TRY(pool_read(op, args, w));
    TRY(window_numbers(op, "dilation", args[4].u.ints, w->n, 1, w->dilation));
    return window_count(op, w, x->view.shape + 2, args[5].u.b);
}

int op_max_pool(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    windows w;
    if (max_pool_read(op, args, &w) != IG_OK)
        return 0;
    ig_array *seen = pool_windows(op, x, &w, BORDER_LOWEST);
    return op_one(out, pool_fold(x, seen, &w, fold_max));
}

/* The element of x along an axis that tap is, one of the elements of a window: (N, C, out...). If all elements of a window are
 * the lowest value, a tap may be in the padding. Then it is the nearest tap in x, which has that value, too. */
static ig_array *tap_place(ig_array *tap, const windows *w, int axis, int64_t length)
{
    int64_t along[2 + WINDOW_AXES_MOST] = {1, 1, 1, 1, 1};
    along[2 + axis] = w->out[axis];
    ig_array *window = ig_multiply(build_iota(2 + w->n, along), ig_int(w->stride[axis]));
    ig_array *before = ig_subtract(ig_int(w->padding[axis]), window);
    ig_array *step = ig_int(w->dilation[axis]);
    ig_array *least = ig_floor_divide(ig_add(before, ig_int(w->dilation[axis] - 1)), step);
    ig_array *most = ig_floor_divide(ig_add(before, ig_int(length - 1)), step);
    tap = ig_minimum(ig_maximum(tap, least), most);
    return ig_subtract(ig_multiply(tap, step), before);
}

int op_max_pool_indices(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int64_t shape[3 + WINDOW_AXES_MOST] = {x->view.shape[0], x->view.shape[1]}, elements = 1;
    windows w;
    if (max_pool_read(op, args, &w) != IG_OK)
        return 0;
    ig_array *seen = pool_windows(op, x, &w, BORDER_LOWEST);
    for (int a = 0; a < w.n; a++) {
        shape[2 + a] = w.out[a];
        elements *= w.kernel[a];
    }
    shape[2 + w.n] = elements;
    out[0] = seen ? pool_fold(x, seen, &w, fold_max) : NULL;
    ig_array *rest = ig_argmax(ig_reshape(seen, (ig_ints){shape, 3 + w.n}), IG_AXES(-1), false);
    ig_array *at = NULL;
    for (int64_t a = w.n - 1, step = 1; a >= 0; step *= x->view.shape[2 + a--]) {
        ig_array *tap = a ? ig_remainder(rest, ig_int(w.kernel[a])) : rest;
        ig_array *place = tap_place(tap, &w, (int)a, x->view.shape[2 + a]);
        at = at ? ig_add(ig_multiply(place, ig_int(step)), at) : place;
        rest = ig_floor_divide(rest, ig_int(w.kernel[a]));
    }
    out[1] = at;
    return out[0] && out[1] ? 2 : 0;
}

/* ---- means ---- */

/* The dtype in which means of x are summed. */
static ig_dtype sum_dtype(const ig_array *x) { return x->dtype == IG_F64 ? IG_F64 : IG_F32; }

static ig_array *fold_sum(ig_array *seen, ig_ints axes)
{
    return ig_sum(build_cast(seen, sum_dtype(seen)), axes, IG_DTYPE_NONE, false);
}

/* The number of elements of the windows along one axis: the same for all, or one for each. */
typedef struct sizes {
    int64_t all;
    ig_array *each; /* (out) of sum_dtype, or NULL */
} sizes;

/* sums (N, C, out...) divided by the number of elements of each window, in the dtype of a mean of x. size has n
 * entries, one for each spatial axis. */
static ig_array *mean_of(op_id op, const ig_array *x, ig_array *sums, const sizes *size, int n)
{
    double same = 1;
    for (int a = 0; a < n; a++)
        same *= size[a].each ? 1 : (double)size[a].all;
    ig_array *count = build_scalar(same, sum_dtype(x));
    for (int a = 0; a < n; a++) {
        if (!size[a].each)
            continue;
        const int64_t column[WINDOW_AXES_MOST] = {ig_size(size[a].each), 1, 1};
        count = ig_multiply(count, build_reshape(op, size[a].each, n - a, column));
    }
    return build_cast(ig_divide(sums, count),
                      dtype_is_float((ig_dtype)x->dtype) ? (ig_dtype)x->dtype : ig_default_dtype());
}

/* The number of elements that count along one axis: elements of x, and padding if asked for, but never
 * the elements past the padding that ceil_mode adds. */
static ig_status window_sizes(const windows *w, int axis, const ig_array *x, bool with_padding,
                              sizes *size)
{
    const int64_t pad = w->padding[axis], n = w->out[axis];
    *size = (sizes){.all = w->kernel[axis]};
    if (w->extra[axis] == 0 && (with_padding || pad == 0))
        return IG_OK;
    const int64_t first = with_padding ? -pad : 0;
    const int64_t last = x->view.shape[2 + axis] + (with_padding ? pad : 0);
    const ig_dtype dtype = sum_dtype(x);
    buffer *b = buffer_new((size_t)n * ig_dtype_bytes(dtype));
    if (!b)
        return IG_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        int64_t start = i * w->stride[axis] - pad, end = start + w->kernel[axis];
        start = start > first ? start : first;
        end = end < last ? end : last;
        dtype_store_int(dtype, (char *)b->data + (size_t)i * ig_dtype_bytes(dtype), end - start);
    }
    size->each = array_leaf(dtype, 1, &n, b);
    return size->each ? IG_OK : IG_ERR_MEMORY;
}

int op_avg_pool(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    sizes size[WINDOW_AXES_MOST];
    windows w;
    if (pool_read(op, args, &w) != IG_OK ||
        window_count(op, &w, x->view.shape + 2, args[4].u.b) != IG_OK)
        return 0;
    for (int a = 0; a < w.n; a++)
        if (window_sizes(&w, a, x, args[5].u.b, &size[a]) != IG_OK)
            return 0;
    ig_array *seen = pool_windows(op, x, &w, BORDER_ZERO);
    ig_array *sums = pool_fold(x, seen, &w, fold_sum);
    return op_one(out, mean_of(op, x, sums, size, w.n));
}

/* ---- windows that cover x ---- */

/* Window i of n over a length covers [floor(i * length / n), ceil((i + 1) * length / n)). */
typedef struct cover {
    int64_t length, n, most; /* most: elements of the longest window */
    /* NULL if the windows are equal and adjacent, else (n, most): */
    ig_array *at;     /* i64: the elements of each window */
    ig_array *inside; /* bool: false past the window's last element */
    sizes size;
} cover;

/* floor(i * length / n), where i * length may overflow. */
static int64_t cover_start(const cover *c, int64_t i)
{
    return i * (c->length / c->n) + i * (c->length % c->n) / c->n;
}

/* ceil(i * length / n) */
static int64_t cover_end(const cover *c, int64_t i)
{
    return i * (c->length / c->n) + (i * (c->length % c->n) + c->n - 1) / c->n;
}

/* The tables of unequal windows. */
static ig_status cover_tables(cover *c, ig_dtype dtype)
{
    const size_t width = ig_dtype_bytes(dtype), cells = (size_t)(c->n * c->most);
    const int64_t shape[2] = {c->n, c->most};
    buffer *at = buffer_new(cells * sizeof(int64_t)), *inside = buffer_new(cells);
    buffer *size = buffer_new((size_t)c->n * width);
    if (!at || !inside || !size) {
        buffer_release(at);
        buffer_release(inside);
        buffer_release(size);
        return IG_ERR_MEMORY;
    }
    for (int64_t i = 0, cell = 0; i < c->n; i++) {
        const int64_t start = cover_start(c, i), n = cover_end(c, i + 1) - start;
        dtype_store_int(dtype, (char *)size->data + (size_t)i * width, n);
        for (int64_t j = 0; j < c->most; j++, cell++) {
            ((int64_t *)at->data)[cell] = start + (j < n ? j : 0);
            ((uint8_t *)inside->data)[cell] = j < n;
        }
    }
    c->at = array_leaf(IG_I64, 2, shape, at);
    c->inside = array_leaf(IG_BOOL, 2, shape, inside);
    c->size.each = array_leaf(dtype, 1, shape, size);
    return c->at && c->inside && c->size.each ? IG_OK : IG_ERR_MEMORY;
}

static ig_status cover_set(cover *c, int64_t length, int64_t n, ig_dtype dtype)
{
    const int64_t whole = length / n, rest = length % n;
    /* With a remainder, windows begin and end inside elements, so they touch one or two more. */
    *c = (cover){.length = length,
                 .n = n,
                 .most = whole + (rest != 0) + (rest != 0 && n % rest != 0),
                 .size.all = whole};
    return rest == 0 ? IG_OK : cover_tables(c, dtype);
}

/* x with axis split into two: windows, and the elements of each, padded with border. */
static ig_array *cover_axis(op_id op, ig_array *x, int axis, const cover *c, window_border border)
{
    if (!x)
        return NULL;
    if (!c->at) {
        view v = x->view;
        axis_insert(&v, axis + 1, c->most, v.stride[axis]);
        v.shape[axis] = c->n;
        v.stride[axis] *= c->most;
        return array_view(op, x, &v);
    }
    const int64_t shape[2 + 2 * WINDOW_AXES_MOST] = {c->n, c->most, 1, 1, 1, 1, 1, 1};
    ig_array *in = build_reshape(op, c->inside, x->view.ndim + 1 - axis, shape);
    return ig_where(in, ig_take(x, c->at, IG_AXES(axis)),
                    window_border_value((ig_dtype)x->dtype, border));
}

/* The windows (N, C, out, kernel, out, kernel, ...) that cover x, n axes; size gets n entries. NULL on failure. */
static ig_array *covered(op_id op, const ig_arg *args, window_border border, sizes *size)
{
    ig_array *x = args[0].u.array, *seen = x;
    const int n = window_axes(op);
    int64_t wanted[WINDOW_AXES_MOST];
    if (window_check(op, "x", x) != IG_OK ||
        window_numbers(op, "output_size", args[1].u.ints, n, 1, wanted) != IG_OK)
        return NULL;
    for (int a = 0; a < n; a++) {
        cover c;
        if (x->view.shape[2 + a] == 0)
            FAIL_NULL(IG_ERR_SHAPE, "%s: spatial axis %d of x has length 0", op_rows[op].name, a);
        if (cover_set(&c, x->view.shape[2 + a], wanted[a], sum_dtype(x)) != IG_OK)
            return NULL;
        size[a] = c.size;
        seen = cover_axis(op, seen, 2 + 2 * a, &c, border);
    }
    return seen;
}

/* The axes of the elements of covered. */
static ig_ints cover_axes(op_id op)
{
    static const int64_t axes[] = {3, 5, 7};
    return (ig_ints){axes, window_axes(op)};
}

int op_adaptive_avg_pool(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    sizes size[WINDOW_AXES_MOST];
    ig_array *seen = covered(op, args, BORDER_ZERO, size);
    if (!seen)
        return 0;
    ig_array *sums = ig_sum(build_cast(seen, sum_dtype(x)), cover_axes(op), IG_DTYPE_NONE, false);
    return op_one(out, mean_of(op, x, sums, size, window_axes(op)));
}

int op_adaptive_max_pool(op_id op, const ig_arg *args, ig_array **out)
{
    sizes size[WINDOW_AXES_MOST];
    if (args[0].u.array->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype",
                  op_rows[op].name);
    return op_one(out, ig_max(covered(op, args, BORDER_LOWEST, size), cover_axes(op), false));
}
