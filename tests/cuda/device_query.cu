// What programs ask of the device.
/* expect:
1 device, named 1
warp 32, 1024 threads, block 1024 1024 64, shared 49152
processors 1, memory 1, attribute 1024
runtime 12000, free below total 1
occupancy 8, block 1024
kernel: 1024 threads, 512 bytes shared
*/
#include <cstdio>

__global__ void tile(float *x)
{
    __shared__ float s[128];
    s[threadIdx.x % 128] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[0];
}

int main()
{
    int n = 0, version, attribute, blocks, grid, block;
    cudaGetDeviceCount(&n);
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    printf("%d device, named %d\n", n, p.name[0] != 0);
    printf("warp %d, %d threads, block %d %d %d, shared %zu\n", p.warpSize, p.maxThreadsPerBlock,
           p.maxThreadsDim[0], p.maxThreadsDim[1], p.maxThreadsDim[2], p.sharedMemPerBlock);
    cudaDeviceGetAttribute(&attribute, cudaDevAttrMaxThreadsPerBlock, 0);
    printf("processors %d, memory %d, attribute %d\n", p.multiProcessorCount > 0,
           p.totalGlobalMem > 1 << 20, attribute);
    size_t available, total;
    cudaRuntimeGetVersion(&version);
    cudaMemGetInfo(&available, &total);
    printf("runtime %d, free below total %d\n", version, available <= total);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tile, 256, 0);
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, tile);
    printf("occupancy %d, block %d\n", blocks, block);
    cudaFuncAttributes a;
    cudaFuncGetAttributes(&a, tile);
    printf("kernel: %d threads, %zu bytes shared\n", a.maxThreadsPerBlock, a.sharedSizeBytes);
}
