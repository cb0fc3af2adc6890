/* What vmath_bits.c prints, computed by an NVIDIA GPU. For each element the whole function is called. */
#include <stdio.h>

#include "vmath_arguments.h"
#include "math.cuh"

#define ROW1(name) \
    __global__ void name##_f32(float *d, const float *a, const float *b, int i0) \
    { int i = i0 + blockIdx.x * blockDim.x + threadIdx.x; (void)b; d[i] = m_##name(a[i]); } \
    __global__ void name##_f64(double *d, const double *a, const double *b, int i0) \
    { int i = i0 + blockIdx.x * blockDim.x + threadIdx.x; (void)b; d[i] = m_##name(a[i]); }
#define ROW2(name) \
    __global__ void name##_f32(float *d, const float *a, const float *b, int i0) \
    { int i = i0 + blockIdx.x * blockDim.x + threadIdx.x; d[i] = m_##name(a[i], b[i]); } \
    __global__ void name##_f64(double *d, const double *a, const double *b, int i0) \
    { int i = i0 + blockIdx.x * blockDim.x + threadIdx.x; d[i] = m_##name(a[i], b[i]); }
#define UNARY ROW1
#define UNARY_FAR ROW1
#define BINARY ROW2
#define BINARY_FAR ROW2
#define EXACT1 ROW1
#define EXACT2 ROW2
#define TEST1 ROW1
namespace kernels {
#include "vmath_rows.def"
}

static const struct {
    const char *name;
    void (*f32)(float *, const float *, const float *, int);
    void (*f64)(double *, const double *, const double *, int);
} rows[] = {
#undef ROW1
#define ROW1(name) {#name, kernels::name##_f32, kernels::name##_f64},
#define UNARY ROW1
#define UNARY_FAR ROW1
#define BINARY ROW1
#define BINARY_FAR ROW1
#define EXACT1 ROW1
#define EXACT2 ROW1
#define TEST1 ROW1
#include "vmath_rows.def"
};

int main(void)
{
    const int n = BLOCK * BLOCKS;
    float *a32, *b32, *d32;
    double *a64, *b64, *d64;
    cudaMallocManaged(&a32, n * sizeof *a32);
    cudaMallocManaged(&b32, n * sizeof *b32);
    cudaMallocManaged(&d32, n * sizeof *d32);
    cudaMallocManaged(&a64, n * sizeof *a64);
    cudaMallocManaged(&b64, n * sizeof *b64);
    cudaMallocManaged(&d64, n * sizeof *d64);
    for (int i = 0; i < n; i++) {
        a32[i] = argument_f32(2 * i);
        b32[i] = argument_f32(2 * i + 1);
        a64[i] = argument_f64(2 * i);
        b64[i] = argument_f64(2 * i + 1);
    }
    for (const auto &row : rows) {
        uint64_t h32 = 0, h64 = 0;
        row.f32<<<BLOCKS, BLOCK>>>(d32, a32, b32, 0);
        row.f64<<<BLOCKS, BLOCK>>>(d64, a64, b64, 0);
        const cudaError_t status = cudaDeviceSynchronize();
        if (status != cudaSuccess) {
            fprintf(stderr, "%s: %s\n", row.name, cudaGetErrorString(status));
            return 1;
        }
        for (int i = 0; i < n; i++) {
            h32 = hash_f32(h32, d32[i]);
            h64 = hash_f64(h64, d64[i]);
        }
        printf("%-14s %016llx %016llx\n", row.name, (unsigned long long)h32, (unsigned long long)h64);
    }
    return 0;
}
