/* The findings of a run of ingot verify, as a table and as JSON. See session.h. */
#include "verify/session.h"
#include "cli.h"
#include "support.h"
#include "verify/graphs.h"

#include <stdlib.h>
#include <string.h>

enum { FAILURES_SHOWN = 10 };

tally session_total(const session *s)
{
    tally all = {0};
    for (int i = 0; i < s->n_report; i++) {
        const tally t = verify_total(&s->report[i]);
        tally_add(&all, &t);
    }
    return all;
}

/* True if all units of that op have been checked. */
static bool is_complete(const session *s, int i)
{
    for (ig_dtype t = IG_BOOL; t <= IG_F64; t++)
        if (!work_complete(s->work, i / s->n_op, i % s->n_op * DTYPES + (int)t))
            return false;
    return true;
}

/* ---- for people ----------------------------------------------------------------------------- */

/* The sum over the reports of a class, by dtype. */
typedef struct class_report {
    const char *cls;
    int ops;
    tally by_dtype[DTYPES];
} class_report;

static class_report class_of(const session *s, const op_report *r, const char *cls)
{
    class_report c = {.cls = cls};
    for (int i = 0; i < s->n_op && r + i < s->report + s->n_report; i++) {
        const tally all = verify_total(&r[i]);
        if (strcmp(r[i].op->cls, cls) != 0 || all.cases == 0)
            continue;
        c.ops++;
        for (int d = 0; d < DTYPES; d++)
            tally_add(&c.by_dtype[d], &r[i].by_dtype[d]);
    }
    return c;
}

/* A number in a column; blank if there was no error. */
static void column(str *t, const char *format, int width, double x)
{
    if (x > 0)
        str_printf(t, format, width, x);
    else
        str_printf(t, " %*s", width, "-");
}

static void class_line(str *t, const class_report *c)
{
    static const ig_dtype floats[] = {IG_F16, IG_BF16, IG_F32, IG_F64};
    tally all = {0};
    for (int d = 0; d < DTYPES; d++)
        tally_add(&all, &c->by_dtype[d]);
    str_printf(t, "%-12s %4d %8lld %7lld", c->cls, c->ops, (long long)all.cases,
               (long long)all.failed);
    for (int i = 0; i < 4; i++)
        column(t, " %*.2f", 5, c->by_dtype[floats[i]].ulp);
    for (int i = 0; i < 4; i++)
        column(t, " %*.0e", 6, c->by_dtype[floats[i]].relative);
    column(t, " %*.2f", 6, all.bound);
    str_puts(t, "\n");
}

static void table(const session *s, int device, str *t)
{
    const op_report *r = s->report + device * s->n_op;
    const ig_device_info *d = &s->device[device];
    str_printf(t, "%s: %s", d->name, d->model ? d->model : d->kind);
    if (s->reference.name)
        str_printf(t, "; the bits of %s, math %s", s->reference.name, math_name());
    if (s->scope.flushes)
        str_puts(t, "; subnormal f32 numbers may become 0");
    str_puts(t, "\n\n");
    str_printf(t, "%36s%-24s%-28s%s\n", "", "worst ulp", "worst relative error", "share of");
    str_printf(t, "%-12s %4s %8s %7s %5s %5s %5s %5s %6s %6s %6s %6s %6s\n", "class", "ops",
               "cases", "failed", "f16", "bf16", "f32", "f64", "f16", "bf16", "f32", "f64",
               "bound");
    const char *cls = NULL;
    for (const ig_op *op = ops_next(NULL); op; op = ops_next(op)) {
        if (cls && strcmp(cls, op->cls) == 0)
            continue;
        cls = op->cls;
        const class_report c = class_of(s, r, cls);
        if (c.ops)
            class_line(t, &c);
    }
}

static void str_command(const session *s, int i, str *t)
{
    const op_report *r = &s->report[i];
    str_printf(t, "ingot verify --%s%s%s%s --op %s --dtype %s --case %s",
               s->reference.name ? "same " : "device ", s->reference.name ? s->reference.name : "",
               s->reference.name ? "," : "", s->device[i / s->n_op].name, r->op->name,
               ig_dtype_name(r->first.dtype), r->first.name);
    if (s->set->engine.math)
        str_printf(t, " --math %s", s->set->engine.math);
    str_puts(t, s->set->quick ? " --quick" : "");
    if (s->set->seed)
        str_printf(t, " --seed %llu", (unsigned long long)s->set->seed);
}

static void failures(const session *s, str *t)
{
    int shown = 0, bad = 0;
    for (int i = 0; i < s->n_report; i++) {
        const op_report *r = &s->report[i];
        if (!r->first.text || (bad++, shown == FAILURES_SHOWN))
            continue;
        shown++;
        str_printf(t, "\nFAILED %s %s on %s, case %s: %s\n  ", r->op->name,
                   ig_dtype_name(r->first.dtype), s->device[i / s->n_op].name, r->first.name,
                   r->first.text);
        str_command(s, i, t);
        str_puts(t, "\n");
    }
    if (bad > shown)
        str_printf(t, "\n... and %d more ops; --json tells all\n", bad - shown);
}

void session_show(const session *s)
{
    const tally all = session_total(s);
    str t = {0};
    for (int d = 0; d < s->n_device && d * s->n_op < s->n_report; d++) {
        table(s, d, &t);
        str_puts(&t, "\n");
    }
    failures(s, &t);
    if (s->interrupted) {
        int complete = 0;
        for (int i = 0; i < s->n_report; i++)
            complete += is_complete(s, i);
        str_printf(&t, "interrupted at %s; %d of %d ops are complete\n",
                   s->n_report ? s->report[s->n_report - 1].op->name : s->op[0]->name, complete,
                   s->n_device * s->n_op);
    }
    str_printf(&t, "%lld passed, %lld failed", (long long)(all.cases - all.failed - all.refused),
               (long long)all.failed);
    if (all.refused)
        str_printf(&t, ", %lld skipped", (long long)all.refused);
    if (all.flushed)
        str_printf(&t, "\n%lld elements are 0 because the device flushes subnormal numbers",
                   (long long)all.flushed);
    text_print(stdout, t.s);
    putchar('\n');
    str_free(&t);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_failure(const session *s, int i, str *t)
{
    const failure *f = &s->report[i].first;
    if (!f->text) {
        str_json(t, "null");
        return;
    }
    str again = {0};
    str_command(s, i, &again);
    str_json(t, "{dtype: %s, case: %s, text: %s, command: %s}", ig_dtype_name(f->dtype), f->name,
             f->text, again.s);
    str_free(&again);
}

static void json_report(const session *s, int i, str *t)
{
    const op_report *r = &s->report[i];
    const tally all = verify_total(r);
    str_json(t, i ? "\n{device: %s, op: %s, class: %s" : "{device: %s, op: %s, class: %s",
             s->device[i / s->n_op].name, r->op->name, r->op->cls);
    tally_json(t, &all);
    str_json(t, "dtypes: [");
    for (ig_dtype d = IG_BOOL; d <= IG_F64; d++)
        if (r->by_dtype[d].cases) {
            str_json(t, "{dtype: %s", ig_dtype_name(d));
            tally_json(t, &r->by_dtype[d]);
            str_json(t, "}");
        }
    str_json(t, "], first_failure:");
    json_failure(s, i, t);
    str_json(t, "}");
}

void session_show_json(const session *s)
{
    const tally all = session_total(s);
    str t = {0};
    str_json(&t, "{schema: 1, devices: [");
    for (int d = 0; d < s->n_device; d++)
        str_json(&t, "%s", s->device[d].name);
    str_json(&t,
             "], same_as: %s, math: %s, quick: %hhd, seed: %llu, interrupted: %hhd, seconds: %.3f",
             s->reference.name, math_name(), s->set->quick, (unsigned long long)s->set->seed,
             s->interrupted, s->seconds);
    tally_json(&t, &all);
    str_json(&t, "ops: [");
    for (int i = 0; i < s->n_report; i++)
        json_report(s, i, &t);
    str_json(&t, "]}\n");
    text_print(stdout, t.s);
    str_free(&t);
}

void session_show_graphs(const session *s)
{
    graphs_run r = {.work = s->work,
                    .n_device = s->n_device,
                    .reference = s->reference.name,
                    .math = math_name(),
                    .graphs = s->set->graphs,
                    .seed = s->set->seed,
                    .seconds = s->seconds,
                    .interrupted = s->interrupted};
    const char *names[DEVICES_MOST];
    for (int d = 0; d < s->n_device; d++)
        names[d] = s->device[d].name;
    r.device = names;
    graphs_show(&r, s->set->json);
}
