/* A server of one decoder model. The network runs in the thread that calls server_run; each connection has a thread that reads
 * the request and writes the answer. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "lib/decoder/decoder.h"

typedef struct server_options {
    const char *address, *key, *name, *template_path; /* key: NULL: none is needed */
    int64_t port, texts, context, queue, body_most, seconds;
    sampling sampling; /* the usual one */
} server_options;

extern const server_options server_options_default;

typedef struct server server;

/* Opens the port. The decoder and the tokens must stay open. NULL on failure. */
server *server_new(decoder *d, const tokens_of *k, const server_options *options);
int server_port(const server *s);
/* Answers until `stop` returns true, which is asked several times a second. */
ig_status server_run(server *s, bool (*stop)(void));
void server_free(server *s);

#endif
