/* ingot predict: applies a network that ingot train made, or an ONNX model, to samples. */
#include "predict/predict.h"
#include "progress.h"
#include "train/onnx.h"
#include "train/vision_net.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, LABELS_MOST_BYTES = 16 << 20 };

typedef struct predictor {
    network network;
    results results;
    char *label_text; /* the file of --labels */
    const char **names;
    int64_t n_names;
} predictor;

/* ---- labels ------------------------------------------------------------------------------------ */

/* Reads the names of the classes: one in each line. */
static int read_names(predictor *p)
{
    const command *c = p->network.command;
    const char *path = p->results.set->labels;
    size_t bytes = 0;
    if (!path)
        return -1;
    if (p->network.values) {
        say(c, "--labels %s: the network predicts numbers and has no classes", path);
        return EXIT_USAGE;
    }
    p->label_text = str_read_file(path, LABELS_MOST_BYTES, &bytes);
    if (!p->label_text) {
        say(c, "--labels %s: it cannot be read", path);
        return EXIT_INPUT;
    }
    p->names = heap_get(sizeof *p->names * (bytes + 1));
    for (char *line = p->label_text, *next; *line; line = next) {
        const size_t n = strcspn(line, "\r\n");
        next = line + n + (line[n] != 0);
        line[n] = 0;
        if (n)
            p->names[p->n_names++] = line;
    }
    p->network.names = p->names;
    return -1;
}

/* The number of results is known after the first run, or before it. */
static bool set_outputs(predictor *p, int64_t outputs)
{
    p->results.outputs = outputs;
    if (!p->names || p->n_names == outputs)
        return true;
    ig_fail(IG_ERR_ARGUMENT, "--labels %s: it has %lld lines, and the network %lld classes",
            p->results.set->labels, (long long)p->n_names, (long long)outputs);
    return false;
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* The array of an .npz or .safetensors file: x, or the only one. */
static ig_array *array_of_set(const char *path)
{
    ig_tensors *set = ig_tensors_load(path);
    ig_array *x = set ? ig_tensors_get(set, "x") : NULL;
    if (set && !x && ig_tensors_count(set) == 1)
        x = ig_tensors_get(set, ig_tensors_name(set, 0));
    if (set && !x)
        ig_fail(IG_ERR_FORMAT, "%s: it has %d arrays, and none is named x", path,
                ig_tensors_count(set));
    x = ig_retain(x);
    ig_tensors_free(set);
    return x;
}

static int fail_shape(const network *q, const char *path, ig_ints shape)
{
    const bool label_too =
        shape.n == 2 && q->ndim == 1 && shape.v[1] == q->shape[0] + 1 && !str_ends(path, ".npy");
    str has = {0}, takes = {0};
    str_lengths(&has, shape.v, shape.n);
    str_lengths(&takes, q->shape, q->ndim);
    say(q->command, "%s: its shape is %s, but the network takes samples of %s, or N of them%s",
        path, shape.n ? has.s : "the shape of a number", takes.s,
        label_too ? "; leave out the column of classes or targets" : "");
    str_free(&has);
    str_free(&takes);
    return EXIT_INPUT;
}

/* Gives x the shape (n, ...). */
static int shape_samples(const network *q, const char *path, ig_array **x)
{
    const ig_ints shape = ig_shape(*x);
    const int more = shape.n - q->ndim;
    int64_t whole[IG_MAX_NDIM] = {1};
    const bool column = q->ndim == 1 && q->shape[0] == 1 && shape.n == 1;
    if (column) { /* of a table with one column */
        *x = ig_expand_dims(*x, IG_AXES(1));
        return *x ? -1 : fail_library(q->command);
    }
    if (more != 0 && more != 1)
        return fail_shape(q, path, shape);
    for (int i = 0; i < q->ndim; i++) {
        whole[i + 1] = shape.v[i + more];
        if (q->shape[i] >= 0 && whole[i + 1] != q->shape[i])
            return fail_shape(q, path, shape);
    }
    whole[0] = more ? shape.v[0] : 1;
    *x = ig_reshape(*x, (ig_ints){whole, q->ndim + 1});
    return *x ? -1 : fail_library(q->command);
}

/* ---- running ----------------------------------------------------------------------------------- */

/* Applies the network to samples [start, start + n), in runs of `batch`. */
static bool predict_batch(predictor *p, ig_array *x, int64_t start, int64_t n, int64_t batch)
{
    network *q = &p->network;
    if (ig_scope_begin() != IG_OK)
        return false;
    ig_array *y = q->run(q, samples_at(x, start, batch));
    const float *rows = y ? ig_data(y) : NULL;
    if (rows && ig_dim(y, 0) != batch)
        ig_fail(IG_ERR_SHAPE, "the network gives %lld rows for %lld samples",
                (long long)ig_dim(y, 0), (long long)batch);
    else if (rows && set_outputs(p, ig_dim(y, 1)))
        results_add(&p->results, rows, n);
    ig_scope_end();
    return !ig_failed();
}

static ig_array *samples_load(predictor *p, const char *path, ig_array **owned)
{
    if (str_ends(path, ".npz") || str_ends(path, ".safetensors"))
        return *owned = array_of_set(path);
    if (p->network.encoding && table_is(path))
        return table_samples(path, p->network.encoding);
    if (!is_image(path))
        return ig_load(path);
    return p->network.load ? p->network.load(&p->network, path) : image_sample(&p->network, path);
}

static int predict_file(predictor *p, const char *path)
{
    const command *c = p->network.command;
    const int64_t fixed = p->network.batch;
    ig_array *owned = NULL;
    if (ig_scope_begin() != IG_OK)
        return fail_library(c);
    ig_array *x = samples_load(p, path, &owned);
    int code = x ? shape_samples(&p->network, path, &x) : fail_library(c);
    if (code < 0 && ig_isdtype(ig_dtype_of(x), "complex floating")) {
        say(c, "%s: its numbers are complex; the network takes real ones", path);
        code = EXIT_INPUT;
    }
    const int64_t count = code < 0 ? ig_dim(x, 0) : 0, most = fixed ? fixed : BATCH;
    for (int64_t start = 0; start < count && code < 0; start += most) {
        const int64_t n = count - start < most ? count - start : most;
        if (interrupt_asked())
            code = EXIT_INTERRUPTED;
        else if (!predict_batch(p, x, start, n, fixed ? fixed : n))
            code = fail_library(c);
    }
    ig_release(owned);
    ig_scope_end();
    return code;
}

static int run(predictor *p, char **words, int n)
{
    network *q = &p->network;
    int code = str_ends(words[0], ".onnx") ? onnx_open(q, words[0], p->results.set)
               : vision_is(words[0])       ? vision_network_open(q, words[0])
                                           : trained_open(q, words[0]);
    if (code < 0)
        code = read_names(p);
    if (code < 0 && q->outputs && !set_outputs(p, q->outputs)) {
        fail_library(q->command);
        code = EXIT_INPUT;
    }
    if (code < 0)
        interrupt_watch();
    for (int i = 1; i < n && code < 0; i++)
        code = predict_file(p, words[i]);
    if (code < 0)
        code = p->results.set->output ? results_save(q->command, &p->results) : EXIT_FINE;
    if (q->close)
        q->close(q);
    free(p->label_text);
    free(p->names);
    free(p->results.kept);
    return code;
}

int verb_predict(int argc, char **argv)
{
    predict_settings set = {.top = 1};
    predictor p = {.results = {.set = &set}};
    const option options[] = {
        {"--output", 'o', "FILE", option_text, &set.output,
         "saves all probabilities or values: .npy, .npz, .safetensors, .csv"},
        {"--labels", 0, "FILE", option_text, &set.labels, "names of the classes, one in each line"},
        {"--top", 0, "N", option_count, &set.top, "the N most probable classes (1)"},
        IMAGE_OPTIONS(set.mean, set.std),
        FLAG("--json", &set.json, "prints a JSON object for each sample, schema 1"),
        ENGINE_OPTIONS(set.engine),
        {0}};
    const command c = {
        "predict", "[options] NETWORK.safetensors|DIR|MODEL.onnx SAMPLES ...",
        "Applies a network that 'ingot train --save' wrote, a folder of 'ingot train vision', or "
        "an\n"
        "ONNX model with one input, to samples, and prints a line for each: its class and the "
        "probability, or the values of a\n"
        "network that predicts numbers.\n\n"
        "SAMPLES is an .npy file with one sample or with N of them along the first axis, an\n"
        ".npz or .safetensors file with an array x, a .csv or .tsv table of rows without the\n"
        "column y, or an image of any size (PNG, JPEG, BMP, PNM, TIFF).\n"
        "Networks of 'ingot train' get their samples scaled as in the training. ONNX models get\n"
        "them as they are, but images as most classifiers want them: see --mean and --std.\n\n"
        "  ingot train flowers.npz --save flowers.safetensors\n"
        "  ingot predict flowers.safetensors new.npy\n"
        "  ingot predict flowers.safetensors new.csv --top 3 --labels names.txt\n"
        "  ingot predict resnet50.onnx cat.jpg --labels imagenet.txt\n"
        "  ingot predict flowers.safetensors new.npy -o probabilities.npy",
        options};
    p.network.command = &c;
    p.results.network = &p.network;
    int code = options_read(&c, &argc, argv);
    if (code < 0 && argc < 2) {
        say(&c, "%s is missing; see 'ingot predict --help'",
            argc ? "a file of samples" : "a network");
        code = EXIT_USAGE;
    }
    if (code < 0 && set.output && set.json) {
        say(&c, "--json prints to standard output; leave out -o, or --json");
        code = EXIT_USAGE;
    }
    if (code < 0 && set.output)
        code = write_check(&c, "-o", set.output);
    if (code < 0)
        code = engine_apply(&c, &set.engine);
    return code < 0 ? run(&p, argv, argc) : code;
}
