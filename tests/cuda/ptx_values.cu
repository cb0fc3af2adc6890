// Inline PTX that computes values: compared with CUDA C in the kernel.
/* expect:
integers ok
carries ok
floats ok
conversions ok
*/
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static unsigned seed = 12345;
__host__ static unsigned next() { return seed = seed * 1664525u + 1013904223u; }

__device__ int wrong[16];
#define CHECK(group, a, b) \
    do { \
        if (!((a) == (b))) \
            atomicAdd(&wrong[group], 1); \
    } while (0)

__global__ void integers(const unsigned *x, int n)
{
    const int i = threadIdx.x;
    if (i >= n)
        return;
    const unsigned a = x[i], b = x[i + n], c = x[i + 2 * n] & 31;
    unsigned r;
    asm("bfe.u32 %0, %1, %2, 7;" : "=r"(r) : "r"(a), "r"(c));
    CHECK(0, r, (a >> c) & 127u);
    asm("bfe.s32 %0, %1, %2, 8;" : "=r"(r) : "r"(a), "r"(c & 15));
    CHECK(0, (int)r, (int)(signed char)(a >> (c & 15)));
    asm("bfi.b32 %0, %1, %2, %3, 5;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    CHECK(0, r, (b & ~(31u << c)) | ((a & 31u) << c));
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0x7531u));
    CHECK(0, r, __byte_perm(a, b, 0x7531));
    asm("prmt.b32 %0, %1, 0, 0xBA98;" : "=r"(r) : "r"(a));
    CHECK(0, r, __vcmpgts4(0, a));
    asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(r) : "r"(a), "r"(b), "r"(0x0f0f3355u));
    CHECK(0, r, (a & b) | (a & 0x0f0f3355u) | (b & 0x0f0f3355u));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    CHECK(0, r, a ^ b ^ c);
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    CHECK(0, r, c ? b << c | a >> (32 - c) : b);
    int d;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(-5));
    CHECK(0, d, __dp4a((int)a, (int)b, -5));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(1000));
    CHECK(0, d, (int)(__vsadu4(a, b) + 1000));
    asm("vabsdiff2.s32.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(0));
    CHECK(0, d, (int)__vabsdiffs2(a, b));
    asm("vadd4.u32.u32.u32.sat %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(0));
    CHECK(0, d, (int)__vaddus4(a, b));
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(0));
    int sum = 0;
    for (int k = 0; k < 4; k++)
        sum += (int)(unsigned char)(a >> 8 * k) * (int)(signed char)(b >> 8 * k);
    CHECK(0, d, sum);
    uint64_t w;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(w) : "r"(a), "r"(b));
    CHECK(0, w, (uint64_t)a * b);
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(w) : "r"(a), "r"(b), "l"(7ll));
    CHECK(0, (int64_t)w, (int64_t)(int)a * (int)b + 7);
    asm("mul.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    CHECK(0, (int)r, __mulhi((int)a, (int)b));
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    CHECK(0, r, a * b + c);
    asm("{\n\t.reg .pred p, q;\n\tsetp.gt.s32 q, %1, 0;\n\tsetp.gt.and.s32 p|q, %1, %2, "
        "q;\n\tselp.u32 %0, 1, 2, q;\n\t}"
        : "=r"(r)
        : "r"(a), "r"(b));
    CHECK(0, r, (int)a > 0 && !((int)a > (int)b) ? 1u : 2u);
    asm("{ .reg .pred p;\n setp.lt.s32 p, %1, %2;\n selp.b32 %0, %1, %2, p; }"
        : "=r"(r)
        : "r"(a), "r"(b));
    CHECK(0, (int)r, min((int)a, (int)b));
    asm("{ .reg .pred p; setp.ne.b32 p, %1, 0; @p mov.u32 %0, 3; @!p mov.u32 %0, 4; }"
        : "=r"(r)
        : "r"(a & 1));
    CHECK(0, r, a & 1 ? 3u : 4u);
    asm("popc.b32 %0, %1;" : "=r"(r) : "r"(a));
    CHECK(0, (int)r, __popc(a));
    asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a >> c));
    CHECK(0, (int)r, 31 - __clz(a >> c));
    asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(c + 8));
    CHECK(0, r, c + 8 < 32 ? a << (c + 8) : 0u);
    asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    const long long exact = (long long)(int)a + (int)b;
    CHECK(0, (int)r,
          exact > 2147483647      ? 2147483647
          : exact < -2147483648ll ? (int)0x80000000
                                  : (int)exact);
    asm("mov.b64 %0, {%1, %2};" : "=l"(w) : "r"(a), "r"(b));
    CHECK(0, w, (uint64_t)b << 32 | a);
    unsigned lo, hi;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(w));
    CHECK(0, lo, a);
    CHECK(0, hi, b);

    // 96-bit sums and a product of 64 bits in words
    unsigned s0, s1, s2;
    asm("add.cc.u32 %0, %3, %4;\n\taddc.cc.u32 %1, %4, %5;\n\taddc.u32 %2, %3, 0;"
        : "=r"(s0), "=r"(s1), "=r"(s2)
        : "r"(a), "r"(b), "r"(~a));
    const uint64_t low = (uint64_t)a + b, middle = (uint64_t)b + (unsigned)~a + (low >> 32);
    CHECK(1, s0, (unsigned)low);
    CHECK(1, s1, (unsigned)middle);
    CHECK(1, s2, a + (unsigned)(middle >> 32));
    asm("sub.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, %3, %2;" : "=r"(s0), "=r"(s1) : "r"(a), "r"(b));
    CHECK(1, s0, a - b);
    CHECK(1, s1, b - a - (a < b));
    asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, %5;"
        : "=r"(s0), "=r"(s1)
        : "r"(a), "r"(b), "r"(c), "r"(9));
    const uint64_t product = (uint64_t)a * b + (((uint64_t)9 << 32) | c);
    CHECK(1, s0, (unsigned)product);
    CHECK(1, s1, (unsigned)(product >> 32));
    uint64_t u0, u1;
    asm("add.cc.u64 %0, %2, %2;\n\taddc.u64 %1, %2, 0;" : "=l"(u0), "=l"(u1) : "l"(w));
    CHECK(1, u0, w + w);
    CHECK(1, u1, w + (w >> 63));
}

__global__ void floats(const float *x, int n)
{
    const int i = threadIdx.x;
    const float a = x[i], b = x[i + 1];
    float r;
    asm("fma.rn.f32 %0, %1, %2, 0f3F800000;" : "=f"(r) : "f"(a), "f"(b));
    CHECK(2, r, fmaf(a, b, 1.0f));
    asm("max.f32 %0, %1, %2;\n\tmin.f32 %0, %0, 2.5;" : "=f"(r) : "f"(a), "f"(b));
    CHECK(2, r, fminf(fmaxf(a, b), 2.5f));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(3.0f));
    CHECK(2, r, 8.0f);
    unsigned h;
    const __half2 p = __floats2half2_rn(a, b);
    unsigned bits;
    memcpy(&bits, &p, 4);
    asm("fma.rn.f16x2 %0, %1, %1, %1;" : "=r"(h) : "r"(bits));
    const __half2 q = __hfma2(p, p, p);
    unsigned other;
    memcpy(&other, &q, 4);
    CHECK(2, h, other);
    unsigned short one;
    asm("{ .reg .b16 t; cvt.rn.f16.f32 t, %1; mul.f16 %0, t, t; }" : "=h"(one) : "f"(a));
    CHECK(2, one, __half_as_ushort(__hmul(__float2half(a), __float2half(a))));
    unsigned is;
    asm("{ .reg .pred p; setp.geu.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(is)
        : "f"(a), "f"(b));
    CHECK(2, is, !(a < b));

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(b), "f"(a));
    CHECK(3, h, bits);
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(b), "f"(a));
    CHECK(3, h,
          (unsigned)__bfloat16_as_ushort(__float2bfloat16(b)) << 16 |
              __bfloat16_as_ushort(__float2bfloat16(a)));
    int k;
    asm("cvt.rni.s32.f32 %0, %1;" : "=r"(k) : "f"(a));
    CHECK(3, k, __float2int_rn(a));
    asm("cvt.rzi.u8.f32 %0, %1;" : "=r"(k) : "f"(a * 100));
    CHECK(3, k, max(min((int)(a * 100), 255), 0));
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(k) : "r"((int)(a * 1000)));
    CHECK(3, (int)(signed char)k, max(min((int)(a * 1000), 127), -128));
    asm("cvt.rn.f32.s32 %0, %1;" : "=f"(r) : "r"(123456789));
    CHECK(3, r, 123456789.0f);
    asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(r) : "f"(a));
    CHECK(3, r, floorf(a));
    unsigned t;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(t) : "f"(a));
    CHECK(3, t, (__float_as_uint(a) + 0x1000u) & 0xffffe000u);
}

static void report(int group, const char *name)
{
    int all[16];
    cudaError_t e = cudaDeviceSynchronize();
    cudaMemcpyFromSymbol(all, wrong, sizeof all);
    if (e || all[group])
        printf("%s %d wrong, %s\n", name, all[group], cudaGetErrorString(e));
    else
        printf("%s ok\n", name);
}

int main()
{
    unsigned *x;
    float *f;
    cudaMallocManaged(&x, 4096);
    cudaMallocManaged(&f, 4096);
    for (int i = 0; i < 1024; i++)
        x[i] = i < 8 ? 0xffffffffu * (i & 1) : next();
    integers<<<1, 96>>>(x, 96);
    report(0, "integers");
    report(1, "carries");
    for (int i = 0; i < 1024; i++)
        f[i] = (int)(next() >> 8) / 4194304.0f - 2.0f;
    floats<<<1, 64>>>(f, 64);
    report(2, "floats");
    report(3, "conversions");
    cudaFree(x);
    cudaFree(f);
}
