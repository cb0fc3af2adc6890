#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void mixed(half *h, __nv_bfloat16 *b) { h[0] = h[1] + b[0]; }
__global__ void modulo(half *h) { h[0] = h[1] % h[2]; }
__global__ void pair(half2 *h) { h[0] = h[1] + 1.0f; }
