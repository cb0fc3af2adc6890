// Elementwise kernels on packed values, as tutorials of LLM kernels write them.
/* opencl: IG-WARP
   expect:
add f32x4 ok
add f16x8 ok
add f16x8 pack ok
sigmoid f16x8 pack ok
gelu f32x4 ok
gelu f16x2 ok
relu f16x8 pack ok
swish bf16x2 ok
histogram i32x4 ok
embedding f16x8 pack ok
dot product f16x8 pack ok
*/
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <float.h>
#include <vector>

#define WARP_SIZE 32
#define INT4(value) (reinterpret_cast<int4 *>(&(value))[0])
#define FLOAT4(value) (reinterpret_cast<float4 *>(&(value))[0])
#define HALF2(value) (reinterpret_cast<half2 *>(&(value))[0])
#define BFLOAT2(value) (reinterpret_cast<__nv_bfloat162 *>(&(value))[0])
#define LDST128BITS(value) (reinterpret_cast<float4 *>(&(value))[0])
#define MAX_EXP_F32 88.3762626647949f
#define MIN_EXP_F32 -88.3762626647949f
#define MAX_EXP_F16 __float2half(11.089866488461016f)
#define MIN_EXP_F16 __float2half(-9.704060527839234f)
#define SQRT_2_PI M_SQRT2 *M_2_SQRTPI * 0.5f
#define HALF_1 __float2half(1.0f)

__global__ void add_f32x4(float *a, float *b, float *c, int N)
{
    int idx = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (idx < N) {
        float4 reg_a = FLOAT4(a[idx]);
        float4 reg_b = FLOAT4(b[idx]);
        float4 reg_c;
        reg_c.x = reg_a.x + reg_b.x;
        reg_c.y = reg_a.y + reg_b.y;
        reg_c.z = reg_a.z + reg_b.z;
        reg_c.w = reg_a.w + reg_b.w;
        FLOAT4(c[idx]) = reg_c;
    }
}
__global__ void add_f16x8(half *a, half *b, half *c, int N)
{
    int idx = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    half2 reg_a_0 = HALF2(a[idx + 0]), reg_a_1 = HALF2(a[idx + 2]), reg_a_2 = HALF2(a[idx + 4]), reg_a_3 = HALF2(a[idx + 6]);
    half2 reg_b_0 = HALF2(b[idx + 0]), reg_b_1 = HALF2(b[idx + 2]), reg_b_2 = HALF2(b[idx + 4]), reg_b_3 = HALF2(b[idx + 6]);
    half2 reg_c_0, reg_c_1, reg_c_2, reg_c_3;
    reg_c_0.x = __hadd(reg_a_0.x, reg_b_0.x);
    reg_c_0.y = __hadd(reg_a_0.y, reg_b_0.y);
    reg_c_1 = __hadd2(reg_a_1, reg_b_1);
    reg_c_2 = __hadd2(reg_a_2, reg_b_2);
    reg_c_3 = __hadd2(reg_a_3, reg_b_3);
    if ((idx + 0) < N) { HALF2(c[idx + 0]) = reg_c_0; }
    if ((idx + 2) < N) { HALF2(c[idx + 2]) = reg_c_1; }
    if ((idx + 4) < N) { HALF2(c[idx + 4]) = reg_c_2; }
    if ((idx + 6) < N) { HALF2(c[idx + 6]) = reg_c_3; }
}
__global__ void add_f16x8_pack(half *a, half *b, half *c, int N)
{
    int idx = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    half pack_a[8], pack_b[8], pack_c[8];
    LDST128BITS(pack_a[0]) = LDST128BITS(a[idx]);
    LDST128BITS(pack_b[0]) = LDST128BITS(b[idx]);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        HALF2(pack_c[i]) = __hadd2(HALF2(pack_a[i]), HALF2(pack_b[i]));
    }
    if ((idx + 7) < N) {
        LDST128BITS(c[idx]) = LDST128BITS(pack_c[0]);
    } else {
        for (int i = 0; idx + i < N; i++)
            c[idx + i] = __hadd(a[idx + i], b[idx + i]);
    }
}
__global__ void sigmoid_f16x8_pack(half *x, half *y, int N)
{
    int idx = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    const half f = __float2half(1.0f);
    half pack_x[8], pack_y[8];
    LDST128BITS(pack_x[0]) = LDST128BITS(x[idx]);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        half v = __hmin(__hmax(pack_x[i], MIN_EXP_F16), MAX_EXP_F16);
        pack_y[i] = f / (f + hexp(-v));
    }
    if ((idx + 7) < N)
        LDST128BITS(y[idx]) = LDST128BITS(pack_y[0]);
}
__inline__ __device__ float gelu_tanh_approximate(float x)
{
    return 0.5f * x * (1.0f + tanhf(SQRT_2_PI * (x + 0.044715f * x * x * x)));
}
__inline__ __device__ half gelu_tanh_approximate(half x)
{
    half x_cube = x * x * x;
    half inner = half(M_SQRT2) * half(M_2_SQRTPI) * __float2half(0.5f) * (x + __float2half(0.044715f) * x_cube);
    return __float2half(0.5f) * x * (HALF_1 + ((hexp(inner * __float2half(2.0f)) - HALF_1) / (hexp(inner * __float2half(2.0f)) + HALF_1)));
}
#define GELU_OPS gelu_tanh_approximate
__global__ void gelu_f32x4(float *x, float *y, int N)
{
    int idx = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    float4 reg_x = FLOAT4(x[idx]);
    float4 reg_y;
    reg_x.x = fminf(fmaxf(reg_x.x, MIN_EXP_F32), MAX_EXP_F32);
    reg_y.x = GELU_OPS(reg_x.x);
    reg_y.y = GELU_OPS(reg_x.y);
    reg_y.z = GELU_OPS(reg_x.z);
    reg_y.w = GELU_OPS(reg_x.w);
    if ((idx + 0) < N) { FLOAT4(y[idx]) = reg_y; }
}
__global__ void gelu_f16x2(half *x, half *y, int N)
{
    int idx = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    half2 reg_x = HALF2(x[idx]), reg_y;
    reg_y.x = GELU_OPS(reg_x.x);
    reg_y.y = GELU_OPS(reg_x.y);
    if (idx < N)
        HALF2(y[idx]) = reg_y;
}
__global__ void relu_f16x8_pack(half *x, half *y, int N)
{
    int idx = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    const half2 z2 = {__float2half(0.0f), __float2half(0.0f)};
    half pack_x[8], pack_y[8];
    LDST128BITS(pack_x[0]) = LDST128BITS(x[idx]);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        HALF2(pack_y[i]) = __hmax2(HALF2(pack_x[i]), z2);
    }
    if ((idx + 7) < N) { LDST128BITS(y[idx]) = LDST128BITS(pack_y[0]); }
}
__device__ __forceinline__ __nv_bfloat16 swish(__nv_bfloat16 x)
{
    return __hmul(x, __float2bfloat16(1.0f / (1.0f + expf(-__bfloat162float(x)))));
}
__global__ void swish_bf16x2(__nv_bfloat16 *x, __nv_bfloat16 *y, int N)
{
    int idx = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (idx < N) {
        __nv_bfloat162 reg_x = BFLOAT2(x[idx]);
        __nv_bfloat162 reg_y;
        reg_y.x = swish(reg_x.x);
        reg_y.y = swish(reg_x.y);
        BFLOAT2(y[idx]) = reg_y;
    }
}
__global__ void histogram_i32x4(int *a, int *y, int N)
{
    int idx = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (idx < N) {
        int4 reg_a = INT4(a[idx]);
        atomicAdd(&(y[reg_a.x]), 1);
        atomicAdd(&(y[reg_a.y]), 1);
        atomicAdd(&(y[reg_a.z]), 1);
        atomicAdd(&(y[reg_a.w]), 1);
    }
}
__global__ void embedding_f16x8_pack(const int *idx, half *weight, half *output, int n, int emb_size)
{
    int tx = threadIdx.x, bx = blockIdx.x;
    int offset = idx[bx] * emb_size;
    LDST128BITS(output[bx * emb_size + 8 * tx]) = LDST128BITS(weight[offset + 8 * tx]);
}

template <const int kWarpSize = WARP_SIZE>
__device__ __forceinline__ float warp_reduce_sum_f32(float val)
{
#pragma unroll
    for (int mask = kWarpSize >> 1; mask >= 1; mask >>= 1) {
        val += __shfl_xor_sync(0xffffffff, val, mask);
    }
    return val;
}
template <const int NUM_THREADS = 256 / 8>
__global__ void dot_prod_f16x8_pack_f32(half *a, half *b, float *y, int N)
{
    int tid = threadIdx.x;
    int idx = (blockIdx.x * NUM_THREADS + tid) * 8;
    constexpr int NUM_WARPS = (NUM_THREADS + WARP_SIZE - 1) / WARP_SIZE;
    __shared__ float reduce_smem[NUM_WARPS];
    half pack_a[8], pack_b[8];
    LDST128BITS(pack_a[0]) = LDST128BITS(a[idx]);
    LDST128BITS(pack_b[0]) = LDST128BITS(b[idx]);
    const half z = __float2half(0.0f);
    half prod_f16 = z;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        half2 v = __hmul2(HALF2(pack_a[i]), HALF2(pack_b[i]));
        prod_f16 += (((idx + i) < N) ? (v.x + v.y) : z);
    }
    float prod = __half2float(prod_f16);
    int warp = tid / WARP_SIZE;
    int lane = tid % WARP_SIZE;
    prod = warp_reduce_sum_f32<WARP_SIZE>(prod);
    if (lane == 0)
        reduce_smem[warp] = prod;
    __syncthreads();
    prod = (lane < NUM_WARPS) ? reduce_smem[lane] : 0.0f;
    if (warp == 0)
        prod = warp_reduce_sum_f32<NUM_WARPS>(prod);
    if (tid == 0)
        atomicAdd(y, prod);
}

template <typename T> static T *managed(int n)
{
    T *p;
    cudaMallocManaged(&p, n * sizeof(T));
    return p;
}
static void verdict(const char *name, double worst, double most)
{
    cudaError_t e = cudaGetLastError();
    if (e || !(worst <= most))
        printf("%s: %g, %s\n", name, worst, cudaGetErrorString(e));
    else
        printf("%s ok\n", name);
}

int main()
{
    const int N = 4096;
    float *a = managed<float>(N), *b = managed<float>(N), *c = managed<float>(N);
    half *ha = managed<half>(N), *hb = managed<half>(N), *hc = managed<half>(N);
    __nv_bfloat16 *xa = managed<__nv_bfloat16>(N), *xb = managed<__nv_bfloat16>(N);
    int *bins = managed<int>(16), *picks = managed<int>(N);
    for (int i = 0; i < N; i++) {
        a[i] = (i * 37 % 101) / 16.0f - 3;
        b[i] = (i * 53 % 97) / 32.0f - 1;
        ha[i] = __float2half(a[i]);
        hb[i] = __float2half(b[i]);
        xa[i] = __float2bfloat16(a[i]);
        picks[i] = i * 7 % 16;
    }
    double w = 0;
    add_f32x4<<<N / 1024, 256>>>(a, b, c, N);
    cudaDeviceSynchronize();
    for (int i = 0; i < N; i++) w = fmax(w, fabs(c[i] - (a[i] + b[i])));
    verdict("add f32x4", w, 0);
    add_f16x8<<<N / 1024, 128>>>(ha, hb, hc, N);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < N; i++) w = fmax(w, fabs(__half2float(hc[i]) - __half2float(__float2half(a[i] + b[i]))));
    verdict("add f16x8", w, 0);
    for (int i = 0; i < N; i++) hc[i] = 0;
    add_f16x8_pack<<<N / 1024, 128>>>(ha, hb, hc, N - 3);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < N; i++) w = fmax(w, fabs(__half2float(hc[i]) - (i < N - 3 ? __half2float(__float2half(a[i] + b[i])) : 0)));
    verdict("add f16x8 pack", w, 0);
    sigmoid_f16x8_pack<<<N / 1024, 128>>>(ha, hc, N);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < N; i++) w = fmax(w, fabs(__half2float(hc[i]) - 1 / (1 + exp(-a[i]))));
    verdict("sigmoid f16x8 pack", w, 2e-3);
    gelu_f32x4<<<N / 1024, 256>>>(a, c, N);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < N; i++) w = fmax(w, fabs(c[i] - 0.5 * a[i] * (1 + tanh(sqrt(2 / M_PI) * (a[i] + 0.044715 * a[i] * a[i] * a[i])))));
    verdict("gelu f32x4", w, 1e-5);
    gelu_f16x2<<<N / 512, 256>>>(ha, hc, N);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < N; i++)
        if (fabsf(a[i]) < 2)
            w = fmax(w, fabs(__half2float(hc[i]) - 0.5 * a[i] * (1 + tanh(sqrt(2 / M_PI) * (a[i] + 0.044715 * a[i] * a[i] * a[i])))));
    verdict("gelu f16x2", w, 2e-2);
    relu_f16x8_pack<<<N / 1024, 128>>>(ha, hc, N);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < N; i++) w = fmax(w, fabs(__half2float(hc[i]) - fmaxf(a[i], 0)));
    verdict("relu f16x8 pack", w, 0);
    swish_bf16x2<<<N / 512, 256>>>(xa, xb, N);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < N; i++) w = fmax(w, fabs(__bfloat162float(xb[i]) - a[i] / (1 + exp(-a[i]))));
    verdict("swish bf16x2", w, 0.05);
    for (int i = 0; i < 16; i++) bins[i] = 0;
    histogram_i32x4<<<N / 1024, 256>>>(picks, bins, N);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < 16; i++) w = fmax(w, abs(bins[i] - N / 16));
    verdict("histogram i32x4", w, 0);
    embedding_f16x8_pack<<<32, 8>>>(picks, ha, hc, 32, 64);
    cudaDeviceSynchronize();
    w = 0;
    for (int i = 0; i < 32 * 64; i++) w = fmax(w, fabs(__half2float(hc[i]) - __half2float(ha[picks[i / 64] * 64 + i % 64])));
    verdict("embedding f16x8 pack", w, 0);
    c[0] = 0;
    dot_prod_f16x8_pack_f32<256><<<N / 2048, 256>>>(ha, hb, c, N);
    cudaDeviceSynchronize();
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)a[i] * b[i];
    verdict("dot product f16x8 pack", fabs(c[0] - sum) / fabs(sum), 1e-2);
}
