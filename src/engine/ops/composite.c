/* Builders of reductions and index ops that are built from other ops. Statistics are computed in f32 (f64
 * for f64) and rounded to the dtype of x once, at the end. */
#include "base/error.h"
#include "engine/ops/complex.h"
#include "engine/ops/composite.h"
#include "engine/ops/index.h"
#include <math.h>
#include <string.h>

ig_status composite_floats(op_id op, ig_array **x, int n, ig_dtype *dtype)
{
    TRY(infer_dtype(op, x, n, dtype));
    const bool complex = dtype_is_complex(*dtype);
    if (!complex && !dtype_is_float(*dtype))
        *dtype = ig_default_dtype();
    const ig_dtype real = *dtype == IG_F64 || *dtype == IG_C128 ? IG_F64 : IG_F32;
    for (int i = 0; i < n; i++)
        if (!(x[i] = build_cast(x[i], array_is_complex(x[i]) ? *dtype : real)))
            return IG_ERR_MEMORY;
    return IG_OK;
}

int64_t composite_length(op_id op, const ig_array *x, ig_ints axis)
{
    int axes[IG_MAX_NDIM], n = infer_axes(op, axis, x->view.ndim, axes);
    int64_t length = n < 0 ? -1 : 1;
    for (int i = 0; i < n; i++)
        length *= x->view.shape[axes[i]];
    return length;
}

/* ---- clip ---- */

int op_clip(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[3] = {args[0].u.array}, *low = arg_array(&args[1]), *high = arg_array(&args[2]);
    int n = 1, ndim;
    int64_t shape[IG_MAX_NDIM];
    ig_dtype dtype;
    if (low)
        x[n++] = low;
    if (high)
        x[n++] = high;
    if (infer_dtype(op, x, n, &dtype) != IG_OK || infer_broadcast(op, x, n, &ndim, shape) != IG_OK)
        return 0;
    if (dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "clip takes numbers, not bool; convert with astype");
    ig_array *y = build_cast(x[0], dtype);
    if (low)
        y = ig_maximum(y, build_cast(low, dtype));
    if (high)
        y = ig_minimum(y, build_cast(high, dtype));
    return op_one(out, y);
}

/* ---- reductions ---- */

int op_count_nonzero(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints axis = arg_ints(&args[1]);
    if (composite_length(op, x, axis) < 0)
        return 0;
    return op_one(out, ig_sum(ig_astype(x, IG_BOOL), axis, IG_I64, args[2].u.b));
}

/* The largest element is subtracted in the exponent, unless it is infinite: x - inf would be NaN where
 * all are -inf (the result is -inf) or one is inf (the result is inf). */
int op_logsumexp(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints axis = arg_ints(&args[1]);
    bool keepdims = args[2].u.b;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK || composite_length(op, x, axis) < 0)
        return 0;
    if (ig_size(x) == 0) /* an empty array has no largest element; its sum is 0 */
        return composite_result(out, ig_log(ig_sum(x, axis, IG_DTYPE_NONE, keepdims)), dtype);
    ig_array *most = ig_stop_gradient(ig_max(x, axis, true)); /* the shift cancels out */
    ig_array *shift = ig_where(ig_isfinite(most), most, ig_float(0));
    ig_array *sum = ig_sum(ig_exp(ig_subtract(x, shift)), axis, IG_DTYPE_NONE, keepdims);
    return composite_result(out, ig_add(ig_log(sum), ig_reshape(shift, ig_shape(sum))), dtype);
}

ig_array *composite_mean(op_id op, ig_array *x, ig_ints axis, bool keepdims)
{
    if (!x)
        return NULL;
    ig_array *sum = ig_sum(x, axis, IG_DTYPE_NONE, keepdims);
    return ig_divide(sum, build_beside(sum, (double)composite_length(op, x, axis)));
}

/* x minus its mean. */
static ig_array *centre(op_id op, ig_array *x, ig_ints axis)
{
    return ig_subtract(x, composite_mean(op, x, axis, true));
}

/* The variance of x, where centred is centre(x). */
static ig_array *variance(op_id op, ig_array *centred, ig_ints axis, double correction,
                          bool keepdims)
{
    if (!centred)
        return NULL;
    /* A divisor below 0 counts as 0, which gives inf or NaN, as in NumPy. */
    double divisor = fmax((double)composite_length(op, centred, axis) - correction, 0);
    return ig_divide(ig_sum(ig_square(centred), axis, IG_DTYPE_NONE, keepdims), ig_float(divisor));
}

ig_array *composite_root(ig_array *y)
{
    ig_array *none = ig_equal(y, ig_float(0));
    return ig_where(none, ig_float(0), ig_sqrt(ig_where(none, ig_float(1), y)));
}

int op_moment(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints axis = arg_ints(&args[1]);
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK || composite_length(op, x, axis) < 0)
        return 0;
    ig_array *y = op == OP_mean ? composite_mean(op, x, axis, args[2].u.b)
                                : variance(op, centre(op, x, axis), axis, args[2].u.f, args[3].u.b);
    return composite_result(out, op == OP_std ? composite_root(y) : y, dtype);
}

/* ---- diff ---- */

/* x[start:stop] along axis. */
static ig_array *part(op_id op, ig_array *x, int axis, int64_t start, int64_t stop)
{
    if (!x)
        return NULL;
    view v = x->view;
    span_apply(&v, axis, span_clip(start, stop, 1, v.shape[axis]));
    return array_view(op, x, &v);
}

/* The array to join to x along axis; a scalar is broadcast to a slice. */
static ig_array *diff_end(op_id op, const ig_array *x, ig_array *end, int axis)
{
    if (end->view.ndim != 0)
        return end;
    int64_t shape[IG_MAX_NDIM];
    for (int a = 0; a < x->view.ndim; a++)
        shape[a] = a == axis ? 1 : x->view.shape[a];
    return build_broadcast(op, end, x->view.ndim, shape);
}

static ig_array *diff_joined(op_id op, const ig_arg *args, int axis)
{
    const ig_arg *order[3] = {&args[3], &args[0], &args[4]};
    ig_array *x[3];
    ig_dtype dtype;
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (order[i]->kind == IG_ARG_ARRAY)
            x[n++] = order[i]->u.array;
    if (infer_dtype(op, x, n, &dtype) != IG_OK)
        return NULL;
    for (int i = 0; i < n; i++) {
        ig_array *y = build_cast(x[i], dtype);
        if (!y || !(x[i] = diff_end(op, args[0].u.array, y, axis)))
            return NULL;
    }
    return n == 1 ? x[0] : ig_concat(x, n, IG_AXES(axis));
}

int op_diff(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int64_t n = args[2].u.i;
    int axis;
    if (n < 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "diff: n is %lld; give 0 or more", (long long)n);
    if (infer_axis(op, args[1].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    if (n > 0)
        x = diff_joined(op, args, axis);
    for (int64_t i = 0; i < n && x; i++) {
        int64_t length = x->view.shape[axis];
        ig_array *before = part(op, x, axis, 0, length ? length - 1 : 0);
        ig_array *after = part(op, x, axis, 1, INT64_MAX);
        x = x->dtype == IG_BOOL ? ig_logical_xor(after, before) : ig_subtract(after, before);
        if (length == 0)
            break; /* all further differences are empty, too */
    }
    return op_one(out, x);
}

/* ---- index ---- */

int op_one_hot(op_id op, const ig_arg *args, ig_array **out)
{
    int64_t n = args[1].u.i;
    if (n < 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "one_hot: num_classes is %lld; give 0 or more", (long long)n);
    ig_array *x = ig_expand_dims(index_cast(op_rows[op].name, args[0].u.array), IG_AXES(-1));
    return op_one(
        out, build_cast(ig_equal(x, build_iota(1, &n)), arg_dtype(&args[2], ig_default_dtype())));
}

int op_topk(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int64_t k = args[1].u.i;
    int axis;
    if (infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    if (k < 0 || k > x->view.shape[axis])
        FAIL_NONE(IG_ERR_ARGUMENT, "topk: k is %lld, but axis %d has length %lld", (long long)k,
                  axis, (long long)x->view.shape[axis]);
    out[1] = index_first_places(x, axis, k);
    out[0] = ig_take_along_axis(x, out[1], axis);
    return out[0] ? 2 : 0;
}

int composite_reduced(op_id op, ig_array *loss, const char *how, ig_dtype dtype, ig_array **out)
{
    if (strcmp(how, "mean") == 0)
        loss = composite_mean(op, loss, IG_NONE, false);
    else if (strcmp(how, "sum") == 0)
        loss = ig_sum(loss, IG_NONE, IG_DTYPE_NONE, false);
    else if (strcmp(how, "none") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: reduction is 'mean', 'sum' or 'none', not '%s'",
                  op_rows[op].name, how);
    return composite_result(out, loss, dtype);
}

ig_status composite_sampling(op_id op, const char *text, sampling *mode)
{
    static const struct {
        const char *name;
        sampling mode;
    } names[] = {{"nearest", SAMPLE_NEAREST}, {"linear", SAMPLE_LINEAR},
                 {"bilinear", SAMPLE_LINEAR}, {"trilinear", SAMPLE_LINEAR},
                 {"cubic", SAMPLE_CUBIC},     {"bicubic", SAMPLE_CUBIC}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i].name) == 0) {
            *mode = names[i].mode;
            return IG_OK;
        }
    FAIL(IG_ERR_ARGUMENT, "%s: mode is 'nearest', 'linear' or 'cubic', not '%s'", op_rows[op].name,
         text);
}

void composite_cubic(ig_array *t, ig_array *w[4])
{
    const double a = -0.75;
    for (int i = 0; i < 4; i++) {
        const bool near = i == 1 || i == 2;
        ig_array *d = i < 2 ? ig_plus(t, 1 - i) : ig_subtract(ig_float(i - 1), t);
        ig_array *p =
            near ? ig_plus(ig_times(d, a + 2), -(a + 3)) : ig_plus(ig_times(d, a), -5 * a);
        p = ig_multiply(p, d);
        w[i] = near ? ig_plus(ig_multiply(p, d), 1)
                    : ig_plus(ig_multiply(ig_plus(p, 8 * a), d), -4 * a);
    }
}
