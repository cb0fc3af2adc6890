/* Template: the index of the extreme of each row: out[ROWS] of values[ROWS][INNER]. The first of equal values wins, and NaN is more
 * extreme than any number.
 *
 *   EXTREMES            a block of THREADS threads takes a row, or with PARTS a range of RANGE values of it: the extreme and its
 *                       index go to value_of[ROWS][RANGES] and place_of[ROWS][RANGES]
 *   EXTREMES_BY_THREAD  a thread takes a row: many or short ones
 *   EXTREME_OF_RANGES   a thread joins the ranges of a row
 *
 * Holes: LANE, the type of values; MORE, > or <; FLOATS. Functions before it: value0(ARGS, row, col) and result0(ARGS, row, index). */
#ifndef EMITTED
/* alone: EXTREMES | EXTREMES PARTS=1 | EXTREMES_BY_THREAD | EXTREME_OF_RANGES */
typedef int idx;
struct sizes {
    idx rows, inner, ranges, range;
};
#define PARAMS const float *in, float *values, idx *places, long long *out, sizes g
#define ARGS in, values, places, out, g
#define LANE float
#define MORE >
#define FLOATS 1
#define THREADS 256
#define ROWS g.rows
#define INNER g.inner
#define RANGES g.ranges
#define RANGE g.range
#define VALUE_OF values
#define PLACE_OF places
static __device__ float value0(PARAMS, idx row, idx col) { return in[row * g.inner + col]; }
static __device__ void result0(PARAMS, idx row, long long core) { out[row] = core; }
#endif

static __device__ bool better(LANE x, LANE y)
{
#if FLOATS
    return x != x ? y == y : x MORE y;
#else
    return x MORE y;
#endif
}

#ifdef EXTREMES
extern "C" __global__ void extremes(PARAMS)
{
    __shared__ LANE value[THREADS];
    __shared__ idx place[THREADS];
    const int at = threadIdx.x;
    for (idx job = blockIdx.x; job < ROWS * RANGES; job += gridDim.x) {
        const idx row = job / RANGES, first = job % RANGES * RANGE;
        const idx end = first + RANGE < INNER ? first + RANGE : INNER;
        idx best = -1;
        LANE most = 0;
        for (idx col = first + at; col < end; col += THREADS) {
            const LANE x = value0(ARGS, row, col);
            if (best < 0 || better(x, most)) {
                best = col;
                most = x;
            }
        }
        value[at] = most;
        place[at] = best;
        __syncthreads();
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (at < half) {
                const idx other = place[at + half];
                const LANE x = value[at + half];
                if (other >= 0 && (place[at] < 0 || better(x, value[at]) ||
                                   (!better(value[at], x) && other < place[at]))) {
                    value[at] = x;
                    place[at] = other;
                }
            }
            __syncthreads();
        }
        if (at == 0) {
#if PARTS
            VALUE_OF[job] = value[0];
            PLACE_OF[job] = place[0];
#else
            result0(ARGS, row, (long long)place[0]);
#endif
        }
        __syncthreads();
    }
}
#endif

#ifdef EXTREMES_BY_THREAD
extern "C" __global__ void extremes(PARAMS)
{
    const idx row = (idx)blockIdx.x * THREADS + threadIdx.x;
    if (row >= ROWS)
        return;
    idx best = 0;
    LANE most = value0(ARGS, row, 0);
    for (idx col = 1; col < INNER; col++) {
        const LANE x = value0(ARGS, row, col);
        if (better(x, most)) {
            best = col;
            most = x;
        }
    }
    result0(ARGS, row, (long long)best);
}
#endif

#ifdef EXTREME_OF_RANGES
extern "C" __global__ void extreme_of_ranges(PARAMS)
{
    const idx row = (idx)blockIdx.x * THREADS + threadIdx.x;
    if (row >= ROWS)
        return;
    idx best = row * RANGES;
    for (idx k = best + 1; k < (row + 1) * RANGES; k++)
        if (better(VALUE_OF[k], VALUE_OF[best]))
            best = k;
    result0(ARGS, row, (long long)PLACE_OF[best]);
}
#endif
