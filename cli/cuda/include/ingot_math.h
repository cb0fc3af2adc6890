/* Device functions that CUDA also provides on the host. */
#ifndef INGOT_MATH_H
#define INGOT_MATH_H

#include "cuda_types.h"

template <typename A, typename B>
static inline constexpr
    typename std::enable_if<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value,
                            typename std::common_type<A, B>::type>::type
    min(A a, B b)
{
    typedef typename std::common_type<A, B>::type T;
    return (T)b < (T)a ? (T)b : (T)a;
}
template <typename A, typename B>
static inline constexpr
    typename std::enable_if<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value,
                            typename std::common_type<A, B>::type>::type
    max(A a, B b)
{
    typedef typename std::common_type<A, B>::type T;
    return (T)a < (T)b ? (T)b : (T)a;
}

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float saturate(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
namespace ig_cuda
{
template <typename To, typename From> static inline To bits_of(From x)
{
    static_assert(sizeof(To) == sizeof x, "both have the same bits");
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
} // namespace ig_cuda
static inline int __float_as_int(float x) { return ig_cuda::bits_of<int>(x); }
static inline unsigned __float_as_uint(float x) { return ig_cuda::bits_of<unsigned>(x); }
static inline float __int_as_float(int i) { return ig_cuda::bits_of<float>(i); }
static inline float __uint_as_float(unsigned i) { return ig_cuda::bits_of<float>(i); }
static inline long long __double_as_longlong(double x) { return ig_cuda::bits_of<long long>(x); }
static inline double __longlong_as_double(long long i) { return ig_cuda::bits_of<double>(i); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
template <typename T> static inline T __ldg(const T *p) { return *p; }

#endif
