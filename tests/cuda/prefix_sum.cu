// A prefix sum over many blocks: Blelloch's scan with padded shared memory, the blocks' sums by recursion of the host.
/* expect:
n = 1: ok, total 0
n = 777: ok, total 2331
n = 4096: ok, total 12285
n = 300001: ok, total 899998
*/
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define LOG_NUM_BANKS 5
#define PAD(n) ((n) + ((n) >> LOG_NUM_BANKS))
#define THREADS 128
#define ELEMENTS (THREADS * 2)

__global__ void scan_block(const int *in, int *out, int *sums, int n)
{
    extern __shared__ int temp[];
    int tid = threadIdx.x, base = blockIdx.x * ELEMENTS;
    int ai = tid, bi = tid + THREADS, offset = 1;
    temp[PAD(ai)] = base + ai < n ? in[base + ai] : 0;
    temp[PAD(bi)] = base + bi < n ? in[base + bi] : 0;
    for (int d = ELEMENTS >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            int a = PAD(offset * (2 * tid + 1) - 1), b = PAD(offset * (2 * tid + 2) - 1);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    __syncthreads();
    if (tid == 0) {
        sums[blockIdx.x] = temp[PAD(ELEMENTS - 1)];
        temp[PAD(ELEMENTS - 1)] = 0;
    }
    for (int d = 1; d < ELEMENTS; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int a = PAD(offset * (2 * tid + 1) - 1), b = PAD(offset * (2 * tid + 2) - 1);
            int t = temp[a];
            temp[a] = temp[b];
            temp[b] += t;
        }
    }
    __syncthreads();
    if (base + ai < n)
        out[base + ai] = temp[PAD(ai)];
    if (base + bi < n)
        out[base + bi] = temp[PAD(bi)];
}

__global__ void add_sums(int *out, const int *sums, int n)
{
    for (int i = blockIdx.x * ELEMENTS + threadIdx.x; i < min((blockIdx.x + 1) * ELEMENTS, n); i += blockDim.x)
        out[i] += sums[blockIdx.x];
}

void scan(const int *in, int *out, int n)
{
    int blocks = (n + ELEMENTS - 1) / ELEMENTS, *sums, *scanned;
    cudaMalloc((void **)&sums, blocks * sizeof(int));
    cudaMalloc((void **)&scanned, blocks * sizeof(int));
    scan_block<<<blocks, THREADS, PAD(ELEMENTS) * sizeof(int)>>>(in, out, sums, n);
    if (blocks > 1) {
        scan(sums, scanned, blocks);
        add_sums<<<blocks, THREADS>>>(out, scanned, n);
    }
    cudaFree(sums);
    cudaFree(scanned);
}

int main()
{
    const int sizes[] = {1, 777, 4096, 300001};
    for (int size : sizes) {
        int *h = (int *)malloc(size * sizeof(int)), *o = (int *)malloc(size * sizeof(int)), *in, *out;
        for (int i = 0; i < size; i++)
            h[i] = i % 7;
        cudaMalloc(&in, size * sizeof(int));
        cudaMalloc(&out, size * sizeof(int));
        cudaMemcpy(in, h, size * sizeof(int), cudaMemcpyHostToDevice);
        scan(in, out, size);
        cudaError_t err = cudaMemcpy(o, out, size * sizeof(int), cudaMemcpyDeviceToHost);
        if (err != cudaSuccess)
            return fprintf(stderr, "%s\n", cudaGetErrorString(err)), 1;
        int sum = 0, wrong = 0;
        for (int i = 0; i < size; i++) {
            wrong += o[i] != sum;
            sum += h[i];
        }
        printf("n = %d: %s, total %d\n", size, wrong ? "WRONG" : "ok", sum);
        free(h), free(o), cudaFree(in), cudaFree(out);
    }
}
