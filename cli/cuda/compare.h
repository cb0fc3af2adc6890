/* What a program printed on two devices, compared. */
#ifndef CLI_CUDA_COMPARE_H
#define CLI_CUDA_COMPARE_H

#include "cuda/program.h"

/* Runs the program on o->device and on the devices of o->compare, separated by commas; prints the first one's output,
 * and reports on stderr whether the others printed the same. The exit code is the program's own, or 1 if outputs
 * or exit codes differ. */
int program_compare(const command *c, const program_options *o);

#endif
