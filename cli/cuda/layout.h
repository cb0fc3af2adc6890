/* Checks that structs have the same layout on the host and in kernels. */
#ifndef CLI_CUDA_LAYOUT_H
#define CLI_CUDA_LAYOUT_H

#include "cuda/program.h"

/* The file name that messages show for the lines of layout_add. */
#define LAYOUT_NAME "struct layouts"

/* Adds C++ for the end of a rewritten source: assertions of size and offsets for every struct that a kernel
 * takes by value or by pointer, as the library's front end lays it out. Kernel templates are left out: their
 * instances are known only when the program runs, and sizes are compared then. */
void layout_add(const program_options *o, const char *path, str *out);
/* The kernels of the source at path; NULL with the thread's error set, or if it cannot be read. */
ig_module *layout_module(const program_options *o, const char *path, bool is_program);

#endif
