/* The networks and optimisers that ingot train knows. */
#include "train/train.h"

#include <string.h>

/* ---- networks ------------------------------------------------------------------------------- */

static ig_array *flat(ig_array *x) { return ig_reshape(x, IG_SHAPE(ig_dim(x, 0), -1)); }

static ig_array *mlp(ig_model *m, ig_array *x)
{
    x = ig_relu(ig_nn_linear(m, "hidden", flat(x), 128, true));
    return ig_nn_linear(m, "out", x, CLASSES, true);
}

static ig_array *conv(ig_model *m, const char *name, ig_array *x, int64_t channels)
{
    return ig_relu(ig_nn_conv(m, name, x, channels, IG_SHAPE(3), IG_SHAPE(1), IG_SHAPE(1), true));
}

static ig_array *cnn(ig_model *m, ig_array *x)
{
    x = ig_expand_dims(x, IG_AXES(1)); /* (n, 1, height, width) */
    x = conv(m, "conv1", x, 32);
    x = conv(m, "conv2", x, 64);
    x = ig_max_pool2d(x, IG_SHAPE(2), IG_NONE, IG_NONE, IG_NONE, false);
    x = ig_nn_dropout(m, flat(x), 0.25);
    x = ig_relu(ig_nn_linear(m, "hidden", x, 128, true));
    x = ig_nn_dropout(m, x, 0.5);
    return ig_nn_linear(m, "out", x, CLASSES, true);
}

static const net nets[] = {{"mlp", mlp, 1}, {"cnn", cnn, 2}};

/* ---- optimisers ----------------------------------------------------------------------------- */

static ig_optimizer *make_sgd(double lr) { return ig_sgd(lr, 0.9, false, 0); }
static ig_optimizer *make_adam(double lr) { return ig_adam(lr, 0.9, 0.999, 1e-8); }
static ig_optimizer *make_adamw(double lr) { return ig_adamw(lr, 0.9, 0.999, 1e-8, 0.01); }
static ig_optimizer *make_rmsprop(double lr) { return ig_rmsprop(lr, 0.99, 1e-8, 0); }
static ig_optimizer *make_lion(double lr) { return ig_lion(lr, 0.9, 0.99, 0.01); }

static const teacher teachers[] = {{"adam", 1e-3, make_adam},
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
        if (strcmp(nets[i].name, name) == 0)
            return &nets[i];
        nearest_offer(&search, nets[i].name);
    }
    say_unknown(c, "model", &search, "mlp and cnn");
    return NULL;
}

const teacher *teacher_find(const command *c, const char *name)
{
    nearest search = nearest_to(name);
    for (size_t i = 0; i < sizeof teachers / sizeof *teachers; i++) {
        if (strcmp(teachers[i].name, name) == 0)
            return &teachers[i];
        nearest_offer(&search, teachers[i].name);
    }
    say_unknown(c, "optimizer", &search, "sgd, adam, adamw, rmsprop and lion");
    return NULL;
}
