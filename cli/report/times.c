/* Times of one machine with what they mean as rates, and the time to a first result. */
#include "report/page.h"

#include <math.h>
#include <string.h>

/* A bar from 0 to share of its place. */
static void share_cell(str *t, double share, const char *title)
{
    str_puts(t, "<td class=\"bar\">");
    if (share > 0) {
        svg_strip_begin(t, "strip", title);
        html_put(t, "<rect class=\"v-same\" x=\"0\" y=\"2\" width=\"%.2f\" height=\"6\"/></svg>",
                 100 * fmin(share, 1));
    }
    str_puts(t, "</td>");
}

/* Of the peak that holds it back, as in a roofline; 0 where that is not known. */
static double share_of_peak(const result_row *r, const result_device *d, double seconds)
{
    if (!d || !(d->peak_flops > 0) || !(d->peak_bytes > 0))
        return 0;
    const double computes =
        strcmp(r->dtype, "f32") == 0 ? r->flops : 0; /* the peak is that of f32 */
    return fmax(computes / seconds / d->peak_flops, r->bytes / seconds / d->peak_bytes);
}

static void times_row(str *t, const contestant *who, const result_row *r)
{
    const interval s = row_time(r);
    const double share = share_of_peak(r, device_of(who), s.middle);
    str title = {0};
    str_printf(&title, "%.0f %% of the measured peak", 100 * share);
    html_put(t, "<tr><th scope=\"row\">%s <span>%s %s</span></th>", r->work, r->size, r->dtype);
    part_cell_time(t, s);
    part_cell_rate(t, r->flops / s.middle, "FLOP/s");
    part_cell_rate(t, r->bytes / s.middle, "B/s");
    share_cell(t, share, title.s);
    html_put(t, share > 0 ? "<td class=\"n\">%.0f %%</td></tr>\n" : "<td class=\"n\"></td></tr>\n",
             100 * share);
    str_free(&title);
}

void section_times(str *t, const comparison *c)
{
    static const char *const heads[] = {"Work", "Time", "Computes", "Moves", "Share of the peak",
                                        "",     NULL};
    if (c->n_matches)
        return;
    part_heading(t, "times", "How fast it is",
                 "The typical time of each work, and how near it comes to the measured peak of the "
                 "device: in operations or in bytes, whichever is nearer.");
    for (int i = 0; i < c->n_contestants; i++) {
        int left_out = 0;
        part_table(t, "ratios times", c->contestants[i].label, heads);
        for (const result_row *r = NULL; (r = row_next(&c->contestants[i], r));)
            if (page_has_room(t, RATIOS_UNTIL, &left_out))
                times_row(t, &c->contestants[i], r);
        part_table_end(t);
        part_left_out(t, left_out);
    }
    if (!c->n_contestants)
        str_puts(t, "<p>The file has no rows.</p>\n");
}

static bool is_latency(const result_row *r) { return strcmp(r->group, "latency") == 0; }

/* One work on all contestants, with bars up to the longest of them. */
static void first_rows(str *t, const comparison *c, const result_row *kind)
{
    double longest = 0;
    for (int i = 0; i < c->n_contestants; i++) {
        const result_row *r = row_like(&c->contestants[i], kind);
        longest = fmax(longest, r ? row_time(r).middle : 0);
    }
    for (int i = 0; i < c->n_contestants; i++) {
        const result_row *r = row_like(&c->contestants[i], kind);
        if (!r)
            continue;
        const interval s = row_time(r);
        html_put(t, "<tr><th scope=\"row\">%s <span>%s %s</span></th><td>%s</td>", r->work, r->size,
                 r->dtype, c->contestants[i].label);
        part_cell_time(t, s);
        share_cell(t, c->n_contestants > 1 ? s.middle / longest : 0, "time");
        str_puts(t, "</tr>\n");
    }
}

void section_first(str *t, const comparison *c)
{
    static const char *const heads[] = {"Work", "Where", "Time", "", NULL};
    int n = 0, left_out = 0;
    str rows = {0};
    for (int i = 0; i < c->n_contestants; i++)
        for (const result_row *r = NULL; (r = row_next(&c->contestants[i], r));)
            if (is_latency(r) && (left_out || row_is_new(c, i, r)) &&
                page_has_room(&rows, FIRST_UNTIL - RATIOS_UNTIL, &left_out)) {
                first_rows(&rows, c, r);
                n++;
            }
    part_heading(t, "first", "Time to the first result",
                 n ? "What a program waits for before anything has come back."
                   : "No latencies were measured.");
    if (n) {
        part_table(t, "ratios first",
                   c->n_contestants > 1 ? "Latencies; bars up to the longest of the same work"
                                        : "Latencies",
                   heads);
        str_puts(t, rows.s);
        part_table_end(t);
        part_left_out(t, left_out);
    }
    str_free(&rows);
}
