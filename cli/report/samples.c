/* Every sample, in sections that open: a strip for each contestant, with a line for each pass. Times are
 * multiples of the typical time, so that the noise of fast and slow contestants can be compared. */
#include "report/page.h"

#include <math.h>
#include <string.h>

enum { BAND = 46, HEAD = 18, FOOT = 22, DOTS_MOST = 9000 };

/* Draws every stride-th sample, either of the disturbed or of the undisturbed ones. */
static void marks(str *t, const scale *x, const result_row *r, double top, int stride,
                  bool disturbed)
{
    const double typical = row_time(r).middle, passes = r->round[r->n - 1] + 1.0;
    const timings all = row_timings(r);
    const double calm = stats_calm(all);
    for (int i = 0; i < r->n; i += stride)
        if (disturbed == (all.waited && stats_disturbed(r->seconds[i], r->waited[i], calm)))
            html_put(t, "M%.2f %.1fh0", scale_at(x, r->seconds[i] / typical),
                     top + 3 + (BAND - 14) * (passes > 1 ? r->round[i] / (passes - 1) : 0.5));
}

/* The samples of one contestant at height top. */
static void strip(str *t, const scale *x, const result_row *r, int series, double top, int stride,
                  int height)
{
    interval s = row_time(r);
    const double typical = s.middle;
    s = (interval){s.low / typical, 1, s.high / typical};
    stretched_begin(t, height);
    html_put(t, "<path class=\"band s%d\" d=\"M%.2f %.1fH%.2fV%.1fH%.2fZ\"/>", series % SVG_SERIES,
             scale_at(x, s.low), top, scale_at(x, s.high), top + BAND - 8, scale_at(x, s.low));
    html_put(t, "<path class=\"middle\" d=\"M%.2f %.1fV%.1f\"/><path class=\"samples s%d\" d=\"",
             scale_at(x, s.middle), top, top + BAND - 8, series % SVG_SERIES);
    marks(t, x, r, top, stride, false);
    str_puts(t, "\"/><path class=\"samples waited\" d=\"");
    marks(t, x, r, top, stride, true);
    str_puts(t, "\"/></svg>");
}

static void strips(str *t, const comparison *c, const result_row *kind, int stride)
{
    scale x = {.low = 0.98, .high = 1.05, .from = 3, .to = 97};
    int n = 0;
    for (int i = 0; i < c->n_contestants; i++) {
        const result_row *r = row_like(&c->contestants[i], kind);
        const double typical = r ? row_time(r).middle : 1;
        for (int k = 0; r && k < r->n; k++)
            scale_see(&x, r->seconds[k] / typical);
        n += r != NULL;
    }
    x.log = x.high > 3 * x.low;
    scale_round(&x);
    const int height = n * (HEAD + BAND) + FOOT;
    html_put(t,
             "<svg role=\"img\" height=\"%d\" xmlns=\"http://www.w3.org/2000/svg\">"
             "<title>Samples</title><desc>Each mark is a sample, each line of marks a pass, the "
             "first on top; the bar is the interval of the typical time.</desc>",
             height);
    double ticks[SCALE_TICKS], last = -100;
    const int n_ticks = scale_ticks(&x, ticks);
    for (int i = 0; i < n_ticks; i++) {
        const double at = scale_at(&x, ticks[i]);
        if (at - last < 14 || at < 5 || at > 95)
            continue;
        last = at;
        str word = {0};
        axis_times(&word, ticks[i]);
        html_put(t,
                 "<line class=\"grid\" x1=\"%.1f%%\" x2=\"%.1f%%\" y1=\"0\" y2=\"%d\"/>"
                 "<text class=\"tick\" x=\"%.1f%%\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                 at, at, height - FOOT, at, height - 6, word.s);
        str_free(&word);
    }
    double top = 0;
    for (int i = 0; i < c->n_contestants; i++) {
        const result_row *r = row_like(&c->contestants[i], kind);
        if (!r)
            continue;
        html_put(t, "<text class=\"label t%d\" x=\"0\" y=\"%.1f\">%s</text>", i % SVG_SERIES,
                 top + 13, c->contestants[i].label);
        strip(t, &x, r, i, top + HEAD, stride, height);
        top += HEAD + BAND;
    }
    str_puts(t, "</svg>\n");
}

static void facts(str *t, const comparison *c, const result_row *kind)
{
    static const char *const heads[] = {"Where",   "Time",    "Least",   "Most",
                                        "Samples", "Repeats", "Threads", NULL};
    str caption = {0};
    words_row(&caption, kind);
    part_table(t, "small", caption.s, heads);
    str_free(&caption);
    for (int i = 0; i < c->n_contestants; i++) {
        const result_row *r = row_like(&c->contestants[i], kind);
        if (!r)
            continue;
        interval least = {INFINITY, INFINITY, INFINITY}, most = {0, 0, 0};
        for (int k = 0; k < r->n; k++) {
            least.low = least.middle = least.high = fmin(least.middle, r->seconds[k]);
            most.low = most.middle = most.high = fmax(most.middle, r->seconds[k]);
        }
        html_put(t, "<tr><th scope=\"row\">%s</th>", c->contestants[i].label);
        part_cell_time(t, row_time(r));
        part_cell_time(t, least);
        part_cell_time(t, most);
        html_put(t, "<td class=\"n\">%d</td><td class=\"n\">%d</td><td class=\"n\">%d</td></tr>\n",
                 r->n, r->repeats, r->threads);
    }
    part_table_end(t);
    html_put(t, "<p class=\"note\">Input: %s.</p>", kind->input);
    for (int i = 0; i < c->n_contestants; i++) {
        const result_row *r = row_like(&c->contestants[i], kind);
        for (int k = 0; r && k < r->n_warnings && k < 5; k++)
            html_put(t, "<p class=\"note\">%s: %s.</p>", c->contestants[i].label, r->warnings[k]);
    }
}

static void one_row(str *t, const comparison *c, const result_row *kind, int stride)
{
    html_put(t, "<details class=\"samples\"><summary>%s <span>%s %s</span></summary>", kind->work,
             kind->size, kind->dtype);
    strips(t, c, kind, stride);
    facts(t, c, kind);
    str_puts(t, "</details>\n");
}

void section_samples(str *t, const comparison *c)
{
    int64_t dots = 0;
    for (int i = 0; i < c->n_contestants; i++)
        for (const result_row *r = NULL; (r = row_next(&c->contestants[i], r));)
            dots += r->n;
    const int stride = 1 + (int)(dots / DOTS_MOST);
    if (!dots)
        return;
    part_heading(
        t, "samples", "Every sample",
        "Each mark is a sample, as a multiple of the typical time; each line of marks is a "
        "pass, the first on top. Grey samples waited for a core and do not count. The tinted bar "
        "is the 99 % interval of the typical time.");
    if (stride > 1)
        html_put(t, "<p class=\"note\">One sample of %d is drawn.</p>\n", stride);
    str_puts(t, "<div class=\"all\">\n");
    int left_out = 0;
    for (int i = 0; i < c->n_contestants; i++)
        for (const result_row *r = NULL; (r = row_next(&c->contestants[i], r));)
            if ((left_out || row_is_new(c, i, r)) && page_has_room(t, SAMPLES_UNTIL, &left_out))
                one_row(t, c, r, stride);
    str_puts(t, "</div>\n");
    part_left_out(t, left_out);
}
