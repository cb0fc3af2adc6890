// A barrier that half of the block does not come to.
/* finds: divergent barrier: thread (32, 0, 0) of block (0, 0, 0) of launch 1 does not come to this barrier
*/
__global__ void some(int *y)
{
    if (threadIdx.x < 32)
        __syncthreads();
    y[threadIdx.x] = 1;
}

int main()
{
    int *y;
    cudaMalloc(&y, 64 * sizeof *y);
    some<<<1, 64>>>(y);
    cudaFree(y);
}
