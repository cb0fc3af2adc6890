/* The report of ingot verify --graphs, as text and as JSON. */
#include "verify/graphs.h"

#include <stdlib.h>
#include <string.h>

enum { GRAPHS_UNIT = 20 };

/* ---- units ---- */

int graphs_units(int64_t n, const char *only)
{
    return only ? 1 : (int)((n + GRAPHS_UNIT - 1) / GRAPHS_UNIT);
}

int64_t graphs_first(int64_t n, const char *only, int unit, int64_t *end)
{
    const int64_t first = only ? strtoll(only, NULL, 10) : (int64_t)unit * GRAPHS_UNIT;
    *end = only ? first + 1 : first + GRAPHS_UNIT < n ? first + GRAPHS_UNIT : n;
    return first;
}

void graphs_name(int64_t n, const char *only, int unit, char name[UNIT_NAME])
{
    int64_t end;
    const int64_t first = graphs_first(n, only, unit, &end);
    snprintf(name, UNIT_NAME, "graphs %lld-%lld", (long long)first, (long long)end - 1);
}

/* ---- the report ---- */

/* The sum over the units of a device. */
static tally total_of(const work *w, int d)
{
    tally all = {0};
    for (int i = 0; i < work_units(w); i++) {
        unit_report r;
        work_report(w, d, i, &r);
        tally_add(&all, &r.seen);
    }
    return all;
}

tally graphs_total(const work *w, int n_device)
{
    tally all = {0};
    for (int d = 0; d < n_device; d++) {
        const tally t = total_of(w, d);
        tally_add(&all, &t);
    }
    return all;
}

/* Adds a failure: what is wrong, and on a separate line a command. */
static void add_failure(str *t, const char *device, const failure *f, bool json)
{
    const char *again = strstr(f->text, "\n  ");
    const int n = again ? (int)(again - f->text) : (int)strlen(f->text);
    again = again ? again + 3 : "";
    if (!json) {
        str_printf(t, "\nFAILED graph %s on %s: %.*s\n  %s\n", f->name, device, n, f->text, again);
        return;
    }
    str what = {0};
    str_printf(&what, "%.*s", n, f->text);
    str_json(t, "\n{device: %s, graph: %s, text: %s, command: %s}", device, f->name, what.s, again);
    str_free(&what);
}

static void add_failures(str *t, const graphs_run *r, bool json)
{
    for (int d = 0; d < r->n_device; d++)
        for (int i = 0; i < work_units(r->work); i++) {
            unit_report u;
            work_report(r->work, d, i, &u);
            if (u.first.text && u.seen.failed)
                add_failure(t, r->device[d], &u.first, json);
        }
}

static void add_json(str *t, const graphs_run *r, const tally *all)
{
    str_json(t, "{schema: 1, graphs: %lld, seed: %llu, math: %s, same_as: %s", (long long)r->graphs,
             (unsigned long long)r->seed, r->math, r->reference);
    str_json(t, "interrupted: %hhd, seconds: %.3f", r->interrupted, r->seconds);
    tally_json(t, all);
    str_json(t, "devices: [");
    for (int d = 0; d < r->n_device; d++) {
        const tally of = total_of(r->work, d);
        str_json(t, "{device: %s", r->device[d]);
        tally_json(t, &of);
        str_json(t, "}");
    }
    str_json(t, "], failures: [");
    add_failures(t, r, true);
    str_json(t, "]}");
}

static void add_text(str *t, const graphs_run *r, const tally *all)
{
    for (int d = 0; d < r->n_device; d++) {
        const tally of = total_of(r->work, d);
        str_printf(t, "%s: %lld graphs in math %s, each operation within %.2f of its bound",
                   r->device[d], (long long)of.cases, r->math, of.bound);
        if (r->reference)
            str_printf(t, "; the bits of %s", r->reference);
        str_puts(t, "\n");
    }
    add_failures(t, r, false);
    if (all->failed >= GRAPHS_FAILED_MOST)
        str_puts(t, "\nstopped, because many graphs failed\n");
    else if (r->interrupted)
        str_puts(t, "interrupted\n");
    str_printf(t, "%lld passed, %lld failed", (long long)(all->cases - all->failed - all->refused),
               (long long)all->failed);
    if (all->refused)
        str_printf(t, ", %lld skipped", (long long)all->refused);
}

void graphs_show(const graphs_run *r, bool json)
{
    const tally all = graphs_total(r->work, r->n_device);
    str t = {0};
    (json ? add_json : add_text)(&t, r, &all);
    text_print(stdout, t.s);
    putchar('\n');
    str_free(&t);
}
