/* Training steps: forward, backward and Adam, on inputs (x, labels, weight, bias, weight, bias, ...).
 * Weights are the inputs divided by ten. A run is one step that continues the last one. The answer is the
 * losses of the first steps. */
#include "train.h"

#include <stdio.h>
#include <stdlib.h>

enum { PARAMS_MOST = 8, STATES = 3, ANSWER_STEPS = 5 };
static const double rate = 1e-3, beta[2] = {0.9, 0.999}, epsilon = 1e-8;

/* ---- the networks: x (32, 32) to 128 to 10; and of images (64, 1, 8, 8) ---- */

static ig_array *mlp(ig_model *m, ig_array *x)
{
    x = ig_relu(ig_nn_linear(m, "l0", x, 128, true));
    return ig_nn_linear(m, "l1", x, 10, true);
}

static ig_array *cnn(ig_model *m, ig_array *x)
{
    x = ig_relu(ig_nn_conv(m, "l0", x, 32, IG_SHAPE(3), IG_SHAPE(1), IG_SHAPE(1), true));
    x = ig_relu(ig_nn_conv(m, "l1", x, 64, IG_SHAPE(3), IG_SHAPE(1), IG_SHAPE(1), true));
    x = ig_max_pool2d(x, IG_SHAPE(2), IG_NONE, IG_NONE, IG_NONE, false);
    x = ig_relu(ig_nn_linear(m, "l2", ig_reshape(x, IG_SHAPE(ig_dim(x, 0), -1)), 128, true));
    return ig_nn_linear(m, "l3", x, 10, true);
}

/* ---- rebuilt in each step ---- */

struct training {
    ig_array *(*net)(ig_model *, ig_array *);
    ig_array *x, *labels;
    ig_model *model;
    ig_optimizer *optimizer;
    /* compiled: parameters, then the first and second moments of Adam */
    ig_compiled *step;
    ig_array *state[STATES * PARAMS_MOST];
    int n;      /* parameters */
    long steps; /* done */
};

static ig_array *scaled(ig_array *x) { return ig_multiply(x, ig_float(0.1)); }

void training_free(struct training *t)
{
    if (!t)
        return;
    ig_model_free(t->model);
    ig_optimizer_free(t->optimizer);
    ig_compiled_free(t->step);
    for (int i = 0; i < STATES * t->n; i++)
        ig_release(t->state[i]);
    free(t);
}

static bool model_begin(struct training *t, ig_array *const *weights)
{
    t->model = ig_model_new(0);
    t->optimizer = ig_adam(rate, beta[0], beta[1], epsilon);
    ig_array *logits = t->model && t->optimizer ? t->net(t->model, t->x) : NULL;
    for (int i = 0; i < t->n && logits; i++) {
        char name[32];
        snprintf(name, sizeof name, "l%d.%s", i / 2, i % 2 ? "bias" : "weight");
        if (ig_model_set(t->model, name, scaled(weights[i])) != IG_OK)
            return false;
    }
    return logits != NULL;
}

static ig_array *model_step(struct training *t)
{
    ig_array *loss = ig_cross_entropy(t->net(t->model, t->x), t->labels, -1, NULL);
    return ig_step(t->optimizer, t->model, loss, NULL, NULL, 0) == IG_OK ? loss : NULL;
}

/* ---- compiled once ---- */

static ig_array *mlp_loss(ig_array *const *p, ig_array *x, ig_array *labels)
{
    x = ig_relu(ig_add(ig_matmul(x, ig_matrix_transpose(p[0])), p[1]));
    x = ig_add(ig_matmul(x, ig_matrix_transpose(p[2])), p[3]);
    return ig_cross_entropy(x, labels, -1, NULL);
}

/* factor * old + (1 - factor) * new */
static ig_array *blend(ig_array *was, ig_array *x, double factor)
{
    return ig_add(ig_multiply(was, ig_float(factor)), ig_multiply(x, ig_float(1 - factor)));
}

/* The step as a function of the state and of Adam's two bias corrections, which change in each step. */
static bool compiled_begin(struct training *t, ig_array *const *weights)
{
    const int n = t->n;
    ig_array *in[STATES * PARAMS_MOST + 2], *out[STATES * PARAMS_MOST + 1], *g[PARAMS_MOST];
    for (int i = 0; i < STATES * n; i++)
        in[i] = i < n ? scaled(weights[i]) : ig_multiply(weights[i % n], ig_float(0));
    in[STATES * n] = ig_scalar(rate, IG_F32);
    in[STATES * n + 1] = ig_scalar(1, IG_F32);
    if (ig_eval(in, STATES * n + 2) != IG_OK)
        return false;
    ig_array *loss = mlp_loss(in, t->x, t->labels);
    if (ig_grad(loss, in, n, g) != IG_OK)
        return false;
    for (int i = 0; i < n; i++) {
        ig_array *m = blend(in[n + i], g[i], beta[0]);
        ig_array *v = blend(in[2 * n + i], ig_square(g[i]), beta[1]);
        ig_array *size = ig_add(ig_multiply(ig_sqrt(v), in[STATES * n + 1]), ig_float(epsilon));
        out[i] = ig_subtract(in[i], ig_divide(ig_multiply(m, in[STATES * n]), size));
        out[n + i] = m;
        out[2 * n + i] = v;
    }
    out[STATES * n] = loss;
    t->step = ig_compile(in, STATES * n + 2, STATES * n, out, STATES * n + 1);
    for (int i = 0; i < STATES * n; i++)
        t->state[i] = ig_retain(in[i]);
    return t->step != NULL;
}

static ig_array *compiled_step(struct training *t)
{
    const int n = STATES * t->n;
    ig_array *in[STATES * PARAMS_MOST + 2], *out[STATES * PARAMS_MOST + 1];
    double left[2] = {1, 1}; /* the weight of the initial zeros in the moments */
    for (int k = 0; k < 2; k++)
        left[k] = 1 - __builtin_pow(beta[k], (double)(t->steps + 1));
    for (int i = 0; i < n; i++)
        in[i] = t->state[i];
    in[n] = ig_scalar(rate / left[0], IG_F32);
    in[n + 1] = ig_scalar(1 / __builtin_sqrt(left[1]), IG_F32);
    if (ig_run(t->step, in, out) != IG_OK)
        return NULL;
    for (int i = 0; i < n; i++) {
        ig_release(t->state[i]);
        t->state[i] = ig_scope_forget(out[i]);
    }
    return out[n];
}

/* ---- the interface for ours.c ---- */

struct training *training_new(const char *name, ig_array *const *in, int n)
{
    struct training *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    const bool compiled = strstr(name, "compiled") != NULL;
    t->net = strstr(name, "cnn") ? cnn : mlp;
    t->x = in[0];
    t->labels = in[1];
    t->n = n - 2;
    ig_scope_begin();
    const bool ok = compiled ? compiled_begin(t, in + 2) : model_begin(t, in + 2);
    ig_scope_end();
    if (ok)
        return t;
    training_free(t);
    return NULL;
}

ig_array *training_step(struct training *t)
{
    ig_array *loss = t->step ? compiled_step(t) : model_step(t);
    t->steps += loss != NULL;
    return loss;
}

ig_array *training_answer(struct training *t)
{
    ig_array *loss[ANSWER_STEPS];
    for (int i = 0; i < ANSWER_STEPS; i++)
        if (!(loss[i] = training_step(t)))
            return NULL;
    return ig_stack(loss, ANSWER_STEPS, 0);
}
