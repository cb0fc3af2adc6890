/* QR factorization by Householder's reflections. The product of n of them is I - V T V^H, with T upper triangular. Panels
 * are factored by a kernel (factor.h); the columns to the right follow by products.
 *
 * V and T are made for groups of columns, because for all columns most of T, and half of V, would be products and zeros
 * that Q does not need. Q is the product of all groups with the identity, the last one first: the columns before a group
 * are then still columns of the identity, so the products have half of the size, too.
 *
 * The rows of a long matrix are cut into slabs, whose factors are computed side by side. Their R, one below the other, are
 * factored again; that Q has a part for each slab, which its own Q is multiplied by. The slabs depend on the shape only, so
 * a matrix that does not fit in memory has the same factors: blocks of it are stacks of slabs. */
#include "base/error.h"
#include "engine/numeric/factor.h"
#include "engine/numeric/linalg.h"
#include "engine/numeric/override_nodes.h"

#include <string.h>

enum { GROUP = 4 * FACTOR_PANEL, GROUPS_MOST = 256 };

/* The reflections of a group, and its rows of R from its first column on. */
typedef struct group {
    ig_array *v, *t, *r;
    int64_t at; /* its first row and column */
} group;

typedef struct groups {
    group of[GROUPS_MOST];
    int n;
} groups;

/* out: V, R and T of a matrix with no fewer rows than columns. */
static int qr_blocks(ig_array *a, ig_array *out[3])
{
    if (!a)
        return 0;
    const int64_t m = matrix_rows(a), n = matrix_columns(a);
    if (n <= FACTOR_PANEL)
        return factor_qr(a, out);
    const int64_t h = (n / FACTOR_PANEL + 1) / 2 * FACTOR_PANEL;
    ig_array *one[3], *two[3];
    if (!qr_blocks(matrix_part(a, 0, m, 0, h), one))
        return 0;
    ig_array *right = matrix_part(a, 0, m, h, n);
    ig_array *w = ig_matmul(matrix_adjoint(one[2]), ig_matmul(matrix_adjoint(one[0]), right));
    right = ig_subtract(right, ig_matmul(one[0], w));
    if (!right || !qr_blocks(matrix_part(right, h, m, 0, n - h), two))
        return 0;
    ig_array *below = matrix_above(matrix_zeros(a, h, n - h), two[0]);
    out[0] = below ? ig_concat((ig_array *const[]){one[0], below}, 2, IG_AXES(-1)) : NULL;
    out[1] = matrix_blocks(one[1], matrix_part(right, 0, h, 0, n - h), matrix_zeros(a, n - h, h),
                           two[1]);
    ig_array *across = ig_matmul(matrix_adjoint(matrix_part(one[0], h, m, 0, h)), two[0]);
    across = ig_negative(ig_matmul(one[2], ig_matmul(across, two[2])));
    out[2] = matrix_blocks(one[2], across, matrix_zeros(a, n - h, h), two[2]);
    return out[0] && out[1] && out[2] ? 3 : 0;
}

/* All groups of a matrix with no fewer rows than columns. */
static bool qr_groups(ig_array *a, groups *g)
{
    const int64_t columns = matrix_columns(a);
    const int64_t least = (columns + GROUPS_MOST - 1) / GROUPS_MOST;
    const int64_t wide = (least + GROUP - 1) / GROUP * GROUP;
    g->n = 0;
    for (int64_t at = 0; a && at < columns; at += wide) {
        const int64_t m = matrix_rows(a), n = matrix_columns(a), w = wide < n ? wide : n;
        ig_array *f[3];
        if (!qr_blocks(matrix_part(a, 0, m, 0, w), f))
            return false;
        group *last = &g->of[g->n++];
        *last = (group){f[0], f[2], f[1], at};
        if (w == n)
            break;
        ig_array *right = matrix_part(a, 0, m, w, n);
        ig_array *y = ig_matmul(matrix_adjoint(f[2]), ig_matmul(matrix_adjoint(f[0]), right));
        right = ig_subtract(right, ig_matmul(f[0], y));
        last->r = ig_concat((ig_array *const[]){f[1], matrix_part(right, 0, w, 0, n - w)}, 2,
                            IG_AXES(-1));
        a = matrix_part(right, w, m, 0, n - w);
    }
    return a != NULL;
}

/* The first n columns of Q. */
static ig_array *q_of(const groups *g, int64_t n)
{
    ig_array *q = NULL;
    for (int i = g->n - 1; i >= 0; i--) {
        ig_array *v = g->of[i].v, *below = q;
        if (!v)
            return NULL;
        const int64_t m = matrix_rows(v), w = matrix_columns(v), columns = n - g->of[i].at;
        /* V^H (I, or I and the rows and columns of q after it) */
        ig_array *y = matrix_adjoint(matrix_part(v, 0, below ? w : columns, 0, w));
        ig_array *eye = matrix_eye(v, below ? w : m, below ? w : columns);
        if (below) {
            ig_array *more = ig_matmul(matrix_adjoint(matrix_part(v, w, m, 0, w)), below);
            y = ig_concat((ig_array *const[]){y, more}, 2, IG_AXES(-1));
            eye = matrix_blocks(eye, NULL, matrix_zeros(v, m - w, w), below);
        }
        q = ig_subtract(eye, ig_matmul(v, ig_matmul(g->of[i].t, y)));
        if (!q)
            return NULL;
    }
    return q;
}

static ig_array *r_of(const groups *g)
{
    ig_array *rows[GROUPS_MOST];
    rows[0] = NULL;
    for (int i = 0; i < g->n; i++) {
        ig_array *r = g->of[i].r;
        if (!r)
            return NULL;
        ig_array *zeros = matrix_zeros(r, matrix_rows(r), g->of[i].at);
        rows[i] = i ? ig_concat((ig_array *const[]){zeros, r}, 2, IG_AXES(-1)) : r;
        if (!rows[i])
            return NULL;
    }
    return g->n > 1 ? ig_concat(rows, g->n, IG_AXES(-2)) : rows[0];
}

/* ---- long matrices ---- */

enum { SLAB_LEAST = 1024, SLAB_COLUMNS = 4, SLABS_LEAST = 4 };

/* Rows of a slab: a power of 2. */
static int64_t slab_rows(int64_t columns)
{
    int64_t rows = SLAB_LEAST;
    while (rows < SLAB_COLUMNS * columns)
        rows *= 2;
    return rows;
}

bool qr_is_long(int ndim, int64_t rows, int64_t columns)
{
    return ndim < IG_MAX_NDIM && rows / SLABS_LEAST >= slab_rows(columns);
}

/* Splits the rows of the matrices of x into `count` slabs, as stacks; joins the slabs again if count is 0. */
static ig_array *slabs(ig_array *x, int64_t count)
{
    if (!x)
        return NULL;
    int64_t shape[IG_MAX_NDIM + 1];
    const int lead = x->view.ndim - (count ? 2 : 3), n = lead + (count ? 3 : 2);
    memcpy(shape, x->view.shape, (size_t)lead * sizeof *shape);
    if (count)
        shape[lead] = count;
    shape[n - 2] = count ? matrix_rows(x) / count : matrix_rows(x) * x->view.shape[lead];
    shape[n - 1] = matrix_columns(x);
    return ig_reshape(x, (ig_ints){shape, n});
}

static ig_array *above(ig_array *a, ig_array *b)
{
    return b && matrix_rows(b) ? matrix_above(a, b) : a;
}

/* ---- gradients ---- */

static ig_array *conj_of(ig_array *x) { return array_is_complex(x) ? ig_conj(x) : x; }

/* x r^-H */
static ig_array *divided(ig_array *x, ig_array *r)
{
    return matrix_adjoint(triangular_solve_public(r, matrix_adjoint(x), true, false));
}

/* The same for the rows of a long x, slab by slab. */
static ig_array *divided_long(ig_array *x, ig_array *r)
{
    const int64_t m = matrix_rows(x), n = matrix_columns(x), count = m / slab_rows(n),
                  even = count * slab_rows(n);
    int64_t shape[IG_MAX_NDIM];
    ig_array *top = slabs(matrix_part(x, 0, even, 0, n), count);
    if (!top)
        return NULL;
    memcpy(shape, top->view.shape, sizeof shape);
    shape[top->view.ndim - 2] = n;
    ig_array *each =
        ig_broadcast_to(ig_expand_dims(r, IG_AXES(-3)), (ig_ints){shape, top->view.ndim});
    return above(slabs(divided(top, each), 0),
                 even < m ? divided(matrix_part(x, even, m, 0, n), r) : NULL);
}

/* number: only R is a result; Q is square and has more rows than the matrix has columns. With G = conj(g) and
 * X = triu(GR R^H - Q^H GQ), the gradient is (GQ + Q S) R^-H, conjugated. S is Hermitian: above its diagonal it is X, and
 * on it the real part of X. */
static ig_status pull_qr(ig_array *const *in, const int64_t *number, ig_array *const *g,
                         ig_array **grads)
{
    ig_array *f[2], *gq = number[0] ? NULL : g[0], *gr = number[0] ? g[0] : g[1];
    if (number[1])
        FAIL(IG_ERR_UNSUPPORTED,
             "grad: qr has no derivative in mode 'complete' with more rows than "
             "columns; use mode 'reduced'");
    if (ig_qr(in[0], "reduced", f, 2) != 2)
        return IG_ERR_ARGUMENT;
    ig_array *x = gr ? ig_matmul(conj_of(gr), matrix_adjoint(f[1]))
                     : ig_negative(ig_matmul(matrix_adjoint(f[0]), conj_of(gq)));
    if (gr && gq)
        x = ig_subtract(x, ig_matmul(matrix_adjoint(f[0]), conj_of(gq)));
    ig_array *above = ig_triu(x, 1), *on = ig_subtract(ig_triu(x, 0), above);
    on = ig_multiply(ig_add(on, matrix_adjoint(on)), ig_float(0.5));
    ig_array *s = ig_matmul(f[0], ig_add(ig_add(above, matrix_adjoint(above)), on));
    s = gq ? ig_add(s, conj_of(gq)) : s;
    if (!s)
        return IG_ERR_ARGUMENT;
    s = qr_is_long(s->view.ndim, matrix_rows(s), matrix_columns(s)) ? divided_long(s, f[1])
                                                                    : divided(s, f[1]);
    grads[0] = conj_of(s);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

/* No element, so the factors are an identity and zeros. */
static int qr_empty(ig_array *a, bool complete, ig_array *out[2])
{
    const int64_t m = matrix_rows(a), n = matrix_columns(a), k = complete || m < n ? m : n;
    out[0] = matrix_eye(a, m, k);
    out[1] = matrix_zeros(a, k, n);
    return out[0] && out[1] ? 2 : 0;
}

bool qr_own(ig_array *a, int64_t width, ig_array **q, ig_array **r)
{
    groups g;
    if (!qr_groups(a, &g))
        return false;
    *r = r_of(&g);
    *q = width ? q_of(&g, width) : NULL;
    return *r && (*q || !width);
}

static bool qr_plain(ig_array *a, int64_t width, ig_array **q, ig_array **r)
{
    return override_qr(a, width, q, r) ? *r && (*q || !width) : qr_own(a, width, q, r);
}

static bool qr_reduced(ig_array *a, bool only_r, ig_array **q, ig_array **r);

static bool qr_long(ig_array *a, bool only_r, ig_array **q, ig_array **r)
{
    const int64_t m = matrix_rows(a), n = matrix_columns(a), count = m / slab_rows(n),
                  even = count * slab_rows(n);
    ig_array *q1, *r1, *q2;
    if (!qr_plain(slabs(matrix_part(a, 0, even, 0, n), count), only_r ? 0 : n, &q1, &r1))
        return false;
    ig_array *next = matrix_apart(above(slabs(r1, 0), matrix_part(a, even, m, 0, n)));
    if (!next || !qr_reduced(next, only_r, &q2, r))
        return false;
    if (only_r)
        return true;
    ig_array *each = slabs(matrix_part(q2, 0, count * n, 0, n), count);
    *q = above(slabs(ig_matmul(q1, each), 0), matrix_part(q2, count * n, matrix_rows(q2), 0, n));
    return *q != NULL;
}

/* A GPU's library factors a long matrix in its memory faster than slabs; a CPU's library does not. */
static bool is_for_library(ig_array *a)
{
    const char *device = a->root->device;
    return device && strcmp(device, "cpu") != 0 && !ig_reads_blocks(a);
}

static bool qr_reduced(ig_array *a, bool only_r, ig_array **q, ig_array **r)
{
    const int64_t n = matrix_columns(a), width = only_r ? 0 : n;
    if (!qr_is_long(a->view.ndim, matrix_rows(a), n))
        return qr_plain(a, width, q, r);
    if (is_for_library(a) && override_qr(a, width, q, r))
        return *r && (*q || only_r);
    return qr_long(a, only_r, q, r);
}

/* Q and R of a matrix with no fewer rows than columns. */
static int qr_tall(ig_array *a, bool complete, bool only_r, ig_array *out[2])
{
    const int64_t m = matrix_rows(a), n = matrix_columns(a),
                  number[LINALG_NUMBERS] = {only_r, complete && m > n};
    ig_array *r;
    if (!(number[1] ? qr_plain(a, m, &out[0], &r) : qr_reduced(a, only_r, &out[0], &r)))
        return 0;
    out[0] = only_r ? r : out[0];
    out[1] = number[1] ? matrix_above(r, matrix_zeros(a, m - n, n)) : r;
    if (!out[0] || !out[1])
        return 0;
    const int count = linalg_attach(out, 2 - only_r, &a, 1, pull_qr, number);
    if (only_r)
        out[1] = out[0];
    return count;
}

/* More columns than rows: Q is the Q of the square part. */
static int qr_wide(ig_array *a, ig_array *out[2])
{
    const int64_t m = matrix_rows(a), n = matrix_columns(a);
    if (!qr_tall(matrix_part(a, 0, m, 0, m), false, false, out))
        return 0;
    ig_array *right = ig_matmul(matrix_adjoint(out[0]), matrix_part(a, 0, m, m, n));
    out[1] = right ? ig_concat((ig_array *const[]){out[1], right}, 2, IG_AXES(-1)) : NULL;
    return out[1] ? 2 : 0;
}

BUILDER(qr)
{
    const char *mode = args[1].u.str;
    const bool complete = strcmp(mode, "complete") == 0, only_r = strcmp(mode, "r") == 0;
    ig_array *a = args[0].u.array, *f[2];
    ig_dtype dtype;
    if (!complete && !only_r && strcmp(mode, "reduced") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "qr: the mode is 'reduced', 'complete' or 'r', not '%s'", mode);
    if (linalg_matrix(op, a, false) != IG_OK || linalg_floats(op, &a, 1, &dtype) != IG_OK)
        return 0;
    const int made = matrix_is_empty(a)                   ? qr_empty(a, complete, f)
                     : matrix_rows(a) < matrix_columns(a) ? qr_wide(a, f)
                                                          : qr_tall(a, complete, only_r, f);
    if (!made)
        return 0;
    if (only_r)
        return op_one(out, linalg_round(f[1], dtype));
    out[0] = linalg_round(f[0], dtype);
    out[1] = linalg_round(f[1], dtype);
    return out[0] && out[1] ? 2 : 0;
}
