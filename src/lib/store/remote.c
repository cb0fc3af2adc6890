/* Objects on servers: see remote.h. */
#include "lib/store/remote.h"

#include "base/error.h"
#include "base/library.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Values of curl.h. */
enum {
    OPTION_URL = 10002,
    OPTION_WRITE_DATA = 10001,
    OPTION_WRITE = 20011,
    OPTION_HEADER_DATA = 10029,
    OPTION_HEADER = 20079,
    OPTION_NO_SIGNAL = 99,
    OPTION_CONNECT_MS = 156,
    OPTION_SLOW_BYTES = 19,
    OPTION_SLOW_SECONDS = 20,
    OPTION_FOLLOW = 52,
    OPTION_REDIRECTIONS = 68,
    OPTION_PROTOCOLS = 181,
    OPTION_REDIRECTION_PROTOCOLS = 182,
    OPTION_RANGE = 10007,
    OPTION_NO_BODY = 44,
    OPTION_AGENT = 10018,
    OPTION_SIGNATURE = 10305,
    OPTION_USER = 10005,
    OPTION_HEADERS = 10023,
    PROTOCOL_HTTP = 1,
    PROTOCOL_HTTPS = 2,
    GLOBAL_ALL = 3,
    FAILED_WRITE = 23
};

enum {
    TRIES = 5,
    FIRST_PAUSE_MS = 100, /* each is four times as long as the one before it */
    LONG_PAUSES = 4,      /* from this one on, LONGEST_PAUSE_MS */
    LONGEST_PAUSE_MS = 2000,
    CONNECT_MS = 10000,
    SLOW_SECONDS = 30,
    REDIRECTIONS = 5,
    KEPT_MAX = 32,
    FIRST_BYTES = 64 << 10 /* of an object whose size is not known */
};

static struct {
    int (*begin)(long flags);
    void *(*handle_new)(void);
    void (*handle_reset)(void *handle);
    void (*handle_free)(void *handle);
    int (*set)(void *handle, int option, ...);
    int (*perform)(void *handle);
    const char *(*error)(int code);
    void *(*list_add)(void *list, const char *line);
    void (*list_free)(void *list);
} curl;

struct remote {
    char *base;  /* the address, without a slash at its end and without its query */
    char *query; /* "?...", or "" */
    bool secure;
    bool s3;
    char *user;      /* of S3: "key:secret"; NULL: anonymous */
    char *signature; /* how requests are signed */
    char *token;     /* a header; NULL: none */
    pthread_mutex_t lock;
    void *kept[KEPT_MAX]; /* handles with open connections */
    int n_kept;
};

static bool library_begin(void) { return curl.begin(GLOBAL_ALL) == 0; }

static bool curl_there(void)
{
    static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib",
                                        "/usr/lib/libcurl.4.dylib", NULL};
    static const library_function functions[] = {
        {"curl_global_init", &curl.begin},        {"curl_easy_init", &curl.handle_new},
        {"curl_easy_reset", &curl.handle_reset},  {"curl_easy_cleanup", &curl.handle_free},
        {"curl_easy_setopt", &curl.set},          {"curl_easy_perform", &curl.perform},
        {"curl_easy_strerror", &curl.error},      {"curl_slist_append", &curl.list_add},
        {"curl_slist_free_all", &curl.list_free}, {NULL, NULL}};
    static library_file wanted = {.files = files, .functions = functions, .begin = library_begin};
    return library_there(&wanted);
}

bool remote_is_address(const char *path)
{
    return strncasecmp(path, "http://", 7) == 0 || strncasecmp(path, "https://", 8) == 0 ||
           strncasecmp(path, "s3://", 5) == 0;
}

/* ---- addresses ---------------------------------------------------------------------------------------- */

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* "s3://bucket/path" as an address, and the keys of the user, from the variables that other programs of S3 use. */
static bool s3_address(remote *r, const char *path, text *address)
{
    const char *bucket = path + strlen("s3://"), *endpoint = setting("AWS_ENDPOINT_URL");
    const char *region = setting("AWS_REGION"), *key = setting("AWS_ACCESS_KEY_ID");
    const char *secret = setting("AWS_SECRET_ACCESS_KEY"), *token = setting("AWS_SESSION_TOKEN");
    const int n = (int)strcspn(bucket, "/");
    text user = {0}, signature = {0}, header = {0};
    region = region ? region : setting("AWS_DEFAULT_REGION");
    region = region ? region : "us-east-1";
    r->s3 = true;
    if (endpoint)
        text_add(address, "%s/%s", endpoint, bucket);
    else
        text_add(address, "https://%.*s.s3.%s.amazonaws.com%s", n, bucket, region, bucket + n);
    if (!key || !secret)
        return true;
    text_add(&user, "%s:%s", key, secret);
    text_add(&signature, "aws:amz:%s:s3", region);
    r->user = text_take(&user);
    r->signature = text_take(&signature);
    if (token) {
        text_add(&header, "x-amz-security-token: %s", token);
        r->token = text_take(&header);
    }
    return r->user && r->signature && (!token || r->token);
}

remote *remote_open(const char *path)
{
    char shown[IO_SHOWN_BYTES];
    text address = {0};
    io_show(path, shown);
    if (!curl_there())
        FAIL_NULL(IG_ERR_UNSUPPORTED,
                  "load '%s': addresses need libcurl, which is not installed; install it", shown);
    remote *r = memory_new(sizeof *r);
    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    bool good = true;
    if (strncasecmp(path, "s3://", 5) == 0)
        good = s3_address(r, path, &address);
    else
        text_add(&address, "%s", path);
    r->base = text_take(&address);
    if (good && r->base) {
        char *query = strchr(r->base, '?');
        r->query = memory_text(query ? query : "");
        size_t n = query ? (size_t)(query - r->base) : strlen(r->base);
        while (n && r->base[n - 1] == '/')
            n--;
        r->base[n] = 0;
        r->secure = strncasecmp(r->base, "https", 5) == 0;
    }
    if (good && r->base && r->query)
        return r;
    remote_close(r);
    return NULL;
}

void remote_close(remote *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n_kept; i++)
        curl.handle_free(r->kept[i]);
    pthread_mutex_destroy(&r->lock);
    memory_free(r->base);
    memory_free(r->query);
    memory_free(r->user);
    memory_free(r->signature);
    memory_free(r->token);
    memory_free(r);
}

/* The address of a key, whose bytes are escaped where needed. */
static char *address_of(const remote *r, const char *key)
{
    text t = {0};
    text_add(&t, "%s/", r->base);
    for (; *key; key++) {
        const char c = *key;
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || strchr("-._~/", c);
        text_add(&t, plain ? "%c" : "%%%02X", (unsigned char)c);
    }
    text_add(&t, "%s", r->query);
    return text_take(&t);
}

/* ---- one request ---------------------------------------------------------------------------------------- */

typedef struct request {
    bool body, ranged;
    int64_t offset; /* of a range; negative: from the end */
    size_t most;    /* bytes to receive */
    spare *grows;   /* receives the body, or `to` does */
    unsigned char *to;
    /* The answer: */
    int code;
    uint64_t skip; /* bytes before the range, if the server sends the whole object */
    size_t got;
    bool too_much;
    ig_status status; /* of memory */
} request;

/* Each answer of a chain of redirections begins with its own line. */
static size_t header_take(char *line, size_t size, size_t n, void *ctx)
{
    request *q = ctx;
    int code = 0;
    char copy[32];
    snprintf(copy, sizeof copy, "%.*s", (int)(size * n < 31 ? size * n : 31), line);
    if (sscanf(copy, "HTTP/%*s %d", &code) == 1) {
        q->code = code;
        q->got = 0;
        q->skip = q->ranged && code == 200 && q->offset > 0 ? (uint64_t)q->offset : 0;
    }
    return size * n;
}

static size_t body_take(char *data, size_t size, size_t n, void *ctx)
{
    request *q = ctx;
    size_t bytes = size * n;
    if (q->code != 200 && q->code != 206)
        return bytes; /* the text of an error */
    const size_t before = q->skip < bytes ? (size_t)q->skip : bytes;
    q->skip -= before;
    data += before;
    bytes -= before;
    if (bytes > q->most - q->got) {
        q->too_much = true;
        if (!q->ranged)
            return 0;
        bytes = q->most - q->got; /* of a server that does not know ranges */
        if (bytes == 0)
            return 0;
    }
    if (q->grows) {
        const size_t room = q->got + bytes < FIRST_BYTES ? FIRST_BYTES : q->got + bytes;
        if ((q->status = store_grow(q->grows, q->got, room)) != IG_OK)
            return 0;
        q->to = q->grows->at;
    }
    memcpy(q->to + q->got, data, bytes);
    q->got += bytes;
    return size * n;
}

static void *handle_take(remote *r)
{
    pthread_mutex_lock(&r->lock);
    void *handle = r->n_kept ? r->kept[--r->n_kept] : NULL;
    pthread_mutex_unlock(&r->lock);
    if (handle)
        curl.handle_reset(handle);
    return handle ? handle : curl.handle_new();
}

static void handle_give(remote *r, void *handle)
{
    pthread_mutex_lock(&r->lock);
    const bool keep = r->n_kept < KEPT_MAX;
    if (keep)
        r->kept[r->n_kept++] = handle;
    pthread_mutex_unlock(&r->lock);
    if (!keep)
        curl.handle_free(handle);
}

static int request_send(const remote *r, void *handle, const char *address, request *q)
{
    char range[64];
    const long protocols = PROTOCOL_HTTPS | (r->secure ? 0 : PROTOCOL_HTTP);
    /* S3 asks for the hash of the body in signed requests. They have none, and old versions of libcurl leave it out. */
    void *headers = r->user ? curl.list_add(NULL, "x-amz-content-sha256: UNSIGNED-PAYLOAD") : NULL;
    if (headers && r->token)
        headers = curl.list_add(headers, r->token);
    curl.set(handle, OPTION_URL, address);
    curl.set(handle, OPTION_NO_SIGNAL, 1L);
    curl.set(handle, OPTION_CONNECT_MS, (long)CONNECT_MS);
    curl.set(handle, OPTION_SLOW_BYTES, 1L);
    curl.set(handle, OPTION_SLOW_SECONDS, (long)SLOW_SECONDS);
    curl.set(handle, OPTION_FOLLOW, 1L);
    curl.set(handle, OPTION_REDIRECTIONS, (long)REDIRECTIONS);
    curl.set(handle, OPTION_PROTOCOLS, protocols);
    curl.set(handle, OPTION_REDIRECTION_PROTOCOLS, protocols);
    curl.set(handle, OPTION_AGENT, "ingot");
    curl.set(handle, OPTION_HEADER, header_take);
    curl.set(handle, OPTION_HEADER_DATA, q);
    curl.set(handle, OPTION_WRITE, body_take);
    curl.set(handle, OPTION_WRITE_DATA, q);
    if (!q->body)
        curl.set(handle, OPTION_NO_BODY, 1L);
    if (q->ranged) {
        if (q->offset < 0)
            snprintf(range, sizeof range, "%" PRId64, q->offset);
        else
            snprintf(range, sizeof range, "%" PRId64 "-%" PRId64, q->offset,
                     q->offset + (int64_t)q->most - 1);
        curl.set(handle, OPTION_RANGE, range);
    }
    if (r->user) {
        curl.set(handle, OPTION_SIGNATURE, r->signature);
        curl.set(handle, OPTION_USER, r->user);
    }
    if (headers)
        curl.set(handle, OPTION_HEADERS, headers);
    const int code = curl.perform(handle);
    if (headers)
        curl.list_free(headers);
    return code;
}

/* True if the request may succeed when it is repeated. */
static bool may_repeat(int failure, const request *q)
{
    static const int busy[] = {408, 425, 429, 500, 502, 503, 504};
    if (failure)
        return failure != FAILED_WRITE;
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++)
        if (q->code == busy[i])
            return true;
    return false;
}

static void wait_ms(int64_t ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        ;
}

static ig_status answer_check(const struct io_file *file, int failure, const request *q,
                              bool *found)
{
    *found = q->code != 404 && q->code != 410;
    if (q->status != IG_OK)
        return q->status;
    const bool cut = q->ranged && q->too_much &&
                     q->code == 200; /* the range is complete; the rest is not needed */
    if (failure && !cut && q->too_much)
        return io_fail(
            file, IG_ERR_FORMAT,
            "it is damaged: it has more than the %zu bytes that are possible; write it again",
            q->most);
    if (failure && !cut)
        return io_fail(
            file, IG_ERR_FILE,
            "the server does not answer as it should: %s; check the address, or try again later",
            curl.error(failure));
    if (!*found)
        return IG_OK;
    if (q->code == 416)
        return io_fail(file, IG_ERR_FORMAT,
                       "it is damaged: it is shorter than expected; write it again");
    if (q->code < 200 || q->code > 299)
        return io_fail(file, IG_ERR_FILE,
                       "the server answers with code %d; check the address and the permissions",
                       q->code);
    if (q->ranged && q->offset < 0 && q->code == 200)
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "the server does not support ranges, which shards need; copy the array");
    if (q->ranged && q->got != q->most)
        return io_fail(
            file, IG_ERR_FORMAT,
            "it is damaged: %zu bytes are needed, and the server sent %zu; write it again", q->most,
            q->got);
    return IG_OK;
}

static ig_status request_run(remote *r, const struct io_file *file, const char *key, request *q,
                             bool *found)
{
    char *address = address_of(r, key);
    void *handle = address ? handle_take(r) : NULL;
    int failure = 0;
    if (!handle) {
        memory_free(address);
        return io_fail(file, IG_ERR_MEMORY, "no memory for a request; free some");
    }
    for (int i = 0; i < TRIES; i++) {
        if (i)
            wait_ms(i < LONG_PAUSES ? FIRST_PAUSE_MS << (2 * i - 2) : LONGEST_PAUSE_MS);
        q->code = 0;
        q->got = 0;
        q->too_much = false;
        curl.handle_reset(handle);
        failure = request_send(r, handle, address, q);
        if (!may_repeat(failure, q))
            break;
    }
    memory_free(address);
    if (failure)
        curl.handle_free(handle);
    else
        handle_give(r, handle);
    return answer_check(file, failure, q, found);
}

/* ---- the functions of the header -------------------------------------------------------------------------- */

ig_status remote_read(remote *r, const struct io_file *file, const char *key, int64_t offset,
                      size_t bytes, void *to, bool *found)
{
    request q = {.body = true, .ranged = true, .offset = offset, .most = bytes, .to = to};
    *found = true;
    return bytes ? request_run(r, file, key, &q, found) : IG_OK;
}

ig_status remote_read_all(remote *r, const struct io_file *file, const char *key, size_t most,
                          spare *to, size_t *got, bool *found)
{
    request q = {.body = true, .most = most, .grows = to};
    const ig_status status = request_run(r, file, key, &q, found);
    *got = q.got;
    return status;
}

ig_status remote_has(remote *r, const struct io_file *file, const char *key, bool *found)
{
    request q = {.body = false};
    return request_run(r, file, key, &q, found);
}
