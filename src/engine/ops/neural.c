/* Builders of further layers and losses, with the definitions of MLX, JAX and PyTorch. Each is an expression of other
 * ops, computed in f32 (f64 for f64) and rounded to the dtype of its input once. */
#include "base/error.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include <math.h>
#include <string.h>

/* ---- layers ---- */

BUILDER(prelu)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (composite_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    return composite_result(
        out, ig_where(ig_greater(x[0], ig_float(0)), x[0], ig_multiply(x[1], x[0])), dtype);
}

BUILDER(instance_norm)
{
    ig_array *x = args[0].u.array;
    if (x->view.ndim < 3)
        FAIL_NONE(IG_ERR_SHAPE, "instance_norm: x has %d dimensions, but must be (N, C, ...)",
                  x->view.ndim);
    return op_one(out, ig_group_norm(x, x->view.shape[1], arg_array(&args[1]), arg_array(&args[2]),
                                     args[3].u.f));
}

/* The sum of x over `size` neighbours along axis 1, size / 2 of them before each element. */
static ig_array *neighbours_sum(ig_array *x, int64_t size)
{
    const int64_t n = x->view.shape[1], before = size / 2 < n ? size / 2 : n;
    const int64_t after = (size - 1) / 2 < n ? (size - 1) / 2 : n;
    int64_t widths[2 * IG_MAX_NDIM] = {0};
    widths[2] = before;
    widths[3] = after;
    ig_array *padded = ig_pad(x, (ig_ints){widths, 2 * x->view.ndim}, "constant", ig_float(0)),
             *sum = NULL;
    for (int64_t i = 0; i <= before + after && padded; i++) {
        const ig_index part[] = {
            {.kind = IG_INDEX_SLICE, .start = 0, .stop = x->view.shape[0], .step = 1},
            {.kind = IG_INDEX_SLICE, .start = i, .stop = i + n, .step = 1}};
        ig_array *one = ig_get(padded, part, 2);
        sum = sum ? ig_add(sum, one) : one;
    }
    return sum;
}

BUILDER(local_response_norm)
{
    ig_array *x = args[0].u.array;
    const int64_t size = args[1].u.i;
    ig_dtype dtype;
    if (x->view.ndim < 2 || size < 1)
        FAIL_NONE(IG_ERR_SHAPE, "local_response_norm: x must be (N, C, ...) and size positive");
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *mean = ig_times(neighbours_sum(ig_square(x), size), args[2].u.f / (double)size);
    ig_array *base = ig_pow(ig_plus(mean, args[4].u.f), ig_float(args[3].u.f));
    return composite_result(out, ig_divide(x, base), dtype);
}

BUILDER(standardize)
{
    return op_one(out, ig_layer_norm(args[0].u.array, NULL, NULL, args[1].u.ints, args[2].u.f));
}

/* The angles (T, n) of rope. */
static ig_array *rope_angles(const ig_arg *args, int64_t length, int64_t n, ig_dtype dtype)
{
    ig_array *t =
        build_cast(ig_add(build_iota(2, (int64_t[]){length, 1}), ig_int(args[5].u.i)), dtype);
    ig_array *freqs = arg_array(&args[6]);
    t = ig_times(t, args[4].u.f);
    if (freqs && (freqs->view.ndim != 1 || freqs->view.shape[0] != n))
        FAIL_NULL(IG_ERR_SHAPE, "rope: give %lld freqs, one for each pair", (long long)n);
    if (freqs)
        return ig_divide(t, build_cast(freqs, dtype));
    ig_array *i = build_cast(build_iota(1, &n), dtype);
    return ig_multiply(t, ig_exp(ig_times(i, -log(args[3].u.f) / (double)n)));
}

BUILDER(rope)
{
    ig_array *x = args[0].u.array, *part[3];
    const bool near = args[2].u.b;
    const int last = x->view.ndim - 1;
    ig_dtype dtype;
    if (last < 1)
        FAIL_NONE(IG_ERR_SHAPE, "rope: x has %d dimensions, but must be (..., length, width)",
                  last + 1);
    const int64_t width = x->view.shape[last],
                  dims = args[1].kind == IG_ARG_INT ? args[1].u.i : width, n = dims / 2;
    if (dims < 2 || dims % 2 || dims > width)
        FAIL_NONE(IG_ERR_ARGUMENT, "rope: dims is %lld; give an even number up to %lld",
                  (long long)dims, (long long)width);
    if (!(args[3].u.f > 0))
        FAIL_NONE(IG_ERR_ARGUMENT, "rope: base is %g; give a number above 0", args[3].u.f);
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *angle = rope_angles(args, x->view.shape[last - 1], n, (ig_dtype)x->dtype);
    ig_array *turned = shape_part(x, last, 0, dims), *c = ig_cos(angle), *s = ig_sin(angle);
    if (near) { /* (..., T, n, 2) */
        int64_t shape[IG_MAX_NDIM + 1];
        memcpy(shape, x->view.shape, sizeof x->view.shape);
        shape[last] = n;
        shape[last + 1] = 2;
        if (last + 2 > IG_MAX_NDIM)
            FAIL_NONE(IG_ERR_SHAPE, "rope: x has too many dimensions");
        ig_array *pairs = ig_reshape(turned, (ig_ints){shape, last + 2});
        if (ig_unstack(pairs, last + 1, part, 2) != 2)
            return 0;
    } else {
        part[0] = shape_part(turned, last, 0, n);
        part[1] = shape_part(turned, last, n, dims);
    }
    ig_array *y[2] = {ig_subtract(ig_multiply(part[0], c), ig_multiply(part[1], s)),
                      ig_add(ig_multiply(part[0], s), ig_multiply(part[1], c))};
    if (!y[0] || !y[1])
        return 0;
    part[0] =
        near ? ig_reshape(ig_stack(y, 2, -1), ig_shape(turned)) : ig_concat(y, 2, IG_AXES(last));
    part[1] = shape_part(x, last, dims, INT64_MAX);
    return composite_result(out, dims < width ? ig_concat(part, 2, IG_AXES(last)) : part[0], dtype);
}

/* Moves the factor r between the channels and each of the two last axes. */
static int shuffled(op_id op, ig_array *x, int64_t r, bool up, ig_array **out)
{
    const int ndim = x->view.ndim, lead = ndim - 3;
    int64_t split[IG_MAX_NDIM], shape[IG_MAX_NDIM], order[IG_MAX_NDIM];
    if (lead < 0 || lead + 5 > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "%s: x has %d dimensions, but must be (..., C, H, W)",
                  op_rows[op].name, ndim);
    const int64_t *s = x->view.shape + lead;
    if (r < 1 || (up ? s[0] % (r * r) != 0 : s[1] % r != 0 || s[2] % r != 0))
        FAIL_NONE(IG_ERR_SHAPE, "%s: the factor %lld does not divide the shape of x",
                  op_rows[op].name, (long long)r);
    for (int a = 0; a < lead; a++) {
        split[a] = shape[a] = x->view.shape[a];
        order[a] = a;
    }
    const int64_t apart[2][5] = {{s[0], s[1] / r, r, s[2] / r, r},
                                 {s[0] / (r * r), r, r, s[1], s[2]}};
    const int64_t whole[2][3] = {{s[0] * r * r, s[1] / r, s[2] / r},
                                 {s[0] / (r * r), s[1] * r, s[2] * r}};
    const int places[2][5] = {{0, 2, 4, 1, 3}, {0, 3, 1, 4, 2}};
    for (int i = 0; i < 5; i++) {
        split[lead + i] = apart[up][i];
        order[lead + i] = lead + places[up][i];
    }
    memcpy(shape + lead, whole[up], sizeof whole[up]);
    x = ig_permute_dims(ig_reshape(x, (ig_ints){split, lead + 5}), (ig_ints){order, lead + 5});
    return op_one(out, ig_reshape(x, (ig_ints){shape, ndim}));
}

BUILDER(pixel_shuffle) { return shuffled(op, args[0].u.array, args[1].u.i, true, out); }
BUILDER(pixel_unshuffle) { return shuffled(op, args[0].u.array, args[1].u.i, false, out); }

/* ---- resampling ---- */

/* x resampled to m elements along axis. */
static ig_array *resampled(ig_array *x, int axis, int64_t m, sampling how, bool corners)
{
    const int64_t n = ig_dim(x, axis);
    const ig_dtype dtype = (ig_dtype)x->dtype;
    ig_array *i = build_iota(1, &m), *y = NULL, *w[4];
    if (how == SAMPLE_NEAREST) /* floor(i * n / m) in integers */
        return ig_take(x, ig_floor_divide(ig_multiply(i, ig_int(n)), ig_int(m)), IG_AXES(axis));
    /* Places are fractions with one divisor, so that their whole part is exact. */
    const int64_t divisor = corners ? (m > 1 ? m - 1 : 1) : 2 * m;
    ig_array *place =
        corners ? ig_multiply(i, ig_int(m > 1 ? n - 1 : 0))
                : ig_subtract(ig_multiply(ig_add(ig_multiply(i, ig_int(2)), ig_int(1)), ig_int(n)),
                              ig_int(m));
    if (how == SAMPLE_LINEAR)
        place = ig_maximum(place, ig_int(0));
    ig_array *at = ig_floor_divide(place, ig_int(divisor)),
             *t = ig_remainder(place, ig_int(divisor));
    t = ig_divide(build_cast(t, dtype), build_scalar((double)divisor, dtype));
    const int count = how == SAMPLE_LINEAR ? 2 : 4;
    if (how == SAMPLE_LINEAR) {
        w[0] = ig_subtract(ig_float(1), t);
        w[1] = t;
    } else
        composite_cubic(t, w);
    for (int k = 0; k < count; k++) {
        ig_array *from = ig_clip(ig_add(at, ig_int(k - (count == 4))), ig_int(0), ig_int(n - 1));
        ig_array *part =
            ig_multiply(ig_take(x, from, IG_AXES(axis)), shape_along(w[k], ig_ndim(x), axis));
        y = k ? ig_add(y, part) : part;
    }
    return y;
}

/* The filter at distances d >= 0: a triangle, or a cubic with a = -0.5. */
static ig_array *filtered(ig_array *d, sampling how)
{
    if (how == SAMPLE_LINEAR)
        return ig_maximum(ig_subtract(ig_float(1), d), ig_float(0));
    ig_array *square = ig_multiply(d, d);
    ig_array *near = ig_plus(ig_multiply(ig_plus(ig_times(d, 1.5), -2.5), square), 1);
    ig_array *far =
        ig_plus(ig_multiply(ig_plus(ig_multiply(ig_plus(ig_times(d, -0.5), 2.5), d), -4), d), 2);
    far = ig_where(ig_less(d, ig_float(2)), far, ig_float(0));
    return ig_where(ig_less(d, ig_float(1)), near, far);
}

/* x resampled to m elements along axis by a filter that is as wide as the elements of the result are apart: a product with
 * the matrix of its weights. Distances are integers over one divisor. */
static ig_array *smoothed(ig_array *x, int axis, int64_t m, sampling how)
{
    const int64_t n = ig_dim(x, axis);
    ig_array *to = build_iota(2, (int64_t[]){m, 1}), *from = build_iota(2, (int64_t[]){1, n});
    to = ig_multiply(ig_add(ig_multiply(to, ig_int(2)), ig_int(1)), ig_int(n));
    from = ig_multiply(ig_add(ig_multiply(from, ig_int(2)), ig_int(1)), ig_int(m));
    ig_array *distance = build_cast(ig_abs(ig_subtract(from, to)), (ig_dtype)x->dtype);
    ig_array *w = filtered(ig_divide(distance, ig_float(2.0 * (double)(n > m ? n : m))), how);
    w = ig_divide(w, ig_sum(w, IG_AXES(1), IG_DTYPE_NONE, true));
    return ig_moveaxis(ig_tensordot(x, w, (ig_ints){(int64_t[]){axis, 1}, 2}), IG_AXES(-1),
                       IG_AXES(axis));
}

BUILDER(interpolate)
{
    ig_array *x = args[0].u.array;
    const ig_ints size = args[1].u.ints;
    const int axes = x->view.ndim - 2;
    sampling mode;
    ig_dtype dtype;
    if (axes < 1 || (size.n != 1 && size.n != axes))
        FAIL_NONE(IG_ERR_SHAPE,
                  "interpolate: x has %d dimensions and size %d numbers; x is (N, C, ...), and "
                  "size has one "
                  "for each axis after C, or one for all",
                  x->view.ndim, size.n);
    if (composite_sampling(op, args[2].u.str, &mode) != IG_OK ||
        composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    if (args[4].u.b && (mode == SAMPLE_NEAREST || args[3].u.b))
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "interpolate: antialias needs mode 'linear' or 'cubic', without align_corners");
    for (int a = 0; a < axes && x; a++) {
        const int64_t n = ig_dim(x, 2 + a), m = size.v[size.n == 1 ? 0 : a];
        if (n < 1 || m < 1)
            FAIL_NONE(IG_ERR_SHAPE, "interpolate: from %lld to %lld elements; give at least 1",
                      (long long)n, (long long)m);
        if (m != n)
            x = args[4].u.b ? smoothed(x, 2 + a, m, mode)
                            : resampled(x, 2 + a, m, mode, args[3].u.b);
    }
    return composite_result(out, x, dtype);
}

/* ---- losses ---- */

static ig_array *norm_along(ig_array *x, int64_t axis, double eps)
{
    return ig_sqrt(ig_plus(ig_sum(ig_square(x), IG_AXES(axis), IG_DTYPE_NONE, false), eps));
}

static ig_array *cosine(ig_array *const *x, int64_t axis, double eps)
{
    ig_array *dot = ig_sum(ig_multiply(x[0], x[1]), IG_AXES(axis), IG_DTYPE_NONE, false);
    ig_array *size[2];
    for (int i = 0; i < 2; i++) {
        ig_array *square = ig_sum(ig_square(x[i]), IG_AXES(axis), IG_DTYPE_NONE, false);
        size[i] = ig_sqrt(ig_maximum(square, ig_float(eps * eps)));
    }
    return ig_divide(dot, ig_multiply(size[0], size[1]));
}

BUILDER(cosine_similarity)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (composite_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    return composite_result(out, cosine(x, args[2].u.i, args[3].u.f), dtype);
}

static ig_array *relu_of(ig_array *x) { return ig_maximum(x, ig_float(0)); }

/* log(x), at least -100: the gradient at 0 is then 0. */
static ig_array *log_bounded(ig_array *x) { return ig_maximum(ig_log(x), ig_float(-100)); }

static ig_array *gaussian(ig_array *d, ig_array *var, bool full, double eps)
{
    var = ig_maximum(var, ig_float(eps));
    ig_array *loss = ig_times(ig_add(ig_log(var), ig_divide(ig_square(d), var)), 0.5);
    return full ? ig_plus(loss, 0.5 * log(2 * M_PI)) : loss;
}

/* The loss of each element; x has the arrays, more the arguments after them. */
static ig_array *loss_of(op_id op, ig_array *const *x, const ig_arg *more)
{
    const bool whole = op == OP_triplet || op == OP_cosine_similarity_loss ||
                       op == OP_cosine_embedding; /* not element by element */
    ig_array *d = whole ? NULL : ig_subtract(x[0], x[1]);
    switch (op) {
    case OP_binary_cross_entropy: {
        ig_array *rest = ig_multiply(ig_subtract(ig_float(1), x[1]),
                                     log_bounded(ig_subtract(ig_float(1), x[0])));
        return ig_negative(ig_add(ig_multiply(x[1], log_bounded(x[0])), rest));
    }
    case OP_smooth_l1: {
        const double beta = more[0].u.f;
        ig_array *size = ig_abs(d);
        if (!(beta > 0))
            return size;
        return ig_where(ig_less(size, ig_float(beta)), ig_times(ig_square(d), 0.5 / beta),
                        ig_plus(size, -0.5 * beta));
    }
    case OP_log_cosh: /* d + log(1 + exp(-2 d)) - log(2) */
        return ig_plus(ig_logaddexp(d, ig_negative(d)), -M_LN2);
    case OP_hinge: return relu_of(ig_subtract(ig_float(1), ig_multiply(x[0], x[1])));
    case OP_margin_ranking: return relu_of(ig_plus(ig_negative(ig_multiply(x[2], d)), more[0].u.f));
    case OP_gaussian_nll: return gaussian(d, x[2], more[0].u.b, more[1].u.f);
    case OP_cosine_similarity_loss:
        return ig_subtract(ig_float(1), cosine(x, more[0].u.i, more[1].u.f));
    case OP_soft_margin: return ig_logaddexp(ig_negative(ig_multiply(x[0], x[1])), ig_float(0));
    case OP_hinge_embedding:
        return ig_where(ig_greater(x[1], ig_float(0)), x[0],
                        relu_of(ig_subtract(ig_float(more[0].u.f), x[0])));
    case OP_cosine_embedding: {
        ig_array *s = cosine(x, more[1].u.i, 1e-8);
        return ig_where(ig_greater(x[2], ig_float(0)), ig_subtract(ig_float(1), s),
                        relu_of(ig_plus(s, -more[0].u.f)));
    }
    case OP_poisson_nll:
        return more[0].u.b
                   ? ig_subtract(ig_exp(x[0]), ig_multiply(x[1], x[0]))
                   : ig_subtract(x[0], ig_multiply(x[1], ig_log(ig_plus(x[0], more[1].u.f))));
    default: /* triplet */
        return relu_of(
            ig_plus(ig_subtract(norm_along(ig_subtract(x[0], x[1]), more[0].u.i, more[2].u.f),
                                norm_along(ig_subtract(x[0], x[2]), more[0].u.i, more[2].u.f)),
                    more[1].u.f));
    }
}

BUILDER(more_loss)
{
    const bool three = op == OP_margin_ranking || op == OP_gaussian_nll || op == OP_triplet ||
                       op == OP_cosine_embedding;
    const int n = three ? 3 : 2;
    ig_array *x[3];
    ig_dtype dtype;
    for (int i = 0; i < n; i++)
        x[i] = args[i].u.array;
    if (composite_floats(op, x, n, &dtype) != IG_OK)
        return 0;
    int last = n; /* the reduction is the last argument */
    while (args[last].kind != IG_ARG_STRING)
        last++;
    return composite_reduced(op, loss_of(op, x, args + n), args[last].u.str, dtype, out);
}

/* The elements of x at integer targets along axis, which stays with length 1. A negative target is refused. */
static ig_array *at_targets(op_id op, ig_array *x, ig_array *targets, int axis)
{
    ig_array *at = index_cast(op_rows[op].name, targets);
    if (at && at->view.ndim != x->view.ndim - 1)
        FAIL_NULL(IG_ERR_SHAPE, "%s: targets have %d axes, but must have %d", op_rows[op].name,
                  at->view.ndim, x->view.ndim - 1);
    at = ig_bitwise_and(at, build_scalar_int(~INDEX_REFUSED, IG_I64));
    return ig_take_along_axis(x, ig_expand_dims(at, IG_AXES(axis)), axis);
}

BUILDER(nll)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    int axis;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK ||
        infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    ig_array *chosen = ig_squeeze(at_targets(op, x, args[1].u.array, axis), IG_AXES(axis));
    return composite_reduced(op, ig_negative(chosen), args[3].u.str, dtype, out);
}

BUILDER(multi_margin)
{
    ig_array *x = args[0].u.array;
    const int64_t p = args[2].u.i;
    ig_dtype dtype;
    int last;
    if (p != 1 && p != 2)
        FAIL_NONE(IG_ERR_ARGUMENT, "multi_margin: p is %lld; give 1 or 2", (long long)p);
    if (composite_floats(op, &x, 1, &dtype) != IG_OK ||
        infer_axis(op, -1, x->view.ndim, &last) != IG_OK)
        return 0;
    const int64_t classes = x->view.shape[last];
    ig_array *own = at_targets(op, x, args[1].u.array, last);
    ig_array *loss = relu_of(ig_plus(ig_subtract(x, own), args[3].u.f));
    loss = p == 2 ? ig_square(loss) : loss;
    ig_array *others =
        ig_not_equal(build_iota(1, &classes), ig_expand_dims(args[1].u.array, IG_AXES(-1)));
    loss = ig_sum(ig_where(others, loss, ig_float(0)), IG_AXES(last), IG_DTYPE_NONE, false);
    return composite_reduced(op, ig_divide(loss, ig_float((double)classes)), args[4].u.str, dtype,
                             out);
}

/* ---- transforms ---- */

/* Sums and differences of halves, log2(n) times. */
BUILDER(hadamard_transform)
{
    ig_array *x = args[0].u.array;
    const int last = x->view.ndim - 1;
    ig_dtype dtype;
    if (last < 0 || x->view.shape[last] < 1 ||
        (x->view.shape[last] & (x->view.shape[last] - 1)) != 0)
        FAIL_NONE(IG_ERR_SHAPE,
                  "hadamard_transform: the length of the last axis must be a power of 2");
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    const int64_t n = x->view.shape[last];
    const double scale = args[1].kind == IG_ARG_FLOAT ? args[1].u.f : 1 / sqrt((double)n);
    ig_array *y = ig_reshape(x, IG_SHAPE(-1, n));
    if (ig_size(x) == 0)
        return composite_result(out, x, dtype);
    for (int64_t inner = 1; inner < n; inner *= 2) {
        ig_array *half[2];
        if (ig_unstack(ig_reshape(y, IG_SHAPE(-1, 2, inner)), 1, half, 2) != 2)
            return 0;
        half[0] =
            ig_stack((ig_array *[]){ig_add(half[0], half[1]), ig_subtract(half[0], half[1])}, 2, 1);
        y = ig_reshape(half[0], IG_SHAPE(-1, n));
    }
    return composite_result(out, ig_times(ig_reshape(y, ig_shape(x)), scale), dtype);
}
