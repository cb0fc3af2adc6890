/* For long work: the clock, a progress bar on a terminal, and Ctrl-C. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include "base/clock.h"

/* ---- progress.c ---- */

typedef struct progress {
    bool shown;
    double begin_s, drawn_s;
    double begin_share; /* that was done at the start, in an earlier run */
} progress;

/* The bar is shown only on a terminal, and not if quiet. */
void progress_begin(progress *p, bool quiet);
/* share: the fraction of the work that is done, from 0 to 1. label is shown before the bar, note after it. Draws at
 * most a few times per second. */
void progress_show(progress *p, const char *label, double share, const char *note);
/* Removes the bar, so that a line can be printed. */
void progress_clear(void);
/* From now on, shows on a terminal that kernels are compiled, unless a bar is there. */
void progress_watch(void);

/* ---- interrupt.c ---- */

/* From now on, the first Ctrl-C or SIGTERM only asks to stop. The next one ends the process. */
void interrupt_watch(void);
/* Same, and the first one also cancels the running evaluation and all later ones. */
void interrupt_cancel(void);
bool interrupt_asked(void);

/* From now on, Ctrl-C calls handler, from a signal handler or another thread. */
void interrupt_divert(void (*handler)(int number));

/* A timeline is being recorded. A Ctrl-C that would end the process writes the timeline first: the first one if nothing
 * watches for it, otherwise the second one. Call it before other threads start. */
void interrupt_trace(void);
bool interrupt_traced(void); /* true after interrupt_trace: a timeline shows only this process */

#endif
