/* exp(x - y) of floats for aarch64, in assembly. The results have the bits of vm_exp_near_f32 of the differences.
 *
 * A register's chain of steps takes about 45 cycles, and the core does not look far enough ahead to
 * fill them with other chains. So the first half of the chains of three registers is interleaved with the second half
 * of the previous three. Compilers run out of registers here. A term that a multiply-add overwrites with its result is
 * loaded each time: copies of registers would compete with arithmetic for issue slots. */
#ifndef LANES_EXP_NEON_H
#define LANES_EXP_NEON_H

#include "engine/backend/cpu/vmath/vmath.h"

#include <stdint.h>

/* Constants in memory: three terms, four times each, and six factors. The polynomial is vm_poly_exp_f32. */
enum { EXP_CONSTANTS = 20, EXP_GROUP = 24, EXP_MORE = 12 };
#define EXP_FOUR(x) x, x, x, x
static const float exp_neon_constants[EXP_CONSTANTS] __attribute__((aligned(16))) = {
    EXP_FOUR(vm_biased_f32), EXP_FOUR(0x1p-1f), EXP_FOUR(0x1.555486p-5f), vm_log2e_f32,
    vm_ln2_hi_f32,           vm_ln2_lo_f32,     0x1.5554aep-3f,           0x1.122882p-7f,
    0x1.6d996p-10f};

/* One instruction for each of three registers: with a common operand, with separate operands, to or from memory. */
#define EXP_COMMON_(op, d0, d1, d2, a0, a1, a2, b) \
    op " v" #d0 ".4s, v" #a0 ".4s, " b "\n" op " v" #d1 ".4s, v" #a1 ".4s, " b "\n" op " v" #d2 \
       ".4s, v" #a2 ".4s, " b "\n"
#define EXP_EACH_(op, d0, d1, d2, a0, a1, a2, b0, b1, b2) \
    op " v" #d0 ".4s, v" #a0 ".4s, v" #b0 ".4s\n" op " v" #d1 ".4s, v" #a1 ".4s, v" #b1 ".4s\n" op \
       " v" #d2 ".4s, v" #a2 ".4s, v" #b2 ".4s\n"
#define EXP_MEMORY_(op, base, at, step, q0, q1, q2) \
    op " q" #q0 ", [%[" #base "], #" #at "]\n" op " q" #q1 ", [%[" #base "], #" #at "+" #step \
       "]\n" op " q" #q2 ", [%[" #base "], #" #at "+2*" #step "]\n"
#define EXP_CALL(name, ...) name(__VA_ARGS__)
#define EXP_LIST(a, b, c) a, b, c
#define EXP_COMMON(op, d, a, b) EXP_CALL(EXP_COMMON_, op, EXP_LIST d, EXP_LIST a, b)
#define EXP_EACH(op, d, a, b) EXP_CALL(EXP_EACH_, op, EXP_LIST d, EXP_LIST a, EXP_LIST b)
#define EXP_MEMORY(op, base, at, step, q) EXP_CALL(EXP_MEMORY_, op, base, at, step, EXP_LIST q)

/* Registers: arguments and powers of two groups of three, and the constants of each step. */
#define EXP_X_A (0, 1, 2)
#define EXP_T_A (3, 4, 5)
#define EXP_X_B (6, 7, 8)
#define EXP_T_B (9, 10, 11)
#define EXP_K (12, 13, 14)
#define EXP_R2 (15, 16, 17)
#define EXP_P (18, 19, 20)
#define EXP_Q (21, 22, 23)
#define EXP_Y (24, 25, 26)

/* The first half: x becomes r and t its power, as in exp_reduce. */
#define EXP_READ(x, t, at) EXP_MEMORY("ldr", from, at, 16, x) EXP_MEMORY("ldr", constants, 0, 0, t)
#define EXP_SHIFT(x, t) EXP_EACH("fsub", x, x, EXP_Y) EXP_COMMON("fmla", t, x, "v31.s[0]")
#define EXP_WHOLE(t) EXP_COMMON("fsub", EXP_K, t, "v29.4s")
#define EXP_REST_HI(x) EXP_COMMON("fmls", x, EXP_K, "v31.s[1]")
#define EXP_REST_LO(x) EXP_COMMON("fmls", x, EXP_K, "v31.s[2]")

/* The smallest and the largest difference of each lane. */
#define EXP_INTO_(op, d, a0, a1, a2) \
    op " v" #d ".4s, v" #d ".4s, v" #a0 ".4s\n" op " v" #d ".4s, v" #d ".4s, v" #a1 ".4s\n" op \
       " v" #d ".4s, v" #d ".4s, v" #a2 ".4s\n"
#define EXP_INTO(op, d, a) EXP_CALL(EXP_INTO_, op, d, EXP_LIST a)
#define EXP_LEAST(x) EXP_INTO("fmin", 27, x)
#define EXP_MOST(x) EXP_INTO("fmax", 28, x)
#define EXP_NOTHING(x) ""

/* The second half of one group, and the first half of the next. LEAST and MOST are EXP_LEAST and EXP_MOST, or
 * EXP_NOTHING. */
#define EXP_STEP(LEAST, MOST, x, t, at, next_x, next_t, next) \
    EXP_READ(next_x, next_t, next) \
    EXP_SHIFT(next_x, next_t) \
    EXP_MEMORY("ldr", constants, 32, 0, EXP_P) \
    EXP_MEMORY("ldr", constants, 16, 0, EXP_Q) \
    LEAST(next_x) \
    EXP_EACH("fmul", EXP_R2, x, x) \
    EXP_COMMON("fmla", EXP_P, x, "v30.s[0]") \
    MOST(next_x) \
    EXP_COMMON("fmla", EXP_Q, x, "v31.s[3]") \
    EXP_WHOLE(next_t) \
    EXP_COMMON("fmla", EXP_P, EXP_R2, "v30.s[1]") \
    EXP_REST_HI(next_x) \
    EXP_EACH("fmla", EXP_Q, EXP_P, EXP_R2) \
    EXP_REST_LO(next_x) \
    EXP_COMMON("shl", t, t, "#23") \
    EXP_EACH("fmla", x, EXP_Q, EXP_R2) \
    EXP_EACH("fmla", t, t, x) EXP_MEMORY("str", to, at, 16, t)

#define EXP_LOOP(LEAST, MOST) \
    "ldp q24, q25, [%[y]]\n ldr q26, [%[y], #32]\n ldp q27, q28, [%[range]]\n" \
    "ldr q29, [%[constants]]\n ldp q31, q30, [%[constants], #48]\n" EXP_READ(EXP_X_A, EXP_T_A, 0) \
        EXP_SHIFT(EXP_X_A, EXP_T_A) LEAST(EXP_X_A) MOST(EXP_X_A) EXP_WHOLE(EXP_T_A) \
            EXP_REST_HI(EXP_X_A) EXP_REST_LO(EXP_X_A) "1:\n" EXP_STEP( \
                LEAST, MOST, EXP_X_A, EXP_T_A, 0, EXP_X_B, EXP_T_B, 48) \
                EXP_STEP(LEAST, MOST, EXP_X_B, EXP_T_B, 48, EXP_X_A, EXP_T_A, \
                         96) "add %[from], %[from], #96\n add %[to], %[to], #96\n subs %[n], " \
                             "%[n], #1\n b.ne 1b\n" \
                             "stp q27, q28, [%[range]]\n"

#define EXP_RUN(TEXT) \
    __asm__ volatile(TEXT \
                     : [n] "+r"(groups), [from] "+r"(x), [to] "+r"(d) \
                     : [y] "r"(y), [range] "r"(range), [constants] "r"(exp_neon_constants) \
                     : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", \
                       "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", \
                       "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", \
                       "memory")

/* d[i] = exp(x[i] - y[i % 12]) for EXP_GROUP * groups elements, groups > 0. Reads EXP_MORE elements of x past the end.
 * Differences outside of the near path of exp give wrong results. exp_neon_range also joins each difference, and the
 * differences of the EXP_MORE elements, to the smallest and the largest difference of each of four lanes; NaN exceeds all. */
static inline void exp_neon(int64_t groups, float *d, const float *x, const float *y)
{
    float range[8] = {0};
    EXP_RUN(EXP_LOOP(EXP_NOTHING, EXP_NOTHING));
}

static inline void exp_neon_range(int64_t groups, float *d, const float *x, const float *y,
                                  float *range)
{
    EXP_RUN(EXP_LOOP(EXP_LEAST, EXP_MOST));
}

#endif
