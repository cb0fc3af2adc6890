/* The server: its paths, and what they answer. */
#include "lib/serve/server.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "lib/decoder/conversation.h"
#include "lib/serve/job.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { CONNECTIONS_MORE = 64, IDLE_S = 60 };

const server_options server_options_default = {.address = "127.0.0.1",
                                               .port = 8080,
                                               .texts = 4,
                                               .queue = 256,
                                               .body_most = 4 << 20,
                                               .seconds = 600};

/* ---- simple answers -------------------------------------------------------------------------- */

static void answer_text(http_reply *r, int status, const char *type, char *body)
{
    *r = (http_reply){.status = body ? status : 500, .type = type, .body = body};
    r->bytes = body ? strlen(body) : 0;
}

static void answer_error(http_reply *r, int status, const char *name, const char *problem,
                         const char *code)
{
    answer_text(r, status, "application/json", reply_error(status, name, problem, code));
}

/* The pending error: a mistake of the request, or a failure of the server. */
static void answer_failure(http_reply *r, const char *name)
{
    ig_status status = IG_OK;
    const char *error = ig_error(&status);
    answer_error(r, status == IG_ERR_MEMORY || status == IG_ERR_INTERNAL ? 500 : 400, name,
                 error ? error : "it failed", NULL);
}

static void models_answer(server *s, const http_request *q, http_reply *r)
{
    text out = {0};
    (void)q;
    json_add(&out,
             "{object: list, data: [{id: %s, object: model, created: %lld, owned_by: ingot}]}\n",
             s->options.name, (long long)s->started);
    answer_text(r, 200, "application/json", text_take(&out));
}

static void metrics_answer(server *s, const http_request *q, http_reply *r)
{
    text out = {0};
    (void)q;
    pthread_mutex_lock(&s->mutex);
    const struct {
        const char *name, *kind;
        int64_t value;
    } rows[] = {{"requests_total", "counter", s->count.requests},
                {"requests_refused_total", "counter", s->count.refused},
                {"requests_left_total", "counter", s->count.left},
                {"prompt_tokens_total", "counter", s->count.prompt},
                {"prompt_tokens_cached_total", "counter", s->count.reused},
                {"generated_tokens_total", "counter", s->count.tokens},
                {"requests_running", "gauge", s->n_running},
                {"requests_queued", "gauge", s->n_queued},
                {"uptime_seconds", "gauge", (clock_ns() - s->begun_ns) / 1000000000}};
    pthread_mutex_unlock(&s->mutex);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        text_add(&out, "# TYPE ingot_%s %s\ningot_%s %lld\n", rows[i].name, rows[i].kind,
                 rows[i].name, (long long)rows[i].value);
    answer_text(r, 200, "text/plain; version=0.0.4", text_take(&out));
}

/* ---- answers of the model -------------------------------------------------------------------- */

static job *job_new(server *s, const http_request *q)
{
    job *j = memory_new(sizeof *j);
    if (!j)
        return NULL;
    j->server = s;
    j->socket = q->socket;
    j->created = (int64_t)time(NULL);
    j->deadline_ns = clock_ns() + s->options.seconds * 1000000000;
    pthread_cond_init(&j->changed, NULL);
    return j;
}

/* The tokens of the inputs of embeddings: for each its number of tokens, and then these. */
static bool inputs_encode(job *j, http_reply *r)
{
    int64_t used = 0;
    int room = 0;
    const int64_t width = j->server->d->config.width;
    for (int i = 0; i < j->asked.n_inputs; i++) {
        int64_t n = 0;
        int32_t *ids = tokens_encode(j->server->k, j->asked.inputs[i], &n);
        bool fine = ids && n > 0 && n <= j->server->options.context;
        for (int64_t k = -1; k < n && fine; k++) {
            fine = memory_room(&j->ids, (int)used, &room, sizeof *ids);
            if (fine)
                j->ids[used++] = k < 0 ? (int32_t)n : ids[k];
        }
        memory_free(ids);
        j->n += n;
        if (!fine && ids)
            answer_error(r, 400, "input", "a text is empty, or longer than the context",
                         "context_length_exceeded");
        else if (!fine)
            answer_failure(r, "input");
        if (!fine)
            return false;
    }
    j->vectors = memory_new((size_t)(j->asked.n_inputs * width) * sizeof *j->vectors);
    if (!j->vectors)
        answer_failure(r, NULL);
    return j->vectors != NULL;
}

/* The tokens of the prompt, and how many may follow. */
static bool prompt_encode(job *j, http_reply *r)
{
    const server *s = j->server;
    asked *a = &j->asked;
    char problem[160];
    const char *name = a->kind == ASKED_CHAT ? "messages" : "prompt";
    if (a->kind == ASKED_EMBEDDINGS)
        return inputs_encode(j, r);
    if (a->kind == ASKED_CHAT && !s->template) {
        answer_error(r, 400, NULL, "the model has no chat template; give one with --template FILE",
                     NULL);
        return false;
    }
    j->ids = a->kind == ASKED_CHAT
                 ? conversation_prompt(s->template, s->k, a->messages, &j->n)
                 : tokens_encode(s->k, (ig_text){a->prompt, a->prompt_bytes}, &j->n);
    if (!j->ids || j->n < 1) {
        answer_failure(r, name);
        return false;
    }
    const int64_t room = s->options.context - j->n;
    if (room < 1) {
        snprintf(problem, sizeof problem, "it has %lld tokens, and the context has room for %lld",
                 (long long)j->n, (long long)s->options.context);
        answer_error(r, 400, name, problem, "context_length_exceeded");
        return false;
    }
    a->tokens = a->tokens < 0 || a->tokens > room ? room : a->tokens;
    return true;
}

/* The next bytes of a stream. */
static size_t stream_read(void *context, char *out, size_t room)
{
    job *j = context;
    if (!j->chunk.used && j->phase < 2) {
        pthread_mutex_lock(&j->server->mutex);
        job_wait(j, j->sent);
        if (!j->gone)
            reply_piece(j);
        pthread_mutex_unlock(&j->server->mutex);
    }
    const size_t n = j->chunk.used < room ? j->chunk.used : room;
    if (!n)
        return 0;
    memcpy(out, j->chunk.at, n);
    memmove(j->chunk.at, j->chunk.at + n, j->chunk.used - n);
    j->chunk.used -= n;
    return n;
}

static void stream_close(void *context) { job_free(context); }

/* Answers by a job that has been submitted, and releases it. */
static void job_answer(job *j, http_reply *r)
{
    if (j->asked.stream) {
        *r = (http_reply){.status = 200,
                          .type = "text/event-stream",
                          .read = stream_read,
                          .close = stream_close,
                          .context = j};
        return;
    }
    pthread_mutex_lock(&j->server->mutex);
    job_wait(j, SIZE_MAX);
    const ig_status status = j->gone ? IG_ERR_CANCELLED : j->status;
    if (status == IG_OK)
        answer_text(r, 200, "application/json",
                    j->asked.kind == ASKED_EMBEDDINGS ? reply_vectors(j) : reply_whole(j));
    else
        answer_error(r, status == IG_ERR_CANCELLED ? 503 : 500, NULL, j->error, NULL);
    pthread_mutex_unlock(&j->server->mutex);
    job_free(j);
}

static void generation_answer(server *s, const http_request *q, asked_kind kind, http_reply *r)
{
    mistake m;
    job *j = job_new(s, q);
    if (!j) {
        answer_failure(r, NULL);
        return;
    }
    if (!asked_read(&j->asked, kind, &s->options.sampling, q->body, &m)) {
        if (*m.problem)
            answer_error(r, 400, m.field, m.problem, NULL);
        else
            answer_failure(r, NULL);
        job_free(j);
    } else if (!prompt_encode(j, r)) {
        job_free(j);
    } else if (!job_submit(j)) {
        answer_error(r, 503, NULL, "the queue is full; try again later", "queue_full");
        job_free(j);
    } else {
        job_answer(j, r);
    }
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void chat_answer(server *s, const http_request *q, http_reply *r)
{
    generation_answer(s, q, ASKED_CHAT, r);
}

static void completion_answer(server *s, const http_request *q, http_reply *r)
{
    generation_answer(s, q, ASKED_COMPLETION, r);
}

static void embeddings_answer(server *s, const http_request *q, http_reply *r)
{
    generation_answer(s, q, ASKED_EMBEDDINGS, r);
}

static void health_answer(server *s, const http_request *q, http_reply *r)
{
    (void)s, (void)q;
    answer_text(r, 200, "application/json", memory_text("{\"status\": \"ok\"}\n"));
}

static void page_answer(server *s, const http_request *q, http_reply *r)
{
    (void)s, (void)q;
    answer_text(r, 200, "text/html; charset=utf-8", memory_text(serve_page));
    r->security = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

static const struct {
    const char *path, *method;
    bool open; /* without the key */
    void (*answer)(server *s, const http_request *q, http_reply *r);
} paths[] = {{"/", "GET", true, page_answer},
             {"/health", "GET", true, health_answer},
             {"/metrics", "GET", false, metrics_answer},
             {"/v1/models", "GET", false, models_answer},
             {"/v1/chat/completions", "POST", false, chat_answer},
             {"/v1/completions", "POST", false, completion_answer},
             {"/v1/embeddings", "POST", false, embeddings_answer}};

/* True if the header has the key. The time does not depend on which characters differ. */
static bool key_fits(const server *s, const char *header)
{
    static const char scheme[] = "Bearer ";
    const char *key = s->options.key;
    if (!key)
        return true;
    if (!header || strncmp(header, scheme, sizeof scheme - 1) != 0)
        return false;
    header += sizeof scheme - 1;
    unsigned differ = strlen(header) != strlen(key);
    for (size_t i = 0; header[i] && key[i]; i++)
        differ |= (unsigned char)header[i] ^ (unsigned char)key[i];
    return !differ;
}

/* Pages of other places must not use the server through the browser of its user. */
static bool is_foreign(const http_request *q)
{
    const char *host = q->origin ? strstr(q->origin, "://") : NULL;
    return q->origin && (!host || !q->host || strcmp(host + 3, q->host) != 0);
}

/* A server for this machine only is asked by a name of this machine. Another name, even localhost.example, may belong to
 * a site that has made it lead here, to read answers with its pages. */
static bool host_fits(const server *s, const char *host)
{
    if (!host ||
        (strncmp(s->options.address, "127.", 4) != 0 && strcmp(s->options.address, "::1") != 0))
        return true;
    const char *port = strrchr(host, ':');
    const size_t n = port && !strchr(port, ']') ? (size_t)(port - host) : strlen(host);
    return (n == 9 && strncasecmp(host, "localhost", n) == 0) ||
           (n == 5 && memcmp(host, "[::1]", n) == 0) ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == n);
}

static void request_answer(void *context, const http_request *q, http_reply *r)
{
    server *s = context;
    ig_error(NULL);
    if (is_foreign(q) || !host_fits(s, q->host)) {
        answer_error(r, 403, NULL, "requests from other sites are refused", NULL);
        return;
    }
    bool known = false;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (strcmp(q->path, paths[i].path) != 0)
            continue;
        known = true;
        if (strcmp(q->method, paths[i].method) != 0)
            continue;
        if (paths[i].open || key_fits(s, q->authorization))
            paths[i].answer(s, q, r);
        else
            answer_error(r, 401, NULL, "the key is missing or wrong: Authorization: Bearer KEY",
                         "invalid_api_key");
        return;
    }
    answer_error(r, known ? 405 : 404, NULL,
                 known ? "this path has another method" : "this path is not known", NULL);
}

/* ---- the server ------------------------------------------------------------------------------ */

server *server_new(decoder *d, const tokens_of *k, const server_options *options)
{
    enum { CONTEXT = 2048 };
    server *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    s->d = d;
    s->k = k;
    s->options = *options;
    s->last = &s->first;
    s->begun_ns = clock_ns();
    s->started = (int64_t)time(NULL);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->submitted, NULL);
    if (!s->options.context)
        s->options.context = d->config.context < CONTEXT ? d->config.context : CONTEXT;
    s->template = conversation_template(d, options->template_path);
    if (!s->template && !options->template_path)
        ig_error(NULL); /* only /v1/chat/completions needs it */
    s->scheduler = ig_failed() ? NULL : scheduler_new(d, k, s->options.texts, s->options.context);
    const http_options how = {.address = options->address,
                              .port = (int)options->port,
                              .body_most = (size_t)options->body_most,
                              .connections =
                                  (int)(options->texts + options->queue) + CONNECTIONS_MORE,
                              .idle_s = IDLE_S,
                              .answer = request_answer,
                              .context = s};
    s->http = s->scheduler ? http_start(&how) : NULL;
    if (s->http)
        return s;
    server_free(s);
    return NULL;
}

int server_port(const server *s) { return http_port(s->http); }

void server_free(server *s)
{
    if (!s)
        return;
    http_stop(s->http);
    scheduler_free(s->scheduler);
    chat_template_free(s->template);
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->submitted);
    memory_free(s);
}
