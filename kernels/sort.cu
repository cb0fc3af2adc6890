/* Template: sorts short rows in shared memory, stable: out[ROWS][KEPT] is the first KEPT of sorted in[ROWS][INNER], or their
 * indices.
 *
 * A block takes a row of up to WIDTH elements, a power of two, by a bitonic sort of key and index. Elements past the end
 * have the largest key.
 *
 * Functions before it: all of keys.cuh; place(g, row, col) and target(g, row, col), the places of elements of the input and of
 * the output. OUTPUT_OF(row, index) is the output's element. */
#ifndef EMITTED
typedef int idx;
struct sizes {
    idx rows, inner, kept;
};
#define PARAMS const float *in, float *out, sizes g
#define THREADS 256
#define WIDTH 1024
#define ROWS g.rows
#define INNER g.inner
#define KEPT g.kept
#define IN in
#define OUT out
#define OUTPUT_OF(row, index) in[place(g, row, (idx)index)]
#include "keys.cuh"
static __device__ idx place(sizes g, idx row, idx col) { return row * g.inner + col; }
static __device__ idx target(sizes g, idx row, idx col) { return row * g.kept + col; }
#endif

extern "C" __global__ void sort(PARAMS)
{
    __shared__ KEY key[WIDTH];
    __shared__ unsigned int index[WIDTH];
    for (idx row = blockIdx.x; row < ROWS; row += gridDim.x) {
        for (int i = threadIdx.x; i < WIDTH; i += THREADS) {
            key[i] = i < INNER ? (KEY)key_of(bits_of(IN[place(g, row, i)])) : (KEY)~0ull;
            index[i] = i;
        }
        __syncthreads();
        for (int size = 2; size <= WIDTH; size *= 2)
            for (int step = size / 2; step > 0; step /= 2) {
                for (int i = threadIdx.x; i < WIDTH / 2; i += THREADS) {
                    const int a = 2 * i - (i & (step - 1)), b = a + step;
                    const bool up = (a & size) == 0;
                    const KEY x = key[a], y = key[b];
                    const unsigned int j = index[a], k = index[b];
                    const bool after = x > y || (x == y && j > k);
                    if (after == up) {
                        key[a] = y;
                        key[b] = x;
                        index[a] = k;
                        index[b] = j;
                    }
                }
                __syncthreads();
            }
        for (int i = threadIdx.x; i < KEPT; i += THREADS)
            OUT[target(g, row, i)] = OUTPUT_OF(row, index[i]);
        __syncthreads();
    }
}
