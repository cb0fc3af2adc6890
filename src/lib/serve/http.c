/* HTTP by libmicrohttpd: see http.h. The declarations are those that have not changed since version 0.9.71. */
#include "lib/serve/http.h"

#include "base/error.h"
#include "base/library.h"
#include "base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* ---- the library ----------------------------------------------------------------------------- */

enum { MHD_NO, MHD_YES };
enum { USE_THREAD_PER_CONNECTION = 4, USE_POLLING_THREAD = 8, USE_AUTO = 65536, USE_IPV6 = 16 };
enum {
    OPTION_END = 0,
    OPTION_CONNECTION_LIMIT = 2,
    OPTION_CONNECTION_TIMEOUT = 3,
    OPTION_NOTIFY_COMPLETED = 4,
    OPTION_SOCK_ADDR = 6
};
enum { HEADER = 1, MUST_COPY = 2, INFO_SOCKET = 6, INFO_PORT = 6 };
#define END_OF_STREAM ((ssize_t)-1)
#define SIZE_UNKNOWN UINT64_MAX

struct daemon;
struct connection;
struct response;

typedef int (*access_handler)(void *context, struct connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *bytes, void **own);
typedef ssize_t (*content_reader)(void *context, uint64_t at, char *out, size_t room);

static struct {
    struct daemon *(*start_daemon)(unsigned flags, uint16_t port, void *accept,
                                   void *accept_context, access_handler handler, void *context,
                                   ...);
    void (*stop_daemon)(struct daemon *d);
    const union daemon_info *(*get_daemon_info)(struct daemon *d, int kind, ...);
    const union connection_info *(*get_connection_info)(struct connection *c, int kind, ...);
    const char *(*lookup_connection_value)(struct connection *c, int kind, const char *name);
    struct response *(*create_response_from_buffer)(size_t bytes, void *data, int mode);
    struct response *(*create_response_from_callback)(uint64_t bytes, size_t block,
                                                      content_reader read, void *context,
                                                      void (*close)(void *context));
    int (*add_response_header)(struct response *r, const char *name, const char *value);
    int (*queue_response)(struct connection *c, unsigned status, struct response *r);
    void (*destroy_response)(struct response *r);
} lib;

union daemon_info {
    uint16_t port;
};
union connection_info {
    int socket;
};

static ig_status library_load(void)
{
    static const char *const files[] = {"libmicrohttpd.so.12", "libmicrohttpd.so",
                                        "libmicrohttpd.dylib", NULL};
    static const library_function functions[] = {
        {"MHD_start_daemon", &lib.start_daemon},
        {"MHD_stop_daemon", &lib.stop_daemon},
        {"MHD_get_daemon_info", &lib.get_daemon_info},
        {"MHD_get_connection_info", &lib.get_connection_info},
        {"MHD_lookup_connection_value", &lib.lookup_connection_value},
        {"MHD_create_response_from_buffer", &lib.create_response_from_buffer},
        {"MHD_create_response_from_callback", &lib.create_response_from_callback},
        {"MHD_add_response_header", &lib.add_response_header},
        {"MHD_queue_response", &lib.queue_response},
        {"MHD_destroy_response", &lib.destroy_response},
        {NULL, NULL}};
    static library_file wanted = {.files = files, .functions = functions};
    if (!library_there(&wanted))
        FAIL(IG_ERR_UNSUPPORTED,
             "serve needs the library libmicrohttpd, which was not found; install it (Debian: "
             "apt-get "
             "install libmicrohttpd12, Fedora: libmicrohttpd, macOS: brew install libmicrohttpd)");
    return IG_OK;
}

/* ---- requests -------------------------------------------------------------------------------- */

struct http {
    http_options options;
    struct daemon *daemon;
};

/* A request whose body is being read. */
typedef struct reading {
    char *body;
    size_t used;
    int room;
    bool too_long, failed;
} reading;

static void body_add(const http *h, reading *r, const char *data, size_t n)
{
    r->too_long = r->too_long || n > h->options.body_most - r->used;
    for (size_t i = 0; i < n && !r->too_long && !r->failed; i++) {
        r->failed = !memory_room(&r->body, (int)r->used, &r->room, 1);
        if (!r->failed)
            r->body[r->used++] = data[i];
    }
}

static ssize_t stream_read(void *context, uint64_t at, char *out, size_t room)
{
    const http_reply *s = context;
    (void)at;
    const size_t n = s->read(s->context, out, room);
    return n ? (ssize_t)n : END_OF_STREAM;
}

static void stream_close(void *context)
{
    http_reply *s = context;
    s->close(s->context);
    memory_free(s);
}

static struct response *response_make(const http_reply *reply)
{
    enum { BLOCK = 1 << 14 };
    if (!reply->read) {
        struct response *r = lib.create_response_from_buffer(
            reply->bytes, reply->body ? reply->body : "", MUST_COPY);
        memory_free(reply->body);
        return r;
    }
    http_reply *s = memory_get(sizeof *s);
    if (s)
        *s = *reply;
    struct response *r =
        s ? lib.create_response_from_callback(SIZE_UNKNOWN, BLOCK, stream_read, s, stream_close)
          : NULL;
    if (!r) {
        memory_free(s);
        reply->close(reply->context);
    }
    return r;
}

static int reply_queue(struct connection *c, const http_reply *reply)
{
    struct response *r = response_make(reply);
    if (!r)
        return MHD_NO;
    lib.add_response_header(r, "Content-Type", reply->type);
    lib.add_response_header(r, "Cache-Control", "no-store");
    lib.add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (reply->security)
        lib.add_response_header(r, "Content-Security-Policy", reply->security);
    if (reply->status == 401)
        lib.add_response_header(r, "WWW-Authenticate", "Bearer");
    if (reply->status == 503)
        lib.add_response_header(r, "Retry-After", "1");
    const int queued = lib.queue_response(c, (unsigned)reply->status, r);
    lib.destroy_response(r);
    return queued;
}

/* Called with the headers, then with each part of the body, then once more. */
static int handle(void *context, struct connection *c, const char *url, const char *method,
                  const char *version, const char *data, size_t *bytes, void **own)
{
    const http *h = context;
    reading *r = *own;
    http_reply reply = {0};
    (void)version;
    if (!r) {
        *own = memory_new(sizeof *r);
        return *own ? MHD_YES : MHD_NO;
    }
    if (*bytes) {
        body_add(h, r, data, *bytes);
        *bytes = 0;
        return MHD_YES;
    }
    if (r->failed)
        return MHD_NO;
    if (r->too_long) {
        static const char message[] =
            "{\"error\": {\"message\": \"the body is too long\", \"type\": "
            "\"invalid_request_error\", \"param\": null, \"code\": null}}\n";
        reply =
            (http_reply){.status = 413, .type = "application/json", .body = memory_text(message)};
        reply.bytes = reply.body ? sizeof message - 1 : 0;
    } else {
        const http_request request = {.method = method,
                                      .path = url,
                                      .host = lib.lookup_connection_value(c, HEADER, "Host"),
                                      .origin = lib.lookup_connection_value(c, HEADER, "Origin"),
                                      .authorization =
                                          lib.lookup_connection_value(c, HEADER, "Authorization"),
                                      .body = {r->body ? r->body : "", r->used},
                                      .socket = lib.get_connection_info(c, INFO_SOCKET)->socket};
        h->options.answer(h->options.context, &request, &reply);
    }
    return reply.status ? reply_queue(c, &reply) : MHD_NO;
}

static void completed(void *context, struct connection *c, void **own, int why)
{
    reading *r = *own;
    (void)context, (void)c, (void)why;
    if (r)
        memory_free(r->body);
    memory_free(r);
    *own = NULL;
}

bool http_gone(int socket)
{
    char byte;
    const ssize_t n = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* ---- the server ------------------------------------------------------------------------------ */

/* Reads an address of IPv4 or IPv6. */
static bool address_read(const http_options *o, struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, o->address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)o->port);
        return true;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)o->port);
    return inet_pton(AF_INET6, o->address, &six->sin6_addr) == 1;
}

http *http_start(const http_options *options)
{
    struct sockaddr_storage address;
    if (library_load() != IG_OK)
        return NULL;
    if (!address_read(options, &address))
        FAIL_NULL(IG_ERR_ARGUMENT, "serve: '%.100s' is not an address, such as 127.0.0.1 or ::1",
                  options->address);
    http *h = memory_new(sizeof *h);
    if (!h)
        return NULL;
    h->options = *options;
    unsigned flags = USE_POLLING_THREAD | USE_THREAD_PER_CONNECTION | USE_AUTO;
    flags |= address.ss_family == AF_INET6 ? USE_IPV6 : 0;
    h->daemon = lib.start_daemon(
        flags, (uint16_t)options->port, NULL, NULL, handle, h, OPTION_CONNECTION_LIMIT,
        (unsigned)options->connections, OPTION_CONNECTION_TIMEOUT, (unsigned)options->idle_s,
        OPTION_NOTIFY_COMPLETED, completed, NULL, OPTION_SOCK_ADDR, &address, OPTION_END);
    if (h->daemon)
        return h;
    memory_free(h);
    FAIL_NULL(IG_ERR_FILE,
              "serve: port %d of %.100s cannot be opened: %s; give another one with --port",
              options->port, options->address, strerror(errno));
}

int http_port(const http *h) { return lib.get_daemon_info(h->daemon, INFO_PORT)->port; }

void http_stop(http *h)
{
    if (!h)
        return;
    lib.stop_daemon(h->daemon);
    memory_free(h);
}
