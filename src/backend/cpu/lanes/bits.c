/* Random bits from counters: Philox 4x32-10 and threefry2x32 with 20 rounds (Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011). Value i of a key depends on the key and i alone.
 *
 * philox: the block number's low and high half are the counter's first words, the key's words 2 and
 * 3 its last. A block has four 32-bit values, or two of 64 bits with the low half first.
 * threefry: the counter is the index, high half first, as JAX has it by default. */
#include "backend/cpu/lanes/parts.h"

enum { PHILOX_ROUNDS = 10, BITS_PASS = 64 /* counters worked on together */ };

static inline void philox(uint32_t x[static 4], uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * x[0], p1 = (uint64_t)0xCD9E8D57u * x[2];
        const uint32_t y0 = (uint32_t)(p1 >> 32) ^ x[1] ^ k0;
        const uint32_t y2 = (uint32_t)(p0 >> 32) ^ x[3] ^ k1;
        x[0] = y0;
        x[1] = (uint32_t)p1;
        x[2] = y2;
        x[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* The four words of `blocks` blocks from the first on. */
static void philox_words(const uint32_t key[4], uint64_t first, int64_t blocks, uint32_t *d)
{
    LANE_LOOP for (int64_t i = 0; i < blocks; i++)
    {
        const uint64_t block = first + (uint64_t)i;
        uint32_t x[4] = {(uint32_t)block, (uint32_t)(block >> 32), key[2], key[3]};
        philox(x, key[0], key[1]);
        d[4 * i] = x[0];
        d[4 * i + 1] = x[1];
        d[4 * i + 2] = x[2];
        d[4 * i + 3] = x[3];
    }
}

static inline uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

static inline void threefry_turn(uint32_t x[static 2], int by)
{
    x[0] += x[1];
    x[1] = rotate(x[1], by) ^ x[0];
}

/* Four rounds, then the next words of the key. */
static inline void threefry_even(uint32_t x[static 2], uint32_t add0, uint32_t add1)
{
    threefry_turn(x, 13);
    threefry_turn(x, 15);
    threefry_turn(x, 26);
    threefry_turn(x, 6);
    x[0] += add0;
    x[1] += add1;
}

static inline void threefry_odd(uint32_t x[static 2], uint32_t add0, uint32_t add1)
{
    threefry_turn(x, 17);
    threefry_turn(x, 29);
    threefry_turn(x, 16);
    threefry_turn(x, 24);
    x[0] += add0;
    x[1] += add1;
}

static inline void threefry(uint32_t x[static 2], uint32_t k0, uint32_t k1)
{
    const uint32_t k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    x[0] += k0;
    x[1] += k1;
    threefry_even(x, k1, k2 + 1);
    threefry_odd(x, k2, k0 + 2);
    threefry_even(x, k0, k1 + 3);
    threefry_odd(x, k1, k2 + 4);
    threefry_even(x, k2, k0 + 5);
}

static void threefry_words(const uint32_t key[2], uint64_t first, int64_t n, uint32_t *d)
{
    LANE_LOOP for (int64_t i = 0; i < n; i++)
    {
        const uint64_t index = first + (uint64_t)i;
        uint32_t x[2] = {(uint32_t)(index >> 32), (uint32_t)index};
        threefry(x, key[0], key[1]);
        d[2 * i] = x[0];
        d[2 * i + 1] = x[1];
    }
}

/* ---- from words to values: d[i] from w ---- */

static void narrow(ig_dtype to, int64_t n, void *d, const uint32_t *w)
{
    if (to == IG_U32)
        memcpy(d, w, (size_t)n * sizeof *w);
    else if (to == IG_U16)
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)d)[i] = (uint16_t)w[i];
    else
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)d)[i] = (uint8_t)w[i];
}

static void philox_bits(ig_dtype to, const uint32_t *key, uint64_t start, int64_t n, void *d)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(to);
    const uint64_t each = bytes == 8 ? 2 : 4; /* values of a block */
    uint32_t w[4 * BITS_PASS];
    for (int64_t done = 0; done < n;) {
        const uint64_t index = start + (uint64_t)done;
        const int64_t skip = (int64_t)(index % each), room = (int64_t)each * BITS_PASS - skip;
        const int64_t now = n - done < room ? n - done : room;
        philox_words(key, index / each, (skip + now + (int64_t)each - 1) / (int64_t)each, w);
        if (bytes == 8)
            for (int64_t i = 0; i < now; i++)
                ((uint64_t *)d)[done + i] =
                    (uint64_t)w[2 * (skip + i) + 1] << 32 | w[2 * (skip + i)];
        else
            narrow(to, now, (char *)d + done * bytes, w + skip);
        done += now;
    }
}

static void threefry_bits(ig_dtype to, const uint32_t *key, uint64_t start, int64_t n, void *d)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(to);
    uint32_t w[2 * BITS_PASS], both[BITS_PASS];
    for (int64_t done = 0; done < n;) {
        const int64_t now = n - done < BITS_PASS ? n - done : BITS_PASS;
        threefry_words(key, start + (uint64_t)done, now, w);
        if (bytes == 8) {
            for (int64_t i = 0; i < now; i++)
                ((uint64_t *)d)[done + i] = (uint64_t)w[2 * i] << 32 | w[2 * i + 1];
        } else {
            for (int64_t i = 0; i < now; i++)
                both[i] = w[2 * i] ^ w[2 * i + 1];
            narrow(to, now, (char *)d + done * bytes, both);
        }
        done += now;
    }
}

void PART(lane_bits)(ig_dtype to, const uint32_t *key, int words, int64_t start, int64_t n, void *d)
{
    (words == 4 ? philox_bits : threefry_bits)(to, key, (uint64_t)start, n, d);
}
