/* Builders of the ops of neural networks: dropout, softmax, norms, attention, losses. Each is an
 * expression of other ops, computed in f32 (f64 for f64) and rounded to the dtype of its input once, at
 * the end. */
#include "base/error.h"
#include "engine/ops/attention.h"
#include "engine/ops/composite.h"
#include "engine/ops/index.h"
#include "engine/ops/norm.h"
#include <math.h>
#include <string.h>

/* ---- dropout ---- */

/* Alpha dropout replaces dropped elements by selu(-infinity). */
#define SELU_LOWEST (-1.0507009873554805 * 1.6732632423543772)

/* Rows with "feature" keep or drop whole channels of x (N, C, ...). Rows with "alpha" keep mean 0 and variance 1. */
int op_dropout(op_id op, const ig_arg *args, ig_array **out)
{
    const bool alpha = op == OP_alpha_dropout || op == OP_feature_alpha_dropout;
    const bool feature = op == OP_feature_dropout || op == OP_feature_alpha_dropout;
    const double p = args[2].u.f;
    ig_array *x = args[0].u.array;
    int64_t shape[IG_MAX_NDIM];
    ig_dtype dtype;
    if (!(p >= 0 && p < 1))
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: p is %g; give a probability of at least 0 and below 1",
                  op_rows[op].name, p);
    if (feature && x->view.ndim < 2)
        FAIL_NONE(IG_ERR_SHAPE, "%s: x has %d dimension%s, but must be (N, C, ...)",
                  op_rows[op].name, x->view.ndim, x->view.ndim == 1 ? "" : "s");
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    if (p == 0)
        return composite_result(out, x, dtype);
    for (int a = 0; a < x->view.ndim; a++)
        shape[a] = feature && a > 1 ? 1 : x->view.shape[a];
    ig_array *keep =
        ig_bernoulli(args[1].u.array, build_scalar(1 - p, IG_F32), (ig_ints){shape, x->view.ndim});
    if (!alpha)
        return composite_result(out, ig_where(keep, ig_divide(x, ig_float(1 - p)), ig_float(0)),
                                dtype);
    const double scale = 1 / sqrt((1 - p) * (1 + p * SELU_LOWEST * SELU_LOWEST));
    ig_array *y = ig_where(keep, x, ig_float(SELU_LOWEST));
    return composite_result(out, ig_plus(ig_times(y, scale), -scale * p * SELU_LOWEST), dtype);
}

/* ---- softmax ---- */

/* The largest element along axis, which is valid; 0 if there are none. softmax subtracts it, but it cancels out in
 * the result, so it has no gradient. A row of -inf becomes NaN. */
static ig_array *row_max(ig_array *x, ig_ints axis)
{
    return ig_size(x) == 0 ? ig_float(0) : build_constant_max(x, axis);
}

int op_softmax(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints axis = args[1].u.ints;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK || composite_length(op, x, axis) < 0)
        return 0;
    ig_array *below = ig_subtract(x, row_max(x, axis)), *e = ig_exp(below);
    ig_array *sum = ig_sum(e, axis, IG_DTYPE_NONE, true);
    return composite_result(out,
                            op == OP_softmax ? ig_multiply(e, ig_reciprocal(sum))
                                             : ig_subtract(below, ig_log(sum)),
                            dtype);
}

/* ---- norms ---- */

/* A parameter of x (weight, bias, mean) that has one value for each position along axis (axes in ascending
 * order), as a view with x's dimensions. A number is allowed, too. */
static ig_array *parameter(op_id op, const char *name, ig_array *p, const ig_array *x, ig_ints axis)
{
    int axes[IG_MAX_NDIM], n = infer_axes(op, axis, x->view.ndim, axes), k = 0;
    int64_t want[IG_MAX_NDIM], seen[IG_MAX_NDIM];
    unsigned own = 0;
    for (int i = 0; i < n; i++)
        own |= 1u << axes[i];
    for (int a = 0; a < x->view.ndim; a++) {
        seen[a] = own >> a & 1 ? x->view.shape[a] : 1;
        if (own >> a & 1)
            want[k++] = x->view.shape[a];
    }
    p = build_cast(p, x->dtype);
    if (!p || p->view.ndim == 0)
        return p;
    if (p->view.ndim != k || memcmp(p->view.shape, want, (size_t)k * sizeof *want) != 0) {
        char have[400], text[400];
        FAIL_NULL(IG_ERR_SHAPE, "%s: %s has shape %s, but must have %s", op_rows[op].name, name,
                  view_shape_text(p->view.ndim, p->view.shape, have),
                  view_shape_text(k, want, text));
    }
    return build_reshape(op, p, x->view.ndim, seen);
}

/* y * weight + bias along axis; either may be absent. */
static ig_array *affine(op_id op, ig_array *y, const ig_arg *weight, const ig_arg *bias,
                        ig_ints axis)
{
    if (y && weight->kind == IG_ARG_ARRAY)
        y = ig_multiply(y, parameter(op, "weight", weight->u.array, y, axis));
    if (y && bias->kind == IG_ARG_ARRAY)
        y = ig_add(y, parameter(op, "bias", bias->u.array, y, axis));
    return y;
}

/* x / sqrt(square + eps) */
static ig_array *scaled_by(ig_array *x, ig_array *square, double eps)
{
    return ig_multiply(x, ig_rsqrt(ig_add(square, ig_float(eps))));
}

/* x with mean 0 and variance 1 along axis. */
static ig_array *normalised(op_id op, ig_array *x, ig_ints axis, double eps)
{
    ig_array *centred = ig_subtract(x, composite_mean(op, x, axis, true));
    return scaled_by(centred, composite_mean(op, ig_square(centred), axis, true), eps);
}

/* The norm of args[0] along axis, with or without the mean, times weight, plus bias. */
static int norm_rows(op_id op, const ig_arg *args, bool centres, const ig_arg *weight,
                     const ig_arg *bias, ig_ints axis, double eps, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK || composite_length(op, x, axis) < 0)
        return 0;
    norm_parts parts = {args[0].u.array, arg_array(weight), arg_array(bias), NULL, NULL};
    if (centres) {
        parts.mean = composite_mean(op, x, axis, true);
        x = ig_subtract(x, parts.mean);
    }
    parts.root = ig_rsqrt(ig_add(composite_mean(op, ig_square(x), axis, true), ig_float(eps)));
    ig_array *y = affine(op, ig_multiply(x, parts.root), weight, bias, axis);
    if (!composite_result(out, y, dtype))
        return 0;
    return op_one(out, norm_recomputed(op, *out, &parts, axis));
}

int op_layer_norm(op_id op, const ig_arg *args, ig_array **out)
{
    return norm_rows(op, args, true, &args[1], &args[2], args[3].u.ints, args[4].u.f, out);
}

int op_rms_norm(op_id op, const ig_arg *args, ig_array **out)
{
    static const ig_arg no_bias;
    return norm_rows(op, args, false, &args[1], &no_bias, args[2].u.ints, args[3].u.f, out);
}

/* x (N, C, ...) in the dtype to compute in. */
static ig_status channels(op_id op, ig_array **x, ig_dtype *dtype)
{
    TRY(composite_floats(op, x, 1, dtype));
    if ((*x)->view.ndim < 2)
        FAIL(IG_ERR_SHAPE, "%s: x has %d dimension%s, but must be (N, C, ...)", op_rows[op].name,
             (*x)->view.ndim, (*x)->view.ndim == 1 ? "" : "s");
    return IG_OK;
}

int op_batch_norm(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array, *mean = arg_array(&args[1]), *var = arg_array(&args[2]), *y;
    double eps = args[5].u.f;
    int64_t rest[IG_MAX_NDIM];
    ig_dtype dtype;
    if (channels(op, &x, &dtype) != IG_OK)
        return 0;
    if (!mean != !var)
        FAIL_NONE(IG_ERR_ARGUMENT, "batch_norm: %s is given without %s; give both or neither",
                  mean ? "mean" : "var", mean ? "var" : "mean");
    if (mean) {
        mean = parameter(op, "mean", mean, x, IG_AXES(1));
        var = mean ? parameter(op, "var", var, x, IG_AXES(1)) : NULL;
        y = scaled_by(ig_subtract(x, mean), var, eps);
    } else {
        for (int a = 1; a < x->view.ndim; a++)
            rest[a - 1] = a == 1 ? 0 : a;
        y = normalised(op, x, (ig_ints){rest, x->view.ndim - 1}, eps);
    }
    return composite_result(out, affine(op, y, &args[3], &args[4], IG_AXES(1)), dtype);
}

int op_group_norm(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int64_t groups = args[1].u.i, shape[IG_MAX_NDIM + 1], rest[IG_MAX_NDIM];
    ig_dtype dtype;
    if (channels(op, &x, &dtype) != IG_OK)
        return 0;
    int ndim = x->view.ndim;
    int64_t count = x->view.shape[1];
    if (groups < 1 || count % groups != 0)
        FAIL_NONE(IG_ERR_SHAPE, "group_norm: %lld channels do not divide into %lld equal groups",
                  (long long)count, (long long)groups);
    /* (N, groups, C / groups, ...), normalised over all but the first two. */
    shape[0] = x->view.shape[0];
    shape[1] = groups;
    shape[2] = count / groups;
    for (int a = 2; a <= ndim; a++) {
        rest[a - 2] = a;
        if (a > 2)
            shape[a] = x->view.shape[a - 1];
    }
    ig_array *grouped = ig_reshape(x, (ig_ints){shape, ndim + 1});
    ig_array *y = normalised(op, grouped, (ig_ints){rest, ndim - 1}, args[4].u.f);
    y = ig_reshape(y, ig_shape(x));
    return composite_result(out, affine(op, y, &args[2], &args[3], IG_AXES(1)), dtype);
}

/* ---- attention ---- */

/* query (..., L, E), key (..., S, E), value (..., S, V). */
static ig_status attention_shapes(op_id op, ig_array *const x[3])
{
    static const char *const names[3] = {"query", "key", "value"};
    char one[400], two[400];
    for (int i = 0; i < 3; i++)
        if (x[i]->view.ndim < 2)
            FAIL(IG_ERR_SHAPE, "%s: %s has %d dimension%s, but must be (..., length, width)",
                 op_rows[op].name, names[i], x[i]->view.ndim, x[i]->view.ndim == 1 ? "" : "s");
    bool width = ig_dim(x[0], -1) == ig_dim(x[1], -1);
    if (width && ig_dim(x[1], -2) == ig_dim(x[2], -2))
        return IG_OK;
    const ig_array *a = x[!width ? 0 : 1], *b = x[!width ? 1 : 2];
    FAIL(IG_ERR_SHAPE, "%s: %s of shape %s and %s of shape %s differ in %s", op_rows[op].name,
         names[!width ? 0 : 1], view_shape_text(a->view.ndim, a->view.shape, one),
         names[!width ? 1 : 2], view_shape_text(b->view.ndim, b->view.shape, two),
         !width ? "width" : "length");
}

/* scores with -inf wherever attend, which is bool, is false. */
static ig_array *masked(ig_array *scores, ig_array *attend)
{
    return ig_where(attend, scores, ig_float(-INFINITY));
}

static ig_array *with_mask(op_id op, ig_array *scores, ig_array *mask)
{
    if (!scores || !build_broadcast(op, mask, scores->view.ndim, scores->view.shape))
        return NULL;
    if (mask->dtype == IG_BOOL)
        return masked(scores, mask);
    if (!dtype_is_float(mask->dtype))
        FAIL_NULL(IG_ERR_DTYPE, "%s: mask is bool (true: attend) or floats that are added, not %s",
                  op_rows[op].name, ig_dtype_name(mask->dtype));
    return ig_add(scores, build_cast(mask, scores->dtype));
}

/* softmax(scores) @ value. The division comes after the product, where there are fewer elements to divide. A row
 * of -inf, which attends to nothing, gives zeros, not NaN, as in PyTorch since 2.5 (_safe_softmax). */
static ig_array *attend(ig_array *scores, ig_array *value)
{
    if (ig_size(scores) == 0)
        return ig_matmul(scores, value);
    ig_array *most = build_constant_max(scores, IG_AXES(-1));
    ig_array *none = ig_equal(most, ig_float(-INFINITY));
    ig_array *e = ig_exp(ig_subtract(scores, ig_where(none, ig_float(0), most)));
    ig_array *sum = ig_where(none, ig_float(1), ig_sum(e, IG_AXES(-1), IG_DTYPE_NONE, true));
    return ig_divide(ig_matmul(e, value), sum);
}

static ig_array *scores_of(ig_array *const x[3], double scale)
{
    return ig_matmul(ig_multiply(x[0], ig_float(scale)), ig_matrix_transpose(x[1]));
}

static ig_array *causal_scores(ig_array *scores, ig_array *const x[3])
{
    const ig_ints square = IG_SHAPE(ig_dim(x[0], -2), ig_dim(x[1], -2));
    return masked(scores, ig_tril(build_fill(1, IG_BOOL, square.n, square.v), 0));
}

ig_array *attention_plain(ig_array *const x[3], ig_array *mask, bool causal, double scale)
{
    ig_array *scores = scores_of(x, scale);
    if (mask)
        scores = masked(scores, mask);
    return attend(causal ? causal_scores(scores, x) : scores, x[2]);
}

int op_scaled_dot_product_attention(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[3] = {args[0].u.array, args[1].u.array, args[2].u.array};
    ig_dtype dtype;
    if (attention_shapes(op, x) != IG_OK)
        return 0;
    const double scale =
        args[5].kind == IG_ARG_FLOAT ? args[5].u.f : 1 / sqrt((double)ig_dim(x[0], -1));
    const bool causal = args[4].u.b, masks = args[3].kind == IG_ARG_ARRAY;
    ig_array *native = attention_native(x, masks ? args[3].u.array : NULL, causal, scale);
    if (native)
        return op_one(out, native);
    if (composite_floats(op, x, 3, &dtype) != IG_OK)
        return 0;
    if (!masks)
        return composite_result(out, attention_plain(x, NULL, causal, scale), dtype);
    ig_array *scores = with_mask(op, scores_of(x, scale), args[3].u.array);
    return composite_result(out, attend(causal ? causal_scores(scores, x) : scores, x[2]), dtype);
}

int op_embedding(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *weight = args[1].u.array;
    if (weight->view.ndim != 2)
        FAIL_NONE(IG_ERR_SHAPE, "embedding: weight has %d dimension%s, but must be (rows, width)",
                  weight->view.ndim, weight->view.ndim == 1 ? "" : "s");
    ig_array *index = index_cast(op_rows[op].name, args[0].u.array);
    return op_one(out, index ? index_take(op_rows[op].name, weight, index, 0) : NULL);
}

/* ---- losses ---- */

/* The inputs of cross_entropy's gradient. */
typedef enum entropy_input {
    ENTROPY_LOGITS,
    ENTROPY_LOGS,
    ENTROPY_PLACES,
    ENTROPY_INPUTS
} entropy_input;

/* exp(log_softmax), minus 1 at the label: nothing is scattered. The axis of the classes is the axis along which
 * the labels have length 1. */
static ig_status pull_entropy(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                              ig_array **grads)
{
    (void)n;
    (void)out;
    const int axis = (int)(intptr_t)context, ndim = ig_ndim(in[ENTROPY_LOGITS]);
    int64_t column[IG_MAX_NDIM];
    for (int a = 0; a < ndim; a++)
        column[a] = a == axis ? ig_dim(in[ENTROPY_LOGITS], a) : 1;
    ig_array *chosen = ig_equal(in[ENTROPY_PLACES], build_iota(ndim, column));
    ig_array *p = ig_exp(in[ENTROPY_LOGS]);
    grads[ENTROPY_LOGITS] = ig_multiply(g, ig_where(chosen, ig_subtract(p, build_beside(p, 1)), p));
    return grads[ENTROPY_LOGITS] ? IG_OK : IG_ERR_MEMORY;
}

int op_cross_entropy(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array, *labels = args[1].u.array;
    int axis;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK ||
        infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    view rest = x->view;
    axis_remove(&rest, axis);
    if (!view_same_shape(&labels->view, &rest)) {
        char have[400], want[400];
        FAIL_NONE(IG_ERR_SHAPE,
                  "cross_entropy: labels have shape %s, but must have %s, the shape of logits "
                  "without axis %d",
                  view_shape_text(labels->view.ndim, labels->view.shape, have),
                  view_shape_text(rest.ndim, rest.shape, want), axis);
    }
    labels = index_cast(op_rows[op].name, labels);
    /* A negative label is a mistake (or another library's "ignore"); it does not count from the end. Clearing this bit
     * subtracts INDEX_REFUSED from it, so evaluation refuses it. Other labels do not have the bit. */
    labels = ig_bitwise_and(labels, build_scalar_int(~INDEX_REFUSED, IG_I64));
    ig_array *at = ig_expand_dims(labels, IG_AXES(axis));
    /* log_softmax at the label only: no array of the size of the logits is stored. */
    ig_array *most = row_max(x, IG_AXES(axis)), *below = ig_subtract(x, most);
    ig_array *total = ig_log(ig_sum(ig_exp(below), IG_AXES(axis), IG_DTYPE_NONE, true));
    ig_array *chosen = ig_subtract(ig_take_along_axis(x, at, axis), most);
    ig_array *loss = ig_negative(ig_subtract(chosen, total));
    ig_array *in[ENTROPY_INPUTS] = {x, ig_subtract(below, total), at};
    loss = ig_custom_grad(loss, in, ENTROPY_INPUTS, pull_entropy, (void *)(intptr_t)axis, NULL);
    loss = ig_squeeze(loss, IG_AXES(axis));
    return composite_reduced(op, loss, args[3].u.str, dtype, out);
}

/* The loss of each element. number is the delta of huber. */
static ig_array *loss(op_id op, ig_array *x, ig_array *t, double number)
{
    ig_array *difference = op == OP_bce_with_logits || op == OP_kl_div ? NULL : ig_subtract(x, t);
    switch (op) {
    case OP_mse: return ig_square(difference);
    case OP_l1: return ig_abs(difference);
    case OP_huber: {
        ig_array *d = ig_abs(difference);
        ig_array *inner = ig_multiply(ig_square(d), ig_float(0.5));
        ig_array *outer = ig_multiply(ig_subtract(d, ig_float(0.5 * number)), ig_float(number));
        return ig_where(ig_less_equal(d, ig_float(number)), inner, outer);
    }
    case OP_bce_with_logits: /* log(1 + exp(x)) - x * t, computed without overflow */
        return ig_subtract(ig_logaddexp(x, ig_float(0)), ig_multiply(x, t));
    default: { /* kl_div: t * (log(t) - x), 0 where t is 0 */
        ig_array *y = ig_multiply(t, ig_subtract(ig_log(t), x));
        return ig_where(ig_equal(t, ig_float(0)), ig_float(0), y);
    }
    }
}

int op_loss(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    const bool huber = op == OP_huber;
    const double delta = huber ? args[2].u.f : 0;
    int64_t shape[IG_MAX_NDIM];
    int ndim;
    ig_dtype dtype;
    if (huber && !(delta > 0))
        FAIL_NONE(IG_ERR_ARGUMENT, "huber: delta is %g; give a number above 0", delta);
    if (composite_floats(op, x, 2, &dtype) != IG_OK ||
        infer_broadcast(op, x, 2, &ndim, shape) != IG_OK)
        return 0;
    return composite_reduced(op, loss(op, x[0], x[1], delta), args[huber ? 3 : 2].u.str, dtype,
                             out);
}
