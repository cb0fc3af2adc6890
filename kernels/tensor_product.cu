/* Products of matrices of f16, bf16 or tf32 on the tensor cores of Hopper (sm_90a), sums in f32:
 *
 *   out[b, m, n] = sum over k of a[b, m, k] * b[b, n, k] (+ bias[n])
 *
 * A block of three warpgroups computes a tile of TM x TN. One thread of the first copies panels of TILE_K
 * points of k into a ring of STAGES buffers (TMA); the other two warpgroups multiply them (wgmma), each
 * TM / 2 rows. Panels are swizzled by 128 bytes. Elements behind an edge are copied as zeros.
 *
 * NVRTC gets this text behind arguments.h, hopper.cuh, result.cuh and these definitions:
 *
 *   TYPE        "f16", "bf16" or "tf32": names of wgmma's type; BYTES: of an element, 2 or 4
 *   A_K, B_K    1 if neighbours in k lie side by side, 0 if neighbours in m (or n) do; tf32: 1
 *   TN          columns of a tile: 128 or 256
 *   OUT         of the result: 0 f32, 1 f16, 2 bf16
 */
enum {
    TM = 128,
    TILE_K = 128 / BYTES, /* a row of 128 bytes */
    STEP_K = 32 / BYTES,  /* of one wgmma */
    STAGES = TN == 256 ? 4 : 6,
    A_BYTES = TM * 128,
    B_BYTES = TN * 128,
    STAGE_BYTES = A_BYTES + B_BYTES,
    GROUP_M = 16 /* tiles of so many rows run together, so that they share panels in the L2 */
};

/* ---- panels ---- */

/* Rows [row, row + ROWS) and points [k, k + TILE_K) of a matrix. Where rows are neighbours, a box has as many
 * of them as 128 bytes hold. */
template <int ROWS, int K_INNER>
static __device__ __forceinline__ void copy_panel(unsigned to, const tensor_map *map,
                                                  unsigned barrier, int row, int k, int z, int w)
{
    if (K_INNER)
        copy_box(to, map, barrier, k, row, z, w);
    else
#pragma unroll
        for (int i = 0; i < ROWS / TILE_K; i++)
            copy_box(to + i * TILE_K * 128, map, barrier, row + i * TILE_K, k, z, w);
}

/* ---- multiplication ---- */

/* How far the panel's address moves for the next STEP_K points. */
template <int K_INNER> static __device__ __forceinline__ unsigned step_of(int i)
{
    return (unsigned)(K_INNER ? i * 32 : i * STEP_K * 128);
}

#if BYTES == 2
#define STEP_NAME "k16"
#define MAJOR_OPERANDS , "n"(1 - A_K), "n"(1 - B_K)
#else
#define STEP_NAME "k8"
#define MAJOR_OPERANDS
#endif

/* d = a * b, or d += a * b: TM / 2 x TN sums, of which a thread has TN / 2. */
static __device__ __forceinline__ void multiply(float (&d)[TN / 2], unsigned long long a,
                                                unsigned long long b, int add)
{
#if TN == 256 && BYTES == 2
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256" STEP_NAME ".f32." TYPE "." TYPE
                 " {" R128 "}, %128, %129, add, 1, 1, %131, %132;\n}"
                 : D64(0), D64(64)
                 : "l"(a), "l"(b), "r"(add)MAJOR_OPERANDS);
#elif TN == 256
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256" STEP_NAME ".f32." TYPE "." TYPE
                 " {" R128 "}, %128, %129, add, 1, 1;\n}"
                 : D64(0), D64(64)
                 : "l"(a), "l"(b), "r"(add));
#elif BYTES == 2
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128" STEP_NAME ".f32." TYPE "." TYPE
                 " {" R64 "}, %64, %65, add, 1, 1, %67, %68;\n}"
                 : D64(0)
                 : "l"(a), "l"(b), "r"(add)MAJOR_OPERANDS);
#else
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128" STEP_NAME ".f32." TYPE "." TYPE
                 " {" R64 "}, %64, %65, add, 1, 1;\n}"
                 : D64(0)
                 : "l"(a), "l"(b), "r"(add));
#endif
}

/* The sums of a warpgroup over all of k. */
static __device__ __forceinline__ void sum_tile(float (&d)[TN / 2], unsigned panels, unsigned full,
                                                unsigned empty, int steps, int group, bool first)
{
    for (int i = 0; i < steps; i++) {
        const int stage = i % STAGES;
        const unsigned at = panels + (unsigned)(stage * STAGE_BYTES);
        /* K inner: 64 rows are 8192 bytes; else a box holds them, which is as large for 2 bytes. */
        const unsigned a = at + (unsigned)(group * (TM / 2) * 128), b = at + A_BYTES;
        barrier_wait(full + (unsigned)stage * 8, i / STAGES & 1);
        multiply_begin();
#pragma unroll
        for (int kk = 0; kk < TILE_K / STEP_K; kk++)
            multiply(d, panel_of<A_K>(a + step_of<A_K>(kk), TILE_K * 128),
                     panel_of<B_K>(b + step_of<B_K>(kk), TILE_K * 128), i > 0 || kk > 0);
        multiply_commit();
        /* The step before is done: its stage can be filled again. */
        multiply_wait<1>();
        if (i > 0 && first)
            barrier_arrive(empty + (unsigned)((i - 1) % STAGES) * 8);
    }
    multiply_wait<0>();
}

/* ---- the result ---- */

/* A warp has 16 rows. They go through shared memory, so that whole rows are written. */
static __device__ __forceinline__ void write_rows(const float (&d)[TN / 2], result *room,
                                                  result *out, const result *bias, long long row0,
                                                  int col0, const product_sizes &g)
{
    enum { PAD = 16 / (int)sizeof(result), WIDTH = TN + PAD };
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < TN / 8; j++)
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const int row = lane / 4 + (u / 2) * 8, col = j * 8 + lane % 4 * 2 + u % 2;
            float x = d[j * 4 + u];
            if (g.has_bias && col0 + col < g.n)
                x += widen(bias[col0 + col]);
            room[row * WIDTH + col] = narrow(x);
        }
    __syncwarp();
    for (int row = 0; row < 16 && row0 + row < g.m; row++) {
        result *to = out + (row0 + row) * g.n + col0;
        const result *from = room + row * WIDTH;
        if (g.aligned)
            for (int i = lane * PAD; i < TN && col0 + i < g.n; i += 32 * PAD)
                *(uint4 *)(to + i) = *(const uint4 *)(from + i);
        else
            for (int i = lane; i < TN && col0 + i < g.n; i += 32)
                to[i] = from[i];
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    product(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
            result *out, const result *bias, const product_sizes g)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ __align__(8) unsigned long long barriers[2 * STAGES];
    const unsigned panels = (shared_at(shared) + 1023) & ~1023u;
    const unsigned full = shared_at(barriers), empty = full + STAGES * 8;
    const int warpgroup = threadIdx.x / 128, steps = (g.k + TILE_K - 1) / TILE_K;

    /* Tiles in groups of GROUP_M rows of tiles, column by column. */
    const int tiles = g.tiles_m * g.tiles_n, job = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    const int group = tile / (GROUP_M * g.tiles_n), first_m = group * GROUP_M;
    const int high = g.tiles_m - first_m < GROUP_M ? g.tiles_m - first_m : GROUP_M;
    const int rest = tile - group * GROUP_M * g.tiles_n;
    const int row0 = (first_m + rest % high) * TM, col0 = rest / high * TN;
    const int batch = job % g.batch, outer = job / g.batch;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + (unsigned)i * 8, 1);
            barrier_init(empty + (unsigned)i * 8, 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            for (int i = 0; i < steps; i++) {
                const int stage = i % STAGES;
                const unsigned at = panels + (unsigned)(stage * STAGE_BYTES);
                const unsigned barrier = full + (unsigned)stage * 8;
                if (i >= STAGES)
                    barrier_wait(empty + (unsigned)stage * 8, (i / STAGES - 1) & 1);
                barrier_expect(barrier, STAGE_BYTES);
                copy_panel<TM, A_K>(at, &map_a, barrier, row0, i * TILE_K, batch * g.a_batch,
                                    outer * g.a_outer);
                copy_panel<TN, B_K>(at + A_BYTES, &map_b, barrier, col0, i * TILE_K,
                                    batch * g.b_batch, outer * g.b_outer);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[TN / 2];
#pragma unroll
        for (int i = 0; i < TN / 2; i++)
            d[i] = 0;
        sum_tile(d, panels, full, empty, steps, warpgroup - 1, threadIdx.x % 128 == 0);
        /* All panels are read: their memory can take the result. */
        asm volatile("bar.sync 1, 256;" ::: "memory");
        const int warp = threadIdx.x / 32 - 4;
        enum { ROOM = 16 * (TN + 16 / (int)sizeof(result)) };
        result *room = (result *)(shared + (panels - shared_at(shared))) + warp * ROOM;
        write_rows(d, room, out + (long long)job * g.m * g.n, bias, (long long)row0 + warp * 16,
                   col0, g);
    }
}
