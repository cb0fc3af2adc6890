/* CUDA's keywords and types on the host: qualifiers are empty, vectors are structs with CUDA's layout. */
#ifndef INGOT_CUDA_TYPES_H
#define INGOT_CUDA_TYPES_H

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
/* Empty, since the C++ library writes __attribute__((__noinline__)). */
#define __noinline__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#define CUDA_CB
#define CUDART_CB
#ifndef __restrict__
#define __restrict__ __restrict
#endif

/* One row per scalar type: the alignments of its vectors of one, two and four elements. Vectors of three are
 * aligned like vectors of one. */
#define IG_VECTOR(type, base, one, two, four) \
    struct __attribute__((aligned(one))) base##1 { type x; }; \
    struct __attribute__((aligned(two))) base##2 { type x, y; }; \
    struct __attribute__((aligned(one))) base##3 { type x, y, z; }; \
    struct __attribute__((aligned(four))) base##4 { type x, y, z, w; }; \
    typedef struct base##1 base##1; \
    typedef struct base##2 base##2; \
    typedef struct base##3 base##3; \
    typedef struct base##4 base##4; \
    static inline base##1 make_##base##1(type x) \
    { \
        base##1 v = {x}; \
        return v; \
    } \
    static inline base##2 make_##base##2(type x, type y) \
    { \
        base##2 v = {x, y}; \
        return v; \
    } \
    static inline base##3 make_##base##3(type x, type y, type z) \
    { \
        base##3 v = {x, y, z}; \
        return v; \
    } \
    static inline base##4 make_##base##4(type x, type y, type z, type w) \
    { \
        base##4 v = {x, y, z, w}; \
        return v; \
    }

IG_VECTOR(signed char, char, 1, 2, 4)
IG_VECTOR(unsigned char, uchar, 1, 2, 4)
IG_VECTOR(short, short, 2, 4, 8)
IG_VECTOR(unsigned short, ushort, 2, 4, 8)
IG_VECTOR(int, int, 4, 8, 16)
IG_VECTOR(unsigned int, uint, 4, 8, 16)
IG_VECTOR(long, long, 8, 16, 16)
IG_VECTOR(unsigned long, ulong, 8, 16, 16)
IG_VECTOR(long long, longlong, 8, 16, 16)
IG_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
IG_VECTOR(float, float, 4, 8, 16)
IG_VECTOR(double, double, 8, 16, 16)
#undef IG_VECTOR

#ifdef __cplusplus
struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
        : x(x_), y(y_), z(z_)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
#else
typedef uint3 dim3;
#endif

#endif
