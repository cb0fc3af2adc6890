/* The vector math for float: its constants, the shared body, and the functions with a method of
 * their own. pow, hypot, logaddexp and the division with a remainder compute in double, where a
 * plain formula is exact enough. Included by vmath.h only, after f64.h. */
#ifndef BACKEND_CPU_VMATH_F32_H
#define BACKEND_CPU_VMATH_F32_H

static const float vm_inf_f32 = __builtin_inff();
static const float vm_nan_f32 = __builtin_nanf("");
static const float vm_min_normal_f32 = 0x1p-126f;
static const int vm_mantissa_f32 = 23;
static const uint32_t vm_bias_f32 = 127;
static const uint32_t vm_one_bits_f32 = 0x3f800000;
static const uint32_t vm_sqrt_half_bits_f32 = 0x3f3504f3;
static const float vm_two_mantissa_f32 = 0x1p23f;
static const float vm_magic_f32 = 0x1.8p23f;
static const float vm_biased_f32 = 0x1.8p23f + 127;
static const float vm_shift_f32 = 0x1.8p23f + 254;
static const float vm_ln2_hi_f32 = 0x1.62e43p-1f;
static const float vm_ln2_lo_f32 = -0x1.05c61p-29f;
static const float vm_log2e_f32 = 0x1.715476p+0f;
static const float vm_log2e_lo_f32 = 0x1.4ae0cp-26f;
static const float vm_log10_2_hi_f32 = 0x1.344136p-2f;
static const float vm_log10_2_lo_f32 = -0x1.ec10cp-27f;
static const float vm_log10e_f32 = 0x1.bcb7b2p-2f;
static const float vm_log10e_lo_f32 = -0x1.5b235ep-27f;
static const float vm_two_over_pi_f32 = 0x1.45f306p-1f;
static const float vm_pio2_a_f32 = 0x1.921fb6p+0f;
static const float vm_pio2_b_f32 = -0x1.777a5cp-25f;
static const float vm_pio2_c_f32 = -0x1.ee59dap-50f;
static const float vm_circular_far_f32 = 0x1p17f;
static const float vm_exp_hi_f32 = 89.0f;
static const float vm_exp_lo_f32 = -104.0f;
static const float vm_exp2_hi_f32 = 129.0f;
static const float vm_exp2_lo_f32 = -151.0f;
static const float vm_exp_reach_f32 = 87.0f;
static const float vm_exp2_reach_f32 = 126.0f;
static const float vm_sigmoid_reach_f32 = 87.0f;
static const float vm_expm1_lo_f32 = -18.0f;
static const float vm_tanh_one_f32 = 10.0f;
static const float vm_cosh_hi_f32 = 90.0f;
static const float vm_asinh_big_f32 = 0x1p30f;
static const float vm_erf_one_f32 = 4.0f;
static const float vm_erfinv_cut_f32 = 5.0f;

static inline float vm_fma_f32(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline float vm_fabs_f32(float x) { return __builtin_fabsf(x); }
static inline float vm_sqrt_f32(float x) { return __builtin_sqrtf(x); }
static inline float vm_floor_f32(float x) { return __builtin_floorf(x); }
static inline float vm_ceil_f32(float x) { return __builtin_ceilf(x); }
static inline float vm_trunc_f32(float x) { return __builtin_truncf(x); }
static inline float vm_round_f32(float x) { return __builtin_rintf(x); }
static inline float vm_copysign_f32(float x, float y) { return __builtin_copysignf(x, y); }

/* log(1+f) for 1+f in [sqrt(1/2), sqrt(2)). */
static inline float vm_log_core_f32(float f)
{
    float square = f * f;
    return f + vm_fma_f32(f * square, vm_poly_log_f32(f), -0.5f * square);
}

#define R float
#define U uint32_t
#define VM(name) vm_##name##_f32
#include "backend/cpu/vmath/body.inc"
#undef R
#undef U
#undef VM

/* 1 - exp(q), q = log(erfc(a)) = b + b*P(b) for b = -a: near 0 it has the relative error of q. */
static inline float vm_erf_f32(float x)
{
    float b = -vm_fabs_f32(x);
    b = vm_select_f32(b < -vm_erf_one_f32, -vm_erf_one_f32, b);
    float t;
    float r = vm_exp_reduce_f32(vm_fma_f32(b, vm_poly_log_erfc_f32(b), b), vm_biased_f32, &t);
    float power = vm_power_f32(t);
    return vm_copysign_f32(vm_fma_f32(power, vm_exp_tail_f32(r), power - 1), x);
}

/* exp(y*log(x)) in double, whose spare bits take the error of the product, with short polynomials.
 * Every x but 0 is normal as a double, and every result is too. */
static inline float vm_pow_f32(float x, float y)
{
    uint64_t e;
    double f = vm_log_split_f64(vm_fabs_f64((double)x), &e);
    double s = f / (2 + f), z = s * s;
    double log_f = s * vm_fma_f64(z, vm_poly_atanh_short_f64(z), 2);
    double h = (double)y * vm_fma_f64(vm_from_small_f64(e, 1023), vm_ln2_hi_f64, log_f);
    h = vm_select_f64(h > 100, 100, h);
    h = vm_select_f64(h < -110, -110, h);
    double t;
    double r = vm_exp_reduce_f64(h, vm_biased_f64, &t);
    double p = 1 + vm_fma_f64(r * r, vm_poly_exp_short_f64(r), r);
    return vm_pow_special_f32(x, y, (float)(p * vm_power_f64(t)));
}

static inline float vm_hypot_f32(float x, float y)
{
    double wide_x = (double)x, wide_y = (double)y;
    float a = vm_fabs_f32(x), b = vm_fabs_f32(y);
    float r = (float)vm_sqrt_f64(wide_x * wide_x + wide_y * wide_y);
    return vm_select_f32((a == vm_inf_f32) | (b == vm_inf_f32), vm_inf_f32, r);
}

static inline float vm_logaddexp_f32(float x, float y)
{
    return (float)vm_logaddexp_f64((double)x, (double)y);
}

static inline float vm_remainder_f32(float x, float y)
{
    double r;
    vm_quotient_f64((double)x, (double)y, &r);
    return vm_remainder_sign_f32((float)r, y);
}

static inline int vm_remainder_far_f32(float x, float y)
{
    return vm_remainder_far_f64((double)x, (double)y);
}

static inline float vm_floor_divide_f32(float x, float y)
{
    return (float)vm_floor_divide_f64((double)x, (double)y);
}

#endif
