/* Texts that grow token by token: their cache of keys and values, and the compiled graphs.
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
    enum { PLAN_LAST, PLAN_ALL, PLAN_STATES, PLAN_APART } form;
    ig_compiled *compiled;
} plan;

struct session {
    decoder *d;
    int64_t texts, chosen;
    int64_t *lengths; /* of each text */
    int64_t limit,
        capacity; /* of a text; capacity: places of the cache, for the limit and padding */
    int64_t arrays;
    ig_array **cache; /* owned: the arrays of the cache */
    plan plans[PLANS];
    int n_plans;
    ig_compiled *copy; /* of PART_MOST rows of all caches */
    ig_array *logits;  /* owned: of the last call */
};

/* ---- the cache ------------------------------------------------------------------------------- */

static ig_status cache_new(session *s)
{
    const decoder *d = s->d;
    const int parts = cache_parts(d);
    s->arrays = 2 * d->config.layers * parts;
    if (d->cache_limit && session_cache_bytes(s) > d->cache_limit)
        FAIL(IG_ERR_MEMORY,
             "generate: the cache of %" PRId64 " x %" PRId64 " tokens in %s needs %" PRIu64
             " bytes, and its limit is %" PRIu64
             "; choose fewer tokens, a smaller form (--cache q8) or a larger limit",
             s->texts, s->capacity, cache_name(d), session_cache_bytes(s), d->cache_limit);
    s->cache = memory_new((size_t)s->arrays * sizeof *s->cache);
    if (!s->cache)
        return IG_ERR_MEMORY;
    for (int64_t i = 0; i < s->arrays; i++) {
        const int part = (int)(i % parts);
        const ig_ints shape = IG_SHAPE(s->texts * s->capacity, cache_width(d, part));
        if (!(s->cache[i] = ig_scope_forget(ig_zeros(shape, cache_dtype(d, part)))))
            return error_waiting(IG_ERR_MEMORY);
    }
    return ig_eval(s->cache, (int)s->arrays);
}

uint64_t session_cache_bytes(const session *s) { return cache_bytes(s->d, s->texts * s->capacity); }

session *session_new(decoder *d, int64_t capacity) { return session_new_texts(d, 1, capacity); }

session *session_new_texts(decoder *d, int64_t texts, int64_t capacity)
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
    s->texts = texts;
    s->lengths = memory_new((size_t)texts * sizeof *s->lengths);
    s->limit = capacity;
    s->capacity = capacity + PART_MOST; /* with room for the padding of a part at the end */
    const bool begun = s->lengths && ig_scope_begin() == IG_OK;
    const bool fine = begun && cache_new(s) == IG_OK;
    if (begun)
        ig_scope_end();
    if (fine)
        return s;
    session_free(s);
    return NULL;
}

void session_free(session *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_plans; i++)
        ig_compiled_free(s->plans[i].compiled);
    ig_compiled_free(s->copy);
    for (int64_t i = 0; s->cache && i < s->arrays; i++)
        ig_release(s->cache[i]);
    memory_free(s->cache);
    memory_free(s->lengths);
    ig_release(s->logits);
    memory_free(s);
}

void session_choose(session *s, int64_t which) { s->chosen = which; }

int64_t session_length(const session *s) { return s->lengths[s->chosen]; }

int64_t session_vocabulary(const session *s) { return s->d->config.vocabulary; }

void session_cut(session *s, int64_t length)
{
    if (length >= 0 && length < session_length(s))
        s->lengths[s->chosen] = length;
}

/* ---- compiled graphs ------------------------------------------------------------------------- */

/* The inputs of a plan, in the order of ig_compile: caches, then these two arrays, each of which is one copy to a device.
 * numbers: (NUMBERS, T) i32; of the last two rows only the first element is used. rope: (2 or 4, T, dims), or NULL. */
enum { IDS, POSITIONS, PLACES, LAST, TEXT, NUMBERS };

typedef struct plan_inputs {
    ig_array *rope, *numbers;
} plan_inputs;

static int64_t rope_tables(const session *s) { return s->d->config.rope.local_base > 0 ? 4 : 2; }

/* Returns the number of inputs. */
static int inputs_list(const session *s, ig_array *const *cache, const plan_inputs *in,
                       ig_array **list)
{
    int n = 0;
    for (int64_t i = 0; i < s->arrays; i++)
        list[n++] = cache[i];
    if (in->rope)
        list[n++] = in->rope;
    list[n++] = in->numbers;
    return n;
}

/* The first elements of x[i], in a shape. */
static ig_array *part_of(ig_array *x, int64_t i, ig_ints shape)
{
    int64_t count = 1;
    for (int k = 0; k < shape.n; k++)
        count *= shape.v[k];
    x = x ? ig_reshape(x, IG_SHAPE(ig_dim(x, 0), -1)) : NULL;
    x = x ? ig_slice(x, IG_SHAPE(i, 0), IG_SHAPE(i + 1, count), IG_SHAPE(1, 1)) : NULL;
    return x ? ig_reshape(x, shape) : NULL;
}

/* The parts of the inputs. */
static void inputs_split(const session *s, const plan *p, const plan_inputs *in, network_in *net)
{
    const int64_t t = p->tokens, dims = s->d->config.rope.dims;
    net->ids = part_of(in->numbers, IDS, IG_SHAPE(t));
    net->positions = part_of(in->numbers, POSITIONS, IG_SHAPE(t));
    net->start = part_of(in->numbers, PLACES, IG_SHAPE(t, 1));
    net->last = net->all ? NULL : part_of(in->numbers, LAST, IG_SHAPE(1));
    net->text = s->texts > 1 && !net->apart ? part_of(in->numbers, TEXT, IG_SHAPE(1)) : NULL;
    for (int i = 0; in->rope && i < rope_tables(s); i++)
        net->rope[i] = part_of(in->rope, i, IG_SHAPE(t, dims));
}

static ig_status plan_compile(session *s, plan *p)
{
    decoder *d = s->d;
    const int64_t caches = s->arrays, dims = d->config.rope.dims;
    ig_array **in = memory_get((size_t)(3 * caches + 2 * INPUTS_MORE) * sizeof *in);
    ig_array **cache = in + caches + INPUTS_MORE, **out = cache + caches;
    ig_status status = IG_OK;
    if (!in || ig_scope_begin() != IG_OK) {
        memory_free(in);
        return IG_ERR_MEMORY;
    }
    network_in net = {.tokens = p->tokens,
                      .places = p->places,
                      .texts = s->texts,
                      .all = p->form != PLAN_LAST,
                      .apart = p->form == PLAN_APART,
                      .hidden = p->form == PLAN_STATES,
                      .cache = cache};
    for (int64_t i = 0; i < caches; i++)
        cache[i] = ig_placeholder(ig_shape(s->cache[i]), ig_dtype_of(s->cache[i]));
    plan_inputs more = {.numbers = ig_placeholder(IG_SHAPE(NUMBERS, p->tokens), IG_I32)};
    if (dims > 0)
        more.rope = ig_placeholder(IG_SHAPE(rope_tables(s), p->tokens, dims), IG_F32);
    inputs_split(s, p, &more, &net);
    const int n = inputs_list(s, cache, &more, in);
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

static ig_status plan_get(session *s, int64_t tokens, int64_t places, int form, plan **out)
{
    for (int i = 0; i < s->n_plans; i++)
        if (s->plans[i].tokens == tokens && s->plans[i].places == places &&
            (int)s->plans[i].form == form) {
            *out = &s->plans[i];
            return IG_OK;
        }
    if (s->n_plans == PLANS) { /* the first one is the oldest */
        ig_compiled_free(s->plans[0].compiled);
        memmove(s->plans, s->plans + 1, (PLANS - 1) * sizeof *s->plans);
        s->n_plans--;
    }
    *out = &s->plans[s->n_plans];
    **out = (plan){.tokens = tokens, .places = places, .form = form};
    TRY(plan_compile(s, *out));
    s->n_plans++;
    return IG_OK;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Each cache with the rows of the first list of indices at those of the second one. */
static ig_status copy_compile(session *s)
{
    const int n = (int)s->arrays;
    ig_array **in = memory_get((size_t)(2 * n + 2) * sizeof *in), **out = in + n + 2;
    if (!in || ig_scope_begin() != IG_OK) {
        memory_free(in);
        return error_waiting(IG_ERR_MEMORY);
    }
    in[n] = ig_placeholder(IG_SHAPE(PART_MOST), IG_I32);
    in[n + 1] = ig_placeholder(IG_SHAPE(PART_MOST, 1), IG_I32);
    for (int i = 0; i < n; i++) {
        in[i] = ig_placeholder(ig_shape(s->cache[i]), ig_dtype_of(s->cache[i]));
        ig_array *rows = in[i] && in[n] ? ig_take(in[i], in[n], IG_AXES(0)) : NULL;
        out[i] = rows && in[n + 1] ? ig_scatter_nd(in[i], in[n + 1], rows, "set") : NULL;
    }
    s->copy = ig_failed() ? NULL : compile_expending(in, n + 2, n, out, n);
    ig_scope_end();
    memory_free(in);
    return s->copy ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status rows_copy(session *s, const int32_t *from, const int32_t *to)
{
    const int n = (int)s->arrays;
    ig_array **in = memory_get((size_t)(2 * n + 2) * sizeof *in), **out = in + n + 2;
    if (!in || ig_scope_begin() != IG_OK) {
        memory_free(in);
        return error_waiting(IG_ERR_MEMORY);
    }
    memcpy(in, s->cache, (size_t)n * sizeof *in);
    in[n] = ig_from_data(from, IG_SHAPE(PART_MOST), IG_I32);
    in[n + 1] = ig_from_data(to, IG_SHAPE(PART_MOST, 1), IG_I32);
    const ig_status status = ig_failed() ? error_waiting(IG_ERR_MEMORY) : ig_run(s->copy, in, out);
    for (int i = 0; status == IG_OK && i < n; i++) {
        ig_release(s->cache[i]);
        s->cache[i] = ig_scope_forget(out[i]);
    }
    ig_scope_end();
    memory_free(in);
    return status;
}

ig_status session_copy(session *s, int64_t from, int64_t length)
{
    int32_t rows[2][PART_MOST];
    if (!s->copy)
        TRY(copy_compile(s));
    for (int64_t done = 0; done < length; done += PART_MOST) {
        for (int64_t i = 0; i < PART_MOST; i++) { /* the last row again, to fill the part */
            const int64_t row = done + i < length ? done + i : length - 1;
            rows[0][i] = (int32_t)(from * s->capacity + row);
            rows[1][i] = (int32_t)(s->chosen * s->capacity + row);
        }
        TRY(rows_copy(s, rows[0], rows[1]));
    }
    s->lengths[s->chosen] = length;
    return IG_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The tokens of a part: of the chosen text, or one of each text. */
typedef struct part {
    int32_t ids[PART_MOST], positions[PART_MOST], rows[PART_MOST]; /* rows: of the cache */
    int32_t last;
} part;

/* The angles of all positions. */
static ig_array *rope_input(const session *s, const plan *p, const part *q)
{
    const int64_t dims = s->d->config.rope.dims, count = p->tokens * dims;
    const int64_t tables = rope_tables(s);
    float *table = memory_get((size_t)(tables * count) * sizeof *table);
    if (!table)
        return NULL;
    for (int64_t i = 0; i < tables; i += 2)
        for (int64_t t = 0, n; t < p->tokens; t += n) { /* runs of positions */
            for (n = 1; t + n < p->tokens && q->positions[t + n] == q->positions[t] + n;)
                n++;
            float *to = table + i * count + t * dims;
            rope_fill(s->d, i > 0, q->positions[t], n, s->limit, to, to + count);
        }
    ig_array *x = ig_from_data(table, IG_SHAPE(tables, p->tokens, dims), IG_F32);
    memory_free(table);
    return x;
}

static ig_status inputs_make(const session *s, const plan *p, const part *q, plan_inputs *in)
{
    int32_t numbers[NUMBERS * PART_MOST] = {0};
    const int64_t t = p->tokens;
    const size_t bytes = (size_t)t * sizeof *numbers;
    memcpy(numbers + IDS * t, q->ids, bytes);
    memcpy(numbers + POSITIONS * t, q->positions, bytes);
    memcpy(numbers + PLACES * t, q->rows, bytes);
    numbers[LAST * t] = q->last;
    numbers[TEXT * t] = (int32_t)s->chosen;
    in->numbers = ig_from_data(numbers, IG_SHAPE(NUMBERS, t), IG_I32);
    in->rope = s->d->config.rope.dims > 0 ? rope_input(s, p, q) : NULL;
    return ig_failed() ? error_waiting(IG_ERR_MEMORY) : IG_OK;
}

/* Runs one part, whose logits become s->logits. least: places of the cache that it reads. */
static ig_status part_run(session *s, const part *q, int64_t tokens, int64_t least, int form)
{
    const int64_t caches = s->arrays;
    int64_t places = PLACES_LEAST;
    while (places < least)
        places *= 2;
    if (places > s->capacity)
        places = s->capacity;
    plan *p = NULL;
    TRY(plan_get(s, tokens, places, form, &p));
    ig_array **list = memory_get((size_t)(2 * caches + 2 * INPUTS_MORE) * sizeof *list);
    if (!list || ig_scope_begin() != IG_OK) {
        memory_free(list);
        return error_waiting(IG_ERR_MEMORY);
    }
    ig_array **out = list + caches + INPUTS_MORE;
    plan_inputs in = {0};
    ig_status status = inputs_make(s, p, q, &in);
    ig_release(s->logits); /* the new ones take their memory, so that a CUDA graph stays as it is */
    s->logits = NULL;
    if (status == IG_OK) {
        inputs_list(s, s->cache, &in, list);
        status = ig_run(p->compiled, list, out);
    }
    for (int64_t i = 0; status == IG_OK && i < caches; i++) {
        ig_release(s->cache[i]);
        s->cache[i] = ig_scope_forget(out[i]);
    }
    if (status == IG_OK)
        s->logits = ig_scope_forget(out[caches]);
    ig_scope_end();
    memory_free(list);
    return status;
}

/* Adds n tokens to the chosen text. The padding repeats the last token. */
static ig_status text_run(session *s, const int32_t *ids, int64_t n, int64_t tokens, int form)
{
    const int64_t length = session_length(s);
    part q = {.last = (int32_t)n - 1};
    for (int64_t i = 0; i < tokens; i++) {
        q.ids[i] = ids[i < n ? i : n - 1];
        q.positions[i] = (int32_t)(length + (i < n ? i : n - 1));
        q.rows[i] = (int32_t)(s->chosen * s->capacity + length + i);
    }
    TRY(part_run(s, &q, tokens, length + tokens, form));
    s->lengths[s->chosen] += n;
    return IG_OK;
}

static ig_status tokens_check(const session *s, int64_t length, const int32_t *ids, int64_t n)
{
    if (n < 1 || n > s->limit - length)
        FAIL(IG_ERR_ARGUMENT,
             "generate: %" PRId64 " tokens do not fit: the text has %" PRId64
             ", and its limit is %" PRId64,
             n, length, s->limit);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= s->d->config.vocabulary)
            FAIL(IG_ERR_ARGUMENT,
                 "generate: token %d is not in the vocabulary of %" PRId64 " tokens", ids[i],
                 s->d->config.vocabulary);
    return IG_OK;
}

const float *session_add(session *s, const int32_t *ids, int64_t n)
{
    if (tokens_check(s, session_length(s), ids, n) != IG_OK)
        return NULL;
    for (int64_t done = 0, tokens = 0, size = 0; done < n; done += size) {
        size = part_size(n - done, &tokens);
        if (text_run(s, ids + done, size, tokens, PLAN_LAST) != IG_OK)
            return NULL;
    }
    return ig_data(s->logits);
}

const float *session_step(session *s, const int32_t *ids, int64_t n)
{
    part q = {0};
    int64_t tokens = 1, places = 0;
    if (s->texts == 1)
        return session_add(s, ids, n);
    if (n < 1 || n > s->texts || n > PART_MOST)
        FAIL_NULL(IG_ERR_ARGUMENT, "generate: a step of %" PRId64 " texts; there are %" PRId64, n,
                  s->texts);
    while (tokens < n)
        tokens *= 2;
    tokens = tokens < s->texts ? tokens : s->texts;
    for (int64_t i = 0; i < tokens; i++) {
        const bool active = i < n && ids[i] >= 0;
        const int64_t length = active ? s->lengths[i] : 0;
        if (active && tokens_check(s, length, ids + i, 1) != IG_OK)
            return NULL;
        /* Others write to the last place, which is past the limit of every text. */
        q.ids[i] = active ? ids[i] : 0;
        q.positions[i] = (int32_t)length;
        q.rows[i] = (int32_t)(i * s->capacity + (active ? length : s->capacity - 1));
        places = length + 1 > places ? length + 1 : places;
    }
    if (part_run(s, &q, tokens, places, PLAN_APART) != IG_OK)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        s->lengths[i] += ids[i] >= 0;
    return ig_data(s->logits);
}

/* Adds tokens, and calls visit with each row of the results. */
static ig_status rows_visit(session *s, const int32_t *ids, int64_t n, int form, int64_t width,
                            ig_status (*visit)(void *context, int64_t token, const float *row),
                            void *context)
{
    TRY(tokens_check(s, session_length(s), ids, n));
    for (int64_t done = 0, tokens = 0, size = 0; done < n; done += size) {
        size = part_size(n - done, &tokens);
        TRY(text_run(s, ids + done, size, tokens, form));
        const float *rows = ig_data(s->logits);
        if (!rows)
            return error_waiting(IG_ERR_MEMORY);
        for (int64_t i = 0; i < size; i++)
            TRY(visit(context, done + i, rows + i * width));
    }
    return IG_OK;
}

ig_status session_each(session *s, const int32_t *ids, int64_t n,
                       ig_status (*visit)(void *context, int64_t token, const float *logits),
                       void *context)
{
    return rows_visit(s, ids, n, PLAN_ALL, s->d->config.vocabulary, visit, context);
}

ig_status session_states(session *s, const int32_t *ids, int64_t n,
                         ig_status (*visit)(void *context, int64_t token, const float *states),
                         void *context)
{
    return rows_visit(s, ids, n, PLAN_STATES, s->d->config.width, visit, context);
}
