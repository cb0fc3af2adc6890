/* ingot classify: the label of each text, or of each of its words. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include <ingot.h>

enum { TAG_BATCH = 16 };

typedef struct classifier {
    text_settings set;
    ig_text_model *model;
    ig_text_info info;
    bool all, pairs, entities;
    float *kept; /* probabilities or values of all texts, for -o */
    int64_t n;
} classifier;

static int largest(const double *p, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = p[i] > p[best] ? i : best;
    return best;
}

/* ---- one label for each text ------------------------------------------------------------------ */

/* Writes the label and its probability, then the probabilities of all labels in the order of the header. */
static void labels_row(const classifier *k, const double *p, str *out)
{
    const int best = largest(p, k->info.n_labels);
    char digits[IG_FLOAT_TEXT];
    field_add(out, &k->set, k->info.labels[best], false);
    for (int i = -1; i < k->info.n_labels; i++) {
        ig_float_text(p[i < 0 ? best : i], IG_F32, digits);
        field_add(out, &k->set, digits, i + 1 == k->info.n_labels);
    }
}

static void labels_header(const classifier *k, str *out)
{
    field_add(out, &k->set, "label", false);
    field_add(out, &k->set, k->info.regression ? "value" : "probability", false);
    for (int i = 0; i < k->info.n_labels; i++)
        field_add(out, &k->set, k->info.labels[i], i + 1 == k->info.n_labels);
}

static void labels_keep(classifier *k, const double *p)
{
    const size_t width = (size_t)k->info.n_labels;
    k->kept = heap_resize(k->kept, (size_t)(k->n + 1) * width * sizeof *k->kept);
    for (size_t i = 0; i < width; i++)
        k->kept[(size_t)k->n * width + i] = (float)p[i];
}

static void labels_add(classifier *k, const double *p, str *out)
{
    const int best = largest(p, k->info.n_labels);
    if (k->set.format == FORMAT_TABLE) {
        if (k->n == 0)
            labels_header(k, out);
        labels_row(k, p, out);
    }
    if (k->set.format == FORMAT_ARRAYS)
        labels_keep(k, p);
    k->n++;
    if (k->set.format == FORMAT_TABLE || k->set.format == FORMAT_ARRAYS)
        return;
    if (!k->set.json && !k->all) {
        str_visible(out, k->info.labels[best]);
        str_printf(out, "\t%.4f\n", p[best]);
        return;
    }
    if (k->set.json) {
        str_json(out, "{schema: 1, label: %s, %s:", k->info.labels[best],
                 k->info.regression ? "value" : "probability");
        str_json_float(out, p[best]);
        str_json(out, "labels: {");
    }
    for (int i = 0; i < k->info.n_labels; i++) {
        if (k->set.json) {
            str_json(out, "%s:", k->info.labels[i]);
            str_json_float(out, p[i]);
        } else {
            str_puts(out, i ? "\t" : "");
            str_visible(out, k->info.labels[i]);
            str_printf(out, " %.4f", p[i]);
        }
    }
    str_puts(out, k->set.json ? "}}\n" : "\n");
}

static bool answer_texts(void *context, const ig_text *texts, int n, str *out)
{
    classifier *k = context;
    ig_text *first = heap_get((size_t)n * 2 * sizeof *first), *second = first + n;
    memcpy(first, texts, (size_t)n * sizeof *first);
    for (int i = 0; i < n && k->pairs; i++)
        second[i] = line_split(&first[i]);
    ig_array *x = ig_text_model_run(k->model, "classify", first, k->pairs ? second : NULL, n);
    const float *rows = x ? ig_data(x) : NULL;
    double *p = heap_get((size_t)k->info.n_labels * sizeof *p);
    for (int i = 0; i < n && rows; i++) {
        const float *logits = rows + (int64_t)i * k->info.n_labels;
        if (k->info.regression)
            for (int j = 0; j < k->info.n_labels; j++)
                p[j] = (double)logits[j];
        else
            probabilities(logits, k->info.n_labels, k->info.many_labels, p);
        labels_add(k, p, out);
    }
    text_cut_count(&k->set, k->model, &k->info, texts, n);
    free(p);
    free(first);
    return rows != NULL;
}

static int labels_save(const command *c, const classifier *k)
{
    static const char *const names[] = {"probabilities", "labels"}, *const values[] = {"values"};
    const int width = k->info.n_labels;
    const float none = 0;
    if (ig_scope_begin() != IG_OK)
        return fail_library(c);
    ig_array *x[2] = {ig_from_data(k->n ? k->kept : &none, IG_SHAPE(k->n, width), IG_F32), NULL};
    x[1] = x[0] && !k->info.regression ? ig_argmax(x[0], IG_AXES(1), false) : NULL;
    const int code = arrays_save(c, k->set.output, k->info.regression ? values : names, x,
                                 k->info.regression ? 1 : 2);
    ig_scope_end();
    return code;
}

/* ---- a label for each word -------------------------------------------------------------------- */

/* A word, or an entity of several words: its byte range in the text, and a label. */
typedef struct tagged {
    int32_t start, end;
    const char *label;
    double probability;
} tagged;

/* Finds the words of a text; returns their number. */
static int words_find(const classifier *k, const ig_encoding *e, const float *rows, tagged *out)
{
    const int n_labels = k->info.n_labels;
    double *p = heap_get((size_t)n_labels * sizeof *p);
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        if (e->sequences[i] != 0)
            continue;
        if (i > 0 && e->sequences[i - 1] == 0 && e->words[i - 1] == e->words[i]) {
            out[n - 1].end = e->ends[i]; /* a word has the label of its first token, as usual */
            continue;
        }
        probabilities(rows + (int64_t)i * n_labels, n_labels, false, p);
        const int best = largest(p, n_labels);
        out[n++] = (tagged){e->starts[i], e->ends[i], k->info.labels[best], p[best]};
    }
    free(p);
    return n;
}

/* The label without "B-" or "I-". */
static const char *label_kind(const char *label)
{
    return strncmp(label, "B-", 2) == 0 || strncmp(label, "I-", 2) == 0 ? label + 2 : label;
}

/* Joins adjacent words of the same kind into entities and drops words with the label "O". "B-" begins a new entity. The
 * probability is the mean. Returns the number of entities. */
static int entities_join(tagged *words, int n)
{
    int count = 0;
    for (int i = 0, next; i < n; i = next) {
        const char *kind = label_kind(words[i].label);
        double sum = words[i].probability;
        for (next = i + 1; next < n && strncmp(words[next].label, "B-", 2) != 0 &&
                           strcmp(label_kind(words[next].label), kind) == 0;
             next++)
            sum += words[next].probability;
        if (strcmp(kind, "O") != 0)
            words[count++] =
                (tagged){words[i].start, words[next - 1].end, kind, sum / (double)(next - i)};
    }
    return count;
}

/* A row of the table: the number of the text, the word, its bytes, and the label. */
static void tagged_row(const classifier *k, const char *word, const tagged *w, str *out)
{
    char digits[IG_FLOAT_TEXT];
    str_printf(out, "%lld%c", (long long)k->n, k->set.separator);
    field_add(out, &k->set, word, false);
    str_printf(out, "%d%c%d%c", (int)w->start, k->set.separator, (int)w->end, k->set.separator);
    field_add(out, &k->set, w->label, false);
    ig_float_text(w->probability, IG_F32, digits);
    field_add(out, &k->set, digits, true);
}

static void tagged_add(const classifier *k, ig_text text, const tagged *w, str *out)
{
    char *word = heap_get((size_t)(w->end - w->start) + 1);
    memcpy(word, text.at + w->start, (size_t)(w->end - w->start));
    if (k->set.format == FORMAT_TABLE) {
        tagged_row(k, word, w, out);
    } else if (k->set.json) {
        str_json(out, "{word: %s, start: %d, end: %d, label: %s, probability:", word, (int)w->start,
                 (int)w->end, w->label);
        str_json_float(out, w->probability);
        str_json(out, "}");
    } else {
        str_visible(out, word);
        str_puts(out, "\t");
        str_visible(out, w->label);
        str_printf(out, "\t%.4f\n", w->probability);
    }
    free(word);
}

static void words_header(const classifier *k, str *out)
{
    static const char *const names[] = {"text", "word", "start", "end", "label", "probability"};
    for (int i = 0; i < 6; i++)
        field_add(out, &k->set, names[i], i == 5);
}

static void words_add(classifier *k, ig_text text, const ig_encoding *e, const float *rows,
                      str *out)
{
    tagged *words = heap_get((size_t)(e->n + 1) * sizeof *words);
    int n = words_find(k, e, rows, words);
    if (k->entities)
        n = entities_join(words, n);
    if (k->n++ == 0 && k->set.format == FORMAT_TABLE)
        words_header(k, out);
    if (k->set.json)
        str_json(out, "{schema: 1, %s: [", k->entities ? "entities" : "words");
    for (int i = 0; i < n; i++)
        tagged_add(k, text, &words[i], out);
    str_puts(out, k->set.json ? "]}\n" : k->set.output ? "" : "\n");
    free(words);
}

static bool answer_words(void *context, const ig_text *texts, int n, str *out)
{
    classifier *k = context;
    const ig_encode_options options = {.max_length = k->info.max_length, .pad = -1};
    ig_encoding *all =
        ig_tokenizer_encode(ig_text_model_tokenizer(k->model), texts, NULL, n, &options);
    bool fine = all != NULL;
    for (int first = 0; first < n && fine; first += TAG_BATCH) {
        const int count = n - first < TAG_BATCH ? n - first : TAG_BATCH;
        ig_array *hidden = ig_text_model_hidden(k->model, all + first, count);
        ig_array *x = hidden ? ig_text_model_head(k->model, "tag", hidden, NULL, 0) : NULL;
        x = x ? ig_astype(x, IG_F32) : NULL;
        const float *rows = x && ig_text_model_check(k->model, x) == IG_OK ? ig_data(x) : NULL;
        fine = rows != NULL;
        for (int i = 0; i < count && fine; i++)
            words_add(k, texts[first + i], &all[first + i], rows + i * ig_dim(x, 1) * ig_dim(x, 2),
                      out);
    }
    text_cut_count(&k->set, k->model, &k->info, texts, n);
    ig_free(all);
    return fine;
}

int verb_classify(int argc, char **argv)
{
    classifier k = {0};
    const option options[] = {
        TEXT_OPTIONS(k.set),
        FLAG("--all", &k.all, "prints the probabilities of all labels"),
        FLAG("--entities", &k.entities, "joins words with the same label (token classification)"),
        FLAG("--pairs", &k.pairs, "each text is two texts with a tab between them"),
        OUTPUT_OPTION(k.set, "writes a file: .csv, .tsv, .json, .jsonl, .npy, .npz, .safetensors"),
        FLAG("--json", &k.set.json, "prints JSON, an object for each text, schema 1"),
        FLAG("--quiet", &k.set.quiet, "shows no progress and no notes"),
        ENGINE_OPTIONS(k.set.engine),
        {0}};
    const command c = {
        "classify", "--model DIR [options] [TEXT...]",
        "Prints the label of each text and its probability, by a model for sequence\n"
        "classification; its value, if the model is for regression. With a model for token\n"
        "classification, prints the label of each word, or with --entities of each entity.\n"
        "Without TEXT, lines of standard input are answered as they arrive.\n\n"
        "  ingot classify --model DIR --file reviews.txt",
        options};
    int code = text_model_open(&c, &argc, argv, &k.set, &k.model, &k.info);
    if (code < 0 && strcmp(k.info.head, "classify") != 0 && strcmp(k.info.head, "tag") != 0) {
        say(&c,
            "%s: this model is for '%s', not for classification; train one with 'ingot train text'",
            k.set.model, k.info.head);
        code = EXIT_INPUT;
    }
    const bool words = code < 0 && strcmp(k.info.head, "tag") == 0;
    if (words && k.set.format == FORMAT_ARRAYS) {
        say(&c, "-o %s: labels of words are not an array; write .csv, .tsv, .json or .jsonl",
            k.set.output);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = text_loop(&c, &k.set, argv, argc, words ? answer_words : answer_texts, &k);
    if (code == EXIT_FINE && k.set.format == FORMAT_ARRAYS)
        code = labels_save(&c, &k);
    free(k.kept);
    ig_text_model_free(k.model);
    return code;
}
