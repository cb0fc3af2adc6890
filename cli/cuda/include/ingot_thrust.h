/* Thrust's containers and algorithms for host code: all headers of thrust/ that Ingot has include this file.
 *
 * A device_vector is managed memory, and algorithms are loops of the host that first wait for the device. So they have Thrust's
 * results on each device, at the speed of one core. Memory of cudaMalloc can be read in place only on the CPU; elsewhere a
 * range of it is refused with an exception. Kernels cannot use these names. */
#ifndef INGOT_THRUST_H
#define INGOT_THRUST_H

#include "cuda_runtime.h"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <functional>
#include <random>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#define THRUST_VERSION 200500
#define THRUST_MAJOR_VERSION 2
#define THRUST_MINOR_VERSION 5
#define THRUST_SUBMINOR_VERSION 0

namespace thrust
{
/* ---- where an algorithm runs: here always on the host ---- */

struct ig_policy {
    ig_policy on(cudaStream_t) const { return {}; }
    template <typename T> ig_policy operator()(const T &) const { return {}; }
};
static const ig_policy host, device, seq;
typedef ig_policy host_system_tag;
typedef ig_policy device_system_tag;
template <typename> using execution_policy = ig_policy;
template <typename> using host_execution_policy = ig_policy;
template <typename> using device_execution_policy = ig_policy;
namespace cuda
{
static const ig_policy par, par_nosync;
} // namespace cuda
namespace omp
{
static const ig_policy par;
} // namespace omp
namespace system
{
using std::system_error;
namespace cuda
{
using thrust::cuda::par;
using thrust::cuda::par_nosync;
} // namespace cuda
} // namespace system
using std::system_error;

/* All results of kernels are in memory after it. */
inline void ig_wait()
{
    const cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess)
        throw system_error((int)e, std::generic_category(), cudaGetErrorString(e));
}

/* In place of a function that the host cannot run. */
[[noreturn]] inline void ig_device_only()
{
    throw std::runtime_error("thrust: the functions of algorithms run on the host here, and one of them uses what only "
                             "kernels have, such as atomics; write this step as a kernel");
}

/* ---- pairs and tuples ---- */

using std::get;
using std::ignore;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::swap;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
using std::abs;
using std::arg;
using std::complex;
using std::conj;
using std::exp;
using std::max;
using std::min;
using std::norm;
using std::polar;
using std::pow;
using std::sqrt;
struct null_type {
};

/* ---- functions ---- */

template <typename A, typename R> struct unary_function {
    typedef A argument_type;
    typedef R result_type;
};
template <typename A, typename B, typename R> struct binary_function {
    typedef A first_argument_type;
    typedef B second_argument_type;
    typedef R result_type;
};
#define IG_BINARY(name, value) \
    template <typename T = void> struct name { \
        typedef T first_argument_type; \
        typedef T second_argument_type; \
        typedef T result_type; \
        constexpr auto operator()(const T &a, const T &b) const -> decltype(value) { return value; } \
    }; \
    template <> struct name<void> { \
        template <typename A, typename B> constexpr auto operator()(const A &a, const B &b) const \
        { \
            return value; \
        } \
    };
IG_BINARY(plus, a + b)
IG_BINARY(minus, a - b)
IG_BINARY(multiplies, a * b)
IG_BINARY(divides, a / b)
IG_BINARY(modulus, a % b)
IG_BINARY(equal_to, a == b)
IG_BINARY(not_equal_to, a != b)
IG_BINARY(less, a < b)
IG_BINARY(greater, a > b)
IG_BINARY(less_equal, a <= b)
IG_BINARY(greater_equal, a >= b)
IG_BINARY(logical_and, a &&b)
IG_BINARY(logical_or, a || b)
IG_BINARY(bit_and, a &b)
IG_BINARY(bit_or, a | b)
IG_BINARY(bit_xor, a ^ b)
IG_BINARY(maximum, a < b ? b : a)
IG_BINARY(minimum, b < a ? b : a)
IG_BINARY(project1st, a)
IG_BINARY(project2nd, b)
#undef IG_BINARY
#define IG_UNARY(name, value) \
    template <typename T = void> struct name { \
        typedef T argument_type; \
        typedef T result_type; \
        constexpr auto operator()(const T &a) const { return value; } \
    }; \
    template <> struct name<void> { \
        template <typename A> constexpr auto operator()(const A &a) const { return value; } \
    };
IG_UNARY(negate, -a)
IG_UNARY(square, a *a)
IG_UNARY(logical_not, !a)
IG_UNARY(bit_not, ~a)
IG_UNARY(identity, a)
#undef IG_UNARY
template <typename F> struct ig_not {
    F f;
    template <typename... A> bool operator()(const A &...a) const { return !f(a...); }
};
template <typename F> ig_not<F> not_fn(F f) { return {f}; }
template <typename F> ig_not<F> not1(F f) { return {f}; }
template <typename F> ig_not<F> not2(F f) { return {f}; }

/* "2 * _1 + _2" is a function of two arguments. */
template <typename F> struct ig_actor {
    F f;
    template <typename... A> constexpr auto operator()(const A &...a) const { return f(std::tie(a...)); }
};
template <size_t N> struct ig_place {
    template <typename T> constexpr auto operator()(const T &t) const { return std::get<N>(t); }
};
template <typename T> struct ig_fixed {
    T value;
    template <typename A> constexpr T operator()(const A &) const { return value; }
};
template <typename F> constexpr F ig_as_actor(const ig_actor<F> &a) { return a.f; }
template <typename T> constexpr ig_fixed<T> ig_as_actor(const T &a) { return {a}; }
template <typename> struct ig_is_actor : std::false_type {
};
template <typename F> struct ig_is_actor<ig_actor<F>> : std::true_type {
};
template <typename F> constexpr ig_actor<F> ig_make_actor(F f) { return {f}; }
namespace placeholders
{
static const ig_actor<ig_place<0>> _1;
static const ig_actor<ig_place<1>> _2;
static const ig_actor<ig_place<2>> _3;
static const ig_actor<ig_place<3>> _4;
} // namespace placeholders
#define IG_OPERATOR(op) \
    template <typename A, typename B, \
              typename = std::enable_if_t<ig_is_actor<A>::value || ig_is_actor<B>::value>> \
    auto operator op(const A &a, const B &b) \
    { \
        return ig_make_actor([x = ig_as_actor(a), y = ig_as_actor(b)](const auto &t) { return x(t) op y(t); }); \
    }
IG_OPERATOR(+)
IG_OPERATOR(-)
IG_OPERATOR(*)
IG_OPERATOR(/)
IG_OPERATOR(%)
IG_OPERATOR(==)
IG_OPERATOR(!=)
IG_OPERATOR(<)
IG_OPERATOR(>)
IG_OPERATOR(<=)
IG_OPERATOR(>=)
IG_OPERATOR(&&)
IG_OPERATOR(||)
IG_OPERATOR(&)
IG_OPERATOR(|)
IG_OPERATOR(^)
#undef IG_OPERATOR
template <typename F> auto operator-(const ig_actor<F> &a)
{
    return ig_make_actor([x = a.f](const auto &t) { return -x(t); });
}
template <typename F> auto operator!(const ig_actor<F> &a)
{
    return ig_make_actor([x = a.f](const auto &t) { return !x(t); });
}

/* ---- random numbers ---- */

using std::minstd_rand;
using std::minstd_rand0;
using std::ranlux24;
using std::ranlux48;
typedef std::minstd_rand default_random_engine;
template <typename T = double> struct uniform_real_distribution {
    T low, high;
    explicit uniform_real_distribution(T a = 0, T b = 1) : low(a), high(b) {}
    template <typename G> T operator()(G &g) const
    {
        const T unit = (T)(g() - G::min()) / ((T)(G::max() - G::min()) + 1);
        return unit * (high - low) + low;
    }
};
template <typename T = int> using uniform_int_distribution = std::uniform_int_distribution<T>;
template <typename T = double> using normal_distribution = std::normal_distribution<T>;
namespace random
{
using thrust::default_random_engine;
using thrust::minstd_rand;
using thrust::normal_distribution;
using thrust::uniform_int_distribution;
using thrust::uniform_real_distribution;
} // namespace random
} // namespace thrust

#include "ingot_thrust_iterators.h"

#include "ingot_thrust_algorithms.h"

#endif
