/* A comparison for terminals, and as JSON (schema 1, docs/schema/compare.json). */
#ifndef CLI_REPORT_TABLE_H
#define CLI_REPORT_TABLE_H

#include "report/compare.h"

void table_text(str *t, const comparison *c, bool color);
void table_json(str *t, const comparison *c);

#endif
