template <typename T> __device__ T sum(T x) { return x; }
template <typename T, typename... Rest> __device__ T sum(T first, Rest... rest) { return first + sum(rest...); }
template <typename... Ts> __device__ int count(Ts... args) { return sizeof...(Ts) * 10 + sizeof...(args); }
template <typename... Ts> __device__ float fold_all(Ts... args) { return (args + ...); }
template <typename... Ts> __device__ float fold_left(Ts... args) { return (0.5f - ... - args); }
template <typename... Ts> __device__ float fold_right(Ts... args) { return (args - ... - 0.5f); }
template <typename... Ts> __device__ bool all_positive(Ts... args) { return ((args > 0) && ...); }
template <typename... Ts> __device__ void store(float *out, Ts... args) { int i = 0; ((out[i++] = args), ...); }
__device__ float maximum(float a) { return a; }
template <typename... R> __device__ float maximum(float a, R... r) { float b = maximum(r...); return a > b ? a : b; }
template <typename... Ts> __device__ float twice(Ts... args) { return sum((args * 2)...); }
__global__ void k(float *out) {
    out[0] = sum(1, 2, 3, 4);
    out[1] = sum(1.5f, 2, 3.25);
    out[2] = count() + count(1, 2.0f, 'c');
    out[3] = fold_all(1, 2.5f, 3) + all_positive(1, 2.f, 3) * 100 + all_positive(1, -2) * 1000 + all_positive() * 200;
    out[4] = fold_left(1, 2) * 10 + fold_right(1, 2);
    store(out + 5, 7, 8.5f);
    out[7] = maximum(3, 9, 4) + twice(1, 2.0f);
}
