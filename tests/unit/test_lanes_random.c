/* The random bits of every level that runs here, against the papers' algorithm and known answers. */
#include "each_level.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static uint64_t out_a[1024], out_b[1024], out_c[1024], out_d[1024];

/* Philox 4x32-10 as in the paper, for one counter. */
static void philox_reference(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4] = {ctr[0], ctr[1], ctr[2], ctr[3]}, k[2] = {key[0], key[1]};
    for (int r = 0; r < 10; r++) {
        const uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        const uint32_t n[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b,
                               (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a};
        memcpy(c, n, sizeof c);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

/* The known answers of Random123's kat_vectors. */
static void test_philox_known_answers(void **s)
{
    static const uint32_t known[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1}};
    (void)s;
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        philox_reference(known[i], known[i] + 4, out);
        assert_memory_equal(out, known[i] + 6, sizeof out);
    }
}

static void check_philox(void)
{
    static const int64_t starts[] = {0, 1, 2, 3, 4, 777, 1021, (int64_t)1 << 34, INT64_MAX - 2000};
    const uint32_t key[4] = {0x12345678, 0x9abcdef0, 0xdeadbeef, 0x0badf00d};
    for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++) {
        const int64_t n = k % 2 ? 1024 : 101;
        const uint64_t start = (uint64_t)starts[k];
        level->bits(IG_U32, key, 4, starts[k], n, out_a);
        level->bits(IG_U64, key, 4, starts[k], n, out_b);
        level->bits(IG_U16, key, 4, starts[k], n, out_c);
        level->bits(IG_U8, key, 4, starts[k], n, out_d);
        for (int64_t i = 0; i < n; i++) {
            const uint64_t at = start + (uint64_t)i;
            uint32_t w[4];
            uint32_t ctr[4] = {(uint32_t)(at / 4), (uint32_t)(at / 4 >> 32), key[2], key[3]};
            philox_reference(ctr, key, w);
            assert_int_equal(((uint32_t *)out_a)[i], w[at % 4]);
            assert_int_equal(((uint16_t *)out_c)[i], w[at % 4] & 0xffff);
            assert_int_equal(((uint8_t *)out_d)[i], w[at % 4] & 0xff);
            ctr[0] = (uint32_t)(at / 2);
            ctr[1] = (uint32_t)(at / 2 >> 32);
            philox_reference(ctr, key, w);
            assert_true(out_b[i] == ((uint64_t)w[at % 2 * 2 + 1] << 32 | w[at % 2 * 2]));
        }
    }
}

static void test_philox(void **s)
{
    (void)s;
    on_each_level(check_philox);
}

/* jax.random.bits(jax.random.key(seed), (5,), dtype) of JAX 0.10.2, threefry partitionable. */
static void check_threefry(void)
{
    static const uint32_t key0[2] = {0, 0}, key42[2] = {0, 42}, key7[2] = {0, 7};
    static const uint8_t u8_42[] = {0xa2, 0xd9, 0xf9, 0xd7, 0x15};
    static const uint16_t u16_42[] = {0x13a2, 0x30d9, 0xf9f9, 0xc1d7, 0x7315};
    static const uint32_t u32_0[] = {0xf29a4fa7, 0xfa843692, 0x55110e28, 0x77faa835, 0x91e43bb7};
    static const uint32_t u32_42[] = {0x7d1c13a2, 0xae0730d9, 0x9dc3f9f9, 0x8f9ec1d7, 0x735d7315};
    static const uint64_t u64_0[] = {0x6b20015999ba4efe, 0x375f238fcddb151d, 0xf71f4ea9a20e4081,
                                     0x9312778be4e8dfbe, 0x883ffec119dbc576};
    static const uint64_t u64_42[] = {0x6d3e048f1022172d, 0x03d7b32dadd083f4, 0x92fb20ea0f38d913,
                                      0xbad56946354ba891, 0xb013aee3c34eddf6};
    level->bits(IG_U8, key42, 2, 0, 5, out_d);
    assert_memory_equal(out_d, u8_42, sizeof u8_42);
    level->bits(IG_U16, key42, 2, 0, 5, out_d);
    assert_memory_equal(out_d, u16_42, sizeof u16_42);
    level->bits(IG_U32, key0, 2, 0, 5, out_d);
    assert_memory_equal(out_d, u32_0, sizeof u32_0);
    level->bits(IG_U32, key42, 2, 0, 5, out_d);
    assert_memory_equal(out_d, u32_42, sizeof u32_42);
    level->bits(IG_U64, key0, 2, 0, 5, out_d);
    assert_memory_equal(out_d, u64_0, sizeof u64_0);
    level->bits(IG_U64, key42, 2, 2, 3, out_d);
    assert_memory_equal(out_d, u64_42 + 2, 3 * sizeof u64_42[0]);
    /* For key 7, 3000 values: their exclusive or. */
    uint32_t all = 0;
    uint64_t all64 = 0;
    for (int64_t at = 0; at < 3000; at += 1000) {
        level->bits(IG_U32, key7, 2, at, 1000, out_a);
        level->bits(IG_U64, key7, 2, at, 1000, out_b);
        for (int i = 0; i < 1000; i++) {
            all ^= ((uint32_t *)out_a)[i];
            all64 ^= out_b[i];
        }
    }
    assert_int_equal(((uint32_t *)out_a)[999], 0xead3173a);
    assert_int_equal(all, 0x271c9a97);
    assert_true(out_b[999] == 0x4b24ceb7a1f7d98d && all64 == 0x1291bb39358d21ae);
}

static void test_threefry(void **s)
{
    (void)s;
    on_each_level(check_threefry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answers),
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_threefry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
