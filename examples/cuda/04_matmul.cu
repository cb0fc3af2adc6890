/* Product of matrices, C = A B with A of (m, k) and B of (k, n): tiles in shared memory, so that each
 * number is read from global memory once for each tile, not once for each product.
 *
 * Run:
 *   ingot run examples/cuda/04_matmul.cu --grid 1x1 --block 16x16 --arg m=3 --arg n=4 --arg k=20 \
 *       --arg 'a=arange:f32[3, 20]' --arg 'b=ones:f32[20, 4]' --arg 'c=zeros:f32[3, 4]'
 * Prints:
 *   c =
 *   [[190. 190. 190. 190.]
 *    [590. 590. 590. 590.]
 *    [990. 990. 990. 990.]]
 */
constexpr int TILE = 16;

__global__ void matmul(int m, int n, int k, const float *a, const float *b, float *c)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += TILE) {
        bool in_a = row < m && t + threadIdx.x < k, in_b = column < n && t + threadIdx.y < k;
        as[threadIdx.y][threadIdx.x] = in_a ? a[row * k + t + threadIdx.x] : 0;
        bs[threadIdx.y][threadIdx.x] = in_b ? b[(t + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
