/* ingot onnx info: what a model takes and gives, which ops it has, and which of them a device cannot run. */
#include "onnx/onnx.h"
#include "text/common.h"

#include <stdlib.h>
#include <string.h>

#include <ingot.h>

typedef struct asking {
    input_texts inputs;
    engine_options engine;
    const char *
        absent; /* a device that this machine does not have, but whose limits are known; NULL: none */
    bool json;
} asking;

/* ---- inputs and outputs --------------------------------------------------------------------- */

typedef ig_status (*info_function)(const ig_onnx *m, int i, ig_onnx_info *info);

static void infos_text(str *t, const ig_onnx *m, const char *title, int n, info_function get)
{
    for (int i = 0; i < n; i++) {
        ig_onnx_info info = {.size = sizeof info};
        get(m, i, &info);
        str_printf(t, "%-8s ", i ? "" : title);
        str_visible(t, info.name);
        str_puts(t, "  ");
        info_text(t, &info);
        str_puts(t, "\n");
    }
}

static void info_json(str *t, const ig_onnx_info *info)
{
    static const char *const kinds[] = {"nothing", "tensor", "tensor", "sequence", "map"};
    str_json(t, "{name: %s, kind: %s, type: %s, optional: %hhd", info->name, kinds[info->kind],
             ig_onnx_type_name(info->type), info->optional);
    if (info->ndim < 0) {
        str_json(t, "shape: null}");
        return;
    }
    str_json(t, "shape: [");
    for (int i = 0; i < info->ndim; i++)
        if (info->dims[i] >= 0)
            str_json(t, "%lld", (long long)info->dims[i]);
        else
            str_json(t, "%s", info->names[i]);
    str_json(t, "]}");
}

static void infos_json(str *t, const ig_onnx *m, const char *title, int n, info_function get)
{
    str_json(t, "%s: [", title);
    for (int i = 0; i < n; i++) {
        ig_onnx_info info = {.size = sizeof info};
        get(m, i, &info);
        info_json(t, &info);
    }
    str_json(t, "]");
}

/* ---- ops ------------------------------------------------------------------------------------ */

static int use_compare(const void *left, const void *right)
{
    const ig_onnx_use *a = left, *b = right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    const int order = strcmp(a->domain, b->domain);
    return order ? order : strcmp(a->op, b->op);
}

/* All ops, the most frequent first. Release with free. */
static ig_onnx_use *uses_list(ig_onnx *m, int *n)
{
    *n = ig_onnx_use_count(m);
    ig_onnx_use *uses = heap_get((size_t)(*n + 1) * sizeof *uses);
    for (int i = 0; i < *n; i++) {
        uses[i].size = sizeof *uses;
        ig_onnx_use_get(m, i, &uses[i]);
    }
    qsort(uses, (size_t)*n, sizeof *uses, use_compare);
    return uses;
}

static void uses_text(str *t, const ig_onnx_use *uses, int n)
{
    for (int i = 0; i < n; i++) {
        const ig_onnx_use *u = &uses[i];
        str_printf(t, "%-8s %5d  ", i ? "" : "ops", u->count);
        if (strcmp(u->domain, "ai.onnx") != 0)
            str_printf(t, "%s.", u->domain);
        str_visible(t, u->op);
        if (u->since > 1)
            str_printf(t, " of opset %lld", (long long)u->since);
        str_puts(t, u->since ? "\n" : "  unknown: it cannot run\n");
    }
}

static void uses_json(str *t, const ig_onnx_use *uses, int n, bool placed)
{
    str_json(t, "ops: [");
    for (int i = 0; i < n; i++) {
        const ig_onnx_use *u = &uses[i];
        str_json(t, "\n  {op: %s, domain: %s, count: %d, opset: %lld, since: %lld, known: %hhd",
                 u->op, u->domain, u->count, (long long)u->version, (long long)u->since,
                 (bool)u->since);
        if (placed)
            str_json(t, "runs: %hhd, refused: %d", (bool)(u->since && !u->refused),
                     u->refused_count);
        if (u->refused)
            str_json(t, "why: %s", u->refused);
        str_json(t, "}");
    }
    str_json(t, "]");
}

static const char *device_asked(const asking *a) { return a->absent ? a->absent : ig_device(); }

static void placement_text(const asking *a, str *t, const ig_onnx_use *uses, int n)
{
    int refused = 0;
    const char *device = device_asked(a);
    for (int i = 0; i < n; i++)
        if (uses[i].refused) {
            const int count =
                uses[i].refused_count < uses[i].count ? uses[i].refused_count : uses[i].count;
            str_printf(t, "%-8s %s cannot run %s (%d of %d nodes): %s\n", refused ? "" : "device",
                       device, uses[i].op, count, uses[i].count, uses[i].refused);
            refused++;
        }
    if (refused)
        str_printf(t, "%-8s with --fallback auto the CPU runs them, and data is copied\n", "");
    else
        str_printf(t, "%-8s %s can run all ops\n", "device", device);
    if (a->absent)
        str_printf(t, "%-8s this machine has no device '%s'; these are the limits of an M1\n", "",
                   device);
}

/* ---- the command ---------------------------------------------------------------------------- */

static void facts_text(str *t, ig_onnx *m, const ig_onnx_facts *f)
{
    const char *domain;
    int64_t version;
    str_puts(t, "model    ");
    str_visible(t, f->name);
    str_printf(t, "  IR %lld", (long long)f->ir_version);
    if (f->producer[0]) {
        str_puts(t, "  by ");
        str_visible(t, f->producer);
        str_puts(t, " ");
        str_visible(t, f->producer_version);
    }
    str_trim(t);
    str_puts(t, "\nsize     ");
    str_size(t, f->bytes);
    str_printf(t, "; %d weights, %llu elements, ", ig_onnx_weight_count(m),
               (unsigned long long)f->elements);
    str_size(t, f->weight_bytes);
    str_printf(t, "; %lld nodes", (long long)f->nodes);
    if (f->functions)
        str_printf(t, ", %d functions", f->functions);
    for (int i = 0; i < ig_onnx_opset_count(m); i++) {
        ig_onnx_opset(m, i, &domain, &version);
        str_printf(t, "\n%-8s ", i ? "" : "opsets");
        str_visible(t, domain);
        str_printf(t, " %lld", (long long)version);
    }
    str_puts(t, "\n");
}

static void facts_json(str *t, ig_onnx *m, const ig_onnx_facts *f)
{
    const char *domain;
    int64_t version;
    str_json(t, "{schema: 1, name: %s, producer: %s, producer_version: %s, ir_version: %lld",
             f->name, f->producer, f->producer_version, (long long)f->ir_version);
    str_json(t,
             "bytes: %llu, weights: %d, elements: %llu, weight_bytes: %llu, nodes: %lld, "
             "functions: %d, opsets: {",
             (unsigned long long)f->bytes, ig_onnx_weight_count(m), (unsigned long long)f->elements,
             (unsigned long long)f->weight_bytes, (long long)f->nodes, f->functions);
    for (int i = 0; i < ig_onnx_opset_count(m); i++) {
        ig_onnx_opset(m, i, &domain, &version);
        str_json(t, "%s: %lld", domain, (long long)version);
    }
    str_json(t, "}");
}

static void model_print(const asking *a, ig_onnx *m, const ig_onnx_facts *facts, bool placed)
{
    str t = {0};
    int n;
    ig_onnx_use *uses = uses_list(m, &n);
    const int inputs = ig_onnx_input_count(m), outputs = ig_onnx_output_count(m);
    if (a->json) {
        facts_json(&t, m, facts);
        infos_json(&t, m, "inputs", inputs, ig_onnx_input);
        infos_json(&t, m, "outputs", outputs, ig_onnx_output);
        if (placed)
            str_json(&t, "device: %s", device_asked(a));
        uses_json(&t, uses, n, placed);
        str_json(&t, "}\n");
    } else {
        facts_text(&t, m, facts);
        infos_text(&t, m, "inputs", inputs, ig_onnx_input);
        infos_text(&t, m, "outputs", outputs, ig_onnx_output);
        uses_text(&t, uses, n);
        if (placed)
            placement_text(a, &t, uses, n);
    }
    text_print(stdout, t.s);
    free(uses);
    str_free(&t);
}

static int model_ask(const command *c, const asking *a, const char *path)
{
    ig_onnx_facts facts = {.size = sizeof facts};
    const bool placed = a->engine.device || a->absent || a->inputs.n;
    values in = {0};
    ig_onnx *m = ig_onnx_load(path);
    if (!m || ig_onnx_describe(m, &facts) != IG_OK) {
        ig_onnx_free(m);
        return fail_library(c);
    }
    int code = placed ? inputs_read(c, m, &a->inputs, 0, true, &in) : -1;
    if (code < 0 && placed && ig_onnx_place(m, a->absent, in.at) != IG_OK)
        code = fail_library(c);
    if (code < 0) {
        model_print(a, m, &facts, placed);
        code = EXIT_FINE;
    }
    values_free(&in);
    ig_onnx_free(m);
    return code;
}

/* Placement on Metal can be asked for without a Mac. */
static void device_absent(asking *a)
{
    const char *name = a->engine.device;
    if (!name || (strcmp(name, "metal") != 0 && strcmp(name, "mps") != 0) ||
        ig_set_device(name) == IG_OK)
        return;
    ig_error(NULL);
    a->absent = "metal";
    a->engine.device = NULL;
}

int onnx_info(int argc, char **argv)
{
    asking a = {0};
    const option options[] = {INPUT_OPTION(a.inputs),
                              FLAG("--json", &a.json, "prints JSON, schema 1"),
                              ENGINE_OPTIONS(a.engine),
                              {0}};
    const command c = {"onnx info", "[options] MODEL.onnx [NAME=FILE ...]",
                       "Shows inputs, outputs, ops and size of a model. With --device or --input "
                       "also which ops the\n"
                       "device cannot run; nothing is computed for it. 'metal' can be asked for on "
                       "any machine.\n\n"
                       "  ingot onnx info model.onnx\n"
                       "  ingot onnx info model.onnx --device metal --input x=1x3x224x224",
                       options};
    int code = model_named(&c, argc, argv, &a.inputs);
    if (code < 0)
        device_absent(&a);
    if (code < 0)
        code = engine_apply(&c, &a.engine);
    if (code < 0 && ig_scope_begin() == IG_OK) {
        code = model_ask(&c, &a, argv[0]);
        ig_scope_end();
    }
    return code < 0 ? fail_library(&c) : code;
}
