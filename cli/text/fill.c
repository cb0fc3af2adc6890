/* ingot fill: predicts the words for a gap in a text. */
#include "common.h"
#include "../progress.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include <ingot.h>

typedef struct filler {
    text_settings set;
    ig_text_model *model;
    ig_text_info info;
    int64_t top;
    const char *mask;  /* the model's text for the gap */
    bool bytes;        /* tokens are byte-level: each byte is written as a letter */
    text_list without; /* texts without a gap */
} filler;

/* Replaces [MASK] and <mask>, which are accepted for any model, with the model's mask. */
static char *mask_replace(const filler *f, ig_text line, size_t *bytes)
{
    static const char *const names[] = {"[MASK]", "<mask>"};
    str t = {0};
    for (size_t i = 0; i < line.bytes;) {
        size_t n = 0;
        for (int j = 0; j < 2 && !n; j++)
            if (line.bytes - i >= 6 && memcmp(line.at + i, names[j], 6) == 0)
                n = 6;
        if (n)
            str_puts(&t, f->mask);
        else
            str_add(&t, line.at + i, 1);
        i += n ? n : 1;
    }
    *bytes = t.n;
    return t.s ? t.s : heap_string("");
}

static const char blank_byte[] = "\xc4\xa0", blank_mark[] = "\xe2\x96\x81"; /* marks of a blank */

/* True if the tokenizer is byte-level. The blank before a word is then byte 32, written as a letter. */
static bool tokens_are_bytes(const ig_tokenizer *tokenizer)
{
    const ig_text words = {"a a", 3};
    const ig_encode_options plain = {.plain = true, .max_length = -1, .pad = -1};
    ig_encoding *e = ig_tokenizer_encode(tokenizer, &words, NULL, 1, &plain);
    bool found = false;
    for (int i = 0; e && i < e->n; i++) {
        const char *token = ig_tokenizer_token(tokenizer, e->ids[i]);
        found |= token && strncmp(token, blank_byte, 2) == 0;
    }
    if (!e)
        ig_error(NULL); /* the texts will fail with the same error */
    ig_free(e);
    return found;
}

/* The byte that a letter of a byte-level token stands for; -1: none. Printable bytes stand for themselves. The n-th
 * other byte is written as 256 + n. */
static int byte_of(int letter)
{
    int other = 256;
    for (int byte = 0; byte < 256; byte++) {
        const bool printed =
            (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
        if ((printed ? byte : other) == letter)
            return byte;
        other += !printed;
    }
    return -1;
}

/* Adds the text of a byte-level token. Added tokens and parts of a character are added unchanged. */
static void bytes_add(str *t, const char *token)
{
    str word = {0};
    bool fine = true;
    for (const unsigned char *c = (const unsigned char *)token; *c && fine;) {
        const bool two = (c[0] & 0xe0) == 0xc0 && (c[1] & 0xc0) == 0x80;
        const int byte = *c < 0x80 ? *c : two ? byte_of((c[0] & 0x1f) << 6 | (c[1] & 0x3f)) : -1;
        const char one = (char)byte;
        fine = byte > 0;
        str_add(&word, &one, 1);
        c += two ? 2 : 1;
    }
    str_puts(t, fine && word.s && json_is_utf8(word.s) ? word.s : token);
    str_free(&word);
}

/* Adds a token as a word, without the mark for the blank before it. */
static void word_add(const filler *f, str *t, const char *token)
{
    if (strncmp(token, blank_mark, 3) == 0)
        str_puts(t, token + 3);
    else if (f->bytes)
        bytes_add(t, strncmp(token, blank_byte, 2) == 0 ? token + 2 : token);
    else
        str_puts(t, token);
}

static void gap_add(const filler *f, const float *logits, int vocabulary, int gap, str *out)
{
    const ig_tokenizer *tokenizer = ig_text_model_tokenizer(f->model);
    double *p = heap_get((size_t)vocabulary * sizeof *p);
    probabilities(logits, vocabulary, false, p);
    if (f->set.json)
        str_json(out, "[");
    else
        str_puts(out, gap ? "\n" : "");
    for (int64_t k = 0; k < f->top && k < vocabulary; k++) {
        int best = 0;
        str word = {0};
        for (int i = 1; i < vocabulary; i++)
            best = p[i] > p[best] ? i : best;
        const char *token = ig_tokenizer_token(tokenizer, best);
        word_add(f, &word, token ? token : "");
        if (f->set.json) {
            str_json(out, "{word: %s, id: %d, probability:", word.s ? word.s : "", best);
            str_json_float(out, p[best]);
            str_json(out, "}");
        } else {
            str_printf(out, "%.4f\t", p[best]);
            str_visible(out, word.s ? word.s : "");
            str_puts(out, "\n");
        }
        p[best] = -1;
        str_free(&word);
    }
    str_puts(out, f->set.json ? "]" : "");
    free(p);
}

/* Fills the gaps of one text. Only their positions' logits are computed. */
static bool text_fill(filler *f, const ig_encoding *e, int number, str *out)
{
    int64_t *gaps = heap_get((size_t)(e->n + 1) * sizeof *gaps);
    int n = 0;
    for (int i = 0; i < e->n; i++)
        if (e->ids[i] == f->info.mask_id)
            gaps[n++] = i;
    if (f->set.json)
        str_json(out, "{schema: 1, gaps: [");
    else
        str_puts(out, number ? "\n" : "");
    bool fine = true;
    if (n) {
        ig_array *hidden = ig_text_model_hidden(f->model, e, 1);
        ig_array *rows =
            hidden ? ig_reshape(hidden, IG_SHAPE(ig_dim(hidden, 1), ig_dim(hidden, 2))) : NULL;
        rows = rows ? ig_take(rows, ig_from_data(gaps, IG_SHAPE(n), IG_I64), IG_AXES(0)) : NULL;
        ig_array *x = rows ? ig_text_model_head(f->model, "fill", rows, NULL, 0) : NULL;
        x = x ? ig_astype(x, IG_F32) : NULL;
        const float *logits = x && ig_text_model_check(f->model, x) == IG_OK ? ig_data(x) : NULL;
        fine = logits != NULL;
        for (int i = 0; i < n && fine; i++)
            gap_add(f, logits + i * ig_dim(x, 1), (int)ig_dim(x, 1), i, out);
    } else {
        text_list_add(&f->without, f->set.done + number + 1);
        str_puts(out, f->set.json ? "" : "(no [MASK] in this text)\n");
    }
    str_puts(out, f->set.json ? "]}\n" : "");
    free(gaps);
    return fine;
}

static bool answer(void *context, const ig_text *texts, int n, str *out)
{
    filler *f = context;
    const ig_encode_options options = {.max_length = f->info.max_length, .pad = -1};
    bool fine = true;
    for (int i = 0; i < n && fine && !interrupt_asked(); i++) {
        size_t bytes = 0;
        char *copy = mask_replace(f, texts[i], &bytes);
        const ig_text line = {copy, bytes};
        ig_encoding *e =
            ig_tokenizer_encode(ig_text_model_tokenizer(f->model), &line, NULL, 1, &options);
        const size_t before = out->n;
        fine = e && ig_scope_begin() == IG_OK;
        if (fine) {
            fine = text_fill(f, e, i, out);
            ig_scope_end();
        }
        if (!fine && out->s) { /* print no partial answer */
            out->n = before;
            out->s[before] = 0;
        }
        if (fine)
            text_cut_count(&f->set, f->model, &f->info, &line, 1);
        ig_free(e);
        free(copy);
    }
    return fine;
}

int verb_fill(int argc, char **argv)
{
    filler f = {.top = 5};
    const option options[] = {
        TEXT_OPTIONS(f.set),
        {"--top", 0, "N", option_count, &f.top, "words for each gap (5)"},
        FLAG("--json", &f.set.json, "prints JSON, an object for each text, schema 1"),
        FLAG("--quiet", &f.set.quiet, "shows no progress and no notes"),
        ENGINE_OPTIONS(f.set.engine),
        {0}};
    const command c = {
        "fill", "--model DIR [options] [TEXT...]",
        "Prints the most probable words for each [MASK] in a text, by a masked language model.\n"
        "A text without [MASK] is a mistake; the others are answered.\n"
        "Without TEXT, lines of standard input are answered as they arrive.\n\n"
        "  ingot fill --model DIR \"Paris is the [MASK] of France.\"",
        options};
    int code = text_model_open(&c, &argc, argv, &f.set, &f.model, &f.info);
    if (code < 0 && (strcmp(f.info.head, "fill") != 0 || f.info.mask_id < 0)) {
        say(&c, "%s: this model is for '%s', not a masked language model", f.set.model,
            f.info.head);
        code = EXIT_INPUT;
    }
    if (code < 0) {
        f.mask = ig_tokenizer_token(ig_text_model_tokenizer(f.model), f.info.mask_id);
        f.bytes = tokens_are_bytes(ig_text_model_tokenizer(f.model));
        code = text_loop(&c, &f.set, argv, argc, answer, &f);
    }
    if (f.without.n && code == EXIT_FINE) {
        str t = {0};
        text_list_say(&t, &f.without, !argc);
        say(&c, "%s %s no [MASK]: write [MASK] where a word is missing", t.s,
            f.without.n == 1 ? "has" : "have");
        str_free(&t);
        code = EXIT_INPUT;
    }
    ig_text_model_free(f.model);
    return code;
}
