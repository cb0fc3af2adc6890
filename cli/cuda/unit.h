/* The unit of a source: its text as a constant of the program, which the library compiles for the device. */
#ifndef CLI_CUDA_UNIT_H
#define CLI_CUDA_UNIT_H

#include "cuda/rewrite.h"

/* Text as a string literal of C. */
void unit_quote(str *out, const char *text, size_t bytes);
/* What defines the unit: of the text at path, and behind it the lambdas that are for kernels. */
void unit_add(const rewrite_job *job, const char *path, const char *text, const char *lambdas,
              str *out);

#endif
