/* ingot tokens: how a tokenizer splits texts. */
#include "common.h"

#include <stdlib.h>

#include <ingot.h>

/* The number of arrays for -o. An .npy file gets the first one. */
enum { KEPT = 5 };
static const char *const kept_names[KEPT] = {"ids", "mask", "types", "starts", "ends"};

typedef struct splitting {
    text_settings set;
    bool plain, pairs;
    int64_t max_length;
    ig_tokenizer *tokenizer;
    int32_t *kept[KEPT]; /* for -o: each list has all texts, one after another */
    int *lengths;        /* number of tokens of each text */
    int64_t n_tokens;
} splitting;

static void list_json(str *t, const char *name, const int32_t *list, int n)
{
    str_json(t, "%s: [", name);
    for (int i = 0; i < n; i++)
        str_json(t, "%d", (int)list[i]);
    str_json(t, "]");
}

static void bytes_json(str *t, const char *name, const uint8_t *list, int n)
{
    str_json(t, "%s: [", name);
    for (int i = 0; i < n; i++)
        str_json(t, "%d", (int)list[i]);
    str_json(t, "]");
}

static const char *token_text(const ig_tokenizer *t, int id)
{
    const char *text = ig_tokenizer_token(t, id);
    return text ? text : "";
}

static void encoding_json(str *t, const ig_tokenizer *tokenizer, const ig_encoding *e)
{
    str_json(t, "{schema: 1, tokens: [");
    for (int i = 0; i < e->n; i++)
        str_json(t, "%s", token_text(tokenizer, e->ids[i]));
    str_json(t, "]");
    list_json(t, "ids", e->ids, e->n);
    str_json(t, "offsets: [");
    for (int i = 0; i < e->n; i++)
        str_json(t, "[%d, %d]", (int)e->starts[i], (int)e->ends[i]);
    str_json(t, "]");
    list_json(t, "types", e->types, e->n);
    list_json(t, "words", e->words, e->n);
    bytes_json(t, "mask", e->mask, e->n);
    bytes_json(t, "special", e->special, e->n);
    str_json(t, "}\n");
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

/* Writes a row for each token: the text's number, and the token's properties. */
static void encoding_rows(const splitting *s, str *t, int64_t text, const ig_encoding *e)
{
    static const char *const names[] = {"text", "token", "id", "start", "end", "type", "special"};
    const char cut = s->set.separator;
    for (int i = 0; i < 7 && text == 0; i++)
        field_add(t, &s->set, names[i], i == 6);
    for (int i = 0; i < e->n; i++) {
        str_printf(t, "%lld%c", (long long)text + 1, cut);
        field_add(t, &s->set, token_text(s->tokenizer, e->ids[i]), false);
        str_printf(t, "%d%c%d%c%d%c%d%c%d\n", (int)e->ids[i], cut, (int)e->starts[i], cut,
                   (int)e->ends[i], cut, (int)e->types[i], cut, (int)e->special[i]);
    }
}

static void encoding_keep(splitting *s, int64_t text, const ig_encoding *e)
{
    s->lengths = heap_resize(s->lengths, (size_t)(text + 1) * sizeof *s->lengths);
    s->lengths[text] = e->n;
    for (int k = 0; k < KEPT; k++)
        s->kept[k] = heap_resize(s->kept[k], (size_t)(s->n_tokens + e->n + 1) * sizeof **s->kept);
    for (int i = 0; i < e->n; i++) {
        const int32_t row[KEPT] = {e->ids[i], e->mask[i], e->types[i], e->starts[i], e->ends[i]};
        for (int k = 0; k < KEPT; k++)
            s->kept[k][s->n_tokens + i] = row[k];
    }
    s->n_tokens += e->n;
}

/* Saves arrays of shape (texts, longest). Ids are padded with the padding token's id, the other arrays with 0. */
static int kept_save(const command *c, const splitting *s)
{
    const int64_t n = s->set.done;
    int64_t longest = 0;
    ig_array *arrays[KEPT];
    if (ig_scope_begin() != IG_OK)
        return fail_library(c);
    for (int64_t i = 0; i < n; i++)
        longest = s->lengths[i] > longest ? s->lengths[i] : longest;
    const int pad = ig_tokenizer_special(s->tokenizer, "pad");
    for (int k = 0; k < KEPT; k++) {
        int32_t *all = heap_get((size_t)(n * longest + 1) * sizeof *all);
        for (int64_t i = 0, at = 0; i < n; at += s->lengths[i++])
            for (int64_t j = 0; j < longest; j++)
                all[i * longest + j] = j < s->lengths[i]   ? s->kept[k][at + j]
                                       : k == 0 && pad > 0 ? pad
                                                           : 0;
        arrays[k] = ig_from_data(all, IG_SHAPE(n, longest), IG_I32);
        free(all);
    }
    const int code = arrays_save(c, s->set.output, kept_names, arrays, KEPT);
    ig_scope_end();
    return code;
}

static bool answer(void *context, const ig_text *texts, int n, str *out)
{
    splitting *s = context;
    const ig_encode_options options = {
        .plain = s->plain, .max_length = (int)s->max_length, .pad = -1};
    ig_text *first = heap_get((size_t)n * 2 * sizeof *first), *second = s->pairs ? first + n : NULL;
    for (int i = 0; i < n; i++) {
        first[i] = texts[i];
        if (second)
            second[i] = line_split(&first[i]);
    }
    ig_encoding *all = ig_tokenizer_encode(s->tokenizer, first, second, n, &options);
    for (int i = 0; i < n && all; i++) {
        const int64_t text = s->set.done + i;
        if (s->set.format == FORMAT_JSON)
            encoding_json(out, s->tokenizer, &all[i]);
        else if (s->set.format == FORMAT_TABLE)
            encoding_rows(s, out, text, &all[i]);
        else if (s->set.format == FORMAT_ARRAYS)
            encoding_keep(s, text, &all[i]);
        if (s->set.format != FORMAT_TEXT)
            continue;
        str_puts(out, text ? "\n" : "");
        encoding_print(out, s->tokenizer, &all[i]);
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
         "the model folder, tokenizer.json, vocab.txt or a .gguf file"},
        {"--file", 'f', "FILE", option_text, &s.set.file,
         "reads texts from a file, one in each line"},
        {"--max-length", 0, "N", option_count, &s.max_length, "the most tokens of a text"},
        FLAG("--plain", &s.plain, "adds no special tokens"),
        FLAG("--pairs", &s.pairs, "each text is two texts with a tab between them"),
        OUTPUT_OPTION(s.set, "writes a file: .npy, .npz, .safetensors, .csv, .tsv, .json, .jsonl"),
        FLAG("--json", &s.set.json, "prints JSON, an object for each text, schema 1"),
        FLAG("--quiet", &s.set.quiet, "shows no progress"),
        {"--threads", 0, "N", option_threads, &s.set.engine.threads, "threads"},
        {"--memory-limit", 0, "SIZE", option_memory, &s.set.engine.memory_limit,
         "bytes that tokens may take (512MiB, 4GiB)"},
        {0}};
    const command c = {
        "tokens", "--model DIR [options] [TEXT...]",
        "Prints how a model's tokenizer splits texts: token ids, pieces, and the bytes of the\n"
        "text that each stands for. Without TEXT, lines of standard input are answered as they\n"
        "arrive. Arrays of -o have a row for each text, with padding at its end: ids; .npz and\n"
        ".safetensors also mask, types, starts and ends.\n\n"
        "  ingot tokens --model DIR \"unaffable\"",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0 && !s.set.model) {
        say(&c, "--model DIR is missing; see 'ingot tokens --help'");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = engine_apply(&c, &s.set.engine);
    if (code < 0)
        code = text_format_choose(&c, &s.set);
    if (code >= 0)
        return code;
    s.tokenizer = ig_tokenizer_load(s.set.model);
    code = s.tokenizer ? text_loop(&c, &s.set, argv, argc, answer, &s) : fail_library(&c);
    if (code == EXIT_FINE && s.set.format == FORMAT_ARRAYS)
        code = kept_save(&c, &s);
    for (int k = 0; k < KEPT; k++)
        free(s.kept[k]);
    free(s.lengths);
    ig_tokenizer_free(s.tokenizer);
    return code;
}
