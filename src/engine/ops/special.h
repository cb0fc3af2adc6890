/* Shared by the builders of special functions. They compute in f32, or f64 for f64, by compositions with a fixed number of
 * steps, mostly polynomials (special_fits.def). */
#ifndef OPS_SPECIAL_H
#define OPS_SPECIAL_H

#include "engine/ops/composite.h"
#include <math.h>

typedef enum special_fit_id {
#define FIT(name, f32, f64) FIT_##name,
#include "engine/ops/special_fits.def"
#undef FIT
    FITS
} special_fit_id;

/* c[0] + c[1] x + ... + c[n - 1] x^(n - 1) */
ig_array *special_poly(ig_array *x, const double *c, int n);
/* The polynomial of t, within [-1, 1], for the dtype of t. */
ig_array *special_fit(special_fit_id fit, ig_array *t);

/* The derivatives of a function with respect to its inputs x; y is its value. NULL is zero. */
typedef struct special_slopes {
    ig_array *(*of[3])(ig_array *const *x, ig_array *y);
} special_slopes;

/* y with these derivatives. The n inputs have the shape of y. */
ig_array *special_with_slopes(ig_array *y, ig_array *const *x, int n, const special_slopes *slopes);

/* Converts n arrays as composite_floats does, and broadcasts them. */
ig_status special_floats(op_id op, ig_array **x, int n, ig_dtype *dtype);

/* x with a last axis of length 1. */
static inline ig_array *special_column(ig_array *x) { return ig_expand_dims(x, IG_AXES(-1)); }

static inline bool special_is_f64(const ig_array *x) { return x && x->dtype == IG_F64; }

/* x < number, and so on. */
static inline ig_array *special_below(ig_array *x, double number)
{
    return ig_less(x, ig_float(number));
}
static inline ig_array *special_not_below(ig_array *x, double number)
{
    return ig_greater_equal(x, ig_float(number));
}
static inline ig_array *special_is(ig_array *x, double number)
{
    return ig_equal(x, ig_float(number));
}
static inline ig_array *special_is_whole(ig_array *x) { return ig_equal(ig_floor(x), x); }
/* number / x */
static inline ig_array *special_over(double number, ig_array *x)
{
    return ig_divide(ig_float(number), x);
}
/* 2 s / x - 1, the t of a fit in u = s / x; -1 for an infinite x. */
static inline ig_array *special_inverse(ig_array *x, double s)
{
    return ig_plus(special_over(2 * s, x), -1);
}
/* sin(pi x), exact for integers and halves. */
ig_array *special_sin_pi(ig_array *x);
/* -1 where floor(x) is odd, else 1. */
ig_array *special_parity(ig_array *x);

/* Stirling's series for x >= 1: lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2. */
ig_array *special_stirling(ig_array *x);
ig_array *special_lgamma(ig_array *x);
ig_array *special_gamma(ig_array *x);
ig_array *special_betaln(ig_array *a, ig_array *b);
ig_array *special_digamma(ig_array *x);
/* exp(factor x^2), with the square in two parts: the first is exact. Above 64, the result is 0 or infinite. */
ig_array *special_gauss(ig_array *x, double factor);
/* The standard normal distribution beyond |x|. */
ig_array *special_tail(ig_array *x);
/* The zeta function of Hurwitz. */
ig_array *special_zeta(ig_array *s, ig_array *q);

#endif
