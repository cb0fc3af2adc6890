/* Template: reductions alone: out[ROWS] folds values[ROWS][INNER] along rows, in the order of rows.cu.
 *
 *   RANGES_KERNEL   a block folds a range of RANGE chunks of a row: partial[ROWS][RANGES]
 *   JOIN_RANGES     a block joins the ranges of a row pairwise, in place
 *   ACROSS          a thread takes a row, or a chunk of it: short rows, and rows that lie across memory. Rows of several chunks give
 *                   partial[CHUNKS][ROWS]. WIDTH running values are enough; with LOOPS, more than WIDTH values exist
 *   ACROSS_SHARED   the same, with the lanes of a chunk divided among threads: COLUMNS rows and GROUPS threads for each. More loads
 *                   are on their way if there are few rows
 *   JOIN_CHUNKS     a thread joins the parts of a row pairwise: partial[PARTS][ROWS]
 *   EMPTY           rows without values
 *   FOLD            a block is one thread: it takes EACH_ROWS rows of a length up to 32 (WIDTH), a chunk, or RUN chunks of a row,
 *                   which gives partial[parts][ROWS]
 *
 * WHOLE: a thread has a whole row, so it calls result0. THREADS is the number of threads of a block. */
#ifndef EMITTED
/* alone: RANGES_KERNEL SHUFFLES=0 | JOIN_RANGES | JOIN_CHUNKS | ACROSS WHOLE=1 | ACROSS WHOLE=0 LOOPS=1 | EMPTY */
/* alone: ACROSS_SHARED WHOLE=1 | ACROSS_SHARED WHOLE=0 */
/* alone: FOLD WHOLE=1 SHORT=1 | FOLD WHOLE=1 CHUNKS_MOST=1 | FOLD WHOLE=0 CHUNKS_MOST=16 | FOLD WHOLE=0 CHUNKS_MOST=16 QUICK=1 */
/* alone with warps: RANGES_KERNEL SHUFFLES=1 */
typedef int idx;
struct sizes {
    idx rows, inner, ranges, range;
};
#define PARAMS const float *in, float *part, float *out, sizes g
#define ARGS in, part, out, g
#define THREADS 256
#define ROWS g.rows
#define RANGES g.ranges
#define RANGE g.range
#define PARTS g.ranges
#define PARTIAL part
#define RUN g.range
#define EACH_ROWS g.range
#define WIDTH 32
#define COLUMNS 32
#define GROUPS 8
#define NOTHING 0
#define ROWS_WARPS 8
#define FOLD_CHUNK 1024
#define ROW_PARAMS
#define ROW_ARGS
#define REDUCES0 1
#define INNER0 g.inner
#define TYPE0 float
#define DOWN0(x, n) __shfl_down_sync(0xffffffffu, x, n)
#if SHUFFLES
#define SHARED __shared__ float chunk0[64];
#define FOLD_PARAMS0 , float *chunk
#define FOLD_ARGS0
#define FOLD_SHARED , chunk0
#else
#define SHARED __shared__ float chunk0[64]; __shared__ float s0[256];
#define FOLD_PARAMS0 , float *chunk, float *s
#define FOLD_ARGS0 , s
#define FOLD_SHARED , chunk0, s0
#endif
static __device__ float value0(PARAMS, idx row, idx col) { return in[row * g.inner + col]; }
static __device__ float join0(float x, float y) { return x + y; }
static __device__ float identity0() { return 0; }
static __device__ void result0(PARAMS, idx row, float core) { out[row] = core; }
#define K 0
#ifdef RANGES_KERNEL
#include "rows_lanes.cuh"
#include "rows_chunks.cuh"
#elif defined FOLD && !SHORT
#include "rows_lanes.cuh"
#include "rows_serial.cuh"
#endif
#endif

#ifdef RANGES_KERNEL
extern "C" __global__ void ranges(PARAMS)
{
    SHARED
    const int chunks = (int)((INNER0 + (FOLD_CHUNK - 1)) / FOLD_CHUNK);
    for (idx job = blockIdx.x; job < ROWS * RANGES; job += gridDim.x) {
        const idx row = job / RANGES;
        const int first = (int)(job % RANGES) * (int)RANGE;
        const int here = chunks - first < (int)RANGE ? chunks - first : (int)RANGE;
        chunks0(ARGS, row, (idx)first, here FOLD_SHARED);
        if (threadIdx.x == 0)
            PARTIAL[job] = chunk0[0];
        __syncthreads();
    }
}
#endif

#ifdef JOIN_RANGES
extern "C" __global__ void join_ranges(PARAMS)
{
    for (idx row = blockIdx.x; row < ROWS; row += gridDim.x) {
        TYPE0 *v = PARTIAL + row * RANGES;
        for (idx s = 1; s < RANGES; s *= 2) {
            for (idx c = (idx)threadIdx.x * 2 * s; c + s < RANGES; c += THREADS * 2 * s)
                v[c] = join0(v[c], v[c + s]);
            __syncthreads();
        }
        if (threadIdx.x == 0)
            result0(ARGS, row, v[0]);
    }
}
#endif

#ifdef JOIN_CHUNKS
extern "C" __global__ void join_chunks(PARAMS)
{
    const idx row = (idx)blockIdx.x * THREADS + threadIdx.x;
    if (row >= ROWS)
        return;
    for (idx s = 1; s < PARTS; s *= 2)
        for (idx c = 0; c + s < PARTS; c += 2 * s)
            PARTIAL[c * ROWS + row] = join0(PARTIAL[c * ROWS + row], PARTIAL[(c + s) * ROWS + row]);
    result0(ARGS, row, PARTIAL[row]);
}
#endif

#ifdef ACROSS
extern "C" __global__ void across(PARAMS)
{
    const idx row = (idx)blockIdx.x * THREADS + threadIdx.x;
    if (row < ROWS) {
        const idx begin = (idx)blockIdx.y * FOLD_CHUNK;
        const idx end = begin + FOLD_CHUNK < INNER0 ? begin + FOLD_CHUNK : INNER0;
        TYPE0 a[WIDTH];
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            a[k] = identity0();
        idx col = begin;
#if LOOPS
        /* Without conditions, loads are not bound to their place. */
        for (; col + WIDTH <= end; col += WIDTH) {
#pragma unroll
            for (int k = 0; k < WIDTH; k++)
                a[k] = join0(a[k], value0(ARGS, row, col + k));
        }
#endif
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            if (col + k < end)
                a[k] = join0(a[k], value0(ARGS, row, col + k));
#pragma unroll
        for (int parts = 2; parts <= WIDTH; parts *= 2)
#pragma unroll
            for (int k = 0; k < WIDTH / parts; k++)
                a[k] = join0(a[k], a[k + WIDTH / parts]);
#if WHOLE
        result0(ARGS, row, a[0]);
#else
        PARTIAL[(idx)blockIdx.y * ROWS + row] = a[0];
#endif
    }
}
#endif

#ifdef ACROSS_SHARED
extern "C" __global__ void across(PARAMS)
{
    __shared__ TYPE0 lane[COLUMNS * GROUPS];
    const int at = (int)threadIdx.x, own = at / COLUMNS; /* own, own + GROUPS, ...: the lanes of this thread */
    const idx row = (idx)blockIdx.x * COLUMNS + at % COLUMNS;
    const idx begin = (idx)blockIdx.y * FOLD_CHUNK;
    const idx end = begin + FOLD_CHUNK < INNER0 ? begin + FOLD_CHUNK : INNER0;
    TYPE0 a[WIDTH / GROUPS];
#pragma unroll
    for (int k = 0; k < WIDTH / GROUPS; k++)
        a[k] = identity0();
    if (row < ROWS) {
        idx col = begin;
#pragma unroll 4
        for (; col + WIDTH <= end; col += WIDTH) {
#pragma unroll
            for (int k = 0; k < WIDTH / GROUPS; k++)
                a[k] = join0(a[k], value0(ARGS, row, col + own + k * GROUPS));
        }
#pragma unroll
        for (int k = 0; k < WIDTH / GROUPS; k++)
            if (col + own + k * GROUPS < end)
                a[k] = join0(a[k], value0(ARGS, row, col + own + k * GROUPS));
    }
#pragma unroll
    for (int parts = 2; parts <= WIDTH / GROUPS; parts *= 2)
#pragma unroll
        for (int k = 0; k < WIDTH / GROUPS / parts; k++)
            a[k] = join0(a[k], a[k + WIDTH / GROUPS / parts]);
    lane[at] = a[0];
    __syncthreads();
    for (int half = GROUPS / 2; half > 0; half /= 2) {
        if (own < half)
            lane[at] = join0(lane[at], lane[at + half * COLUMNS]);
        __syncthreads();
    }
    if (own == 0 && row < ROWS) {
#if WHOLE
        result0(ARGS, row, lane[at]);
#else
        PARTIAL[(idx)blockIdx.y * ROWS + row] = lane[at];
#endif
    }
}
#endif

#ifdef EMPTY
extern "C" __global__ void empty(PARAMS)
{
    const idx row = (idx)blockIdx.x * THREADS + threadIdx.x;
    if (row < ROWS)
        result0(ARGS, row, NOTHING);
}
#endif

#ifdef FOLD
extern "C" __global__ void fold(PARAMS)
{
    const idx first = (idx)blockIdx.x * EACH_ROWS;
    for (idx row = first; row < first + EACH_ROWS && row < ROWS; row++) {
#if SHORT
        TYPE0 a[WIDTH];
        for (int l = 0; l < WIDTH; l++)
            a[l] = l < INNER0 ? join0(identity0(), value0(ARGS, row, l)) : identity0();
        for (int half = WIDTH / 2; half > 0; half /= 2)
            for (int l = 0; l < half; l++)
                a[l] = join0(a[l], a[l + half]);
        result0(ARGS, row, a[0]);
#elif CHUNKS_MOST == 1
        result0(ARGS, row, fold0(ARGS, row, 0, 1));
#else
        const idx from = (idx)blockIdx.y * RUN;
        const idx left = (INNER0 + (FOLD_CHUNK - 1)) / FOLD_CHUNK - from;
        const int count = (int)(left < RUN ? left : RUN);
#if WHOLE
        result0(ARGS, row, fold0(ARGS, row, from, count));
#else
        PARTIAL[(idx)blockIdx.y * ROWS + row] = fold0(ARGS, row, from, count);
#endif
#endif
    }
}
#endif
