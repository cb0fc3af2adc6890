/* Times of one machine with their rates, and the time to the first result. */
#include "report/page.h"

#include <math.h>
#include <string.h>

/* A bar that fills a fraction of its cell. */
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

static void times_row(str *t, const contestant *who, const result_row *r)
{
    const interval s = row_time(r);
    const double share = row_best_s(&who->from->r, r) / s.middle;
    str words = {0}, title = {0};
    row_share_words(&words, &who->from->r, r);
    str_printf(&title, "%s: of the highest rate of this run", words.n ? words.s : "unknown");
    html_put(t, "<tr><th scope=\"row\">%s <span>%s %s</span></th>", r->work, r->size, r->dtype);
    part_cell_time(t, s);
    part_cell_interval(t, s, r);
    if (r->tokens > 0)
        part_cell_rate(t, r->tokens / s.middle, "tokens/s");
    else
        part_cell_rate(t, r->flops / s.middle, row_operations(r));
    part_cell_rate(t, r->bytes / s.middle, "B/s");
    share_cell(t, share, title.s);
    html_put(t, "<td class=\"n\">%s</td></tr>\n", words.n ? words.s : "");
    str_free(&words);
    str_free(&title);
}

void section_times(str *t, const comparison *c)
{
    static const char *const heads[] = {
        "Work", "Time", "99 % interval", "Computes", "Moves", "Share of peak", "", NULL};
    if (c->n_matches)
        return;
    part_heading(
        t, "times", "How fast it is",
        "The typical time of each work with its interval, and its share of the highest rate of "
        "this run for its dtype and number of threads: of arithmetic or of memory, whichever "
        "limits it. The cell is empty if that rate is not known. ! marks a doubtful "
        "measurement; the reasons are listed below the table.");
    for (int i = 0; i < c->n_contestants; i++) {
        int left_out = 0;
        part_table(t, "ratios times", c->contestants[i].label, heads);
        for (const result_row *r = NULL; (r = row_next(&c->contestants[i], r));)
            if (page_has_room(t, RATIOS_UNTIL, &left_out))
                times_row(t, &c->contestants[i], r);
        part_table_end(t);
        part_left_out(t, left_out);
        part_warnings(t, c, i);
    }
    if (!c->n_contestants)
        str_puts(t, "<p>The file has no rows.</p>\n");
}

static bool is_latency(const result_row *r) { return strcmp(r->group, "latency") == 0; }

/* One work on all contestants, with bars relative to the longest time. */
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
    if (n) {
        part_heading(
            t, "first", "Time to the first result",
            "What a program waits for before its first result: starting, launching, copying.");
        part_table(t, "ratios first",
                   c->n_contestants > 1
                       ? "Latencies; the longest bar of each work is its slowest machine"
                       : "Latencies",
                   heads);
        str_puts(t, rows.s);
        part_table_end(t);
        part_left_out(t, left_out);
    }
    str_free(&rows);
}
