// Pi by darts: an own xorshift generator for each thread, a warp and a block reduction, 64-bit counts.
/* opencl: IG-WARP
expect:
darts 4194304, hits as on the host: yes
pi is about 3.14
*/
#include <math.h>
#include <stdio.h>

struct Xorshift {
    unsigned int a;
    __host__ __device__ explicit Xorshift(unsigned seed) : a(seed * 747796405u + 2891336453u) {}
    __host__ __device__ unsigned next()
    {
        a ^= a << 13;
        a ^= a >> 17;
        return a ^= a << 5;
    }
    __host__ __device__ float uniform() { return (next() >> 8) * (1.0f / 16777216.0f); }
};

__host__ __device__ int throw_darts(unsigned seed, int n)
{
    Xorshift random(seed);
    int inside = 0;
    for (int i = 0; i < n; i++) {
        float x = random.uniform(), y = random.uniform();
        if (x * x + y * y <= 1.0f)
            ++inside;
    }
    return inside;
}

__inline__ __device__ int warp_sum(int v)
{
    for (int mask = warpSize / 2; mask > 0; mask /= 2)
        v += __shfl_xor_sync(0xffffffff, v, mask);
    return v;
}

__global__ void darts(unsigned long long *total, int each)
{
    static __shared__ int shared[32];
    int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
    int v = warp_sum(throw_darts(blockIdx.x * blockDim.x + threadIdx.x, each));
    if (lane == 0)
        shared[wid] = v;
    __syncthreads();
    v = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
    if (wid == 0)
        v = warp_sum(v);
    if (threadIdx.x == 0)
        atomicAdd(total, (unsigned long long)v);
}

int main(void)
{
    const int blocks = 64, threads = 256, each = 256;
    unsigned long long *d, h = 0, want = 0;
    cudaMalloc((void **)&d, sizeof(*d));
    cudaMemset(d, 0, sizeof(*d));
    darts<<<blocks, threads>>>(d, each);
    cudaMemcpy(&h, d, sizeof(h), cudaMemcpyDeviceToHost);
    for (int i = 0; i < blocks * threads; i++)
        want += throw_darts(i, each);
    printf("darts %d, hits as on the host: %s\n", blocks * threads * each, llabs((long long)(h - want)) <= 2 ? "yes" : "no");
    printf("pi is about %.2f\n", 4.0 * h / ((double)blocks * threads * each));
    cudaFree(d);
    return fabs(4.0 * h / ((double)blocks * threads * each) - M_PI) > 0.01;
}
