/* Builders of functions of singular values: pseudoinverses, least squares, rank and condition. */
#include "base/error.h"
#include "engine/numeric/spectral.h"
#include <math.h>
#include <string.h>

#define AXIS(i) ((ig_ints){(int64_t[]){i}, 1})

static ig_array *adjoint(ig_array *x) { return ig_matrix_transpose(ig_conj(x)); }

static int64_t length_at(const ig_array *x, int axis) { return x->view.shape[x->view.ndim + axis]; }

/* The given bound for each matrix, or else the larger length times the epsilon of the dtype. */
static ig_array *tolerance(const ig_array *x, ig_array *given, ig_array *s)
{
    ig_finfo limits;
    if (given)
        return ig_expand_dims(build_cast(given, (ig_dtype)s->dtype), AXIS(-1));
    if (ig_finfo_of((ig_dtype)s->dtype, &limits) != IG_OK)
        return NULL;
    const int64_t n = length_at(x, -2) > length_at(x, -1) ? length_at(x, -2) : length_at(x, -1);
    return build_scalar(limits.eps * (double)n, (ig_dtype)s->dtype);
}

/* The largest singular value of each matrix, with an axis of length 1; 0 if there are none. */
static ig_array *largest(ig_array *s)
{
    return length_at(s, -1) == 0 ? ig_sum(s, AXIS(-1), IG_DTYPE_NONE, true)
                                 : ig_max(s, AXIS(-1), true);
}

/* The singular values that count, and the inverses of these; the others are 0. */
static ig_array *kept_of(const ig_array *x, ig_array *s, ig_array *rtol)
{
    return ig_greater(s, ig_multiply(tolerance(x, rtol, s), largest(s)));
}

static ig_array *inverses(ig_array *s, ig_array *kept)
{
    return ig_where(kept, ig_reciprocal(ig_where(kept, s, ig_float(1))), ig_float(0));
}

/* ---- pseudoinverses ---- */

static ig_array *identity(int64_t n, const ig_array *like)
{
    return ig_eye(n, n, 0,
                  like->dtype == IG_C64    ? IG_F32
                  : like->dtype == IG_C128 ? IG_F64
                                           : (ig_dtype)like->dtype);
}

/* dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P, while the rank does not change. */
static ig_status pull_pinv(void *context, ig_array *const *inputs, int n, ig_array *out,
                           ig_array *grad, ig_array **grads)
{
    ig_array *a = planes_join(inputs[0], false, false), *p = planes_join(out, false, false);
    ig_array *g = planes_join(grad, false, false);
    (void)context, (void)n;
    if (!a || !p || !g)
        return IG_ERR_ARGUMENT;
    ig_array *h = adjoint(g), *q = adjoint(p);
    ig_array *left = ig_subtract(identity(length_at(a, -2), a), ig_matmul(a, p));
    ig_array *right = ig_subtract(identity(length_at(a, -1), a), ig_matmul(p, a));
    ig_array *sum = ig_add(ig_matmul(ig_matmul(left, h), ig_matmul(p, q)),
                           ig_matmul(ig_matmul(q, p), ig_matmul(h, right)));
    grads[0] = planes_of(ig_subtract(sum, ig_matmul(q, ig_matmul(g, q))), false);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

/* The pseudoinverse of x, of float dtype, from the parts of its SVD. */
static ig_array *pinv_of(ig_array *x, ig_array *const *part, ig_array *kept)
{
    ig_array *planes = planes_of(x, false);
    ig_array *v = ig_multiply(adjoint(part[2]), ig_expand_dims(inverses(part[1], kept), AXIS(-2)));
    ig_array *y = planes_of(ig_stop_gradient(ig_matmul(v, adjoint(part[0]))), false);
    if (!planes || !y)
        return NULL;
    return planes_join(ig_custom_grad(y, &planes, 1, pull_pinv, NULL, NULL), false, false);
}

BUILDER(pinv)
{
    ig_dtype dtype;
    ig_array *x = matrix_floats(op, args[0].u.array, false, &dtype), *part[3];
    if (!x || !matrix_svd(x, false, true, part))
        return 0;
    ig_array *y = pinv_of(x, part, kept_of(x, part[1], arg_array(&args[1])));
    return op_one(out, matrix_result(y, dtype));
}

static ig_array *count(ig_array *kept) { return ig_sum(kept, AXIS(-1), IG_I64, false); }

BUILDER(matrix_rank)
{
    ig_dtype dtype;
    ig_array *x = matrix_floats(op, args[0].u.array, false, &dtype), *s;
    ig_array *tol = arg_array(&args[1]);
    if (!x || !matrix_svd(x, false, false, &s))
        return 0;
    return op_one(out, count(tol ? ig_greater(s, ig_expand_dims(build_cast(tol, (ig_dtype)s->dtype),
                                                                AXIS(-1)))
                                 : kept_of(x, s, arg_array(&args[2]))));
}

/* ---- least squares ---- */

/* a and b in their common float dtype. */
static ig_status same_floats(op_id op, ig_array **x, ig_dtype *dtype)
{
    if (!complex_any(x, 2))
        return composite_floats(op, x, 2, dtype);
    TRY(infer_dtype(op, x, 2, dtype));
    for (int i = 0; i < 2; i++)
        if (!(x[i] = complex_cast(x[i], *dtype)))
            return IG_ERR_DTYPE;
    return IG_OK;
}

/* Writes x, the squares, the rank and the singular values. a and b have one float dtype, b has columns. */
static int least_squares(ig_array *a, ig_array *b, ig_array *rcond, ig_array **out)
{
    ig_array *part[3];
    if (!matrix_svd(a, false, true, part))
        return 0;
    ig_array *kept = kept_of(a, part[1], rcond);
    /* The pseudoinverse has the gradient, the factors one after the other the smaller error. */
    ig_array *x = ig_matmul(pinv_of(a, part, kept), b);
    ig_array *inverse = ig_expand_dims(inverses(part[1], kept), AXIS(-1));
    ig_array *better =
        ig_matmul(adjoint(part[2]), ig_multiply(inverse, ig_matmul(adjoint(part[0]), b)));
    out[0] = ig_add(x, ig_stop_gradient(ig_subtract(better, x)));
    ig_array *rest = ig_subtract(b, ig_matmul(a, out[0]));
    if (array_is_complex(rest))
        rest = ig_add(ig_square(ig_real(rest)), ig_square(ig_imag(rest)));
    else
        rest = ig_square(rest);
    out[1] = ig_sum(rest, AXIS(-2), IG_DTYPE_NONE, false);
    out[2] = count(kept);
    out[3] = part[1];
    return out[0] && out[1] && out[2] ? 4 : 0;
}

BUILDER(lstsq)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (same_floats(op, x, &dtype) != IG_OK || !matrix_floats(op, x[0], false, &(ig_dtype){0}))
        return 0;
    const bool vector = x[1]->view.ndim == 1;
    if (x[1]->view.ndim < 1 || length_at(x[1], vector ? -1 : -2) != length_at(x[0], -2))
        FAIL_NONE(IG_ERR_SHAPE, "%s: a has %lld rows, and b must have as many", op_rows[op].name,
                  (long long)length_at(x[0], -2));
    if (!least_squares(x[0], vector ? ig_expand_dims(x[1], AXIS(-1)) : x[1], arg_array(&args[2]),
                       out))
        return 0;
    out[0] = matrix_result(vector ? ig_squeeze(out[0], AXIS(-1)) : out[0], dtype);
    out[1] = matrix_result(out[1], dtype);
    out[3] = matrix_result(out[3], dtype);
    return out[0] && out[1] && out[3] ? 4 : 0;
}

/* The columns of powers have the length 1 while they are solved for. */
BUILDER(polyfit)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array}, *rcond = arg_array(&args[3]);
    ig_array *w = arg_array(&args[4]), *found[4];
    const int64_t deg = args[2].u.i;
    ig_dtype dtype;
    ig_finfo limits;
    if (same_floats(op, x, &dtype) != IG_OK)
        return 0;
    const int axes = x[1]->view.ndim;
    if (x[0]->view.ndim != 1 || axes < 1 || axes > 2 || deg < 0 ||
        x[1]->view.shape[0] != x[0]->view.shape[0] || x[0]->view.shape[0] < 1)
        FAIL_NONE(IG_ERR_SHAPE,
                  "%s: takes a 1-d x of 1 element or more, y with as many rows, and a degree of 0 "
                  "or more",
                  op_rows[op].name);
    const ig_dtype real = dtype == IG_C64    ? IG_F32
                          : dtype == IG_C128 ? IG_F64
                                             : (ig_dtype)x[0]->dtype;
    if (ig_finfo_of(real, &limits) != IG_OK)
        return 0;
    ig_array *a = ig_vander(x[0], deg + 1, false);
    ig_array *b = axes == 1 ? ig_expand_dims(x[1], AXIS(1)) : x[1];
    if (w) {
        w = ig_expand_dims(build_cast(w, real), AXIS(1));
        a = ig_multiply(a, w);
        b = ig_multiply(b, w);
    }
    ig_array *squares = array_is_complex(a) ? ig_square(ig_abs(a)) : ig_square(a);
    ig_array *length = ig_sqrt(ig_sum(squares, AXIS(0), IG_DTYPE_NONE, false));
    length = ig_where(ig_equal(length, ig_float(0)), ig_float(1), length);
    if (!rcond)
        rcond = build_scalar(limits.eps * (double)x[0]->view.shape[0], real);
    if (!length || !b || !least_squares(ig_divide(a, length), b, rcond, found))
        return 0;
    ig_array *y = ig_divide(found[0], ig_expand_dims(length, AXIS(1)));
    return op_one(out, matrix_result(axes == 1 ? ig_squeeze(y, AXIS(1)) : y, dtype));
}

/* ---- condition ---- */

typedef enum norm_kind {
    NORM_NONE,
    NORM_LARGEST,
    NORM_SMALLEST,
    NORM_FRO,
    NORM_NUC,
    NORM_COLUMNS,
    NORM_ROWS
} norm_kind;

/* p of cond. *least: the smallest sum of a column or row counts, not the largest. */
static norm_kind norm_of(const ig_arg *p, bool *least)
{
    const double value = p->kind == IG_ARG_INT     ? (double)p->u.i
                         : p->kind == IG_ARG_FLOAT ? p->u.f
                                                   : 0;
    *least = value < 0;
    if (p->kind == IG_ARG_STRING)
        return strcmp(p->u.str, "fro") == 0   ? NORM_FRO
               : strcmp(p->u.str, "nuc") == 0 ? NORM_NUC
                                              : NORM_NONE;
    return p->kind == IG_ARG_NONE || value == 2 ? NORM_LARGEST
           : value == -2                        ? NORM_SMALLEST
           : fabs(value) == 1                   ? NORM_COLUMNS
           : isinf(value)                       ? NORM_ROWS
                                                : NORM_NONE;
}

static ig_array *matrix_size(ig_array *x, norm_kind kind, bool least)
{
    const ig_ints both = {(int64_t[]){-2, -1}, 2};
    ig_array *s, *size = ig_abs(x);
    if (kind == NORM_NUC)
        return matrix_svd(x, false, false, &s) ? ig_sum(s, AXIS(-1), IG_DTYPE_NONE, false) : NULL;
    if (kind == NORM_FRO)
        return ig_sqrt(ig_sum(ig_square(size), both, IG_DTYPE_NONE, false));
    size = ig_sum(size, AXIS(kind == NORM_COLUMNS ? -2 : -1), IG_DTYPE_NONE, false);
    return least ? ig_min(size, AXIS(-1), false) : ig_max(size, AXIS(-1), false);
}

BUILDER(cond)
{
    ig_dtype dtype;
    bool least;
    const norm_kind kind = norm_of(&args[1], &least);
    if (kind == NORM_NONE)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: p is None, 2, -2, 'fro', 'nuc', 1, -1, inf or -inf",
                  op_rows[op].name);
    ig_array *x = matrix_floats(op, args[0].u.array, kind > NORM_SMALLEST, &dtype), *part[3];
    if (!x)
        return 0;
    if (view_size(&x->view) == 0)
        FAIL_NONE(IG_ERR_SHAPE, "%s: an empty matrix has no condition", op_rows[op].name);
    if (!matrix_svd(x, false, kind > NORM_SMALLEST, part))
        return 0;
    ig_array *s = kind > NORM_SMALLEST ? part[1] : part[0];
    ig_array *high = ig_max(s, AXIS(-1), false), *low = ig_min(s, AXIS(-1), false);
    ig_array *singular = ig_equal(low, ig_float(0));
    ig_array *y = kind == NORM_SMALLEST ? ig_divide(low, high)
                                        : ig_divide(high, ig_where(singular, ig_float(1), low));
    if (kind > NORM_SMALLEST) {
        ig_array *inverse = pinv_of(x, part, ig_greater(s, ig_float(0)));
        y = ig_multiply(matrix_size(x, kind, least), matrix_size(inverse, kind, least));
    }
    if (kind != NORM_SMALLEST)
        y = ig_where(singular, ig_float(INFINITY), y);
    return op_one(out, matrix_result(y, dtype));
}
