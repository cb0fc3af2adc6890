/* Template: running folds along rows: out[ROWS][INNER], element i of a row is the fold of the row's elements 0 to i. The order of
 * the joins is the one that src/engine/backend/cpu/reduce/scan.c states.
 *
 *   total[ROWS][CHUNKS]     first the fold of each chunk of CHUNK elements, then the fold of the chunks before it in its range
 *   carry[ROWS][RANGES]     first the fold of each range of RANGE chunks, then the fold of the ranges before it
 *
 *   CHUNK_TOTALS    the fold of each chunk
 *   RANGE_TOTALS    total and the fold of each range
 *   RANGE_CARRIES   carry
 *   SCAN            the running folds. With CARRIED, rows have several chunks, and the launches above come before
 *
 * A block takes BLOCK_CHUNKS chunks; CHUNK_THREADS threads share one, and each of them has a block of BLOCK neighbours.
 * Elements go through shared memory, so that memory is read and written side by side. With SERIAL, a block is one thread, which takes a chunk.
 *
 * A row that is longer than a launch can reach is taken in parts: INNER and CHUNKS count the part, and RANGES the whole row.
 * A part that is not the first has LATER, and its TOTAL and CARRY begin at its first chunk.
 *
 * Functions before it: join0(x, y), identity0(), load(ARGS, row, col) and target(g, row, col), the place of an element of the
 * output. OUTPUT_OF(x) is the output's element. */
#ifndef EMITTED
/* alone: CHUNK_TOTALS | RANGE_TOTALS | RANGE_CARRIES | SCAN | SCAN CARRIED=1 | SCAN CARRIED=1 LATER=1 */
/* alone: CHUNK_TOTALS SERIAL=1 | RANGE_TOTALS SERIAL=1 | RANGE_CARRIES SERIAL=1 | SCAN SERIAL=1 | SCAN SERIAL=1 CARRIED=1 */
typedef int idx;
struct sizes {
    idx rows, inner, chunks, ranges;
};
#define PARAMS const float *in, float *totals, float *carries, float *out, sizes g
#define ARGS in, totals, carries, out, g
#define LANE float
#define THREADS 256
#define BLOCK 16
#define CHUNK 1024
#define RANGE 64
#define RANGE_THREADS 256
#define ROWS g.rows
#define INNER g.inner
#define CHUNKS g.chunks
#define RANGES g.ranges
#define TOTAL totals
#define CARRY carries
#define OUT out
#define OUTPUT_OF(x) x
static __device__ LANE join0(LANE x, LANE y) { return x + y; }
static __device__ LANE identity0() { return 0; }
static __device__ LANE load(PARAMS, idx row, idx col) { return in[row * g.inner + col]; }
static __device__ idx target(sizes g, idx row, idx col) { return row * g.inner + col; }
#endif

#define CHUNK_THREADS (CHUNK / BLOCK)
#define BLOCK_CHUNKS (THREADS / CHUNK_THREADS)
#define RUNS (RANGE_THREADS / RANGE)

#if defined CHUNK_TOTALS || defined SCAN
/* v[]: the running fold of a block, by halves. */
static __device__ void fold_block(LANE *v)
{
#pragma unroll
    for (int half = 1; half < BLOCK; half *= 2)
#pragma unroll
        for (int k = 0; k < BLOCK; k++)
            if (k & half)
                v[k] = join0(v[(k & ~(2 * half - 1)) + (half - 1)], v[k]);
}
#endif

/* ---- a block is one thread ---- */

#if SERIAL
#if defined CHUNK_TOTALS || defined SCAN
/* A chunk, block by block: `run` is the fold of the blocks before, v[] the running fold of the block at `begin`. */
#ifdef CHUNK_TOTALS
extern "C" __global__ void chunk_totals(PARAMS)
#else
extern "C" __global__ void scan(PARAMS)
#endif
{
    const idx row = blockIdx.x / CHUNKS, chunk = blockIdx.x % CHUNKS;
    const idx stop = INNER - chunk * CHUNK < CHUNK ? INNER : (chunk + 1) * CHUNK;
#if CARRIED
    LANE before = identity0();
    if (chunk > 0)
        before = join0(CARRY[row * RANGES + chunk / RANGE], TOTAL[blockIdx.x]);
#elif defined SCAN
    const LANE before = identity0();
#endif
    LANE run = identity0();
    for (idx begin = chunk * CHUNK; begin < stop; begin += BLOCK) {
        LANE v[BLOCK];
        for (int k = 0; k < BLOCK; k++)
            v[k] = begin + k < stop ? load(ARGS, row, begin + k) : identity0();
        fold_block(v);
#ifdef SCAN
        for (int k = 0; k < BLOCK && begin + k < stop; k++) {
            const LANE x = join0(before, join0(run, v[k]));
            OUT[target(g, row, begin + k)] = OUTPUT_OF(x);
        }
#endif
        run = join0(run, v[BLOCK - 1]);
    }
#ifdef CHUNK_TOTALS
    TOTAL[blockIdx.x] = run;
#endif
}
#else
/* Values of a row become the folds before each; returns the fold of all. */
static __device__ LANE run_values(LANE *values, idx first, idx end)
{
    LANE run = identity0();
    for (idx k = first; k < end; k++) {
        const LANE now = values[k];
        values[k] = run;
        run = join0(run, now);
    }
    return run;
}
#endif

#ifdef RANGE_TOTALS
extern "C" __global__ void range_totals(PARAMS)
{
    const idx row = blockIdx.x / RANGES, range = blockIdx.x % RANGES;
    const idx first = row * CHUNKS + range * RANGE;
    const idx end = CHUNKS - range * RANGE < RANGE ? (row + 1) * CHUNKS : first + RANGE;
    CARRY[blockIdx.x] = run_values(TOTAL, first, end);
}
#endif

#ifdef RANGE_CARRIES
extern "C" __global__ void range_carries(PARAMS)
{
    const idx first = (idx)blockIdx.x * RANGES, end = first + RANGES;
    run_values(CARRY, first, end);
}
#endif

/* ---- a block is many threads ---- */

#else
#if defined CHUNK_TOTALS || defined SCAN
#ifdef CHUNK_TOTALS
extern "C" __global__ void chunk_totals(PARAMS)
#else
extern "C" __global__ void scan(PARAMS)
#endif
{
#ifdef SCAN
    __shared__ LANE blocks[THREADS];
#endif
    __shared__ LANE s[THREADS * (BLOCK + 1)];
    __shared__ LANE total[THREADS];
    const int t = threadIdx.x;
    const idx first = (idx)blockIdx.x * BLOCK_CHUNKS, jobs = ROWS * CHUNKS;
    LANE v[BLOCK];
    /* The thread's block of elements, through shared memory: v[] becomes its running fold, total[] has the folds of all. */
#pragma unroll
    for (int c = 0; c < BLOCK_CHUNKS; c++) {
        const idx job = first + c, row = job / CHUNKS, begin = job % CHUNKS * CHUNK;
#pragma unroll
        for (int u = 0; u < CHUNK / THREADS; u++) {
            const idx col = begin + u * THREADS + t;
            v[c * (CHUNK / THREADS) + u] = job < jobs && col < INNER ? load(ARGS, row, col) : identity0();
        }
    }
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        const int at = u * THREADS + t;
        s[at + at / BLOCK] = v[u];
    }
    __syncthreads();
#pragma unroll
    for (int u = 0; u < BLOCK; u++)
        v[u] = s[t * (BLOCK + 1) + u];
    fold_block(v);
    total[t] = v[BLOCK - 1];
    __syncthreads();
    /* Two arrays, so that the loads need not wait for the stores. */
#ifdef CHUNK_TOTALS
    if (t < BLOCK_CHUNKS && first + t < jobs) {
        LANE run = identity0();
        const LANE *from = total + t * CHUNK_THREADS;
#pragma unroll 16
        for (int k = 0; k < CHUNK_THREADS; k++)
            run = join0(run, from[k]);
        TOTAL[first + t] = run;
    }
#else
    if (t < BLOCK_CHUNKS) {
        LANE run = identity0();
        const int at = t * CHUNK_THREADS;
#pragma unroll 16
        for (int k = 0; k < CHUNK_THREADS; k++) {
            const LANE now = total[at + k];
            blocks[at + k] = run;
            run = join0(run, now);
        }
    }
    __syncthreads();
    LANE before = identity0();
#if CARRIED
    const idx own = first + t / CHUNK_THREADS, chunk = own % CHUNKS;
#if LATER
    if (own < jobs)
#else
    if (own < jobs && chunk > 0)
#endif
        before = join0(CARRY[own / CHUNKS * RANGES + chunk / RANGE], TOTAL[own]);
#endif
#pragma unroll
    for (int k = 0; k < BLOCK; k++)
        s[t * (BLOCK + 1) + k] = join0(before, join0(blocks[t], v[k]));
    __syncthreads();
#pragma unroll
    for (int c = 0; c < BLOCK_CHUNKS; c++) {
        const idx job = first + c, row = job / CHUNKS, begin = job % CHUNKS * CHUNK;
#pragma unroll
        for (int u = 0; u < CHUNK / THREADS; u++) {
            const idx col = begin + u * THREADS + t;
            const int at = c * CHUNK + u * THREADS + t;
            const LANE x = s[at + at / BLOCK];
            if (job < jobs && col < INNER)
                OUT[target(g, row, col)] = OUTPUT_OF(x);
        }
    }
#endif
}
#endif

#ifdef RANGE_TOTALS
extern "C" __global__ void range_totals(PARAMS)
{
    __shared__ LANE s[RANGE_THREADS + RUNS];
    __shared__ LANE before[RANGE_THREADS + RUNS];
    const int t = threadIdx.x;
    const idx job = (idx)blockIdx.x * RUNS + t / RANGE, row = job / RANGES;
    const idx chunk = job % RANGES * RANGE + t % RANGE;
    const bool here = job < ROWS * RANGES && chunk < CHUNKS;
    s[t + t / RANGE] = here ? TOTAL[row * CHUNKS + chunk] : identity0();
    __syncthreads();
    if (t % RANGE == 0 && here) {
        LANE run = identity0();
        const int at = t + t / RANGE;
#pragma unroll 16
        for (int k = 0; k < RANGE; k++) {
            const LANE now = s[at + k];
            before[at + k] = run;
            run = join0(run, now);
        }
        CARRY[job] = run;
    }
    __syncthreads();
    if (here)
        TOTAL[row * CHUNKS + chunk] = before[t + t / RANGE];
}
#endif

#ifdef RANGE_CARRIES
/* A block for each row, some ranges at a time. */
extern "C" __global__ void range_carries(PARAMS)
{
    __shared__ LANE s[RANGE_THREADS], before[RANGE_THREADS];
    const int t = threadIdx.x;
    LANE run = identity0();
    for (idx first = 0; first < RANGES; first += RANGE_THREADS) {
        const idx at = (idx)blockIdx.x * RANGES + first + t;
        const bool here = first + t < RANGES;
        s[t] = here ? CARRY[at] : identity0();
        __syncthreads();
        if (t == 0) {
#pragma unroll 16
            for (int k = 0; k < RANGE_THREADS; k++) {
                const LANE now = s[k];
                before[k] = run;
                run = join0(run, now);
            }
        }
        __syncthreads();
        if (here)
            CARRY[at] = before[t];
        __syncthreads();
    }
}
#endif
#endif
