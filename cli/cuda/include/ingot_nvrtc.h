/* What kernels use of the C and C++ libraries, for NVRTC, which has neither. Texts of programs are compiled with this
 * header before them. cli/cuda/device.c takes the names in std from here. */
#ifndef INGOT_NVRTC_H
#define INGOT_NVRTC_H

#define __INGOT__ 1

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
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef unsigned long ulong;

/* clang-format off */
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN (char(-1) < 0 ? SCHAR_MIN : 0)
#define CHAR_MAX (char(-1) < 0 ? SCHAR_MAX : UCHAR_MAX)
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (-9223372036854775807L - 1)
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MIN (-9223372036854775807LL - 1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#define INT8_MIN SCHAR_MIN
#define INT8_MAX SCHAR_MAX
#define UINT8_MAX UCHAR_MAX
#define INT16_MIN SHRT_MIN
#define INT16_MAX SHRT_MAX
#define UINT16_MAX USHRT_MAX
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX
#define UINT64_MAX ULONG_MAX
#define SIZE_MAX ULONG_MAX
#define INTPTR_MAX LONG_MAX
#define UINTPTR_MAX ULONG_MAX
#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_EPSILON 1.19209290e-7f
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define INFINITY (__int_as_float(0x7f800000))
#define HUGE_VALF (__int_as_float(0x7f800000))
#define HUGE_VAL (__longlong_as_double(0x7ff0000000000000LL))
#define NAN (__int_as_float(0x7fffffff))
#ifndef NULL
#define NULL 0
#endif
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define INT64_C(n) n##L
#define UINT64_C(n) n##UL
#define offsetof(type, member) __builtin_offsetof(type, member)
/* clang-format on */

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

/* One row for each: a change of the type where it has the form. */
#define IG_CHANGE(name, form, result) \
    template <typename T> struct name { \
        typedef T type; \
    }; \
    template <typename T> struct name<form> { \
        typedef result type; \
    }; \
    template <typename T> using name##_t = typename name<T>::type;
IG_CHANGE(remove_const, const T, T)
IG_CHANGE(remove_volatile, volatile T, T)
IG_CHANGE(remove_extent, T[], T)
#undef IG_CHANGE
template <typename T> struct remove_cv {
    typedef remove_const_t<remove_volatile_t<T>> type;
};
template <typename T> using remove_cv_t = typename remove_cv<T>::type;
template <typename T> struct remove_reference {
    typedef T type;
};
template <typename T> struct remove_reference<T &> {
    typedef T type;
};
template <typename T> struct remove_reference<T &&> {
    typedef T type;
};
template <typename T> using remove_reference_t = typename remove_reference<T>::type;
template <typename T> using remove_cvref_t = remove_cv_t<remove_reference_t<T>>;
template <typename T> struct remove_pointer {
    typedef T type;
};
template <typename T> struct remove_pointer<T *> {
    typedef T type;
};
template <typename T> struct remove_pointer<T *const> {
    typedef T type;
};
template <typename T> using remove_pointer_t = typename remove_pointer<T>::type;
template <typename T> struct add_const {
    typedef const T type;
};
template <typename T> using add_const_t = typename add_const<T>::type;
template <typename T> struct add_pointer {
    typedef remove_reference_t<T> *type;
};
template <typename T> using add_pointer_t = typename add_pointer<T>::type;
template <typename T> T &&declval() noexcept;

/* One row for each: a question that the types of the list answer with yes. */
template <typename A, typename B> struct is_same : false_type {
};
template <typename A> struct is_same<A, A> : true_type {
};
template <typename A, typename B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <typename T, typename... List>
inline constexpr bool ig_is_one_of = (is_same<remove_cv_t<T>, List>::value || ...);
#define IG_ASK(name, ...) \
    template <typename T> struct name : bool_constant<__VA_ARGS__> { \
    }; \
    template <typename T> inline constexpr bool name##_v = name<T>::value;
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
#undef IG_ASK
template <typename T, bool = is_arithmetic<T>::value> struct is_signed : bool_constant<(T(-1) < T(0))> {
};
template <typename T> struct is_signed<T, false> : false_type {
};
template <typename T> inline constexpr bool is_signed_v = is_signed<T>::value;
template <typename T>
struct is_unsigned : bool_constant<is_arithmetic<T>::value && !is_signed<T>::value> {
};
template <typename T> inline constexpr bool is_unsigned_v = is_unsigned<T>::value;
template <typename T> struct is_pointer : false_type {
};
template <typename T> struct is_pointer<T *> : true_type {
};
template <typename T> struct is_pointer<T *const> : true_type {
};
template <typename T> inline constexpr bool is_pointer_v = is_pointer<T>::value;
template <typename T> struct is_reference : false_type {
};
template <typename T> struct is_reference<T &> : true_type {
};
template <typename T> struct is_reference<T &&> : true_type {
};
template <typename T> inline constexpr bool is_reference_v = is_reference<T>::value;
template <typename T> struct is_const : false_type {
};
template <typename T> struct is_const<const T> : true_type {
};
template <typename T> inline constexpr bool is_const_v = is_const<T>::value;
template <typename T> struct is_array : false_type {
};
template <typename T> struct is_array<T[]> : true_type {
};
template <typename T, size_t n> struct is_array<T[n]> : true_type {
};
template <typename T> inline constexpr bool is_array_v = is_array<T>::value;
template <typename B, typename D> struct is_base_of : bool_constant<__is_base_of(B, D)> {
};
template <typename B, typename D> inline constexpr bool is_base_of_v = is_base_of<B, D>::value;
template <typename A, typename B> struct is_convertible : bool_constant<__is_convertible_to(A, B)> {
};
template <typename A, typename B>
inline constexpr bool is_convertible_v = is_convertible<A, B>::value;
template <typename T> struct decay {
    typedef remove_cv_t<remove_reference_t<T>> type;
};
template <typename T, size_t n> struct decay<T[n]> {
    typedef T *type;
};
template <typename T, size_t n> struct decay<T (&)[n]> {
    typedef T *type;
};
template <typename T> using decay_t = typename decay<T>::type;
template <typename T> struct underlying_type {
    typedef __underlying_type(T) type;
};
template <typename T> using underlying_type_t = typename underlying_type<T>::type;

/* Signed and unsigned types of one size. */
template <size_t bytes> struct ig_integer;
template <> struct ig_integer<1> {
    typedef signed char s;
    typedef unsigned char u;
};
template <> struct ig_integer<2> {
    typedef short s;
    typedef unsigned short u;
};
template <> struct ig_integer<4> {
    typedef int s;
    typedef unsigned u;
};
template <> struct ig_integer<8> {
    typedef long s;
    typedef unsigned long u;
};
template <typename T> struct make_unsigned {
    typedef typename ig_integer<sizeof(T)>::u type;
};
template <typename T> using make_unsigned_t = typename make_unsigned<T>::type;
template <typename T> struct make_signed {
    typedef typename ig_integer<sizeof(T)>::s type;
};
template <typename T> using make_signed_t = typename make_signed<T>::type;

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
    __host__ __device__ static constexpr size_t size() { return n; }
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
