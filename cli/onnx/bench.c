/* ingot onnx bench: the time of a model's run on a device, after its results were checked to be finite. */
#include "onnx/onnx.h"
#include "bench/timing.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

typedef struct benching {
    input_texts inputs;
    engine_options engine;
    uint64_t seed;
    int64_t runs;
    bool json, quiet, explain;
    double load_s, first_s;
    timing time;
} benching;

/* ---- results -------------------------------------------------------------------------------- */

static bool array_is_finite(ig_array *x)
{
    if (!ig_isdtype(ig_dtype_of(x), "real floating"))
        return true;
    return ig_item_int(ig_astype(ig_all(ig_isfinite(x), IG_NONE, false), IG_I32)) == 1;
}

static bool value_is_finite(const ig_onnx_value *v)
{
    bool fine = !ig_onnx_value_get(v) || array_is_finite(ig_onnx_value_get(v));
    for (int i = 0; i < ig_onnx_value_count(v) && fine; i++)
        fine = value_is_finite(ig_onnx_value_item(v, i));
    return fine;
}

static int results_check(const command *c, const ig_onnx *m, const values *out)
{
    for (int i = 0; i < out->n; i++) {
        ig_onnx_info info = {.size = sizeof info};
        ig_onnx_output(m, i, &info);
        if (value_is_finite(out->at[i]))
            continue;
        if (ig_failed())
            return fail_library(c);
        say(c, "output '%s' has elements that are not finite, so the times would mean nothing",
            info.name);
        return EXIT_FAILED;
    }
    return -1;
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* Runs the model once; the outputs are ready when it returns. -1, or the exit code. */
static int run_once(const command *c, ig_onnx *m, const values *in, values *out, double *seconds)
{
    const double begin = clock_s();
    if (ig_onnx_run(m, in->at, out->at) != IG_OK || ig_synchronize(NULL) != IG_OK)
        return fail_library(c);
    *seconds = clock_s() - begin;
    return -1;
}

static void values_drop(values *v)
{
    for (int i = 0; i < v->n; i++) {
        ig_onnx_value_release(v->at[i]);
        v->at[i] = NULL;
    }
}

static int measure(const command *c, benching *b, ig_onnx *m, const values *in)
{
    enum { WARM = 3 }; /* a device captures a schedule when it runs for the third time */
    values out = values_new(ig_onnx_output_count(m));
    progress bar;
    int code = run_once(c, m, in, &out, &b->first_s);
    code = code < 0 ? results_check(c, m, &out) : code;
    progress_begin(&bar, b->quiet);
    for (int64_t i = -WARM; i < b->runs && code < 0; i++) {
        double seconds = 0;
        values_drop(&out);
        code = run_once(c, m, in, &out, &seconds);
        if (i >= 0)
            timing_add(&b->time, seconds);
        progress_show(&bar, "runs", (double)(i + WARM) / (double)(b->runs + WARM), "");
        if (interrupt_asked())
            code = EXIT_INTERRUPTED;
    }
    progress_clear();
    values_free(&out);
    return code;
}

static void times_print(const benching *b, const char *path)
{
    str t = {0};
    if (b->json) {
        str_json(&t, "{schema: 1, model: %s, device: %s, math: %s, threads: %d", path, ig_device(),
                 math_name(), ig_threads());
        str_json(&t, "load_s: %.9g, first_s: %.9g", b->load_s, b->first_s);
        timing_json(&t, &b->time);
        str_json(&t, "}\n");
    } else {
        str_printf(&t, "device   %s, math %s, %d threads\n", ig_device(), math_name(),
                   ig_threads());
        str_printf(&t, "load     %.3f ms\nfirst    %.3f ms, with the plan\n", 1e3 * b->load_s,
                   1e3 * b->first_s);
        timing_text(&t, &b->time);
        str_puts(&t, "\n");
    }
    text_print(stdout, t.s);
    str_free(&t);
}

static int model_bench(const command *c, benching *b, const char *path)
{
    values in = {0};
    const double begin = clock_s();
    ig_onnx *m = ig_onnx_load(path);
    if (!m)
        return fail_library(c);
    b->load_s = clock_s() - begin;
    b->time = timing_begin();
    int code = inputs_read(c, m, &b->inputs, b->seed, true, &in);
    if (code < 0 && b->explain)
        code = plan_print(c, m, &in, b->json);
    code = code < 0 ? measure(c, b, m, &in) : code;
    if (code < 0) {
        times_print(b, path);
        code = EXIT_FINE;
    }
    timing_free(&b->time);
    values_free(&in);
    ig_onnx_free(m);
    return code;
}

int onnx_bench(int argc, char **argv)
{
    benching b = {.runs = 50};
    const option options[] = {INPUT_OPTION(b.inputs),
                              {"--runs", 'n', "N", option_count, &b.runs, "measured runs (50)"},
                              {"--seed", 0, "N", option_seed, &b.seed, "of random numbers (0)"},
                              EXPLAIN_OPTION(&b.explain),
                              FLAG("--json", &b.json, "prints JSON, schema 1"),
                              FLAG("--quiet", &b.quiet, "shows no progress"),
                              ENGINE_OPTIONS(b.engine),
                              {0}};
    const command c = {
        "onnx bench", "[options] MODEL.onnx [NAME=FILE ...]",
        "Measures the runs of a model. Inputs that are not given are random numbers; an axis\n"
        "whose length the model does not state gets length 1. Results must be finite. Prints the\n"
        "time of the first run, which plans the computation, and the median of later ones.\n\n"
        "  ingot onnx bench model.onnx --input x=1x3x224x224 --device cuda",
        options};
    int code = model_named(&c, argc, argv, &b.inputs);
    if (code < 0)
        code = engine_apply(&c, &b.engine);
    if (code < 0 && ig_scope_begin() == IG_OK) {
        interrupt_cancel();
        code = model_bench(&c, &b, argv[0]);
        ig_scope_end();
    }
    return code < 0 ? fail_library(&c) : code;
}
