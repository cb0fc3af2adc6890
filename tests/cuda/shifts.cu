// Shifts by the width of the type or more, which leave the sign or 0 on NVIDIA's GPUs.
/* expect:
0: deadbeef deadbeef -77777 9abcdef 89abcdef deadbeef
1: bd5b7dde 6f56df77 -38889 13579bde c4d5e6f7 bd5b7dde
31: 80000000 1 -1 80000000 3 80000000
32: 0 0 -1 0 1 0
33: 0 0 -1 0 0 0
63: 0 0 -1 0 0 0
64: 0 0 -1 0 0 0
100: 0 0 -1 0 0 0
*/
#include <stdio.h>

struct result {
    unsigned left, right, low, high, own;
    int sign;
};

__global__ void shift(const unsigned *counts, result *out)
{
    const unsigned n = counts[threadIdx.x];
    unsigned own = 0xdeadbeefu;
    own <<= n;
    out[threadIdx.x] = {0xdeadbeefu << n, 0xdeadbeefu >> n, (unsigned)(0x9abcdefull << n), (unsigned)(0x189abcdefull >> n), own, -77777 >> n};
}

int main()
{
    const unsigned counts[8] = {0, 1, 31, 32, 33, 63, 64, 100};
    unsigned *n;
    result *out, r[8];
    cudaMalloc(&n, sizeof counts);
    cudaMalloc(&out, sizeof r);
    cudaMemcpy(n, counts, sizeof counts, cudaMemcpyHostToDevice);
    shift<<<1, 8>>>(n, out);
    cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 8; i++)
        printf("%u: %x %x %d %x %x %x\n", counts[i], r[i].left, r[i].right, r[i].sign, r[i].low, r[i].high, r[i].own);
    cudaFree(n);
    cudaFree(out);
    return 0;
}
