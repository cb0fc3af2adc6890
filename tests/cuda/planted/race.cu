// Neighbours of shared memory without a barrier.
/* finds: race: thread (32, 0, 0) of block (0, 0, 0) of launch 1 reads element 31 of shared 's'
   notes: which another lane of the warp wrote, with no __syncwarp() between
*/
__global__ void left(int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = threadIdx.x ? s[threadIdx.x - 1] : 0;
}

int main()
{
    int *y;
    cudaMalloc(&y, 64 * sizeof *y);
    left<<<1, 64>>>(y);
    cudaFree(y);
}
