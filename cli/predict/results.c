/* Results of ingot predict: a line for each sample, or arrays in a file. */
#include "predict.h"

#include <stdlib.h>
#include <string.h>

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

/* The label of class i; row: of the sample in the last run. */
static void label_add(const network *n, int64_t row, int64_t i, str *t)
{
    if (n->names)
        str_visible(t, n->names[i]);
    else if (n->said && row >= 0)
        str_visible(t, ig_onnx_value_text(n->said, row, NULL));
    else
        str_printf(t, "%lld", (long long)i);
}

static void class_json(const results *r, int64_t at, const float *row, int64_t best, str *t)
{
    str name = {0};
    label_add(r->network, at, best, &name);
    str_json(t, "{schema: 1, label: %s, probability:", name.s);
    str_json_float(t, (double)row[best]);
    str_json(t, "labels: {");
    for (int64_t i = 0; i < r->outputs; i++) {
        name.n = 0;
        label_add(r->network, -1, i, &name);
        str_json(t, "%s:", name.s);
        str_json_float(t, (double)row[i]);
    }
    str_json(t, "}}\n");
    str_free(&name);
}

static void class_line(const results *r, int64_t at, const float *row, str *t)
{
    const int64_t classes = r->outputs, top = r->set->top < classes ? r->set->top : classes;
    int64_t *best = heap_get(sizeof *best * (size_t)top);
    rank(row, classes, top, best);
    if (r->set->json)
        class_json(r, at, row, best[0], t);
    for (int64_t k = 0; k < top && !r->set->json; k++) {
        label_add(r->network, k ? -1 : at, best[k], t);
        str_printf(t, "\t%.4f%s", (double)row[best[k]], k + 1 < top ? "\t" : "\n");
    }
    free(best);
}

static void value_line(const results *r, const float *row, str *t)
{
    char digits[IG_FLOAT_TEXT];
    if (r->set->json)
        str_json(t, "{schema: 1, values: [");
    for (int64_t i = 0; i < r->outputs; i++) {
        if (r->set->json) {
            str_json_float(t, (double)row[i]);
        } else {
            ig_float_text((double)row[i], IG_F32, digits);
            str_printf(t, "%s%s", i ? "\t" : "", digits);
        }
    }
    str_puts(t, r->set->json ? "]}\n" : "\n");
}

void results_add(results *r, const float *rows, int64_t n)
{
    str t = {0};
    if (r->set->output) {
        const size_t bytes = sizeof *r->kept * (size_t)r->outputs;
        r->kept = heap_resize(r->kept, (size_t)(r->n + n) * bytes);
        memcpy(r->kept + r->n * r->outputs, rows, (size_t)n * bytes);
    }
    for (int64_t i = 0; i < n && !r->set->output; i++) {
        if (r->network->values)
            value_line(r, rows + i * r->outputs, &t);
        else
            class_line(r, i, rows + i * r->outputs, &t);
    }
    r->n += n;
    text_print(stdout, t.n ? t.s : "");
    str_free(&t);
}

int results_save(const command *c, const results *r)
{
    static const char *const classes[] = {"probabilities", "labels"}, *const values[] = {"values"};
    const bool numbers = r->network->values;
    const float none = 0;
    if (ig_scope_begin() != IG_OK)
        return fail_library(c);
    ig_array *x[2] = {ig_from_data(r->n ? r->kept : &none, IG_SHAPE(r->n, r->outputs), IG_F32),
                      NULL};
    x[1] = numbers ? NULL : ig_argmax(x[0], IG_AXES(1), false);
    const int code = arrays_save(c, r->set->output, numbers ? values : classes, x, numbers ? 1 : 2);
    ig_scope_end();
    return code;
}
