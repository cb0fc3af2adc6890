/* Builders of cosine and sine transforms, as in SciPy, and of convolutions by Fourier transforms. */
#include "base/error.h"
#include "engine/numeric/fft.h"
#include "engine/numeric/fft_lines.h"
#include "engine/numeric/fft_tables.h"
#include "engine/ops/complex.h"
#include "engine/ops/composite.h"
#include <math.h>
#include <string.h>

/* ---- cosine and sine transforms, along the last axis, without norm ---- */

/* exp(-2 pi i k / n), k < count, for a transform of `points` points. */
static pair roots(const ig_array *like, int64_t n, int64_t count, int64_t points)
{
    const char *before = array_device_follow(like);
    const ig_dtype part = (ig_dtype)like->dtype;
    const int64_t own = 4 * count * 2 * (int64_t)ig_dtype_bytes(part);
    ig_array *table = fft_table_get(FFT_QUARTER, n, count, part, fft_enough(points, part) + own);
    const pair p = complex_parts(complex_of_pairs(table));
    array_device_set(before);
    ig_release(table);
    return p;
}

static ig_array *last_part(ig_array *x, int64_t start, int64_t stop)
{
    return x ? fft_part(x, x->view.ndim - 1, start, stop) : NULL;
}

static ig_array *reversed(ig_array *x) { return ig_flip(x, IG_AXES(-1)); }

static ig_array *joined(ig_array *a, ig_array *b)
{
    return ig_concat((ig_array *const[]){a, b}, 2, IG_AXES(-1));
}

/* Every second element from first on. */
static ig_array *every_second(ig_array *x, int64_t first)
{
    view v = x->view;
    const int last = v.ndim - 1;
    v.offset += first * v.stride[last];
    v.shape[last] = (v.shape[last] - first + 1) / 2;
    v.stride[last] *= 2;
    return array_view(OP_slice, x, &v);
}

static ig_array *twice(ig_array *x) { return ig_add(x, x); }

/* 2 sum of x_j cos(pi k (2 j + 1) / (2 n)): the transform of the even places, then of the odd ones backwards. */
static ig_array *cosine_2(ig_array *x, int64_t n)
{
    if (n == 1)
        return twice(x);
    const pair w = roots(x, 4 * n, n / 2 + 1, n);
    x = joined(every_second(x, 0), reversed(every_second(x, 1)));
    const pair v = complex_parts(complex_of_pairs(fft_of_real(x, 2)));
    ig_array *head = ig_subtract(ig_multiply(v.re, w.re), ig_multiply(v.im, w.im));
    ig_array *tail = ig_negative(ig_add(ig_multiply(v.im, w.re), ig_multiply(v.re, w.im)));
    return joined(head, reversed(last_part(tail, 1, (n + 1) / 2)));
}

/* x_0 + 2 sum over j > 0 of x_j cos(pi j (2 k + 1) / (2 n)): the steps of cosine_2 backwards. */
static ig_array *cosine_3(ig_array *x, int64_t n)
{
    if (n == 1)
        return x;
    const int64_t h = n / 2, even = (n + 1) / 2;
    const pair w = roots(x, 4 * n, h + 1, n);
    ig_array *head = last_part(x, 0, h + 1);
    ig_array *tail =
        joined(ig_zeros_like(last_part(x, 0, 1), IG_DTYPE_NONE), last_part(reversed(x), 0, h));
    const pair z = {ig_subtract(ig_multiply(head, w.re), ig_multiply(tail, w.im)),
                    ig_negative(ig_add(ig_multiply(tail, w.re), ig_multiply(head, w.im)))};
    ig_array *v = fft_to_real(complex_pairs(complex_make(z)), n, 1);
    ig_array *y =
        ig_stack((ig_array *const[]){last_part(v, 0, h), reversed(last_part(v, even, n))}, 2, -1);
    int64_t shape[IG_MAX_NDIM];
    if (!y)
        return NULL;
    memcpy(shape, v->view.shape, sizeof shape);
    shape[v->view.ndim - 1] = 2 * h;
    y = ig_reshape(y, (ig_ints){shape, v->view.ndim});
    return n % 2 ? joined(y, last_part(v, h, even)) : y;
}

/* 2 sum of x_j times the cosine, or sine, of pi (2 j + 1) (2 k + 1) / (4 n). */
static ig_array *quarter_4(ig_array *x, int64_t n, bool sine)
{
    const pair w = roots(x, 4 * n, n, 2 * n), turn = roots(x, 8 * n, 2 * n, 2 * n);
    ig_array *z = complex_make((pair){ig_multiply(x, w.re), ig_multiply(x, w.im)});
    z = z ? fft_resize(OP_dct, z, z->view.ndim - 1, 2 * n) : NULL;
    if (!z)
        return NULL;
    z = complex_of_pairs(fft_pairs(complex_pairs(z), z->view.ndim - 1, false, 2));
    const pair v = complex_parts(z);
    ig_array *re = last_part(v.re, 0, n), *im = last_part(v.im, 0, n);
    ig_array *c = every_second(turn.re, 1), *s = every_second(turn.im, 1);
    return sine ? ig_negative(ig_add(ig_multiply(im, c), ig_multiply(re, s)))
                : ig_subtract(ig_multiply(re, c), ig_multiply(im, s));
}

/* x_0 + (-1)^k x_(n - 1) + 2 sum of the others times cos(pi j k / (n - 1)). */
static ig_array *cosine_1(ig_array *x, int64_t n)
{
    x = joined(x, reversed(last_part(x, 1, n - 1)));
    return complex_parts(complex_of_pairs(fft_of_real(x, 1))).re;
}

/* 2 sum of x_j sin(pi (j + 1) (k + 1) / (n + 1)). */
static ig_array *sine_1(ig_array *x, int64_t n)
{
    ig_array *none = ig_zeros_like(last_part(x, 0, 1), IG_DTYPE_NONE);
    x = joined(joined(none, x), joined(none, ig_negative(reversed(x))));
    return ig_negative(last_part(complex_parts(complex_of_pairs(fft_of_real(x, 1))).im, 1, n + 1));
}

/* x with every second element negated, from the second on. */
static ig_array *alternated(ig_array *x, int64_t n)
{
    ig_array *sign =
        ig_where(ig_equal(ig_bitwise_and(build_iota(1, &n), ig_int(1)), ig_int(0)),
                 build_scalar(1, (ig_dtype)x->dtype), build_scalar(-1, (ig_dtype)x->dtype));
    return ig_multiply(x, sign);
}

static ig_array *transform(ig_array *x, int type, int64_t n, bool sine)
{
    if (!x)
        return NULL;
    switch (type) {
    case 1: return sine ? sine_1(x, n) : cosine_1(x, n);
    case 2: return sine ? reversed(cosine_2(alternated(x, n), n)) : cosine_2(x, n);
    case 3: x = cosine_3(sine ? reversed(x) : x, n); return sine && x ? alternated(x, n) : x;
    default: return quarter_4(x, n, sine);
    }
}

/* x with its first (or last) element along the last axis multiplied. */
static ig_array *with_end(ig_array *x, int64_t n, bool first, double by)
{
    if (!x)
        return NULL;
    const ig_dtype dtype = (ig_dtype)x->dtype;
    ig_array *w = ig_where(ig_equal(build_iota(1, &n), ig_int(first ? 0 : n - 1)),
                           build_scalar(by, dtype), build_scalar(1, dtype));
    return ig_multiply(x, w);
}

/* The factors of the ends that make the matrix orthogonal. */
static ig_array *orthogonal(ig_array *x, int64_t n, int type, bool sine)
{
    const double root = sqrt(2);
    if (type == 1 && !sine)
        x = with_end(with_end(x, n, true, root), n, false, root);
    if (type == 3)
        x = with_end(x, n, !sine, root);
    x = transform(x, type, n, sine);
    if (type == 1 && !sine)
        x = with_end(with_end(x, n, true, 1 / root), n, false, 1 / root);
    return type == 2 ? with_end(x, n, !sine, 1 / root) : x;
}

/* Arguments: x, type, n, axis, norm, orthogonalize. */
BUILDER(dct)
{
    ig_array *x = args[0].u.array;
    const bool sine = op == OP_dst || op == OP_idst, backward = op == OP_idct || op == OP_idst;
    int64_t type = args[1].u.i;
    int axis;
    ig_dtype dtype;
    fft_scaling norm;
    if (type < 1 || type > 4)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: type is %lld; give 1, 2, 3 or 4", op_rows[op].name,
                  (long long)type);
    if (infer_axis(op, args[3].u.i, x->view.ndim, &axis) != IG_OK ||
        fft_norm(op, &args[4], &norm) != IG_OK || composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    const int64_t n = args[2].kind == IG_ARG_INT ? args[2].u.i : x->view.shape[axis];
    if (type == 1 && !sine && n == 1)
        FAIL_NONE(IG_ERR_SHAPE, "%s of type 1 needs at least 2 points", op_rows[op].name);
    x = fft_resize(op, x, axis, n);
    x = x ? build_axis_last(op, x, axis) : NULL;
    if (!x)
        return 0;
    if (backward)
        type = type == 2 ? 3 : type == 3 ? 2 : type;
    const double points = 2.0 * (double)(type == 1 ? (sine ? n + 1 : n - 1) : n);
    const bool ortho = args[5].kind == IG_ARG_BOOL ? args[5].u.b : norm == FFT_SCALE_BOTH;
    const double scale = fft_scale(norm, backward, points);
    if (view_size(&x->view) > 0)
        x = ortho ? orthogonal(x, n, (int)type, sine) : transform(x, (int)type, n, sine);
    x = x && scale != 1 ? ig_multiply(x, ig_float(scale)) : x;
    return composite_result(out, x ? build_axis_back(op, x, axis) : NULL, dtype);
}

/* ---- fftconvolve ---- */

/* Swaps x1 and x2 for mode valid if x2 is the larger one; fails if neither is. */
static ig_status order_valid(ig_array **x, const int *axes, int n)
{
    bool larger = true, smaller = true;
    for (int i = 0; i < n; i++) {
        larger = larger && x[0]->view.shape[axes[i]] >= x[1]->view.shape[axes[i]];
        smaller = smaller && x[0]->view.shape[axes[i]] <= x[1]->view.shape[axes[i]];
    }
    if (!larger && !smaller)
        FAIL(IG_ERR_SHAPE, "fftconvolve: for mode 'valid' one array must be at least as long as "
                           "the other along all axes");
    if (!larger) {
        ig_array *first = x[0];
        x[0] = x[1];
        x[1] = first;
    }
    return IG_OK;
}

/* Transforms of x of the given lengths along axes. */
static ig_array *forward_all(ig_array *x, const int64_t *axes, const int64_t *lengths, int n)
{
    const ig_ints s = {lengths, n}, a = {axes, n};
    return array_is_complex(x) ? ig_fftn(x, s, a, NULL) : ig_rfftn(x, s, a, NULL);
}

/* Arguments: x1, x2, mode, axes. */
BUILDER(fftconvolve)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    const char *mode = args[2].u.str;
    const bool full = strcmp(mode, "full") == 0, valid = strcmp(mode, "valid") == 0;
    const int ndim = x[0]->view.ndim;
    int axes[IG_MAX_NDIM];
    int64_t list[IG_MAX_NDIM], length[IG_MAX_NDIM], good[IG_MAX_NDIM];
    ig_dtype dtype;
    if (!full && !valid && strcmp(mode, "same") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "fftconvolve: mode is '%s'; give 'full', 'same' or 'valid'",
                  mode);
    if (x[1]->view.ndim != ndim)
        FAIL_NONE(IG_ERR_SHAPE, "fftconvolve: x1 has %d axes, x2 has %d", ndim, x[1]->view.ndim);
    if (infer_dtype(op, x, 2, &dtype) != IG_OK)
        return 0;
    const bool complex = dtype_is_complex(dtype);
    if (!complex && !dtype_is_float(dtype))
        dtype = ig_default_dtype();
    const int n = infer_axes(op, arg_ints(&args[3]), ndim, axes);
    if (n < 0 || (valid && order_valid(x, axes, n) != IG_OK))
        return 0;
    for (int i = 0; i < 2; i++)
        x[i] = complex ? complex_cast(x[i], dtype)
                       : build_cast(x[i], dtype == IG_F64 ? IG_F64 : IG_F32);
    if (!x[0] || !x[1])
        return 0;
    if (n == 0 || view_size(&x[0]->view) == 0 || view_size(&x[1]->view) == 0)
        return op_one(out, build_cast(ig_multiply(x[0], x[1]), dtype));
    for (int i = 0; i < n; i++) {
        list[i] = axes[i];
        length[i] = x[0]->view.shape[axes[i]] + x[1]->view.shape[axes[i]] - 1;
        good[i] = length[i] == 1 ? 1 : fft_good_length(length[i]);
    }
    ig_array *y = ig_multiply(forward_all(x[0], list, good, n), forward_all(x[1], list, good, n));
    const ig_ints s = {good, n}, a = {list, n};
    y = complex ? ig_ifftn(y, s, a, NULL) : ig_irfftn(y, s, a, NULL);
    for (int i = 0; i < n && y; i++) {
        const int64_t first = x[0]->view.shape[axes[i]], second = x[1]->view.shape[axes[i]];
        const int64_t kept = full ? length[i] : valid ? first - second + 1 : first;
        const int64_t start = (length[i] - kept) / 2;
        y = fft_part(y, axes[i], start, start + kept);
    }
    return op_one(out, build_cast(y, dtype));
}
