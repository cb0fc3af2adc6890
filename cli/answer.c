/* ingot answer: where a text answers a question. */
#include "text/common.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

enum { CONTEXT_MOST = 64 << 20, ANSWER_TOKENS = 30, OVERLAP_TOKENS = 128 };

typedef struct answering {
    text_settings set;
    const char *file; /* the context */
    ig_text_model *model;
    ig_text_info info;
    ig_text context;
    ig_encoding *tokens; /* of the context */
} answering;

typedef struct span {
    double score;
    size_t start, end; /* bytes of the context */
} span;

/* The best answer in one window, which begins at byte `first` of the context. */
static void window_search(const ig_encoding *e, const float *logits, size_t first, span *best)
{
    double start_sum = 0, end_sum = 0, most[2] = {-INFINITY, -INFINITY};
    for (int i = 0; i < e->n; i++)
        for (int k = 0; k < 2 && e->sequences[i] == 1; k++)
            most[k] = logits[2 * i + k] > most[k] ? logits[2 * i + k] : most[k];
    for (int i = 0; i < e->n; i++) {
        start_sum += e->sequences[i] == 1 ? exp(logits[2 * i] - most[0]) : 0;
        end_sum += e->sequences[i] == 1 ? exp(logits[2 * i + 1] - most[1]) : 0;
    }
    for (int i = 0; i < e->n; i++) {
        if (e->sequences[i] != 1)
            continue;
        for (int j = i; j < e->n && j < i + ANSWER_TOKENS && e->sequences[j] == 1; j++) {
            const double score = exp(logits[2 * i] - most[0]) / start_sum *
                                 exp(logits[2 * j + 1] - most[1]) / end_sum;
            if (score > best->score)
                *best = (span){score, first + (size_t)e->starts[i], first + (size_t)e->ends[j]};
        }
    }
}

/* The last token of the window that begins at `first`: windows end before a word begins. */
static int window_end(const ig_encoding *all, int first, int room)
{
    int end = first + room < all->n ? first + room : all->n;
    if (end == all->n)
        return end;
    int cut = end;
    while (cut > first + room / 2 && all->words[cut] == all->words[cut - 1])
        cut--;
    return all->words[cut] != all->words[cut - 1] ? cut : end;
}

static bool window_run(const answering *a, ig_text question, int first, int last, span *best)
{
    const ig_encoding *all = a->tokens;
    const size_t begin = (size_t)all->starts[first], end = (size_t)all->ends[last - 1];
    const ig_text part = {a->context.at + begin, end - begin};
    const ig_encode_options options = {.max_length = a->info.max_length, .pad = -1};
    ig_encoding *e =
        ig_tokenizer_encode(ig_text_model_tokenizer(a->model), &question, &part, 1, &options);
    bool fine = e && ig_scope_begin() == IG_OK;
    if (fine) {
        ig_array *hidden = ig_text_model_hidden(a->model, e, 1);
        ig_array *x = hidden ? ig_text_model_head(a->model, "answer", hidden, NULL, 0) : NULL;
        x = x ? ig_astype(x, IG_F32) : NULL;
        const float *logits = x ? ig_data(x) : NULL;
        fine = logits != NULL;
        if (fine)
            window_search(e, logits, begin, best);
        ig_scope_end();
    }
    ig_free(e);
    return fine;
}

static bool question_run(const answering *a, ig_text question, span *best)
{
    const ig_encode_options plain = {.plain = true, .max_length = -1, .pad = -1};
    ig_encoding *q =
        ig_tokenizer_encode(ig_text_model_tokenizer(a->model), &question, NULL, 1, &plain);
    if (!q)
        return false;
    const int special = 4, room = a->info.max_length - special - q->n;
    ig_free(q);
    if (room < 8) {
        ig_fail(IG_ERR_ARGUMENT,
                "the question is too long: it leaves room for %d tokens of the context",
                room < 0 ? 0 : room);
        return false;
    }
    const int overlap = OVERLAP_TOKENS < room / 2 ? OVERLAP_TOKENS : room / 2;
    bool fine = true;
    for (int first = 0; first < a->tokens->n && fine;) {
        const int last = window_end(a->tokens, first, room);
        fine = window_run(a, question, first, last, best);
        if (last == a->tokens->n)
            break;
        int next = last - overlap;
        while (next > first + 1 && a->tokens->words[next] == a->tokens->words[next - 1])
            next--;
        first = next > first ? next : last;
    }
    return fine;
}

static bool answer(void *context, const ig_text *texts, int n, str *out)
{
    const answering *a = context;
    for (int i = 0; i < n; i++) {
        span best = {0};
        if (!question_run(a, texts[i], &best))
            return false;
        char *found = heap_get(best.end - best.start + 1);
        memcpy(found, a->context.at + best.start, best.end - best.start);
        if (a->set.json) {
            str_puts(out, "{\"schema\": 1, \"answer\": ");
            json_string(out, found);
            str_printf(out, ", \"start\": %zu, \"end\": %zu, \"probability\": ", best.start,
                       best.end);
            json_float(out, best.score);
            str_puts(out, "}\n");
        } else {
            str_visible(out, found);
            str_printf(out, "\t%.4f\n", best.score);
        }
        free(found);
    }
    return true;
}

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
    a->tokens =
        ig_tokenizer_encode(ig_text_model_tokenizer(a->model), &a->context, NULL, 1, &plain);
    if (a->tokens && a->tokens->n == 0) {
        say(c, "%s: it has no text", a->file);
        return EXIT_INPUT;
    }
    return a->tokens ? -1 : fail_library(c);
}

int verb_answer(int argc, char **argv)
{
    answering a = {0};
    const option options[] = {
        {"--context", 'c', "FILE", option_text, &a.file, "the text that has the answer"},
        TEXT_OPTIONS(a.set),
        FLAG("--json", &a.set.json, "prints JSON, an object for each question, schema 1"),
        FLAG("--quiet", &a.set.quiet, "shows no progress"),
        ENGINE_OPTIONS(a.set.engine),
        {0}};
    const command c = {
        "answer", "--model DIR --context FILE [options] [QUESTION...]",
        "Prints the part of a text that answers a question, and its probability, by a model for\n"
        "question answering. A long text is read in windows that overlap. Without QUESTION, lines\n"
        "of standard input are answered as they arrive.\n\n"
        "  ingot answer --model DIR --context page.txt \"Who wrote it?\"",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = text_model_open(&c, &a.set, &a.model, &a.info);
    if (code < 0 && strcmp(a.info.head, "answer") != 0) {
        say(&c, "%s: this model is for '%s', not for question answering", a.set.model, a.info.head);
        code = EXIT_INPUT;
    }
    if (code < 0)
        code = context_read(&c, &a);
    if (code < 0)
        code = text_loop(&c, &a.set, argv, argc, answer, &a);
    ig_free(a.tokens);
    free((char *)a.context.at);
    ig_text_model_free(a.model);
    return code;
}
