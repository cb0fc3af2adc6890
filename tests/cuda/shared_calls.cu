// A function is given the same array of shared memory by all calls. Blocks that run at the same time must not share it.
/*
expect:
wrong 0
*/
#include <cstdio>

__device__ int sums(int x, int *s)
{
    const int t = threadIdx.x;
    s[t] = x;
    __syncthreads();
    if (t < 8) {
        int run = 0;
        for (int k = t * 8; k < t * 8 + 8; k++) {
            run += s[k];
            s[k] = run;
        }
        s[64 + t] = run;
    }
    __syncthreads();
    int y = s[t];
    for (int k = 0; k < t / 8; k++)
        y += s[64 + k];
    __syncthreads();
    if (t < 8)
        s[64 + t] = y * y % 7;
    __syncthreads();
    for (int k = 0; k < 8; k++)
        y += s[64 + k] > 9;
    __syncthreads();
    return y;
}

__global__ void k(int *out)
{
    __shared__ int s[72];
    const int t = threadIdx.x;
    const int a = sums(blockIdx.x, s), b = sums(t, s);
    int c = sums(t + 1, s);
    for (int r = 0; r < 20; r++)
        c += sums(2, s) - sums(1, s);
    out[blockIdx.x * 64 + t] = a + b + c;
}

int main()
{
    const int blocks = 1000;
    int *out, wrong = 0;
    cudaMallocManaged(&out, blocks * 64 * sizeof(int));
    for (int again = 0; again < 4; again++) {
        k<<<blocks, 64>>>(out);
        cudaDeviceSynchronize();
        for (int i = 0; i < blocks * 64; i++) {
            const int t = i % 64;
            wrong += out[i] != (t + 1) * (i / 64) + t * (t + 1) / 2 + (t + 1) * (t + 2) / 2 + 20 * (t + 1);
        }
    }
    printf("wrong %d\n", wrong);
    cudaFree(out);
}
