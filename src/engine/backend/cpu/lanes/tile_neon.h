/* The micro-kernels of f32 and f64 for aarch64, 8 rows x 3 registers, in assembly. Loads are spread between
 * multiply-adds: four multiply-adds can start in a cycle, but a group of loads delays some. Compilers put all loads of
 * a step first, which costs 6 %. They run out of registers if the source has this order. See gemm_tile.inc for the
 * arguments. */
#ifndef LANES_TILE_NEON_H
#define LANES_TILE_NEON_H

#include <stdbool.h>
#include <stdint.h>

/* A row's three sums are in registers v(x), v(y), v(z). */
#define TILE_ZERO(x, y, z) \
    "movi v" #x ".2d, #0\n movi v" #y ".2d, #0\n movi v" #z ".2d, #0\n" \
    "prfm pstl1keep, [%[to]]\n prfm pstl1keep, [%[to], #32]\n add %[to], %[to], %[row]\n"
#define TILE_STORE(x, y, z) \
    "stp q" #x ", q" #y ", [%[c]]\n str q" #z ", [%[c], #32]\n add %[c], %[c], %[row]\n"
#define TILE_ADD(t, x, y, z) \
    "ldp q0, q1, [%[c]]\n ldr q2, [%[c], #32]\n" \
    "fadd v" #x "." t ", v0." t ", v" #x "." t "\n fadd v" #y "." t ", v1." t ", v" #y "." t "\n" \
    "fadd v" #z "." t ", v2." t ", v" #z "." t "\n" TILE_STORE(x, y, z)
#define TILE_ADD_F32(x, y, z) TILE_ADD("4s", x, y, z)
#define TILE_ADD_F64(x, y, z) TILE_ADD("2d", x, y, z)

#define TILE_GET(x, y, z) \
    "ldp q" #x ", q" #y ", [%[to]]\n ldr q" #z ", [%[to], #32]\n add %[to], %[to], %[row]\n"

/* v(c) += v(b) * lane l of v(a), or -= : op is fmla or fmls. */
#define TILE_F32(op, c, b, a, l) op " v" #c ".4s, v" #b ".4s, v" #a ".s[" #l "]\n"
#define TILE_F64(op, c, b, a, l) op " v" #c ".2d, v" #b ".2d, v" #a ".d[" #l "]\n"
#define TILE_ROWS_4(op, c0, c1, c2, c3, b, a) \
    TILE_F32(op, c0, b, a, 0) \
    TILE_F32(op, c1, b, a, 1) TILE_F32(op, c2, b, a, 2) TILE_F32(op, c3, b, a, 3)
#define TILE_ROWS_2(op, c0, c1, b, a) TILE_F64(op, c0, b, a, 0) TILE_F64(op, c1, b, a, 1)

#define TILE_LOAD(q, side, at) "ldr q" #q ", [%[" #side "], #" #at "]\n"
#define TILE_NONE(q, side, at) ""

/* One point of k. LOAD is TILE_LOAD or TILE_NONE: it replaces a factor by the next point's factor after its last use.
 * v0 and v1 (and v5, v6) are factors of a; v2, v3, v4 are of b. */
#define TILE_STEP_F32(op, LOAD) \
    TILE_ROWS_4(op, 8, 9, 10, 11, 2, 0) \
    TILE_ROWS_4(op, 16, 17, 18, 19, 3, 0) \
    TILE_ROWS_4(op, 24, 25, 26, 27, 4, 0) \
    LOAD(0, a, 0) \
    TILE_ROWS_4(op, 12, 13, 14, 15, 2, 1) \
    LOAD(2, b, 0) \
    TILE_ROWS_4(op, 20, 21, 22, 23, 3, 1) \
    LOAD(3, b, 16) \
    TILE_ROWS_4(op, 28, 29, 30, 31, 4, 1) \
    LOAD(1, a, 16) \
    LOAD(4, b, 32)
#define TILE_STEP_F64(op, LOAD) \
    TILE_ROWS_2(op, 8, 9, 2, 0) \
    TILE_ROWS_2(op, 10, 11, 3, 0) \
    TILE_ROWS_2(op, 12, 13, 4, 0) \
    LOAD(0, a, 0) \
    TILE_ROWS_2(op, 14, 15, 2, 1) \
    TILE_ROWS_2(op, 16, 17, 3, 1) \
    TILE_ROWS_2(op, 18, 19, 4, 1) \
    LOAD(1, a, 16) \
    TILE_ROWS_2(op, 20, 21, 2, 5) \
    TILE_ROWS_2(op, 22, 23, 3, 5) \
    TILE_ROWS_2(op, 24, 25, 4, 5) \
    LOAD(5, a, 32) \
    TILE_ROWS_2(op, 26, 27, 2, 6) \
    LOAD(2, b, 0) \
    TILE_ROWS_2(op, 28, 29, 3, 6) \
    LOAD(3, b, 16) \
    TILE_ROWS_2(op, 30, 31, 4, 6) \
    LOAD(6, a, 48) \
    LOAD(4, b, 32)

#define TILE_SUMS_F32(X) \
    X(8, 16, 24) \
    X(9, 17, 25) \
    X(10, 18, 26) X(11, 19, 27) X(12, 20, 28) X(13, 21, 29) X(14, 22, 30) X(15, 23, 31)
#define TILE_SUMS_F64(X) \
    X(8, 10, 12) \
    X(9, 11, 13) \
    X(14, 16, 18) X(15, 17, 19) X(20, 22, 24) X(21, 23, 25) X(26, 28, 30) X(27, 29, 31)

#define TILE_FIRST \
    TILE_LOAD(0, a, 0) \
    TILE_LOAD(1, a, 16) TILE_LOAD(2, b, 0) TILE_LOAD(3, b, 16) TILE_LOAD(4, b, 32)

/* The whole kernel. Steps and rows are in bytes, and k is the number of points after the first. */
#define TILE_TEXT(SUMS, FIRST, STEP, ADD) \
    SUMS(TILE_ZERO) \
    FIRST "cbz %[k], 2f\n" \
          "1: add %[a], %[a], %[a_step]\n add %[b], %[b], %[b_step]\n subs %[k], %[k], #1\n" STEP( \
              "fmla", TILE_LOAD) "b.ne 1b\n" \
                                 "2:\n" STEP("fmla", TILE_NONE) "cbnz %[add], 3f\n" SUMS( \
                                     TILE_STORE) "b 4f\n" \
                                                 "3:\n" SUMS(ADD) "4:\n"

/* The same, but the products are subtracted from c one by one. */
#define TILE_LESS_TEXT(SUMS, FIRST, STEP) \
    SUMS(TILE_GET) \
    FIRST "cbz %[k], 2f\n" \
          "1: add %[a], %[a], %[a_step]\n add %[b], %[b], %[b_step]\n subs %[k], %[k], #1\n" STEP( \
              "fmls", TILE_LOAD) "b.ne 1b\n" \
                                 "2:\n" STEP("fmls", TILE_NONE) SUMS(TILE_STORE)

#define TILE_RUN(TEXT) \
    __asm__ volatile(TEXT \
                     : [k] "+r"(k), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [to] "+r"(to) \
                     : [a_step] "r"(a_step), [b_step] "r"(b_step), [row] "r"(row), [add] "r"(adds) \
                     : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v8", "v9", "v10", "v11", "v12", \
                       "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", \
                       "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", \
                       "memory")

static inline void tile_neon_f32(int64_t k, const char *a, int64_t a_step, const char *b,
                                 int64_t b_step, char *c, int64_t row, bool add)
{
    const char *to = c;
    const int64_t adds = add;
    TILE_RUN(TILE_TEXT(TILE_SUMS_F32, TILE_FIRST, TILE_STEP_F32, TILE_ADD_F32));
}

static inline void tile_neon_f64(int64_t k, const char *a, int64_t a_step, const char *b,
                                 int64_t b_step, char *c, int64_t row, bool add)
{
    const char *to = c;
    const int64_t adds = add;
    TILE_RUN(TILE_TEXT(TILE_SUMS_F64, TILE_FIRST TILE_LOAD(5, a, 32) TILE_LOAD(6, a, 48),
                       TILE_STEP_F64, TILE_ADD_F64));
}

static inline void tile_neon_less_f32(int64_t k, const char *a, int64_t a_step, const char *b,
                                      int64_t b_step, char *c, int64_t row)
{
    const char *to = c;
    const int64_t adds = 0;
    TILE_RUN(TILE_LESS_TEXT(TILE_SUMS_F32, TILE_FIRST, TILE_STEP_F32));
}

static inline void tile_neon_less_f64(int64_t k, const char *a, int64_t a_step, const char *b,
                                      int64_t b_step, char *c, int64_t row)
{
    const char *to = c;
    const int64_t adds = 0;
    TILE_RUN(TILE_LESS_TEXT(TILE_SUMS_F64, TILE_FIRST TILE_LOAD(5, a, 32) TILE_LOAD(6, a, 48),
                            TILE_STEP_F64));
}

#endif
