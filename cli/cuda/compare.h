/* Compares a program's output on several devices. */
#ifndef CLI_CUDA_COMPARE_H
#define CLI_CUDA_COMPARE_H

#include "cuda/program.h"

/* Runs the program on o->device and on the devices of o->compare, separated by commas. Prints the first
 * output, and reports on stderr whether the others are the same. Returns the program's exit code, or 1 if
 * outputs or exit codes differ. */
int program_compare(const command *c, const program_options *o);

#endif
