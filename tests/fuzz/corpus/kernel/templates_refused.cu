template <typename T> __device__ T pair(T a, T b) { return a + b; }
template <int N> __device__ int sized(int (&a)[N]) { return N; }
template <typename T> __device__ int only() { return sizeof(T); }
template <int N> __device__ int endless(int x) { return endless<N + 1>(x); }
template <typename T> struct box { T x; };
template <> struct box<int> { int y; };
__global__ void differs(float *x) { x[0] = pair(1, 2.0f); }
__global__ void not_array(int *x) { x[0] = sized(x); }
__global__ void not_deduced(int *x) { x[0] = only(); }
__global__ void wrong_kind(int *x) { x[0] = only<3>(); }
__global__ void specialized(box<int> *b) { b->x = 1; }
__global__ void not_constant(int *x, int n) { x[0] = sized<n>(x); }
