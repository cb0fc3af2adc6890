/* Stencil: weights in constant memory, and the block's part with its rim in shared memory.
 *
 * Run:
 *   ingot run examples/cuda/10_stencil.cu --grid 2 --block 8 --arg n=16 --arg x=arange:f32[16] \
 *       --arg y=zeros:f32[16]
 * Prints:
 *   y = [ 0.375   1.0625  2.      3.      4.      5.      6.      7.      8.
 *     9.     10.     11.     12.     13.     13.      9.9375]
 */
#define RADIUS 2
#define BLOCK 8

__constant__ float weight[2 * RADIUS + 1] = {1, 4, 6, 4, 1};

__global__ void stencil(int n, const float *x, float *y)
{
    __shared__ float part[BLOCK + 2 * RADIUS];
    int first = blockIdx.x * BLOCK - RADIUS;
    for (int i = threadIdx.x; i < BLOCK + 2 * RADIUS; i += BLOCK)
        part[i] = first + i >= 0 && first + i < n ? x[first + i] : 0;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i <= 2 * RADIUS; i++)
        sum += weight[i] * part[threadIdx.x + i];
    y[blockIdx.x * BLOCK + threadIdx.x] = sum / 16;
}
