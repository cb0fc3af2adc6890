/* Elements of rows by their ranks in the order of sort, without sorting: a digit of DIGIT bits of the keys at a time, from the
 * highest. TARGETS ranks of a row are looked for at once.
 *
 *   x[row][size]                    the elements
 *   prefix[row][target]             the digits of the target's key that are known
 *   rank[row][target]               its rank among the elements with these digits
 *   count[row][target][DIGITS]      how often each next digit occurs among them. Targets that share digits share the counts of
 *                                   the first of them
 *
 *   rank_count   count
 *   rank_pick    prefix and rank with one more digit
 *   rank_value   the elements
 *
 * The CPU has the same in src/engine/numeric/ranks.c. Defined before it: ELEMENT, BITS_OF, ELEMENT_OF, KEY, KEY_SIGN; FLOATS
 * and KEY_INFINITY; TARGETS; SHARED: counts are made in shared memory. */
#ifndef ELEMENT
#define ELEMENT float
#define BITS_OF(x) __float_as_uint(x)
#define ELEMENT_OF(x) __uint_as_float(x)
#define KEY unsigned int
#define KEY_SIGN 0x80000000u
#define KEY_INFINITY 0x7f800000u
#define FLOATS 1
#define TARGETS 2
#define SHARED 1
#endif
#include "order.cuh"

#define KEY_ALL ((KEY)~(KEY)0)
#define DIGITS 2048
#define THREADS 256
#define EACH 4

static __device__ KEY key_of(ELEMENT x)
{
#if FLOATS
    return order_float<KEY>((KEY)BITS_OF(x), KEY_ALL, KEY_SIGN, KEY_INFINITY, false);
#else
    return order_integer<KEY>((KEY)BITS_OF(x), KEY_ALL, KEY_SIGN, false);
#endif
}

/* The digits of a key that are known before the digit of `width` bits at `shift`. */
static __device__ KEY known(KEY key, int shift, int width)
{
    return shift + width < (int)sizeof(KEY) * 8 ? (KEY)(key >> (shift + width)) : (KEY)0;
}

/* The first target of the row with the same digits as target t. */
static __device__ int first_like(const KEY *prefix, int t, int shift, int width)
{
    const KEY own = known(prefix[t], shift, width);
    int first = 0;
    while (known(prefix[first], shift, width) != own)
        first++;
    return first;
}

extern "C" __global__ void rank_count(const ELEMENT *x, const KEY *prefix, unsigned int *count, long long rows,
                                      long long size, long long blocks, int shift, int width, int targets)
{
#if SHARED
    __shared__ unsigned int table[TARGETS * DIGITS];
#endif
    const long long row = blockIdx.x / blocks, part = blockIdx.x % blocks;
    if (row >= rows || targets != TARGETS)
        return;
    const ELEMENT *from = x + row * size;
    const KEY *own = prefix + row * TARGETS;
    unsigned int *to = count + row * (TARGETS * DIGITS);
    const KEY mask = (KEY)(((KEY)1 << width) - (KEY)1);
    KEY want[TARGETS];
    bool counts[TARGETS];
#pragma unroll
    for (int t = 0; t < TARGETS; t++) {
        want[t] = known(own[t], shift, width);
        counts[t] = first_like(own, t, shift, width) == t;
    }
#if SHARED
    for (int k = threadIdx.x; k < TARGETS * DIGITS; k += THREADS)
        table[k] = 0u;
    __syncthreads();
#endif
    for (long long first = part * (THREADS * EACH) + threadIdx.x; first < size; first += blocks * (THREADS * EACH)) {
        ELEMENT v[EACH];
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            const long long i = first + u * THREADS;
            v[u] = from[i < size ? i : size - 1];
        }
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            const KEY key = key_of(v[u]), high = known(key, shift, width);
            const int digit = (int)(key >> shift & mask);
            if (first + u * THREADS < size) {
#pragma unroll
                for (int t = 0; t < TARGETS; t++)
                    if (counts[t] && high == want[t]) {
#if SHARED
                        atomicAdd(&table[t * DIGITS + digit], 1u);
#else
                        atomicAdd(&to[t * DIGITS + digit], 1u);
#endif
                    }
            }
        }
    }
#if SHARED
    __syncthreads();
    for (int k = threadIdx.x; k < TARGETS * DIGITS; k += THREADS)
        if (table[k] != 0u)
            atomicAdd(&to[k], table[k]);
#endif
}

/* A block's target: sets the digit in which its rank lies and the number of elements before that digit. All threads of a block
 * call it, and one of them returns true. */
static __device__ bool find_digit(const unsigned int *count, long long rank, unsigned int *sums, int *digit, long long *before)
{
    const int each = DIGITS / THREADS, t = threadIdx.x;
    unsigned int own = 0u;
    for (int k = 0; k < each; k++)
        own += count[t * each + k];
    sums[t] = own;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        const unsigned int more = t >= step ? sums[t - step] : 0u;
        __syncthreads();
        sums[t] += more;
        __syncthreads();
    }
    long long run = (long long)(sums[t] - own);
    if (rank < run || rank >= (long long)sums[t])
        return false;
    int k = t * each;
    while (rank >= run + (long long)count[k])
        run += (long long)count[k++];
    *digit = k;
    *before = run;
    return true;
}

extern "C" __global__ void rank_pick(const unsigned int *count, const KEY *prefix, const long long *rank, KEY *next_prefix,
                                     long long *next_rank, long long total, int shift, int width, int targets)
{
    __shared__ unsigned int sums[THREADS];
    const long long at = blockIdx.x, row = at / TARGETS;
    const int t = (int)(at % TARGETS);
    int digit;
    long long before;
    if (at >= total || targets != TARGETS)
        return;
    const int from = first_like(prefix + row * TARGETS, t, shift, width);
    if (find_digit(count + (row * TARGETS + from) * DIGITS, rank[at], sums, &digit, &before)) {
        next_prefix[at] = (KEY)(prefix[at] | (KEY)digit << shift);
        next_rank[at] = rank[at] - before;
    }
}

/* After the lowest digit. */
extern "C" __global__ void rank_value(const unsigned int *count, const KEY *prefix, const long long *rank, ELEMENT *y,
                                      long long total, int shift, int width, int targets)
{
    __shared__ unsigned int sums[THREADS];
    const long long at = blockIdx.x, row = at / TARGETS;
    const int t = (int)(at % TARGETS);
    int digit;
    long long before;
    if (at >= total || targets != TARGETS)
        return;
    const int from = first_like(prefix + row * TARGETS, t, shift, width);
    if (find_digit(count + (row * TARGETS + from) * DIGITS, rank[at], sums, &digit, &before)) {
        const KEY key = (KEY)(prefix[at] | (KEY)digit);
#if FLOATS
        const KEY bits = (KEY)(key == KEY_ALL ? KEY_ALL >> 1 : (key & KEY_SIGN) != (KEY)0 ? key ^ KEY_SIGN : ~key);
#else
        const KEY bits = (KEY)(key ^ KEY_SIGN);
#endif
        y[at] = ELEMENT_OF(bits);
    }
}
