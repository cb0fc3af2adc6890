/* One answer: its tokens are chosen from logits, and its bytes are given out when it is certain that they belong to it: whole
 * UTF-8 characters, and none that may begin a stop text. */
#include "lib/decoder/answer.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <math.h>
#include <string.h>

typedef struct pending {
    char *at; /* bytes that are not given out yet */
    size_t used;
    int room;
} pending;

struct answer {
    const tokens_of *k;
    generation how;
    sampler *sampler;
    int32_t *all; /* the prompt and the answer */
    int64_t n, vocabulary;
    pending pending;
    generation_result result;
    bool ended;
    int32_t state; /* of the grammar */
    float *masked; /* logits of the tokens that the grammar allows; NULL: not needed so far */
};

/* The length of the part of s that ends with a whole character. */
static size_t whole_characters(const char *s, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const unsigned char c = (unsigned char)s[n - back];
        if ((c & 0xc0) == 0x80)
            continue;
        const size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return length > back ? n - back : n;
    }
    return n;
}

/* The place of the first stop text; n: none. */
static size_t stop_find(const generation *g, const char *s, size_t n)
{
    for (size_t at = 0; at < n; at++)
        for (int i = 0; i < g->n_stops; i++) {
            const size_t m = strlen(g->stops[i]);
            if (m && m <= n - at && memcmp(s + at, g->stops[i], m) == 0)
                return at;
        }
    return n;
}

/* The first place from which on the bytes may begin a stop text. */
static size_t stop_begin(const generation *g, const char *s, size_t n)
{
    for (size_t at = 0; at < n; at++)
        for (int i = 0; i < g->n_stops; i++)
            if (n - at < strlen(g->stops[i]) && memcmp(s + at, g->stops[i], n - at) == 0)
                return at;
    return n;
}

/* Gives out the first n bytes. Bytes that are not UTF-8 become U+FFFD. */
static ig_status give(const generation *g, pending *p, size_t n, const generated *token)
{
    unsigned char *clean = memory_get(3 * n + 1); /* U+FFFD has three bytes */
    size_t used = 0;
    if (!clean)
        return IG_ERR_MEMORY;
    for (size_t i = 0; i < n;) {
        uint32_t c;
        i += unicode_read((const unsigned char *)p->at + i, n - i, &c);
        used += unicode_write(c, clean + used);
    }
    const generated out = {.text = {(const char *)clean, used},
                           .id = token ? token->id : -1,
                           .logprob = token ? token->logprob : 0};
    const ig_status status = g->visit(g->context, &out);
    memmove(p->at, p->at + n, p->used - n);
    p->used -= n;
    memory_free(clean);
    return status;
}

static ig_status token_take(const generation *g, const tokens_of *k, pending *p,
                            const generated *token, bool *stopped)
{
    char bytes[TOKEN_BYTES];
    const size_t n = tokens_decode(k, token->id, bytes);
    for (size_t i = 0; i < n; i++) {
        if (!memory_room(&p->at, (int)p->used, &p->room, 1))
            return IG_ERR_MEMORY;
        p->at[p->used++] = bytes[i];
    }
    const size_t stop = stop_find(g, p->at, p->used);
    *stopped = stop < p->used;
    if (*stopped)
        p->used = stop;
    const size_t sure = *stopped ? p->used : whole_characters(p->at, stop_begin(g, p->at, p->used));
    return give(g, p, sure, token);
}

/* ---- grammars -------------------------------------------------------------------------------- */

/* The state after a token; GRAMMAR_NONE: the grammar does not allow it. */
static int32_t state_after(const answer *a, int32_t id)
{
    char bytes[TOKEN_BYTES];
    int32_t state = a->state;
    const size_t n = tokens_decode(a->k, id, bytes);
    for (size_t i = 0; i < n && state >= 0; i++)
        state = grammar_next(a->how.grammar, state, (unsigned char)bytes[i]);
    return n ? state : GRAMMAR_NONE;
}

static bool allows(const answer *a, int32_t id)
{
    return tokens_is_end(a->k, id) ? grammar_may_end(a->how.grammar, a->state)
                                   : state_after(a, id) >= 0;
}

/* Logits in which the tokens that the grammar does not allow have the probability 0. NULL on failure. */
static const float *mask(answer *a, const float *logits)
{
    bool some = false;
    if (!a->masked && !(a->masked = memory_get((size_t)a->vocabulary * sizeof *a->masked)))
        return NULL;
    for (int64_t i = 0; i < a->vocabulary; i++) {
        const bool allowed = allows(a, (int32_t)i);
        a->masked[i] = allowed ? logits[i] : -INFINITY;
        some = some || allowed;
    }
    if (ig_failed())
        return NULL;
    if (!some)
        FAIL_NULL(IG_ERR_UNSUPPORTED, "generate: no token of the model continues the text as the "
                                      "grammar wants; change the grammar");
    return a->masked;
}

static int32_t best_of(const float *logits, int64_t n)
{
    int32_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? (int32_t)i : best;
    return best;
}

/* The next token; -1 on failure. The most probable one needs no mask if the grammar allows it. */
static int32_t choose(answer *a, const float *logits, double *logprob)
{
    int32_t id = -1;
    if (!a->how.grammar || a->how.sampling.temperature == 0) {
        id = sampler_next(a->sampler, logits, a->all, a->n, logprob);
        if (id < 0 || !a->how.grammar || allows(a, id))
            return id;
    }
    if (!(logits = mask(a, logits)))
        return -1;
    id = sampler_next(a->sampler, logits, a->all, a->n, logprob);
    return id < 0 || allows(a, id) ? id : best_of(logits, a->vocabulary);
}

/* ---- use ------------------------------------------------------------------------------------- */

answer *answer_new(const tokens_of *k, const int32_t *prompt, int64_t n, const generation *g,
                   int64_t vocabulary)
{
    answer *a = memory_new(sizeof *a);
    if (!a)
        return NULL;
    a->k = k;
    a->how = *g;
    a->n = n;
    a->vocabulary = vocabulary;
    a->sampler = sampler_new(&g->sampling, vocabulary);
    a->all = memory_get((size_t)(n + g->tokens) * sizeof *a->all);
    a->ended = g->tokens < 1;
    if (a->all && a->sampler) {
        memcpy(a->all, prompt, (size_t)n * sizeof *a->all);
        return a;
    }
    answer_free(a);
    return NULL;
}

void answer_free(answer *a)
{
    if (!a)
        return;
    sampler_free(a->sampler);
    memory_free(a->pending.at);
    memory_free(a->masked);
    memory_free(a->all);
    memory_free(a);
}

static ig_status finish(answer *a, int end)
{
    a->ended = true;
    a->result.end = end;
    return a->pending.used ? give(&a->how, &a->pending, a->pending.used, NULL) : IG_OK;
}

ig_status answer_next(answer *a, const float *logits)
{
    generated token = {0};
    bool stopped = false;
    token.id = choose(a, logits, &token.logprob);
    if (token.id < 0 && ig_failed())
        return error_waiting(IG_ERR_INTERNAL);
    if (token.id < 0)
        FAIL(IG_ERR_FORMAT,
             "generate: a logit is NaN: a weight of the model is not finite, or a value overflows; "
             "download the model again");
    if (tokens_is_end(a->k, token.id) && (!a->how.ignores_end || a->how.grammar))
        return finish(a, GENERATED_END);
    if (a->how.grammar)
        a->state = state_after(a, token.id);
    a->all[a->n++] = token.id;
    a->result.tokens++;
    TRY(token_take(&a->how, a->k, &a->pending, &token, &stopped));
    if (stopped)
        return finish(a, GENERATED_STOP);
    if (a->how.grammar && grammar_must_end(a->how.grammar, a->state))
        return finish(a, GENERATED_END);
    return a->result.tokens == a->how.tokens ? finish(a, GENERATED_LENGTH) : IG_OK;
}

bool answer_ended(const answer *a) { return a->ended; }

const generation_result *answer_result(const answer *a) { return &a->result; }

const int32_t *answer_tokens(const answer *a, int64_t *n)
{
    *n = a->n;
    return a->all;
}
