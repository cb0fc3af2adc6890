/* Template: a pass of a radix sort of items by rows, stable, by one digit of DIGIT_BITS bits of their keys.
 *
 *   item[row][INNER]               the items, of type ITEM, and number[row][INNER], the number of each if NUMBERS
 *   count[row][digit][TILES]       how often each digit occurs in each tile of a row
 *   total[row][digit]              how often it occurs in the row
 *
 *   RADIX_COUNT   count
 *   RADIX_SUM     count becomes the sum over the tiles before, and total
 *   RADIX_MOVE    a tile is sorted by its digit in shared memory and is written to its places: runs of one digit lie
 *                 side by side
 *
 * A block of THREADS threads takes a tile of TILE = THREADS * EACH items. RADIX_MOVE sorts it in one of two ways. With
 * VOTES, a warp takes a part of the tile, 32 items at a time, and counts their digits in counters of its own; votes tell
 * which lanes have the same digit. Without, there are two steps of STEP_BITS bits: a thread has EACH neighbouring items
 * and counts digits in counters of its own, and the running sums of all counters, by digit and then by thread, are the
 * places. With SERIAL, a block is one thread, and all three are plain loops.
 *
 * Functions before it: item_at(ARGS, row, col), digit_of(g, item), and with LAST target(g, row, col), the place of an
 * element of the output. OUTPUT_OF(bits, number) is the output's element; only the first KEPT of a row are written. */
#ifndef EMITTED
/* alone: RADIX_COUNT | RADIX_SUM | RADIX_MOVE | RADIX_MOVE LAST=1 | RADIX_MOVE FIRST=1 NUMBERS=0 */
/* alone: RADIX_COUNT SERIAL=1 | RADIX_SUM SERIAL=1 | RADIX_MOVE SERIAL=1 */
/* alone with warps: RADIX_SUM VOTES=1 | RADIX_MOVE VOTES=1 */
typedef int idx;
struct sizes {
    idx inner, tiles, kept;
};
#define PARAMS unsigned int *items, unsigned int *numbers, unsigned int *count, unsigned int *total, sizes g
#define ARGS items, numbers, count, total, g
#define ITEM unsigned int
#define INNER g.inner
#define TILES g.tiles
#define KEPT g.kept
#define COUNT count
#define TOTAL total
#define NUMBER_FROM numbers
#define ITEM_TO items
#define NUMBER_TO numbers
#define OUT items
#define OUTPUT_OF(bits, number) bits
#define THREADS 256
#define EACH 8
#define DIGIT_BITS 8
#define STEP_BITS 4
#define SUM_PARTS 16
#ifndef NUMBERS
#define NUMBERS 1
#endif
static __device__ idx target(sizes g, idx row, idx col) { return row * g.kept + col; }
static __device__ ITEM item_at(PARAMS, idx row, idx col) { return items[row * g.inner + col]; }
static __device__ unsigned int digit_of(sizes g, ITEM x) { return x & 255u; }
#endif

#define TILE (THREADS * EACH)
#define DIGITS (1 << DIGIT_BITS)
#define STEP_DIGITS (1 << STEP_BITS)
#define SUM_ROOM (THREADS + SUM_PARTS)

#if !SERIAL && (defined RADIX_SUM || defined RADIX_MOVE)
/* The sum of x of the threads before; all threads call it. s has SUM_ROOM elements. */
static __device__ unsigned int before(unsigned int x, unsigned int *s)
{
#if VOTES
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned int sum = x;
    for (int step = 1; step < 32; step *= 2) {
        const unsigned int y = __shfl_up_sync(0xffffffffu, sum, step);
        sum += lane >= step ? y : 0u;
    }
    if (lane == 31)
        s[warp] = sum;
    __syncthreads();
    unsigned int all = 0;
#pragma unroll
    for (int k = 0; k < THREADS / 32 - 1; k++)
        all += k < warp ? s[k] : 0u;
    __syncthreads();
    return all + sum - x;
#else
    const int t = threadIdx.x;
    s[t] = x;
    __syncthreads();
    if (t < SUM_PARTS) {
        unsigned int run = 0;
        for (int k = t * (THREADS / SUM_PARTS); k < (t + 1) * (THREADS / SUM_PARTS); k++) {
            const unsigned int now = s[k];
            s[k] = run;
            run += now;
        }
        s[THREADS + t] = run;
    }
    __syncthreads();
    unsigned int sum = s[t];
    for (int k = 0; k < t / (THREADS / SUM_PARTS); k++)
        sum += s[THREADS + k];
    __syncthreads();
    return sum;
#endif
}
#endif

#ifdef RADIX_COUNT
extern "C" __global__ void radix_count(PARAMS)
{
    const idx row = blockIdx.x / TILES, tile = blockIdx.x % TILES;
#if SERIAL
    unsigned int n[DIGITS];
    for (int d = 0; d < DIGITS; d++)
        n[d] = 0;
    for (idx col = tile * TILE; col < INNER && col < (tile + 1) * TILE; col++)
        n[digit_of(g, item_at(ARGS, row, col))]++;
    for (int d = 0; d < DIGITS; d++)
        COUNT[(row * DIGITS + d) * TILES + tile] = n[d];
#else
    /* Neighbours are often equal, so a thread counts runs. */
    __shared__ unsigned int n[DIGITS];
    const int t = threadIdx.x;
    const idx first = tile * TILE + t;
    ITEM x[EACH];
    unsigned int now = 0, run = 0;
    n[t] = 0;
    __syncthreads();
#pragma unroll
    for (int u = 0; u < EACH; u++)
        x[u] = first + u * THREADS < INNER ? item_at(ARGS, row, first + u * THREADS) : (ITEM)0;
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        if (first + u * THREADS < INNER) {
            const unsigned int digit = digit_of(g, x[u]);
            if (digit != now && run) {
                atomicAdd(&n[now], run);
                run = 0;
            }
            now = digit;
            run++;
        }
    }
    if (run)
        atomicAdd(&n[now], run);
    __syncthreads();
    COUNT[(row * DIGITS + t) * TILES + tile] = n[t];
#endif
}
#endif

#ifdef RADIX_SUM
#if SERIAL
/* Counts of a row become places, digit by digit and tile by tile. */
extern "C" __global__ void radix_sum(PARAMS)
{
    const idx all = DIGITS * TILES;
    unsigned int *n = COUNT + (idx)blockIdx.x * all, sum = 0;
    for (idx k = 0; k < all; k++) {
        const unsigned int now = n[k];
        n[k] = sum;
        sum += now;
    }
}
#else
/* A block for each row and digit; a thread has SUM_EACH neighbours. */
#define SUM_EACH 4
extern "C" __global__ void radix_sum(PARAMS)
{
    __shared__ unsigned int s[SUM_ROOM];
    __shared__ unsigned int end;
    unsigned int *n = COUNT + (idx)blockIdx.x * TILES;
    unsigned int sum = 0;
    for (idx first = 0; first < TILES; first += THREADS * SUM_EACH) {
        const idx at = first + (idx)threadIdx.x * SUM_EACH;
        unsigned int x[SUM_EACH], own = 0;
#pragma unroll
        for (int u = 0; u < SUM_EACH; u++) {
            x[u] = at + u < TILES ? n[at + u] : 0u;
            own += x[u];
        }
        unsigned int run = sum + before(own, s);
        if (threadIdx.x == THREADS - 1)
            end = run + own;
#pragma unroll
        for (int u = 0; u < SUM_EACH; u++) {
            if (at + u < TILES)
                n[at + u] = run;
            run += x[u];
        }
        __syncthreads();
        sum = end;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        TOTAL[blockIdx.x] = sum;
}
#endif
#endif

#ifdef RADIX_MOVE
/* Writes an item to place `to` of its row. */
static __device__ void put(PARAMS, idx row, idx to, ITEM bits, unsigned int number)
{
#if LAST
    if (to < KEPT)
        OUT[target(g, row, to)] = OUTPUT_OF(bits, number);
#else
    ITEM_TO[row * INNER + to] = bits;
#if NUMBERS
    NUMBER_TO[row * INNER + to] = number;
#endif
#endif
}

#if NUMBERS
/* The number of an item, if it is one. The first pass gives them out. */
static __device__ unsigned int number_at(PARAMS, idx row, idx col, bool is)
{
#if FIRST
    return (unsigned int)col;
#else
    return is ? NUMBER_FROM[row * INNER + col] : 0u;
#endif
}
#endif

#if SERIAL
extern "C" __global__ void radix_move(PARAMS)
{
    unsigned int n[DIGITS];
    const idx row = blockIdx.x / TILES, tile = blockIdx.x % TILES;
    for (int d = 0; d < DIGITS; d++)
        n[d] = COUNT[(row * DIGITS + d) * TILES + tile];
    for (idx col = tile * TILE; col < INNER && col < (tile + 1) * TILE; col++) {
        const ITEM bits = item_at(ARGS, row, col);
        const idx to = (idx)n[digit_of(g, bits)]++;
#if NUMBERS
        put(ARGS, row, to, bits, number_at(ARGS, row, col, true));
#else
        put(ARGS, row, to, bits, 0u);
#endif
    }
}
#else
#if VOTES
#define AT(j) (j)
#else
#define AT(j) ((j) + (j) / EACH) /* an item of padding for each thread */
#endif
extern "C" __global__ void radix_move(PARAMS)
{
    __shared__ ITEM item[AT(TILE)];
    __shared__ unsigned int s[SUM_ROOM], base[DIGITS];
    const int t = threadIdx.x;
    ITEM x[EACH];
    int rank[EACH];
    unsigned int own;
    const idx row = blockIdx.x / TILES, tile = blockIdx.x % TILES;
    const idx first = tile * TILE;
    const int here = INNER - first < TILE ? (int)(INNER - first) : TILE;
#if NUMBERS
    __shared__ unsigned int number[AT(TILE)];
    unsigned int y[EACH];
#endif
    /* The tile is sorted in shared memory; base[digit] plus the place in the tile is the place in the row. */
#if VOTES
    __shared__ unsigned short n[THREADS / 32][DIGITS];
    const int lane = t & 31, warp = t >> 5, part = warp * (32 * EACH);
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const int j = part + u * 32 + lane;
        x[u] = j < here ? item_at(ARGS, row, first + j) : (ITEM)0;
#if NUMBERS
        y[u] = number_at(ARGS, row, first + j, j < here);
#endif
    }
#pragma unroll
    for (int k = 0; k < THREADS / 32; k++)
        n[k][t] = 0;
    __syncthreads();
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const unsigned int d = part + u * 32 + lane < here ? digit_of(g, x[u]) : DIGITS - 1u;
        unsigned int peers = 0xffffffffu;
#pragma unroll
        for (int b = 0; b < DIGIT_BITS; b++) {
            const unsigned int with = __ballot_sync(0xffffffffu, (int)(d >> b & 1u));
            peers &= d >> b & 1u ? with : ~with;
        }
        const unsigned int before_me = peers & ((1u << lane) - 1u);
        const unsigned int seen = n[warp][d];
        __syncwarp();
        if (before_me == 0u)
            n[warp][d] = (unsigned short)(seen + __popc(peers));
        __syncwarp();
        rank[u] = (int)(d << 16 | (seen + __popc(before_me)));
    }
    __syncthreads();
    own = 0;
#pragma unroll
    for (int k = 0; k < THREADS / 32; k++) {
        const unsigned int now = n[k][t];
        n[k][t] = (unsigned short)own;
        own += now;
    }
    const unsigned int start = before(own, s);
    base[t] = start;
    __syncthreads();
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const int d = (int)((unsigned int)rank[u] >> 16);
        const int to = (int)base[d] + n[warp][d] + (rank[u] & 0xffff);
        item[to] = x[u];
#if NUMBERS
        number[to] = y[u];
#endif
    }
    own = before(TOTAL[row * DIGITS + t], s) + COUNT[(row * DIGITS + t) * TILES + tile];
    base[t] = own - start;
    __syncthreads();
#else
    __shared__ unsigned short n[STEP_DIGITS * THREADS];
    int place[EACH];
    base[t] = 0;
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const int j = u * THREADS + t;
        item[AT(j)] = j < here ? item_at(ARGS, row, first + j) : (ITEM)0;
#if NUMBERS
        number[AT(j)] = number_at(ARGS, row, first + j, j < here);
#endif
    }
    __syncthreads();
#pragma unroll
    for (int shift = 0; shift < DIGIT_BITS; shift += STEP_BITS) {
        /* The thread's items: neighbours. */
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            const int at = t * EACH + u;
            x[u] = item[AT(at)];
#if NUMBERS
            y[u] = number[AT(at)];
#endif
        }
#pragma unroll
        for (int d = 0; d < STEP_DIGITS; d++)
            n[d * THREADS + t] = 0;
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            const unsigned int digit = t * EACH + u < here ? digit_of(g, x[u]) : DIGITS - 1u;
            const unsigned int d = digit >> shift & (STEP_DIGITS - 1u);
            place[u] = (int)(d * THREADS + t);
            rank[u] = n[place[u]];
            n[place[u]] = (unsigned short)(rank[u] + 1);
        }
        __syncthreads();
        own = 0;
#pragma unroll
        for (int k = 0; k < STEP_DIGITS; k++)
            own += n[t * STEP_DIGITS + k];
        own = before(own, s);
#pragma unroll
        for (int k = 0; k < STEP_DIGITS; k++) {
            const unsigned int now = n[t * STEP_DIGITS + k];
            n[t * STEP_DIGITS + k] = (unsigned short)own;
            own += now;
        }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            const int to = n[place[u]] + rank[u];
            item[AT(to)] = x[u];
#if NUMBERS
            number[AT(to)] = y[u];
#endif
        }
        __syncthreads();
    }
    own = before(TOTAL[row * DIGITS + t], s) + COUNT[(row * DIGITS + t) * TILES + tile];
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const int j = u * THREADS + t, k = j - 1;
        if (j < here) {
            const unsigned int d = digit_of(g, item[AT(j)]);
            if (j == 0 || digit_of(g, item[AT(k)]) != d)
                base[d] = (unsigned int)j;
        }
    }
    __syncthreads();
    base[t] = own - base[t];
    __syncthreads();
#endif
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const int j = u * THREADS + t;
        if (j >= here)
            break;
        const ITEM bits = item[AT(j)];
        const idx to = (idx)(base[digit_of(g, bits)] + (unsigned int)j);
#if NUMBERS
        put(ARGS, row, to, bits, number[AT(j)]);
#else
        put(ARGS, row, to, bits, 0u);
#endif
    }
}
#endif
#endif
