/* Reductions and running reductions. Results have the dtype of the input. */
#include "lib/onnx/ops/common.h"

#include <math.h>
#include <string.h>

typedef struct reduction {
    ig_array *x;
    ig_ints axes;
    bool keepdims;
    bool is_noop;  /* over no axis */
    bool is_empty; /* over no element */
} reduction;

static reduction read_reduction(onnx_call *c)
{
    bool is_sum = !strcmp(call_row(c)->name, "ReduceSum");
    reduction r = {.x = call_array(c, 0), .keepdims = call_attribute_bool(c, "keepdims", true)};
    int ndim = ig_ndim(r.x);
    ig_ints axes = op_list(c, "axes", is_sum ? 13 : 18, 1);
    int64_t *all = call_room(c, ndim + 1);
    for (int i = 0; i < ndim && all; i++)
        all[i] = i;
    r.is_noop = call_attribute_bool(c, "noop_with_empty_axes", false) && axes.n == 0;
    r.axes = axes.n ? op_axes(c, axes, ndim) : (ig_ints){all, ndim};
    for (int i = 0; i < r.axes.n && !ig_failed() && !r.is_noop; i++)
        r.is_empty = r.is_empty || ig_dim(r.x, (int)r.axes.v[i]) == 0;
    r.is_noop = r.is_noop || ndim == 0;
    return r;
}

static ig_array *sum_of(const reduction *r, ig_array *x)
{
    return r->is_noop ? x : ig_sum(x, r->axes, ig_dtype_of(x), r->keepdims);
}

static void return_as(onnx_call *c, ig_array *y, ig_array *x)
{
    call_return(c, 0, op_as(y, ig_dtype_of(x)));
}

/* Integers as floats that hold most of them exactly. */
static ig_array *as_float(ig_array *x)
{
    return is_float(ig_dtype_of(x)) ? op_wide(x) : ig_astype(x, IG_F64);
}

/* The value of an empty reduction in the shape of the result. */
static ig_array *empty_result(const reduction *r, ig_array *value)
{
    ig_array *shaped = ig_sum(r->x, r->axes, IG_DTYPE_NONE, r->keepdims);
    return ig_broadcast_to(value, ig_shape(shaped));
}

void build_reduce_sum(onnx_call *c)
{
    reduction r = read_reduction(c);
    call_return(c, 0, sum_of(&r, r.x));
}

void build_reduce_sum_square(onnx_call *c)
{
    reduction r = read_reduction(c);
    call_return(c, 0, sum_of(&r, ig_square(r.x)));
}

void build_reduce_l1(onnx_call *c)
{
    reduction r = read_reduction(c);
    call_return(c, 0, sum_of(&r, ig_abs(r.x)));
}

void build_reduce_l2(onnx_call *c)
{
    reduction r = read_reduction(c);
    return_as(c, ig_sqrt(sum_of(&r, ig_square(as_float(r.x)))), r.x);
}

void build_reduce_log_sum(onnx_call *c)
{
    reduction r = read_reduction(c);
    return_as(c, ig_log(sum_of(&r, as_float(r.x))), r.x);
}

void build_reduce_log_sum_exp(onnx_call *c)
{
    reduction r = read_reduction(c);
    ig_array *y;
    if (r.is_empty)
        y = empty_result(&r, op_extreme(ig_dtype_of(r.x), false));
    else
        y = r.is_noop ? r.x : ig_logsumexp(as_float(r.x), r.axes, r.keepdims);
    return_as(c, y, r.x);
}

/* For integers the quotient is rounded towards 0. */
void build_reduce_mean(onnx_call *c)
{
    reduction r = read_reduction(c);
    ig_array *y = r.x;
    if (!r.is_noop && is_float(ig_dtype_of(r.x))) {
        y = ig_mean(r.x, r.axes, r.keepdims);
    } else if (!r.is_noop) {
        int64_t n = 1;
        for (int i = 0; i < r.axes.n; i++)
            n *= ig_dim(r.x, (int)r.axes.v[i]);
        y = ig_trunc_divide(ig_sum(r.x, r.axes, IG_DTYPE_NONE, r.keepdims), ig_int(n));
    }
    return_as(c, y, r.x);
}

void build_reduce_prod(onnx_call *c)
{
    reduction r = read_reduction(c);
    call_return(c, 0, r.is_noop ? r.x : ig_prod(r.x, r.axes, ig_dtype_of(r.x), r.keepdims));
}

static void reduce_extreme(onnx_call *c, bool highest)
{
    reduction r = read_reduction(c);
    ig_array *y = r.x;
    if (r.is_empty)
        y = empty_result(&r, op_extreme(ig_dtype_of(r.x), !highest));
    else if (ig_dtype_of(r.x) == IG_BOOL && !r.is_noop)
        y = highest ? ig_any(r.x, r.axes, r.keepdims) : ig_all(r.x, r.axes, r.keepdims);
    else if (!r.is_noop)
        y = highest ? ig_max(r.x, r.axes, r.keepdims) : ig_min(r.x, r.axes, r.keepdims);
    call_return(c, 0, y);
}

void build_reduce_max(onnx_call *c) { reduce_extreme(c, true); }
void build_reduce_min(onnx_call *c) { reduce_extreme(c, false); }

/* ---- places of extremes --------------------------------------------------------------------- */

static void arg_extreme(onnx_call *c, ig_array *(*find)(ig_array *, ig_ints, bool))
{
    ig_array *x = call_array(c, 0);
    bool keepdims = call_attribute_bool(c, "keepdims", true);
    bool takes_last = call_attribute_bool(c, "select_last_index", false);
    int axis = op_attribute_axis(c, 0, ig_ndim(x));
    ig_ints axes = IG_AXES(axis);
    ig_array *y = find(takes_last ? ig_flip(x, axes) : x, axes, keepdims);
    call_return(c, 0, takes_last ? ig_subtract(ig_int(ig_dim(x, axis) - 1), y) : y);
}

void build_arg_max(onnx_call *c) { arg_extreme(c, ig_argmax); }
void build_arg_min(onnx_call *c) { arg_extreme(c, ig_argmin); }

/* ---- running reductions --------------------------------------------------------------------- */

static void cumulate(onnx_call *c, ig_array *(*run)(ig_array *, ig_ints, ig_dtype, bool))
{
    ig_array *x = call_array(c, 0);
    bool excludes = call_attribute_bool(c, "exclusive", false);
    bool reverses = call_attribute_bool(c, "reverse", false);
    int axis = op_axis(c, call_int(c, 1, 0), ig_ndim(x));
    ig_ints axes = IG_AXES(axis);
    int64_t n = ig_dim(x, axis);
    if (reverses)
        x = ig_flip(x, axes);
    ig_array *y = run(x, axes, ig_dtype_of(x), excludes);
    if (excludes)
        y = op_part(y, axis, 0, n);
    call_return(c, 0, reverses ? ig_flip(y, axes) : y);
}

void build_cum_sum(onnx_call *c) { cumulate(c, ig_cumulative_sum); }
void build_cum_prod(onnx_call *c) { cumulate(c, ig_cumulative_prod); }
