/* Output of --check and --profile for one kernel: mistakes, and the cost of each line. */
#include "run/run.h"

#include <inttypes.h>

bool run_findings_fail(const ig_kernel_findings *f)
{
    for (int i = 0; f && i < f->n_findings; i++)
        if (!f->findings[i].is_note)
            return true;
    return f && f->n_more > 0;
}

void run_findings_say(const ig_kernel_findings *f)
{
    for (int i = 0; f && i < f->n_findings; i++)
        text_printf(stderr, "%s\n", f->findings[i].text);
    if (f && f->n_more)
        text_printf(stderr, "and %d more\n", f->n_more);
    if (f && !f->n_findings)
        fputs("no mistake was found\n", stderr);
}

void run_findings_json(str *t, const ig_kernel_findings *f)
{
    str_json(t, "findings: [");
    for (int i = 0; i < f->n_findings; i++) {
        const ig_kernel_finding *x = &f->findings[i];
        str_json(t, "{kind: %s, note: %hhd, message: %s, file: %s, line: %" PRId64 ", column: %u",
                 x->kind, x->is_note, x->message, x->file, x->line, x->column);
        str_json(t, "block: [%u, %u, %u], thread: [%u, %u, %u], count: %" PRIu64 "}", x->block[0],
                 x->block[1], x->block[2], x->thread[0], x->thread[1], x->thread[2], x->count);
    }
    str_json(t, "], more_findings: %d", f->n_more);
}

void run_profile_json(str *t, const ig_profile *p)
{
    char *json = ig_profile_json(p);
    str_json(t, "profile:");
    str_json_raw(t, json ? json : "null");
    ig_free(json);
}
