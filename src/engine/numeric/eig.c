/* Builders of eigenvalues of general matrices, which are always complex, and their gradients. */
#include "base/error.h"
#include "engine/numeric/spectral.h"
#include <string.h>

#define AXIS(i) ((ig_ints){(int64_t[]){i}, 1})

static ig_array *adjoint(ig_array *x) { return ig_matrix_transpose(ig_conj(x)); }

static ig_array *join_rows(ig_array *planes)
{
    ig_array *part[2];
    return planes && ig_unstack(planes, -2, part, 2) ? complex_make((pair){part[0], part[1]})
                                                     : NULL;
}

/* ---- gradients ----
 * With A V = V diag(w) and P = V^-1 dA V: dw = diag(P), dV = V C - V diag(V^H V C), where C[i, j] = P[i, j] / (w[j] - w[i]).
 * The second term keeps the lengths and phases of the vectors. */

static int eig_graded(ig_array *h, bool vectors, ig_array **out);

/* V^-H x V^H, as planes. */
static ig_status give(ig_array *v, ig_array *x, ig_array **grads)
{
    ig_array *inverse = ig_pinv(v, ig_float(0));
    grads[0] = planes_of(ig_matmul(ig_matmul(adjoint(inverse), x), adjoint(v)), false);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

static ig_array *diagonal_matrix(ig_array *row)
{
    const int64_t n = row ? row->view.shape[row->view.ndim - 1] : 0;
    return ig_multiply(ig_expand_dims(row, AXIS(-2)),
                       ig_eye(n, n, 0, row->dtype == IG_C128 ? IG_F64 : IG_F32));
}

static ig_status pull_values(void *context, ig_array *const *inputs, int n, ig_array *out,
                             ig_array *g, ig_array **grads)
{
    ig_array *found[2], *x = join_rows(g);
    (void)context, (void)n, (void)out;
    if (!x || !eig_graded(inputs[0], true, found))
        return IG_ERR_ARGUMENT;
    return give(planes_join(found[1], false, true), diagonal_matrix(x), grads);
}

static ig_status pull_vectors(void *context, ig_array *const *inputs, int n, ig_array *out,
                              ig_array *g, ig_array **grads)
{
    ig_array *found[2];
    (void)context, (void)n, (void)out;
    if (!eig_graded(inputs[0], true, found))
        return IG_ERR_ARGUMENT;
    ig_array *w = join_rows(found[0]), *v = planes_join(found[1], false, true);
    ig_array *m = ig_matmul(adjoint(v), planes_join(g, false, true));
    if (!m)
        return IG_ERR_ARGUMENT;
    const int64_t size = m->view.shape[m->view.ndim - 1];
    ig_array *one = ig_eye(size, size, 0, (ig_dtype)g->dtype);
    m = ig_subtract(m, ig_matmul(ig_matmul(adjoint(v), v), ig_multiply(m, one)));
    ig_array *d = ig_subtract(ig_expand_dims(w, AXIS(-2)), ig_expand_dims(w, AXIS(-1)));
    ig_array *same = ig_equal(d, ig_float(0));
    ig_array *f = ig_conj(ig_reciprocal(ig_where(same, ig_float(1), d)));
    return give(v, ig_where(same, ig_float(0), ig_multiply(f, m)), grads);
}

static int eig_graded(ig_array *h, bool vectors, ig_array **out)
{
    ig_array *raw[2];
    if (!planes_eig(h, vectors, raw))
        return 0;
    out[0] = ig_custom_grad(raw[0], &h, 1, pull_values, NULL, NULL);
    out[1] = vectors && out[0] ? ig_custom_grad(raw[1], &h, 1, pull_vectors, NULL, NULL) : NULL;
    return !out[0] || (vectors && !out[1]) ? 0 : 1 + vectors;
}

/* ---- builders ---- */

/* Values and vectors of eig; values of eigvals. */
BUILDER(eig)
{
    ig_dtype dtype;
    const bool vectors = op == OP_eig;
    ig_array *x = matrix_floats(op, args[0].u.array, true, &dtype), *found[2];
    if (!x)
        return 0;
    const ig_dtype complex = x->dtype == IG_F64 || x->dtype == IG_C128 ? IG_C128 : IG_C64;
    x = complex_cast(x, complex);
    if (!x || view_size(&x->view) == 0) {
        ig_array *none = x ? ig_zeros((ig_ints){x->view.shape, x->view.ndim - 1}, IG_F32) : NULL;
        out[0] = none ? complex_cast(none, complex) : NULL;
        out[1] = vectors ? x : NULL;
        return !out[0] ? 0 : 1 + vectors;
    }
    if (!eig_graded(planes_of(x, false), vectors, found))
        return 0;
    out[0] = join_rows(found[0]);
    if (!vectors)
        return out[0] != NULL;
    out[1] = planes_join(found[1], false, true);
    return out[0] && out[1] ? 2 : 0;
}

BUILDER(roots)
{
    ig_array *p = args[0].u.array;
    ig_dtype dtype;
    if (p->view.ndim != 1)
        FAIL_NONE(IG_ERR_SHAPE,
                  "%s: takes the coefficients of one polynomial, a 1-d array, not %d axes",
                  op_rows[op].name, p->view.ndim);
    if (!array_is_complex(p) && composite_floats(op, &p, 1, &dtype) != IG_OK)
        return 0;
    const int64_t n = p->view.shape[0] - 1;
    if (n < 1)
        return op_one(out,
                      complex_cast(ig_zeros(AXIS(0), IG_F32),
                                   p->dtype == IG_F64 || p->dtype == IG_C128 ? IG_C128 : IG_C64));
    ig_array *first = ig_slice(p, AXIS(0), AXIS(1), AXIS(1)),
             *rest = ig_slice(p, AXIS(1), AXIS(n + 1), AXIS(1));
    const ig_dtype real = p->dtype == IG_C64    ? IG_F32
                          : p->dtype == IG_C128 ? IG_F64
                                                : (ig_dtype)p->dtype;
    ig_array *row = ig_expand_dims(ig_divide(ig_negative(rest), first), AXIS(0));
    ig_array *below = ig_eye(n - 1, n, 0, real), *rows[2] = {row, below};
    ig_array *companion = n > 1 ? ig_concat(rows, 2, AXIS(0)) : row;
    companion = linalg_check(companion, ig_equal(first, ig_float(0)), CHECK_roots);
    return op_one(out, ig_eigvals(companion));
}
