/* The backward pass of attention (attention.cu). With g the gradient of the result:
 *
 *   p[i, j] = exp2(score[i, j] * log2(e) * scale - lse[i])
 *   delta[i] = sum over d of g[i, d] * out[i, d]
 *   ds[i, j] = p[i, j] * (sum over d of g[i, d] * v[j, d] - delta[i])
 *   dv = p^T g,   dk = scale * ds^T q,   dq = scale * ds k
 *
 * The scores are computed again. One kernel sums over rows for dk and dv, another over keys for dq, so that
 * each sum has one order and no two blocks add to one place.
 *
 * NVRTC gets this text after the texts that attention.cu needs, and PART, the kernel that is wanted: 0 delta, 1 dq,
 * 2 dk and dv, which needs WGS 2. */
enum {
    OWN = WGS * 64, /* rows, or keys, that a block has */
    BLOCKS = DIM / 64,
    STEP = DIM == 64 && WGS == 2 ? 128 : 64, /* keys that the kernel of dq takes at a time */
    QUERIES = 64,                /* rows that the kernel of dk and dv takes at a time */
    LATER = DIM == 64,           /* it sums a step during the next one; long rows leave too few registers */
    STAGES_Q = DIM == 64 ? 4 : 3,
    STAGES_KV = DIM == 64 ? 4 : 3
};

/* 64 rows of a panel (DIM elements each, BLOCK bytes from 64 elements to the next 64) as the left operand in
 * registers: they are read from shared memory once, not for each product. */
template <int BLOCK>
static __device__ __forceinline__ void load_rows(unsigned (&r)[DIM / 4], unsigned panel)
{
    const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < DIM / 16; i++) {
        const int part = i % 4 * 2 + lane / 16;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[4 * i]), "=r"(r[4 * i + 1]), "=r"(r[4 * i + 2]), "=r"(r[4 * i + 3])
                     : "r"(panel + (unsigned)(i / 4 * BLOCK + row * 128 + ((part ^ row % 8) << 4))));
    }
}

/* Starts d = a b^T: a in registers, b has 64 rows. */
static __device__ __forceinline__ void start_products_of(float (&d)[32], const unsigned (&a)[DIM / 4],
                                                         unsigned b)
{
    const unsigned long long first = panel_of<1>(b, 0);
    multiply_begin();
#pragma unroll
    for (int i = 0; i < DIM / 16; i++)
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" R32
                     "}, {%32, %33, %34, %35}, %36, add, 1, 1, 0;\n}"
                     : D16(0), D16(16)
                     : "r"(a[4 * i]), "r"(a[4 * i + 1]), "r"(a[4 * i + 2]), "r"(a[4 * i + 3]),
                       "l"(panel_at(first, i / 4 * (64 * 128) + i % 4 * 32)),
                       "r"(i > 0 ? 1 : 0));
    multiply_commit();
}

static __device__ __forceinline__ void copy_floats(unsigned to, const float *from, int n,
                                                   unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
                 "[%3];" ::"r"(to),
                 "l"(from), "r"(n * 4), "r"(barrier)
                 : "memory");
}

static __device__ __forceinline__ void barriers_set(unsigned full, unsigned empty, int stages,
                                                    unsigned ready)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < stages; i++) {
            barrier_init(full + (unsigned)i * 8, 1);
            barrier_init(empty + (unsigned)i * 8, WGS);
        }
        barrier_init(ready, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

#if PART == 0 /* ---- delta ---- */

static __device__ __forceinline__ float widen(half_bits x)
{
#if IS_F16
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
#else
    return __uint_as_float((unsigned)x << 16);
#endif
}

/* Eight elements as 16 bytes. */
static __device__ __forceinline__ float dot_eight(uint4 a, uint4 b)
{
    const unsigned x[4] = {a.x, a.y, a.z, a.w}, y[4] = {b.x, b.y, b.z, b.w};
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum = fmaf(widen((half_bits)x[i]), widen((half_bits)y[i]), sum);
        sum = fmaf(widen((half_bits)(x[i] >> 16)), widen((half_bits)(y[i] >> 16)), sum);
    }
    return sum;
}

/* Of all rows, padding included, which is zero. DIM / 8 threads take a row. */
extern "C" __global__ void delta(const half_bits *g, const half_bits *out, float *to,
                                 const attention_sizes sizes)
{
    enum { LANES = DIM / 8 };
    const int at = (blockIdx.x * 256 + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    if (at >= sizes.batch * sizes.n_pad)
        return;
    const int job = at / sizes.n_pad, row = at % sizes.n_pad;
    float sum = 0;
    if (row < sizes.n_q && lane * 8 < sizes.dim) {
        const long long from = ((long long)job * sizes.n_q + row) * sizes.dim + lane * 8;
        sum = dot_eight(*(const uint4 *)(g + from), *(const uint4 *)(out + from));
    }
#pragma unroll
    for (int i = LANES / 2; i > 0; i /= 2)
        sum += __shfl_xor_sync(__activemask(), sum, i);
    if (lane == 0)
        to[at] = sum;
}

#elif PART == 1 /* ---- dq ---- */

extern "C" __global__ void __launch_bounds__((WGS + 1) * 128, 1)
    gradient_q(const __grid_constant__ tensor_map map_q, const __grid_constant__ tensor_map map_g,
               const __grid_constant__ tensor_map map_k, const __grid_constant__ tensor_map map_v,
               const float *lse, const float *delta, half_bits *dq, const attention_sizes g)
{
    enum { OWN_BYTES = OWN * DIM * 2, STEP_BYTES = STEP * DIM * 2 };
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ __align__(8) unsigned long long barriers[2 * STAGES_KV + 1];
    const unsigned q = (shared_at(shared) + 1023) & ~1023u, grad = q + OWN_BYTES,
                   kv = grad + OWN_BYTES;
    const unsigned full = shared_at(barriers), empty = full + STAGES_KV * 8,
                   ready = empty + STAGES_KV * 8;
    const int warpgroup = threadIdx.x / 128;
    const int tile = blockIdx.x % g.tiles, job = blockIdx.x / g.tiles;
    const int row0 = (CAUSAL ? g.tiles - 1 - tile : tile) * OWN;
    const int batch = job % g.batch, outer = job / g.batch;
    const int end = CAUSAL && row0 + OWN < g.n_k ? row0 + OWN : g.n_k;
    const int steps = (end + STEP - 1) / STEP;
    barriers_set(full, empty, STAGES_KV, ready);

    if (warpgroup == 0) {
        fewer_registers();
        if (threadIdx.x == 0) {
            barrier_expect(ready, 2 * OWN_BYTES);
            for (int i = 0; i < BLOCKS; i++) {
                copy_box(q + (unsigned)(i * OWN * 128), &map_q, ready, i * 64, row0,
                         batch, outer);
                copy_box(grad + (unsigned)(i * OWN * 128), &map_g, ready, i * 64, row0, batch, outer);
            }
            for (int j = 0; j < steps; j++) {
                const int stage = j % STAGES_KV;
                const unsigned barrier = full + (unsigned)stage * 8,
                               at = kv + (unsigned)(stage * 2 * STEP_BYTES);
                if (j >= STAGES_KV)
                    barrier_wait(empty + (unsigned)stage * 8, (j / STAGES_KV - 1) & 1);
                barrier_expect(barrier, 2 * STEP_BYTES);
                for (int i = 0; i < BLOCKS; i++) {
                    copy_box(at + (unsigned)(i * STEP * 128), &map_k, barrier, i * 64, j * STEP,
                             batch, outer);
                    copy_box(at + (unsigned)(STEP_BYTES + i * STEP * 128), &map_v, barrier, i * 64,
                             j * STEP, batch, outer);
                }
            }
        }
    } else {
        more_registers();
        const int group = warpgroup - 1, lane = threadIdx.x % 32;
        const int row = row0 + group * 64 + threadIdx.x % 128 / 32 * 16 + lane / 4;
        const unsigned own = (unsigned)(group * 64 * 128);
        float s[STEP / 2], dp[STEP / 2], sums[DIM / 2], base[2], less[2];
        unsigned p[STEP / 4];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const bool in = row + 8 * r < g.n_q;
            base[r] = in ? lse[(long long)job * g.n_pad + row + 8 * r] : __int_as_float(0x7f800000);
            less[r] = in ? delta[(long long)job * g.n_pad + row + 8 * r] : 0;
        }
#pragma unroll
        for (int i = 0; i < DIM / 2; i++)
            sums[i] = 0;
        barrier_wait(ready, 0);
#if DIM == 64 && WGS == 3
        unsigned own_q[DIM / 4];
        load_rows<OWN * 128>(own_q, q + own);
#endif
        await_step<STAGES_KV>(full, 0, steps);
        for (int j = 0; j < steps; j++) {
            const unsigned at = kv + (unsigned)(j % STAGES_KV * 2 * STEP_BYTES),
                           before = kv + (unsigned)((j + STAGES_KV - 1) % STAGES_KV * 2 * STEP_BYTES);
#if DIM == 64 && WGS == 3
            start_products_of(s, own_q, at);
#else
            start_products<OWN, STEP>(s, q + own, at);
#endif
            start_products<OWN, STEP>(dp, grad + own, at + STEP_BYTES);
            /* The tensor cores add up the step before while this one is computed. */
            if (j > 0) {
                start_sums<STEP>(sums, p, before);
                multiply_wait<1>();
            } else
                multiply_wait<0>();
            const bool edge =
                (j + 1) * STEP > g.n_k || (CAUSAL && (j + 1) * STEP > row0 + group * 64);
            if (edge) {
#pragma unroll
                for (int i = 0; i < STEP / 2; i++) {
                    const int key = j * STEP + i / 4 * 8 + lane % 4 * 2 + i % 2;
                    if (key >= g.n_k || (CAUSAL && key > row + i / 2 % 2 * 8))
                        s[i] = -__int_as_float(0x7f800000);
                }
            }
#pragma unroll
            for (int i = 0; i < STEP / 2; i++)
                s[i] = exp2_fast(fmaf(s[i], g.scale, -base[i / 2 % 2])) * (dp[i] - less[i / 2 % 2]);
            await_step<STAGES_KV>(full, j + 1, steps);
            multiply_wait<0>();
            if (j > 0 && threadIdx.x % 128 == 0)
                barrier_arrive(empty + (unsigned)((j - 1) % STAGES_KV) * 8);
            pack_all<STEP>(s, p);
        }
        start_sums<STEP>(sums, p, kv + (unsigned)((steps - 1) % STAGES_KV * 2 * STEP_BYTES));
        multiply_wait<0>();
#pragma unroll
        for (int r = 0; r < 2; r++)
            if (row + 8 * r < g.n_q)
                write_row(sums, r, g.factor,
                          dq + ((long long)job * g.n_q + row + 8 * r) * g.dim, g.dim);
    }
}

#else /* ---- dk and dv ---- */

extern "C" __global__ void __launch_bounds__((WGS + 1) * 128, 1)
    gradient_kv(const __grid_constant__ tensor_map map_q, const __grid_constant__ tensor_map map_g,
                const __grid_constant__ tensor_map map_k, const __grid_constant__ tensor_map map_v,
                const float *lse, const float *delta, half_bits *dk, half_bits *dv,
                const attention_sizes g)
{
    enum {
        OWN_BYTES = OWN * DIM * 2,
        STEP_BYTES = QUERIES * DIM * 2,
        STAGE_BYTES = 2 * STEP_BYTES + 1024 /* and lse and delta */
    };
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ __align__(8) unsigned long long barriers[2 * STAGES_Q + 1];
    const unsigned k = (shared_at(shared) + 1023) & ~1023u, v = k + OWN_BYTES, qs = v + OWN_BYTES;
    const unsigned full = shared_at(barriers), empty = full + STAGES_Q * 8,
                   ready = empty + STAGES_Q * 8;
    const int warpgroup = threadIdx.x / 128;
    const int tile = blockIdx.x % g.tiles, job = blockIdx.x / g.tiles, key0 = tile * OWN;
    const int batch = job % g.batch, outer = job / g.batch;
    const int first = CAUSAL ? key0 / QUERIES : 0, last = (g.n_q + QUERIES - 1) / QUERIES;
    const int steps = last > first ? last - first : 0;
    barriers_set(full, empty, STAGES_Q, ready);

    if (warpgroup == 0) {
        fewer_registers();
        if (threadIdx.x == 0) {
            barrier_expect(ready, 2 * OWN_BYTES);
            for (int i = 0; i < BLOCKS; i++) {
                copy_box(k + (unsigned)(i * OWN * 128), &map_k, ready, i * 64, key0,
                         batch, outer);
                copy_box(v + (unsigned)(i * OWN * 128), &map_v, ready, i * 64, key0,
                         batch, outer);
            }
            for (int j = 0; j < steps; j++) {
                const int stage = j % STAGES_Q, row = (first + j) * QUERIES;
                const unsigned barrier = full + (unsigned)stage * 8,
                               at = qs + (unsigned)(stage * STAGE_BYTES);
                const float *const from = lse + (long long)job * g.n_pad + row,
                                   *const less = delta + (long long)job * g.n_pad + row;
                if (j >= STAGES_Q)
                    barrier_wait(empty + (unsigned)stage * 8, (j / STAGES_Q - 1) & 1);
                barrier_expect(barrier, 2 * STEP_BYTES + 2 * QUERIES * 4);
                for (int i = 0; i < BLOCKS; i++) {
                    copy_box(at + (unsigned)(i * QUERIES * 128), &map_q, barrier, i * 64, row,
                             batch, outer);
                    copy_box(at + (unsigned)(STEP_BYTES + i * QUERIES * 128), &map_g, barrier,
                             i * 64, row, batch, outer);
                }
                copy_floats(at + 2 * STEP_BYTES, from, QUERIES, barrier);
                copy_floats(at + 2 * STEP_BYTES + QUERIES * 4, less, QUERIES, barrier);
            }
        }
    } else {
        more_registers();
        const int group = warpgroup - 1, lane = threadIdx.x % 32;
        const int key = key0 + group * 64 + threadIdx.x % 128 / 32 * 16 + lane / 4;
        const unsigned own = (unsigned)(group * 64 * 128);
        const unsigned char *const floats = shared + (qs - shared_at(shared)) + 2 * STEP_BYTES;
        float s[QUERIES / 2], dp[QUERIES / 2], sum_k[DIM / 2], sum_v[DIM / 2];
        unsigned p[QUERIES / 4], ds[QUERIES / 4];
#if DIM == 64
        unsigned own_k[DIM / 4], own_v[DIM / 4];
#endif
#pragma unroll
        for (int i = 0; i < DIM / 2; i++)
            sum_k[i] = sum_v[i] = 0;
        barrier_wait(ready, 0);
#if DIM == 64
        load_rows<OWN * 128>(own_k, k + own);
        load_rows<OWN * 128>(own_v, v + own);
#endif
        await_step<STAGES_Q>(full, 0, steps);
        for (int j = 0; j < steps; j++) {
            const int stage = j % STAGES_Q, row0 = (first + j) * QUERIES;
            const unsigned at = qs + (unsigned)(stage * STAGE_BYTES),
                           before = qs + (unsigned)((j + STAGES_Q - 1) % STAGES_Q * STAGE_BYTES);
            const float2 *const base = (const float2 *)(floats + stage * STAGE_BYTES);
            const float2 *const less = base + QUERIES / 2;
#if DIM == 64
            start_products_of(s, own_k, at);
            start_products_of(dp, own_v, at + STEP_BYTES);
#else
            start_products<OWN, QUERIES>(s, k + own, at);
            start_products<OWN, QUERIES>(dp, v + own, at + STEP_BYTES);
#endif
            /* The tensor cores add up the step before while this one is computed. */
            if (LATER && j > 0) {
                start_sums<QUERIES>(sum_v, p, before + STEP_BYTES);
                start_sums<QUERIES>(sum_k, ds, before);
                multiply_wait<2>();
            } else
                multiply_wait<0>();
            if (CAUSAL && row0 < key0 + OWN) {
#pragma unroll
                for (int i = 0; i < QUERIES / 2; i++)
                    if (key + i / 2 % 2 * 8 > row0 + i / 4 * 8 + lane % 4 * 2 + i % 2)
                        s[i] = -__int_as_float(0x7f800000);
            }
#pragma unroll
            for (int i = 0; i < QUERIES / 8; i++) {
                const float2 b = base[i * 4 + lane % 4], c = less[i * 4 + lane % 4];
#pragma unroll
                for (int u = 4 * i; u < 4 * i + 4; u++) {
                    s[u] = exp2_fast(fmaf(s[u], g.scale, u % 2 ? -b.y : -b.x));
                    dp[u] = s[u] * (dp[u] - (u % 2 ? c.y : c.x));
                }
            }
            if (LATER) {
                await_step<STAGES_Q>(full, j + 1, steps);
                multiply_wait<0>();
                if (j > 0 && threadIdx.x % 128 == 0)
                    barrier_arrive(empty + (unsigned)((j - 1) % STAGES_Q) * 8);
            }
            pack_all<QUERIES>(s, p);
            pack_all<QUERIES>(dp, ds);
            if (!LATER) {
                start_sums<QUERIES>(sum_v, p, at + STEP_BYTES);
                start_sums<QUERIES>(sum_k, ds, at);
                await_step<STAGES_Q>(full, j + 1, steps);
                multiply_wait<0>();
                if (threadIdx.x % 128 == 0)
                    barrier_arrive(empty + (unsigned)stage * 8);
            }
        }
        if (LATER && steps > 0) {
            const unsigned last_at = qs + (unsigned)((steps - 1) % STAGES_Q * STAGE_BYTES);
            start_sums<QUERIES>(sum_v, p, last_at + STEP_BYTES);
            start_sums<QUERIES>(sum_k, ds, last_at);
        }
        multiply_wait<0>();
#pragma unroll
        for (int r = 0; r < 2; r++)
            if (key + 8 * r < g.n_k) {
                const long long to = ((long long)job * g.n_k + key + 8 * r) * g.dim;
                write_row(sum_v, r, 1, dv + to, g.dim);
                write_row(sum_k, r, g.factor, dk + to, g.dim);
            }
    }
}
#endif
