/* Fourier transforms of real numbers: complex transforms of half the length, and a step between both. See fft_lines.h and
 * kernels/fft_half.cu. */
#include "base/memory.h"
#include "engine/custom/library.h"
#include "engine/numeric/fft_lines.h"
#include "engine/numeric/fft_tables.h"
#include "engine/numeric/override_nodes.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"
#include <string.h>

/* ---- nodes ---- */

enum { N_H, N_SCALE };

static int split_again(const int64_t *number, ig_array *const *in, ig_array **out);
static int merge_again(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel split_kernel = {
    .file = "fft_half.cu", .build = split_again, .writes_all = true};
static const library_kernel merge_kernel = {
    .file = "fft_half.cu", .build = merge_again, .writes_all = true};

static ig_array *half_table(const ig_array *like, int64_t h)
{
    const ig_dtype part = (ig_dtype)like->dtype;
    const int64_t own = 2 * (int64_t)ig_dtype_bytes(part) * h;
    const char *before = array_device_follow(like);
    ig_array *w = fft_table_get(FFT_HALF, 2 * h, 0, part, fft_enough(h, part) + own);
    array_device_set(before);
    return w;
}

/* A node of x, (..., h or h + 1, 2), and the factors of h. */
static ig_array *half_node(ig_array *x, int64_t h, bool merges, double scale)
{
    if (!x)
        return NULL;
    const ig_dtype part = (ig_dtype)x->dtype;
    ig_array *w = half_table(x, h), *y = NULL;
    const int64_t points = merges ? h : h + 1;
    library_args c = args_like(x, x->view.ndim - 2);
    ARGS_ARRAYS(&c, x, w);
    ARGS_RESULT(&c, points, 2);
    ARGS_INTS(&c, c.count, h);
    if (!merges)
        args_float(&c, scale);
    const char *const defines[] = {part == IG_F64 ? "REAL=double" : "REAL=float", NULL};
    int64_t number[LIBRARY_NUMBERS] = {[N_H] = h};
    memcpy(&number[N_SCALE], &scale, sizeof scale);
    if (w)
        y = args_call_one(&c, merges ? &merge_kernel : &split_kernel,
                          merges ? "fft_merge" : "fft_split", defines,
                          (c.count * points + 255) / 256, number);
    ig_release(w);
    return y;
}

static int split_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    double scale;
    memcpy(&scale, &number[N_SCALE], sizeof scale);
    return op_one(out, half_node(in[0], number[N_H], false, scale));
}

static int merge_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    return op_one(out, half_node(in[0], number[N_H], true, 1));
}

/* ---- transforms ---- */

/* x with the last axis, or the axis before the pairs', replaced. */
static ig_array *with_shape(ig_array *x, int cut, const int64_t *last, int n_last)
{
    int64_t shape[IG_MAX_NDIM + 2];
    if (!x)
        return NULL;
    const int ndim = x->view.ndim - cut;
    memcpy(shape, x->view.shape, (size_t)ndim * sizeof *shape);
    memcpy(shape + ndim, last, (size_t)n_last * sizeof *last);
    return ig_reshape(x, (ig_ints){shape, ndim + n_last});
}

/* x[start:stop] along an axis. */
static ig_array *part_of(ig_array *x, int axis, int64_t start, int64_t stop)
{
    if (!x)
        return NULL;
    view v = x->view;
    span_apply(&v, axis, span_clip(start, stop, 1, v.shape[axis]));
    return array_view(OP_slice, x, &v);
}

ig_array *fft_values_of_real(ig_array *x, double scale, bool own)
{
    const int last = x->view.ndim - 1;
    const int64_t n = x->view.shape[last], h = n / 2;
    ig_array *whole;
    if (!own && override_fft_of_real(x, &whole))
        return scale == 1 ? whole : ig_multiply(whole, ig_float(scale));
    if (n % 2) {
        ig_array *zero = build_fill(0, (ig_dtype)x->dtype, x->view.ndim, x->view.shape);
        ig_array *pairs = ig_stack((ig_array *const[]){x, zero}, 2, -1);
        return part_of(fft_values(pairs, last, false, scale, own), last, 0, h + 1);
    }
    ig_array *pairs = with_shape(x, 1, (const int64_t[]){h, 2}, 2);
    ig_release(half_table(
        x, h)); /* kept; the largest table first, so that an error names what suffices for all */
    return half_node(fft_values(pairs, last, false, 1, own), h, false, scale);
}

ig_array *fft_values_to_real(ig_array *pairs, int64_t n, double scale, bool own)
{
    const int axis = pairs->view.ndim - 2;
    const int64_t h = n / 2;
    ig_array *whole;
    if (!own && override_fft_to_real(pairs, n, &whole))
        return scale == 1 ? whole : ig_multiply(whole, ig_float(scale));
    if (n % 2) {
        pair p = complex_parts(complex_of_pairs(pairs));
        ig_array *none = ig_zeros_like(part_of(p.im, axis, 0, 1), IG_DTYPE_NONE);
        p.im =
            ig_concat((ig_array *const[]){none, part_of(p.im, axis, 1, h + 1)}, 2, IG_AXES(axis));
        ig_array *re = ig_flip(part_of(p.re, axis, 1, h + 1), IG_AXES(axis));
        ig_array *im = ig_negative(ig_flip(part_of(p.im, axis, 1, h + 1), IG_AXES(axis)));
        p.re = ig_concat((ig_array *const[]){p.re, re}, 2, IG_AXES(axis));
        p.im = ig_concat((ig_array *const[]){p.im, im}, 2, IG_AXES(axis));
        ig_array *y = fft_values(complex_pairs(complex_make(p)), axis, true, scale, own);
        return y ? complex_parts(complex_of_pairs(y)).re : NULL;
    }
    ig_array *y = fft_values(half_node(pairs, h, true, 1), axis, true, scale, own);
    return with_shape(y, 2, &n, 1);
}

/* ---- gradients ---- */

/* Multiplies pairs by `by`, except for the first, and the last if n is even, which belong to themselves. */
static ig_array *weighted(ig_array *pairs, int64_t n, double by)
{
    if (!pairs)
        return NULL;
    const ig_dtype part = (ig_dtype)pairs->dtype;
    const int64_t inner = (n - 1) / 2;
    const int64_t one[2] = {1, 1}, some[2] = {inner, 1};
    ig_array *w[3] = {build_fill(1, part, 2, one), build_fill(by, part, 2, some),
                      build_fill(1, part, 2, one)};
    return ig_multiply(pairs, ig_concat(w, n % 2 ? 2 : 3, IG_AXES(0)));
}

typedef struct half_transform {
    int64_t n;
    double scale;
} half_transform;

static ig_status pull_of(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                         ig_array **grads)
{
    (void)inputs, (void)n, (void)out;
    const half_transform *t = context;
    grads[0] = fft_to_real(weighted(g, t->n, 0.5), t->n, t->scale);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

static ig_status pull_to(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                         ig_array **grads)
{
    (void)inputs, (void)n, (void)out;
    const half_transform *t = context;
    grads[0] = weighted(fft_of_real(g, t->scale), t->n, 2);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

static ig_array *with_gradient(ig_array *y, ig_array *x, half_transform t, ig_pullback rule)
{
    half_transform *kept = y ? memory_get(sizeof *kept) : NULL;
    if (!kept)
        return NULL;
    *kept = t;
    return ig_custom_grad(y, &x, 1, rule, kept, memory_free);
}

ig_array *fft_of_real(ig_array *x, double scale)
{
    if (!x)
        return NULL;
    const int64_t n = x->view.shape[x->view.ndim - 1];
    if (view_size(&x->view) == 0)
        return with_shape(x, 1, (const int64_t[]){n / 2 + 1, 2}, 2);
    return with_gradient(fft_values_of_real(x, scale, false), x, (half_transform){n, scale},
                         pull_of);
}

ig_array *fft_to_real(ig_array *pairs, int64_t n, double scale)
{
    if (!pairs)
        return NULL;
    if (view_size(&pairs->view) == 0)
        return with_shape(pairs, 2, &n, 1);
    return with_gradient(fft_values_to_real(pairs, n, scale, false), pairs,
                         (half_transform){n, scale}, pull_to);
}
