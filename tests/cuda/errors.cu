// Errors tell the truth, and go when they were asked for. CUDA 13.0 says "invalid argument" of the first launch
// and of that without blocks; up to 12, and in the manual, it is as here.
/* check: 3
   expect:
1025 threads: invalid configuration argument (cudaErrorInvalidConfiguration)
asked again: no error
no blocks: invalid configuration argument
shared: invalid argument
allowed: no error
free twice: invalid argument
direction: invalid argument
too long: invalid argument
too much: out of memory, null 1
device 7: invalid device ordinal
peek twice: cudaErrorInvalidDevice cudaErrorInvalidDevice
kernel untouched: 42
*/
#include <stdio.h>

__global__ void write(int *x) { *x = 1; }
__global__ void dynamic(int *x)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    *x = s[threadIdx.x];
}

int main()
{
    int *d, h = 42, local[4];
    cudaMalloc(&d, sizeof h);
    cudaMemcpy(d, &h, sizeof h, cudaMemcpyHostToDevice);
    write<<<1, 1025>>>(d);
    cudaError_t e = cudaGetLastError();
    printf("1025 threads: %s (%s)\n", cudaGetErrorString(e), cudaGetErrorName(e));
    printf("asked again: %s\n", cudaGetErrorString(cudaGetLastError()));
    write<<<0, 32>>>(d);
    printf("no blocks: %s\n", cudaGetErrorString(cudaGetLastError()));
    dynamic<<<1, 32, 64 * 1024>>>(d);
    printf("shared: %s\n", cudaGetErrorString(cudaGetLastError()));
    int *e2;
    cudaMalloc(&e2, 4);
    int most; /* a device may have no more than it gives without being asked */
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    most = most < 64 * 1024 ? most : 64 * 1024;
    cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    dynamic<<<1, 32, most>>>(e2);
    printf("allowed: %s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(e2);
    printf("free twice: %s\n", cudaGetErrorString(cudaFree(e2)));
    printf("direction: %s\n", cudaGetErrorString(cudaMemcpy(local, d, 4, cudaMemcpyHostToDevice)));
    printf("too long: %s\n", cudaGetErrorString(cudaMemcpy(d, local, 16, cudaMemcpyHostToDevice)));
    void *much = &h;
    e = cudaMalloc(&much, (size_t)1 << 60);
    printf("too much: %s, null %d\n", cudaGetErrorString(e), much == NULL);
    printf("device 7: %s\n", cudaGetErrorString(cudaSetDevice(7)));
    printf("peek twice: %s", cudaGetErrorName(cudaPeekAtLastError()));
    printf(" %s\n", cudaGetErrorName(cudaPeekAtLastError()));
    cudaGetLastError();
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("kernel untouched: %d\n", h);
}
