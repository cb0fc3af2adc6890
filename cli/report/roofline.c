/* A roofline for each device: the highest rate that the device allows for the arithmetic intensity of a work, and the
 * rate that the work reaches. All rooflines share their axes, so that they can be compared by eye. */
#include "report/page.h"

#include <math.h>
#include <string.h>

/* Limits for one chart and its table; more would not be readable. */
enum { WORKS_MOST = 16, SIZES_MOST = 12, TABLE_MOST = 60, FIGURE_BYTES = 50000 };

/* True if the device's peaks apply to the row: they are for f32 with all threads. */
static bool on_roof(const contestant *who, const result_row *r)
{
    const result_device *d = device_of(who);
    return d && strcmp(r->dtype, "f32") == 0 && r->flops > 0 && r->bytes > 0 &&
           strcmp(r->group, "scaling") != 0 && (r->threads == d->threads || !d->threads);
}

static double rate_of(const result_row *r) { return r->flops / row_time(r).middle; }

static bool same_line(const result_row *a, const result_row *b)
{
    return strcmp(a->work, b->work) == 0;
}

/* The rows of a work, starting with its first: a line through them, and a mark for each. */
static void work_marks(str *t, chart *ch, const contestant *who, const result_row *first,
                       int series)
{
    double x[SIZES_MOST], y[SIZES_MOST];
    int n = 0;
    for (const result_row *r = first; r && n < SIZES_MOST; r = row_next(who, r))
        if (on_roof(who, r) && same_line(r, first)) {
            x[n] = r->flops / r->bytes;
            y[n++] = rate_of(r);
        }
    if (n > 1)
        chart_line(t, ch, x, y, n, "thin");
    const result_row *r = first;
    for (int i = 0; i < n; r = row_next(who, r))
        if (on_roof(who, r) && same_line(r, first)) {
            str what = {0};
            words_row(&what, r);
            str_puts(&what, ": ");
            words_rate(&what, y[i], "FLOP/s");
            chart_dot(t, ch, x[i], y[i], series, what.s);
            str_free(&what);
            i++;
        }
}

/* Its name, next to the last of its rows that has room. */
static void work_name(str *t, chart *ch, const contestant *who, const result_row *first, int series)
{
    for (const result_row *r = who->from->r.rows + who->from->r.n_rows - 1; r >= first; r--)
        if (r->n && row_is_of(r, who) && on_roof(who, r) && same_line(r, first) &&
            chart_label(t, ch, r->flops / r->bytes, rate_of(r), series, first->work))
            break;
}

/* True if no row before r has the same work. */
static bool is_first(const contestant *who, const result_row *r)
{
    const result_row *before = NULL;
    while ((before = row_next(who, before)) && before != r)
        if (on_roof(who, before) && same_line(before, r))
            return false;
    return on_roof(who, r);
}

static void roof(str *t, const chart *ch, const result_device *d)
{
    const double ridge = d->peak_flops / d->peak_bytes;
    const double x[] = {ch->x.low, fmin(fmax(ridge, ch->x.low), ch->x.high), ch->x.high};
    double y[3];
    for (int i = 0; i < 3; i++)
        y[i] = fmin(d->peak_flops, x[i] * d->peak_bytes);
    chart_line(t, ch, x, y, 3, "roof");
}

static void roof_table(str *t, const contestant *who, const result_device *d)
{
    static const char *const heads[] = {"Work",    "FLOP per byte", "Reached",
                                        "At best", "Share",         NULL};
    part_figure_table(t, who->label, heads);
    int shown = 0;
    for (const result_row *r = NULL; (r = row_next(who, r)) && shown < TABLE_MOST;)
        if (on_roof(who, r)) {
            const double x = r->flops / r->bytes, y = rate_of(r);
            const double best = fmin(d->peak_flops, x * d->peak_bytes);
            html_put(t, "<tr><th scope=\"row\">%s <span>%s %s</span></th><td class=\"n\">%.3g</td>",
                     r->work, r->size, r->dtype, x);
            part_cell_rate(t, y, "FLOP/s");
            part_cell_rate(t, best, "FLOP/s");
            str share = {0};
            row_share_words(&share, &who->from->r, r);
            html_put(t, "<td class=\"n\">%s</td></tr>\n", share.n ? share.s : "");
            str_free(&share);
            shown++;
        }
    part_figure_end(t);
}

/* The device of a contestant that has a roofline; NULL if it has no peaks or no rows. */
static const result_device *roof_device(const contestant *who)
{
    const result_device *d = device_of(who);
    const result_row *r = NULL;
    while ((r = row_next(who, r)) && !on_roof(who, r))
        ;
    return r && d->peak_flops > 0 && d->peak_bytes > 0 ? d : NULL;
}

/* Axes that include the roofs and rows of all contestants. */
static chart shared_axes(const comparison *c)
{
    chart ch = {.x = {.log = true},
                .y = {.log = true},
                .x_words = axis_plain,
                .y_words = axis_plain,
                .x_title = "operations per byte",
                .y_title = "FLOP/s"};
    for (int i = 0; i < c->n_contestants; i++) {
        const contestant *who = &c->contestants[i];
        const result_device *d = roof_device(who);
        if (!d)
            continue;
        for (const result_row *r = NULL; (r = row_next(who, r));)
            if (on_roof(who, r)) {
                scale_see(&ch.x, r->flops / r->bytes);
                scale_see(&ch.y, rate_of(r));
            }
        scale_see(&ch.x, 2 * d->peak_flops / d->peak_bytes);
        scale_see(&ch.y, d->peak_flops);
    }
    return ch;
}

static void roofline(str *t, const comparison *c, int number, chart ch)
{
    const contestant *who = &c->contestants[number];
    const result_device *d = device_of(who);
    str title = {0};
    str_puts(&title, who->label);
    if (d->model)
        str_printf(&title, ": %s", d->model);
    part_figure(t, title.s);
    chart_begin(t, &ch, title.s,
                "Each mark is a work at one size; the line is the most that the device can do.");
    str_free(&title);
    roof(t, &ch, d);
    typedef void draw(str *, chart *, const contestant *, const result_row *, int);
    draw *const steps[] = {work_marks, work_name};
    for (int i = 0; i < 2; i++) {
        int works = 0;
        for (const result_row *r = NULL; (r = row_next(who, r)) && works < WORKS_MOST;)
            if (is_first(who, r)) {
                steps[i](t, &ch, who, r, number);
                works++;
            }
    }
    chart_end(t);
    roof_table(t, who, d);
}

void section_roofline(str *t, const comparison *c)
{
    const chart axes = shared_axes(c);
    int shown = 0;
    for (int i = 0; i < c->n_contestants; i++) {
        if (!roof_device(&c->contestants[i]) || shown == FIGURES_MOST ||
            t->n + FIGURE_BYTES > ROOFS_UNTIL)
            continue;
        if (!shown++) {
            part_heading(
                t, "roofline", "How near to the machine’s best",
                "The slope is the speed of the memory, the flat part the speed of f32 arithmetic; "
                "both were measured in the same run. A mark on the line uses all that the "
                "device can give; a mark above it works in a cache. All charts have the same "
                "axes.");
            str_puts(t, "<div class=\"figures full\">\n");
        }
        roofline(t, c, i, axes);
    }
    str_puts(t, shown ? "</div>\n" : "");
}
