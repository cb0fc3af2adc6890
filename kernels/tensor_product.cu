/* Products of matrices of f16, bf16 or tf32 on the tensor cores of Hopper (sm_90a), sums in f32:
 *
 *   out[b, m, n] = sum over k of a[b, m, k] * b[b, n, k] (+ bias[n]), perhaps with an epilogue
 *
 * A block has three warpgroups. One thread of the first copies panels of TILE_K points of k into a ring of STAGES
 * buffers (TMA); the other two warpgroups multiply them (wgmma), each TM / 2 rows. Panels are swizzled by 128 bytes.
 * Elements past an edge are copied as zeros. The grid has as many blocks as run at a time. Each takes one tile of TM x TN
 * after another, and the copies for the next tile begin while a result is written.
 *
 * NVRTC gets this text after arguments.h, hopper.cuh, result.cuh and these definitions:
 *
 *   TYPE        "f16", "bf16" or "tf32": names of wgmma's type; BYTES: of an element, 2 or 4
 *   A_K, B_K    1 if neighbours in k lie side by side, 0 if neighbours in m (or n) do; tf32: 1
 *   TN          columns of a tile: 128, 192 or 256
 *   OUT         of the result: 0 f32, 1 f16, 2 bf16
 *   BOXES       1: the result has a map, and boxes of 16 rows are copied to it; its rows are multiples of 16 bytes. 0: rows are
 *               written, also the elements of the product before the epilogue (kept)
 *   EPILOGUE    if there is one; in front, float epilogue(float, sizes): of a result, rounded to its type
 */
enum {
    TM = 128,
    TILE_K = 128 / BYTES, /* a row of 128 bytes */
    STEP_K = 32 / BYTES,  /* of one wgmma */
    STAGES = TN == 128 ? 6 : 4,
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
#define MULTIPLY(columns, registers, a, b, add, majors) \
    "{\n.reg .pred add;\nsetp.ne.b32 add, %" add ", 0;\nwgmma.mma_async.sync.aligned.m64n" columns STEP_NAME \
    ".f32." TYPE "." TYPE " {" registers "}, %" a ", %" b ", add, 1, 1" majors ";\n}"
#if TN == 256 && BYTES == 2
    asm volatile(MULTIPLY("256", R128, "128", "129", "130", ", %131, %132")
                 : D64(0), D64(64)
                 : "l"(a), "l"(b), "r"(add)MAJOR_OPERANDS);
#elif TN == 256
    asm volatile(MULTIPLY("256", R128, "128", "129", "130", "")
                 : D64(0), D64(64)
                 : "l"(a), "l"(b), "r"(add));
#elif TN == 192 && BYTES == 2
    asm volatile(MULTIPLY("192", R96, "96", "97", "98", ", %99, %100")
                 : D64(0), D16(64), D16(80)
                 : "l"(a), "l"(b), "r"(add)MAJOR_OPERANDS);
#elif TN == 192
    asm volatile(MULTIPLY("192", R96, "96", "97", "98", "")
                 : D64(0), D16(64), D16(80)
                 : "l"(a), "l"(b), "r"(add));
#elif BYTES == 2
    asm volatile(MULTIPLY("128", R64, "64", "65", "66", ", %67, %68")
                 : D64(0)
                 : "l"(a), "l"(b), "r"(add)MAJOR_OPERANDS);
#else
    asm volatile(MULTIPLY("128", R64, "64", "65", "66", "")
                 : D64(0)
                 : "l"(a), "l"(b), "r"(add));
#endif
}

/* The sums of a warpgroup over all of k, from panels of the ring [at, at + steps). */
static __device__ __forceinline__ void sum_tile(float (&d)[TN / 2], unsigned panels, unsigned full,
                                                unsigned empty, int at, int steps, int group,
                                                bool first)
{
    for (int i = 0; i < steps; i++) {
        const int stage = (at + i) % STAGES;
        const unsigned panel = panels + (unsigned)(stage * STAGE_BYTES);
        /* K inner: 64 rows are 8192 bytes; else a box holds them, which is as large for 2 bytes. */
        const unsigned a = panel + (unsigned)(group * (TM / 2) * 128), b = panel + A_BYTES;
        barrier_wait(full + (unsigned)stage * 8, (at + i) / STAGES & 1);
        multiply_begin();
#pragma unroll
        for (int kk = 0; kk < TILE_K / STEP_K; kk++)
            multiply(d, panel_of<A_K>(a + step_of<A_K>(kk), TILE_K * 128),
                     panel_of<B_K>(b + step_of<B_K>(kk), TILE_K * 128), i > 0 || kk > 0);
        multiply_commit();
        /* The step before is done: its stage can be filled again. */
        multiply_wait<1>();
        if (i > 0 && first)
            barrier_arrive(empty + (unsigned)((at + i - 1) % STAGES) * 8);
    }
    multiply_wait<0>();
    if (first)
        barrier_arrive(empty + (unsigned)((at + steps - 1) % STAGES) * 8);
}

/* ---- tiles ---- */

struct tile_place {
    int row, col, batch, outer;
    long long job;
};

/* Tiles in groups of GROUP_M rows of tiles, column by column. */
static __device__ __forceinline__ tile_place tile_at(int at, const product_sizes &g)
{
    const int tiles = g.tiles_m * g.tiles_n, job = at / tiles, tile = at % tiles;
    const int group = tile / (GROUP_M * g.tiles_n), first = group * GROUP_M;
    const int high = g.tiles_m - first < GROUP_M ? g.tiles_m - first : GROUP_M;
    const int rest = tile - group * GROUP_M * g.tiles_n;
    return {(first + rest % high) * TM, rest / high * TN, job % g.batch, job / g.batch, job};
}

/* ---- the result ---- */

enum {
    EACH = 16 / (int)sizeof(result),   /* elements of 16 bytes */
    CHUNK = 128 / (int)sizeof(result), /* columns that a warp writes at a time */
    ROOMS = BOXES ? 2 : 1,             /* of a warp, for the rows of a chunk */
    ROOM_BYTES = 16 * (BOXES ? 128 : 128 + 16)
};

#ifdef EPILOGUE
#define MORE_PARAMETERS , result *kept, const sizes numbers
#define MORE_ARGUMENTS , kept, numbers
#else
#define MORE_PARAMETERS
#define MORE_ARGUMENTS
#endif

/* The bias of a lane's two columns of each chunk; -0 where there is none, which changes no sum. */
static __device__ __forceinline__ void read_bias(result_pair (&add)[TN / CHUNK], const result *bias,
                                                 int col0, const product_sizes &g)
{
#pragma unroll
    for (int c = 0; c < TN / CHUNK; c++) {
        const int in_chunk = threadIdx.x % 32 * 2, col = col0 + c * CHUNK + in_chunk;
        const bool there = g.has_bias && in_chunk < CHUNK;
        add[c].x = there && col < g.n ? bias[col] : narrow(-0.0f);
        add[c].y = there && col + 1 < g.n ? bias[col + 1] : narrow(-0.0f);
    }
}

/* The pair of a lane. */
static __device__ __forceinline__ result_pair pair_of(result_pair x, int lane)
{
#if OUT == 0
    return {__shfl_sync(~0u, x.x, lane), __shfl_sync(~0u, x.y, lane)};
#else
    const unsigned both = __shfl_sync(~0u, (unsigned)x.x | (unsigned)x.y << 16, lane);
    return {(result)both, (result)(both >> 16)};
#endif
}

#if BOXES

/* A warp has 16 rows. A chunk of them goes to shared memory, swizzled by 128 bytes, and from there to the result (TMA),
 * which leaves out what lies past an edge, while the warp goes on. */
static __device__ __forceinline__ void write_rows(const float (&d)[TN / 2],
                                                  const result_pair (&add)[TN / CHUNK],
                                                  unsigned char *rooms, const tensor_map *map_out,
                                                  const tile_place &p, int row0,
                                                  const product_sizes &g MORE_PARAMETERS)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < TN / CHUNK; c++) {
        unsigned char *room = rooms + c % ROOMS * ROOM_BYTES;
        if (lane == 0)
            asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(ROOMS - 1) : "memory");
        __syncwarp();
#pragma unroll
        for (int j = 0; j < CHUNK / 8; j++) {
            const int pair = j * 4 + lane % 4, byte = pair * (int)sizeof(result_pair);
            const result_pair b = pair_of(add[c], pair);
            const float x = widen(b.x), y = widen(b.y), *sums = &d[(c * (CHUNK / 8) + j) * 4];
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int row = lane / 4 + r * 8;
                result_pair z = narrow_pair(sums[2 * r] + x, sums[2 * r + 1] + y);
#ifdef EPILOGUE
                z = narrow_pair(epilogue(widen(z.x), numbers), epilogue(widen(z.y), numbers));
#endif
                *(result_pair *)(room + row * 128 + ((byte / 16 ^ row % 8) * 16) + byte % 16) = z;
            }
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncwarp();
        if (lane == 0) {
            asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group "
                         "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(map_out),
                         "r"(shared_at(room)), "r"(p.col + c * CHUNK), "r"(row0), "r"(p.batch),
                         "r"(p.outer)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
}

#else

union results {
    uint4 all;
    result each[EACH];
};

/* All of them at once, or the first n one by one. */
static __device__ __forceinline__ void write_each(result *to, const results &y, int n)
{
    if (n < 0)
        *(uint4 *)to = y.all;
    else
#pragma unroll
        for (int u = 0; u < EACH; u++)
            if (u < n)
                to[u] = y.each[u];
}

/* A warp has 16 rows. They go through shared memory, so that whole rows are written. */
static __device__ __forceinline__ void write_rows(const float (&d)[TN / 2],
                                                  const result_pair (&add)[TN / CHUNK],
                                                  unsigned char *rooms, result *out,
                                                  const tile_place &p, int row0,
                                                  const product_sizes &g MORE_PARAMETERS)
{
    enum { WIDTH = CHUNK + EACH };
    const int lane = threadIdx.x % 32;
    result *room = (result *)rooms;
#pragma unroll
    for (int c = 0; c < TN / CHUNK; c++) {
        const int start = p.col + c * CHUNK;
#pragma unroll
        for (int j = 0; j < CHUNK / 8; j++) {
            const int pair = j * 4 + lane % 4;
            const result_pair b = pair_of(add[c], pair);
            const float x = widen(b.x), y = widen(b.y), *sums = &d[(c * (CHUNK / 8) + j) * 4];
            result_pair *to = (result_pair *)(room + lane / 4 * WIDTH) + pair;
            to[0] = narrow_pair(sums[0] + x, sums[1] + y);
            to[8 * WIDTH / 2] = narrow_pair(sums[2] + x, sums[3] + y);
        }
        __syncwarp();
#pragma unroll 1
        for (int i = 0; i < 4; i++) {
            const int row = i * 4 + lane / 8, col = start + lane % 8 * EACH;
            results y;
            y.all = *(const uint4 *)(room + row * WIDTH + lane % 8 * EACH);
            const bool inside = row0 + row < g.m && col < g.n;
            const long long at = (p.job * g.m + row0 + row) * (long long)g.n + col;
            const int n = g.aligned ? -1 : g.n - col;
#ifdef EPILOGUE
            if (g.keeps && inside)
                write_each(kept + at, y, n);
#pragma unroll
            for (int u = 0; u < EACH; u++)
                y.each[u] = narrow(epilogue(widen(y.each[u]), numbers));
#endif
            if (inside)
                write_each(out + at, y, n);
        }
        __syncwarp();
    }
}

#endif

/* The panels of all tiles of the block, one after another. */
static __device__ __forceinline__ void copy_tiles(const tensor_map *map_a, const tensor_map *map_b,
                                                  unsigned panels, unsigned full, unsigned empty,
                                                  int steps, const product_sizes &g)
{
    int at = 0;
    for (int tile = blockIdx.x; tile < g.tiles; tile += gridDim.x) {
        const tile_place p = tile_at(tile, g);
        for (int i = 0; i < steps; i++, at++) {
            const int stage = at % STAGES;
            const unsigned to = panels + (unsigned)(stage * STAGE_BYTES);
            const unsigned barrier = full + (unsigned)stage * 8;
            if (at >= STAGES)
                barrier_wait(empty + (unsigned)stage * 8, (at / STAGES - 1) & 1);
            barrier_expect(barrier, STAGE_BYTES);
            copy_panel<TM, A_K>(to, map_a, barrier, p.row, i * TILE_K, p.batch * g.a_batch,
                                p.outer * g.a_outer);
            copy_panel<TN, B_K>(to + A_BYTES, map_b, barrier, p.col, i * TILE_K,
                                p.batch * g.b_batch, p.outer * g.b_outer);
        }
    }
}

#if BOXES
#define OUT_PARAMETER const __grid_constant__ tensor_map map_out
#define OUT_ARGUMENT &map_out
#else
#define OUT_PARAMETER result *out
#define OUT_ARGUMENT out
#endif

extern "C" __global__ void __launch_bounds__(384, 1)
    product(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
            OUT_PARAMETER, const result *bias, const product_sizes g MORE_PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ __align__(8) unsigned long long barriers[2 * STAGES];
    const unsigned panels = (shared_at(shared) + 1023) & ~1023u;
    const unsigned full = shared_at(barriers), empty = full + STAGES * 8;
    const int warpgroup = threadIdx.x / 128, steps = (g.k + TILE_K - 1) / TILE_K;

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
            copy_tiles(&map_a, &map_b, panels, full, empty, steps, g);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int warp = threadIdx.x / 32 - 4;
    unsigned char *rooms = shared + (panels - shared_at(shared)) + STAGES * STAGE_BYTES;
    rooms += warp * ROOMS * ROOM_BYTES;
    int at = 0;
    for (int tile = blockIdx.x; tile < g.tiles; tile += gridDim.x, at += steps) {
        const tile_place p = tile_at(tile, g);
        float d[TN / 2];
        result_pair add[TN / CHUNK];
        read_bias(add, bias, p.col, g);
#pragma unroll
        for (int i = 0; i < TN / 2; i++)
            d[i] = 0;
        sum_tile(d, panels, full, empty, at, steps, warpgroup - 1, threadIdx.x % 128 == 0);
        write_rows(d, add, rooms, OUT_ARGUMENT, p, p.row + warp * 16, g MORE_ARGUMENTS);
    }
#if BOXES
    if (threadIdx.x % 32 == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}
