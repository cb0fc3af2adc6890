/* One plain loop for each function and type, as the lanes run them: loop_NAME_TYPE(d, a, b, n).
 * b is read by functions of two arguments only. A function with a far path gets its second loop,
 * entered only when an element is far. Key invariant: the rows are those of vmath_rows.def. */
#ifndef TESTS_MATH_VMATH_LOOPS_H
#define TESTS_MATH_VMATH_LOOPS_H

#include "engine/backend/cpu/vmath/vmath.h"

typedef void loop_f32(float *restrict d, const float *restrict a, const float *restrict b, int n);
typedef void loop_f64(double *restrict d, const double *restrict a, const double *restrict b,
                      int n);

#define LOOP(name, type, real, call) \
    static void loop_##name##_##type(real *restrict d, const real *restrict a, \
                                     const real *restrict b, int n) \
    { \
        (void)b; \
        for (int i = 0; i < n; i++) \
            d[i] = (real)vm_##name##_##type call; \
    }

#define LOOP_FAR(name, type, real, call) \
    static void loop_##name##_##type(real *restrict d, const real *restrict a, \
                                     const real *restrict b, int n) \
    { \
        int far = 0; \
        (void)b; \
        for (int i = 0; i < n; i++) \
            d[i] = vm_##name##_##type call; \
        for (int i = 0; i < n; i++) \
            far |= vm_##name##_far_##type call; \
        for (int i = 0; far && i < n; i++) \
            if (vm_##name##_far_##type call) \
                d[i] = vm_##name##_slow_##type call; \
    }

#define LOOPS1(name) LOOP(name, f32, float, (a[i])) LOOP(name, f64, double, (a[i]))
#define LOOPS2(name) LOOP(name, f32, float, (a[i], b[i])) LOOP(name, f64, double, (a[i], b[i]))
#define LOOPS1_FAR(name) LOOP_FAR(name, f32, float, (a[i])) LOOP_FAR(name, f64, double, (a[i]))
#define LOOPS2_FAR(name) \
    LOOP_FAR(name, f32, float, (a[i], b[i])) LOOP_FAR(name, f64, double, (a[i], b[i]))

#define UNARY LOOPS1
#define UNARY_FAR LOOPS1_FAR
#define BINARY LOOPS2
#define BINARY_FAR LOOPS2_FAR
#define EXACT1 LOOPS1
#define EXACT2 LOOPS2
#define TEST1 LOOPS1
#include "vmath_rows.def"

struct vmath_row {
    const char *name;
    int arguments;
    loop_f32 *f32;
    loop_f64 *f64;
};

#define ROW1(name) {#name, 1, loop_##name##_f32, loop_##name##_f64},
#define ROW2(name) {#name, 2, loop_##name##_f32, loop_##name##_f64},

static const struct vmath_row vmath_rows[] = {
#define UNARY ROW1
#define UNARY_FAR ROW1
#define BINARY ROW2
#define BINARY_FAR ROW2
#define EXACT1 ROW1
#define EXACT2 ROW2
#define TEST1 ROW1
#include "vmath_rows.def"
};

enum { VMATH_ROWS = sizeof vmath_rows / sizeof vmath_rows[0] };

#endif
