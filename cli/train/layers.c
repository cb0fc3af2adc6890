/* The networks of --layers: a list such as "64,relu,dropout:0.1,10". Each sample is flattened to a row of numbers. */
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum layer_takes { TAKES_NOTHING, TAKES_COUNT, TAKES_SHARE } layer_takes;

/* A kind of layer: a function of x, or code in layer_run. */
typedef struct layer_kind {
    const char *name; /* "" for a linear layer, which is written as a number */
    ig_array *(*run)(ig_array *x);
    layer_takes takes;
} layer_kind;

static ig_array *gelu(ig_array *x) { return ig_gelu(x, "none"); }
static ig_array *elu(ig_array *x) { return ig_elu(x, 1); }
static ig_array *leaky_relu(ig_array *x) { return ig_leaky_relu(x, 0.01); }

static const layer_kind linear_kind = {"", NULL, TAKES_COUNT};
static const layer_kind kinds[] = {{"relu", ig_relu, TAKES_NOTHING},
                                   {"gelu", gelu, TAKES_NOTHING},
                                   {"silu", ig_silu, TAKES_NOTHING},
                                   {"elu", elu, TAKES_NOTHING},
                                   {"leaky_relu", leaky_relu, TAKES_NOTHING},
                                   {"tanh", ig_tanh, TAKES_NOTHING},
                                   {"sigmoid", ig_sigmoid, TAKES_NOTHING},
                                   {"softplus", ig_softplus, TAKES_NOTHING},
                                   {"dropout", NULL, TAKES_SHARE},
                                   {"layer_norm", NULL, TAKES_NOTHING},
                                   {"batch_norm", NULL, TAKES_NOTHING}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool number_read(const char *s, train_layer *out)
{
    char *end;
    out->number = strtod(s, &end);
    if (end == s || *end)
        return false;
    return out->kind->takes == TAKES_SHARE
               ? out->number >= 0 && out->number < 1
               : out->number >= 1 && out->number <= 65536 && out->number == floor(out->number);
}

/* Parses one layer. On failure returns false, with the reason in why. */
static bool layer_read(char *word, train_layer *out, str *why)
{
    char *value = strchr(word, ':');
    nearest search;
    *out = (train_layer){.kind = &linear_kind};
    if (*word >= '0' && *word <= '9') {
        if (number_read(word, out))
            return true;
        str_printf(why, "'%.40s' is not a number of outputs from 1 to 65536", word);
        return false;
    }
    if (value)
        *value++ = 0;
    search = nearest_to(word);
    for (int i = 0; i < KINDS; i++) {
        nearest_offer(&search, kinds[i].name);
        if (strcmp(kinds[i].name, word) != 0)
            continue;
        out->kind = &kinds[i];
        if (kinds[i].takes == TAKES_NOTHING && !value)
            return true;
        if (kinds[i].takes == TAKES_SHARE && value && number_read(value, out))
            return true;
        str_printf(why,
                   kinds[i].takes == TAKES_SHARE
                       ? "%s takes a probability of at least 0 and below 1: %s:0.1"
                       : "%s takes no number; leave out ':' after %s",
                   word, word);
        return false;
    }
    str_printf(why, "unknown layer '%.40s'", word);
    str_did_you_mean(why, &search);
    for (int i = 0; i < KINDS && !search.best; i++)
        str_printf(why, "%s%s", i ? ", " : "; there are numbers of outputs, ", kinds[i].name);
    return false;
}

bool layers_read(layer_list *l, const char *text, str *why)
{
    char copy[sizeof l->text];
    *l = (layer_list){0};
    if (strlen(text) >= sizeof copy) {
        str_printf(why, "it has more than %zu characters", sizeof copy - 1);
        return false;
    }
    strcpy(copy, text);
    strcpy(l->text, text);
    for (char *word = copy, *next; word; word = next) {
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        if (l->n == LAYERS_MOST) {
            str_printf(why, "it has more than %d layers", LAYERS_MOST);
            return false;
        }
        if (!layer_read(word, &l->at[l->n++], why))
            return false;
    }
    if (l->at[l->n - 1].kind == &linear_kind)
        return true;
    str_puts(why, "the last layer is the number of outputs: one for each class or target");
    return false;
}

const char *layer_kind_name(const train_layer *l) { return l->kind->name; }

int64_t layers_outputs(const layer_list *l) { return (int64_t)l->at[l->n - 1].number; }

static ig_array *layer_run(const train_layer *l, ig_model *m, ig_array *x, const char *name)
{
    if (l->kind == &linear_kind)
        return ig_nn_linear(m, name, x, (int64_t)l->number, true);
    if (l->kind->run)
        return l->kind->run(x);
    if (l->kind->takes == TAKES_SHARE)
        return ig_nn_dropout(m, x, l->number);
    return strcmp(l->kind->name, "layer_norm") == 0 ? ig_nn_layer_norm(m, name, x, 1e-5)
                                                    : ig_nn_batch_norm(m, name, x, 0.1, 1e-5);
}

ig_array *layers_run(const layer_list *l, ig_model *m, ig_array *x)
{
    x = ig_reshape(x, IG_SHAPE(ig_dim(x, 0), -1));
    for (int i = 0; i < l->n && x; i++) {
        char name[24];
        snprintf(name, sizeof name, "layer%d", i + 1);
        x = layer_run(&l->at[i], m, x, name);
    }
    return x;
}
