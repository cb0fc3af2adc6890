// The type traits and limits that kernels have under NVRTC, which has no C++ library.
/* expect:
no error
*/
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <type_traits>

enum E { A, B };
struct S {
};
struct D : S {
};
union U {
    int a;
};
template <typename X, typename Y> inline constexpr bool same = std::is_same_v<X, Y>;
template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>> struct only {
    std::decay_t<T> x;
};

static_assert(same<std::remove_const_t<const int>, int> && same<std::remove_volatile_t<volatile int>, int>);
static_assert(same<std::remove_cv_t<const volatile int>, int> && same<std::remove_extent_t<int[]>, int>);
static_assert(same<std::remove_reference_t<int &>, int> && same<std::remove_reference_t<int &&>, int>);
static_assert(same<std::remove_pointer_t<int *>, int> && same<std::remove_pointer_t<int *const>, int>);
static_assert(same<std::add_const_t<int>, const int> && same<std::add_pointer_t<int &>, int *>);
static_assert(same<std::decay_t<int[3]>, int *> && same<std::decay_t<int (&)[3]>, int *> && same<std::decay_t<const int &>, int>);
static_assert(same<std::make_unsigned_t<short>, unsigned short> && same<std::make_signed_t<unsigned long>, long>);
static_assert(sizeof(std::underlying_type_t<E>) == 4);
static_assert(std::is_void_v<void> && std::is_floating_point_v<const float> && std::is_integral_v<long> && !std::is_integral_v<float>);
static_assert(std::is_arithmetic_v<char> && std::is_class_v<S> && std::is_enum_v<E> && std::is_union_v<U> && std::is_empty_v<S>);
static_assert(std::is_trivially_copyable_v<S> && std::is_standard_layout_v<S>);
static_assert(std::is_pointer_v<int *> && std::is_pointer_v<int *const> && !std::is_pointer_v<int>);
static_assert(std::is_reference_v<int &> && std::is_reference_v<int &&> && !std::is_reference_v<int>);
static_assert(std::is_const_v<const int> && !std::is_const_v<int>);
static_assert(std::is_array_v<int[]> && std::is_array_v<int[2]> && !std::is_array_v<int>);
static_assert(std::is_signed_v<int> && !std::is_signed_v<unsigned> && std::is_unsigned_v<unsigned> && !std::is_unsigned_v<S>);
static_assert(std::is_base_of_v<S, D> && !std::is_base_of_v<D, S> && std::is_convertible_v<int, float> && !std::is_convertible_v<S, int>);
static_assert(INT_MAX == 2147483647 && UINT_MAX == 4294967295u && LLONG_MIN == -9223372036854775807LL - 1 && SCHAR_MIN == -128);
static_assert(INT64_MAX == 9223372036854775807L && SIZE_MAX == 18446744073709551615UL && INT8_MIN == -128 && UINT32_C(1) == 1u);
static_assert(CHAR_BIT == 8 && FLT_DIG == 6 && DBL_DIG == 15 && INTPTR_MAX == INT64_MAX);

__global__ void values(float *x, only<int> o, std::make_unsigned_t<int> u)
{
    x[0] = FLT_MAX + FLT_EPSILON + FLT_MIN + (float)DBL_MAX;
    x[1] = NAN + INFINITY + HUGE_VALF;
    x[2] = M_PI * o.x + u;
    x[3] = std::numeric_limits<int>::digits + CHAR_MIN + CHAR_MAX;
}

int main()
{
    float *x;
    cudaMalloc(&x, 4 * sizeof *x);
    values<<<1, 1>>>(x, {3}, 1u);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
    return 0;
}
