/* A tool for tests/test_torch.py; not a test by itself.
 *
 *   train_tool NET OPTIMIZER STEPS MODEL DATA OUT
 *
 * Trains the network on the tensors x and y of DATA, from the parameters in MODEL, prints the loss of each step on a
 * separate line, and saves the result to OUT. */
#include "ingot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ig_array *mlp(ig_model *m, ig_array *x)
{
    x = ig_relu(ig_nn_linear(m, "hidden", x, 24, true));
    return ig_nn_linear(m, "out", x, 5, true);
}

static ig_array *conv(ig_model *m, ig_array *x)
{
    x = ig_nn_conv(m, "conv", x, 6, IG_SHAPE(3), IG_SHAPE(2), IG_SHAPE(1), false);
    x = ig_relu(ig_nn_batch_norm(m, "norm", x, 0.1, 1e-5));
    return ig_nn_linear(m, "out", ig_reshape(x, IG_SHAPE(ig_dim(x, 0), -1)), 5, true);
}

/* x are indices. */
static ig_array *attention(ig_model *m, ig_array *x)
{
    x = ig_nn_embedding(m, "embedding", x, 11, 12);
    ig_array *y = ig_nn_attention(m, "attention", ig_nn_layer_norm(m, "before", x, 1e-5), NULL, 3,
                                  NULL, true);
    x = ig_nn_rms_norm(m, "after", ig_add(x, y), 1e-5);
    return ig_nn_linear(m, "out", ig_mean(ig_gelu(x, NULL), IG_AXES(1), false), 5, true);
}

static const struct {
    const char *name;
    ig_array *(*forward)(ig_model *m, ig_array *x);
} nets[] = {{"mlp", mlp}, {"conv", conv}, {"attention", attention}};

static ig_optimizer *make(const char *name)
{
    if (strcmp(name, "sgd") == 0)
        return ig_sgd(0.1, 0, false, 0);
    if (strcmp(name, "momentum") == 0)
        return ig_sgd(0.05, 0.9, false, 0.01);
    if (strcmp(name, "nesterov") == 0)
        return ig_sgd(0.05, 0.9, true, 0.01);
    if (strcmp(name, "adam") == 0)
        return ig_adam(0.003, 0.9, 0.999, 1e-8);
    if (strcmp(name, "adamw") == 0)
        return ig_adamw(0.003, 0.9, 0.99, 1e-8, 0.1);
    if (strcmp(name, "rmsprop") == 0)
        return ig_rmsprop(0.001, 0.99, 1e-8, 0);
    if (strcmp(name, "rmsprop_momentum") == 0)
        return ig_rmsprop(0.001, 0.99, 1e-8, 0.9);
    if (strcmp(name, "lion") == 0)
        return ig_lion(0.001, 0.9, 0.99, 0.1);
    ig_optimizer *o = strcmp(name, "clipped") == 0 ? ig_sgd(0.1, 0.9, false, 0) : NULL;
    if (o) {
        ig_optimizer_clip(o, 0.5);
        ig_schedule_cosine(o, 20, 0);
    }
    return o;
}

static int train(ig_model *m, ig_optimizer *o, ig_array *forward(ig_model *, ig_array *), int steps,
                 const ig_tensors *data)
{
    ig_array *x = ig_tensors_get(data, "x"), *y = ig_tensors_get(data, "y");
    for (int i = 0; i < steps; i++) {
        double loss;
        ig_scope_begin();
        ig_step(o, m, ig_cross_entropy(forward(m, x), y, -1, NULL), &loss, NULL, 0);
        ig_scope_end();
        if (ig_failed())
            return 1;
        printf("%.9g\n", loss);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    ig_array *(*forward)(ig_model *, ig_array *) = NULL;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        if (strcmp(argv[1], nets[i].name) == 0)
            forward = nets[i].forward;
    ig_model *m = ig_model_new(0);
    ig_optimizer *o = make(argv[2]);
    ig_tensors *data = ig_tensors_load(argv[5]);
    int code = !forward || !o || !data || ig_model_load(m, NULL, argv[4]) != IG_OK ||
               train(m, o, forward, atoi(argv[3]), data) ||
               ig_model_save(m, o, NULL, argv[6]) != IG_OK;
    if (code)
        fprintf(stderr, "train_tool: %s\n", ig_failed() ? ig_error(NULL) : "unknown name");
    ig_tensors_free(data);
    ig_optimizer_free(o);
    ig_model_free(m);
    ig_shutdown();
    return code;
}
