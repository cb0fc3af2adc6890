// Streams run side by side: two kernels that wait for each other end only if both run at the same time. Events take
// the time of the device, and pinned memory is written by a kernel.
/* expect:
both: 1 1
event time is that of the kernel: 1
by the kernel: 42
query: device not ready
*/
#include <cstdio>

__device__ volatile int flags[2];

__global__ void wait_for(int mine, int *result)
{
    flags[mine] = 1;
    __threadfence();
    long long end = clock64() + 20000000000ll;
    while (!flags[1 - mine] && clock64() < end)
        ;
    *result = flags[1 - mine];
}

__global__ void spin(long long ns)
{
    long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < ns);
}

__global__ void write(int *x) { *x = 42; }

int main()
{
    cudaStream_t s[2];
    int *results, *pinned;
    cudaMallocManaged(&results, 2 * sizeof(int));
    for (int i = 0; i < 2; i++) {
        cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
        wait_for<<<1, 1, 0, s[i]>>>(i, results + i);
    }
    cudaDeviceSynchronize();
    printf("both: %d %d\n", results[0], results[1]);
    cudaEvent_t from, to;
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    cudaEventRecord(from, s[0]);
    spin<<<1, 1, 0, s[0]>>>(20000000);
    cudaEventRecord(to, s[0]);
    cudaEventSynchronize(to);
    float ms;
    cudaEventElapsedTime(&ms, from, to);
    printf("event time is that of the kernel: %d\n", ms > 19.9f && ms < 30);
    cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocMapped);
    write<<<1, 1>>>(pinned);
    cudaDeviceSynchronize();
    printf("by the kernel: %d\n", *pinned);
    spin<<<1, 1, 0, s[1]>>>(50000000);
    printf("query: %s\n", cudaGetErrorString(cudaStreamQuery(s[1])));
    cudaStreamSynchronize(s[1]);
}
