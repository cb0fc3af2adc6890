/* Reports of a checked or profiled launch: findings with their source, and the profile, by lines and as a table.
 * Each is one block of memory, which ig_free releases. */
#include "engine/module/report.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_ROOM = 3800 /* bytes of findings in the error, which is cut off at 4096 */ };

/* ---- findings ---- */

static const char *const kinds[] = {[MISTAKE_BOUNDS] = "out of bounds",
                                    [MISTAKE_ALIGNMENT] = "misaligned",
                                    [MISTAKE_NULL] = "null pointer",
                                    [MISTAKE_UNSET] = "uninitialised",
                                    [MISTAKE_RACE] = "race",
                                    [MISTAKE_LOCKSTEP] = "race",
                                    [MISTAKE_BARRIER] = "divergent barrier",
                                    [MISTAKE_LOOP] = "endless loop",
                                    [MISTAKE_FREED] = "freed memory",
                                    [MISTAKE_FOREIGN] = "host pointer",
                                    [MISTAKE_SHUFFLE] = "inactive lane",
                                    [MISTAKE_RETURNED] = "returned lane"};

/* True for findings that today's GPUs run as intended. */
static bool is_note(kernel_mistake m) { return m == MISTAKE_LOCKSTEP || m == MISTAKE_SHUFFLE; }

/* The message with thread, block and launch, the line and a caret; then the second position of a race. */
static char *render(const kernel_source *s, const kernel_finding *f, uint64_t launch,
                    char **message)
{
    text line = {0}, all = {0};
    text_add(&line, "%s: thread (%u, %u, %u) of block (%u, %u, %u) ", kinds[f->mistake],
             f->thread[0], f->thread[1], f->thread[2], f->block[0], f->block[1], f->block[2]);
    if (launch)
        text_add(&line, "of launch %" PRIu64 " ", launch);
    text_add(&line, "%s", f->message);
    if (f->count > 1)
        text_add(&line, " (%" PRIu64 " times)", f->count);
    *message = text_take(&line);
    const bool note = is_note(f->mistake);
    const kernel_diag main = {.severity = note ? DIAG_WARNING : DIAG_ERROR,
                              .place = f->place,
                              .message = *message ? *message : ""};
    const kernel_diag other = {
        .severity = DIAG_NOTE, .place = f->other, .message = "the other access is here"};
    kernel_diag_render(s, &main, false, &all);
    if (f->other)
        kernel_diag_render(s, &other, false, &all);
    char *whole = text_take(&all);
    if (whole && *whole)
        whole[strlen(whole) - 1] = 0; /* removes the last newline */
    return whole;
}

static char *put(char **at, const char *from)
{
    char *to = *at;
    const size_t bytes = strlen(from) + 1;
    memcpy(to, from, bytes);
    *at += bytes;
    return to;
}

/* Packs the structs, followed by all texts, into one block. */
static ig_kernel_findings *pack(const kernel_source *s, const kernel_check *k, char *const *message,
                                char *const *whole)
{
    const kernel_where nowhere = {.name = ""};
    kernel_where where[KERNEL_FINDINGS];
    size_t bytes = sizeof(ig_kernel_findings) + (size_t)k->n * sizeof(ig_kernel_finding);
    for (int i = 0; i < k->n; i++) {
        if (!kernel_source_where(s, k->found[i].place, &where[i]))
            where[i] = nowhere;
        bytes += strlen(message[i]) + strlen(whole[i]) + strlen(where[i].name) + 3;
    }
    ig_kernel_findings *out = memory_new(bytes);
    if (!out)
        return NULL;
    ig_kernel_finding *to = (ig_kernel_finding *)(out + 1);
    char *at = (char *)(to + k->n);
    *out = (ig_kernel_findings){to, k->n, k->n_more};
    for (int i = 0; i < k->n; i++) {
        const kernel_finding *f = &k->found[i];
        to[i] = (ig_kernel_finding){.kind = kinds[f->mistake],
                                    .message = put(&at, message[i]),
                                    .text = put(&at, whole[i]),
                                    .file = put(&at, where[i].name),
                                    .line = where[i].line,
                                    .column = where[i].column,
                                    .count = f->count,
                                    .is_note = is_note(f->mistake)};
        memcpy(to[i].block, f->block, sizeof f->block);
        memcpy(to[i].thread, f->thread, sizeof f->thread);
    }
    return out;
}

ig_kernel_findings *module_findings(const kernel_source *s, const kernel_check *k)
{
    char *message[KERNEL_FINDINGS] = {0}, *whole[KERNEL_FINDINGS] = {0};
    bool fine = true;
    for (int i = 0; i < k->n; i++) {
        whole[i] = render(s, &k->found[i], k->launch, &message[i]);
        fine &= whole[i] && message[i];
    }
    ig_kernel_findings *out = fine ? pack(s, k, message, whole) : NULL;
    for (int i = 0; i < k->n; i++) {
        memory_free(message[i]);
        memory_free(whole[i]);
    }
    return out;
}

ig_status module_verdict(const char *kernel, const ig_kernel_findings *all)
{
    int wrong = all->n_more, more = all->n_more;
    text t = {0};
    for (int i = 0; i < all->n_findings; i++)
        wrong += !all->findings[i].is_note;
    if (!wrong)
        return IG_OK;
    for (int i = 0; i < all->n_findings; i++)
        if (!all->findings[i].is_note && t.used + strlen(all->findings[i].text) < ERROR_ROOM)
            text_add(&t, "\n%s", all->findings[i].text);
        else
            more += !all->findings[i].is_note;
    if (more)
        text_add(&t, "\nand %d more", more);
    char *said = text_take(&t);
    ig_error(NULL); /* clears the error of a failed assertion */
    ig_fail(IG_ERR_DEVICE, "kernel '%s': the check found %d mistake%s%s", kernel, wrong,
            wrong == 1 ? "" : "s", said ? said : "");
    memory_free(said);
    return IG_ERR_DEVICE;
}

/* ---- profiles ---- */

/* The counts of a line as an array of numbers. */
enum {
    COUNTS_FROM = offsetof(ig_profile_line, runs) / sizeof(uint64_t),
    COUNTS_TO = sizeof(ig_profile_line) / sizeof(uint64_t)
};

static void add_counts(ig_profile_line *to, const ig_profile_line *from)
{
    for (size_t i = COUNTS_FROM; i < COUNTS_TO; i++)
        ((uint64_t *)(void *)to)[i] += ((const uint64_t *)(const void *)from)[i];
}

ig_profile_line *module_counts(const kernel_source *s, const lane_code *c)
{
    ig_profile_line *counts = memory_new(((size_t)c->n_inst + 1) * sizeof *counts);
    for (int i = 0; counts && i < c->n_inst; i++) {
        kernel_where w;
        if (!kernel_source_where(s, c->inst[i].place, &w))
            continue;
        counts[i].file = w.name;
        counts[i].line = w.line;
        counts[i].text = w.file->text + w.file->lines[w.physical_line - 1];
    }
    return counts;
}

/* Source order: files are in memory one after another, in the order in which they were read. */
static int by_text(const void *a, const void *b)
{
    const ig_profile_line *x = a, *y = b;
    return (x->text > y->text) - (x->text < y->text);
}

static size_t line_bytes(const char *line) { return strcspn(line, "\r\n"); }

ig_profile *module_profile(const char *kernel, ig_profile_line *counts, int n)
{
    int lines = 0;
    qsort(counts, (size_t)n, sizeof *counts, by_text);
    for (int i = 0; i < n; i++) {
        if (!counts[i].instructions || !counts[i].text)
            continue;
        if (lines && counts[lines - 1].text == counts[i].text)
            add_counts(&counts[lines - 1], &counts[i]);
        else
            counts[lines++] = counts[i];
    }
    size_t bytes = sizeof(ig_profile) + (size_t)lines * sizeof *counts + strlen(kernel) + 1;
    for (int i = 0; i < lines; i++)
        bytes += line_bytes(counts[i].text) + strlen(counts[i].file) + 2;
    ig_profile *p = memory_new(bytes);
    if (!p)
        return NULL;
    ig_profile_line *to = (ig_profile_line *)(p + 1);
    char *at = (char *)(to + lines);
    p->kernel = put(&at, kernel);
    p->launches = 1;
    p->lines = to;
    p->n_lines = lines;
    for (int i = 0; i < lines; i++) {
        to[i] = counts[i];
        const bool again = i && !strcmp(to[i - 1].file, counts[i].file);
        to[i].file = again ? to[i - 1].file : put(&at, counts[i].file);
        const size_t blanks = strspn(counts[i].text, " \t");
        const size_t shown = line_bytes(counts[i].text + blanks);
        to[i].text = memcpy(at, counts[i].text + blanks, shown);
        at += shown + 1;
        add_counts(&p->total, &counts[i]);
    }
    return p;
}

/* a / b; "-" if b is 0. */
static void add_ratio(text *t, uint64_t a, uint64_t b)
{
    if (b)
        text_add(t, " %5.1f", (double)a / (double)b);
    else
        text_add(t, " %5s", "-");
}

static void add_line(text *t, const ig_profile_line *p)
{
    if (p->text)
        text_add(t, "%6" PRId64, p->line);
    else
        text_add(t, " total");
    text_add(t, " %10" PRIu64 " %10" PRIu64, p->runs, p->instructions);
    add_ratio(t, p->lanes, p->instructions);
    add_ratio(t, 100 * p->divergent, p->branches);
    text_add(t, " %8" PRIu64 " %8" PRIu64, p->barriers, p->shared_requests);
    add_ratio(t, p->shared_cycles, p->shared_requests);
    text_add(t, " %8" PRIu64, p->global_requests);
    add_ratio(t, p->global_sectors, p->global_requests);
    add_ratio(t, p->global_ideal, p->global_requests);
    text_add(t, " %12" PRIu64 "%s%s\n", p->global_bytes, p->text ? "  " : "",
             p->text ? p->text : "");
}

char *ig_profile_text(const ig_profile *p)
{
    text t = {0};
    const char *file = NULL;
    if (require_pointer("profile", "p", p) != IG_OK)
        return NULL;
    text_add(&t, "kernel %s", p->kernel ? p->kernel : "?");
    if (p->launches > 1)
        text_add(&t, ", %" PRIu64 " launches", p->launches);
    text_add(&t,
             ". Counted by warps: times at a line, instructions, lanes in use of 32, %% of "
             "branches that part a warp;\nrequests to shared memory and cycles of each, to global "
             "memory and sectors of 32 bytes of each (and at best).\n");
    text_add(&t, "%6s %10s %10s %5s %5s %8s %8s %5s %8s %5s %5s %12s\n", "line", "runs", "instr",
             "lanes", "part%", "barriers", "shared", "cycle", "global", "sect", "best", "bytes");
    for (int i = 0; i < p->n_lines; i++) {
        if (!file || strcmp(file, p->lines[i].file) != 0)
            text_add(&t, "%s\n", p->lines[i].file);
        file = p->lines[i].file;
        add_line(&t, &p->lines[i]);
    }
    add_line(&t, &p->total);
    return text_take(&t);
}

/* Writes the numbers of a line with their names, and closes the object. */
static void add_numbers(text *t, const ig_profile_line *l)
{
    const struct {
        const char *name;
        uint64_t n;
    } all[] = {{"runs", l->runs},
               {"instructions", l->instructions},
               {"lanes", l->lanes},
               {"branches", l->branches},
               {"divergent", l->divergent},
               {"barriers", l->barriers},
               {"atomics", l->atomics},
               {"shared_requests", l->shared_requests},
               {"shared_cycles", l->shared_cycles},
               {"shared_ideal", l->shared_ideal},
               {"global_requests", l->global_requests},
               {"global_sectors", l->global_sectors},
               {"global_ideal", l->global_ideal},
               {"global_bytes", l->global_bytes}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_add(t, "%s: %" PRIu64, all[i].name, all[i].n);
    json_add(t, "}");
}

char *ig_profile_json(const ig_profile *p)
{
    text t = {0};
    if (require_pointer("profile", "p", p) != IG_OK)
        return NULL;
    json_add(&t, "{kernel: %s, launches: %" PRIu64 ", total: {", p->kernel ? p->kernel : "?",
             p->launches);
    add_numbers(&t, &p->total);
    json_add(&t, "lines: [");
    for (int i = 0; i < p->n_lines; i++) {
        const ig_profile_line *l = &p->lines[i];
        json_add(&t, "{file: %s, line: %" PRId64 ", text: %s", l->file, l->line, l->text);
        add_numbers(&t, l);
    }
    json_add(&t, "]}");
    return text_take(&t);
}
