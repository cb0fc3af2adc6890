/* The sections of the page. Each adds its heading, charts and tables, or nothing if it has no data. */
#ifndef CLI_REPORT_PAGE_H
#define CLI_REPORT_PAGE_H

#include "report/compare.h"
#include "report/html.h"

/* The page stays below 500 kB, however large the files are: a section adds rows until all sections together have this
 * many bytes, and then says how many rows it left out. */
enum {
    RATIOS_UNTIL = 150000,
    FIRST_UNTIL = 170000,
    CURVES_UNTIL = 220000,
    ROOFS_UNTIL = 270000,
    SUPPORT_UNTIL = 310000,
    SAMPLES_UNTIL = 410000,
    GLOSSARY_UNTIL = 425000,
    DATA_UNTIL = 465000,
    FIGURES_MOST = 12,
    NOTES_MOST = 40
};

void section_kinds(str *t, const comparison *c);    /* kinds.c */
void section_glossary(str *t, const comparison *c); /* kinds.c */
void section_cards(str *t, const comparison *c);    /* cards.c */
void section_ratios(str *t, const comparison *c);   /* ratios.c */
void section_times(str *t, const comparison *c);    /* times.c */
void section_first(str *t, const comparison *c);    /* times.c */
void section_expected(str *t, const comparison *c); /* expected.c */
void section_roofline(str *t, const comparison *c); /* roofline.c */
void section_scaling(str *t, const comparison *c);  /* curves.c */
void section_crossing(str *t, const comparison *c); /* curves.c */
void section_support(str *t, const comparison *c);  /* support.c */
void section_samples(str *t, const comparison *c);  /* samples.c */

/* True if a section may add a row; otherwise counts the row in *left_out. */
bool page_has_room(const str *t, int until, int *left_out);
void part_left_out(str *t, int rows);

/* Begins a page: its head, to <body>. page.c. */
void page_begin(str *t, const char *title);

/* ---- parts.c: shared by sections ---- */

void part_heading(str *t, const char *id, const char *title,
                  const char *about); /* about: or NULL */
/* A table with a caption; heads ends with NULL. Rows follow, then part_table_end. */
void part_table(str *t, const char *class, const char *caption, const char *const *heads);
void part_table_end(str *t);
/* A figure: part_figure, the chart, part_figure_table, the table's rows, part_figure_end. */
void part_figure(str *t, const char *title);
void part_figure_table(str *t, const char *caption, const char *const *heads);
void part_figure_end(str *t);
/* The legend of contestants and their marks. */
void part_legend(str *t, const comparison *c);
/* Cells. */
void part_cell_time(str *t, interval seconds);
void part_cell_rate(str *t, double rate, const char *unit);             /* a dash for 0 */
void part_cell_interval(str *t, interval seconds, const result_row *r); /* with the row's mark */
/* A "!" if the row has warnings. */
void part_mark(str *t, const result_row *r);
/* The warnings of a contestant's rows, as a list that the reader can open. */
void part_warnings(str *t, const comparison *c, int number);

const result_device *device_of(const contestant *c); /* NULL if the file does not list it */
interval row_time(const result_row *r);
/* The next row of a contestant after r that has samples, in the order of the file; the first row if r is NULL. */
const result_row *row_next(const contestant *c, const result_row *r);
/* The first such row with the same work as like. */
const result_row *row_like(const contestant *c, const result_row *like);
/* True if r, a row of contestant number `of`, is the first row of its work over all contestants. */
bool row_is_new(const comparison *c, int of, const result_row *r);

#endif
