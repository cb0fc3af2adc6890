template <typename T> __device__ T square(T x) { return x * x; }
template <typename T, int N> __device__ T total(const T (&a)[N]) { T s = 0; for (int i = 0; i < N; i++) s += a[i]; return s; }
template <typename T> __device__ T first(const T *p) { return p[0]; }
template <int N = 4, typename T = float> __device__ T fill(T x) { return x * N; }
template <typename T> __device__ int depth(T) { return 0; }
template <typename T> __device__ int depth(T *) { return 1; }
template <bool up> __device__ int step(int x) { if constexpr (up) return x + 1; else return x - 1; }
template <typename T> __device__ T special(T x) { return x; }
template <> __device__ float special<float>(float x) { return x + 1; }
template <> __device__ int special(int x) { return x + 2; }
template <typename T, int N> struct vec { T at[N]; static constexpr int size = N; };
template <typename T, int N> __device__ T sum(const vec<T, N> &v) { T s = 0; for (int i = 0; i < vec<T, N>::size; i++) s += v.at[i]; return s; }
__global__ void deduced(float *x, int *n)
{
    float a[3] = {1, 2, 3};
    x[0] = square(x[1]) + square(n[0]) + total(a) + first(x) + square<double>(2);
    n[1] = fill(3.0f) + fill<2>(n[0]) + fill<2, long>(7) + step<true>(1) + step<false>(2) + depth(x) + depth(n[0]);
    x[2] = special(x[3]) + special(n[2]) + special(2u);
    vec<float, 4> v = {{1, 2, 3, 4}};
    x[3] = sum(v) + vec<float, 4>::size;
}
template <typename T, int BM, bool CHECK = false> __global__ void __launch_bounds__(BM * 2) tile(T *x, int n)
{
    __shared__ T s[BM][BM + 1];
    s[threadIdx.y][threadIdx.x] = x[0];
    __syncthreads();
    if (!CHECK || n > BM)
        x[n] = s[0][1];
}
template __global__ void tile<double, 8>(double *, int);
template <typename Op> __global__ void pick(Op *x) { x[0] = sizeof(Op) >= 4 ? 1 : 2; }
template __global__ void pick(int *);
