// Functions on the bytes of a word, saturating and rectified halves, complex numbers, a shared variable of the file, static
// variables, inline namespaces, a memory pool.
/* expect:
words 03008081 fffe7e7f 02ff7f80 01ff0180 01fe7e7f 508 00000000 00020000
      03007f81 02804041 00ffffff 00010001 03ff8081 80010102 ffff8000 7
halves 1 0.5625 1 0 0 1 0 ffff
complex -3 2 5 1
shared 31 0
static 5 7 20
names 6
pool 7 9
*/
#include <cstdio>
#include <cuComplex.h>
#include <cuda_fp16.h>

__global__ void words(unsigned *y)
{
    const unsigned a = 0x01ff7f80, b = 0x02010101;
    const unsigned all[] = {__vadd4(a, b), __vsub4(a, b), __vmaxu4(a, b), __vmins4(a, b), __vabsdiffu4(a, b), __vsadu4(a, b),
                            __vcmpeq4(a, b), __vadd2(0x0001ffff, 0x00010001), __vaddss4(a, b), __vavgu4(a, b), __vcmpgtu4(a, b),
                            __vmaxs2(0x80000001, 0x00010000), __vaddus4(a, b), __vabs4(0x80ff01fe), __vneg2(0x00018000),
                            (unsigned)__vimax3_s32(-5, 7, 2)};
    for (int i = 0; i < 16; i++)
        y[i] = all[i];
}

__global__ void halves(float *y)
{
    const __half a = __float2half(0.75f);
    const __half2 both = __half2half2(a);
    y[0] = __half2float(__hadd_sat(a, a));
    y[1] = __half2float(__hmul_sat(a, a));
    y[2] = __low2float(__hadd2_sat(both, both));
    y[3] = __half2float(__hsub_sat(a, __float2half(2.0f)));
    y[4] = __half2float(__hfma_relu(a, __float2half(-2.0f), a));
    y[5] = __hbeq2(both, both);
    y[6] = __hbne2(both, both);
    y[7] = __heq2_mask(both, __halves2half2(a, __float2half(1.0f)));
}

__global__ void complex(float *y, cuFloatComplex a)
{
    const cuFloatComplex b = cuCmulf(a, make_cuFloatComplex(0, 1));
    y[0] = cuCrealf(b);
    y[1] = cuCimagf(b);
    y[2] = cuCabsf(make_cuComplex(3, 4));
    y[3] = cuCdivf(a, a).x;
}

__shared__ int line[32];
__device__ int mirrored() { return line[31 - threadIdx.x]; }
__global__ void shared(int *y)
{
    line[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = mirrored();
}

__device__ int next()
{
    static int n = 5;
    return atomicAdd(&n, 1);
}
__device__ int table(int i)
{
    static const int t[3] = {1, 10, 100};
    return 2 * t[i];
}
__global__ void counts(int *y)
{
    y[0] = next();
    next();
    y[2] = table(1);
}

namespace outer
{
inline namespace v1
{
__device__ int three() { return 3; }
} // namespace v1
} // namespace outer
__global__ void names(int *y) { y[0] = outer::three() + outer::v1::three(); }

__global__ void mark(int *x) { x[0] = 7; }

int main()
{
    unsigned *y;
    cudaMallocManaged(&y, 64 * sizeof *y);
    float *f = (float *)y;
    int *n = (int *)y;
    words<<<1, 1>>>(y);
    cudaDeviceSynchronize();
    printf("words");
    for (int i = 0; i < 16; i++)
        printf(i == 5 || i == 15 ? " %u" : i == 8 ? "\n      %08x" : " %08x", y[i]);
    halves<<<1, 1>>>(f);
    cudaDeviceSynchronize();
    printf("\nhalves");
    for (int i = 0; i < 7; i++)
        printf(" %g", f[i]);
    printf(" %x", (unsigned)f[7]);
    complex<<<1, 1>>>(f, cuCaddf(make_cuFloatComplex(1, 1), make_cuFloatComplex(1, 2)));
    cudaDeviceSynchronize();
    printf("\ncomplex %g %g %g %g\n", f[0], f[1], f[2], f[3]);
    shared<<<1, 32>>>(n);
    cudaDeviceSynchronize();
    printf("shared %d %d\n", n[0], n[31]);
    counts<<<1, 1>>>(n);
    counts<<<1, 1>>>(n + 3);
    cudaDeviceSynchronize();
    printf("static %d %d %d\n", n[0], n[3], n[2]);
    names<<<1, 1>>>(n);
    cudaDeviceSynchronize();
    printf("names %d\n", n[0]);

    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    unsigned long long threshold = 9, kept = 0;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
    int *x, host = 0;
    cudaMallocFromPoolAsync(&x, 64, pool, 0);
    mark<<<1, 1>>>(x);
    cudaMemcpyAsync(&host, x, sizeof host, cudaMemcpyDeviceToHost, 0);
    cudaFreeAsync(x, 0);
    cudaDeviceSynchronize();
    printf("pool %d %llu\n", host, kept);
}
