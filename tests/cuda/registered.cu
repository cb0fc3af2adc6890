// Memory of the host's: mapped, registered, and what is known about pointers.
/* expect:
mapped 10, registered 20
types: host 1, device 2, managed 3, plain 0
again: part or all of the requested memory range is already mapped
not registered: pointer does not correspond to a registered memory region
*/
#include <stdio.h>
#include <stdlib.h>

__global__ void add(int *x, int v) { x[threadIdx.x] += v; }

int main()
{
    int *mapped, *device, *plain = (int *)calloc(4, sizeof(int)), *d, *m;
    cudaSetDeviceFlags(cudaDeviceMapHost);
    cudaHostAlloc((void **)&mapped, 4 * sizeof(int), cudaHostAllocMapped);
    mapped[3] = 0;
    cudaHostGetDevicePointer((void **)&device, mapped, 0);
    add<<<1, 4>>>(device, 10);
    cudaHostRegister(plain, 4 * sizeof(int), cudaHostRegisterMapped);
    cudaError_t again = cudaHostRegister(plain, 4, 0);
    add<<<1, 4>>>(plain, 20);
    cudaDeviceSynchronize();
    printf("mapped %d, registered %d\n", mapped[3], plain[0]);
    cudaMalloc(&d, 4);
    cudaMallocManaged(&m, 4);
    cudaPointerAttributes a[4];
    cudaPointerGetAttributes(&a[0], mapped);
    cudaPointerGetAttributes(&a[1], d);
    cudaPointerGetAttributes(&a[2], m);
    cudaHostUnregister(plain);
    cudaPointerGetAttributes(&a[3], plain);
    printf("types: host %d, device %d, managed %d, plain %d\n", a[0].type, a[1].type, a[2].type,
           a[3].type);
    printf("again: %s\n", cudaGetErrorString(again));
    printf("not registered: %s\n", cudaGetErrorString(cudaHostUnregister(plain)));
    cudaFreeHost(mapped);
    free(plain);
}
