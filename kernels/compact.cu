/* The positions of the true elements of mask[size], in order. A block takes a tile of TILE elements.
 *
 *   compact_count   count[tile]: how many are true
 *   compact_put     writes the positions; begin[tile] is the number of those in the tiles before
 *
 * The CPU has the same in src/engine/numeric/positions.c. */
#define THREADS 256
#define EACH 16
#define TILE (THREADS * EACH)

/* A thread has EACH neighbours. */
static __device__ unsigned int own_count(const bool *mask, long long first, long long size)
{
    unsigned int n = 0u;
#pragma unroll
    for (int u = 0; u < EACH; u++)
        n += first + u < size && mask[first + u] ? 1u : 0u;
    return n;
}

extern "C" __global__ void compact_count(const bool *mask, unsigned int *count, long long size)
{
    __shared__ unsigned int sums[THREADS];
    const int t = threadIdx.x;
    sums[t] = own_count(mask, (long long)blockIdx.x * TILE + t * EACH, size);
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half)
            sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0)
        count[blockIdx.x] = sums[0];
}

extern "C" __global__ void compact_put(const bool *mask, const long long *begin, long long *place, long long size)
{
    __shared__ unsigned int sums[THREADS];
    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * TILE + t * EACH;
    const unsigned int own = own_count(mask, first, size);
    sums[t] = own;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        const unsigned int more = t >= step ? sums[t - step] : 0u;
        __syncthreads();
        sums[t] += more;
        __syncthreads();
    }
    long long to = begin[blockIdx.x] + (long long)(sums[t] - own);
#pragma unroll
    for (int u = 0; u < EACH; u++)
        if (first + u < size && mask[first + u])
            place[to++] = first + u;
}
