/* Norms of vectors and matrices. */
#include "base/error.h"
#include "engine/numeric/linalg.h"

#include <math.h>
#include <string.h>

/* The square root of a sum of squares. Its gradient at 0 is 0. */
static ig_array *root(ig_array *sum)
{
    if (!sum)
        return NULL;
    ig_array *zero = build_scalar(0, (ig_dtype)sum->dtype),
             *one = build_scalar(1, (ig_dtype)sum->dtype);
    ig_array *none = ig_equal(sum, zero);
    return ig_where(none, zero, ig_sqrt(ig_where(none, one, sum)));
}

static ig_array *squares(ig_array *x)
{
    return array_is_complex(x) ? ig_add(ig_square(ig_real(x)), ig_square(ig_imag(x)))
                               : ig_square(x);
}

static ig_array *norm_of_vectors(ig_array *x, double ord, ig_ints axis, bool keepdims)
{
    if (ord == 2)
        return root(ig_sum(squares(x), axis, IG_DTYPE_NONE, keepdims));
    ig_array *size = ig_abs(x);
    if (!size)
        return NULL;
    if (isinf(ord))
        return ord > 0 ? ig_max(size, axis, keepdims) : ig_min(size, axis, keepdims);
    if (ord == 0)
        return ig_astype(ig_count_nonzero(size, axis, keepdims), (ig_dtype)size->dtype);
    if (ord == 1)
        return ig_sum(size, axis, IG_DTYPE_NONE, keepdims);
    const ig_dtype dtype = (ig_dtype)size->dtype;
    ig_array *sum = ig_sum(ig_pow(size, build_scalar(ord, dtype)), axis, IG_DTYPE_NONE, keepdims);
    return ig_pow(sum, build_scalar(1 / ord, dtype));
}

/* The norm of the last two axes. */
static ig_array *norm_of_matrices(op_id op, ig_array *x, const ig_arg *ord, bool keepdims)
{
    const bool named = ord->kind == IG_ARG_STRING;
    const double p = named || ord->kind == IG_ARG_NONE ? 0
                     : ord->kind == IG_ARG_INT         ? (double)ord->u.i
                                                       : ord->u.f;
    const bool nuclear = named && strcmp(ord->u.str, "nuc") == 0;
    ig_array *y = NULL;
    if (ord->kind == IG_ARG_NONE || (named && strcmp(ord->u.str, "fro") == 0))
        return norm_of_vectors(x, 2, IG_AXES(-2, -1), keepdims);
    if (nuclear || fabs(p) == 2) {
        ig_array *s = ig_svdvals(x);
        y = nuclear ? ig_sum(s, IG_AXES(-1), IG_DTYPE_NONE, false)
            : p > 0 ? ig_max(s, IG_AXES(-1), false)
                    : ig_min(s, IG_AXES(-1), false);
        return keepdims ? ig_expand_dims(ig_expand_dims(y, IG_AXES(-1)), IG_AXES(-1)) : y;
    }
    if (named || !(fabs(p) == 1 || isinf(p)))
        FAIL_NULL(IG_ERR_ARGUMENT,
                  "%s: the order of a matrix norm is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf",
                  op_rows[op].name);
    y = ig_sum(ig_abs(x), isinf(p) ? IG_AXES(-1) : IG_AXES(-2), IG_DTYPE_NONE, true);
    y = p > 0 ? ig_max(y, IG_AXES(-2, -1), true) : ig_min(y, IG_AXES(-2, -1), true);
    return keepdims ? y : ig_squeeze(y, IG_AXES(-2, -1));
}

BUILDER(vector_norm)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (linalg_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    return op_one(
        out, linalg_round(norm_of_vectors(x, args[3].u.f, arg_ints(&args[1]), args[2].u.b), dtype));
}

BUILDER(matrix_norm)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (linalg_matrix(op, x, false) != IG_OK || linalg_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    return op_one(out, linalg_round(norm_of_matrices(op, x, &args[2], args[1].u.b), dtype));
}

/* Matrices along two axes, which keepdims keeps at their places. */
static ig_array *norm_along(op_id op, ig_array *x, const ig_arg *ord, ig_ints axis, bool keepdims)
{
    int axes[IG_MAX_NDIM];
    if (infer_axes(op, axis, x->view.ndim, axes) < 0)
        return NULL;
    const int64_t from[] = {axes[0], axes[1]};
    ig_array *y =
        norm_of_matrices(op, ig_moveaxis(x, (ig_ints){from, 2}, IG_AXES(-2, -1)), ord, keepdims);
    return keepdims ? ig_moveaxis(y, IG_AXES(-2, -1), (ig_ints){from, 2}) : y;
}

BUILDER(norm)
{
    ig_array *x = args[0].u.array;
    const ig_arg *ord = &args[1];
    ig_ints axis = arg_ints(&args[2]);
    const bool keepdims = args[3].u.b, given = args[2].kind == IG_ARG_INTS;
    ig_dtype dtype;
    if (linalg_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    const int n = given ? axis.n : x->view.ndim;
    if (ord->kind == IG_ARG_NONE) /* of all elements */
        return op_one(out, linalg_round(norm_of_vectors(x, 2, axis, keepdims), dtype));
    if (n == 1 && ord->kind != IG_ARG_STRING) {
        const double p = ord->kind == IG_ARG_INT ? (double)ord->u.i : ord->u.f;
        return op_one(out, linalg_round(norm_of_vectors(x, p, axis, keepdims), dtype));
    }
    if (n != 2)
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "norm: with an order, x is a vector or a matrix; name one axis or two");
    return op_one(
        out, linalg_round(norm_along(op, x, ord, given ? axis : IG_AXES(0, 1), keepdims), dtype));
}
