/* The machine in short words, for results that are kept: machine.c. */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include "str.h"

#include <ingot.h>

/* What disturbs measuring: the notes and warnings among m's findings, as texts in a; returns how many. */
int machine_disturbances(const ig_machine *m, arena *a, const char ***texts);

#endif
