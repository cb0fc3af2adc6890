/* Decompositions as nodes: calls of kernels/svd.cu, kernels/eigh.cu and kernels/eig.cu, with gradients. */
#include "engine/numeric/spectral.h"
#include "base/error.h"
#include "base/integer.h"
#include "engine/numeric/override_nodes.h"
#include <string.h>

enum {
    FLOAT_KINDS = 4,
    THREADS_MOST = 256,
    LANES = 8,
    SWEEPS_MOST = 32,
    SWEEPS_FROM = 64,
    PREPARE_FROM = 24
};

/* Scratch memory of kernels/eigh.cu for a matrix. */
static int64_t eigh_room(int64_t n, int64_t sweeps)
{
    return 7 * n + 6 + 2 * sweeps + 2 * sweeps * n;
}

/* ---- calls ---- */

/* 0 to 3: f32, f64, c64, c128. */
static int kind_of(const ig_array *planes)
{
    return (planes->dtype == IG_F64) + 2 * (planes->view.shape[planes->view.ndim - 3] == 2);
}

static library_build svd_build, eigh_build, eig_build;

#define SPECTRAL(name) \
    static const library_kernel name##_kernel = { \
        .file = #name ".cu", .build = name##_build, .own_axes = 3, .writes_all = true}
SPECTRAL(svd);
SPECTRAL(eigh);
SPECTRAL(eig);

static int leading(const ig_array *planes) { return planes->view.ndim - 3; }

static int call_kernel(const library_kernel *kernel, const char *name, const library_args *args,
                       int64_t subwarps, const int64_t *number, ig_array **out)
{
    static const char *const defines[FLOAT_KINDS][4] = {{"REAL=float", "F64=0", "COMPLEX=0"},
                                                        {"REAL=double", "F64=1", "COMPLEX=0"},
                                                        {"REAL=float", "F64=0", "COMPLEX=1"},
                                                        {"REAL=double", "F64=1", "COMPLEX=1"}};
    const int kind = kind_of(args->like);
    int64_t all[LIBRARY_NUMBERS];
    memcpy(all, number, sizeof all);
    all[LIBRARY_COMPLEX] = kind >= 2;
    return args_call(args, kernel, name, defines[kind], args->count,
                     (least(subwarps * LANES, THREADS_MOST) + 31) / 32 * 32, all, out);
}

/* number: k. in: g, w. Results: the rest of g and w, s, u, v and scratch memory. */
static int svd_build(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t *size = in[0]->view.shape + leading(in[0]), planes = size[0], n = size[1],
                  m = size[2];
    const int64_t k = number[0], n_w = in[1]->view.shape[in[1]->view.ndim - 1];
    library_args c = args_like(in[0], leading(in[0]));
    ARGS_INTS(&c, c.count, m, n, k, n_w);
    args_arrays(&c, in, 2);
    ARGS_RESULT(&c, n);
    ARGS_RESULT(&c, planes, k, m);
    ARGS_RESULT(&c, planes, n, n_w);
    ARGS_RESULT(&c, n + m + 2 * k);
    return call_kernel(&svd_kernel, "svd", &c, (n + 1) / 2, number, out);
}

/* number: vectors. in: a. Results: the rest of a, q, w, v and scratch memory. */
static int eigh_build(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t *size = in[0]->view.shape + leading(in[0]), planes = size[0], n = size[1];
    const int64_t sweeps = n < SWEEPS_FROM ? 1 : SWEEPS_MOST, vectors = number[0];
    library_args c = args_like(in[0], leading(in[0]));
    ARGS_INTS(&c, c.count, n, vectors, sweeps);
    args_arrays(&c, in, 1);
    ARGS_RESULT(&c, planes, n, vectors ? n : 0);
    ARGS_RESULT(&c, n);
    ARGS_RESULT(&c, planes, n, vectors ? n : 0);
    ARGS_RESULT(&c, eigh_room(n, sweeps));
    return call_kernel(&eigh_kernel, "eigh", &c, n, number, out);
}

/* number: vectors. in: h. Results: the rest of h, z, x, w, v and scratch memory. */
static int eig_build(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t n = matrix_columns(in[0]), vectors = number[0] ? n : 0;
    library_args c = args_like(in[0], leading(in[0]));
    ARGS_INTS(&c, c.count, n, number[0]);
    args_arrays(&c, in, 1);
    ARGS_RESULT(&c, 2, n, vectors);
    ARGS_RESULT(&c, 2, n, vectors);
    ARGS_RESULT(&c, 2, n);
    ARGS_RESULT(&c, 2, n, vectors);
    ARGS_RESULT(&c, 5 * n);
    return call_kernel(&eig_kernel, "eig", &c, n, number, out);
}

/* ---- checks ---- */

/* x, with a 0 for each matrix subtracted. */
static ig_array *minus_zero(ig_array *x, ig_array *zero)
{
    while (zero && zero->view.ndim < x->view.ndim)
        zero = ig_expand_dims(zero, IG_AXES(-1));
    return ig_subtract(x, zero);
}

/* planes, which fail when they are evaluated if an element is not finite. */
static ig_array *finite_planes(ig_array *planes, check_row row)
{
    const ig_ints matrix = {(int64_t[]){-3, -2, -1}, 3};
    ig_array *bad = planes ? ig_any(ig_logical_not(ig_isfinite(planes)), matrix, false) : NULL;
    ig_array *zero = linalg_zero(ig_expand_dims(bad, IG_AXES(-1)), row,
                                 planes ? (ig_dtype)planes->dtype : IG_F32);
    return zero ? minus_zero(planes, zero) : NULL;
}

/* The results x, which fail if values, a row for each matrix, are NaN: kernels write that if steps do not converge. */
static bool converged(ig_array *values, check_row row, ig_array **x, int n)
{
    ig_array *zero = linalg_zero(ig_isnan(values), row, (ig_dtype)values->dtype);
    for (int i = 0; i < n; i++)
        if (!zero || !(x[i] = minus_zero(x[i], zero)))
            return false;
    return true;
}

int planes_eig(ig_array *h, bool vectors, ig_array **out)
{
    const int64_t number[LIBRARY_NUMBERS] = {vectors};
    ig_array *raw[LIBRARY_RESULTS], *part[2], *checked = finite_planes(h, CHECK_eig_finite);
    if (!checked || !eig_build(number, &checked, raw) || !ig_unstack(raw[3], -2, part, 2) ||
        !converged(part[0], CHECK_eig_steps, raw + 3, 1 + vectors))
        return 0;
    out[0] = raw[3];
    out[1] = raw[4];
    return 1 + vectors;
}

/* ---- gradients ---- */

#define AXIS(i) ((ig_ints){(int64_t[]){i}, 1})

/* d_v = V (F * (V^H d_A V)), where F[i, j] = 1 / (w[j] - w[i]), and 0 where these are equal. */
static ig_array *differences(ig_array *w)
{
    ig_array *d = ig_subtract(ig_expand_dims(w, AXIS(-2)), ig_expand_dims(w, AXIS(-1)));
    ig_array *same = ig_equal(d, ig_float(0));
    return ig_where(same, ig_float(0), ig_reciprocal(ig_where(same, ig_float(1), d)));
}

static ig_array *adjoint(ig_array *x) { return ig_matrix_transpose(ig_conj(x)); }

static ig_status pull_eigenvalues(void *context, ig_array *const *inputs, int n, ig_array *out,
                                  ig_array *g, ig_array **grads)
{
    ig_array *found[2];
    (void)context, (void)n, (void)out;
    if (!planes_eigh(inputs[0], true, found))
        return IG_ERR_ARGUMENT;
    ig_array *v = planes_join(found[1], false, true);
    grads[0] = planes_of(ig_matmul(ig_multiply(v, ig_expand_dims(g, AXIS(-2))), adjoint(v)), false);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

static ig_status pull_eigenvectors(void *context, ig_array *const *inputs, int n, ig_array *out,
                                   ig_array *g, ig_array **grads)
{
    ig_array *found[2];
    (void)context, (void)n, (void)out;
    if (!planes_eigh(inputs[0], true, found))
        return IG_ERR_ARGUMENT;
    ig_array *v = planes_join(found[1], false, true), *gv = planes_join(g, false, true);
    ig_array *middle = ig_multiply(differences(found[0]), ig_matmul(adjoint(v), gv));
    grads[0] = planes_of(ig_matmul(ig_matmul(v, middle), adjoint(v)), false);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

bool eigh_rows(ig_array *a, ig_array *out[2])
{
    const int64_t number[LIBRARY_NUMBERS] = {1};
    ig_array *raw[LIBRARY_RESULTS], *planes = planes_of(a, false);
    if (!planes || !eigh_build(number, &planes, raw))
        return false;
    out[0] = raw[2];
    out[1] = ig_squeeze(raw[3], AXIS(-3));
    return out[1] != NULL;
}

bool eigh_own(ig_array *a, bool vectors, ig_array **out)
{
    const int64_t number[LIBRARY_NUMBERS] = {vectors}, *size = a->view.shape + leading(a);
    ig_array *raw[LIBRARY_RESULTS];
    if (size[0] == 1 && size[1] >= EIGH_LARGE) {
        if (!large_eigh(ig_squeeze(a, AXIS(-3)), vectors, out))
            return false;
        out[1] = vectors ? ig_expand_dims(out[1], AXIS(-3)) : NULL;
        return !vectors || out[1];
    }
    if (!eigh_build(number, &a, raw))
        return false;
    out[0] = raw[2];
    out[1] = raw[3];
    return true;
}

int planes_eigh(ig_array *a, bool vectors, ig_array **out)
{
    ig_array *raw[2], *checked = finite_planes(a, CHECK_eigh_finite);
    if (!checked || (!override_eigh(checked, vectors, raw) && !eigh_own(checked, vectors, raw)) ||
        !raw[0] || !converged(raw[0], CHECK_eigh_steps, raw, 1 + vectors))
        return 0;
    out[0] = ig_custom_grad(raw[0], &a, 1, pull_eigenvalues, NULL, NULL);
    out[1] =
        vectors && out[0] ? ig_custom_grad(raw[1], &a, 1, pull_eigenvectors, NULL, NULL) : NULL;
    return !out[0] || (vectors && !out[1]) ? 0 : 1 + vectors;
}

/* The parts of an SVD, A = U S V^H. */
typedef struct svd_parts {
    ig_array *s, *u, *v;
} svd_parts;

static ig_status svd_again(ig_array *g, svd_parts *p)
{
    ig_array *found[3];
    if (!planes_svd(g, g->view.shape[g->view.ndim - 2], found))
        return IG_ERR_ARGUMENT;
    *p = (svd_parts){found[0], planes_join(found[1], false, true),
                     planes_join(found[2], false, true)};
    return p->u && p->v ? IG_OK : IG_ERR_ARGUMENT;
}

/* U x V^H, as planes. */
static ig_status svd_give(const svd_parts *p, ig_array *x, ig_array **grads)
{
    grads[0] = planes_of(ig_matmul(ig_matmul(p->u, x), adjoint(p->v)), true);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

static ig_array *as_row(ig_array *x) { return ig_expand_dims(x, AXIS(-2)); }
static ig_array *as_column(ig_array *x) { return ig_expand_dims(x, AXIS(-1)); }

/* x + x^H, where x is h times 1 / (s[j]^2 - s[i]^2). */
static ig_array *svd_middle(const svd_parts *p, ig_array *h)
{
    ig_array *sum = ig_add(as_row(p->s), as_column(p->s)), *none = ig_equal(sum, ig_float(0));
    ig_array *f = ig_divide(differences(p->s), ig_where(none, ig_float(1), sum));
    ig_array *x = ig_multiply(f, h);
    return ig_add(x, adjoint(x));
}

static ig_array *inverse_or_zero(ig_array *s)
{
    ig_array *none = ig_equal(s, ig_float(0));
    return ig_where(none, ig_float(0), ig_reciprocal(ig_where(none, ig_float(1), s)));
}

static ig_status pull_singular_values(void *context, ig_array *const *inputs, int n, ig_array *out,
                                      ig_array *g, ig_array **grads)
{
    svd_parts p;
    (void)context, (void)n, (void)out;
    TRY(svd_again(inputs[0], &p));
    p.u = ig_multiply(p.u, as_row(g));
    grads[0] = planes_of(ig_matmul(p.u, adjoint(p.v)), true);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

/* dU = U (F * (P S + S P^H)) + (1 - U U^H) dA V / S + U diag(i im P) / S, where P = U^H dA V and
 * F[i, j] = 1 / (s[j]^2 - s[i]^2). The last term fixes the phase of U where V's is given. */
static ig_status pull_left(void *context, ig_array *const *inputs, int n, ig_array *out,
                           ig_array *g, ig_array **grads)
{
    svd_parts p;
    (void)context, (void)n;
    const int64_t *size = inputs[0]->view.shape + leading(inputs[0]);
    if (out->view.shape[out->view.ndim - 2] != size[1])
        FAIL(IG_ERR_UNSUPPORTED,
             "svd: vectors that only complete a basis have no gradient; use full_matrices=False");
    TRY(svd_again(inputs[0], &p));
    ig_array *gu = planes_join(g, false, true), *h = ig_matmul(adjoint(p.u), gu);
    ig_array *inverse = as_row(inverse_or_zero(p.s));
    ig_array *x = ig_multiply(svd_middle(&p, h), as_row(p.s));
    if (array_is_complex(h)) {
        ig_array *phase = ig_multiply(ig_imag(h), ig_eye(size[1], size[1], 0, (ig_dtype)g->dtype));
        phase = ig_multiply(phase, inverse);
        x = ig_add(x, complex_make((pair){ig_zeros_like(phase, (ig_dtype)g->dtype), phase}));
    }
    ig_array *rest = ig_multiply(ig_subtract(gu, ig_matmul(p.u, h)), inverse);
    ig_array *all = ig_add(ig_matmul(p.u, x), rest);
    grads[0] = planes_of(ig_matmul(all, adjoint(p.v)), true);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

/* dV = V (F * (S P + P^H S)). */
static ig_status pull_right(void *context, ig_array *const *inputs, int n, ig_array *out,
                            ig_array *g, ig_array **grads)
{
    svd_parts p;
    (void)context, (void)n, (void)out;
    TRY(svd_again(inputs[0], &p));
    ig_array *h = ig_matmul(adjoint(p.v), planes_join(g, false, true));
    return svd_give(&p, ig_multiply(svd_middle(&p, h), as_column(p.s)), grads);
}

/* The identity for each matrix of g, as (..., P, n, n_w). */
static ig_array *identities(const ig_array *g, int64_t n_w)
{
    const int64_t *size = g->view.shape + leading(g), n = size[1];
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, g->view.shape, sizeof shape);
    shape[g->view.ndim - 1] = n_w;
    ig_array *one[2] = {ig_eye(n, n_w, 0, (ig_dtype)g->dtype),
                        ig_zeros((ig_ints){(int64_t[]){n, n_w}, 2}, (ig_dtype)g->dtype)};
    return ig_broadcast_to(ig_stack(one, (int)size[0], 0), (ig_ints){shape, g->view.ndim});
}

/* Makes the columns of a large matrix almost orthogonal, by the eigenvectors of A^H A, so that few sweeps are left. in: g
 * and w. The vectors are orthogonal, however inaccurate they are, so the sweeps find the same values. */
static bool svd_prepare(ig_array **in, bool vectors)
{
    const int64_t number[LIBRARY_NUMBERS] = {1};
    ig_array *a = planes_join(in[0], false, true), *raw[LIBRARY_RESULTS];
    ig_array *most = a ? ig_max(ig_abs(a), (ig_ints){(int64_t[]){-2, -1}, 2}, true) : NULL;
    ig_array *x = ig_divide(a, ig_where(ig_equal(most, ig_float(0)), ig_float(1), most));
    ig_array *square = planes_of(ig_matmul(adjoint(x), x), false);
    if (!square || !eigh_build(number, &square, raw))
        return false;
    ig_array *rows = ig_flip(raw[3], AXIS(-2));
    in[0] = planes_of(ig_matmul(a, planes_join(rows, false, true)), true);
    in[1] = vectors ? rows : in[1];
    return in[0] && in[1];
}

bool svd_rows(ig_array *a, ig_array *out[3])
{
    ig_array *raw[LIBRARY_RESULTS], *g = planes_of(a, false);
    if (!g)
        return false;
    const int64_t n = g->view.shape[leading(g) + 1], m = g->view.shape[leading(g) + 2];
    const int64_t number[LIBRARY_NUMBERS] = {m};
    ig_array *in[2] = {g, identities(g, n)};
    if (!in[1] || !svd_build(number, in, raw))
        return false;
    out[0] = raw[2];
    out[1] = ig_squeeze(raw[3], AXIS(-3));
    out[2] = ig_squeeze(raw[4], AXIS(-3));
    return out[1] && out[2];
}

bool svd_own(ig_array *g, int64_t k, ig_array **out)
{
    const int64_t number[LIBRARY_NUMBERS] = {k}, *size = g->view.shape + leading(g), n = size[1];
    ig_array *raw[LIBRARY_RESULTS];
    if (size[0] == 1 && n >= SVD_LARGE) {
        ig_array *a = ig_squeeze(g, AXIS(-3));
        if (!large_svd(a ? ig_matrix_transpose(a) : NULL, k, out))
            return false;
        for (int i = 1; k && i < 3; i++)
            if (!(out[i] = ig_expand_dims(out[i], AXIS(-3))))
                return false;
        return true;
    }
    ig_array *in[2] = {g, identities(g, k ? n : 0)};
    if (!in[1] || (n >= PREPARE_FROM && !svd_prepare(in, k > 0)) || !svd_build(number, in, raw))
        return false;
    for (int i = 0; i < 3; i++)
        out[i] = raw[2 + i];
    return true;
}

/* The same, after checks. */
static bool svd_checked(ig_array *g, int64_t k, ig_array **out)
{
    ig_array *checked = finite_planes(g, CHECK_svd_finite);
    return checked && (override_svd(checked, k, out) || svd_own(checked, k, out)) && out[0] &&
           converged(out[0], CHECK_svd_sweeps, out, k ? 3 : 1);
}

/* The same of a long matrix A = Q R: R has its values, and Q times the left vectors of R are its own. */
static bool svd_long(ig_array *a, int64_t k, ig_array **out)
{
    ig_array *f[2];
    if (ig_qr(a, k ? "reduced" : "r", f, 2) != (k ? 2 : 1) ||
        !svd_checked(planes_of(f[k ? 1 : 0], true), k, out))
        return false;
    if (k)
        out[1] = planes_of(ig_matmul(f[0], planes_join(out[1], false, true)), true);
    return !k || out[1];
}

int planes_svd(ig_array *g, int64_t k, ig_array **out)
{
    ig_array *raw[3], *a = g ? planes_join(g, false, true) : NULL;
    if (!a)
        return 0;
    const bool is_long = qr_is_long(a->view.ndim, matrix_rows(a), matrix_columns(a));
    if (!(is_long && k <= matrix_columns(a) ? svd_long(a, k, raw) : svd_checked(g, k, raw)))
        return 0;
    static const ig_pullback rules[] = {pull_singular_values, pull_left, pull_right};
    for (int i = 0; i < (k ? 3 : 1); i++)
        if (!(out[i] = ig_custom_grad(raw[i], &g, 1, rules[i], NULL, NULL)))
            return 0;
    return k ? 3 : 1;
}
