/* Builders of order statistics: median, quantile, percentile, and their forms that leave out NaN. The
 * elements next to the place of the quantile are read from sorted rows, or found by their ranks in long ones. */
#include "base/error.h"
#include "engine/numeric/counts.h"
#include "engine/ops/composite.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include <math.h>
#include <string.h>

/* ---- methods ---- */

/* How the fraction of a place between two elements is used. */
typedef enum rule { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST, AVERAGED, CLOSEST } rule;

/* The place of quantile q of n sorted elements is q * (n + slope) + shift. */
typedef struct method {
    const char *name;
    double slope, shift;
    rule rule;
} method;

static const method methods[] = {
    {"linear", -1, 0, LINEAR},
    {"lower", -1, 0, LOWER},
    {"higher", -1, 0, HIGHER},
    {"midpoint", -1, 0, MIDPOINT},
    {"nearest", -1, 0, NEAREST},
    {"inverted_cdf", 0, -1, HIGHER},
    {"averaged_inverted_cdf", 0, -1, AVERAGED},
    {"closest_observation", 0, -1.5, CLOSEST},
    {"interpolated_inverted_cdf", 0, -1, LINEAR},
    {"hazen", 0, -0.5, LINEAR},
    {"weibull", 1, -1, LINEAR},
    {"median_unbiased", 1 / 3.0, -2 / 3.0, LINEAR},
    {"normal_unbiased", 0.25, -0.625, LINEAR},
};

static const method *method_named(op_id op, const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(name, methods[i].name) == 0)
            return &methods[i];
    FAIL_NULL(
        IG_ERR_ARGUMENT,
        "%s: method '%s' is unknown; give linear, lower, higher, midpoint, nearest, "
        "inverted_cdf, averaged_inverted_cdf, closest_observation, interpolated_inverted_cdf, "
        "hazen, weibull, median_unbiased or normal_unbiased",
        op_rows[op].name, name);
}

/* True if the result is always an element of x. */
static bool picks(rule r) { return r == LOWER || r == HIGHER || r == NEAREST || r == CLOSEST; }

/* ---- rows ---- */

/* x as (kept axes..., n): n elements for each result. */
typedef struct samples {
    ig_array *rows;
    int64_t n, shape[IG_MAX_NDIM]; /* the result's shape for one quantile */
    int ndim, axis[IG_MAX_NDIM], n_axes;
    bool keepdims;
} samples;

static bool samples_get(op_id op, samples *s, ig_array *x, ig_ints axis, bool keepdims)
{
    int order[IG_MAX_NDIM], k = 0;
    int64_t shape[IG_MAX_NDIM];
    unsigned reduced = 0;
    *s = (samples){.n = 1, .keepdims = keepdims};
    if ((s->n_axes = infer_axes(op, axis, x->view.ndim, s->axis)) < 0)
        return false;
    for (int i = 0; i < s->n_axes; i++)
        reduced |= 1u << s->axis[i];
    for (int a = 0; a < x->view.ndim; a++) {
        const int64_t length = x->view.shape[a];
        if (reduced >> a & 1) {
            s->n *= length;
            if (keepdims)
                s->shape[s->ndim++] = 1;
            continue;
        }
        shape[k] = s->shape[s->ndim++] = length;
        order[k++] = a;
    }
    const int kept = k;
    for (int a = 0; a < x->view.ndim; a++)
        if (reduced >> a & 1)
            order[k++] = a;
    shape[kept] = s->n;
    if (s->n == 0)
        FAIL_NONE(IG_ERR_SHAPE, "%s: there are no elements along axis", op_rows[op].name);
    s->rows = build_reshape(op, build_permute(op, x, order), kept + 1, shape);
    return s->rows != NULL;
}

/* y, (kept axes..., quantiles), in the shape of the result: the axes of q, then the kept axes of x. */
static ig_array *samples_result(op_id op, const samples *s, ig_array *y, const ig_array *q)
{
    const int own = q ? q->view.ndim : 0, kept = s->rows->view.ndim - 1;
    int64_t shape[2 * IG_MAX_NDIM];
    int order[2 * IG_MAX_NDIM];
    if (own + s->ndim > IG_MAX_NDIM)
        FAIL_NULL(IG_ERR_SHAPE, "%s: the result has %d dimensions, more than the %d that Ingot has",
                  op_rows[op].name, own + s->ndim, IG_MAX_NDIM);
    for (int a = 0; a < own; a++)
        order[a] = kept + a;
    for (int a = 0; a < kept; a++) {
        order[own + a] = a;
        shape[a] = s->rows->view.shape[a];
    }
    if (own)
        memcpy(shape + kept, q->view.shape, (size_t)own * sizeof *shape);
    y = build_permute(op, build_reshape(op, y, kept + own, shape), order);
    if (own)
        memcpy(shape, q->view.shape, (size_t)own * sizeof *shape);
    memcpy(shape + own, s->shape, (size_t)s->ndim * sizeof *shape);
    return build_reshape(op, y, own + s->ndim, shape);
}

/* x, which broadcasts along the last axis, with as many axes as rows. */
static ig_array *beside_rows(op_id op, const samples *s, ig_array *x)
{
    int64_t shape[IG_MAX_NDIM];
    const int last = s->rows->view.ndim - 1;
    if (!x)
        return NULL;
    for (int a = 0; a < last; a++)
        shape[a] = 1;
    shape[last] = view_size(&x->view);
    return build_reshape(op, x, last + 1, shape);
}

/* ---- places ---- */

/* The elements of sorted rows between which quantiles lie, and the way from low to high; high is NULL if it is low. */
typedef struct place {
    ig_array *low, *high, *way;
} place;

static ig_array *odd(ig_array *x) { return ig_equal(ig_bitwise_and(x, ig_int(1)), ig_int(1)); }

/* The steps up from the element below, 0 or 1, by a rule that picks an element. */
static ig_array *steps(rule r, ig_array *low, ig_array *way)
{
    ig_array *up = NULL;
    if (r == HIGHER)
        up = ig_greater(way, ig_float(0));
    else if (r == NEAREST)
        up = ig_logical_or(ig_greater(way, ig_float(0.5)),
                           ig_logical_and(ig_equal(way, ig_float(0.5)), odd(low)));
    else
        up = ig_logical_not(ig_logical_and(ig_equal(way, ig_float(0)), odd(low)));
    return ig_astype(up, IG_I64);
}

/* low and way to the place of a method; last is the last element of a row. */
static place place_by(rule r, ig_array *low, ig_array *way, ig_array *last)
{
    if (picks(r) && r != LOWER)
        low = ig_add(low, steps(r, low, way));
    if (r == MIDPOINT)
        way = ig_times(ig_astype(ig_greater(way, ig_float(0)), ig_dtype_of(way)), 0.5);
    if (r == AVERAGED)
        way =
            ig_plus(ig_times(ig_astype(ig_greater(way, ig_float(0)), ig_dtype_of(way)), 0.5), 0.5);
    ig_array *high = picks(r) ? NULL : ig_clip(ig_add(low, ig_int(1)), ig_int(0), last);
    return (place){ig_clip(low, ig_int(0), last), high, way};
}

/* Sorts the rows, or returns NULL in *sorted if the elements at a place are found by their ranks; `asked` quantiles. */
static bool sort_rows(const samples *s, int64_t asked, bool by_ranks, ig_array **sorted)
{
    *sorted = by_ranks && ranks_fit(s->n, asked) ? NULL : ig_sort(s->rows, -1, false, true);
    return *sorted || (by_ranks && ranks_fit(s->n, asked));
}

/* A place, as one for each row. */
static ig_array *for_rows(const samples *s, ig_array *at)
{
    int64_t shape[IG_MAX_NDIM];
    const int last = s->rows->view.ndim - 1;
    if (!at)
        return NULL;
    memcpy(shape, s->rows->view.shape, (size_t)last * sizeof *shape);
    shape[last] = at->view.shape[at->view.ndim - 1];
    return ig_broadcast_to(at, (ig_ints){shape, last + 1});
}

/* The elements at a place of the rows; sorted is NULL if they are not. */
static void read_elements(const samples *s, ig_array *sorted, place p, ig_array **low,
                          ig_array **high)
{
    if (sorted) {
        *low = ig_take_along_axis(sorted, p.low, -1);
        *high = p.high ? ig_take_along_axis(sorted, p.high, -1) : NULL;
        return;
    }
    const int last = s->rows->view.ndim - 1;
    ig_array *at[2] = {for_rows(s, p.low), p.high ? for_rows(s, p.high) : NULL};
    const int64_t n = at[0] ? at[0]->view.shape[last] : 0;
    ig_array *y = ranks_take(s->rows, p.high ? ig_concat(at, 2, IG_AXES(-1)) : at[0]);
    *low = shape_part(y, last, 0, n);
    *high = p.high ? shape_part(y, last, n, 2 * n) : NULL;
}

/* The element, or mean of elements, at a place of the rows. */
static ig_array *read_place(const samples *s, ig_array *sorted, place p, ig_dtype compute)
{
    ig_array *low, *high;
    read_elements(s, sorted, p, &low, &high);
    if (!p.high)
        return low;
    low = build_cast(low, compute);
    high = build_cast(high, compute);
    ig_array *rest = ig_subtract(ig_float(1), p.way);
    /* The difference of equal infinities is 0, and infinity is not multiplied by 0. */
    ig_array *apart = ig_where(ig_equal(low, high), ig_float(0), ig_subtract(high, low));
    ig_array *between =
        ig_where(ig_less(p.way, ig_float(0.5)), ig_add(low, ig_multiply(apart, p.way)),
                 ig_subtract(high, ig_multiply(apart, rest)));
    return ig_where(ig_less_equal(p.way, ig_float(0)), low,
                    ig_where(ig_less_equal(rest, ig_float(0)), high, between));
}

/* ---- median ---- */

/* The mean of the elements at a place; it is infinite if one of them is. */
static ig_array *read_middle(const samples *s, ig_array *sorted, place p, ig_dtype compute)
{
    ig_array *low, *high;
    read_elements(s, sorted, p, &low, &high);
    low = build_cast(low, compute);
    high = build_cast(high, compute);
    return ig_where(ig_equal(low, high), low, ig_times(ig_add(low, high), 0.5));
}

static ig_array *count_numbers(ig_array *rows)
{
    return ig_sum(ig_logical_not(ig_isnan(rows)), IG_AXES(-1), IG_I64, true);
}

/* bool: which rows have a NaN. It is in the last column of sorted rows. */
static ig_array *has_nan(const samples *s, ig_array *sorted)
{
    if (!sorted)
        return ig_any(ig_isnan(s->rows), IG_AXES(-1), true);
    const int last = sorted->view.ndim - 1;
    view v = sorted->view;
    span_apply(&v, last, span_clip(-1, INT64_MAX, 1, v.shape[last]));
    return ig_isnan(array_view(OP_slice, sorted, &v));
}

static ig_array *nan_where(ig_array *condition, ig_array *y)
{
    return ig_where(condition, ig_float(NAN), y);
}

BUILDER(median)
{
    ig_array *x = args[0].u.array;
    const bool skips = op == OP_nanmedian;
    samples s;
    if (!samples_get(op, &s, x, arg_ints(&args[1]), args[2].u.b))
        return 0;
    const ig_dtype dtype = dtype_is_float(x->dtype) ? (ig_dtype)x->dtype : ig_default_dtype();
    ig_array *sorted;
    if (!sort_rows(&s, 2, true, &sorted))
        return 0;
    ig_array *count = skips ? count_numbers(s.rows) : beside_rows(op, &s, ig_int(s.n));
    ig_array *below = ig_maximum(ig_subtract(count, ig_int(1)), ig_int(0));
    const place p = {ig_floor_divide(below, ig_int(2)),
                     ig_minimum(ig_floor_divide(count, ig_int(2)), below), NULL};
    ig_array *y = read_middle(&s, sorted, p, dtype == IG_F64 ? IG_F64 : IG_F32);
    if (y && !skips && dtype_is_float(x->dtype))
        y = nan_where(has_nan(&s, sorted), y);
    return composite_result(out, samples_result(op, &s, y, NULL), dtype);
}

/* ---- quantiles ---- */

/* The quantiles that are asked for: a number, which places use exactly, or an array. */
typedef struct asked {
    ig_array *q; /* with as many axes as the rows of samples, as floats within [0, 1] */
    double number;
    bool is_number;
} asked;

static bool asked_get(op_id op, asked *a, ig_array *q, const samples *s, bool percent,
                      ig_dtype compute)
{
    const void *number = array_number_of(q);
    *a = (asked){.is_number = number != NULL};
    if (number) {
        a->number = dtype_fetch(q->dtype, number) / (percent ? 100 : 1);
        if (!(a->number >= 0 && a->number <= 1))
            FAIL_NONE(IG_ERR_ARGUMENT, "%s: q is %g; give 0 to %d", op_rows[op].name,
                      dtype_fetch(q->dtype, number), percent ? 100 : 1);
        q = build_scalar(a->number, compute);
    }
    q = build_cast(q, compute);
    if (percent && !number)
        q = ig_divide(q, ig_float(100));
    a->q = beside_rows(op, s, q);
    return a->q != NULL;
}

/* The places of quantiles among the first `count` elements of each sorted row; all of them if count is NULL. */
static place places(op_id op, const method *m, const samples *s, const asked *a, ig_array *count)
{
    ig_array *low, *way;
    if (a->is_number && !count) {
        const double at = a->number * ((double)s->n + m->slope) + m->shift, below = floor(at);
        low = beside_rows(op, s, build_scalar_int((int64_t)below, IG_I64));
        way = beside_rows(op, s, build_scalar(at - below, ig_dtype_of(a->q)));
    } else {
        ig_array *n = count ? ig_plus(ig_astype(count, ig_dtype_of(a->q)), m->slope)
                            : ig_float((double)s->n + m->slope);
        ig_array *at = ig_plus(ig_multiply(a->q, n), m->shift);
        ig_array *below = ig_floor(at);
        low = ig_astype(below, IG_I64);
        way = ig_subtract(at, below);
    }
    ig_array *last =
        count ? ig_maximum(ig_subtract(count, ig_int(1)), ig_int(0)) : ig_int(s->n - 1);
    return place_by(m->rule, low, way, last);
}

/* Weights in the shape of x, sorted like the rows of x; NULL: failed. */
static ig_array *weights_of(op_id op, const samples *s, ig_array *x, ig_array *weights,
                            ig_ints axis, ig_array *order)
{
    samples w;
    if (!view_same_shape(&x->view, &weights->view)) {
        if (weights->view.ndim != 1 || weights->view.shape[0] != s->n || s->n_axes != 1)
            FAIL_NULL(IG_ERR_SHAPE,
                      "%s: weights has neither the shape of x nor one weight for each element of "
                      "axis",
                      op_rows[op].name);
        return ig_take_along_axis(beside_rows(op, s, weights), order, -1);
    }
    return samples_get(op, &w, weights, axis, s->keepdims) ? ig_take_along_axis(w.rows, order, -1)
                                                           : NULL;
}

/* The first sorted element up to which the share of the weights is at least q. */
static ig_array *weighted_places(const samples *s, ig_array *weights, ig_array *q)
{
    ig_array *sums = ig_cumulative_sum(weights, IG_AXES(-1), IG_DTYPE_NONE, false);
    ig_array *fraction = ig_divide(sums, ig_sum(weights, IG_AXES(-1), IG_DTYPE_NONE, true));
    fraction = ig_expand_dims(fraction, IG_AXES(-2)); /* (kept..., quantiles, n) */
    ig_array *before = ig_logical_or(ig_less(fraction, ig_expand_dims(q, IG_AXES(-1))),
                                     ig_equal(fraction, ig_float(0)));
    return ig_minimum(ig_sum(before, IG_AXES(-1), IG_I64, false), ig_int(s->n - 1));
}

static ig_array *weighted(op_id op, const samples *s, const asked *a, const ig_arg *args,
                          ig_array **sorted)
{
    ig_array *weights = args[5].u.array, *order = ig_argsort(s->rows, -1, false, true);
    if (strcmp(args[3].u.str, "inverted_cdf") != 0)
        FAIL_NULL(IG_ERR_ARGUMENT, "%s: weights need method 'inverted_cdf', not '%s'",
                  op_rows[op].name, args[3].u.str);
    weights = weights_of(op, s, args[0].u.array, weights, arg_ints(&args[2]), order);
    weights = build_cast(weights, ig_dtype_of(a->q));
    *sorted = ig_take_along_axis(s->rows, order, -1);
    if (weights && (op == OP_nanquantile || op == OP_nanpercentile))
        weights = ig_where(ig_isnan(*sorted), ig_float(0), weights);
    return weights ? weighted_places(s, weights, a->q) : NULL;
}

BUILDER(quantile)
{
    ig_array *x = args[0].u.array, *q = args[1].u.array;
    const bool skips = op == OP_nanquantile || op == OP_nanpercentile;
    const bool percent = op == OP_percentile || op == OP_nanpercentile;
    const method *m = method_named(op, args[3].u.str);
    samples s;
    asked a;
    const bool wide = x->dtype == IG_F64 || (q->dtype == IG_F64 && !q->weak) ||
                      (!dtype_is_float(x->dtype) && ig_default_dtype() == IG_F64);
    const ig_dtype compute = wide ? IG_F64 : IG_F32;
    if (!m || !samples_get(op, &s, x, arg_ints(&args[2]), args[4].u.b) ||
        !asked_get(op, &a, q, &s, percent, compute))
        return 0;
    const bool whole = !dtype_is_float(x->dtype), kept = picks(m->rule) || args[5].kind != 0;
    place p = {0};
    ig_array *sorted = NULL;
    if (args[5].kind == IG_ARG_ARRAY)
        p.low = weighted(op, &s, &a, args, &sorted);
    else {
        /* An integer quantile that is out of bounds makes the evaluation fail: sorted rows check their index. */
        const bool by_ranks = !whole || !kept || a.is_number;
        if (!sort_rows(&s, ig_size(a.q) * (picks(m->rule) ? 1 : 2), by_ranks, &sorted))
            return 0;
        p = places(op, m, &s, &a, skips && !whole ? count_numbers(s.rows) : NULL);
    }
    if (!p.low)
        return 0;
    ig_array *outside = ig_logical_not(
        ig_logical_and(ig_greater_equal(a.q, ig_float(0)), ig_less_equal(a.q, ig_float(1))));
    if (whole && kept && !a.is_number) /* integers have no NaN: the evaluation fails */
        p.low = ig_where(outside, ig_int(INT64_MAX), p.low);
    ig_array *y = read_place(&s, sorted, p, compute);
    if (y && !(whole && kept) && !a.is_number)
        y = nan_where(outside, y);
    if (y && !whole && !skips)
        y = nan_where(has_nan(&s, sorted), y);
    const ig_dtype dtype = !whole ? (ig_dtype)x->dtype
                           : kept ? (ig_dtype)x->dtype
                                  : ig_default_dtype();
    return composite_result(out, samples_result(op, &s, y, q), dtype);
}
