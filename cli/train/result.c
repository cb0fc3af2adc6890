/* The result of ingot train as JSON. Floats are written exactly, so that runs can be compared. */
#include "calc/calc.h"
#include "train/train.h"

#include <math.h>

static void json_floats(str *t, const char *key, const double *f, int64_t n)
{
    str_json(t, "%s: [", key);
    for (int64_t i = 0; i < n; i++)
        str_json(t, "%.17g", f[i]);
    str_json(t, "]");
}

static void json_options(str *t, const train_settings *set, const training *run)
{
    str_json(t, "options: {model: %s, epochs: %lld, batch: %lld, lr: %.17g, optimizer: %s",
             run->net->name, (long long)run->epochs, (long long)run->batch, run->lr,
             run->rule->name);
    str_json(t, "data: %s, save: %s, resume: %s", set->data, set->save, set->resume);
    if (run->layers.n)
        str_json(t, "layers: %s", run->layers.text);
    if (run->onnx)
        str_json(t, "onnx: %s, tuned: %lld, output: %s", run->onnx, (long long)run->tuned,
                 set->output);
    if (run->shards)
        str_json(t, "shards: %lld, ranks: %d", (long long)run->shards, ig_team_size());
    str_json(t, "loss: %s}", run->regression ? "mse" : "cross-entropy");
}

void train_result_json(const train_result *end, const train_settings *set, const training *run)
{
    const bool regression = run->regression;
    str t = {0};
    str_json(&t, "{schema: 1, dataset: %s", set->dataset);
    json_floats(&t, "loss", run->loss, run->epoch);
    json_floats(&t, regression ? "r2" : "accuracy", run->accuracy, run->epoch);
    if (regression)
        str_json(&t, "test_mse: %.17g", end->interrupted ? NAN : end->test_mse);
    str_json(&t, "%s: %.17g", regression ? "test_r2" : "test_accuracy",
             end->interrupted ? NAN : end->test_accuracy);
    str_json(&t, "interrupted: %hhd, seconds: %.6g, device: %s, math: %s, threads: %d, seed: %llu",
             end->interrupted, end->seconds, ig_device(), math_name(), ig_threads(),
             (unsigned long long)run->seed);
    str_json(&t, "fallback:");
    fallback_text(&t, true);
    json_options(&t, set, run);
    str_json(&t, "}\n");
    text_print(stdout, t.s);
    str_free(&t);
}
