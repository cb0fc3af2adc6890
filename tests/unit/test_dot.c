/* The kernels that add products of four unsigned and four signed bytes (VNNI) on any machine, with the instruction's step in
 * plain C: packing of every layout and the tiles, against sums written out. (test_contract runs the real instructions if the
 * processor has them.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define DOT_EMULATED 2
#undef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
#undef __AMX_TILE__
#define LEVEL emulated
#include "engine/backend/cpu/lanes/gemm.c"

enum { SIDE = 40, PADDED = 2 * GEMM_WIDTH_MAX, K_MOST = 150 };

/* All bytes occur, the extreme ones often. */
static int8_t value(int side, int64_t r, int64_t i)
{
    static const int8_t extreme[] = {-128, 127, -127, 0};
    const int64_t mix = r * 37 + i * 101 + side * 59;
    return mix % 3 == 0 ? extreme[mix / 3 % 4] : (int8_t)(uint8_t)mix;
}

/* One product of SIDE x SIDE by k. along: the points of a row are contiguous, and packing is told so for every second k; else
 * the rows of a point are. */
static void check(const gemm_kernel *g, int64_t k, const bool along[2])
{
    static int8_t from[2][SIDE * K_MOST];
    static _Alignas(64) char panel[2][PADDED * (K_MOST + 4)];
    static int32_t c[PADDED * PADDED];
    int64_t row[SIDE], point[K_MOST];
    const int64_t deep = (k + g->group - 1) / g->group * g->group * g->element_bytes;
    memset(panel, 0x55, sizeof panel); /* elements that are not filled become visible */
    for (int side = 0; side < 2; side++) {
        for (int64_t r = 0; r < SIDE; r++)
            row[r] = along[side] ? r * k : r;
        for (int64_t i = 0; i < k; i++)
            point[i] = along[side] ? i : i * SIDE;
        for (int64_t r = 0; r < SIDE; r++)
            for (int64_t i = 0; i < k; i++)
                from[side][row[r] + point[i]] = value(side, r, i);
        (side == 0 ? g->pack_m : g->pack_n)(panel[side], from[side], SIDE, row, k,
                                            along[side] && k % 2 ? NULL : point);
    }
    for (int add = 0; add < 2; add++)
        for (int64_t i = 0; i < SIDE; i += g->mr)
            for (int64_t j = 0; j < SIDE; j += g->nr)
                g->tile(k, panel[0] + i * deep, panel[1] + j * deep, c + i * PADDED + j, PADDED,
                        add);
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++) {
            int32_t sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += 2 * value(0, i, p) * value(1, j, p);
            assert_int_equal(c[i * PADDED + j], sum);
        }
}

static void products_are_right(void **unused)
{
    (void)unused;
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 128, 150};
    for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++)
        for (int way = 0; way < 4; way++) {
            const bool along[2] = {way & 1, way >> 1};
            check(&gemm_emulated.i8_to_i32, lengths[n], along);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
