/* Random bits from counters: Philox 4x32-10 and threefry2x32 with 20 rounds (Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011). Value i of a key depends on the key and i alone.
 *
 * A key's words are `step` elements apart. A Philox block has four values of 32 bits, or two of 64 with the
 * low half first. The counter of threefry is the index, high half first. */

struct philox_block {
    unsigned int x[4];
};

__device__ philox_block philox(const unsigned int *key, int step, unsigned long long block)
{
    unsigned int x0 = (unsigned int)block, x1 = (unsigned int)(block >> 32);
    unsigned int x2 = key[2 * step], x3 = key[3 * step], k0 = key[0], k1 = key[step];
    for (int r = 0; r < 10; r++) {
        const unsigned int high0 = __umulhi(x0, 0xD2511F53u), low0 = x0 * 0xD2511F53u;
        const unsigned int high1 = __umulhi(x2, 0xCD9E8D57u), low1 = x2 * 0xCD9E8D57u;
        x0 = high1 ^ x1 ^ k0;
        x1 = low1;
        x2 = high0 ^ x3 ^ k1;
        x3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    philox_block b;
    b.x[0] = x0;
    b.x[1] = x1;
    b.x[2] = x2;
    b.x[3] = x3;
    return b;
}

__device__ unsigned int philox_u32(const unsigned int *key, int step, unsigned long long i)
{
    const philox_block b = philox(key, step, i >> 2);
    const unsigned int low = i & 1ull ? b.x[1] : b.x[0], high = i & 1ull ? b.x[3] : b.x[2];
    return i & 2ull ? high : low;
}

__device__ unsigned long long philox_u64(const unsigned int *key, int step, unsigned long long i)
{
    const philox_block b = philox(key, step, i >> 1);
    return i & 1ull ? b.x[2] | (unsigned long long)b.x[3] << 32 : b.x[0] | (unsigned long long)b.x[1] << 32;
}

/* The block of value i, a multiple of 4, and of the three values after it. */
__device__ philox_block philox_four(const unsigned int *key, int step, unsigned long long i)
{
    return philox(key, step, i >> 2);
}

/* Values i, i + 32, i + 64 and i + 96 of a lane. Lane k of a warp has i = i0 + k, i0 a multiple of 4, so four lanes share
 * four blocks. Each computes one of them, then they exchange words. */
__device__ philox_block philox_lanes(const unsigned int *key, int step, unsigned long long i)
{
    const unsigned int lane = threadIdx.x & 3u;
    const bool odd = (lane & 1u) != 0u, high = (lane & 2u) != 0u;
    const philox_block b = philox(key, step, (i + 32u * lane) >> 2);
    const unsigned int p = __shfl_xor_sync(0xffffffffu, odd ? b.x[0] : b.x[1], 1);
    const unsigned int q = __shfl_xor_sync(0xffffffffu, odd ? b.x[2] : b.x[3], 1);
    const unsigned int x0 = odd ? p : b.x[0], x1 = odd ? b.x[1] : p;
    const unsigned int x2 = odd ? q : b.x[2], x3 = odd ? b.x[3] : q;
    const unsigned int r = __shfl_xor_sync(0xffffffffu, high ? x0 : x2, 2);
    const unsigned int s = __shfl_xor_sync(0xffffffffu, high ? x1 : x3, 2);
    philox_block c;
    c.x[0] = high ? r : x0;
    c.x[1] = high ? s : x1;
    c.x[2] = high ? x2 : r;
    c.x[3] = high ? x3 : s;
    return c;
}

__device__ unsigned int turn_left(unsigned int x, int n) { return x << n | x >> (32 - n); }

__device__ unsigned long long threefry(const unsigned int *key, int step, unsigned long long i)
{
    const unsigned int k0 = key[0], k1 = key[step], k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    unsigned int x = (unsigned int)(i >> 32) + k0, y = (unsigned int)i + k1;
    for (unsigned int r = 0; r < 5u; r++) {
        const bool even = (r & 1u) == 0u;
        const int t0 = even ? 13 : 17, t1 = even ? 15 : 29, t2 = even ? 26 : 16, t3 = even ? 6 : 24;
        x += y;
        y = turn_left(y, t0) ^ x;
        x += y;
        y = turn_left(y, t1) ^ x;
        x += y;
        y = turn_left(y, t2) ^ x;
        x += y;
        y = turn_left(y, t3) ^ x;
        const unsigned int a = r % 3u == 0u ? k1 : r % 3u == 1u ? k2 : k0;
        const unsigned int b = r % 3u == 0u ? k2 : r % 3u == 1u ? k0 : k1;
        x += a;
        y += b + r + 1u;
    }
    return (unsigned long long)x << 32 | y;
}

__device__ unsigned int threefry_u32(const unsigned int *key, int step, unsigned long long i)
{
    const unsigned long long both = threefry(key, step, i);
    return (unsigned int)(both >> 32) ^ (unsigned int)both;
}

__device__ unsigned long long threefry_u64(const unsigned int *key, int step, unsigned long long i)
{
    return threefry(key, step, i);
}
