/* Rows with one or two inputs, element by element: what each gives for one value of each input, in
 * reals, or in 64 bits for integers. The op table says what floats may be off: 0 ulp means that the
 * result is the exact one, rounded. f16 and bf16 compute in f32 and round, so what is off in f32 may be off by one step in them. */
#include "verify/plan.h"
#include <math.h>
#include <string.h>

typedef struct row {
    const char *name;
    int arity;
    char
        accepts; /* F: floats, others as f32; N: numbers; R: numbers, integers unchanged; I: integers;
                   * B: integers and bool; L: all, as truth; A: all */
    bool truth; /* gives bool */
    domain x, y;
    real (*f1)(real);
    real (*f2)(real, real);
    uint64_t (*bits)(ig_dtype, uint64_t, uint64_t);
    bool by_argument; /* the ulp is that of the largest argument, if larger */
} row;

/* ---- references for floats ---- */

static real same(real x) { return x; }
static real negated(real x) { return -x; }
/* What must be exact is rounded once, to f64, which no further rounding to a narrower dtype shows; a
 * real of 80 bits would round twice. */
static real squared(real x) { return (real)((double)x * (double)x); }
static real inverse(real x) { return (real)(1 / (double)x); }
static real root(real x) { return (real)sqrt((double)x); }
static real inverse_root(real x) { return 1 / sqrtl(x); }
static real sigmoid(real x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static real sign(real x) { return isnan(x) ? x : (real)((x > 0) - (x < 0)); }
static real is_finite(real x) { return isfinite(x) != 0; }
static real infinite(real x) { return isinf(x) != 0; }
static real not_a_number(real x) { return isnan(x) != 0; }
static real sign_bit(real x) { return signbit(x) != 0; }
static real is_zero(real x) { return x == 0; }

/* Newton's method on erf, or on erfc where 1 - erf loses digits. */
static real inverse_erf(real x)
{
    const real a = fabsl(x), root_pi = 1.772453850905516027298167483341145182798L;
    if (isnan(x) || a > 1)
        return (real)NAN;
    if (a == 1 || a == 0)
        return a == 0 ? x : copysignl((real)INFINITY, x);
    const real w = log1pl(-a * a), b = 4.3307L + w / 2;
    real y = a < 1e-8L ? a * root_pi / 2 : sqrtl(sqrtl(b * b - w / 0.147L) - b);
    for (int i = 0; i < 7; i++)
        y -= (a < 0.5L ? erfl(y) - a : 1 - a - erfcl(y)) * expl(y * y) * root_pi / 2;
    return copysignl(y, x);
}

static real sum(real x, real y) { return (real)((double)x + (double)y); }
static real difference(real x, real y) { return (real)((double)x - (double)y); }
static real product(real x, real y) { return (real)((double)x * (double)y); }
static real quotient(real x, real y) { return (real)((double)x / (double)y); }
static real equal(real x, real y) { return x == y; }
static real unequal(real x, real y) { return x != y; }
static real less(real x, real y) { return x < y; }
static real less_equal(real x, real y) { return x <= y; }
static real greater(real x, real y) { return x > y; }
static real greater_equal(real x, real y) { return x >= y; }
static real both(real x, real y) { return x != 0 && y != 0; }
static real either(real x, real y) { return x != 0 || y != 0; }
static real one_only(real x, real y) { return (x != 0) != (y != 0); }

static real larger(real x, real y)
{
    if (isnan(x) || isnan(y))
        return (real)NAN;
    return x == y ? (signbit(x) ? y : x) : x > y ? x : y;
}

static real smaller(real x, real y) { return -larger(-x, -y); }

static real log_add_exp(real x, real y)
{
    if (isnan(x) || isnan(y))
        return (real)NAN;
    const real most = larger(x, y), least = smaller(x, y);
    return isinf(most) || isinf(least) ? most : most + log1pl(expl(least - most));
}

/* Python's: the sign of y, also that of 0. */
static real modulo(real x, real y)
{
    if (isinf(y) && isfinite(x))
        return x == 0 ? copysignl(0, y) : (x < 0) == (y < 0) ? x : y;
    const real r = fmodl(x, y);
    return r == 0 ? copysignl(0, y) : (r < 0) != (y < 0) ? sum(r, y) : r;
}

/* The whole number below the true quotient; from 2^53 on the rounded quotient is whole. */
static real floored_quotient(real x, real y)
{
    if (!isfinite(x) || !isfinite(y) || x == 0 || y == 0 || fabsl(x / y) >= 0x1p53L)
        return quotient(x, y);
    const real r = fmodl(x, y), q = rintl((x - r) / y);
    return r != 0 && (r < 0) != (y < 0) ? q - 1 : copysignl(q, x / y);
}

/* ---- references for integers; x and y are extended by their sign ---- */

static bool is_signed(ig_dtype d) { return dtype_in(d, SIGNED); }
static bool negative(ig_dtype d, uint64_t x) { return is_signed(d) && (int64_t)x < 0; }

static uint64_t bits_sum(ig_dtype d, uint64_t x, uint64_t y) { return (void)d, x + y; }
static uint64_t bits_difference(ig_dtype d, uint64_t x, uint64_t y) { return (void)d, x - y; }
static uint64_t bits_product(ig_dtype d, uint64_t x, uint64_t y) { return (void)d, x * y; }
static uint64_t bits_square(ig_dtype d, uint64_t x, uint64_t y) { return (void)d, (void)y, x * x; }
static uint64_t bits_minus(ig_dtype d, uint64_t x, uint64_t y) { return (void)d, (void)y, 0 - x; }
static uint64_t bits_not(ig_dtype d, uint64_t x, uint64_t y)
{
    return (void)y, d == IG_BOOL ? !x : ~x;
}
static uint64_t bits_and(ig_dtype d, uint64_t x, uint64_t y) { return (void)d, x & y; }
static uint64_t bits_or(ig_dtype d, uint64_t x, uint64_t y) { return (void)d, x | y; }
static uint64_t bits_xor(ig_dtype d, uint64_t x, uint64_t y) { return (void)d, x ^ y; }
static uint64_t bits_abs(ig_dtype d, uint64_t x, uint64_t y)
{
    return (void)y, negative(d, x) ? 0 - x : x;
}

static uint64_t bits_left(ig_dtype d, uint64_t x, uint64_t y)
{
    return y < (uint64_t)real_width(d) ? x << y : 0;
}

static uint64_t bits_right(ig_dtype d, uint64_t x, uint64_t y)
{
    if (y >= (uint64_t)real_width(d))
        return negative(d, x) ? UINT64_MAX : 0;
    return is_signed(d) ? (uint64_t)((int64_t)x >> y) : x >> y;
}

static uint64_t bits_modulo(ig_dtype d, uint64_t x, uint64_t y)
{
    if (y == 0 || (is_signed(d) && y == UINT64_MAX))
        return 0;
    if (!is_signed(d))
        return x % y;
    const int64_t r = (int64_t)x % (int64_t)y;
    return (uint64_t)(r != 0 && (r < 0) != ((int64_t)y < 0) ? r + (int64_t)y : r);
}

static uint64_t bits_quotient(ig_dtype d, uint64_t x, uint64_t y)
{
    if (y == 0)
        return 0;
    if (is_signed(d) && y == UINT64_MAX)
        return 0 - x;
    if (!is_signed(d))
        return x / y;
    const int64_t q = (int64_t)x / (int64_t)y, r = (int64_t)x % (int64_t)y;
    return (uint64_t)(r != 0 && (r < 0) != ((int64_t)y < 0) ? q - 1 : q);
}

/* By squaring, from the highest bit of the power on. */
static uint64_t bits_power(ig_dtype d, uint64_t x, uint64_t y)
{
    if (negative(d, y)) /* 1 / x**-y, towards 0 */
        return x == 1 ? 1 : x == UINT64_MAX ? (y & 1 ? x : 1) : 0;
    uint64_t power = 1;
    for (int bit = 63; bit >= 0; bit--) {
        power *= power;
        if (y >> bit & 1)
            power *= x;
    }
    return power;
}

/* ---- the table ---- */

#define ONE(name, accepts, truth, low, high, f, bits) \
    { \
        name, 1, accepts, truth, {low, high, true}, {low, high, true}, f, NULL, bits, false \
    }
#define TWO(name, accepts, truth, x_low, x_high, y_low, y_high, f, bits, by_argument) \
    { \
        name, 2, accepts, truth, {x_low, x_high, true}, {y_low, y_high, true}, NULL, f, bits, \
            by_argument \
    }
static const row rows[] = {
    ONE("abs", 'N', 0, -9, 9, fabsl, bits_abs),
    ONE("acos", 'F', 0, -1, 1, acosl, 0),
    ONE("acosh", 'F', 0, 1, 20, acoshl, 0),
    ONE("asin", 'F', 0, -1, 1, asinl, 0),
    ONE("asinh", 'F', 0, -20, 20, asinhl, 0),
    ONE("atan", 'F', 0, -9, 9, atanl, 0),
    ONE("atanh", 'F', 0, -1, 1, atanhl, 0),
    ONE("bitwise_invert", 'B', 0, -9, 9, 0, bits_not),
    ONE("ceil", 'R', 0, -99, 99, ceill, 0),
    ONE("cos", 'F', 0, -30, 30, cosl, 0),
    ONE("cosh", 'F', 0, -20, 20, coshl, 0),
    ONE("erf", 'F', 0, -4, 4, erfl, 0),
    ONE("erfinv", 'F', 0, -1, 1, inverse_erf, 0),
    ONE("exp", 'F', 0, -20, 20, expl, 0),
    ONE("exp2", 'F', 0, -20, 20, exp2l, 0),
    ONE("expm1", 'F', 0, -5, 5, expm1l, 0),
    ONE("floor", 'R', 0, -99, 99, floorl, 0),
    ONE("isfinite", 'F', 1, -9, 9, is_finite, 0),
    ONE("isinf", 'F', 1, -9, 9, infinite, 0),
    ONE("isnan", 'F', 1, -9, 9, not_a_number, 0),
    ONE("log", 'F', 0, 0, 9, logl, 0),
    ONE("log10", 'F', 0, 0, 99, log10l, 0),
    ONE("log1p", 'F', 0, -1, 3, log1pl, 0),
    ONE("log2", 'F', 0, 0, 9, log2l, 0),
    ONE("logical_not", 'L', 1, -2, 2, is_zero, 0),
    ONE("negative", 'N', 0, -9, 9, negated, bits_minus),
    ONE("positive", 'N', 0, -9, 9, same, 0),
    ONE("reciprocal", 'F', 0, -9, 9, inverse, 0),
    ONE("round", 'R', 0, -9, 9, rintl, 0),
    ONE("rsqrt", 'F', 0, 0, 9, inverse_root, 0),
    ONE("sigmoid", 'F', 0, -20, 20, sigmoid, 0),
    ONE("sign", 'N', 0, -2, 2, sign, 0),
    ONE("signbit", 'F', 1, -9, 9, sign_bit, 0),
    ONE("sin", 'F', 0, -30, 30, sinl, 0),
    ONE("sinh", 'F', 0, -20, 20, sinhl, 0),
    ONE("sqrt", 'F', 0, 0, 99, root, 0),
    ONE("square", 'N', 0, -99, 99, squared, bits_square),
    ONE("tan", 'F', 0, -30, 30, tanl, 0),
    ONE("tanh", 'F', 0, -9, 9, tanhl, 0),
    ONE("trunc", 'R', 0, -99, 99, truncl, 0),
    TWO("add", 'N', 0, -9, 9, -9, 9, sum, bits_sum, false),
    TWO("atan2", 'F', 0, -9, 9, -9, 9, atan2l, 0, false),
    TWO("bitwise_and", 'B', 0, -9, 9, -9, 9, 0, bits_and, false),
    TWO("bitwise_left_shift", 'I', 0, -9, 99, 0, 70, 0, bits_left, false),
    TWO("bitwise_or", 'B', 0, -9, 9, -9, 9, 0, bits_or, false),
    TWO("bitwise_right_shift", 'I', 0, -9, 99, 0, 70, 0, bits_right, false),
    TWO("bitwise_xor", 'B', 0, -9, 9, -9, 9, 0, bits_xor, false),
    TWO("copysign", 'F', 0, -9, 9, -9, 9, copysignl, 0, false),
    TWO("divide", 'F', 0, -9, 9, -9, 9, quotient, 0, false),
    TWO("equal", 'A', 1, 0, 2, 0, 2, equal, 0, false),
    TWO("floor_divide", 'N', 0, -99, 99, -9, 9, floored_quotient, bits_quotient, false),
    TWO("greater", 'A', 1, -2, 2, -2, 2, greater, 0, false),
    TWO("greater_equal", 'A', 1, -2, 2, -2, 2, greater_equal, 0, false),
    TWO("hypot", 'F', 0, -9, 9, -9, 9, hypotl, 0, false),
    TWO("less", 'A', 1, -2, 2, -2, 2, less, 0, false),
    TWO("less_equal", 'A', 1, -2, 2, -2, 2, less_equal, 0, false),
    TWO("logaddexp", 'F', 0, -9, 9, -9, 9, log_add_exp, 0, true),
    TWO("logical_and", 'L', 1, -1, 1, -1, 1, both, 0, false),
    TWO("logical_or", 'L', 1, -1, 1, -1, 1, either, 0, false),
    TWO("logical_xor", 'L', 1, -1, 1, -1, 1, one_only, 0, false),
    TWO("maximum", 'N', 0, -2, 2, -2, 2, larger, 0, false),
    TWO("minimum", 'N', 0, -2, 2, -2, 2, smaller, 0, false),
    TWO("multiply", 'N', 0, -99, 99, -9, 9, product, bits_product, false),
    TWO("nextafter", 'F', 0, -9, 9, -9, 9, 0, 0, false),
    TWO("not_equal", 'A', 1, 0, 2, 0, 2, unequal, 0, false),
    TWO("pow", 'N', 0, 0, 9, -5, 9, powl, bits_power, false),
    TWO("remainder", 'N', 0, -99, 99, -9, 9, modulo, bits_modulo, false),
    TWO("subtract", 'N', 0, -9, 9, -9, 9, difference, bits_difference, false),
};
enum { ROWS = sizeof rows / sizeof *rows };

static unsigned dtypes_of(char accepts)
{
    return accepts == 'N' || accepts == 'R' ? NUMBERS
           : accepts == 'I'                 ? INTS
           : accepts == 'B'                 ? INTS | BOOLS
                                            : ANY;
}

/* ---- one element ---- */

/* The neighbour of x on the way to y, in the dtype's own steps. */
static real neighbour(ig_dtype d, real x, real y)
{
    if (isnan(x) || isnan(y) || x == y)
        return isnan(x) || isnan(y) ? (real)NAN : y;
    if (x == 0)
        return copysignl(real_ulp(d, 0), y);
    if (isinf(x))
        return copysignl(real_max(d), x);
    const bool away = (x < y) == (x > 0);
    real step = real_ulp(d, x);
    if (!away && fabsl(x) == exp2l((real)ilogbl(x)))
        step = real_ulp(d, x * 0.75L);
    const real moved = fabsl(x) + (away ? step : -step);
    return copysignl(moved > real_max(d) ? (real)INFINITY : moved, x);
}

static real exact(const row *r, ig_dtype d, real x, real y)
{
    if (r->accepts == 'R' && !dtype_in(d, FLOATS))
        return x;
    if (r->bits && !dtype_in(d, FLOATS))
        return real_wrap(d, r->bits(d, real_bits(x), real_bits(y)));
    if (!r->f1 && !r->f2)
        return neighbour(d, x, y);
    return r->f1 ? r->f1(x) : r->f2(x, y);
}

/* The result for the inputs in dtype d (where they meet), and what it may be off. */
static real reference(const row *r, double ulp, ig_dtype d, real x, real y, real *tol)
{
    const real want = exact(r, d, x, y);
    *tol = 0;
    if (!dtype_in(d, FLOATS) || r->truth)
        return want;
    if (ulp == 0) /* computed in f32, then rounded; nextafter knows its own steps */
        return dtype_in(d, HALVES) && (r->f1 || r->f2) ? real_round(IG_F32, want) : want;
    real at = fabsl(want);
    if (r->by_argument && isfinite(x) && isfinite(y))
        at = fmaxl(at, fmaxl(fabsl(x), fabsl(y)));
    *tol = (dtype_in(d, HALVES) ? 1 : (real)ulp) * real_ulp(d, real_round(d, at));
    return want;
}

/* ---- problems ---- */

typedef struct shapes {
    int n[2];
    int64_t x[4], y[4];
} shapes;

/* Odd sizes around the width of vectors and the length of blocks; nothing; no axes; broadcasting. */
static const shapes variants[] = {
    {{2, 2}, {35, 43}, {35, 43}},
    {{1, 1}, {1025}, {1025}},
    {{3, 2}, {4, 1, 17}, {3, 1}},
    {{0, 0}, {0}, {0}},
    {{3, 3}, {3, 0, 5}, {3, 0, 5}},
    {{1, 1}, {1}, {1}},
    {{1, 1}, {17}, {17}},
    {{1, 1}, {3}, {3}},
    {{1, 1}, {63}, {63}},
    {{1, 1}, {64}, {64}},
    {{1, 1}, {65}, {65}},
    {{1, 1}, {1023}, {1023}},
    {{1, 1}, {1024}, {1024}},
    {{1, 1}, {1500}, {1500}},
    {{1, 0}, {17}, {0}},
    {{1, 1}, {0}, {0}},
};
/* Dtypes that are more than a block long when there is little time. */
static const unsigned quick_long = BIT(IG_F32) | BIT(IG_F16) | BIT(IG_I32) | BIT(IG_BOOL);

enum { VARIANTS = sizeof variants / sizeof *variants, QUICK_VARIANTS = 7, RELATED_VARIANTS = 2 };

static bool make(problem *p, int variant)
{
    const row *r = p->row;
    if (variant >= (p->quick ? QUICK_VARIANTS : VARIANTS) ||
        (p->mode != MODE_PLAIN && variant >= RELATED_VARIANTS))
        return false;
    shapes s = variants[variant];
    if (p->quick && variant == 0)
        s.x[0] = s.y[0] = 5;
    if (p->quick && variant == 1 && !dtype_in(p->dtype, quick_long))
        s.x[0] = s.y[0] = 65;
    const ig_dtype d = r->accepts == 'F' ? real_float(p->dtype) : p->dtype;
    const bool taken = dtype_in(p->dtype, dtypes_of(r->accepts));
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){s.x, s.n[0]}, r->x);
    const tensor *y =
        r->arity == 1 ? x : problem_in(p, NULL, p->dtype, (ig_ints){s.y, s.n[1]}, r->y);
    if (r->arity == 2 && s.n[0] == 3 && s.x[1] == 1) /* (4, 1, 17) with (3, 1) */
        s.x[1] = 3;
    tensor *out = problem_out(p, r->truth ? IG_BOOL : d, (ig_ints){s.x, s.n[0]});
    int64_t i[MAX_AXES] = {0};
    const double ulp = ig_op_find(r->name)->ulp;
    out->ulps = dtype_in(d, HALVES) && ulp > 0 ? 1 : ulp;
    p->signed_zeros = true;
    for (int64_t n = 0; n < out->size && taken; n++, shape_next(tensor_shape(out), i))
        out->v[n] = reference(r, ulp, d, real_round(d, tensor_cast_at(x, i, out->ndim)),
                              real_round(d, tensor_cast_at(y, i, out->ndim)), &out->tol[n]);
    return true;
}

bool plan_elementwise(const char *op, plan *out)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, op) == 0) {
            *out = (plan){op, dtypes_of(rows[i].accepts), make, &rows[i]};
            return true;
        }
    return false;
}
