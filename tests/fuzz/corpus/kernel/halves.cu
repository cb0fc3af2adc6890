#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void scalars(half *h, __half *g, float *f)
{
    h[0] = h[1] + g[0] * h[2];
    f[0] = __half2float(h[0]) + h[1];
    h[3] = __float2half(f[1]) - __hadd(h[1], h[2]);
    h[4] = hexp(h[5]) + __hfma(h[0], h[1], h[2]);
    h[5] = 1.1f; h[6] = __int2half_rn(3);
    if (h[0] > h[1] || __hlt(h[2], h[3]) || __hisnan(h[4])) h[7] = -h[6];
    h[8] += h[9];
    f[2] = __half2int_rd(h[0]) + __half_as_ushort(h[1]);
}
__global__ void pairs(half2 *h, float2 *f)
{
    h[0] = __hfma2(h[1], h[2], h[3]);
    h[4] = h[5] + h[6] * h[7];
    half2 a = __float2half2_rn(0.5f), b = __floats2half2_rn(1, 2);
    f[0] = __half22float2(a);
    h[8] = __halves2half2(__low2half(a), __high2half(b));
    a += b;
    h[9] = -a;
}
__global__ void brain(__nv_bfloat16 *b, float *f) { b[0] = __float2bfloat16(f[0]) * b[1]; f[1] = __bfloat162float(b[2]) + hsqrt(b[3]); }
