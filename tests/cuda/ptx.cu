// Inline PTX: memory, warps and matrices, compared with plain C on the host, or with CUDA C in the kernel.
/* opencl: IG-SHADDR
expect:
memory ok
warps ok
registers and roundings ok
matrices ok: f16 f32sum bf16 tf32 s8 u8 f64
ldmatrix ok
cp.async ok
templates 36 100
*/
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static unsigned seed = 12345;
__host__ static unsigned next() { return seed = seed * 1664525u + 1013904223u; }

__device__ int wrong[16];
#define CHECK(group, a, b) do { if (!((a) == (b))) atomicAdd(&wrong[group], 1); } while (0)

__global__ void memory(float4 *y, unsigned *counts, const unsigned char *bytes)
{
    __shared__ alignas(16) float s[128];
    __shared__ unsigned total;
    const int i = threadIdx.x;
    unsigned at;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(at) : "l"(s));
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at + i * 16), "f"(i + 0.25f), "f"(i + 0.5f), "f"(i + 0.75f), "f"(i + 1.0f) : "memory");
    total = 0;
    asm volatile("bar.sync 0;" ::: "memory");
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(at + (31 - i) * 16));
    CHECK(4, v.x, 31 - i + 0.25f);
    CHECK(4, v.w, 31 - i + 1.0f);
    CHECK(4, v.y, s[(31 - i) * 4 + 1]);
    asm volatile("st.global.wt.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(y + i), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
    float2 w;
    asm volatile("ld.global.L1::no_allocate.v2.f32 {%0, %1}, [%2+8];" : "=f"(w.x), "=f"(w.y) : "l"(y + i));
    CHECK(4, w.y, v.w);
    unsigned b;
    asm("ld.global.nc.u8 %0, [%1];" : "=r"(b) : "l"(bytes + i));
    CHECK(4, b, bytes[i]);
    asm("ld.global.ca.s8 %0, [%1];" : "=r"(b) : "l"(bytes + i));
    CHECK(4, (int)b, (int)(signed char)bytes[i]);
    unsigned old;
    asm volatile("atom.shared.add.u32 %0, [%1], 2;" : "=r"(old) : "r"((unsigned)__cvta_generic_to_shared(&total)) : "memory");
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(counts), "r"(3u) : "memory");
    asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], 0, 5;" : "=r"(old) : "l"(counts + 1) : "memory");
    CHECK(4, old == 0 || old == 5, true);
    asm volatile("membar.gl;\n\tfence.acq_rel.gpu;" ::: "memory");
    __syncthreads();
    CHECK(4, total, 64u);
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(old) : "l"(counts));
    CHECK(4, old, 96u);
}

__global__ void warps()
{
    const unsigned lane = threadIdx.x;
    unsigned r, p;
    asm volatile("{ .reg .pred q; shfl.sync.down.b32 %0|q, %2, 4, 0x1f, 0xffffffff; selp.u32 %1, 1, 0, q; }" : "=r"(r), "=r"(p) : "r"(lane * 3));
    CHECK(5, r, lane < 28 ? (lane + 4) * 3 : lane * 3);
    CHECK(5, p, (unsigned)(lane < 28));
    asm volatile("{ .reg .pred q; shfl.sync.up.b32 %0|q, %2, 1, 0x1800, -1; selp.u32 %1, 1, 0, q; }" : "=r"(r), "=r"(p) : "r"(lane));
    CHECK(5, r, lane % 8 ? lane - 1 : lane);
    CHECK(5, p, (unsigned)(lane % 8 != 0));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 31, 0xffffffff;" : "=r"(r) : "r"(lane));
    CHECK(5, r, lane ^ 16);
    asm volatile("shfl.sync.idx.b32 %0, %1, 5, 0x181f, 0xffffffff;" : "=r"(r) : "r"(lane));
    CHECK(5, r, (lane & 24) + 5);
    asm volatile("{ .reg .pred q; setp.lt.u32 q, %1, 10; vote.sync.ballot.b32 %0, q, 0xffffffff; }" : "=r"(r) : "r"(lane));
    CHECK(5, r, 1023u);
    asm volatile("{ .reg .pred q, t; setp.lt.u32 q, %1, 32; vote.sync.all.pred t, q, -1; selp.u32 %0, 1, 0, t; }" : "=r"(r) : "r"(lane));
    CHECK(5, r, 1u);
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(lane / 16));
    CHECK(5, r, lane < 16 ? 0xffffu : 0xffff0000u);
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(lane));
    CHECK(5, r, 496u);
    asm volatile("activemask.b32 %0;" : "=r"(r));
    CHECK(5, r, 0xffffffffu);

    asm("mov.u32 %0, %%laneid;" : "=r"(r));
    CHECK(6, r, lane);
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r));
    CHECK(6, r, (1u << lane) - 1);
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(r));
    CHECK(6, r, ~((1u << lane) - 1));
    asm("{ .reg .u32 t<3>; mov.u32 t0, %%tid.x; mov.u32 t1, %%ntid.x; mov.u32 t2, %%ctaid.x; mad.lo.u32 %0, t2, t1, t0; }" : "=r"(r));
    CHECK(6, r, lane);
    float sum;
    asm("add.rz.ftz.f32 %0, %1, %2;" : "=f"(sum) : "f"(1.0f), "f"(1e-9f));
    CHECK(6, sum, 1.0f);
    asm("add.rp.f32 %0, %1, %2;" : "=f"(sum) : "f"(1.0f), "f"(1e-9f));
    CHECK(6, sum > 1.0f, true);
    uint64_t begin, end;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    CHECK(6, end >= begin, true);
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(begin));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(end));
    CHECK(6, end >= begin, true);
}

// One warp: A (16 x K) and B (K x 8, by columns) in global memory, as the PTX manual lays out fragments.
template <int K, typename T>
__device__ unsigned two(const T *x) // consecutive elements in one register
{
    unsigned r;
    memcpy(&r, x, 4);
    return r;
}

template <typename T>
__global__ void mma_halves(const T *a, const T *b, const float *c, float *d8, float *d16, unsigned *h16)
{
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    const unsigned a0 = two<16>(a + g * 16 + 2 * t), a1 = two<16>(a + (g + 8) * 16 + 2 * t);
    const unsigned a2 = two<16>(a + g * 16 + 2 * t + 8), a3 = two<16>(a + (g + 8) * 16 + 2 * t + 8);
    const unsigned b0 = two<16>(b + g * 16 + 2 * t), b1 = two<16>(b + g * 16 + 2 * t + 8);
    const float *c0 = c + g * 8 + 2 * t, *c1 = c + (g + 8) * 8 + 2 * t;
    float r[4], q[4] = {c0[0], c0[1], c1[0], c1[1]};
    if constexpr (sizeof(T) == 2 && std::is_same<T, __half>::value) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
                     : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c0[0]), "f"(c0[1]), "f"(c1[0]), "f"(c1[1]));
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\n"
                     : "+f"(q[0]), "+f"(q[1]), "+f"(q[2]), "+f"(q[3]) : "r"(a0), "r"(a1), "r"(b0));
        const __half2 x = __floats2half2_rn(c0[0], c0[1]), y = __floats2half2_rn(c1[0], c1[1]);
        unsigned h[2] = {*(const unsigned *)&x, *(const unsigned *)&y};
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};\n"
                     : "+r"(h[0]), "+r"(h[1]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        h16[(g * 8 + 2 * t) / 2] = h[0];
        h16[((g + 8) * 8 + 2 * t) / 2] = h[1];
    } else {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
                     : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c0[0]), "f"(c0[1]), "f"(c1[0]), "f"(c1[1]));
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\n"
                     : "+f"(q[0]), "+f"(q[1]), "+f"(q[2]), "+f"(q[3]) : "r"(a0), "r"(a1), "r"(b0));
    }
    for (int i = 0; i < 4; i++) {
        const int at = (g + i / 2 * 8) * 8 + 2 * t + i % 2;
        d16[at] = r[i];
        d8[at] = q[i];
    }
}

__global__ void mma_tf32(const float *a, const float *b, const float *c, float *d)
{
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    const uint32_t *x = (const uint32_t *)a, *y = (const uint32_t *)b;
    float r[4];
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
                 : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
                 : "r"(x[g * 8 + t]), "r"(x[(g + 8) * 8 + t]), "r"(x[g * 8 + t + 4]), "r"(x[(g + 8) * 8 + t + 4]),
                   "r"(y[g * 8 + t]), "r"(y[g * 8 + t + 4]),
                   "f"(c[g * 8 + 2 * t]), "f"(c[g * 8 + 2 * t + 1]), "f"(c[(g + 8) * 8 + 2 * t]), "f"(c[(g + 8) * 8 + 2 * t + 1]));
    for (int i = 0; i < 4; i++)
        d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = r[i];
}

__global__ void mma_bytes(const signed char *a, const signed char *b, int *ds, int *du)
{
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    const int a0 = *(const int *)(a + g * 32 + 4 * t), a1 = *(const int *)(a + (g + 8) * 32 + 4 * t);
    const int a2 = *(const int *)(a + g * 32 + 4 * t + 16), a3 = *(const int *)(a + (g + 8) * 32 + 4 * t + 16);
    const int b0 = *(const int *)(b + g * 32 + 4 * t), b1 = *(const int *)(b + g * 32 + 4 * t + 16);
    int r[4] = {1, 2, 3, 4}, u[4];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=r"(u[0]), "=r"(u[1]), "=r"(u[2]), "=r"(u[3]) : "r"(a0), "r"(a1), "r"(b0), "r"(0));
    for (int i = 0; i < 4; i++) {
        ds[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = r[i] - i - 1;
        du[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = u[i];
    }
}

__global__ void mma_double(const double *a, const double *b, double *d)
{
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    double x = 1, y = 2;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(x), "+d"(y) : "d"(a[g * 4 + t]), "d"(b[g * 4 + t]));
    d[g * 8 + 2 * t] = x;
    d[g * 8 + 2 * t + 1] = y;
}

__global__ void matrices(const uint16_t *x)
{
    __shared__ alignas(16) uint16_t s[4][8][8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32)
        (&s[0][0][0])[i] = x[i];
    __syncthreads();
    const unsigned at = (unsigned)__cvta_generic_to_shared(&s[lane / 8][lane % 8][0]);
    unsigned r[4], t[4], one;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3]) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%0}, [%1];" : "=r"(one) : "r"(at));
    CHECK(8, one, r[0]);
    for (int m = 0; m < 4; m++) {
        CHECK(8, r[m], (unsigned)s[m][lane / 4][lane % 4 * 2] | (unsigned)s[m][lane / 4][lane % 4 * 2 + 1] << 16);
        CHECK(8, t[m], (unsigned)s[m][lane % 4 * 2][lane / 4] | (unsigned)s[m][lane % 4 * 2 + 1][lane / 4] << 16);
    }
    unsigned turned;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(r[1]));
    CHECK(8, turned, t[1]);
}

__global__ void copies(const float4 *x)
{
    extern __shared__ float4 buffer[];
    const int i = threadIdx.x;
    const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(buffer + i));
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(at), "l"(x + i), "n"(16));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;\n" ::"r"(at + 512), "l"(x + i), "r"(i % 2 ? 16 : 6));
    asm volatile("cp.async.commit_group;\n" ::);
    asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
    __syncthreads();
    const float4 v = buffer[31 - i], w = buffer[32 + 31 - i];
    CHECK(9, v.z, x[31 - i].z);
    CHECK(9, w.x, x[31 - i].x);
    CHECK(9, w.w, (31 - i) % 2 ? x[31 - i].w : 0.0f);
    CHECK(9, __float_as_uint(w.y), (31 - i) % 2 ? __float_as_uint(x[31 - i].y) : __float_as_uint(x[31 - i].y) & 0xffffu);
}

template <typename T, int N>
__device__ __forceinline__ T scaled(T x)
{
    T y;
    if constexpr (sizeof(T) == 4)
        asm("mul.lo.s32 %0, %1, %2;" : "=r"(y) : "r"(x), "n"(N));
    else
        asm("mul.lo.s64 %0, %1, %2;" : "=l"(y) : "l"(x), "n"(N));
    return y;
}
__global__ void templates(long long *y)
{
    y[0] = scaled<int, 4>(9);
    y[1] = scaled<long long, 10>(10ll);
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
    cudaMallocManaged(&f, 8192 * 4);
    for (int i = 0; i < 1024; i++)
        x[i] = i < 8 ? 0xffffffffu * (i & 1) : next();
    for (int i = 0; i < 2048; i++)
        f[i] = (int)(next() >> 27) / 8.0f - 2.0f; // exact sums, in any order
    x[1000] = x[1001] = 0;
    memory<<<1, 32>>>((float4 *)(f + 4096), x + 1000, (const unsigned char *)x);
    report(4, "memory");
    warps<<<1, 32>>>();
    report(5, "warps");
    report(6, "registers and roundings");

    printf("matrices ok:");
    __half *ha;
    __nv_bfloat16 *ba;
    cudaMallocManaged(&ha, 4096);
    cudaMallocManaged(&ba, 4096);
    for (int i = 0; i < 400; i++) {
        ha[i] = __float2half(f[i]);
        ba[i] = __float2bfloat16(f[i]);
    }
    float *c = f + 512, *d8 = f + 4096, *d16 = f + 4300;
    unsigned *h = x + 512;
    mma_halves<<<1, 32>>>(ha, ha + 256, c, d8, d16, h);
    cudaDeviceSynchronize();
    int bad = 0, bad_half = 0;
    const __half *hd = (const __half *)h;
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            float s = c[m * 8 + n], q = __half2float(__float2half(s));
            for (int k = 0; k < 16; k++) {
                const float a = __half2float(ha[m * 16 + k]), b = __half2float(ha[256 + n * 16 + k]);
                s = fmaf(a, b, s);
                q = fmaf(a, b, q);
                bad += k == 7 && s != d8[m * 8 + n];
            }
            bad += s != d16[m * 8 + n];
            bad_half += __half2float(__float2half(q)) != __half2float(hd[m * 8 + n]);
        }
    printf(bad_half ? " half %d wrong" : " f16", bad_half);
    printf(bad ? " f32sum %d wrong" : " f32sum", bad);
    mma_halves<<<1, 32>>>(ba, ba + 256, c, d8, d16, h);
    cudaDeviceSynchronize();
    bad = 0;
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            float s = c[m * 8 + n];
            for (int k = 0; k < 16; k++) {
                s = fmaf(__bfloat162float(ba[m * 16 + k]), __bfloat162float(ba[256 + n * 16 + k]), s);
                bad += k == 7 && s != d8[m * 8 + n];
            }
            bad += s != d16[m * 8 + n];
        }
    printf(bad ? " bf16 %d wrong" : " bf16", bad);
    mma_tf32<<<1, 32>>>(f, f + 128, c, d8);
    cudaDeviceSynchronize();
    bad = 0;
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            float s = c[m * 8 + n];
            for (int k = 0; k < 8; k++) {
                unsigned a, b;
                memcpy(&a, f + m * 8 + k, 4);
                memcpy(&b, f + 128 + n * 8 + k, 4);
                a &= 0xffffe000u;
                b &= 0xffffe000u;
                float p, q;
                memcpy(&p, &a, 4);
                memcpy(&q, &b, 4);
                s = fmaf(p, q, s);
            }
            bad += s != d8[m * 8 + n];
        }
    printf(bad ? " tf32 %d wrong" : " tf32", bad);
    const signed char *bytes = (const signed char *)x;
    int *is = (int *)d8, *iu = (int *)d16;
    mma_bytes<<<1, 32>>>(bytes, bytes + 512, is, iu);
    cudaDeviceSynchronize();
    int bad_s = 0, bad_u = 0;
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            int s = 0, u = 0;
            for (int k = 0; k < 32; k++) {
                s += bytes[m * 32 + k] * bytes[512 + n * 32 + k];
                u += k < 16 ? (unsigned char)bytes[m * 32 + k] * bytes[512 + n * 32 + k] : 0;
            }
            bad_s += s != is[m * 8 + n];
            bad_u += u != iu[m * 8 + n];
        }
    printf(bad_s ? " s8 %d wrong" : " s8", bad_s);
    printf(bad_u ? " u8 %d wrong" : " u8", bad_u);
    double *a64;
    cudaMallocManaged(&a64, 1024);
    for (int i = 0; i < 64; i++)
        a64[i] = f[i];
    mma_double<<<1, 32>>>(a64, a64 + 32, a64 + 64);
    cudaDeviceSynchronize();
    bad = 0;
    for (int m = 0; m < 8; m++)
        for (int n = 0; n < 8; n++) {
            double s = 1 + n % 2;
            for (int k = 0; k < 4; k++)
                s = fma(a64[m * 4 + k], a64[32 + n * 4 + k], s);
            bad += s != a64[64 + m * 8 + n];
        }
    printf(bad ? " f64 %d wrong\n" : " f64\n", bad);

    matrices<<<1, 32>>>((const uint16_t *)x);
    report(8, "ldmatrix");
    copies<<<1, 32, 1024>>>((const float4 *)f);
    report(9, "cp.async");
    long long *y = (long long *)a64;
    templates<<<1, 1>>>(y);
    cudaDeviceSynchronize();
    printf("templates %lld %lld\n", y[0], y[1]);
    cudaFree(x);
    cudaFree(f);
    cudaFree(ha);
    cudaFree(ba);
    cudaFree(a64);
}
