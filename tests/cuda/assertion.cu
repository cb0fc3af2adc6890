// A failed assertion is cudaErrorAssert, for good, until the device is reset.
/* stderr: assertion failed
   exit: 3
   expect:
synchronize: device-side assert triggered
malloc: cudaErrorAssert
again: cudaErrorAssert
after reset: no error
*/
#include <assert.h>
#include <stdio.h>

__global__ void below(int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < n);
}

int main()
{
    below<<<2, 32>>>(60);
    printf("synchronize: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    void *p;
    printf("malloc: %s\n", cudaGetErrorName(cudaMalloc(&p, 4)));
    cudaGetLastError();
    printf("again: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaDeviceReset();
    cudaGetLastError();
    below<<<1, 32>>>(60);
    printf("after reset: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 3;
}
