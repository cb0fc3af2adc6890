/* Messages that belong to no call: warnings, notes, reports. They go to the function of ig_set_log, or to standard
 * error. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "ingot.h"

/* Logs one line. On standard error it begins with "ingot: ", a warning with "ingot: warning: ". */
void log_line(ig_severity severity, const char *format, ...) IG_PRINTF(2, 3);
/* Logs lines that name their origin, such as a compiler's. On standard error they are printed unchanged. */
void log_text(ig_severity severity, const char *text);

#endif
