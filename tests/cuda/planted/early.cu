// The host reads managed memory that a launched kernel writes, before it waits. Memory that the kernel reads, and memory
// after a wait or a copy, may be read.
/* finds: early.cu:21: error: early access: the host accesses 4096 bytes of cudaMallocManaged
finds: early.cu:28: error: early access: the host accesses 40 bytes of cudaMallocManaged
expect:
5 0 2 2
*/
#include <cstdio>
__global__ void add(int *y, const int *x, int n)
{
    y[threadIdx.x] = x[threadIdx.x] + n;
}

int main()
{
    int *x, *y, *z, host;
    cudaMallocManaged(&x, 4096);
    cudaMallocManaged(&y, 4096);
    cudaMallocManaged(&z, 40);
    x[0] = y[0] = z[0] = 0;
    add<<<1, 10>>>(y, x, 5);
    const int early = y[0], fine = x[0];
    cudaDeviceSynchronize();
    add<<<1, 10>>>(y, x, 2);
    cudaMemcpy(&host, y, sizeof host, cudaMemcpyDefault);
    const int after = y[0];
    cudaDeviceSynchronize();
    add<<<1, 10>>>(z, x, 1);
    add<<<1, 10>>>(y, x, 1);
    z[0] = 0;
    printf("%d %d %d %d\n", early, fine, host, after);
    cudaFree(x);
    cudaFree(y);
    cudaFree(z);
}
