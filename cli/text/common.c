/* Verbs of text models: see common.h. */
#include "common.h"
#include "../progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256 };

int text_model_open(const command *c, int *argc, char **argv, text_settings *s, ig_text_model **m,
                    ig_text_info *info)
{
    ig_dtype dtype = IG_F32;
    int code = options_read(c, argc, argv);
    *m = NULL;
    if (code < 0)
        code = engine_apply(c, &s->engine);
    if (code < 0)
        code = text_format_choose(c, s);
    if (code >= 0)
        return code;
    if (!s->model) {
        say(c, "--model DIR is missing; see 'ingot %s --help'", c->name);
        return EXIT_USAGE;
    }
    if (s->dtype)
        dtype = ig_dtype_parse(s->dtype);
    if (dtype != IG_F32 && dtype != IG_F16 && dtype != IG_BF16) {
        say(c, "--dtype is f32, f16 or bf16, not '%s'", s->dtype);
        return EXIT_USAGE;
    }
    *m = ig_text_model_load(s->model, dtype);
    if (!*m || ig_text_model_info(*m, info) != IG_OK)
        return fail_library(c);
    return -1;
}

void text_cut_count(text_settings *s, const ig_text_model *m, const ig_text_info *info,
                    const ig_text *texts, int n)
{
    const ig_encode_options options = {.max_length = -1, .pad = -1};
    s->most_tokens = info->max_length;
    for (int i = 0; i < n && !ig_failed(); i++) {
        if (texts[i].bytes + 2 <= (size_t)info->max_length)
            continue; /* a token has at least one byte */
        ig_encoding *e =
            ig_tokenizer_encode(ig_text_model_tokenizer(m), &texts[i], NULL, 1, &options);
        s->cut += e && e->n > info->max_length;
        ig_free(e);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

int text_format_choose(const command *c, text_settings *s)
{
    static const struct {
        const char *suffix;
        text_format format;
        char separator;
    } rows[] = {{".npy", FORMAT_ARRAYS, 0},         {".npz", FORMAT_ARRAYS, 0},
                {".safetensors", FORMAT_ARRAYS, 0}, {".csv", FORMAT_TABLE, ','},
                {".tsv", FORMAT_TABLE, '\t'},       {".json", FORMAT_JSON, 0},
                {".jsonl", FORMAT_JSON, 0}};
    s->format = s->json ? FORMAT_JSON : FORMAT_TEXT;
    if (!s->output)
        return -1;
    if (s->json) {
        say(c, "--json prints to standard output; give -o FILE.json alone");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_ends(s->output, rows[i].suffix)) {
            s->format = rows[i].format;
            s->separator = rows[i].separator;
            s->json = s->format == FORMAT_JSON;
            return write_check(c, "-o", s->output);
        }
    say(c, "-o FILE ends with .npy, .npz, .safetensors, .csv, .tsv, .json or .jsonl, not '%.100s'",
        s->output);
    return EXIT_USAGE;
}

void field_add(str *t, const text_settings *s, const char *text, bool last)
{
    const bool quoted = s->separator == ',' && strpbrk(text, ",\"\r\n");
    str_puts(t, quoted ? "\"" : "");
    for (; *text; text++) {
        const bool cuts = !quoted && (*text == '\t' || *text == '\n' || *text == '\r');
        str_add(t, cuts ? " " : text, 1); /* TSV has no quoting */
        if (quoted && *text == '"')
            str_puts(t, "\"");
    }
    str_puts(t, quoted ? "\"" : "");
    str_add(t, last ? "\n" : &s->separator, 1);
}

/* Writes the objects or rows of all texts. A .json file gets a list of the objects. */
static int written_save(const command *c, text_settings *s)
{
    str whole = {0}, why = {0};
    const bool list = s->json && str_ends(s->output, ".json");
    str_puts(&whole, list ? "[" : "");
    for (size_t i = 0; i < s->written.n; i++) {
        const bool between = list && s->written.s[i] == '\n';
        str_puts(&whole, between && i + 1 < s->written.n ? "," : "");
        if (!between || i + 1 < s->written.n)
            str_add(&whole, s->written.s + i, 1);
    }
    str_puts(&whole, list ? "]\n" : "");
    const bool fine = write_file(s->output, &whole, &why);
    if (!fine)
        say(c, "%s", why.s);
    str_free(&whole);
    str_free(&why);
    return fine ? EXIT_FINE : EXIT_INPUT;
}

/* ---- the loop -------------------------------------------------------------------------------- */

void text_list_add(text_list *l, int64_t number)
{
    if (l->n < NAMED_TEXTS)
        l->first[l->n] = number;
    l->n++;
}

void text_list_say(str *t, const text_list *l, bool are_lines)
{
    const int64_t shown = l->n < NAMED_TEXTS ? l->n : NAMED_TEXTS;
    str_printf(t, "%s%s ", are_lines ? "line" : "text", l->n == 1 ? "" : "s");
    for (int64_t i = 0; i < shown; i++)
        str_printf(t, "%s%lld",
                   i == 0         ? ""
                   : i + 1 < l->n ? ", "
                                  : " and ",
                   (long long)l->first[i]);
    if (l->n > shown)
        str_printf(t, " and %lld more", (long long)(l->n - shown));
}

static void empty_find(text_settings *s, const ig_text *texts, int n)
{
    for (int i = 0; i < n; i++) {
        size_t blanks = 0;
        while (blanks < texts[i].bytes && strchr(" \t\r", texts[i].at[blanks]) &&
               texts[i].at[blanks])
            blanks++;
        if (blanks == texts[i].bytes)
            text_list_add(&s->empty, s->done + i + 1);
    }
}

/* Prints notes about the texts, after all were processed. */
static void notes_say(const command *c, const text_settings *s, bool are_lines)
{
    if (s->empty.n && !s->quiet) {
        str t = {0};
        text_list_say(&t, &s->empty, are_lines);
        say(c, "%s %s empty, and %s answered like any other", t.s, s->empty.n == 1 ? "is" : "are",
            s->empty.n == 1 ? "was" : "were");
        str_free(&t);
    }
    if (s->cut && !s->quiet)
        say(c, "%lld of %lld texts have more than %d tokens; only their beginning was read",
            (long long)s->cut, (long long)s->done, s->most_tokens);
}

static void batch_print(text_settings *s, const str *out)
{
    if (s->output) {
        str_add(&s->written, out->s ? out->s : "", out->n);
        return;
    }
    text_print(stdout, out->s ? out->s : "");
    fflush(stdout);
}

int text_loop(const command *c, text_settings *s, char **words, int n_words, text_answer answer,
              void *context)
{
    lines input;
    progress bar;
    ig_text *texts = heap_get(BATCH * sizeof *texts);
    int code = lines_open(c, &input, words, n_words, s->file), n = 0;
    const double begin_s = clock_s();
    interrupt_cancel();
    progress_begin(&bar, s->quiet || !s->file);
    while (code < 0 && !interrupt_asked() && (n = lines_next(&input, texts, BATCH)) > 0) {
        str out = {0};
        empty_find(s, texts, n);
        const bool fine = ig_scope_begin() == IG_OK && answer(context, texts, n, &out);
        ig_scope_end();
        s->done += n;
        progress_clear();
        batch_print(s, &out); /* after a failure: the answers before it */
        if (!fine) {
            code = fail_library(c);
        } else {
            char note[48];
            snprintf(note, sizeof note, "%.0f lines/s",
                     (double)s->done / (clock_s() - begin_s + 1e-9));
            progress_show(&bar, "texts", lines_share(&input), note);
        }
        str_free(&out);
    }
    progress_clear();
    if (code < 0 && n == 0 && errno && !interrupt_asked()) {
        if (errno == EFBIG)
            say(c, "line %lld is longer than the memory limit (--memory-limit)",
                (long long)s->done + 1);
        else
            say(c, "cannot read the lines: %s", strerror(errno));
        code = EXIT_INPUT;
    }
    notes_say(c, s, !n_words);
    code = code >= 0 ? code : interrupt_asked() ? EXIT_INTERRUPTED : EXIT_FINE;
    if (code == EXIT_FINE && s->output && s->format != FORMAT_ARRAYS)
        code = written_save(c, s);
    if (code == EXIT_INTERRUPTED && s->output)
        say(c, "interrupted; '%s' was not written", s->output);
    str_free(&s->written);
    lines_close(&input);
    free(texts);
    return code;
}

void probabilities(const float *logits, int n, bool independent, double *out)
{
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++)
        most = logits[i] > most ? logits[i] : most;
    for (int i = 0; i < n; i++) {
        out[i] = independent ? 1 / (1 + exp(-(double)logits[i])) : exp((double)logits[i] - most);
        sum += out[i];
    }
    for (int i = 0; i < n && !independent; i++)
        out[i] /= sum;
}
