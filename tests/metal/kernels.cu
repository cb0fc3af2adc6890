// Kernels for tests/metal: elementwise, and with shared memory and a barrier.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void block_sum(int n, const float *x, float *total)
{
    __shared__ float part[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        total[blockIdx.x] = part[0];
}

// Conversions in each direction, of numbers that do not all fit: see tests/cuda/roundings.cu.
extern "C" __global__ void conversions(int n, const float *x, unsigned short *halves, int *whole)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float v = x[i];
    const int k = (int)v;
    halves[4 * i] = __half_as_ushort(__float2half_rz(v)) ^ __half_as_ushort(__int2half_ru(k));
    halves[4 * i + 1] = __half_as_ushort(__float2half_ru(v)) ^ __half_as_ushort(__float2half_rd(v * 1e-9f));
    halves[4 * i + 2] = __bfloat16_as_ushort(__float2bfloat16_rd(v)) ^ __bfloat16_as_ushort(__int2bfloat16_rn(k));
    halves[4 * i + 3] = __bfloat16_as_ushort(__ll2bfloat16_rz(k * 1234567891ll));
    whole[4 * i] = (unsigned char)v + 1000 * (signed char)v;
    whole[4 * i + 1] = (unsigned short)v ^ (int)(short)v << 16;
    whole[4 * i + 2] = __half2short_rn(__float2half(v)) + (unsigned char)__float2half(v);
    whole[4 * i + 3] = (int)((long long)(v * 1e12f) >> 20) ^ (int)__int2float_ru(k ^ 1001);
}
