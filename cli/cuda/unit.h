/* The unit of a source: its text as a constant in the program. The library compiles it for the device. */
#ifndef CLI_CUDA_UNIT_H
#define CLI_CUDA_UNIT_H

#include "cuda/rewrite.h"

/* Adds text as a C string literal. */
void unit_quote(str *out, const char *text, size_t bytes);
/* Adds the definition of the unit: the text of the file at path, followed by the structs of its lambdas. */
void unit_add(const rewrite_job *job, const char *path, const char *text, const char *lambdas,
              str *out);

#endif
