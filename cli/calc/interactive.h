/* interactive.c: the calculator at a terminal. */
#ifndef CLI_CALC_INTERACTIVE_H
#define CLI_CALC_INTERACTIVE_H

#include "calc/calc.h"

/* The functions that receive the value of a line, and the calculator's mistake. */
typedef struct interactive {
    calc *calc;
    void (*show)(const void *ctx, value *v);
    void (*report)(const void *ctx);
    const void *ctx;
} interactive;

/* Reads and runs lines until the user ends the session. Ctrl-C cancels the line, or the computation. */
void interactive_run(const interactive *p);

/* Ctrl-C came since the line was entered. */
bool interactive_stopped(void);

#endif
