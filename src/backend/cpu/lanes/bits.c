/* Random bits from counters: Philox 4x32-10 and threefry2x32 with 20 rounds (Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011). Value i of a key depends on the key and i alone.
 *
 * philox: the block number's low and high half are the counter's first words, the key's words 2 and
 * 3 its last. A block has four 32-bit values, or two of 64 bits with the low half first.
 * threefry: the counter is the index, high half first, as JAX has it by default. */
#include "backend/cpu/lanes/parts.h"

/* Counters that are worked on together. Rounds are the outer loop: the rounds of one counter wait for
 * each other, those of different counters do not. */
enum { PASS = 64, PHILOX_ROUNDS = 10 };

static void philox_round(uint32_t x[4][PASS], uint32_t k0, uint32_t k1)
{
    for (int i = 0; i < PASS; i++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * x[0][i], p1 = (uint64_t)0xCD9E8D57u * x[2][i];
        const uint32_t y0 = (uint32_t)(p1 >> 32) ^ x[1][i] ^ k0;
        const uint32_t y2 = (uint32_t)(p0 >> 32) ^ x[3][i] ^ k1;
        x[0][i] = y0;
        x[1][i] = (uint32_t)p1;
        x[2][i] = y2;
        x[3][i] = (uint32_t)p0;
    }
}

/* The four words of PASS blocks from the first on. */
static void philox(const uint32_t key[static 4], uint64_t first, uint32_t d[static 4 * PASS])
{
    uint32_t x[4][PASS];
    for (int i = 0; i < PASS; i++) {
        x[0][i] = (uint32_t)(first + (uint64_t)i);
        x[1][i] = (uint32_t)((first + (uint64_t)i) >> 32);
        x[2][i] = key[2];
        x[3][i] = key[3];
    }
    for (uint32_t r = 0; r < PHILOX_ROUNDS; r++)
        philox_round(x, key[0] + r * 0x9E3779B9u, key[1] + r * 0xBB67AE85u);
    for (int i = 0; i < PASS; i++)
        for (int j = 0; j < 4; j++)
            d[4 * i + j] = x[j][i];
}

static inline uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

/* Four rounds, then words of the key are added. */
static inline __attribute__((always_inline)) void threefry_rounds(uint32_t x[2][PASS], int t0,
                                                                  int t1, int t2, int t3,
                                                                  uint32_t k0, uint32_t k1)
{
    for (int i = 0; i < PASS; i++) {
        uint32_t a = x[0][i], b = x[1][i];
        a += b, b = rotate(b, t0) ^ a;
        a += b, b = rotate(b, t1) ^ a;
        a += b, b = rotate(b, t2) ^ a;
        a += b, b = rotate(b, t3) ^ a;
        x[0][i] = a + k0;
        x[1][i] = b + k1;
    }
}

/* Both words of PASS counters from the first on. */
static void threefry(const uint32_t key[static 2], uint64_t first, uint32_t x[2][PASS])
{
    const uint32_t k0 = key[0], k1 = key[1], k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    for (int i = 0; i < PASS; i++) {
        x[0][i] = (uint32_t)((first + (uint64_t)i) >> 32) + k0;
        x[1][i] = (uint32_t)(first + (uint64_t)i) + k1;
    }
    threefry_rounds(x, 13, 15, 26, 6, k1, k2 + 1);
    threefry_rounds(x, 17, 29, 16, 24, k2, k0 + 2);
    threefry_rounds(x, 13, 15, 26, 6, k0, k1 + 3);
    threefry_rounds(x, 17, 29, 16, 24, k1, k2 + 4);
    threefry_rounds(x, 13, 15, 26, 6, k2, k0 + 5);
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
    const int64_t each = bytes == 8 ? 2 : 4; /* values of a block */
    uint32_t w[4 * PASS];
    for (int64_t done = 0; done < n;) {
        const uint64_t index = start + (uint64_t)done;
        const int64_t skip = (int64_t)(index % (uint64_t)each), room = each * PASS - skip;
        const int64_t now = n - done < room ? n - done : room;
        philox(key, index / (uint64_t)each, w);
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
    uint32_t w[2][PASS];
    for (int64_t done = 0; done < n; done += PASS) {
        const int64_t now = n - done < PASS ? n - done : PASS;
        threefry(key, start + (uint64_t)done, w);
        if (bytes == 8) {
            for (int64_t i = 0; i < now; i++)
                ((uint64_t *)d)[done + i] = (uint64_t)w[0][i] << 32 | w[1][i];
        } else {
            for (int i = 0; i < PASS; i++)
                w[0][i] ^= w[1][i];
            narrow(to, now, (char *)d + done * bytes, w[0]);
        }
    }
}

void PART(lane_bits)(ig_dtype to, const uint32_t *key, int words, int64_t start, int64_t n, void *d)
{
    (words == 4 ? philox_bits : threefry_bits)(to, key, (uint64_t)start, n, d);
}
