/* ingot bench --model: tokens per second of a decoder model, for a prompt and for generation. */
#include "common.h"

#include <math.h>

#include "base/clock.h"
#include "lib/decoder/decoder.h"

enum { PROMPT = 512, TOKENS = 128, RUNS = 5 };

/* Seconds of one run in a new text: of a prompt at once, or of tokens one by one. Negative on failure. */
static double run(session *s, const int32_t *ids, int64_t n, int64_t part)
{
    const double start = clock_s();
    session_cut(s, 0);
    for (int64_t i = 0; i < n; i += part)
        if (!session_add(s, ids + i, part))
            return -1;
    return clock_s() - start;
}

static bool row_print(session *s, const char *name, const int32_t *ids, int64_t n, int64_t part)
{
    double sum = 0, squares = 0;
    if (run(s, ids, n, part) < 0) /* compiles */
        return false;
    for (int i = 0; i < RUNS; i++) {
        const double seconds = run(s, ids, n, part), rate = (double)n / seconds;
        if (seconds < 0)
            return false;
        sum += rate;
        squares += rate * rate;
    }
    const double mean = sum / RUNS, spread = fmax(squares / RUNS - mean * mean, 0);
    text_printf(stdout, "%-10s %4lld tokens  %10.2f +- %.2f tokens/s\n", name, (long long)n, mean,
                sqrt(spread * RUNS / (RUNS - 1)));
    fflush(stdout);
    return true;
}

int bench_model(const command *c, const char *path)
{
    int32_t ids[PROMPT];
    decoder *d = decoder_open(path);
    const int64_t most = d && d->config.context < PROMPT ? d->config.context : PROMPT;
    session *s = d ? session_new(d, most) : NULL;
    bool fine = s != NULL;
    for (int i = 0; fine && i < PROMPT; i++)
        ids[i] = (int32_t)((int64_t)i * 7919 % d->config.vocabulary);
    if (fine)
        text_printf(stdout, "%s: %s, %lld layers, %.1f MB of weights\n", path,
                    d->config.arch->model_type, (long long)d->config.layers,
                    1e-6 * (double)decoder_bytes(d));
    fine = fine && row_print(s, "prompt", ids, most, most) &&
           row_print(s, "generation", ids, most < TOKENS ? most : TOKENS, 1);
    const int code = fine ? EXIT_FINE : fail_library(c);
    session_free(s);
    decoder_close(d);
    return code;
}
