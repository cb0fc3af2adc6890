// Kernels of two streams that nothing orders, next to ones that streams, events, the default stream or the host order.
/* finds: race between streams: kernel 'sum' reads byte 0 of an allocation of 4000 bytes, which kernel 'put' writes, launched into another stream at tests/cuda/planted/streams.cu:26; order them by an event
*/

__global__ void put(int *x, int n, int value)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = value;
}

__global__ void sum(const int *x, int n, int *to)
{
    *to = 0;
    for (int i = 0; i < n; i++)
        *to += x[i];
}

static void run(int *x, int *y, bool is_ordered)
{
    cudaStream_t a, b;
    cudaEvent_t e;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaEventCreate(&e);
    put<<<2, 256, 0, a>>>(x, 500, 1);
    put<<<2, 256, 0, b>>>(x + 500, 500, 2);
    cudaEventRecord(e, a);
    if (is_ordered)
        cudaStreamWaitEvent(b, e, 0);
    sum<<<1, 1, 0, b>>>(x, 1000, y);
    cudaDeviceSynchronize();
    put<<<4, 256, 0, a>>>(x, 1000, 1);
    put<<<4, 256>>>(x, 1000, 2);
    sum<<<1, 1, 0, b>>>(x, 1000, y);
    cudaStreamSynchronize(b);
    put<<<4, 256, 0, a>>>(x, 1000, 1);
    cudaDeviceSynchronize();
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    cudaEventDestroy(e);
}

int main()
{
    int *x, *y;
    cudaMalloc(&x, 4000);
    cudaMalloc(&y, sizeof *y);
    run(x, y, true);
    run(x, y, false);
    cudaFree(x);
    cudaFree(y);
}
