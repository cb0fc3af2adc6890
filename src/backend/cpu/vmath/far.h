/* The far paths of the vector math: circular functions of huge arguments, remainders of huge
 * quotients. These branch and use integers; they run only for the elements that NAME_far picks.
 * Key invariant: every reduction here is exact to more than 64 bits of its result.
 * Included by vmath.h only, last. */
#ifndef BACKEND_CPU_VMATH_FAR_H
#define BACKEND_CPU_VMATH_FAR_H

__extension__ typedef unsigned __int128 vm_u128;
__extension__ typedef __int128 vm_i128;

/* x less the nearest multiple q of pi/2 (q modulo 4), for finite |x| >= 2.
 * With x = m*2^e, the bits of 2/pi above 2^(1-e) only add multiples of 4 to m*2^e*(2/pi): a window
 * of 192 bits from there on has the quadrant in its product's top two bits, the fraction below. */
static inline double vm_quarters_slow_f64(double x, unsigned *quadrant)
{
    /* 2/pi in binary, after one word of zeros. */
    static const uint64_t two_over_pi[] = {
        0,
        0xa2f9836e4e441529,
        0xfc2757d1f534ddc0,
        0xdb6295993c439041,
        0xfe5163abdebbc561,
        0xb7246e3a424dd2e0,
        0x06492eea09d1921c,
        0xfe1deb1cb129a73e,
        0xe88235f52ebb4484,
        0xe99c7026b45f7e41,
        0x3991d639835339f4,
        0x9c845f8bbdf9283b,
        0x1ff897ffde05980f,
        0xef2f118b5a0a6d1f,
        0x6d367ecf27cb09b7,
        0x4f463f669e5fea2d,
        0x7527bac7ebe5f17b,
        0x3d0739f78a5292ea,
        0x6bfb5fb11f8d5d08,
        0x56033046fc7b6bab,
        0xf0cfbc209af4361d,
    };
    uint64_t u = vm_bits_f64(vm_fabs_f64(x));
    uint64_t m = (u & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
    unsigned start = (unsigned)(u >> 52) - 1075 + 62; /* e - 2, counted from the word of zeros */
    const uint64_t *word = two_over_pi + start / 64;
    unsigned shift = start % 64;
    uint64_t window[3];
    for (int i = 0; i < 3; i++)
        window[i] = shift ? word[i] << shift | word[i + 1] >> (64 - shift) : word[i];
    vm_u128 low = (vm_u128)m * window[2];
    vm_u128 mid = (vm_u128)m * window[1] + (uint64_t)(low >> 64);
    uint64_t high = m * window[0] + (uint64_t)(mid >> 64);
    vm_u128 fraction = (vm_u128)high << 66 | (vm_u128)(uint64_t)mid << 2 | (uint64_t)low >> 62;
    /* As a signed number the fraction is within 1/2 of the nearest multiple. */
    unsigned q = (unsigned)(high >> 62) + (unsigned)(high >> 61 & 1);
    double f = (double)(vm_i128)fraction * 0x1p-128;
    double r = vm_fma_f64(f, vm_pio2_a_f64, f * vm_pio2_b_f64);
    int negative = x < 0;
    *quadrant = negative ? -q : q;
    return negative ? -r : r;
}

static inline double vm_sin_slow_f64(double x)
{
    unsigned q;
    double r = vm_quarters_slow_f64(x, &q);
    return vm_sin_quarters_f64(r, q);
}

static inline double vm_cos_slow_f64(double x)
{
    unsigned q;
    double r = vm_quarters_slow_f64(x, &q);
    return vm_sin_quarters_f64(r, q + 1);
}

static inline double vm_tan_slow_f64(double x)
{
    unsigned q;
    double t = vm_tan_core_f64(vm_quarters_slow_f64(x, &q));
    return q & 1 ? -1 / t : t;
}

static inline float vm_sin_slow_f32(float x) { return (float)vm_sin_slow_f64((double)x); }
static inline float vm_cos_slow_f32(float x) { return (float)vm_cos_slow_f64((double)x); }
static inline float vm_tan_slow_f32(float x) { return (float)vm_tan_slow_f64((double)x); }

/* |x| = mantissa * 2^(exponent - 1075), the mantissa a whole number below 2^53. */
static inline uint64_t vm_mantissa_slow_f64(double x, int *exponent)
{
    uint64_t u = vm_bits_f64(vm_fabs_f64(x));
    int e = (int)(u >> 52);
    *exponent = e ? e : 1;
    return (u & UINT64_C(0xfffffffffffff)) | (e ? UINT64_C(0x10000000000000) : 0);
}

/* The exact remainder of x by y with the sign of x, by long division, 11 bits at a time. */
static inline double vm_rest_slow_f64(double x, double y)
{
    int from, to;
    uint64_t mx = vm_mantissa_slow_f64(x, &from), my = vm_mantissa_slow_f64(y, &to);
    mx %= my;
    for (int left = from - to; left > 0 && mx; left -= 11)
        mx = (mx << (left < 11 ? left : 11)) % my;
    int bit = to - 1; /* 2^(to-1075) is denormal below to = 53 */
    uint64_t unit = to < 53 ? UINT64_C(1) << bit : (uint64_t)(to - 52) << 52;
    return vm_copysign_f64((double)mx * vm_from_bits_f64(unit), x);
}

static inline double vm_remainder_slow_f64(double x, double y)
{
    return vm_remainder_sign_f64(vm_rest_slow_f64(x, y), y);
}

static inline float vm_remainder_slow_f32(float x, float y)
{
    return vm_remainder_sign_f32((float)vm_rest_slow_f64((double)x, (double)y), y);
}

static inline double vm_sin_full_f64(double x)
{
    return vm_sin_far_f64(x) ? vm_sin_slow_f64(x) : vm_sin_f64(x);
}
static inline double vm_cos_full_f64(double x)
{
    return vm_cos_far_f64(x) ? vm_cos_slow_f64(x) : vm_cos_f64(x);
}
static inline double vm_tan_full_f64(double x)
{
    return vm_tan_far_f64(x) ? vm_tan_slow_f64(x) : vm_tan_f64(x);
}
static inline float vm_sin_full_f32(float x)
{
    return vm_sin_far_f32(x) ? vm_sin_slow_f32(x) : vm_sin_f32(x);
}
static inline float vm_cos_full_f32(float x)
{
    return vm_cos_far_f32(x) ? vm_cos_slow_f32(x) : vm_cos_f32(x);
}
static inline float vm_tan_full_f32(float x)
{
    return vm_tan_far_f32(x) ? vm_tan_slow_f32(x) : vm_tan_f32(x);
}

static inline double vm_remainder_full_f64(double x, double y)
{
    return vm_remainder_far_f64(x, y) ? vm_remainder_slow_f64(x, y) : vm_remainder_f64(x, y);
}

static inline float vm_remainder_full_f32(float x, float y)
{
    return vm_remainder_far_f32(x, y) ? vm_remainder_slow_f32(x, y) : vm_remainder_f32(x, y);
}

#endif
