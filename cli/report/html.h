/* Markup that is HTML and well-formed XML at once, and charts in it.
 *
 * Everything that comes from a file goes through html_put's %s or html_text, which escape. */
#ifndef CLI_REPORT_HTML_H
#define CLI_REPORT_HTML_H

#include "bench/stats.h"
#include "str.h"

/* Adds text, escaped; at most HTML_TEXT_MOST bytes of it. */
enum { HTML_TEXT_MOST = 300 };
void html_text(str *t, const char *s);
/* Adds markup. %s is escaped; %d, %g and %.Nf are as in printf; there is nothing else. */
void html_put(str *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds bytes as base64. */
void html_base64(str *t, const char *bytes, size_t n);

/* ---- svg.c ---- */

/* From values to places in a picture. */
typedef struct scale {
    double low, high; /* values, in the order of from and to */
    double from, to;
    bool log, twos; /* logarithmic; marked at powers of two */
} scale;

double scale_at(const scale *s, double value);
/* Widens so that value is in it; {0} is empty. Values of a logarithmic scale are above 0. */
void scale_see(scale *s, double value);
/* A little room beyond the values: whole ticks where the scale is logarithmic. */
void scale_round(scale *s);
/* Numbers to mark, at most SCALE_TICKS of them; returns how many. */
enum { SCALE_TICKS = 12 };
int scale_ticks(const scale *s, double out[SCALE_TICKS]);

/* How a number is written beside an axis. */
typedef void axis_words(str *t, double value);
void axis_plain(str *t, double value); /* "0.5", "10k", "2M" */
void axis_time(str *t, double value);
void axis_times(str *t, double value); /* "10×" */

enum { SVG_WIDTH = 440, SVG_HEIGHT = 300, SVG_SERIES = 6, CHART_PLACES = 256 };

/* A chart: x and y are its frame's scales; title and description are for those who cannot see it. */
typedef struct chart {
    scale x, y;
    axis_words *x_words, *y_words;
    const char *x_title, *y_title;
    struct {
        double x, y, width;
    } taken[CHART_PLACES]; /* by dots and labels */
    int n_taken;
} chart;

/* Fits the scales to the frame, then draws it, its grid and its axes. */
void chart_begin(str *t, chart *c, const char *title, const char *about);
void chart_end(str *t);
void chart_line(str *t, const chart *c, const double *x, const double *y, int n, const char *class);
void chart_band(str *t, const chart *c, const double *x, const interval *y, int n, int series);
/* A mark whose form and color are the series'. What it is shows when it is pointed at. */
void chart_dot(str *t, chart *c, double x, double y, int series, const char *what);
/* A word beside a point; false: there is no room for it. */
bool chart_label(str *t, chart *c, double x, double y, int series, const char *word);
/* The mark of a series, for legends in the text. */
void series_key(str *t, int series);

/* The strip of a few numbers between two ends: a picture as wide as its place. */
void svg_strip_begin(str *t, const char *class, const char *title);

#endif
