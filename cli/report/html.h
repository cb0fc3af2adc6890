/* Markup that is both HTML and well-formed XML, and charts in SVG.
 *
 * All text from files passes through html_text or the %s of html_put, which escape it. */
#ifndef CLI_REPORT_HTML_H
#define CLI_REPORT_HTML_H

#include "bench/stats.h"
#include "str.h"

/* Adds text, escaped; at most HTML_TEXT_MOST bytes of it. */
enum { HTML_TEXT_MOST = 300 };
void html_text(str *t, const char *s);
/* Adds markup. %s is escaped; %d, %g and %.Nf are as in printf; no others are supported. */
void html_put(str *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds bytes as base64. */
void html_base64(str *t, const char *bytes, size_t n);

/* ---- svg.c ---- */

/* Maps values to coordinates. */
typedef struct scale {
    double low, high; /* values; low is at from, high at to */
    double from, to;  /* coordinates */
    bool log, twos;   /* logarithmic; ticks at powers of two */
} scale;

double scale_at(const scale *s, double value);
/* Widens the scale to include value; {0} is empty. Values of a logarithmic scale are above 0. */
void scale_see(scale *s, double value);
/* Adds a margin at both ends. */
void scale_round(scale *s);
/* Values for ticks, at most SCALE_TICKS; returns how many. */
enum { SCALE_TICKS = 12 };
int scale_ticks(const scale *s, double out[SCALE_TICKS]);

/* Writes the label of a tick. */
typedef void axis_words(str *t, double value);
void axis_plain(str *t, double value); /* "0.5", "10k", "2M" */
void axis_time(str *t, double value);
void axis_times(str *t, double value); /* "10×" */

enum { CHART_HEIGHT = 340, CHART_WIDTHS = 2, CHART_BOXES = 256, SVG_SERIES = 6 };

/* Boxes of a chart that labels must not touch, at one width of the page. */
typedef struct chart_boxes {
    struct {
        double x, y, width;
    } box[CHART_BOXES];
    int n;
} chart_boxes;

/* A chart: x is in percent of its width, y in pixels. */
typedef struct chart {
    scale x, y;
    axis_words *x_words, *y_words;
    const char *x_title, *y_title;
    chart_boxes taken[CHART_WIDTHS];
} chart;

/* Fits the scales to the frame, then draws the frame, its grid and its axes. title and about describe the chart
 * for readers who cannot see it. */
void chart_begin(str *t, chart *c, const char *title, const char *about);
void chart_end(str *t);
void chart_line(str *t, const chart *c, const double *x, const double *y, int n, const char *class);
void chart_band(str *t, const chart *c, const double *x, const interval *y, int n, int series);
/* A mark with the shape and color of the series. `what` is its tooltip. */
void chart_dot(str *t, chart *c, double x, double y, int series, const char *what);
/* A word next to a point. Returns false if there is no room for it. */
bool chart_label(str *t, chart *c, double x, double y, int series, const char *word);
/* The mark of a series, for legends in the text. */
void series_key(str *t, int series);

/* Opens a nested picture whose x axis runs from 0 to 100 and stretches; close it with </svg>. */
void stretched_begin(str *t, int height);
/* Opens a picture of 100 by 10 that stretches over a table cell; close it with </svg>. */
void svg_strip_begin(str *t, const char *class, const char *title);

#endif
