/* Factorizations, with checks. On the CPU a node of the library computes a whole matrix by blocks (factor.h). Elsewhere
 * large matrices are cut in halves, so that most work is in products. Products of real numbers in math mode `same`, and
 * the CPU always, subtract one product after the other from an element, so both give the same bits. */
#include "engine/numeric/factor.h"
#include "engine/numeric/linalg.h"

#include <string.h>

/* True if one node computes the whole matrix: on the CPU; and for complex matrices where bits must be the CPU's. */
static bool is_whole(const ig_array *a)
{
    const char *device = a->root->device;
    return !device || strcmp(device, "cpu") == 0 ||
           (array_is_complex(a) && ig_math_mode() == IG_MATH_SAME);
}

/* c - a b; down: see factor_less. */
static ig_array *less_product(ig_array *c, ig_array *a, ig_array *b, bool down)
{
    return ig_math_mode() == IG_MATH_SAME ? factor_less(c, a, b, down)
                                          : ig_subtract(c, ig_matmul(a, b));
}

/* The first of two halves of n, a multiple of `block`. */
static int64_t first_half(int64_t n, int64_t block)
{
    const int64_t blocks = (n + block - 1) / block;
    return (blocks + 1) / 2 * block;
}

ig_array *triangular_solve(ig_array *a, ig_array *b, bool upper, bool unit)
{
    if (!a || !b || matrix_is_empty(b))
        return b;
    const int64_t n = matrix_rows(a), columns = matrix_columns(b);
    if (n <= FACTOR_BLOCK || is_whole(a))
        return factor_substitute(a, b, upper, unit);
    const int64_t h = first_half(n, FACTOR_BLOCK);
    ig_array *first = matrix_part(a, 0, h, 0, h), *last = matrix_part(a, h, n, h, n);
    ig_array *b1 = matrix_part(b, 0, h, 0, columns), *b2 = matrix_part(b, h, n, 0, columns);
    if (upper) {
        b2 = triangular_solve(last, b2, upper, unit);
        b1 = triangular_solve(first, less_product(b1, matrix_part(a, 0, h, h, n), b2, true), upper,
                              unit);
    } else {
        b1 = triangular_solve(first, b1, upper, unit);
        b2 = triangular_solve(last, less_product(b2, matrix_part(a, h, n, 0, h), b1, false), upper,
                              unit);
    }
    return matrix_above(b1, b2);
}

ig_array *cholesky_lower(ig_array *a, int64_t first)
{
    if (!a || matrix_is_empty(a))
        return a;
    const int64_t n = matrix_rows(a);
    if (n <= FACTOR_BLOCK || is_whole(a)) {
        ig_array *l = factor_cholesky(a);
        return linalg_check(l, diagonal_zeros(array_is_complex(l) ? ig_real(l) : l), CHECK_cholesky,
                            first);
    }
    const int64_t h = first_half(n, FACTOR_BLOCK);
    ig_array *top = cholesky_lower(matrix_part(a, 0, h, 0, h), first);
    ig_array *left = matrix_adjoint(
        triangular_solve(top, matrix_adjoint(matrix_part(a, h, n, 0, h)), false, false));
    ig_array *rest = less_product(matrix_part(a, h, n, h, n), left, matrix_adjoint(left), false);
    return matrix_blocks(top, NULL, left, cholesky_lower(rest, first + h));
}

/* Columns to the right of a factored panel: their part of U, and the rest. */
static ig_array *rows_of_u(ig_array *factors, ig_array *right, int64_t k)
{
    return triangular_solve(matrix_part(factors, 0, k, 0, k),
                            matrix_part(right, 0, k, 0, matrix_columns(right)), false, true);
}

static ig_array *order_part(ig_array *order, int64_t from, int64_t to)
{
    ig_array *part = matrix_part(ig_expand_dims(order, IG_AXES(-2)), 0, 1, from, to);
    return ig_squeeze(part, IG_AXES(-2));
}

/* More columns than rows: the square part is factored. */
static int lu_wide(ig_array *a, ig_array *out[3])
{
    const int64_t m = matrix_rows(a), n = matrix_columns(a);
    if (!lu_blocks(matrix_part(a, 0, m, 0, m), out))
        return 0;
    ig_array *right = matrix_reorder(matrix_part(a, 0, m, m, n), out[2]);
    out[0] = ig_concat((ig_array *const[]){out[0], rows_of_u(out[0], right, m)}, 2, IG_AXES(-1));
    return out[0] ? 3 : 0;
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
    if (!a)
        return 0;
    if (matrix_is_empty(a))
        return lu_empty(a, out);
    const int64_t m = matrix_rows(a), n = matrix_columns(a);
    if (is_whole(a) || n <= FACTOR_PANEL || (m <= FACTOR_BLOCK && n <= FACTOR_BLOCK))
        return factor_lu(a, out);
    if (n > m)
        return lu_wide(a, out);
    const int64_t h = first_half(n, FACTOR_PANEL);
    ig_array *one[3], *two[3];
    if (!lu_blocks(matrix_part(a, 0, m, 0, h), one))
        return 0;
    ig_array *right = matrix_reorder(matrix_part(a, 0, m, h, n), one[2]);
    ig_array *u = rows_of_u(one[0], right, h), *below = matrix_part(one[0], h, m, 0, h);
    ig_array *rest = less_product(matrix_part(right, h, m, 0, n - h), below, u, false);
    if (!rest || !lu_blocks(rest, two))
        return 0;
    out[0] =
        matrix_blocks(matrix_part(one[0], 0, h, 0, h), u, matrix_reorder(below, two[2]), two[0]);
    ig_array *shifted = ig_add(two[1], build_scalar_int(h, IG_I32));
    out[1] = ig_concat((ig_array *const[]){one[1], shifted}, 2, IG_AXES(-1));
    ig_array *last = ig_take_along_axis(order_part(one[2], h, m), two[2], -1);
    out[2] = ig_concat((ig_array *const[]){order_part(one[2], 0, h), last}, 2, IG_AXES(-1));
    return out[0] && out[1] && out[2] ? 3 : 0;
}

ig_array *lu_blocks_solve(ig_array *factors, ig_array *order, ig_array *b, check_row row)
{
    ig_array *x = matrix_reorder(b, order);
    if (!x || matrix_is_empty(x))
        return x;
    ig_array *both[] = {factors, linalg_check(x, diagonal_zeros(factors), row, 0)};
    if (!both[1] || matrix_broadcast(OP_solve, both, 2) != IG_OK)
        return NULL;
    return triangular_fastest(both[0], triangular_fastest(both[0], both[1], false, true), true,
                              false);
}
