/* What kernels use of the C and C++ libraries, for NVRTC, which has neither. Texts of programs are compiled with this
 * header before them. cli/cuda/device.c takes the names in std from here. */
#ifndef INGOT_NVRTC_H
#define INGOT_NVRTC_H
/* clang-format off */

#define __INGOT__ 1

/* Headers of CUDA that declare types of 64 bits which are not the host's: here under other names. */
#define uint64_t ig_helpers_uint64_t
#define uintptr_t ig_helpers_uintptr_t
#if __has_include(<cuda_pipeline.h>)
#include <cuda_pipeline.h>
#endif
#if __has_include(<cuda_awbarrier.h>)
#include <cuda_awbarrier.h>
#endif
#undef uint64_t
#undef uintptr_t

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef long intptr_t, intmax_t;
typedef unsigned long uintptr_t, uintmax_t;
#define IG_INT(bits) \
    typedef int##bits##_t int_least##bits##_t, int_fast##bits##_t; \
    typedef uint##bits##_t uint_least##bits##_t, uint_fast##bits##_t;
IG_INT(8)
IG_INT(16)
IG_INT(32)
IG_INT(64)
#undef IG_INT
typedef unsigned long long CUtexObject, CUsurfObject;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef unsigned long ulong;

/* Conditions of graphs, which the library evaluates between launches. */
typedef unsigned long long cudaGraphConditionalHandle;
__device__ inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value)
{
    *(unsigned int *)handle = value;
}

/* Macros of the compiler's own headers (src/compiler/pp/headers.c). */
#include "ingot/limits.h"
#include "ingot/float.h"
#include "ingot/math.h"
#include "ingot/stdint.h"
#undef CHAR_MIN
#undef CHAR_MAX
#undef NAN
#define CHAR_MIN (char(-1) < 0 ? SCHAR_MIN : 0)
#define CHAR_MAX (char(-1) < 0 ? SCHAR_MAX : UCHAR_MAX)
#define NAN (__int_as_float(0x7fffffff))
#ifndef NULL
#define NULL 0
#endif
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define offsetof(type, member) __builtin_offsetof(type, member)

namespace std
{
using ::size_t;
typedef long ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;

#define IG_MATH(name) using ::name;
IG_MATH(abs) IG_MATH(acos) IG_MATH(acosh) IG_MATH(asin) IG_MATH(asinh) IG_MATH(atan)
IG_MATH(atan2) IG_MATH(atanh) IG_MATH(cbrt) IG_MATH(ceil) IG_MATH(copysign) IG_MATH(cos)
IG_MATH(cosh) IG_MATH(erf) IG_MATH(erfc) IG_MATH(exp) IG_MATH(exp2) IG_MATH(expm1) IG_MATH(fabs)
IG_MATH(fdim) IG_MATH(floor) IG_MATH(fma) IG_MATH(fmax) IG_MATH(fmin) IG_MATH(fmod) IG_MATH(frexp)
IG_MATH(hypot) IG_MATH(ilogb) IG_MATH(isfinite) IG_MATH(isinf) IG_MATH(isnan) IG_MATH(ldexp)
IG_MATH(lgamma) IG_MATH(log) IG_MATH(log10) IG_MATH(log1p) IG_MATH(log2) IG_MATH(logb)
IG_MATH(lrint) IG_MATH(lround) IG_MATH(modf) IG_MATH(nearbyint) IG_MATH(nextafter) IG_MATH(pow)
IG_MATH(remainder) IG_MATH(rint) IG_MATH(round) IG_MATH(signbit) IG_MATH(sin) IG_MATH(sinh)
IG_MATH(sqrt) IG_MATH(tan) IG_MATH(tanh) IG_MATH(tgamma) IG_MATH(trunc)
#undef IG_MATH
using ::clock;
using ::clock_t;
using ::memcpy;
using ::memset;
using ::printf;

/* ---- types ---- */

template <typename T, T v> struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    constexpr operator T() const { return v; }
    constexpr T operator()() const { return v; }
};
template <bool v> using bool_constant = integral_constant<bool, v>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <bool condition, typename T = void> struct enable_if {
};
template <typename T> struct enable_if<true, T> {
    typedef T type;
};
template <bool condition, typename T = void>
using enable_if_t = typename enable_if<condition, T>::type;
template <bool condition, typename A, typename B> struct conditional {
    typedef A type;
};
template <typename A, typename B> struct conditional<false, A, B> {
    typedef B type;
};
template <bool condition, typename A, typename B>
using conditional_t = typename conditional<condition, A, B>::type;
template <typename...> using void_t = void;

/* One row for each: a type that is made of another one. */
#define IG_TYPE(name, result) \
    template <typename T> struct name { \
        typedef result type; \
    }; \
    template <typename T> using name##_t = typename name<T>::type;
/* The same for types of a form. */
#define IG_FORM(name, form, result) \
    template <typename T> struct name<form> { \
        typedef result type; \
    };
IG_TYPE(remove_const, T)
IG_FORM(remove_const, const T, T)
IG_TYPE(remove_volatile, T)
IG_FORM(remove_volatile, volatile T, T)
IG_TYPE(remove_extent, T)
IG_FORM(remove_extent, T[], T)
IG_TYPE(remove_cv, remove_const_t<remove_volatile_t<T>>)
IG_TYPE(remove_reference, T)
IG_FORM(remove_reference, T &, T)
IG_FORM(remove_reference, T &&, T)
IG_TYPE(remove_pointer, T)
IG_FORM(remove_pointer, T *, T)
IG_FORM(remove_pointer, T *const, T)
IG_TYPE(add_const, const T)
IG_TYPE(add_pointer, remove_reference_t<T> *)
IG_TYPE(decay, remove_cv_t<remove_reference_t<T>>)
template <typename T, size_t n> struct decay<T[n]> {
    typedef T *type;
};
template <typename T, size_t n> struct decay<T (&)[n]> {
    typedef T *type;
};
IG_TYPE(underlying_type, __underlying_type(T))
template <typename T> using remove_cvref_t = remove_cv_t<remove_reference_t<T>>;
template <typename T> T &&declval() noexcept;

/* One row for each: a question about types, and forms of types whose answer is yes. */
template <typename A, typename B> struct is_same : false_type {
};
template <typename A> struct is_same<A, A> : true_type {
};
template <typename T, typename... List>
inline constexpr bool ig_is_one_of = (is_same<remove_cv_t<T>, List>::value || ...);
#define IG_ASK(name, ...) \
    template <typename T> struct name : bool_constant<__VA_ARGS__> { \
    }; \
    template <typename T> inline constexpr bool name##_v = name<T>::value;
#define IG_ASK_TWO(name, ...) \
    template <typename A, typename B> struct name : bool_constant<__VA_ARGS__> { \
    }; \
    template <typename A, typename B> inline constexpr bool name##_v = name<A, B>::value;
#define IG_YES(name, form) \
    template <typename T> struct name<form> : true_type { \
    };
template <typename A, typename B> inline constexpr bool is_same_v = is_same<A, B>::value;
IG_ASK_TWO(is_base_of, __is_base_of(A, B))
IG_ASK_TWO(is_convertible, __is_convertible_to(A, B))
IG_ASK(is_void, is_same<remove_cv_t<T>, void>::value)
IG_ASK(is_floating_point, ig_is_one_of<T, float, double>)
IG_ASK(is_integral,
       ig_is_one_of<T, bool, char, signed char, unsigned char, wchar_t, char16_t, char32_t, short,
                    unsigned short, int, unsigned, long, unsigned long, long long,
                    unsigned long long>)
IG_ASK(is_arithmetic, is_integral<T>::value || is_floating_point<T>::value)
IG_ASK(is_class, __is_class(T))
IG_ASK(is_enum, __is_enum(T))
IG_ASK(is_union, __is_union(T))
IG_ASK(is_empty, __is_empty(T))
IG_ASK(is_trivially_copyable, __is_trivially_copyable(T))
IG_ASK(is_standard_layout, __is_standard_layout(T))
IG_ASK(is_pointer, false)
IG_YES(is_pointer, T *)
IG_YES(is_pointer, T *const)
IG_ASK(is_reference, false)
IG_YES(is_reference, T &)
IG_YES(is_reference, T &&)
IG_ASK(is_const, false)
IG_YES(is_const, const T)
IG_ASK(is_array, false)
IG_YES(is_array, T[])
template <typename T, size_t n> struct is_array<T[n]> : true_type {
};
template <typename T, bool = is_arithmetic<T>::value> struct is_signed : bool_constant<(T(-1) < T(0))> {
};
template <typename T> struct is_signed<T, false> : false_type {
};
template <typename T> inline constexpr bool is_signed_v = is_signed<T>::value;
IG_ASK(is_unsigned, is_arithmetic<T>::value && !is_signed<T>::value)

/* Signed and unsigned types of one size. */
template <size_t bytes> struct ig_integer;
#define IG_INTEGER(bytes, name) \
    template <> struct ig_integer<bytes> { \
        typedef signed name s; \
        typedef unsigned name u; \
    };
IG_INTEGER(1, char)
IG_INTEGER(2, short)
IG_INTEGER(4, int)
IG_INTEGER(8, long)
IG_TYPE(make_unsigned, typename ig_integer<sizeof(T)>::u)
IG_TYPE(make_signed, typename ig_integer<sizeof(T)>::s)
#undef IG_TYPE
#undef IG_FORM
#undef IG_ASK
#undef IG_ASK_TWO
#undef IG_YES
#undef IG_INTEGER

template <size_t... I> struct index_sequence {
};
template <size_t n, size_t... I> struct ig_make_indices : ig_make_indices<n - 1, n - 1, I...> {
};
template <size_t... I> struct ig_make_indices<0, I...> {
    typedef index_sequence<I...> type;
};
template <size_t n> using make_index_sequence = typename ig_make_indices<n>::type;

/* ---- values ---- */

template <typename T> __host__ __device__ constexpr const T &min(const T &a, const T &b)
{
    return b < a ? b : a;
}
template <typename T> __host__ __device__ constexpr const T &max(const T &a, const T &b)
{
    return a < b ? b : a;
}
template <typename T>
__host__ __device__ constexpr const T &clamp(const T &v, const T &low, const T &high)
{
    return v < low ? low : high < v ? high : v;
}
template <typename T> __host__ __device__ constexpr void swap(T &a, T &b)
{
    T kept = static_cast<T &&>(a);
    a = static_cast<T &&>(b);
    b = static_cast<T &&>(kept);
}

template <typename A, typename B> struct pair {
    typedef A first_type;
    typedef B second_type;
    A first;
    B second;
};
template <typename A, typename B> __host__ __device__ constexpr pair<A, B> make_pair(A a, B b)
{
    return {a, b};
}
template <typename T, size_t n> struct array {
    typedef T value_type;
    T elements[n ? n : 1];
    __host__ __device__ constexpr T &operator[](size_t i) { return elements[i]; }
    __host__ __device__ constexpr const T &operator[](size_t i) const { return elements[i]; }
    __host__ __device__ constexpr T *data() { return elements; }
    __host__ __device__ constexpr const T *data() const { return elements; }
    __host__ __device__ constexpr T *begin() { return elements; }
    __host__ __device__ constexpr T *end() { return elements + n; }
    __host__ __device__ constexpr const T *begin() const { return elements; }
    __host__ __device__ constexpr const T *end() const { return elements + n; }
    __host__ __device__ constexpr T &front() { return elements[0]; }
    __host__ __device__ constexpr const T &front() const { return elements[0]; }
    __host__ __device__ constexpr T &back() { return elements[n - 1]; }
    __host__ __device__ constexpr const T &back() const { return elements[n - 1]; }
    __host__ __device__ constexpr void fill(const T &value)
    {
        for (size_t i = 0; i < n; i++)
            elements[i] = value;
    }
    __host__ __device__ static constexpr size_t size() { return n; }
    __host__ __device__ static constexpr bool empty() { return n == 0; }
};

#define IG_OPERATOR(name, ...) \
    template <typename T = void> struct name { \
        __host__ __device__ constexpr auto operator()(const T &a, const T &b) const \
        { \
            return __VA_ARGS__; \
        } \
    };
IG_OPERATOR(plus, a + b)
IG_OPERATOR(minus, a - b)
IG_OPERATOR(multiplies, a *b)
IG_OPERATOR(divides, a / b)
IG_OPERATOR(modulus, a % b)
IG_OPERATOR(less, a < b)
IG_OPERATOR(greater, a > b)
IG_OPERATOR(equal_to, a == b)
IG_OPERATOR(bit_and, a &b)
IG_OPERATOR(bit_or, a | b)
IG_OPERATOR(bit_xor, a ^ b)
#undef IG_OPERATOR

template <typename T> struct numeric_limits {
    static constexpr bool is_specialized = false;
};
#define IG_LIMITS(T, signed_, integer, digits_, low, least, most, eps, inf, nan) \
    template <> struct numeric_limits<T> { \
        static constexpr bool is_specialized = true, is_signed = signed_, is_integer = integer, \
                              is_exact = integer, has_infinity = !integer, \
                              has_quiet_NaN = !integer; \
        static constexpr int digits = digits_, radix = 2; \
        __host__ __device__ static constexpr T lowest() noexcept { return low; } \
        __host__ __device__ static constexpr T min() noexcept { return least; } \
        __host__ __device__ static constexpr T max() noexcept { return most; } \
        __host__ __device__ static constexpr T epsilon() noexcept { return eps; } \
        __host__ __device__ static constexpr T infinity() noexcept { return inf; } \
        __host__ __device__ static constexpr T quiet_NaN() noexcept { return nan; } \
    };
IG_LIMITS(bool, false, true, 1, false, false, true, false, false, false)
IG_LIMITS(char, char(-1) < 0, true, 8 - (char(-1) < 0), CHAR_MIN, CHAR_MIN, CHAR_MAX, 0, 0, 0)
IG_LIMITS(signed char, true, true, 7, SCHAR_MIN, SCHAR_MIN, SCHAR_MAX, 0, 0, 0)
IG_LIMITS(unsigned char, false, true, 8, 0, 0, UCHAR_MAX, 0, 0, 0)
IG_LIMITS(short, true, true, 15, SHRT_MIN, SHRT_MIN, SHRT_MAX, 0, 0, 0)
IG_LIMITS(unsigned short, false, true, 16, 0, 0, USHRT_MAX, 0, 0, 0)
IG_LIMITS(int, true, true, 31, INT_MIN, INT_MIN, INT_MAX, 0, 0, 0)
IG_LIMITS(unsigned, false, true, 32, 0, 0, UINT_MAX, 0, 0, 0)
IG_LIMITS(long, true, true, 63, LONG_MIN, LONG_MIN, LONG_MAX, 0, 0, 0)
IG_LIMITS(unsigned long, false, true, 64, 0, 0, ULONG_MAX, 0, 0, 0)
IG_LIMITS(long long, true, true, 63, LLONG_MIN, LLONG_MIN, LLONG_MAX, 0, 0, 0)
IG_LIMITS(unsigned long long, false, true, 64, 0, 0, ULLONG_MAX, 0, 0, 0)
IG_LIMITS(float, true, false, 24, -FLT_MAX, FLT_MIN, FLT_MAX, FLT_EPSILON, __builtin_bit_cast(float, 0x7f800000),
          __builtin_bit_cast(float, 0x7fc00000))
IG_LIMITS(double, true, false, 53, -DBL_MAX, DBL_MIN, DBL_MAX, DBL_EPSILON, __builtin_bit_cast(double, 0x7ff0000000000000LL),
          __builtin_bit_cast(double, 0x7ff8000000000000LL))
#undef IG_LIMITS
} // namespace std

#endif
