/* The pending error of each thread, and the names of status codes. */
#include "base/error.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Two buffers, so that the text that ig_error returned stays valid while the next one is written. They are made by the
 * thread's first error: a shared library accesses thread-local memory faster if there is little of it. */
typedef struct error_texts {
    char text[2][4096]; /* room for a compiler's log */
    char part[8][THREAD_TEXT_BYTES];
    int next; /* part */
} error_texts;

static _Thread_local struct {
    ig_status code;
    int which;
    error_texts *texts; /* the owner is the key */
} pending;

static pthread_key_t key;
static bool has_key;

static void make_key(void) { has_key = pthread_key_create(&key, free) == 0; }

/* The thread's buffers; NULL if there is no memory. */
static error_texts *texts(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pending.texts)
        return pending.texts;
    pthread_once(&once, make_key);
    error_texts *made = has_key ? calloc(1, sizeof *made) : NULL;
    if (made && pthread_setspecific(key, made) != 0) {
        free(made);
        made = NULL;
    }
    return pending.texts = made;
}

char *thread_text(void)
{
    error_texts *t = texts();
    return t ? t->part[t->next = (t->next + 1) % 8] : NULL;
}

ig_status ig_fail(ig_status code, const char *format, ...)
{
    if (pending.code != IG_OK)
        return code;
    if (!format)
        format = "an error without a message";
    if (texts()) {
        va_list args;
        va_start(args, format);
        vsnprintf(pending.texts->text[pending.which], sizeof pending.texts->text[0], format, args);
        va_end(args);
    }
    pending.code = code;
    return code;
}

bool ig_failed(void) { return pending.code != IG_OK; }

ig_status error_waiting(ig_status otherwise)
{
    return pending.code != IG_OK ? pending.code : otherwise;
}

const char *ig_error(ig_status *code)
{
    if (code)
        *code = pending.code;
    if (pending.code == IG_OK)
        return NULL;
    const char *text = pending.texts ? pending.texts->text[pending.which]
                                     : "an error; there is no memory for its message";
    pending.which ^= 1;
    pending.code = IG_OK;
    return text;
}

const char *ig_status_name(ig_status code)
{
    static const char *const names[] = {
        [IG_OK] = "IG_OK",
        [IG_ERR_ARGUMENT] = "IG_ERR_ARGUMENT",
        [IG_ERR_SHAPE] = "IG_ERR_SHAPE",
        [IG_ERR_DTYPE] = "IG_ERR_DTYPE",
        [IG_ERR_INDEX] = "IG_ERR_INDEX",
        [IG_ERR_MEMORY] = "IG_ERR_MEMORY",
        [IG_ERR_FILE] = "IG_ERR_FILE",
        [IG_ERR_FORMAT] = "IG_ERR_FORMAT",
        [IG_ERR_DEVICE] = "IG_ERR_DEVICE",
        [IG_ERR_UNSUPPORTED] = "IG_ERR_UNSUPPORTED",
        [IG_ERR_INTERNAL] = "IG_ERR_INTERNAL",
        [IG_ERR_CANCELLED] = "IG_ERR_CANCELLED",
    };
    bool known = code >= IG_OK && (size_t)code < sizeof names / sizeof *names;
    return known ? names[code] : "unknown status";
}

ig_status require_list(const char *function, const char *argument, const void *list, int n)
{
    if (n < 0)
        FAIL(IG_ERR_ARGUMENT, "%s: %s has %d elements; a count cannot be negative", function,
             argument, n);
    if (n > 0 && !list)
        FAIL(IG_ERR_ARGUMENT, "%s: %s is NULL, but should have %d element%s", function, argument, n,
             n == 1 ? "" : "s");
    return IG_OK;
}

ig_status require_pointer(const char *function, const char *argument, const void *pointer)
{
    if (!pointer)
        FAIL(IG_ERR_ARGUMENT, "%s: %s is NULL", function, argument);
    return IG_OK;
}
