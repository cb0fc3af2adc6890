/* Which elements of x are among n sorted ones. Defined before it: ELEMENT, an integer. The CPU has the same in
 * src/engine/numeric/contained.c. */
#ifndef ELEMENT
#define ELEMENT int
#endif

/* Row by row: x[rows][size], sorted[rows][n]. */
extern "C" __global__ void contained(const ELEMENT *x, const ELEMENT *sorted, unsigned char *y, long long rows, long long size,
                                     long long n)
{
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < rows * size;
         i += (long long)gridDim.x * blockDim.x) {
        const ELEMENT v = x[i];
        const ELEMENT *low = sorted + i / size * n;
        for (long long length = n; length > 1; length -= length / 2)
            low += low[length / 2] <= v ? length / 2 : 0;
        y[i] = *low == v ? 1 : 0;
    }
}
