/* Parts that the sections of the page share. */
#include "report/page.h"

#include <string.h>

bool page_has_room(const str *t, int until, int *left_out)
{
    const bool room = t->n < (size_t)until;
    *left_out += !room;
    return room;
}

void part_left_out(str *t, int rows)
{
    if (rows)
        html_put(t, "<p class=\"note\">%d more row%s left out to keep the page small.</p>\n", rows,
                 rows == 1 ? " is" : "s are");
}

void part_heading(str *t, const char *id, const char *title, const char *about)
{
    html_put(t, "<h2 id=\"%s\">%s</h2>\n", id, title);
    if (about)
        html_put(t, "<p class=\"about\">%s</p>\n", about);
}

static void table_head(str *t, const char *caption, const char *const *heads)
{
    html_put(t, "<caption>%s</caption><thead><tr>", caption);
    for (; *heads; heads++)
        html_put(t, "<th scope=\"col\">%s</th>", *heads);
    str_puts(t, "</tr></thead><tbody>\n");
}

void part_table(str *t, const char *class, const char *caption, const char *const *heads)
{
    html_put(t, "<div class=\"scroll\"><table class=\"%s\">", class);
    table_head(t, caption, heads);
}

void part_table_end(str *t) { str_puts(t, "</tbody></table></div>\n"); }

void part_figure(str *t, const char *title)
{
    html_put(t, "<figure><figcaption>%s</figcaption>", title);
}

void part_figure_table(str *t, const char *caption, const char *const *heads)
{
    str_puts(t, "<details><summary>The numbers</summary>");
    part_table(t, "small", caption, heads);
}

void part_figure_end(str *t)
{
    part_table_end(t);
    str_puts(t, "</details></figure>\n");
}

void part_legend(str *t, const comparison *c)
{
    if (c->n_contestants < 2)
        return;
    str_puts(t, "<ul class=\"legend\">");
    for (int i = 0; i < c->n_contestants; i++) {
        str_puts(t, "<li>");
        series_key(t, i);
        html_put(t, "%s</li>", c->contestants[i].label);
    }
    str_puts(t, "</ul>\n");
}

void part_cell_time(str *t, interval seconds)
{
    str word = {0}, low = {0}, high = {0};
    words_time(&word, seconds.middle);
    words_time(&low, seconds.low);
    words_time(&high, seconds.high);
    html_put(t, "<td class=\"n\" title=\"99 %% interval: %s to %s\">%s</td>", low.s, high.s,
             word.s);
    str_free(&word);
    str_free(&low);
    str_free(&high);
}

void part_cell_interval(str *t, interval seconds, const result_row *r)
{
    str low = {0}, high = {0};
    words_time(&low, seconds.low);
    words_time(&high, seconds.high);
    html_put(t, "<td class=\"n\"><span>%s – %s</span>", low.s, high.s);
    part_mark(t, r);
    str_puts(t, "</td>");
    str_free(&low);
    str_free(&high);
}

void part_mark(str *t, const result_row *r)
{
    if (r->n_warnings)
        html_put(t, " <abbr class=\"warn\" title=\"%s\">!</abbr>", r->warnings[0]);
}

void part_warnings(str *t, const comparison *c, int number)
{
    const contestant *who = &c->contestants[number];
    int n = 0;
    for (const result_row *r = NULL; (r = row_next(who, r));)
        n += r->n_warnings > 0;
    if (!n)
        return;
    html_put(t, "<details><summary>%s: %d doubtful measurement%s (!)</summary><ul class=\"notes\">",
             who->label, n, n == 1 ? "" : "s");
    int shown = 0;
    for (const result_row *r = NULL; (r = row_next(who, r)) && shown < NOTES_MOST;)
        if (r->n_warnings) {
            html_put(t, "<li>%s %s %s: %s</li>", r->work, r->size, r->dtype, r->warnings[0]);
            shown++;
        }
    if (n > shown)
        html_put(t, "<li>and %d more</li>", n - shown);
    str_puts(t, "</ul></details>\n");
}

void part_cell_rate(str *t, double rate, const char *unit)
{
    str word = {0};
    if (rate > 0)
        words_rate(&word, rate, unit);
    else
        str_puts(&word, "–");
    html_put(t, "<td class=\"n\">%s</td>", word.s);
    str_free(&word);
}

const result_device *device_of(const contestant *c)
{
    const result *r = &c->from->r;
    for (int i = 0; i < r->n_devices; i++)
        if (strcmp(r->devices[i].name, c->device) == 0)
            return &r->devices[i];
    return NULL;
}

interval row_time(const result_row *r) { return stats_typical(row_timings(r)); }

const result_row *row_next(const contestant *c, const result_row *r)
{
    const result_row *end = c->from->r.rows + c->from->r.n_rows;
    for (r = r ? r + 1 : c->from->r.rows; r < end; r++)
        if (r->n && row_is_of(r, c))
            return r;
    return NULL;
}

const result_row *row_like(const contestant *c, const result_row *like)
{
    const result_row *r = NULL;
    while ((r = row_next(c, r)) && !row_same_work(r, like))
        ;
    return r;
}

bool row_is_new(const comparison *c, int of, const result_row *r)
{
    for (int i = 0; i < of; i++)
        if (row_like(&c->contestants[i], r))
            return false;
    return row_like(&c->contestants[of], r) == r;
}
