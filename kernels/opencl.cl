/* Text before a kernel for some OpenCL compilers. src/engine/backend/opencl/build.c defines the macros that select
 * parts.
 *
 * IG_POCL: fma is a call in PoCL, which prevents vectorization. Its compiler is Clang, which has an intrinsic. */
#ifdef IG_POCL
static float __attribute__((overloadable)) ig_fma(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
#ifdef IG_F64
static double __attribute__((overloadable)) ig_fma(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}
#endif
#undef fma
#define fma ig_fma
#endif

/* IG_WARP: NVIDIA's OpenCL C has no subgroup functions, but accepts the instructions. The mask has a bit for each lane
 * that takes part, as in CUDA. */
#ifdef IG_WARP
static uint ig_warp_lane(void)
{
    uint x;
    asm("mov.u32 %0, %%laneid;" : "=r"(x));
    return x;
}

static uint ig_warp_active(void)
{
    uint x;
    asm volatile("activemask.b32 %0;" : "=r"(x));
    return x;
}

static void ig_warp_sync(uint mask)
{
    asm volatile("bar.warp.sync %0;" : : "r"(mask) : "memory");
}

static uint ig_warp_ballot(uint mask, int mine)
{
    uint x;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(x)
                 : "r"(mine), "r"(mask));
    return x;
}

static uint __attribute__((overloadable)) ig_warp_shuffle(uint mask, uint value, uint lane)
{
    uint x;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, %3;"
                 : "=r"(x)
                 : "r"(value), "r"(lane), "r"(mask));
    return x;
}

static int __attribute__((overloadable)) ig_warp_shuffle(uint mask, int value, uint lane)
{
    return as_int(ig_warp_shuffle(mask, as_uint(value), lane));
}

static float __attribute__((overloadable)) ig_warp_shuffle(uint mask, float value, uint lane)
{
    return as_float(ig_warp_shuffle(mask, as_uint(value), lane));
}

static ulong __attribute__((overloadable)) ig_warp_shuffle(uint mask, ulong value, uint lane)
{
    uint high = ig_warp_shuffle(mask, (uint)(value >> 32), lane);
    return (ulong)high << 32 | ig_warp_shuffle(mask, (uint)value, lane);
}

static long __attribute__((overloadable)) ig_warp_shuffle(uint mask, long value, uint lane)
{
    return as_long(ig_warp_shuffle(mask, as_ulong(value), lane));
}

#ifdef IG_F64
static double __attribute__((overloadable)) ig_warp_shuffle(uint mask, double value, uint lane)
{
    return as_double(ig_warp_shuffle(mask, as_ulong(value), lane));
}
#endif
#endif

/* IG_EXTREMES: minima and maxima of floats as instructions of NVIDIA's GPUs; see math.cuh. */
#ifdef IG_EXTREMES
static float ig_fmin_of(float x, float y)
{
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
}

static float ig_fmax_of(float x, float y)
{
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
}
#define ig_fmin_nan ig_fmin_of
#define ig_fmax_nan ig_fmax_of
#endif

