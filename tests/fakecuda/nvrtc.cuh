/* The declarations that NVRTC has without any header, as far as our kernels use them. The fake NVRTC gives them to clang, which
 * checks the texts (compiler.c). The names and types are CUDA's, and not taken from the tables of our front end.
 * cuda_fp16.h and cuda_bf16.h are not there, as on machines that have NVRTC alone. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__
#define __CUDACC_RTC__ 1
#define __CUDACC__ 1
#define NAN __builtin_nanf("")
#define INFINITY __builtin_huge_valf()
#define D static __device__
#define F extern "C" __device__
typedef __SIZE_TYPE__ size_t;
typedef __INT64_TYPE__ int64_t;

/* ---- places of a thread ---- */

#define INDEX(name, base) \
    struct name##_type { \
        __declspec(property(get = get_x)) unsigned x; \
        __declspec(property(get = get_y)) unsigned y; \
        __declspec(property(get = get_z)) unsigned z; \
        __device__ unsigned get_x() const { return __nvvm_read_ptx_sreg_##base##_x(); } \
        __device__ unsigned get_y() const { return __nvvm_read_ptx_sreg_##base##_y(); } \
        __device__ unsigned get_z() const { return __nvvm_read_ptx_sreg_##base##_z(); } \
    }; \
    extern const __device__ __attribute__((weak)) name##_type name;
INDEX(threadIdx, tid)
INDEX(blockIdx, ctaid)
INDEX(blockDim, ntid)
INDEX(gridDim, nctaid)
#undef INDEX
static const int warpSize = 32;

/* ---- vectors ---- */

#define VECTORS(type, name) \
    struct name##1 { type x; }; \
    struct __align__(2 * sizeof(type)) name##2 { type x, y; }; \
    struct name##3 { type x, y, z; }; \
    struct __align__(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 { type x, y, z, w; }; \
    D name##2 make_##name##2(type x, type y) { return {x, y}; } \
    D name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
    D name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
VECTORS(signed char, char)
VECTORS(unsigned char, uchar)
VECTORS(short, short)
VECTORS(unsigned short, ushort)
VECTORS(int, int)
VECTORS(unsigned, uint)
VECTORS(long long, longlong)
VECTORS(unsigned long long, ulonglong)
VECTORS(float, float)
VECTORS(double, double)
#undef VECTORS

/* ---- functions of floats ---- */

#define ONE(name) F float name##f(float); F double name(double);
#define TWO(name) F float name##f(float, float); F double name(double, double);
ONE(sqrt) ONE(rsqrt) ONE(cbrt) ONE(rcbrt) ONE(exp) ONE(exp2) ONE(exp10) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p)
ONE(logb) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh) ONE(asinh) ONE(acosh)
ONE(atanh) ONE(sinpi) ONE(cospi) ONE(erf) ONE(erfc) ONE(erfinv) ONE(erfcinv) ONE(erfcx) ONE(normcdf) ONE(normcdfinv)
ONE(tgamma) ONE(lgamma) ONE(fabs) ONE(floor) ONE(ceil) ONE(trunc) ONE(round) ONE(rint) ONE(nearbyint)
TWO(atan2) TWO(pow) TWO(hypot) TWO(fmod) TWO(remainder) TWO(fdim) TWO(fmin) TWO(fmax) TWO(copysign) TWO(nextafter)
F float fmaf(float, float, float); F double fma(double, double, double);
F float ldexpf(float, int); F double ldexp(double, int);
F float frexpf(float, int *); F double frexp(double, int *);
F float modff(float, float *); F double modf(double, double *);
F void sincosf(float, float *, float *); F void sincos(double, double *, double *);
F int ilogbf(float); F int ilogb(double);
F long long llrintf(float); F long long llrint(double);
D bool isnan(float x) { return x != x; }
D bool isnan(double x) { return x != x; }
D bool isinf(float x) { return __builtin_isinf(x); }
D bool isinf(double x) { return __builtin_isinf(x); }
D bool isfinite(float x) { return __builtin_isfinite(x); }
D bool isfinite(double x) { return __builtin_isfinite(x); }
D bool signbit(float x) { return __builtin_signbit(x); }
D bool signbit(double x) { return __builtin_signbit(x); }
F float __expf(float); F float __logf(float); F float __log2f(float); F float __sinf(float); F float __cosf(float);
F float __fdividef(float, float); F float __powf(float, float); F float __saturatef(float);
F float __fadd_rn(float, float); F float __fsub_rn(float, float); F float __fmul_rn(float, float); F float __fdiv_rn(float, float);
F float __fmaf_rn(float, float, float); F float __fsqrt_rn(float); F float __frcp_rn(float);
F double __dadd_rn(double, double); F double __dsub_rn(double, double); F double __dmul_rn(double, double);
F double __ddiv_rn(double, double); F double __fma_rn(double, double, double); F double __dsqrt_rn(double);
#undef ONE
#undef TWO

/* ---- integers and bits ---- */

#define BOTH(type) \
    D type min(type x, type y) { return y < x ? y : x; } \
    D type max(type x, type y) { return x < y ? y : x; }
BOTH(int) BOTH(unsigned) BOTH(long) BOTH(unsigned long) BOTH(long long) BOTH(unsigned long long) BOTH(float) BOTH(double)
#undef BOTH
F int abs(int); F long labs(long); F long long llabs(long long);
D float abs(float x) { return fabsf(x); }
D double abs(double x) { return fabs(x); }
D long long abs(long long x) { return llabs(x); }
F int __mulhi(int, int); F unsigned __umulhi(unsigned, unsigned);
F long long __mul64hi(long long, long long); F unsigned long long __umul64hi(unsigned long long, unsigned long long);
F int __popc(unsigned); F int __popcll(unsigned long long); F int __clz(int); F int __clzll(long long);
F int __ffs(int); F int __ffsll(long long); F unsigned __brev(unsigned); F unsigned long long __brevll(unsigned long long);
F unsigned __byte_perm(unsigned, unsigned, unsigned);
F unsigned __funnelshift_l(unsigned, unsigned, unsigned); F unsigned __funnelshift_r(unsigned, unsigned, unsigned);
D int __dp4a(int, int, int c) { return c; }
D unsigned __dp4a(unsigned, unsigned, unsigned c) { return c; }
F int __float_as_int(float); F unsigned __float_as_uint(float); F float __int_as_float(int); F float __uint_as_float(unsigned);
F long long __double_as_longlong(double); F double __longlong_as_double(long long);
#define CONVERTS(name, to, from) F to name##_rn(from); F to name##_rz(from); F to name##_ru(from); F to name##_rd(from);
CONVERTS(__float2int, int, float) CONVERTS(__float2uint, unsigned, float) CONVERTS(__float2ll, long long, float)
CONVERTS(__float2ull, unsigned long long, float) CONVERTS(__double2int, int, double) CONVERTS(__double2uint, unsigned, double)
CONVERTS(__double2ll, long long, double) CONVERTS(__double2ull, unsigned long long, double) CONVERTS(__double2float, float, double)
CONVERTS(__int2float, float, int) CONVERTS(__uint2float, float, unsigned) CONVERTS(__ll2float, float, long long)
CONVERTS(__ull2float, float, unsigned long long) CONVERTS(__ll2double, double, long long)
CONVERTS(__ull2double, double, unsigned long long)
#undef CONVERTS

/* ---- threads ---- */

F void __syncthreads(); F int __syncthreads_count(int); F int __syncthreads_and(int); F int __syncthreads_or(int);
F void __syncwarp(unsigned mask = 0xffffffffu); F unsigned __activemask();
F void __threadfence(); F void __threadfence_block(); F void __threadfence_system(); F void __trap(); F void __nanosleep(unsigned);
F int __all_sync(unsigned, int); F int __any_sync(unsigned, int); F unsigned __ballot_sync(unsigned, int);
#define SHUFFLES(type) \
    D type __shfl_sync(unsigned, type x, int, int = 32) { return x; } \
    D type __shfl_up_sync(unsigned, type x, unsigned, int = 32) { return x; } \
    D type __shfl_down_sync(unsigned, type x, unsigned, int = 32) { return x; } \
    D type __shfl_xor_sync(unsigned, type x, int, int = 32) { return x; }
SHUFFLES(int) SHUFFLES(unsigned) SHUFFLES(long) SHUFFLES(unsigned long) SHUFFLES(long long) SHUFFLES(unsigned long long)
SHUFFLES(float) SHUFFLES(double)
#undef SHUFFLES
D unsigned __match_any_sync(unsigned, unsigned x) { return x; }
D unsigned __match_any_sync(unsigned, int x) { return (unsigned)x; }
D unsigned __match_any_sync(unsigned, unsigned long long x) { return (unsigned)x; }
D int __reduce_add_sync(unsigned, int x) { return x; }
D unsigned __reduce_add_sync(unsigned, unsigned x) { return x; }

/* CUDA has no atomics of long, nor additions and exchanges of long long, nor minima of floats. */
#define ATOMIC(name, type) D type name(type *, type x) { return x; }
ATOMIC(atomicAdd, int) ATOMIC(atomicAdd, unsigned) ATOMIC(atomicAdd, unsigned long long) ATOMIC(atomicAdd, float)
ATOMIC(atomicAdd, double) ATOMIC(atomicSub, int) ATOMIC(atomicSub, unsigned)
ATOMIC(atomicExch, int) ATOMIC(atomicExch, unsigned) ATOMIC(atomicExch, unsigned long long) ATOMIC(atomicExch, float)
#define ATOMICS(type) ATOMIC(atomicMin, type) ATOMIC(atomicMax, type) ATOMIC(atomicAnd, type) ATOMIC(atomicOr, type) ATOMIC(atomicXor, type)
ATOMICS(int) ATOMICS(unsigned) ATOMICS(long long) ATOMICS(unsigned long long)
ATOMIC(atomicInc, unsigned) ATOMIC(atomicDec, unsigned)
#undef ATOMIC
#undef ATOMICS
#define CAS(type) D type atomicCAS(type *, type, type x) { return x; }
CAS(int) CAS(unsigned) CAS(unsigned long long) CAS(unsigned short)
#undef CAS

/* ---- output and memory ---- */

F int printf(const char *, ...);
F void __assertfail(const char *, const char *, unsigned, const char *, size_t);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, "", 1))
F void *memcpy(void *, const void *, size_t); F void *memset(void *, int, size_t); F void *malloc(size_t); F void free(void *);
template <typename T> D T __ldg(const T *p) { return *p; }
template <typename T> D T __ldcg(const T *p) { return *p; }
template <typename T> D T __ldcs(const T *p) { return *p; }
template <typename T> D void __stcs(T *p, T x) { *p = x; }
template <typename T> D void __stcg(T *p, T x) { *p = x; }
#undef D
#undef F
