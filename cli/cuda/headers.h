/* The headers that replace CUDA's own when a program is compiled. A header of the same name in the program's
 * folders takes precedence. */
#ifndef CLI_CUDA_HEADERS_H
#define CLI_CUDA_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cuda_header {
    const char *name; /* "cuda_fp16.h" */
    const char *text; /* not terminated */
    size_t bytes;
    bool is_gpu; /* only for programs on an NVIDIA GPU */
} cuda_header;

/* The i-th header; its name is NULL after the last one. */
cuda_header cuda_header_at(int i);

/* True if there is a header of that name. */
bool cuda_header_exists(const char *name, size_t bytes);

#endif
