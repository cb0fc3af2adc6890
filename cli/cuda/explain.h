/* Explains in one line why the host's compiler rejects a program, if the cause is a part of CUDA that Ingot
 * lacks. */
#ifndef CLI_CUDA_EXPLAIN_H
#define CLI_CUDA_EXPLAIN_H

#include "str.h"

/* Adds lines such as "x.cu:12: CUDA graphs are not supported (cudaGraphCreate); ..." for the compiler's
 * messages, or the text of an #error of our headers. Returns false, and adds nothing, if there is neither. */
bool explain_missing(const char *printed, str *out);

#endif
