/* What comparisons and machines are in words. */
#include "report/compare.h"

#include <math.h>
#include <string.h>

enum { LISTED_MOST = 3 }; /* pairs that are told one by one */

void words_time(str *t, double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
    int i = 0;
    while (i < 3 && seconds < 0.9995 * units[i].unit)
        i++;
    const double x = seconds / units[i].unit;
    str_printf(t, x < 9.995 ? "%.2f %s" : x < 99.95 ? "%.1f %s" : "%.0f %s", x, units[i].name);
}

void words_ratio(str *t, double ratio)
{
    str_printf(t,
               ratio < 0.00995  ? "%.2g"
               : ratio < 0.0995 ? "%.3f"
               : ratio < 9.995  ? "%.2f"
               : ratio < 99.95  ? "%.1f"
                                : "%.0f",
               ratio);
}

void words_rate(str *t, double rate, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    while (i < 5 && rate >= 999.5) {
        rate /= 1000;
        i++;
    }
    str_printf(t,
               rate < 9.995   ? "%.2f %s%s"
               : rate < 99.95 ? "%.1f %s%s"
                              : "%.0f %s%s",
               rate, prefixes[i], unit);
}

void words_row(str *t, const result_row *r)
{
    str_printf(t, "%s %s %s", r->work, r->size, r->dtype);
}

static void words_interval(str *t, double low, double high)
{
    str_puts(t, "[");
    words_ratio(t, low);
    str_puts(t, ", ");
    words_ratio(t, high);
    str_puts(t, "]");
}

void words_old(str *t, const pairing *p)
{
    words_row(t, p->old);
    if (p->by_threads)
        str_printf(t, ", %d thread%s", p->old->threads, p->old->threads == 1 ? "" : "s");
}

void words_pair(str *t, const comparison *c, const pairing *p)
{
    const char *where = c->contestants[c->matches[p->match].new].label;
    const interval s = p->speedup;
    words_old(t, p);
    switch (p->verdict) {
    case VERDICT_FASTER:
        str_puts(t, " is ");
        words_ratio(t, s.middle);
        str_puts(t, " times faster ");
        words_interval(t, s.low, s.high);
        str_printf(t, " on %s", where);
        break;
    case VERDICT_SLOWER:
        str_puts(t, " takes ");
        words_ratio(t, 1 / s.middle);
        str_puts(t, " times as long ");
        words_interval(t, 1 / s.high, 1 / s.low);
        str_printf(t, " on %s", where);
        break;
    case VERDICT_SAME: str_printf(t, " is the same within noise on %s", where); break;
    case VERDICT_UNSURE:
        str_printf(t, " cannot be told on %s ", where);
        words_interval(t, s.low, s.high);
        break;
    }
}

void words_counts(str *t, const match *m)
{
    const struct {
        int n;
        const char *is;
    } parts[] = {{m->faster, "faster"},
                 {m->slower, "slower"},
                 {m->same, "the same within noise"},
                 {m->unsure, "unsure"}};
    bool first = true;
    for (int i = 0; i < 4; i++)
        if (parts[i].n == m->n) {
            str_printf(t, "All %d rows are %s.", m->n, parts[i].is);
            return;
        }
    str_printf(t, "Of %d rows", m->n);
    for (int i = 0; i < 4; i++)
        if (parts[i].n) {
            str_printf(t, "%s %d %s%s", first ? "" : ",", parts[i].n,
                       first ? parts[i].n == 1 ? "is " : "are " : "", parts[i].is);
            first = false;
        }
    str_puts(t, ".");
}

/* How much a row has to say: works before latencies, and both before curves over threads. */
static int weight(const result_row *r)
{
    return strcmp(r->group, "scaling") == 0 ? 0 : strcmp(r->group, "latency") == 0 ? 1 : 2;
}

/* The clearest row of a verdict in a match, or in all of them (-1); NULL: there is none. */
static const pairing *strongest(const comparison *c, int number, verdict v)
{
    const pairing *best = NULL;
    for (int i = 0; i < c->n_pairs; i++) {
        const pairing *p = &c->pairs[i];
        if ((number >= 0 && p->match != number) || p->verdict != v)
            continue;
        const int more = best ? weight(p->old) - weight(best->old) : 1;
        if (more > 0 || (more == 0 && v == VERDICT_FASTER && p->speedup.low > best->speedup.low) ||
            (more == 0 && v == VERDICT_SLOWER && p->speedup.high < best->speedup.high))
            best = p;
    }
    return best;
}

/* A sentence begins with a capital, where that is ASCII. */
static void capital(str *t, size_t at)
{
    if (at < t->n && t->s[at] >= 'a' && t->s[at] <= 'z')
        t->s[at] += 'A' - 'a';
}

static void headline_of(str *t, const comparison *c, int number)
{
    const match *m = &c->matches[number];
    const size_t begin = t->n;
    bool first = true;
    if (m->n <= LISTED_MOST) {
        for (int i = 0; i < c->n_pairs; i++)
            if (c->pairs[i].match == number) {
                str_puts(t, first ? "" : "; ");
                words_pair(t, c, &c->pairs[i]);
                first = false;
            }
    } else {
        static const verdict order[] = {VERDICT_FASTER, VERDICT_SLOWER, VERDICT_SAME,
                                        VERDICT_UNSURE};
        for (int i = 0; i < 4; i++) {
            const pairing *p = strongest(c, number, order[i]);
            if (!p || (order[i] == VERDICT_UNSURE && !first))
                continue;
            str_puts(t, first ? "" : "; ");
            words_pair(t, c, p);
            first = false;
        }
    }
    capital(t, begin);
    str_puts(t, first ? "" : ". ");
    if (m->n > LISTED_MOST)
        words_counts(t, m);
    str_trim(t);
}

void words_headline(str *t, const comparison *c)
{
    bool any = false;
    if (c->twins)
        str_puts(t, "Two of the files are the same run. ");
    else if (c->same_machine)
        str_printf(t, "%s files are of the same machine. ", c->n_sources == 2 ? "Both" : "All");
    for (int i = 0; i < c->n_matches; i++)
        if (c->matches[i].n) {
            str_puts(t, any ? "\n" : "");
            headline_of(t, c, i);
            any = true;
        }
    if (!any)
        str_puts(t, "There is nothing that may be compared.");
}

void words_title(str *t, const comparison *c)
{
    static const verdict order[] = {VERDICT_FASTER, VERDICT_SLOWER, VERDICT_UNSURE};
    const pairing *best = NULL;
    for (int i = 0; i < 3 && !best; i++)
        best = strongest(c, -1, order[i]);
    if (best)
        words_pair(t, c, best);
    else
        str_puts(t, c->n_pairs ? "Everything is the same within noise"
                               : "There is nothing that may be compared");
    capital(t, 0);
}

void words_notes(str *t, const comparison *c)
{
    for (int i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        if (!s->r.complete)
            str_printf(t, "%s: the run was interrupted; what it had measured is used\n", s->path);
        for (int j = 0; j < s->r.n_disturbances; j++)
            str_printf(t, "%s: disturbed: %s\n", s->path, s->r.disturbances[j]);
    }
    for (int i = 0; i < c->n_left_out; i++) {
        const refusal *l = &c->left_out[i];
        str_puts(t, "not compared: ");
        words_row(t, l->row);
        str_printf(t, " on %s: %s\n", c->contestants[c->matches[l->match].new].label, l->why);
    }
    if (c->only_old || c->only_new)
        str_printf(t, "not compared: %d row%s that only one side has\n", c->only_old + c->only_new,
                   c->only_old + c->only_new == 1 ? "" : "s");
}

void words_machine(str *t, const result *r)
{
    for (int i = 0; i < r->n_devices; i++) {
        const result_device *d = &r->devices[i];
        str_printf(t, "%s%s", i ? " and " : "", d->model ? d->model : d->name);
        if (d->cores)
            str_printf(t, " (%d core%s)", d->cores, d->cores == 1 ? "" : "s");
    }
    if (!r->n_devices)
        str_puts(t, "an unknown machine");
}

void words_single(str *t, const result *r)
{
    const result_row *most = NULL, *widest = NULL;
    double flops = 0, bytes = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const result_row *row = &r->rows[i];
        if (!row->n)
            continue;
        const double s = stats_typical(row_timings(row)).middle;
        if (row->flops / s > flops && strcmp(row->dtype, "f32") == 0) {
            flops = row->flops / s;
            most = row;
        }
        if (row->bytes / s > bytes && strcmp(row->group, "memory") == 0) {
            bytes = row->bytes / s;
            widest = row;
        }
    }
    words_machine(t, r);
    if (most) {
        str_puts(t, ": ");
        words_row(t, most);
        str_puts(t, " at ");
        words_rate(t, flops, "FLOP/s");
    }
    if (widest) {
        str_puts(t, most ? ", " : ": ");
        words_row(t, widest);
        str_puts(t, " at ");
        words_rate(t, bytes, "B/s");
    }
}
