template <typename F, typename T> __device__ T apply(F f, T x) { return f(x); }
template <typename F> __device__ float both(F f) { return f(1) + f(2.5f); }
template <typename F> __device__ void each(float *p, int n, F f) { for (int i = 0; i < n; i++) f(p[i], i); }
__global__ void k(float *out) {
    auto twice = [](auto x) { return x * 2; };
    out[0] = twice(3) + twice(1.5f);
    out[1] = both([] __device__ (auto x) { return x / 2; });
    float a = 3;
    out[2] = apply([=](auto x) { return a * x + 1; }, 2);
    constexpr int N = 4;
    using real = float;
    out[3] = apply([](auto x) -> real { return x + N; }, 2.25);
    float s = 0;
    auto add = [&](auto x) { s += x; };
    add(1); add(2.5f); add('c' - 'a');
    out[4] = s;
    each(out + 5, 2, [](float &x, auto i) { x = i * 10; });
    auto max2 = [](const auto &p, const auto &q) { return p > q ? p : q; };
    out[7] = max2(3, 4) + max2(1.5f, 0.5f);
}
