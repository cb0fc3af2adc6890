/* ingot onnx verify: compares a model on each device with the CPU in f64, node by node.
 *
 * Each node is checked with the inputs that the device has computed (ig_verify), so an error is reported at the node that
 * causes it. Then a whole run, in which nodes are fused, must have the bits of the results that were computed node by
 * node. */
#include "onnx/onnx.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

#include <ingot.h>

typedef struct verifying {
    input_texts inputs;
    engine_options engine;
    uint64_t seed;
    bool json, quiet;
} verifying;

/* The result of one device. */
typedef struct checked {
    const command *command;
    progress bar;
    int nodes, total; /* of the model */
    int failed;       /* nodes out of bounds */
    int unchecked;    /* nodes without arrays of floats on the device */
    int64_t elements;
    double worst; /* largest error in units of its bound */
    str first;    /* the first node that failed */
    str fused;    /* how a whole run differs */
} checked;

static bool is_checked(const ig_onnx_value *v)
{
    ig_array *x = ig_onnx_value_get(v);
    return x && strcmp(ig_array_device(x), ig_device()) == 0;
}

static ig_status node_check(void *context, int node, const char *name, const char *op,
                            ig_onnx_value *const *outputs, int n)
{
    checked *k = context;
    ig_array **list = heap_get((size_t)(n + 1) * sizeof *list);
    int arrays = 0;
    for (int i = 0; i < n; i++)
        if (is_checked(outputs[i]) && !ig_is_evaluated(ig_onnx_value_get(outputs[i])))
            list[arrays++] = ig_onnx_value_get(outputs[i]);
    ig_verify_report report = {.size = sizeof report};
    ig_status status = arrays ? ig_verify(list, arrays, &report) : IG_OK;
    free(list);
    progress_show(&k->bar, op, (double)k->nodes / (k->total + 1), name);
    k->nodes++;
    k->unchecked += !arrays;
    if (status != IG_OK || !arrays)
        return interrupt_asked() ? IG_ERR_CANCELLED : status;
    k->elements += report.elements;
    k->worst = report.worst_bound > k->worst ? report.worst_bound : k->worst;
    if (report.failed && !k->failed++)
        str_printf(&k->first, "node %d '%s' (%s): %s", node, name, op, report.text);
    return interrupt_asked() ? IG_ERR_CANCELLED : IG_OK;
}

/* A whole run must have the same bits as the walk. */
static bool fused_check(ig_onnx *m, const values *in, const values *walked, checked *k)
{
    values out = values_new(walked->n);
    bool fine = ig_onnx_run(m, in->at, out.at) == IG_OK;
    for (int i = 0; i < out.n && fine && !k->fused.n; i++) {
        str why = {0};
        ig_onnx_info info = {.size = sizeof info};
        ig_onnx_output(m, i, &info);
        if (!values_match(out.at[i], walked->at[i], 0, 0, &why)) {
            fine = !ig_failed();
            str_printf(&k->fused, "output '%s' of a whole run: %s", info.name, why.n ? why.s : "");
        }
        str_free(&why);
    }
    values_free(&out);
    return fine;
}

static void device_print(const verifying *v, const checked *k, str *t)
{
    const bool wrong = k->failed || k->fused.n;
    if (v->json) {
        str_json(
            t, "\n {device: %s, nodes: %d, unchecked: %d, failed: %d, elements: %lld, worst: %.9g",
            ig_device(), k->nodes, k->unchecked, k->failed, (long long)k->elements, k->worst);
        if (wrong)
            str_json(t, "first: %s", k->failed ? k->first.s : k->fused.s);
        str_json(t, "}");
        return;
    }
    str_printf(t, "%s: %d nodes, %lld elements, largest error %.3g of its bound: %s\n", ig_device(),
               k->nodes, (long long)k->elements, k->worst, wrong ? "WRONG" : "correct");
    if (k->failed)
        str_printf(t, "  %d nodes are out of bounds; the first: %s\n", k->failed, k->first.s);
    if (k->fused.n)
        str_printf(t, "  %s\n", k->fused.s);
}

/* Checks the model on the current device. -1, or the exit code after an error. */
static int device_check(const command *c, const verifying *v, ig_onnx *m, bool *wrong, str *t)
{
    checked k = {.command = c, .total = ig_onnx_node_count(m)};
    values in = {0}, out = {0};
    progress_begin(&k.bar, v->quiet);
    int code = inputs_read(c, m, &v->inputs, v->seed, true, &in);
    if (code < 0) {
        out = values_new(ig_onnx_output_count(m));
        const bool fine = ig_onnx_walk(m, in.at, out.at, node_check, &k) == IG_OK &&
                          fused_check(m, &in, &out, &k);
        progress_clear();
        code = fine ? -1 : fail_library(c);
    }
    if (code < 0) {
        device_print(v, &k, t);
        *wrong |= k.failed || k.fused.n;
    }
    values_free(&in);
    values_free(&out);
    str_free(&k.first);
    str_free(&k.fused);
    return code;
}

static int model_verify(const command *c, const verifying *v, const char *path)
{
    ig_onnx *m = ig_onnx_load(path);
    if (!m)
        return fail_library(c);
    str t = {0};
    bool wrong = false;
    int code = -1;
    if (v->json)
        str_json(&t, "{schema: 1, devices: [");
    for (int i = 0; i < ig_device_count() && code < 0; i++) {
        ig_device_info info = {.size = sizeof info};
        if (ig_device_get(i, &info) != IG_OK || !info.runs_arrays)
            continue;
        if (v->engine.device ? strcmp(info.name, ig_device()) != 0 : strcmp(info.kind, "gang") == 0)
            continue;
        code =
            ig_set_device(info.name) == IG_OK ? device_check(c, v, m, &wrong, &t) : fail_library(c);
        if (v->engine.device)
            break;
    }
    if (v->json)
        str_json(&t, "]}\n");
    if (code < 0)
        text_print(stdout, t.s);
    str_free(&t);
    ig_onnx_free(m);
    return code < 0 ? wrong ? EXIT_FAILED : EXIT_FINE : code;
}

int onnx_verify(int argc, char **argv)
{
    verifying v = {0};
    const option options[] = {
        INPUT_OPTION(v.inputs),
        {"--seed", 0, "N", option_seed, &v.seed, "of random numbers (0)"},
        FLAG("--json", &v.json, "prints JSON, schema 1"),
        FLAG("--quiet", &v.quiet, "shows no progress"),
        ENGINE_OPTIONS_ON(v.engine, "DEVICE", "only this device (all that run arrays)"),
        {0}};
    const command c = {
        "onnx verify", "[options] MODEL.onnx [NAME=FILE ...]",
        "Compares each node of a model with the CPU in f64, on each device, and a whole run with\n"
        "the results of its nodes. Names the first node whose error is above its bound.\n"
        "Inputs that are not given are random numbers.\n\n"
        "  ingot onnx verify model.onnx --input x=1x3x224x224",
        options};
    int code = model_named(&c, argc, argv, &v.inputs);
    if (code < 0)
        code = engine_apply(&c, &v.engine);
    if (code < 0 && ig_scope_begin() == IG_OK) {
        interrupt_cancel();
        code = model_verify(&c, &v, argv[0]);
        ig_scope_end();
    }
    return code < 0 ? fail_library(&c) : code;
}
