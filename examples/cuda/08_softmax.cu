/* Softmax of each row, one block for a row: the maximum, then the sum of exponentials, then the result.
 *
 * Run:
 *   ingot run examples/cuda/08_softmax.cu --grid 2 --block 64 --arg columns=4 \
 *       --arg 'x=[[0, 0, 0, 0], [1000, 1000, 0, 0]]' --arg 'y=zeros:[2, 4]'
 * Prints:
 *   y =
 *   [[0.25 0.25 0.25 0.25]
 *    [0.5  0.5  0.   0.  ]]
 */
__device__ float block_reduce(float v, bool largest)
{
    __shared__ float part[64];
    part[threadIdx.x] = v;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = part[threadIdx.x + half];
            part[threadIdx.x] = largest ? fmaxf(part[threadIdx.x], other) : part[threadIdx.x] + other;
        }
        __syncthreads();
    }
    v = part[0];
    __syncthreads();
    return v;
}

__global__ void softmax(int columns, const float *x, float *y)
{
    const float *row = x + blockIdx.x * columns;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        top = fmaxf(top, row[i]);
    top = block_reduce(top, true);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += expf(row[i] - top);
    sum = block_reduce(sum, false);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        y[blockIdx.x * columns + i] = expf(row[i] - top) / sum;
}
