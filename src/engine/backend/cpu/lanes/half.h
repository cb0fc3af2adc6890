/* f16 and bf16 as integer arithmetic on bits, without branches, so that loops over them are vector
 * code on every level. Rounding is to nearest, ties to even; a NaN becomes quiet, and keeps its sign and the part of
 * its payload that fits. (bf16 to f32 only moves bits.) The conversion instructions of ARM and x86 do the same: see
 * simd.h. */
#ifndef LANES_HALF_H
#define LANES_HALF_H

#include <stdint.h>
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

static inline uint32_t half_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float half_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

#if defined(__F16C__)
static inline float f16_to_f32(uint16_t h) { return _cvtsh_ss(h); }

static inline uint16_t f16_of_f32(float x) { return _cvtss_sh(x, 0); }
#else
static inline float f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = (uint32_t)(h & 0x7fff) << 13;
    const uint32_t rebias = 112u << 23;
    const uint32_t quiet = magnitude > 0x7c00u << 13 ? 1u << 22 : 0;
    const uint32_t normal = magnitude + rebias, huge = (magnitude + 2 * rebias) | quiet;
    /* A denormal gets an exponent by floating point: (2^-14 + x) - 2^-14. */
    const uint32_t small = half_bits(half_float(magnitude + (113u << 23)) - half_float(113u << 23));
    const uint32_t finite = magnitude < 0x0400u << 13 ? small : normal;
    return half_float(sign | (magnitude < 0x7c00u << 13 ? finite : huge));
}

static inline uint16_t f16_of_f32(float x)
{
    const uint32_t u = half_bits(x) & 0x7fffffff, sign = half_bits(x) >> 16 & 0x8000;
    const uint32_t normal = (u - (112u << 23) + 0xfff + (u >> 13 & 1)) >> 13;
    /* The sum's last bit is worth 2^-24, so it is rounded like a denormal f16. */
    const uint32_t small = half_bits(half_float(u) + 0.5f) - half_bits(0.5f);
    const uint32_t nan = 0x7e00 | (u >> 13 & 0x3ff);
    const uint32_t finite = u < 113u << 23 ? small : normal;
    const uint32_t beyond = u > 0x7f800000 ? nan : 0x7c00;
    return (uint16_t)(sign | (u < 143u << 23 ? finite : beyond));
}
#endif

static inline float bf16_to_f32(uint16_t h) { return half_float((uint32_t)h << 16); }

static inline uint16_t bf16_of_f32(float x)
{
    const uint32_t u = half_bits(x);
    const uint32_t rounded = u + 0x7fff + (u >> 16 & 1);
    return (uint16_t)(((u & 0x7fffffff) > 0x7f800000 ? u | 1u << 22 : rounded) >> 16);
}

/* x rounded to odd: a second rounding to 16 bits then gives the correctly rounded result. */
static inline float half_odd_f64(double x)
{
    const float near = (float)x;
    const uint32_t u = half_bits(near);
    const double back = (double)near;
    const uint32_t outward = (back < x) != (u >> 31) ? 1u : (uint32_t)-1;
    const uint32_t keep = (back == x) | (x != x) | (u & 1);
    return half_float(keep ? u : u + outward);
}

static inline uint16_t f16_of_f64(double x) { return f16_of_f32(half_odd_f64(x)); }
static inline uint16_t bf16_of_f64(double x) { return bf16_of_f32(half_odd_f64(x)); }

#endif
