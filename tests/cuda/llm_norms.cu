// Softmax, normalizations, rotary positions, transposes and products with vectors, as tutorials of LLM kernels write them.
/* opencl: IG-WARP
   expect:
softmax f32x4 ok
online softmax f32 ok
layer norm f32x4 ok
rms norm f16x8 pack ok
rope f32x4 ok
transpose f32x4 ok
sgemv k128 ok
hgemv k16 ok
*/
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define WARP_SIZE 32
#define FLOAT4(value) (reinterpret_cast<float4 *>(&(value))[0])
#define HALF2(value) (reinterpret_cast<half2 *>(&(value))[0])
#define LDST128BITS(value) (reinterpret_cast<float4 *>(&(value))[0])

struct __align__(8) MD {
    float m;
    float d;
};

template <const int kWarpSize = WARP_SIZE>
__device__ __forceinline__ MD warp_reduce_md_op(MD value)
{
    unsigned int mask = 0xffffffff;
#pragma unroll
    for (int stride = kWarpSize >> 1; stride >= 1; stride >>= 1) {
        MD other;
        other.m = __shfl_xor_sync(mask, value.m, stride);
        other.d = __shfl_xor_sync(mask, value.d, stride);
        bool value_bigger = (value.m > other.m);
        MD bigger_m = value_bigger ? value : other;
        MD smaller_m = value_bigger ? other : value;
        value.d = bigger_m.d + smaller_m.d * __expf(smaller_m.m - bigger_m.m);
        value.m = bigger_m.m;
    }
    return value;
}
template <const int kWarpSize = WARP_SIZE>
__device__ __forceinline__ float warp_reduce_sum_f32(float val)
{
#pragma unroll
    for (int mask = kWarpSize >> 1; mask >= 1; mask >>= 1)
        val += __shfl_xor_sync(0xffffffff, val, mask);
    return val;
}
template <const int kWarpSize = WARP_SIZE>
__device__ __forceinline__ float warp_reduce_max_f32(float val)
{
#pragma unroll
    for (int mask = kWarpSize >> 1; mask >= 1; mask >>= 1)
        val = fmaxf(val, __shfl_xor_sync(0xffffffff, val, mask));
    return val;
}
template <const int NUM_THREADS = 256>
__device__ float block_reduce_sum_f32(float val)
{
    constexpr int NUM_WARPS = (NUM_THREADS + WARP_SIZE - 1) / WARP_SIZE;
    int warp = threadIdx.x / WARP_SIZE;
    int lane = threadIdx.x % WARP_SIZE;
    static __shared__ float shared[NUM_WARPS];
    float value = warp_reduce_sum_f32<WARP_SIZE>(val);
    if (lane == 0)
        shared[warp] = value;
    __syncthreads();
    value = (lane < NUM_WARPS) ? shared[lane] : 0.0f;
    value = warp_reduce_sum_f32<NUM_WARPS>(value);
    value = __shfl_sync(0xffffffff, value, 0, 32);
    return value;
}
template <const int NUM_THREADS = 256>
__device__ float block_reduce_max_f32(float val)
{
    constexpr int NUM_WARPS = (NUM_THREADS + WARP_SIZE - 1) / WARP_SIZE;
    int warp = threadIdx.x / WARP_SIZE;
    int lane = threadIdx.x % WARP_SIZE;
    static __shared__ float shared[NUM_WARPS];
    float value = warp_reduce_max_f32<WARP_SIZE>(val);
    if (lane == 0)
        shared[warp] = value;
    __syncthreads();
    value = (lane < NUM_WARPS) ? shared[lane] : -FLT_MAX;
    value = warp_reduce_max_f32<NUM_WARPS>(value);
    value = __shfl_sync(0xffffffff, value, 0, 32);
    return value;
}
template <const int NUM_THREADS = 256 / 4>
__global__ void safe_softmax_f32x4_per_token_kernel(float *x, float *y, int N)
{
    const int tid = threadIdx.x;
    const int idx = (blockIdx.x * blockDim.x + tid) * 4;
    float4 reg_x = FLOAT4(x[idx]);
    reg_x.x = (idx + 0 < N) ? reg_x.x : -FLT_MAX;
    reg_x.y = (idx + 1 < N) ? reg_x.y : -FLT_MAX;
    float val = reg_x.x;
    val = fmaxf(val, reg_x.y);
    val = fmaxf(val, reg_x.z);
    val = fmaxf(val, reg_x.w);
    float max_val = block_reduce_max_f32<NUM_THREADS>(val);
    float4 reg_exp;
    reg_exp.x = (idx + 0 < N) ? expf(reg_x.x - max_val) : 0.0f;
    reg_exp.y = (idx + 1 < N) ? expf(reg_x.y - max_val) : 0.0f;
    reg_exp.z = (idx + 2 < N) ? expf(reg_x.z - max_val) : 0.0f;
    reg_exp.w = (idx + 3 < N) ? expf(reg_x.w - max_val) : 0.0f;
    float exp_val = (reg_exp.x + reg_exp.y + reg_exp.z + reg_exp.w);
    float exp_sum = block_reduce_sum_f32<NUM_THREADS>(exp_val);
    if (idx + 3 < N) {
        float4 reg_y;
        reg_y.x = reg_exp.x / (exp_sum);
        reg_y.y = reg_exp.y / (exp_sum);
        reg_y.z = reg_exp.z / (exp_sum);
        reg_y.w = reg_exp.w / (exp_sum);
        FLOAT4(y[idx]) = reg_y;
    }
}
template <const int NUM_THREADS = 256>
__global__ void online_safe_softmax_f32_per_token_kernel(const float *x, float *y, int N)
{
    int local_tid = threadIdx.x;
    int global_tid = blockIdx.x * NUM_THREADS + threadIdx.x;
    const int WAPR_NUM = NUM_THREADS / WARP_SIZE;
    int warp_id = local_tid / WARP_SIZE;
    int lane_id = local_tid % WARP_SIZE;
    MD val;
    val.m = global_tid < N ? x[global_tid] : -FLT_MAX;
    val.d = global_tid < N ? 1.0f : 0.0f;
    __shared__ MD shared[WAPR_NUM];
    MD res = warp_reduce_md_op<WARP_SIZE>(val);
    if (lane_id == 0)
        shared[warp_id] = res;
    __syncthreads();
    if (local_tid < WARP_SIZE) {
        MD block_res = shared[local_tid < WAPR_NUM ? local_tid : 0];
        block_res = warp_reduce_md_op<WAPR_NUM>(block_res);
        if (local_tid == 0)
            shared[0] = block_res;
    }
    __syncthreads();
    MD final_res = shared[0];
    float d_total_inverse = __fdividef(1.0f, final_res.d);
    if (global_tid < N)
        y[global_tid] = __expf(x[global_tid] - final_res.m) * d_total_inverse;
}
template <const int NUM_THREADS = 256>
__global__ void layer_norm_f32x4_kernel(float *x, float *y, float g, float b, int N, int K)
{
    int tid = threadIdx.x;
    int bid = blockIdx.x;
    int idx = (bid * blockDim.x + threadIdx.x) * 4;
    const float epsilon = 1e-5f;
    __shared__ float s_mean;
    __shared__ float s_variance;
    float4 reg_x = FLOAT4(x[idx]);
    float value = (idx < N * K) ? (reg_x.x + reg_x.y + reg_x.z + reg_x.w) : 0.0f;
    float sum = block_reduce_sum_f32<NUM_THREADS>(value);
    if (tid == 0)
        s_mean = sum / (float)K;
    __syncthreads();
    float4 reg_x_hat;
    reg_x_hat.x = reg_x.x - s_mean;
    reg_x_hat.y = reg_x.y - s_mean;
    reg_x_hat.z = reg_x.z - s_mean;
    reg_x_hat.w = reg_x.w - s_mean;
    float variance = reg_x_hat.x * reg_x_hat.x + reg_x_hat.y * reg_x_hat.y + reg_x_hat.z * reg_x_hat.z + reg_x_hat.w * reg_x_hat.w;
    variance = block_reduce_sum_f32<NUM_THREADS>(variance);
    if (tid == 0)
        s_variance = rsqrtf(variance / (float)K + epsilon);
    __syncthreads();
    float4 reg_y;
    reg_y.x = reg_x_hat.x * s_variance * g + b;
    reg_y.y = reg_x_hat.y * s_variance * g + b;
    reg_y.z = reg_x_hat.z * s_variance * g + b;
    reg_y.w = reg_x_hat.w * s_variance * g + b;
    if (idx < N * K)
        FLOAT4(y[idx]) = reg_y;
}
template <const int NUM_THREADS = 256>
__global__ void rms_norm_f16x8_pack_f32_kernel(half *x, half *y, float g, int N, int K)
{
    int tid = threadIdx.x;
    int bid = blockIdx.x;
    int idx = (bid * blockDim.x + threadIdx.x) * 8;
    const float epsilon = 1e-5f;
    __shared__ float s_variance;
    half pack_x[8], pack_y[8];
    LDST128BITS(pack_x[0]) = LDST128BITS(x[idx]);
    float variance = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        float v = __half2float(pack_x[i]);
        variance += ((idx + i) < N * K ? v * v : 0.0f);
    }
    variance = block_reduce_sum_f32<NUM_THREADS>(variance);
    if (tid == 0)
        s_variance = rsqrtf(variance / (float)K + epsilon);
    __syncthreads();
    const half2 v2 = __half2half2(__float2half(s_variance * g));
#pragma unroll
    for (int i = 0; i < 8; i += 2)
        HALF2(pack_y[i]) = __hmul2(HALF2(pack_x[i]), v2);
    if ((idx + 7) < N * K)
        LDST128BITS(y[idx]) = LDST128BITS(pack_y[0]);
}
#define theta 10000.0f
__global__ void rope_f32x4_pack_kernel(float *x, float *out, int seq_len, int N)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    float4 x_v = FLOAT4(x[idx * 4]);
    int token_pos = idx / N;
    int token_idx = idx % N;
    float exp_f_v = 1.0f / powf(theta, 2 * (token_idx * 2) / (N * 4.0f));
    float exp_s_v = 1.0f / powf(theta, 2 * ((token_idx * 2) + 1) / (N * 4.0f));
    float sin_f_v = sinf(token_pos * exp_f_v);
    float cos_f_v = cosf(token_pos * exp_f_v);
    float sin_s_v, cos_s_v;
    sincosf(token_pos * exp_s_v, &sin_s_v, &cos_s_v);
    float4 o_v;
    o_v.x = x_v.x * cos_f_v - x_v.y * sin_f_v;
    o_v.y = x_v.x * sin_f_v + x_v.y * cos_f_v;
    o_v.z = x_v.z * cos_s_v - x_v.w * sin_s_v;
    o_v.w = x_v.z * sin_s_v + x_v.w * cos_s_v;
    FLOAT4(out[idx * 4]) = o_v;
}
#define WARP_SIZE_S 16
#define PAD 1
__global__ void mat_transpose_f32x4_shared_bcf_col2row2d_kernel(float *x, float *y, const int row, const int col)
{
    const int global_x = blockIdx.x * blockDim.x + threadIdx.x;
    const int global_y = blockIdx.y * blockDim.y + threadIdx.y;
    const int local_x = threadIdx.x;
    const int local_y = threadIdx.y;
    __shared__ float tile[WARP_SIZE_S * 4][WARP_SIZE_S + PAD];
    if (global_y * 4 < row && global_x < col) {
        float4 x_val;
        x_val.x = x[(global_y * 4) * col + global_x];
        x_val.y = x[(global_y * 4 + 1) * col + global_x];
        x_val.z = x[(global_y * 4 + 2) * col + global_x];
        x_val.w = x[(global_y * 4 + 3) * col + global_x];
        tile[local_y * 4][local_x] = x_val.x;
        tile[local_y * 4 + 1][local_x] = x_val.y;
        tile[local_y * 4 + 2][local_x] = x_val.z;
        tile[local_y * 4 + 3][local_x] = x_val.w;
        __syncthreads();
        float4 smem_val;
        const int bid_y = blockIdx.y * blockDim.y;
        const int out_y = global_x - local_x + local_y;
        const int out_x = (bid_y * 4) + local_x * 4;
        smem_val.x = tile[local_x * 4][local_y];
        smem_val.y = tile[local_x * 4 + 1][local_y];
        smem_val.z = tile[local_x * 4 + 2][local_y];
        smem_val.w = tile[local_x * 4 + 3][local_y];
        FLOAT4(y[out_y * row + out_x]) = FLOAT4(smem_val);
    }
}
__global__ void sgemv_k128_f32x4_kernel(float *a, float *x, float *y, int M, int K)
{
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x;
    int lane = tx % WARP_SIZE;
    int m = blockDim.y * bx + ty;
    if (m < M) {
        float sum = 0.0f;
        int NUM_WARPS = (((K + WARP_SIZE - 1) / WARP_SIZE) + 4 - 1) / 4;
#pragma unroll
        for (int w = 0; w < NUM_WARPS; ++w) {
            int k = (w * WARP_SIZE + lane) * 4;
            float4 reg_x = FLOAT4(x[k]);
            float4 reg_a = FLOAT4(a[m * K + k]);
            sum += (reg_a.x * reg_x.x + reg_a.y * reg_x.y + reg_a.z * reg_x.z + reg_a.w * reg_x.w);
        }
        sum = warp_reduce_sum_f32<WARP_SIZE>(sum);
        if (lane == 0)
            y[m] = sum;
    }
}
template <const int ROW_PER_WARP = 2>
__global__ void hgemv_k16_f16_kernel(half *A, half *x, half *y, int M, int K)
{
    constexpr int K_WARP_SIZE = (WARP_SIZE + ROW_PER_WARP - 1) / ROW_PER_WARP;
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x;
    int lane = tx % WARP_SIZE;
    int k = lane % K_WARP_SIZE;
    int m = (blockDim.y * bx + ty) * ROW_PER_WARP + lane / K_WARP_SIZE;
    if (m < M) {
        half sum = A[m * K + k] * x[k];
#pragma unroll
        for (int mask = K_WARP_SIZE >> 1; mask >= 1; mask >>= 1)
            sum = __hadd(sum, __shfl_xor_sync(0xffffffff, sum, mask));
        if (k == 0)
            y[m] = sum;
    }
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
    const int R = 16, K = 256, N = R * K;
    float *x = managed<float>(N), *y = managed<float>(N);
    half *hx = managed<half>(N), *hy = managed<half>(N);
    for (int i = 0; i < N; i++) {
        x[i] = (i * 37 % 101) / 16.0f - 3;
        hx[i] = __float2half(x[i]);
    }
    double w[2] = {0, 0};
    for (int way = 0; way < 2; way++) {
        if (way)
            online_safe_softmax_f32_per_token_kernel<K><<<R, K>>>(x, y, N);
        else
            safe_softmax_f32x4_per_token_kernel<K / 4><<<R, K / 4>>>(x, y, N);
        cudaDeviceSynchronize();
        for (int r = 0; r < R; r++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += exp(x[r * K + k]);
            for (int k = 0; k < K; k++) w[way] = fmax(w[way], fabs(y[r * K + k] - exp(x[r * K + k]) / s));
        }
    }
    verdict("softmax f32x4", w[0], 1e-7);
    verdict("online softmax f32", w[1], 1e-6);
    layer_norm_f32x4_kernel<K / 4><<<R, K / 4>>>(x, y, 1.5f, 0.25f, R, K);
    cudaDeviceSynchronize();
    double worst = 0;
    for (int r = 0; r < R; r++) {
        double s = 0, v = 0;
        for (int k = 0; k < K; k++) s += x[r * K + k] / K;
        for (int k = 0; k < K; k++) v += (x[r * K + k] - s) * (x[r * K + k] - s) / K;
        for (int k = 0; k < K; k++) worst = fmax(worst, fabs(y[r * K + k] - ((x[r * K + k] - s) / sqrt(v + 1e-5) * 1.5 + 0.25)));
    }
    verdict("layer norm f32x4", worst, 1e-5);
    rms_norm_f16x8_pack_f32_kernel<K / 8><<<R, K / 8>>>(hx, hy, 2.0f, R, K);
    cudaDeviceSynchronize();
    worst = 0;
    for (int r = 0; r < R; r++) {
        double v = 0;
        for (int k = 0; k < K; k++) v += (double)x[r * K + k] * x[r * K + k] / K;
        for (int k = 0; k < K; k++) worst = fmax(worst, fabs(__half2float(hy[r * K + k]) - x[r * K + k] / sqrt(v + 1e-5) * 2));
    }
    verdict("rms norm f16x8 pack", worst, 5e-3);
    rope_f32x4_pack_kernel<<<N / 4 / 64, 64>>>(x, y, R, K / 4);
    cudaDeviceSynchronize();
    worst = 0;
    for (int r = 0; r < R; r++)
        for (int k = 0; k < K; k += 2) {
            double t = r * pow(10000.0, -(double)k / K);
            worst = fmax(worst, fabs(y[r * K + k] - (x[r * K + k] * cos(t) - x[r * K + k + 1] * sin(t))));
            worst = fmax(worst, fabs(y[r * K + k + 1] - (x[r * K + k] * sin(t) + x[r * K + k + 1] * cos(t))));
        }
    verdict("rope f32x4", worst, 1e-4);
    mat_transpose_f32x4_shared_bcf_col2row2d_kernel<<<dim3(4, 1), dim3(16, 16)>>>(x, y, 64, 64);
    cudaDeviceSynchronize();
    worst = 0;
    for (int i = 0; i < 64 * 64; i++) worst = fmax(worst, fabs(y[i % 64 * 64 + i / 64] - x[i]));
    verdict("transpose f32x4", worst, 0);
    sgemv_k128_f32x4_kernel<<<4, dim3(32, 4)>>>(x, x + 128, y, 16, 128);
    cudaDeviceSynchronize();
    worst = 0;
    for (int m = 0; m < 16; m++) {
        double s = 0;
        for (int k = 0; k < 128; k++) s += (double)x[m * 128 + k] * x[128 + k];
        worst = fmax(worst, fabs(y[m] - s));
    }
    verdict("sgemv k128", worst, 1e-3);
    hgemv_k16_f16_kernel<2><<<2, dim3(32, 4)>>>(hx, hx + 64, hy, 16, 16);
    cudaDeviceSynchronize();
    worst = 0;
    for (int m = 0; m < 16; m++) {
        double s = 0;
        for (int k = 0; k < 16; k++) s += (double)x[m * 16 + k] * x[64 + k];
        worst = fmax(worst, fabs(__half2float(hy[m]) - s));
    }
    verdict("hgemv k16", worst, 0.1);
}
