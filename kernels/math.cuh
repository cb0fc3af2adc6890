/* The elementary functions of Ingot, in CUDA C: the one source for every device.
 *
 * The CPU's lane loops include this text as C (src/engine/backend/cpu/vmath/vmath.h defines the few CUDA names that it uses),
 * NVRTC compiles it as it is, and the front end in src/compiler prints it as OpenCL C and MSL.
 *
 * Key invariant: the same text gives the same bits with every compiler, instruction set and device that has IEEE
 * division, square root and fma. Compilers must not contract or reassociate (-ffp-contract=off, -fmad=false). A NaN
 * stays a NaN, but its sign and payload are the machine's.
 *
 * vm_NAME_f32 and vm_NAME_f64 are scalar and branch-free, so that `for (i) d[i] = vm_exp_f32(a[i])` becomes vector
 * code. The f32 functions use no double arithmetic, since some devices have none: where they need more bits than a
 * float has, they use a pair of floats. The error is below 4 ulp everywhere (for logaddexp and gelu_erf: of the largest
 * argument), results and inputs may be denormal, special values follow C Annex F and the Python array API.
 *
 * Far paths. sin, cos, tan and remainder are right only up to a limit, because the rest of their domain takes
 * integer loops. For each of them
 *     vm_NAME(x)        is right where vm_NAME_far(x) is 0, and harmless elsewhere,
 *     vm_NAME_far(x)    is branch-free, and 1 for arguments that are rare in practice,
 *     vm_NAME_slow(x)   is right where vm_NAME_far(x) is 1; it branches and loops,
 *     vm_NAME_full(x)   is right everywhere, for code that works on one element.
 *
 * Near paths. exp, exp2 and sigmoid take fewer steps where no argument is large:
 *     vm_NAME_near(x)   has the bits of vm_NAME(x) where |x| <= vm_NAME_reach.
 *
 * In CUDA C, m_NAME(x) is the whole function for either type, as the expressions of ops.def call it. */
#ifndef INGOT_MATH_CUH
#define INGOT_MATH_CUH

#include "math_poly.cuh"

/* ---- float ------------------------------------------------------------------------------------ */

#define vm_inf_f32 __uint_as_float(0x7f800000u)
#define vm_nan_f32 __uint_as_float(0x7fc00000u)
#define vm_min_normal_f32 0x1p-126f
#define vm_mantissa_f32 23
#define vm_bias_f32 127u
#define vm_one_bits_f32 0x3f800000u
#define vm_sqrt_half_bits_f32 0x3f3504f3u
#define vm_two_mantissa_f32 0x1p23f
#define vm_magic_f32 0x1.8p23f
#define vm_biased_f32 (0x1.8p23f + 127)
#define vm_shift_f32 (0x1.8p23f + 254)
#define vm_ln2_hi_f32 0x1.62e43p-1f
#define vm_ln2_lo_f32 (-0x1.05c61p-29f)
#define vm_log2e_f32 0x1.715476p+0f
#define vm_log2e_lo_f32 0x1.4ae0cp-26f
#define vm_log10_2_hi_f32 0x1.344136p-2f
#define vm_log10_2_lo_f32 (-0x1.ec10cp-27f)
#define vm_log10e_f32 0x1.bcb7b2p-2f
#define vm_log10e_lo_f32 (-0x1.5b235ep-27f)
#define vm_two_over_pi_f32 0x1.45f306p-1f
#define vm_pio2_a_f32 0x1.921fb6p+0f
#define vm_pio2_b_f32 (-0x1.777a5cp-25f)
#define vm_pio2_c_f32 (-0x1.ee59dap-50f)
#define vm_circular_far_f32 0x1p17f
#define vm_exp_hi_f32 89.0f
#define vm_exp_lo_f32 (-104.0f)
#define vm_exp2_hi_f32 129.0f
#define vm_exp2_lo_f32 (-151.0f)
#define vm_exp_reach_f32 87.0f
#define vm_exp2_reach_f32 126.0f
#define vm_sigmoid_reach_f32 87.0f
#define vm_expm1_lo_f32 (-18.0f)
#define vm_tanh_one_f32 10.0f
#define vm_cosh_hi_f32 90.0f
#define vm_asinh_big_f32 0x1p30f
#define vm_erf_one_f32 4.0f
#define vm_gelu_one_f32 0x1.6ap+1f
#define vm_erfinv_cut_f32 5.0f
#define vm_two_thirds_f32 0x1.555556p-1f
#define vm_two_thirds_lo_f32 (-0x1.555556p-26f)
#define vm_hypot_huge_f32 0x1p60f
#define vm_hypot_tiny_f32 0x1p-40f
#define vm_hypot_down_f32 0x1p-100f
#define vm_hypot_up_f32 0x1p100f
#define vm_whole_f32 0x1p24f

/* 2/pi in binary, after one word of zeros: enough for every float. */
#define vm_two_over_pi_words_f32 \
    0, \
    0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, \
    0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu

static __device__ inline unsigned int vm_bits_f32(float x) { return __float_as_uint(x); }
static __device__ inline float vm_from_bits_f32(unsigned int u) { return __uint_as_float(u); }
static __device__ inline unsigned int vm_mulhi_f32(unsigned int a, unsigned int b) { return __umulhi(a, b); }
static __device__ inline int vm_clz_f32(unsigned int u) { return __clz((int)u); }
static __device__ inline float vm_fma_f32(float x, float y, float z) { return fmaf(x, y, z); }
static __device__ inline float vm_fabs_f32(float x) { return fabsf(x); }
static __device__ inline float vm_sqrt_f32(float x) { return sqrtf(x); }
static __device__ inline float vm_floor_f32(float x) { return floorf(x); }
static __device__ inline float vm_ceil_f32(float x) { return ceilf(x); }
static __device__ inline float vm_trunc_f32(float x) { return truncf(x); }
static __device__ inline float vm_round_f32(float x) { return rintf(x); }
static __device__ inline float vm_copysign_f32(float x, float y) { return copysignf(x, y); }

/* log(1+f) for 1+f in [sqrt(1/2), sqrt(2)). */
static __device__ inline float vm_log_core_f32(float f)
{
    float square = f * f;
    return f + fmaf(f * square, vm_poly_log_f32(f), -0.5f * square);
}

/* The floor of an exact quotient of 2^24 or more, correctly rounded below 2^48; plain is x/y. The remainder of a
 * rounded quotient is exact. */
static __device__ inline float vm_large_quotient_f32(float x, float y, float plain)
{
    float size = fabsf(plain);
    float sum = plain + floorf(fmaf(-plain, y, x) / y);
    int rounds = (size >= 0x1p24f) & (size < 0x1p48f);
    return rounds ? sum : plain;
}

/* word * unit * pi/2: the product is an integer, so that it is rounded once. pi/2 is 0xc90fdaa2 * 2^-31. */
static __device__ inline float vm_times_pio2_f32(unsigned int word, float unit)
{
    return (float)__umulhi(word, 0xc90fdaa2u) * (2 * unit);
}

/* INGOT_EXTREMES: the device has instructions for both, with NaN if one is NaN, and -0 below +0. */
#ifdef INGOT_EXTREMES
static __device__ inline float vm_maximum_f32(float x, float y) { return __ig_fmax_nan(x, y); }
static __device__ inline float vm_minimum_f32(float x, float y) { return __ig_fmin_nan(x, y); }
#define VM_HAS_EXTREMES
#endif

#define R float
#define U unsigned int
#define VM(name) vm_##name##_f32
#include "math_each.cuh"
#undef VM_HAS_EXTREMES
#undef R
#undef U
#undef VM

/* With u = 1 - erfc(a)^(1/8), erf(a) is 1 - (1 - u)^8: three steps from u to 1 - (1 - u)^2 = 2u - u^2. They take 8u to
 * four, two and one times the next u, so that tiny values keep their bits. No result is above 1. */
static __device__ inline float vm_erf_of_root_f32(float w)
{
    w = fmaf(-0.0625f * w, w, w);
    w = fmaf(-0.125f * w, w, w);
    return fmaf(-0.25f * w, w, w);
}

static __device__ inline float vm_erf_f32(float x)
{
    float a = fabsf(x);
    float y = vm_erf_of_root_f32(vm_sums_erf_root_f32(a));
    return copysignf(vm_select_f32(a > vm_erf_one_f32, 1, y), x);
}

/* x/2 + |x/2| * erf(|x|/sqrt(2)). The error is below 2 ulp of x. */
static __device__ inline float vm_gelu_erf_f32(float x)
{
    float half = 0.5f * x, b = fabsf(half);
    float y = vm_erf_of_root_f32(vm_sums_gelu_root_f32(b));
    return fmaf(b, vm_select_f32(b > vm_gelu_one_f32, 1, y), half);
}

/* 2^x, with an error below 2^-22 where the device has an instruction for it. */
static __device__ inline float ingot_exp2_quick(float x) { return vm_exp2_f32(x); }

/* gelu for a result that is rounded to a half: x * Phi(x), where Phi(-t) is 2^p(t). The error is below 2^-13 of the result
 * where that is a normal f16, and below 2^-27 elsewhere. */
static __device__ inline float vm_gelu_half_f32(float x)
{
    float tail = ingot_exp2_quick(vm_row_gelu_tail_f32(fabsf(x)));
    float above = x > 0 ? 1.0f : 0.0f;
    return x * fabsf(above - tail);
}

/* ---- double ----------------------------------------------------------------------------------- */

#define vm_inf_f64 __longlong_as_double(0x7ff0000000000000ll)
#define vm_nan_f64 __longlong_as_double(0x7ff8000000000000ll)
#define vm_min_normal_f64 0x1p-1022
#define vm_mantissa_f64 52
#define vm_bias_f64 1023ull
#define vm_one_bits_f64 0x3ff0000000000000ull
#define vm_sqrt_half_bits_f64 0x3fe6a09e667f3bcdull
#define vm_two_mantissa_f64 0x1p52
#define vm_magic_f64 0x1.8p52
#define vm_biased_f64 (0x1.8p52 + 1023)
#define vm_shift_f64 (0x1.8p52 + 2046)
#define vm_ln2_hi_f64 0x1.62e42fefa39efp-1
#define vm_ln2_lo_f64 0x1.abc9e3b39803fp-56
#define vm_log2e_f64 0x1.71547652b82fep+0
#define vm_log2e_lo_f64 0x1.777d0ffda0d24p-56
#define vm_log10_2_hi_f64 0x1.34413509f79ffp-2
#define vm_log10_2_lo_f64 (-0x1.9dc1da994fd21p-59)
#define vm_log10e_f64 0x1.bcb7b1526e50ep-2
#define vm_log10e_lo_f64 0x1.95355baaafad3p-57
#define vm_two_over_pi_f64 0x1.45f306dc9c883p-1
#define vm_pio2_a_f64 0x1.921fb54442d18p+0
#define vm_pio2_b_f64 0x1.1a62633145c07p-54
#define vm_pio2_c_f64 (-0x1.f1976b7ed8fbcp-110)
#define vm_circular_far_f64 0x1p38
#define vm_exp_hi_f64 710.0
#define vm_exp_lo_f64 (-746.0)
#define vm_exp2_hi_f64 1025.0
#define vm_exp2_lo_f64 (-1076.0)
#define vm_exp_reach_f64 708.0
#define vm_exp2_reach_f64 1022.0
#define vm_sigmoid_reach_f64 708.0
#define vm_expm1_lo_f64 (-38.0)
#define vm_tanh_one_f64 20.0
#define vm_cosh_hi_f64 711.0
#define vm_asinh_big_f64 0x1p60
#define vm_erf_one_f64 6.0
#define vm_erfinv_cut_f64 8.0
#define vm_two_thirds_f64 0x1.5555555555555p-1
#define vm_two_thirds_lo_f64 0x1.5555555555555p-55
#define vm_hypot_huge_f64 0x1p500
#define vm_hypot_tiny_f64 0x1p-400
#define vm_hypot_down_f64 0x1p-600
#define vm_hypot_up_f64 0x1p600
#define vm_whole_f64 0x1p53

/* 2/pi in binary, after one word of zeros: enough for every double. */
#define vm_two_over_pi_words_f64 \
    0, \
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, \
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, \
    0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, \
    0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, \
    0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull

static __device__ inline unsigned long long vm_bits_f64(double x)
{
    return (unsigned long long)__double_as_longlong(x);
}
static __device__ inline double vm_from_bits_f64(unsigned long long u)
{
    return __longlong_as_double((long long)u);
}
static __device__ inline unsigned long long vm_mulhi_f64(unsigned long long a, unsigned long long b)
{
    return __umul64hi(a, b);
}
static __device__ inline int vm_clz_f64(unsigned long long u) { return __clzll((long long)u); }
static __device__ inline double vm_fma_f64(double x, double y, double z) { return fma(x, y, z); }
static __device__ inline double vm_fabs_f64(double x) { return fabs(x); }
static __device__ inline double vm_sqrt_f64(double x) { return sqrt(x); }
static __device__ inline double vm_floor_f64(double x) { return floor(x); }
static __device__ inline double vm_ceil_f64(double x) { return ceil(x); }
static __device__ inline double vm_trunc_f64(double x) { return trunc(x); }
static __device__ inline double vm_round_f64(double x) { return rint(x); }
static __device__ inline double vm_copysign_f64(double x, double y) { return copysign(x, y); }

/* log(1+f) for 1+f in [sqrt(1/2), sqrt(2)). With s = f/(2+f) it is 2*atanh(s), written as f less a
 * small correction. */
static __device__ inline double vm_log_core_f64(double f)
{
    double s = f / (2 + f);
    double z = s * s;
    return f - s * (f - z * vm_poly_atanh_f64(z));
}

/* A quotient of 2^53 or more is a whole number, but for its rounding. */
static __device__ inline double vm_large_quotient_f64(double x, double y, double plain)
{
    return (void)x, (void)y, plain;
}

/* word * unit * pi/2. */
static __device__ inline double vm_times_pio2_f64(unsigned long long word, double unit)
{
    double f = (double)word * unit;
    return fma(f, vm_pio2_a_f64, f * vm_pio2_b_f64);
}

#define R double
#define U unsigned long long
#define VM(name) vm_##name##_f64
#include "math_each.cuh"
#undef R
#undef U
#undef VM

/* Above 1 it is 1 - exp(q), q a polynomial for log(erfc). */
static __device__ inline double vm_erf_f64(double x)
{
    double a = fabs(x);
    a = vm_select_f64(a > vm_erf_one_f64, vm_erf_one_f64, a);
    double near = fma(a, vm_poly_erf_f64(a * a), a);
    double far = 1 - vm_exp_near_f64(vm_poly_erfc_f64(a - 1));
    return copysign(vm_select_f64(a < 1, near, far), x);
}

static __device__ inline double vm_gelu_erf_f64(double x)
{
    double half = 0.5 * x;
    return fma(half, vm_erf_f64(x * 0x1.6a09e667f3bcdp-1), half);
}

#ifdef __cplusplus
static __device__ inline float m_erf(float x) { return vm_erf_f32(x); }
static __device__ inline double m_erf(double x) { return vm_erf_f64(x); }
static __device__ inline float m_gelu_erf(float x) { return vm_gelu_erf_f32(x); }
static __device__ inline double m_gelu_erf(double x) { return vm_gelu_erf_f64(x); }
static __device__ inline float m_gelu_half(float x) { return vm_gelu_half_f32(x); }

/* ---- integers --------------------------------------------------------------------------------- */

#define INT(name) m_##name
#define NEGATIVE(x) ((x) < 0)
#define LOWEST ((T)((U)1 << (8 * sizeof(T) - 1)))
#define HIGHEST ((T)(((U)1 << (8 * sizeof(T) - 1)) - 1))
#define T signed char
#define U unsigned char
#include "math_int.cuh"
#undef T
#undef U
#define T short
#define U unsigned short
#include "math_int.cuh"
#undef T
#undef U
#define T int
#define U unsigned int
#include "math_int.cuh"
#undef T
#undef U
#define T long long
#define U unsigned long long
#include "math_int.cuh"
#undef T
#undef U
#undef NEGATIVE
#undef LOWEST
#undef HIGHEST
#define NEGATIVE(x) 0
#define LOWEST 0
#define HIGHEST ((T)~(T)0)
#define T unsigned char
#define U unsigned char
#include "math_int.cuh"
#undef T
#undef U
#define T unsigned short
#define U unsigned short
#include "math_int.cuh"
#undef T
#undef U
#define T unsigned int
#define U unsigned int
#include "math_int.cuh"
#undef T
#undef U
#define T unsigned long long
#define U unsigned long long
#include "math_int.cuh"
#undef T
#undef U
#undef NEGATIVE
#undef LOWEST
#undef HIGHEST
#undef INT
#endif

#endif
