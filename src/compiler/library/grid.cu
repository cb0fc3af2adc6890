/* The barrier of all blocks: one thread of each block counts it and waits for the next phase. */
__device__ unsigned ig_grid_count, ig_grid_phase;

__device__ void ig_grid_sync()
{
    __syncthreads();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        const unsigned ig_phase = *(volatile unsigned *)&ig_grid_phase;
        __threadfence();
        if (atomicAdd(&ig_grid_count, 1u) == gridDim.x * gridDim.y * gridDim.z - 1) {
            *(volatile unsigned *)&ig_grid_count = 0;
            __threadfence();
            atomicAdd(&ig_grid_phase, 1u);
        } else {
            while (*(volatile unsigned *)&ig_grid_phase == ig_phase)
                ;
        }
        __threadfence();
    }
    __syncthreads();
}
