// After a failed assertion all calls give cudaErrorAssert, until the device is reset. Who asks for the last
// error takes it away, as on a GPU: it is the next call that gives it again.
/* stderr: assertion.cu:18
   exit: 3
   expect:
synchronize: device-side assert triggered
malloc: cudaErrorAssert
asked: cudaErrorAssert cudaSuccess
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
    printf("asked: %s", cudaGetErrorName(cudaGetLastError()));
    printf(" %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("again: %s\n", cudaGetErrorName(cudaMalloc(&p, 4)));
    cudaDeviceReset();
    cudaGetLastError();
    below<<<1, 32>>>(60);
    printf("after reset: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 3;
}
