/* The result of a product, by OUT: 0 f32, 1 f16, 2 bf16. */
#if OUT == 0
typedef float result;
#else
typedef unsigned short result;
#endif

static __device__ __forceinline__ result narrow(float x)
{
#if OUT == 0
    return x;
#elif OUT == 1
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#else
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#endif
}

static __device__ __forceinline__ float widen(result x)
{
#if OUT == 0
    return x;
#elif OUT == 1
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
#else
    return __uint_as_float((unsigned)x << 16);
#endif
}

struct alignas(2 * sizeof(result)) result_pair {
    result x, y;
};

static __device__ __forceinline__ result_pair narrow_pair(float x, float y)
{
#if OUT == 0
    return {x, y};
#else
    unsigned both;
#if OUT == 1
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
#endif
    return {(result)both, (result)(both >> 16)};
#endif
}
