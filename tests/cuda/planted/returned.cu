// A shuffle that reads lanes which have returned. The mask may name them if none is read.
/* finds: returned lane: thread (4, 0, 0) of block (0, 0, 0) of launch 1 shuffles from lane 20, which the mask names and which has returned: the value is undefined
*/
__global__ void sum(int *y, int n)
{
    const int i = threadIdx.x;
    if (i >= n)
        return;
    int v = i;
    for (int by = 16; by; by /= 2)
        v += __shfl_down_sync(0xffffffff, v, by);
    if (i == 0)
        y[0] = v;
}

__global__ void first(int *y, int n)
{
    if (threadIdx.x >= n)
        return;
    y[threadIdx.x] = __shfl_sync(0xffffffff, n, 0);
}

int main()
{
    int *y;
    cudaMalloc(&y, 32 * sizeof *y);
    sum<<<1, 32>>>(y, 20);
    first<<<1, 32>>>(y, 20);
    cudaFree(y);
}
