// Metal's library as far as compute kernels need it, for clang's C++ for OpenCL. That mode has what Metal has and C++
// has not: disjoint address spaces, struct copies between them, native half, no double, no function pointers. Facts are
// from Apple's specification of the language, version 2.4; bfloat is of 3.1. msl.py puts it before each source.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define device __global
#define threadgroup __local
#define thread __private
#define constant const __constant
#define alignas(n) __attribute__((aligned(n)))
#ifdef SIM_COUNTED // see counted.py
#define INLINE static inline __attribute__((noinline))
#else
#define INLINE static inline __attribute__((always_inline))
#endif
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

// A vector is made by a function here: msl.py writes "float4(" as "make_float4(".
#define VECTORS(T) \
    typedef T T##2 __attribute__((ext_vector_type(2))); \
    typedef T T##3 __attribute__((ext_vector_type(3))); \
    typedef T T##4 __attribute__((ext_vector_type(4))); \
    INLINE T##2 make_##T##2(T x, T y) { return (T##2)(x, y); } \
    INLINE T##3 make_##T##3(T x, T y, T z) { return (T##3)(x, y, z); } \
    INLINE T##4 make_##T##4(T x, T y, T z, T w) { return (T##4)(x, y, z, w); }
VECTORS(char) VECTORS(uchar) VECTORS(short) VECTORS(ushort) VECTORS(int) VECTORS(uint)
VECTORS(long) VECTORS(ulong) VECTORS(half) VECTORS(float)
#undef VECTORS

extern "C" { // of the simulator (group.c) and of libm
void *sim_publish(const void *value, uint bytes);
void sim_simd_barrier(uint flags);
void sim_barrier(uint flags);
uint sim_lane(void);
void sim_multiply(const void *slots, uint row, uint column, float *sums);
uint sim_active(void);
ulong sim_votes(const void *slots, uint active);
void *sim_shared(const void *site, ulong bytes, ulong align);
#define LIBM(name) float libm_##name(float) __asm__(#name "f");
#define LIBM2(name) float libm_##name(float, float) __asm__(#name "f");
LIBM(exp) LIBM(exp2) LIBM(exp10) LIBM(log) LIBM(log2) LIBM(log10) LIBM(sin) LIBM(cos) LIBM(tan) LIBM(asin) LIBM(acos)
LIBM(atan) LIBM(sinh) LIBM(cosh) LIBM(tanh) LIBM(asinh) LIBM(acosh) LIBM(atanh) LIBM2(pow) LIBM2(fmod) LIBM2(atan2)
LIBM2(fdim)
float libm_ldexp(float, int) __asm__("ldexpf");
float libm_frexp(float, void *) __asm__("frexpf");
float libm_modf(float, void *) __asm__("modff");
int libm_ilogb(float) __asm__("ilogbf");
}

namespace metal {
template <typename To, typename From> INLINE To as_type(From x)
{
    static_assert(sizeof(To) == sizeof(From), "as_type needs types of one size");
    return __builtin_bit_cast(To, x);
}

// ---- math: an overload for each type, so that a call with an int or with mixed types is ambiguous, as in Metal
#define ONE(name, value) \
    INLINE float name(float x) { return value; } \
    INLINE half name(half h) { float x = h; return (half)(value); }
#define TWO(name, value) \
    INLINE float name(float x, float y) { return value; } \
    INLINE half name(half g, half h) { float x = g, y = h; return (half)(value); }
#define ASK(name, value) \
    INLINE bool name(float x) { return value; } \
    INLINE bool name(half h) { float x = h; return value; }
ONE(sqrt, __builtin_sqrtf(x)) ONE(rsqrt, 1.0f / __builtin_sqrtf(x)) ONE(fabs, __builtin_fabsf(x))
ONE(floor, __builtin_floorf(x)) ONE(ceil, __builtin_ceilf(x)) ONE(trunc, __builtin_truncf(x))
ONE(rint, __builtin_rintf(x)) ONE(round, __builtin_roundf(x)) ONE(exp, libm_exp(x)) ONE(exp2, libm_exp2(x))
ONE(exp10, libm_exp10(x)) ONE(log, libm_log(x)) ONE(log2, libm_log2(x)) ONE(log10, libm_log10(x))
ONE(sin, libm_sin(x)) ONE(cos, libm_cos(x)) ONE(tan, libm_tan(x)) ONE(asin, libm_asin(x)) ONE(acos, libm_acos(x))
ONE(atan, libm_atan(x)) ONE(sinh, libm_sinh(x)) ONE(cosh, libm_cosh(x)) ONE(tanh, libm_tanh(x))
ONE(asinh, libm_asinh(x)) ONE(acosh, libm_acosh(x)) ONE(atanh, libm_atanh(x))
ONE(sinpi, libm_sin(x * 3.14159265358979f)) ONE(cospi, libm_cos(x * 3.14159265358979f))
TWO(pow, libm_pow(x, y)) TWO(fmod, libm_fmod(x, y)) TWO(atan2, libm_atan2(x, y)) TWO(fdim, libm_fdim(x, y))
TWO(fmin, __builtin_fminf(x, y)) TWO(fmax, __builtin_fmaxf(x, y)) TWO(copysign, __builtin_copysignf(x, y))
ASK(isnan, __builtin_isnan(x)) ASK(isinf, __builtin_isinf(x)) ASK(isfinite, __builtin_isfinite(x))
ASK(signbit, __builtin_signbitf(x) != 0)
INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
INLINE half fma(half x, half y, half z) { return __builtin_fmaf16(x, y, z); }
INLINE float ldexp(float x, int e) { return libm_ldexp(x, e); }
INLINE int ilogb(float x) { return libm_ilogb(x); }
INLINE float frexp(float x, thread int &e) { int n; float r = libm_frexp(x, &n); e = n; return r; }
INLINE float modf(float x, thread float &whole) { float n; float r = libm_modf(x, &n); whole = n; return r; }
INLINE float sincos(float x, thread float &c) { c = libm_cos(x); return libm_sin(x); }
namespace fast {
ONE(exp, libm_exp(x)) ONE(exp10, libm_exp10(x)) ONE(log, libm_log(x)) ONE(log2, libm_log2(x))
ONE(log10, libm_log10(x)) ONE(sin, libm_sin(x)) ONE(cos, libm_cos(x)) ONE(tan, libm_tan(x)) ONE(tanh, libm_tanh(x))
TWO(pow, libm_pow(x, y))
}
#undef ONE
#undef TWO
#undef ASK

#define INTEGER(T, U, bits) \
    INLINE T min(T x, T y) { return y < x ? y : x; } \
    INLINE T max(T x, T y) { return x < y ? y : x; } \
    INLINE T abs(T x) { return x < 0 ? (T)(0 - (U)x) : x; } \
    INLINE T popcount(T x) { return (T)__builtin_popcountl((ulong)(U)x); } \
    INLINE T clz(T x) { return x == 0 ? (T)bits : (T)(__builtin_clzl((ulong)(U)x) - (64 - bits)); } \
    INLINE T hadd(T x, T y) { return (T)(((__int128)x + y) >> 1); } \
    INLINE T rhadd(T x, T y) { return (T)(((__int128)x + y + 1) >> 1); }
INTEGER(int, uint, 32) INTEGER(uint, uint, 32) INTEGER(long, ulong, 64) INTEGER(ulong, ulong, 64)
#undef INTEGER
INLINE int mulhi(int x, int y) { return (int)((long)x * y >> 32); }
INLINE uint mulhi(uint x, uint y) { return (uint)((ulong)x * y >> 32); }
INLINE int mul24(int x, int y) { return (int)((uint)(x << 8 >> 8) * (uint)(y << 8 >> 8)); }
INLINE uint mul24(uint x, uint y) { return (x & 0xffffffu) * (y & 0xffffffu); }
INLINE uint absdiff(int x, int y) { return x < y ? (uint)y - (uint)x : (uint)x - (uint)y; }
INLINE uint absdiff(uint x, uint y) { return x < y ? y - x : x - y; }
INLINE uint reverse_bits(uint x) { return __builtin_bitreverse32(x); }

// ---- barriers
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
INLINE void threadgroup_barrier(mem_flags flags) { sim_barrier(uint(flags)); }
INLINE void simdgroup_barrier(mem_flags flags) { sim_simd_barrier(uint(flags)); }
constexpr ulong sim_place(ulong used, ulong bytes, ulong align) { return (used + align - 1) / align * align + bytes; }

// ---- atomics: relaxed only, of 32 bits
enum memory_order { memory_order_relaxed };
#define atomic_int metal_atomic_int // clang knows others of these names
#define atomic_uint metal_atomic_uint
struct atomic_int { int hidden; };
struct atomic_uint { uint hidden; };
#define CHANGE(name, space, A, T, value) \
    INLINE T name(volatile space A *p, T x, memory_order) { T old = p->hidden; p->hidden = value; return old; }
#define ATOMIC(space, A, T) \
    INLINE T atomic_load_explicit(volatile space A *p, memory_order) { return p->hidden; } \
    INLINE void atomic_store_explicit(volatile space A *p, T x, memory_order) { p->hidden = x; } \
    CHANGE(atomic_exchange_explicit, space, A, T, x) \
    CHANGE(atomic_fetch_add_explicit, space, A, T, (T)((uint)old + (uint)x)) \
    CHANGE(atomic_fetch_sub_explicit, space, A, T, (T)((uint)old - (uint)x)) \
    CHANGE(atomic_fetch_min_explicit, space, A, T, x < old ? x : old) \
    CHANGE(atomic_fetch_max_explicit, space, A, T, x > old ? x : old) \
    CHANGE(atomic_fetch_and_explicit, space, A, T, old & x) \
    CHANGE(atomic_fetch_or_explicit, space, A, T, old | x) \
    CHANGE(atomic_fetch_xor_explicit, space, A, T, old ^ x) \
    INLINE bool atomic_compare_exchange_weak_explicit(volatile space A *p, thread T *seen, T x, memory_order, memory_order) \
    { \
        T old = p->hidden; \
        bool same = old == *seen; \
        if (same) \
            p->hidden = x; \
        *seen = old; \
        return same; \
    }
ATOMIC(device, atomic_int, int)
ATOMIC(device, atomic_uint, uint)
ATOMIC(threadgroup, atomic_int, int)
ATOMIC(threadgroup, atomic_uint, uint)
#undef ATOMIC
#undef CHANGE

// ---- simdgroups: a lane publishes its value and reads those of the others
template <typename T> INLINE T sim_value(void *slots, uint lane)
{
    T x;
    __builtin_memcpy(&x, (__generic const char *)slots + 64 * (lane & 31), sizeof(T));
    return x;
}
INLINE void sim_lockstep() // all lanes come here; it orders no memory
{
    uint none = 0;
    sim_publish(&none, sizeof none);
}
struct simd_vote {
    typedef ulong vote_t;
    ulong bits;
    explicit operator vote_t() const { return bits; }
};
INLINE simd_vote simd_ballot(bool mine)
{
    uint x = mine;
    const uint active = sim_active(); // later, a lane may have ended
    simd_vote v = {sim_votes(sim_publish(&x, sizeof x), active)};
    return v;
}
#define SHUFFLE(T) INLINE T simd_shuffle(T x, ushort lane) { return sim_value<T>(sim_publish(&x, sizeof x), lane); }
SHUFFLE(char) SHUFFLE(uchar) SHUFFLE(short) SHUFFLE(ushort) SHUFFLE(int) SHUFFLE(uint) SHUFFLE(float) SHUFFLE(half)
SHUFFLE(half2) SHUFFLE(uint2) SHUFFLE(float2)
#undef SHUFFLE

// ---- simdgroup matrices: 8 x 8, two neighbours of a row in each of 32 lanes
INLINE uint sim_row() { return sim_lane() / 16 * 4 + sim_lane() / 2 % 4; }
INLINE uint sim_column() { return sim_lane() / 8 % 2 * 4 + sim_lane() % 2 * 2; }
template <typename T, int COLUMNS, int ROWS> struct simdgroup_matrix {
    static_assert(COLUMNS == 8 && ROWS == 8, "simdgroup matrices are 8 x 8");
    T own[2];
    thread T (&thread_elements())[2] { return *(thread T(*)[2])&own; }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
template <typename T, int COLUMNS, int ROWS> INLINE simdgroup_matrix<T, COLUMNS, ROWS> make_filled_simdgroup_matrix(T x)
{
    simdgroup_matrix<T, COLUMNS, ROWS> m;
    m.own[0] = m.own[1] = x;
    return m;
}
#define MOVE(space) \
    template <typename T> INLINE void simdgroup_load(thread simdgroup_matrix<T, 8, 8> &m, const space T *from, ulong stride = 8, \
                                                     ulong2 origin = 0, bool transposed = false) \
    { \
        const ulong row = sim_row(), column = sim_column(); \
        for (uint i = 0; i < 2; i++) \
            m.own[i] = transposed ? from[(origin.x + column + i) * stride + origin.y + row] \
                                  : from[(origin.y + row) * stride + origin.x + column + i]; \
        sim_lockstep(); \
    } \
    template <typename T> INLINE void simdgroup_store(thread const simdgroup_matrix<T, 8, 8> &m, space T *to, ulong stride = 8, \
                                                      ulong2 origin = 0, bool transposed = false) \
    { \
        const ulong row = sim_row(), column = sim_column(); \
        for (uint i = 0; i < 2; i++) \
            if (transposed) \
                to[(origin.x + column + i) * stride + origin.y + row] = m.own[i]; \
            else \
                to[(origin.y + row) * stride + origin.x + column + i] = m.own[i]; \
        sim_lockstep(); \
    }
MOVE(device) MOVE(threadgroup)
#undef MOVE
// The order of the sum over k is not specified by Apple; here it ascends, with an fma for each step.
template <typename D, typename A, typename B, typename C>
INLINE void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, 8, 8> &d, thread const simdgroup_matrix<A, 8, 8> &a,
                                          thread const simdgroup_matrix<B, 8, 8> &b, thread const simdgroup_matrix<C, 8, 8> &c)
{
    float mine[4] = {(float)a.own[0], (float)a.own[1], (float)b.own[0], (float)b.own[1]}, sums[2] = {(float)c.own[0], (float)c.own[1]};
    sim_multiply(sim_publish(mine, sizeof mine), sim_row(), sim_column(), sums);
    d.own[0] = (D)sums[0];
    d.own[1] = (D)sums[1];
}
}

// ---- entering a kernel
struct sim_arguments {
    void *buffer[31], *shared[31];
    uint4 in[12];
};
