/* Template: searches in a sorted row: out[SIZE] is where each of values[SIZE] belongs in sorted[LENGTH].
 *
 * A thread takes one value at a time. Its place is before the first element that is not less, or with RIGHT before the first
 * that is greater. STEP is the distance of neighbours of `sorted`. The steps are the CPU's (search.inc), so that rows
 * that are not sorted give the same places, too.
 *
 * Functions before it: all of keys.cuh; place(g, at, 0) and target(g, at, 0), the places of elements of values and out. */
#ifndef EMITTED
/* alone: RIGHT=0 | RIGHT=1 */
typedef int idx;
struct sizes {
    idx size, length, step;
};
#define PARAMS const float *sorted, const float *values, long long *out, sizes g
#define THREADS 256
#define SIZE g.size
#define LENGTH g.length
#define STEP g.step
#define SORTED sorted
#define VALUES values
#define OUT out
#include "keys.cuh"
static __device__ idx place(sizes g, idx row, idx col) { return row + col; }
static __device__ idx target(sizes g, idx row, idx col) { return row + col; }
#endif

#if RIGHT
#define IS_BEFORE(at) (key_of(bits_of(SORTED[(at) * STEP])) <= key)
#else
#define IS_BEFORE(at) (key_of(bits_of(SORTED[(at) * STEP])) < key)
#endif

extern "C" __global__ void search(PARAMS)
{
    for (idx at = (idx)blockIdx.x * THREADS + threadIdx.x; at < SIZE; at += (idx)gridDim.x * THREADS) {
        const KEY key = key_of(bits_of(VALUES[place(g, at, 0)]));
        idx first = 0, half;
        for (idx left = LENGTH; left > 1; left -= half) {
            half = left / 2;
            first += IS_BEFORE(first + half - 1) ? half : 0;
        }
        OUT[target(g, at, 0)] = (long long)(first + (LENGTH > 0 && IS_BEFORE(first) ? 1 : 0));
    }
}
