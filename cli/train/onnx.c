/* Fine-tunes ONNX classifiers. Parameters have the names of the model's tensors; the other weights, and the statistics of
 * batch norms, stay as they are. Samples are not scaled, so that the tuned model takes the inputs of 'ingot predict'. */
#include "train/onnx.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening --------------------------------------------------------------------------------- */

/* The hash of a file's content as text. False if it cannot be read. */
static bool file_hash(const char *path, char out[ONNX_HASH_CHARS])
{
    FILE *f = fopen(path, "rb");
    hash h;
    uint8_t digest[HASH_BYTES];
    const size_t room = 1 << 16;
    char *part = heap_get(room);
    hash_begin(&h);
    for (size_t n; f && (n = fread(part, 1, room, f)) > 0;)
        hash_add(&h, part, n);
    const bool fine = f && !ferror(f);
    if (f)
        fclose(f);
    free(part);
    hash_end(&h, digest);
    for (int i = 0; i < HASH_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    return fine;
}

static int check_input(tuning *u)
{
    ig_onnx_info info = {.size = sizeof info};
    const int inputs = ig_onnx_input_count(u->model);
    if (inputs != 1) {
        say(u->command, "%s: it has %d inputs; a classifier of samples has one", u->path, inputs);
        return EXIT_INPUT;
    }
    if (ig_onnx_input(u->model, 0, &info) != IG_OK)
        return fail_library(u->command);
    u->dtype = ig_onnx_type_dtype(info.type);
    if (info.kind != IG_ONNX_TENSOR || u->dtype == IG_DTYPE_NONE || info.ndim < 2 ||
        info.ndim > IG_MAX_NDIM) {
        say(u->command, "%s: its input '%.100s' is not a tensor of samples (n, ...)", u->path,
            info.name);
        return EXIT_INPUT;
    }
    u->ndim = info.ndim - 1;
    u->batch = info.dims[0] > 0 ? info.dims[0] : 0;
    memcpy(u->shape, info.dims + 1, (size_t)u->ndim * sizeof *u->shape);
    return -1;
}

int tuning_open(tuning *u, const char *path, char made[ONNX_HASH_CHARS])
{
    char here[ONNX_HASH_CHARS] = "";
    u->path = path;
    u->model = ig_onnx_load(path);
    if (!u->model) {
        fail_library(u->command);
        return EXIT_INPUT;
    }
    if (!file_hash(path, here)) {
        say(u->command, "%s: it cannot be read", path);
        return EXIT_INPUT;
    }
    if (*made && strcmp(made, here) != 0) {
        say(u->command,
            "%s: the checkpoint was made from another model; give the same one with --model", path);
        return EXIT_INPUT;
    }
    memcpy(made, here, sizeof here);
    return check_input(u);
}

void tuning_close(tuning *u)
{
    ig_onnx_free(u->model);
    free(u->weights);
    *u = (tuning){0};
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Samples in the shape of the model: the same axes, axes of length 1 more or fewer, or all in one axis. NULL if they do not
 * fit. The order of elements does not change. */
static ig_array *samples_shaped(const tuning *u, ig_array *x)
{
    const ig_ints has = ig_shape(x);
    int64_t whole[IG_MAX_NDIM] = {has.v[0]};
    const int64_t elements = ig_size(x) / has.v[0];
    if (u->ndim == 1 && (u->shape[0] < 0 || u->shape[0] == elements)) {
        whole[1] = elements;
        return ig_reshape(x, (ig_ints){whole, 2});
    }
    const bool same = has.n == u->ndim + 1;
    int at = 1;
    for (int i = 0; i < u->ndim; i++) {
        if (!same && u->shape[i] == 1) {
            while (at < has.n && has.v[at] == 1)
                at++;
            whole[i + 1] = 1;
            continue;
        }
        while (!same && at < has.n && has.v[at] == 1 && u->shape[i] != 1)
            at++;
        if (at >= has.n || (u->shape[i] >= 0 && has.v[at] != u->shape[i]))
            return NULL;
        whole[i + 1] = has.v[at++];
    }
    while (at < has.n && has.v[at] == 1)
        at++;
    return at == has.n ? ig_reshape(x, (ig_ints){whole, u->ndim + 1}) : NULL;
}

static int fail_shape(const tuning *u, const char *shown, const ig_array *x)
{
    const ig_ints shape = ig_shape(x);
    str has = {0}, takes = {0};
    str_lengths(&has, shape.v + 1, shape.n - 1);
    str_lengths(&takes, u->shape, u->ndim);
    say(u->command, "%s: the samples are %s, but %s takes %s", shown, has.s, u->path, takes.s);
    str_free(&has);
    str_free(&takes);
    return EXIT_INPUT;
}

int tuning_fit(const tuning *u, const char *shown, dataset *d)
{
    ig_array **parts[] = {&d->train.x, &d->test.x};
    int code = dataset_white(d, 1) ? -1 : fail_library(u->command);
    if (code < 0 && ig_scope_begin() != IG_OK)
        return fail_library(u->command);
    else if (code >= 0)
        return code;
    for (int i = 0; i < 2 && code < 0; i++) {
        ig_array *x = samples_shaped(u, *parts[i]);
        if (!x)
            code = ig_failed() ? fail_library(u->command) : fail_shape(u, shown, *parts[i]);
        else if (ig_replace(parts[i], x) != IG_OK)
            code = fail_library(u->command);
    }
    ig_scope_end();
    return code;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Logits of exactly as many samples as the model takes. */
static ig_array *run_once(tuning *u, ig_array *x)
{
    ig_onnx_value *in = ig_onnx_value_array(ig_astype(x, u->dtype));
    ig_array *y = in ? ig_astype(ig_onnx_logits(u->model, &in), IG_F32) : NULL;
    ig_onnx_value_release(in);
    if (y && ig_dim(y, 0) != ig_dim(x, 0)) {
        ig_fail(IG_ERR_SHAPE, "%s gives %lld rows for %lld samples", u->path,
                (long long)ig_dim(y, 0), (long long)ig_dim(x, 0));
        return NULL;
    }
    return y;
}

ig_array *samples_at(ig_array *x, int64_t start, int64_t n)
{
    ig_array *at = ig_arange((double)start, (double)(start + n), 1, IG_I64);
    return ig_take(x, ig_minimum(at, ig_int(ig_dim(x, 0) - 1)), IG_AXES(0));
}

/* Logits of any number of samples by a model that takes a fixed number. */
static ig_array *run_parts(tuning *u, ig_array *x)
{
    const int64_t count = ig_dim(x, 0), b = u->batch, n = (count + b - 1) / b;
    ig_array **parts = heap_get(sizeof *parts * (size_t)n);
    bool fine = true;
    for (int64_t i = 0; i < n && fine; i++)
        fine = (parts[i] = run_once(u, samples_at(x, i * b, b))) != NULL;
    const ig_index rows = {.kind = IG_INDEX_SLICE, .start = 0, .stop = count, .step = 1};
    ig_array *y = fine ? ig_get(ig_concat(parts, (int)n, IG_AXES(0)), &rows, 1) : NULL;
    free(parts);
    return y;
}

static bool weights_set(tuning *u, ig_model *m)
{
    for (int i = 0; i < u->n; i++) {
        ig_array *x = ig_model_get(m, ig_onnx_weight_name(u->model, u->weights[i]));
        if (!x || ig_onnx_set_weight(u->model, u->weights[i], x) != IG_OK)
            return false;
    }
    return true;
}

static ig_array *run_model(tuning *u, ig_array *x)
{
    return !u->batch || u->batch == ig_dim(x, 0) ? run_once(u, x) : run_parts(u, x);
}

ig_array *tuning_run(tuning *u, ig_model *m, ig_array *x)
{
    return x && weights_set(u, m) ? run_model(u, x) : NULL;
}

/* ---- the parameters -------------------------------------------------------------------------- */

static int find_weights(tuning *u, int64_t *layers)
{
    const int all = ig_onnx_layer_count(u->model), n = ig_onnx_weight_count(u->model);
    if (all <= 0) {
        if (all < 0)
            return fail_library(u->command);
        say(u->command,
            "%s: there is nothing to train: it has no layers with weights of floats (Gemm, MatMul, "
            "Conv, ...)",
            u->path);
        return EXIT_INPUT;
    }
    if (*layers > all)
        *layers = all;
    u->weights = heap_get(sizeof *u->weights * (size_t)n);
    for (int i = 0; i < n; i++)
        if (ig_onnx_weight_layer(u->model, i) >= all - *layers)
            u->weights[u->n++] = i;
    return -1;
}

/* Frozen weights move to the device once, not in each step. */
static bool frozen_move(tuning *u)
{
    const char *device = ig_device();
    for (int i = 0; i < ig_onnx_weight_count(u->model) && strcmp(device, "cpu") != 0; i++) {
        const bool frozen = ig_onnx_weight_layer(u->model, i) >= 0;
        ig_array *x = frozen ? ig_to_device(ig_onnx_weight(u->model, i), device) : NULL;
        if (frozen &&
            (!x || ig_eval(&x, 1) != IG_OK || ig_onnx_set_weight(u->model, i, x) != IG_OK))
            return false;
    }
    return true;
}

static bool parameters_make(tuning *u, ig_model *m)
{
    for (int i = 0; i < u->n; i++) {
        const char *name = ig_onnx_weight_name(u->model, u->weights[i]);
        ig_array *x = ig_onnx_weight(u->model, u->weights[i]);
        if (!x || !ig_model_param(m, name, ig_shape(x), ig_dtype_of(x), IG_INIT_ZEROS, 0) ||
            ig_model_set(m, name, x) != IG_OK)
            return false;
    }
    return true;
}

/* The number of classes that the model gives for the first samples; 0 after an error. */
static int64_t classes_given(tuning *u, const dataset *d)
{
    const int64_t first[2] = {0, 0};
    if (ig_scope_begin() != IG_OK)
        return 0;
    ig_array *y = run_model(u, samples_pick(d, &d->train, first, 2));
    const int64_t classes = y ? ig_dim(y, 1) : 0;
    ig_scope_end();
    return classes;
}

int tuning_begin(tuning *u, ig_model *m, const dataset *d, int64_t *layers, uint64_t seed,
                 bool quiet)
{
    int code = find_weights(u, layers);
    if (code >= 0)
        return code;
    const int64_t classes = classes_given(u, d);
    if (!classes) {
        fail_library(u->command);
        return EXIT_INPUT;
    }
    if (classes != d->outputs) {
        if (ig_onnx_set_classes(u->model, d->outputs, seed) != IG_OK ||
            classes_given(u, d) != d->outputs) {
            say(u->command,
                "%s: it gives %lld classes and the data has %lld, and the last layer cannot be "
                "replaced%s",
                u->path, (long long)classes, (long long)d->outputs, ig_failed() ? ":" : "");
            if (ig_failed())
                fail_library(u->command);
            return EXIT_INPUT;
        }
        if (!quiet)
            say(u->command,
                "%s: it gives %lld classes and the data has %lld; the last layer is "
                "replaced by a new one",
                u->path, (long long)classes, (long long)d->outputs);
    }
    return frozen_move(u) && parameters_make(u, m) ? -1 : fail_library(u->command);
}

int tuning_write(tuning *u, ig_model *m, const char *path)
{
    return weights_set(u, m) && ig_onnx_save(u->model, path, -1) == IG_OK
               ? -1
               : fail_library(u->command);
}
