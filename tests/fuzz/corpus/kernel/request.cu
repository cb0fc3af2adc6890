template <typename T, int N = 4> __global__ void fill(T *x) { x[threadIdx.x] = N; }
fill<float, 16>