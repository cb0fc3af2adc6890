/* Products of bf16 whose rows AMX reads in place, on any machine: the plans of contractions get AMX kernels, whose
 * steps are plain C here. All numbers are small and whole, so results are exact. */
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

#include "engine/backend/cpu/cpu.h"

/* The level of the machine, with other kernels for bf16. */
static cpu_level tested;
static gemm_level kernels;
static const cpu_level *level_here(void);

/* This file's functions replace those of the library. */
#define cpu_level_now level_here
#include "engine/backend/cpu/contract/contract_plan.c"
#include "ingot.h"
#undef cpu_level_now

static const cpu_level *level_here(void)
{
    if (!tested.gemm) {
        tested = *cpu_level_now();
        kernels = *tested.gemm;
        kernels.of[IG_BF16] = gemm_emulated.of[IG_BF16];
        tested.gemm = &kernels;
    }
    return &tested;
}

/* Integers in [-2, 2], different in each row. */
static ig_array *numbers(ig_ints shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.n; i++)
        n *= shape.v[i];
    ig_array *x =
        ig_remainder(ig_multiply(ig_arange(0, (double)n, 1, IG_I32), ig_int(7)), ig_int(5));
    return ig_eval_one(ig_astype(ig_reshape(ig_subtract(x, ig_int(2)), shape), IG_BF16));
}

/* x w^T + bias (+ x w^T again, as f32) in bf16, compared with f32. */
static void check(int64_t m, int64_t n, int64_t k, bool beside)
{
    ig_scope_begin();
    ig_array *x = numbers(IG_SHAPE(m, k)), *bias = numbers(IG_SHAPE(n));
    ig_array *w = beside ? ig_eval_one(ig_permute_dims(numbers(IG_SHAPE(k, n)), IG_AXES(1, 0)))
                         : numbers(IG_SHAPE(n, k));
    for (int times = 0; times < 4; times++) { /* from the third on, w is packed and kept */
        ig_array *y =
            ig_eval_one(ig_astype(ig_add(ig_tensordot(x, w, IG_AXES(-1, 1)), bias), IG_F32));
        ig_array *of_f32 = ig_tensordot(ig_astype(x, IG_F32), ig_astype(w, IG_F32), IG_AXES(-1, 1));
        ig_array *right = ig_eval_one(
            ig_astype(ig_astype(ig_add(ig_astype(of_f32, IG_BF16), bias), IG_BF16), IG_F32));
        assert_non_null(y);
        assert_memory_equal(ig_data(y), ig_data(right), (size_t)(m * n) * sizeof(float));
    }
    ig_scope_end();
}

static void products_are_right(void **state)
{
    (void)state;
    if (gemm_emulated.ready && !gemm_emulated.ready())
        return;
    for (int threads = 1; threads <= 4; threads += 3) {
        ig_set_threads(threads);
        check(32, 40, 64, false);
        check(96, 300, 512, false);
        check(64, 300, 512, true);
        check(96, 200, 1120, false);
        check(64, 64, 32, true);
    }
    ig_set_threads(0);
}

/* A linear layer is cut into several tiles for each thread, since cores may differ in speed. A product whose tiles each
 * pack the columns is not. */
static void threads_have_several_tiles(void **state)
{
    (void)state;
    enum { THREADS = 16, M = 1024, N = 768, K = 768 };
    for (int beside = 0; beside < 2; beside++) {
        program p = {.kind = PROGRAM_CONTRACT,
                     .dtype = IG_BF16,
                     .ndim = {0, 1, 1, 1},
                     .chain = 1,
                     .extent = {1, M, N, K}};
        p.in[0] = (operand){.dtype = IG_BF16, .v = {.ndim = 2, .shape = {M, K}, .stride = {K, 1}}};
        p.in[1] = (operand){
            .dtype = IG_BF16,
            .v = {.ndim = 2, .shape = {N, K}, .stride = {beside ? 1 : K, beside ? N : 1}}};
        contraction c;
        contraction_set(&c, &p);
        contraction_share(&c, THREADS);
        assert_true(c.straight);
        assert_true(beside ? c.tiles == THREADS : c.tiles >= 2 * THREADS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_right),
                                       cmocka_unit_test(threads_have_several_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
