/* HTTP by libmicrohttpd, which is loaded when a server starts. Each connection has a thread. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "ingot/text.h"

typedef struct http_request {
    const char *method, *path;
    const char *host, *origin, *authorization; /* headers; NULL: not there */
    ig_text body;
    int socket;
} http_request;

/* The answer to a request: a body, or bytes that `read` gives as they are made. */
typedef struct http_reply {
    int status;
    const char *type;
    const char *security; /* Content-Security-Policy; NULL: none */
    char *body;           /* of memory_get; is released */
    size_t bytes;
    /* Writes up to `room` bytes and returns their number. It waits for the first one. 0: the end. */
    size_t (*read)(void *context, char *out, size_t room);
    void (*close)(void *context); /* after the last call of read, also if the client is gone */
    void *context;
} http_reply;

typedef struct http_options {
    const char *address; /* of IPv4 or IPv6, such as 127.0.0.1 */
    int port;            /* 0: any free one */
    size_t body_most;    /* bytes */
    int connections, idle_s;
    /* Called in the thread of the connection. reply has status 0. */
    void (*answer)(void *context, const http_request *request, http_reply *reply);
    void *context;
} http_options;

typedef struct http http;

/* NULL on failure. */
http *http_start(const http_options *options);
int http_port(const http *h);
/* Ends all connections. What `answer` and `read` wait for must come to an end. */
void http_stop(http *h);
/* True if the other end has closed the connection. */
bool http_gone(int socket);

#endif
