/* Builders of fft, rfft and relatives: sizes, axes and norms as in NumPy. */
#include "engine/numeric/fft.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/numeric/fft_lines.h"
#include "engine/ops/complex.h"
#include "engine/ops/composite.h"
#include "engine/ops/index.h"
#include <math.h>
#include <string.h>

/* ---- shared ---- */

ig_array *fft_part(ig_array *x, int axis, int64_t start, int64_t stop)
{
    if (!x)
        return NULL;
    if (array_is_complex(x)) {
        const pair p = complex_parts(x);
        return complex_make(
            (pair){fft_part(p.re, axis, start, stop), fft_part(p.im, axis, start, stop)});
    }
    view v = x->view;
    span_apply(&v, axis, span_clip(start, stop, 1, v.shape[axis]));
    return array_view(OP_slice, x, &v);
}

ig_array *fft_resize(op_id op, ig_array *x, int axis, int64_t n)
{
    if (n < 1)
        FAIL_NULL(IG_ERR_SHAPE, "%s: %lld points along axis %d; a transform needs at least 1",
                  op_rows[op].name, (long long)n, axis);
    const int64_t have = x->view.shape[axis];
    if (n <= have)
        return n == have ? x : fft_part(x, axis, 0, n);
    /* Before tables of that length are made. */
    if (memory_admit((uint64_t)n * 2 * ig_dtype_bytes(x->dtype), op_rows[op].name) != IG_OK)
        return NULL;
    int64_t width[2 * IG_MAX_NDIM] = {0};
    width[2 * axis + 1] = n - have;
    return ig_pad(x, (ig_ints){width, 2 * x->view.ndim}, "constant", ig_float(0));
}

ig_array *fft_floats(op_id op, ig_array *x)
{
    ig_dtype dtype;
    if (array_is_complex(x))
        return complex_cast(x, dtype_complex((ig_dtype)x->dtype));
    return composite_floats(op, &x, 1, &dtype) == IG_OK ? x : NULL;
}

ig_status fft_norm(op_id op, const ig_arg *norm, fft_scaling *s)
{
    const char *name = norm->kind == IG_ARG_STRING ? norm->u.str : "backward";
    *s = strcmp(name, "forward") == 0 ? FFT_SCALE_FORWARD
         : strcmp(name, "ortho") == 0 ? FFT_SCALE_BOTH
                                      : FFT_SCALE_BACKWARD;
    if (*s == FFT_SCALE_BACKWARD && strcmp(name, "backward") != 0)
        FAIL(IG_ERR_ARGUMENT, "%s: norm is '%s'; give 'backward', 'ortho' or 'forward'",
             op_rows[op].name, name);
    return IG_OK;
}

double fft_scale(fft_scaling s, bool backward, double n)
{
    if (s == FFT_SCALE_BOTH)
        return 1 / sqrt(n);
    return (s == FFT_SCALE_BACKWARD) == backward ? 1 / n : 1;
}

/* ---- one axis ---- */

/* x, floats or complex, along an axis. */
static ig_array *complex_axis(ig_array *x, int axis, bool backward, double scale)
{
    if (!x)
        return NULL;
    x = complex_cast(x, dtype_complex((ig_dtype)x->dtype));
    return complex_of_pairs(fft_pairs(complex_pairs(x), axis, backward, scale));
}

static ig_array *real_axis(ig_array *x, int axis, double scale)
{
    x = x ? build_axis_last(OP_moveaxis, x, axis) : NULL;
    ig_array *y = complex_of_pairs(fft_of_real(x, scale));
    return ig_moveaxis(y, IG_AXES(-1), IG_AXES(axis));
}

static ig_array *half_axis(op_id op, ig_array *x, int axis, int64_t n, double scale)
{
    if (x && n < 1)
        return fft_resize(op, x, axis, n);
    x = x ? fft_resize(op, x, axis, n / 2 + 1) : NULL;
    x = ig_moveaxis(x, IG_AXES(axis), IG_AXES(-1));
    if (!x)
        return NULL;
    x = complex_cast(x, dtype_complex((ig_dtype)x->dtype));
    return ig_moveaxis(fft_to_real(complex_pairs(x), n, scale), IG_AXES(-1), IG_AXES(axis));
}

static bool is_backward(op_id op)
{
    return op == OP_ifft || op == OP_irfft || op == OP_ihfft || op == OP_ifft2 || op == OP_irfft2 ||
           op == OP_ifftn || op == OP_irfftn;
}

static ig_status refuse_complex(op_id op, const ig_array *x)
{
    if (array_is_complex(x))
        FAIL(IG_ERR_DTYPE, "%s takes real numbers; give it real(x), or use the complex transform",
             op_rows[op].name);
    return IG_OK;
}

/* The dtype of real results: the dtype of the parts of x, or of x if it is a float. */
static ig_dtype real_result(const ig_array *x)
{
    if (array_is_complex(x))
        return dtype_part((ig_dtype)x->dtype);
    return dtype_is_float((ig_dtype)x->dtype) ? (ig_dtype)x->dtype : ig_default_dtype();
}

/* Arguments: x, n, axis, norm. */
BUILDER(fft)
{
    ig_array *x = args[0].u.array, *y = NULL;
    const bool to_real = op == OP_irfft || op == OP_hfft, of_real = op == OP_rfft || op == OP_ihfft;
    int axis;
    fft_scaling norm;
    if (infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK ||
        fft_norm(op, &args[3], &norm) != IG_OK || (of_real && refuse_complex(op, x) != IG_OK))
        return 0;
    int64_t n = x->view.shape[axis];
    if (to_real)
        n = 2 * (n - 1);
    if (args[1].kind == IG_ARG_INT)
        n = args[1].u.i;
    const ig_dtype given = real_result(x);
    x = fft_floats(op, x);
    const double scale = fft_scale(norm, is_backward(op), (double)n);
    if (to_real) {
        y = build_cast(half_axis(op, op == OP_hfft ? ig_conj(x) : x, axis, n, scale), given);
    } else if (x && (x = fft_resize(op, x, axis, n))) {
        y = of_real ? real_axis(x, axis, scale) : complex_axis(x, axis, is_backward(op), scale);
        y = op == OP_ihfft ? ig_conj(y) : y;
    }
    return op_one(out, y);
}

/* ---- several axes ---- */

typedef struct axes_of {
    int n, axis[IG_MAX_NDIM];
    int64_t length[IG_MAX_NDIM];
} axes_of;

/* Reads s and axes: a missing one follows from the other. to_real: the length of the last axis is the result's length. */
static ig_status read_axes(op_id op, const ig_array *x, const ig_arg *s, const ig_arg *axes,
                           bool to_real, axes_of *a)
{
    const ig_ints lengths = arg_ints(s), list = arg_ints(axes);
    const int ndim = x->view.ndim;
    const bool given = s->kind == IG_ARG_INTS, listed = axes->kind == IG_ARG_INTS;
    a->n = listed ? list.n : given ? lengths.n : ndim;
    if (given && lengths.n != a->n)
        FAIL(IG_ERR_ARGUMENT, "%s: s has %d lengths, but there are %d axes", op_rows[op].name,
             lengths.n, a->n);
    if (a->n > ndim && !listed)
        FAIL(IG_ERR_SHAPE, "%s: s has %d lengths, but x has %d axes", op_rows[op].name, a->n, ndim);
    if (a->n > IG_MAX_NDIM)
        FAIL(IG_ERR_SHAPE, "%s: more than %d axes", op_rows[op].name, IG_MAX_NDIM);
    for (int i = 0; i < a->n; i++) {
        TRY(infer_axis(op, listed ? list.v[i] : ndim - a->n + i, ndim, &a->axis[i]));
        const int64_t have = x->view.shape[a->axis[i]];
        a->length[i] = to_real && i == a->n - 1 ? 2 * (have - 1) : have;
        if (given && lengths.v[i] != -1)
            a->length[i] = lengths.v[i];
    }
    return IG_OK;
}

/* Arguments: x, s, axes, norm. The last axis is the one that changes between real and complex. */
BUILDER(fftn)
{
    ig_array *x = args[0].u.array;
    const bool to_real = op == OP_irfft2 || op == OP_irfftn;
    const bool of_real = op == OP_rfft2 || op == OP_rfftn, backward = is_backward(op);
    static const int64_t last_two[2] = {-2, -1};
    const ig_arg two = {.kind = IG_ARG_INTS, .u.ints = {last_two, 2}};
    const bool plane = op == OP_fft2 || op == OP_ifft2 || op == OP_rfft2 || op == OP_irfft2;
    fft_scaling norm;
    axes_of a;
    if (fft_norm(op, &args[3], &norm) != IG_OK || (of_real && refuse_complex(op, x) != IG_OK) ||
        read_axes(op, x, &args[1], plane && args[2].kind != IG_ARG_INTS ? &two : &args[2], to_real,
                  &a) != IG_OK)
        return 0;
    if ((of_real || to_real) && a.n == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: there is no axis to transform", op_rows[op].name);
    const ig_dtype given = real_result(x);
    x = fft_floats(op, x);
    if (!of_real && !to_real)
        x = x ? complex_cast(x, dtype_complex((ig_dtype)x->dtype)) : NULL;
    for (int i = 0; i < a.n - to_real && x; i++)
        x = fft_resize(op, x, a.axis[i], a.length[i]);
    if (of_real)
        x = real_axis(x, a.axis[a.n - 1], fft_scale(norm, false, (double)a.length[a.n - 1]));
    for (int i = a.n - 1 - (of_real || to_real); i >= 0 && x; i--)
        x = complex_axis(x, a.axis[i], backward, fft_scale(norm, backward, (double)a.length[i]));
    if (to_real)
        x = build_cast(half_axis(op, x, a.axis[a.n - 1], a.length[a.n - 1],
                                 fft_scale(norm, true, (double)a.length[a.n - 1])),
                       given);
    return op_one(out, x);
}

/* ---- frequencies and shifts ---- */

BUILDER(fftfreq)
{
    const int64_t n = args[0].u.i;
    const double d = args[1].u.f;
    const ig_dtype dtype = arg_dtype(&args[2], ig_default_dtype());
    if (n < 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: n is %lld; give at least 1", op_rows[op].name,
                  (long long)n);
    if (!dtype_is_float(dtype))
        FAIL_NONE(IG_ERR_DTYPE, "%s: dtype must be a float", op_rows[op].name);
    const int64_t count = op == OP_rfftfreq ? n / 2 + 1 : n;
    ig_array *k = build_iota(1, &count);
    if (op == OP_fftfreq)
        k = ig_where(ig_less(k, ig_int((n + 1) / 2)), k, ig_subtract(k, ig_int(n)));
    const ig_dtype wide = dtype == IG_F64 ? IG_F64 : IG_F32;
    return composite_result(out, ig_divide(build_cast(k, wide), build_scalar((double)n * d, wide)),
                            dtype);
}

BUILDER(fftshift)
{
    ig_array *x = args[0].u.array;
    int axes[IG_MAX_NDIM], n = infer_axes(op, arg_ints(&args[1]), x->view.ndim, axes);
    int64_t shift[IG_MAX_NDIM], list[IG_MAX_NDIM];
    if (n < 0)
        return 0;
    for (int i = 0; i < n; i++) {
        const int64_t half = x->view.shape[axes[i]] / 2;
        list[i] = axes[i];
        shift[i] = op == OP_fftshift ? half : -half;
    }
    return op_one(out, n ? ig_roll(x, (ig_ints){shift, n}, (ig_ints){list, n}) : x);
}
