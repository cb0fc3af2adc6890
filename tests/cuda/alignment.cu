// Allocations of all sizes begin at multiples of 256 bytes, as CUDA promises; the memory behind each address is its own.
/*
expect:
600 allocations, 0 not aligned, 0 wrong
*/
#include <cstdint>
#include <cstdio>

__global__ void mark(unsigned char *x, int n, int value)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = (unsigned char)(value + i);
}

int main()
{
    enum { N = 200 };
    unsigned char *at[3][N], got[N * 7];
    int wrong = 0, odd = 0;
    for (int i = 0; i < N; i++) {
        const size_t bytes = 1 + i * 7;
        cudaMalloc(&at[0][i], bytes);
        cudaMallocManaged(&at[1][i], bytes);
        cudaMallocAsync((void **)&at[2][i], bytes, 0);
        for (int k = 0; k < 3; k++) {
            odd += (uintptr_t)at[k][i] % 256 != 0;
            mark<<<1, 32>>>(at[k][i], (int)bytes, i + k);
        }
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            const int bytes = 1 + i * 7;
            cudaMemcpy(got, at[k][i], bytes, cudaMemcpyDefault);
            for (int b = 0; b < bytes; b++)
                wrong += got[b] != (unsigned char)(i + k + b);
            k == 2 ? cudaFreeAsync(at[k][i], 0) : cudaFree(at[k][i]);
        }
    printf("%d allocations, %d not aligned, %d wrong\n", 3 * N, odd, wrong);
}
