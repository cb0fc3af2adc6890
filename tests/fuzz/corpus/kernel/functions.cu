__device__ float scale(float x, float by = 2.0f, int n = 3) { return x * by + n; }
__device__ int twice(int x) { return 2 * x; }
__device__ float twice(float x) { return 2 * x; }
__device__ double twice(double x) { return 2 * x; }
__device__ void both(float &a, float *b) { a += *b; }
__host__ __device__ inline int shared_code(int x) { return x + 1; }
__host__ int sided(int x) { return std::max(x, 1); }
__device__ int sided(int x) { return x + 5; }
__device__ int later(int x);
namespace one { __device__ int f() { return 1; } namespace two { __device__ int f() { return 2; } __device__ int g() { return f() + one::f(); } } }
namespace { __device__ int hidden() { return 3; } }
__device__ float *select(float *a, int n) { return a + n; }
extern "C" __global__ void defaults(float *x) { x[0] = scale(x[1]) + scale(x[2], 3) + scale(x[3], 4, 5); }
__global__ void overloads(float *x, short s)
{
    x[0] = twice(s) + twice(x[1]) + twice(0.5) + twice('a');
    both(x[2], x + 3);
    float local = 1;
    both(local, &x[1]);
    x[4] = local;
}
__global__ void names(int *x, float *y)
{
    x[0] = one::f() + one::two::g() + hidden() + shared_code(3) + later(1) + sided(2);
    using namespace one;
    x[1] = two::f() + f();
    *select(y, 2) = 1;
}
__device__ int later(int x) { return x; }
