/* Training works: a step of a small network, an epoch of the digits.
 *
 * The small network is also trained by reference code in double: forward, backward and Adam. The network of
 * the digits uses dropout, so only its forward pass is checked, before and after; its loss must fall. */
#include "bench/works.h"

#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED_STEPS = 6, BATCH = 64, LOOKED_AT = 16 };
static const double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

/* ---- a network with one hidden layer: batch x in x hidden x out ------------------------------------ */

typedef struct learner {
    ig_model *model;
    ig_optimizer *optimizer;
    dataset digits; /* for train_digits only */
} learner;

static void learner_free(void *state)
{
    learner *l = state;
    ig_model_free(l->model);
    ig_optimizer_free(l->optimizer);
    dataset_free(&l->digits);
    free(l);
}

/* A new network with parameters from the seed; NULL on failure. */
static learner *learner_new(const job *j)
{
    learner *l = heap_get(sizeof *l);
    l->model = ig_model_new(job_key(j, 2));
    l->optimizer = ig_adam(rate, beta1, beta2, epsilon);
    if (l->model && l->optimizer)
        return l;
    learner_free(l);
    return NULL;
}

static void mlp_cost(job *j)
{
    double batch = (double)j->dims[0], in = (double)j->dims[1], out = (double)j->dims[3];
    j->flops = 2 * batch * (double)j->dims[2] * (2 * in + 3 * out);
    j->memory_bytes = 1 << 20;
    j->extent = batch;
}

static ig_array *mlp_loss(const job *j, ig_model *m)
{
    ig_array *x = ig_relu(ig_nn_linear(m, "hidden", j->in[0], j->dims[2], true));
    return ig_cross_entropy(ig_nn_linear(m, "out", x, j->dims[3], true), j->in[1], -1, NULL);
}

static bool mlp_make(job *j)
{
    ig_array *labels =
        ig_randint(ig_key(job_key(j, 1), NULL), IG_SHAPE(j->dims[0]), 0, j->dims[3], IG_I64);
    return job_keep(j, 0, job_uniform(j, 0, IG_SHAPE(j->dims[0], j->dims[1]), -1, 1)) &&
           job_keep(j, 1, labels) && (j->state = learner_new(j));
}

static bool mlp_step(const job *j, learner *l, double *loss)
{
    return ig_step(l->optimizer, l->model, mlp_loss(j, l->model), loss, NULL, 0) == IG_OK;
}

static outcome mlp_run(job *j, double *aside_s, str *why)
{
    (void)aside_s;
    (void)why;
    mlp_step(j, j->state, NULL); /* the caller checks for library errors */
    return OUTCOME_FINE;
}

/* A reference layer: weight (out, in) and bias, their gradients, and the moments of Adam. */
typedef struct layer {
    int64_t in, out, n;
    double *p, *g, *m, *v; /* n of each: weights, then biases */
} layer;

static bool layer_read(layer *l, const ig_model *m, const char *weight, const char *bias)
{
    ig_array *parts[] = {ig_model_get(m, weight), ig_model_get(m, bias)};
    l->out = ig_dim(parts[0], 0);
    l->in = ig_dim(parts[0], 1);
    l->n = l->out * (l->in + 1);
    l->p = heap_get(sizeof *l->p * (size_t)(4 * l->n));
    l->g = l->p + l->n;
    l->m = l->g + l->n;
    l->v = l->m + l->n;
    for (int i = 0; i < 2; i++) {
        double *from = elements(parts[i]);
        if (!from)
            return false;
        memcpy(i ? l->p + l->in * l->out : l->p, from, sizeof *from * (size_t)ig_size(parts[i]));
        free(from);
    }
    return true;
}

static void layer_forward(const layer *l, const double *x, double *y)
{
    for (int64_t o = 0; o < l->out; o++) {
        y[o] = l->p[l->in * l->out + o];
        for (int64_t i = 0; i < l->in; i++)
            y[o] += l->p[o * l->in + i] * x[i];
    }
}

/* Adds the gradients of one example. Computes the gradient of x into gx, unless it is NULL. */
static void layer_backward(layer *l, const double *x, const double *gy, double *gx)
{
    for (int64_t o = 0; o < l->out; o++) {
        l->g[l->in * l->out + o] += gy[o];
        for (int64_t i = 0; i < l->in; i++) {
            l->g[o * l->in + i] += gy[o] * x[i];
            if (gx)
                gx[i] = (o ? gx[i] : 0) + gy[o] * l->p[o * l->in + i];
        }
    }
}

static void layer_adam(layer *l, int step)
{
    for (int64_t i = 0; i < l->n; i++) {
        l->m[i] = beta1 * l->m[i] + (1 - beta1) * l->g[i];
        l->v[i] = beta2 * l->v[i] + (1 - beta2) * l->g[i] * l->g[i];
        double mean = l->m[i] / (1 - pow(beta1, step)), square = l->v[i] / (1 - pow(beta2, step));
        l->p[i] -= rate * mean / (sqrt(square) + epsilon);
        l->g[i] = 0;
    }
}

/* Replaces logits by the gradient of their cross entropy. Returns the cross entropy. */
static double cross_entropy(double *logits, int64_t n, int64_t label, double share)
{
    double all = 0, most = logits[0], right = logits[label];
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, logits[i]);
    for (int64_t i = 0; i < n; i++)
        all += exp(logits[i] - most);
    for (int64_t i = 0; i < n; i++)
        logits[i] = share * (exp(logits[i] - most) / all - (i == label));
    return log(all) + most - right;
}

/* The loss of the whole batch. Adds the gradients to the layers. */
static double mlp_by_hand(layer *hidden, layer *out, const double *x, const double *labels,
                          int64_t batch)
{
    double *h = heap_get(sizeof *h * (size_t)(2 * hidden->out + out->out)), *gh = h + hidden->out;
    double *y = gh + hidden->out, loss = 0;
    for (int64_t b = 0; b < batch; b++, x += hidden->in) {
        layer_forward(hidden, x, h);
        for (int64_t i = 0; i < hidden->out; i++)
            h[i] = fmax(h[i], 0);
        layer_forward(out, h, y);
        loss += cross_entropy(y, out->out, (int64_t)labels[b], 1 / (double)batch) / (double)batch;
        layer_backward(out, h, y, gh);
        for (int64_t i = 0; i < hidden->out; i++)
            gh[i] = h[i] > 0 ? gh[i] : 0;
        layer_backward(hidden, x, gh, NULL);
    }
    free(h);
    return loss;
}

static bool mlp_check(job *j, ig_array *unused, str *why)
{
    (void)unused;
    learner *l = learner_new(j);
    layer hidden = {0}, out = {0};
    double *x = elements(j->in[0]), *labels = elements(j->in[1]), first = 0, loss = 0;
    bool fine = l && x && labels && mlp_loss(j, l->model) /* creates the parameters */ &&
                layer_read(&hidden, l->model, "hidden.weight", "hidden.bias") &&
                layer_read(&out, l->model, "out.weight", "out.bias");
    for (int step = 1; step <= CHECKED_STEPS && fine; step++) {
        double expected = mlp_by_hand(&hidden, &out, x, labels, j->dims[0]);
        layer_adam(&hidden, step);
        layer_adam(&out, step);
        fine = mlp_step(j, l, &loss) &&
               check_close(why, "the loss of step", step, loss, expected, 1e-5 * expected);
        first = step == 1 ? loss : first;
    }
    if (fine && !(loss < first)) {
        str_printf(why, "the loss went from %.9g to %.9g; expected it to fall", first, loss);
        fine = false;
    }
    free(hidden.p);
    free(out.p);
    free(x);
    free(labels);
    if (l)
        learner_free(l);
    return fine;
}

/* ---- an epoch of the digits -------------------------------------------------------------------- */

static const command reporter = {.name = "bench"};

static void digits_cost(job *j)
{
    /* Forward pass of one image: 64 positions with 9 x 32 and 9 x 32 x 64 products, then 1024 x 128 and 128 x 10. The
     * gradients cost twice as much. */
    j->flops = 3 * 2.0 * 1498 * (64 * (9 * 32 + 9 * 32 * 64) + 1024 * 128 + 128 * 10);
    j->memory_bytes = 64 << 20;
    j->extent = 1498;
}

static learner *digits_new(const job *j)
{
    learner *l = learner_new(j);
    if (!l || dataset_open(&reporter, &l->digits, "digits", NULL, NULL) < 0)
        return l;
    learner_free(l);
    return NULL;
}

static bool digits_make(job *j)
{
    j->state = digits_new(j);
    return j->state != NULL;
}

static ig_array *digits_logits(learner *l, int64_t first, int64_t n, ig_array **labels)
{
    int64_t indices[BATCH];
    for (int64_t i = 0; i < n; i++)
        indices[i] = first + i;
    const samples *p = &l->digits.train;
    *labels = samples_labels(p, indices, n);
    return net_find(NULL, "cnn")
        ->forward(l->model, samples_pick(&l->digits, p, indices, n), DIGIT_CLASSES);
}

/* One epoch. losses, if not NULL, receives the loss of each step. Returns the number of steps; 0 on failure. */
static int digits_epoch(learner *l, double *losses)
{
    int steps = 0;
    for (int64_t first = 0; first < l->digits.train.count; first += BATCH, steps++) {
        int64_t left = l->digits.train.count - first;
        ig_array *labels;
        if (ig_scope_begin() != IG_OK)
            return 0;
        ig_array *logits = digits_logits(l, first, left < BATCH ? left : BATCH, &labels);
        ig_array *loss = ig_cross_entropy(logits, labels, -1, NULL);
        bool fine =
            ig_step(l->optimizer, l->model, loss, losses ? &losses[steps] : NULL, NULL, 0) == IG_OK;
        ig_scope_end();
        if (!fine)
            return 0;
    }
    return steps;
}

static outcome digits_run(job *j, double *aside_s, str *why)
{
    (void)aside_s;
    (void)why;
    digits_epoch(j->state, NULL);
    return OUTCOME_FINE;
}

/* Convolution with bias and relu, from (in, side, side) to (out, side, side). */
static void conv_by_hand(const double *x, const double *w, const double *b, int64_t in, int64_t out,
                         int64_t side, double *y)
{
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < side * side; i++)
            y[o * side * side + i] =
                fmax(0, b[o] + reference_conv(x, w + o * in * 9, in, side, i / side, i % side));
}

/* The logits of one 8 x 8 image; NULL if the library failed. */
static double *cnn_by_hand(const ig_model *m, const double *x)
{
    static const char *const names[] = {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"};
    double *p[4] = {0}, *h = heap_get(sizeof *h * (32 + 64 + 16) * 64), *y = NULL,
           *flat = h + 96 * 64;
    bool fine = true;
    for (int i = 0; i < 4 && fine; i++)
        fine = (p[i] = elements(ig_model_get(m, names[i]))) != NULL;
    if (fine) {
        conv_by_hand(x, p[0], p[1], 1, 32, 8, h);
        conv_by_hand(h, p[2], p[3], 32, 64, 8, h + 32 * 64);
        for (int i = 0; i < 1024; i++) {
            const double *at = h + 32 * 64 + i / 4 * 16 + i % 4 * 2;
            flat[i] = fmax(fmax(at[0], at[1]), fmax(at[8], at[9]));
        }
        double *hidden = reference_linear(m, "hidden", flat, 1, 1024, 128);
        for (int i = 0; i < 128 && hidden; i++)
            hidden[i] = fmax(hidden[i], 0);
        y = hidden ? reference_linear(m, "out", hidden, 1, 128, DIGIT_CLASSES) : NULL;
        free(hidden);
    }
    for (int i = 0; i < 4; i++)
        free(p[i]);
    free(h);
    return y;
}

/* Compares the logits of the first images, computed without dropout, with the reference. */
static bool digits_look(learner *l, const char *when, str *why)
{
    int64_t indices[LOOKED_AT];
    for (int64_t i = 0; i < LOOKED_AT; i++)
        indices[i] = i;
    ig_array *labels;
    ig_model_train(l->model, false);
    double *got = elements(digits_logits(l, 0, LOOKED_AT, &labels));
    ig_model_train(l->model, true);
    double *x = elements(samples_pick(&l->digits, &l->digits.train, indices, LOOKED_AT));
    bool fine = got && x;
    for (int64_t i = 0; i < LOOKED_AT && fine; i++) {
        double *expected = cnn_by_hand(l->model, x + i * 64);
        fine = expected != NULL;
        for (int64_t k = 0; k < DIGIT_CLASSES && fine; k++)
            fine = check_close(why, when, i * DIGIT_CLASSES + k, got[i * DIGIT_CLASSES + k],
                               expected[k], 1e-4);
        free(expected);
    }
    free(got);
    free(x);
    return fine;
}

static bool digits_check(job *j, ig_array *unused, str *why)
{
    (void)unused;
    double losses[64] = {0};
    learner *l = digits_new(j);
    bool fine = l && digits_look(l, "before learning, logit", why);
    int steps = fine ? digits_epoch(l, losses) : 0;
    fine = steps > 0 && digits_look(l, "after an epoch, logit", why);
    if (fine && !(losses[steps - 1] < 0.8 * losses[0])) {
        str_printf(why,
                   "the loss went from %.9g to %.9g in an epoch; expected it to fall by a fifth",
                   losses[0], losses[steps - 1]);
        fine = false;
    }
    if (l)
        learner_free(l);
    return fine;
}

const work works_train[] = {
    {"train_mlp", "train", "*32x32x128x10", "f32",
     "a step of Adam, batch x in x hidden x out, new parameters", mlp_cost, mlp_make, NULL, mlp_run,
     mlp_check, learner_free, false},
    {"train_digits", "train", "*1498", "f32",
     "an epoch of the convolutional network of 'ingot train', batches of 64", digits_cost,
     digits_make, NULL, digits_run, digits_check, learner_free, false},
    {0}};
