/* Builders of random arrays that are formulas of uniform and normal ones. Where JAX has the distribution, its formula is
 * taken. f16 and bf16 are drawn as f32 and rounded. */
#include "base/error.h"
#include "engine/ops/composite.h"
#include <math.h>

enum { PARAMS_MOST = 3 };

/* The arguments of a draw: parameters as floats that broadcast to shape. */
typedef struct draw {
    ig_array *key, *param[PARAMS_MOST];
    int64_t own[IG_MAX_NDIM];
    ig_ints shape;
    ig_dtype dtype, compute;
    double tiny, below_one; /* the smallest normal number; 1 minus the float before it */
} draw;

/* Reads n parameters, args[first] and the next ones. shape None is the shape that they have together. dtype None is
 * their dtype. */
static bool draw_get(op_id op, draw *d, const ig_arg *args, int first, int n, const ig_arg *shape,
                     const ig_arg *dtype)
{
    ig_finfo info;
    int ndim = 0;
    *d = (draw){.key = args[0].u.array, .dtype = ig_default_dtype()};
    for (int i = 0; i < n; i++)
        d->param[i] = args[first + i].u.array;
    if (n && (infer_dtype(op, d->param, n, &d->dtype) != IG_OK ||
              infer_broadcast(op, d->param, n, &ndim, d->own) != IG_OK))
        return false;
    d->dtype = dtype && dtype->kind == IG_ARG_DTYPE ? dtype->u.dtype
               : dtype_is_float(d->dtype)           ? d->dtype
                                                    : ig_default_dtype();
    if (!dtype_is_float(d->dtype))
        FAIL_NONE(IG_ERR_DTYPE, "%s: dtype is f16, bf16, f32 or f64, not %s", op_rows[op].name,
                  ig_dtype_name(d->dtype));
    d->compute = d->dtype == IG_F64 ? IG_F64 : IG_F32;
    d->shape = shape->kind == IG_ARG_INTS ? shape->u.ints : (ig_ints){d->own, ndim};
    for (int i = 0; i < n; i++) {
        d->param[i] = build_cast(d->param[i], d->compute);
        if (!d->param[i] || !build_broadcast(op, d->param[i], d->shape.n, d->shape.v))
            return false;
    }
    ig_finfo_of(d->compute, &info);
    d->tiny = info.smallest_normal;
    d->below_one = info.eps / 2;
    return true;
}

/* Uniform in [low, 1). */
static ig_array *unit(const draw *d, ig_array *key, double low)
{
    return ig_uniform(key, d->shape, d->compute, ig_float(low), ig_float(1));
}

static ig_array *standard_normal(const draw *d, ig_array *key)
{
    return ig_normal(key, d->shape, d->compute, NULL, NULL);
}

/* Key i of n new ones. */
static ig_array *new_key(const draw *d, int64_t n, int64_t i)
{
    ig_array *keys = ig_split_key(d->key, n);
    return ig_squeeze(ig_slice(keys, IG_AXES(i), IG_AXES(i + 1), IG_NONE), IG_AXES(0));
}

static int give(ig_array **out, const draw *d, ig_array *y)
{
    return composite_result(out, ig_broadcast_to(y, d->shape), d->dtype);
}

/* ---- location and scale ---- */

static ig_array *exponential(const draw *d, ig_array *key)
{
    return ig_negative(ig_log1p(ig_negative(unit(d, key, 0))));
}

static ig_array *standard_of(op_id op, const draw *d)
{
    ig_array *u;
    switch (op) {
    case OP_gumbel: return ig_negative(ig_log(ig_negative(ig_log(unit(d, d->key, d->tiny)))));
    case OP_laplace:
        u = unit(d, d->key, d->below_one - 1);
        return ig_multiply(ig_sign(u), ig_log1p(ig_negative(ig_abs(u))));
    case OP_logistic:
        u = unit(d, d->key, d->tiny);
        return ig_log(ig_divide(u, ig_subtract(ig_float(1), u)));
    case OP_cauchy: return ig_tan(ig_times(ig_plus(unit(d, d->key, 2 * d->below_one), -0.5), M_PI));
    default: return standard_normal(d, d->key);
    }
}

BUILDER(loc_scale)
{
    draw d;
    if (!draw_get(op, &d, args, 3, 2, &args[1], &args[2]))
        return 0;
    ig_array *y = ig_add(ig_multiply(standard_of(op, &d), d.param[1]), d.param[0]);
    return give(out, &d, op == OP_lognormal ? ig_exp(y) : y);
}

/* ---- one parameter ---- */

BUILDER(draw_by_one)
{
    draw d;
    const bool last = op == OP_exponential || op == OP_rayleigh;
    if (!draw_get(op, &d, args, last ? 3 : 1, 1, &args[last ? 1 : 2], &args[last ? 2 : 3]))
        return 0;
    ig_array *a = d.param[0], *y = exponential(&d, d.key);
    if (op == OP_exponential)
        y = ig_multiply(y, a);
    else if (op == OP_rayleigh)
        y = ig_multiply(ig_sqrt(ig_times(y, 2)), a);
    else if (op == OP_pareto)
        y = ig_expm1(ig_divide(y, a));
    else if (op == OP_weibull)
        y = ig_pow(y, ig_reciprocal(a));
    else /* random_power */
        y = ig_pow(ig_negative(ig_expm1(ig_negative(y))), ig_reciprocal(a));
    return give(out, &d, y);
}

/* The number of the first success: 1 + floor(log(u) / log(1 - p)). */
BUILDER(geometric)
{
    draw d;
    if (!draw_get(op, &d, args, 1, 1, &args[2], NULL))
        return 0;
    if (!dtype_is_int(args[3].u.dtype))
        FAIL_NONE(IG_ERR_DTYPE, "geometric: dtype is an integer one, not %s",
                  ig_dtype_name(args[3].u.dtype));
    ig_array *u = ig_log(unit(&d, d.key, d.tiny));
    ig_array *y = ig_floor(ig_divide(u, ig_log1p(ig_negative(d.param[0]))));
    y = ig_broadcast_to(ig_plus(y, 1), d.shape);
    return op_one(out, ig_astype(y, args[3].u.dtype));
}

BUILDER(rademacher)
{
    ig_array *y = ig_bernoulli(args[0].u.array, ig_float(0.5), args[1].u.ints);
    const ig_dtype dtype = args[2].u.dtype;
    if (dtype == IG_BOOL || dtype_kind_of(dtype) == DTYPE_KIND_UNSIGNED)
        FAIL_NONE(IG_ERR_DTYPE, "rademacher: dtype has no -1: %s", ig_dtype_name(dtype));
    return op_one(out, ig_subtract(ig_multiply(ig_astype(y, dtype), ig_int(2)), ig_int(1)));
}

/* ---- several parameters ---- */

BUILDER(truncated_normal)
{
    draw d;
    if (!draw_get(op, &d, args, 1, 2, &args[3], &args[4]))
        return 0;
    ig_array *low = d.param[0], *high = d.param[1];
    ig_array *from = ig_erf(ig_times(low, sqrt(0.5))), *to = ig_erf(ig_times(high, sqrt(0.5)));
    ig_array *y = ig_times(ig_erfinv(ig_uniform(d.key, d.shape, d.compute, from, to)), sqrt(2));
    /* Rounding may reach the bounds. */
    ig_array *after = ig_nextafter(ig_stop_gradient(low), build_scalar(INFINITY, d.compute));
    ig_array *before = ig_nextafter(ig_stop_gradient(high), build_scalar(-INFINITY, d.compute));
    return give(out, &d, ig_minimum(ig_maximum(y, after), before));
}

BUILDER(triangular)
{
    draw d;
    if (!draw_get(op, &d, args, 1, 3, &args[4], &args[5]))
        return 0;
    ig_array *left = d.param[0], *mode = d.param[1], *right = d.param[2], *u = unit(&d, d.key, 0);
    ig_array *width = ig_subtract(right, left), *rise = ig_subtract(mode, left);
    ig_array *fall = ig_subtract(right, mode), *rest = ig_subtract(ig_float(1), u);
    ig_array *first = ig_add(left, ig_sqrt(ig_multiply(ig_multiply(u, width), rise)));
    ig_array *second = ig_subtract(right, ig_sqrt(ig_multiply(ig_multiply(rest, width), fall)));
    return give(out, &d, ig_where(ig_less(ig_multiply(u, width), rise), first, second));
}

/* The inverse Gaussian distribution by the transform of Michael, Schucany and Haas, with the smaller root in a form
 * that does not cancel. */
BUILDER(wald)
{
    draw d;
    if (!draw_get(op, &d, args, 1, 2, &args[3], &args[4]))
        return 0;
    ig_array *mean = d.param[0], *four = ig_times(d.param[1], 4);
    ig_array *y = ig_multiply(mean, ig_square(standard_normal(&d, new_key(&d, 2, 0))));
    ig_array *sum = ig_add(ig_sqrt(ig_add(four, y)), ig_sqrt(y));
    ig_array *x = ig_divide(ig_multiply(mean, four), ig_square(sum));
    ig_array *u = unit(&d, new_key(&d, 2, 1), 0);
    ig_array *small = ig_less_equal(ig_multiply(u, ig_add(mean, x)), mean);
    return give(out, &d, ig_where(small, x, ig_divide(ig_square(mean), x)));
}

/* ---- from gamma ---- */

static ig_array *gamma_of(const draw *d, ig_array *key, ig_array *shape_parameter)
{
    return ig_random_gamma(key, shape_parameter, d->shape, d->compute, NULL);
}

static ig_array *chi_square(const draw *d, ig_array *key, ig_array *freedom)
{
    return ig_times(gamma_of(d, key, ig_times(freedom, 0.5)), 2);
}

/* A Poisson number of pairs of degrees of freedom is added. */
static ig_array *noncentral(const draw *d, ig_array *freedom, ig_array *away)
{
    ig_array *pairs = ig_poisson(new_key(d, 3, 0), ig_times(away, 0.5), d->shape, IG_I32);
    ig_array *more = ig_add(freedom, ig_times(ig_astype(pairs, d->compute), 2));
    return chi_square(d, new_key(d, 3, 1), more);
}

BUILDER(from_gamma)
{
    draw d;
    const int n = op == OP_noncentral_f                                                        ? 3
                  : op == OP_random_f || op == OP_noncentral_chisquare || op == OP_random_beta ? 2
                                                                                               : 1;
    if (!draw_get(op, &d, args, 1, n, &args[1 + n], &args[2 + n]))
        return 0;
    ig_array *a = d.param[0], *b = d.param[1], *y, *one = new_key(&d, 2, 0),
             *two = new_key(&d, 2, 1);
    if (op == OP_chisquare)
        y = chi_square(&d, d.key, a);
    else if (op == OP_standard_t) {
        ig_array *half = ig_times(a, 0.5), *ratio = ig_divide(half, gamma_of(&d, two, half));
        y = ig_multiply(standard_normal(&d, one), ig_sqrt(ratio));
    } else if (op == OP_random_f)
        y = ig_divide(ig_divide(chi_square(&d, one, a), a), ig_divide(chi_square(&d, two, b), b));
    else if (op == OP_noncentral_chisquare)
        y = noncentral(&d, a, b);
    else if (op == OP_noncentral_f)
        y = ig_divide(ig_divide(noncentral(&d, a, d.param[2]), a),
                      ig_divide(chi_square(&d, new_key(&d, 3, 2), b), b));
    else { /* random_beta: logarithms, because gammas of small parameters underflow */
        ig_array *log_a = ig_random_loggamma(one, a, d.shape, d.compute);
        ig_array *log_b = ig_random_loggamma(two, b, d.shape, d.compute);
        y = ig_sigmoid(ig_subtract(log_a, log_b));
    }
    return give(out, &d, y);
}

/* shape followed by n more lengths. */
static ig_ints longer(ig_ints shape, const int64_t *more, int n, int64_t *room)
{
    for (int i = 0; i < shape.n; i++)
        room[i] = shape.v[i];
    for (int i = 0; i < n; i++)
        room[shape.n + i] = more[i];
    return (ig_ints){room, shape.n + n};
}

/* The float dtype of the result, from dtype or the arrays. */
static bool float_of(op_id op, ig_array *const *x, int n, const ig_arg *arg, ig_dtype *dtype)
{
    if (infer_dtype(op, x, n, dtype) != IG_OK)
        return false;
    *dtype = arg_dtype(arg, dtype_is_float(*dtype) ? *dtype : ig_default_dtype());
    if (!dtype_is_float(*dtype))
        FAIL_NONE(IG_ERR_DTYPE, "%s: dtype is f16, bf16, f32 or f64, not %s", op_rows[op].name,
                  ig_dtype_name(*dtype));
    return true;
}

BUILDER(dirichlet)
{
    ig_array *alpha = args[1].u.array;
    int64_t room[2 * IG_MAX_NDIM];
    ig_dtype dtype;
    const view *v = &alpha->view;
    if (v->ndim < 1)
        FAIL_NONE(IG_ERR_SHAPE, "dirichlet: alpha has no axis of parameters");
    if (!float_of(op, &alpha, 1, &args[3], &dtype))
        return 0;
    const ig_ints shape =
        args[2].kind == IG_ARG_INTS ? args[2].u.ints : (ig_ints){v->shape, v->ndim - 1};
    if (shape.n + 1 > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "dirichlet: the result has more than %d dimensions", IG_MAX_NDIM);
    const ig_ints full = longer(shape, &v->shape[v->ndim - 1], 1, room);
    const ig_dtype compute = dtype == IG_F64 ? IG_F64 : IG_F32;
    ig_array *logs = ig_random_loggamma(args[0].u.array, build_cast(alpha, compute), full, compute);
    return composite_result(out, ig_softmax(logs, IG_AXES(-1)), dtype);
}

/* ---- vectors ---- */

/* mean + V sqrt(w) z, where V w V^T is cov. */
BUILDER(multivariate_normal)
{
    ig_array *in[2] = {args[1].u.array, args[2].u.array}, *part[2];
    int64_t room[2 * IG_MAX_NDIM];
    ig_dtype dtype;
    if (!float_of(op, in, 2, &args[4], &dtype))
        return 0;
    const ig_dtype compute = dtype == IG_F64 ? IG_F64 : IG_F32;
    ig_array *mean = build_cast(in[0], compute), *cov = build_cast(in[1], compute);
    const int64_t n = in[0]->view.ndim == 1 ? in[0]->view.shape[0] : -1;
    if (n < 0 || in[1]->view.ndim != 2 || in[1]->view.shape[0] != n || in[1]->view.shape[1] != n)
        FAIL_NONE(IG_ERR_SHAPE, "multivariate_normal: mean is (N), and cov is (N, N)");
    const ig_ints shape = args[3].kind == IG_ARG_INTS ? args[3].u.ints : (ig_ints){room, 0};
    if (shape.n + 1 > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "multivariate_normal: the shape has %d axes; the most is %d",
                  shape.n, IG_MAX_NDIM - 1);
    if (!ig_eigh(cov, "L", part))
        return 0;
    ig_array *root = ig_sqrt(ig_maximum(part[0], ig_float(0)));
    ig_array *z = ig_normal(args[0].u.array, longer(shape, &n, 1, room), compute, NULL, NULL);
    ig_array *y = ig_matmul(ig_multiply(z, root), ig_matrix_transpose(part[1]));
    return composite_result(out, ig_add(y, mean), dtype);
}

/* The nearest orthogonal matrix of a normal one is uniform among orthogonal matrices. */
BUILDER(orthogonal)
{
    const int64_t n = args[1].u.i, both[2] = {n, n};
    const ig_dtype dtype = args[3].u.dtype;
    int64_t room[2 * IG_MAX_NDIM];
    ig_array *part[3];
    if (n < 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "orthogonal: n is %lld; give 1 or more", (long long)n);
    if (!dtype_is_float(dtype) || args[2].u.ints.n + 2 > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "orthogonal: dtype is a float one, and shape has at most %d axes",
                  IG_MAX_NDIM - 2);
    ig_array *x = ig_normal(args[0].u.array, longer(args[2].u.ints, both, 2, room),
                            dtype == IG_F64 ? IG_F64 : IG_F32, NULL, NULL);
    if (!x || ig_svd(x, false, true, part, 3) != 3)
        return 0;
    return composite_result(out, ig_matmul(part[0], part[2]), dtype);
}

/* g / (sum |g|^p + e)^(1/p), where g has the density exp(-|g|^p) and e is exponential. */
BUILDER(ball)
{
    const int64_t n = args[1].u.i;
    const double p = args[2].u.f;
    int64_t room[2 * IG_MAX_NDIM];
    draw d;
    if (n < 1 || !(p > 0))
        FAIL_NONE(IG_ERR_ARGUMENT, "ball: give a d of 1 or more and a p above 0");
    if (!draw_get(op, &d, args, 0, 0, &args[3], &args[4]))
        return 0;
    if (d.shape.n + 1 > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "ball: the shape has %d axes; the most is %d", d.shape.n,
                  IG_MAX_NDIM - 1);
    const ig_ints full = longer(d.shape, &n, 1, room);
    ig_array *power = ig_random_gamma(new_key(&d, 3, 0), ig_float(1 / p), full, d.compute, NULL);
    ig_array *sign = ig_rademacher(new_key(&d, 3, 1), full, d.compute);
    ig_array *total = ig_sum(power, IG_AXES(-1), IG_DTYPE_NONE, false);
    total = ig_expand_dims(ig_add(total, exponential(&d, new_key(&d, 3, 2))), IG_AXES(-1));
    ig_array *y = ig_multiply(sign, ig_pow(ig_divide(power, total), ig_float(1 / p)));
    return composite_result(out, y, d.dtype);
}
