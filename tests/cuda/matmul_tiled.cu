// Tiles in shared memory, two dimensions, cudaMallocManaged.
/* expect:
COMPLETED
*/
#include <cassert>
#include <cstdio>

const int N = 96;
constexpr int TILE = 16;

__global__ void matmul(const int *a, const int *b, int *c)
{
    __shared__ int s_a[TILE][TILE], s_b[TILE][TILE];
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int i = 0; i < N; i += TILE) {
        s_a[threadIdx.y][threadIdx.x] = a[row * N + i + threadIdx.x];
        s_b[threadIdx.y][threadIdx.x] = b[(i + threadIdx.y) * N + col];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE; j++)
            sum += s_a[threadIdx.y][j] * s_b[j][threadIdx.x];
        __syncthreads();
    }
    c[row * N + col] = sum;
}

int main()
{
    int *a, *b, *c;
    size_t bytes = N * N * sizeof(int);
    cudaMallocManaged(&a, bytes);
    cudaMallocManaged(&b, bytes);
    cudaMallocManaged(&c, bytes);
    for (int i = 0; i < N * N; i++) {
        a[i] = (i * 7 + 3) % 100;
        b[i] = (i * 5 + 1) % 100;
    }
#if CUDART_VERSION >= 13000
    cudaMemPrefetchAsync(a, bytes, {cudaMemLocationTypeDevice, 0}, 0, 0);
#else
    cudaMemPrefetchAsync(a, bytes, 0);
#endif
    dim3 threads(TILE, TILE);
    dim3 blocks(N / TILE, N / TILE);
    matmul<<<blocks, threads>>>(a, b, c);
    cudaDeviceSynchronize();
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int want = 0;
            for (int k = 0; k < N; k++)
                want += a[i * N + k] * b[k * N + j];
            assert(want == c[i * N + j]);
        }
    printf("COMPLETED\n");
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return 0;
}
