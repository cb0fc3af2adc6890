/* A checked tree as text that reads like C. */
#ifndef SUPPORT_KERNEL_DUMP_H
#define SUPPORT_KERNEL_DUMP_H

#include "compiler/tree.h"

/* Appends all kernels, functions, globals and structs. */
void kernel_dump(const kernel_tree *tree, text *out);

#endif
