/* A result as a table, as CSV, and as Markdown. */
#ifndef CLI_BENCH_TABLE_H
#define CLI_BENCH_TABLE_H

#include "bench/result.h"

void table_text(str *t, const result *r, bool color);
void table_csv(str *t, const result *r);
void table_markdown(str *t, const result *r);

#endif
