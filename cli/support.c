/* The support table: op x device x dtype. Each op is built with verify's arguments, and the library plans it for the
 * device. A refusal has a reason. */
#include "support.h"
#include "calc/calc.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>

support support_ask(const ig_op *op, const char *device)
{
    support s = {0};
    const char *before = ig_device();
    if (ig_set_device(device) != IG_OK)
        return s;
    for (ig_dtype d = IG_BOOL; d <= IG_F64; d++)
        s.is[d] = verify_taking(op, d, &s.why[d]);
    ig_set_device(before);
    return s;
}

void support_free(support *s)
{
    for (int d = 0; d < DTYPES; d++)
        free(s->why[d]);
}

const char *support_reason(const support *s)
{
    for (int d = 0; d < DTYPES; d++)
        if (s->why[d])
            return s->why[d];
    return NULL;
}

/* If all dtypes of a set are left, adds the word for the set and removes them. */
static void add_set(str *t, size_t start, unsigned *left, unsigned set, const char *word)
{
    if ((*left & set) != set)
        return;
    str_printf(t, "%s%s", t->n > start ? ", " : "", word);
    *left &= ~set;
}

void support_dtypes(str *t, const support *s, taking which)
{
    const size_t start = t->n;
    unsigned left = 0;
    for (ig_dtype d = IG_BOOL; d <= IG_F64; d++)
        left |= s->is[d] == which ? BIT(d) : 0;
    if (!left)
        str_puts(t, "-");
    add_set(t, start, &left, ANY, "all");
    add_set(t, start, &left, BOOLS, "bool");
    add_set(t, start, &left, INTS, "integers");
    add_set(t, start, &left, SIGNED, "signed integers");
    add_set(t, start, &left, UNSIGNED, "unsigned integers");
    add_set(t, start, &left, FLOATS, "floats");
    for (ig_dtype d = IG_BOOL; d <= IG_F64; d++)
        add_set(t, start, &left, BIT(d), ig_dtype_name(d));
}

/* ---- tables --------------------------------------------------------------------------------- */

static void table_row(str *t, const ig_op *op, const char *device)
{
    support s = support_ask(op, device);
    str takes = {0};
    support_dtypes(&takes, &s, TAKING_NATIVE);
    str_printf(t, "  %-30s", op->name);
    if (!support_reason(&s)) {
        str_printf(t, "%s\n", takes.s);
    } else {
        str_printf(t, "%-24s not ", takes.s);
        support_dtypes(t, &s, TAKING_REFUSED);
        str_printf(t, ": %s\n", support_reason(&s));
    }
    str_free(&takes);
    support_free(&s);
}

bool device_by_default(const ig_device_info *d)
{
    const bool emulated = strcmp(d->kind, "cpu") == 0 && strcmp(d->name, "cpu") != 0;
    return d->runs_arrays && !emulated && strcmp(d->kind, "gang") != 0;
}

bool support_lists(const ig_device_info *d, const char *only)
{
    if (only)
        return strcmp(d->name, only) == 0;
    return d->runs_arrays && strcmp(d->kind, "gang") != 0;
}

void support_table(str *t, const char *only)
{
    for (int k = 0; k < ig_device_count(); k++) {
        ig_device_info d = {0};
        if (ig_device_get(k, &d) != IG_OK || !support_lists(&d, only))
            continue;
        str_printf(t, "%s%s: dtypes that are computed there, and those that are refused%s\n",
                   t->n ? "\n" : "", d.name,
                   d.flushes_subnormals ? "; f32 below 2^-126 may become 0" : "");
        const char *cls = NULL;
        for (const ig_op *op = ops_next(NULL); op; op = ops_next(op)) {
            if (!cls || strcmp(cls, op->cls) != 0)
                str_printf(t, "\n%s\n", op->cls);
            cls = op->cls;
            table_row(t, op, d.name);
        }
    }
}

/* Adds text for a cell of a Markdown table. */
static void add_cell(str *t, const char *s)
{
    for (; *s; s++)
        str_printf(t, *s == '|' ? "\\%c" : "%c", *s);
}

static void markdown_row(str *t, const ig_op *op)
{
    support s = support_ask(op, "cpu");
    str_printf(t, "| `%s(", op->name);
    str_signature(t, op->signature);
    str_puts(t, ")` | ");
    add_cell(t, op->doc);
    str_puts(t, " | ");
    support_dtypes(t, &s, TAKING_NATIVE);
    str_printf(t, op->ulp > 0 ? "; %g ulp |\n" : " |\n", op->ulp);
    support_free(&s);
}

void support_markdown(str *t)
{
    str_puts(
        t,
        "# The ops\n\n"
        "Made by `make docs` from what the library says; `ingot ops --support` prints it for "
        "the devices of\nyour machine, with the reason for each refusal. Dtypes are those that "
        "the CPU computes with: where an\nop needs floats, integers and bool are converted to "
        "f32. \"4 ulp\" is what f32 and f64 results of an\nelementwise op may be off by; without "
        "it they are correctly rounded.\n");
    const char *cls = NULL;
    for (const ig_op *op = ops_next(NULL); op; op = ops_next(op)) {
        if (!cls || strcmp(cls, op->cls) != 0)
            str_printf(t, "\n## %s\n\n| op | what it gives | dtypes |\n|---|---|---|\n", op->cls);
        cls = op->cls;
        markdown_row(t, op);
    }
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_dtypes(str *t, const support *s)
{
    for (ig_dtype d = IG_BOOL; d <= IG_F64; d++) {
        if (s->is[d] == TAKING_NONE)
            continue;
        str_json(t, "%s: {by: %s", ig_dtype_name(d), s->why[d] ? "refused" : "native");
        if (s->why[d])
            str_json(t, "why: %s", s->why[d]);
        str_json(t, "}");
    }
}

void support_json(str *t, const ig_op *op, const char *only)
{
    str_json(t, "{");
    for (int k = 0; k < ig_device_count(); k++) {
        ig_device_info d = {0};
        if (ig_device_get(k, &d) != IG_OK || !support_lists(&d, only))
            continue;
        support s = support_ask(op, d.name);
        str_json(t, "%s: {", d.name);
        json_dtypes(t, &s);
        str_json(t, "}");
        support_free(&s);
    }
    str_json(t, "}");
}
