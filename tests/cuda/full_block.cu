// A kernel with many live values in blocks of 1024 threads, and of 96: its compiler must know how many there are.
/* expect:
1024 threads: 100227168, all blocks equal
96 threads: 77030524, all blocks equal
*/
#include <stdio.h>

enum { LIVE = 64, BLOCKS = 4 };

__global__ void mix(const unsigned *x, unsigned *out)
{
    __shared__ unsigned part[1024];
    unsigned v[LIVE], sum = 0, t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < LIVE; i++)
        v[i] = x[(t + i) % 64] + i;
#pragma unroll
    for (int i = 0; i < LIVE; i++)
        v[i] += v[LIVE - 1 - i] * v[(7 * i + 1) % LIVE];
#pragma unroll
    for (int i = 0; i < LIVE; i++)
        sum += v[i] % 521;
    part[t] = sum;
    __syncthreads();
    if (t == 0) {
        unsigned all = 0;
        for (unsigned i = 0; i < blockDim.x; i++)
            all += part[i] * (i + 1);
        out[blockIdx.x] = all;
    }
}

static void run(int threads, const unsigned *x, unsigned *out)
{
    unsigned sum[BLOCKS], equal = 1;
    mix<<<BLOCKS, threads>>>(x, out);
    cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess) {
        printf("%d threads: %s\n", threads, cudaGetErrorString(status));
        return;
    }
    cudaMemcpy(sum, out, sizeof sum, cudaMemcpyDeviceToHost);
    for (int i = 1; i < BLOCKS; i++)
        equal &= sum[i] == sum[0];
    printf("%d threads: %u, all blocks %s\n", threads, sum[0], equal ? "equal" : "DIFFER");
}

int main(void)
{
    unsigned x[64], *dx, *out;
    for (int i = 0; i < 64; i++)
        x[i] = i * i;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&out, BLOCKS * sizeof *out);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    run(1024, dx, out);
    run(96, dx, out);
    return 0;
}
