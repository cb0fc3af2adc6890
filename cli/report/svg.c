/* Scales and charts in SVG. Coordinates have one decimal: more is not seen. */
#include "report/html.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "report/compare.h"

enum { LEFT = 58, RIGHT = 16, TOP = 22, BOTTOM = 42, LETTER = 6, LINE_HEIGHT = 13 };

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

/* Powers of two; or 1, 2 and 5 of each decade, only its 1, or only that of some decades: as fit. */
static int log_ticks(const scale *s, double *out)
{
    if (!(s->low > 0) || !isfinite(s->high) || !(s->high >= s->low))
        return 0;
    /* Of two finite numbers the quotient may be infinite; the difference of their logarithms is not. */
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
            if (tick >= s->low * 0.999 && tick <= s->high * 1.001)
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

/* ---- words beside axes ---------------------------------------------------------------------- */

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

static void picture_begin(str *t, int width, int height, const char *title, const char *about)
{
    html_put(t,
             "<svg viewBox=\"0 0 %d %d\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">"
             "<title>%s</title><desc>%s</desc>",
             width, height, title, about);
}

static void axis_ticks(str *t, const chart *c, bool across)
{
    const scale *s = across ? &c->x : &c->y;
    double ticks[SCALE_TICKS];
    const int n = scale_ticks(s, ticks);
    for (int i = 0; i < n; i++) {
        const double at = scale_at(s, ticks[i]);
        str word = {0};
        (across ? c->x_words : c->y_words)(&word, ticks[i]);
        if (across)
            html_put(t,
                     "<path class=\"grid\" d=\"M%.1f %dV%d\"/>"
                     "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                     at, TOP, SVG_HEIGHT - BOTTOM, at, SVG_HEIGHT - BOTTOM + 15, word.s);
        else
            html_put(t,
                     "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
                     "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                     LEFT, at, SVG_WIDTH - RIGHT, LEFT - 6, at + 4, word.s);
        str_free(&word);
    }
}

void chart_begin(str *t, chart *c, const char *title, const char *about)
{
    scale_round(&c->x);
    scale_round(&c->y);
    c->x.from = LEFT;
    c->x.to = SVG_WIDTH - RIGHT;
    c->y.from = SVG_HEIGHT - BOTTOM;
    c->y.to = TOP;
    picture_begin(t, SVG_WIDTH, SVG_HEIGHT, title, about);
    axis_ticks(t, c, true);
    axis_ticks(t, c, false);
    html_put(t,
             "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>"
             "<text class=\"axis\" x=\"2\" y=\"12\">%s</text>",
             SVG_WIDTH - RIGHT, SVG_HEIGHT - 8, c->x_title, c->y_title);
}

void chart_end(str *t) { str_puts(t, "</svg>\n"); }

void chart_line(str *t, const chart *c, const double *x, const double *y, int n, const char *class)
{
    html_put(t, "<path class=\"line %s\" d=\"", class);
    for (int i = 0; i < n; i++)
        html_put(t, i ? "L%.1f %.1f" : "M%.1f %.1f", scale_at(&c->x, x[i]), scale_at(&c->y, y[i]));
    str_puts(t, "\"/>");
}

void chart_band(str *t, const chart *c, const double *x, const interval *y, int n, int series)
{
    html_put(t, "<path class=\"band s%d\" d=\"", series % SVG_SERIES);
    for (int i = 0; i < n; i++)
        html_put(t, i ? "L%.1f %.1f" : "M%.1f %.1f", scale_at(&c->x, x[i]),
                 scale_at(&c->y, y[i].low));
    for (int i = n - 1; i >= 0; i--)
        html_put(t, "L%.1f %.1f", scale_at(&c->x, x[i]), scale_at(&c->y, y[i].high));
    str_puts(t, "Z\"/>");
}

/* Circle, square, triangle, diamond, and two of them turned: told apart without their colors. */
static const char *const marks[SVG_SERIES] = {"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
                                              "m-3.5-3.5h7v7h-7z",
                                              "m0-4.5l4.5 8h-9z",
                                              "m0-5l4.5 5l-4.5 5l-4.5-5z",
                                              "m0 4.5l4.5-8h-9z",
                                              "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"};

/* Labels keep away from what is noted here. */
static void note_place(chart *c, double x, double y, double width)
{
    if (c->n_taken == CHART_PLACES)
        return;
    c->taken[c->n_taken].x = x;
    c->taken[c->n_taken].y = y;
    c->taken[c->n_taken++].width = width;
}

void chart_dot(str *t, chart *c, double x, double y, int series, const char *what)
{
    note_place(c, scale_at(&c->x, x) - 4, scale_at(&c->y, y) + 4, 8);
    html_put(t, "<path class=\"dot s%d\" d=\"M%.1f %.1f%s\"><title>%s</title></path>",
             series % SVG_SERIES, scale_at(&c->x, x), scale_at(&c->y, y),
             marks[series % SVG_SERIES], what);
}

void series_key(str *t, int series)
{
    html_put(t,
             "<svg class=\"key\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\" "
             "xmlns=\"http://www.w3.org/2000/svg\"><path class=\"dot s%d\" d=\"M0 0%s\"/></svg>",
             series % SVG_SERIES, marks[series % SVG_SERIES]);
}

static bool label_fits(const chart *c, double x, double y, double width)
{
    if (x < LEFT || x + width > SVG_WIDTH - 2 || y < TOP + 8 || y > SVG_HEIGHT - BOTTOM - 2)
        return false;
    for (int i = 0; i < c->n_taken; i++)
        if (x < c->taken[i].x + c->taken[i].width && c->taken[i].x < x + width &&
            fabs(y - c->taken[i].y) < LINE_HEIGHT)
            return false;
    return true;
}

bool chart_label(str *t, chart *c, double x, double y, int series, const char *word)
{
    static const struct {
        double dx, dy;
        bool left;
    } places[] = {{8, 4, false},  {-8, 4, true},  {6, -8, false},  {-6, -8, true},
                  {6, 16, false}, {-6, 16, true}, {8, -20, false}, {-8, 28, true}};
    const double width = LETTER * (double)strlen(word) + 4;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const double at = scale_at(&c->x, x) + places[i].dx - (places[i].left ? width : 0);
        const double down = scale_at(&c->y, y) + places[i].dy;
        if (!label_fits(c, at, down, width))
            continue;
        note_place(c, at, down, width);
        html_put(t, "<text class=\"label t%d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>",
                 series % SVG_SERIES, places[i].left ? at + width : at, down,
                 places[i].left ? "end" : "start", word);
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
