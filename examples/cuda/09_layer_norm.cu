/* Layer norm of each row by one warp: mean and variance with shuffles that leave the sum in every lane.
 *
 * Run:
 *   ingot run examples/cuda/09_layer_norm.cu --grid 1 --block 32x2 --arg rows=2 --arg columns=4 \
 *       --arg 'x=[[1, 3, 1, 3], [0, 0, 8, 8]]' --arg scale=ones:[4] --arg bias=zeros:[4] \
 *       --arg 'y=zeros:[2, 4]'
 * Prints:
 *   y =
 *   [[-1.  1. -1.  1.]
 *    [-1. -1.  1.  1.]]
 */
__device__ float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffff, v, step);
    return v;
}

__global__ void layer_norm(int rows, int columns, const float *x, const float *scale,
                           const float *bias, float *y)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    x += row * columns;
    float mean = 0, variance = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        mean += x[i];
    mean = warp_sum(mean) / columns;
    for (int i = threadIdx.x; i < columns; i += 32)
        variance += (x[i] - mean) * (x[i] - mean);
    variance = warp_sum(variance) / columns;
    for (int i = threadIdx.x; i < columns; i += 32)
        y[row * columns + i] = (x[i] - mean) / sqrtf(variance) * scale[i] + bias[i];
}
