/* The chart of the first screen: how fast, and compared with what; and the glossary of works.
 *
 * For one file, each work has a bar: its share of the highest rate of the run. For a comparison, each kind of work has
 * a bar: its speedup. */
#include "report/page.h"

#include <math.h>
#include <string.h>

#include "bench/glossary.h"

enum { BARS_MOST = 14, ENTRIES_MOST = 100 };

static const struct kind {
    const char *group, *title;
} kinds[] = {{"compute", "Compute: products, convolution, attention"},
             {"memory", "Memory: elementwise ops, reductions, sorting"},
             {"transfer", "Copies to and from the device"},
             {"latency", "Latency: starting programs, launching evaluations"},
             {"train", "Training steps"},
             {"text", "Tokenizers and text models"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- comparisons ---------------------------------------------------------------------------- */

/* The rows of one kind in one match. */
typedef struct tally {
    int n, count[4];   /* by verdict */
    interval log_mean; /* of the speedups and of the ends of their intervals */
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
        s.log_mean.low += log(p->speedup.low);
        s.log_mean.middle += log(p->speedup.middle);
        s.log_mean.high += log(p->speedup.high);
    }
    const int n = s.n ? s.n : 1;
    s.log_mean = (interval){s.log_mean.low / n, s.log_mean.middle / n, s.log_mean.high / n};
    return s;
}

/* Adds "3.4× faster", and returns the verdict that colors it. */
static verdict tally_words(str *t, const tally *s)
{
    const double mean = exp(s->log_mean.middle);
    if (2 * s->count[VERDICT_UNSURE] > s->n) {
        str_puts(t, "unsure");
        return VERDICT_UNSURE;
    }
    if (fabs(s->log_mean.middle) < log(1.05)) {
        const bool mixed = s->count[VERDICT_FASTER] && s->count[VERDICT_SLOWER];
        str_puts(t, mixed ? "mixed" : "about the same");
        return VERDICT_SAME;
    }
    words_times(t, mean > 1 ? mean : 1 / mean);
    str_puts(t, mean > 1 ? "× faster" : "× slower");
    return mean > 1 ? VERDICT_FASTER : VERDICT_SLOWER;
}

static void match_bar(str *t, const comparison *c, int number, const struct kind *k, const scale *x)
{
    static const char *const classes[] = {[VERDICT_SAME] = "v-same",
                                          [VERDICT_FASTER] = "v-faster",
                                          [VERDICT_SLOWER] = "v-slower",
                                          [VERDICT_UNSURE] = "v-unsure"};
    const match *m = &c->matches[number];
    const tally s = tally_of(c, number, k->group);
    if (!s.n)
        return;
    str words = {0}, counts = {0};
    const verdict v = tally_words(&words, &s);
    words_counts(&counts, &(match){.n = s.n,
                                   .faster = s.count[VERDICT_FASTER],
                                   .slower = s.count[VERDICT_SLOWER],
                                   .same = s.count[VERDICT_SAME],
                                   .unsure = s.count[VERDICT_UNSURE]});
    html_put(t, "<tr><th scope=\"row\">%s <span>%s against %s</span></th><td class=\"bar\">",
             k->title, c->contestants[m->new].label, c->contestants[m->old].label);
    svg_strip_begin(t, "strip", words.s);
    const double one = scale_at(x, 1), at = scale_at(x, exp(s.log_mean.middle));
    html_put(t, "<rect class=\"%s\" x=\"%.2f\" y=\"2\" width=\"%.2f\" height=\"6\"/>", classes[v],
             fmin(one, at), fmax(fabs(at - one), 0.2));
    html_put(t,
             "<path class=\"one\" d=\"M%.2f 0V10\"/><path class=\"whisker\" d=\"M%.2f "
             "5H%.2f\"/></svg></td>",
             one, scale_at(x, exp(s.log_mean.low)), scale_at(x, exp(s.log_mean.high)));
    html_put(t, "<td class=\"n\"><strong>%s</strong></td><td>%s</td></tr>\n", words.s, counts.s);
    str_free(&words);
    str_free(&counts);
}

static void match_bars(str *t, const comparison *c)
{
    scale x = {.low = 0.8, .high = 1.25, .log = true, .from = 0, .to = 100};
    for (int i = 0; i < c->n_matches; i++)
        for (int k = 0; k < KINDS; k++) {
            const tally s = tally_of(c, i, kinds[k].group);
            if (s.n) {
                scale_see(&x, exp(s.log_mean.low));
                scale_see(&x, exp(s.log_mean.high));
            }
        }
    scale_round(&x);
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < c->n_matches; i++)
            match_bar(t, c, i, &kinds[k], &x);
}

/* ---- one file ------------------------------------------------------------------------------- */

/* The row that represents its work: the one with the highest rate, or the first if none has a rate. */
static const result_row *best_row(const contestant *who, const result_row *like)
{
    const result_row *best = NULL;
    double most = -1;
    for (const result_row *r = NULL; (r = row_next(who, r));) {
        const char *unit;
        const double amount = row_amount(r, &unit);
        if (strcmp(r->work, like->work) != 0 || strcmp(r->dtype, like->dtype) != 0)
            continue;
        if (amount / row_time(r).middle > most) {
            most = amount / row_time(r).middle;
            best = r;
        }
    }
    return best;
}

/* True if no earlier row of the contestant has the same work and dtype. */
static bool is_first(const contestant *who, const result_row *r)
{
    const result_row *before = NULL;
    while ((before = row_next(who, before)) && before != r)
        if (strcmp(before->work, r->work) == 0 && strcmp(before->dtype, r->dtype) == 0)
            return false;
    return true;
}

static void row_bar(str *t, const comparison *c, const contestant *who, const result_row *r)
{
    const interval s = row_time(r);
    const double best = row_best_s(&who->from->r, r);
    const bool rate =
        r->tokens > 0 || strcmp(r->group, "compute") == 0 || strcmp(r->group, "memory") == 0;
    const char *unit;
    str words = {0}, share = {0};
    if (rate && row_amount(r, &unit) > 0) {
        words_row_rate(&words, r);
    } else {
        str low = {0}, high = {0};
        words_time(&words, s.middle);
        words_time(&low, s.low);
        words_time(&high, s.high);
        str_printf(&words, " [%s, %s]", low.s, high.s);
        str_free(&low);
        str_free(&high);
    }
    row_share_words(&share, &who->from->r, r);
    html_put(t, "<tr><th scope=\"row\">%s <span>%s %s", r->work, r->size, r->dtype);
    html_put(t,
             c->n_contestants > 1 ? ", %s</span></th><td class=\"bar\">"
                                  : "%s</span></th><td class=\"bar\">",
             c->n_contestants > 1 ? who->label : "");
    if (best > 0 && best <= 1.005 * s.middle) {
        svg_strip_begin(t, "strip", share.s);
        html_put(t, "<rect class=\"room\" x=\"0\" y=\"2\" width=\"100\" height=\"6\"/>");
        html_put(t, "<rect class=\"%s\" x=\"0\" y=\"2\" width=\"%.2f\" height=\"6\"/>",
                 row_doubt(r) ? "v-unsure" : "v-same", 100 * fmin(best / s.middle, 1));
        html_put(t, "<path class=\"whisker\" d=\"M%.2f 5H%.2f\"/></svg>",
                 100 * fmin(best / s.high, 1), 100 * fmin(best / s.low, 1));
    }
    html_put(t, "</td><td class=\"n\"><strong>%s</strong>", words.s);
    part_mark(t, r);
    html_put(t, "</td><td>%s%s%s</td></tr>\n", share.n ? share.s : "",
             share.n && row_doubt(r) ? ", " : "", row_doubt(r) ? "unsure" : "");
    str_free(&words);
    str_free(&share);
}

static void row_bars(str *t, const comparison *c)
{
    int shown = 0;
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < c->n_contestants; i++) {
            const contestant *who = &c->contestants[i];
            for (const result_row *r = NULL; (r = row_next(who, r)) && shown < BARS_MOST;)
                if (strcmp(r->group, kinds[k].group) == 0 && is_first(who, r) &&
                    strcmp(r->dtype, "f64") != 0) {
                    row_bar(t, c, who, best_row(who, r));
                    shown++;
                }
        }
}

void section_kinds(str *t, const comparison *c)
{
    static const char *const of_one[] = {"Work at its best size", "Share of the highest rate",
                                         "Speed", "", NULL};
    static const char *const of_match[] = {"Kind of work", "Speedup", "", "Rows", NULL};
    str rows = {0};
    (c->n_matches ? match_bars : row_bars)(&rows, c);
    if (rows.n) {
        part_heading(t, "kinds", "At a glance",
                     c->n_matches
                         ? "Speedups are geometric means over the rows of each kind; the thin line "
                           "is the mean "
                           "of their 99 % intervals."
                         : "A full bar is the highest rate of this run: of arithmetic for works "
                           "that compute, of "
                           "memory for works that move data. The thin line is the 99 % interval.");
        part_table(t, "ratios glance",
                   c->n_matches ? "Compared" : "How fast, and how near to the machine’s best",
                   c->n_matches ? of_match : of_one);
        str_puts(t, rows.s);
        part_table_end(t);
    }
    str_free(&rows);
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
