/* ingot verify --model: see model.h. Compares the hidden states after the embeddings and after each layer, and the
 * output of the head. Errors are relative to the largest value of a state. The bound grows with the layers. */
#include "model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

enum { STATES_MOST = 256, TEXTS = 3 };

typedef struct states {
    double *at[STATES_MOST];
    int64_t size[STATES_MOST];
    int n, width;
} states;

static void states_free(states *s)
{
    for (int i = 0; i < s->n; i++)
        free(s->at[i]);
}

static bool state_read(states *s, ig_array *x)
{
    ig_array *wide = ig_astype(ig_to_device(x, "cpu"), IG_F64);
    const double *values = wide ? ig_data(wide) : NULL;
    if (!values)
        return false;
    s->size[s->n] = ig_size(wide);
    s->at[s->n] = heap_get((size_t)ig_size(wide) * sizeof *values);
    memcpy(s->at[s->n++], values, (size_t)ig_size(wide) * sizeof *values);
    return true;
}

/* Computes all states of some texts in one evaluation; false on failure. */
static bool states_read(states *s, ig_text_model *m)
{
    static const ig_text texts[TEXTS] = {
        {"a", 1},
        {"The whole model runs on one device, and its results are checked.", 64},
        {"Is it right? 1, 2, 3 ... \xc3\xa9\xc3\xa8!", 30}};
    const ig_encode_options options = {.max_length = 64, .pad = -1};
    ig_array *x[STATES_MOST];
    ig_encoding *all =
        ig_tokenizer_encode(ig_text_model_tokenizer(m), texts, NULL, TEXTS, &options);
    bool fine = all && ig_scope_begin() == IG_OK;
    if (fine) {
        ig_text_info info = {0};
        int n = ig_text_model_states(m, all, TEXTS, x, STATES_MOST - 1);
        fine = n > 0 && ig_text_model_info(m, &info) == IG_OK;
        x[n] = fine ? ig_text_model_head(m, info.head, x[n - 1], all, TEXTS) : NULL;
        n += fine;
        fine = fine && x[n - 1] && ig_eval(x, n) == IG_OK;
        for (int i = 0; i < n && fine; i++)
            fine = state_read(s, x[i]);
        s->width = fine ? (int)ig_dim(x[0], -1) : 0;
        ig_scope_end();
    }
    ig_free(all);
    return fine;
}

static bool model_run(states *s, const char *folder, const char *device, ig_dtype dtype)
{
    if (ig_set_device(device) != IG_OK)
        return false;
    ig_text_model *m = ig_text_model_load(folder, dtype);
    const bool fine = m && states_read(s, m);
    ig_text_model_free(m);
    return fine;
}

typedef struct difference {
    double error, bound;
    int64_t element;
} difference;

static difference state_compare(const states *got, const states *expected, int i)
{
    difference d = {.bound = 16 * (double)FLT_EPSILON * sqrt((double)got->width) * (i + 2)};
    double largest = 0;
    for (int64_t k = 0; k < expected->size[i]; k++)
        largest = fmax(largest, fabs(expected->at[i][k]));
    for (int64_t k = 0; k < expected->size[i]; k++) {
        const double error = fabs(got->at[i][k] - expected->at[i][k]) / fmax(largest, 1e-30);
        if (!(error <= d.error)) {
            d.error = isnan(error) ? INFINITY : error;
            d.element = k;
        }
    }
    return d;
}

static void state_name(const states *s, int i, char name[32])
{
    if (i == s->n - 1)
        snprintf(name, 32, "head");
    else
        snprintf(name, 32, i ? "layer %d" : "embedding layer", i - 1);
}

/* Adds the comparison of one device. Returns true if all states are within their bounds. */
static bool device_report(const char *device, const states *got, const states *expected, bool json,
                          str *out)
{
    int failed = -1;
    difference worst = {.bound = 1};
    str list = {0};
    for (int i = 0; i < got->n; i++) {
        const difference d = state_compare(got, expected, i);
        if (d.error / d.bound > worst.error / worst.bound)
            worst = d;
        if (!(d.error <= d.bound) && failed < 0)
            failed = i;
        str_json(&list, "{error: %.6g, bound: %.6g}", isinf(d.error) ? 1e308 : d.error, d.bound);
    }
    char name[32];
    state_name(got, failed < 0 ? 0 : failed, name);
    if (json) {
        str_json(out, "{device: %s, states: [", device);
        str_json_raw(out, list.s);
        str_json(out, "], first_failure: %s}", failed < 0 ? NULL : name);
    } else if (failed < 0) {
        str_printf(out,
                   "%-12s %d states within their bounds; worst error %.2g, %.1f %% of its bound\n",
                   device, got->n, worst.error, 100 * worst.error / worst.bound);
    } else {
        const difference d = state_compare(got, expected, failed);
        str_printf(
            out,
            "%-12s %s is wrong: element %lld is %.9g, expected %.9g; error %.2g, allowed %.2g\n",
            device, name, (long long)d.element, got->at[failed][d.element],
            expected->at[failed][d.element], d.error, d.bound);
    }
    str_free(&list);
    return failed < 0;
}

int verify_model(const command *c, const char *folder, const char *const *devices, int n, bool json)
{
    states expected = {0};
    str out = {0};
    int wrong = 0, code = -1;
    if (!model_run(&expected, folder, "cpu", IG_F64))
        code = fail_library(c);
    if (json)
        str_json(&out, "{schema: 1, model: %s, devices: [", folder);
    for (int i = 0; i < n && code < 0; i++) {
        states got = {0};
        if (model_run(&got, folder, devices[i], IG_F32))
            wrong += !device_report(devices[i], &got, &expected, json, &out);
        else
            code = fail_library(c);
        states_free(&got);
    }
    if (code < 0) {
        if (json)
            str_json(&out, "], failed: %d}\n", wrong);
        else
            str_printf(&out, "%d passed, %d failed\n", n - wrong, wrong);
        text_print(stdout, out.s ? out.s : "");
    }
    states_free(&expected);
    str_free(&out);
    return code >= 0 ? code : wrong ? EXIT_FAILED : EXIT_FINE;
}
