/* Curves over the number of threads, and over the size of a work. The latter show where devices cross. */
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MOST = 32 };

/* Rows of one contestant that differ only in their extent, ascending. */
typedef struct curve {
    const result_row *row[POINTS_MOST];
    double x[POINTS_MOST], y[POINTS_MOST];
    interval s[POINTS_MOST];
    int n;
} curve;

static bool is_scaling(const result_row *r) { return strcmp(r->group, "scaling") == 0; }

/* True if two rows belong to one curve. Sizes of scaling rows are "1024/2": only the part before the slash counts. */
static bool same_kind(const result_row *a, const result_row *b)
{
    if (strcmp(a->work, b->work) != 0 || strcmp(a->dtype, b->dtype) != 0 ||
        is_scaling(a) != is_scaling(b))
        return false;
    const size_t n = strcspn(a->size, "/");
    return !is_scaling(a) || (n == strcspn(b->size, "/") && strncmp(a->size, b->size, n) == 0);
}

static curve curve_of(const contestant *who, const result_row *like)
{
    curve v = {.n = 0};
    for (const result_row *r = NULL; (r = row_next(who, r)) && v.n < POINTS_MOST;) {
        if (!same_kind(r, like) || !(r->extent > 0))
            continue;
        int at = v.n;
        while (at > 0 && v.row[at - 1]->extent > r->extent)
            at--;
        if (at > 0 && v.row[at - 1]->extent == r->extent)
            continue; /* the same size with another number of threads: only the first counts */
        memmove(&v.row[at + 1], &v.row[at], (size_t)(v.n++ - at) * sizeof *v.row);
        v.row[at] = r;
    }
    for (int i = 0; i < v.n; i++) {
        v.x[i] = v.row[i]->extent;
        v.s[i] = row_time(v.row[i]);
        v.y[i] = v.s[i].middle;
    }
    return v;
}

/* One row for each curve, in order of appearance. */
static int list_kinds(const comparison *c, bool scaling, const result_row *out[FIGURES_MOST])
{
    int n = 0;
    for (int i = 0; i < c->n_contestants; i++)
        for (const result_row *r = NULL;
             (r = row_next(&c->contestants[i], r)) && n < FIGURES_MOST;) {
            int j = 0;
            while (j < n && !same_kind(out[j], r))
                j++;
            if (j == n && is_scaling(r) == scaling && curve_of(&c->contestants[i], r).n > 1)
                out[n++] = r;
        }
    return n;
}

/* ---- threads -------------------------------------------------------------------------------- */

static void scaling_figure(str *t, const comparison *c, const result_row *kind)
{
    static const char *const heads[] = {"Where", "Threads", "Time", "Speedup", NULL};
    chart ch = {.x = {.log = true, .twos = true},
                .y = {.log = true, .twos = true},
                .x_words = axis_plain,
                .y_words = axis_times,
                .x_title = "threads",
                .y_title = "speedup over one thread"};
    str title = {0};
    const int whole = (int)strcspn(kind->size, "/");
    str_printf(&title, "%s %.*s %s", kind->work, whole, kind->size, kind->dtype);
    for (int i = 0; i < c->n_contestants; i++) {
        const curve v = curve_of(&c->contestants[i], kind);
        for (int k = 0; k < v.n; k++) {
            scale_see(&ch.x, v.x[k]);
            scale_see(&ch.y, v.y[0] / v.y[k]);
            scale_see(&ch.y, v.x[k] / v.x[0]);
        }
    }
    const double ideal[] = {ch.x.low, ch.x.high}, speed[] = {1, ch.x.high / ch.x.low};
    part_figure(t, title.s);
    chart_begin(t, &ch, title.s, "Speedup over the number of threads; the dashed line is ideal.");
    chart_line(t, &ch, ideal, speed, 2, "ideal");
    for (int i = 0; i < c->n_contestants; i++) {
        const curve v = curve_of(&c->contestants[i], kind);
        const char class[] = {'s', (char)('0' + i % SVG_SERIES), 0};
        double up[POINTS_MOST];
        for (int k = 0; k < v.n; k++)
            up[k] = v.y[0] / v.y[k];
        if (v.n > 1)
            chart_line(t, &ch, v.x, up, v.n, class);
        for (int k = 0; k < v.n; k++)
            chart_dot(t, &ch, v.x[k], up[k], i, c->contestants[i].label);
    }
    chart_end(t);
    part_figure_table(t, title.s, heads);
    for (int i = 0; i < c->n_contestants; i++) {
        const curve v = curve_of(&c->contestants[i], kind);
        for (int k = 0; k < v.n; k++) {
            html_put(t, "<tr><th scope=\"row\">%s</th><td class=\"n\">%g</td>",
                     c->contestants[i].label, v.x[k]);
            part_cell_time(t, v.s[k]);
            html_put(t, "<td class=\"n\">%.2f×</td></tr>\n", v.y[0] / v.y[k]);
        }
    }
    part_figure_end(t);
    str_free(&title);
}

void section_scaling(str *t, const comparison *c)
{
    const result_row *kinds[FIGURES_MOST];
    const int n = list_kinds(c, true, kinds);
    if (!n)
        return;
    part_heading(t, "threads", "More threads",
                 "How much faster a work becomes with more CPU threads. The dashed line is perfect "
                 "scaling.");
    part_legend(t, c);
    str_puts(t, "<div class=\"figures\">\n");
    for (int i = 0; i < n && t->n < ROOFS_UNTIL; i++)
        scaling_figure(t, c, kinds[i]);
    str_puts(t, "</div>\n");
}

/* ---- size: where one device begins to win ----------------------------------------------------- */

/* How two contestants compare at the largest size that both measured. */
static void largest_words(str *t, const char *la, const char *lb, verdict v)
{
    if (v == VERDICT_SAME)
        str_printf(t, "%s and %s are equally fast at the largest size.", la, lb);
    else if (v == VERDICT_UNSURE)
        str_printf(t, "It is unsure whether %s is faster than %s at the largest size.", lb, la);
    else
        str_printf(t, "%s is faster than %s at the largest size.", la, lb);
}

/* The size from which b is faster than a. */
typedef struct crossing {
    const result_row *from; /* the smallest size from which b is faster at all sizes; NULL: none */
    verdict last;           /* at the largest size */
    int common, won;        /* sizes that both measured; those at which b is faster */
} crossing;

static crossing crossing_of(const comparison *c, int ia, int ib, const result_row *kind)
{
    const curve a = curve_of(&c->contestants[ia], kind), b = curve_of(&c->contestants[ib], kind);
    crossing x = {.last = VERDICT_UNSURE};
    for (int i = 0; i < a.n; i++)
        for (int k = 0; k < b.n; k++) {
            if (a.x[i] != b.x[k])
                continue;
            x.common++;
            const result_row *ra = a.row[i], *rb = b.row[k];
            x.last = stats_compare(row_timings(ra), row_timings(rb), NULL);
            if (x.last == VERDICT_FASTER) {
                x.from = x.from ? x.from : rb;
                x.won++;
            } else {
                x.from = NULL;
            }
        }
    return x;
}

static void crossing_words(str *t, const comparison *c, int ia, int ib, const result_row *kind)
{
    const crossing x = crossing_of(c, ia, ib, kind);
    if (!x.common)
        return;
    const char *la = c->contestants[ia].label, *lb = c->contestants[ib].label;
    str_puts(t, t->n ? " " : "");
    if (x.from && x.won == x.common)
        str_printf(t, "%s is faster than %s at every size.", lb, la);
    else if (x.from)
        str_printf(t, "%s is faster than %s from size %s on.", lb, la, x.from->size);
    else
        largest_words(t, la, lb, x.last);
}

/* A row for each work and pair of devices of one file: the size from which the second one is faster. */
static void crossing_table(str *t, const comparison *c, const result_row *const *kinds, int n)
{
    bool begun = false;
    for (int k = 0; k < n; k++)
        for (int b = 1; b < c->n_contestants; b++)
            for (int a = 0; a < b; a++) {
                if (c->contestants[a].from != c->contestants[b].from)
                    continue;
                const crossing x = crossing_of(c, a, b, kinds[k]);
                if (!x.common)
                    continue;
                if (!begun)
                    str_puts(
                        t, "<div class=\"scroll\"><table class=\"small\" id=\"crossings\">"
                           "<caption>The sizes at which a device starts to win</caption><thead><tr>"
                           "<th scope=\"col\">Work</th><th scope=\"col\">Device</th>"
                           "<th scope=\"col\">Wins against</th><th scope=\"col\">From size</th>"
                           "</tr></thead><tbody>\n");
                begun = true;
                html_put(t,
                         "<tr><th scope=\"row\">%s %s</th><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                         kinds[k]->work, kinds[k]->dtype, c->contestants[b].label,
                         c->contestants[a].label,
                         !x.from             ? "at no measured size"
                         : x.won == x.common ? "every measured size"
                                             : x.from->size);
            }
    str_puts(t, begun ? "</tbody></table></div>\n" : "");
}

static void crossing_figure(str *t, const comparison *c, const result_row *kind)
{
    static const char *const heads[] = {"Where", "Size", "Time", NULL};
    chart ch = {.x = {.log = true},
                .y = {.log = true},
                .x_words = axis_plain,
                .y_words = axis_time,
                .x_title = "size",
                .y_title = "time"};
    str title = {0}, words = {0};
    str_printf(&title, "%s %s", kind->work, kind->dtype);
    for (int i = 0; i < c->n_contestants; i++) {
        const curve v = curve_of(&c->contestants[i], kind);
        for (int k = 0; k < v.n; k++) {
            scale_see(&ch.x, v.x[k]);
            scale_see(&ch.y, v.s[k].low);
            scale_see(&ch.y, v.s[k].high);
        }
    }
    for (int i = 0; i < c->n_matches; i++)
        crossing_words(&words, c, c->matches[i].old, c->matches[i].new, kind);
    /* Devices of one file, unless the matches above are the same pairs. */
    for (int i = 1; i < c->n_contestants && c->n_sources > 1; i++)
        for (int k = 0; k < i; k++)
            if (c->contestants[k].from == c->contestants[i].from)
                crossing_words(&words, c, k, i, kind);
    part_figure(t, title.s);
    html_put(t, "<p>%s</p>", words.n ? words.s : "");
    chart_begin(t, &ch, title.s, words.n ? words.s : "Time over size.");
    for (int i = 0; i < c->n_contestants; i++) {
        const curve v = curve_of(&c->contestants[i], kind);
        const char class[] = {'s', (char)('0' + i % SVG_SERIES), 0};
        if (v.n > 1) {
            chart_band(t, &ch, v.x, v.s, v.n, i);
            chart_line(t, &ch, v.x, v.y, v.n, class);
        }
        for (int k = 0; k < v.n; k++)
            chart_dot(t, &ch, v.x[k], v.y[k], i, c->contestants[i].label);
    }
    chart_end(t);
    part_figure_table(t, title.s, heads);
    for (int i = 0; i < c->n_contestants; i++) {
        const curve v = curve_of(&c->contestants[i], kind);
        for (int k = 0; k < v.n; k++) {
            html_put(t, "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td>",
                     c->contestants[i].label, v.row[k]->size);
            part_cell_time(t, v.s[k]);
            str_puts(t, "</tr>\n");
        }
    }
    part_figure_end(t);
    str_free(&title);
    str_free(&words);
}

void section_crossing(str *t, const comparison *c)
{
    const result_row *kinds[FIGURES_MOST];
    const int n = list_kinds(c, false, kinds);
    if (!n || c->n_contestants < 2)
        return;
    part_heading(t, "sizes", "Where one starts to win",
                 "Time over size. For small sizes the latency of a launch dominates, for large "
                 "ones the speed of the "
                 "device. The bands are 99 % intervals.");
    crossing_table(t, c, kinds, n);
    part_legend(t, c);
    str_puts(t, "<div class=\"figures\">\n");
    for (int i = 0; i < n && t->n < CURVES_UNTIL; i++)
        crossing_figure(t, c, kinds[i]);
    str_puts(t, "</div>\n");
}
