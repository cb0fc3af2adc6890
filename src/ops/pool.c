/* Builders of pools: windows of x (N, C, spatial...), seen as a view and reduced. Means add up in
 * f32, or f64 for f64, and are divided once by the number of elements that count. */
#include "base/error.h"
#include "ops/index.h"
#include "ops/window.h"

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

/* (N, C, out..., kernel...) of x bordered by value. */
static ig_array *pool_windows(op_id op, ig_array *x, const windows *w, ig_array *value)
{
    view v;
    if (!(x = window_pad(x, w, value)))
        return NULL;
    window_view(&x->view, w, &v);
    return array_view(op, x, &v);
}

/* The trailing axes of pool_windows. */
static ig_ints kernel_axes(const windows *w)
{
    static const int64_t axes[] = {-3, -2, -1};
    return (ig_ints){axes + WINDOW_AXES_MOST - w->n, w->n};
}

/* ---- the largest element ---- */

/* A value that no other is below. */
static ig_array *lowest(ig_dtype dtype)
{
    ig_iinfo info;
    if (dtype_is_float(dtype))
        return build_scalar(-__builtin_inf(), dtype);
    return ig_iinfo_of(dtype, &info) == IG_OK ? build_scalar_int(info.min, dtype) : NULL;
}

static int max_pool(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    windows w;
    if (x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype",
                  op_rows[op].name);
    if (pool_read(op, args, &w) != IG_OK ||
        window_numbers(op, "dilation", args[4].u.ints, w.n, 1, w.dilation) != IG_OK ||
        window_count(op, &w, x->view.shape + 2, args[5].u.b) != IG_OK)
        return 0;
    ig_array *seen = pool_windows(op, x, &w, lowest((ig_dtype)x->dtype));
    return op_one(out, ig_max(seen, kernel_axes(&w), false));
}

int op_max_pool1d(op_id op, const ig_arg *args, ig_array **out) { return max_pool(op, args, out); }
int op_max_pool2d(op_id op, const ig_arg *args, ig_array **out) { return max_pool(op, args, out); }
int op_max_pool3d(op_id op, const ig_arg *args, ig_array **out) { return max_pool(op, args, out); }

/* ---- means ---- */

/* The dtype in which means of x add up. */
static ig_dtype sum_dtype(const ig_array *x) { return x->dtype == IG_F64 ? IG_F64 : IG_F32; }

/* How many elements the windows along one axis have: all the same number, or i64 (out). */
typedef struct sizes {
    int64_t all;
    ig_array *each; /* or NULL */
} sizes;

/* sums (N, C, out...) divided by the number of elements of each window, in the dtype that a mean of x
 * has. size is of the n spatial axes. */
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
        ig_array *each = build_cast(size[a].each, sum_dtype(x));
        count = ig_multiply(count, build_reshape(op, each, n - a, column));
    }
    return build_cast(ig_divide(sums, count),
                      dtype_is_float((ig_dtype)x->dtype) ? (ig_dtype)x->dtype : IG_F32);
}

/* What counts along one axis: elements of x, and those of the padding if asked for, but never what
 * ceil_mode hangs over. */
static ig_status window_sizes(const windows *w, int axis, int64_t length, bool with_padding,
                              sizes *size)
{
    const int64_t pad = w->padding[axis], kernel = w->kernel[axis];
    *size = (sizes){.all = kernel};
    if (w->extra[axis] == 0 && (with_padding || pad == 0))
        return IG_OK;
    ig_array *start = ig_subtract(
        ig_multiply(build_iota(1, &w->out[axis]), ig_int(w->stride[axis])), ig_int(pad));
    ig_array *end = ig_add(start, ig_int(kernel));
    end = ig_minimum(end, ig_int(length + (with_padding ? pad : 0)));
    if (!with_padding)
        start = ig_maximum(start, ig_int(0));
    size->each = ig_subtract(end, start);
    return size->each ? IG_OK : IG_ERR_MEMORY;
}

static int avg_pool(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    sizes size[WINDOW_AXES_MOST];
    windows w;
    if (pool_read(op, args, &w) != IG_OK ||
        window_count(op, &w, x->view.shape + 2, args[4].u.b) != IG_OK)
        return 0;
    for (int a = 0; a < w.n; a++)
        if (window_sizes(&w, a, x->view.shape[2 + a], args[5].u.b, &size[a]) != IG_OK)
            return 0;
    ig_array *seen = pool_windows(op, x, &w, build_scalar(0, (ig_dtype)x->dtype));
    ig_array *sums = ig_sum(seen, kernel_axes(&w), sum_dtype(x), false);
    return op_one(out, mean_of(op, x, sums, size, w.n));
}

int op_avg_pool1d(op_id op, const ig_arg *args, ig_array **out) { return avg_pool(op, args, out); }
int op_avg_pool2d(op_id op, const ig_arg *args, ig_array **out) { return avg_pool(op, args, out); }
int op_avg_pool3d(op_id op, const ig_arg *args, ig_array **out) { return avg_pool(op, args, out); }

/* ---- windows that cover x ---- */

/* Window i of n over a length covers [floor(i * length / n), ceil((i + 1) * length / n)). */
typedef struct cover {
    int64_t length, n, most; /* most: elements of the longest window */
    ig_array *start;         /* i64 (n), or NULL if all windows are equal, one behind the other */
    sizes size;
} cover;

/* i64 (n): floor((i * length + more) / n) + i * whole, where length has been freed of whole * n. */
static ig_array *cover_bound(const cover *c, int64_t more)
{
    const int64_t whole = c->length / c->n, rest = c->length % c->n;
    ig_array *i = build_iota(1, &c->n);
    ig_array *part =
        ig_floor_divide(ig_add(ig_multiply(i, ig_int(rest)), ig_int(more)), ig_int(c->n));
    return ig_add(ig_multiply(i, ig_int(whole)), part);
}

static ig_status cover_set(cover *c, int64_t length, int64_t n)
{
    const int64_t whole = length / n, rest = length % n;
    *c = (cover){.length = length, .n = n};
    /* An odd rest makes windows begin and end inside of elements: one or two more are touched. */
    c->most = whole + (rest != 0) + (rest != 0 && n % rest != 0);
    c->size = (sizes){.all = whole};
    if (rest == 0)
        return IG_OK;
    c->start = cover_bound(c, 0);
    ig_array *end = ig_add(cover_bound(c, rest + n - 1), ig_int(whole));
    c->size.each = ig_subtract(end, c->start);
    return c->size.each ? IG_OK : IG_ERR_MEMORY;
}

/* x whose axis became two: windows, and the elements of each. Zeros fill up those that are shorter. */
static ig_array *cover_axis(op_id op, ig_array *x, int axis, const cover *c)
{
    if (!x)
        return NULL;
    if (!c->start) {
        view v = x->view;
        axis_insert(&v, axis + 1, c->most, v.stride[axis]);
        v.shape[axis] = c->n;
        v.stride[axis] *= c->most;
        return array_view(op, x, &v);
    }
    ig_array *j = build_iota(1, &c->most);
    ig_array *at = ig_add(ig_expand_dims(c->start, IG_AXES(1)), j);
    ig_array *inside = ig_less(j, ig_expand_dims(c->size.each, IG_AXES(1)));
    ig_array *seen = ig_take(x, ig_minimum(at, ig_int(c->length - 1)), IG_AXES(axis));
    int64_t shape[2 + 2 * WINDOW_AXES_MOST] = {c->n, c->most, 1, 1, 1, 1, 1, 1};
    inside = build_reshape(op, inside, x->view.ndim + 1 - axis, shape);
    return ig_where(inside, seen, build_scalar(0, (ig_dtype)x->dtype));
}

static int adaptive_avg_pool(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array, *seen = x;
    const int n = window_axes(op);
    int64_t wanted[WINDOW_AXES_MOST];
    sizes size[WINDOW_AXES_MOST];
    if (window_check(op, "x", x) != IG_OK ||
        window_numbers(op, "output_size", args[1].u.ints, n, 1, wanted) != IG_OK)
        return 0;
    for (int a = 0; a < n; a++) {
        cover c;
        if (x->view.shape[2 + a] == 0)
            FAIL_NONE(IG_ERR_SHAPE, "%s: spatial axis %d of x has length 0", op_rows[op].name, a);
        if (cover_set(&c, x->view.shape[2 + a], wanted[a]) != IG_OK)
            return 0;
        size[a] = c.size;
        seen = cover_axis(op, seen, 2 + 2 * a, &c);
    }
    static const int64_t kernels[] = {3, 5, 7};
    ig_array *sums = ig_sum(seen, (ig_ints){kernels, n}, sum_dtype(x), false);
    return op_one(out, mean_of(op, x, sums, size, n));
}

int op_adaptive_avg_pool1d(op_id op, const ig_arg *args, ig_array **out)
{
    return adaptive_avg_pool(op, args, out);
}

int op_adaptive_avg_pool2d(op_id op, const ig_arg *args, ig_array **out)
{
    return adaptive_avg_pool(op, args, out);
}

int op_adaptive_avg_pool3d(op_id op, const ig_arg *args, ig_array **out)
{
    return adaptive_avg_pool(op, args, out);
}
