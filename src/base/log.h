/* Messages that belong to no call: warnings, notes, reports. They go to the function of ig_set_log, or to standard
 * error. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "ingot/base.h"

/* Logs one line. On standard error it begins with "ingot: ", a warning with "ingot: warning: ". */
void log_line(ig_severity severity, const char *format, ...) IG_PRINTF(2, 3);
/* Logs lines that name their origin, such as a compiler's. On standard error they are printed unchanged. */
void log_text(ig_severity severity, const char *text);

/* Long work, such as compiling for a device. The command shows it on a terminal: show gets the device and how many
 * pieces of work have begun so far, or NULL when the last one has ended. One thread at a time calls show. */
void log_set_work(void (*show)(const char *device, int n));
void log_work_begin(const char *device);
void log_work_end(void);

#endif
