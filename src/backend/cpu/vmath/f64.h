/* The vector math for double: its constants, the shared body, and the functions with a method of
 * their own: log's core, pow, hypot, logaddexp, division with a remainder.
 * Included by vmath.h only. */
#ifndef BACKEND_CPU_VMATH_F64_H
#define BACKEND_CPU_VMATH_F64_H

static const double vm_inf_f64 = __builtin_inf();
static const double vm_nan_f64 = __builtin_nan("");
static const double vm_min_normal_f64 = 0x1p-1022;
static const int vm_mantissa_f64 = 52;
static const uint64_t vm_bias_f64 = UINT64_C(1023);
static const uint64_t vm_one_bits_f64 = UINT64_C(0x3ff0000000000000);
static const uint64_t vm_sqrt_half_bits_f64 = UINT64_C(0x3fe6a09e667f3bcd);
static const double vm_two_mantissa_f64 = 0x1p52;
static const double vm_magic_f64 = 0x1.8p52;
static const double vm_biased_f64 = 0x1.8p52 + 1023;
static const double vm_shift_f64 = 0x1.8p52 + 2046;
static const double vm_ln2_hi_f64 = 0x1.62e42fefa39efp-1;
static const double vm_ln2_lo_f64 = 0x1.abc9e3b39803fp-56;
static const double vm_log2e_f64 = 0x1.71547652b82fep+0;
static const double vm_log2e_lo_f64 = 0x1.777d0ffda0d24p-56;
static const double vm_log10_2_hi_f64 = 0x1.34413509f79ffp-2;
static const double vm_log10_2_lo_f64 = -0x1.9dc1da994fd21p-59;
static const double vm_log10e_f64 = 0x1.bcb7b1526e50ep-2;
static const double vm_log10e_lo_f64 = 0x1.95355baaafad3p-57;
static const double vm_two_over_pi_f64 = 0x1.45f306dc9c883p-1;
static const double vm_pio2_a_f64 = 0x1.921fb54442d18p+0;
static const double vm_pio2_b_f64 = 0x1.1a62633145c07p-54;
static const double vm_pio2_c_f64 = -0x1.f1976b7ed8fbcp-110;
static const double vm_circular_far_f64 = 0x1p38;
static const double vm_exp_hi_f64 = 710.0;
static const double vm_exp_lo_f64 = -746.0;
static const double vm_exp2_hi_f64 = 1025.0;
static const double vm_exp2_lo_f64 = -1076.0;
static const double vm_exp_reach_f64 = 708.0;
static const double vm_exp2_reach_f64 = 1022.0;
static const double vm_sigmoid_reach_f64 = 708.0;
static const double vm_expm1_lo_f64 = -38.0;
static const double vm_tanh_one_f64 = 20.0;
static const double vm_cosh_hi_f64 = 711.0;
static const double vm_asinh_big_f64 = 0x1p60;
static const double vm_erf_one_f64 = 6.0;
static const double vm_erfinv_cut_f64 = 8.0;

static inline double vm_fma_f64(double x, double y, double z) { return __builtin_fma(x, y, z); }
static inline double vm_fabs_f64(double x) { return __builtin_fabs(x); }
static inline double vm_sqrt_f64(double x) { return __builtin_sqrt(x); }
static inline double vm_floor_f64(double x) { return __builtin_floor(x); }
static inline double vm_ceil_f64(double x) { return __builtin_ceil(x); }
static inline double vm_trunc_f64(double x) { return __builtin_trunc(x); }
static inline double vm_round_f64(double x) { return __builtin_rint(x); }
static inline double vm_copysign_f64(double x, double y) { return __builtin_copysign(x, y); }

/* log(1+f) for 1+f in [sqrt(1/2), sqrt(2)). With s = f/(2+f) it is 2*atanh(s), written as f less a
 * small correction. */
static inline double vm_log_core_f64(double f)
{
    double s = f / (2 + f);
    double z = s * s;
    return f - s * (f - z * vm_poly_atanh_f64(z));
}

#define R double
#define U uint64_t
#define VM(name) vm_##name##_f64
#include "backend/cpu/vmath/body.inc"
#undef R
#undef U
#undef VM

/* Above 1 it is 1 - exp(q), q a polynomial for log(erfc). */
static inline double vm_erf_f64(double x)
{
    double a = vm_fabs_f64(x);
    a = vm_select_f64(a > vm_erf_one_f64, vm_erf_one_f64, a);
    double near = vm_fma_f64(a, vm_poly_erf_f64(a * a), a);
    double far = 1 - vm_exp_near_f64(vm_poly_erfc_f64(a - 1));
    return vm_copysign_f64(vm_select_f64(a < 1, near, far), x);
}

/* log(x) for a positive finite x as a sum: returns the high part, the rest through low. The
 * relative error is near 2^-64: y*log(x) is good to a quarter ulp of exp wherever pow is finite. */
static inline double vm_log_pair_f64(double x, double *low)
{
    const double third_hi = 0x1.5555555555555p-1, third_lo = 0x1.5555555555555p-55;
    double k;
    double f = vm_log_reduce_f64(x, &k);
    /* s + s_lo = f / (2+f) */
    double d = 2 + f, d_lo = f - (d - 2);
    double inv = 1 / d;
    double s = f * inv;
    double s_lo = (vm_fma_f64(-s, d, f) - s * d_lo) * inv;
    /* cube + cube_lo = s^3 */
    double z = s * s;
    double z_lo = vm_fma_f64(s, s, -z) + 2 * s * s_lo;
    double cube = s * z;
    double cube_lo = vm_fma_f64(s, z, -cube) + (s * z_lo + s_lo * z);
    /* 2s + 2/3 s^3 + s^5 Q */
    double b = cube * third_hi;
    double b_lo = vm_fma_f64(cube, third_hi, -b) + (cube_lo * third_hi + cube * third_lo);
    double h = 2 * s + b;
    double l = (b - (h - 2 * s)) + (2 * s_lo + b_lo + cube * z * vm_poly_atanh5_f64(z));
    /* k*ln2 is 0 or larger than h */
    double e = k * vm_ln2_hi_f64;
    double e_lo = vm_fma_f64(k, vm_ln2_hi_f64, -e) + k * vm_ln2_lo_f64;
    double sum = e + h;
    l += (h - (sum - e)) + e_lo;
    double hi = sum + l;
    *low = l - (hi - sum);
    return hi;
}

/* exp(h + l) for |l| far below |h|. */
static inline double vm_exp_pair_f64(double h, double l)
{
    int over = h > vm_exp_hi_f64, under = h < vm_exp_lo_f64;
    l = vm_select_f64(over | under, 0, l);
    h = vm_select_f64(over, vm_exp_hi_f64, h);
    h = vm_select_f64(under, vm_exp_lo_f64, h);
    double t = vm_fma_f64(h, vm_log2e_f64, vm_shift_f64);
    double k = t - vm_shift_f64;
    double r = vm_fma_f64(k, -vm_ln2_hi_f64, h) + vm_fma_f64(k, -vm_ln2_lo_f64, l);
    return vm_scale_f64(1 + vm_exp_tail_f64(r), vm_bits_f64(t));
}

static inline double vm_pow_f64(double x, double y)
{
    double log_lo;
    double log_hi = vm_log_pair_f64(vm_fabs_f64(x), &log_lo);
    double h = y * log_hi;
    double l = vm_fma_f64(y, log_hi, -h) + y * log_lo;
    return vm_pow_special_f64(x, y, vm_exp_pair_f64(h, l));
}

/* The larger side is brought near 1 by a power of two, so that no square leaves the range. */
static inline double vm_hypot_f64(double x, double y)
{
    double a = vm_fabs_f64(x), b = vm_fabs_f64(y);
    double large = vm_select_f64(a > b, a, b), small = vm_select_f64(a > b, b, a);
    int huge = large > 0x1p500, tiny = large < 0x1p-400;
    double s = vm_select_f64(huge, 0x1p-600, vm_select_f64(tiny, 0x1p600, 1));
    double inverse = vm_select_f64(huge, 0x1p600, vm_select_f64(tiny, 0x1p-600, 1));
    large *= s;
    small *= s;
    double r = vm_sqrt_f64(vm_fma_f64(large, large, small * small)) * inverse;
    r = vm_select_f64((x != x) | (y != y), x + y, r);
    return vm_select_f64((a == vm_inf_f64) | (b == vm_inf_f64), vm_inf_f64, r);
}

/* Where the logarithm is near 0 its two parts cancel: the error stays below 4 ulp of the larger
 * argument, and then that is more than 4 ulp of the result. */
static inline double vm_logaddexp_f64(double x, double y)
{
    int swap = x < y;
    double large = vm_select_f64(swap, y, x), small = vm_select_f64(swap, x, y);
    double gap = small - large;
    double back = gap - small;
    double gap_lo = (small - (gap - back)) - (large + back);
    double r = large + vm_log1p_core_f64(vm_exp_pair_f64(gap, gap_lo));
    /* Equal infinities have no gap, and an infinite sum swallows the other argument. */
    r = vm_select_f64(vm_fabs_f64(large) == vm_inf_f64, large, r);
    return vm_select_f64((x != x) | (y != y), x + y, r);
}

/* The quotient rounded toward zero and the exact remainder with the sign of x, for |x/y| < 2^53.
 * A quotient just below an integer may round up to it: then the remainder has the wrong sign. */
static inline double vm_quotient_f64(double x, double y, double *rest)
{
    double q = vm_trunc_f64(x / y);
    double r = vm_select_f64(q == 0, x, vm_fma_f64(-q, y, x));
    int wrong = (r != 0) & ((r < 0) != (x < 0));
    *rest = vm_select_f64(wrong, r + vm_copysign_f64(y, x), r);
    return vm_select_f64(wrong, q - vm_copysign_f64(1, q), q);
}

static inline double vm_remainder_f64(double x, double y)
{
    double r;
    vm_quotient_f64(x, y, &r);
    return vm_remainder_sign_f64(r, y);
}

static inline int vm_remainder_far_f64(double x, double y)
{
    double q = vm_fabs_f64(x / y), a = vm_fabs_f64(x);
    return (q >= 0x1p53) & (a < vm_inf_f64) & (y != 0);
}

static inline double vm_floor_divide_f64(double x, double y)
{
    double r;
    double q = vm_quotient_f64(x, y, &r);
    q = vm_select_f64((r != 0) & ((r < 0) != (y < 0)), q - 1, q);
    double plain = x / y, size = vm_fabs_f64(plain), b = vm_fabs_f64(y);
    int direct = (size >= 0x1p53) | (b == vm_inf_f64);
    return vm_select_f64(direct, plain, q);
}

#endif
