// A counter with and a histogram by atomics; the launch is spelt apart.
/* expect:
count 100000
histogram 25000 25000 25000 25000
max 99999 cas 99999
*/
#include <cstdio>
#include <vector>

__global__ void count(int *n) { atomicAdd(n, 1); }

__global__ void histogram(const unsigned char *data, unsigned int *bins, int n)
{
    __shared__ unsigned int local[4];
    if (threadIdx.x < 4)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&local[data[i] % 4], 1u);
    __syncthreads();
    if (threadIdx.x < 4)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void largest(int *by_max, int *by_cas, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    atomicMax(by_max, i);
    int old = *by_cas, assumed;
    do {
        assumed = old;
        old = atomicCAS(by_cas, assumed, max(assumed, i));
    } while (old != assumed);
}

int main()
{
    const int n = 100000;
    int *counter, host;
    cudaMalloc(&counter, sizeof(int));
    cudaMemset(counter, 0, sizeof(int));
    count << <n / 100, 100>> >(counter);
    cudaMemcpy(&host, counter, sizeof host, cudaMemcpyDeviceToHost);
    printf("count %d\n", host);

    std::vector<unsigned char> data(n);
    for (int i = 0; i < n; i++)
        data[i] = i % 256;
    unsigned char *d_data;
    unsigned int *d_bins, bins[4];
    cudaMalloc(&d_data, n);
    cudaMalloc(&d_bins, sizeof bins);
    cudaMemset(d_bins, 0, sizeof bins);
    cudaMemcpy(d_data, data.data(), n, cudaMemcpyHostToDevice);
    histogram<<<8, 128>>>(d_data, d_bins, n);
    cudaMemcpy(bins, d_bins, sizeof bins, cudaMemcpyDeviceToHost);
    printf("histogram %u %u %u %u\n", bins[0], bins[1], bins[2], bins[3]);

    int *two, got[2];
    cudaMalloc(&two, 2 * sizeof(int));
    cudaMemset(two, 0, 2 * sizeof(int));
    largest<<<(n + 255) / 256, 256>>>(two, two + 1, n);
    cudaMemcpy(got, two, sizeof got, cudaMemcpyDeviceToHost);
    printf("max %d cas %d\n", got[0], got[1]);
    return 0;
}
