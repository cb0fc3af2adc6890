// cuBLAS beside kernels: the library shares the program's streams and memory.
/* libraries: cublas
   expect:
made: 0, stream: 0
product 30 70 110 150 of 4, then halved 15
*/
#include <cstdio>
#include <cublas_v2.h>

__global__ void fill(float *x, int n)
{
    if (threadIdx.x < n)
        x[threadIdx.x] = (float)(threadIdx.x + 1);
}
__global__ void halve(float *x) { x[threadIdx.x] *= 0.5f; }

int main()
{
    float *a, *x, *y, h[4], first;
    const float one = 1, zero = 0;
    cudaStream_t stream;
    cublasHandle_t handle;
    cudaStreamCreate(&stream);
    cudaMalloc(&a, 16 * sizeof(float));
    cudaMalloc(&x, 4 * sizeof(float));
    cudaMalloc(&y, 4 * sizeof(float));
    const int made = cublasCreate(&handle);
    printf("made: %d, stream: %d\n", made, cublasSetStream(handle, stream));
    fill<<<1, 32, 0, stream>>>(a, 16);
    fill<<<1, 32, 0, stream>>>(x, 4);
    cublasSgemv(handle, CUBLAS_OP_T, 4, 4, &one, a, 4, x, 1, &zero, y, 1);
    cudaMemcpyAsync(h, y, sizeof h, cudaMemcpyDeviceToHost, stream);
    halve<<<1, 4, 0, stream>>>(y);
    cudaMemcpyAsync(&first, y, sizeof first, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    printf("product %g %g %g %g of 4, then halved %g\n", h[0], h[1], h[2], h[3], first);
    cublasDestroy(handle);
}
