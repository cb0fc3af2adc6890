/* Reflections and calls of decompositions of large matrices: see panels.h. */
#include "engine/numeric/panels.h"

#include <string.h>

enum { GROUP = 4 }; /* panels whose reflections are applied together */

int panels_launch(const library_kernel *kernel, const char *name, const library_args *args,
                  int64_t blocks, int64_t threads, const int64_t *number, ig_array **out)
{
    static const char *const defines[2][4] = {{"REAL=float", "F64=0", "COMPLEX=0"},
                                              {"REAL=double", "F64=1", "COMPLEX=0"}};
    return args_call(args, kernel, name, defines[args->like->dtype == IG_F64], blocks, threads,
                     number, out);
}

ig_array *panels_repeated(ig_array *x, int64_t n)
{
    int64_t shape[IG_MAX_NDIM];
    if (!x)
        return NULL;
    memcpy(shape, x->view.shape, sizeof shape);
    shape[x->view.ndim - 1] = n;
    return ig_broadcast_to(x, (ig_ints){shape, x->view.ndim});
}

ig_array *panels_folded(ig_array *x, int axes, int n, const int64_t *lengths)
{
    if (!x)
        return NULL;
    const int lead = x->view.ndim - axes;
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape, (size_t)lead * sizeof *shape);
    memcpy(shape + lead, lengths, (size_t)n * sizeof *shape);
    return ig_reshape(x, (ig_ints){shape, lead + n});
}

ig_array *panels_one(ig_array *x, int axis, int64_t at)
{
    int64_t start[IG_MAX_NDIM] = {0}, stop[IG_MAX_NDIM];
    if (!x)
        return NULL;
    const int n = x->view.ndim;
    memcpy(stop, x->view.shape, sizeof stop);
    start[n + axis] = at;
    stop[n + axis] = at + 1;
    x = ig_slice(x, (ig_ints){start, n}, (ig_ints){stop, n}, IG_NONE);
    return ig_squeeze(x, AXIS(axis));
}

ig_array *panels_signs(ig_array *x)
{
    ig_array *at = ig_argmax(ig_abs(x), AXIS(-1), true);
    ig_array *most = ig_take_along_axis(x, at, -1);
    if (!most)
        return NULL;
    ig_array *one = ig_ones_like(most, (ig_dtype)most->dtype);
    return ig_where(ig_less(most, ig_float(0)), ig_negative(one), one);
}

/* The reflections of panels `from` to `to` as I - left right, where rows are multiplied from the left. */
static bool group_of(const reflections *r, int from, int to, ig_array **left, ig_array **right)
{
    ig_array *rows[GROUP];
    for (int p = from; p < to; p++) {
        ig_array *v = r->v[p], *zeros = matrix_zeros(v, matrix_rows(v), (p - from) * PANEL);
        rows[p - from] = p == from ? v : ig_concat((ig_array *const[]){zeros, v}, 2, IG_AXES(-1));
    }
    ig_array *v = ig_concat(rows, to - from, IG_AXES(-2));
    if (!v)
        return false;
    const int64_t k = matrix_rows(v);
    ig_array *eye = matrix_eye(v, k, k), *square = ig_matmul(v, matrix_adjoint(v));
    ig_array *t = triangular_solve(ig_add(eye, ig_triu(square, 1)), eye, true, true);
    *left = matrix_adjoint(v);
    *right = ig_matmul(matrix_adjoint(t), v);
    return *left && *right;
}

ig_array *panels_apply(const reflections *r, ig_array *x)
{
    ig_array *part = NULL, *left, *right;
    int64_t end = r->n;
    for (int p = (r->panels - 1) / GROUP * GROUP; x && p >= 0; p -= GROUP) {
        const int64_t from = (int64_t)p * PANEL, rows = matrix_rows(x);
        ig_array *more = matrix_part(x, 0, rows, from, end);
        part = part ? ig_concat((ig_array *const[]){more, part}, 2, IG_AXES(-1)) : more;
        if (!part || !group_of(r, p, (int)least(p + GROUP, r->panels), &left, &right))
            return NULL;
        part = ig_subtract(part, ig_matmul(ig_matmul(part, left), right));
        end = from;
    }
    return part;
}
