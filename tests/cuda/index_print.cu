// Indices in three dimensions, printed by each thread.
/* sorted
   expect:
block 0 1 0 thread 0 0 0 of 4 2 1
block 0 1 0 thread 1 0 0 of 4 2 1
block 1 1 0 thread 0 0 0 of 4 2 1
block 1 1 0 thread 1 0 0 of 4 2 1
host 12
*/
#include <cstdio>

__global__ void who()
{
    if (blockIdx.y == 1)
        printf("block %d %d %d thread %d %d %d of %d %d %d\n", blockIdx.x, blockIdx.y, blockIdx.z,
               threadIdx.x, threadIdx.y, threadIdx.z, blockDim.x * gridDim.x, gridDim.y, gridDim.z);
}

int main()
{
    dim3 grid(2, 2), block(2);
    who<<<grid, block>>>();
    cudaDeviceSynchronize();
    printf("host %u\n", grid.x * grid.y * block.x + grid.z * 4);
}
