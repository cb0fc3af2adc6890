/* The networks and optimizers of ingot train. */
#include "train/onnx.h"

#include <string.h>

/* ---- networks ------------------------------------------------------------------------------- */

static ig_array *flat(ig_array *x) { return ig_reshape(x, IG_SHAPE(ig_dim(x, 0), -1)); }

static ig_array *mlp(ig_model *m, ig_array *x, int64_t classes)
{
    x = ig_relu(ig_nn_linear(m, "hidden", flat(x), 128, true));
    return ig_nn_linear(m, "out", x, classes, true);
}

static ig_array *conv(ig_model *m, const char *name, ig_array *x, int64_t channels)
{
    return ig_relu(ig_nn_conv(m, name, x, channels, IG_SHAPE(3), IG_SHAPE(1), IG_SHAPE(1), true));
}

enum { CHANNELS_MOST = 4, SIDE_LEAST = 2 };

bool net_channels_last(int64_t length) { return length <= CHANNELS_MOST; }

/* Converts (n, height, width), (n, channels, height, width) or (n, height, width, channels) to
 * (n, channels, height, width). The channel axis is the last axis if its size is at most four. */
static ig_array *channels_first(ig_array *x)
{
    if (ig_ndim(x) == 3)
        return ig_expand_dims(x, IG_AXES(1));
    return net_channels_last(ig_dim(x, 3)) ? ig_permute_dims(x, IG_AXES(0, 3, 1, 2)) : x;
}

static bool cnn_takes(const ig_array *x)
{
    const int ndim = ig_ndim(x);
    if (ndim == 3)
        return ig_dim(x, 1) >= SIDE_LEAST && ig_dim(x, 2) >= SIDE_LEAST;
    if (ndim != 4)
        return false;
    const bool last = ig_dim(x, 3) <= CHANNELS_MOST;
    return (last || ig_dim(x, 1) <= CHANNELS_MOST) && ig_dim(x, 2) >= SIDE_LEAST &&
           ig_dim(x, last ? 1 : 3) >= SIDE_LEAST;
}

static bool mlp_takes(const ig_array *x) { return ig_ndim(x) >= 2; }

static ig_array *cnn(ig_model *m, ig_array *x, int64_t classes)
{
    x = channels_first(x);
    x = conv(m, "conv1", x, 32);
    x = conv(m, "conv2", x, 64);
    x = ig_max_pool2d(x, IG_SHAPE(2), IG_NONE, IG_NONE, IG_NONE, false);
    x = ig_nn_dropout(m, flat(x), 0.25);
    x = ig_relu(ig_nn_linear(m, "hidden", x, 128, true));
    x = ig_nn_dropout(m, x, 0.5);
    return ig_nn_linear(m, "out", x, classes, true);
}

static const net nets[] = {
    {"mlp", mlp, mlp_takes, "samples of at least one number"},
    {"cnn", cnn, cnn_takes,
     "images of at least 2 x 2 pixels: (n, height, width), or with an axis of at most 4 channels"},
    {"layers", NULL, mlp_takes, "samples of at least one number"},
    {"onnx", NULL, mlp_takes, "samples of at least one number"}};

ig_array *net_run(const training *t, ig_model *m, ig_array *x)
{
    if (t->tuning)
        return tuning_run(t->tuning, m, x);
    return t->layers.n ? layers_run(&t->layers, m, x) : t->net->forward(m, x, t->problem.outputs);
}

/* ---- optimizers ----------------------------------------------------------------------------- */

static ig_optimizer *make_sgd(double lr) { return ig_sgd(lr, 0.9, false, 0); }
static ig_optimizer *make_adam(double lr) { return ig_adam(lr, 0.9, 0.999, 1e-8); }
static ig_optimizer *make_adamw(double lr) { return ig_adamw(lr, 0.9, 0.999, 1e-8, 0.01); }
static ig_optimizer *make_rmsprop(double lr) { return ig_rmsprop(lr, 0.99, 1e-8, 0); }
static ig_optimizer *make_lion(double lr) { return ig_lion(lr, 0.9, 0.99, 0.01); }

static const update_rule rules[] = {{"adam", 1e-3, make_adam},
                                    {"adamw", 1e-3, make_adamw},
                                    {"sgd", 0.05, make_sgd},
                                    {"rmsprop", 1e-3, make_rmsprop},
                                    {"lion", 3e-4, make_lion}};

/* ---- by name -------------------------------------------------------------------------------- */

static void say_unknown(const command *c, const char *what, const nearest *search, const char *all)
{
    str hint = {0};
    if (!c)
        return;
    str_did_you_mean(&hint, search);
    if (!hint.n)
        str_printf(&hint, "; there are %s", all);
    say(c, "unknown %s '%s'%s", what, search->word, hint.s);
    str_free(&hint);
}

const net *net_find(const command *c, const char *name)
{
    nearest search = nearest_to(name);
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        if (c && !nets[i].forward)
            continue; /* only --layers or a file selects it */
        if (strcmp(nets[i].name, name) == 0)
            return &nets[i];
        nearest_offer(&search, nets[i].name);
    }
    say_unknown(c, "model", &search, "mlp, cnn and FILE.onnx");
    return NULL;
}

const update_rule *rule_find(const command *c, const char *name)
{
    nearest search = nearest_to(name);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
        nearest_offer(&search, rules[i].name);
    }
    say_unknown(c, "optimizer", &search, "sgd, adam, adamw, rmsprop and lion");
    return NULL;
}
