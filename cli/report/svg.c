/* Scales and charts in SVG.
 *
 * A chart is as wide as its column. Horizontal positions are percentages; heights and letters are pixels, so
 * text has one size at every width. Lines and bands are nested pictures that stretch; marks and words
 * are placed by percentage and do not stretch. Coordinates have at most two decimals. */
#include "report/html.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "report/compare.h"

enum { TOP = 26, BOTTOM = 44, LETTER = 8, LINE_HEIGHT = 14, TICK_ROOM = 44 };
/* Widths of a chart's frame in pixels, at which labels must not collide: on a page of 360 px, and just
 * above the style sheet's limit for narrow pages. */
static const double frame_width[CHART_WIDTHS] = {260, 570};

/* ---- scales --------------------------------------------------------------------------------- */

double scale_at(const scale *s, double value)
{
    const double low = s->log ? log(s->low) : s->low, high = s->log ? log(s->high) : s->high;
    const double v = s->log ? log(value) : value;
    const double part = high > low ? (v - low) / (high - low) : 0.5;
    return s->from + fmin(fmax(part, -0.05), 1.05) * (s->to - s->from);
}

void scale_see(scale *s, double value)
{
    if (s->low == 0 && s->high == 0)
        s->low = s->high = value;
    s->low = fmin(s->low, value);
    s->high = fmax(s->high, value);
}

void scale_round(scale *s)
{
    if (s->log) {
        const double room = fmax(pow(s->high / s->low, 0.06), 1.1);
        s->low = fmax(s->low / room, DBL_MIN);
        s->high = fmin(s->high * room, DBL_MAX);
    } else {
        const double room = s->high > s->low ? 0.06 * (s->high - s->low) : 0.05 * fabs(s->high);
        s->low -= room;
        s->high += room;
    }
}

/* Powers of two; or, as many as fit: 1, 2 and 5 of each decade, the 1 of each decade, or the 1 of some decades. */
static int log_ticks(const scale *s, double *out)
{
    if (!(s->low > 0) || !isfinite(s->high) || !(s->high >= s->low))
        return 0;
    /* The quotient of two finite numbers may be infinite; the difference of their logarithms is not. */
    const double decades = log10(s->high) - log10(s->low);
    int n = 0;
    if (s->twos) {
        const double low = ceil(log2(s->low) - 0.01), high = log2(s->high) + 0.01;
        const double by = fmax(1, ceil((high - low) / SCALE_TICKS));
        for (double e = low; e <= fmin(high, DBL_MAX_EXP - 1) && n < SCALE_TICKS; e += by)
            out[n++] = exp2(e);
        return n;
    }
    const int step = (int)fmax(1, ceil(decades / 8));
    static const double parts[] = {1, 2, 5};
    const int n_parts = decades <= 2.2 ? 3 : 1;
    const int last = (int)floor(log10(s->high) + 0.01);
    for (int e = (int)floor(log10(s->low)); e <= last && n < SCALE_TICKS; e++)
        for (int i = 0; i < n_parts && e % step == 0 && n < SCALE_TICKS; i++) {
            const double tick = parts[i] * pow(10, e);
            if (tick >= s->low * 0.999 && tick <= s->high * 1.001 && isfinite(tick))
                out[n++] = tick;
        }
    return n;
}

int scale_ticks(const scale *s, double out[SCALE_TICKS])
{
    if (s->log)
        return log_ticks(s, out);
    const double span = s->high - s->low;
    if (!(span > 0))
        return 0;
    double step = pow(10, floor(log10(span / 4)));
    step *= span / step > 20 ? 5 : span / step > 8 ? 2 : 1;
    int n = 0;
    for (double tick = ceil(s->low / step) * step; tick <= s->high && n < SCALE_TICKS; tick += step)
        out[n++] = fabs(tick) < step / 1e6 ? 0 : tick;
    return n;
}

/* ---- labels of axes ------------------------------------------------------------------------- */

void axis_plain(str *t, double value)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    while (i < 5 && value >= 999) {
        value /= 1000;
        i++;
    }
    str_printf(t, "%.3g%s", value, prefixes[i]);
}

void axis_time(str *t, double value)
{
    static const char *const units[] = {"s", "ms", "µs", "ns"};
    int i = 0;
    while (i < 3 && value < 0.999) {
        value *= 1000;
        i++;
    }
    str_printf(t, "%.4g %s", value, units[i]);
}

void axis_times(str *t, double value) { str_printf(t, "%.3g×", value); }

/* ---- charts --------------------------------------------------------------------------------- */

static void axis_across(str *t, const chart *c)
{
    double ticks[SCALE_TICKS], last = -TICK_ROOM;
    const int n = scale_ticks(&c->x, ticks);
    for (int i = 0; i < n; i++) {
        const double at = scale_at(&c->x, ticks[i]), narrow = at / 100 * frame_width[0];
        const bool fits = narrow - last >= TICK_ROOM;
        str word = {0};
        c->x_words(&word, ticks[i]);
        html_put(t,
                 "<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/>"
                 "<text class=\"tick%s\" x=\"%.2f%%\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                 at, at, TOP, CHART_HEIGHT - BOTTOM, fits ? "" : " wide", at,
                 CHART_HEIGHT - BOTTOM + 17, word.s);
        last = fits ? narrow : last;
        str_free(&word);
    }
}

static void axis_up(str *t, const chart *c)
{
    double ticks[SCALE_TICKS];
    const int n = scale_ticks(&c->y, ticks);
    for (int i = 0; i < n; i++) {
        const double at = scale_at(&c->y, ticks[i]);
        str word = {0};
        c->y_words(&word, ticks[i]);
        html_put(t,
                 "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>"
                 "<text class=\"tick\" x=\"-8\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                 at, at, at + 4, word.s);
        str_free(&word);
    }
}

void chart_begin(str *t, chart *c, const char *title, const char *about)
{
    scale_round(&c->x);
    scale_round(&c->y);
    c->x.from = 0;
    c->x.to = 100;
    c->y.from = CHART_HEIGHT - BOTTOM;
    c->y.to = TOP;
    html_put(t,
             "<svg class=\"chart\" role=\"img\" height=\"%d\" "
             "xmlns=\"http://www.w3.org/2000/svg\"><title>%s</title><desc>%s</desc>",
             CHART_HEIGHT, title, about);
    axis_across(t, c);
    axis_up(t, c);
    html_put(t,
             "<text class=\"axis\" x=\"100%%\" y=\"%d\" text-anchor=\"end\">%s</text>"
             "<text class=\"axis\" x=\"-56\" y=\"13\">%s</text>",
             CHART_HEIGHT - 6, c->x_title, c->y_title);
}

void chart_end(str *t) { str_puts(t, "</svg>\n"); }

void stretched_begin(str *t, int height)
{
    html_put(t,
             "<svg aria-hidden=\"true\" viewBox=\"0 0 100 %d\" height=\"%d\" "
             "preserveAspectRatio=\"none\">",
             height, height);
}

void chart_line(str *t, const chart *c, const double *x, const double *y, int n, const char *class)
{
    stretched_begin(t, CHART_HEIGHT);
    html_put(t, "<path class=\"line %s\" d=\"", class);
    for (int i = 0; i < n; i++)
        html_put(t, i ? "L%.2f %.1f" : "M%.2f %.1f", scale_at(&c->x, x[i]), scale_at(&c->y, y[i]));
    str_puts(t, "\"/></svg>");
}

void chart_band(str *t, const chart *c, const double *x, const interval *y, int n, int series)
{
    stretched_begin(t, CHART_HEIGHT);
    html_put(t, "<path class=\"band s%d\" d=\"", series % SVG_SERIES);
    for (int i = 0; i < n; i++)
        html_put(t, i ? "L%.2f %.1f" : "M%.2f %.1f", scale_at(&c->x, x[i]),
                 scale_at(&c->y, y[i].low));
    for (int i = n - 1; i >= 0; i--)
        html_put(t, "L%.2f %.1f", scale_at(&c->x, x[i]), scale_at(&c->y, y[i].high));
    str_puts(t, "Z\"/></svg>");
}

/* Circle, square, triangle, diamond, inverted triangle, cross: series also differ without colors. */
static const char *const marks[SVG_SERIES] = {"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
                                              "m-3.5-3.5h7v7h-7z",
                                              "m0-4.5l4.5 8h-9z",
                                              "m0-5l4.5 5l-4.5 5l-4.5-5z",
                                              "m0 4.5l4.5-8h-9z",
                                              "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"};

/* Records a box that later labels avoid; x is in percent, left and width are in pixels. */
static void take(chart *c, int at_width, double x, double left, double y, double width)
{
    chart_boxes *b = &c->taken[at_width];
    if (b->n == CHART_BOXES)
        return;
    b->box[b->n].x = x / 100 * frame_width[at_width] + left;
    b->box[b->n].y = y;
    b->box[b->n++].width = width;
}

void chart_dot(str *t, chart *c, double x, double y, int series, const char *what)
{
    const double across = scale_at(&c->x, x), down = scale_at(&c->y, y);
    for (int i = 0; i < CHART_WIDTHS; i++)
        take(c, i, across, -4, down + 4, 8);
    html_put(t,
             "<svg aria-hidden=\"true\" x=\"%.2f%%\" y=\"%.1f\"><path class=\"dot s%d\" "
             "d=\"M0 0%s\"><title>%s</title></path></svg>",
             across, down, series % SVG_SERIES, marks[series % SVG_SERIES], what);
}

void series_key(str *t, int series)
{
    html_put(t,
             "<svg class=\"key\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\" "
             "xmlns=\"http://www.w3.org/2000/svg\"><path class=\"dot s%d\" d=\"M0 0%s\"/></svg>",
             series % SVG_SERIES, marks[series % SVG_SERIES]);
}

static bool label_fits(const chart *c, int at_width, double x, double left, double y, double width)
{
    const chart_boxes *b = &c->taken[at_width];
    const double from = x / 100 * frame_width[at_width] + left;
    if (from < 2 || from + width > frame_width[at_width] + 10 || y < TOP + 10 ||
        y > CHART_HEIGHT - BOTTOM - 3)
        return false;
    for (int i = 0; i < b->n; i++)
        if (from < b->box[i].x + b->box[i].width && b->box[i].x < from + width &&
            fabs(y - b->box[i].y) < LINE_HEIGHT)
            return false;
    return true;
}

bool chart_label(str *t, chart *c, double x, double y, int series, const char *word)
{
    static const struct {
        double dx, dy;
        bool left;
    } places[] = {{9, 4, false},   {-9, 4, true},   {12, -12, false}, {-12, -12, true},
                  {12, 20, false}, {-12, 20, true}, {16, -26, false}, {-16, -26, true},
                  {16, 34, false}, {-16, 34, true}};
    const double width = LETTER * (double)strlen(word) + 4;
    const double across = scale_at(&c->x, x), down = scale_at(&c->y, y);
    /* A label that fits at all widths is always shown; one that needs room is shown only on wide pages. */
    for (int narrowest = 0; narrowest < CHART_WIDTHS; narrowest++)
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const double left = places[i].dx - (places[i].left ? width : 0);
            bool fits = true;
            for (int k = narrowest; k < CHART_WIDTHS; k++)
                fits &= label_fits(c, k, across, left, down + places[i].dy, width);
            if (!fits)
                continue;
            for (int k = narrowest; k < CHART_WIDTHS; k++)
                take(c, k, across, left, down + places[i].dy, width);
            if (i > 1) /* a line to a label that is not at the same height */
                html_put(t,
                         "<svg aria-hidden=\"true\" class=\"%s\" x=\"%.2f%%\" y=\"%.1f\"><path "
                         "class=\"leader\" d=\"M0 0L%.0f %.0f\"/></svg>",
                         narrowest ? "wide" : "", across, down, places[i].dx, places[i].dy - 4);
            html_put(t,
                     "<text class=\"label t%d%s\" x=\"%.2f%%\" dx=\"%.0f\" y=\"%.1f\" "
                     "text-anchor=\"%s\">%s</text>",
                     series % SVG_SERIES, narrowest ? " wide" : "", across, places[i].dx,
                     down + places[i].dy, places[i].left ? "end" : "start", word);
            return true;
        }
    return false;
}

void svg_strip_begin(str *t, const char *class, const char *title)
{
    html_put(t,
             "<svg class=\"%s\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" "
             "xmlns=\"http://www.w3.org/2000/svg\"><title>%s</title>",
             class, title);
}
