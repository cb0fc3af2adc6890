/* Verbs of text models: see common.h. */
#include "common.h"
#include "../progress.h"

#include "lib/io/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256 };

int text_model_open(const command *c, const text_settings *s, ig_text_model **m, ig_text_info *info)
{
    ig_dtype dtype = IG_F32;
    int code = engine_apply(c, &s->engine);
    *m = NULL;
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

int text_loop(const command *c, const text_settings *s, char **words, int n_words,
              text_answer answer, void *context)
{
    lines input;
    progress bar;
    ig_text *texts = heap_get(BATCH * sizeof *texts);
    int code = lines_open(c, &input, words, n_words, s->file), n = 0;
    int64_t done = 0;
    const double begin_s = clock_s();
    interrupt_cancel();
    progress_begin(&bar, s->quiet || !s->file);
    while (code < 0 && !interrupt_asked() && (n = lines_next(&input, texts, BATCH)) > 0) {
        str out = {0};
        const bool fine = ig_scope_begin() == IG_OK && answer(context, texts, n, &out);
        ig_scope_end();
        done += n;
        progress_clear(&bar);
        text_print(stdout, out.s ? out.s : ""); /* after a failure, what was answered before it */
        fflush(stdout);
        if (!fine) {
            code = fail_library(c);
        } else {
            char note[48];
            snprintf(note, sizeof note, "%.0f lines/s",
                     (double)done / (clock_s() - begin_s + 1e-9));
            progress_show(&bar, "texts", lines_share(&input), note);
        }
        str_free(&out);
    }
    progress_clear(&bar);
    if (code < 0 && n == 0 && errno && !interrupt_asked()) {
        say(c, "cannot read the lines: %s", strerror(errno));
        code = EXIT_INPUT;
    }
    if (s->cut && !s->quiet)
        say(c, "%lld of %lld texts have more than %d tokens; only their beginning was read",
            (long long)s->cut, (long long)done, s->most_tokens);
    lines_close(&input);
    free(texts);
    return code >= 0 ? code : interrupt_asked() ? EXIT_INTERRUPTED : EXIT_FINE;
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

void json_float(str *t, double value)
{
    char digits[DECIMAL_BYTES];
    if (!isfinite(value)) {
        str_puts(t, "null");
        return;
    }
    decimal_float((double)(float)value, IG_F32, digits);
    str_puts(t, digits);
}
