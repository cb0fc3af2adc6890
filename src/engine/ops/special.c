/* Functions that the builders of special functions share: polynomials, derivatives. */
#include "engine/ops/special.h"

#include "base/error.h"

typedef struct fit_row {
    const double *f32, *f64;
    int n32, n64;
} fit_row;

#define F32(...) __VA_ARGS__
#define F64(...) __VA_ARGS__
#define FIT(name, f32, f64) \
    static const double name##_f32[] = {f32}; \
    static const double name##_f64[] = {f64};
#include "engine/ops/special_fits.def"
#undef FIT

static const fit_row fits[FITS] = {
#define FIT(name, f32, f64) \
    [FIT_##name] = {name##_f32, name##_f64, sizeof name##_f32 / sizeof(double), \
                    sizeof name##_f64 / sizeof(double)},
#include "engine/ops/special_fits.def"
#undef FIT
};

ig_array *special_poly(ig_array *x, const double *c, int n)
{
    ig_array *y = n > 1 ? ig_plus(ig_times(x, c[n - 1]), c[n - 2]) : ig_float(c[0]);
    for (int i = n - 3; i >= 0; i--)
        y = ig_plus(ig_multiply(y, x), c[i]);
    return y;
}

ig_array *special_fit(special_fit_id fit, ig_array *t)
{
    const fit_row *f = &fits[fit];
    return special_is_f64(t) ? special_poly(t, f->f64, f->n64) : special_poly(t, f->f32, f->n32);
}

static ig_status pull_slopes(void *context, ig_array *const *x, int n, ig_array *y, ig_array *g,
                             ig_array **grads)
{
    const special_slopes *slopes = context;
    for (int i = 0; i < n; i++) {
        grads[i] = slopes->of[i] ? ig_multiply(g, slopes->of[i](x, y)) : NULL;
        if (slopes->of[i] && !grads[i])
            return IG_ERR_MEMORY;
    }
    return IG_OK;
}

ig_array *special_with_slopes(ig_array *y, ig_array *const *x, int n, const special_slopes *slopes)
{
    if (!y)
        return NULL;
    union {
        const special_slopes *in;
        void *out;
    } context = {slopes};
    return ig_custom_grad(y, x, n, pull_slopes, context.out, NULL);
}

ig_status special_floats(op_id op, ig_array **x, int n, ig_dtype *dtype)
{
    int ndim;
    int64_t shape[IG_MAX_NDIM];
    TRY(composite_floats(op, x, n, dtype));
    TRY(infer_broadcast(op, x, n, &ndim, shape));
    for (int i = 0; i < n; i++)
        if (!(x[i] = build_broadcast(op, x[i], ndim, shape)))
            return IG_ERR_MEMORY;
    return IG_OK;
}

ig_array *special_sin_pi(ig_array *x)
{
    ig_array *whole = ig_round(x);
    ig_array *sine = ig_sin(ig_times(ig_subtract(x, whole), M_PI));
    return ig_multiply(sine, special_parity(whole));
}

ig_array *special_parity(ig_array *x)
{
    ig_array *half = ig_times(ig_floor(x), 0.5);
    return ig_where(special_is_whole(half), build_beside(x, 1), ig_float(-1));
}
