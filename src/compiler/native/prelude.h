/* The beginning of the text of a native kernel. The printer defines W, the lanes of a vector, and IOTA, 0 to W - 1. */
#if defined(__clang__) && __clang_major__ < 19 && defined(__AVX512F__)
#error "clang 14 exchanges the operands of masked vpternlogd"
#endif
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#define ALWAYS static inline __attribute__((always_inline, unused))
#define CALLED static __attribute__((noinline, unused))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define VECTOR(name, T) typedef T name __attribute__((vector_size(W * sizeof(T))));
VECTOR(vf, f32)
VECTOR(vd, f64)
VECTOR(vi, i32)
VECTOR(vu, u32)
VECTOR(vl, i64)
VECTOR(vq, u64)

#define FULL ((u32)(((u64)1 << W) - 1))
#define TO(T, x) __builtin_convertvector(x, T)
/* -0 - 0 is -0. */
#define SPLAT_vf(x) ((f32)(x) - (vf){0})
#define SPLAT_vd(x) ((f64)(x) - (vd){0})
#define SPLAT_vi(x) ((i32)(x) + (vi){0})
#define SPLAT_vu(x) ((u32)(x) + (vu){0})
#define SPLAT_vl(x) ((i64)(x) + (vl){0})
#define SPLAT_vq(x) ((u64)(x) + (vq){0})
#define MASK(truth) SPLAT_vi(-(i32)(truth))
#define BITS(T, x) \
    __extension__({ \
        __typeof__(x) from_ = (x); \
        T to_; \
        __builtin_memcpy(&to_, &from_, sizeof to_); \
        to_; \
    })

/* ---- masks: -1 in active lanes ---- */

ALWAYS u32 bits(vi m)
{
#if defined(__AVX512DQ__) && W == 16
    typedef int v16 __attribute__((vector_size(64)));
    return (u16)__builtin_ia32_cvtd2mask512((v16)m);
#elif defined(__AVX__) && W == 8
    typedef float v8 __attribute__((vector_size(32)));
    return (u32)__builtin_ia32_movmskps256((v8)m);
#else
    u32 r = 0;
    for (int i = 0; i < W; i++)
        r |= (u32)(m[i] & 1) << i;
    return r;
#endif
}

ALWAYS vi pick_vi(vi m, vi a, vi b) { return (m & a) | (~m & b); }
ALWAYS vu pick_vu(vi m, vu a, vu b) { return (vu)pick_vi(m, (vi)a, (vi)b); }
ALWAYS vf pick_vf(vi m, vf a, vf b) { return (vf)pick_vi(m, (vi)a, (vi)b); }
ALWAYS vl pick_vl(vi m, vl a, vl b)
{
    const vl w = TO(vl, m);
    return (w & a) | (~w & b);
}
ALWAYS vq pick_vq(vi m, vq a, vq b) { return (vq)pick_vl(m, (vl)a, (vl)b); }
ALWAYS vd pick_vd(vi m, vd a, vd b) { return (vd)pick_vl(m, (vl)a, (vl)b); }

/* ---- scalars ---- */

#define SCALARS(T, U, NEGATIVE) \
    ALWAYS T divide_##T(T x, T y) \
    { \
        return y == 0 ? (T)-1 : NEGATIVE && y == (T)-1 ? (T)(0 - (U)x) : (T)(x / y); \
    } \
    ALWAYS T modulo_##T(T x, T y) { return y == 0 ? x : NEGATIVE && y == (T)-1 ? 0 : (T)(x % y); } \
    ALWAYS T shl_##T(T x, T y) \
    { \
        const U n = (U)y; \
        return n < 8 * sizeof(T) ? (T)((U)x << (n & (8 * sizeof(T) - 1))) : 0; \
    } \
    ALWAYS T shr_##T(T x, T y) \
    { \
        const U n = (U)y; \
        return n < 8 * sizeof(T) ? (T)(x >> (n & (8 * sizeof(T) - 1))) \
                                 : (T)(NEGATIVE && x < 0 ? -1 : 0); \
    }
SCALARS(i8, u8, 1)
SCALARS(i16, u16, 1)
SCALARS(i32, u32, 1)
SCALARS(i64, u64, 1)
SCALARS(u8, u8, 0)
SCALARS(u16, u16, 0)
SCALARS(u32, u32, 0)
SCALARS(u64, u64, 0)

#define EXTREMES(F, I, ABS, SQRT, FLOOR, CEIL, TRUNC, RINT, COPYSIGN, FMA) \
    ALWAYS F fmax_##F(F x, F y) \
    { \
        return y != y ? x : x > y ? x : x == y ? (BITS(I, x) < 0 ? y : x) : y; \
    } \
    ALWAYS F fmin_##F(F x, F y) \
    { \
        return y != y ? x : x < y ? x : x == y ? (BITS(I, x) < 0 ? x : y) : y; \
    } \
    ALWAYS F fabs_##F(F x) { return ABS(x); } \
    ALWAYS F sqrt_##F(F x) { return SQRT(x); } \
    ALWAYS F floor_##F(F x) { return FLOOR(x); } \
    ALWAYS F ceil_##F(F x) { return CEIL(x); } \
    ALWAYS F trunc_##F(F x) { return TRUNC(x); } \
    ALWAYS F round_##F(F x) { return RINT(x); } \
    ALWAYS F copysign_##F(F x, F y) { return COPYSIGN(x, y); } \
    ALWAYS F fma_##F(F x, F y, F z) { return FMA(x, y, z); }
EXTREMES(f32, i32, __builtin_fabsf, __builtin_sqrtf, __builtin_floorf, __builtin_ceilf,
         __builtin_truncf, __builtin_rintf, __builtin_copysignf, __builtin_fmaf)
EXTREMES(f64, i64, __builtin_fabs, __builtin_sqrt, __builtin_floor, __builtin_ceil, __builtin_trunc,
         __builtin_rint, __builtin_copysign, __builtin_fma)

/* From float to integer towards 0; saturating, NaN gives 0. */
#define SATURATE(F, T, least, most, end) \
    ALWAYS T T##_of_##F(F x) \
    { \
        return x >= (F)(end) ? most : x > (F)(least) ? (T)x : x <= (F)(least) ? least : 0; \
    }
#define SATURATES(F) \
    SATURATE(F, i8, -128, 127, 0x1p7) \
    SATURATE(F, u8, 0, 255, 0x1p8) \
    SATURATE(F, i16, -32768, 32767, 0x1p15) \
    SATURATE(F, u16, 0, 65535, 0x1p16) \
    SATURATE(F, i32, -2147483647 - 1, 2147483647, 0x1p31) \
    SATURATE(F, u32, 0, 4294967295u, 0x1p32) \
    SATURATE(F, i64, -9223372036854775807ll - 1, 9223372036854775807ll, 0x1p63) \
    SATURATE(F, u64, 0, 18446744073709551615ull, 0x1p64)
SATURATES(f32)
SATURATES(f64)

/* ---- vectors lane by lane: the compiler makes vector code of these loops if it can ---- */

#define EACH_1(name, V, T, R, Q, f) \
    ALWAYS R name(V x) \
    { \
        T a[W]; \
        Q d[W]; \
        R r; \
        __builtin_memcpy(a, &x, sizeof a); \
        for (int i = 0; i < W; i++) \
            d[i] = f(a[i]); \
        __builtin_memcpy(&r, d, sizeof r); \
        return r; \
    }
#define EACH_2(how, name, V, T, f) \
    how V name(V x, V y) \
    { \
        T a[W], b[W]; \
        __builtin_memcpy(a, &x, sizeof a); \
        __builtin_memcpy(b, &y, sizeof b); \
        for (int i = 0; i < W; i++) \
            a[i] = f(a[i], b[i]); \
        __builtin_memcpy(&x, a, sizeof x); \
        return x; \
    }
#define EACH_3(name, V, T, f) \
    ALWAYS V name(V x, V y, V z) \
    { \
        T a[W], b[W], c[W]; \
        __builtin_memcpy(a, &x, sizeof a); \
        __builtin_memcpy(b, &y, sizeof b); \
        __builtin_memcpy(c, &z, sizeof c); \
        for (int i = 0; i < W; i++) \
            a[i] = f(a[i], b[i], c[i]); \
        __builtin_memcpy(&x, a, sizeof x); \
        return x; \
    }
#define FLOATS(V, F, I) \
    EACH_1(sqrt_##V, V, F, V, F, sqrt_##F) \
    EACH_1(floor_##V, V, F, V, F, floor_##F) \
    EACH_1(ceil_##V, V, F, V, F, ceil_##F) \
    EACH_1(trunc_##V, V, F, V, F, trunc_##F) \
    EACH_1(round_##V, V, F, V, F, round_##F) \
    EACH_3(fma_##V, V, F, fma_##F)
FLOATS(vf, f32, i32)
FLOATS(vd, f64, i64)
EACH_1(i32_of_vf, vf, f32, vi, i32, i32_of_f32)
EACH_1(u32_of_vf, vf, f32, vu, u32, u32_of_f32)
EACH_1(i64_of_vf, vf, f32, vl, i64, i64_of_f32)
EACH_1(u64_of_vf, vf, f32, vq, u64, u64_of_f32)
EACH_1(i32_of_vd, vd, f64, vi, i32, i32_of_f64)
EACH_1(u32_of_vd, vd, f64, vu, u32, u32_of_f64)
EACH_1(i64_of_vd, vd, f64, vl, i64, i64_of_f64)
EACH_1(u64_of_vd, vd, f64, vq, u64, u64_of_f64)
#define WHOLE(V, T) \
    EACH_2(CALLED, divide_##V, V, T, divide_##T) \
    EACH_2(CALLED, modulo_##V, V, T, modulo_##T) \
    EACH_2(ALWAYS, shl_##V, V, T, shl_##T) \
    EACH_2(ALWAYS, shr_##V, V, T, shr_##T)
WHOLE(vi, i32)
WHOLE(vu, u32)
WHOLE(vl, i64)
WHOLE(vq, u64)

ALWAYS vf fabs_vf(vf x) { return (vf)((vi)x & 0x7fffffff); }
ALWAYS vd fabs_vd(vd x) { return (vd)((vl)x & 0x7fffffffffffffffll); }
ALWAYS vf copysign_vf(vf x, vf y) { return (vf)(((vi)x & 0x7fffffff) | ((vi)y & (i32)0x80000000)); }
ALWAYS vd copysign_vd(vd x, vd y)
{
    return (vd)(((vl)x & 0x7fffffffffffffffll) | ((vl)y & (i64)0x8000000000000000ull));
}
/* Equal numbers are two zeros or have the same bits. */
ALWAYS vf fmax_vf(vf x, vf y)
{
    const vf r = pick_vf(x == y, (vf)((vi)x & (vi)y), pick_vf(x > y, x, y));
    return pick_vf(y != y, x, r);
}
ALWAYS vf fmin_vf(vf x, vf y)
{
    const vf r = pick_vf(x == y, (vf)((vi)x | (vi)y), pick_vf(x < y, x, y));
    return pick_vf(y != y, x, r);
}
EACH_2(CALLED, fmax_vd, vd, f64, fmax_f64)
EACH_2(CALLED, fmin_vd, vd, f64, fmin_f64)

/* ---- memory ---- */

/* An element T in memory, and its vector V. */
#define ELEMENT(T, V) \
    typedef T m_##T __attribute__((aligned(1), may_alias)); \
    typedef T p_##T __attribute__((vector_size(W * sizeof(T)))); \
    typedef p_##T n_##T __attribute__((aligned(1), may_alias)); \
    ALWAYS V unpack_##T(const void *at) { return TO(V, *(const n_##T *)at); } \
    ALWAYS void pack_##T(void *at, V v) { *(n_##T *)at = TO(p_##T, v); } \
    ALWAYS V near_##T(const char *at, u32 k) \
    { \
        if (LIKELY(k == FULL)) \
            return unpack_##T(at); \
        T a[W] = {0}; \
        for (; k; k &= k - 1) { \
            const int i = __builtin_ctz(k); \
            a[i] = ((const m_##T *)at)[i]; \
        } \
        return unpack_##T(a); \
    } \
    ALWAYS void put_##T(char *at, u32 k, V v) \
    { \
        if (LIKELY(k == FULL)) { \
            pack_##T(at, v); \
            return; \
        } \
        T a[W]; \
        pack_##T(a, v); \
        for (; k; k &= k - 1) { \
            const int i = __builtin_ctz(k); \
            ((m_##T *)at)[i] = a[i]; \
        } \
    }
ELEMENT(i8, vi)
ELEMENT(u8, vu)
ELEMENT(i16, vi)
ELEMENT(u16, vu)
ELEMENT(i32, vi)
ELEMENT(u32, vu)
ELEMENT(f32, vf)
ELEMENT(i64, vl)
ELEMENT(u64, vq)
ELEMENT(f64, vd)

/* Whether the indices of a full group are those of neighbours. Accesses with one index vector share this test. */
#define IS_ROW(X) \
    ALWAYS int is_row_##X(X x) \
    { \
        return bits(TO(vi, x == SPLAT_##X(x[0]) + (X){IOTA})) == FULL && x[W - 1] > x[0]; \
    }
IS_ROW(vi)
IS_ROW(vu)
IS_ROW(vl)
IS_ROW(vq)

/* Elements T at base + index * scale, with an index vector X of elements E. */
#define BY_INDEX(T, V, X, E) \
    CALLED V gather_##T##_##X(u64 base, X x, i64 scale, u32 k) \
    { \
        E a[W]; \
        T d[W] = {0}; \
        __builtin_memcpy(a, &x, sizeof a); \
        for (int i = 0; k == FULL && i < W; i++) \
            d[i] = *(const m_##T *)(base + (u64)((i64)a[i] * scale)); \
        for (k = k == FULL ? 0 : k; k; k &= k - 1) { \
            const int i = __builtin_ctz(k); \
            d[i] = *(const m_##T *)(base + (u64)((i64)a[i] * scale)); \
        } \
        return unpack_##T(d); \
    } \
    CALLED void scatter_##T##_##X(u64 base, X x, i64 scale, u32 k, V v) \
    { \
        E a[W]; \
        T d[W]; \
        __builtin_memcpy(a, &x, sizeof a); \
        pack_##T(d, v); \
        for (; k; k &= k - 1) { \
            const int i = __builtin_ctz(k); \
            *(m_##T *)(base + (u64)((i64)a[i] * scale)) = d[i]; \
        } \
    } \
    ALWAYS V get_##T##_##X(u64 base, X x, i64 scale, u32 k) \
    { \
        if (k == FULL && scale == sizeof(T) && is_row_##X(x)) \
            return unpack_##T((const char *)(base + (u64)((i64)x[0] * scale))); \
        return gather_##T##_##X(base, x, scale, k); \
    } \
    ALWAYS void set_##T##_##X(u64 base, X x, i64 scale, u32 k, V v) \
    { \
        if (k == FULL && scale == sizeof(T) && is_row_##X(x)) \
            pack_##T((char *)(base + (u64)((i64)x[0] * scale)), v); \
        else \
            scatter_##T##_##X(base, x, scale, k, v); \
    }

/* ---- interleaved arrays of lanes: units vectors for each of n elements, and a spare one ---- */

#define AT(i, n) ((u64)(i) < (u64)(n) ? (u64)(i) : (u64)(n))
#define OWN_GET(T, V, q, n, units, u, x) \
    __extension__({ \
        const vl x_ = (x); \
        i64 i_[W]; \
        T d_[W]; \
        V r_; \
        __builtin_memcpy(i_, &x_, sizeof i_); \
        for (int k_ = 0; k_ < W; k_++) \
            d_[k_] = ((const T *)(q))[(AT(i_[k_], n) * (units) + (u)) * W + (u64)k_]; \
        __builtin_memcpy(&r_, d_, sizeof r_); \
        r_; \
    })
#define OWN_SET(T, V, q, n, units, u, x, k, v) \
    { \
        const vl x_ = (x); \
        const V v_ = (v); \
        i64 i_[W]; \
        T d_[W]; \
        __builtin_memcpy(i_, &x_, sizeof i_); \
        __builtin_memcpy(d_, &v_, sizeof d_); \
        for (u32 left_ = (k); left_; left_ &= left_ - 1) { \
            const int k_ = __builtin_ctz(left_); \
            ((T *)(q))[(AT(i_[k_], n) * (units) + (u)) * W + (u64)k_] = d_[k_]; \
        } \
    }

/* ---- atomics: the old value ---- */

/* `next` is an expression of `was` and x. */
#define ATOMIC(name, T, U, next) \
    ALWAYS T name##_##T(u64 at, T x, T expected, int own) \
    { \
        (void)x, (void)expected; \
        if (own) { \
            const T was = *(m_##T *)at; \
            *(m_##T *)at = (T)(next); \
            return was; \
        } \
        U old = __atomic_load_n((U *)at, __ATOMIC_RELAXED); \
        for (;;) { \
            const T was = BITS(T, old), to = (T)(next); \
            if (__atomic_compare_exchange_n((U *)at, &old, BITS(U, to), 0, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_RELAXED)) \
                return was; \
        } \
    }
#define ATOMICS_MOVE(T, U) \
    ATOMIC(atomic_exchange, T, U, x) \
    ATOMIC(atomic_compare, T, U, BITS(U, was) == BITS(U, expected) ? x : was)
#define ATOMICS_WHOLE(T, U) \
    ATOMICS_MOVE(T, U) \
    ALWAYS T atomic_add_##T(u64 at, T x, T expected, int own) \
    { \
        (void)expected; \
        if (!own) \
            return (T)__atomic_fetch_add((U *)at, (U)x, __ATOMIC_SEQ_CST); \
        const T was = *(m_##T *)at; \
        *(m_##T *)at = (T)((U)was + (U)x); \
        return was; \
    } \
    ATOMIC(atomic_sub, T, U, (U)was - (U)x) \
    ATOMIC(atomic_min, T, U, x < was ? x : was) \
    ATOMIC(atomic_max, T, U, x < was ? was : x) \
    ATOMIC(atomic_and, T, U, was &x) \
    ATOMIC(atomic_or, T, U, was | x) \
    ATOMIC(atomic_xor, T, U, was ^ x) \
    ATOMIC(atomic_increment, T, U, (U)was >= (U)x ? 0 : was + 1) \
    ATOMIC(atomic_decrement, T, U, was == 0 || (U)was > (U)x ? x : was - 1)
ATOMICS_WHOLE(i32, u32)
ATOMICS_WHOLE(u32, u32)
ATOMICS_WHOLE(i64, u64)
ATOMICS_WHOLE(u64, u64)
ATOMICS_WHOLE(u16, u16)
ATOMICS_WHOLE(i16, u16)
#define ATOMICS_FLOAT(T, U) \
    ATOMICS_MOVE(T, U) \
    ATOMIC(atomic_add, T, U, was + x) \
    ATOMIC(atomic_sub, T, U, was - x) \
    ATOMIC(atomic_min, T, U, x < was || was != was ? x : was) \
    ATOMIC(atomic_max, T, U, x > was || was != was ? x : was)
ATOMICS_FLOAT(f32, u32)
ATOMICS_FLOAT(f64, u64)

/* ---- warps: 32 lanes; `here` has a bit for each active lane ---- */

/* The lane that lane i reads. how: 0 a lane of the group, 1 up, 2 down, 3 xor. */
ALWAYS int shuffled(int how, int i, u32 by, i32 size)
{
    const int whole = size <= 0 || size >= 32;
    const int first = whole ? 0 : i / size * size, last = first + (whole ? 32 : size) - 1;
    const i64 from = how == 0   ? first + (i64)(by & (u32)(last - first))
                     : how == 1 ? (i64)i - by
                     : how == 2 ? (i64)i + by
                                : i ^ (i64)(by & 31);
    const int inside = from <= last && (from >= first || how == 3);
    return inside && from >= 0 ? (int)from : i;
}

/* The n-th bit of m, or lane i if m is empty. */
ALWAYS int ranked(int i, u32 m, u32 n)
{
    for (; n && m; n--)
        m &= m - 1;
    return m ? __builtin_ctz(m) : i;
}

ALWAYS u32 matched(const u64 *v, int i, u32 part, int all)
{
    u32 alike = 0;
    for (u32 left = part; left; left &= left - 1) {
        const int k = __builtin_ctz(left);
        alike |= (u32)(v[k] == v[i]) << k;
    }
    return !all || alike == part ? alike : 0;
}
