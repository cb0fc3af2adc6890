/* Generation: tokens one after another, until an end. Bytes are given out when it is certain that they belong to the result:
 * whole UTF-8 characters, and none that may begin a stop text. */
#include "lib/decoder/decoder.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

typedef struct pending {
    char *at; /* bytes that are not given out yet */
    size_t used;
    int room;
} pending;

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

static ig_status give(const generation *g, pending *p, size_t n, const generated *token)
{
    const generated out = {
        .text = {p->at, n}, .id = token ? token->id : -1, .logprob = token ? token->logprob : 0};
    const ig_status status = g->visit(g->context, &out);
    memmove(p->at, p->at + n, p->used - n);
    p->used -= n;
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

static ig_status tokens_make(session *s, const tokens_of *k, int32_t *all, int64_t n, sampler *m,
                             const generation *g, generation_result *r)
{
    pending p = {0};
    ig_status status = IG_OK;
    bool stopped = false;
    const float *logits = session_add(s, all + session_length(s), n - session_length(s));
    r->end = GENERATED_LENGTH;
    while (logits && status == IG_OK && r->tokens < g->tokens) {
        generated token = {0};
        token.id = sampler_next(m, logits, all, n, &token.logprob);
        if (token.id < 0) {
            status = ig_fail(IG_ERR_FORMAT,
                             "generate: a logit is NaN: a weight of the model is not finite, or "
                             "a value overflows; download the model again");
            break;
        }
        if (!g->ignores_end && tokens_is_end(k, token.id)) {
            r->end = GENERATED_END;
            break;
        }
        all[n++] = token.id;
        r->tokens++;
        status = token_take(g, k, &p, &token, &stopped);
        if (stopped) {
            r->end = GENERATED_STOP;
            break;
        }
        if (status == IG_OK && r->tokens < g->tokens)
            logits = session_add(s, all + n - 1, 1);
    }
    if (!logits)
        status = error_waiting(IG_ERR_INTERNAL);
    if (status == IG_OK && p.used)
        status = give(g, &p, p.used, NULL);
    memory_free(p.at);
    return status;
}

ig_status generate(session *s, const tokens_of *k, const int32_t *prompt, int64_t n,
                   const generation *g, generation_result *r)
{
    const int64_t known = session_length(s);
    *r = (generation_result){0};
    if (n < 1 || known > n)
        FAIL(IG_ERR_ARGUMENT, "generate: the prompt has no tokens; give some text");
    if (known == n) /* the logits of its last token are needed */
        session_cut(s, n - 1);
    int32_t *all = memory_get((size_t)(n + g->tokens) * sizeof *all);
    sampler *m = sampler_new(&g->sampling, session_vocabulary(s));
    ig_status status = all && m ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        memcpy(all, prompt, (size_t)n * sizeof *all);
        status = tokens_make(s, k, all, n, m, g, r);
    }
    sampler_free(m);
    memory_free(all);
    return status;
}
