/* Parts of elements, for kernels that factor matrices. T is the type of a part of an element; with Z = 1 elements are complex, in two
 * planes. */
#ifndef T
#define T float
#define Z 0
#endif

#if Z
#define PARTS(re, im) re, im
#define IM(x) x
#else
#define PARTS(re, im) re
#define IM(x) ((T *)0)
#endif

#define SIZE(x) ((x) < 0 ? -(x) : (x))
#define NOWHERE 0x7fffffff

static __device__ float less_of(float x, float a, float b) { return fmaf(-a, b, x); }
static __device__ double less_of(double x, double a, double b) { return fma(-a, b, x); }
static __device__ float root_of(float x) { return sqrtf(x); }
static __device__ double root_of(double x) { return sqrt(x); }
