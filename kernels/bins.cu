/* Counts of elements, row by row: count[row][k] is the number of elements of x[row][SIZE] in bin k, 0 <= k < n. A block counts
 * a part of a row in shared memory (SHARED, up to COUNT_BINS bins), and adds its counts to the counts of the row; the order does not
 * matter. The CPU has the same in src/engine/numeric/counts.c.
 *
 * Defined before it: ELEMENT, the type of elements; SHARED. */
#ifndef ELEMENT
#define ELEMENT float
#define SHARED 1
#define FLOATS 1
#endif
#define COUNT_BINS 8192
#define COUNT_EACH 4
#define COUNT_THREADS 256

#if SHARED
#define COUNT_TABLE table
#define COUNT_ROOM COUNT_BINS
#else
#define COUNT_TABLE to
#define COUNT_ROOM 1
#endif

static __device__ void count_begin(unsigned int *table, long long n)
{
#if SHARED
    for (int k = threadIdx.x; k < n; k += COUNT_THREADS)
        table[k] = 0u;
    __syncthreads();
#endif
}

static __device__ void count_end(const unsigned int *table, unsigned int *to, long long n)
{
#if SHARED
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += COUNT_THREADS)
        if (table[k] != 0u)
            atomicAdd(&to[k], table[k]);
#endif
}

/* x has integers; those outside of the bins are left out. `blocks` blocks share a row. */
extern "C" __global__ void count_index(const ELEMENT *x, unsigned int *count, long long rows, long long size, long long n,
                                       long long blocks)
{
    __shared__ unsigned int table[COUNT_ROOM];
    const long long row = blockIdx.x / blocks, part = blockIdx.x % blocks;
    if (row >= rows)
        return;
    const ELEMENT *from = x + row * size;
    unsigned int *to = count + row * n;
    count_begin(table, n);
    for (long long first = part * (COUNT_THREADS * COUNT_EACH) + threadIdx.x; first < size;
         first += blocks * (COUNT_THREADS * COUNT_EACH)) {
        long long at[COUNT_EACH];
#pragma unroll
        for (int u = 0; u < COUNT_EACH; u++) {
            const long long i = first + u * COUNT_THREADS;
            at[u] = i < size ? (long long)from[i] : -1ll;
        }
#pragma unroll
        for (int u = 0; u < COUNT_EACH; u++)
            if (at[u] >= 0 && at[u] < n)
                atomicAdd(&COUNT_TABLE[at[u]], 1u);
    }
    count_end(table, to, n);
}

#if FLOATS
/* The bin of x among n that are evenly spaced; it is corrected by one where rounding put it outside of its edges. */
static __device__ long long even_bin(ELEMENT x, const ELEMENT *edge, ELEMENT low, ELEMENT scale, long long n)
{
    const ELEMENT place = (x - low) * scale;
    const long long last = n - 1;
    const long long at = place >= (ELEMENT)last ? last : place >= (ELEMENT)0 ? (long long)place : 0;
    if (x < edge[at])
        return at > 0 ? at - 1 : 0;
    return at < last && x >= edge[at + 1] ? at + 1 : at;
}

/* Bins between n + 1 edges that are evenly spaced; scale is n over their distance. The last bin has its upper edge. */
extern "C" __global__ void count_even(const ELEMENT *x, const ELEMENT *edge, const ELEMENT *scale, unsigned int *count,
                                      long long rows, long long size, long long n, long long blocks)
{
    __shared__ unsigned int table[COUNT_ROOM];
    const long long row = blockIdx.x / blocks, part = blockIdx.x % blocks;
    if (row >= rows)
        return;
    const ELEMENT *from = x + row * size, *bound = edge + row * (n + 1);
    const ELEMENT low = bound[0], high = bound[n], by = scale[row];
    unsigned int *to = count + row * n;
    count_begin(table, n);
    for (long long first = part * (COUNT_THREADS * COUNT_EACH) + threadIdx.x; first < size;
         first += blocks * (COUNT_THREADS * COUNT_EACH)) {
        ELEMENT v[COUNT_EACH];
#pragma unroll
        for (int u = 0; u < COUNT_EACH; u++) {
            const long long i = first + u * COUNT_THREADS;
            v[u] = from[i < size ? i : size - 1];
        }
#pragma unroll
        for (int u = 0; u < COUNT_EACH; u++)
            if (first + u * COUNT_THREADS < size && v[u] >= low && v[u] <= high)
                atomicAdd(&COUNT_TABLE[even_bin(v[u], bound, low, by, n)], 1u);
    }
    count_end(table, to, n);
}
#endif
