/* half on the host: storage of 16 bits, conversions that round to nearest even, and arithmetic by float. */
#ifndef INGOT_CUDA_FP16_H
#define INGOT_CUDA_FP16_H

#include "ingot_cpp.h"

namespace ig_cuda
{
static inline unsigned short half_bits(float f)
{
    const unsigned bits = __float_as_uint(f), sign = bits >> 16 & 0x8000u,
                   rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u)
        return (unsigned short)(sign | 0x7fffu);
    if (rest >= 0x477ff000u) /* from 65520 on it is infinite */
        return (unsigned short)(sign | 0x7c00u);
    if (rest < 0x38800000u) /* subnormal: 2^-24 is its unit, and adding 0.5 rounds to it */
        return (unsigned short)(sign |
                                (__float_as_uint(__uint_as_float(rest) + 0.5f) - 0x3f000000u));
    const unsigned even = rest >> 13 & 1;
    return (unsigned short)(sign | (rest - 0x38000000u + 0xfffu + even) >> 13);
}
static inline float half_value(unsigned short h)
{
    const unsigned sign = (unsigned)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u)
        return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest < 0x400u)
        return (sign ? -1.0f : 1.0f) * (float)rest * 5.9604644775390625e-8f;
    return __uint_as_float(sign | ((rest << 13) + 0x38000000u));
}
} // namespace ig_cuda

struct alignas(2) __half {
    unsigned short x;
    __half() = default;
    __half(float f) : x(ig_cuda::half_bits(f)) {}
    __half(double f) : x(ig_cuda::half_bits((float)f)) {}
    __half(int i) : x(ig_cuda::half_bits((float)i)) {}
    operator float() const { return ig_cuda::half_value(x); }
};
typedef __half half;
struct alignas(4) __half2 {
    __half x, y;
};
typedef __half2 half2;

static inline __half __float2half(float f) { return __half(f); }
static inline __half __float2half_rn(float f) { return __half(f); }
static inline __half __double2half(double f) { return __half(f); }
static inline __half __int2half_rn(int i) { return __half(i); }
static inline float __half2float(__half h) { return (float)h; }
static inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
static inline __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
static inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
static inline __half2 make_half2(__half a, __half b) { return {a, b}; }
static inline float2 __half22float2(__half2 h) { return {(float)h.x, (float)h.y}; }
static inline float __low2float(__half2 h) { return (float)h.x; }
static inline float __high2float(__half2 h) { return (float)h.y; }

#endif
