/* Requests on their way through the server. The thread of the connection makes a job and waits for it; the thread of the network
 * answers it. The mutex of the server guards all that is not marked otherwise. */
#ifndef SERVE_JOB_H
#define SERVE_JOB_H

#include "lib/chat/chat.h"
#include "lib/decoder/scheduler.h"
#include "lib/serve/http.h"
#include "lib/serve/request.h"
#include "lib/serve/server.h"

#include <pthread.h>

/* A token of an answer: its place in the text is where the text that became certain with it ends. */
typedef struct said {
    size_t end;
    int32_t id;
    double logprob;
} said;

typedef struct job {
    struct server *server; /* these do not change once the job is submitted */
    asked asked;
    int32_t *ids;
    int64_t n;
    int64_t number, created, deadline_ns;
    int socket;
    pthread_cond_t changed;
    struct job *next;         /* in the queue */
    bool queued, ended, gone; /* gone: the client has left */
    ig_status status;
    char error[512]; /* if status is not IG_OK */
    text answer;
    said *said;
    int n_said, said_room;
    float *vectors; /* of embeddings: n_inputs rows */
    generation_result result;
    int64_t reused;
    size_t
        sent; /* for streams, used by the thread of the connection only: bytes of the answer, ... */
    int sent_tokens;
    int phase;
    text chunk;
} job;

struct server {
    decoder *d;
    const tokens_of *k;
    chat_template *template; /* NULL: there is none */
    server_options options;
    scheduler *scheduler; /* used by the thread of the network only */
    http *http;
    pthread_mutex_t mutex;
    pthread_cond_t submitted;
    job *first, **last; /* the queue */
    int64_t n_queued, n_running;
    int waiting; /* connections that have a job */
    bool closing;
    int64_t numbers, begun_ns, started;
    struct {
        int64_t requests, refused, left, prompt, reused, tokens;
    } count;
};

/* Puts a job into the queue. False: the queue is full. */
bool job_submit(job *j);
/* Waits until the job has ended, or has more than `bytes` of text. Notes if the client has left. The mutex is held. */
void job_wait(job *j, size_t bytes);
/* Waits for the end and releases the job. */
void job_free(job *j);

/* reply.c: answers as JSON. */
char *reply_error(int status, const char *name, const char *problem, const char *code);
char *reply_whole(job *j);
char *reply_vectors(const job *j);
/* The next piece of a stream for the text and tokens that have not been sent; the mutex is held. */
void reply_piece(job *j);

extern const char serve_page[];

#endif
