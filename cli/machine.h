/* A short description of the machine, for results that are saved: machine.c. */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include "str.h"

#include <ingot.h>

/* Lists what disturbs measurements: the notes and warnings among m's findings, as texts in a. Returns their number. */
int machine_disturbances(const ig_machine *m, arena *a, const char ***texts);

#endif
