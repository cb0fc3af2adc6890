/* Builders of counts: histograms, bincount, digitize. An element's bin is computed, and the counts are sums at computed
 * places. */
#include "base/error.h"
#include "engine/numeric/counts.h"
#include "engine/ops/composite.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include <math.h>
#include <string.h>

/* ---- bins of one axis ---- */

/* n bins: evenly spaced, or between the edges that were given. */
typedef struct bins {
    int64_t n;
    ig_array *edges;  /* (n + 1) */
    ig_array *index;  /* i64, of each element */
    ig_array *inside; /* bool: the element is in a bin */
    bool even;
} bins;

static ig_array *item(ig_array *x, int64_t i)
{
    return ig_squeeze(ig_slice(x, IG_AXES(i), IG_AXES(i + 1), IG_NONE), IG_AXES(0));
}

/* n + 1 edges from low to high. As in NumPy, a range of one number is made 1 wide, and the range of no elements is [0, 1].
 * The last edge is exact. */
static ig_array *even_edges(ig_array *x, ig_array *range, int64_t n)
{
    ig_array *low, *high;
    const int64_t count = n + 1;
    if (!range && ig_size(x) == 0)
        range = ig_astype(build_iota(1, (int64_t[]){2}), ig_dtype_of(x));
    low = range ? item(range, 0) : ig_min(x, IG_NONE, false);
    high = range ? item(range, 1) : ig_max(x, IG_NONE, false);
    ig_array *half = ig_where(ig_equal(low, high), ig_float(0.5), ig_float(0));
    half = build_cast(half, ig_dtype_of(x));
    low = ig_subtract(low, half);
    high = ig_add(high, half);
    ig_array *place = build_iota(1, &count);
    ig_array *width = ig_divide(ig_subtract(high, low), ig_float((double)n));
    ig_array *edges = ig_add(ig_multiply(ig_astype(place, ig_dtype_of(x)), width), low);
    return ig_where(ig_equal(place, ig_int(n)), high, edges);
}

/* bool: there are bins from low to high. */
static ig_array *is_sound(ig_array *low, ig_array *high)
{
    ig_array *finite = ig_logical_and(ig_isfinite(low), ig_isfinite(high));
    return ig_logical_and(finite, ig_less(low, high));
}

/* The bin of each element: computed, and corrected by one where rounding gave a neighbouring bin. An edge that is not
 * finite, or an empty range, has no bins: the index is out of bounds, which is an error of the evaluation. */
static void find_even(bins *b, ig_array *x)
{
    ig_array *low = item(b->edges, 0), *high = item(b->edges, b->n), *last = ig_int(b->n - 1);
    ig_array *scale = ig_divide(ig_float((double)b->n), ig_subtract(high, low));
    ig_array *at = ig_floor(ig_multiply(ig_subtract(x, low), scale));
    b->inside = ig_logical_and(ig_greater_equal(x, low), ig_less_equal(x, high));
    at = ig_clip(ig_astype(at, IG_I64), ig_int(0), last);
    ig_array *below = ig_less(x, ig_take(b->edges, at, IG_AXES(0)));
    ig_array *above = ig_greater_equal(x, ig_take(b->edges, ig_add(at, ig_int(1)), IG_AXES(0)));
    above = ig_logical_and(above, ig_less(at, last));
    at = ig_subtract(ig_add(at, ig_astype(above, IG_I64)), ig_astype(below, IG_I64));
    at = ig_maximum(at, ig_int(0));
    ig_array *sound = is_sound(low, high);
    b->inside = ig_logical_or(b->inside, ig_logical_not(sound));
    b->index = ig_where(sound, at, ig_int(INT64_MAX));
}

static void find_between(bins *b, ig_array *x)
{
    ig_array *last = item(b->edges, b->n);
    b->index = ig_subtract(ig_searchsorted(b->edges, x, "right", NULL), ig_int(1));
    b->index = ig_clip(b->index, ig_int(0), ig_int(b->n - 1));
    b->inside = ig_logical_and(ig_greater_equal(x, item(b->edges, 0)), ig_less_equal(x, last));
}

static bool bins_even(op_id op, bins *b, ig_array *x, ig_array *range, int64_t n)
{
    if (n < 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: bins is %lld; give 1 or more", op_rows[op].name,
                  (long long)n);
    if (range && (range->view.ndim != 1 || range->view.shape[0] != 2))
        FAIL_NONE(IG_ERR_SHAPE, "%s: range has two numbers, the lowest and the highest",
                  op_rows[op].name);
    *b = (bins){.n = n, .even = true, .edges = even_edges(x, build_cast(range, ig_dtype_of(x)), n)};
    return b->edges != NULL;
}

static bool bins_between(op_id op, bins *b, ig_array *edges)
{
    if (edges->view.ndim != 1 || edges->view.shape[0] < 2)
        FAIL_NONE(IG_ERR_SHAPE, "%s: the edges of bins are 1-d, and at least two",
                  op_rows[op].name);
    *b = (bins){.n = edges->view.shape[0] - 1, .edges = edges};
    return true;
}

static bool bins_find(bins *b, ig_array *x)
{
    (b->even ? find_even : find_between)(b, x);
    return b->index && b->inside;
}

/* ---- counts ---- */

/* The sums of weights, or the numbers of elements, at places 0 ... n - 1; elements that are not inside are left out. */
static ig_array *count_at(ig_array *index, ig_array *inside, ig_array *weights, int64_t n)
{
    const int64_t size = ig_size(index), room = n + 1;
    index = ig_reshape(inside ? ig_where(inside, index, ig_int(n)) : index, IG_SHAPE(size));
    if (!weights && size <= UINT32_MAX)
        return counts_of(inside ? shape_checked("histogram", index, room) : index, n);
    ig_array *zero = build_fill(0, weights ? ig_dtype_of(weights) : IG_I64, 1, &room);
    ig_array *one = weights ? ig_reshape(weights, IG_SHAPE(size)) : build_scalar_int(1, IG_I64);
    ig_array *sums = ig_scatter_add(zero, index, ig_broadcast_to(one, IG_SHAPE(size)), 0);
    return ig_slice(sums, IG_AXES(0), IG_AXES(n), IG_NONE);
}

/* Reads weights, which have the shape of x, as f32, f64 or i64; *dtype is the result's. */
static bool weights_get(op_id op, const ig_arg *arg, const ig_array *x, ig_array **weights,
                        ig_dtype *dtype)
{
    ig_array *w = arg_array(arg);
    *dtype = IG_I64;
    *weights = NULL;
    if (!w)
        return true;
    if (!view_same_shape(&w->view, &x->view))
        FAIL_NONE(IG_ERR_SHAPE, "%s: weights has not the shape of x", op_rows[op].name);
    if (dtype_is_float(w->dtype)) {
        *dtype = (ig_dtype)w->dtype;
        *weights = build_cast(w, *dtype == IG_F64 ? IG_F64 : IG_F32);
    } else
        *weights = build_cast(w, IG_I64);
    return *weights != NULL;
}

/* counts as a density: 1 is the sum of its products with the sizes of the bins. */
static ig_array *density_of(ig_array *counts, const bins *b, int n, ig_dtype compute)
{
    ig_array *y = build_cast(counts, compute);
    y = ig_divide(y, ig_sum(y, IG_NONE, IG_DTYPE_NONE, false));
    for (int a = 0; a < n; a++) {
        int64_t shape[IG_MAX_NDIM];
        for (int k = 0; k < n; k++)
            shape[k] = k == a ? -1 : 1;
        ig_array *width = build_cast(ig_diff(b[a].edges, -1, 1, NULL, NULL), compute);
        y = ig_divide(y, ig_reshape(width, (ig_ints){shape, n}));
    }
    return y;
}

/* The counts of one axis with even bins: as find_even says. */
static ig_array *count_even(const bins *b, ig_array *x)
{
    const int64_t edges = b->n + 1;
    ig_array *low = item(b->edges, 0), *high = item(b->edges, b->n);
    ig_array *scale = ig_divide(ig_float((double)b->n), ig_subtract(high, low));
    ig_array *at = ig_where(is_sound(low, high), build_iota(1, &edges), ig_int(INT64_MAX));
    ig_array *checked = ig_take(b->edges, at, IG_AXES(0));
    return counts_even(ig_reshape(x, IG_SHAPE(ig_size(x))), checked, scale, b->n);
}

/* The histogram of n axes; x[a] has the places of all elements along axis a. */
static ig_array *count_bins(bins *b, ig_array *const *x, int n, ig_array *weights)
{
    ig_array *index = NULL, *inside = NULL;
    int64_t total = 1, shape[IG_MAX_NDIM];
    if (n == 1 && b->even && !weights && ig_size(x[0]) <= UINT32_MAX)
        return count_even(b, x[0]);
    for (int a = 0; a < n; a++) {
        if (!bins_find(&b[a], x[a]))
            return NULL;
        index = index ? ig_add(ig_multiply(index, ig_int(b[a].n)), b[a].index) : b[a].index;
        inside = inside ? ig_logical_and(inside, b[a].inside) : b[a].inside;
        shape[a] = b[a].n;
        if (total > INT64_MAX / 8 / b[a].n)
            FAIL_NULL(IG_ERR_SHAPE, "histogram: there are too many bins");
        total *= b[a].n;
    }
    return ig_reshape(count_at(index, inside, weights, total), (ig_ints){shape, n});
}

/* ---- histograms ---- */

/* The number of bins that a weak integer stands for; else 0. */
static int64_t bins_asked(const ig_arg *arg)
{
    const ig_array *x = arg_array(arg);
    const void *number = x && x->weak && dtype_is_int(x->dtype) ? array_number_of(x) : NULL;
    return arg->kind == IG_ARG_INT ? arg->u.i : number ? (int64_t)dtype_fetch(x->dtype, number) : 0;
}

BUILDER(histogram)
{
    ig_array *x = args[0].u.array, *weights, *counts;
    const bool only_edges = op == OP_histogram_bin_edges;
    ig_dtype dtype, sums;
    bins b;
    if (!weights_get(op, &args[only_edges ? 3 : 4], x, &weights, &sums) ||
        composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    const bool edges = args[1].kind == IG_ARG_ARRAY && !bins_asked(&args[1]);
    if (!(edges ? bins_between(op, &b, args[1].u.array)
                : bins_even(op, &b, x, arg_array(&args[2]), bins_asked(&args[1]))))
        return 0;
    ig_array *given = edges ? b.edges : build_cast(b.edges, dtype);
    if (only_edges)
        return op_one(out, given);
    if (!edges) /* elements are compared with the edges that are returned */
        b.edges = build_cast(given, ig_dtype_of(x));
    counts = count_bins(&b, &x, 1, weights);
    if (args[3].u.b) {
        counts = density_of(counts, &b, 1, ig_dtype_of(x));
        sums = dtype;
    }
    out[0] = build_cast(counts, sums);
    out[1] = given;
    return out[0] && out[1] ? 2 : 0;
}

/* Bins for each axis of a histogram: one number for all, or a number or an array of edges for each. */
static bool bins_for(op_id op, bins *b, ig_array *const *x, int n, const ig_arg *arg,
                     ig_array *range)
{
    const bool listed = arg->kind == IG_ARG_ARRAYS;
    const int given = listed ? arg->u.arrays.n : arg->u.ints.n;
    if (given != n && (listed || given != 1))
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: bins is a number, or one for each of %d axes",
                  op_rows[op].name, n);
    if (range && (range->view.ndim != 2 || range->view.shape[0] != n || range->view.shape[1] != 2))
        FAIL_NONE(IG_ERR_SHAPE, "%s: range has two numbers for each axis", op_rows[op].name);
    for (int a = 0; a < n; a++) {
        ig_array *own = range ? item(range, a) : NULL, *edges = listed ? arg->u.arrays.v[a] : NULL;
        const ig_arg one = {.kind = IG_ARG_ARRAY, .u.array = edges};
        const int64_t count = listed ? bins_asked(&one) : arg->u.ints.v[given == 1 ? 0 : a];
        if (!(edges && !count ? bins_between(op, &b[a], edges)
                              : bins_even(op, &b[a], x[a], own, count)))
            return false;
    }
    return true;
}

static int histogram_of(op_id op, ig_array **x, int n, const ig_arg *args, ig_array **out)
{
    ig_array *weights;
    ig_dtype dtype, sums;
    bins b[IG_MAX_NDIM];
    if (!weights_get(op, &args[3], x[0], &weights, &sums) ||
        composite_floats(op, x, n, &dtype) != IG_OK ||
        !bins_for(op, b, x, n, &args[0], arg_array(&args[1])))
        return 0;
    for (int a = 0; a < n; a++) {
        out[a + 1] = b[a].even ? build_cast(b[a].edges, dtype) : b[a].edges;
        b[a].edges = build_cast(out[a + 1], ig_dtype_of(x[0]));
    }
    ig_array *counts = count_bins(b, x, n, weights);
    if (args[2].u.b)
        counts = density_of(counts, b, n, ig_dtype_of(x[0]));
    out[0] = build_cast(counts, dtype);
    for (int a = 0; a <= n; a++)
        if (!out[a])
            return 0;
    return n + 1;
}

BUILDER(histogram2d)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    if (x[0]->view.ndim != 1 || !view_same_shape(&x[0]->view, &x[1]->view))
        FAIL_NONE(IG_ERR_SHAPE, "histogram2d: x and y are 1-d, and of one length");
    return histogram_of(op, x, 2, args + 2, out);
}

BUILDER(histogramdd)
{
    ig_array *sample = args[0].u.array, *x[IG_MAX_NDIM];
    if (sample->view.ndim != 2 || sample->view.shape[1] < 1 || sample->view.shape[1] > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "histogramdd: sample is (N, D), with 1 to %d axes", IG_MAX_NDIM);
    const int n = (int)sample->view.shape[1];
    for (int a = 0; a < n; a++)
        if (!(x[a] = item(ig_matrix_transpose(sample), a)))
            return 0;
    return histogram_of(op, x, n, args + 1, out);
}

/* ---- bincount, digitize ---- */

/* One more than the largest element of x, i64; -1 on failure. As unsigned integers, those below 0 are the largest. */
static int64_t places_needed(ig_array *x)
{
    if (ig_size(x) == 0)
        return 0;
    ig_array *most = ig_max(ig_astype(x, IG_U64), IG_NONE, false);
    const int64_t *high = most ? ig_data(most) : NULL;
    if (high && *high == INT64_MAX)
        ig_fail(IG_ERR_INDEX, "bincount: an element is %lld or more, which has no place",
                (long long)*high);
    if (!high || *high >= 0)
        return high && *high < INT64_MAX ? *high + 1 : -1;
    ig_array *least = ig_min(x, IG_NONE, false);
    const int64_t *low = least ? ig_data(least) : NULL;
    if (low)
        ig_fail(IG_ERR_ARGUMENT, "bincount: an element is %lld; none may be below 0",
                (long long)*low);
    return -1;
}

BUILDER(bincount)
{
    ig_array *x = args[0].u.array, *weights;
    const int64_t minlength = args[2].u.i;
    ig_dtype sums;
    if (minlength < 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "bincount: minlength is %lld; give 0 or more",
                  (long long)minlength);
    if (x->view.ndim != 1)
        FAIL_NONE(IG_ERR_SHAPE, "bincount: x has %d dimensions; give 1", x->view.ndim);
    if (!weights_get(op, &args[1], x, &weights, &sums) || !(x = index_cast(op_rows[op].name, x)))
        return 0;
    const bool fixed = args[3].kind == IG_ARG_INT;
    int64_t n = fixed ? args[3].u.i : places_needed(x);
    if (fixed && n < 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "bincount: length is %lld; give 0 or more", (long long)n);
    if (n < 0)
        return 0;
    if (!fixed && n < minlength)
        n = minlength;
    /* An element below 0 is out of bounds, not counted from the end. */
    ig_array *inside = NULL, *at = x;
    if (fixed) {
        inside = ig_less(x, ig_int(n));
        at = ig_where(ig_less(x, ig_int(0)), ig_int(INT64_MAX), x);
    }
    if (!fixed && !weights && ig_size(x) <= UINT32_MAX)
        return op_one(out, counts_of(args[0].u.array, n));
    /* As in NumPy, sums of weights are floats. */
    return composite_result(out, count_at(at, inside, weights, n),
                            weights && sums == IG_I64 ? ig_default_dtype() : sums);
}

/* x, one element, by a reduction: a separate stage reads it. */
static ig_array *read_apart(ig_array *x)
{
    ig_array *row = ig_reshape(x, IG_SHAPE(1));
    return x && x->dtype == IG_BOOL ? ig_any(row, IG_AXES(0), false)
                                    : ig_max(row, IG_AXES(0), false);
}

/* In the order of sort, in which NaN is last. */
static ig_array *rises_from(ig_array *first, ig_array *last)
{
    return ig_logical_or(ig_less_equal(first, last), ig_isnan(last));
}

BUILDER(digitize)
{
    ig_array *x = args[0].u.array, *edges = args[1].u.array;
    if (edges->view.ndim != 1)
        FAIL_NONE(IG_ERR_SHAPE, "digitize: bins has %d dimensions; give 1", edges->view.ndim);
    const int64_t n = edges->view.shape[0];
    const char *side = args[2].u.b ? "left" : "right";
    if (n == 0)
        return op_one(out, ig_searchsorted(edges, x, side, NULL));
    ig_array *first = item(edges, 0), *last = item(edges, n - 1), *back = ig_flip(edges, IG_NONE);
    if (ig_reads_blocks(edges)) { /* no block needs both ends of the edges */
        first = read_apart(first);
        last = read_apart(last);
        ig_array *falls = ig_subtract(ig_int(n), ig_searchsorted(back, x, side, NULL));
        return op_one(
            out, ig_where(rises_from(first, last), ig_searchsorted(edges, x, side, NULL), falls));
    }
    ig_array *rises = rises_from(first, last);
    ig_array *at = ig_searchsorted(ig_where(rises, edges, back), x, side, NULL);
    return op_one(out, ig_where(rises, at, ig_subtract(ig_int(n), at)));
}
