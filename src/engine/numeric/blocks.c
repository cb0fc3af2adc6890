/* Factorizations, with checks. */
#include "engine/numeric/factor.h"
#include "engine/numeric/linalg.h"

#include <string.h>

ig_array *triangular_solve(ig_array *a, ig_array *b, bool upper, bool unit)
{
    return !a || !b || matrix_is_empty(b) ? b : factor_substitute(a, b, upper, unit);
}

ig_array *cholesky_lower(ig_array *a)
{
    if (!a || matrix_is_empty(a))
        return a;
    ig_array *l = factor_cholesky(a);
    return l ? linalg_check(l, diagonal_zeros(array_is_complex(l) ? ig_real(l) : l), CHECK_cholesky)
             : NULL;
}

/* No element, but perhaps rows. */
static int lu_empty(ig_array *a, ig_array *out[3])
{
    const int64_t m = matrix_rows(a), n = matrix_columns(a);
    const int ndim = a->view.ndim - 1;
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, a->view.shape, sizeof shape);
    out[0] = a;
    out[2] = ig_broadcast_to(build_cast(build_iota(1, &m), IG_I32), (ig_ints){shape, ndim});
    shape[ndim - 1] = m < n ? m : n;
    out[1] = build_fill(0, IG_I32, ndim, shape);
    return out[1] && out[2] ? 3 : 0;
}

int lu_blocks(ig_array *a, ig_array *out[3])
{
    return !a ? 0 : matrix_is_empty(a) ? lu_empty(a, out) : factor_lu(a, out);
}

ig_array *lu_blocks_solve(ig_array *factors, ig_array *order, ig_array *b, check_row row)
{
    ig_array *x = matrix_reorder(b, order);
    if (!x || matrix_is_empty(x))
        return x;
    ig_array *both[] = {factors, linalg_check(x, diagonal_zeros(factors), row)};
    if (!both[1] || matrix_broadcast(OP_solve, both, 2) != IG_OK)
        return NULL;
    return triangular_fastest(both[0], triangular_fastest(both[0], both[1], false, true), true,
                              false);
}
