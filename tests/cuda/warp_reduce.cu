// Sums by warp lock step: volatile shared memory without a barrier, and shuffles.
/* opencl: IG-WARP
expect:
volatile 2096128
shuffle 2096128
*/
#include <stdio.h>

__device__ void last_warp(volatile int *s, int t)
{
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
}

__global__ void by_volatile(const int *x, int *out)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 512 + t] + x[blockIdx.x * 512 + t + 256];
    __syncthreads();
    for (int k = 128; k > 32; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t < 32)
        last_warp(s, t);
    if (t == 0)
        atomicAdd(out, s[0]);
}

__inline__ __device__ int warp_sum(int v)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

__global__ void by_shuffle(const int *x, int *out, int n)
{
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(out, sum);
}

int main(void)
{
    enum { N = 2048 };
    int x[N], *dx, *out, sum[2];
    for (int i = 0; i < N; i++)
        x[i] = i;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&out, 2 * sizeof(int));
    cudaMemset(out, 0, 2 * sizeof(int));
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    by_volatile<<<N / 512, 256>>>(dx, &out[0]);
    by_shuffle<<<2, 128>>>(dx, &out[1], N);
    cudaMemcpy(sum, out, sizeof sum, cudaMemcpyDeviceToHost);
    printf("volatile %d\nshuffle %d\n", sum[0], sum[1]);
    return 0;
}
