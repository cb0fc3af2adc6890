// Streams, pinned memory, events, callbacks.
/* expect:
sum 499500 499500 499500 499500
time is real: 1
query no error, callback 4
no time yet: invalid resource handle
attributes: 0 0 1, no second device: 101
*/
#include <stdio.h>

__global__ void fill(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = i;
}

static void CUDART_CB done(cudaStream_t, cudaError_t status, void *count)
{
    if (status == cudaSuccess)
        ++*(int *)count;
}

int main()
{
    const int n = 1000, streams = 4;
    cudaStream_t stream[streams];
    cudaEvent_t start, stop, never;
    int *pinned, *d, called = 0;
    cudaMallocHost((void **)&pinned, streams * n * sizeof(int));
    cudaMalloc((void **)&d, streams * n * sizeof(int));
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventCreateWithFlags(&never, cudaEventDefault);
    cudaEventRecord(start, 0);
    for (int s = 0; s < streams; s++) {
        if (s % 2)
            cudaStreamCreate(&stream[s]);
        else
            cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking);
        fill<<<(n + 127) / 128, 128, 0, stream[s]>>>(d + s * n, n);
        cudaMemcpyAsync(pinned + s * n, d + s * n, n * sizeof(int), cudaMemcpyDeviceToHost, stream[s]);
        cudaStreamAddCallback(stream[s], done, &called, 0);
    }
    cudaEventRecord(stop, 0);
    cudaEventSynchronize(stop);
    printf("sum");
    for (int s = 0; s < streams; s++) {
        cudaStreamSynchronize(stream[s]);
        int sum = 0;
        for (int i = 0; i < n; i++)
            sum += pinned[s * n + i];
        printf(" %d", sum);
    }
    float ms = -1;
    cudaEventElapsedTime(&ms, start, stop);
    printf("\ntime is real: %d\n", ms > 0 && ms < 60000);
    cudaStreamWaitEvent(stream[0], stop, 0);
    printf("query %s, callback %d\n", cudaGetErrorString(cudaStreamQuery(stream[0])), called);
    printf("no time yet: %s\n", cudaGetErrorString(cudaEventElapsedTime(&ms, start, never)));
    cudaStreamAttrValue value = {};
    value.syncPolicy = cudaSyncPolicySpin;
    const int set = cudaStreamSetAttribute(stream[0], cudaStreamAttributeSynchronizationPolicy, &value);
    const int got = cudaStreamGetAttribute(stream[1], cudaStreamAttributeSynchronizationPolicy, &value);
    int can = 0;
    printf("attributes: %d %d %d, no second device: %d\n", set, got, value.syncPolicy, cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 99));
    for (int s = 0; s < streams; s++)
        cudaStreamDestroy(stream[s]);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaFreeHost(pinned);
    cudaFree(d);
    return 0;
}
