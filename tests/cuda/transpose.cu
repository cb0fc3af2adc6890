// A transpose through padded tiles, and the time of events; helper_cuda.h's checks.
/* expect:
transposed
*/
#include <cstdio>
#include <cstdlib>
#if __has_include(<helper_cuda.h>)
#include <helper_cuda.h>
#else // it comes with the samples, not with the toolkit
#define checkCudaErrors(call) ((call) ? exit(EXIT_FAILURE) : (void)0)
#define getLastCudaError(what) (cudaGetLastError() ? exit(EXIT_FAILURE) : (void)0)
#endif

const int TILE_DIM = 32, BLOCK_ROWS = 8;

__global__ void transpose(float *out, const float *in)
{
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        out[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main()
{
    const int n = 128;
    float *h = new float[n * n], *a, *b;
    for (int i = 0; i < n * n; i++)
        h[i] = i;
    checkCudaErrors(cudaMalloc(&a, n * n * sizeof(float)));
    checkCudaErrors(cudaMalloc(&b, n * n * sizeof(float)));
    checkCudaErrors(cudaMemcpy(a, h, n * n * sizeof(float), cudaMemcpyHostToDevice));
    dim3 grid(n / TILE_DIM, n / TILE_DIM, 1), block(TILE_DIM, BLOCK_ROWS, 1);
    transpose<<<grid, block>>>(b, a);
    getLastCudaError("transpose");
    checkCudaErrors(cudaMemcpy(h, b, n * n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (h[i * n + j] != j * n + i) {
                printf("wrong at %d %d\n", i, j);
                exit(EXIT_FAILURE);
            }
    printf("transposed\n");
    delete[] h;
}
