// bfloat16: RMS norm with sums in float, pairs, conversions, and what rounding to 8 bits does.
/* opencl: IG-WARP
expect:
within 2 roundings of 8 bits: yes
sum 872; squares 19 10944 11776
*/
#include <cuda_bf16.h>
#include <cmath>
#include <cstdio>
#include <vector>

__global__ void rms_norm(const __nv_bfloat16 *x, const __nv_bfloat16 *weight, __nv_bfloat16 *y, int n)
{
    __shared__ float total;
    float sum = 0;
    const __nv_bfloat16 *row = x + blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float v = __bfloat162float(row[i]);
        sum += v * v;
    }
    for (int o = 16; o; o >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (threadIdx.x == 0)
        total = rsqrtf(sum / n + 1e-6f);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[blockIdx.x * n + i] = __hmul(__float2bfloat16(__bfloat162float(row[i]) * total), weight[i]);
}

__global__ void pairs(const __nv_bfloat162 *a, __nv_bfloat162 *b, float *sum)
{
    const __nv_bfloat162 v = __hadd2(a[threadIdx.x], __float2bfloat162_rn(1.0f));
    b[threadIdx.x] = __hfma2(v, v, a[threadIdx.x]);
    atomicAdd(sum, __low2float(v) + __high2float(v));
}

int main()
{
    const int rows = 3, n = 96;
    std::vector<__nv_bfloat16> x(rows * n), w(n), y(rows * n);
    for (int i = 0; i < rows * n; i++)
        x[i] = __float2bfloat16((i * 13 % 31 - 15) * 0.25f);
    for (int i = 0; i < n; i++)
        w[i] = __float2bfloat16(1.0f + (i % 4) * 0.5f);
    __nv_bfloat16 *dx, *dw, *dy;
    cudaMalloc(&dx, x.size() * 2), cudaMalloc(&dw, w.size() * 2), cudaMalloc(&dy, y.size() * 2);
    cudaMemcpy(dx, x.data(), x.size() * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dw, w.data(), w.size() * 2, cudaMemcpyHostToDevice);
    rms_norm<<<rows, 32>>>(dx, dw, dy, n);
    cudaMemcpy(y.data(), dy, y.size() * 2, cudaMemcpyDeviceToHost);
    float worst = 0;
    for (int r = 0; r < rows; r++) {
        double s = 0;
        for (int i = 0; i < n; i++)
            s += pow((double)__bfloat162float(x[r * n + i]), 2);
        for (int i = 0; i < n; i++) {
            const double want = __bfloat162float(x[r * n + i]) / sqrt(s / n + 1e-6) * __bfloat162float(w[i]);
            worst = fmax(worst, fabs(__bfloat162float(y[r * n + i]) - want) / (fabs(want) + 1e-3));
        }
    }
    printf("within 2 roundings of 8 bits: %s\n", worst < 2.0f / 256 ? "yes" : "no");
    __nv_bfloat162 *a, *b;
    float *sum;
    cudaMallocManaged(&a, 8 * sizeof *a), cudaMallocManaged(&b, 8 * sizeof *b), cudaMallocManaged(&sum, 4);
    for (int i = 0; i < 8; i++)
        a[i] = __floats2bfloat162_rn(i, 100 + i);
    *sum = 0;
    pairs<<<1, 8>>>(a, b, sum);
    cudaDeviceSynchronize();
    printf("sum %g; squares %g %g %g\n", *sum, __low2float(b[3]), __high2float(b[3]), __high2float(b[7]));
}
