/* ingot onnx export: writes a network that ingot train made, or a text model, as an ONNX model. A network takes samples as
 * they are, and has the results of ingot predict: probabilities, or values in the units of the targets. */
#include "onnx/onnx.h"
#include "train/images.h"
#include "train/train.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ingot.h>

typedef struct exporting {
    const command *command;
    training run;
    ig_model *model;
    ig_onnx_builder *b;
    char now[16]; /* the name of the value that the next node takes */
    int n;        /* values so far */
} exporting;

/* ---- nodes ---------------------------------------------------------------------------------- */

/* A node that takes the current value and `more`, and gives the next one. */
static void step(exporting *e, const char *op, const char *more,
                 const ig_onnx_attribute *attributes, int n)
{
    str in = {0};
    str_printf(&in, "%s %s", e->now, more);
    snprintf(e->now, sizeof e->now, "v%d", ++e->n);
    ig_onnx_builder_node(e->b, op, in.s, e->now, attributes, n);
    str_free(&in);
}

/* Adds parts of a layer, such as "weight bias", as weights; writes their names. */
static void weights_add(exporting *e, const char *layer, const char *parts, str *names)
{
    while (*parts) {
        const size_t n = strcspn(parts, " ");
        char name[128];
        snprintf(name, sizeof name, "%s.%.*s", layer, (int)n, parts);
        ig_onnx_builder_weight(e->b, name, ig_model_get(e->model, name));
        str_printf(names, " %s", name);
        parts += n + (parts[n] == ' ');
    }
}

/* The same for a node. */
static void layer_step(exporting *e, const char *op, const char *layer, const char *parts,
                       const ig_onnx_attribute *attributes, int n)
{
    str names = {0};
    weights_add(e, layer, parts, &names);
    step(e, op, names.s, attributes, n);
    str_free(&names);
}

static void numbers_step(exporting *e, const char *op, const char *name, const double *numbers,
                         int64_t n)
{
    ig_onnx_builder_weight(e->b, name,
                           ig_astype(ig_from_data(numbers, IG_SHAPE(n), IG_F64), IG_F32));
    step(e, op, name, NULL, 0);
}

static void linear(exporting *e, const char *layer)
{
    layer_step(e, "Gemm", layer, "weight bias", &IG_ONNX_A_INT("transB", 1), 1);
}

/* ---- networks ------------------------------------------------------------------------------- */

static void flatten(exporting *e) { step(e, "Flatten", "", &IG_ONNX_A_INT("axis", 1), 1); }

static void mlp(exporting *e)
{
    flatten(e);
    linear(e, "hidden");
    step(e, "Relu", "", NULL, 0);
    linear(e, "out");
}

static void conv(exporting *e, const char *layer)
{
    const ig_onnx_attribute attributes[] = {IG_ONNX_A_INTS("kernel_shape", 3, 3),
                                            IG_ONNX_A_INTS("pads", 1, 1, 1, 1)};
    layer_step(e, "Conv", layer, "weight bias", attributes, 2);
    step(e, "Relu", "", NULL, 0);
}

static void cnn(exporting *e)
{
    const problem *p = &e->run.problem;
    if (p->ndim == 2) {
        const int64_t axis = 1;
        ig_onnx_builder_weight(e->b, "channel_axis", ig_from_data(&axis, IG_SHAPE(1), IG_I64));
        step(e, "Unsqueeze", "channel_axis", NULL, 0);
    } else if (net_channels_last(p->shape[2])) {
        step(e, "Transpose", "", &IG_ONNX_A_INTS("perm", 0, 3, 1, 2), 1);
    }
    conv(e, "conv1");
    conv(e, "conv2");
    const ig_onnx_attribute pool[] = {IG_ONNX_A_INTS("kernel_shape", 2, 2),
                                      IG_ONNX_A_INTS("strides", 2, 2)};
    step(e, "MaxPool", "", pool, 2);
    flatten(e);
    linear(e, "hidden");
    step(e, "Relu", "", NULL, 0);
    linear(e, "out");
}

/* x / 2 * (1 + erf(x / sqrt(2))): Gelu itself is newer than the opset. */
static void gelu(exporting *e)
{
    static const double root = 0.70710678118654752440, half = 0.5, one = 1;
    char x[sizeof e->now], root_name[32], one_name[32], half_name[32];
    snprintf(x, sizeof x, "%s", e->now);
    snprintf(root_name, sizeof root_name, "root_%s", x);
    snprintf(one_name, sizeof one_name, "one_%s", x);
    snprintf(half_name, sizeof half_name, "half_%s", x);
    numbers_step(e, "Mul", root_name, &root, 1);
    step(e, "Erf", "", NULL, 0);
    numbers_step(e, "Add", one_name, &one, 1);
    step(e, "Mul", x, NULL, 0);
    numbers_step(e, "Mul", half_name, &half, 1);
}

static void silu(exporting *e)
{
    char x[sizeof e->now];
    snprintf(x, sizeof x, "%s", e->now);
    step(e, "Sigmoid", "", NULL, 0);
    step(e, "Mul", x, NULL, 0);
}

static void layer_norm(exporting *e, const char *layer)
{
    const ig_onnx_attribute attributes[] = {IG_ONNX_A_INT("axis", -1),
                                            IG_ONNX_A_FLOAT("epsilon", 1e-5)};
    layer_step(e, "LayerNormalization", layer, "weight bias", attributes, 2);
}

static void batch_norm(exporting *e, const char *layer)
{
    layer_step(e, "BatchNormalization", layer, "weight bias running_mean running_var",
               &IG_ONNX_A_FLOAT("epsilon", 1e-5), 1);
}

/* A layer of --layers. False if it is unknown here. */
static bool list_layer(exporting *e, const char *kind, const char *layer)
{
    static const struct {
        const char *kind, *op;
        void (*write)(exporting *e);
        void (*write_layer)(exporting *e, const char *layer);
    } rows[] = {{"", NULL, NULL, linear},
                {"relu", "Relu", NULL, NULL},
                {"gelu", NULL, gelu, NULL},
                {"silu", NULL, silu, NULL},
                {"elu", "Elu", NULL, NULL},              /* alpha is 1 in both */
                {"leaky_relu", "LeakyRelu", NULL, NULL}, /* alpha is 0.01 in both */
                {"tanh", "Tanh", NULL, NULL},
                {"sigmoid", "Sigmoid", NULL, NULL},
                {"softplus", "Softplus", NULL, NULL},
                {"dropout", NULL, NULL, NULL},
                {"layer_norm", NULL, NULL, layer_norm},
                {"batch_norm", NULL, NULL, batch_norm}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].kind, kind) != 0)
            continue;
        if (rows[i].op)
            step(e, rows[i].op, "", NULL, 0);
        if (rows[i].write)
            rows[i].write(e);
        if (rows[i].write_layer)
            rows[i].write_layer(e, layer);
        return true;
    }
    return false;
}

static bool list(exporting *e)
{
    const layer_list *l = &e->run.layers;
    flatten(e);
    for (int i = 0; i < l->n; i++) {
        char name[24];
        snprintf(name, sizeof name, "layer%d", i + 1);
        if (!list_layer(e, layer_kind_name(&l->at[i]), name))
            return false;
    }
    return true;
}

/* False if ONNX nodes of the network are unknown here. */
static bool network_write(exporting *e)
{
    if (e->run.layers.n)
        return list(e);
    if (strcmp(e->run.net->name, "cnn") == 0)
        cnn(e);
    else if (strcmp(e->run.net->name, "mlp") == 0)
        mlp(e);
    else
        return false;
    return true;
}

/* ---- the model ------------------------------------------------------------------------------ */

static bool model_write(exporting *e)
{
    static const char *const names[IG_MAX_NDIM] = {"batch"};
    const problem *p = &e->run.problem;
    int64_t dims[IG_MAX_NDIM] = {-1};
    memcpy(dims + 1, p->shape, (size_t)p->ndim * sizeof *dims);
    ig_onnx_builder_input(e->b, "x", IG_ONNX_FLOAT, (ig_ints){dims, p->ndim + 1}, names);
    snprintf(e->now, sizeof e->now, "x");
    numbers_step(e, "Sub", "shift", p->shift, p->features);
    numbers_step(e, "Mul", "scale", p->scale, p->features);
    if (!network_write(e))
        return false;
    if (p->y_shift) {
        numbers_step(e, "Mul", "target_deviation", p->y_deviation, p->outputs);
        numbers_step(e, "Add", "target_shift", p->y_shift, p->outputs);
    } else {
        step(e, "Softmax", "", &IG_ONNX_A_INT("axis", -1), 1);
    }
    ig_onnx_builder_node(e->b, "Identity", e->now, "y", NULL, 0);
    ig_onnx_builder_output(e->b, "y", IG_ONNX_FLOAT, IG_SHAPE(-1, p->outputs), names);
    return true;
}

static int network_export(exporting *e, const char *path, const char *output)
{
    str why = {0};
    int code = -1;
    e->model = ig_model_new(0);
    if (!e->model || ig_model_load(e->model, NULL, path) != IG_OK) {
        fail_library(e->command);
        code = EXIT_INPUT;
    } else if (!training_read(&e->run, ig_model_text(e->model), &why)) {
        say(e->command, "%s: %s", path, why.s);
        code = EXIT_INPUT;
    }
    if (code < 0 && e->run.onnx) {
        say(e->command, "%s: it is a checkpoint of fine-tuning; 'ingot train -o' writes the model",
            path);
        code = EXIT_INPUT;
    }
    e->b = code < 0 ? ig_onnx_builder_new(e->run.net->name) : NULL;
    if (e->b && !model_write(e)) {
        say(e->command, "%s: the network has a layer that cannot be exported", path);
        code = EXIT_FAILED;
    }
    if (code < 0)
        code = e->b && ig_onnx_builder_save(e->b, output) == IG_OK ? EXIT_FINE
                                                                   : fail_library(e->command);
    ig_onnx_builder_free(e->b);
    ig_model_free(e->model);
    training_free(&e->run);
    str_free(&why);
    return code;
}

/* A folder of a text model. */
static int text_export(const command *c, const char *folder, const char *head, const char *output)
{
    ig_text_model *m = ig_text_model_load(folder, IG_F32);
    const bool fine = m && ig_text_model_export(m, head, output) == IG_OK;
    ig_text_model_free(m);
    return fine ? EXIT_FINE : fail_library(c);
}

/* Reads a model and writes it again: with large tensors in a file next to it, or with all in one file. */
static int model_again(const command *c, const char *path, const char *output, bool external)
{
    enum { LEAST_BYTES = 1024 };
    ig_onnx *m = ig_onnx_load(path);
    const bool fine = m && ig_onnx_save(m, output, external ? LEAST_BYTES : -1) == IG_OK;
    ig_onnx_free(m);
    if (fine)
        return EXIT_FINE;
    const int code = fail_library(c);
    return m ? code : EXIT_INPUT;
}

int onnx_export(int argc, char **argv)
{
    const char *output = NULL, *head = NULL;
    bool external = false;
    const option options[] = {
        {"--output", 'o', "FILE", option_text, &output, "the .onnx file to write"},
        {"--head", 0, "embed|classify|tag|fill|answer", option_text, &head,
         "the head of a text model (its own)"},
        FLAG("--external", &external,
             "large tensors in FILE.data next to the model, as always above 2 GiB"),
        {0}};
    const command c = {
        "onnx export", "[options] NETWORK.safetensors|FOLDER|MODEL.onnx",
        "Writes a network that ingot train made as an ONNX model. Its input x takes samples as\n"
        "they are in the data; its output y has probabilities of the classes, or values.\n\n"
        "A folder of a text model becomes a model that takes ids of tokens: input_ids, "
        "attention_mask\n"
        "and, if the model has token types, token_type_ids.\n\n"
        "An ONNX model is written again: with --external in two files, without it in one.\n\n"
        "  ingot train digits --save net.safetensors\n"
        "  ingot onnx export net.safetensors -o net.onnx\n"
        "  ingot onnx export all-MiniLM-L6-v2 -o encoder.onnx",
        options};
    exporting e = {.command = &c, .run = {.seed = SEED_NONE}};
    int code = options_read(&c, &argc, argv);
    if (code < 0 && (argc != 1 || !output)) {
        say(&c, "expected one network and -o FILE; see ingot onnx export --help");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = write_check(&c, "--output", output);
    if (code < 0 && ig_scope_begin() == IG_OK) {
        if (str_ends(argv[0], ".onnx"))
            code = model_again(&c, argv[0], output, external);
        else
            code = folder_is(argv[0]) ? text_export(&c, argv[0], head, output)
                                      : network_export(&e, argv[0], output);
        if (code == EXIT_FINE && external && !str_ends(argv[0], ".onnx"))
            code = model_again(&c, output, output, true);
        ig_scope_end();
    }
    return code < 0 ? fail_library(&c) : code;
}
