/* Reductions and scans: each result is computed from its elements in row-major order. The error
 * bound of sums is eps / 2 * sum |x| for each addition that a value takes part in, and an ulp; of running sums it is
 * c * log2(n) * eps * sum |x|. The eps belongs to the precision in which they are summed. */
#include "verify/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The result for n elements v of dtype d. *tol: its error bound in a result of dtype out. */
typedef real (*fold)(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol);

static real depth(int64_t n) { return 4 + 2 * log2l((real)n + 1); }

/* Half of the most additions that one of n values takes part in: in one of 32 lanes of a chunk of 1,024, then joining
 * lanes and chunks. */
static real sum_share(int64_t n)
{
    const real lanes = 32, chunk = fminl((real)n, 1024);
    return n < 1 ? 0
                 : (ceill(chunk / lanes) - 1 + ceill(log2l(fminl(chunk, lanes))) +
                    ceill(log2l(ceill((real)n / 1024)))) /
                       2;
}

/* The error from rounding to the result's dtype. */
static real rounding(ig_dtype out, real want) { return real_ulp(out, want); }

/* The sum; each |x| may contribute an error of `share` * eps * |x|. */
static real sum_of(ig_dtype out, const real *v, int64_t n, real share, real *tol)
{
    real sum = 0, size = 0;
    uint64_t bits = 0;
    *tol = 0;
    if (!dtype_in(out, FLOATS)) {
        for (int64_t i = 0; i < n; i++)
            bits += real_bits(v[i]);
        return real_wrap(out, bits);
    }
    for (int64_t i = 0; i < n; i++) {
        sum += real_round(out, v[i]);
        size += fabsl(v[i]);
    }
    *tol = n <= 1 ? 0 : share * real_eps(real_compute(out)) * size + rounding(out, sum);
    return sum;
}

static real fold_sum(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    (void)d;
    return sum_of(out, v, n, sum_share(n), tol);
}

static real fold_running_sum(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    (void)d;
    return sum_of(out, v, n, depth(n), tol);
}

static real fold_prod(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    real product = 1;
    uint64_t bits = 1;
    (void)d;
    *tol = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!dtype_in(out, FLOATS))
            bits *= real_bits(v[i]);
        else
            product *= real_round(out, v[i]);
    }
    if (!dtype_in(out, FLOATS))
        return real_wrap(out, bits);
    *tol = n <= 1 ? 0
                  : (real)n * real_eps(real_compute(out)) * fabsl(product) + rounding(out, product);
    return product;
}

/* The index of the first extreme element; NaN counts as more extreme than any number. */
static int64_t extreme(const real *v, int64_t n, int sign)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n && !isnan(v[best]); i++)
        if (isnan(v[i]) || (real)sign * v[i] > (real)sign * v[best])
            best = i;
    return best;
}

static real fold_max(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    return (void)d, (void)out, *tol = 0, v[extreme(v, n, 1)];
}
static real fold_min(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    return (void)d, (void)out, *tol = 0, v[extreme(v, n, -1)];
}
static real fold_argmax(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    return (void)d, (void)out, *tol = 0, (real)extreme(v, n, 1);
}
static real fold_argmin(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    return (void)d, (void)out, *tol = 0, (real)extreme(v, n, -1);
}

static real fold_count(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    int64_t count = 0;
    (void)d, (void)out, *tol = 0;
    for (int64_t i = 0; i < n; i++)
        count += v[i] != 0;
    return (real)count;
}

static real fold_any(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    return fold_count(d, out, v, n, tol) > 0;
}
static real fold_all(ig_dtype d, ig_dtype out, const real *v, int64_t n, real *tol)
{
    return fold_count(d, out, v, n, tol) == (real)n;
}

/* ---- rows ---- */

enum result { SUM, SAME, INDEX, TRUTH };

static const struct reduction {
    fold f;
    enum result gives;
    bool of_nothing; /* defined for zero elements */
    bool one_axis;
    domain from;
} sum_row = {fold_sum, SUM, true, false, {-9, 9, false}},
  running_sum_row = {fold_running_sum, SUM, true, false, {-9, 9, false}},
  prod_row = {fold_prod, SUM, true, false, {0.75, 1.35, false}},
  max_row = {fold_max, SAME, false, false, {-99, 99, true}},
  min_row = {fold_min, SAME, false, false, {-99, 99, true}},
  argmax_row = {fold_argmax, INDEX, false, true, {-99, 99, true}},
  argmin_row = {fold_argmin, INDEX, false, true, {-99, 99, true}},
  any_row = {fold_any, TRUTH, true, false, {0, 0.2, false}},
  all_row = {fold_all, TRUTH, true, false, {-1, 3, false}};

static ig_dtype result_dtype(enum result gives, ig_dtype d)
{
    const ig_dtype sums = dtype_in(d, UNSIGNED) ? IG_U64 : dtype_in(d, FLOATS) ? d : IG_I64;
    return gives == SUM ? sums : gives == INDEX ? IG_I64 : gives == TRUTH ? IG_BOOL : d;
}

/* axes 0 with n_axes -1: all axes. */
static const struct reduce_case {
    int ndim, n_axes;
    int64_t shape[4], axes[3];
    bool keepdims;
} cases[] = {
    {2, 1, {7, 43}, {1}, false},       {2, 1, {43, 7}, {0}, true},
    {1, -1, {1025}, {0}, false},       {3, 2, {5, 6, 9}, {0, -1}, true},
    {0, -1, {0}, {0}, false},          {2, 1, {0, 3}, {0}, false},
    {2, 1, {0, 3}, {-1}, false},       {2, -1, {35, 43}, {0}, false},
    {1, -1, {1}, {0}, true},           {1, 1, {3}, {0}, false},
    {1, -1, {17}, {0}, false},         {1, -1, {63}, {0}, false},
    {1, -1, {64}, {0}, false},         {1, -1, {65}, {0}, false},
    {1, -1, {1023}, {0}, false},       {1, -1, {1024}, {0}, false},
    {1, -1, {1500}, {0}, false},       {2, 1, {3, 2100}, {1}, false},
    {2, 1, {2100, 3}, {0}, false},     {3, 1, {4, 33, 5}, {1}, false},
    {3, 2, {4, 33, 5}, {1, 2}, false},
};
enum { CASES = sizeof cases / sizeof *cases, QUICK_CASES = 7 };

/* Reduces along the marked axes. */
static void reduce(const tensor *x, const bool *along, fold f, ig_dtype dtype, tensor *out)
{
    int64_t outer[MAX_AXES] = {0}, kept[MAX_AXES], lengths[MAX_AXES];
    for (int a = 0; a < x->ndim; a++) {
        kept[a] = along[a] ? 1 : x->shape[a];
        lengths[a] = along[a] ? x->shape[a] : 1;
    }
    const ig_ints outside = {kept, x->ndim}, inside = {lengths, x->ndim};
    const int64_t n = shape_size(inside);
    real *v = heap_get(((size_t)n + 1) * sizeof *v);
    for (int64_t k = 0; k < out->size; k++, shape_next(outside, outer)) {
        int64_t inner[MAX_AXES] = {0}, at[MAX_AXES];
        for (int64_t i = 0; i < n; i++, shape_next(inside, inner)) {
            for (int a = 0; a < x->ndim; a++)
                at[a] = outer[a] + inner[a];
            v[i] = tensor_at(x, at);
        }
        out->v[k] = f(dtype, out->dtype, v, n, &out->tol[k]);
    }
    free(v);
}

static bool make_reduction(problem *p, int variant)
{
    const struct reduction *r = p->row;
    if (variant >= (p->quick ? QUICK_CASES : CASES) || (p->mode != MODE_PLAIN && variant > 3))
        return false;
    struct reduce_case c = cases[variant];
    bool along[MAX_AXES];
    int64_t shape[MAX_AXES];
    int ndim = 0;
    if (c.ndim == 2 && c.shape[0] == 0 && c.axes[0] == 0 && !r->of_nothing)
        c.shape[0] = 2;
    if (r->one_axis && c.n_axes > 1)
        c.n_axes = 1;
    for (int a = 0; a < c.ndim; a++)
        along[a] = c.n_axes < 0;
    for (int i = 0; i < c.n_axes; i++)
        along[c.axes[i] < 0 ? c.axes[i] + c.ndim : c.axes[i]] = true;
    for (int a = 0; a < c.ndim; a++)
        if (!along[a] || c.keepdims)
            shape[ndim++] = along[a] ? 1 : c.shape[a];
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){c.shape, c.ndim}, r->from);
    if (c.n_axes == 1)
        problem_int(p, "axis", c.axes[0]);
    else if (c.n_axes > 1)
        problem_ints(p, "axis", (ig_ints){c.axes, c.n_axes});
    if (c.keepdims)
        problem_bool(p, "keepdims", true);
    ig_dtype d = result_dtype(r->gives, p->dtype);
    if (r->gives == SUM && variant == 1) {
        d = dtype_in(p->dtype, FLOATS) ? IG_F64 : IG_I32;
        problem_dtype(p, "dtype", d);
    }
    reduce(x, along, r->f, p->dtype, problem_out(p, d, (ig_ints){shape, ndim}));
    return true;
}

/* ---- scans ---- */

static const struct scan_row {
    const struct reduction *of;
    bool initial;
} scan_sum = {&running_sum_row, true}, scan_prod = {&prod_row, true}, scan_max = {&max_row, false},
  scan_min = {&min_row, false};

static const struct scan_case {
    int ndim, axis;
    int64_t shape[3];
    bool initial;
} scans[] = {{2, 1, {5, 43}, false},   {2, 0, {43, 5}, false}, {1, 0, {1025}, true},
             {3, 1, {3, 17, 2}, true}, {2, 0, {0, 3}, false},  {2, 1, {3, 0}, true},
             {1, 0, {1}, false},       {1, 0, {64}, false},    {2, -1, {2, 1500}, false}};

static bool make_scan(problem *p, int variant)
{
    const struct scan_row *r = p->row;
    if (variant >= (int)(sizeof scans / sizeof *scans) || (p->mode != MODE_PLAIN && variant > 1))
        return false;
    struct scan_case own = scans[variant], *c = &own;
    /* Long rows only for a few dtypes, because their reference is slow. */
    const bool is_long = dtype_in(p->dtype, BIT(IG_F32) | BIT(IG_F16) | BIT(IG_I32)) && !p->quick;
    for (int a = 0; a < c->ndim && !is_long; a++)
        c->shape[a] = c->shape[a] > 130 ? 130 : c->shape[a];
    const int axis = c->axis < 0 ? c->axis + c->ndim : c->axis;
    const bool initial = r->initial && c->initial;
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){c->shape, c->ndim}, r->of->from);
    int64_t shape[3], i[MAX_AXES] = {0};
    memcpy(shape, c->shape, sizeof shape);
    shape[axis] += initial;
    if (c->ndim > 1)
        problem_int(p, "axis", c->axis);
    if (initial)
        problem_bool(p, "include_initial", true);
    tensor *out = problem_out(p, result_dtype(r->of->gives, p->dtype), (ig_ints){shape, c->ndim});
    real *v = heap_get(((size_t)shape[axis] + 1) * sizeof *v);
    for (int64_t n = 0; n < out->size; n++, shape_next(tensor_shape(out), i)) {
        int64_t at[MAX_AXES];
        const int64_t count = i[axis] + !initial;
        memcpy(at, i, sizeof at);
        for (at[axis] = 0; at[axis] < count; at[axis]++)
            v[at[axis]] = tensor_at(x, at);
        out->v[n] = r->of->f(p->dtype, out->dtype, v, count, &out->tol[n]);
    }
    free(v);
    return true;
}

const plan plans_reduce[] = {
    {"sum", make_reduction, &sum_row},
    {"prod", make_reduction, &prod_row},
    {"max", make_reduction, &max_row},
    {"min", make_reduction, &min_row},
    {"argmax", make_reduction, &argmax_row},
    {"argmin", make_reduction, &argmin_row},
    {"any", make_reduction, &any_row},
    {"all", make_reduction, &all_row},
    {"cumulative_sum", make_scan, &scan_sum},
    {"cumulative_prod", make_scan, &scan_prod},
    {"cumulative_max", make_scan, &scan_max},
    {"cumulative_min", make_scan, &scan_min},
    {NULL, NULL, NULL},
};
