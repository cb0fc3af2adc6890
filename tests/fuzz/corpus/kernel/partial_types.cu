template <bool B, typename T, typename F> struct Select { using type = T; };
template <typename T, typename F> struct Select<false, T, F> { using type = F; };
template <typename A, typename B> struct Same { enum { value = 0 }; };
template <typename A> struct Same<A, A> { enum { value = 1 }; };
template <typename T, int N> struct Vec { T v[N]; __device__ T sum() const { T s = 0; for (int i = 0; i < N; i++) s += v[i]; return s; } };
template <typename V> struct Info;
template <typename T, int N> struct Info<Vec<T, N>> { using elem = T; static constexpr int n = N; };
template <typename T> struct Info<Vec<T, 1>> { using elem = T; static constexpr int n = 100; };
template <typename T> struct Vec<T, 2> { T x, y; __device__ T sum() const { return 10 * x + y; } };
template <typename V> __device__ typename Info<V>::elem first(const V &v) { return v.v[0]; }
__global__ void k(float *out) {
    Select<(sizeof(float) > 8), double, int>::type a = 7;
    Select<true, char, int>::type c = 3;
    out[0] = a + sizeof c;
    out[1] = Same<int, int>::value * 10 + Same<int, float>::value;
    Vec<float, 3> v = {{1, 2, 3}};
    Vec<int, 2> w = {4, 5};
    out[2] = v.sum();
    out[3] = w.sum();
    out[4] = Info<Vec<float, 3>>::n;
    out[5] = Info<Vec<int, 1>>::n;
    out[6] = first(v);
    out[7] = Info<decltype(v)>::n;
}
