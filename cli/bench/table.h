/* A result for people: as a table, as CSV, as Markdown. */
#ifndef CLI_BENCH_TABLE_H
#define CLI_BENCH_TABLE_H

#include "bench/result.h"

/* limits[i] is the least time in which the machine could do row i, by its limits; 0: unknown. */
void table_text(str *t, const result *r, const double *limits, bool color);
void table_csv(str *t, const result *r, const double *limits);
void table_markdown(str *t, const result *r, const double *limits);

#endif
