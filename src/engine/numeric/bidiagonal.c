/* Singular values of large real matrices: kernels/bidiagonal.cu reduces some columns at a time, and a product of matrices
 * applies them to the rest. Small parts of the bidiagonal matrix are solved by kernels/svd.cu, and kernels/divide_svd.cu
 * joins them, two at a time. */
#include "engine/numeric/panels.h"

enum { DIVIDE_REALS = 9, DIVIDE_INTS = 6, DIVIDE_ROUNDS = 4 };

/* ---- calls ---- */

static library_build panel_build, divide_build;

static const library_kernel panel_kernel = {
    .file = "bidiagonal.cu", .build = panel_build, .writes_all = true, .rounds = true};
static const library_kernel divide_kernel = {
    .file = "divide_svd.cu", .build = divide_build, .writes_all = true, .rounds = true};

/* number: columns. in: a (..., m, n) and its transpose. Results: U and X (..., 2 columns, m), Y and V (..., 2 columns, n),
 * d, e, and scratch memory. */
static int panel_build(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t m = matrix_rows(in[0]), n = matrix_columns(in[0]), columns = number[0];
    library_args c = args_like(in[0], in[0]->view.ndim - 2);
    ARGS_INTS(&c, 4 * columns + 1, c.count, m, n, columns);
    args_arrays(&c, in, 2);
    ARGS_RESULT(&c, 2 * columns, m);
    ARGS_RESULT(&c, 2 * columns, n);
    ARGS_RESULT(&c, columns);
    ARGS_RESULT(&c, columns);
    ARGS_RESULT(&c, 2 * m + 2 * columns + ceil_div(m, PANEL_CHUNK));
    return panels_launch(&panel_kernel, "bidiagonal", &c,
                         c.count * ceil_div(m + 2 * columns, PANEL_ROWS), PANEL_THREADS, number,
                         out);
}

/* number: left. in: w (..., 2, h), z1 and z2 (..., h), link (..., 2). Results: values (..., 2 h), matrices (..., 2 h, 2 h) for
 * the right and left vectors, and scratch memory. */
static int divide_build(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t h = matrix_columns(in[0]), k = 2 * h;
    library_args c = args_like(in[0], in[0]->view.ndim - 2);
    ARGS_INTS(&c, DIVIDE_ROUNDS, c.count, h, number[0]);
    args_arrays(&c, in, 4);
    ARGS_RESULT(&c, k);
    ARGS_RESULT(&c, k, k);
    ARGS_RESULT(&c, k, number[0] ? k : 0);
    ARGS_RESULT(&c, DIVIDE_REALS * k + 2);
    ARGS_RESULT(&c, DIVIDE_INTS * k + 2);
    return panels_launch(&divide_kernel, "divide_svd", &c, c.count * ceil_div(k, DIVIDE_THREADS),
                         DIVIDE_THREADS, number, out);
}

/* ---- to a bidiagonal matrix ---- */

typedef struct reduced {
    reflections left, right;
    ig_array *d[PANELS_MOST], *e[PANELS_MOST];
} reduced;

static bool reduce(ig_array *a, reduced *r)
{
    int64_t m = matrix_rows(a), n = matrix_columns(a);
    r->left = (reflections){.n = m};
    r->right = (reflections){.n = n};
    for (; n > 0; m -= PANEL, n -= PANEL) {
        const int64_t columns = least(PANEL, n), number[LIBRARY_NUMBERS] = {columns};
        ig_array *in[2] = {a, ig_matrix_transpose(a)}, *out[LIBRARY_RESULTS];
        if (!a || !in[1] || !panel_build(number, in, out))
            return false;
        const int p = r->left.panels;
        r->left.v[p] = matrix_part(out[0], 0, columns, 0, m);
        r->right.v[p] = matrix_part(out[1], columns, 2 * columns, 0, n);
        r->d[p] = out[2];
        r->e[p] = out[3];
        r->left.panels = r->right.panels = p + 1;
        if (columns == n)
            break;
        ig_array *ux = matrix_part(out[0], 0, 2 * columns, columns, m);
        ig_array *yv = matrix_part(out[1], 0, 2 * columns, columns, n);
        a = ig_subtract(matrix_part(a, columns, m, columns, n), ig_matmul(matrix_adjoint(ux), yv));
    }
    return true;
}

/* ---- the bidiagonal matrix ---- */

/* x (..., n), then zeros, or the numbers of `rest` (..., 1), up to `padded` elements. */
static ig_array *padded_with(ig_array *x, ig_array *rest, int64_t padded)
{
    if (!x || !rest)
        return NULL;
    ig_array *both[2] = {x, panels_repeated(rest, padded - matrix_columns(x))};
    return ig_concat(both, 2, IG_AXES(-1));
}

/* Pads d and e to `padded` rows, of which the last is not used, with values above all others. */
static bool pad_rows(ig_array **d, ig_array **e, int64_t padded)
{
    ig_array *size = ig_abs(*d), *off = ig_abs(*e), *before = ig_roll(off, AXIS(1), AXIS(-1));
    ig_array *bound = ig_max(ig_add(ig_add(size, off), before), AXIS(-1), true);
    bound =
        ig_where(ig_greater(bound, ig_float(0)), ig_multiply(bound, ig_float(1.0625)), ig_float(1));
    *d = padded_with(*d, bound, padded);
    *e = padded_with(*e, bound ? ig_zeros_like(bound, (ig_dtype)bound->dtype) : NULL, padded);
    return *d && *e;
}

/* Values (..., leaves, leaf), ascending, and right and left vectors (..., leaves, leaf, leaf) of the parts of the matrix. The
 * last value, left vector and right vector are those that divide_svd.cu expects. */
static bool solve_leaves(ig_array *d, ig_array *e, int64_t leaves, int64_t leaf, ig_array **out)
{
    const int64_t lengths[] = {leaves, leaf}, n = leaf - 1;
    d = ig_expand_dims(panels_folded(d, 1, 2, lengths), AXIS(-1));
    e = ig_expand_dims(panels_folded(e, 1, 2, lengths), AXIS(-1));
    ig_array *b = ig_where(ig_eye(leaf, leaf, 0, IG_BOOL), d,
                           ig_where(ig_eye(leaf, leaf, 1, IG_BOOL), e, ig_float(0)));
    ig_array *found[3];
    if (!b || !svd_rows(matrix_part(b, 0, n, 0, leaf), found))
        return false;
    ig_array *one = matrix_eye(b, 1, 1);
    out[0] = ig_concat((ig_array *const[]){ig_flip(found[0], AXIS(-1)),
                                           ig_squeeze(matrix_zeros(b, 1, 1), AXIS(-1))},
                       2, IG_AXES(-1));
    ig_array *right[2] = {ig_flip(matrix_part(found[1], 0, n, 0, leaf), AXIS(-2)),
                          matrix_part(found[1], n, leaf, 0, leaf)};
    out[1] = ig_concat(right, 2, IG_AXES(-2));
    out[2] = matrix_blocks(ig_flip(found[2], AXIS(-2)), NULL, matrix_zeros(b, 1, n), one);
    return out[0] && out[1] && out[2];
}

/* The vectors of joined halves. q (..., 2, h, h): rows are vectors. */
static ig_array *join_vectors(ig_array *s, ig_array *q)
{
    if (!s)
        return NULL;
    const int64_t k = matrix_rows(s), h = k / 2;
    s = panels_folded(s, 2, 3, (int64_t[]){2, h, k});
    ig_array *both = s ? ig_matmul(ig_matrix_transpose(s), q) : NULL;
    return both ? panels_folded(ig_swapaxes(both, -3, -2), 3, 2, (int64_t[]){k, k}) : NULL;
}

/* The same of the first and last components (..., 2, h, 2). */
static ig_array *join_ends(ig_array *s, ig_array *q)
{
    if (!s)
        return NULL;
    const int64_t k = matrix_rows(s), h = k / 2;
    s = panels_folded(s, 2, 3, (int64_t[]){2, h, k});
    ig_array *both = s ? ig_matmul(ig_matrix_transpose(s), q) : NULL;
    ig_array *half[2] = {panels_one(panels_one(both, -3, 0), -1, 0),
                         panels_one(panels_one(both, -3, 1), -1, 1)};
    return half[0] && half[1] ? ig_stack(half, 2, -1) : NULL;
}

/* Joins pairs of parts of h columns: values, right and left vectors, or only the ends of right ones. */
static bool join(ig_array *d, ig_array *e, bool vectors, int64_t padded, int64_t h, ig_array **part)
{
    const int64_t pairs = padded / (2 * h), columns = vectors ? h : 2;
    const int64_t lengths[] = {pairs, 2 * h}, number[LIBRARY_NUMBERS] = {vectors};
    ig_array *link[2] = {panels_one(panels_folded(d, 1, 2, lengths), -1, h - 1),
                         panels_one(panels_folded(e, 1, 2, lengths), -1, h - 1)};
    ig_array *w = panels_folded(part[0], 2, 3, (int64_t[]){pairs, 2, h});
    ig_array *right = panels_folded(part[1], 3, 4, (int64_t[]){pairs, 2, h, columns});
    ig_array *in[] = {w, panels_one(panels_one(right, -3, 0), -1, columns - 1),
                      panels_one(panels_one(right, -3, 1), -1, 0),
                      link[0] && link[1] ? ig_stack(link, 2, -1) : NULL};
    ig_array *out[LIBRARY_RESULTS];
    if (!w || !in[1] || !in[2] || !in[3] || !divide_build(number, in, out))
        return false;
    part[0] = out[0];
    part[1] = vectors ? join_vectors(out[1], right) : join_ends(out[1], right);
    if (vectors)
        part[2] =
            join_vectors(out[2], panels_folded(part[2], 3, 4, (int64_t[]){pairs, 2, h, columns}));
    return part[1] && (part[2] || !vectors);
}

/* Right vectors may share the space of the value 0 with the last column, which only pads. A reflection of the rows moves that
 * column to the last row. */
static ig_array *without_last_column(ig_array *q)
{
    if (!q)
        return NULL;
    const int64_t k = matrix_rows(q);
    ig_array *column = matrix_part(q, 0, k, k - 1, k), *end = matrix_part(q, k - 1, k, k - 1, k);
    ig_array *one = ig_ones_like(end, (ig_dtype)end->dtype);
    ig_array *sign = ig_where(ig_less(end, ig_float(0)), ig_negative(one), one);
    ig_array *place = ig_equal(ig_arange(0, (double)k, 1, IG_I32), ig_int(k - 1));
    ig_array *t = ig_add(column, ig_where(ig_expand_dims(place, AXIS(-1)), sign, ig_float(0)));
    ig_array *half = ig_add(ig_abs(end), ig_float(1));
    return ig_subtract(q, ig_multiply(ig_divide(t, half), ig_matmul(ig_matrix_transpose(t), q)));
}

/* Values (..., n), right and left vectors, as rows (..., n, n), of the matrix with diagonal d and e[i] next to d[i]. */
static bool solve_bidiagonal(ig_array *d, ig_array *e, bool vectors, ig_array **part)
{
    const int64_t n = d->view.shape[d->view.ndim - 1];
    int64_t leaf = n + 1, leaves = 1;
    for (; leaf > LEAF_MOST; leaves *= 2)
        leaf = (leaf + 1) / 2;
    const int64_t padded = leaf * leaves;
    if (!pad_rows(&d, &e, padded) || !solve_leaves(d, e, leaves, leaf, part))
        return false;
    if (!vectors) {
        ig_array *ends[2] = {panels_one(part[1], -1, 0), panels_one(part[1], -1, leaf - 1)};
        part[1] = ig_stack(ends, 2, -1);
    }
    for (int64_t h = leaf; h < padded; h *= 2)
        if (!join(d, e, vectors, padded, h, part))
            return false;
    part[0] = panels_folded(part[0], 2, 2, (int64_t[]){1, padded});
    part[0] = ig_squeeze(matrix_part(part[0], 0, 1, 0, n), AXIS(-2));
    if (!vectors)
        return part[0] != NULL;
    for (int i = 1; i < 3; i++) {
        part[i] = panels_folded(part[i], 3, 2, (int64_t[]){padded, padded});
        part[i] = matrix_part(i == 1 ? without_last_column(part[i]) : part[i], 0, n, 0, n);
    }
    return part[0] && part[1] && part[2];
}

/* Left vectors of the matrix: rows of x (n, n) and, if there are more, unit vectors to be completed. */
static ig_array *left_rows(const reduced *r, ig_array *x, int64_t k, int64_t m)
{
    const int64_t n = x ? matrix_rows(x) : 0;
    if (!x)
        return NULL;
    x = m > n ? ig_concat((ig_array *const[]){x, matrix_zeros(x, n, m - n)}, 2, IG_AXES(-1)) : x;
    if (k > n) {
        ig_array *eye = matrix_eye(x, m, m);
        x = ig_concat((ig_array *const[]){x, matrix_part(eye, n, k, 0, m)}, 2, IG_AXES(-2));
    }
    return panels_apply(&r->left, x);
}

int large_svd(ig_array *a, int64_t k, ig_array **out)
{
    reduced r;
    ig_array *scale[2], *part[3] = {NULL};
    const ig_ints matrix = {(int64_t[]){-2, -1}, 2};
    if (!a || !ig_frexp(ig_max(ig_abs(a), matrix, true), scale))
        return 0;
    const int64_t m = matrix_rows(a), n = matrix_columns(a);
    a = ig_ldexp(a, ig_negative(scale[1]));
    if (!a || !reduce(a, &r))
        return 0;
    ig_array *d = ig_concat(r.d, r.left.panels, IG_AXES(-1)),
             *e = ig_concat(r.e, r.left.panels, IG_AXES(-1));
    if (!d || !e || !solve_bidiagonal(d, e, k > 0, part))
        return 0;
    out[0] = ig_flip(ig_ldexp(ig_abs(part[0]), ig_squeeze(scale[1], AXIS(-1))), AXIS(-1));
    if (!k)
        return out[0] != NULL;
    ig_array *v = panels_apply(&r.right, ig_flip(part[1], AXIS(-2)));
    ig_array *u = left_rows(&r, ig_flip(part[2], AXIS(-2)), k, m), *signs = panels_signs(v);
    if (!u || !signs)
        return 0;
    out[2] = ig_multiply(v, signs);
    if (k > n)
        signs = ig_concat(
            (ig_array *const[]){signs, ig_ones_like(matrix_zeros(v, k - n, 1), (ig_dtype)v->dtype)},
            2, IG_AXES(-2));
    out[1] = ig_multiply(u, signs);
    return out[0] && out[1] && out[2] ? 3 : 0;
}
