/* Matrices as planes: see spectral.h. */
#include "base/error.h"
#include "engine/numeric/spectral.h"

ig_array *planes_of(ig_array *x, bool transpose)
{
    if (!x)
        return NULL;
    const pair p = array_is_complex(x) ? complex_parts(x) : (pair){x, NULL};
    ig_array *part[2] = {transpose ? ig_matrix_transpose(p.re) : p.re,
                         transpose && p.im ? ig_matrix_transpose(p.im) : p.im};
    return ig_stack(part, array_is_complex(x) ? 2 : 1, -3);
}

ig_array *planes_join(ig_array *planes, bool conjugate, bool transpose)
{
    ig_array *part[2] = {NULL, NULL};
    const int n = planes ? ig_unstack(planes, -3, part, 2) : 0;
    if (!n)
        return NULL;
    for (int i = 0; i < n; i++)
        part[i] = transpose ? ig_matrix_transpose(part[i]) : part[i];
    return n == 1 ? part[0]
                  : complex_make((pair){part[0], conjugate ? ig_negative(part[1]) : part[1]});
}

ig_status matrix_fits(op_id op, const ig_array *x)
{
    char have[400];
    const int64_t m = matrix_rows(x), n = matrix_columns(x);
    if (m > 32768 || n > 32768 || m * n > INT32_MAX / 2)
        FAIL(IG_ERR_SHAPE,
             "%s: a matrix may have at most 32768 rows and columns, and 2^30 elements, but got "
             "shape %s",
             op_rows[op].name, view_shape_text(x->view.ndim, x->view.shape, have));
    return IG_OK;
}

ig_array *matrix_floats(op_id op, ig_array *x, bool square, ig_dtype *dtype)
{
    char have[400];
    if (!x)
        return NULL;
    const int ndim = x->view.ndim;
    const int64_t *shape = x->view.shape;
    if (ndim < 2 || (square && shape[ndim - 1] != shape[ndim - 2])) {
        ig_fail(IG_ERR_SHAPE,
                "%s: takes %s matrices, the last two axes of an array, but got shape %s",
                op_rows[op].name, square ? "square" : "", view_shape_text(ndim, shape, have));
        return NULL;
    }
    const int64_t m = shape[ndim - 2], n = shape[ndim - 1];
    if (!qr_is_long(ndim, m < n ? n : m, m < n ? m : n) && matrix_fits(op, x) != IG_OK)
        return NULL;
    *dtype = (ig_dtype)x->dtype;
    if (array_is_complex(x))
        return x;
    return composite_floats(op, &x, 1, dtype) == IG_OK ? x : NULL;
}

ig_array *matrix_result(ig_array *y, ig_dtype dtype)
{
    if (!y || array_is_complex(y))
        return y;
    return build_cast(y, dtype == IG_C64 ? IG_F32 : dtype == IG_C128 ? IG_F64 : dtype);
}
