/* ingot perplexity: how well a decoder model predicts a text. */
#include "../progress.h"
#include "common.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lib/decoder/lora.h"

typedef struct measuring {
    cache_settings cache;
    const char *model, *lora;
    int64_t context;
    bool json, quiet;
    engine_options engine;
    /* of the current window */
    const int32_t *ids;
    int64_t n, from, vocabulary;
    /* of all windows: negative logarithms of probabilities */
    int64_t scored;
    double sum, squares;
} measuring;

/* Scores the token after `token`, unless it lies in the first half of the window, which only gives context. */
static ig_status score(void *context, int64_t token, const float *logits)
{
    measuring *m = context;
    if (token + 1 < m->from || token + 1 >= m->n)
        return IG_OK;
    float most = logits[0];
    double sum = 0;
    for (int64_t i = 1; i < m->vocabulary; i++)
        most = logits[i] > most ? logits[i] : most;
    for (int64_t i = 0; i < m->vocabulary; i++)
        sum += exp((double)(logits[i] - most));
    const double loss = log(sum) - (double)(logits[m->ids[token + 1]] - most);
    m->sum += loss;
    m->squares += loss * loss;
    m->scored++;
    return isfinite(loss) ? IG_OK
                          : ig_fail(IG_ERR_FORMAT,
                                    "perplexity: a logit is not finite: a weight of the model is "
                                    "not finite, or a value overflows; download the model again");
}

/* Windows of `context` tokens, one after another. */
static ig_status windows_run(measuring *m, decoder *d, const tokens_of *k, int32_t *ids, int64_t n)
{
    progress bar;
    session *s = session_new(d, m->context);
    const int64_t windows = n / m->context;
    ig_status status = s ? IG_OK : IG_ERR_ARGUMENT;
    progress_begin(&bar, m->quiet);
    for (int64_t i = 0; i < windows && status == IG_OK && !interrupt_asked(); i++) {
        m->ids = ids + i * m->context;
        m->n = m->context;
        tokens_begin(k, ids + i * m->context);
        session_cut(s, 0);
        status = session_each(s, m->ids, m->n, score, m);
        progress_show(&bar, "windows", (double)(i + 1) / (double)windows, "");
    }
    progress_clear();
    session_free(s);
    return status;
}

static void result_print(const measuring *m)
{
    const double mean = m->sum / (double)m->scored;
    const double spread = m->squares / (double)m->scored - mean * mean;
    const double error =
        m->scored > 1 ? sqrt(fmax(spread, 0) / (double)(m->scored - 1)) * exp(mean) : 0;
    str out = {0};
    if (m->json)
        str_json(&out, "{schema: 1, perplexity: %.9g, error: %.3g, tokens: %lld, context: %lld}\n",
                 exp(mean), error, (long long)m->scored, (long long)m->context);
    else
        str_printf(&out, "perplexity %.4f +- %.4f, %lld tokens in windows of %lld\n", exp(mean),
                   error, (long long)m->scored, (long long)m->context);
    text_print(stdout, out.s);
    str_free(&out);
}

static int file_measure(const command *c, measuring *m, decoder *d, const tokens_of *k,
                        const char *path)
{
    char *data = NULL;
    size_t bytes = 0;
    int64_t n = 0;
    int32_t *ids = NULL;
    ig_status status = file_read_whole(path, false, &data, &bytes);
    if (status == IG_OK && !(ids = tokens_encode(k, (ig_text){data, bytes}, &n)))
        status = IG_ERR_MEMORY;
    if (status == IG_OK && n < 2)
        status = ig_fail(IG_ERR_ARGUMENT, "perplexity: '%.200s' has fewer than 2 tokens", path);
    m->context = m->context < d->config.context ? m->context : d->config.context;
    m->vocabulary = d->config.vocabulary;
    m->from = n < m->context ? 1 : m->context / 2;
    m->context = n < m->context ? n : m->context;
    if (status == IG_OK)
        status = windows_run(m, d, k, ids, n);
    memory_free(ids);
    free(data);
    if (interrupt_asked())
        return EXIT_INTERRUPTED;
    if (status != IG_OK)
        return fail_library(c);
    result_print(m);
    return EXIT_FINE;
}

int verb_perplexity(int argc, char **argv)
{
    measuring m = {.context = 512};
    const option options[] = {
        {"--model", 'm', "FILE", option_text, &m.model, "the model: a .gguf file or a folder"},
        {"--context", 0, "N", option_count, &m.context, "tokens of a window (512)"},
        CACHE_OPTIONS(m.cache),
        FLAG("--json", &m.json, "prints JSON, schema 1"),
        FLAG("--quiet", &m.quiet, "shows no progress"),
        LORA_OPTION(m.lora),
        ENGINE_OPTIONS(m.engine),
        {0}};
    const command c = {
        "perplexity", "--model FILE [options] FILE",
        "Measures how well a decoder model predicts a text: the exponential of the mean negative\n"
        "logarithm of the probability of its tokens. The text is cut into windows, whose second\n"
        "halves count; of a text that is shorter than a window, all tokens but the first one.\n\n"
        "  ingot perplexity --model SmolLM2.gguf wiki.txt",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = engine_apply(&c, &m.engine);
    if (code < 0 && (!m.model || argc != 1)) {
        say(&c, "give --model FILE and one file with the text; see 'ingot perplexity --help'");
        code = EXIT_USAGE;
    }
    if (code >= 0)
        return code;
    interrupt_watch();
    interrupt_cancel();
    decoder *d = decoder_open_adapted(m.model, m.lora);
    const bool fine = d && cache_choose(d, m.cache.form, m.cache.limit) == IG_OK;
    tokens_of *k = fine ? tokens_open(d) : NULL;
    code = k ? file_measure(&c, &m, d, k, argv[0]) : fail_library(&c);
    tokens_close(k);
    decoder_close(d);
    return code;
}
