// Shared memory that only half of the threads write.
/* finds: uninitialised: thread (16, 0, 0) of block (0, 0, 0) of launch 1 reads element 16 of shared 's'
*/
__global__ void half_of(int *y)
{
    __shared__ int s[32];
    if (threadIdx.x < 16)
        s[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}

int main()
{
    int *y;
    cudaMalloc(&y, 32 * sizeof *y);
    half_of<<<1, 32>>>(y);
    cudaFree(y);
}
