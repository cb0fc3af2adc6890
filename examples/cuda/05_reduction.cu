/* Reduction: each block adds up its part. First by halving in shared memory; then with shuffles, where a
 * warp needs no shared memory and no barrier.
 *
 * Run:
 *   ingot run examples/cuda/05_reduction.cu --kernel sum_shuffle --grid 4 --block 256 --arg n=10000 \
 *       --arg x=ones:f32[n] --arg sums=zeros:f32[4]
 * Prints:
 *   sums = [2560. 2560. 2560. 2320.]
 */
__global__ void sum_shared(int n, const float *x, float *sums)
{
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}

__device__ float warp_sum(float v)
{
    for (int step = warpSize / 2; step > 0; step /= 2)
        v += __shfl_down_sync(0xffffffff, v, step);
    return v;
}

__global__ void sum_shuffle(int n, const float *x, float *sums)
{
    __shared__ float part[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sum = warp_sum(sum);
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / warpSize ? part[lane] : 0);
        if (lane == 0)
            sums[blockIdx.x] = sum;
    }
}
