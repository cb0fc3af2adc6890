template <typename F, typename... Args> __device__ auto call(F f, Args... args) { return f(args...); }
template <typename F, typename... Args> __device__ void invoke(F f, Args &&... args) { f(args...); }
struct Axpy { float a; __device__ float operator()(float x, float y) const { return a * x + y; } };
template <int... Is> __device__ int product() { return (1 * ... * Is); }
template <int First, int... Rest> __device__ int largest() {
    if constexpr (sizeof...(Rest) == 0) return First;
    else { int r = largest<Rest...>(); return First > r ? First : r; }
}
template <typename... Ts> __device__ int bytes() { return (sizeof(Ts) + ... + 0); }
template <typename T, typename... Ts> __device__ T pick(int i, Ts... args) { T v[] = {static_cast<T>(args)...}; return v[i]; }
template <typename... Ts> __device__ float dotted(const float *w, const Ts &... xs) { float x[sizeof...(xs)] = {float(xs)...}; float s = 0; for (unsigned i = 0; i < sizeof...(xs); i++) s += w[i] * x[i]; return s; }
template <typename... Ts> __device__ void bump(Ts &... xs) { ((xs += 1), ...); }
template <typename T> __device__ void print_one(float *&out, T x) { *out++ = x; }
template <typename... Ts> __device__ void print_all(float *out, Ts... xs) { (print_one(out, xs), ...); }
template <typename... Ts> __device__ bool same(int x, Ts... xs) { return ((x == xs) || ...); }
__global__ void k(float *out) {
    out[0] = call(Axpy{2}, 3.0f, 4.0f);
    out[1] = product<2, 3, 4>() + product<>();
    out[2] = largest<3, 9, 4>();
    out[3] = bytes<char, float, double>() + bytes<>();
    out[4] = pick<float>(1, 1, 2.5, 3);
    float w[3] = {1, 2, 3};
    out[5] = dotted(w, 1, 2.0f, 3.0);
    int a = 1; float b = 2;
    bump(a, b);
    print_all(out + 6, a * 10 + b, same(3, 1, 2, 3));
}
