/* Layers. Each gets its parameters from the model by name and computes with public ops. A new parameter has
 * the dtype of x, or f32 if x is not a float; with mixed precision it is f32, and layers compute in another dtype. */
#include "lib/nn/layers.h"
#include <math.h>

/* ---- checks for all layers ---- */

bool layer_usable(const char *layer, const ig_model *m, const char *name, const ig_array *x,
                  int ndim, const char *shape)
{
    char have[SHAPE_TEXT_BYTES];
    if (!x || !m || !name) {
        ig_fail(IG_ERR_ARGUMENT, "%s: %s is NULL", layer,
                !m      ? "the model"
                : !name ? "the name"
                        : "x");
        return false;
    }
    if (ig_ndim(x) < ndim)
        ig_fail(IG_ERR_SHAPE, "%s '%s': x has shape %s, but must be %s", layer, name,
                shape_text(ig_shape(x), have), shape);
    return ig_ndim(x) >= ndim;
}

bool layer_positive(const char *layer, const char *name, const char *what, int64_t value)
{
    if (value < 1)
        ig_fail(IG_ERR_ARGUMENT, "%s '%s': %s is %lld; give 1 or more", layer, name, what,
                (long long)value);
    return value >= 1;
}

ig_dtype layer_dtype(const ig_array *x)
{
    const ig_dtype dtype = ig_dtype_of(x);
    return ig_isdtype(dtype, "real floating") ? dtype : ig_default_dtype();
}

/* ---- products ---- */

ig_array *layer_linear(ig_model *m, const char *name, const char *part, ig_array *x, int64_t out,
                       bool bias)
{
    if (!x)
        return NULL;
    x = model_input(m, x);
    const name_parts weight = {{name, part ? part : "weight", part ? "weight" : NULL}};
    const int64_t in = ig_dim(x, -1);
    const double bound = 1 / sqrt((double)in);
    ig_array *w = model_param(m, weight, IG_SHAPE(out, in), layer_dtype(x), IG_INIT_UNIFORM, bound);
    ig_array *y = w ? ig_tensordot(x, w, IG_AXES(-1, 1)) : NULL;
    if (!y || !bias)
        return y;
    const name_parts offset = {{name, part ? part : "bias", part ? "bias" : NULL}};
    return ig_add(y, model_param(m, offset, IG_SHAPE(out), layer_dtype(x), IG_INIT_UNIFORM, bound));
}

ig_array *ig_nn_linear(ig_model *m, const char *name, ig_array *x, int64_t out, bool bias)
{
    if (!layer_usable("linear", m, name, x, 1, "(..., in)") ||
        !layer_positive("linear", name, "out", out))
        return NULL;
    return layer_linear(m, name, NULL, x, out, bias);
}

/* A convolution, or the gradient of one with respect to its input. */
typedef struct convolution {
    const char *layer, *name;
    int64_t out, groups;
    ig_ints kernel, stride, padding, more; /* more: of a transposed convolution, output_padding */
    bool bias, transposed;
} convolution;

static ig_array *convolved(const convolution *c, ig_array *x, ig_array *w, ig_array *b)
{
    const ig_ints dense = IG_NONE;
    const int groups = (int)c->groups;
    if (c->transposed)
        switch (ig_ndim(x)) {
        case 3: return ig_conv_transpose1d(x, w, b, c->stride, c->padding, c->more, groups, dense);
        case 4: return ig_conv_transpose2d(x, w, b, c->stride, c->padding, c->more, groups, dense);
        default: return ig_conv_transpose3d(x, w, b, c->stride, c->padding, c->more, groups, dense);
        }
    switch (ig_ndim(x)) {
    case 3: return ig_conv1d(x, w, b, c->stride, c->padding, dense, groups);
    case 4: return ig_conv2d(x, w, b, c->stride, c->padding, dense, groups);
    default: return ig_conv3d(x, w, b, c->stride, c->padding, dense, groups);
    }
}

/* Checks the arguments against x. */
static bool convolution_fits(const convolution *c, const ig_model *m, const ig_array *x)
{
    if (!layer_usable(c->layer, m, c->name, x, 3, "(N, C, L), (N, C, H, W) or (N, C, D, H, W)") ||
        !layer_positive(c->layer, c->name, "out", c->out) ||
        !layer_positive(c->layer, c->name, "groups", c->groups))
        return false;
    const int axes = ig_ndim(x) - 2;
    if (axes > 3 || (c->kernel.n != 1 && c->kernel.n != axes)) {
        ig_fail(IG_ERR_SHAPE,
                "%s '%s': x has %d axes and the kernel %d sizes; give 3 to 5 axes, "
                "and one size or one for each axis after the channels",
                c->layer, c->name, axes + 2, c->kernel.n);
        return false;
    }
    if (ig_dim(x, 1) % c->groups == 0 && c->out % c->groups == 0)
        return true;
    ig_fail(IG_ERR_SHAPE, "%s '%s': %lld groups do not divide %lld channels and %lld outputs",
            c->layer, c->name, (long long)c->groups, (long long)ig_dim(x, 1), (long long)c->out);
    return false;
}

static ig_array *convolve(ig_model *m, const convolution *c, ig_array *x)
{
    if (!convolution_fits(c, m, x))
        return NULL;
    const int axes = ig_ndim(x) - 2;
    x = model_input(m, x);
    const int64_t in = ig_dim(x, 1), each = (c->transposed ? c->out : in) / c->groups;
    int64_t shape[5] = {c->transposed ? in : c->out, each};
    double fan = (double)each;
    for (int i = 0; i < axes; i++) {
        shape[2 + i] = c->kernel.v[c->kernel.n == 1 ? 0 : i];
        if (!layer_positive(c->layer, c->name, "a size of the kernel", shape[2 + i]))
            return NULL;
        fan *= (double)shape[2 + i];
    }
    const ig_dtype dtype = layer_dtype(x);
    ig_array *b = NULL,
             *w = model_param(m, (name_parts){{c->name, "weight"}}, (ig_ints){shape, 2 + axes},
                              dtype, IG_INIT_UNIFORM, 1 / sqrt(fan));
    if (w && c->bias)
        b = model_param(m, (name_parts){{c->name, "bias"}}, IG_SHAPE(c->out), dtype,
                        IG_INIT_UNIFORM, 1 / sqrt(fan));
    return w && (b || !c->bias) ? convolved(c, x, w, b) : NULL;
}

ig_array *ig_nn_conv(ig_model *m, const char *name, ig_array *x, int64_t out, ig_ints kernel,
                     ig_ints stride, ig_ints padding, bool bias)
{
    return ig_nn_group_conv(m, name, x, out, kernel, stride, padding, 1, bias);
}

ig_array *ig_nn_group_conv(ig_model *m, const char *name, ig_array *x, int64_t out, ig_ints kernel,
                           ig_ints stride, ig_ints padding, int64_t groups, bool bias)
{
    const convolution c = {.layer = "conv",
                           .name = name,
                           .out = out,
                           .groups = groups,
                           .kernel = kernel,
                           .stride = stride,
                           .padding = padding,
                           .bias = bias};
    return convolve(m, &c, x);
}

ig_array *ig_nn_conv_transpose(ig_model *m, const char *name, ig_array *x, int64_t out,
                               ig_ints kernel, ig_ints stride, ig_ints padding,
                               ig_ints output_padding, bool bias)
{
    const convolution c = {.layer = "conv_transpose",
                           .name = name,
                           .out = out,
                           .groups = 1,
                           .kernel = kernel,
                           .stride = stride,
                           .padding = padding,
                           .more = output_padding,
                           .bias = bias,
                           .transposed = true};
    return convolve(m, &c, x);
}

ig_array *ig_nn_embedding(ig_model *m, const char *name, ig_array *indices, int64_t count,
                          int64_t width)
{
    if (!layer_usable("embedding", m, name, indices, 0, "") ||
        !layer_positive("embedding", name, "count", count) ||
        !layer_positive("embedding", name, "width", width))
        return NULL;
    return ig_embedding(indices, model_param(m, (name_parts){{name, "weight"}},
                                             IG_SHAPE(count, width), IG_F32, IG_INIT_NORMAL, 1));
}

/* ---- norms ---- */

/* A weight of ones or a bias of zeros, with n elements. */
static ig_array *one_each(ig_model *m, const char *name, const char *which, int64_t n, ig_array *x)
{
    const ig_init init = which[0] == 'w' ? IG_INIT_ONES : IG_INIT_ZEROS;
    return model_param(m, (name_parts){{name, which}}, IG_SHAPE(n), layer_dtype(x), init, 1);
}

ig_array *ig_nn_layer_norm(ig_model *m, const char *name, ig_array *x, double eps)
{
    if (!layer_usable("layer_norm", m, name, x, 1, "(..., width)"))
        return NULL;
    x = model_input(m, x);
    ig_array *w = one_each(m, name, "weight", ig_dim(x, -1), x);
    ig_array *b = w ? one_each(m, name, "bias", ig_dim(x, -1), x) : NULL;
    return ig_layer_norm(x, w, b, IG_AXES(-1), eps);
}

ig_array *ig_nn_rms_norm(ig_model *m, const char *name, ig_array *x, double eps)
{
    if (!layer_usable("rms_norm", m, name, x, 1, "(..., width)"))
        return NULL;
    x = model_input(m, x);
    return ig_rms_norm(x, one_each(m, name, "weight", ig_dim(x, -1), x), IG_AXES(-1), eps);
}

ig_array *ig_nn_group_norm(ig_model *m, const char *name, ig_array *x, int64_t groups, double eps)
{
    if (!layer_usable("group_norm", m, name, x, 2, "(N, C, ...)"))
        return NULL;
    x = model_input(m, x);
    ig_array *w = one_each(m, name, "weight", ig_dim(x, 1), x);
    ig_array *b = w ? one_each(m, name, "bias", ig_dim(x, 1), x) : NULL;
    return ig_group_norm(x, groups, w, b, eps);
}

/* Sets the state after the next step to (1 - momentum) * state + momentum * now. A second call in the same
 * step continues from the first. */
static bool follow(entry *state, ig_array *now, double momentum)
{
    if (!state)
        return false;
    ig_array *old = state->next ? state->next : state->value;
    now = ig_stop_gradient(ig_astype(now, ig_dtype_of(old)));
    ig_array *next = ig_add(old, ig_multiply(ig_subtract(now, old), ig_float(momentum)));
    if (!next)
        return false;
    ig_release(state->next);
    state->next = ig_scope_forget(next);
    return true;
}

/* Computes in f32 at least, so that statistics are not rounded to half precision. */
static ig_array *batch_norm_train(ig_model *m, const char *name, ig_array *x, ig_array *w,
                                  ig_array *b, double momentum, double eps)
{
    int64_t rest[IG_MAX_NDIM] = {0};
    const int64_t channels = ig_dim(x, 1), each = channels ? ig_size(x) / channels : 0;
    if (each < 2) {
        ig_fail(IG_ERR_SHAPE,
                "batch_norm '%s': a channel has %lld value%s in this batch, and its variance needs "
                "2; give a larger batch, or switch training off (ig_model_train)",
                name, (long long)each, each == 1 ? "" : "s");
        return NULL;
    }
    for (int a = 2; a < ig_ndim(x); a++)
        rest[a - 1] = a;
    const ig_ints axes = {rest, ig_ndim(x) - 1};
    const ig_dtype fine = layer_dtype(x) == IG_F64 ? IG_F64 : IG_F32;
    ig_array *wide = ig_astype(x, fine);
    const name_parts mean = {{name, "running_mean"}}, var = {{name, "running_var"}};
    if (!follow(model_state(m, mean, IG_SHAPE(channels), fine, IG_INIT_ZEROS),
                ig_mean(wide, axes, false), momentum) ||
        !follow(model_state(m, var, IG_SHAPE(channels), fine, IG_INIT_ONES),
                ig_var(wide, axes, 1, false), momentum))
        return NULL;
    return ig_batch_norm(x, NULL, NULL, w, b, eps);
}

ig_array *ig_nn_batch_norm(ig_model *m, const char *name, ig_array *x, double momentum, double eps)
{
    if (!layer_usable("batch_norm", m, name, x, 2, "(N, C, ...)"))
        return NULL;
    if (!(momentum >= 0 && momentum <= 1)) {
        ig_fail(IG_ERR_ARGUMENT, "batch_norm '%s': momentum is %g; give 0 to 1, say 0.1", name,
                momentum);
        return NULL;
    }
    x = model_input(m, x);
    const int64_t channels = ig_dim(x, 1);
    ig_array *w = one_each(m, name, "weight", channels, x);
    ig_array *b = w ? one_each(m, name, "bias", channels, x) : NULL;
    if (!b)
        return NULL;
    if (m->training)
        return batch_norm_train(m, name, x, w, b, momentum, eps);
    const ig_dtype fine = layer_dtype(x) == IG_F64 ? IG_F64 : IG_F32;
    const name_parts mean = {{name, "running_mean"}}, var = {{name, "running_var"}};
    const entry *e = model_state(m, mean, IG_SHAPE(channels), fine, IG_INIT_ZEROS);
    ig_array *centre = e ? e->value : NULL;
    e = centre ? model_state(m, var, IG_SHAPE(channels), fine, IG_INIT_ONES) : NULL;
    return e ? ig_batch_norm(x, centre, e->value, w, b, eps) : NULL;
}

/* ---- dropout and attention ---- */

ig_array *ig_nn_dropout(ig_model *m, ig_array *x, double p)
{
    if (!layer_usable("dropout", m, "dropout", x, 0, ""))
        return NULL;
    if (!(p >= 0 && p < 1)) {
        ig_fail(IG_ERR_ARGUMENT, "dropout: p is %g; give a probability of at least 0 and below 1",
                p);
        return NULL;
    }
    if (m->training && p > 0)
        return ig_dropout(x, model_draw_key(m), p);
    return ig_reshape(x, ig_shape(x)); /* x, as a new handle */
}

/* x (N, T, width) as (N, heads, T, width / heads). */
static ig_array *split_heads(ig_array *x, int64_t heads)
{
    if (!x)
        return NULL;
    const int64_t width = ig_dim(x, 2) / heads;
    return ig_permute_dims(ig_reshape(x, IG_SHAPE(ig_dim(x, 0), ig_dim(x, 1), heads, width)),
                           IG_AXES(0, 2, 1, 3));
}

ig_array *ig_nn_attention(ig_model *m, const char *name, ig_array *x, ig_array *context,
                          int64_t heads, ig_array *mask, bool is_causal)
{
    if (!layer_usable("attention", m, name, x, 3, "(N, T, width)") ||
        !layer_positive("attention", name, "heads", heads))
        return NULL;
    ig_array *const from = context ? context : x;
    const int64_t width = ig_dim(x, 2);
    if (ig_ndim(x) != 3 || ig_ndim(from) != 3 || width % heads != 0) {
        char one[SHAPE_TEXT_BYTES], two[SHAPE_TEXT_BYTES];
        ig_fail(IG_ERR_SHAPE,
                "attention '%s': x has shape %s, context %s, and there are %lld heads; give "
                "(N, T, width) and (N, S, width), width a multiple of heads",
                name, shape_text(ig_shape(x), one), shape_text(ig_shape(from), two),
                (long long)heads);
        return NULL;
    }
    ig_array *q = split_heads(layer_linear(m, name, "query", x, width, true), heads);
    ig_array *k = q ? split_heads(layer_linear(m, name, "key", from, width, true), heads) : NULL;
    ig_array *v = k ? split_heads(layer_linear(m, name, "value", from, width, true), heads) : NULL;
    ig_array *y = v ? ig_scaled_dot_product_attention(q, k, v, mask, is_causal, 0) : NULL;
    y = ig_reshape(ig_permute_dims(y, IG_AXES(0, 2, 1, 3)), ig_shape(x));
    return layer_linear(m, name, "out", y, width, true);
}
