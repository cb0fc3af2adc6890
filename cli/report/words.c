/* Comparisons, machines and quantities in words. */
#include "report/compare.h"

#include <math.h>
#include <string.h>

#include "bench/glossary.h"

enum { LISTED_MOST = 3 /* pairs that are named one by one */ };

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

void words_times(str *t, double ratio)
{
    str_printf(t, ratio < 1.995 ? "%.3g" : ratio < 9.95 ? "%.2g" : "%.0f", ratio);
}

void words_old(str *t, const pairing *p)
{
    words_row(t, p->old);
    if (p->by_threads)
        str_printf(t, ", %d thread%s", p->old->threads, p->old->threads == 1 ? "" : "s");
}

/* "b multiplies matrices 31 times faster than a" */
static void words_verdict(str *t, const comparison *c, const pairing *p)
{
    const match *m = &c->matches[p->match];
    const char *old = c->contestants[m->old].label, *new = c->contestants[m->new].label;
    const char *work = p->old->work;
    switch (p->verdict) {
    case VERDICT_FASTER:
        str_printf(t, "%s ", new);
        work_does(t, work, true);
        str_puts(t, " ");
        words_times(t, p->speedup.middle);
        str_printf(t, " times faster than %s", old);
        break;
    case VERDICT_SLOWER:
        str_printf(t, "%s takes ", new);
        words_times(t, 1 / p->speedup.middle);
        str_printf(t, " times as long as %s to ", old);
        work_does(t, work, false);
        break;
    case VERDICT_SAME:
        str_printf(t, "%s ", new);
        work_does(t, work, true);
        str_printf(t, " as fast as %s", old);
        break;
    case VERDICT_UNSURE:
        str_printf(t, "it is unsure whether %s ", new);
        work_does(t, work, true);
        str_printf(t, " faster than %s", old);
        break;
    }
}

/* "b multiplies matrices 31 times faster than a (matmul 64 f32 [30.4, 31.6])" */
static void words_pair(str *t, const comparison *c, const pairing *p)
{
    const interval s = p->speedup;
    const bool slower = p->verdict == VERDICT_SLOWER;
    words_verdict(t, c, p);
    str_puts(t, " (");
    words_old(t, p);
    str_puts(t, " ");
    words_interval(t, slower ? 1 / s.high : s.low, slower ? 1 / s.low : s.high);
    str_puts(t, ")");
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
            str_printf(t, m->n == 1 ? "%d row, which is %s." : "All %d rows are %s.", m->n,
                       parts[i].is);
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

/* How much a row says about a machine: works most, then latencies, then rows over threads. */
static int weight(const result_row *r)
{
    return strcmp(r->group, "scaling") == 0 ? 0 : strcmp(r->group, "latency") == 0 ? 1 : 2;
}

/* The clearest row of a verdict in a match, or in all matches (-1); NULL if there is none. */
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

/* True if more than half of a match's rows are unsure. */
static bool mostly_unsure(const match *m) { return 2 * m->unsure > m->n; }

/* "it is unsure" begins a sentence with a capital; names of machines stay as they are. */
static void begin_sentence(str *t, size_t at)
{
    if (strncmp(t->s + at, "it is ", 6) == 0)
        t->s[at] = 'I';
}

static void listed(str *t, const comparison *c, int number)
{
    const size_t begin = t->n;
    bool first = true;
    for (int i = 0; i < c->n_pairs; i++)
        if (c->pairs[i].match == number) {
            str_puts(t, first ? "" : "; ");
            words_pair(t, c, &c->pairs[i]);
            first = false;
        }
    begin_sentence(t, begin);
    str_puts(t, ".");
}

static void headline_of(str *t, const comparison *c, int number)
{
    static const verdict order[] = {VERDICT_FASTER, VERDICT_SLOWER, VERDICT_SAME};
    const match *m = &c->matches[number];
    bool first = true;
    if (m->n <= LISTED_MOST) {
        listed(t, c, number);
        return;
    }
    if (mostly_unsure(m))
        str_printf(
            t, "%s %d rows of %s against %s are unsure; measure longer, or on a quieter machine.%s",
            m->unsure == m->n ? "All" : "Most of the", m->n, c->contestants[m->new].label,
            c->contestants[m->old].label, m->unsure == m->n ? "" : " ");
    if (m->unsure == m->n)
        return;
    for (int i = 0; i < 3; i++) {
        const pairing *p = strongest(c, number, order[i]);
        if (!p || (order[i] == VERDICT_SAME && !first))
            continue;
        str_puts(t, first ? "" : "; ");
        words_pair(t, c, p);
        first = false;
    }
    str_puts(t, first ? "" : ". ");
    words_counts(t, m);
}

void words_headline(str *t, const comparison *c)
{
    bool any = false;
    if (c->twins)
        str_puts(t, "Two of the files are the same run. ");
    else if (c->same_machine)
        str_printf(t, "%s files are from the same machine. ", c->n_sources == 2 ? "Both" : "All");
    for (int i = 0; i < c->n_matches; i++)
        if (c->matches[i].n) {
            str_puts(t, any ? "\n" : "");
            headline_of(t, c, i);
            any = true;
        }
    if (!any)
        str_puts(t, "No rows can be compared.");
}

void words_title(str *t, const comparison *c)
{
    static const verdict order[] = {VERDICT_FASTER, VERDICT_SLOWER};
    const pairing *best = NULL;
    int unsure = 0;
    for (int i = 0; i < c->n_matches; i++)
        unsure += c->matches[i].unsure;
    for (int i = 0; i < 2 && !best && 2 * unsure <= c->n_pairs; i++)
        best = strongest(c, -1, order[i]);
    if (best)
        words_verdict(t, c, best);
    else if (!c->n_pairs)
        str_puts(t, "No rows can be compared");
    else if (unsure)
        str_printf(t, "Most differences are unsure: %d of %d rows", unsure, c->n_pairs);
    else
        str_puts(t, "No difference beyond the noise");
}

void words_commands(str *t, const result *r)
{
    const result_row *first = NULL;
    for (int i = 0; i < r->n_rows; i++) {
        const result_row *row = &r->rows[i];
        if (strcmp(row->group, "command") != 0 || !row->n)
            continue;
        if (!first) {
            first = row;
            continue;
        }
        interval s;
        const verdict v = stats_compare(row_timings(first), row_timings(row), &s);
        const char *old = first->size, *new = row->size;
        if (v == VERDICT_FASTER || v == VERDICT_SLOWER) {
            str_printf(t, v == VERDICT_FASTER ? "'%s' is " : "'%s' takes ", new);
            words_times(t, v == VERDICT_FASTER ? s.middle : 1 / s.middle);
            str_printf(t,
                       v == VERDICT_FASTER ? " times faster than '%s' " : " times as long as '%s' ",
                       old);
        } else if (v == VERDICT_SAME) {
            str_printf(t, "'%s' is as fast as '%s' ", new, old);
        } else {
            str_printf(t, "It is unsure whether '%s' is faster than '%s' ", new, old);
        }
        const bool slower = v == VERDICT_SLOWER;
        words_interval(t, slower ? 1 / s.high : s.low, slower ? 1 / s.low : s.high);
        str_puts(t, v == VERDICT_UNSURE ? ": give more --seconds.\n" : ".\n");
    }
}

static const char *left_out_why(const char *disturbance)
{
    static const char words[] = ": left out: ";
    const char *at = strstr(disturbance, words);
    return at ? at + strlen(words) : NULL;
}

/* One line for each reason for which works were left out, with their number. */
static void note_left_out(str *t, const source *s)
{
    const char **all = s->r.disturbances;
    for (int i = 0; i < s->r.n_disturbances; i++) {
        const char *why = left_out_why(all[i]);
        int works = 0;
        for (int j = 0; j < s->r.n_disturbances && why; j++) {
            const char *other = left_out_why(all[j]);
            if (!other || strcmp(why, other) != 0)
                continue;
            if (j < i)
                why = NULL; /* it was noted */
            works++;
        }
        if (why)
            str_printf(t, "%s: %d work%s left out: %s\n", s->path, works,
                       works == 1 ? " was" : "s were", why);
    }
}

/* The disturbances of a run, in one line. */
static void note_disturbances(str *t, const source *s)
{
    bool any = false;
    for (int i = 0; i < s->r.n_disturbances; i++)
        if (!left_out_why(s->r.disturbances[i])) {
            str_printf(t, any ? "; %.0s%s" : "%s: disturbed: %s", s->path, s->r.disturbances[i]);
            any = true;
        }
    str_puts(t, any ? "\n" : "");
    note_left_out(t, s);
}

void words_notes(str *t, const comparison *c)
{
    for (int i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        if (!s->r.complete)
            str_printf(t, "%s: the run was interrupted; only what it had measured is compared\n",
                       s->path);
        int few = 0;
        for (int j = 0; j < s->r.n_rows; j++)
            few += s->r.rows[j].n && row_passes(&s->r.rows[j]) < PASSES_LEAST;
        int doubtful = 0;
        for (int j = 0; j < s->r.n_rows; j++)
            doubtful += s->r.rows[j].n_warnings > 0;
        if (doubtful)
            str_printf(t, "%s: %d doubtful measurement%s (!)\n", s->path, doubtful,
                       doubtful == 1 ? "" : "s");
        if (few)
            str_printf(t, "%s: %d row%s fewer than %d passes, too few for a verdict\n", s->path,
                       few, few == 1 ? " has" : "s have", PASSES_LEAST);
    }
    for (int i = 0; i < c->n_sources; i++)
        note_disturbances(t, &c->sources[i]);
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

static void words_device(str *t, const result_device *d)
{
    str_puts(t, d->model ? d->model : d->name);
    if (d->cores)
        str_printf(t, " (%d core%s)", d->cores, d->cores == 1 ? "" : "s");
}

void words_machine(str *t, const result *r)
{
    for (int i = 0; i < r->n_devices; i++) {
        str_puts(t, i ? " and " : "");
        words_device(t, &r->devices[i]);
    }
    if (!r->n_devices)
        str_puts(t, "unknown machine");
}

/* A row's rate with its interval: "70.7 GFLOP/s [68.1 G, 72.3 G]". */
void words_row_rate(str *t, const result_row *r)
{
    const interval s = stats_typical(row_timings(r));
    const char *unit;
    const double amount = row_amount(r, &unit);
    str low = {0}, high = {0};
    words_rate(t, amount / s.middle, unit);
    words_rate(&low, amount / s.high, "");
    words_rate(&high, amount / s.low, "");
    str_printf(t, " [%s, %s]", low.s, high.s);
    str_free(&low);
    str_free(&high);
}

/* The row with the highest rate, of f32 operations or of bytes in memory; doubtful rows are ignored. */
static const result_row *fastest(const result *r, bool operations)
{
    const result_row *best = NULL;
    double most = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const result_row *row = &r->rows[i];
        if (!row->n || row_doubt(row) ||
            (operations ? strcmp(row->dtype, "f32") != 0 : strcmp(row->group, "memory") != 0))
            continue;
        const double rate =
            (operations ? row->flops : row->bytes) / stats_typical(row_timings(row)).middle;
        if (rate > most) {
            most = rate;
            best = row;
        }
    }
    return best;
}

void words_single(str *t, const result *r)
{
    const result_row *rows[] = {fastest(r, true), fastest(r, false)};
    if (!r->n_devices) {
        str commands = {0};
        words_commands(&commands, r);
        str_add(t, commands.s ? commands.s : "", commands.n ? strcspn(commands.s, "\n") : 0);
        str_free(&commands);
    }
    if (t->n)
        return;
    const char *subject = NULL;
    for (int i = 0; i < 2; i++) {
        if (!rows[i])
            continue;
        str_puts(t, t->n ? " and " : "");
        if (!subject || strcmp(subject, rows[i]->device) != 0) {
            const result_device *d = row_device(r, rows[i]);
            words_device(t, d ? d : &(result_device){.name = rows[i]->device});
            str_puts(t, " ");
        }
        subject = rows[i]->device;
        work_does(t, rows[i]->work, true);
        str_puts(t, " at ");
        words_row_rate(t, rows[i]);
    }
    if (t->n)
        return;
    words_machine(t, r);
    if (r->n_rows)
        str_puts(
            t,
            ": nothing certain can be said about its speed; measure longer, or when it is quiet");
}
