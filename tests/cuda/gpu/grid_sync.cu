// A barrier of the whole grid, by a cooperative launch; the grid is as large as the GPU takes at once.
/* expect:
launch: no error
every block saw the sum of all: 1
too many blocks: too many blocks in cooperative launch
*/
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__device__ int arrived;

__global__ void meet(int *seen)
{
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0)
        atomicAdd(&arrived, 1);
    grid.sync();
    if (threadIdx.x == 0)
        seen[blockIdx.x] = arrived;
}

int main()
{
    int per_processor = 0, processors = 0, *seen, bad = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, meet, 128, 0);
    const int blocks = per_processor * processors;
    cudaMallocManaged(&seen, blocks * sizeof(int));
    void *args[] = {&seen};
    cudaError_t e = cudaLaunchCooperativeKernel((void *)meet, dim3(blocks), dim3(128), args);
    printf("launch: %s\n", cudaGetErrorString(e));
    cudaDeviceSynchronize();
    for (int i = 0; i < blocks; i++)
        bad += seen[i] != blocks;
    printf("every block saw the sum of all: %d\n", bad == 0);
    e = cudaLaunchCooperativeKernel((void *)meet, dim3(blocks + 1), dim3(128), args);
    printf("too many blocks: %s\n", cudaGetErrorString(e));
}
