/* Whole CUDA programs under `ingot run --check` and `--profile`.
 *
 * IG_CUDA_WATCH is a list of the words "check", "profile" and "quiet". A mistake is reported on standard error
 * when it is found, once for each place, and the program continues. Profiles, leaks and the summary are
 * printed when the process ends. With IG_CUDA_REPORT, everything is also written to that file, one line each:
 * a letter (F a mistake, N a note, P a profile, E the end) and JSON. With "quiet", only the file is written.
 * A kernel that could not be built adds a line with a letter only, even without a check or profile: B for a
 * bad source, U for a feature that the device lacks. All functions here are called with the runtime's lock
 * held. */
#include "lib/cudart/cudart.h"

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/module/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPORTED_MOST = 100, LOOPS_MOST = 1 << 24 };

/* A place in the source that has been reported. */
typedef struct reported {
    struct reported *next;
    const char *kind; /* a literal */
    bool is_note;
    int64_t line;
    uint32_t column;
    char what[]; /* the file, or the message if the place is unknown */
} reported;

/* The profile of a kernel's launches: counts by instruction until its module is freed, then by line. */
typedef struct profile {
    struct profile *next;
    const lane_code *lanes; /* NULL: the counts are by line */
    ig_profile_line *counts;
    ig_profile *lines;
    uint64_t launches;
    char name[];
} profile;

static struct {
    bool begun, check, profile, quiet;
    pid_t process;
    FILE *report;
    uint64_t launches; /* launches that were checked or profiled */
    uint64_t failed;   /* launches that were not, or not to their end */
    int mistakes, notes, more;
    reported *reported;
    int n_reported;
    profile *profiles, **last_profile;
    struct {
        int error;
        cudart_call_site at;
    } unseen;
} watch;

void cudart_watch_begin(void)
{
    const char *asked = getenv("IG_CUDA_WATCH"), *path = getenv("IG_CUDA_REPORT");
    if (watch.begun)
        return;
    watch.begun = true;
    watch.check = asked && strstr(asked, "check");
    watch.profile = asked && strstr(asked, "profile");
    watch.quiet = asked && strstr(asked, "quiet");
    watch.process = getpid();
    watch.last_profile = &watch.profiles;
    if ((watch.check || watch.profile) && path && *path)
        watch.report = fopen(path, "ae");
}

void cudart_watch_unbuilt(ig_status why)
{
    const char *path = getenv("IG_CUDA_REPORT");
    FILE *f = path && *path && why != IG_ERR_MEMORY ? fopen(path, "ae") : NULL;
    if (!f)
        return;
    fputs(why == IG_ERR_UNSUPPORTED ? "U\n" : "B\n", f);
    fclose(f);
}

bool cudart_watch_checks(void) { return watch.check; }
/* True if there is a check or a profile. */
static bool cudart_watch_is_on(void) { return watch.check || watch.profile; }

/* ---- reports ---- */

/* Writes one line of the report and releases the text. */
static void report(char letter, text *t)
{
    char *line = text_take(t);
    if (watch.report && line) {
        fprintf(watch.report, "%c%s\n", letter, line);
        fflush(watch.report);
    }
    memory_free(line);
}

/* Returns true if the place is new, and remembers it. */
static bool is_new(const ig_kernel_finding *f)
{
    const char *what = f->line ? f->file : f->message;
    for (const reported *t = watch.reported; t; t = t->next)
        if (t->line == f->line && t->column == f->column && t->is_note == f->is_note &&
            !strcmp(t->kind, f->kind) && !strcmp(t->what, what))
            return false;
    const size_t bytes = strlen(what) + 1;
    reported *t = watch.n_reported < REPORTED_MOST ? memory_new(sizeof *t + bytes) : NULL;
    if (!t) {
        watch.more++;
        return false;
    }
    *t = (reported){watch.reported, f->kind, f->is_note, f->line, f->column};
    memcpy(t->what, what, bytes);
    watch.reported = t;
    watch.n_reported++;
    return true;
}

static void tell(const ig_kernel_finding *f, const char *kernel, uint64_t launch)
{
    text t = {0};
    if (!is_new(f))
        return;
    watch.mistakes += !f->is_note;
    watch.notes += f->is_note;
    fflush(stdout);
    if (!watch.quiet)
        log_text(f->is_note ? IG_NOTE : IG_WARNING, f->text);
    json_add(&t, "{kind: %s, message: %s, file: %s", f->kind, f->message, f->file);
    if (launch)
        json_add(&t, "kernel: %s, launch: %" PRIu64 ", block: [%u, %u, %u], thread: [%u, %u, %u]",
                 kernel, launch, f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1],
                 f->thread[2]);
    json_add(&t, "line: %" PRId64 ", column: %u, count: %" PRIu64 ", note: %hhd}", f->line,
             f->column, f->count, f->is_note);
    report(f->is_note ? 'N' : 'F', &t);
}

void cudart_watch_report(const char *kind, bool is_note, cudart_call_site at, const char *format,
                         ...)
{
    text message = {0}, whole = {0};
    char said[400];
    va_list args;
    if (!watch.check)
        return;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    if (at.file)
        text_add(&whole, "%s:%d: ", at.file, at.line);
    text_add(&whole, "%s: %s: %s", is_note ? "warning" : "error", kind, said);
    text_add(&message, "%s: %s", kind, said);
    char *shown = text_take(&whole), *line = text_take(&message);
    const ig_kernel_finding f = {.kind = kind,
                                 .message = line,
                                 .text = shown,
                                 .file = at.file ? at.file : "",
                                 .line = at.file ? at.line : 0,
                                 .count = 1,
                                 .is_note = is_note};
    if (shown && line)
        tell(&f, NULL, 0);
    memory_free(shown);
    memory_free(line);
}

/* ---- errors that the program ignores ---- */

void cudart_watch_launched(int error, bool returned, cudart_call_site at)
{
    watch.failed += error != cudaSuccess;
    if (!watch.unseen.error && error && !returned) {
        watch.unseen.error = error;
        watch.unseen.at = at;
    }
}

void cudart_watch_error_seen(void) { watch.unseen.error = cudaSuccess; }

static void tell_unseen(void)
{
    const int error = watch.unseen.error;
    watch.unseen.error = cudaSuccess;
    if (error)
        cudart_watch_report("unseen error", false, watch.unseen.at,
                            "this launch failed with %s (%s), which was not checked; call "
                            "cudaGetLastError() after each launch",
                            ig_cuda_error_name(error), ig_cuda_error_text(error));
}

/* ---- launches ---- */

static profile *profile_of(const module_kernel *k)
{
    for (profile *p = watch.profiles; p; p = p->next)
        if (p->lanes == k->lanes)
            return p;
    const size_t bytes = strlen(k->info->name) + 1;
    profile *p = memory_new(sizeof *p + bytes);
    if (!p)
        return NULL;
    p->lanes = k->lanes;
    p->counts = module_counts(k->source, k->lanes);
    memcpy(p->name, k->info->name, bytes);
    *watch.last_profile = p;
    watch.last_profile = &p->next;
    return p;
}

/* Reports the findings of a check; returns true if an endless loop was stopped. */
static bool tell_found(const module_kernel *k, const kernel_check *check)
{
    bool endless = false;
    ig_kernel_findings *all = module_findings(k->source, check);
    for (int i = 0; i < check->n; i++)
        endless |= check->found[i].mistake == MISTAKE_LOOP;
    for (int i = 0; all && i < all->n_findings; i++)
        tell(&all->findings[i], k->info->name, check->launch);
    watch.more += check->n_more;
    if (!all)
        cudart_print_error();
    memory_free(all);
    return endless;
}

ig_status cudart_watch_launch(ig_module *m, const backend *dev, const char *kernel,
                              const module_kernel *k, lane_launch *l, bool *endless)
{
    *endless = false;
    if (!watch.check && !watch.profile)
        return module_launch(m, dev, kernel, l);
    if (!k->lanes)
        FAIL(IG_ERR_UNSUPPORTED, "device '%s' cannot %s kernels; run it on 'cpu'", dev->name,
             watch.check ? "check" : "profile");
    profile *p = watch.profile ? profile_of(k) : NULL;
    kernel_check *check = watch.check ? memory_new(sizeof *check) : NULL;
    kernel_memory *memory = check ? cudart_memory_list(&check->n_memory) : NULL;
    ig_status status =
        (watch.profile && !(p && p->counts)) || (watch.check && !memory) ? IG_ERR_MEMORY : IG_OK;
    watch.launches++;
    if (status == IG_OK) {
        if (check) {
            check->loops = LOOPS_MOST;
            check->launch = watch.launches;
            check->memory = memory;
            cudart_order_watch(memory, check->n_memory);
        }
        l->check = check;
        l->profile = p ? p->counts : NULL;
        status = module_launch(m, dev, kernel, l);
        if (p)
            p->launches++;
        if (check) {
            *endless = tell_found(k, check);
            cudart_order_end(k->info->name);
        }
    }
    memory_free(memory);
    memory_free(check);
    return status;
}

/* ---- the end ---- */

void cudart_watch_detach_modules(void)
{
    for (profile *p = watch.profiles; p; p = p->next) {
        if (!p->lanes)
            continue;
        p->lines = p->counts ? module_profile(p->name, p->counts, p->lanes->n_inst) : NULL;
        if (p->lines)
            p->lines->launches = p->launches;
        memory_free(p->counts);
        p->counts = NULL;
        p->lanes = NULL;
    }
}

static void tell_profiles(void)
{
    cudart_watch_detach_modules();
    for (profile *p = watch.profiles, *next; p; p = next) {
        text t = {0};
        char *table = p->lines ? ig_profile_text(p->lines) : NULL;
        char *json = p->lines ? ig_profile_json(p->lines) : NULL;
        next = p->next;
        if (table && !watch.quiet)
            log_text(IG_NOTE, table);
        if (json) {
            text_add(&t, "%s", json);
            report('P', &t);
        }
        ig_free(table);
        ig_free(json);
        ig_free(p->lines);
        memory_free(p);
    }
}

static void tell_sum(void)
{
    const int n = watch.mistakes + watch.more;
    char said[40] = "no mistake was";
    if (n)
        snprintf(said, sizeof said, "%d mistake%s", n, n == 1 ? " was" : "s were");
    if (watch.quiet)
        return;
    if (watch.failed)
        fprintf(stderr, "%" PRIu64 " launch%s failed; ", watch.failed,
                watch.failed == 1 ? "" : "es");
    fprintf(stderr, "%s found in %" PRIu64 " launch%s\n", said, watch.launches,
            watch.launches == 1 ? "" : "es");
}

/* Runs after the program's exit functions, so that memory that they free is not reported as a leak. */
__attribute__((destructor)) static void watch_end(void)
{
    text t = {0};
    if (!cudart_watch_is_on() || watch.process != getpid())
        return;
    fflush(stdout);
    if (watch.check) {
        tell_unseen();
        cudart_early_off();
        cudart_memory_leaks();
        tell_sum();
    }
    tell_profiles();
    text_add(&t, "{\"launches\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"more\": %d}",
             watch.launches, watch.failed, watch.more);
    report('E', &t);
    for (reported *next; watch.reported; watch.reported = next) {
        next = watch.reported->next;
        memory_free(watch.reported);
    }
    if (watch.report)
        fclose(watch.report);
    watch.check = watch.profile = false;
}
