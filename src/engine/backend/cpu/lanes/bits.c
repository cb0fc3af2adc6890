/* Random bits from counters: Philox 4x32-10 and threefry2x32 with 20 rounds (Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011). Value i of a key depends only on the key and i.
 *
 * philox: the block number's low and high half are the counter's first words, the key's words 2 and
 * 3 its last. A block has four 32-bit values, or two of 64 bits with the low half first.
 * threefry: the counter is the index, high half first, as JAX has it by default. */
#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/simd.h"

/* The number of counters that are computed together: the rounds of one counter depend on each other, different counters
 * are independent. */
enum {
    LANES = sizeof(simd_u32) / sizeof(uint32_t),
    REGISTERS = 4, /* of each word */
    PASS = LANES * REGISTERS,
    PHILOX_ROUNDS = 10
};

/* Word w of consecutive counters, starting at `first`: its low (0) or high (1) half. */
static inline void count(simd_u32 x[static REGISTERS], uint64_t first, int high)
{
    uint32_t words[PASS];
    for (int i = 0; i < PASS; i++)
        words[i] = (uint32_t)((first + (uint64_t)i) >> 32 * high);
    memcpy(x, words, sizeof words);
}

/* The four words of PASS consecutive blocks, starting at `first`. */
static void philox(const uint32_t key[static 4], uint64_t first, uint32_t d[static 4 * PASS])
{
    simd_u32 x0[REGISTERS], x1[REGISTERS], x2[REGISTERS], x3[REGISTERS];
    uint32_t k0 = key[0], k1 = key[1];
    count(x0, first, 0);
    count(x1, first, 1);
    for (int j = 0; j < REGISTERS; j++) {
        x2[j] = (simd_u32){0} + key[2];
        x3[j] = (simd_u32){0} + key[3];
    }
    for (int r = 0; r < PHILOX_ROUNDS; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        SIMD_UNROLL_4 for (int j = 0; j < REGISTERS; j++)
        {
            simd_u32 low0, low1;
            const simd_u32 high0 = simd_multiply_wide(x0[j], 0xD2511F53u, &low0);
            const simd_u32 high1 = simd_multiply_wide(x2[j], 0xCD9E8D57u, &low1);
            x0[j] = high1 ^ (x1[j] ^ k0);
            x1[j] = low1;
            x2[j] = high0 ^ (x3[j] ^ k1);
            x3[j] = low0;
        }
    }
    SIMD_UNROLL_4 for (int j = 0; j < REGISTERS; j++)
        simd_keep_by_turns(d + 4 * LANES * j, x0[j], x1[j], x2[j], x3[j]);
}

/* Four rounds, then words of the key are added. */
static inline __attribute__((always_inline)) void threefry_rounds(simd_u32 x[2][REGISTERS], int t0,
                                                                  int t1, int t2, int t3,
                                                                  uint32_t k0, uint32_t k1)
{
    const int turns[4] = {t0, t1, t2, t3};
    SIMD_UNROLL_4 for (int t = 0; t < 4; t++)
    {
        SIMD_UNROLL_4 for (int j = 0; j < REGISTERS; j++)
        {
            x[0][j] += x[1][j];
            x[1][j] = (x[1][j] << turns[t] | x[1][j] >> (32 - turns[t])) ^ x[0][j];
        }
    }
    SIMD_UNROLL_4 for (int j = 0; j < REGISTERS; j++)
    {
        x[0][j] += k0;
        x[1][j] += k1;
    }
}

/* Both words of PASS consecutive counters, starting at `first`. */
static void threefry(const uint32_t key[static 2], uint64_t first, uint32_t w[2][PASS])
{
    const uint32_t k0 = key[0], k1 = key[1], k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    simd_u32 x[2][REGISTERS];
    count(x[0], first, 1);
    count(x[1], first, 0);
    for (int j = 0; j < REGISTERS; j++) {
        x[0][j] += k0;
        x[1][j] += k1;
    }
    threefry_rounds(x, 13, 15, 26, 6, k1, k2 + 1);
    threefry_rounds(x, 17, 29, 16, 24, k2, k0 + 2);
    threefry_rounds(x, 13, 15, 26, 6, k0, k1 + 3);
    threefry_rounds(x, 17, 29, 16, 24, k1, k2 + 4);
    threefry_rounds(x, 13, 15, 26, 6, k2, k0 + 5);
    memcpy(w, x, sizeof x);
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

/* Words [skip, skip + n) of consecutive blocks, starting at `first`; n fits in one pass. */
static void philox_words(const uint32_t *key, uint64_t first, int64_t skip, int64_t n, void *d)
{
    uint32_t w[4 * PASS];
    philox(key, first, w);
    memcpy(d, w + skip, (size_t)n * sizeof *w);
}

/* A 64-bit value is two words as in memory, the low word first. */
static void philox_bits(ig_dtype to, const uint32_t *key, uint64_t start, int64_t n, void *d)
{
    const uint64_t wide = ig_dtype_bytes(to) == 8 ? 2 : 1; /* words of a value */
    const int64_t words = n * (int64_t)wide;
    const bool narrows = ig_dtype_bytes(to) < sizeof(uint32_t);
    uint32_t w[4 * PASS];
    for (int64_t done = 0; done < words;) {
        const uint64_t word = (start * wide) + (uint64_t)done;
        const int64_t skip = (int64_t)(word % 4), room = 4 * PASS - skip;
        const int64_t now = words - done < room ? words - done : room;
        uint32_t *at = narrows ? w : (uint32_t *)d + done;
        if (now == 4 * PASS)
            philox(key, word / 4, at);
        else
            philox_words(key, word / 4, skip, now, at);
        if (narrows)
            narrow(to, now, (char *)d + done * (int64_t)ig_dtype_bytes(to), w);
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
