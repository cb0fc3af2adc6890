/* ingot generate: continues texts by a decoder model. */
#include "../progress.h"
#include "base/clock.h"
#include "common.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "lib/decoder/decoder.h"

enum { STOPS_MOST = 16 };

typedef struct generating {
    text_settings set;
    decoder *model;
    tokens_of *tokens;
    generation g;
    const char *stops[STOPS_MOST];
    bool timed;
    str answer, ids, logprobs; /* for --json */
    double first;              /* seconds: when the first token came */
} generating;

static ig_status show(void *context, const generated *token)
{
    generating *g = context;
    g->first = g->first > 0 ? g->first : clock_s();
    str_add(&g->answer, token->text.at, token->text.bytes);
    if (!g->set.json) {
        text_print(stdout, g->answer.s ? g->answer.s : "");
        fflush(stdout);
        str_free(&g->answer);
    } else if (token->id >= 0) {
        str_printf(&g->ids, "%s%d", g->ids.n ? ", " : "", (int)token->id);
        str_puts(&g->logprobs, g->logprobs.n ? ", " : "");
        str_printf(&g->logprobs, "%.6g", token->logprob);
    }
    return interrupt_asked() ? ig_fail(IG_ERR_CANCELLED, "generate: interrupted") : IG_OK;
}

static void answer_json(generating *g, const ig_text *prompt, int64_t n, const generation_result *r,
                        double prompt_s, double rest_s)
{
    static const char *const ends[] = {"length", "end", "stop"};
    str out = {0}, copy = {0};
    str_add(&copy, prompt->at, prompt->bytes);
    str_json(&out,
             "{schema: 1, prompt: %s, text: %s, end: %s, prompt_tokens: %lld, tokens: %lld, "
             "prompt_seconds: %.6g, seconds: %.6g, ids: ",
             copy.s ? copy.s : "", g->answer.s ? g->answer.s : "", ends[r->end], (long long)n,
             (long long)r->tokens, prompt_s, rest_s);
    str_printf(&g->ids, "]");
    str_printf(&g->logprobs, "]");
    str_puts(&out, "[");
    str_puts(&out, g->ids.s);
    str_puts(&out, ", \"logprobs\": [");
    str_puts(&out, g->logprobs.s);
    str_puts(&out, "}\n");
    text_print(stdout, out.s);
    fflush(stdout);
    str_free(&out);
    str_free(&copy);
}

static void times_say(const command *c, int64_t n, const generation_result *r, double prompt_s,
                      double rest_s)
{
    say(c,
        "prompt: %lld tokens in %.3f s, %.1f tokens/s; then %lld tokens in %.3f s, %.1f tokens/s",
        (long long)n, prompt_s, (double)n / prompt_s, (long long)r->tokens, rest_s,
        r->tokens > 1 ? (double)(r->tokens - 1) / rest_s : 0.0);
}

/* Generates after one prompt. The session is new, so that each answer depends on its prompt only. */
static bool answer(const command *c, generating *g, const ig_text *prompt)
{
    int64_t n = 0;
    generation_result r = {0};
    int32_t *ids = tokens_encode(g->tokens, *prompt, &n);
    if (!ids)
        return false;
    session *s = session_new(g->model, n + g->g.tokens);
    const double start = clock_s();
    g->first = 0;
    if (s && !g->set.json) {
        str copy = {0};
        str_add(&copy, prompt->at, prompt->bytes);
        text_print(stdout, copy.s ? copy.s : "");
        fflush(stdout);
        str_free(&copy);
    }
    const bool fine = s && generate(s, g->tokens, ids, n, &g->g, &r) == IG_OK;
    const double end = clock_s(), middle = g->first > 0 ? g->first : end;
    if (fine && g->set.json)
        answer_json(g, prompt, n, &r, middle - start, end - middle);
    else if (s && !g->set.json)
        text_print(stdout, "\n");
    if (fine && g->timed)
        times_say(c, n, &r, middle - start, end - middle);
    str_free(&g->answer);
    str_free(&g->ids);
    str_free(&g->logprobs);
    session_free(s);
    memory_free(ids);
    return fine;
}

bool option_number(const char *s, void *place)
{
    char *end;
    const double v = strtod(s, &end);
    *(double *)place = v;
    return end != s && *end == '\0' && v >= 0 && v <= 1e6;
}

bool option_penalty(const char *s, void *place)
{
    return option_number(s, place) && *(double *)place > 0;
}

bool option_part(const char *s, void *place)
{
    return option_number(s, place) && *(double *)place <= 1;
}

static bool option_stop(const char *s, void *place)
{
    generating *g = place;
    if (!*s || g->g.n_stops == STOPS_MOST)
        return false;
    g->stops[g->g.n_stops++] = s;
    return true;
}

static int answers(const command *c, generating *g, char **words, int n_words)
{
    lines input;
    ig_text prompt;
    int code = lines_open(c, &input, words, n_words, g->set.file);
    interrupt_watch();
    interrupt_cancel();
    while (code < 0 && !interrupt_asked() && lines_next(&input, &prompt, 1) > 0)
        if (!answer(c, g, &prompt))
            code = interrupt_asked() ? EXIT_INTERRUPTED : fail_library(c);
    if (code < 0 && errno && !interrupt_asked()) {
        say(c, "the prompts cannot be read: %s", strerror(errno));
        code = EXIT_INPUT;
    }
    lines_close(&input);
    return code >= 0 ? code : interrupt_asked() ? EXIT_INTERRUPTED : EXIT_FINE;
}

int verb_generate(int argc, char **argv)
{
    generating g = {.g = {.tokens = 64, .sampling = sampling_default}};
    sampling *h = &g.g.sampling;
    const option options[] = {
        {"--model", 'm', "FILE", option_text, &g.set.model, "the model: a .gguf file or a folder"},
        {"--file", 'f', "FILE", option_text, &g.set.file,
         "reads prompts from a file, one in each line"},
        {"--tokens", 'n', "N", option_count, &g.g.tokens, "the most tokens of an answer (64)"},
        SAMPLING_OPTIONS(*h),
        {"--stop", 0, "TEXT", option_stop, &g, "ends the answer before this text; up to 16 times"},
        FLAG("--ignore-end", &g.g.ignores_end, "goes on after a token that ends the text"),
        FLAG("--time", &g.timed, "prints tokens per second"),
        FLAG("--json", &g.set.json, "prints JSON, an object for each prompt, schema 1"),
        ENGINE_OPTIONS(g.set.engine),
        {0}};
    const command c = {
        "generate", "--model FILE [options] [TEXT...]",
        "Continues texts by a decoder model: a GGUF file, or a model folder as hubs publish it\n"
        "(config.json, model.safetensors, tokenizer.json). The answer is printed as it is made.\n"
        "Without TEXT, lines of standard input are answered as they arrive.\n\n"
        "  ingot generate --model SmolLM2.gguf \"The capital of France is\"\n"
        "  ingot generate --model SmolLM2.gguf --temperature 0.8 --seed 7 --tokens 200 \"Once\"",
        options};
    h->temperature = 0;
    g.g.stops = g.stops;
    g.g.visit = show;
    g.g.context = &g;
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = engine_apply(&c, &g.set.engine);
    if (code < 0 && !g.set.model) {
        say(&c, "--model FILE is missing; see 'ingot generate --help'");
        code = EXIT_USAGE;
    }
    if (code >= 0)
        return code;
    g.model = decoder_open(g.set.model);
    g.tokens = g.model ? tokens_open(g.model) : NULL;
    code = g.tokens ? answers(&c, &g, argv, argc) : fail_library(&c);
    tokens_close(g.tokens);
    decoder_close(g.model);
    return code;
}
