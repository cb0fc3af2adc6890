/* Messages that belong to no call: warnings, notes, reports. They go to the function of ig_set_log, else to standard error. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "ingot.h"

/* One line; on standard error it begins with "ingot: ", a warning with "ingot: warning: ". */
void log_line(ig_severity severity, const char *format, ...) IG_PRINTF(2, 3);
/* Lines that say where they come from, such as those of a compiler; on standard error they are printed as they are. */
void log_text(ig_severity severity, const char *text);

#endif
