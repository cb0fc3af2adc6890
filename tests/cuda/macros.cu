// Launches and kernels in macros, qualifiers behind macros, both sides of #if.
/* expect:
1 4 9 16
-2
2 bytes
plain 6
named 9 -1
*/
#include <stdio.h>

#ifdef __CUDACC__
#define HD __host__ __device__
#define KERNEL __global__ void
#define DEVICE static __device__ __forceinline__
#else
#define HD
#endif

HD inline int square(int x) { return x * x; }
DEVICE int negative(int x)
{
    return -x;
}

#define LAUNCH(kernel, grid, block, ...)    \
    do {                                    \
        kernel<<<(grid), (block)>>>(__VA_ARGS__); \
        cudaDeviceSynchronize();            \
    } while (0)

#define MAKE_FILL(type)                      \
    __global__ void fill_##type(type *x, int v) \
    {                                        \
        x[threadIdx.x] = (type)v;            \
    }
/* Parameters of all names, as in any program: what the rewriter puts in has others. */
#define MAKE_BINARY(name, op, unit, text)                    \
    __global__ void name(int *value, int type)               \
    {                                                        \
        value[threadIdx.x] = (value[threadIdx.x] op type) * unit; \
    }
MAKE_BINARY(plus, +, 1, )
MAKE_BINARY(less, -, 1, )
#define RUN(push, launch) LAUNCH(push, 1, 1, launch, 5)

MAKE_FILL(short)
MAKE_FILL(int)

KERNEL squares(int *x) { x[threadIdx.x] = square(threadIdx.x + 1); }
KERNEL minus(int *x)
{
    if (threadIdx.x == 0) {
        x[0] = negative(2);
    }
}

#if 1
__global__ void plain(int *x)
{
    if (threadIdx.x == 0) {
        x[0] += 6;
    }
}
#else
__global__ void plain(float *x) { x[0] += 7; }
#endif

int main()
{
    int *d, h[4];
    short *s, hs;
    cudaMalloc(&d, sizeof h);
    cudaMalloc(&s, sizeof hs);
    LAUNCH(squares, 1, 4, d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d %d %d %d\n", h[0], h[1], h[2], square(4));
    LAUNCH(minus, 1, 32, d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d\n", h[0]);
    LAUNCH(fill_short, 1, 1, s, 2);
    cudaMemcpy(&hs, s, sizeof hs, cudaMemcpyDeviceToHost);
    printf("%d bytes\n", hs);
    LAUNCH(fill_int, 1, 4, d, 0);
    LAUNCH(plain, 1, 1, d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("plain %d\n", h[0]);
    LAUNCH(fill_int, 1, 2, d, 4);
    RUN(plus, d);
    RUN(less, d + 1);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("named %d %d\n", h[0], h[1]);
}
