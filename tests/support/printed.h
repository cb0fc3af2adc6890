/* Kernels for tests of their texts in other languages. */
#ifndef SUPPORT_PRINTED_H
#define SUPPORT_PRINTED_H

#include "compiler/print/join.h"

/* Parses a source with this kernel; it must be valid. */
kernel_tree *parsed(const char *source, const char *kernel);
/* Prints the kernel "k" of a source for a target. */
ig_status printed(const char *source, const kernel_target *target, kernel_printed **out);

#endif
