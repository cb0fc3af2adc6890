/* Jobs between the threads of connections and the thread of the network: see job.h. */
#include "lib/serve/job.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <string.h>
#include <time.h>

enum { POLL_MS = 100 };

static void wait_some(pthread_cond_t *c, pthread_mutex_t *m)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(c, m, &until);
}

/* ---- threads of connections ------------------------------------------------------------------ */

bool job_submit(job *j)
{
    server *s = j->server;
    pthread_mutex_lock(&s->mutex);
    const bool fits = !s->closing && s->n_queued < s->options.queue;
    s->count.requests++;
    s->count.refused += !fits;
    if (fits) {
        j->number = ++s->numbers;
        if (!j->asked.seeded)
            j->asked.sampling.seed += (uint64_t)j->number;
        j->queued = true;
        *s->last = j;
        s->last = &j->next;
        s->n_queued++;
        s->waiting++;
        pthread_cond_signal(&s->submitted);
    }
    pthread_mutex_unlock(&s->mutex);
    return fits;
}

/* Takes a job out of the queue. */
static void unqueue(server *s, job *j)
{
    job **at = &s->first;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    if (!*at)
        s->last = at;
    j->next = NULL;
    j->queued = false;
    s->n_queued--;
}

static void job_end(job *j, ig_status status, const char *error)
{
    j->ended = true;
    j->status = status;
    strncpy(j->error, error ? error : "", sizeof j->error - 1);
    pthread_cond_broadcast(&j->changed);
}

void job_wait(job *j, size_t bytes)
{
    server *s = j->server;
    while (!j->ended && j->answer.used <= bytes && !j->gone) {
        wait_some(&j->changed, &s->mutex);
        if (j->ended || !http_gone(j->socket))
            continue;
        j->gone = true;
        s->count.left++;
    }
    if (j->gone && j->queued) {
        unqueue(s, j);
        job_end(j, IG_ERR_CANCELLED, "the client has left");
    }
}

void job_free(job *j)
{
    server *s = j->server;
    pthread_mutex_lock(&s->mutex);
    if (j->number && !j->ended) {
        s->count.left += !j->gone;
        j->gone = true;
        job_wait(j, SIZE_MAX);
        while (!j->ended)
            wait_some(&j->changed, &s->mutex);
    }
    if (j->number) /* it was submitted */
        s->waiting--;
    pthread_mutex_unlock(&s->mutex);
    asked_free(&j->asked);
    text_drop(&j->answer);
    text_drop(&j->chunk);
    memory_free(j->said);
    memory_free(j->vectors);
    memory_free(j->ids);
    pthread_cond_destroy(&j->changed);
    memory_free(j);
}

/* ---- the thread of the network --------------------------------------------------------------- */

static ig_status visit(void *context, const generated *g)
{
    job *j = context;
    pthread_mutex_lock(&j->server->mutex);
    text_add(&j->answer, "%.*s", (int)g->text.bytes, g->text.at);
    bool fine = !j->answer.failed;
    if (g->id >= 0) {
        fine = fine && memory_room(&j->said, j->n_said, &j->said_room, sizeof *j->said);
        if (fine)
            j->said[j->n_said++] =
                (said){.end = j->answer.used, .id = g->id, .logprob = g->logprob};
        j->server->count.tokens++;
    }
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->server->mutex);
    return fine ? IG_OK : IG_ERR_MEMORY;
}

static bool wanted(void *context)
{
    job *j = context;
    pthread_mutex_lock(&j->server->mutex);
    const bool stays = !j->gone && !j->server->closing && clock_ns() < j->deadline_ns;
    pthread_mutex_unlock(&j->server->mutex);
    return stays;
}

static void done(void *context, ig_status status, const generation_result *r, int64_t reused)
{
    job *j = context;
    const char *error = status == IG_OK ? NULL : ig_error(NULL);
    pthread_mutex_lock(&j->server->mutex);
    if (status == IG_ERR_CANCELLED)
        error = j->server->closing ? "the server ends" : "the answer took longer than the limit";
    j->result = *r;
    j->reused = reused;
    j->server->count.prompt += j->n;
    j->server->count.reused += reused;
    j->server->n_running--;
    job_end(j, status, error);
    pthread_mutex_unlock(&j->server->mutex);
}

static ig_status generation_begin(job *j)
{
    const asked *a = &j->asked;
    const scheduled what = {.prompt = j->ids,
                            .n = j->n,
                            .how = {.tokens = a->tokens,
                                    .sampling = a->sampling,
                                    .stops = (const char *const *)a->stops,
                                    .n_stops = a->n_stops,
                                    .ignores_end = a->ignores_end,
                                    .grammar = a->grammar,
                                    .visit = visit,
                                    .context = j},
                            .wanted = wanted,
                            .done = done,
                            .context = j};
    return scheduler_begin(j->server->scheduler, &what);
}

/* Embeds the inputs, whose tokens follow each other; each begins with its number of tokens. */
static ig_status embed(job *j)
{
    const int64_t width = j->server->d->config.width;
    for (int64_t i = 0, at = 0; i < j->asked.n_inputs && wanted(j); i++) {
        const int64_t n = j->ids[at++];
        TRY(scheduler_embed(j->server->scheduler, j->ids + at, n, j->vectors + i * width));
        at += n;
    }
    return IG_OK;
}

static void job_begin(job *j)
{
    const generation_result none = {0};
    if (j->asked.kind == ASKED_EMBEDDINGS) {
        const ig_status status = embed(j);
        done(j, status, &none, 0);
    } else {
        const ig_status status = generation_begin(j);
        if (status != IG_OK)
            done(j, status, &none, 0);
    }
}

ig_status server_run(server *s, bool (*stop)(void))
{
    int64_t running = 0;
    while (!stop()) {
        pthread_mutex_lock(&s->mutex);
        if (running == 0 && !s->first)
            wait_some(&s->submitted, &s->mutex);
        while (s->first && s->n_running < s->options.texts) {
            job *j = s->first;
            unqueue(s, j);
            s->n_running++;
            pthread_mutex_unlock(&s->mutex);
            job_begin(j);
            pthread_mutex_lock(&s->mutex);
        }
        pthread_mutex_unlock(&s->mutex);
        running = scheduler_round(s->scheduler);
    }
    pthread_mutex_lock(&s->mutex);
    s->closing = true;
    while (s->first) {
        job *j = s->first;
        unqueue(s, j);
        job_end(j, IG_ERR_CANCELLED, "the server ends");
    }
    pthread_mutex_unlock(&s->mutex);
    while (scheduler_round(s->scheduler))
        ;
    return IG_OK;
}
