/* Elementwise rows with one or two inputs: the exact result for one value of each input, in reals, or in 64-bit
 * integers. All comes from ops.def: the columns "exact" (floats), "expr" (integers), "ulp" and "domain". This file has
 * the functions that these columns use and libm lacks. */
#include "verify/plan.h"
#include <math.h>
#include <string.h>

/* ---- reals: functions of the column "exact" that libm does not have ---- */

/* Newton's method on erf, or on erfc where 1 - erf loses digits. */
static real real_erfinv(real x)
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

static real real_maximum(real x, real y)
{
    if (isnan(x) || isnan(y))
        return (real)NAN;
    return x == y ? (signbit(x) ? y : x) : x > y ? x : y;
}

static real real_logaddexp(real x, real y)
{
    if (isnan(x) || isnan(y))
        return (real)NAN;
    const real most = real_maximum(x, y), least = -real_maximum(-x, -y);
    return isinf(most) || isinf(least) ? most : most + log1pl(expl(least - most));
}

/* Python's remainder: it has the sign of y, also if it is 0. */
static real real_remainder(real x, real y)
{
    if (isinf(y) && isfinite(x))
        return x == 0 ? copysignl(0, y) : (x < 0) == (y < 0) ? x : y;
    const real r = fmodl(x, y);
    return r == 0 ? copysignl(0, y) : (r < 0) != (y < 0) ? (real)((double)r + (double)y) : r;
}

/* The floor of the exact quotient. From 2^53 on, the rounded quotient is an integer. */
static real real_floor_divide(real x, real y)
{
    if (!isfinite(x) || !isfinite(y) || x == 0 || y == 0 || fabsl(x / y) >= 0x1p53L)
        return (real)((double)x / (double)y);
    const real r = fmodl(x, y), q = rintl((x - r) / y);
    return r != 0 && (r < 0) != (y < 0) ? q - 1 : copysignl(q, x / y);
}

/* The next value of the dtype after x towards y. */
static real real_nextafter(ig_dtype d, real x, real y)
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

/* ---- integers as 64 sign-extended bits: functions of the column "expr" ---- */

static bool is_signed(ig_dtype d) { return dtype_in(d, SIGNED); }
static bool negative(ig_dtype d, uint64_t x) { return is_signed(d) && (int64_t)x < 0; }

static uint64_t bits_abs(ig_dtype d, uint64_t x) { return negative(d, x) ? 0 - x : x; }
static uint64_t bits_sign(ig_dtype d, uint64_t x) { return negative(d, x) ? UINT64_MAX : x != 0; }

static uint64_t bits_maximum(ig_dtype d, uint64_t x, uint64_t y)
{
    return (is_signed(d) ? (int64_t)x > (int64_t)y : x > y) ? x : y;
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
    if (is_signed(d) && y == UINT64_MAX)
        return 0;
    if (!is_signed(d))
        return x % y;
    const int64_t r = (int64_t)x % (int64_t)y;
    return (uint64_t)(r != 0 && (r < 0) != ((int64_t)y < 0) ? r + (int64_t)y : r);
}

static uint64_t bits_quotient(ig_dtype d, uint64_t x, uint64_t y)
{
    if (is_signed(d) && y == UINT64_MAX)
        return 0 - x;
    if (!is_signed(d))
        return x / y;
    const int64_t q = (int64_t)x / (int64_t)y, r = (int64_t)x % (int64_t)y;
    return (uint64_t)(r != 0 && (r < 0) != ((int64_t)y < 0) ? q - 1 : q);
}

/* Power by squaring, from the highest bit of the exponent down. */
static uint64_t bits_power(ig_dtype d, uint64_t x, uint64_t y)
{
    if (negative(d, y)) /* 1 / x**-y, rounded towards 0 */
        return x == 1 ? 1 : x == UINT64_MAX ? (y & 1 ? x : 1) : 0;
    uint64_t power = 1;
    for (int bit = 63; bit >= 0; bit--) {
        power *= power;
        if (y >> bit & 1)
            power *= x;
    }
    return power;
}

/* The m_ functions of the column "expr", for integers. */
#define m_abs(x) bits_abs(d, x)
#define m_sign(x) bits_sign(d, x)
#define m_shl(x, y) bits_left(d, x, y)
#define m_shr(x, y) bits_right(d, x, y)
#define m_floor_divide(x, y) bits_quotient(d, x, y)
#define m_remainder(x, y) bits_modulo(d, x, y)
#define m_pow(x, y) bits_power(d, x, y)
#define m_maximum(x, y) bits_maximum(d, x, y)
#define m_minimum(x, y) (~bits_maximum(d, ~(x), ~(y)))

/* ---- the rows of ops.def ---- */

/* The column "exact": its type, its value, and whether the ulp is taken at the arguments. F64 is computed in double,
 * because an 80-bit real would be rounded twice. */
#define TYPE_REAL(e) real
#define TYPE_ARGS(e) real
#define TYPE_F64(e) double
#define TYPE_INT real
#define VALUE_REAL(e) e
#define VALUE_ARGS(e) e
#define VALUE_F64(e) e
#define VALUE_INT NAN
#define BY_ARGUMENT_REAL(e) false
#define BY_ARGUMENT_ARGS(e) true
#define BY_ARGUMENT_F64(e) false
#define BY_ARGUMENT_INT false

#define EXACT_ROW(name, exact) \
    static real exact_##name(ig_dtype d, real real_x, real real_y) \
    { \
        const TYPE_##exact x = (TYPE_##exact)real_x, y = (TYPE_##exact)real_y; \
        (void)d, (void)x, (void)y; \
        return (real)(VALUE_##exact); \
    }
#define UNARY(name, accepts, result, expr, ulp, domain, gradient, exact, ...) EXACT_ROW(name, exact)
#define BINARY(name, accepts, result, expr, ulp, domain, gradient, exact, ...) \
    EXACT_ROW(name, exact)
#include "engine/ops/ops.def"

/* Rows that compute with integers. */
#define BITS_ROW(name, expr) \
    static uint64_t bits_of_##name(ig_dtype d, uint64_t x, uint64_t y) \
    { \
        (void)d, (void)y; \
        return expr; \
    }
#define BITS_FLOAT(name, expr)
#define BITS_ROUND(name, expr)
#define BITS_BOOL(name, expr)
#define BITS_ANY(name, expr)
#define BITS_NUM(name, expr) BITS_ROW(name, expr)
#define BITS_INT(name, expr) BITS_ROW(name, expr)
#define BITS_BITS(name, expr) BITS_ROW(name, expr)
#define UNARY(name, accepts, result, expr, ...) BITS_##accepts(name, expr)
#define BINARY(name, accepts, result, expr, ...) BITS_##accepts(name, expr)
#include "engine/ops/ops.def"

typedef struct row {
    const char *name;
    int arity;
    unsigned takes;     /* accepted dtypes */
    bool as_float;      /* integers and bool are converted to float */
    bool ints_as_given; /* integers are returned unchanged */
    bool truth;         /* the result is bool */
    domain x, y;
    real (*exact)(ig_dtype d, real x, real y);
    uint64_t (*bits)(ig_dtype d, uint64_t x, uint64_t y); /* NULL: integers are treated as reals */
    bool by_argument; /* the ulp is the largest argument's, if that is larger */
} row;

/* The column "accepts": dtypes, as_float, ints_as_given. */
#define ACCEPTS_FLOAT ANY, true, false
#define ACCEPTS_ROUND NUMBERS, false, true
#define ACCEPTS_NUM NUMBERS, false, false
#define ACCEPTS_INT INTS, false, false
#define ACCEPTS_BITS INTS | BOOLS, false, false
#define ACCEPTS_BOOL ANY, false, false
#define ACCEPTS_ANY ANY, false, false
#define RESULT_SAME false
#define RESULT_TRUTH true
#define DOMAIN_IN(low, high) \
    {low, high, true}, { low, high, true }
#define DOMAIN_IN2(x_low, x_high, y_low, y_high) \
    {x_low, x_high, true}, { y_low, y_high, true }
#define BITS_OF_FLOAT(name) NULL
#define BITS_OF_ROUND(name) NULL
#define BITS_OF_BOOL(name) NULL
#define BITS_OF_ANY(name) NULL
#define BITS_OF_NUM(name) bits_of_##name
#define BITS_OF_INT(name) bits_of_##name
#define BITS_OF_BITS(name) bits_of_##name

static const row rows[] = {
#define UNARY(name, accepts, result, expr, ulp, domain, gradient, exact, ...) \
    {#name, \
     1, \
     ACCEPTS_##accepts, \
     RESULT_##result, \
     DOMAIN_##domain, \
     exact_##name, \
     BITS_OF_##accepts(name), \
     BY_ARGUMENT_##exact},
#define BINARY(name, accepts, result, expr, ulp, domain, gradient, exact, ...) \
    {#name, \
     2, \
     ACCEPTS_##accepts, \
     RESULT_##result, \
     DOMAIN_##domain, \
     exact_##name, \
     BITS_OF_##accepts(name), \
     BY_ARGUMENT_##exact},
#include "engine/ops/ops.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- one element ---- */

static real exact(const row *r, ig_dtype d, real x, real y)
{
    if (r->ints_as_given && !dtype_in(d, FLOATS))
        return x;
    if (!r->bits || dtype_in(d, FLOATS))
        return r->exact(d, x, y);
    const uint64_t bits = r->bits(d, real_bits(x), real_bits(y));
    return real_wrap(d, d == IG_BOOL ? bits & 1 : bits);
}

/* The result for inputs of dtype d, and its error bound. */
static real reference(const row *r, double ulp, ig_dtype d, real x, real y, real *tol)
{
    const real want = exact(r, d, x, y);
    *tol = 0;
    if (!dtype_in(d, FLOATS) || r->truth)
        return want;
    if (ulp == 0) /* f16 and bf16 are computed in f32, then rounded */
        return dtype_in(d, HALVES) ? real_round(IG_F32, want) : want;
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

/* Odd sizes around the vector width and the block length; empty; no axes; broadcasting. */
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
/* Dtypes that are tested with more than one block even in quick runs. */
static const unsigned quick_long = BIT(IG_F32) | BIT(IG_F16) | BIT(IG_I32) | BIT(IG_BOOL);

enum { VARIANTS = sizeof variants / sizeof *variants, QUICK_VARIANTS = 7, RELATED_VARIANTS = 2 };

/* Divisors of integers, and bases of negative powers, are not 0. Related inputs have the same elements, so both change. */
static void avoid_errors(const row *r, const problem *p, tensor *x, tensor *y)
{
    const bool divides = !strcmp(r->name, "floor_divide") || !strcmp(r->name, "remainder");
    const bool power = !strcmp(r->name, "pow") && is_signed(p->dtype);
    tensor *const both[2] = {x, y};
    for (int k = 0; k < 2; k++)
        if (p->mode == MODE_PLAIN ? (k ? divides : power) : divides || power)
            for (int64_t i = 0; i < both[k]->size; i++)
                both[k]->v[i] = both[k]->v[i] == 0 ? 1 : both[k]->v[i];
}

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
    const ig_dtype d = r->as_float ? real_float(p->dtype) : p->dtype;
    const bool taken = dtype_in(p->dtype, r->takes);
    tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){s.x, s.n[0]}, r->x);
    tensor *y = r->arity == 1 ? x : problem_in(p, NULL, p->dtype, (ig_ints){s.y, s.n[1]}, r->y);
    if (dtype_in(p->dtype, INTS))
        avoid_errors(r, p, x, y);
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

bool plan_elementwise(const char *op, plan *out, unsigned *takes)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, op) == 0) {
            *out = (plan){op, make, &rows[i]};
            *takes = rows[i].takes;
            return true;
        }
    return false;
}
