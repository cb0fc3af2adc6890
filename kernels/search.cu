/* Template: searches in a sorted row: out[SIZE] is where each of values[SIZE] belongs in sorted[LENGTH].
 *
 * A thread takes one value at a time. Its place is before the first element that is not less, or with RIGHT before the first
 * that is greater. STEP is the distance of neighbours of `sorted`.
 *
 * Functions before it: those of keys.cuh; place(g, at, 0) and target(g, at, 0), the places of elements of values and out. */
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

extern "C" __global__ void search(PARAMS)
{
    for (idx at = (idx)blockIdx.x * THREADS + threadIdx.x; at < SIZE; at += (idx)gridDim.x * THREADS) {
        const KEY key = key_of(bits_of(VALUES[place(g, at, 0)]));
        idx low = 0, high = LENGTH;
        while (low < high) {
            const idx middle = low + (high - low) / 2;
            const KEY here = key_of(bits_of(SORTED[middle * STEP]));
#if RIGHT
            if (here <= key)
#else
            if (here < key)
#endif
                low = middle + 1;
            else
                high = middle;
        }
        OUT[target(g, at, 0)] = (long long)low;
    }
}
