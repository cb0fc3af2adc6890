/* Random arrays. Bits follow the definitions of the generators (Salmon et al., SC 2011). Other draws follow their
 * formulas from the bits. Keys are ordinary inputs, in all layouts. */
#include "verify/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- generators ---- */

static void philox(const uint32_t key[4], uint64_t block, uint32_t x[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    x[0] = (uint32_t)block;
    x[1] = (uint32_t)(block >> 32);
    x[2] = key[2];
    x[3] = key[3];
    for (int r = 0; r < 10; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const uint64_t p = (uint64_t)0xD2511F53u * x[0], q = (uint64_t)0xCD9E8D57u * x[2];
        const uint32_t y[] = {(uint32_t)(q >> 32) ^ x[1] ^ k0, (uint32_t)q,
                              (uint32_t)(p >> 32) ^ x[3] ^ k1, (uint32_t)p};
        memcpy(x, y, sizeof y);
    }
}

static void threefry(const uint32_t key[2], uint64_t counter, uint32_t x[2])
{
    static const int turns[] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
    x[0] = (uint32_t)(counter >> 32) + k[0];
    x[1] = (uint32_t)counter + k[1];
    for (int r = 0; r < 20; r++) {
        x[0] += x[1];
        x[1] = x[1] << turns[r % 8] | x[1] >> (32 - turns[r % 8]);
        x[1] ^= x[0];
        if (r % 4 == 3) {
            x[0] += k[(r / 4 + 1) % 3];
            x[1] += k[(r / 4 + 2) % 3] + (uint32_t)(r / 4 + 1);
        }
    }
}

typedef struct key {
    int words;
    uint32_t w[4];
} key;

/* Value i, of `width` bits. */
static uint64_t bits_at(const key *k, uint64_t i, int width)
{
    uint32_t x[4];
    uint64_t v;
    if (k->words == 2) {
        threefry(k->w, i, x);
        v = width == 64 ? (uint64_t)x[0] << 32 | x[1] : x[0] ^ x[1];
    } else if (width == 64) {
        philox(k->w, i / 2, x);
        v = (uint64_t)x[2 * (i % 2) + 1] << 32 | x[2 * (i % 2)];
    } else {
        philox(k->w, i / 4, x);
        v = x[i % 4];
    }
    return width == 64 ? v : v & (((uint64_t)1 << width) - 1);
}

/* Key i derived from k. domain_word identifies the purpose. */
static key new_key(const key *k, uint64_t i, uint32_t domain_word)
{
    key made = *k, from = *k;
    if (k->words == 2) {
        threefry(k->w, i, made.w);
    } else {
        from.w[3] ^= domain_word;
        philox(from.w, i, made.w);
    }
    return made;
}

/* Adds an input: a key of the variant's generator. */
static key key_in(problem *p, int variant)
{
    key k = {.words = variant % 2 ? 2 : 4};
    const int64_t words = k.words;
    const tensor *t =
        problem_in(p, NULL, IG_U32, IG_SHAPE(words), (domain){0, 4294967295.0, false});
    for (int i = 0; i < k.words; i++)
        k.w[i] = (uint32_t)t->v[i];
    return k;
}

static void key_out(tensor *out, int64_t row, const key *k)
{
    for (int i = 0; i < k->words; i++)
        out->v[row * k->words + i] = (real)k->w[i];
}

static const int64_t shapes[][2] = {{5, 17}, {1, 257}, {3, 0}, {2, 65}};
static bool beyond(const problem *p, int variant)
{
    return variant >= 4 || (p->mode != MODE_PLAIN && variant > 1);
}

/* Ops on keys are checked once, under the dtype of keys. */
static bool once(const problem *p, int variant)
{
    return p->dtype == IG_U32 && !beyond(p, variant);
}

/* ---- keys ---- */

static bool make_key(problem *p, int variant)
{
    const int64_t seed = variant ? (int64_t)0x123456789abcdef0 : 7;
    if (!once(p, variant))
        return false;
    key k = {.words = variant % 2 ? 2 : 4};
    const uint32_t low = (uint32_t)seed, high = (uint32_t)((uint64_t)seed >> 32);
    k.w[0] = variant % 2 ? high : low;
    k.w[1] = variant % 2 ? low : high;
    problem_int(p, NULL, seed);
    if (variant % 2)
        problem_str(p, NULL, "threefry");
    key_out(problem_out(p, IG_U32, IG_SHAPE(k.words)), 0, &k);
    return true;
}

static bool make_split_key(problem *p, int variant)
{
    if (!once(p, variant))
        return false;
    const key k = key_in(p, variant);
    problem_int(p, NULL, 5);
    tensor *out = problem_out(p, IG_U32, IG_SHAPE(5, k.words));
    for (int64_t i = 0; i < 5; i++) {
        const key made = new_key(&k, (uint64_t)i, 1);
        key_out(out, i, &made);
    }
    return true;
}

static bool make_fold_in(problem *p, int variant)
{
    static const int64_t data[] = {0, 7, 123456789, 0x100000005};
    if (!once(p, variant))
        return false;
    const key k = key_in(p, variant);
    problem_int(p, NULL, data[variant]);
    const key made = new_key(&k, (uint64_t)data[variant], 4);
    key_out(problem_out(p, IG_U32, IG_SHAPE(k.words)), 0, &made);
    return true;
}

/* ---- draws ---- */

static bool make_bits(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const key k = key_in(p, variant);
    problem_ints(p, NULL, (ig_ints){shapes[variant], 2});
    problem_dtype(p, NULL, p->dtype);
    tensor *out = problem_out(p, p->dtype, (ig_ints){shapes[variant], 2});
    for (int64_t i = 0; i < out->size; i++)
        out->v[i] = (real)bits_at(&k, (uint64_t)i, real_width(p->dtype));
    return true;
}

/* Element i, in [0, 1). Uses as many bits as the dtype's digits after the first. */
static real unit_at(const key *k, ig_dtype d, int64_t i)
{
    const int digits = (int)-log2l(real_eps(d)), width = d == IG_BF16 ? 8 : real_width(d);
    return ldexpl((real)(bits_at(k, (uint64_t)i, width) >> (width - digits)), -digits);
}

/* u * (high - low) + low, rounded at each step. */
static real between(ig_dtype d, real u, real low, real high)
{
    const double range = (double)real_round(d, (real)((double)high - (double)low));
    const double scaled = (double)real_round(d, (real)((double)u * range));
    return fmaxl(low, real_round(d, (real)(scaled + (double)low)));
}

static bool make_uniform(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const bool plain = variant % 2 == 0;
    const key k = key_in(p, variant / 2);
    problem_ints(p, NULL, (ig_ints){shapes[variant], 2});
    problem_dtype(p, NULL, p->dtype);
    real low = 0, high = 1;
    if (!plain) {
        low = problem_in(p, NULL, real_float(p->dtype), IG_SCALAR, (domain){-5, 0, false})->v[0];
        high = problem_in(p, NULL, real_float(p->dtype), IG_SCALAR, (domain){1, 9, false})->v[0];
    }
    tensor *out = problem_out(p, p->dtype, (ig_ints){shapes[variant], 2});
    for (int64_t i = 0; i < out->size && dtype_in(p->dtype, FLOATS); i++) {
        const real u = unit_at(&k, p->dtype, i);
        out->v[i] = plain ? u : between(p->dtype, u, low, high);
    }
    return true;
}

/* sqrt(2) * erfinv(u) of a uniform number u, found by solving erf. The error bound is 8 ulp of the result, or 2 for
 * half precision. */
static bool make_normal(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const ig_dtype d = p->dtype;
    const key k = key_in(p, variant);
    problem_ints(p, NULL, (ig_ints){shapes[variant], 2});
    problem_dtype(p, NULL, d);
    tensor *out = problem_out(p, d, (ig_ints){shapes[variant], 2});
    for (int64_t i = 0; i < out->size && dtype_in(d, FLOATS); i++) {
        const real u = between(d, unit_at(&k, d, i), real_round(d, real_eps(d) / 2 - 1), 1);
        real y = 0;
        real move = 1;
        for (int step = 0; step < 60 && fabsl(move) > 1e-15L; step++) {
            /* Newton's method, with limited steps where erf is flat */
            const real error = u < 0 ? erfcl(-y) - (1 + u) : (1 - u) - erfcl(y);
            move = error * expl(y * y) * 0.886226925452758013649083741670572591L;
            y -= fmaxl(fminl(move, 0.5L), -0.5L);
        }
        out->v[i] = y * sqrtl(2);
        out->tol[i] = (dtype_in(d, HALVES) ? 2 : 8) * real_ulp(d, out->v[i]);
    }
    return true;
}

/* Draws twice as many bits as the dtype has, at least 64, then takes the remainder. */
static bool make_randint(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const bool large = variant >= 2 && real_width(p->dtype) == 32;
    const int64_t low = dtype_in(p->dtype, SIGNED) ? -3 : 0, high = large         ? (int64_t)3 << 29
                                                                    : variant % 2 ? 100
                                                                                  : 7;
    const uint64_t span = (uint64_t)(high - low);
    const key k = key_in(p, variant), first = new_key(&k, 0, 1), second = new_key(&k, 1, 1);
    const int width = real_width(p->dtype) == 64 ? 64 : 32;
    problem_ints(p, NULL, (ig_ints){shapes[variant], 2});
    problem_int(p, NULL, low);
    problem_int(p, NULL, high);
    problem_dtype(p, NULL, p->dtype);
    tensor *out = problem_out(p, p->dtype, (ig_ints){shapes[variant], 2});
    const uint64_t carry =
        width == 32 ? ((uint64_t)1 << 32) % span : (UINT64_MAX % span + 1) % span;
    for (int64_t i = 0; i < out->size; i++) {
        const uint64_t above = bits_at(&first, (uint64_t)i, width) % span;
        const uint64_t below = bits_at(&second, (uint64_t)i, width) % span;
        out->v[i] = (real)(low + (int64_t)((above * carry + below) % span));
    }
    return true;
}

const plan plans_random[] = {
    {"key", make_key, NULL},         {"split_key", make_split_key, NULL},
    {"fold_in", make_fold_in, NULL}, {"bits", make_bits, NULL},
    {"uniform", make_uniform, NULL}, {"normal", make_normal, NULL},
    {"randint", make_randint, NULL}, {NULL, NULL, NULL},
};
