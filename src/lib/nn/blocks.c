/* Layers of several parts: patches of images, the feed-forward network and the attention of Llama, recurrent layers. */
#include "lib/nn/layers.h"

#include <math.h>
#include <stdio.h>

ig_array *ig_nn_patches(ig_model *m, const char *name, ig_array *x, int64_t width, int64_t patch)
{
    if (!layer_usable("patches", m, name, x, 4, "(N, C, H, W)") ||
        !layer_positive("patches", name, "patch", patch))
        return NULL;
    if (ig_ndim(x) != 4 || ig_dim(x, 2) % patch != 0 || ig_dim(x, 3) % patch != 0) {
        char have[SHAPE_TEXT_BYTES];
        ig_fail(IG_ERR_SHAPE,
                "patches '%s': x has shape %s, which patches of %lld x %lld do not divide; pad or "
                "resize the images",
                name, shape_text(ig_shape(x), have), (long long)patch, (long long)patch);
        return NULL;
    }
    ig_array *y =
        ig_nn_conv(m, name, x, width, IG_SHAPE(patch), IG_SHAPE(patch), IG_SHAPE(0), true);
    return y ? ig_permute_dims(ig_reshape(y, IG_SHAPE(ig_dim(y, 0), width, -1)), IG_AXES(0, 2, 1))
             : NULL;
}

ig_array *ig_nn_swiglu(ig_model *m, const char *name, ig_array *x, int64_t hidden)
{
    if (!layer_usable("swiglu", m, name, x, 1, "(..., width)") ||
        !layer_positive("swiglu", name, "hidden", hidden))
        return NULL;
    ig_array *gate = layer_linear(m, name, "gate_proj", x, hidden, false);
    ig_array *up = gate ? layer_linear(m, name, "up_proj", x, hidden, false) : NULL;
    return layer_linear(m, name, "down_proj", ig_multiply(ig_silu(gate), up), ig_dim(x, -1), false);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* x (N, T, heads * width) as (N, heads, T, width), with rotary positions if base is not 0. */
static ig_array *heads_of(ig_array *x, int64_t heads, double base)
{
    if (!x)
        return NULL;
    const int64_t n = ig_dim(x, 0), t = ig_dim(x, 1), width = ig_dim(x, 2) / heads;
    x = ig_permute_dims(ig_reshape(x, IG_SHAPE(n, t, heads, width)), IG_AXES(0, 2, 1, 3));
    return base > 0 ? ig_rope(x, width, false, base, 1, 0, NULL) : x;
}

/* Each head of x (N, heads, S, width) `times` times. */
static ig_array *heads_repeat(ig_array *x, int64_t times)
{
    if (!x || times == 1)
        return x;
    const int64_t n = ig_dim(x, 0), heads = ig_dim(x, 1), s = ig_dim(x, 2), width = ig_dim(x, 3);
    x = ig_broadcast_to(ig_expand_dims(x, IG_AXES(2)), IG_SHAPE(n, heads, times, s, width));
    return ig_reshape(x, IG_SHAPE(n, heads * times, s, width));
}

ig_array *ig_nn_grouped_attention(ig_model *m, const char *name, ig_array *x, int64_t heads,
                                  int64_t kv_heads, double rope_base, ig_array *mask,
                                  bool is_causal)
{
    static const char layer[] = "grouped_attention";
    if (!layer_usable(layer, m, name, x, 3, "(N, T, width)") ||
        !layer_positive(layer, name, "heads", heads) ||
        !layer_positive(layer, name, "kv_heads", kv_heads))
        return NULL;
    const int64_t width = ig_dim(x, -1), each = width / heads;
    if (ig_ndim(x) != 3 || width % heads != 0 || heads % kv_heads != 0) {
        char have[SHAPE_TEXT_BYTES];
        ig_fail(
            IG_ERR_SHAPE,
            "%s '%s': x has shape %s; its width must be a multiple of the %lld heads, and these "
            "of the %lld kv_heads",
            layer, name, shape_text(ig_shape(x), have), (long long)heads, (long long)kv_heads);
        return NULL;
    }
    ig_array *q = heads_of(layer_linear(m, name, "q_proj", x, width, false), heads, rope_base);
    ig_array *k = q ? layer_linear(m, name, "k_proj", x, kv_heads * each, false) : NULL;
    ig_array *v = k ? layer_linear(m, name, "v_proj", x, kv_heads * each, false) : NULL;
    k = heads_repeat(heads_of(k, kv_heads, rope_base), heads / kv_heads);
    v = heads_repeat(heads_of(v, kv_heads, 0), heads / kv_heads);
    ig_array *y = v ? ig_scaled_dot_product_attention(q, k, v, mask, is_causal, 0) : NULL;
    y = ig_reshape(ig_permute_dims(y, IG_AXES(0, 2, 1, 3)), ig_shape(x));
    return layer_linear(m, name, "o_proj", y, width, false);
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

enum { GATES = 4, PART_BYTES = 40 };

/* Layer i of an LSTM; *h and *c become the last states. */
static ig_array *lstm_layer(ig_model *m, const char *name, int64_t i, ig_array *x, int64_t hidden,
                            ig_array **h, ig_array **c)
{
    static const char *const parts[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    const ig_ints shapes[] = {IG_SHAPE(GATES * hidden, ig_dim(x, 2)),
                              IG_SHAPE(GATES * hidden, hidden), IG_SHAPE(GATES * hidden),
                              IG_SHAPE(GATES * hidden)};
    ig_array *p[4], *out[3];
    for (int k = 0; k < 4; k++) {
        char part[PART_BYTES];
        snprintf(part, sizeof part, "%s_l%lld", parts[k], (long long)i);
        p[k] = model_param(m, (name_parts){{name, part}}, shapes[k], layer_dtype(x),
                           IG_INIT_UNIFORM, 1 / sqrt((double)hidden));
        if (!p[k])
            return NULL;
    }
    if (ig_lstm(x, p[0], p[1], p[2], p[3], *h, *c, false, false, out) < 0)
        return NULL;
    *h = out[1];
    *c = out[2];
    return out[0];
}

ig_array *ig_nn_lstm(ig_model *m, const char *name, ig_array *x, int64_t hidden, int64_t layers,
                     ig_array **h, ig_array **c)
{
    if (!layer_usable("lstm", m, name, x, 3, "(T, N, width)") ||
        !layer_positive("lstm", name, "hidden", hidden) ||
        !layer_positive("lstm", name, "layers", layers))
        return NULL;
    x = model_input(m, x);
    for (int64_t i = 0; i < layers && x; i++) {
        ig_array *one_h = h ? model_input(m, h[i]) : NULL, *one_c = c ? model_input(m, c[i]) : NULL;
        x = lstm_layer(m, name, i, x, hidden, &one_h, &one_c);
        if (h)
            h[i] = one_h;
        if (c)
            c[i] = one_c;
    }
    return x;
}
