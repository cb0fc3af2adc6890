/* ingot generate: continues texts by a decoder model. */
#include "../progress.h"
#include "base/clock.h"
#include "common.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "lib/decoder/lora.h"
#include "lib/decoder/scheduler.h"

enum { STOPS_MOST = 16 };

typedef struct generating {
    text_settings set;
    grammar_files grammar;
    cache_settings cache;
    decoder *model, *draft;
    tokens_of *tokens;
    generation g;
    const char *stops[STOPS_MOST], *draft_path;
    bool timed;
    int64_t texts; /* answers at the same time, of the prompts of a file */
} generating;

/* One prompt and its answer. */
typedef struct reply {
    generating *g;
    const command *c;
    ig_text prompt;
    int32_t *tokens;
    int64_t n;
    bool done, fine, whole; /* whole: nothing is printed before the end */
    str answer, ids, logprobs;
    double start, first; /* seconds: when the first token came */
} reply;

static ig_status show(void *context, const generated *token)
{
    reply *r = context;
    r->first = r->first > 0 ? r->first : clock_s();
    str_add(&r->answer, token->text.at, token->text.bytes);
    if (!r->whole) {
        text_print(stdout, r->answer.s ? r->answer.s : "");
        fflush(stdout);
        str_free(&r->answer);
    } else if (token->id >= 0) {
        str_printf(&r->ids, "%s%d", r->ids.n ? ", " : "", (int)token->id);
        str_puts(&r->logprobs, r->logprobs.n ? ", " : "");
        str_printf(&r->logprobs, "%.6g", token->logprob);
    }
    return interrupt_asked() ? ig_fail(IG_ERR_CANCELLED, "generate: interrupted") : IG_OK;
}

static void answer_json(reply *p, const generation_result *r, double end)
{
    static const char *const ends[] = {"length", "end", "stop"};
    str out = {0}, copy = {0};
    str_add(&copy, p->prompt.at, p->prompt.bytes);
    str_json(&out,
             "{schema: 1, prompt: %s, text: %s, end: %s, prompt_tokens: %lld, tokens: %lld, "
             "cache: %s, prompt_seconds: %.6g, seconds: %.6g, ids: ",
             copy.s ? copy.s : "", p->answer.s ? p->answer.s : "", ends[r->end], (long long)p->n,
             (long long)r->tokens, cache_name(p->g->model), p->first - p->start, end - p->first);
    str_printf(&p->ids, "]");
    str_printf(&p->logprobs, "]");
    str_puts(&out, "[");
    str_puts(&out, p->ids.s);
    str_puts(&out, ", \"logprobs\": [");
    str_puts(&out, p->logprobs.s);
    str_puts(&out, "}\n");
    str_free(&p->answer);
    p->answer = out;
    str_free(&copy);
}

static void times_say(const reply *p, const generation_result *r, double end)
{
    const double prompt_s = p->first - p->start, rest_s = end - p->first;
    say(p->c,
        "prompt: %lld tokens in %.3f s, %.1f tokens/s; then %lld tokens in %.3f s, %.1f tokens/s",
        (long long)p->n, prompt_s, (double)p->n / prompt_s, (long long)r->tokens, rest_s,
        r->tokens > 1 ? (double)(r->tokens - 1) / rest_s : 0.0);
    if (r->guessed)
        say(p->c, "guesses: %lld of %lld tokens were right", (long long)r->accepted,
            (long long)r->guessed);
}

/* The text is complete. */
static void reply_end(reply *p, ig_status status, const generation_result *r)
{
    const double end = clock_s();
    p->done = true;
    p->fine = status == IG_OK;
    p->first = p->first > 0 ? p->first : end;
    if (p->fine && p->g->set.json)
        answer_json(p, r, end);
    else
        str_puts(&p->answer, "\n");
    if (p->fine && p->g->timed)
        times_say(p, r, end);
}

static bool reply_begin(reply *p, const command *c, generating *g, const ig_text *prompt)
{
    *p = (reply){.g = g, .c = c, .prompt = *prompt, .whole = g->set.json, .start = clock_s()};
    p->tokens = tokens_encode(g->tokens, *prompt, &p->n);
    if (p->tokens && !g->set.json)
        str_add(&p->answer, prompt->at, prompt->bytes);
    return p->tokens != NULL;
}

/* Prints what was not printed so far. */
static void reply_print(reply *p)
{
    text_print(stdout, p->answer.s ? p->answer.s : "");
    fflush(stdout);
    str_free(&p->answer);
}

static void reply_free(reply *p)
{
    str_free(&p->answer);
    str_free(&p->ids);
    str_free(&p->logprobs);
    memory_free(p->tokens);
}

/* ---- one prompt ------------------------------------------------------------------------------ */

/* Generates after one prompt. The session is new, so that each answer depends on its prompt only. */
static bool answer(const command *c, generating *g, const ig_text *prompt)
{
    reply p;
    generation_result r = {0};
    if (!reply_begin(&p, c, g, prompt))
        return false;
    generation how = g->g;
    session *s = session_new(g->model, p.n + how.tokens);
    how.draft = s && g->draft ? session_new(g->draft, p.n + how.tokens) : NULL;
    how.context = &p;
    if (s && !p.whole)
        reply_print(&p);
    ig_status status = s && (how.draft || !g->draft) ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = generate(s, g->tokens, p.tokens, p.n, &how, &r);
    reply_end(&p, status, &r);
    if (s && (p.fine || !p.whole))
        reply_print(&p);
    reply_free(&p);
    session_free(how.draft);
    session_free(s);
    return status == IG_OK;
}

/* ---- the prompts of a file -------------------------------------------------------------------- */

static bool is_wanted(void *context)
{
    (void)context;
    return !interrupt_asked();
}

static void reply_done(void *context, ig_status status, const generation_result *r, int64_t reused)
{
    (void)reused;
    reply_end(context, status, r);
}

static ig_status reply_schedule(scheduler *s, reply *p)
{
    scheduled what = {.prompt = p->tokens,
                      .n = p->n,
                      .how = p->g->g,
                      .wanted = is_wanted,
                      .done = reply_done,
                      .context = p};
    what.how.context = p;
    p->whole = true;
    p->start = clock_s();
    return scheduler_begin(s, &what);
}

/* Several answers at the same time, printed in the order of the prompts. */
static bool answer_many(const command *c, generating *g, const ig_text *prompts, int n)
{
    reply *list = memory_new((size_t)n * sizeof *list);
    int64_t most = 0;
    bool fine = list != NULL;
    for (int i = 0; i < n && fine; i++) {
        fine = reply_begin(&list[i], c, g, &prompts[i]);
        most = list[i].n > most ? list[i].n : most;
    }
    scheduler *s =
        fine ? scheduler_new(g->model, g->tokens, n < g->texts ? n : g->texts, most + g->g.tokens)
             : NULL;
    fine = s != NULL;
    for (int begun = 0, printed = 0; fine && printed < n;) {
        while (fine && begun < n && scheduler_room(s))
            fine = reply_schedule(s, &list[begun++]) == IG_OK;
        if (fine)
            scheduler_round(s);
        for (; printed < n && list[printed].done && (fine = fine && list[printed].fine); printed++)
            reply_print(&list[printed]);
    }
    scheduler_free(s);
    for (int i = 0; list && i < n; i++)
        reply_free(&list[i]);
    memory_free(list);
    return fine;
}

/* ---- options --------------------------------------------------------------------------------- */

bool grammar_open(const grammar_files *f, grammar **out)
{
    const char *path = f->gbnf ? f->gbnf : f->schema;
    char *data = NULL;
    size_t bytes = 0;
    *out = NULL;
    if (!path)
        return true;
    if (f->gbnf && f->schema)
        return ig_fail(IG_ERR_ARGUMENT, "--grammar and --schema exclude each other") == IG_OK;
    if (file_read_whole(path, false, &data, &bytes) == IG_OK)
        *out = f->gbnf ? grammar_new((ig_text){data, bytes})
                       : grammar_from_schema((ig_text){data, bytes});
    free(data);
    return *out != NULL;
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
    enum { BATCH = 256 };
    lines input;
    ig_text prompts[BATCH];
    int code = lines_open(c, &input, words, n_words, g->set.file), n;
    const bool many = g->set.file && g->texts > 1;
    interrupt_watch();
    interrupt_cancel();
    while (code < 0 && !interrupt_asked() &&
           (n = lines_next(&input, prompts, many ? BATCH : 1)) > 0)
        if (!(many ? answer_many(c, g, prompts, n) : answer(c, g, prompts)))
            code = interrupt_asked() ? EXIT_INTERRUPTED : fail_library(c);
    if (code < 0 && errno && !interrupt_asked()) {
        say(c, "the prompts cannot be read: %s", strerror(errno));
        code = EXIT_INPUT;
    }
    lines_close(&input);
    return code >= 0 ? code : interrupt_asked() ? EXIT_INTERRUPTED : EXIT_FINE;
}

/* Opens the model, the draft and the grammar. */
static bool models_open(generating *g)
{
    g->model = decoder_open_adapted(g->set.model, g->set.lora);
    if (!g->model || cache_choose(g->model, g->cache.form, g->cache.limit) != IG_OK)
        return false;
    g->tokens = g->model ? tokens_open(g->model) : NULL;
    if (!g->tokens || !grammar_open(&g->grammar, &g->g.grammar))
        return false;
    if (g->draft_path && !(g->draft = decoder_open(g->draft_path)))
        return false;
    if (g->draft && !tokens_same(g->draft, g->tokens))
        return ig_failed() ? false
                           : ig_fail(IG_ERR_ARGUMENT,
                                     "--draft '%s' has other tokens than the model; give a smaller "
                                     "model of the same family",
                                     g->draft_path) == IG_OK;
    return true;
}

int verb_generate(int argc, char **argv)
{
    generating g = {.g = {.tokens = 64, .sampling = sampling_default}, .texts = 4};
    sampling *h = &g.g.sampling;
    const option options[] = {
        {"--model", 'm', "FILE", option_text, &g.set.model, "the model: a .gguf file or a folder"},
        LORA_OPTION(g.set.lora),
        {"--file", 'f', "FILE", option_text, &g.set.file,
         "reads prompts from a file, one in each line"},
        {"--tokens", 'n', "N", option_count, &g.g.tokens, "the most tokens of an answer (64)"},
        SAMPLING_OPTIONS(*h),
        {"--stop", 0, "TEXT", option_stop, &g, "ends the answer before this text; up to 16 times"},
        GRAMMAR_OPTIONS(g.grammar),
        {"--texts", 0, "N", option_count, &g.texts,
         "answers at the same time, of the prompts of --file, at most 256 (4)"},
        FLAG("--lookup", &g.g.lookup, "guesses tokens that followed the same tokens before"),
        {"--draft", 0, "FILE", option_text, &g.draft_path,
         "a small model of the same family, which guesses tokens"},
        CACHE_OPTIONS(g.cache),
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
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = engine_apply(&c, &g.set.engine);
    if (code < 0 && g.texts > 256) {
        say(&c, "--texts is at most 256");
        code = EXIT_USAGE;
    }
    if (g.draft_path || g.g.lookup)
        g.texts = 1; /* guesses fill the steps of one answer */
    if (code < 0 && !g.set.model) {
        say(&c, "--model FILE is missing; see 'ingot generate --help'");
        code = EXIT_USAGE;
    }
    if (code >= 0)
        return code;
    code = models_open(&g) ? answers(&c, &g, argv, argc) : fail_library(&c);
    grammar_free(g.g.grammar);
    tokens_close(g.tokens);
    decoder_close(g.draft);
    decoder_close(g.model);
    return code;
}
