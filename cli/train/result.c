/* The result of ingot train as JSON. Floats are written exactly, so that runs can be compared. */
#include "calc/calc.h"
#include "train/train.h"

static void json_floats(str *t, const char *key, const double *f, int64_t n)
{
    str_printf(t, "\"%s\": [", key);
    for (int64_t i = 0; i < n; i++)
        str_printf(t, "%s%.17g", i ? ", " : "", f[i]);
    str_puts(t, "], ");
}

static void json_number(str *t, const char *key, double f, bool absent)
{
    str_printf(t, absent ? "\"%s\": null, " : "\"%s\": %.17g, ", key, f);
}

static void json_text(str *t, const char *key, const char *text)
{
    str_printf(t, "\"%s\": ", key);
    if (text)
        json_string(t, text);
    else
        str_puts(t, "null");
}

static void json_options(str *t, const train_settings *set, const training *run)
{
    str_puts(t, "\"options\": {");
    json_text(t, "model", run->net->name);
    str_printf(t, ", \"epochs\": %lld, \"batch\": %lld, \"lr\": %.17g, ", (long long)run->epochs,
               (long long)run->batch, run->lr);
    json_text(t, "optimizer", run->rule->name);
    str_puts(t, ", ");
    json_text(t, "data", set->data);
    str_puts(t, ", ");
    json_text(t, "save", set->save);
    str_puts(t, ", ");
    json_text(t, "resume", set->resume);
    if (run->layers.n) {
        str_puts(t, ", ");
        json_text(t, "layers", run->layers.text);
    }
    if (run->onnx) {
        str_puts(t, ", ");
        json_text(t, "onnx", run->onnx);
        str_printf(t, ", \"tuned\": %lld, ", (long long)run->tuned);
        json_text(t, "output", set->output);
    }
    if (run->shards)
        str_printf(t, ", \"shards\": %lld, \"ranks\": %d", (long long)run->shards, ig_team_size());
    str_puts(t, ", ");
    json_text(t, "loss", run->regression ? "mse" : "cross-entropy");
    str_puts(t, "}}\n");
}

void train_result_json(const train_result *end, const train_settings *set, const training *run)
{
    str t = {0};
    str_puts(&t, "{\"schema\": 1, ");
    json_text(&t, "dataset", set->dataset);
    str_puts(&t, ", ");
    json_floats(&t, "loss", run->loss, run->epoch);
    json_floats(&t, run->regression ? "r2" : "accuracy", run->accuracy, run->epoch);
    if (run->regression)
        json_number(&t, "test_mse", end->test_mse, end->interrupted);
    json_number(&t, run->regression ? "test_r2" : "test_accuracy", end->test_accuracy,
                end->interrupted);
    str_printf(&t, "\"interrupted\": %s, \"seconds\": %.6g, ", end->interrupted ? "true" : "false",
               end->seconds);
    json_text(&t, "device", ig_device());
    str_puts(&t, ", ");
    json_text(&t, "math", math_name());
    str_printf(&t, ", \"threads\": %d, \"seed\": %llu, ", ig_threads(),
               (unsigned long long)run->seed);
    str_puts(&t, "\"fallback\": ");
    fallback_text(&t, true);
    str_puts(&t, ", ");
    json_options(&t, set, run);
    text_print(stdout, t.s);
    str_free(&t);
}
