/* What long work shows and hears while it goes on: the clock, a bar on a terminal, Ctrl-C. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

/* Seconds of a clock that is never set. */
double clock_s(void);

/* ---- progress.c ---- */

typedef struct progress {
    bool shown;
    double begin_s, drawn_s;
} progress;

/* The bar is shown on a terminal only, and never if quiet. */
void progress_begin(progress *p, bool quiet);
/* share of the work is done, from 0 to 1, since the bar began; label stands before the bar, note
 * behind it. Draws some times a second at most. */
void progress_show(progress *p, const char *label, double share, const char *note);
/* Takes the bar away, for a line in its place. */
void progress_clear(const progress *p);

/* ---- interrupt.c ---- */

/* From now on the first Ctrl-C, or SIGTERM, only asks to stop; the next one ends the process. */
void interrupt_watch(void);
/* The same; what is being evaluated is cancelled, too. */
void interrupt_cancel(void);
bool interrupt_asked(void);

/* From now on Ctrl-C calls handler, from a signal handler or another thread. */
void interrupt_divert(void (*handler)(int number));

/* A timeline is being recorded: Ctrl-C where nobody watches, and a second one where somebody does, write
 * it before the process ends. To be called before there are other threads. */
void interrupt_trace(void);
bool interrupt_traced(void); /* whether that was called: a timeline is of this process alone */

#endif
