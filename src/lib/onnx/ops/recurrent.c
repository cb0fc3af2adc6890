/* RNN, GRU and LSTM: X (T, N, I), or (N, T, I) with layout 1; W (directions, gates * H, I); R (directions, gates * H, H).
 *
 * Products of all steps with W are one matrix product. Steps are then built one after another. Layers without lengths,
 * clips and unusual activations are Ingot's own ops rnn, gru and lstm. DynamicQuantizeLSTM has weights of bytes, with the axes
 * of W and R exchanged: each factor of a product is quantized to u8 by its own range.
 */
#include "lib/onnx/ops/ops.h"
#include "lib/onnx/ops/parts.h"

#include <string.h>
#include <strings.h>

enum { MAX_GATES = 4, MAX_FUNCTIONS = 3 };

typedef struct activation {
    const char *name;
    bool has_alpha, has_beta;
    float alpha, beta; /* defaults, and then the values of the node */
} activation;

static const activation ACTIVATIONS[] = {
    {"Tanh", false, false, 0, 0},         {"Sigmoid", false, false, 0, 0},
    {"Relu", false, false, 0, 0},         {"Affine", true, true, 1, 0},
    {"LeakyRelu", true, false, 0.01f, 0}, {"ThresholdedRelu", true, false, 1, 0},
    {"ScaledTanh", true, true, 1, 1},     {"HardSigmoid", true, true, 0.2f, 0.5f},
    {"Elu", true, false, 1, 0},           {"Softsign", false, false, 0, 0},
    {"Softplus", false, false, 0, 0},
};

enum { TANH, SIGMOID, RELU, AFFINE, LEAKY, THRESHOLDED, SCALED_TANH, HARD_SIGMOID, ELU, SOFTSIGN };

static ig_array *activate(const activation *f, ig_array *x)
{
    const double a = f->alpha, b = f->beta;
    for (int i = 0; i < (int)(sizeof ACTIVATIONS / sizeof *ACTIVATIONS); i++) {
        if (f->name != ACTIVATIONS[i].name)
            continue;
        switch (i) {
        case TANH: return ig_tanh(x);
        case SIGMOID: return ig_sigmoid(x);
        case RELU: return ig_relu(x);
        case AFFINE: return ig_add(ig_multiply(x, ig_float(a)), ig_float(b));
        case LEAKY: return ig_leaky_relu(x, a);
        case THRESHOLDED: return ig_where(ig_greater_equal(x, ig_float(a)), x, ig_float(0));
        case SCALED_TANH: return ig_multiply(ig_tanh(ig_multiply(x, ig_float(b))), ig_float(a));
        case HARD_SIGMOID:
            return ig_clip(ig_add(ig_multiply(x, ig_float(a)), ig_float(b)), ig_float(0),
                           ig_float(1));
        case ELU: return ig_elu(x, a);
        case SOFTSIGN: return ig_softsign(x);
        default: return ig_softplus(x);
        }
    }
    return NULL;
}

/* A matrix of weights (K, gates * H): floats, or bytes with a scale and a zero point, one or one for each column. */
typedef struct weights {
    ig_array *w, *scale, *zero; /* scale NULL: floats; zero NULL: 0 */
} weights;

/* The values that all directions of a layer share. */
typedef struct layer {
    onnx_call *call;
    int gates, functions; /* of a direction */
    activation f[2 * MAX_FUNCTIONS];
    int64_t steps, batch, hidden;
    int directions;
    bool reverse; /* the first direction runs backwards */
    double clip;  /* 0: none */
    bool plain;   /* default activations, and no clip */
    bool linear_before_reset, input_forget;
    ig_array *x, *valid; /* valid (T, N, 1): steps within the lengths; NULL: all */
    weights w, r;        /* (directions, gates * H, K) */
    ig_array *b, *h0, *c0, *p;
} layer;

/* One direction of a layer. */
typedef struct direction {
    const layer *l;
    const activation *f;
    bool reverse;
    ig_array *x;     /* (T, N, gates * H): products with W and the sum of both biases */
    weights r;       /* (H, gates * H) */
    ig_array *rb;    /* bias of the recurrence (gates * H) or NULL */
    ig_array *p;     /* (3 * H) or NULL */
    ig_array *h, *c; /* (N, H) */
} direction;

/* The weights of direction i. */
static weights weights_of(const weights *all, int i)
{
    return (weights){.w = ig_matrix_transpose(part_at(all->w, 0, i)),
                     .scale = all->scale ? part_at(all->scale, 0, i) : NULL,
                     .zero = all->zero ? part_at(all->zero, 0, i) : NULL};
}

static ig_array *product(ig_array *a, const weights *b)
{
    ig_array *scale, *zero;
    if (!b->scale)
        return ig_matmul(a, b->w);
    a = part_quantize_range(a, &scale, &zero);
    a = ig_subtract(ig_astype(a, IG_I32), ig_astype(zero, IG_I32));
    ig_array *w = ig_astype(b->w, IG_I32);
    w = b->zero ? ig_subtract(w, ig_astype(b->zero, IG_I32)) : w;
    return ig_multiply(ig_astype(ig_matmul(a, w), IG_F32), ig_multiply(scale, b->scale));
}

static void read_activations(layer *l, const char *const *defaults)
{
    int n = 0, alphas = 0, betas = 0, a = 0, b = 0;
    onnx_call *c = l->call;
    const onnx_bytes *names = call_attribute_texts(c, "activations", &n);
    const float *alpha = call_attribute_floats(c, "activation_alpha", &alphas);
    const float *beta = call_attribute_floats(c, "activation_beta", &betas);
    const int all = l->functions * l->directions;
    if (names && n < all)
        call_fail(c, IG_ERR_ARGUMENT, "activations", "has %d names instead of %d", n, all);
    for (int i = 0; i < all && !ig_failed(); i++) {
        const char *d = defaults[i % l->functions];
        const onnx_bytes name = names ? names[i] : (onnx_bytes){d, strlen(d)};
        const activation *f = NULL;
        for (size_t j = 0; j < sizeof ACTIVATIONS / sizeof *ACTIVATIONS; j++)
            if (strlen(ACTIVATIONS[j].name) == name.n &&
                strncasecmp(ACTIVATIONS[j].name, name.at, name.n) == 0)
                f = &ACTIVATIONS[j];
        if (!f) {
            call_fail(c, IG_ERR_UNSUPPORTED, "activations", "'%.*s' is unknown",
                      name.n > 60 ? 60 : (int)name.n, name.at);
            return;
        }
        l->f[i] = *f;
        if (f->has_alpha && a < alphas)
            l->f[i].alpha = alpha[a++];
        if (f->has_beta && b < betas)
            l->f[i].beta = beta[b++];
        l->plain = l->plain && strcmp(f->name, d) == 0;
    }
}

static ig_array *batch_second(ig_array *x, bool batch_first)
{
    return batch_first ? ig_permute_dims(x, IG_AXES(1, 0, 2)) : x;
}

/* Weights in input i. quantized: bytes (directions, K, gates * H), their scales in that input, the zero points after it. */
static weights read_weights(onnx_call *c, int i, const char *name, int quantized)
{
    weights w = {.w = call_array(c, i)};
    if (!part_ndim(c, name, w.w, 3) || !quantized)
        return w;
    w.w = ig_matrix_transpose(w.w);
    w.scale = call_array(c, quantized);
    w.zero = part_zero(c, quantized + 1);
    for (int k = 0; k < 2 && !ig_failed(); k++) {
        const ig_array *v = k ? w.zero : w.scale;
        if (v && (ig_ndim(v) < 1 || ig_ndim(v) > 2 || ig_dim(v, 0) != ig_dim(w.w, 0) ||
                  (ig_ndim(v) == 2 && ig_dim(v, 1) != ig_dim(w.w, 1))))
            call_fail(c, IG_ERR_SHAPE, name, "a scale or zero point does not fit the weights");
    }
    return w;
}

/* Inputs and attributes. states: 1, or 2 with c. quantized: the input with W's scales, before R's scales; 0: none. */
static bool read_layer(onnx_call *c, layer *l, int gates, const char *const *defaults,
                       int functions, int states, int quantized)
{
    const bool batch_first = call_attribute_int(c, "layout", 0) != 0;
    const int way = call_attribute_choice(c, "direction", "forward|reverse|bidirectional");
    *l = (layer){.call = c, .gates = gates, .functions = functions, .reverse = way == 1};
    l->directions = way == 2 ? 2 : 1;
    call_has_attribute(c, "output_sequence"); /* of version 1: whether Y is wanted */
    l->clip = call_attribute_float(c, "clip", 0);
    l->plain = l->clip == 0;
    read_activations(l, defaults);
    l->x = call_array(c, 0);
    l->w = read_weights(c, 1, "W", quantized);
    l->r = read_weights(c, 2, "R", quantized ? quantized + 2 : 0);
    if (ig_failed() || !part_ndim(c, "X", l->x, 3))
        return false;
    l->x = batch_second(l->x, batch_first);
    l->steps = ig_dim(l->x, 0);
    l->batch = ig_dim(l->x, 1);
    l->hidden = ig_dim(l->r.w, 2);
    const int64_t stated = call_attribute_int(c, "hidden_size", l->hidden);
    if (stated != l->hidden || ig_dim(l->r.w, 1) != gates * l->hidden ||
        ig_dim(l->w.w, 1) != gates * l->hidden || ig_dim(l->w.w, 0) != l->directions ||
        ig_dim(l->r.w, 0) != l->directions)
        call_fail(c, IG_ERR_SHAPE, "R", "W, R, hidden_size and direction do not match");
    l->b = call_array_or_null(c, 3);
    l->h0 = batch_second(call_array_or_null(c, 5), batch_first && call_has(c, 5));
    if (states == 2)
        l->c0 = batch_second(call_array_or_null(c, 6), batch_first && call_has(c, 6));
    ig_array *lengths = call_array_or_null(c, 4);
    if (lengths) {
        ig_array *step = ig_reshape(part_count(l->steps), IG_SHAPE(l->steps, 1, 1));
        l->valid = ig_less(step, ig_reshape(ig_astype(lengths, IG_I64), IG_SHAPE(1, l->batch, 1)));
    }
    return !ig_failed();
}

static ig_array *start(const layer *l, ig_array *state, int d)
{
    if (state)
        return part_at(state, 0, d);
    return ig_failed() ? NULL : ig_zeros(IG_SHAPE(l->batch, l->hidden), ig_dtype_of(l->x));
}

/* joined: the biases of W and R are added, for gates that only see their sum. */
static direction direction_of(const layer *l, int i, bool joined)
{
    direction d = {
        .l = l, .f = l->f + (ptrdiff_t)i * l->functions, .reverse = l->reverse || i == 1};
    const int64_t g = l->gates * l->hidden;
    const weights w = weights_of(&l->w, i);
    d.x = product(l->x, &w);
    d.r = weights_of(&l->r, i);
    if (l->b) {
        ig_array *b = part_at(l->b, 0, i), *wb = part_slice(b, 0, 0, g);
        ig_array *rb = part_slice(b, 0, g, 2 * g);
        d.x = ig_add(d.x, joined ? ig_add(wb, rb) : wb);
        d.rb = joined ? NULL : rb;
    }
    if (l->p)
        d.p = part_at(l->p, 0, i);
    d.h = start(l, l->h0, i);
    if (l->functions == 3)
        d.c = start(l, l->c0, i);
    return d;
}

static ig_array *gate(const direction *d, ig_array *x, int i)
{
    return part_slice(x, -1, i * d->l->hidden, (i + 1) * d->l->hidden);
}

static ig_array *clipped(const direction *d, ig_array *x)
{
    return d->l->clip > 0 ? ig_clip(x, ig_float(-d->l->clip), ig_float(d->l->clip)) : x;
}

static ig_array *apply(const direction *d, int function, ig_array *x)
{
    return activate(&d->f[function], clipped(d, x));
}

/* ---- steps: x (N, gates * H) is the part of W; they replace the state ---- */

static void step_rnn(direction *d, ig_array *x)
{
    d->h = apply(d, 0, ig_add(x, product(d->h, &d->r)));
}

/* Gates z, r, h. */
static void step_gru(direction *d, ig_array *x)
{
    const int64_t h = d->l->hidden;
    ig_array *both = ig_matmul(d->h, part_slice(d->r.w, 1, 0, 2 * h)),
             *r_h = part_slice(d->r.w, 1, 2 * h, 3 * h);
    if (d->rb)
        both = ig_add(both, part_slice(d->rb, 0, 0, 2 * h));
    ig_array *z = apply(d, 0, ig_add(gate(d, x, 0), gate(d, both, 0)));
    ig_array *r = apply(d, 0, ig_add(gate(d, x, 1), gate(d, both, 1)));
    ig_array *bias = d->rb ? part_slice(d->rb, 0, 2 * h, 3 * h) : NULL;
    ig_array *n;
    if (d->l->linear_before_reset) {
        n = ig_matmul(d->h, r_h);
        n = ig_multiply(r, bias ? ig_add(n, bias) : n);
    } else {
        n = ig_matmul(ig_multiply(r, d->h), r_h);
        n = bias ? ig_add(n, bias) : n;
    }
    n = apply(d, 1, ig_add(gate(d, x, 2), n));
    d->h = ig_add(ig_multiply(ig_subtract(ig_float(1), z), n), ig_multiply(z, d->h));
}

static ig_array *peep(const direction *d, ig_array *x, int i, ig_array *cell)
{
    return d->p ? ig_add(x, ig_multiply(gate(d, d->p, i), cell)) : x;
}

/* Gates i, o, f, c; peepholes i, o, f. */
static void step_lstm(direction *d, ig_array *x)
{
    ig_array *all = ig_add(x, product(d->h, &d->r));
    ig_array *i = apply(d, 0, peep(d, gate(d, all, 0), 0, d->c));
    ig_array *f = d->l->input_forget ? ig_subtract(ig_float(1), i)
                                     : apply(d, 0, peep(d, gate(d, all, 2), 2, d->c));
    ig_array *n = apply(d, 1, gate(d, all, 3));
    d->c = ig_add(ig_multiply(f, d->c), ig_multiply(i, n));
    ig_array *o = apply(d, 0, peep(d, gate(d, all, 1), 1, d->c));
    d->h = ig_multiply(o, activate(&d->f[2], d->c));
}

typedef void step_function(direction *d, ig_array *x);

/* Runs all steps of a direction; returns Y (T, N, H). Steps past a sequence's length leave its state, and give 0. */
static ig_array *walk(direction *d, step_function *step)
{
    const int64_t n = d->l->steps;
    ig_array **y = n > 0 ? (ig_array **)call_room(d->l->call, (int)n) : NULL;
    if (n == 0)
        return ig_zeros(IG_SHAPE(0, d->l->batch, d->l->hidden), ig_dtype_of(d->x));
    for (int64_t k = 0; k < n && !ig_failed(); k++) {
        const int64_t t = d->reverse ? n - 1 - k : k;
        ig_array *h = d->h, *c = d->c;
        step(d, part_at(d->x, 0, t));
        y[t] = d->h;
        if (d->l->valid) {
            ig_array *valid = part_at(d->l->valid, 0, t);
            y[t] = ig_where(valid, d->h, ig_float(0));
            d->h = ig_where(valid, d->h, h);
            d->c = c ? ig_where(valid, d->c, c) : NULL;
        }
    }
    return ig_failed() ? NULL : ig_stack(y, (int)n, 0);
}

/* ---- Ingot's own ops ---- */

/* The gates of weights or biases along axis 0 in another order. */
static ig_array *reordered(const layer *l, ig_array *x, const int *order)
{
    ig_array *parts[MAX_GATES];
    for (int i = 0; i < l->gates; i++)
        parts[i] = part_slice(x, 0, order[i] * l->hidden, (order[i] + 1) * l->hidden);
    return ig_concat(parts, l->gates, IG_AXES(0));
}

static ig_array *walk_whole(direction *d, const layer *l, int i)
{
    static const int RNN[] = {0}, GRU[] = {1, 0, 2}, LSTM[] = {0, 2, 3, 1};
    const int *order = l->gates == 1 ? RNN : l->gates == 3 ? GRU : LSTM;
    const int64_t g = l->gates * l->hidden;
    ig_array *out[3] = {NULL, NULL, NULL}, *wb = NULL, *rb = NULL;
    ig_array *w = reordered(l, part_at(l->w.w, 0, i), order);
    ig_array *r = reordered(l, part_at(l->r.w, 0, i), order);
    if (l->b) {
        ig_array *b = part_at(l->b, 0, i);
        wb = reordered(l, part_slice(b, 0, 0, g), order);
        rb = reordered(l, part_slice(b, 0, g, 2 * g), order);
    }
    if (ig_failed())
        return NULL;
    if (l->gates == 1)
        ig_rnn(l->x, w, r, wb, rb, d->h, "tanh", false, d->reverse, out);
    else if (l->gates == 3)
        ig_gru(l->x, w, r, wb, rb, d->h, false, d->reverse, out);
    else
        ig_lstm(l->x, w, r, wb, rb, d->h, d->c, false, d->reverse, out);
    d->h = out[1];
    d->c = out[2];
    return out[0];
}

/* Y (T, directions, N, H), Y_h and Y_c (directions, N, H); with layout 1 N comes first. */
static void run_layer(layer *l, step_function *step)
{
    onnx_call *c = l->call;
    ig_array *y[2], *h[2], *cell[2];
    const bool whole = l->plain && !l->w.scale && !l->valid && !l->p && !l->input_forget &&
                       l->steps > 0 && (l->gates != 3 || l->linear_before_reset);
    for (int i = 0; i < l->directions && !ig_failed(); i++) {
        direction d = direction_of(l, i, l->gates != 3);
        y[i] = whole ? walk_whole(&d, l, i) : walk(&d, step);
        h[i] = d.h;
        cell[i] = d.c;
    }
    if (ig_failed())
        return;
    const bool batch_first = call_attribute_int(c, "layout", 0) != 0;
    ig_array *all = ig_stack(y, l->directions, 1);
    call_return(c, 0, batch_first ? ig_permute_dims(all, IG_AXES(2, 0, 1, 3)) : all);
    call_return(c, 1, batch_second(ig_stack(h, l->directions, 0), batch_first));
    if (l->functions == 3)
        call_return(c, 2, batch_second(ig_stack(cell, l->directions, 0), batch_first));
}

void build_rnn(onnx_call *c)
{
    layer l;
    if (read_layer(c, &l, 1, (const char *const[]){"Tanh"}, 1, 1, 0))
        run_layer(&l, step_rnn);
}

void build_gru(onnx_call *c)
{
    layer l;
    const bool linear = call_attribute_bool(c, "linear_before_reset", false);
    if (!read_layer(c, &l, 3, (const char *const[]){"Sigmoid", "Tanh"}, 2, 1, 0))
        return;
    l.linear_before_reset = linear;
    run_layer(&l, step_gru);
}

static void lstm(onnx_call *c, int quantized)
{
    layer l;
    if (!read_layer(c, &l, 4, (const char *const[]){"Sigmoid", "Tanh", "Tanh"}, 3, 2, quantized))
        return;
    l.p = call_array_or_null(c, 7);
    l.input_forget = call_attribute_bool(c, "input_forget", false);
    run_layer(&l, step_lstm);
}

void build_lstm(onnx_call *c) { lstm(c, 0); }
void build_dynamic_quantize_lstm(onnx_call *c) { lstm(c, 8); }
