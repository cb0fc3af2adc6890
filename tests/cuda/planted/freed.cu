// Memory that was freed: by a kernel, behind a pointer in memory, and by a copy.
/* finds: freed memory: thread (0, 0, 0) of block (0, 0, 0) of launch 1 writes element 0 of 'x', whose memory was freed
   finds: freed memory: thread (0, 0, 0) of block (0, 0, 0) of launch 2 writes 4 bytes of memory that was freed
   finds: tests/cuda/planted/freed.cu:24: error: freed memory: the copy reads memory that was freed: 4 bytes of cudaMalloc (tests/cuda/planted/freed.cu:17)
*/
struct list {
    int *first;
};
__global__ void set(int *x) { *x = 1; }
__global__ void set_first(list l) { *l.first = 1; }

int main()
{
    int *x, *y, h;
    cudaMalloc(&y, sizeof *y);
    cudaFree(y);
    cudaMalloc(&x, sizeof *x);
    cudaFree(x);
    list l = {x};
    set<<<1, 1>>>(y);
    set_first<<<1, 1>>>(l);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 2;
    cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost);
}
