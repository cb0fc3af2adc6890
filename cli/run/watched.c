/* What a launch that was watched has seen: mistakes, and the cost of each line. */
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
        fprintf(stderr, "%s\n", f->findings[i].text);
    if (f && f->n_more)
        fprintf(stderr, "and %d more\n", f->n_more);
    if (f && !f->n_findings)
        fputs("no mistake was found\n", stderr);
}

void run_findings_json(str *t, const ig_kernel_findings *f)
{
    str_puts(t, "\"findings\": [");
    for (int i = 0; i < f->n_findings; i++) {
        const ig_kernel_finding *x = &f->findings[i];
        str_printf(t, "%s{\"kind\": \"%s\", \"note\": %s, \"message\": ", i ? ", " : "", x->kind,
                   x->is_note ? "true" : "false");
        json_string(t, x->message);
        str_puts(t, ", \"file\": ");
        json_string(t, x->file);
        str_printf(t,
                   ", \"line\": %" PRId64 ", \"column\": %u, \"block\": [%u, %u, %u], \"thread\": "
                   "[%u, %u, %u], \"count\": %" PRIu64 "}",
                   x->line, x->column, x->block[0], x->block[1], x->block[2], x->thread[0],
                   x->thread[1], x->thread[2], x->count);
    }
    str_printf(t, "], \"more_findings\": %d, ", f->n_more);
}

/* The numbers of a line, by their names. */
static void add_numbers(str *t, const ig_profile_line *l)
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
        str_printf(t, "%s\"%s\": %" PRIu64, i ? ", " : "", all[i].name, all[i].n);
}

void run_profile_json(str *t, const ig_profile *p)
{
    str_puts(t, "\"profile\": {\"total\": {");
    add_numbers(t, &p->total);
    str_puts(t, "}, \"lines\": [");
    for (int i = 0; i < p->n_lines; i++) {
        str_puts(t, i ? ", {\"file\": " : "{\"file\": ");
        json_string(t, p->lines[i].file);
        str_printf(t, ", \"line\": %" PRId64 ", \"text\": ", p->lines[i].line);
        json_string(t, p->lines[i].text);
        str_puts(t, ", ");
        add_numbers(t, &p->lines[i]);
        str_puts(t, "}");
    }
    str_puts(t, "]}, ");
}
