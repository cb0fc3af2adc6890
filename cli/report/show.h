/* A comparison for terminals, and as JSON (schema 1, docs/schema/compare.json). */
#ifndef CLI_REPORT_SHOW_H
#define CLI_REPORT_SHOW_H

#include "report/compare.h"

void show_text(str *t, const comparison *c, bool color);
void show_json(str *t, const comparison *c);

#endif
