/* Eigenvalues of large symmetric matrices: kernels/tridiagonal.cu reduces some columns at a time, and a product of matrices
 * applies them to the rest. Small parts of the tridiagonal matrix are solved by kernels/eigh.cu, and kernels/divide.cu
 * joins them, two at a time. Most of the work is in products. */
#include "engine/numeric/panels.h"

#include <string.h>

enum { DIVIDE_REALS = 9, DIVIDE_INTS = 6, DIVIDE_ROUNDS = 4 };

/* ---- calls ---- */

static library_build panel_build, divide_build;

static const library_kernel panel_kernel = {
    .file = "tridiagonal.cu", .build = panel_build, .writes_all = true, .rounds = true};
static const library_kernel divide_kernel = {
    .file = "divide.cu", .build = divide_build, .writes_all = true, .rounds = true};

/* number: columns. in: a (..., m, m). Results: V, W and V (..., 3 columns, m), d, e, and scratch memory. */
static int panel_build(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t m = matrix_rows(in[0]), columns = number[0], chunks = ceil_div(m, PANEL_CHUNK);
    library_args c = args_like(in[0], in[0]->view.ndim - 2);
    ARGS_INTS(&c, 3 * columns + 1, c.count, m, columns);
    args_arrays(&c, in, 1);
    ARGS_RESULT(&c, 3 * columns, m);
    ARGS_RESULT(&c, columns);
    ARGS_RESULT(&c, columns);
    ARGS_RESULT(&c, 3 * m + 2 * columns + 2 * chunks);
    return panels_launch(&panel_kernel, "tridiagonal", &c,
                         c.count * ceil_div(m + 2 * columns, PANEL_ROWS), PANEL_THREADS, number,
                         out);
}

/* in: w (..., 2, h), z1 and z2 (..., h), rho (..., 1). Results: values (..., 2 h), s (..., 2 h, 2 h), scratch memory. */
static int divide_build(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t h = matrix_columns(in[0]), k = 2 * h;
    library_args c = args_like(in[0], in[0]->view.ndim - 2);
    ARGS_INTS(&c, DIVIDE_ROUNDS, c.count, h);
    args_arrays(&c, in, 4);
    ARGS_RESULT(&c, k);
    ARGS_RESULT(&c, k, k);
    ARGS_RESULT(&c, DIVIDE_REALS * k);
    ARGS_RESULT(&c, DIVIDE_INTS * k + 2);
    return panels_launch(&divide_kernel, "divide", &c, c.count * ceil_div(k, DIVIDE_THREADS),
                         DIVIDE_THREADS, number, out);
}

/* ---- to a tridiagonal matrix ---- */

/* The panels of a matrix: V of each, d and e. */
typedef struct reduced {
    reflections by;
    ig_array *d[PANELS_MOST], *e[PANELS_MOST];
} reduced;

static bool reduce(ig_array *a, reduced *r)
{
    const int64_t n = matrix_rows(a);
    r->by = (reflections){.n = n};
    for (int64_t m = n; m > 0; m -= PANEL) {
        const int64_t columns = least(PANEL, m), number[LIBRARY_NUMBERS] = {columns};
        ig_array *out[LIBRARY_RESULTS];
        if (!a || !panel_build(number, &a, out))
            return false;
        r->by.v[r->by.panels] = matrix_part(out[0], 0, columns, 0, m);
        r->d[r->by.panels] = out[1];
        r->e[r->by.panels++] = out[2];
        if (columns == m)
            break;
        ig_array *left = matrix_part(out[0], 0, 2 * columns, columns, m);
        ig_array *right = matrix_part(out[0], columns, 3 * columns, columns, m);
        a = ig_subtract(matrix_part(a, columns, m, columns, m),
                        ig_matmul(matrix_adjoint(left), right));
    }
    return true;
}

/* ---- the tridiagonal matrix ---- */

/* d and e, padded to `padded` rows with values above all others. */
static bool pad_rows(ig_array **d, ig_array **e, int64_t padded)
{
    const int64_t n = matrix_columns(*d);
    ig_array *size = ig_abs(*e), *before = ig_roll(size, AXIS(1), AXIS(-1));
    ig_array *bound = ig_max(ig_add(ig_add(ig_abs(*d), size), before), AXIS(-1), true);
    bound =
        ig_where(ig_greater(bound, ig_float(0)), ig_multiply(bound, ig_float(1.0625)), ig_float(1));
    if (padded == n)
        return bound != NULL;
    ig_array *rest = panels_repeated(bound, padded - n);
    *d = ig_concat((ig_array *const[]){*d, rest}, 2, IG_AXES(-1));
    *e = ig_concat((ig_array *const[]){*e, ig_zeros_like(rest, (ig_dtype)rest->dtype)}, 2,
                   IG_AXES(-1));
    return *d && *e;
}

/* The blocks (..., leaves, leaf, leaf) on the diagonal, less the links between them. */
static ig_array *leaves_of(ig_array *d, ig_array *e, int64_t leaves, int64_t leaf)
{
    const int64_t lengths[] = {leaves, leaf};
    ig_array *links = ig_where(
        ig_equal(ig_remainder(ig_arange(0, (double)(leaves * leaf), 1, IG_I32), ig_int(leaf)),
                 ig_int(leaf - 1)),
        ig_abs(e), ig_float(0));
    d = ig_subtract(ig_subtract(d, links), ig_roll(links, AXIS(1), AXIS(-1)));
    d = ig_expand_dims(panels_folded(d, 1, 2, lengths), AXIS(-1));
    e = panels_folded(e, 1, 2, lengths);
    ig_array *middle = ig_eye(leaf, leaf, 0, IG_BOOL), *above = ig_eye(leaf, leaf, 1, IG_BOOL),
             *below = ig_eye(leaf, leaf, -1, IG_BOOL);
    ig_array *off = ig_where(above, ig_expand_dims(e, AXIS(-1)),
                             ig_where(below, ig_expand_dims(e, AXIS(-2)), ig_float(0)));
    return ig_where(middle, d, off);
}

/* The vectors of joined halves. q (..., 2, h, c): rows are vectors, or only their first and last components. */
static ig_array *join_vectors(ig_array *s, ig_array *q, bool vectors)
{
    const int64_t k = matrix_rows(s), h = k / 2;
    s = panels_folded(s, 2, 3, (int64_t[]){2, h, k});
    ig_array *both = s ? ig_matmul(ig_matrix_transpose(s), q) : NULL;
    if (!both)
        return NULL;
    if (!vectors) {
        ig_array *half[2] = {panels_one(panels_one(both, -3, 0), -1, 0),
                             panels_one(panels_one(both, -3, 1), -1, 1)};
        return ig_stack(half, 2, -1);
    }
    return panels_folded(ig_swapaxes(both, -3, -2), 3, 2, (int64_t[]){k, k});
}

/* Values (..., n) and vectors, as rows (..., n, n), of the tridiagonal matrix with diagonal d; e[i] is next to d[i]. */
static bool solve_tridiagonal(ig_array *d, ig_array *e, bool vectors, ig_array **values,
                              ig_array **rows)
{
    const int64_t n = d->view.shape[d->view.ndim - 1];
    int64_t leaf = n, leaves = 1;
    for (; leaf > LEAF_MOST; leaves *= 2)
        leaf = (leaf + 1) / 2;
    const int64_t padded = leaf * leaves;
    if (!pad_rows(&d, &e, padded))
        return false;
    ig_array *found[2], *w, *q;
    if (!eigh_rows(leaves_of(d, e, leaves, leaf), found))
        return false;
    w = found[0];
    q = vectors ? found[1]
                : ig_stack((ig_array *const[]){panels_one(found[1], -1, 0),
                                               panels_one(found[1], -1, leaf - 1)},
                           2, -1);
    for (int64_t h = leaf; h < padded; h *= 2) {
        const int64_t pairs = padded / (2 * h), columns = vectors ? h : 2;
        ig_array *link = panels_one(panels_folded(e, 1, 2, (int64_t[]){pairs, 2 * h}), -1, h - 1);
        w = panels_folded(w, 2, 3, (int64_t[]){pairs, 2, h});
        q = panels_folded(q, 3, 4, (int64_t[]){pairs, 2, h, columns});
        if (!w || !q || !link)
            return false;
        ig_array *in[] = {w, panels_one(panels_one(q, -3, 0), -1, columns - 1),
                          panels_one(panels_one(q, -3, 1), -1, 0), ig_expand_dims(link, AXIS(-1))};
        ig_array *out[LIBRARY_RESULTS];
        if (!in[1] || !in[2] || !in[3] || !divide_build((int64_t[LIBRARY_NUMBERS]){0}, in, out))
            return false;
        w = out[0];
        q = join_vectors(out[1], q, vectors);
    }
    w = panels_folded(w, 2, 1, &padded);
    *values = w ? matrix_part(ig_expand_dims(w, AXIS(-2)), 0, 1, 0, n) : NULL;
    *values = ig_squeeze(*values, IG_AXES(-2));
    q = vectors ? panels_folded(q, 3, 2, (int64_t[]){padded, padded}) : NULL;
    *rows = q ? matrix_part(q, 0, n, 0, n) : NULL;
    return *values && (*rows || !vectors);
}

int large_eigh(ig_array *a, bool vectors, ig_array **out)
{
    reduced r;
    ig_array *scale[2], *rows;
    const ig_ints matrix = {(int64_t[]){-2, -1}, 2};
    if (!a || !ig_frexp(ig_max(ig_abs(a), matrix, true), scale))
        return 0;
    a = ig_ldexp(a, ig_negative(scale[1]));
    if (!a || !reduce(a, &r))
        return 0;
    ig_array *d = ig_concat(r.d, r.by.panels, IG_AXES(-1)),
             *e = ig_concat(r.e, r.by.panels, IG_AXES(-1));
    if (!d || !e || !solve_tridiagonal(d, e, vectors, &out[0], &rows))
        return 0;
    out[0] = ig_ldexp(out[0], ig_squeeze(scale[1], IG_AXES(-1)));
    rows = vectors ? panels_apply(&r.by, rows) : NULL;
    out[1] = rows ? ig_multiply(rows, panels_signs(rows)) : NULL;
    return !out[0] || (vectors && !out[1]) ? 0 : 1 + vectors;
}
