// Metal's library for kernels that others wrote, as plain C++: see foreign.py. Address spaces are erased, vectors are a class.
// Positions, simdgroups, barriers and threadgroup memory are those of the simulator (group.c).
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t, size_t, uintptr_t;
typedef long ptrdiff_t;
typedef _Float16 half;
typedef __bf16 bfloat;
#define INLINE static inline __attribute__((always_inline))
#define METAL_FUNC inline
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define MAXFLOAT __FLT_MAX__
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define HALF_MAX 65504.0f
#define MAXHALF ((half)65504.0f)
#define INT_MAX 2147483647
#define M_PI_F 3.14159265358979323846f
#define M_LN2_F 0.69314718055994530942f
#define M_LOG2E_F 1.44269504088896340736f
#define M_SQRT2_F 1.41421356237309504880f

extern "C" {
void *sim_publish(const void *value, uint bytes);
void sim_simd_barrier(uint flags);
void sim_barrier(uint flags);
uint sim_lane(void);
uint sim_active(void);
ulong sim_votes(const void *slots, uint active);
void sim_multiply(const void *slots, uint row, uint column, float *sums);
void *sim_shared(const void *site, ulong bytes, ulong align);
// Rounds to the nearest bfloat. The compiler calls it, and libgcc 12 lacks it.
__attribute__((weak)) bfloat __truncsfbf2(float x)
{
    uint u = __builtin_bit_cast(uint, x);
    u = (u & 0x7fffffffu) > 0x7f800000u ? u | 0x400000u : u + 0x7fffu + (u >> 16 & 1);
    return __builtin_bit_cast(bfloat, (ushort)(u >> 16));
}
}

namespace metal {
using ::int16_t; using ::int32_t; using ::int64_t; using ::int8_t; using ::size_t;
using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uint8_t;

// ---- traits
template <typename T, T v> struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    constexpr operator T() const { return v; }
};
template <bool b> using bool_constant = integral_constant<bool, b>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;
template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { typedef T type; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, typename T, typename F> struct conditional { typedef T type; };
template <typename T, typename F> struct conditional<false, T, F> { typedef F type; };
template <bool B, typename T, typename F> using conditional_t = typename conditional<B, T, F>::type;
template <typename A, typename B> struct is_same : false_type {};
template <typename A> struct is_same<A, A> : true_type {};
template <typename A, typename B> constexpr bool is_same_v = is_same<A, B>::value;
template <typename T> using remove_const_t = __remove_const(T);
template <typename T> using remove_cv_t = __remove_cv(T);
template <typename T> using remove_reference_t = __remove_reference_t(T);
template <typename T> using remove_pointer_t = __remove_pointer(T);
template <typename T> using remove_addrspace_t = __remove_cv(T);
template <typename T> using decay_t = __decay(T);
template <typename T> constexpr bool is_half_float = is_same_v<T, half> || is_same_v<T, bfloat>;
template <typename T> constexpr bool is_floating_point_v = __is_floating_point(T) || is_half_float<remove_cv_t<T>>;
template <typename T> struct is_floating_point : bool_constant<is_floating_point_v<T>> {};
template <typename T> constexpr bool is_integral_v = __is_integral(T);
template <typename T> struct is_integral : bool_constant<is_integral_v<T>> {};
template <typename T> constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <typename T> constexpr bool is_signed_v = is_floating_point_v<T> || __is_signed(T);
template <typename T> constexpr bool is_unsigned_v = is_integral_v<T> && !is_signed_v<T>;
template <typename From, typename To> constexpr bool is_convertible_v = __is_convertible_to(From, To);
template <typename B, typename D> constexpr bool is_base_of_v = __is_base_of(B, D);
template <typename T> using make_unsigned_t = __make_unsigned(T);
template <typename T> T &&declval();

template <typename T> struct numeric_limits {
    static constexpr bool is_signed = (T)-1 < (T)0;
    static constexpr int digits = (int)sizeof(T) * 8 - is_signed;
    static constexpr T min() { return is_signed ? (T)(1ull << (sizeof(T) * 8 - 1)) : (T)0; }
    static constexpr T max() { return (T)~min(); }
    static constexpr T lowest() { return min(); }
    static constexpr T infinity() { return 0; }
    static constexpr T quiet_NaN() { return 0; }
};
#define FLOATING(T, most, least, step) \
    template <> struct numeric_limits<T> { \
        static constexpr bool is_signed = true; \
        static constexpr T min() { return (T)least; } \
        static constexpr T max() { return (T)most; } \
        static constexpr T lowest() { return (T)-most; } \
        static constexpr T epsilon() { return (T)step; } \
        static constexpr T infinity() { return (T)INFINITY; } \
        static constexpr T quiet_NaN() { return (T)NAN; } \
    };
FLOATING(float, __FLT_MAX__, __FLT_MIN__, __FLT_EPSILON__)
FLOATING(half, 65504.0f, 6.103515625e-05f, 9.765625e-04f)
FLOATING(bfloat, 3.3895314e38f, __FLT_MIN__, 0.0078125f)
#undef FLOATING
template <> struct numeric_limits<bool> {
    static constexpr bool min() { return false; }
    static constexpr bool max() { return true; }
};

// ---- vectors: as in Metal, a scalar becomes a vector, and vectors of other types are converted only where the source says so
template <typename T, int N> struct vec;
template <typename T, int N> struct packed;
template <typename T, int N> struct fields;
template <typename T> struct fields<T, 2> { union { struct { T x, y; }; struct { T r, g; }; T at[2]; }; };
template <typename T> struct fields<T, 3> { union { struct { T x, y, z; }; struct { T r, g, b; }; T at[3]; vec<T, 2> xy; }; };
template <typename T> struct fields<T, 4> { union { struct { T x, y, z, w; }; struct { T r, g, b, a; }; T at[4]; struct { vec<T, 2> xy, zw; }; }; };
template <typename T> struct size_of { static constexpr int n = 1; };
template <typename T, int N> struct size_of<vec<T, N>> { static constexpr int n = N; };
template <typename T, int N> struct alignas(sizeof(T) * (N == 3 ? 4 : N)) vec : fields<T, N> {
    using fields<T, N>::at;
    constexpr vec() = default;
    template <typename S, typename = enable_if_t<is_convertible_v<S, T> && size_of<S>::n == 1>> constexpr vec(S s) : fields<T, N>()
    {
        for (int i = 0; i < N; i++)
            at[i] = (T)s;
    }
    template <typename S> constexpr explicit vec(const vec<S, N> &v) : fields<T, N>()
    {
        for (int i = 0; i < N; i++)
            at[i] = (T)v.at[i];
    }
    template <typename S> constexpr explicit vec(const packed<S, N> &v) : vec(v.load()) {}
    template <typename A, typename B, typename... R> constexpr vec(A a, B b, R... rest) : fields<T, N>()
    {
        int i = 0;
        put(i, a), put(i, b);
        (put(i, rest), ...);
    }
    template <typename S> constexpr void put(int &i, const S &s)
    {
        if constexpr (size_of<S>::n == 1)
            at[i++] = (T)s;
        else
            for (int k = 0; k < size_of<S>::n; k++)
                at[i++] = (T)s.at[k];
    }
    constexpr T &operator[](int i) { return at[i]; }
    constexpr const T &operator[](int i) const { return at[i]; }
#define OPERATOR(op, R) \
    friend constexpr vec<R, N> operator op(const vec &a, const vec &b) \
    { \
        vec<R, N> r; \
        for (int i = 0; i < N; i++) \
            r.at[i] = (R)(a.at[i] op b.at[i]); \
        return r; \
    }
    OPERATOR(+, T) OPERATOR(-, T) OPERATOR(*, T) OPERATOR(/, T) OPERATOR(%, T) OPERATOR(&, T) OPERATOR(|, T) OPERATOR(^, T)
    OPERATOR(<<, T) OPERATOR(>>, T) OPERATOR(<, bool) OPERATOR(>, bool) OPERATOR(<=, bool) OPERATOR(>=, bool) OPERATOR(==, bool)
    OPERATOR(!=, bool) OPERATOR(&&, bool) OPERATOR(||, bool)
#undef OPERATOR
#define ASSIGN(op) constexpr vec &operator op##=(const vec &b) { return *this = *this op b; }
    ASSIGN(+) ASSIGN(-) ASSIGN(*) ASSIGN(/) ASSIGN(&) ASSIGN(|) ASSIGN(^) ASSIGN(<<) ASSIGN(>>)
#undef ASSIGN
    constexpr vec operator-() const { return vec((T)0) - *this; }
};
#define VECTORS(T) typedef vec<T, 2> T##2; typedef vec<T, 3> T##3; typedef vec<T, 4> T##4;
VECTORS(bool) VECTORS(char) VECTORS(uchar) VECTORS(short) VECTORS(ushort) VECTORS(int) VECTORS(uint) VECTORS(long) VECTORS(ulong)
VECTORS(half) VECTORS(bfloat) VECTORS(float)
#undef VECTORS
template <typename T, int N> struct packed {
    T at[N];
    constexpr vec<T, N> load() const
    {
        vec<T, N> r;
        for (int i = 0; i < N; i++)
            r.at[i] = at[i];
        return r;
    }
    constexpr T operator[](int i) const { return at[i]; }
};
typedef packed<char, 4> packed_char4;
typedef packed<uchar, 4> packed_uchar4;
typedef packed<half, 4> packed_half4;
typedef packed<float, 4> packed_float4;
template <typename T, int C, int R> struct matrix {
    vec<T, R> columns[C];
    matrix() = default;
    template <typename S> explicit matrix(const matrix<S, C, R> &m)
    {
        for (int i = 0; i < C; i++)
            columns[i] = vec<T, R>(m.columns[i]);
    }
    vec<T, R> &operator[](int i) { return columns[i]; }
    const vec<T, R> &operator[](int i) const { return columns[i]; }
};
#define MATRICES(T) typedef matrix<T, 2, 4> T##2x4; typedef matrix<T, 4, 4> T##4x4;
MATRICES(float) MATRICES(half) MATRICES(bfloat)
#undef MATRICES
template <typename T, size_t N> struct array {
    T at[N];
    constexpr T &operator[](size_t i) { return at[i]; }
    constexpr const T &operator[](size_t i) const { return at[i]; }
};
template <typename To, typename From> INLINE To as_type(From x)
{
    static_assert(sizeof(To) == sizeof(From), "as_type needs types of one size");
    To to;
    __builtin_memcpy(&to, &x, sizeof to);
    return to;
}

// ---- math
#define ONE(name, value) \
    INLINE float name(float x) { return value; } \
    INLINE half name(half h) { float x = h; return (half)(value); } \
    INLINE bfloat name(bfloat h) { float x = h; return (bfloat)(value); } \
    template <typename T, int N> INLINE vec<T, N> name(vec<T, N> v) \
    { \
        vec<T, N> r; \
        for (int i = 0; i < N; i++) \
            r.at[i] = name(v.at[i]); \
        return r; \
    }
#define FUNCTIONS \
    ONE(exp, __builtin_expf(x)) ONE(exp2, __builtin_exp2f(x)) ONE(log, __builtin_logf(x)) ONE(log2, __builtin_log2f(x)) \
    ONE(log10, __builtin_log10f(x)) ONE(sin, __builtin_sinf(x)) ONE(cos, __builtin_cosf(x)) ONE(tan, __builtin_tanf(x)) \
    ONE(asin, __builtin_asinf(x)) ONE(acos, __builtin_acosf(x)) ONE(atan, __builtin_atanf(x)) ONE(sinh, __builtin_sinhf(x)) \
    ONE(cosh, __builtin_coshf(x)) ONE(tanh, __builtin_tanhf(x)) ONE(asinh, __builtin_asinhf(x)) ONE(acosh, __builtin_acoshf(x)) \
    ONE(atanh, __builtin_atanhf(x)) ONE(sqrt, __builtin_sqrtf(x)) ONE(rsqrt, 1.0f / __builtin_sqrtf(x)) \
    ONE(floor, __builtin_floorf(x)) ONE(ceil, __builtin_ceilf(x)) ONE(trunc, __builtin_truncf(x)) ONE(round, __builtin_roundf(x)) \
    ONE(rint, __builtin_rintf(x)) ONE(fabs, __builtin_fabsf(x)) \
    INLINE float pow(float x, float y) { return __builtin_powf(x, y); } \
    INLINE float atan2(float x, float y) { return __builtin_atan2f(x, y); } \
    INLINE float fmod(float x, float y) { return __builtin_fmodf(x, y); } \
    INLINE float divide(float x, float y) { return x / y; }
FUNCTIONS
namespace fast { FUNCTIONS }
namespace precise { FUNCTIONS }
#undef FUNCTIONS
#undef ONE
template <typename T> INLINE bool isnan(T x) { return x != x; }
template <typename T> INLINE bool isinf(T x) { return __builtin_isinf((float)x); }
template <typename T> INLINE bool isfinite(T x) { return __builtin_isfinite((float)x); }
template <typename T> INLINE T fma(T x, T y, T z) { return (T)__builtin_fmaf((float)x, (float)y, (float)z); }
template <typename T> INLINE T copysign(T x, T y) { return (T)__builtin_copysignf((float)x, (float)y); }
template <typename T> constexpr T abs(T x) { return x < 0 ? (T)-x : x; }
template <typename T> struct same_type { typedef T type; };
// Of mixed arithmetic types the usual conversions decide.
template <typename A, typename B> using common = decltype(true ? declval<A>() : declval<B>());
template <typename A, typename B> constexpr auto min(A x, B y) -> remove_cv_t<remove_reference_t<common<A, B>>> { return y < x ? y : x; }
template <typename A, typename B> constexpr auto max(A x, B y) -> remove_cv_t<remove_reference_t<common<A, B>>> { return x < y ? y : x; }
template <typename T> INLINE T fmin(T x, typename same_type<T>::type y) { return x != x || y < x ? y : x; }
template <typename T> INLINE T fmax(T x, typename same_type<T>::type y) { return x != x || x < y ? y : x; }
template <typename T> INLINE T clamp(T x, typename same_type<T>::type a, typename same_type<T>::type b) { return min(max(x, a), b); }
template <typename T> INLINE T select(T a, T b, bool c) { return c ? b : a; }
template <typename T> INLINE T popcount(T x) { return (T)__builtin_popcountll(x); }
template <typename T> INLINE T clz(T x) { return x ? (T)(__builtin_clzll(x) - (64 - 8 * (int)sizeof(T))) : (T)(8 * sizeof(T)); }
template <typename T> INLINE T ctz(T x) { return x ? (T)__builtin_ctzll(x) : (T)(8 * sizeof(T)); }
template <typename T, int N> INLINE T dot(vec<T, N> a, vec<T, N> b)
{
    T r = 0;
    for (int i = 0; i < N; i++)
        r += a.at[i] * b.at[i];
    return r;
}

// ---- barriers and atomics
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
INLINE void threadgroup_barrier(mem_flags flags) { sim_barrier(uint(flags)); }
INLINE void simdgroup_barrier(mem_flags flags) { sim_simd_barrier(uint(flags)); }
enum memory_order { memory_order_relaxed, memory_order_seq_cst };
template <typename T> struct atomic { T hidden; };
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<float> atomic_float;
#define ATOMIC(name, value) \
    template <typename T> __attribute__((noinline)) T name(volatile atomic<T> *p, typename same_type<T>::type x, memory_order) \
    { \
        T old = p->hidden; \
        p->hidden = value; \
        return old; \
    }
ATOMIC(atomic_exchange_explicit, x) ATOMIC(atomic_fetch_add_explicit, (T)(old + x)) ATOMIC(atomic_fetch_sub_explicit, (T)(old - x))
ATOMIC(atomic_fetch_min_explicit, x < old ? x : old) ATOMIC(atomic_fetch_max_explicit, old < x ? x : old)
ATOMIC(atomic_fetch_or_explicit, (T)(old | x)) ATOMIC(atomic_fetch_and_explicit, (T)(old & x)) ATOMIC(atomic_store_explicit, x)
#undef ATOMIC
template <typename T> __attribute__((noinline)) T atomic_load_explicit(const volatile atomic<T> *p, memory_order) { return p->hidden; }

// ---- simdgroups
template <typename T> struct lanes {
    const char *slots;
    lanes(T x) : slots((const char *)sim_publish(&x, sizeof x)) {}
    T operator[](uint i) const
    {
        T x;
        __builtin_memcpy(&x, slots + 64 * (i & 31), sizeof x);
        return x;
    }
};
template <typename T> INLINE T simd_shuffle(T x, ushort lane) { return lanes<T>(x)[lane]; }
template <typename T> INLINE T simd_broadcast(T x, ushort lane) { return lanes<T>(x)[lane]; }
template <typename T> INLINE T simd_shuffle_xor(T x, ushort mask) { return lanes<T>(x)[sim_lane() ^ mask]; }
template <typename T> INLINE T simd_shuffle_down(T x, ushort by)
{
    const lanes<T> all(x);
    return sim_lane() + by < 32 ? all[sim_lane() + by] : x;
}
template <typename T> INLINE T simd_shuffle_up(T x, ushort by)
{
    const lanes<T> all(x);
    return sim_lane() >= by ? all[sim_lane() - by] : x;
}
template <typename T> INLINE T simd_shuffle_and_fill_up(T x, T fill, ushort by)
{
    const lanes<T> all(x), others(fill);
    return sim_lane() >= by ? all[sim_lane() - by] : others[sim_lane() + 32 - by];
}
template <typename T> INLINE T simd_shuffle_and_fill_down(T x, T fill, ushort by)
{
    const lanes<T> all(x), others(fill);
    return sim_lane() + by < 32 ? all[sim_lane() + by] : others[sim_lane() + by - 32];
}
// Of the active lanes, by halves.
#define REDUCE(name, value) \
    template <typename T> INLINE T name(T mine) \
    { \
        const uint active = sim_active(); \
        const lanes<T> all(mine); \
        T part[32]; \
        uint n = 0; \
        for (uint i = 0; i < 32; i++) \
            if (active >> i & 1) \
                part[n++] = all[i]; \
        for (uint step = 1; step < n; step *= 2) \
            for (uint i = 0; i + step < n; i += 2 * step) { \
                const T x = part[i], y = part[i + step]; \
                part[i] = (T)(value); \
            } \
        return part[0]; \
    }
REDUCE(simd_sum, x + y) REDUCE(simd_product, x *y) REDUCE(simd_max, x < y ? y : x) REDUCE(simd_min, y < x ? y : x)
REDUCE(simd_or, x | y) REDUCE(simd_and, x &y) REDUCE(simd_xor, x ^ y)
#undef REDUCE
#define SCAN(name, first, value, own) \
    template <typename T> INLINE T name(T mine) \
    { \
        const lanes<T> all(mine); \
        T x = (T)first; \
        for (uint i = 0; i < sim_lane() + own; i++) { \
            const T y = all[i]; \
            x = (T)(value); \
        } \
        return x; \
    }
SCAN(simd_prefix_inclusive_sum, 0, x + y, 1) SCAN(simd_prefix_exclusive_sum, 0, x + y, 0)
SCAN(simd_prefix_inclusive_product, 1, x *y, 1) SCAN(simd_prefix_exclusive_product, 1, x *y, 0)
#undef SCAN
INLINE bool simd_any(bool x) { return simd_or((int)x); }
INLINE bool simd_all(bool x) { return simd_and((int)x); }

template <typename T, int C, int R> struct simdgroup_matrix {
    vec<T, 2> own;
    simdgroup_matrix() = default;
    explicit simdgroup_matrix(T x) { own[0] = row() == column() ? x : T(0), own[1] = row() == column() + 1 ? x : T(0); }
    vec<T, 2> &thread_elements() { return own; }
    const vec<T, 2> &thread_elements() const { return own; }
    static uint row() { return sim_lane() / 16 * 4 + sim_lane() / 2 % 4; }
    static uint column() { return sim_lane() / 8 % 2 * 4 + sim_lane() % 2 * 2; }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
template <typename T, int C, int R = C> INLINE simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T x)
{
    simdgroup_matrix<T, C, R> m;
    m.own = vec<T, 2>(x);
    return m;
}
template <typename T> INLINE ulong place(const simdgroup_matrix<T, 8, 8> &m, int i, ulong stride, ulong2 origin, bool transposed)
{
    const ulong row = m.row() + origin.y, column = m.column() + i + origin.x;
    return transposed ? column * stride + row : row * stride + column;
}
template <typename T, typename S>
INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8> &m, const S *from, ulong stride = 8, ulong2 origin = ulong2(0ul), bool transposed = false)
{
    for (int i = 0; i < 2; i++)
        m.own[i] = from[place(m, i, stride, origin, transposed)];
    lanes<int> all(0);
}
template <typename T, typename S>
INLINE void simdgroup_store(const simdgroup_matrix<T, 8, 8> &m, S *to, ulong stride = 8, ulong2 origin = ulong2(0ul), bool transposed = false)
{
    for (int i = 0; i < 2; i++)
        to[place(m, i, stride, origin, transposed)] = m.own[i];
    lanes<int> all(0);
}
template <typename D, typename A, typename B, typename C>
INLINE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a, const simdgroup_matrix<B, 8, 8> &b,
                                          const simdgroup_matrix<C, 8, 8> &c)
{
    float mine[4] = {(float)a.own[0], (float)a.own[1], (float)b.own[0], (float)b.own[1]}, sums[2] = {(float)c.own[0], (float)c.own[1]};
    sim_multiply(sim_publish(mine, sizeof mine), d.row(), d.column(), sums);
    d.own[0] = (D)sums[0], d.own[1] = (D)sums[1];
}
template <typename D, typename A, typename B>
INLINE void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a, const simdgroup_matrix<B, 8, 8> &b)
{
    simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(D(0)));
}
}
using namespace metal;

// ---- entering a kernel: an argument becomes what the kernel takes
struct sim_arguments {
    void *buffer[31], *shared[31];
    alignas(16) uint in[12][4];
};
struct sim_memory {
    void *at;
    template <typename T> operator T *() const { return (T *)at; }
    template <typename T, typename = enable_if_t<!__is_pointer(T)>> operator T &() const { return *(T *)at; }
};
struct sim_position {
    const uint *at;
    operator uint() const { return at[0]; }
    operator ushort() const { return (ushort)at[0]; }
    operator uint2() const { return uint2(at[0], at[1]); }
    operator uint3() const { return uint3(at[0], at[1], at[2]); }
    operator ushort2() const { return ushort2(at[0], at[1]); }
    operator ushort3() const { return ushort3(at[0], at[1], at[2]); }
};

// ---- Metal's words, after which nothing of this file follows
#define device
#define thread
#define threadgroup
#define constant const
#define kernel
