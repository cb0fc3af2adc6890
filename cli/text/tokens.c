/* ingot tokens: how a tokenizer splits texts. */
#include "common.h"

#include <stdlib.h>

#include <ingot.h>

typedef struct splitting {
    text_settings set;
    bool plain, pairs;
    int64_t max_length;
    int threads;
    ig_tokenizer *tokenizer;
    int64_t done;
} splitting;

static void list_json(str *t, const char *name, const int32_t *list, int n)
{
    str_printf(t, ", \"%s\": [", name);
    for (int i = 0; i < n; i++)
        str_printf(t, i ? ", %d" : "%d", (int)list[i]);
    str_puts(t, "]");
}

static void bytes_json(str *t, const char *name, const uint8_t *list, int n)
{
    str_printf(t, ", \"%s\": [", name);
    for (int i = 0; i < n; i++)
        str_printf(t, i ? ", %d" : "%d", (int)list[i]);
    str_puts(t, "]");
}

static const char *token_text(const ig_tokenizer *t, int id)
{
    const char *text = ig_tokenizer_token(t, id);
    return text ? text : "";
}

static void encoding_json(str *t, const ig_tokenizer *tokenizer, const ig_encoding *e)
{
    str_puts(t, "{\"schema\": 1, \"tokens\": [");
    for (int i = 0; i < e->n; i++) {
        str_puts(t, i ? ", " : "");
        json_string(t, token_text(tokenizer, e->ids[i]));
    }
    str_puts(t, "]");
    list_json(t, "ids", e->ids, e->n);
    str_puts(t, ", \"offsets\": [");
    for (int i = 0; i < e->n; i++)
        str_printf(t, "%s[%d, %d]", i ? ", " : "", (int)e->starts[i], (int)e->ends[i]);
    str_puts(t, "]");
    list_json(t, "types", e->types, e->n);
    list_json(t, "words", e->words, e->n);
    bytes_json(t, "mask", e->mask, e->n);
    bytes_json(t, "special", e->special, e->n);
    str_puts(t, "}\n");
}

/* Tokens in lines. Padding, which is the same token again and again, is one line. */
static void encoding_print(str *t, const ig_tokenizer *tokenizer, const ig_encoding *e)
{
    for (int i = 0, same; i < e->n; i += same) {
        str piece = {0};
        str_visible(&piece, token_text(tokenizer, e->ids[i]));
        str_printf(t, "%7d  %-20s", (int)e->ids[i], piece.s ? piece.s : "");
        for (same = 1; !e->mask[i] && i + same < e->n && !e->mask[i + same];)
            same++;
        if (e->sequences[i] >= 0)
            str_printf(t, "  %d-%d", (int)e->starts[i], (int)e->ends[i]);
        else if (!e->mask[i])
            str_printf(t, "  padding, %d token%s", same, same > 1 ? "s" : "");
        str_trim(t);
        str_puts(t, "\n");
        str_free(&piece);
    }
}

static bool answer(void *context, const ig_text *texts, int n, str *out)
{
    splitting *s = context;
    const ig_encode_options options = {.plain = s->plain, .max_length = (int)s->max_length};
    ig_text *first = heap_get((size_t)n * 2 * sizeof *first), *second = s->pairs ? first + n : NULL;
    for (int i = 0; i < n; i++) {
        first[i] = texts[i];
        if (second)
            second[i] = line_split(&first[i]);
    }
    ig_encoding *all = ig_tokenizer_encode(s->tokenizer, first, second, n, &options);
    for (int i = 0; i < n && all; i++, s->done++) {
        if (s->set.json) {
            encoding_json(out, s->tokenizer, &all[i]);
        } else {
            str_puts(out, s->done ? "\n" : "");
            encoding_print(out, s->tokenizer, &all[i]);
        }
    }
    const bool fine = all != NULL;
    ig_free(all);
    free(first);
    return fine;
}

int verb_tokens(int argc, char **argv)
{
    splitting s = {0};
    const option options[] = {
        {"--model", 'm', "DIR", option_text, &s.set.model,
         "the model folder, tokenizer.json or vocab.txt"},
        {"--file", 'f', "FILE", option_text, &s.set.file,
         "reads texts from a file, one in each line"},
        {"--max-length", 0, "N", option_count, &s.max_length, "the most tokens of a text"},
        FLAG("--plain", &s.plain, "adds no special tokens"),
        FLAG("--pairs", &s.pairs, "each text is two texts with a tab between them"),
        FLAG("--json", &s.set.json, "prints JSON, an object for each text, schema 1"),
        FLAG("--quiet", &s.set.quiet, "shows no progress"),
        {"--threads", 0, "N", option_threads, &s.threads, "threads"},
        {0}};
    const command c = {
        "tokens", "--model DIR [options] [TEXT...]",
        "Prints how a model's tokenizer splits texts: token ids, pieces, and the bytes of the\n"
        "text that each stands for. Without TEXT, lines of standard input are answered as they\n"
        "arrive.\n\n"
        "  ingot tokens --model DIR \"unaffable\"",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0 && !s.set.model) {
        say(&c, "--model DIR is missing; see 'ingot tokens --help'");
        code = EXIT_USAGE;
    }
    if (code >= 0)
        return code;
    if (s.threads)
        ig_set_threads(s.threads);
    s.tokenizer = ig_tokenizer_load(s.set.model);
    code = s.tokenizer ? text_loop(&c, &s.set, argv, argc, answer, &s) : fail_library(&c);
    ig_tokenizer_free(s.tokenizer);
    return code;
}
