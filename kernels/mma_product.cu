/* Products of matrices of f16 or bf16 on the tensor cores of GPUs since Ampere (sm_80), sums in f32:
 *
 *   out[b, m, n] = sum over k of a[b, m, k] * b[b, n, k] (+ bias[n])
 *
 * Rows of both operands are contiguous in k and begin at multiples of 16 bytes. A block of 8 warps computes a
 * tile of TM x TN; a warp has 64 x 32 of it. Panels of TILE_K points of k go through a ring of STAGES buffers
 * (cp.async). A panel's row is 64 bytes; its four parts of 16 bytes are exchanged by the row's number, so that
 * ldmatrix reads without bank conflicts. Elements past an edge are zeros.
 *
 * NVRTC gets this text after arguments.h, result.cuh and these definitions:
 *
 *   TYPE   "f16" or "bf16"
 *   OUT    of the result: 0 f32, 1 f16, 2 bf16
 */
enum { TM = 128, TN = 128, TILE_K = 32, STAGES = 4, THREADS = 256, PANEL = TM * 64, GROUP_M = 8 };

/* Where part `part` (16 bytes) of a row of a panel lies. */
static __device__ __forceinline__ unsigned place(int row, int part)
{
    return (unsigned)(row * 64 + ((part ^ (row >> 1 & 3)) << 4));
}

/* Starts to copy rows [row0, row0 + TM) and points [k0, k0 + TILE_K) of a matrix. */
static __device__ __forceinline__ void copy_panel(unsigned to, const unsigned short *from, int row0,
                                                  int rows, int k0, int k, long long ld)
{
#pragma unroll
    for (int i = 0; i < TM * 4 / THREADS; i++) {
        const int at = threadIdx.x + i * THREADS, row = at / 4, part = at % 4;
        const int left = (k - k0 - part * 8) * 2;
        const bool in = row0 + row < rows && left > 0;
        const int bytes = !in ? 0 : left < 16 ? left : 16;
        const unsigned short *p = in ? from + (row0 + row) * ld + k0 + part * 8 : from;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + place(row, part)),
                     "l"(p), "r"(bytes)
                     : "memory");
    }
}

static __device__ __forceinline__ void load_four(unsigned (&r)[4], unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}

static __device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                                                unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* The products of one panel: two steps of 16 points. */
static __device__ __forceinline__ void multiply_panels(float (&d)[4][4][4], unsigned a, unsigned b,
                                                       int warp_m, int warp_n)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < 2; step++) {
        unsigned x[4][4], y[2][4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            load_four(x[i], a + place(warp_m * 64 + i * 16 + lane % 16, step * 2 + lane / 16));
#pragma unroll
        for (int j = 0; j < 2; j++)
            load_four(y[j], b + place(warp_n * 32 + j * 16 + lane % 8 + lane / 16 * 8,
                                      step * 2 + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                multiply(d[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    product(const unsigned short *a, const unsigned short *b, result *out, const result *bias,
            const mma_sizes g)
{
    extern __shared__ __align__(128) unsigned char shared[];
    const unsigned panels = (unsigned)__cvta_generic_to_shared(shared);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warp_m = warp / 4, warp_n = warp % 4;
    const int tiles = g.tiles_m * g.tiles_n, job = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    const int group = tile / (GROUP_M * g.tiles_n), first_m = group * GROUP_M;
    const int high = g.tiles_m - first_m < GROUP_M ? g.tiles_m - first_m : GROUP_M;
    const int rest = tile - group * GROUP_M * g.tiles_n;
    const int row0 = (first_m + rest % high) * TM, col0 = rest / high * TN;
    const int steps = (g.k + TILE_K - 1) / TILE_K;
    float d[4][4][4] = {};
    a += job % g.batch * g.a_batch + job / g.batch * g.a_outer;
    b += job % g.batch * g.b_batch + job / g.batch * g.b_outer;
    out += (long long)job * g.m * g.n;

    for (int i = 0; i < STAGES - 1; i++) {
        if (i < steps) {
            copy_panel(panels + (unsigned)(2 * i * PANEL), a, row0, g.m, i * TILE_K, g.k, g.a_ld);
            copy_panel(panels + (unsigned)((2 * i + 1) * PANEL), b, col0, g.n, i * TILE_K, g.k,
                       g.b_ld);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int i = 0; i < steps; i++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        const int next = i + STAGES - 1;
        if (next < steps) {
            const unsigned to = panels + (unsigned)(next % STAGES * 2 * PANEL);
            copy_panel(to, a, row0, g.m, next * TILE_K, g.k, g.a_ld);
            copy_panel(to + PANEL, b, col0, g.n, next * TILE_K, g.k, g.b_ld);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        const unsigned at = panels + (unsigned)(i % STAGES * 2 * PANEL);
        multiply_panels(d, at, at + PANEL, warp_m, warp_n);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int u = 0; u < 4; u++) {
                const int row = row0 + warp_m * 64 + i * 16 + lane / 4 + u / 2 * 8;
                const int col = col0 + warp_n * 32 + j * 8 + lane % 4 * 2 + u % 2;
                if (row < g.m && col < g.n)
                    out[(long long)row * g.n + col] =
                        narrow(g.has_bias ? d[i][j][u] + widen(bias[col]) : d[i][j][u]);
            }
}
