/* Checks that structs have one layout on the host and in kernels. */
#ifndef CLI_CUDA_LAYOUT_H
#define CLI_CUDA_LAYOUT_H

#include "cuda/program.h"

/* What messages call the lines that layout_add makes. */
#define LAYOUT_NAME "struct layouts"

/* Adds C++ for the end of a rewritten source: assertions of size and offset for every struct that a kernel
 * is given by value or by pointer, as the library's front end lays it out. Kernel templates are left out:
 * their instances are not known before the program runs, which then compares sizes. */
void layout_add(const program_options *o, const char *path, str *out);

#endif
