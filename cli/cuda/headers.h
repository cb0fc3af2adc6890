/* The headers that CUDA programs are compiled with: our own, in place of CUDA's. */
#ifndef CLI_CUDA_HEADERS_H
#define CLI_CUDA_HEADERS_H

#include <stddef.h>

typedef struct cuda_header {
    const char *name; /* "cuda_fp16.h" */
    const char *text; /* bytes of it; no zero byte behind them */
    size_t bytes;
} cuda_header;

/* The i-th; its name is NULL behind the last. */
cuda_header cuda_header_at(int i);

#endif
