/* Generators of the public interface: a decoder with a scheduler. An answer keeps the tokens that were made while another
 * one was waited for. */
#include "lib/decoder/conversation.h"
#include "lib/decoder/scheduler.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "ingot/generate.h"
#include "lib/chat/chat.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 2048, TEXTS_MOST = 256, TOKENS = 64 };

struct ig_generator {
    decoder *d;
    tokens_of *k;
    chat_template *template; /* NULL: not needed so far */
    char *template_path;
    scheduler *s;
    int64_t room;
    ig_answer *waiting; /* those that have not begun, in order */
};

typedef struct made {
    size_t end; /* of its text */
    int32_t id;
    double logprob;
} made;

struct ig_answer {
    ig_generator *g;
    ig_answer *next;
    int32_t *ids;
    int64_t n, reused;
    generation how;
    char **stops;
    char *bytes; /* of all tokens that are kept */
    made *list;
    int n_bytes, bytes_room, n_list, list_room, taken;
    size_t given; /* bytes */
    bool begun, ended, freed;
    ig_status status;
    char *error;
    generation_result result;
};

/* ---- generators ------------------------------------------------------------------------------ */

ig_generator *ig_generator_load(const char *path, const ig_generator_options *options)
{
    ig_generator_options o = {0};
    if (require_pointer("ig_generator_load", "path", path) != IG_OK ||
        (options && sized_read(SIZED(ig_generator_options, chat_template), &o, options) != IG_OK))
        return NULL;
    if (o.texts < 0 || o.texts > TEXTS_MOST || o.context < 0)
        FAIL_NULL(IG_ERR_ARGUMENT,
                  "ig_generator_load: texts is from 1 to %d, and context is not negative",
                  TEXTS_MOST);
    ig_generator *g = memory_new(sizeof *g);
    if (!g)
        return NULL;
    g->d = decoder_open(path);
    g->k = g->d ? tokens_open(g->d) : NULL;
    if (g->k) {
        const int64_t most = g->d->config.context;
        g->room = o.context ? o.context : most < CONTEXT ? most : CONTEXT;
        g->template_path = o.chat_template ? memory_text(o.chat_template) : NULL;
        g->s = scheduler_new(g->d, g->k, o.texts ? o.texts : 1, g->room);
    }
    if (g->s && !ig_failed())
        return g;
    ig_generator_free(g);
    return NULL;
}

void ig_generator_free(ig_generator *g)
{
    if (!g)
        return;
    scheduler_free(g->s);
    chat_template_free(g->template);
    tokens_close(g->k);
    decoder_close(g->d);
    memory_free(g->template_path);
    memory_free(g);
}

ig_status ig_generator_info_get(const ig_generator *g, ig_generator_info *info)
{
    TRY(require_pointer("ig_generator_info_get", "g", g));
    TRY(require_pointer("ig_generator_info_get", "info", info));
    const decoder_config *c = &g->d->config;
    const ig_generator_info all = {.size = sizeof all,
                                   .architecture = c->arch->name,
                                   .layers = c->layers,
                                   .width = c->width,
                                   .vocabulary = c->vocabulary,
                                   .context = c->context,
                                   .room = g->room,
                                   .bytes = decoder_bytes(g->d)};
    return sized_write(SIZED(ig_generator_info, bytes), info, &all);
}

ig_array *ig_generator_embed(ig_generator *g, const ig_text *texts, int n)
{
    if (require_pointer("ig_generator_embed", "g", g) != IG_OK ||
        require_list("ig_generator_embed", "texts", texts, n) != IG_OK)
        return NULL;
    const int64_t width = g->d->config.width;
    float *rows = memory_new((size_t)(n * width) * sizeof *rows + 1);
    ig_status status = rows ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < n && status == IG_OK; i++) {
        int64_t count = 0;
        int32_t *ids = tokens_encode(g->k, texts[i], &count);
        while (ids && scheduler_room(g->s) == 0)
            scheduler_round(g->s);
        status = ids ? scheduler_embed(g->s, ids, count, rows + i * width) : IG_ERR_MEMORY;
        memory_free(ids);
    }
    ig_array *x = status == IG_OK ? ig_from_data(rows, IG_SHAPE(n, width), IG_F32) : NULL;
    memory_free(rows);
    return x;
}

/* ---- answers: what the scheduler calls ------------------------------------------------------- */

static void answer_drop(ig_answer *a)
{
    for (int i = 0; i < a->how.n_stops; i++)
        memory_free(a->stops[i]);
    memory_free(a->stops);
    grammar_free(a->how.grammar);
    memory_free(a->ids);
    memory_free(a->bytes);
    memory_free(a->list);
    memory_free(a->error);
    memory_free(a);
}

static ig_status keep(void *context, const generated *token)
{
    ig_answer *a = context;
    if (!memory_room(&a->list, a->n_list, &a->list_room, sizeof *a->list))
        return IG_ERR_MEMORY;
    for (size_t i = 0; i < token->text.bytes; i++) {
        if (!memory_room(&a->bytes, a->n_bytes, &a->bytes_room, 1))
            return IG_ERR_MEMORY;
        a->bytes[a->n_bytes++] = token->text.at[i];
    }
    a->list[a->n_list++] =
        (made){.end = (size_t)a->n_bytes, .id = token->id, .logprob = token->logprob};
    return IG_OK;
}

static bool is_wanted(void *context)
{
    const ig_answer *a = context;
    return !a->freed;
}

static void end(void *context, ig_status status, const generation_result *r, int64_t reused)
{
    ig_answer *a = context;
    const char *error = status == IG_OK || a->freed ? NULL : ig_error(NULL);
    a->status = status;
    a->error = error ? memory_text(error) : NULL;
    a->result = *r;
    a->reused = reused;
    a->ended = true;
    if (a->freed)
        answer_drop(a);
}

/* Begins answers that wait, while there is room. */
static void waiting_begin(ig_generator *g)
{
    const generation_result none = {0};
    while (g->waiting && scheduler_room(g->s)) {
        ig_answer *a = g->waiting;
        const scheduled what = {.prompt = a->ids,
                                .n = a->n,
                                .how = a->how,
                                .wanted = is_wanted,
                                .done = end,
                                .context = a};
        g->waiting = a->next;
        a->begun = true;
        const ig_status status = scheduler_begin(g->s, &what);
        if (status != IG_OK)
            end(a, status, &none, 0);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static ig_status options_take(ig_answer *a, const ig_generate_options *o)
{
    const double p[] = {o->top_p, o->min_p, o->typical};
    for (int i = 0; i < 3; i++)
        if (!(p[i] >= 0 && p[i] <= 1))
            FAIL(IG_ERR_ARGUMENT, "ig_generate: top_p, min_p and typical are from 0 to 1");
    if (!(o->temperature >= 0) || !(o->repetition >= 0) || o->tokens < 0 || o->top_k < 0)
        FAIL(IG_ERR_ARGUMENT,
             "ig_generate: temperature, repetition, tokens and top_k are not negative");
    if (o->grammar && o->schema)
        FAIL(IG_ERR_ARGUMENT, "ig_generate: grammar and schema exclude each other");
    TRY(require_list("ig_generate", "stops", o->stops, o->n_stops));
    a->how = (generation){.tokens = o->tokens ? o->tokens : TOKENS,
                          .sampling = {.temperature = o->temperature,
                                       .top_k = o->top_k,
                                       .top_p = o->top_p > 0 ? o->top_p : 1,
                                       .min_p = o->min_p,
                                       .typical = o->typical > 0 ? o->typical : 1,
                                       .repetition = o->repetition > 0 ? o->repetition : 1,
                                       .presence = o->presence,
                                       .frequency = o->frequency,
                                       .last = sampling_default.last,
                                       .seed = o->seed},
                          .ignores_end = o->ignores_end,
                          .visit = keep,
                          .context = a};
    a->stops = memory_new((size_t)o->n_stops * sizeof *a->stops);
    for (int i = 0; a->stops && i < o->n_stops; i++) {
        a->stops[i] = memory_text(o->stops[i]);
        a->how.n_stops += a->stops[i] != NULL;
    }
    a->how.stops = (const char *const *)a->stops;
    if (o->grammar)
        a->how.grammar = grammar_new((ig_text){o->grammar, strlen(o->grammar)});
    else if (o->schema)
        a->how.grammar = grammar_from_schema((ig_text){o->schema, strlen(o->schema)});
    return ig_failed() ? error_waiting(IG_ERR_MEMORY) : IG_OK;
}

static ig_status prompt_take(ig_answer *a, ig_text prompt, bool is_chat)
{
    ig_generator *g = a->g;
    if (is_chat && !g->template && !(g->template = conversation_template(g->d, g->template_path)))
        return error_waiting(IG_ERR_FORMAT);
    if (is_chat) {
        char *messages = memory_get(prompt.bytes + 1);
        if (!messages)
            return IG_ERR_MEMORY;
        memcpy(messages, prompt.at, prompt.bytes);
        messages[prompt.bytes] = '\0';
        a->ids = conversation_prompt(g->template, g->k, messages, &a->n);
        memory_free(messages);
    } else {
        a->ids = tokens_encode(g->k, prompt, &a->n);
    }
    if (!a->ids)
        return error_waiting(IG_ERR_FORMAT);
    if (a->n < 1 || a->n >= g->room)
        FAIL(IG_ERR_ARGUMENT,
             "ig_generate: the prompt has %lld tokens, and the context has room for %lld; load the "
             "model with more context",
             (long long)a->n, (long long)g->room);
    if (a->how.tokens > g->room - a->n)
        a->how.tokens = g->room - a->n;
    return IG_OK;
}

ig_answer *ig_generate(ig_generator *g, ig_text prompt, const ig_generate_options *options)
{
    ig_generate_options o = {0};
    if (require_pointer("ig_generate", "g", g) != IG_OK ||
        require_pointer("ig_generate", "prompt", prompt.at) != IG_OK ||
        (options && sized_read(SIZED(ig_generate_options, schema), &o, options) != IG_OK))
        return NULL;
    ig_answer *a = memory_new(sizeof *a), **last = &g->waiting;
    if (!a)
        return NULL;
    a->g = g;
    if (options_take(a, &o) != IG_OK || prompt_take(a, prompt, o.is_chat) != IG_OK) {
        answer_drop(a);
        return NULL;
    }
    while (*last)
        last = &(*last)->next;
    *last = a;
    return a;
}

bool ig_answer_next(ig_answer *a, ig_answer_token *token)
{
    if (require_pointer("ig_answer_next", "a", a) != IG_OK ||
        require_pointer("ig_answer_next", "token", token) != IG_OK)
        return false;
    while (a->taken == a->n_list && !a->ended) {
        waiting_begin(a->g);
        scheduler_round(a->g->s);
    }
    if (a->taken == a->n_list) {
        if (a->status != IG_OK)
            ig_fail(a->status, "%s", a->error ? a->error : "generate: it failed");
        return false;
    }
    const made *m = &a->list[a->taken++];
    const ig_answer_token all = {.size = sizeof all,
                                 .id = m->id,
                                 .logprob = m->logprob,
                                 .text = {a->bytes ? a->bytes + a->given : "", m->end - a->given}};
    a->given = m->end;
    return sized_write(SIZED(ig_answer_token, text), token, &all) == IG_OK;
}

const char *ig_answer_end(const ig_answer *a)
{
    static const char *const names[] = {"length", "end", "stop"};
    const bool done = a && a->ended && a->taken == a->n_list && a->status == IG_OK;
    return done ? names[a->result.end] : NULL;
}

int64_t ig_answer_prompt(const ig_answer *a, int64_t *cached)
{
    if (cached)
        *cached = a ? a->reused : 0;
    return a ? a->n : 0;
}

void ig_answer_free(ig_answer *a)
{
    if (!a)
        return;
    ig_answer **at = &a->g->waiting;
    while (*at && *at != a)
        at = &(*at)->next;
    if (*at)
        *at = a->next;
    a->freed = true;
    if (a->ended || !a->begun)
        answer_drop(a);
    else /* the scheduler ends it */
        scheduler_drop(a->g->s, a);
}
