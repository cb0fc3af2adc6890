/* The style sheet, embedded in the command. */
#include "report/style.h"

#include "base/embed.h"

INCLUDE_FILE("page_style_bytes", "cli/report/page.css");

extern const char page_style_bytes[];

const char *page_style(void) { return page_style_bytes; }
