/* Composite ops: activations, softmax, norms, losses, attention. The reference is the plain formula in reals.
 * The ops compute in f32 (f64 for f64) and round once, so the error bound is a few eps of the terms plus half an
 * ulp. */
#include "verify/plan.h"
#include <math.h>
#include <string.h>

static const domain mild = {-4, 4, false};

static real eps_of(const problem *p) { return real_eps(real_compute(p->dtype)); }

/* Element i of input k, rounded to the dtype in which the op computes. */
static real get(const problem *p, int k, int64_t i)
{
    return real_round(real_compute(p->dtype), p->in[k].v[i]);
}

static void put(const problem *p, tensor *out, int64_t i, real want, real size)
{
    out->v[i] = want;
    out->tol[i] = eps_of(p) * size + real_ulp(out->dtype, want) * 0.51L;
}

static const int64_t shapes[][2] = {{7, 43}, {5, 65}, {1, 1}, {65, 3}, {0, 5}, {2, 1025}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static bool beyond(const problem *p, int variant)
{
    return variant >= (p->quick ? 2 : SHAPES) || (p->mode != MODE_PLAIN && variant > 1);
}

/* ---- activations: f(x), off by at most `size` eps ---- */

typedef real (*activation)(real x, bool second, real *size);

static real relu(real x, bool second, real *size) { return (void)second, *size = 0, x > 0 ? x : 0; }
static real leaky_relu(real x, bool second, real *size)
{
    const real y = x > 0 ? x : x * (second ? 0.125L : 0.01L);
    return *size = 2 * fabsl(y), y;
}
static real elu(real x, bool second, real *size)
{
    const real y = x > 0 ? x : expm1l(x) * (second ? 0.5L : 1);
    return *size = 6 * fabsl(y), y;
}
static real gelu(real x, bool second, real *size)
{
    const real inner =
        second ? tanhl((x + 0.044715L * x * x * x) * sqrtl(2 / acosl(-1))) : erfl(x / sqrtl(2));
    return *size = 8 * fabsl(x), x / 2 * (1 + inner);
}
static real silu(real x, bool second, real *size)
{
    const real y = x / (1 + expl(-x));
    return (void)second, *size = 6 * fabsl(y), y;
}
static real softplus(real x, bool second, real *size)
{
    return (void)second, *size = 6 * fmaxl(fabsl(x), 1), fmaxl(x, 0) + log1pl(expl(-fabsl(x)));
}

static const struct act_row {
    activation f;
    const char *name; /* name of the second argument */
    double number;
} relu_row = {relu, NULL, 0}, leaky_row = {leaky_relu, "negative_slope", 0.125},
  elu_row = {elu, "alpha", 0.5}, gelu_row = {gelu, "approximate", 0}, silu_row = {silu, NULL, 0},
  softplus_row = {softplus, NULL, 0};

static bool make_activation(problem *p, int variant)
{
    const struct act_row *r = p->row;
    if (beyond(p, variant))
        return false;
    const bool second = variant % 2 && r->name;
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){shapes[variant], 2}, mild);
    if (second && r == &gelu_row)
        problem_str(p, r->name, "tanh");
    else if (second)
        problem_float(p, r->name, r->number);
    const bool keeps = r == &relu_row; /* relu keeps integers */
    tensor *out = problem_out(p, keeps ? p->dtype : real_float(p->dtype), tensor_shape(x));
    for (int64_t i = 0; i < out->size; i++) {
        real size;
        const real want = r->f(keeps ? x->v[i] : get(p, 0, i), second, &size);
        put(p, out, i, want, size);
        if (keeps)
            out->tol[i] = 0;
    }
    return true;
}

/* ---- rows: softmax and norms along the last axis ---- */

typedef struct stats {
    real most, sum, mean, var, square, largest;
} stats;

/* Statistics of n elements from first on. */
static stats stats_of(const problem *p, int64_t first, int64_t n)
{
    stats s = {.most = -(real)INFINITY};
    for (int64_t i = 0; i < n; i++) {
        const real x = get(p, 0, first + i);
        s.most = fmaxl(s.most, x);
        s.mean += x / (real)n;
        s.square += x * x / (real)n;
        s.largest = fmaxl(s.largest, fabsl(x));
    }
    for (int64_t i = 0; i < n; i++) {
        const real x = get(p, 0, first + i);
        s.sum += expl(x - s.most);
        s.var += (x - s.mean) * (x - s.mean) / (real)n;
    }
    return s;
}

static real depth(int64_t n) { return 8 + 2 * log2l((real)n + 1); }

static bool make_softmax(problem *p, int variant)
{
    const bool logarithm = p->row != NULL;
    if (beyond(p, variant))
        return false;
    const int64_t *l = shapes[variant], n = l[1];
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){l, 2}, (domain){-30, 30, false});
    tensor *out = problem_out(p, real_float(p->dtype), tensor_shape(x));
    stats s = {0};
    for (int64_t i = 0; i < out->size; i++) {
        if (i % n == 0)
            s = stats_of(p, i, n);
        const real d = get(p, 0, i) - s.most;
        const real want = logarithm ? d - logl(s.sum) : expl(d) / s.sum;
        put(p, out, i, want, logarithm ? depth(n) + fabsl(d) : want * (depth(n) + fabsl(d)));
    }
    return true;
}

static const double eps_given = 1e-3;

/* layer_norm and rms_norm over the last axis; both with weight, layer_norm also with bias. */
static bool make_norm(problem *p, int variant)
{
    const bool rms = p->row != NULL, given = variant % 2;
    if (beyond(p, variant))
        return false;
    const int64_t *l = shapes[variant], n = l[1];
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){l, 2}, mild);
    const tensor *w = NULL, *b = NULL;
    if (given)
        w = problem_in(p, "weight", p->dtype, IG_SHAPE(n), mild);
    if (given && !rms)
        b = problem_in(p, "bias", p->dtype, IG_SHAPE(n), mild);
    problem_float(p, "eps", eps_given);
    tensor *out = problem_out(p, real_float(p->dtype), tensor_shape(x));
    stats s = {0};
    for (int64_t i = 0; i < out->size; i++) {
        if (i % n == 0)
            s = stats_of(p, i, n);
        const real scale = 1 / sqrtl((rms ? s.square : s.var) + (real)eps_given);
        const real weight = w ? get(p, 1, i % n) : 1, bias = b ? get(p, 2, i % n) : 0;
        const real y = (get(p, 0, i) - (rms ? 0 : s.mean)) * scale;
        put(p, out, i, y * weight + bias,
            depth(n) *
                (fabsl(weight) * (scale * s.largest * (1 + fabsl(y)) + fabsl(y)) + fabsl(bias)));
    }
    return true;
}

/* batch_norm: x (N, C, W) per channel, with its own statistics or given ones. group_norm: per sample and group. */
static bool make_channels(problem *p, int variant)
{
    static const int64_t sizes[][3] = {{4, 6, 9}, {3, 4, 17}, {2, 2, 65}};
    const bool groups = p->row != NULL;
    if (variant >= (p->quick ? 2 : 3) || (p->mode != MODE_PLAIN && variant > 0))
        return false;
    const int64_t *l = sizes[variant], each = l[1] / 2; /* channels per group */
    const bool given = variant == 1 && !groups;
    problem_in(p, NULL, p->dtype, (ig_ints){l, 3}, mild);
    if (groups)
        problem_int(p, NULL, 2);
    if (given) {
        problem_in(p, "mean", p->dtype, IG_SHAPE(l[1]), mild);
        problem_in(p, "var", p->dtype, IG_SHAPE(l[1]), (domain){0.5, 4, false});
    }
    const int first = p->n_in;
    problem_in(p, "weight", p->dtype, IG_SHAPE(l[1]), mild);
    problem_in(p, "bias", p->dtype, IG_SHAPE(l[1]), mild);
    problem_float(p, "eps", eps_given);
    tensor *out = problem_out(p, real_float(p->dtype), (ig_ints){l, 3});
    for (int64_t i = 0; i < out->size; i++) {
        const int64_t c = i / l[2] % l[1], row = i / (l[1] * l[2]);
        const int64_t n = groups ? each * l[2] : l[0] * l[2];
        real mean = 0, var = 0, largest = 4;
        for (int pass = 0; pass < 2 && !given; pass++)
            for (int64_t k = 0; k < n; k++) {
                const int64_t at = groups ? (row * l[1] + c / each * each) * l[2] + k
                                          : (k / l[2] * l[1] + c) * l[2] + k % l[2];
                const real v = get(p, 0, at);
                if (pass == 0)
                    mean += v / (real)n;
                else
                    var += (v - mean) * (v - mean) / (real)n;
            }
        if (given) {
            mean = get(p, 1, c);
            var = get(p, 2, c);
        }
        const real scale = 1 / sqrtl(var + (real)eps_given), y = (get(p, 0, i) - mean) * scale;
        const real w = get(p, first, c), b = get(p, first + 1, c);
        put(p, out, i, y * w + b,
            depth(n) * (fabsl(w) * (scale * largest * (1 + fabsl(y)) + fabsl(y)) + fabsl(b)));
    }
    return true;
}

/* ---- losses ---- */

/* The loss of x and target t; *size: its error bound in eps. */
typedef real (*loss)(real x, real t, real *size);

static real mse(real x, real t, real *size)
{
    return *size = 4 * fabsl(x - t) * fmaxl(fabsl(x), fabsl(t)), (x - t) * (x - t);
}
static real l1(real x, real t, real *size)
{
    return *size = fmaxl(fabsl(x), fabsl(t)), fabsl(x - t);
}
static real huber(real x, real t, real *size)
{
    const real d = fabsl(x - t);
    *size = 4 * fmaxl(fabsl(x), fabsl(t)) * fmaxl(d, 1);
    return d <= 1 ? d * d / 2 : d - 0.5L;
}
static real bce(real x, real t, real *size)
{
    *size = 8 * (1 + fabsl(x) * (1 + fabsl(t)));
    return fmaxl(x, 0) + log1pl(expl(-fabsl(x))) - x * t;
}
static real kl_div(real x, real t, real *size)
{
    *size = t == 0 ? 0 : 8 * fabsl(t) * (1 + fabsl(logl(t)) + fabsl(x));
    return t == 0 ? 0 : t * (logl(t) - x);
}
static const struct loss_row {
    loss f;
    domain target;
} mse_row = {mse, {-4, 4, false}}, l1_row = {l1, {-4, 4, false}},
  huber_row = {huber, {-4, 4, false}}, bce_row = {bce, {0, 1, false}},
  kl_row = {kl_div, {0.01, 1, false}};

static bool make_loss(problem *p, int variant)
{
    static const char *const reductions[] = {"none", "mean", "sum"};
    const struct loss_row *r = p->row;
    if (variant >= 6 || (p->mode != MODE_PLAIN && variant > 2) || (p->quick && variant > 2))
        return false;
    const char *reduction = reductions[variant % 3];
    const ig_ints shape = {shapes[variant / 3], 2};
    const domain from = r == &kl_row ? r->target : mild; /* so that either may be the other */
    const tensor *x = problem_in(p, NULL, p->dtype, shape, from);
    problem_in(p, NULL, p->dtype, shape, r->target);
    problem_str(p, "reduction", reduction);
    const bool each = variant % 3 == 0;
    tensor *out = problem_out(p, real_float(p->dtype), each ? shape : IG_SCALAR);
    real sum = 0, total = 0;
    for (int64_t i = 0; i < x->size; i++) {
        const real t = get(p, 1, i);
        real size;
        const real want =
            r == &kl_row && t < 0 ? (size = 0, (real)NAN) : r->f(get(p, 0, i), t, &size);
        sum += want;
        total += size + depth(x->size) * fabsl(want);
        if (each)
            put(p, out, i, want, size);
    }
    const real by = reduction[0] == 'm' ? (real)x->size : 1;
    if (!each)
        put(p, out, 0, sum / by, total / by);
    return true;
}

static bool make_cross_entropy(problem *p, int variant)
{
    if (beyond(p, variant) || shapes[variant][0] == 0)
        return false;
    const int64_t *l = shapes[variant], n = l[1];
    problem_in(p, NULL, p->dtype, (ig_ints){l, 2}, (domain){-30, 30, false});
    const tensor *label =
        problem_in(p, NULL, IG_I64, IG_SHAPE(l[0]), (domain){0, (double)n - 1, false});
    problem_str(p, "reduction", "none");
    tensor *out = problem_out(p, real_float(p->dtype), IG_SHAPE(l[0]));
    for (int64_t i = 0; i < l[0]; i++) {
        const stats s = stats_of(p, i * n, n);
        const real d = s.most - get(p, 0, i * n + (int64_t)label->v[i]);
        put(p, out, i, d + logl(s.sum), depth(n) + d);
    }
    return true;
}

/* ---- the rest ---- */

/* With p 0 all elements are kept. The choice of dropped elements is bernoulli's, which has its own plan. */
static bool make_dropout(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){shapes[variant], 2}, mild);
    problem_in(p, NULL, IG_U32, IG_SHAPE(4), (domain){0, 1e9, false});
    problem_float(p, NULL, 0);
    tensor *out = problem_out(p, real_float(p->dtype), tensor_shape(x));
    for (int64_t i = 0; i < out->size; i++)
        out->v[i] = real_round(real_compute(p->dtype), x->v[i]);
    return true;
}

static bool make_embedding(problem *p, int variant)
{
    if (beyond(p, variant) || shapes[variant][0] == 0)
        return false;
    const int64_t *l = shapes[variant], rows = l[0], width = l[1];
    const tensor *at =
        problem_in(p, NULL, IG_I32, IG_SHAPE(5, 3), (domain){0, (double)rows - 1, false});
    const tensor *w = problem_in(p, NULL, p->dtype, (ig_ints){l, 2}, (domain){-9, 9, true});
    tensor *out = problem_out(p, p->dtype, IG_SHAPE(5, 3, width));
    for (int64_t i = 0; i < out->size; i++)
        out->v[i] = w->v[(int64_t)at->v[i / width] * width + i % width];
    return true;
}

static const struct attention {
    int64_t batch, queries, keys, width, values;
    bool mask, causal;
} attentions[] = {{2, 9, 9, 9, 9, false, false},
                  {1, 5, 17, 8, 3, true, false},
                  {2, 65, 65, 4, 4, false, true},
                  {1, 1, 1, 1, 1, false, false}};

/* Row q of one batch: the weights, then the weighted mean of the values. */
static void attend(const problem *p, const struct attention *a, int64_t b, int64_t q, tensor *out)
{
    real score[65], most = -(real)INFINITY, sum = 0, largest = 0;
    for (int64_t k = 0; k < a->keys; k++) {
        score[k] = 0;
        for (int64_t i = 0; i < a->width; i++) {
            const real product = get(p, 0, (b * a->queries + q) * a->width + i) *
                                 get(p, 1, (b * a->keys + k) * a->width + i);
            score[k] += product / sqrtl((real)a->width);
            largest = fmaxl(largest, fabsl(product) * sqrtl((real)a->width));
        }
        if ((a->mask && p->in[3].v[q * a->keys + k] == 0) || (a->causal && k > q))
            score[k] = -(real)INFINITY;
        most = fmaxl(most, score[k]);
    }
    for (int64_t k = 0; k < a->keys; k++)
        sum += isinf(most) ? 1 : expl(score[k] - most);
    for (int64_t v = 0; v < a->values; v++) {
        real y = 0, size = 0;
        for (int64_t k = 0; k < a->keys && !isinf(most); k++) {
            const real value = get(p, 2, (b * a->keys + k) * a->values + v);
            y += expl(score[k] - most) / sum * value;
            size = fmaxl(size, fabsl(value));
        }
        put(p, out, (b * a->queries + q) * a->values + v, y,
            size * (depth(a->keys) + (real)a->keys + 4 * (real)a->width * (1 + largest)));
    }
}

static bool make_attention(problem *p, int variant)
{
    if (variant >= (p->quick ? 2 : 4) || (p->mode != MODE_PLAIN && variant > 1))
        return false;
    const struct attention *a = &attentions[variant];
    const domain unit = {-1, 1, false};
    problem_in(p, NULL, p->dtype, IG_SHAPE(a->batch, a->queries, a->width), unit);
    problem_in(p, NULL, p->dtype, IG_SHAPE(a->batch, a->keys, a->width), unit);
    problem_in(p, NULL, p->dtype, IG_SHAPE(a->batch, a->keys, a->values), unit);
    if (a->mask)
        problem_in(p, "mask", IG_BOOL, IG_SHAPE(a->queries, a->keys), unit);
    if (a->causal)
        problem_bool(p, "is_causal", true);
    tensor *out = problem_out(p, real_float(p->dtype), IG_SHAPE(a->batch, a->queries, a->values));
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t q = 0; q < a->queries; q++)
            attend(p, a, b, q, out);
    return true;
}

const plan plans_composite[] = {
    {"relu", NUMBERS, make_activation, &relu_row},
    {"leaky_relu", ANY, make_activation, &leaky_row},
    {"elu", ANY, make_activation, &elu_row},
    {"gelu", ANY, make_activation, &gelu_row},
    {"silu", ANY, make_activation, &silu_row},
    {"softplus", ANY, make_activation, &softplus_row},
    {"softmax", ANY, make_softmax, NULL},
    {"log_softmax", ANY, make_softmax, ""},
    {"layer_norm", ANY, make_norm, NULL},
    {"rms_norm", ANY, make_norm, ""},
    {"batch_norm", ANY, make_channels, NULL},
    {"group_norm", ANY, make_channels, ""},
    {"dropout", ANY, make_dropout, NULL},
    {"scaled_dot_product_attention", ANY, make_attention, NULL},
    {"embedding", ANY, make_embedding, NULL},
    {"cross_entropy", ANY, make_cross_entropy, NULL},
    {"mse", ANY, make_loss, &mse_row},
    {"l1", ANY, make_loss, &l1_row},
    {"huber", ANY, make_loss, &huber_row},
    {"bce_with_logits", ANY, make_loss, &bce_row},
    {"kl_div", ANY, make_loss, &kl_row},
    {NULL, 0, NULL, NULL},
};
