/* Why the host's compiler rejects a program, in one line, where the cause is a part of CUDA that Ingot does
 * not have. */
#ifndef CLI_CUDA_EXPLAIN_H
#define CLI_CUDA_EXPLAIN_H

#include "str.h"

/* Adds lines such as "x.cu:12: CUDA graphs are not supported (cudaGraphCreate); ..." for what the compiler
 * printed. Returns false, with nothing added, if it does not name a missing part of CUDA. */
bool explain_missing(const char *printed, str *out);

#endif
