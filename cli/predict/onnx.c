/* ONNX classifiers and regressors: models with one input of samples.
 *
 * The result is the first output of floats, (n, k): probabilities, or logits, which softmax makes probabilities. Models of
 * ai.onnx.ml give labels before it, and may give maps from labels to probabilities instead. */
#include "predict.h"

#include <stdlib.h>
#include <string.h>

enum { OUTPUTS_MOST = 16 };

typedef struct onnx_network {
    ig_onnx *model;
    ig_dtype dtype; /* of the input */
    int outputs;
    arena texts; /* names of classes */
} onnx_network;

/* ---- results --------------------------------------------------------------------------------- */

/* The keys of a map as names of the classes. */
static void names_take(network *n, const ig_onnx_value *keys)
{
    onnx_network *o = n->at;
    const bool texts = ig_onnx_value_kind(keys) == IG_ONNX_TEXTS;
    const int64_t count = n->outputs;
    const int64_t *numbers = texts ? NULL : ig_data(ig_astype(ig_onnx_value_get(keys), IG_I64));
    n->names = arena_get(&o->texts, sizeof *n->names * (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        char digits[24];
        snprintf(digits, sizeof digits, "%lld", numbers ? (long long)numbers[i] : 0LL);
        const char *name = texts ? ig_onnx_value_text(keys, i, NULL) : digits;
        n->names[i] = arena_string(&o->texts, name, strlen(name));
    }
}

/* The rows of a sequence with a map for each sample. */
static ig_array *rows_of_maps(network *n, const ig_onnx_value *maps)
{
    const int count = ig_onnx_value_count(maps);
    ig_array **rows = heap_get(sizeof *rows * (size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        const ig_onnx_value *map = ig_onnx_value_item(maps, i);
        rows[i] = ig_astype(ig_onnx_value_get(ig_onnx_value_item(map, 1)), IG_F32);
        n->outputs = rows[i] ? ig_size(rows[i]) : 0;
        if (i == 0 && !n->names && n->outputs)
            names_take(n, ig_onnx_value_item(map, 0));
    }
    ig_array *x = count ? ig_stack(rows, count, 0) : NULL;
    free(rows);
    return x ? ig_minimum(x, ig_float(1)) : NULL; /* sums of weights may be a rounding above 1 */
}

static bool are_probabilities(ig_array *x)
{
    ig_array *off = ig_abs(ig_subtract(ig_sum(x, IG_AXES(1), IG_DTYPE_NONE, false), ig_float(1)));
    return ig_item(ig_min_all(x)) >= 0 && ig_item(ig_max_all(off)) < 1e-3;
}

/* The result of a run as rows. */
static ig_array *rows_of(network *n, ig_onnx_value *const *values, int count)
{
    ig_array *x = NULL;
    for (int i = 0; i < count && !x; i++) {
        const ig_onnx_kind kind = ig_onnx_value_kind(values[i]);
        ig_array *tensor = ig_onnx_value_get(values[i]);
        if (kind == IG_ONNX_SEQUENCE)
            return rows_of_maps(n, values[i]);
        if (kind == IG_ONNX_TEXTS) {
            ig_onnx_value_release(n->said);
            n->said = ig_onnx_value_retain(values[i]);
        } else if (tensor && ig_isdtype(ig_dtype_of(tensor), "real floating") && ig_ndim(tensor)) {
            x = ig_astype(ig_reshape(tensor, IG_SHAPE(ig_dim(tensor, 0), -1)), IG_F32);
        }
    }
    if (!x) {
        ig_fail(IG_ERR_UNSUPPORTED,
                "the model has no output of floats or maps; use 'ingot onnx run'");
        return NULL;
    }
    n->outputs = ig_dim(x, 1);
    n->values = n->outputs == 1;
    if (n->values)
        return x;
    return are_probabilities(x) ? ig_minimum(x, ig_float(1)) : ig_softmax(x, IG_AXES(-1));
}

static ig_array *onnx_network_run(network *n, ig_array *x)
{
    onnx_network *o = n->at;
    ig_onnx_value *values[OUTPUTS_MOST] = {NULL};
    ig_array *rows = NULL, *typed = ig_astype(x, o->dtype);
    ig_onnx_value *input = typed ? ig_onnx_value_array(typed) : NULL;
    if (input && ig_onnx_run(o->model, &input, values) == IG_OK)
        rows = rows_of(n, values, o->outputs);
    if (rows)
        ig_eval(&rows, 1);
    for (int i = 0; i < o->outputs; i++)
        ig_onnx_value_release(values[i]);
    ig_onnx_value_release(input);
    return rows;
}

static void onnx_network_close(network *n)
{
    onnx_network *o = n->at;
    ig_onnx_value_release(n->said);
    ig_onnx_free(o->model);
    arena_free(&o->texts);
    free(o);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int read_input(network *n, const char *path)
{
    onnx_network *o = n->at;
    ig_onnx_info info = {.size = sizeof info};
    const int inputs = ig_onnx_input_count(o->model);
    if (inputs != 1) {
        say(n->command, "%s: it has %d inputs; use 'ingot onnx run'", path, inputs);
        return EXIT_INPUT;
    }
    if (ig_onnx_input(o->model, 0, &info) != IG_OK)
        return fail_library(n->command);
    o->dtype = ig_onnx_type_dtype(info.type);
    if (info.kind != IG_ONNX_TENSOR || o->dtype == IG_DTYPE_NONE || info.ndim < 1 ||
        info.ndim > IG_MAX_NDIM) {
        say(n->command, "%s: its input '%.100s' is not a tensor of samples; use 'ingot onnx run'",
            path, info.name);
        return EXIT_INPUT;
    }
    n->ndim = info.ndim - 1;
    n->batch = info.dims[0] > 0 ? info.dims[0] : 0;
    memcpy(n->shape, info.dims + 1, (size_t)n->ndim * sizeof *n->shape);
    return -1;
}

int onnx_open(network *n, const char *path, const predict_settings *set)
{
    onnx_network *o = heap_get(sizeof *o);
    n->at = o;
    n->run = onnx_network_run;
    n->close = onnx_network_close;
    o->model = ig_onnx_load(path);
    if (!o->model) {
        fail_library(n->command);
        return EXIT_INPUT;
    }
    o->outputs = ig_onnx_output_count(o->model);
    if (o->outputs < 1 || o->outputs > OUTPUTS_MOST) {
        say(n->command, "%s: it has %d outputs; use 'ingot onnx run'", path, o->outputs);
        return EXIT_INPUT;
    }
    const int code = read_input(n, path);
    return code < 0 ? image_scale_find(n, o->dtype, set->mean, set->std) : code;
}
