/* A timeline as a file: Chrome's trace event format, which ui.perfetto.dev opens.
 *
 * A device is a process of the format and a thread is a thread; times are microseconds from the first
 * event. */
#include "base/trace_file.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEVICES = 16, THREADS = 4096, PATH_ROOM = 32 };

/* ---- the file ---- */

static ig_status fail(const char *path, int problem)
{
    FAIL(IG_ERR_FILE, "trace '%s': it cannot be written: %s", path, strerror(problem));
}

/* Returns true if a file can be renamed to path: there is a regular file or none. */
static bool is_plain(const char *path)
{
    struct stat old;
    return stat(path, &old) != 0 || S_ISREG(old.st_mode);
}

/* Opens a new file next to path and returns its name in *temporary (memory_free); opens path itself if it is not a
 * regular file. */
static int open_temporary(const char *path, char **temporary)
{
    const size_t room = strlen(path) + PATH_ROOM;
    *temporary = NULL;
    if (!is_plain(path))
        return open(path, O_WRONLY | O_CLOEXEC);
    if (access(path, F_OK) == 0 && access(path, W_OK) != 0)
        return -1;
    if (!(*temporary = memory_get(room)))
        return -1;
    snprintf(*temporary, room, "%s.%ld.tmp", path, (long)getpid());
    return open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

ig_status trace_file_check(const char *path)
{
    char *temporary;
    const int file = open_temporary(path, &temporary);
    const int problem = errno;
    if (file >= 0 && temporary)
        unlink(temporary);
    if (file >= 0)
        close(file);
    memory_free(temporary);
    return file < 0 ? fail(path, problem) : IG_OK;
}

/* ---- its content ---- */

typedef struct page {
    FILE *file;
    text out;                    /* the event that is being written */
    int problem;                 /* the first error, or 0 */
    const char *device[DEVICES]; /* index: number of the process, less 1; the first is the host */
    bool seen[DEVICES][THREADS];
    bool begun; /* an event is in the file */
} page;

static int device_number(page *p, const char *name)
{
    for (int i = 0; i < DEVICES; i++) {
        if (!p->device[i])
            p->device[i] = name;
        if (!name || strcmp(p->device[i], name) == 0)
            return i;
    }
    return DEVICES - 1;
}

/* The opening of an event: name, letter, process and thread. */
static void event_open(page *p, const char *name, const char *letter, int device, int thread)
{
    text_add(&p->out, "%s\n", p->begun ? "," : "");
    p->begun = true;
    json_add(&p->out, "{name: %s, ph: %s, pid: %d, tid: %d", name, letter, device + 1, thread);
}

/* Writes the text to the file. */
static void flush(page *p)
{
    char *done = text_take(&p->out);
    if (!done)
        p->problem = ENOMEM;
    else if (fputs(done, p->file) < 0 && !p->problem)
        p->problem = errno;
    memory_free(done);
}

static void event_close(page *p)
{
    json_add(&p->out, "}");
    flush(p);
}

static void write_event(page *p, const trace_event *e, int64_t zero)
{
    static const char *const categories[] = {
        [TRACE_SPAN] = "graph", [TRACE_PROGRAM] = "program", [TRACE_SHARE] = "share"};
    const int device = device_number(p, e->kind == TRACE_PROGRAM ? e->device : NULL);
    const trace_cost *c = &e->cost;
    text *t = &p->out;
    event_open(p, e->name, e->kind == TRACE_COUNTER ? "C" : "X", device, e->thread);
    json_add(t, "ts: %.3f", (double)(e->begin - zero) / 1e3);
    if (e->kind == TRACE_COUNTER) {
        json_add(t, "args: {bytes: %" PRId64 "}", e->count);
    } else {
        p->seen[device][e->thread % THREADS] = true;
        json_add(t, "dur: %.3f, cat: %s", (double)(e->end - e->begin) / 1e3, categories[e->kind]);
    }
    const double ns = e->end > e->begin ? (double)(e->end - e->begin) : 1;
    if (e->kind == TRACE_SHARE)
        json_add(t, "args: {tasks: %" PRId64 "}", e->count);
    if (e->kind == TRACE_PROGRAM)
        json_add(t,
                 "args: {bytes read: %" PRId64 ", bytes written: %" PRId64 ", FLOPs: %" PRId64
                 ", GB/s: %.6g, GFLOP/s: %.6g}",
                 c->bytes_read, c->bytes_written, c->flops,
                 (double)(c->bytes_read + c->bytes_written) / ns, (double)c->flops / ns);
    event_close(p);
}

static void write_name(page *p, const char *kind, int device, int thread, const char *name)
{
    event_open(p, kind, "M", device, thread);
    json_add(&p->out, "args: {name: %s}", name);
    event_close(p);
}

static void write_names(page *p)
{
    for (int i = 0; i < DEVICES && p->device[i]; i++) {
        write_name(p, "process_name", i, 0, p->device[i]);
        for (int k = 0; k < THREADS; k++) {
            char name[32];
            if (k > TRACE_WORKERS)
                snprintf(name, sizeof name, "worker %d", k - TRACE_WORKERS);
            else
                snprintf(name, sizeof name, "caller %d", k);
            if (p->seen[i][k])
                write_name(p, "thread_name", i, k, name);
        }
    }
}

static void write_page(page *p, const trace_event *events, int64_t n, int64_t dropped)
{
    int64_t zero = n ? events[0].begin : 0;
    for (int64_t i = 0; i < n; i++)
        zero = events[i].begin < zero ? events[i].begin : zero;
    json_add(&p->out,
             "{displayTimeUnit: ms, otherData: {schema: 1, version: %s, dropped: %" PRId64
             "},\ntraceEvents: [",
             ig_version(), dropped);
    flush(p);
    for (int64_t i = 0; i < n; i++)
        write_event(p, &events[i], zero);
    if (dropped) {
        event_open(p, "the timeline is full: later events were dropped", "i", 0, 0);
        json_add(&p->out, "ts: %.3f, s: g, args: {dropped: %" PRId64 "}",
                 (double)(events[n - 1].begin - zero) / 1e3, dropped);
        event_close(p);
    }
    write_names(p);
    json_add(&p->out, "\n]}\n");
    flush(p);
}

/* Blocks the signals that a failed write raises in its thread, so that the write returns an error instead. */
static void write_signals_block(sigset_t *old)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, old);
}

/* Restores the signals, and drops those that were raised in the meantime. */
static void write_signals_restore(const sigset_t *old)
{
    static const int numbers[] = {SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigset_t pending, one;
        int number;
        sigemptyset(&one);
        sigaddset(&one, numbers[i]);
        if (!sigismember(old, numbers[i]) && sigpending(&pending) == 0 &&
            sigismember(&pending, numbers[i]))
            sigwait(&one, &number);
    }
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

ig_status trace_file_write(const char *path, const trace_event *events, int64_t n, int64_t dropped)
{
    char *temporary;
    sigset_t signals;
    page *p = memory_new(sizeof *p);
    const int fd = p ? open_temporary(path, &temporary) : -1;
    if (!p)
        return IG_ERR_MEMORY;
    *p = (page){.file = fd >= 0 ? fdopen(fd, "w") : NULL, .device = {"cpu"}};
    bool fine = p->file != NULL;
    int problem = errno;
    write_signals_block(&signals);
    if (fine) {
        write_page(p, events, n, dropped);
        fine = fclose(p->file) == 0 && !p->problem && (!temporary || rename(temporary, path) == 0);
        problem = p->problem ? p->problem : errno;
        if (!fine && temporary)
            unlink(temporary);
    }
    write_signals_restore(&signals);
    memory_free(temporary);
    memory_free(p);
    return fine ? IG_OK : fail(path, problem);
}
