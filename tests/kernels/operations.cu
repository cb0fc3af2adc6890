// Operations that CUDA has by name. Written for tests/test_translate.py.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void floats(const float *x, float *y, int n)
{
    int i = threadIdx.x, e;
    float a = x[i], b = x[i + 1], s, c, whole;
    sincosf(a, &s, &c);
    y[0] = sqrtf(a) + rsqrtf(b) + expf(a) + exp2f(b) + exp10f(a) + logf(b) + log2f(a) + log10f(b);
    y[1] = sinf(a) + cosf(b) + tanf(a) + asinf(b) + acosf(a) + atanf(b) + atan2f(a, b) + sinhf(a);
    y[2] = coshf(a) + tanhf(b) + asinhf(a) + acoshf(b) + atanhf(a) + sinpif(b) + cospif(a);
    y[3] = fabsf(a) + floorf(b) + ceilf(a) + truncf(b) + rintf(a) + roundf(b) + fmodf(a, b) + powf(a, b);
    y[4] = fmaf(a, b, 1.0f) + fminf(a, b) + fmaxf(a, b) + fdimf(a, b) + copysignf(a, b) + ldexpf(a, n);
    y[5] = erff(a) + erfcf(b) + cbrtf(a) + log1pf(b) + expm1f(a) + hypotf(a, b) + rcbrtf(a) + norm3df(a, b, 1.0f);
    y[6] = frexpf(a, &e) + modff(b, &whole) + normcdff(a) + __saturatef(b) + s * c + e + whole;
    y[7] = __expf(a) + __logf(b) + __sinf(a) + __cosf(b) + __powf(a, b) + __fdividef(a, b) + __frcp_rn(a);
    y[8] = isnan(a) || isinf(b) ? INFINITY : -NAN;
    y[9] = (isfinite(a) ? 1 : 2) + signbit(b) + ilogbf(a) + a / b - -a;
    y[10] = 0.1 * a + 3;
}

__global__ void integers(unsigned *u, int *s, long long *l, float x)
{
    unsigned a = u[0], b = u[1];
    int p = s[0];
    u[2] = __popc(a) + __clz(p) + __ffs(p) + __brev(a) + __byte_perm(a, b, 0x3210) + __umulhi(a, b);
    u[3] = __funnelshift_l(a, b, 5) ^ __funnelshift_r(a, b, p & 31) | __umul24(a, b) & __sad(p, 3, b);
    s[1] = min(p, 3) + max(p, -3) + abs(p) + __mulhi(p, p) + __dp4a(p, p, 1) + (p << 3 >> 2) % 7 - -p;
    s[2] = __float2int_rn(x) + __float2int_rz(x) + __float2int_ru(x) + __float2uint_rd(x) + __float_as_int(x);
    l[0] = (long long)p * p + __float2ll_rz(x) + (l[1] > 0 ? l[2] : -9223372036854775807LL - 1);
    u[4] += s[1] > 2 && !(p & 1);
    u[5] <<= p;
    s[3] = (unsigned char)p + (short)a + (int)-2147483648;
}

__global__ void atomics(int *a, unsigned *u, float *f)
{
    __shared__ unsigned mine[2];
    __shared__ float sum;
    mine[threadIdx.x & 1] = atomicInc(u, 7u) + atomicDec(u + 1, 9u);
    sum = 0.0f;
    __syncthreads();
    atomicAdd(&sum, 1.5f);
    atomicMax(&mine[0], 3u);
    atomicSub(a, 1);
    a[1] = atomicCAS(a, 1, 2) + atomicExch(a + 2, 5) + atomicMin(a + 3, -1) + atomicAnd(a, 7) + atomicOr(a, 8);
    atomicXor(&mine[1], 1u);
    f[0] = atomicAdd(f + 1, 2.0f) + atomicExch(f + 2, sum) + (float)atomicCAS(u + 2, mine[0], mine[1]);
}

__global__ void halves(const __half *x, __half *y, __half2 *z, __nv_bfloat16 *b, float k)
{
    int i = threadIdx.x;
    __half h = x[i] * x[i + 1] + __float2half(k), table[2] = {h, x[0]};
    h += table[i & 1];
    y[i] = __hfma(h, h, x[0]) / hsqrt(h);
    z[i] = __hmul2(z[i], __floats2half2_rn(k, 1.0f));
    b[i] = b[i] * b[i + 64] - __float2bfloat16(k);
    y[0] = h > x[0] ? __hneg(h) : __int2half_rn(i);
    y[1] = __ushort_as_half(__half_as_ushort(h) ^ 0x8000);
}
