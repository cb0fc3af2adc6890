/* What a watched launch of a kernel tells, for people: the profile as a table. */
#include "base/memory.h"
#include "base/text.h"
#include "engine/engine.h"

#include <inttypes.h>

/* "-" where there was nothing to divide. */
static void add_ratio(text *t, int width, uint64_t a, uint64_t b, const char *unit)
{
    if (b)
        text_add(t, " %*.*f%s", width - (int)(*unit != 0), *unit ? 0 : 1, (double)a / (double)b,
                 unit);
    else
        text_add(t, " %*s", width, "-");
}

static void add_line(text *t, const ig_profile_line *p)
{
    if (p->text)
        text_add(t, "%6" PRId64, p->line);
    else
        text_add(t, " total");
    text_add(t, " %10" PRIu64 " %10" PRIu64, p->runs, p->instructions);
    add_ratio(t, 5, 100 * p->lanes, 32 * p->instructions, "%");
    add_ratio(t, 5, 100 * p->divergent, p->branches, "%");
    text_add(t, " %8" PRIu64 " %8" PRIu64, p->barriers, p->shared_requests);
    add_ratio(t, 5, p->shared_cycles, p->shared_ideal, "");
    text_add(t, " %8" PRIu64, p->global_requests);
    add_ratio(t, 5, p->global_sectors, p->global_requests, "");
    add_ratio(t, 5, p->global_ideal, p->global_requests, "");
    text_add(t, " %12" PRIu64 "  %s\n", p->global_bytes, p->text ? p->text : "");
}

char *ig_profile_text(const ig_profile *p)
{
    text t = {0};
    const char *file = NULL;
    text_add(&t,
             "kernel %s: by warps; lanes in use, branches that part, shared memory (cycles for "
             "each at best 1), global memory (sectors of 32 bytes, ideal)\n",
             p->kernel);
    text_add(&t, "%6s %10s %10s %5s %5s %8s %8s %5s %8s %5s %5s %12s\n", "line", "runs", "instr",
             "lanes", "part", "barriers", "shared", "cycle", "global", "sect", "ideal", "bytes");
    for (int i = 0; i < p->n_lines; i++) {
        const ig_profile_line *l = &p->lines[i];
        if (l->file != file)
            text_add(&t, "%s\n", l->file);
        file = l->file;
        add_line(&t, l);
    }
    add_line(&t, &p->total);
    return text_take(&t);
}
