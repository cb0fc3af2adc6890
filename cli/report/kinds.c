/* The comparison by kind of work, on cards; and the glossary of works. */
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/glossary.h"

enum { LINES_MOST = 4, ENTRIES_MOST = 100 };

static const struct kind {
    const char *group, *title, *about;
} kinds[] = {
    {"compute", "Compute", "Matrix products, convolution, attention: limited by arithmetic."},
    {"memory", "Memory", "Elementwise ops, reductions, sorting: limited by the memory."},
    {"latency", "Latency", "Starting programs, launching evaluations, copying to devices."},
    {"train", "Training", "Steps and epochs of small networks."},
    {"text", "Text", "Tokenizers and text models."}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- comparisons ---------------------------------------------------------------------------- */

/* The rows of one kind in one match. */
typedef struct tally {
    int n, count[4]; /* by verdict */
    double log_mean; /* of the speedups */
} tally;

static tally tally_of(const comparison *c, int number, const char *group)
{
    tally s = {0};
    for (int i = 0; i < c->n_pairs; i++) {
        const pairing *p = &c->pairs[i];
        if (p->match != number || strcmp(p->old->group, group) != 0)
            continue;
        s.n++;
        s.count[p->verdict]++;
        s.log_mean += log(p->speedup.middle);
    }
    s.log_mean /= s.n ? s.n : 1;
    return s;
}

/* Adds "3.4× faster", and returns the verdict that colors it. */
static verdict tally_words(str *t, const tally *s)
{
    const double mean = exp(s->log_mean);
    if (2 * s->count[VERDICT_UNSURE] > s->n) {
        str_puts(t, "unsure");
        return VERDICT_UNSURE;
    }
    if (fabs(s->log_mean) < log(1.05)) {
        const bool mixed = s->count[VERDICT_FASTER] && s->count[VERDICT_SLOWER];
        str_puts(t, mixed ? "mixed" : "about the same");
        return VERDICT_SAME;
    }
    words_times(t, mean > 1 ? mean : 1 / mean);
    str_puts(t, mean > 1 ? "× faster" : "× slower");
    return mean > 1 ? VERDICT_FASTER : VERDICT_SLOWER;
}

static void match_line(str *t, const comparison *c, int number, const char *group)
{
    const match *m = &c->matches[number];
    const tally s = tally_of(c, number, group);
    if (!s.n)
        return;
    str words = {0}, counts = {0};
    const verdict v = tally_words(&words, &s);
    words_counts(&counts, &(match){.n = s.n,
                                   .faster = s.count[VERDICT_FASTER],
                                   .slower = s.count[VERDICT_SLOWER],
                                   .same = s.count[VERDICT_SAME],
                                   .unsure = s.count[VERDICT_UNSURE]});
    html_put(t, "<p class=\"fact\"><span>%s against %s</span>", c->contestants[m->new].label,
             c->contestants[m->old].label);
    html_put(t, "<strong class=\"%s\">%s</strong><span>%s</span></p>", verdict_name(v), words.s,
             counts.s);
    str_free(&words);
    str_free(&counts);
}

/* ---- one file ------------------------------------------------------------------------------- */

/* The row of a kind with the highest rate; flops: in operations, else in bytes. */
static const result_row *best_row(const contestant *who, const char *group, bool flops)
{
    const result_row *best = NULL;
    double most = 0;
    for (const result_row *r = NULL; (r = row_next(who, r));) {
        const double rate = (flops ? r->flops : r->bytes) / row_time(r).middle;
        const bool integers = r->dtype[0] == 'i' || r->dtype[0] == 'u'; /* which have no FLOP */
        if (strcmp(r->group, group) == 0 && rate > most && !(flops && integers)) {
            most = rate;
            best = r;
        }
    }
    return best;
}

static void rate_line(str *t, const contestant *who, const char *group, bool flops)
{
    const result_row *r = best_row(who, group, flops);
    if (!r)
        return;
    const double s = row_time(r).middle, share = row_best_s(&who->from->r, r) / s;
    str rate = {0}, row = {0};
    words_rate(&rate, (flops ? r->flops : r->bytes) / s, flops ? "FLOP/s" : "B/s");
    words_row(&row, r);
    html_put(t, "<p class=\"fact\"><span>%s</span><strong>%s</strong><span>", row.s, rate.s);
    if (share > 0)
        html_put(t, "%.0f %% of the measured peak", 100 * share);
    str_puts(t, "</span></p>");
    str_free(&rate);
    str_free(&row);
}

static void time_lines(str *t, const contestant *who, const char *group)
{
    int shown = 0;
    for (const result_row *r = NULL; (r = row_next(who, r)) && shown < LINES_MOST;) {
        if (strcmp(r->group, group) != 0)
            continue;
        str time = {0}, does = {0};
        words_time(&time, row_time(r).middle);
        work_does(&does, r->work, false);
        html_put(t, "<p class=\"fact\"><span>%s</span><strong>%s</strong></p>", does.s, time.s);
        str_free(&time);
        str_free(&does);
        shown++;
    }
}

static void single_lines(str *t, const comparison *c, const char *group)
{
    for (int i = 0; i < c->n_contestants; i++) {
        const bool compute = strcmp(group, "compute") == 0;
        if (compute || strcmp(group, "memory") == 0)
            rate_line(t, &c->contestants[i], group, compute);
        else
            time_lines(t, &c->contestants[i], group);
    }
}

void section_kinds(str *t, const comparison *c)
{
    str cards = {0};
    for (int k = 0; k < KINDS; k++) {
        str lines = {0};
        for (int i = 0; i < c->n_matches; i++)
            match_line(&lines, c, i, kinds[k].group);
        if (!c->n_matches)
            single_lines(&lines, c, kinds[k].group);
        if (lines.n)
            html_put(&cards, "<section class=\"card\"><h3>%s</h3><p class=\"note\">%s</p>",
                     kinds[k].title, kinds[k].about);
        if (lines.n) {
            str_puts(&cards, lines.s);
            str_puts(&cards, "</section>\n");
        }
        str_free(&lines);
    }
    if (cards.n) {
        part_heading(t, "kinds", "At a glance",
                     c->n_matches ? "Speedups are geometric means over the rows of each kind."
                                  : "The highest rates of each kind, and typical times.");
        str_puts(t, "<div class=\"cards kinds\">\n");
        str_puts(t, cards.s);
        str_puts(t, "</div>\n");
    }
    str_free(&cards);
}

/* ---- glossary ------------------------------------------------------------------------------- */

void section_glossary(str *t, const comparison *c)
{
    const char *seen[ENTRIES_MOST];
    int n = 0;
    if (!c->n_contestants)
        return;
    part_heading(t, "glossary", "What the works are",
                 "What is computed, and what the numbers in a size mean.");
    str_puts(t, "<dl class=\"glossary\">");
    for (int i = 0; i < c->n_contestants; i++)
        for (const result_row *r = NULL;
             (r = row_next(&c->contestants[i], r)) && n < ENTRIES_MOST;) {
            int k = 0;
            while (k < n && strcmp(seen[k], r->work) != 0)
                k++;
            if (k < n || t->n > GLOSSARY_UNTIL)
                continue;
            seen[n++] = r->work;
            const work_words *w = work_words_of(r->work);
            html_put(t, "<dt>%s</dt><dd>%s</dd>\n", r->work, w ? w->about : r->input);
        }
    str_puts(t, "</dl>\n");
}
