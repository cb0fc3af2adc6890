/* Speedups with their intervals and verdicts. The table is also the chart: its rows have bars on a logarithmic axis. */
#include "report/page.h"

#include <math.h>
#include <string.h>

static scale scale_of(const comparison *c, int number)
{
    scale s = {.low = 1, .high = 1, .log = true, .from = 0, .to = 100};
    for (int i = 0; i < c->n_pairs; i++)
        if (c->pairs[i].match == number) {
            scale_see(&s, c->pairs[i].speedup.low);
            scale_see(&s, c->pairs[i].speedup.high);
        }
    s.low = fmin(s.low, 0.8);
    s.high = fmax(s.high, 1.25);
    scale_round(&s);
    return s;
}

static void axis(str *t, const scale *s)
{
    double ticks[SCALE_TICKS];
    const int n = scale_ticks(s, ticks);
    str_puts(t, "<div class=\"ruler\">");
    double last = -100;
    for (int i = 0; i < n; i++) {
        str word = {0};
        const double at = scale_at(s, ticks[i]);
        axis_times(&word, ticks[i]);
        if (at > 3 && at < 97 && at - last > 12) {
            html_put(t, "<span style=\"left:%.1f%%\">%s</span>", at, word.s);
            last = at;
        }
        str_free(&word);
    }
    str_puts(t, "</div>");
}

static void bar(str *t, const scale *s, const pairing *p)
{
    static const char *const classes[] = {[VERDICT_SAME] = "v-same",
                                          [VERDICT_FASTER] = "v-faster",
                                          [VERDICT_SLOWER] = "v-slower",
                                          [VERDICT_UNSURE] = "v-unsure"};
    str title = {0};
    str_puts(&title, "speedup ");
    words_ratio(&title, p->speedup.middle);
    str_puts(&title, ", interval ");
    words_ratio(&title, p->speedup.low);
    str_puts(&title, " to ");
    words_ratio(&title, p->speedup.high);
    str_puts(t, "<td class=\"bar\">");
    svg_strip_begin(t, "strip", title.s);
    const double one = scale_at(s, 1), at = scale_at(s, p->speedup.middle);
    html_put(t, "<rect class=\"%s\" x=\"%.2f\" y=\"2\" width=\"%.2f\" height=\"6\"/>",
             classes[p->verdict], fmin(one, at), fmax(fabs(at - one), 0.2));
    html_put(t,
             "<path class=\"one\" d=\"M%.2f 0V10\"/><path class=\"whisker\" d=\"M%.2f 5H%.2f\"/>",
             one, scale_at(s, p->speedup.low), scale_at(s, p->speedup.high));
    str_puts(t, "</svg></td>");
    str_free(&title);
}

static void row(str *t, const scale *s, const pairing *p)
{
    static const char *const letters[] = {[VERDICT_SAME] = "=",
                                          [VERDICT_FASTER] = "F",
                                          [VERDICT_SLOWER] = "S",
                                          [VERDICT_UNSURE] = "?"};
    const char *name = verdict_name(p->verdict);
    str ratio = {0}, low = {0}, high = {0};
    words_ratio(&ratio, p->speedup.middle);
    words_ratio(&low, p->speedup.low);
    words_ratio(&high, p->speedup.high);
    html_put(t, "<tr><th scope=\"row\">%s <span>%s %s", p->old->work, p->old->size, p->old->dtype);
    if (p->by_threads)
        html_put(t, ", %d thread%s", p->old->threads, p->old->threads == 1 ? "" : "s");
    str_puts(t, "</span></th>");
    part_cell_time(t, p->old_s);
    part_cell_time(t, p->new_s);
    bar(t, s, p);
    html_put(t, "<td class=\"n\"><strong>%s×</strong> <span>[%s, %s]</span>", ratio.s, low.s,
             high.s);
    part_mark(t, p->old->n_warnings ? p->old : p->new);
    str_puts(t, "</td>");
    html_put(t, "<td><span class=\"verdict %s\"><b>%s</b> <i>%s</i></span></td></tr>\n", name,
             letters[p->verdict], name);
    str_free(&ratio);
    str_free(&low);
    str_free(&high);
}

static void match_table(str *t, const comparison *c, int number)
{
    const match *m = &c->matches[number];
    const char *old = c->contestants[m->old].label, *new = c->contestants[m->new].label;
    const scale s = scale_of(c, number);
    html_put(t, "<h3>%s against %s</h3>\n", new, old);
    html_put(
        t,
        "<div class=\"scroll\"><table class=\"ratios\"><caption>How many times faster %s is than "
        "%s</caption><thead><tr><th scope=\"col\">Work</th><th scope=\"col\">%s</th><th "
        "scope=\"col\">%s</th><th scope=\"col\" class=\"bar\"><span class=\"hidden\">Speedup on a "
        "logarithmic axis</span>",
        new, old, old, new);
    axis(t, &s);
    str_puts(t, "</th><th scope=\"col\">Speedup <span>[99 %]</span></th><th "
                "scope=\"col\">Verdict</th></tr></thead><tbody>\n");
    int left_out = 0;
    for (int i = 0; i < c->n_pairs; i++)
        if (c->pairs[i].match == number && page_has_room(t, RATIOS_UNTIL, &left_out))
            row(t, &s, &c->pairs[i]);
    part_table_end(t);
    part_left_out(t, left_out);
    part_warnings(t, c, m->old);
    part_warnings(t, c, m->new);
}

void section_ratios(str *t, const comparison *c)
{
    if (!c->n_matches)
        return;
    part_heading(
        t, "ratios", "What is faster",
        "Bars to the right of 1× are faster, to the left slower; the thin line is the 99 % "
        "interval. "
        "F is faster, S slower: the whole interval is on one side of 1. = is the same: the whole "
        "interval is within 5 % of 1. ? is unsure: too much noise or too few passes to tell. ! "
        "marks a doubtful measurement; the reasons are listed below each table.");
    for (int i = 0; i < c->n_matches; i++)
        if (c->matches[i].n)
            match_table(t, c, i);
    if (!c->n_pairs)
        str_puts(t, "<p>No rows can be compared.</p>\n");
    str notes = {0};
    words_notes(&notes, c);
    if (notes.n) {
        str_puts(t, "<ul class=\"notes\">");
        int shown = 0;
        char *rest = NULL;
        for (char *line = strtok_r(notes.s, "\n", &rest); line && shown++ < NOTES_MOST;
             line = strtok_r(NULL, "\n", &rest))
            html_put(t, "<li>%s</li>", line);
        str_puts(t, "</ul>\n");
    }
    str_free(&notes);
}
