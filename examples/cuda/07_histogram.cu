/* Histogram: atomics in global memory, or first in the block's shared memory, where few threads collide.
 *
 * Run:
 *   ingot run examples/cuda/07_histogram.cu --kernel histogram_shared --grid 4 --block 64 --arg n=1000 \
 *       --arg 'x=astype(arange(n) % 8, u8)' --arg bins=zeros:u32[8]
 * Prints:
 *   bins = [125 125 125 125 125 125 125 125]
 */
#define BINS 8

__global__ void histogram_global(int n, const unsigned char *x, unsigned *bins)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i] % BINS], 1u);
}

__global__ void histogram_shared(int n, const unsigned char *x, unsigned *bins)
{
    __shared__ unsigned own[BINS];
    if (threadIdx.x < BINS)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i] % BINS], 1u);
    __syncthreads();
    if (threadIdx.x < BINS)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
