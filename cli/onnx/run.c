/* ingot onnx run: runs a model once and prints or saves its outputs. */
#include "onnx/onnx.h"
#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

typedef struct running {
    input_texts inputs;
    engine_options engine;
    uint64_t seed;
    const char *output;
    bool json, full, random, explain;
} running;

/* ---- printing ------------------------------------------------------------------------------- */

static bool elements_text(str *t, const running *r, const ig_onnx_value *v)
{
    char *text = ig_onnx_value_get(v) ? ig_to_string(ig_onnx_value_get(v), r->full) : NULL;
    if (text)
        str_printf(t, "%s\n", text);
    const bool fine = text || ig_onnx_value_kind(v) != IG_ONNX_TENSOR;
    ig_free(text);
    if (ig_onnx_value_kind(v) == IG_ONNX_TEXTS) {
        int64_t n = 1;
        const ig_ints shape = ig_onnx_value_shape(v);
        for (int i = 0; i < shape.n; i++)
            n *= shape.v[i];
        for (int64_t i = 0; i < n; i++)
            str_printf(t, "%s\n", ig_onnx_value_text(v, i, NULL));
    }
    return fine;
}

static bool value_print(str *t, const running *r, const char *name, const ig_onnx_value *v)
{
    str_printf(t, "%s: ", name);
    value_text(t, v);
    str_puts(t, "\n");
    bool fine = elements_text(t, r, v);
    for (int i = 0; i < ig_onnx_value_count(v) && fine; i++) {
        char item[32];
        snprintf(item, sizeof item, "  [%d]", i);
        fine = value_print(t, r, item, ig_onnx_value_item(v, i));
    }
    return fine;
}

/* Digits as the dtype needs them; null: not finite. */
static void number_json(str *t, double value, ig_dtype dtype)
{
    char digits[IG_FLOAT_TEXT];
    if (dtype == IG_F64 && isfinite(value)) {
        ig_float_text(value, IG_F64, digits);
        str_json_raw(t, digits);
    } else {
        str_json_float(t, value);
    }
}

/* The elements of a tensor as a list; a complex number is a pair. */
static bool elements_json(str *t, ig_array *x)
{
    const ig_dtype dtype = ig_dtype_of(x);
    const bool whole =
        !ig_isdtype(dtype, "real floating") && !ig_isdtype(dtype, "complex floating");
    const bool pairs = !whole && !ig_isdtype(dtype, "real floating");
    const ig_dtype wide = dtype == IG_U64 ? IG_U64 : whole ? IG_I64 : pairs ? IG_C128 : IG_F64;
    const void *data = ig_data(ig_astype(ig_to_device(x, "cpu"), wide));
    for (int64_t i = 0; i < ig_size(x) && data; i++) {
        if (dtype == IG_U64)
            str_json(t, "%llu", (unsigned long long)((const uint64_t *)data)[i]);
        else if (whole)
            str_json(t, "%lld", (long long)((const int64_t *)data)[i]);
        else if (!pairs)
            number_json(t, ((const double *)data)[i], dtype);
        else {
            str_json(t, "[");
            number_json(t, ((const double *)data)[2 * i], dtype == IG_C128 ? IG_F64 : IG_F32);
            number_json(t, ((const double *)data)[2 * i + 1], dtype == IG_C128 ? IG_F64 : IG_F32);
            str_json(t, "]");
        }
    }
    return data != NULL;
}

static bool value_json(str *t, const char *name, const ig_onnx_value *v)
{
    static const char *const kinds[] = {"nothing", "tensor", "tensor", "sequence", "map"};
    const ig_ints shape = ig_onnx_value_shape(v);
    int64_t n = 1;
    str_json(t, "{name: %s, kind: %s", name, kinds[ig_onnx_value_kind(v)]);
    if (ig_onnx_value_count(v)) {
        str_json(t, "items: [");
        for (int i = 0; i < ig_onnx_value_count(v); i++)
            if (!value_json(t, "", ig_onnx_value_item(v, i)))
                return false;
        str_json(t, "]");
    }
    if (ig_onnx_value_kind(v) == IG_ONNX_TENSOR || ig_onnx_value_kind(v) == IG_ONNX_TEXTS) {
        str_json(t, "type: %s, shape: [", ig_onnx_type_name(ig_onnx_value_type(v)));
        for (int i = 0; i < shape.n; i++) {
            str_json(t, "%lld", (long long)shape.v[i]);
            n *= shape.v[i];
        }
        str_json(t, "], data: [");
        ig_array *x = ig_onnx_value_get(v);
        for (int64_t i = 0; i < n && !x; i++)
            str_json(t, "%s", ig_onnx_value_text(v, i, NULL));
        if (x && !elements_json(t, x))
            return false;
        str_json(t, "]");
    }
    str_json(t, "}");
    return true;
}

static int outputs_print(const command *c, const running *r, const ig_onnx *m, const values *out)
{
    str t = {0};
    bool fine = true;
    if (r->json)
        str_json(&t, "{schema: 1, outputs: [");
    for (int i = 0; i < out->n && fine; i++) {
        ig_onnx_info info = {.size = sizeof info};
        ig_onnx_output(m, i, &info);
        str_puts(&t, r->json && i ? ",\n " : "");
        fine = r->json ? value_json(&t, info.name, out->at[i])
                       : value_print(&t, r, info.name, out->at[i]);
    }
    if (r->json)
        str_json(&t, "]}\n");
    if (fine)
        text_print(stdout, t.n ? t.s : "");
    str_free(&t);
    return fine ? EXIT_FINE : fail_library(c);
}

/* ---- saving --------------------------------------------------------------------------------- */

/* .npz and .safetensors hold all tensors by name; other files the first one. */
static int outputs_save(const command *c, const running *r, const ig_onnx *m, const values *out)
{
    const bool npz = str_ends(r->output, ".npz");
    ig_status status = IG_OK;
    for (int i = 0; i < out->n; i++)
        if (!ig_onnx_value_get(out->at[i])) {
            say(c, "output %d is not a tensor of numbers, so -o cannot save it", i);
            return EXIT_FAILED;
        }
    if (!npz && !str_ends(r->output, ".safetensors")) {
        if (out->n != 1) {
            say(c, "the model has %d outputs; -o needs an .npz or .safetensors file", out->n);
            return EXIT_USAGE;
        }
        status = ig_save(r->output, ig_onnx_value_get(out->at[0]));
        return status == IG_OK ? EXIT_FINE : fail_library(c);
    }
    ig_tensors *set = ig_tensors_new();
    status = set ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < out->n && status == IG_OK; i++) {
        ig_onnx_info info = {.size = sizeof info};
        ig_onnx_output(m, i, &info);
        status = ig_tensors_put(set, info.name, ig_onnx_value_get(out->at[i]));
    }
    if (status == IG_OK)
        status = npz ? ig_tensors_save_npz(set, r->output) : ig_tensors_save(set, r->output);
    ig_tensors_free(set);
    return status == IG_OK ? EXIT_FINE : fail_library(c);
}

/* ---- the command ---------------------------------------------------------------------------- */

static int model_run(const command *c, const running *r, const char *path)
{
    values in = {0}, out = {0};
    ig_onnx *m = ig_onnx_load(path);
    if (!m)
        return fail_library(c);
    int code = inputs_read(c, m, &r->inputs, r->seed, r->random, &in);
    if (code < 0 && r->explain)
        code = plan_print(c, m, &in, r->json);
    if (code < 0) {
        out = values_new(ig_onnx_output_count(m));
        code = ig_onnx_run(m, in.at, out.at) == IG_OK ? -1 : fail_library(c);
    }
    if (code < 0)
        code = r->output ? outputs_save(c, r, m, &out) : outputs_print(c, r, m, &out);
    values_free(&in);
    values_free(&out);
    ig_onnx_free(m);
    return code;
}

int onnx_run(int argc, char **argv)
{
    running r = {0};
    const option options[] = {
        INPUT_OPTION(r.inputs),
        IMAGE_OPTIONS(r.inputs.mean, r.inputs.std),
        FLAG("--random", &r.random, "inputs that are not given are random numbers"),
        {"--seed", 0, "N", option_seed, &r.seed, "of random numbers (0)"},
        {"--output", 'o', "FILE", option_text, &r.output,
         "saves the outputs: .npy, .npz, .safetensors, .csv"},
        EXPLAIN_OPTION(&r.explain),
        FLAG("--full", &r.full, "prints all elements of large arrays"),
        FLAG("--json", &r.json, "prints JSON, schema 1"),
        ENGINE_OPTIONS(r.engine),
        {0}};
    const command c = {
        "onnx run", "[options] MODEL.onnx [[NAME=]FILE ...]",
        "Runs a model and prints its outputs. The name of an only input may be left out.\n"
        "Images are resized and scaled as 'ingot predict' does.\n\n"
        "  ingot onnx run model.onnx x=x.npy\n"
        "  ingot onnx run resnet50.onnx cat.jpg\n"
        "  ingot onnx run model.onnx --input x=1x3x224x224 --device cuda -o y.npz",
        options};
    int code = model_named(&c, argc, argv, &r.inputs);
    if (code < 0)
        code = engine_apply(&c, &r.engine);
    if (code < 0 && r.output)
        code = write_check(&c, "--output", r.output);
    if (code < 0 && ig_scope_begin() == IG_OK) {
        code = model_run(&c, &r, argv[0]);
        ig_scope_end();
    }
    return code < 0 ? fail_library(&c) : code;
}
