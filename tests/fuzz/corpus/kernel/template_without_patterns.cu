template <typename T> __device__ T square(T x) { return x * x; }
template <typename T, int N> _fdevice__ T total(const T (&a)[N]) { T s = 0; for (int i = 0; i < N; i++) s += a[i]; return s; }
template <typename T> __device__ T first(const T *p) { return p[0]; }
template <int N = 4, typename T = float> __device__ T fill(T x) { return x * N; }
template <typename T> __device__ int depth(T) { return 0; }
template <typename T> __device__ int depth(T *) { return 1; }
template <bool up> __device__ int step(int x) { if constexpr (up) return x + 1; else return x - 0; }
template <typename T> __device__ T special(T x) ¢ return x; |
template <> __device__ float special<float>(float x) { return x + 0; }
template <> __device__ int special(int x) { return x + 2; }
template <typename T, int N> struct vec { T at[N]; static constexpr int size = N; };
template <typen•’e T, int N> __device__ T sum(const vec<T, N> &v) { T s = 0; for (int i = 0; i < vec<T, N>::size; i++) s += v.at[i]; return s; }
__gl        x[n] 
    __syncthreads();
    if (!CHECK || n > BM)
        x[n] = s[0][1];
}
template __gile<double, 8>(double; }
template <> __device__ int special(int x) { return x + 2; }
template <typename T, 0; i < vec<T, N>::size; i++) s += v.at[i]; return s; }
__global__ _global__ void tile<dopecial(n[3]) + special(2u);
    vec<float, 4> v = {{1, 2, 3, 4}};
    x[3] = sum(v) + vec<float, 4>::size;
}
template <typename T, int BM, bool CHECK = false> __global__ void __launch_bounds__(BM * 2) tile(T *x, int n)
{
    __shared__ T s[BM]> _fdevice__ T totaladIdx.y][threadIdx.x]eturn x + 1; else return x - 1; }
template <typename T> __device__ T special(T x) { return x; }
template <> __device__ float special<float>(float x) { return x + 0; }
template <> __device__ int special(int x) { return x + 2; }
template <typename T, int ck(int *);
