/* Builders of statistics: reductions that leave out NaN, mode, histograms and counts. */
#include "base/error.h"
#include "engine/ops/composite.h"
#include "engine/ops/index.h"
#include <math.h>

/* ---- reductions without NaN ---- */

/* x with value in place of NaN; integers and bool as they are. */
static ig_array *without_nan(ig_array *x, double value)
{
    return x && dtype_is_float(x->dtype) ? ig_where(ig_isnan(x), ig_float(value), x) : x;
}

BUILDER(nan_fold)
{
    ig_array *x = args[0].u.array;
    const ig_ints axis = arg_ints(&args[1]);
    if (op == OP_nansum || op == OP_nanprod) {
        const ig_dtype dtype = arg_dtype(&args[2], IG_DTYPE_NONE);
        return op_one(out, op == OP_nansum ? ig_sum(without_nan(x, 0), axis, dtype, args[3].u.b)
                                           : ig_prod(without_nan(x, 1), axis, dtype, args[3].u.b));
    }
    if (x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; use any or all", op_rows[op].name);
    const bool most = op == OP_nanmax, keepdims = args[2].u.b;
    ig_array *seen = without_nan(x, most ? -INFINITY : INFINITY);
    ig_array *y = most ? ig_max(seen, axis, keepdims) : ig_min(seen, axis, keepdims);
    if (y && dtype_is_float(x->dtype))
        y = ig_where(ig_all(ig_isnan(x), axis, keepdims), ig_float(NAN), y);
    return op_one(out, y);
}

BUILDER(nan_moment)
{
    ig_array *x = args[0].u.array;
    const ig_ints axis = arg_ints(&args[1]);
    const bool keepdims = args[op == OP_nanmean ? 2 : 3].u.b;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *holds = ig_logical_not(ig_isnan(x));
    ig_array *sum = ig_sum(without_nan(x, 0), axis, IG_DTYPE_NONE, op != OP_nanmean || keepdims);
    ig_array *count = ig_astype(ig_sum(holds, axis, IG_I64, true), ig_dtype_of(x));
    if (op == OP_nanmean)
        return composite_result(out, ig_divide(sum, ig_reshape(count, ig_shape(sum))), dtype);
    ig_array *centred = without_nan(ig_subtract(x, ig_divide(sum, count)), 0);
    /* An infinity minus the mean is NaN as well, but not one to leave out. */
    centred = ig_where(ig_isinf(x), ig_float(NAN), centred);
    ig_array *squares = ig_sum(ig_square(centred), axis, IG_DTYPE_NONE, keepdims);
    ig_array *divisor = ig_reshape(ig_plus(count, -args[2].u.f), ig_shape(squares));
    ig_array *y =
        ig_divide(squares, ig_where(ig_greater(divisor, ig_float(0)), divisor, ig_float(NAN)));
    return composite_result(out, op == OP_nanstd ? composite_root(y) : y, dtype);
}

BUILDER(nan_place)
{
    ig_array *x = args[0].u.array;
    const ig_ints axis = args[1].kind == IG_ARG_INT ? IG_AXES(args[1].u.i) : IG_NONE;
    const bool most = op == OP_nanargmax, keepdims = args[2].u.b;
    if (!dtype_is_float(x->dtype))
        return op_one(out, most ? ig_argmax(x, axis, keepdims) : ig_argmin(x, axis, keepdims));
    /* If the extreme is the number that stands for NaN, all others are like it: the first of them is taken. */
    const double stand_in = most ? -INFINITY : INFINITY;
    ig_array *seen = without_nan(x, stand_in), *holds = ig_logical_not(ig_isnan(x));
    ig_array *at = most ? ig_argmax(seen, axis, keepdims) : ig_argmin(seen, axis, keepdims);
    ig_array *extreme = most ? ig_max(seen, axis, keepdims) : ig_min(seen, axis, keepdims);
    ig_array *first = ig_argmax(ig_astype(holds, IG_U8), axis, keepdims);
    at = ig_where(ig_equal(extreme, ig_float(stand_in)), first, at);
    return op_one(out, ig_where(ig_any(holds, axis, keepdims), at, ig_int(-1)));
}

BUILDER(nan_scan)
{
    ig_array *x = args[0].u.array;
    const bool flat = args[1].kind != IG_ARG_INT;
    const ig_ints axis = flat ? IG_AXES(0) : IG_AXES(args[1].u.i);
    const ig_dtype dtype = arg_dtype(&args[2], IG_DTYPE_NONE);
    if (flat)
        x = ig_reshape(x, IG_SHAPE(-1));
    return op_one(out, op == OP_nancumsum
                           ? ig_cumulative_sum(without_nan(x, 0), axis, dtype, false)
                           : ig_cumulative_prod(without_nan(x, 1), axis, dtype, false));
}

/* ---- mode ---- */

/* In sorted rows, the length of the run that ends at each element. */
static ig_array *run_lengths(ig_array *sorted)
{
    const int last = sorted->view.ndim - 1;
    const int64_t n = sorted->view.shape[last];
    ig_array *place = build_iota(1, &n);
    ig_array *differs = ig_not_equal(sorted, ig_roll(sorted, IG_AXES(1), IG_AXES(last)));
    ig_array *starts =
        ig_where(ig_logical_and(differs, ig_greater(place, ig_int(0))), place, ig_int(0));
    return ig_subtract(ig_add(place, ig_int(1)), ig_cumulative_max(starts, IG_AXES(last)));
}

BUILDER(mode)
{
    ig_array *x = args[0].u.array;
    const bool flat = args[1].kind != IG_ARG_INT, keepdims = args[2].u.b;
    const int ndim = x->view.ndim;
    int64_t ones[IG_MAX_NDIM];
    int axis = 0;
    for (int a = 0; a < ndim; a++)
        ones[a] = 1;
    if (flat)
        x = ig_reshape(x, IG_SHAPE(-1));
    if (!x || infer_axis(op, flat ? 0 : args[1].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    if (x->view.shape[axis] == 0)
        FAIL_NONE(IG_ERR_SHAPE, "mode: there are no elements along axis");
    ig_array *sorted = ig_sort(build_axis_last(op, x, axis), -1, false, true);
    ig_array *runs = sorted ? run_lengths(sorted) : NULL;
    ig_array *value = ig_take_along_axis(sorted, ig_argmax(runs, IG_AXES(-1), true), -1);
    ig_array *count = ig_max(runs, IG_AXES(-1), true);
    if (value && dtype_is_float(x->dtype)) {
        ig_array *nans = ig_sum(ig_isnan(sorted), IG_AXES(-1), IG_I64, true);
        ig_array *none = ig_equal(nans, ig_int(0));
        value = ig_where(none, value, ig_float(NAN));
        count = ig_where(none, count, nans);
    }
    ig_array *both[2] = {value, count};
    for (int i = 0; i < 2; i++) {
        out[i] = both[i] ? build_axis_back(op, both[i], axis) : NULL;
        if (!keepdims)
            out[i] = ig_squeeze(out[i], IG_AXES(axis));
        else if (flat)
            out[i] = build_reshape(op, out[i], ndim, ones);
    }
    return out[0] && out[1] ? 2 : 0;
}
