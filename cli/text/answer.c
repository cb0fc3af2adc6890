/* ingot answer: finds the answer to a question in a text. */
#include "common.h"
#include "../progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

/* The same windows as the question-answering pipeline of transformers. */
enum { CONTEXT_MOST = 64 << 20, WINDOW_TOKENS = 384, OVERLAP_TOKENS = 128, WINDOW_BATCH = 8 };

typedef struct answering {
    text_settings set;
    const char *file;    /* the context */
    int64_t most_tokens; /* maximum tokens of an answer */
    bool none;           /* "no answer" is allowed */
    ig_text_model *model;
    ig_text_info info;
    ig_text context;
} answering;

typedef struct span {
    double score;
    size_t start, end; /* bytes of the context */
} span;

/* A question and the whole context as tokens. A window has the same tokens, but only a part of the context. */
typedef struct question {
    const ig_encoding *all;
    int first, last; /* the range of the context's tokens */
    int room;        /* context tokens per window */
    span best;
    double none; /* probability of no answer: the minimum over all windows */
} question;

/* ---- windows ---------------------------------------------------------------------------------- */

/* Makes the encoding of a window: the tokens before the context, n context tokens from `first`, and the tokens after
 * the context. The caller releases it with free(out->ids). */
static void window_make(const question *q, int first, int n, ig_encoding *out)
{
    const ig_encoding *all = q->all;
    const int after = all->n - q->last, count = q->first + n + after;
    int32_t *words = heap_get((size_t)count * 5 * sizeof *words);
    uint8_t *bytes = heap_get((size_t)count * 3);
    const int32_t *const wide[] = {all->ids, all->types, all->starts, all->ends, all->words};
    const uint8_t *const narrow[] = {(const uint8_t *)all->sequences, all->mask, all->special};
    for (int i = 0; i < count; i++) {
        const int from = i < q->first       ? i
                         : i < q->first + n ? first + i - q->first
                                            : q->last + i - q->first - n;
        for (int k = 0; k < 5; k++)
            words[k * count + i] = wide[k][from];
        for (int k = 0; k < 3; k++)
            bytes[k * count + i] = narrow[k][from];
    }
    *out = (ig_encoding){.n = count,
                         .ids = words,
                         .types = words + count,
                         .starts = words + 2 * count,
                         .ends = words + 3 * count,
                         .words = words + 4 * count,
                         .sequences = (const int8_t *)bytes,
                         .mask = bytes + count,
                         .special = bytes + 2 * count};
}

static void window_free(ig_encoding *e)
{
    free((int32_t *)e->ids);
    free((int8_t *)e->sequences);
}

/* True if an answer may begin or end at token i. The first token, [CLS], stands for no answer. */
static bool is_allowed(const ig_encoding *e, int i)
{
    return e->sequences[i] == 1 || (i == 0 && e->special[0]);
}

/* The softmax of the start logits (column 0) or end logits (column 1) over the allowed tokens. */
static double *column_softmax(const ig_encoding *e, const float *logits, int column)
{
    double *p = heap_get((size_t)e->n * sizeof *p), most = -INFINITY, sum = 0;
    for (int i = 0; i < e->n; i++)
        if (is_allowed(e, i))
            most = fmax(most, (double)logits[2 * i + column]);
    for (int i = 0; i < e->n; i++) {
        p[i] = is_allowed(e, i) ? exp((double)logits[2 * i + column] - most) : 0;
        sum += p[i];
    }
    for (int i = 0; i < e->n; i++)
        p[i] /= sum;
    return p;
}

/* The byte range of the context's tokens i to j, extended to whole words. */
static span span_of(const ig_encoding *e, int i, int j, double score)
{
    while (e->words[i] >= 0 && e->sequences[i - 1] == 1 && e->words[i - 1] == e->words[i])
        i--;
    while (e->words[j] >= 0 && j + 1 < e->n && e->sequences[j + 1] == 1 &&
           e->words[j + 1] == e->words[j])
        j++;
    return (span){score, (size_t)e->starts[i], (size_t)e->ends[j]};
}

static void window_search(const answering *a, question *q, const ig_encoding *e,
                          const float *logits)
{
    double *start = column_softmax(e, logits, 0), *end = column_softmax(e, logits, 1);
    if (e->special[0])
        q->none = fmin(q->none, start[0] * end[0]);
    for (int i = 0; i < e->n; i++)
        for (int j = i; e->sequences[i] == 1 && j < e->n && j < i + a->most_tokens; j++)
            if (e->sequences[j] == 1 && start[i] * end[j] > q->best.score)
                q->best = span_of(e, i, j, start[i] * end[j]);
    free(start);
    free(end);
}

static bool windows_run(const answering *a, question *q, const ig_encoding *windows, int n)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    ig_array *hidden = ig_text_model_hidden(a->model, windows, n);
    ig_array *x = hidden ? ig_text_model_head(a->model, "answer", hidden, NULL, 0) : NULL;
    x = x ? ig_astype(x, IG_F32) : NULL;
    const float *logits = x && ig_text_model_check(a->model, x) == IG_OK ? ig_data(x) : NULL;
    for (int i = 0; i < n && logits; i++)
        window_search(a, q, &windows[i], logits + 2 * i * ig_dim(x, 1));
    ig_scope_end();
    return logits != NULL;
}

/* ---- questions -------------------------------------------------------------------------------- */

/* Runs all windows of a question, in batches. */
static bool question_run(const answering *a, question *q)
{
    const int overlap = OVERLAP_TOKENS < q->room / 2 ? OVERLAP_TOKENS : q->room / 2;
    bool fine = true;
    for (int first = q->first, end = first; end < q->last && fine;) {
        ig_encoding windows[WINDOW_BATCH];
        int n = 0;
        for (; n < WINDOW_BATCH && end < q->last; n++) {
            end = q->last - first < q->room ? q->last : first + q->room;
            window_make(q, first, end - first, &windows[n]);
            first += q->room - overlap;
        }
        fine = !interrupt_asked() && windows_run(a, q, windows, n);
        for (int i = 0; i < n; i++)
            window_free(&windows[i]);
    }
    return fine;
}

/* Finds the context's tokens in `all`, the encoding of the question and the context. */
static bool question_begin(const answering *a, ig_text text, ig_encoding *all, question *q)
{
    const int most = a->info.max_length < WINDOW_TOKENS ? a->info.max_length : WINDOW_TOKENS;
    *q = (question){.all = all, .none = 1};
    while (q->first < all->n && all->sequences[q->first] != 1)
        q->first++;
    for (q->last = q->first; q->last < all->n && all->sequences[q->last] == 1;)
        q->last++;
    q->room = most - (all->n - (q->last - q->first));
    if (q->room < 8)
        ig_fail(
            IG_ERR_ARGUMENT,
            "the question '%.*s%s' is too long: it leaves room for %d of the model's %d tokens to "
            "the context",
            text.bytes < 40 ? (int)text.bytes : 40, text.at, text.bytes < 40 ? "" : "...",
            q->room < 0 ? 0 : q->room, most);
    return q->room >= 8;
}

static void span_add(const answering *a, const span *best, str *out)
{
    char *found = heap_get(best->end - best->start + 1);
    memcpy(found, a->context.at + best->start, best->end - best->start);
    if (a->set.json) {
        str_json(out, "{schema: 1, answer: %s, start: %zu, end: %zu, probability:", found,
                 best->start, best->end);
        str_json_float(out, best->score);
        str_json(out, "}\n");
    } else {
        str_visible(out, found);
        str_printf(out, "\t%.4f\n", best->score);
    }
    free(found);
}

static bool answer(void *context, const ig_text *texts, int n, str *out)
{
    const answering *a = context;
    const ig_encode_options options = {.max_length = -1, .pad = -1};
    bool fine = true;
    for (int i = 0; i < n && fine; i++) {
        question q;
        ig_encoding *all = ig_tokenizer_encode(ig_text_model_tokenizer(a->model), &texts[i],
                                               &a->context, 1, &options);
        fine = all && question_begin(a, texts[i], all, &q) && question_run(a, &q);
        if (fine && a->none && q.none > q.best.score)
            q.best = (span){.score = q.none};
        if (fine)
            span_add(a, &q.best, out);
        ig_free(all);
    }
    return fine;
}

/* ---- the verb --------------------------------------------------------------------------------- */

static int context_read(const command *c, answering *a)
{
    size_t bytes = 0;
    if (!a->file) {
        say(c, "--context FILE is missing; see 'ingot answer --help'");
        return EXIT_USAGE;
    }
    a->context.at = str_read_file(a->file, CONTEXT_MOST, &bytes);
    a->context.bytes = bytes;
    if (!a->context.at) {
        say(c, "cannot read '%s': %s", a->file, strerror(errno));
        return EXIT_INPUT;
    }
    const ig_encode_options plain = {.plain = true, .max_length = -1, .pad = -1};
    ig_encoding *tokens =
        ig_tokenizer_encode(ig_text_model_tokenizer(a->model), &a->context, NULL, 1, &plain);
    const bool empty = tokens && tokens->n == 0;
    if (empty)
        say(c, "%s: it has no text", a->file);
    ig_free(tokens);
    return empty ? EXIT_INPUT : tokens ? -1 : fail_library(c);
}

int verb_answer(int argc, char **argv)
{
    answering a = {.most_tokens = 15};
    const option options[] = {
        {"--context", 'c', "FILE", option_text, &a.file, "the text that has the answer"},
        TEXT_OPTIONS(a.set),
        {"--tokens", 0, "N", option_count, &a.most_tokens, "the most tokens of an answer (15)"},
        FLAG("--none", &a.none, "answers nothing where this is more probable (SQuAD 2 models)"),
        FLAG("--json", &a.set.json, "prints JSON, an object for each question, schema 1"),
        FLAG("--quiet", &a.set.quiet, "shows no progress"),
        ENGINE_OPTIONS(a.set.engine),
        {0}};
    const command c = {
        "answer", "--model DIR --context FILE [options] [QUESTION...]",
        "Prints the part of a text that answers a question, and its probability, by a model for\n"
        "question answering. A long text is read in windows of 384 tokens that overlap by 128.\n"
        "Without QUESTION, lines of standard input are answered as they arrive.\n\n"
        "  ingot answer --model DIR --context page.txt \"Who wrote it?\"",
        options};
    int code = text_model_open(&c, &argc, argv, &a.set, &a.model, &a.info);
    if (code < 0 && strcmp(a.info.head, "answer") != 0) {
        say(&c, "%s: this model is for '%s', not for question answering", a.set.model, a.info.head);
        code = EXIT_INPUT;
    }
    if (code < 0)
        code = context_read(&c, &a);
    if (code < 0)
        code = text_loop(&c, &a.set, argv, argc, answer, &a);
    free((char *)a.context.at);
    ig_text_model_free(a.model);
    return code;
}
