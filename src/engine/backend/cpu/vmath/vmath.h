/* Vector math of the CPU lane loops: kernels/math.cuh as C.
 *
 * m_NAME(x) picks vm_NAME_f32 or vm_NAME_f64 by the type of x. `for (i) d[i] = m_exp(a[i])` becomes vector code on
 * every level. The bits are the same with every compiler and level if it is built with -fno-math-errno
 * -fno-trapping-math -ffp-contract=off and without -ffast-math, and runs with rounding to nearest.
 *
 * A loop over a function with a far path (VM_FAR_UNARY, VM_FAR_BINARY; see math.cuh) runs m_NAME over a block and ORs
 * m_NAME_far. Only if that is not 0, a second loop stores m_NAME_slow for the far elements. VM_NEAR lists the functions
 * with a near path, m_NAME_near(x) for |x| <= m_NAME_reach(x), which is a constant. */
#ifndef BACKEND_CPU_VMATH_H
#define BACKEND_CPU_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define VM_FAR_UNARY(X) X(sin) X(cos) X(tan)
#define VM_FAR_BINARY(X) X(remainder)
#define VM_NEAR(X) X(exp) X(exp2) X(sigmoid)

/* ---- the parts of CUDA that math.cuh uses ---- */

static inline unsigned int vm_float_as_uint(float x)
{
    unsigned int u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float vm_uint_as_float(unsigned int u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline long long vm_double_as_longlong(double x)
{
    long long u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double vm_longlong_as_double(long long u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline unsigned int vm_umulhi(unsigned int a, unsigned int b)
{
    return (unsigned int)((unsigned long long)a * b >> 32);
}

__extension__ typedef unsigned __int128 vm_u128;
static inline unsigned long long vm_umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((vm_u128)a * b >> 64);
}

#define __device__
#define __float_as_uint vm_float_as_uint
#define __uint_as_float vm_uint_as_float
#define __double_as_longlong vm_double_as_longlong
#define __longlong_as_double vm_longlong_as_double
#define __umulhi vm_umulhi
#define __umul64hi vm_umul64hi
#define __clz(x) __builtin_clz((unsigned int)(x))
#define __clzll(x) __builtin_clzll((unsigned long long)(x))

#include "kernels/math.cuh"

#undef __device__
#undef __umulhi
#undef __umul64hi
#undef __clz
#undef __clzll

#define VM_PICK(name, x) _Generic((x), float : vm_##name##_f32, double : vm_##name##_f64)

#define m_exp(x) VM_PICK(exp, x)(x)
#define m_exp2(x) VM_PICK(exp2, x)(x)
#define m_expm1(x) VM_PICK(expm1, x)(x)
#define m_log(x) VM_PICK(log, x)(x)
#define m_log1p(x) VM_PICK(log1p, x)(x)
#define m_log2(x) VM_PICK(log2, x)(x)
#define m_log10(x) VM_PICK(log10, x)(x)
#define m_sin(x) VM_PICK(sin, x)(x)
#define m_cos(x) VM_PICK(cos, x)(x)
#define m_tan(x) VM_PICK(tan, x)(x)
#define m_asin(x) VM_PICK(asin, x)(x)
#define m_acos(x) VM_PICK(acos, x)(x)
#define m_atan(x) VM_PICK(atan, x)(x)
#define m_sinh(x) VM_PICK(sinh, x)(x)
#define m_cosh(x) VM_PICK(cosh, x)(x)
#define m_tanh(x) VM_PICK(tanh, x)(x)
#define m_asinh(x) VM_PICK(asinh, x)(x)
#define m_acosh(x) VM_PICK(acosh, x)(x)
#define m_atanh(x) VM_PICK(atanh, x)(x)
#define m_erf(x) VM_PICK(erf, x)(x)
#define m_erfinv(x) VM_PICK(erfinv, x)(x)
#define m_gelu_erf(x) VM_PICK(gelu_erf, x)(x)
#define m_sigmoid(x) VM_PICK(sigmoid, x)(x)
#define m_sqrt(x) VM_PICK(sqrt, x)(x)
#define m_rsqrt(x) VM_PICK(rsqrt, x)(x)
#define m_reciprocal(x) VM_PICK(reciprocal, x)(x)
#define m_floor(x) VM_PICK(floor, x)(x)
#define m_ceil(x) VM_PICK(ceil, x)(x)
#define m_trunc(x) VM_PICK(trunc, x)(x)
#define m_round(x) VM_PICK(round, x)(x)
#define m_abs(x) VM_PICK(abs, x)(x)
#define m_sign(x) VM_PICK(sign, x)(x)

#define m_pow(x, y) VM_PICK(pow, x)(x, y)
#define m_atan2(y, x) VM_PICK(atan2, y)(y, x)
#define m_hypot(x, y) VM_PICK(hypot, x)(x, y)
#define m_logaddexp(x, y) VM_PICK(logaddexp, x)(x, y)
#define m_copysign(x, y) VM_PICK(copysign, x)(x, y)
#define m_nextafter(x, y) VM_PICK(nextafter, x)(x, y)
#define m_floor_divide(x, y) VM_PICK(floor_divide, x)(x, y)
#define m_remainder(x, y) VM_PICK(remainder, x)(x, y)
#define m_maximum(x, y) VM_PICK(maximum, x)(x, y)
#define m_minimum(x, y) VM_PICK(minimum, x)(x, y)

#define m_signbit(x) VM_PICK(signbit, x)(x)
#define m_isnan(x) VM_PICK(isnan, x)(x)
#define m_isinf(x) VM_PICK(isinf, x)(x)
#define m_isfinite(x) VM_PICK(isfinite, x)(x)

#define m_exp_near(x) VM_PICK(exp_near, x)(x)
#define m_exp_reach(x) VM_PICK(exp_reach, x)
#define m_exp2_near(x) VM_PICK(exp2_near, x)(x)
#define m_exp2_reach(x) VM_PICK(exp2_reach, x)
#define m_sigmoid_near(x) VM_PICK(sigmoid_near, x)(x)
#define m_sigmoid_reach(x) VM_PICK(sigmoid_reach, x)

#define m_sin_far(x) VM_PICK(sin_far, x)(x)
#define m_sin_slow(x) VM_PICK(sin_slow, x)(x)
#define m_sin_full(x) VM_PICK(sin_full, x)(x)
#define m_cos_far(x) VM_PICK(cos_far, x)(x)
#define m_cos_slow(x) VM_PICK(cos_slow, x)(x)
#define m_cos_full(x) VM_PICK(cos_full, x)(x)
#define m_tan_far(x) VM_PICK(tan_far, x)(x)
#define m_tan_slow(x) VM_PICK(tan_slow, x)(x)
#define m_tan_full(x) VM_PICK(tan_full, x)(x)
#define m_remainder_far(x, y) VM_PICK(remainder_far, x)(x, y)
#define m_remainder_slow(x, y) VM_PICK(remainder_slow, x)(x, y)
#define m_remainder_full(x, y) VM_PICK(remainder_full, x)(x, y)

#endif
