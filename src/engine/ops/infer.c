/* Inference of dtypes and shapes; checks of axes and sizes. */
#include "base/error.h"
#include "engine/ops/ops.h"
#include <string.h>

static const char *name_of(op_id op) { return op_rows[op].name; }

ig_dtype ig_result_type(ig_array *const *x, int n)
{
    ig_dtype strong = IG_DTYPE_NONE;
    dtype_kind weak = DTYPE_KIND_NONE;
    if (require_list("result_type", "arrays", x, n) != IG_OK)
        return IG_DTYPE_NONE;
    for (int i = 0; i < n; i++) {
        ig_dtype d = ig_dtype_of(x[i]);
        if (x[i] && x[i]->weak) {
            weak = dtype_kind_of(d) > weak ? dtype_kind_of(d) : weak;
        } else if (strong == IG_DTYPE_NONE) {
            strong = d;
        } else if ((strong = ig_promote(strong, d)) == IG_DTYPE_NONE) {
            return IG_DTYPE_NONE;
        }
    }
    if (weak == DTYPE_KIND_COMPLEX)
        return dtype_complex(strong);
    if (weak <= dtype_kind_of(strong) || (weak == DTYPE_KIND_SIGNED && dtype_is_int(strong)))
        return strong;
    return weak == DTYPE_KIND_FLOAT    ? ig_default_dtype()
           : weak == DTYPE_KIND_SIGNED ? IG_I64
                                       : IG_BOOL;
}

ig_status infer_dtype(op_id op, ig_array *const *x, int n, ig_dtype *dtype)
{
    *dtype = ig_result_type(x, n);
    if (*dtype != IG_DTYPE_NONE)
        return IG_OK;
    ig_dtype first = ig_dtype_of(x[0]), other = first;
    for (int i = 1; i < n && ig_promote(first, other) != IG_DTYPE_NONE; i++)
        other = ig_dtype_of(x[i]);
    FAIL(IG_ERR_DTYPE, "%s: %s and %s have no common dtype; convert one with astype", name_of(op),
         ig_dtype_name(first), ig_dtype_name(other));
}

ig_status infer_broadcast(op_id op, ig_array *const *x, int n, int *ndim, int64_t *shape)
{
    *ndim = 0;
    for (int i = 0; i < n; i++)
        *ndim = x[i]->view.ndim > *ndim ? x[i]->view.ndim : *ndim;
    for (int a = 0; a < *ndim; a++)
        shape[a] = 1;
    for (int i = 0; i < n; i++) {
        const view *v = &x[i]->view;
        for (int a = 0, lead = *ndim - v->ndim; a < v->ndim; a++) {
            int64_t have = v->shape[a], *want = &shape[lead + a];
            if (have == *want || have == 1)
                continue;
            if (*want != 1) {
                char one[400], two[400];
                FAIL(IG_ERR_SHAPE,
                     "%s: shapes %s and %s do not broadcast: lengths %lld and %lld differ and "
                     "neither is 1",
                     name_of(op), view_shape_text(x[0]->view.ndim, x[0]->view.shape, one),
                     view_shape_text(v->ndim, v->shape, two), (long long)*want, (long long)have);
            }
            *want = have;
        }
    }
    return IG_OK;
}

ig_status infer_axis(op_id op, int64_t axis, int ndim, int *out)
{
    if (axis < -ndim || axis >= ndim)
        FAIL(IG_ERR_SHAPE, "%s: axis %lld is out of range for an array of %d dimension%s",
             name_of(op), (long long)axis, ndim, ndim == 1 ? "" : "s");
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return IG_OK;
}

int infer_axes(op_id op, ig_ints axes, int ndim, int out[static IG_MAX_NDIM])
{
    if (!axes.v) {
        for (int i = 0; i < ndim; i++)
            out[i] = i;
        return ndim;
    }
    unsigned seen = 0;
    if (axes.n > ndim) {
        ig_fail(IG_ERR_SHAPE, "%s: %d axes are given for an array of %d dimension%s", name_of(op),
                axes.n, ndim, ndim == 1 ? "" : "s");
        return -1;
    }
    for (int i = 0; i < axes.n; i++) {
        if (infer_axis(op, axes.v[i], ndim, &out[i]) != IG_OK)
            return -1;
        if (seen >> out[i] & 1) {
            ig_fail(IG_ERR_SHAPE, "%s: axis %d is given twice", name_of(op), out[i]);
            return -1;
        }
        seen |= 1u << out[i];
    }
    return axes.n;
}

ig_status infer_size(op_id op, int ndim, const int64_t *shape, ig_dtype dtype, int64_t *size)
{
    char text[400];
    if (ndim > IG_MAX_NDIM)
        FAIL(IG_ERR_SHAPE, "%s: %d dimensions are more than the %d that Ingot has", name_of(op),
             ndim, IG_MAX_NDIM);
    /* An empty axis makes the size 0, but the product of the others must not overflow either: strides
     * are such products. */
    int64_t n = 1, most = ((int64_t)1 << 62) / (int64_t)ig_dtype_bytes(dtype);
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            FAIL(IG_ERR_SHAPE, "%s: shape %s has a negative length", name_of(op),
                 view_shape_text(ndim, shape, text));
        if (shape[i] == 0)
            empty = true;
        else if (n > most / shape[i])
            FAIL(IG_ERR_SHAPE, "%s: shape %s has more elements than can be addressed", name_of(op),
                 view_shape_text(ndim, shape, text));
        else
            n *= shape[i];
    }
    *size = empty ? 0 : n;
    return IG_OK;
}
