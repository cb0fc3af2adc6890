/* Template: a product of few rows: out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k], then the epilogue of each sum. in1 is
 * read once, at the speed of memory.
 *
 * A team of TEAM threads computes COLS columns of all ROWS rows. Its members take chunks of k in turn, UNROLL at a time, so that
 * many loads are in flight; then their sums are added by halving, and warp by warp. The order of a sum does not depend on ROWS.
 *
 *   without BLOCKS   a chunk is 16 bytes of each factor. LOW(u) and HIGH(u): the elements of a word as floats
 *   with BLOCKS      in1 has blocks of BLOCK_BYTES with PARTS parts of 32 elements, and a chunk is a part: CODES(b, part, w, f) loads it
 *                    (storage_codes.cuh). Each block of threads rounds the rows of in0 to 8 bits, in groups of 32 with a scale
 *
 * TILES: blocks of threads of a batch. */
#ifndef EMITTED
/* alone with warps: IS_BLOCKS=0 | IS_BLOCKS=1 */
#include "half.cuh"
#ifndef IS_BLOCKS
#define IS_BLOCKS 0
#endif
#define BLOCKS IS_BLOCKS
#define VECTOR_OF 1
#define ROWS 2
#define COLS 2
#define TEAM 64
#define THREADS 256
#define UNROLL 2
#define TILES g.tiles
#define LOW(u) bf16_to_f32((unsigned short)(u))
#define HIGH(u) bf16_to_f32((unsigned short)((u) >> 16))
#define CHUNK 8
#define BLOCK_BYTES 18
#define PARTS 1
#define CODES codes_q4_0
#define WEIGHTS ((const unsigned char *)in1)
#define WEIGHTS_FIRST 0
#define VALUES ((const unsigned short *)in0)
#define COLUMNS ((const unsigned short *)in1)
#endif
#define NUMBER 0
#include "contract_names.cuh"
#if BLOCKS
#include "storage_codes.cuh"
#define GROUPS (C(K_END) / 32)
#endif

#define WARP_TEAM (TEAM < 32 ? TEAM : 32)

#if BLOCKS
/* The rows of in0 in groups of 32: the bytes of both halves, then scale, and scale * sum of each half. */
static __device__ void round_rows(PARAMS, idx batch, int4 *codes, float4 *factors)
{
    const int groups = (int)GROUPS, total = ROWS * groups * 8;
    for (int from = 0; from < total; from += THREADS) {
        const int e = from + (int)threadIdx.x, row = e / (groups * 8), at = e % (groups * 8), quarter = at % 8;
        const bool in = e < total;
        const idx row_at = M(b)(g, batch) + (in && row < C(M_END) ? M(row)(g, row) : 0);
        float x[4], most = 0.0f, lost = 0.0f;
        for (int i = 0; i < 4; i++) {
            x[i] = in && row < C(M_END) ? M(LANE_OF)(M(LOAD_AT)(row_at + M(k)(g, 4 * at + i))) : 0.0f;
            most = fmaxf(most, fabsf(x[i]));
            lost += x[i] - x[i]; /* NaN for NaN and infinity */
        }
        for (int half = 4; half > 0; half /= 2) {
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, half));
            lost += __shfl_xor_sync(0xffffffffu, lost, half);
        }
        const float scale = most / 127.0f + lost, inverse = most > 0.0f && most < 1e38f ? 127.0f / most : 0.0f;
        int sum = 0;
        unsigned int word = 0;
        for (int i = 0; i < 4; i++) {
            const int q = __float2int_rn(x[i] * inverse);
            sum += q;
            word |= ((unsigned int)q & 255u) << 8 * i;
        }
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        const int other = __shfl_xor_sync(0xffffffffu, sum, 4);
        if (in)
            ((unsigned int *)codes)[((quarter / 4 * ROWS + row) * groups + at / 8) * 4 + quarter % 4] = word;
        if (in && quarter == 0) {
            float4 f;
            f.x = scale;
            f.y = scale * (float)sum;
            f.z = scale * (float)other;
            f.w = 0.0f;
            factors[row * groups + at / 8] = f;
        }
    }
    __syncthreads();
}

/* The sum of products of 32 elements. */
static __device__ float part_product(const int *w, const float *f, int4 x, int4 y, float4 q)
{
    const int low = __dp4a(w[3], x.w, __dp4a(w[2], x.z, __dp4a(w[1], x.y, __dp4a(w[0], x.x, 0))));
    const int high = __dp4a(w[7], y.w, __dp4a(w[6], y.z, __dp4a(w[5], y.y, __dp4a(w[4], y.x, 0))));
    return fmaf(q.x, fmaf(f[0], (float)low, f[1] * (float)high), -fmaf(f[2], q.y, f[3] * q.z));
}
#else
static __device__ float word_product(unsigned int w, unsigned int x, float sum)
{
#if CHUNK == 8
    return fmaf(HIGH(w), HIGH(x), fmaf(LOW(w), LOW(x), sum));
#else
    return fmaf(__uint_as_float(w), __uint_as_float(x), sum);
#endif
}

static __device__ float chunk_product(uint4 w, uint4 x, float sum)
{
    return word_product(w.w, x.w, word_product(w.z, x.z, word_product(w.y, x.y, word_product(w.x, x.x, sum))));
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS) contract_vector(PARAMS)
{
    __shared__ float parts[THREADS / WARP_TEAM][ROWS * COLS];
    const int t = threadIdx.x, member = t % TEAM, team = t / TEAM;
    const idx batch = blockIdx.x / TILES, first = (blockIdx.x % TILES * (THREADS / TEAM) + team) * COLS;
    float a[ROWS][COLS];
    idx at[COLS];
#pragma unroll
    for (int j = 0; j < COLS; j++) {
        at[j] = N(b)(g, batch) + (first + j < C(N_END) ? N(row)(g, first + j) : 0);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            a[i][j] = 0.0f;
    }
#if BLOCKS
    extern __shared__ uint4 panels[];
    const int groups = (int)GROUPS;
    int4 *codes = (int4 *)panels;
    float4 *factors = (float4 *)(codes + 2 * ROWS * groups);
    round_rows(ARGS, batch, codes, factors);
    for (int c0 = member; c0 < groups; c0 += TEAM * UNROLL) {
        int w[UNROLL][COLS][8];
        float f[UNROLL][COLS][4];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                const int c = c0 + u * TEAM < groups ? c0 + u * TEAM : groups - 1;
                const long long block = (WEIGHTS_FIRST + at[j]) / (32 * PARTS) + c / PARTS;
                CODES(WEIGHTS + block * BLOCK_BYTES, c % PARTS, w[u][j], f[u][j]);
            }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int c = c0 + u * TEAM;
            if (c < groups)
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    const int4 x = codes[i * groups + c], y = codes[(ROWS + i) * groups + c];
                    const float4 q = factors[i * groups + c];
#pragma unroll
                    for (int j = 0; j < COLS; j++)
                        a[i][j] += part_product(w[u][j], f[u][j], x, y, q);
                }
        }
    }
#else
    idx from[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        from[i] = M(b)(g, batch) + (i < C(M_END) ? M(row)(g, i) : 0);
    const idx chunks = C(K_END) / CHUNK;
    for (idx c0 = member; c0 < chunks; c0 += TEAM * UNROLL) {
        uint4 w[UNROLL][COLS];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                const idx c = c0 + u * TEAM < chunks ? c0 + u * TEAM : chunks - 1;
                w[u][j] = *(const uint4 *)(COLUMNS + (at[j] + c * CHUNK));
            }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const idx c = c0 + u * TEAM;
            if (c < chunks)
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    const uint4 x = *(const uint4 *)(VALUES + (from[i] + c * CHUNK));
#pragma unroll
                    for (int j = 0; j < COLS; j++)
                        a[i][j] = chunk_product(w[u][j], x, a[i][j]);
                }
        }
    }
#endif
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLS; j++) {
#pragma unroll
            for (int half = WARP_TEAM / 2; half > 0; half /= 2)
                a[i][j] += __shfl_xor_sync(0xffffffffu, a[i][j], half);
            if (t % WARP_TEAM == 0)
                parts[t / WARP_TEAM][i * COLS + j] = a[i][j];
        }
    __syncthreads();
    for (int e = member; e < ROWS * COLS; e += TEAM) {
        const int row = e / COLS;
        const idx col = first + e % COLS;
        float sum = parts[team * (TEAM / WARP_TEAM)][e];
        for (int i = 1; i < TEAM / WARP_TEAM; i++)
            sum += parts[team * (TEAM / WARP_TEAM) + i][e];
        if (row < C(M_END) && col < C(N_END))
            C(total)(ARGS, C(EXTRA_ARGS) batch * C(M_END) + row, col, sum);
    }
}
