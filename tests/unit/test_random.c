/* Random arrays: threefry against values of JAX, Philox against the known answers of its authors, distributions against
 * their moments, and the same bits for any number of threads.
 *
 * JAX values are from JAX 0.10.2 on a CPU with x64 enabled and its default settings
 * (jax_threefry_partitionable = True), all for jax.random.PRNGKey(42). Bits, keys, floats in [0, 1)
 * and integers are equal to the last bit; a range is within an ulp, because XLA joins u * width + low
 * into an fma; normal and categorical go through functions that differ by a few ulp.
 *
 * Statistics have 100,000 draws of a fixed key: a bound of five standard deviations is never crossed
 * by chance, and a wrong shift or a reused word crosses it by far. */
#include "support/unit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 100000 };

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const char *const generators[] = {"philox", "threefry"};

static void expect_bytes(ig_array *x, const void *want, size_t bytes)
{
    if (!x)
        fail_msg("%s", ig_error(NULL));
    assert_int_equal((size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x)), bytes);
    const void *have = ig_data(x);
    if (!have)
        fail_msg("%s", ig_error(NULL));
    assert_memory_equal(have, want, bytes);
}

#define EXPECT(x, type, ...) \
    expect_bytes(x, (const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__}))

static void expect_near(ig_array *x, const double *want, int n, double relative)
{
    const double *have = ig_data(ig_astype(x, IG_F64));
    if (!have)
        fail_msg("%s", ig_error(NULL));
    assert_int_equal(ig_size(x), n);
    for (int i = 0; i < n; i++)
        if (!(fabs(have[i] - want[i]) <= relative * fabs(want[i])))
            fail_msg("element %d is %a, not %a", i, have[i], want[i]);
}

#define EXPECT_NEAR(x, relative, ...) \
    expect_near(x, (const double[]){__VA_ARGS__}, COUNT(((const double[]){__VA_ARGS__})), relative)

static ig_array *jax(void) { return ig_key(42, "threefry"); }

/* ---- threefry: values of JAX ---- */

static void test_jax_keys(void **state)
{
    (void)state;
    EXPECT(ig_key(0, "threefry"), uint32_t, 0, 0);
    EXPECT(jax(), uint32_t, 0, 42);
    EXPECT(ig_key(0x123456789abcdef0, "threefry"), uint32_t, 0x12345678, 0x9abcdef0);
    EXPECT(ig_key((uint64_t)-1, "threefry"), uint32_t, 0xffffffff, 0xffffffff);
    EXPECT(ig_split_key(jax(), 3), uint32_t, 0x6d3e048f, 0x1022172d, 0x3d7b32d, 0xadd083f4,
           0x92fb20ea, 0xf38d913);
    EXPECT(ig_fold_in(jax(), 0), uint32_t, 0x6d3e048f, 0x1022172d);
    EXPECT(ig_fold_in(jax(), 7), uint32_t, 0x97d0552f, 0x51bf719f);
    EXPECT(ig_fold_in(jax(), 0xffffffff), uint32_t, 0x8ef6c48d, 0xe7eb97ca);
}

static void test_jax_bits(void **state)
{
    (void)state;
    EXPECT(ig_bits(jax(), IG_SHAPE(6), IG_U8), uint8_t, 0xa2, 0xd9, 0xf9, 0xd7, 0x15, 0xd8);
    EXPECT(ig_bits(jax(), IG_SHAPE(6), IG_U16), uint16_t, 0x13a2, 0x30d9, 0xf9f9, 0xc1d7, 0x7315,
           0x4ed8);
    EXPECT(ig_bits(jax(), IG_SHAPE(2, 3), IG_U32), uint32_t, 0x7d1c13a2, 0xae0730d9, 0x9dc3f9f9,
           0x8f9ec1d7, 0x735d7315, 0x95fb4ed8);
    EXPECT(ig_bits(jax(), IG_SHAPE(6), IG_U64), uint64_t, 0x6d3e048f1022172d, 0x3d7b32dadd083f4,
           0x92fb20ea0f38d913, 0xbad56946354ba891, 0xb013aee3c34eddf6, 0xa4d91a963122544e);
    EXPECT(ig_bits(jax(), IG_SCALAR, IG_U32), uint32_t, 0x7d1c13a2);
    ig_array *many = ig_bits(jax(), IG_SHAPE(100003), IG_U32);
    EXPECT(ig_slice(many, IG_AXES(-3), IG_AXES(INT64_MAX), IG_NONE), uint32_t, 0x59aa758f,
           0x8c875502, 0xbdefac5a);
}

static void test_jax_floats(void **state)
{
    (void)state;
    const ig_ints five = IG_SHAPE(5);
    EXPECT_NEAR(ig_uniform(jax(), five, IG_F16, NULL, NULL), 0, 0x1.38p-4, 0x1.86p-3, 0x1.f38p-1,
                0x1.838p-1, 0x1.ccp-2);
    EXPECT_NEAR(ig_uniform(jax(), five, IG_BF16, NULL, NULL), 0, 0x1.44p-1, 0x1.bp-1, 0x1.fp-1,
                0x1.acp-1, 0x1.4p-4);
    EXPECT_NEAR(ig_uniform(jax(), five, IG_F32, NULL, NULL), 0, 0x1.f47048p-2, 0x1.5c0e6p-1,
                0x1.3b87fp-1, 0x1.1f3d8p-1, 0x1.cd75c8p-2);
    EXPECT_NEAR(ig_uniform(jax(), five, IG_F64, NULL, NULL), 0, 0x1.b4f8123c40884p-2,
                0x1.ebd996d6e84p-7, 0x1.25f641d41e71ap-1, 0x1.75aad28c6a974p-1,
                0x1.60275dc7869dap-1);
    EXPECT_NEAR(ig_uniform(jax(), five, IG_F32, ig_float(-3), ig_float(5)), 0, 0x1.d1c12p-1,
                0x1.381ccp+1, 0x1.ee1fcp+0, 0x1.7cf6p+0, 0x1.35d72p-1);
    EXPECT_NEAR(ig_uniform(jax(), five, IG_F64, ig_float(-3), ig_float(5)), 0, 0x1.a7c091e20442p-2,
                -0x1.70a1334948bep+1, 0x1.97d9075079c68p+0, 0x1.6b55a518d52e8p+1,
                0x1.404ebb8f0d3b4p+1);
    EXPECT_NEAR(ig_uniform(jax(), five, IG_F32, ig_float(0.1), ig_float(0.7)), 0x1p-23,
                0x1.92a9c4p-2, 0x1.0408ap-1, 0x1.e10986p-2, 0x1.bf1698p-2, 0x1.7b46aap-2);
    EXPECT_NEAR(ig_normal(jax(), five, IG_F32, NULL, NULL), 0x1p-20, -0x1.cfbe2ap-6, 0x1.de57dp-2,
                0x1.2eccc2p-2, 0x1.3a7648p-3, -0x1.fc09d6p-4);
    EXPECT_NEAR(ig_normal(jax(), five, IG_F64, NULL, NULL), 0x1p-48, -0x1.7a4a26c962159p-3,
                -0x1.15bccfaa7ba3ap+1, 0x1.7ed8110b5046p-3, 0x1.397ad84a04356p-1,
                0x1.f5603e3665211p-2);
    EXPECT_NEAR(ig_normal(jax(), five, IG_F16, NULL, NULL), 0x1p-8, -0x1.6ep+0, -0x1.c04p-1,
                0x1.f98p+0, 0x1.64cp-1, -0x1.044p-3);
    EXPECT_NEAR(ig_normal(jax(), five, IG_BF16, NULL, NULL), 0x1p-5, 0x1.6p-2, 0x1.04p+0, 0x1.e4p+0,
                0x1.f8p-1, -0x1.68p+0);
}

static void test_jax_integers(void **state)
{
    (void)state;
    const ig_ints six = IG_SHAPE(6), four = IG_SHAPE(4);
    EXPECT(ig_randint(jax(), IG_SHAPE(2, 4), 0, 10, IG_DTYPE_NONE), int32_t, 4, 4, 1, 9, 9, 9, 7,
           7);
    EXPECT(ig_randint(jax(), four, INT32_MIN, (int64_t)INT32_MAX + 1, IG_I32), int32_t, 977810628,
           1236381714, -1367112521, -1019495231);
    EXPECT(ig_randint(jax(), six, -128, 128, IG_I8), int8_t, 68, -110, 55, 65, 13, -21);
    EXPECT(ig_randint(jax(), six, 0, 256, IG_U8), uint8_t, 196, 18, 183, 193, 141, 107);
    EXPECT(ig_randint(jax(), six, 3, 1000, IG_U16), uint16_t, 786, 117, 859, 720, 242, 212);
    EXPECT(ig_randint(jax(), six, 0, 1000, IG_I64), int64_t, 85, 718, 503, 271, 505, 146);
    EXPECT(ig_randint(jax(), four, 5, 6, IG_I32), int32_t, 5, 5, 5, 5);
    EXPECT(ig_permutation(jax(), ig_int(8), 0), int64_t, 7, 4, 2, 5, 3, 6, 0, 1);
    ig_array *two_sorts = ig_permutation(jax(), ig_int(5000), 0);
    EXPECT(ig_slice(two_sorts, IG_AXES(0), IG_AXES(4), IG_NONE), int64_t, 3825, 3150, 2972, 2921);
    EXPECT(ig_choice(jax(), ig_int(10), six, true, NULL, 0), int64_t, 4, 4, 1, 9, 9, 9);
    EXPECT(ig_rademacher(jax(), six, IG_I32), int32_t, 1, -1, -1, -1, 1, -1);
}

/* Counts of i64 values in [0, n) against their probabilities: chi square within 5 deviations of its
 * mean, n - 1. */
static void expect_counts(ig_array *x, int n, const double *probability)
{
    const int64_t *v = ig_data(ig_astype(x, IG_I64));
    double chi = 0;
    int64_t count[256] = {0};
    if (!v)
        fail_msg("%s", ig_error(NULL));
    for (int i = 0; i < DRAWS; i++) {
        assert_in_range(v[i], 0, n - 1);
        count[v[i]]++;
    }
    for (int k = 0; k < n; k++) {
        double want = DRAWS * (probability ? probability[k] : 1.0 / n);
        chi += (count[k] - want) * (count[k] - want) / want;
    }
    if (!(chi <= n - 1 + 5 * sqrt(2.0 * (n - 1))))
        fail_msg("chi square of %d values is %g", n, chi);
}

/* Ranges whose remainder overflows in JAX, where their lower half is drawn more often. The values are computed with
 * integers of 128 bits, from both random words. */
static void test_large_ranges(void **state)
{
    (void)state;
    const ig_ints six = IG_SHAPE(6), four = IG_SHAPE(4), draws = IG_SHAPE(DRAWS);
    EXPECT(ig_randint(jax(), six, -5, 100000, IG_I32), int32_t, 169, 22969, 74806, 22529, 63894,
           41629);
    EXPECT(ig_randint(jax(), four, 0, 0xffffffff, IG_U32), uint32_t, 1107780114, 434778579,
           357447021, 4127305579);
    EXPECT(ig_randint(jax(), four, -7, 1000000000000, IG_I64), int64_t, 235669928302, 397191885437,
           953673728991, 423977759864);
    EXPECT(ig_randint(jax(), four, 1, (int64_t)1 << 40, IG_U64), uint64_t, 259121826492,
           436717096502, 1048575354130, 466168476894);
    EXPECT(ig_randint(jax(), four, -((int64_t)1 << 62), INT64_MAX, IG_I64), int64_t,
           -1351178878400269307, 883486775747618778, 8582445387970704619, 1254070903507594662);
    for (int g = 0; g < 2; g++) {
        ig_array *key = ig_key(6, generators[g]);
        const int64_t narrow = 3 << 29, wide = (int64_t)3 << 61;
        ig_array *x = ig_randint(key, draws, 0, narrow, IG_I32);
        expect_counts(ig_floor_divide(x, ig_int(narrow / 6)), 6, NULL);
        x = ig_randint(key, draws, 0, wide, IG_I64);
        expect_counts(ig_floor_divide(x, ig_int(wide / 6)), 6, NULL);
    }
}

static void test_jax_choices(void **state)
{
    (void)state;
    const float one[] = {0, 1, 2, -1}, two[] = {0, 1, 2, 3, -1, 0};
    ig_array *logits = ig_from_data(two, IG_SHAPE(2, 3), IG_F32);
    EXPECT(ig_bernoulli(jax(), ig_float(0.3), IG_SHAPE(16)), uint8_t, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
           0, 0, 0, 0, 0, 0);
    EXPECT(ig_categorical(jax(), ig_from_data(one, IG_SHAPE(4), IG_F32), -1, IG_SHAPE(16)), int64_t,
           2, 1, 1, 1, 1, 2, 1, 1, 2, 2, 2, 2, 2, 1, 2, 2);
    EXPECT(ig_categorical(jax(), logits, 1, IG_NONE), int64_t, 2, 0);
    EXPECT(ig_categorical(jax(), logits, 0, IG_SHAPE(2, 3)), int64_t, 1, 0, 0, 1, 0, 0);
}

/* ---- Philox ---- */

/* Counter and key words in the authors' order; a key's words 2 and 3 are the counter's last. */
static void test_philox_known_answers(void **state)
{
    (void)state;
    const ig_ints four = IG_SHAPE(4);
    EXPECT(ig_bits(ig_key(0, NULL), four, IG_U32), uint32_t, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
           0x9b00dbd8);
    /* Vectors of Random123 with a nonzero block number (the counter's first words) are beyond the reach of a test;
     * these are from an independent program. */
    EXPECT(ig_bits(ig_key(42, "philox"), IG_SHAPE(8), IG_U32), uint32_t, 0x9ceaf053, 0x77f5493b,
           0x12bf50ad, 0x5742b3d7, 0xfcdb2127, 0x53ba6cfd, 0x838f5a6e, 0x744e06fb);
    EXPECT(ig_bits(ig_key(42, NULL), IG_SHAPE(3), IG_U64), uint64_t, 0x77f5493b9ceaf053,
           0x5742b3d712bf50ad, 0x53ba6cfdfcdb2127);
    EXPECT(ig_bits(ig_key(42, NULL), IG_SHAPE(5), IG_U16), uint16_t, 0xf053, 0x493b, 0x50ad, 0xb3d7,
           0x2127);
    EXPECT(ig_bits(ig_key(42, NULL), IG_SHAPE(5), IG_U8), uint8_t, 0x53, 0x3b, 0xad, 0xd7, 0x27);
}

static void test_philox_keys(void **state)
{
    (void)state;
    ig_array *key = ig_key(42, NULL);
    EXPECT(ig_key(0x123456789abcdef0, NULL), uint32_t, 0x9abcdef0, 0x12345678, 0, 0);
    EXPECT(ig_split_key(key, 3), uint32_t, 0x20439b04, 0x9807e022, 0x5419fa3f, 0xc8fa5a2d,
           0x1f858d22, 0x5a936ff5, 0x261ef70d, 0x92dd60bf, 0x207eb3d4, 0x97af2590, 0x5b8a0a9f,
           0x93de5fc);
    EXPECT(ig_fold_in(key, 7), uint32_t, 0x9bc8af24, 0x81697300, 0x1302f19, 0xee463c6b);
    EXPECT(ig_fold_in(key, -1), uint32_t, 0x7e1cc97d, 0xb57bb019, 0x6c394fa7, 0xc37711d9);
    EXPECT(ig_fold_in(key, (int64_t)1 << 40), uint32_t, 0xab40a161, 0x6c637211, 0x7d4e4872,
           0x396a872a);
}

/* ---- both generators ---- */

/* Keys made in any way differ, and no key is part of the values that its parent draws. */
static void test_keys_are_independent(void **state)
{
    (void)state;
    for (int g = 0; g < 2; g++) {
        ig_array *key = ig_key(7, generators[g]), *made[10];
        int n = 0, words = g ? 2 : 4;
        ig_array *keys = ig_split_key(key, 4);
        for (int i = 0; i < 4; i++)
            made[n++] = ig_get(keys, &(ig_index){.kind = IG_INDEX_INT, .start = i}, 1);
        made[n++] = ig_fold_in(made[0], 3);
        made[n++] = ig_fold_in(made[1], 3);
        made[n++] = ig_fold_in(key, 1000);
        made[n++] = ig_fold_in(key, INT64_MIN);
        made[n++] = ig_fold_in(key, INT64_MIN / 2);
        made[n++] = key;
        assert_int_equal(ig_dim(keys, 1), words);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                assert_memory_not_equal(ig_data(made[i]), ig_data(made[j]), 4 * (size_t)words);
        if (g == 0) { /* threefry's keys are blocks of its draws, as in JAX */
            const uint32_t *drawn = ig_data(ig_bits(key, IG_SHAPE(64), IG_U32));
            for (int i = 0; i < n - 1; i++)
                for (int at = 0; at <= 60; at++)
                    assert_memory_not_equal(ig_data(made[i]), drawn + at, 16);
        }
        int parts = ig_split(key, IG_SHAPE(3), 0, made, 10); /* of a key: new keys */
        assert_int_equal(parts, 1);
        expect_bytes(made[0], ig_data(ig_split_key(key, 3)), 12 * (size_t)words);
    }
}

/* A value depends only on its index: not on the shape, the requested range, fusion or the number of threads. */
static void test_bits_do_not_depend(void **state)
{
    (void)state;
    const ig_dtype dtypes[] = {IG_U8, IG_U16, IG_U32, IG_U64};
    const int64_t n = 100003;
    for (int g = 0; g < 2; g++)
        for (int d = 0; d < 4; d++) {
            size_t bytes = (size_t)n * ig_dtype_bytes(dtypes[d]);
            char *first = malloc(bytes);
            assert_non_null(first);
            for (int k = 0; k < 4; k++) {
                assert_int_equal(ig_set_threads((const int[]){1, 2, 3, 8}[k]), IG_OK);
                ig_array *x = ig_bits(ig_key(5, generators[g]), IG_SHAPE(n), dtypes[d]);
                if (k == 0)
                    assert_int_equal(ig_read(x, first, bytes), IG_OK);
                expect_bytes(x, first, bytes);
            }
            ig_array *x = ig_bits(ig_key(5, generators[g]), IG_SHAPE(77, 13), dtypes[d]);
            expect_bytes(x, first, 77 * 13 * ig_dtype_bytes(dtypes[d]));
            ig_array *y =
                ig_matrix_transpose(ig_bits(ig_key(5, generators[g]), IG_SHAPE(77, 13), dtypes[d]));
            y = ig_bitwise_xor(ig_bitwise_xor(y, ig_int(85)), ig_int(85));
            expect_bytes(ig_matrix_transpose(y), first, 77 * 13 * ig_dtype_bytes(dtypes[d]));
            free(first);
        }
    ig_set_threads(0);
}

/* Uniform numbers are the high digits of their bits, for every loop and any shift. */
static void test_fractions(void **state)
{
    static const ig_dtype words[] = {IG_U32, IG_U64}, floats[] = {IG_F32, IG_F64};
    (void)state;
    for (int g = 0; g < 2; g++)
        for (int d = 0; d < 2; d++)
            for (int shift = 0; shift < (d ? 64 : 32); shift += 3) {
                ig_scope_begin();
                const int64_t n = 3000 + 7 * shift;
                ig_array *key = ig_key(5, generators[g]),
                         *bits = ig_bits(key, IG_SHAPE(n), words[d]);
                ig_array *high =
                    ig_bitwise_right_shift(ig_bits(key, IG_SHAPE(n), words[d]), ig_int(shift));
                ig_array *x = ig_multiply(ig_astype(high, floats[d]), ig_float(0x1p-23));
                assert_non_null(ig_data(x));
                assert_non_null(ig_data(bits));
                for (int64_t i = 0; i < n; i++) {
                    const double got =
                        d ? ((const double *)ig_data(x))[i] : ((const float *)ig_data(x))[i];
                    const double want =
                        d ? (double)(((const uint64_t *)ig_data(bits))[i] >> shift) * 0x1p-23
                          : (float)(((const uint32_t *)ig_data(bits))[i] >> shift) * 0x1p-23f;
                    assert_memory_equal(&got, &want, sizeof got);
                }
                ig_scope_end();
            }
}

static void test_same_for_any_threads(void **state)
{
    (void)state;
    for (int g = 0; g < 2; g++) {
        void *first[3] = {NULL, NULL, NULL};
        for (int k = 0; k < 4; k++) {
            assert_int_equal(ig_set_threads((const int[]){1, 2, 3, 8}[k]), IG_OK);
            ig_array *key = ig_key(11, generators[g]);
            ig_array *x[3] = {ig_normal(key, IG_SHAPE(301, 101), IG_F32, NULL, NULL),
                              ig_randint(key, IG_SHAPE(30011), -4, 77777, IG_I64),
                              ig_permutation(key, ig_int(5003), 0)};
            for (int i = 0; i < 3; i++) {
                size_t bytes = (size_t)ig_size(x[i]) * ig_dtype_bytes(ig_dtype_of(x[i]));
                if (k == 0) {
                    assert_non_null(first[i] = malloc(bytes));
                    assert_int_equal(ig_read(x[i], first[i], bytes), IG_OK);
                }
                expect_bytes(x[i], first[i], bytes);
            }
        }
        for (int i = 0; i < 3; i++)
            free(first[i]);
    }
    ig_set_threads(0);
}

/* ---- distributions ---- */

static void expect_moments(ig_array *x, double mean, double mean_bound, double var,
                           double var_bound)
{
    const double *v = ig_data(ig_astype(x, IG_F64));
    double sum = 0, square = 0;
    if (!v)
        fail_msg("%s", ig_error(NULL));
    for (int i = 0; i < DRAWS; i++)
        sum += v[i];
    for (int i = 0; i < DRAWS; i++)
        square += (v[i] - sum / DRAWS) * (v[i] - sum / DRAWS);
    if (!(fabs(sum / DRAWS - mean) <= mean_bound && fabs(square / DRAWS - var) <= var_bound))
        fail_msg("mean %g, variance %g", sum / DRAWS, square / DRAWS);
}

static void test_distributions(void **state)
{
    (void)state;
    const ig_ints draws = IG_SHAPE(DRAWS);
    const ig_dtype floats[] = {IG_F16, IG_BF16, IG_F32, IG_F64};
    for (int g = 0; g < 2; g++) {
        ig_array *key = ig_key(2024, generators[g]), *keys = ig_split_key(key, 8);
        ig_array *k[8];
        for (int i = 0; i < 8; i++)
            k[i] = ig_get(keys, &(ig_index){.kind = IG_INDEX_INT, .start = i}, 1);
        for (int d = 0; d < 4; d++) {
            ig_array *u = ig_uniform(k[d], draws, floats[d], NULL, NULL);
            double grid = floats[d] == IG_BF16 ? 1.0 / 256 : 1.0 / 2048; /* half a step, at most */
            expect_moments(u, 0.5, 0.0046 + grid, 1.0 / 12, 0.0012);
            expect_counts(ig_floor(ig_multiply(u, ig_float(64))), 64, NULL);
            assert_true(ig_item(ig_max(u, IG_NONE, false)) < 1);
            assert_true(ig_item(ig_min(u, IG_NONE, false)) >= 0);
            ig_array *z = ig_normal(k[d + 4], draws, floats[d], NULL, NULL);
            /* With 128 values of u in bf16 the tails of the normal are cut. */
            expect_moments(z, 0, 0.016 + 2 * grid, 1, floats[d] == IG_BF16 ? 0.05 : 0.0224);
            assert_true(ig_item(ig_all(ig_isfinite(z), IG_NONE, false)));
        }
        expect_counts(ig_randint(key, draws, 0, 10, IG_I32), 10, NULL);
        expect_counts(
            ig_subtract(ig_randint(key, draws, -100, 100, IG_I8), ig_scalar(-100, IG_I32)), 200,
            NULL);
        expect_counts(ig_randint(key, draws, 0, 7, IG_U64), 7, NULL);
        const double p[] = {0.1, 0.2, 0.3, 0.4};
        ig_array *logits = ig_log(ig_from_data(p, IG_SHAPE(4), IG_F64));
        expect_counts(ig_categorical(key, logits, -1, draws), 4, p);
        expect_counts(ig_categorical(key, ig_astype(logits, IG_F32), 0, draws), 4, p);
        expect_counts(ig_bernoulli(key, ig_float(0.25), draws), 2, (const double[]){0.75, 0.25});
        expect_counts(ig_bits(key, draws, IG_U8), 256, NULL);
    }
}

static void test_bernoulli_edges(void **state)
{
    (void)state;
    ig_array *key = ig_key(1, NULL);
    const float p[] = {0, 1, 0, 1};
    ig_array *x = ig_bernoulli(key, ig_from_data(p, IG_SHAPE(4), IG_F32), IG_NONE);
    EXPECT(x, uint8_t, 0, 1, 0, 1);
    x = ig_bernoulli(key, ig_from_data(p, IG_SHAPE(4), IG_F32), IG_SHAPE(2, 4));
    EXPECT(x, uint8_t, 0, 1, 0, 1, 0, 1, 0, 1);
    EXPECT(ig_bernoulli(key, ig_int(1), IG_SHAPE(3)), uint8_t, 1, 1, 1);
    assert_int_equal(ig_ndim(ig_bernoulli(key, NULL, IG_NONE)), 0);
}

/* A category of probability 0 is never drawn. */
static void test_categorical_never(void **state)
{
    (void)state;
    const float logits[] = {-INFINITY, 0, -INFINITY};
    ig_array *x = ig_categorical(ig_key(3, NULL), ig_from_data(logits, IG_SHAPE(3), IG_F32), 0,
                                 IG_SHAPE(1000));
    assert_int_equal(ig_item(ig_min(x, IG_NONE, false)), 1);
    assert_int_equal(ig_item(ig_max(x, IG_NONE, false)), 1);
}

static void test_permutation(void **state)
{
    (void)state;
    for (int g = 0; g < 2; g++) {
        ig_array *key = ig_key(9, generators[g]);
        ig_array *x = ig_arange(0, 60, 1, IG_I64), *y = ig_permutation(key, x, 0);
        expect_bytes(ig_sort(y, 0, false, true), ig_data(x), 60 * 8);
        assert_memory_not_equal(ig_data(y), ig_data(x), 60 * 8);
        expect_bytes(ig_permutation(key, ig_int(60), 0), ig_data(y), 60 * 8);
        /* Along an axis, whole slices move. */
        ig_array *m = ig_permutation(key, ig_reshape(x, IG_SHAPE(4, 15)), 1);
        ig_array *first = ig_slice(m, IG_AXES(0), IG_AXES(1), IG_NONE);
        ig_array *rows =
            ig_multiply(ig_reshape(ig_arange(0, 4, 1, IG_I64), IG_SHAPE(4, 1)), ig_int(15));
        expect_bytes(ig_add(first, rows), ig_data(m), 60 * 8);
        assert_int_equal(ig_size(ig_permutation(key, ig_int(0), 0)), 0);
    }
    /* Each of the 6 orders of 3 elements equally often: 1,000 keys, 5 degrees of freedom. */
    int count[27] = {0};
    for (int i = 0; i < 1000; i++) {
        ig_scope_begin();
        const int64_t *v = ig_data(ig_permutation(ig_fold_in(ig_key(0, NULL), i), ig_int(3), 0));
        assert_non_null(v);
        count[9 * v[0] + 3 * v[1] + v[2]]++;
        ig_scope_end();
    }
    double chi = 0;
    for (int i = 0; i < 27; i++)
        chi += count[i] ? (count[i] - 1000.0 / 6) * (count[i] - 1000.0 / 6) * 6 / 1000 : 0;
    assert_true(chi < 5 + 5 * sqrt(10));
}

/* Bounds that are arrays broadcast; 0-size shapes are fine. */
static void test_shapes(void **state)
{
    (void)state;
    ig_array *key = ig_key(4, NULL);
    const float low[] = {10, 20}, high[] = {11, 22};
    ig_array *x = ig_uniform(key, IG_SHAPE(1000, 2), IG_F32, ig_from_data(low, IG_SHAPE(2), IG_F32),
                             ig_from_data(high, IG_SHAPE(2), IG_F32));
    const float *v = ig_data(x);
    assert_non_null(v);
    for (int i = 0; i < 2000; i++)
        assert_true(v[i] >= low[i % 2] && v[i] < high[i % 2]);
    assert_int_equal(ig_ndim(ig_uniform(key, IG_SCALAR, IG_DTYPE_NONE, NULL, NULL)), 0);
    assert_non_null(ig_data(ig_normal(key, IG_SHAPE(3, 0, 2), IG_F64, NULL, NULL)));
    assert_int_equal(ig_dim(ig_split_key(key, 1), 0), 1);
    const double *z = ig_data(ig_categorical(key, ig_zeros(IG_SHAPE(0, 3), IG_F32), 1, IG_NONE));
    assert_non_null(z);
}

static void test_errors(void **state)
{
    (void)state;
    ig_array *key = ig_key(1, NULL), *keys = ig_split_key(key, 3);
    const ig_ints two = IG_SHAPE(2);
    assert_refused(ig_key(1, "mersenne"), IG_ERR_ARGUMENT, "'philox' or 'threefry'");
    assert_refused(ig_bits(keys, two, IG_U32), IG_ERR_SHAPE, "keys[i]");
    assert_refused(ig_bits(ig_zeros(IG_SHAPE(4), IG_F32), two, IG_U32), IG_ERR_ARGUMENT,
                   "key(seed)");
    assert_refused(ig_bits(ig_zeros(IG_SHAPE(3), IG_U32), two, IG_U32), IG_ERR_ARGUMENT, "(3,)");
    assert_refused(ig_normal(ig_int(3), two, IG_F32, NULL, NULL), IG_ERR_ARGUMENT,
                   "normal: a random key");
    assert_refused(ig_bits(key, two, IG_I32), IG_ERR_DTYPE, "u8, u16, u32 or u64");
    assert_refused(ig_bits(key, IG_SHAPE(-1), IG_U32), IG_ERR_SHAPE, "negative");
    assert_refused(ig_uniform(key, two, IG_F32, ig_float(5), ig_float(1)), IG_ERR_ARGUMENT,
                   "uniform: minval 5 is above maxval 1");
    assert_refused(ig_uniform(key, two, IG_I32, NULL, NULL), IG_ERR_DTYPE, "f16, bf16, f32 or f64");
    assert_refused(ig_normal(key, two, IG_U8, NULL, NULL), IG_ERR_DTYPE, "f16, bf16, f32 or f64");
    assert_refused(ig_uniform(key, two, IG_F32, ig_zeros(IG_SHAPE(3), IG_F32), NULL), IG_ERR_SHAPE,
                   "does not broadcast");
    assert_refused(ig_randint(key, two, 5, 5, IG_I32), IG_ERR_ARGUMENT, "never drawn");
    assert_refused(ig_randint(key, two, 0, 257, IG_U8), IG_ERR_ARGUMENT, "do not fit u8");
    assert_refused(ig_randint(key, two, -1, 5, IG_U32), IG_ERR_ARGUMENT, "do not fit u32");
    assert_refused(ig_randint(key, two, 0, 5, IG_F32), IG_ERR_DTYPE, "integer");
    assert_refused(ig_split_key(key, 0), IG_ERR_ARGUMENT, "1 or more");
    assert_refused(ig_bernoulli(key, ig_zeros(IG_SHAPE(3), IG_F32), two), IG_ERR_SHAPE,
                   "broadcast");
    assert_refused(ig_categorical(key, ig_float(1), -1, IG_NONE), IG_ERR_SHAPE, "axis -1");
    assert_refused(ig_categorical(key, ig_zeros(IG_SHAPE(2, 3, 4), IG_F32), 0, two), IG_ERR_SHAPE,
                   "leaves 2");
    assert_refused(ig_categorical(key, ig_zeros(IG_SHAPE(2, 3), IG_F32), 0, two), IG_ERR_SHAPE,
                   "broadcast");
    assert_refused(ig_permutation(key, ig_int(-1), 0), IG_ERR_ARGUMENT, "0 or more");
    assert_refused(ig_permutation(key, ig_scalar(3, IG_I32), 0), IG_ERR_SHAPE, "axis 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_jax_keys, begin, end),
        cmocka_unit_test_setup_teardown(test_jax_bits, begin, end),
        cmocka_unit_test_setup_teardown(test_jax_floats, begin, end),
        cmocka_unit_test_setup_teardown(test_jax_integers, begin, end),
        cmocka_unit_test_setup_teardown(test_large_ranges, begin, end),
        cmocka_unit_test_setup_teardown(test_jax_choices, begin, end),
        cmocka_unit_test_setup_teardown(test_philox_known_answers, begin, end),
        cmocka_unit_test_setup_teardown(test_philox_keys, begin, end),
        cmocka_unit_test_setup_teardown(test_keys_are_independent, begin, end),
        cmocka_unit_test_setup_teardown(test_bits_do_not_depend, begin, end),
        cmocka_unit_test_setup_teardown(test_fractions, begin, end),
        cmocka_unit_test_setup_teardown(test_same_for_any_threads, begin, end),
        cmocka_unit_test_setup_teardown(test_distributions, begin, end),
        cmocka_unit_test_setup_teardown(test_bernoulli_edges, begin, end),
        cmocka_unit_test_setup_teardown(test_categorical_never, begin, end),
        cmocka_unit_test_setup_teardown(test_permutation, begin, end),
        cmocka_unit_test_setup_teardown(test_shapes, begin, end),
        cmocka_unit_test_setup_teardown(test_errors, begin, end),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
