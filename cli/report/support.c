/* Which ops run on which devices, and in which dtypes. Ops with the same support share a row. */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

enum { DTYPES_MOST = 24, DTYPE_BYTES = 12, OPS_MOST = 2000, ROWS_MOST = 60, NAMES_MOST = 100 };

typedef struct dtypes {
    char name[DTYPES_MOST][DTYPE_BYTES];
    int n;
} dtypes;

static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = words; at && *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == n && strncmp(at, word, n) == 0)
            return true;
        at += length;
    }
    return false;
}

static void see_words(dtypes *d, const char *words)
{
    for (const char *at = words; at && *at; at += strspn(at, " ")) {
        char word[DTYPE_BYTES] = "";
        const size_t n = strcspn(at, " ");
        memcpy(word, at, n < sizeof word - 1 ? n : sizeof word - 1);
        int i = 0;
        while (i < d->n && strcmp(d->name[i], word) != 0)
            i++;
        if (i == d->n && *word && d->n < DTYPES_MOST)
            memcpy(d->name[d->n++], word, sizeof word);
        at += n;
    }
}

static bool same_words(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static bool alike(const result_op *a, const result_op *b)
{
    return same_words(a->cls, b->cls) && same_words(a->device, b->device) &&
           same_words(a->native, b->native) && same_words(a->fallback, b->fallback) &&
           same_words(a->refused, b->refused);
}

static void op_row(str *t, const result *r, int first, const dtypes *d)
{
    const result_op *op = &r->ops[first];
    int n = 0;
    for (int i = first; i < r->n_ops; i++)
        n += alike(&r->ops[i], op);
    html_put(t, "<tr><th scope=\"row\">%s <span>%d op%s: ", op->cls, n, n == 1 ? "" : "s");
    for (int i = first, shown = 0; i < r->n_ops && shown < NAMES_MOST; i++)
        if (alike(&r->ops[i], op))
            html_put(t, "%s%s", shown++ ? ", " : "", r->ops[i].name);
    str_puts(t, n > NAMES_MOST ? ", …</span></th>" : "</span></th>");
    for (int i = 0; i < d->n; i++) {
        if (has_word(op->native, d->name[i]))
            str_puts(t, "<td class=\"yes\">●</td>");
        else if (has_word(op->fallback, d->name[i]))
            str_puts(t, "<td class=\"back\">○</td>");
        else
            str_puts(t,
                     has_word(op->refused, d->name[i]) ? "<td class=\"no\">–</td>" : "<td></td>");
    }
    str_puts(t, "</tr>\n");
}

/* The rows of one device. */
static void device_rows(str *t, const contestant *who, dtypes *d)
{
    const result *r = &who->from->r;
    const int n_ops = r->n_ops < OPS_MOST ? r->n_ops : OPS_MOST;
    int shown = 0;
    for (int i = 0; i < n_ops; i++)
        if (strcmp(r->ops[i].device, who->device) == 0) {
            see_words(d, r->ops[i].native);
            see_words(d, r->ops[i].fallback);
            see_words(d, r->ops[i].refused);
        }
    for (int i = 0; i < n_ops && shown < ROWS_MOST; i++) {
        int before = 0;
        while (before < i && !alike(&r->ops[before], &r->ops[i]))
            before++;
        if (before == i && strcmp(r->ops[i].device, who->device) == 0) {
            op_row(t, r, i, d);
            shown++;
        }
    }
}

/* One table for all contestants, from `number` on, that have the same support; marks them as done. */
static void device_table(str *t, const comparison *c, int number, bool *done)
{
    str rows = {0}, label = {0};
    dtypes d = {.n = 0};
    const char *heads[DTYPES_MOST + 2] = {"Ops"};
    device_rows(&rows, &c->contestants[number], &d);
    for (int i = 0; i < d.n; i++)
        heads[i + 1] = d.name[i];
    for (int i = number; i < c->n_contestants && rows.n; i++) {
        str others = {0};
        dtypes of_others = {.n = 0};
        device_rows(&others, &c->contestants[i], &of_others);
        if (others.n && strcmp(others.s, rows.s) == 0) {
            str_printf(&label, "%s%s", label.n ? ", " : "", c->contestants[i].label);
            done[i] = true;
        }
        str_free(&others);
    }
    if (rows.n) {
        part_table(t, "support", label.s, heads);
        str_puts(t, rows.s);
        part_table_end(t);
    }
    str_free(&rows);
    str_free(&label);
}

void section_support(str *t, const comparison *c)
{
    int n = 0;
    for (int i = 0; i < c->n_sources; i++)
        n += c->sources[i].r.n_ops;
    if (!n)
        return;
    part_heading(t, "ops", "Which op runs where",
                 "● on the device itself, ○ on the CPU instead, – refused with a message.");
    bool *done = heap_get((size_t)c->n_contestants * sizeof *done);
    for (int i = 0; i < c->n_contestants; i++)
        if (!done[i] && t->n < SUPPORT_UNTIL)
            device_table(t, c, i, done);
    free(done);
}
