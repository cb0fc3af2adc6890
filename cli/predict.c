/* ingot predict: applies a network that ingot train made to samples. */
#include "train/train.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, LABELS_MOST_BYTES = 16 << 20 };

typedef struct predict_settings {
    const char *output, *labels;
    int64_t top;
    bool json;
    engine_options engine;
} predict_settings;

typedef struct predictor {
    const command *command;
    const predict_settings *set;
    training run;
    ig_model *model;
    char *label_text;   /* the file of --labels */
    const char **names; /* of the classes; NULL: their numbers */
    float *kept;        /* results of all samples, for -o */
    int64_t n;
    str out;
} predictor;

/* ---- the network and its labels ---------------------------------------------------------------- */

static int open_network(predictor *p, const char *path)
{
    str why = {0};
    int code = -1;
    p->model = ig_model_new(0);
    if (!p->model || ig_model_load(p->model, NULL, path) != IG_OK) {
        fail_library(p->command);
        code = EXIT_INPUT;
    } else if (!training_read(&p->run, ig_model_text(p->model), &why)) {
        say(p->command, "%s: %s", path, why.s);
        code = EXIT_INPUT;
    }
    if (code < 0)
        ig_model_train(p->model, false);
    str_free(&why);
    return code;
}

/* Reads the names of the classes: one in each line. */
static int read_names(predictor *p)
{
    const char *path = p->set->labels;
    const int64_t classes = p->run.problem.outputs;
    size_t bytes = 0;
    int64_t n = 0;
    if (!path)
        return -1;
    if (p->run.regression) {
        say(p->command, "--labels %s: the network predicts numbers and has no classes", path);
        return EXIT_USAGE;
    }
    p->label_text = str_read_file(path, LABELS_MOST_BYTES, &bytes);
    if (!p->label_text) {
        say(p->command, "--labels %s: it cannot be read", path);
        return EXIT_INPUT;
    }
    p->names = heap_get(sizeof *p->names * (size_t)classes);
    char *rest = NULL;
    for (char *line = strtok_r(p->label_text, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest), n++)
        if (n < classes)
            p->names[n] = line;
    if (n == classes)
        return -1;
    say(p->command, "--labels %s: it has %lld lines, and the network %lld classes", path,
        (long long)n, (long long)classes);
    return EXIT_INPUT;
}

static void label_add(const predictor *p, int64_t i, str *t)
{
    if (p->names)
        str_visible(t, p->names[i]);
    else
        str_printf(t, "%lld", (long long)i);
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

static void shape_add(str *t, const int64_t *dims, int n)
{
    for (int i = 0; i < n; i++)
        str_printf(t, "%s%lld", i ? " x " : "", (long long)dims[i]);
}

static int fail_shape(const predictor *p, const char *path, ig_ints shape)
{
    const problem *q = &p->run.problem;
    const bool label_too =
        shape.n == 2 && q->ndim == 1 && shape.v[1] == q->shape[0] + 1 && !str_ends(path, ".npy");
    str has = {0}, takes = {0};
    shape_add(&has, shape.v, shape.n);
    shape_add(&takes, q->shape, q->ndim);
    say(p->command, "%s: its shape is %s, but the network takes samples of %s, or N of them%s",
        path, shape.n ? has.s : "that of a number", takes.s,
        label_too ? "; leave out the column of classes or targets" : "");
    str_free(&has);
    str_free(&takes);
    return EXIT_INPUT;
}

/* Gives x the shape (n, ...). */
static int shape_samples(const predictor *p, const char *path, ig_array **x)
{
    const problem *q = &p->run.problem;
    const ig_ints shape = ig_shape(*x);
    const int more = shape.n - q->ndim;
    int64_t whole[IG_MAX_NDIM] = {1};
    const bool column = q->ndim == 1 && q->shape[0] == 1 && shape.n == 1;
    if (column) { /* of a table with one column */
        *x = ig_expand_dims(*x, IG_AXES(1));
        return *x ? -1 : fail_library(p->command);
    }
    if (more != 0 && more != 1)
        return fail_shape(p, path, shape);
    for (int i = 0; i < q->ndim; i++)
        if (shape.v[i + more] != q->shape[i])
            return fail_shape(p, path, shape);
    whole[0] = more ? shape.v[0] : 1;
    memcpy(whole + 1, q->shape, (size_t)q->ndim * sizeof *whole);
    *x = ig_reshape(*x, (ig_ints){whole, q->ndim + 1});
    return *x ? -1 : fail_library(p->command);
}

static bool is_image(const char *path)
{
    return str_ends(path, ".png") || str_ends(path, ".jpg") || str_ends(path, ".jpeg");
}

/* The channels of an image in f32, (h, w, n): gray if n is 1, else RGB. */
static ig_array *image_channels(ig_array *x, int64_t n)
{
    static const float luma[] = {0.299F, 0.587F, 0.114F};
    const ig_index one = {.kind = IG_INDEX_REST};
    if (ig_ndim(x) == 2)
        x = ig_expand_dims(x, IG_AXES(2));
    const int64_t has = ig_dim(x, 2), colors = has < 3 ? 1 : 3; /* the rest is alpha */
    const ig_index part[] = {one, {.kind = IG_INDEX_SLICE, .start = 0, .stop = colors, .step = 1}};
    x = ig_astype(ig_get(x, part, 2), IG_F32);
    if (colors == n)
        return x;
    if (n == 1)
        return ig_sum(ig_multiply(x, ig_from_data(luma, IG_SHAPE(3), IG_F32)), IG_AXES(2),
                      IG_DTYPE_NONE, true);
    return ig_broadcast_to(x, IG_SHAPE(ig_dim(x, 0), ig_dim(x, 1), n));
}

/* Loads an image as one sample: its channels and its size become those of the samples, and white becomes the white of the
 * training. */
static ig_array *image_sample(const predictor *p, const char *path)
{
    const problem *q = &p->run.problem;
    const int64_t *s = q->shape;
    const bool first = q->ndim == 3 && s[2] > 4; /* (channels, h, w), as net.c decides */
    const int64_t channels = q->ndim == 3 ? s[first ? 0 : 2] : 1;
    const int64_t h = s[first], w = s[first + 1];
    ig_array *x = ig_load(path);
    if (q->ndim < 2 || q->ndim > 3 || (channels != 1 && channels != 3))
        ig_fail(IG_ERR_SHAPE, "%s: the network does not take images; give its samples as .npy",
                path);
    else if (q->features != 1 || q->shift[0] != 0)
        ig_fail(IG_ERR_ARGUMENT,
                "%s: the network was trained with samples that are not bytes, so the scale of "
                "its pixels is unknown; give them as .npy",
                path);
    if (!x || ig_failed())
        return NULL;
    const double white = ig_dtype_of(x) == IG_U16 ? 65535 : 255;
    x = ig_times(image_channels(x, channels), 1 / (white * q->scale[0]));
    x = ig_expand_dims(ig_permute_dims(x, IG_AXES(2, 0, 1)), IG_AXES(0));
    if (ig_dim(x, 2) != h || ig_dim(x, 3) != w)
        x = ig_interpolate(x, IG_SHAPE(h, w), "linear", false);
    x = ig_squeeze(x, IG_AXES(0));
    return q->ndim == 2 ? ig_squeeze(x, IG_AXES(0))
           : first      ? x
                        : ig_permute_dims(x, IG_AXES(1, 2, 0));
}

/* ---- results ----------------------------------------------------------------------------------- */

/* Writes the `top` classes with the highest probabilities, highest first. */
static void rank(const float *row, int64_t classes, int64_t top, int64_t *best)
{
    for (int64_t k = 0; k < top; k++) {
        int64_t at = -1;
        for (int64_t i = 0; i < classes; i++) {
            bool taken = false;
            for (int64_t j = 0; j < k; j++)
                taken |= best[j] == i;
            if (!taken && (at < 0 || row[i] > row[at]))
                at = i;
        }
        best[k] = at;
    }
}

static void class_json(const predictor *p, const float *row, int64_t best, str *t)
{
    str name = {0};
    label_add(p, best, &name);
    str_puts(t, "{\"schema\": 1, \"label\": ");
    json_string(t, name.s);
    str_puts(t, ", \"probability\": ");
    json_float(t, (double)row[best]);
    str_puts(t, ", \"labels\": {");
    for (int64_t i = 0; i < p->run.problem.outputs; i++) {
        name.n = 0;
        label_add(p, i, &name);
        str_puts(t, i ? ", " : "");
        json_string(t, name.s);
        str_puts(t, ": ");
        json_float(t, (double)row[i]);
    }
    str_puts(t, "}}\n");
    str_free(&name);
}

static void class_line(const predictor *p, const float *row, str *t)
{
    const int64_t classes = p->run.problem.outputs;
    const int64_t top = p->set->top < classes ? p->set->top : classes;
    int64_t *best = heap_get(sizeof *best * (size_t)top);
    rank(row, classes, top, best);
    if (p->set->json)
        class_json(p, row, best[0], t);
    for (int64_t k = 0; k < top && !p->set->json; k++) {
        label_add(p, best[k], t);
        str_printf(t, "\t%.4f%s", (double)row[best[k]], k + 1 < top ? "\t" : "\n");
    }
    free(best);
}

static void value_line(const predictor *p, const float *row, str *t)
{
    const int64_t n = p->run.problem.outputs;
    char digits[IG_FLOAT_TEXT];
    str_puts(t, p->set->json ? "{\"schema\": 1, \"values\": [" : "");
    for (int64_t i = 0; i < n; i++) {
        str_puts(t, !i ? "" : p->set->json ? ", " : "\t");
        if (p->set->json) {
            json_float(t, (double)row[i]);
        } else {
            ig_float_text((double)row[i], IG_F32, digits);
            str_puts(t, digits);
        }
    }
    str_puts(t, p->set->json ? "]}\n" : "\n");
}

static void results_add(predictor *p, const float *rows, int64_t n)
{
    const int64_t width = p->run.problem.outputs;
    if (p->set->output) {
        const size_t bytes = sizeof *p->kept * (size_t)width;
        p->kept = heap_resize(p->kept, (size_t)(p->n + n) * bytes);
        memcpy(p->kept + p->n * width, rows, (size_t)n * bytes);
    }
    for (int64_t i = 0; i < n && !p->set->output; i++)
        (p->run.regression ? value_line : class_line)(p, rows + i * width, &p->out);
    p->n += n;
    text_print(stdout, p->out.n ? p->out.s : "");
    p->out.n = 0;
}

static int results_save(const predictor *p)
{
    static const char *const classes[] = {"probabilities", "labels"}, *const values[] = {"values"};
    const float none = 0;
    if (ig_scope_begin() != IG_OK)
        return fail_library(p->command);
    ig_array *x[2] = {
        ig_from_data(p->n ? p->kept : &none, IG_SHAPE(p->n, p->run.problem.outputs), IG_F32), NULL};
    const bool regression = p->run.regression;
    x[1] = regression ? NULL : ig_argmax(x[0], IG_AXES(1), false);
    const int code = arrays_save(p->command, p->set->output, regression ? values : classes, x,
                                 regression ? 1 : 2);
    ig_scope_end();
    return code;
}

/* ---- running ----------------------------------------------------------------------------------- */

/* Applies the network to samples [start, start + n). */
static bool predict_batch(predictor *p, ig_array *x, int64_t start, int64_t n)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    const ig_index part = {.kind = IG_INDEX_SLICE, .start = start, .stop = start + n, .step = 1};
    const problem *q = &p->run.problem;
    ig_array *y = net_run(&p->run, p->model, problem_input(q, ig_get(x, &part, 1)));
    const float *rows = ig_data(ig_astype(problem_output(q, y), IG_F32));
    if (rows && ig_dim(y, 1) != q->outputs)
        ig_fail(IG_ERR_FORMAT, "the network gives %lld results, and its file states %lld",
                (long long)ig_dim(y, 1), (long long)q->outputs);
    else if (rows)
        results_add(p, rows, n);
    ig_scope_end();
    return !ig_failed();
}

static int predict_file(predictor *p, const char *path)
{
    if (ig_scope_begin() != IG_OK)
        return fail_library(p->command);
    const bool set = str_ends(path, ".npz") || str_ends(path, ".safetensors");
    ig_array *owned = set ? array_of_set(path) : NULL;
    ig_array *x = set ? owned : is_image(path) ? image_sample(p, path) : ig_load(path);
    int code = x ? shape_samples(p, path, &x) : fail_library(p->command);
    if (code < 0 && ig_isdtype(ig_dtype_of(x), "complex floating")) {
        say(p->command, "%s: its numbers are complex; the network takes real ones", path);
        code = EXIT_INPUT;
    }
    const int64_t count = code < 0 ? ig_dim(x, 0) : 0;
    for (int64_t start = 0; start < count && code < 0; start += BATCH) {
        if (interrupt_asked())
            code = EXIT_INTERRUPTED;
        else if (!predict_batch(p, x, start, count - start < BATCH ? count - start : BATCH))
            code = fail_library(p->command);
    }
    ig_release(owned);
    ig_scope_end();
    return code;
}

static int run(predictor *p, char **words, int n)
{
    int code = open_network(p, words[0]);
    if (code < 0)
        code = read_names(p);
    if (code < 0)
        interrupt_watch();
    for (int i = 1; i < n && code < 0; i++)
        code = predict_file(p, words[i]);
    if (code < 0)
        code = p->set->output ? results_save(p) : EXIT_FINE;
    ig_model_free(p->model);
    training_free(&p->run);
    free(p->label_text);
    free(p->names);
    free(p->kept);
    str_free(&p->out);
    return code;
}

int verb_predict(int argc, char **argv)
{
    predict_settings set = {.top = 1};
    predictor p = {.set = &set, .run = {.seed = SEED_NONE}};
    const option options[] = {
        {"--output", 'o', "FILE", option_text, &set.output,
         "saves all probabilities or values: .npy, .npz, .safetensors, .csv"},
        {"--labels", 0, "FILE", option_text, &set.labels, "names of the classes, one in each line"},
        {"--top", 0, "N", option_count, &set.top, "the N most probable classes (1)"},
        FLAG("--json", &set.json, "prints a JSON object for each sample, schema 1"),
        ENGINE_OPTIONS(set.engine),
        {0}};
    const command c = {
        "predict", "[options] NETWORK.safetensors SAMPLES ...",
        "Applies a network that 'ingot train --save' wrote to samples, and prints a line for\n"
        "each: its class and the probability, or, of a network trained with --loss mse, its\n"
        "values.\n\n"
        "SAMPLES is an .npy file with one sample or with N of them along the first axis, an\n"
        ".npz or .safetensors file with an array x, or a .csv or .tsv table of rows without\n"
        "the column y. Networks that were trained on images of bytes also take .png files, and\n"
        ".jpg files where libturbojpeg is installed, of any size.\n"
        "They are scaled as the samples of the training were.\n\n"
        "  ingot train flowers.npz --save flowers.safetensors\n"
        "  ingot predict flowers.safetensors new.npy\n"
        "  ingot predict flowers.safetensors new.csv --top 3 --labels names.txt\n"
        "  ingot predict flowers.safetensors new.npy -o probabilities.npy",
        options};
    p.command = &c;
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
