/* Several answers at the same time: see scheduler.h. */
#include "lib/decoder/scheduler.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/decoder/answer.h"

#include <math.h>
#include <string.h>

enum { PART = 256, SHARED_LEAST = 16 /* tokens that are worth a copy */ };

/* A text of the session. */
typedef struct slot {
    answer *answer; /* NULL: none is being made */
    scheduled what;
    int64_t reused;
    int32_t *known; /* the tokens in the cache */
    int64_t n_known;
    int64_t used; /* the round of its last use */
} slot;

struct scheduler {
    decoder *d;
    const tokens_of *k;
    session *session;
    slot *slots;
    int64_t texts, capacity, rounds;
    int32_t *next; /* the tokens of a step */
};

scheduler *scheduler_new(decoder *d, const tokens_of *k, int64_t texts, int64_t capacity)
{
    scheduler *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    *s = (scheduler){.d = d, .k = k, .texts = texts, .capacity = capacity};
    s->slots = memory_new((size_t)texts * sizeof *s->slots);
    s->next = memory_get((size_t)texts * sizeof *s->next);
    s->session = s->slots && s->next ? session_new_texts(d, texts, capacity) : NULL;
    bool fine = s->session != NULL;
    for (int64_t i = 0; i < texts && fine; i++) {
        s->slots[i].known = memory_get((size_t)capacity * sizeof *s->slots[i].known);
        fine = s->slots[i].known != NULL;
    }
    if (fine)
        return s;
    scheduler_free(s);
    return NULL;
}

void scheduler_free(scheduler *s)
{
    if (!s)
        return;
    for (int64_t i = 0; s->slots && i < s->texts; i++) {
        answer_free(s->slots[i].answer);
        memory_free(s->slots[i].known);
    }
    session_free(s->session);
    memory_free(s->slots);
    memory_free(s->next);
    memory_free(s);
}

int64_t scheduler_room(const scheduler *s)
{
    int64_t room = 0;
    for (int64_t i = 0; i < s->texts; i++)
        room += !s->slots[i].answer;
    return room;
}

/* ---- the cache of prompts -------------------------------------------------------------------- */

/* How many tokens of a prompt a text of the cache begins with. The last one is always computed, for its logits. */
static int64_t shared_count(const slot *t, const int32_t *ids, int64_t n)
{
    int64_t same = 0;
    while (same < n - 1 && same < t->n_known && t->known[same] == ids[same])
        same++;
    return same;
}

static ig_status text_copy(scheduler *s, int64_t from, int64_t to, int64_t n)
{
    session_choose(s->session, to);
    s->slots[to].n_known = 0;
    TRY(session_copy(s->session, from, n));
    memcpy(s->slots[to].known, s->slots[from].known, (size_t)n * sizeof *s->slots[to].known);
    s->slots[to].n_known = n;
    s->slots[to].used = s->slots[from].used;
    return IG_OK;
}

/* The free text that was used least recently. */
static int64_t oldest(const scheduler *s)
{
    int64_t found = -1;
    for (int64_t i = s->texts - 1; i >= 0; i--)
        if (!s->slots[i].answer && (found < 0 || s->slots[i].used < s->slots[found].used))
            found = i;
    return found;
}

/* Chooses the first free text, so that steps have few rows, with the longest beginning of the prompt that any text has. What
 * it held moves to the oldest free text. Returns the text; *same: the tokens that it has. -1 on failure. */
static int64_t text_choose(scheduler *s, const int32_t *ids, int64_t n, int64_t *same)
{
    int64_t first = 0, best = -1;
    while (s->slots[first].answer)
        first++;
    *same = shared_count(&s->slots[first], ids, n);
    int64_t most = *same + SHARED_LEAST;
    for (int64_t i = 0; i < s->texts; i++) {
        const int64_t count = shared_count(&s->slots[i], ids, n);
        if (i != first && count >= most) {
            best = i;
            most = count;
        }
    }
    const int64_t victim = oldest(s);
    const bool lost =
        s->slots[first].n_known - *same >= SHARED_LEAST && victim != first && victim != best;
    if (lost && text_copy(s, first, victim, s->slots[first].n_known) != IG_OK)
        return -1;
    if (best >= 0 && text_copy(s, best, first, most) != IG_OK)
        return -1;
    if (best >= 0)
        *same = most;
    session_choose(s->session, first);
    session_cut(s->session, *same);
    s->slots[first].n_known = *same;
    return first;
}

/* ---- answers --------------------------------------------------------------------------------- */

ig_status scheduler_begin(scheduler *s, const scheduled *what)
{
    if (scheduler_room(s) == 0)
        FAIL(IG_ERR_ARGUMENT, "generate: all %lld texts are in use", (long long)s->texts);
    if (what->n < 1 || what->n + what->how.tokens > s->capacity)
        FAIL(IG_ERR_ARGUMENT,
             "generate: a prompt of %lld tokens and an answer of %lld do not fit into a context of "
             "%lld tokens",
             (long long)what->n, (long long)what->how.tokens, (long long)s->capacity);
    int64_t same = 0;
    const int64_t i = text_choose(s, what->prompt, what->n, &same);
    if (i < 0)
        return error_waiting(IG_ERR_MEMORY);
    slot *t = &s->slots[i];
    t->what = *what;
    t->reused = same;
    t->answer = answer_new(s->k, what->prompt, what->n, &what->how, s->d->config.vocabulary);
    return t->answer ? IG_OK : IG_ERR_MEMORY;
}

/* The tokens that the cache has become longer by. */
static void known_add(slot *t, int64_t n)
{
    int64_t length;
    const int32_t *all = answer_tokens(t->answer, &length);
    memcpy(t->known + t->n_known, all + t->n_known, (size_t)n * sizeof *all);
    t->n_known += n;
}

static void end(slot *t, ig_status status)
{
    answer *a = t->answer;
    t->answer = NULL;
    t->what.done(t->what.context, status, answer_result(a), t->reused);
    answer_free(a);
}

void scheduler_drop(scheduler *s, const void *context)
{
    for (int64_t i = 0; i < s->texts; i++)
        if (s->slots[i].answer && s->slots[i].what.context == context)
            end(&s->slots[i], IG_ERR_CANCELLED);
}

/* Gives the logits to the answer. */
static void advance(scheduler *s, slot *t, const float *logits)
{
    t->used = s->rounds;
    const ig_status status = answer_next(t->answer, logits);
    if (status != IG_OK || answer_ended(t->answer))
        end(t, status);
}

/* Ends all answers that wait for a step that failed. */
static void all_end(scheduler *s, ig_status status)
{
    char message[1024];
    const char *error = ig_error(NULL);
    strncpy(message, error ? error : "the step failed", sizeof message - 1);
    message[sizeof message - 1] = '\0';
    for (int64_t i = 0; i < s->texts; i++)
        if (s->slots[i].answer) {
            s->slots[i].n_known = 0;
            ig_fail(status, "%s", message);
            end(&s->slots[i], status);
        }
}

/* How many tokens a text has that are not in the cache. */
static int64_t missing(const slot *t)
{
    int64_t n = 0;
    if (t->answer)
        answer_tokens(t->answer, &n);
    return t->answer ? n - t->n_known : 0;
}

/* Computes a part of one prompt: of the text that was served least recently. */
static ig_status prompt_round(scheduler *s)
{
    int64_t chosen = -1, length;
    for (int64_t i = 0; i < s->texts; i++)
        if (missing(&s->slots[i]) > 1 && (chosen < 0 || s->slots[i].used < s->slots[chosen].used))
            chosen = i;
    if (chosen < 0)
        return IG_OK;
    slot *t = &s->slots[chosen];
    const int64_t rest = missing(t), n = rest < PART ? rest : PART;
    const int32_t *all = answer_tokens(t->answer, &length);
    session_choose(s->session, chosen);
    session_cut(s->session, t->n_known);
    const float *logits = session_add(s->session, all + t->n_known, n);
    if (!logits)
        return error_waiting(IG_ERR_INTERNAL);
    known_add(t, n);
    t->used = s->rounds;
    if (n == rest)
        advance(s, t, logits);
    return IG_OK;
}

/* Computes a token of each text that lacks one. */
static ig_status step_round(scheduler *s)
{
    int64_t n = 0, length;
    for (int64_t i = 0; i < s->texts; i++) {
        slot *t = &s->slots[i];
        const bool ready = missing(t) == 1;
        s->next[i] = ready ? answer_tokens(t->answer, &length)[t->n_known] : -1;
        n = ready ? i + 1 : n;
        if (ready) {
            session_choose(s->session, i);
            session_cut(s->session, t->n_known);
        }
    }
    const float *logits = n ? session_step(s->session, s->next, n) : NULL;
    if (n && !logits)
        return error_waiting(IG_ERR_INTERNAL);
    for (int64_t i = 0; i < n; i++)
        if (s->next[i] >= 0) {
            known_add(&s->slots[i], 1);
            advance(s, &s->slots[i], logits + i * s->d->config.vocabulary);
        }
    return IG_OK;
}

int64_t scheduler_round(scheduler *s)
{
    s->rounds++;
    for (int64_t i = 0; i < s->texts; i++) {
        slot *t = &s->slots[i];
        if (t->answer && answer_ended(t->answer)) /* it has no tokens */
            end(t, IG_OK);
        else if (t->answer && !t->what.wanted(t->what.context))
            end(t, ig_fail(IG_ERR_CANCELLED, "generate: nobody wants the answer"));
    }
    ig_status status = prompt_round(s);
    if (status == IG_OK)
        status = step_round(s);
    if (status != IG_OK)
        all_end(s, status);
    return s->texts - scheduler_room(s);
}

/* ---- embeddings ------------------------------------------------------------------------------ */

typedef struct summing {
    double *sum;
    int64_t width;
} summing;

static ig_status state_add(void *context, int64_t token, const float *states)
{
    const summing *m = context;
    (void)token;
    for (int64_t i = 0; i < m->width; i++)
        m->sum[i] += (double)states[i];
    return IG_OK;
}

ig_status scheduler_embed(scheduler *s, const int32_t *ids, int64_t n, float *out)
{
    const int64_t i = oldest(s), width = s->d->config.width;
    if (i < 0)
        FAIL(IG_ERR_ARGUMENT, "embeddings: all %lld texts are in use", (long long)s->texts);
    summing m = {.sum = memory_new((size_t)width * sizeof *m.sum), .width = width};
    if (!m.sum)
        return IG_ERR_MEMORY;
    session_choose(s->session, i);
    session_cut(s->session, 0);
    s->slots[i].n_known = 0;
    const ig_status status = session_states(s->session, ids, n, state_add, &m);
    double squares = 0;
    for (int64_t j = 0; j < width; j++)
        squares += m.sum[j] * m.sum[j];
    for (int64_t j = 0; j < width; j++)
        out[j] = (float)(squares > 0 ? m.sum[j] / sqrt(squares) : 0);
    memory_free(m.sum);
    return status;
}
