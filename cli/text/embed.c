/* ingot embed: the vectors of texts, and their similarities. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

typedef struct embedding {
    text_settings set;
    ig_text_model *model;
    ig_text_info info;
    bool similar;
    float *vectors; /* of all texts, for --similar and -o */
    int64_t n;
} embedding;

static bool answer(void *context, const ig_text *texts, int n, str *out)
{
    embedding *e = context;
    const int width = e->info.dimensions;
    ig_array *x = ig_text_model_run(e->model, "embed", texts, NULL, n);
    const float *rows = x ? ig_data(x) : NULL;
    if (!rows)
        return false;
    text_cut_count(&e->set, e->model, &e->info, texts, n);
    const bool kept = e->similar || e->set.format == FORMAT_ARRAYS || e->set.format == FORMAT_TABLE;
    if (kept) {
        e->vectors = heap_resize(e->vectors, (size_t)(e->n + n) * (size_t)width * sizeof *rows);
        memcpy(e->vectors + e->n * width, rows, (size_t)n * (size_t)width * sizeof *rows);
    }
    for (int i = 0; i < n && !kept; i++) {
        if (e->set.json)
            str_json(out, "{schema: 1, text: %lld, vector: [", (long long)(e->n + i));
        for (int j = 0; j < width; j++) {
            str_puts(out, j && !e->set.json ? " " : "");
            str_json_float(out, rows[(int64_t)i * width + j]);
        }
        str_puts(out, e->set.json ? "]}\n" : "\n");
    }
    e->n += n;
    return true;
}

static double cosine(const float *a, const float *b, int n)
{
    double both = 0, first = 0, second = 0;
    for (int i = 0; i < n; i++) {
        both += (double)a[i] * b[i];
        first += (double)a[i] * a[i];
        second += (double)b[i] * b[i];
    }
    return both / fmax(sqrt(first) * sqrt(second), 1e-30);
}

/* Saves the vectors, or with --similar the similarities of all pairs. */
static int vectors_save(const command *c, const embedding *e)
{
    const int width = e->info.dimensions;
    const float none = 0;
    const char *const name = e->similar ? "similar" : "vectors";
    float *table = e->similar ? heap_get((size_t)(e->n * e->n) * sizeof *table + 1) : NULL;
    for (int64_t i = 0; i < e->n * e->n && table; i++)
        table[i] =
            (float)cosine(e->vectors + i / e->n * width, e->vectors + i % e->n * width, width);
    if (ig_scope_begin() != IG_OK)
        return fail_library(c);
    ig_array *x = table ? ig_from_data(table, IG_SHAPE(e->n, e->n), IG_F32)
                        : ig_from_data(e->n ? e->vectors : &none, IG_SHAPE(e->n, width), IG_F32);
    const int code = arrays_save(c, e->set.output, &name, &x, 1);
    ig_scope_end();
    free(table);
    return code;
}

static void similarities_print(const embedding *e)
{
    const int width = e->info.dimensions;
    str out = {0};
    if (e->set.json)
        str_json(&out, "{schema: 1, similar: [");
    for (int64_t i = 0; i < e->n; i++) {
        if (e->set.json)
            str_json(&out, "[");
        for (int64_t j = 0; j < e->n; j++) {
            const double value = cosine(e->vectors + i * width, e->vectors + j * width, width);
            if (e->set.json)
                str_json_float(&out, value);
            else
                str_printf(&out, "%s%7.4f", j ? " " : "", value);
        }
        str_puts(&out, e->set.json ? "]" : "\n");
    }
    str_puts(&out, e->set.json ? "]}\n" : "");
    text_print(stdout, out.s ? out.s : "");
    str_free(&out);
}

int verb_embed(int argc, char **argv)
{
    embedding e = {0};
    const option options[] = {
        TEXT_OPTIONS(e.set),
        FLAG("--similar", &e.similar, "prints the cosine similarity of all pairs of texts"),
        OUTPUT_OPTION(e.set, "writes a file: .npy, .npz, .safetensors, .csv, .tsv, .json, .jsonl"),
        FLAG("--json", &e.set.json, "prints JSON, an object for each text, schema 1"),
        FLAG("--quiet", &e.set.quiet, "shows no progress and no notes"),
        ENGINE_OPTIONS(e.set.engine),
        {0}};
    const command c = {
        "embed", "--model DIR [options] [TEXT...]",
        "Prints the vector of each text, one in a row, by an encoder in a model folder as hubs\n"
        "publish it (config.json, model.safetensors, tokenizer.json). Pooling and normalization\n"
        "follow sentence-transformers' modules.json; without it, the mean of all tokens.\n"
        "A default prompt of the folder is put before each text.\n"
        "Without TEXT, lines of standard input are answered as they arrive.\n\n"
        "  ingot embed --model DIR --similar \"a cat\" \"a kitten\" \"a car\"\n"
        "  ingot embed --model DIR --file lines.txt -o vectors.npy",
        options};
    int code = text_model_open(&c, &argc, argv, &e.set, &e.model, &e.info);
    if (code < 0 && e.similar && e.set.output && e.set.format == FORMAT_JSON) {
        say(&c, "--similar -o FILE writes .npy, .npz, .safetensors, .csv or .tsv");
        code = EXIT_USAGE;
    }
    if (code < 0) {
        code = text_loop(&c, &e.set, argv, argc, answer, &e);
        if (code == EXIT_FINE && (e.set.format == FORMAT_ARRAYS || e.set.format == FORMAT_TABLE))
            code = vectors_save(&c, &e);
        else if (e.similar && (code == EXIT_FINE || (code == EXIT_INTERRUPTED && !e.set.output)))
            similarities_print(&e);
    }
    free(e.vectors);
    ig_text_model_free(e.model);
    return code;
}
