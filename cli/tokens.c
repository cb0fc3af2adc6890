/* ingot tokens: how a tokenizer splits texts. */
#include "cli.h"
#include "progress.h"
#include "text/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

enum { BATCH = 4096 };

typedef struct settings {
    const char *model, *file;
    bool json, plain, pairs;
    int64_t max_length;
    int threads;
} settings;

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

static void encoding_print(str *t, const ig_tokenizer *tokenizer, const ig_encoding *e)
{
    for (int i = 0; i < e->n; i++) {
        str piece = {0};
        str_visible(&piece, token_text(tokenizer, e->ids[i]));
        str_printf(t, "%7d  %-20s", (int)e->ids[i], piece.s ? piece.s : "");
        if (e->sequences[i] >= 0)
            str_printf(t, "  %d-%d", (int)e->starts[i], (int)e->ends[i]);
        str_trim(t);
        str_puts(t, "\n");
        str_free(&piece);
    }
}

static int run(const command *c, const settings *set, const ig_tokenizer *tokenizer, lines *input)
{
    const ig_encode_options options = {.plain = set->plain, .max_length = (int)set->max_length};
    ig_text *texts = heap_get(2 * BATCH * sizeof *texts), *seconds = texts + BATCH;
    int code = EXIT_FINE, n, done = 0;
    while (code == EXIT_FINE && !interrupt_asked() && (n = lines_next(input, texts, BATCH)) > 0) {
        for (int i = 0; i < n && set->pairs; i++)
            seconds[i] = line_split(&texts[i]);
        ig_encoding *all =
            ig_tokenizer_encode(tokenizer, texts, set->pairs ? seconds : NULL, n, &options);
        str t = {0};
        if (!all) {
            code = fail_library(c);
            break;
        }
        for (int i = 0; i < n; i++, done++) {
            if (set->json) {
                encoding_json(&t, tokenizer, &all[i]);
            } else {
                str_puts(&t, done ? "\n" : "");
                encoding_print(&t, tokenizer, &all[i]);
            }
        }
        text_print(stdout, t.s ? t.s : "");
        fflush(stdout);
        str_free(&t);
        ig_free(all);
    }
    if (code == EXIT_FINE && errno && !done && !input->words && !interrupt_asked()) {
        say(c, "cannot read the lines: %s", strerror(errno));
        code = EXIT_INPUT;
    }
    free(texts);
    return code == EXIT_FINE && interrupt_asked() ? EXIT_INTERRUPTED : code;
}

int verb_tokens(int argc, char **argv)
{
    settings set = {0};
    lines input;
    const option options[] = {
        {"--model", 'm', "DIR", option_text, &set.model,
         "the model folder, tokenizer.json or vocab.txt"},
        {"--file", 'f', "FILE", option_text, &set.file,
         "reads texts from a file, one in each line"},
        {"--max-length", 0, "N", option_count, &set.max_length, "the most tokens of a text"},
        FLAG("--plain", &set.plain, "adds no special tokens"),
        FLAG("--pairs", &set.pairs, "each text is two texts with a tab between them"),
        FLAG("--json", &set.json, "prints JSON, an object for each text, schema 1"),
        {"--threads", 0, "N", option_threads, &set.threads, "threads"},
        {0}};
    const command c = {
        "tokens", "--model DIR [options] [TEXT...]",
        "Prints how a model's tokenizer splits texts: token ids, pieces, and the bytes of the\n"
        "text that each stands for. Without TEXT, lines of standard input are answered as they\n"
        "arrive.\n\n"
        "  ingot tokens --model DIR \"unaffable\"",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0 && !set.model) {
        say(&c, "--model DIR is missing; see 'ingot tokens --help'");
        code = EXIT_USAGE;
    }
    if (code >= 0)
        return code;
    if (set.threads)
        ig_set_threads(set.threads);
    interrupt_watch();
    ig_tokenizer *tokenizer = ig_tokenizer_load(set.model);
    if (!tokenizer)
        return fail_library(&c);
    code = lines_open(&c, &input, argv, argc, set.file);
    if (code < 0)
        code = run(&c, &set, tokenizer, &input);
    lines_close(&input);
    ig_tokenizer_free(tokenizer);
    return code;
}
