/* The log: one function for the process. */
#include "base/log.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MOST = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static ig_log_function log_function;
static void *log_context;
static void (*show_work)(const char *device, int n);
static int works_begun, works_open;

void ig_set_log(ig_log_function log, void *context)
{
    pthread_mutex_lock(&mutex);
    log_function = log;
    log_context = context;
    pthread_mutex_unlock(&mutex);
}

static void emit(ig_severity severity, const char *text, const char *before, const char *after)
{
    pthread_mutex_lock(&mutex);
    if (log_function)
        log_function(log_context, severity, text);
    else
        fprintf(stderr, "%s%s%s", before, text, after);
    pthread_mutex_unlock(&mutex);
}

void log_line(ig_severity severity, const char *format, ...)
{
    char line[LINE_MOST];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    emit(severity, line, severity == IG_WARNING ? "ingot: warning: " : "ingot: ", "\n");
}

void log_text(ig_severity severity, const char *text)
{
    const size_t n = strlen(text);
    emit(severity, text, "", n && text[n - 1] == '\n' ? "" : "\n");
}

void log_set_work(void (*show)(const char *device, int n)) { show_work = show; }

void log_work_begin(const char *device)
{
    pthread_mutex_lock(&mutex);
    works_begun++;
    works_open++;
    if (show_work)
        show_work(device, works_begun);
    pthread_mutex_unlock(&mutex);
}

void log_work_end(void)
{
    pthread_mutex_lock(&mutex);
    if (--works_open == 0 && show_work)
        show_work(NULL, works_begun);
    pthread_mutex_unlock(&mutex);
}
