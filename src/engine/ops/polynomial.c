/* Builders of functions of polynomials. Coefficients are the elements of a 1-d array, the highest power first. Zeros in
 * front are kept, because shapes do not depend on data. */
#include "base/error.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"

/* x as 1-d coefficients, at least one; NULL on failure. bool is refused. */
static ig_array *coefficients(op_id op, ig_array *x)
{
    x = move_settle(x);
    if (x && (x->view.ndim > 1 || ig_size(x) == 0))
        FAIL_NULL(IG_ERR_SHAPE, "%s: a polynomial is a 1-d array of at least one coefficient",
                  op_rows[op].name);
    if (x && x->dtype == IG_BOOL)
        FAIL_NULL(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype",
                  op_rows[op].name);
    return ig_reshape(x, IG_SHAPE(-1));
}

/* Arrays in the dtype to compute in: f16 and bf16 in f32, integers and complex numbers as they are. *dtype is the
 * result's, floats only if asked. */
static bool settle(op_id op, ig_array **x, int n, bool floats, ig_dtype *dtype)
{
    if (infer_dtype(op, x, n, dtype) != IG_OK)
        return false;
    if (floats && !dtype_is_float(*dtype) && !dtype_is_complex(*dtype))
        *dtype = ig_default_dtype();
    for (int i = 0; i < n; i++)
        if (!(x[i] = build_cast(x[i], dtype_is_half(*dtype) ? IG_F32 : *dtype)))
            return false;
    return true;
}

/* Coefficient i, 0-d. */
static ig_array *coefficient(ig_array *p, int64_t i)
{
    return ig_reshape(shape_part(p, 0, i, i + 1), IG_SCALAR);
}

BUILDER(polyval)
{
    ig_array *x[2] = {coefficients(op, args[0].u.array), args[1].u.array};
    ig_dtype dtype;
    if (!x[0] || !settle(op, x, 2, false, &dtype))
        return 0;
    ig_array *y = ig_broadcast_to(coefficient(x[0], 0), ig_shape(x[1]));
    for (int64_t i = 1; i < ig_size(x[0]) && y; i++)
        y = ig_add(ig_multiply(y, x[1]), coefficient(x[0], i));
    return composite_result(out, y, dtype);
}

/* p with zeros in front, n coefficients in all. */
static ig_array *extended(ig_array *p, int64_t n)
{
    return ig_pad(p, IG_SHAPE(n - ig_size(p), 0), "constant", shape_zero(p));
}

BUILDER(polynomial)
{
    ig_array *p = coefficients(op, args[0].u.array), *q = coefficients(op, args[1].u.array);
    if (!p || !q)
        return 0;
    if (op == OP_polymul)
        return op_one(out, ig_convolve(p, q, "full"));
    const int64_t n = ig_size(p) > ig_size(q) ? ig_size(p) : ig_size(q);
    p = extended(p, n);
    q = extended(q, n);
    return op_one(out, op == OP_polyadd ? ig_add(p, q) : ig_subtract(p, q));
}

/* Long division. */
BUILDER(polydiv)
{
    ig_array *x[2] = {move_settle(args[0].u.array), move_settle(args[1].u.array)}, *quotient = NULL;
    ig_dtype dtype;
    if (!x[0] || !x[1] || !settle(op, x, 2, true, &dtype) || !(x[0] = coefficients(op, x[0])) ||
        !(x[1] = coefficients(op, x[1])))
        return 0;
    const int64_t m = ig_size(x[0]), n = ig_size(x[1]);
    ig_array *rest = x[0], *lead = coefficient(x[1], 0), *tail = shape_part(x[1], 0, 1, INT64_MAX);
    for (int64_t k = 0; k + n <= m; k++) {
        ig_array *q = ig_reshape(ig_divide(coefficient(rest, 0), lead), IG_SHAPE(1));
        ig_array *next = ig_subtract(shape_part(rest, 0, 1, n), ig_multiply(q, tail));
        rest = ig_concat((ig_array *[]){next, shape_part(rest, 0, n, INT64_MAX)}, 2, IG_AXES(0));
        quotient = quotient ? ig_concat((ig_array *[]){quotient, q}, 2, IG_AXES(0)) : q;
        if (!quotient || !rest)
            return 0;
    }
    out[0] = build_cast(quotient ? quotient : ig_zeros(IG_SHAPE(1), (ig_dtype)x[0]->dtype), dtype);
    out[1] = build_cast(ig_size(rest) ? rest : ig_zeros(IG_SHAPE(1), (ig_dtype)x[0]->dtype), dtype);
    return out[0] && out[1] ? 2 : 0;
}

/* n, n - 1, ..., 1 in the dtype of x. */
static ig_array *falling(ig_array *x, int64_t n)
{
    ig_array *i = ig_flip(ig_add(build_iota(1, &n), ig_int(1)), IG_NONE);
    return build_cast(i, array_is_complex(x) ? dtype_part((ig_dtype)x->dtype) : (ig_dtype)x->dtype);
}

BUILDER(polyder)
{
    ig_array *p = coefficients(op, args[0].u.array);
    ig_dtype dtype;
    if (!p || !settle(op, &p, 1, false, &dtype))
        return 0;
    if (!dtype_is_float(dtype) && !dtype_is_complex(dtype))
        p = build_cast(p, dtype = IG_I64);
    if (args[1].u.i < 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "polyder: m is %lld; give 0 or more", (long long)args[1].u.i);
    for (int64_t i = 0; i < args[1].u.i && ig_size(p) > 0; i++)
        p = ig_multiply(shape_part(p, 0, 0, -1), falling(p, ig_size(p) - 1));
    return composite_result(out, p, dtype);
}

BUILDER(polyint)
{
    ig_array *x[2] = {move_settle(args[0].u.array), args[2].u.array};
    const int64_t m = args[1].u.i;
    ig_dtype dtype;
    if (m < 0 || m > 1000)
        FAIL_NONE(IG_ERR_ARGUMENT, "polyint: m is %lld; give 0 to 1000", (long long)m);
    if (!x[0] || !settle(op, x, 2, true, &dtype) || !(x[0] = coefficients(op, x[0])))
        return 0;
    if (ig_size(x[1]) != 1 && ig_size(x[1]) != m)
        FAIL_NONE(IG_ERR_SHAPE, "polyint: k has %lld constants; give 1 or %lld",
                  (long long)ig_size(x[1]), (long long)m);
    ig_array *constants = ig_reshape(x[1], IG_SHAPE(-1)), *p = x[0];
    for (int64_t i = 0; i < m && p; i++) {
        const int64_t own = ig_size(x[1]) == 1 ? 0 : i;
        p = ig_divide(p, falling(p, ig_size(p)));
        p = ig_concat((ig_array *[]){p, shape_part(constants, 0, own, own + 1)}, 2, IG_AXES(0));
    }
    return composite_result(out, p, dtype);
}

BUILDER(poly)
{
    ig_array *x = move_settle(args[0].u.array);
    ig_dtype dtype;
    if (!x || !settle(op, &x, 1, true, &dtype))
        return 0;
    if (x->view.ndim > 1)
        FAIL_NONE(IG_ERR_SHAPE, "poly: zeros has %d dimensions; give 1", x->view.ndim);
    x = ig_reshape(x, IG_SHAPE(-1));
    ig_array *one = ig_ones(IG_SHAPE(1), (ig_dtype)x->dtype), *p = one;
    for (int64_t i = 0; i < ig_size(x) && p; i++) { /* times (t - zero) */
        ig_array *zero = shape_part(x, 0, i, i + 1);
        ig_array *none = shape_zero(x);
        p = ig_subtract(ig_pad(p, IG_SHAPE(0, 1), "constant", none),
                        ig_multiply(zero, ig_pad(p, IG_SHAPE(1, 0), "constant", none)));
    }
    return composite_result(out, p, dtype);
}
