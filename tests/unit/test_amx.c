/* The AMX kernels on any machine, with the matrix unit's steps in plain C: packing of every layout and
 * the tiles, against sums written out. (test_contract runs the real instructions if the processor has them.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if !defined(__AMX_TILE__)
#define AMX_EMULATED 1
#endif
#undef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
#define LEVEL emulated
#include "engine/backend/cpu/lanes/gemm.c"

enum { SIDE = 40, K_MOST = 150 }; /* a panel and a part of one */

/* Small whole numbers, so that every sum is exact. */
static int value(int side, int64_t r, int64_t i)
{
    return (int)((r * 7 + i * 5 + side * 3) % 9) - 4;
}

static uint16_t bf16_of(int x)
{
    const float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* One product of SIDE x SIDE by k, of bf16 to f32, or of i8 to its low bytes or i32. along: the points of a row are
 * contiguous, and packing is told so for every second k; else the rows of a point are. */
static void check(const gemm_kernel *g, ig_dtype result, int64_t k, const bool along[2])
{
    const bool bytes = result != IG_F32, straight = g->tile_rows && along[0] && k % g->group == 0;
    static uint16_t from[2][SIDE * K_MOST];
    static _Alignas(64) char panel[2][2 * 32 * 192 * 2];
    static float c[64 * 64];
    int64_t row[SIDE], point[K_MOST];
    const int64_t deep = (k + g->group - 1) / g->group * g->group * g->element_bytes;
    memset(panel, 0xff, sizeof panel); /* NaNs: elements that are not filled become visible */
    for (int side = 0; side < 2; side++) {
        for (int64_t r = 0; r < SIDE; r++)
            row[r] = along[side] ? r * k : r;
        for (int64_t i = 0; i < k; i++)
            point[i] = along[side] ? i : i * SIDE;
        for (int64_t r = 0; r < SIDE; r++)
            for (int64_t i = 0; i < k; i++)
                if (bytes)
                    ((int8_t *)from[side])[row[r] + point[i]] = (int8_t)value(side, r, i);
                else
                    from[side][row[r] + point[i]] = bf16_of(value(side, r, i));
        (side == 0 ? g->pack_m : g->pack_n)(panel[side], from[side], SIDE, row, k,
                                            along[side] && k % 2 ? NULL : point);
    }
    for (int add = 0; add < 2; add++)
        for (int64_t i = 0; i < 64; i += 32)
            for (int64_t j = 0; j < 64; j += 32)
                if (straight && i == 0) /* the rows are read in place */
                    g->tile_rows(k, from[0], k * 2, panel[1] + j * deep, c + j, 64, add);
                else
                    g->tile(k, panel[0] + i * deep, panel[1] + j * deep,
                            (char *)c + (i * 64 + j) * (result == IG_I8 ? 1 : 4), 64, add);
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++) {
            int sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += 2 * value(0, i, p) * value(1, j, p);
            int32_t whole;
            memcpy(&whole, &c[i * 64 + j], sizeof whole);
            if (result == IG_I8)
                assert_int_equal(((uint8_t *)c)[i * 64 + j], (uint8_t)sum);
            else if (result == IG_I32)
                assert_int_equal(whole, sum);
            else
                assert_true(c[i * 64 + j] == (float)sum);
        }
}

static void products_are_right(void **unused)
{
    (void)unused;
    static const int64_t lengths[] = {1, 2, 3, 31, 32, 33, 64, 65, 127, 128, 150};
    if (gemm_emulated.ready && !gemm_emulated.ready())
        return;
    for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++)
        for (int way = 0; way < 4; way++) {
            const bool along[2] = {way & 1, way >> 1};
            check(&gemm_emulated.of[IG_BF16], IG_F32, lengths[n], along);
            check(&gemm_emulated.of[IG_I8], IG_I8, lengths[n], along);
            check(&gemm_emulated.i8_to_i32, IG_I32, lengths[n], along);
        }
}

/* The sum of a block of k is rounded before it is added: 2^24 + 1 + 1 ... would stay 2^24. */
static void blocks_are_summed_apart(void **unused)
{
    (void)unused;
    const gemm_kernel *g = &gemm_emulated.of[IG_BF16];
    static _Alignas(64) uint16_t ones[32 * 64];
    static float c[32 * 32];
    if (gemm_emulated.ready && !gemm_emulated.ready())
        return;
    for (int i = 0; i < 32 * 64; i++)
        ones[i] = bf16_of(1);
    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < 32 * 32; i++)
            c[i] = 1 << 24;
        if (way == 0)
            g->tile(64, ones, ones, c, 32, true);
        else
            g->tile_rows(64, ones, 128, ones, c, 32, true);
        for (int i = 0; i < 32 * 32; i++)
            assert_true(c[i] == (1 << 24) + 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_right),
                                       cmocka_unit_test(blocks_are_summed_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
