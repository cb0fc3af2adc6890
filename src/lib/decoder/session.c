/* A text that grows token by token: its cache of keys and values, and the compiled graphs.
 *
 * Tokens are computed in parts of a few sizes, and attention sees a number of places that is a power of 2, so that few
 * graphs are compiled. Places past the text hold keys of padding; the mask hides them until they are overwritten. */
#include "lib/decoder/decoder.h"

#include "base/error.h"
#include "engine/eval/compiled.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

enum { PART_MOST = 256, PLANS = 24, PLACES_LEAST = 128, INPUTS_MORE = 8 };

/* How many of n tokens the next part takes, and *tokens, the size of its graph: a power of 2. The largest one that has no
 * padding, or the next one if at most a quarter of that is padding. */
static int64_t part_size(int64_t n, int64_t *tokens)
{
    int64_t size = 1;
    while (2 * size <= n && size < PART_MOST)
        size *= 2;
    const bool padded = size < PART_MOST && n > size && 4 * n >= 3 * 2 * size;
    *tokens = padded ? 2 * size : size;
    return *tokens < n ? *tokens : n;
}

typedef struct plan {
    int64_t tokens, places;
    bool all;
    ig_compiled *compiled;
} plan;

struct session {
    decoder *d;
    int64_t length, limit, capacity; /* capacity: places of the cache, for the limit and padding */
    ig_array **cache;                /* owned; layers * 2 */
    plan plans[PLANS];
    int n_plans;
    ig_array *logits; /* owned: of the last call */
};

/* ---- the cache ------------------------------------------------------------------------------- */

static ig_status cache_new(session *s)
{
    const decoder_config *c = &s->d->config;
    const ig_ints shape = IG_SHAPE(s->capacity, c->kv_heads * c->head_width);
    s->cache = memory_new((size_t)(2 * c->layers) * sizeof *s->cache);
    if (!s->cache)
        return IG_ERR_MEMORY;
    for (int64_t i = 0; i < 2 * c->layers; i++) {
        if (!(s->cache[i] = ig_scope_forget(ig_zeros(shape, IG_F32))))
            return error_waiting(IG_ERR_MEMORY);
    }
    return ig_eval(s->cache, (int)(2 * c->layers));
}

session *session_new(decoder *d, int64_t capacity)
{
    if (capacity < 1 || capacity > d->config.context)
        FAIL_NULL(IG_ERR_ARGUMENT,
                  "generate: the text would have %" PRId64
                  " tokens, and the model '%.200s' reads from 1 to "
                  "%" PRId64 "; shorten the text or ask for fewer tokens",
                  capacity, d->path, d->config.context);
    session *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    s->d = d;
    s->limit = capacity;
    s->capacity = PLACES_LEAST; /* a power of 2, with room for the padding of a part at the end */
    while (s->capacity < capacity + PART_MOST)
        s->capacity *= 2;
    if (ig_scope_begin() != IG_OK || cache_new(s) != IG_OK) {
        ig_scope_end();
        session_free(s);
        return NULL;
    }
    ig_scope_end();
    return s;
}

void session_free(session *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_plans; i++)
        ig_compiled_free(s->plans[i].compiled);
    for (int64_t i = 0; s->cache && i < 2 * s->d->config.layers; i++)
        ig_release(s->cache[i]);
    memory_free(s->cache);
    ig_release(s->logits);
    memory_free(s);
}

int64_t session_length(const session *s) { return s->length; }

int64_t session_vocabulary(const session *s) { return s->d->config.vocabulary; }

void session_cut(session *s, int64_t length)
{
    if (length >= 0 && length < s->length)
        s->length = length;
}

/* ---- compiled graphs ------------------------------------------------------------------------- */

/* The inputs of a plan, in the order of ig_compile: caches, then these. Returns their number. */
static int inputs_list(const session *s, network_in *in, ig_array **list)
{
    int n = 0;
    for (int64_t i = 0; i < 2 * s->d->config.layers; i++)
        list[n++] = in->cache[i];
    list[n++] = in->ids;
    list[n++] = in->positions;
    list[n++] = in->start;
    if (in->last)
        list[n++] = in->last;
    for (int i = 0; i < 4; i++)
        if (in->rope[i])
            list[n++] = in->rope[i];
    return n;
}

static ig_status plan_compile(session *s, plan *p)
{
    decoder *d = s->d;
    const int64_t caches = 2 * d->config.layers, dims = d->config.rope.dims;
    ig_array **in = memory_get((size_t)(3 * caches + 2 * INPUTS_MORE) * sizeof *in);
    ig_array **cache = in + caches + INPUTS_MORE, **out = cache + caches;
    ig_status status = IG_OK;
    if (!in || ig_scope_begin() != IG_OK) {
        memory_free(in);
        return IG_ERR_MEMORY;
    }
    network_in net = {.tokens = p->tokens, .places = p->places, .all = p->all, .cache = cache};
    for (int64_t i = 0; i < caches; i++)
        cache[i] = ig_placeholder(ig_shape(s->cache[i]), IG_F32);
    net.ids = ig_placeholder(IG_SHAPE(p->tokens), IG_I32);
    net.positions = ig_placeholder(IG_SHAPE(p->tokens), IG_I32);
    net.start = ig_placeholder(IG_SHAPE(p->tokens, 1), IG_I32);
    net.last = p->all ? NULL : ig_placeholder(IG_SHAPE(1), IG_I32);
    for (int i = 0; dims > 0 && i < (d->config.rope.local_base > 0 ? 4 : 2); i++)
        net.rope[i] = ig_placeholder(IG_SHAPE(p->tokens, dims), IG_F32);
    const int n = inputs_list(s, &net, in);
    ig_array *logits = ig_failed() ? NULL : network_build(d, &net);
    for (int64_t i = 0; i < caches; i++)
        out[i] = cache[i];
    out[caches] = logits;
    if (logits)
        p->compiled = compile_expending(in, n, (int)caches, out, (int)caches + 1);
    if (!p->compiled)
        status = error_waiting(IG_ERR_MEMORY);
    ig_scope_end();
    memory_free(in);
    return status;
}

static ig_status plan_get(session *s, int64_t tokens, int64_t places, bool all, plan **out)
{
    for (int i = 0; i < s->n_plans; i++)
        if (s->plans[i].tokens == tokens && s->plans[i].places == places &&
            s->plans[i].all == all) {
            *out = &s->plans[i];
            return IG_OK;
        }
    if (s->n_plans == PLANS) { /* the first one is the oldest */
        ig_compiled_free(s->plans[0].compiled);
        memmove(s->plans, s->plans + 1, (PLANS - 1) * sizeof *s->plans);
        s->n_plans--;
    }
    *out = &s->plans[s->n_plans];
    **out = (plan){.tokens = tokens, .places = places, .all = all};
    TRY(plan_compile(s, *out));
    s->n_plans++;
    return IG_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Numbers of a part as arrays. The padding repeats the last token. */
static ig_status part_inputs(session *s, const plan *p, const int32_t *ids, int64_t n,
                             network_in *in)
{
    const rope_config *r = &s->d->config.rope;
    const int64_t t = p->tokens;
    int32_t token[PART_MOST] = {0}, place[PART_MOST] = {0};
    for (int64_t i = 0; i < t; i++) {
        token[i] = ids[i < n ? i : n - 1];
        place[i] = (int32_t)(s->length + (i < n ? i : n - 1));
    }
    in->ids = ig_from_data(token, IG_SHAPE(t), IG_I32);
    in->positions = ig_from_data(place, IG_SHAPE(t), IG_I32);
    for (int64_t i = 0; i < t; i++)
        place[i] = (int32_t)(s->length + i);
    in->start = ig_from_data(place, IG_SHAPE(t, 1), IG_I32);
    in->last = p->all ? NULL : ig_from_data((int32_t[]){(int32_t)n - 1}, IG_SHAPE(1), IG_I32);
    if (r->dims == 0)
        return ig_failed() ? error_waiting(IG_ERR_MEMORY) : IG_OK;
    const size_t count = (size_t)(t * r->dims);
    float *table = memory_get(2 * count * sizeof *table);
    for (int i = 0; table && i < (r->local_base > 0 ? 4 : 2); i += 2) {
        rope_fill(s->d, i > 0, s->length, t, s->limit, table, table + count);
        in->rope[i] = ig_from_data(table, IG_SHAPE(t, r->dims), IG_F32);
        in->rope[i + 1] = ig_from_data(table + count, IG_SHAPE(t, r->dims), IG_F32);
    }
    memory_free(table);
    return ig_failed() || !table ? error_waiting(IG_ERR_MEMORY) : IG_OK;
}

/* Runs one part, whose logits become s->logits. */
static ig_status part_run(session *s, const int32_t *ids, int64_t n, int64_t tokens, bool all)
{
    const int64_t caches = 2 * s->d->config.layers;
    int64_t places = PLACES_LEAST;
    while (places < s->length + tokens)
        places *= 2;
    if (places > s->capacity)
        places = s->capacity;
    plan *p = NULL;
    TRY(plan_get(s, tokens, places, all, &p));
    ig_array **list = memory_get((size_t)(2 * caches + 2 * INPUTS_MORE) * sizeof *list);
    if (!list || ig_scope_begin() != IG_OK) {
        memory_free(list);
        return error_waiting(IG_ERR_MEMORY);
    }
    ig_array **out = list + caches + INPUTS_MORE;
    network_in in = {.cache = s->cache};
    ig_status status = part_inputs(s, p, ids, n, &in);
    if (status == IG_OK) {
        inputs_list(s, &in, list);
        status = ig_run(p->compiled, list, out);
    }
    for (int64_t i = 0; status == IG_OK && i < caches; i++) {
        ig_release(s->cache[i]);
        s->cache[i] = ig_scope_forget(out[i]);
    }
    if (status == IG_OK) {
        ig_release(s->logits);
        s->logits = ig_scope_forget(out[caches]);
        s->length += n;
    }
    ig_scope_end();
    memory_free(list);
    return status;
}

static ig_status tokens_check(const session *s, const int32_t *ids, int64_t n)
{
    if (n < 1 || n > s->limit - s->length)
        FAIL(IG_ERR_ARGUMENT,
             "generate: %" PRId64 " tokens do not fit: the text has %" PRId64
             ", and its limit is %" PRId64,
             n, s->length, s->limit);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= s->d->config.vocabulary)
            FAIL(IG_ERR_ARGUMENT,
                 "generate: token %d is not in the vocabulary of %" PRId64 " tokens", ids[i],
                 s->d->config.vocabulary);
    return IG_OK;
}

const float *session_add(session *s, const int32_t *ids, int64_t n)
{
    if (tokens_check(s, ids, n) != IG_OK)
        return NULL;
    for (int64_t done = 0, tokens = 0, part = 0; done < n; done += part) {
        part = part_size(n - done, &tokens);
        if (part_run(s, ids + done, part, tokens, false) != IG_OK)
            return NULL;
    }
    return ig_data(s->logits);
}

ig_status session_each(session *s, const int32_t *ids, int64_t n,
                       ig_status (*visit)(void *context, int64_t token, const float *logits),
                       void *context)
{
    TRY(tokens_check(s, ids, n));
    for (int64_t done = 0, tokens = 0, part = 0; done < n; done += part) {
        part = part_size(n - done, &tokens);
        TRY(part_run(s, ids + done, part, tokens, true));
        const float *logits = ig_data(s->logits);
        if (!logits)
            return error_waiting(IG_ERR_MEMORY);
        for (int64_t i = 0; i < part; i++)
            TRY(visit(context, done + i, logits + i * s->d->config.vocabulary));
    }
    return IG_OK;
}
