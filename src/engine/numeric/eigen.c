/* Builders of eigenvalues and singular values. */
#include "base/error.h"
#include "engine/numeric/spectral.h"
#include <string.h>

static ig_array *adjoint(ig_array *x) { return ig_matrix_transpose(ig_conj(x)); }

static int64_t rows_of(const ig_array *x) { return x->view.shape[x->view.ndim - 2]; }
static int64_t columns_of(const ig_array *x) { return x->view.shape[x->view.ndim - 1]; }

/* The shape of x with other lengths of the last axes. */
typedef struct ends {
    int64_t v[IG_MAX_NDIM];
} ends;

static ig_ints shape_with(const ig_array *x, int n, const int64_t *last, ends *room)
{
    const int lead = x->view.ndim - 2;
    memcpy(room->v, x->view.shape, (size_t)lead * sizeof *room->v);
    memcpy(room->v + lead, last, (size_t)n * sizeof *room->v);
    return (ig_ints){room->v, lead + n};
}

static ig_dtype real_dtype(ig_dtype dtype)
{
    return dtype == IG_C64 ? IG_F32 : dtype == IG_C128 ? IG_F64 : dtype;
}

static bool is_empty(const ig_array *x) { return view_size(&x->view) == 0; }

/* ---- Hermitian matrices ---- */

/* The Hermitian matrix that one triangle of x gives. */
static ig_array *from_triangle(ig_array *x, bool lower)
{
    ig_array *diagonal = ig_eye(rows_of(x), rows_of(x), 0, IG_BOOL);
    ig_array *half = lower ? ig_tril(x, -1) : ig_triu(x, 1);
    return ig_add(ig_add(half, adjoint(half)), ig_where(diagonal, ig_real(x), ig_float(0)));
}

/* Values of eigvalsh; values and vectors of eigh. */
BUILDER(eigh)
{
    ig_dtype dtype;
    const bool vectors = op == OP_eigh;
    const char *triangle = args[1].u.str;
    ig_array *x = matrix_floats(op, args[0].u.array, true, &dtype), *found[2];
    ends room;
    if (!x)
        return 0;
    if (strcmp(triangle, "L") != 0 && strcmp(triangle, "U") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: UPLO is 'L' or 'U', the triangle that is read, not '%s'",
                  op_rows[op].name, triangle);
    if (is_empty(x)) {
        out[0] = ig_zeros(shape_with(x, 1, (int64_t[]){rows_of(x)}, &room), real_dtype(dtype));
        out[1] = vectors ? x : NULL;
        return !out[0] ? 0 : 1 + vectors;
    }
    if (!planes_eigh(planes_of(from_triangle(x, strcmp(triangle, "L") == 0), false), vectors,
                     found))
        return 0;
    out[0] = matrix_result(found[0], dtype);
    if (!vectors)
        return out[0] != NULL;
    out[1] = matrix_result(planes_join(found[1], false, true), dtype);
    return out[0] && out[1] ? 2 : 0;
}

/* ---- singular values ---- */

/* The identity in the shape of a stack of matrices. */
static ig_array *identity(const ig_array *x, int64_t n, ig_dtype dtype)
{
    ends room;
    ig_array *one = ig_eye(n, n, 0, real_dtype(dtype));
    one = real_dtype(dtype) == dtype ? one : complex_cast(one, dtype);
    return ig_broadcast_to(one, shape_with(x, 2, (int64_t[]){n, n}, &room));
}

int matrix_svd(ig_array *x, bool full, bool vectors, ig_array **out)
{
    const int64_t rows = rows_of(x), columns = columns_of(x);
    const bool wide = rows < columns;
    const int64_t n = wide ? rows : columns, m = wide ? columns : rows,
                  k = !vectors ? 0
                      : full   ? m
                               : n;
    const ig_dtype dtype = (ig_dtype)x->dtype;
    ig_array *found[3], **s = vectors ? &out[1] : &out[0];
    ends room;
    if (is_empty(x)) {
        *s = ig_zeros(shape_with(x, 1, &n, &room), real_dtype(dtype));
        if (!vectors)
            return *s != NULL;
        ig_array *wanted[2] = {identity(x, full ? rows : n, dtype),
                               identity(x, full ? columns : n, dtype)};
        ends other;
        out[0] = full ? wanted[0]
                      : ig_reshape(wanted[0], shape_with(x, 2, (int64_t[]){rows, n}, &other));
        out[2] = full ? wanted[1]
                      : ig_reshape(wanted[1], shape_with(x, 2, (int64_t[]){n, columns}, &other));
        return out[0] && *s && out[2] ? 3 : 0;
    }
    if (!planes_svd(planes_of(wide ? ig_conj(x) : x, !wide), k, found))
        return 0;
    *s = found[0];
    if (!vectors)
        return 1;
    out[0] = planes_join(found[wide ? 2 : 1], false, true);
    out[2] = planes_join(found[wide ? 1 : 2], true, false);
    return out[0] && out[2] ? 3 : 0;
}

BUILDER(svd)
{
    ig_dtype dtype;
    const bool vectors = op == OP_svd && args[2].u.b;
    ig_array *x = matrix_floats(op, args[0].u.array, false, &dtype);
    const bool full = vectors && args[1].u.b;
    if (!x || (full && matrix_fits(op, x) != IG_OK))
        return 0;
    const int n = matrix_svd(x, full, vectors, out);
    for (int i = 0; i < n; i++)
        if (!(out[i] = matrix_result(out[i], dtype)))
            return 0;
    return n;
}
