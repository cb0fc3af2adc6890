/* Overrides of linear algebra and transforms: see override_nodes.h and program/override.h. The functions here convert between arrays
 * and the layout of a library. Triangles, checks and scales are ops, which are fused with what follows. */
#include "engine/numeric/override_nodes.h"

#include "engine/numeric/factor.h"
#include "engine/numeric/fft_lines.h"
#include "engine/numeric/spectral.h"
#include "engine/ops/native.h"
#include "engine/program/override.h"

#include <math.h>
#include <string.h>

/* ---- nodes ---- */

typedef struct results {
    native_shape of[NATIVE_RESULTS];
    int64_t shape[NATIVE_RESULTS][IG_MAX_NDIM + 3];
    int n;
} results;

/* Axes of the inputs after the stacks. */
static int own_axes(const node_native *n)
{
    return n->kind == NATIVE_FFT           ? 3
           : n->kind == NATIVE_FFT_OF_REAL ? 1
           : n->kind == NATIVE_FFT_TO_REAL ? 2
                                           : 2 + (n->number[OVERRIDE_COMPLEX] != 0);
}

/* A result of the stacks of x, then `axes` lengths. */
static void add(results *r, const ig_array *x, int lead, ig_dtype dtype, int axes,
                const int64_t *lengths)
{
    int64_t *shape = r->shape[r->n];
    memcpy(shape, x->view.shape, (size_t)lead * sizeof *shape);
    memcpy(shape + lead, lengths, (size_t)axes * sizeof *shape);
    r->of[r->n++] = (native_shape){dtype, lead + axes, shape, 0};
}

static void list_results(const node_native *n, const ig_array *last, int n_in, results *r)
{
    const int64_t rows = n->number[OVERRIDE_ROWS], columns = n->number[OVERRIDE_COLUMNS];
    const int64_t width = n->number[OVERRIDE_WIDTH], least = rows < columns ? rows : columns;
    const int lead = last->view.ndim - own_axes(n), matrix = 2 + (n->number[OVERRIDE_COMPLEX] != 0);
    r->n = 0;
    add(r, last, last->view.ndim, n->dtype, 0, last->view.shape);
    r->of[0].from = n_in;
    switch (n->kind) {
    case NATIVE_CHOLESKY: add(r, last, lead, IG_I32, 0, (int64_t[]){0}); break;
    case NATIVE_LU: add(r, last, lead, IG_I32, 1, &least); break;
    case NATIVE_QR:
        if (width)
            add(r, last, lead, n->dtype, matrix, (int64_t[]){width, rows, 2});
        break;
    case NATIVE_EIGH:
        add(r, last, lead, n->dtype, 1, &rows);
        add(r, last, lead, IG_I32, 0, (int64_t[]){0});
        break;
    case NATIVE_SVD:
        add(r, last, lead, n->dtype, 1, &columns);
        add(r, last, lead, IG_I32, 0, (int64_t[]){0});
        if (width) {
            add(r, last, lead, n->dtype, matrix, (int64_t[]){width, rows, 2});
            add(r, last, lead, n->dtype, matrix, (int64_t[]){columns, columns, 2});
        }
        break;
    case NATIVE_FFT: r->of[0].from = 0; break;
    case NATIVE_FFT_OF_REAL:
        r->n = 0;
        add(r, last, lead, n->dtype, 2, (int64_t[]){rows / 2 + 1, 2});
        break;
    case NATIVE_FFT_TO_REAL: add(r, last, lead, n->dtype, 1, &rows); break;
    default: break;
    }
}

static int inputs_of(const node_native *n) { return n->kind == NATIVE_TRIANGULAR ? 2 : 1; }

/* Sets the count; true if the device of x, an input, computes the node. */
static bool is_offered(node_native *n, const ig_array *x)
{
    const int lead = x->view.ndim - own_axes(n);
    n->own_axes = own_axes(n);
    n->number[OVERRIDE_COUNT] = 1;
    for (int i = 0; i < lead; i++)
        n->number[OVERRIDE_COUNT] *= x->view.shape[i];
    return native_is_offered(x, n);
}

/* Returns the number of results, 0 on failure. */
static int build(const node_native *n, ig_array *const *in, ig_array **out)
{
    const int n_in = inputs_of(n);
    results r;
    list_results(n, in[n_in - 1], n_in, &r);
    return native_apply(n, in, n_in, r.of, r.n, NULL, out) == IG_OK ? r.n : 0;
}

static int build_batched(const node_native *n, ig_array *const *in, ig_array **out)
{
    node_native more = *n;
    results r;
    if (is_offered(&more, in[0]))
        return build(&more, in, out);
    list_results(n, in[inputs_of(n) - 1], inputs_of(n), &r);
    for (int i = 0; i < r.n; i++)
        if (!(out[i] = n->define(n, in, i)))
            return 0;
    return r.n;
}

static ig_array *define(const node_native *n, ig_array *const *in, int i);

/* A node of x, an array of real or complex matrices of rows x columns. False if own code should run. */
static bool begin(node_native *n, native_kind kind, const ig_array *x, int64_t rows,
                  int64_t columns)
{
    const ig_dtype dtype = (ig_dtype)x->dtype;
    const bool z = dtype_is_complex(dtype);
    *n = (node_native){.kind = kind,
                       .dtype = z ? dtype_part(dtype) : dtype,
                       .many = kind < NATIVE_FFT,
                       .define = define,
                       .batched = build_batched};
    n->number[OVERRIDE_ROWS] = rows;
    n->number[OVERRIDE_COLUMNS] = columns;
    n->number[OVERRIDE_COMPLEX] = z;
    return override_wished() != OVERRIDE_NONE && view_size(&x->view) > 0 &&
           (n->dtype == IG_F32 || n->dtype == IG_F64);
}

/* ---- layouts ---- */

static ig_array *elements(ig_array *x) { return array_is_complex(x) ? complex_pairs(x) : x; }

static ig_array *of_elements(ig_array *x, bool z) { return z ? complex_of_pairs(x) : x; }

/* True if the elements of a column are closer to each other than the elements of a row. */
static bool is_turned(ig_array *x)
{
    const view *v = &(array_is_complex(x) ? complex_parts(x).re : x)->view;
    const int last = v->ndim - 1;
    return v->shape[last] > 1 && v->shape[last - 1] > 1 && v->stride[last - 1] < v->stride[last];
}

static ig_array *conj_of(ig_array *x) { return array_is_complex(x) ? ig_conj(x) : x; }

/* x, or 0 where it is not finite: the checks have found that, but a device may still run the node. */
static ig_array *without_infinite(ig_array *x)
{
    return x ? ig_where(ig_isfinite(x), x, build_scalar(0, (ig_dtype)x->dtype)) : NULL;
}

/* values, or NaN for matrices with an info. */
static ig_array *with_info(ig_array *values, ig_array *info)
{
    ig_array *failed = ig_not_equal(info, build_scalar_int(0, IG_I32));
    return ig_where(ig_expand_dims(failed, IG_AXES(-1)), build_scalar(NAN, (ig_dtype)values->dtype),
                    values);
}

/* ---- ops ---- */

bool override_cholesky(ig_array *a, ig_array **l)
{
    node_native n;
    ig_array *out[NATIVE_RESULTS], *in;
    const int64_t rows = matrix_rows(a);
    if (!begin(&n, NATIVE_CHOLESKY, a, rows, rows) ||
        !is_offered(&n, in = elements(ig_matrix_transpose(a))))
        return false;
    *l = NULL;
    if (!build(&n, &in, out))
        return true;
    ig_array *whole = ig_matrix_transpose(of_elements(out[0], n.number[OVERRIDE_COMPLEX]));
    ig_array *d = whole ? ig_diagonal(array_is_complex(whole) ? ig_real(whole) : whole, 0) : NULL;
    ig_array *wrong = ig_logical_not(ig_greater(d, build_scalar(0, IG_F32)));
    ig_array *place = ig_add(build_cast(build_iota(1, &rows), IG_I32), build_scalar_int(1, IG_I32));
    ig_array *first = ig_equal(place, ig_expand_dims(out[1], IG_AXES(-1)));
    *l = linalg_check(ig_tril(whole, 0), ig_logical_or(wrong, first), CHECK_cholesky);
    return true;
}

bool override_lu(ig_array *a, bool ordered, ig_array *out[3])
{
    node_native n;
    ig_array *made[NATIVE_RESULTS], *in;
    if (!begin(&n, NATIVE_LU, a, matrix_rows(a), matrix_columns(a)) ||
        !is_offered(&n, in = elements(ig_matrix_transpose(a))))
        return false;
    out[0] = out[1] = out[2] = NULL;
    if (!build(&n, &in, made))
        return true;
    out[0] = ig_matrix_transpose(of_elements(made[0], n.number[OVERRIDE_COMPLEX]));
    out[1] = ig_subtract(made[1], build_scalar_int(1, IG_I32));
    out[2] = ordered ? factor_order(out[1], matrix_rows(a)) : NULL;
    return true;
}

bool override_triangular(ig_array *a, ig_array *b, bool upper, bool unit, ig_array **x)
{
    node_native n;
    ig_array *out[NATIVE_RESULTS], *in[2];
    if (a->dtype != b->dtype || !begin(&n, NATIVE_TRIANGULAR, b, matrix_rows(b), matrix_columns(b)))
        return false;
    n.number[OVERRIDE_UPPER] = upper;
    n.number[OVERRIDE_UNIT] = unit;
    n.number[OVERRIDE_TURNED] = is_turned(a);
    in[0] = elements(n.number[OVERRIDE_TURNED] ? ig_matrix_transpose(a) : a);
    in[1] = elements(b);
    if (!in[0] || !in[1] || !is_offered(&n, in[0]))
        return false;
    *x = build(&n, in, out) ? of_elements(out[0], n.number[OVERRIDE_COMPLEX]) : NULL;
    return true;
}

int lu_fastest(ig_array *a, ig_array *out[3], bool ordered)
{
    if (a && override_lu(a, ordered, out))
        return out[0] && out[1] && (out[2] || !ordered) ? 3 : 0;
    return lu_blocks(a, out);
}

ig_array *triangular_fastest(ig_array *a, ig_array *b, bool upper, bool unit)
{
    ig_array *x;
    return a && b && override_triangular(a, b, upper, unit, &x)
               ? x
               : triangular_solve(a, b, upper, unit);
}

bool override_qr(ig_array *a, int64_t width, ig_array **q, ig_array **r)
{
    node_native n;
    ig_array *out[NATIVE_RESULTS], *in;
    const int64_t columns = matrix_columns(a);
    if (!begin(&n, NATIVE_QR, a, matrix_rows(a), columns))
        return false;
    n.number[OVERRIDE_WIDTH] = width;
    const bool z = n.number[OVERRIDE_COMPLEX];
    in = elements(ig_matrix_transpose(a));
    if (!in || !is_offered(&n, in))
        return false;
    *q = *r = NULL;
    if (!build(&n, &in, out))
        return true;
    ig_array *whole = ig_matrix_transpose(of_elements(out[0], z));
    *r = ig_triu(matrix_part(whole, 0, columns, 0, columns), 0);
    *q = width ? ig_matrix_transpose(of_elements(out[1], z)) : NULL;
    return true;
}

bool override_eigh(ig_array *planes, bool vectors, ig_array *out[2])
{
    node_native n;
    ig_array *made[NATIVE_RESULTS], *a = planes_join(planes, false, false), *in;
    if (!a || !begin(&n, NATIVE_EIGH, a, matrix_rows(a), matrix_rows(a)))
        return false;
    n.number[OVERRIDE_WIDTH] = vectors;
    if (!(in = elements(a)) || !is_offered(&n, in))
        return false;
    out[0] = out[1] = NULL;
    in = without_infinite(in);
    if (!in || !build(&n, &in, made))
        return true;
    out[0] = with_info(made[1], made[2]);
    if (vectors) /* of the transposed matrix, which is the conjugate one */
        out[1] = planes_of(conj_of(of_elements(made[0], n.number[OVERRIDE_COMPLEX])), false);
    return true;
}

bool override_svd(ig_array *planes, int64_t k, ig_array *out[3])
{
    node_native n;
    ig_array *made[NATIVE_RESULTS], *a = planes_join(planes, false, false), *in;
    if (!a || !begin(&n, NATIVE_SVD, a, matrix_columns(a), matrix_rows(a)))
        return false;
    n.number[OVERRIDE_WIDTH] = k;
    const bool z = n.number[OVERRIDE_COMPLEX];
    if (!(in = elements(a)) || !is_offered(&n, in))
        return false;
    out[0] = out[1] = out[2] = NULL;
    in = without_infinite(in);
    if (!in || !build(&n, &in, made))
        return true;
    out[0] = with_info(made[1], made[2]);
    if (k) {
        out[1] = planes_of(of_elements(made[3], z), false);
        out[2] = planes_of(conj_of(of_elements(made[4], z)), true);
    }
    return true;
}

bool override_fft(ig_array *pairs, bool backward, ig_array **y)
{
    node_native n;
    if (!begin(&n, NATIVE_FFT, pairs, pairs->view.shape[1], pairs->view.shape[2]))
        return false;
    n.number[OVERRIDE_UPPER] = backward;
    if (!is_offered(&n, pairs))
        return false;
    if (!build(&n, &pairs, y))
        *y = NULL;
    return true;
}

bool override_fft_of_real(ig_array *x, ig_array **pairs)
{
    node_native n;
    if (!begin(&n, NATIVE_FFT_OF_REAL, x, x->view.shape[x->view.ndim - 1], 1) || !is_offered(&n, x))
        return false;
    if (!build(&n, &x, pairs))
        *pairs = NULL;
    return true;
}

/* The imaginary parts that belong to themselves are 0: libraries may read them. */
static ig_array *without_ends(ig_array *pairs, int64_t n)
{
    const int64_t points = n / 2 + 1, shape[2] = {points, 2};
    ig_array *at = build_iota(2, shape); /* odd: imaginary parts */
    ig_array *end = ig_equal(at, build_scalar_int(1, IG_I64));
    if (n % 2 == 0)
        end = ig_logical_or(end, ig_equal(at, build_scalar_int(2 * points - 1, IG_I64)));
    return ig_where(end, build_scalar(0, (ig_dtype)pairs->dtype), pairs);
}

bool override_fft_to_real(ig_array *pairs, int64_t n, ig_array **y)
{
    node_native what;
    ig_array *made[NATIVE_RESULTS];
    if (!begin(&what, NATIVE_FFT_TO_REAL, pairs, n, 1) || !is_offered(&what, pairs))
        return false;
    ig_array *in = without_ends(pairs, n);
    *y = in && build(&what, &in, made) ? made[1] : NULL;
    return true;
}

/* ---- definitions ---- */

static ig_array *no_info(ig_array *const *in, int axes)
{
    return build_fill(0, IG_I32, in[0]->view.ndim - axes, in[0]->view.shape);
}

static ig_array *define_cholesky(const node_native *n, ig_array *const *in, int i)
{
    ig_array *a = ig_matrix_transpose(of_elements(in[0], n->number[OVERRIDE_COMPLEX]));
    if (i)
        return no_info(in, own_axes(n));
    return elements(ig_matrix_transpose(ig_add(ig_tril(cholesky_lower(a), 0), ig_triu(a, 1))));
}

static ig_array *define_lu(const node_native *n, ig_array *const *in, int i)
{
    ig_array *f[3];
    if (!lu_blocks(ig_matrix_transpose(of_elements(in[0], n->number[OVERRIDE_COMPLEX])), f))
        return NULL;
    return i ? ig_add(f[1], build_scalar_int(1, IG_I32)) : elements(ig_matrix_transpose(f[0]));
}

static ig_array *define_triangular(const node_native *n, ig_array *const *in, int i)
{
    const bool z = n->number[OVERRIDE_COMPLEX];
    ig_array *a = of_elements(in[0], z);
    (void)i;
    return elements(triangular_solve(n->number[OVERRIDE_TURNED] ? ig_matrix_transpose(a) : a,
                                     of_elements(in[1], z), n->number[OVERRIDE_UPPER],
                                     n->number[OVERRIDE_UNIT]));
}

static ig_array *define_qr(const node_native *n, ig_array *const *in, int i)
{
    const int64_t rows = n->number[OVERRIDE_ROWS], columns = n->number[OVERRIDE_COLUMNS];
    ig_array *a = ig_matrix_transpose(of_elements(in[0], n->number[OVERRIDE_COMPLEX])), *q, *r;
    if (!a || !qr_own(a, n->number[OVERRIDE_WIDTH], &q, &r))
        return NULL;
    if (!i && rows > columns)
        r = matrix_above(r, matrix_zeros(a, rows - columns, columns));
    return elements(ig_matrix_transpose(i ? q : r));
}

static ig_array *define_eigh(const node_native *n, ig_array *const *in, int i)
{
    ig_array *a = of_elements(in[0], n->number[OVERRIDE_COMPLEX]), *out[2];
    const bool vectors = n->number[OVERRIDE_WIDTH];
    if (i == 2)
        return no_info(in, own_axes(n));
    if (i == 0 && !vectors)
        return in[0];
    ig_array *planes = planes_of(a, false);
    if (!planes || !eigh_own(planes, vectors, out))
        return NULL;
    return i ? out[0] : elements(conj_of(planes_join(out[1], false, false)));
}

static ig_array *define_svd(const node_native *n, ig_array *const *in, int i)
{
    ig_array *a = of_elements(in[0], n->number[OVERRIDE_COMPLEX]), *out[3];
    if (i == 2)
        return no_info(in, own_axes(n));
    if (i == 0)
        return in[0];
    ig_array *planes = planes_of(a, false);
    if (!planes || !svd_own(planes, n->number[OVERRIDE_WIDTH], out))
        return NULL;
    return i == 1   ? out[0]
           : i == 3 ? elements(planes_join(out[1], false, false))
                    : elements(conj_of(planes_join(out[2], false, true)));
}

static ig_array *define_fft(const node_native *n, ig_array *const *in, int i)
{
    ig_array *x = in[0];
    if (n->kind == NATIVE_FFT)
        return fft_values(x, x->view.ndim - 3, n->number[OVERRIDE_UPPER], 1, true);
    if (n->kind == NATIVE_FFT_OF_REAL)
        return fft_values_of_real(x, 1, true);
    return i ? fft_values_to_real(x, n->number[OVERRIDE_ROWS], 1, true) : x;
}

static ig_array *define(const node_native *n, ig_array *const *in, int i)
{
    static ig_array *(*const by_kind[NATIVE_KINDS])(const node_native *n, ig_array *const *in,
                                                    int i) = {[NATIVE_CHOLESKY] = define_cholesky,
                                                              [NATIVE_LU] = define_lu,
                                                              [NATIVE_TRIANGULAR] =
                                                                  define_triangular,
                                                              [NATIVE_QR] = define_qr,
                                                              [NATIVE_EIGH] = define_eigh,
                                                              [NATIVE_SVD] = define_svd,
                                                              [NATIVE_FFT] = define_fft,
                                                              [NATIVE_FFT_OF_REAL] = define_fft,
                                                              [NATIVE_FFT_TO_REAL] = define_fft};
    return by_kind[n->kind](n, in, i);
}
