// Parameter packs: kernels and functions of any number of arguments, folds, recursion, classes.
/* expect:
sum 0 + 1 + 2.5 + 3 = 6.5
sum 1 + 1 + 2.5 + 3 = 7.5
nothing 0 1
scaled 0.5 21 4.5
axes 2 0 3 1
row 111 222
dot 1*4 + 2*5 + 3*6 = 32
called 10.5
autos 6 0 24 4 14 2
captured 16 109 7 66 3
*/
#include <cstdio>
#include <utility>

template <typename T> __host__ __device__ T sum(T x) { return x; }
template <typename T, typename... Rest> __host__ __device__ auto sum(T first, Rest... rest)
{
    return first + sum(rest...);
}

template <typename... Ts> __global__ void add_all(float *out, Ts... args)
{
    out[threadIdx.x] = (0.0f + ... + args) + threadIdx.x;
}

template <typename Op, typename... Args> __device__ float call(Op op, Args &&...args)
{
    return op(std::forward<Args>(args)...);
}

struct axpy {
    float a;
    __device__ float operator()(float x, float y) const { return a * x + y; }
};

template <typename... Arrays> __global__ void scale(float f, Arrays *...arrays)
{
    ((arrays[threadIdx.x] = static_cast<Arrays>(arrays[threadIdx.x] * f)), ...);
}

template <int... Axes> __global__ void permute(int *out)
{
    constexpr int axes[] = {Axes...};
    if (threadIdx.x < sizeof...(Axes))
        out[threadIdx.x] = axes[threadIdx.x];
}

template <int... I> struct sequence {
};
template <int N, int... I> struct upto : upto<N - 1, N - 1, I...> {
};
template <int... I> struct upto<0, I...> {
    using type = sequence<I...>;
};

template <int N, int... I> __device__ int row_sum(const int *row, sequence<I...>)
{
    return (0 + ... + row[I]);
}

template <int N> __global__ void rows(const int *x, int *out)
{
    out[threadIdx.x] = row_sum<N>(x + threadIdx.x * N, typename upto<N>::type());
}

template <typename... Ts> struct dot;
template <> struct dot<> {
    __device__ static float of(const float *, const float *) { return 0; }
};
template <typename T, typename... Rest> struct dot<T, Rest...> {
    __device__ static float of(const float *a, const float *b)
    {
        return T(*a) * T(*b) + dot<Rest...>::of(a + 1, b + 1);
    }
};

__global__ void dots(const float *a, float *out)
{
    out[0] = dot<float, double, int>::of(a, a + 3);
    out[1] = call(axpy{2}, 4, 2.5f);
}

/* auto ... declares a pack, also of lambdas, whose captures by reference precede it. */
__device__ int of_autos(auto... a) { return (0 + ... + (int)a); }
__device__ int after(auto first, const auto &...a) { return (first * ... * a); }
template <typename... A> __device__ int captured(A... a)
{
    auto f = [=](int k) { return sum(a..., k); };
    return f(10);
}
template <typename... A> __device__ int captured_list(A... a)
{
    auto f = [a...](int k) { return (k + ... + a); };
    return f(100);
}
template <typename... A> __device__ int captured_both(int by, A... a)
{
    auto f = [=](auto... b) { return by * (sum(a...) + sum(b...)) + (int)(sizeof...(a) - sizeof...(b)); };
    return f(1, 2, 3);
}
__global__ void autos(int *out)
{
    int total = 0;
    auto add = [&](auto... x) { total += (0 + ... + x); return (int)sizeof...(x); };
    auto scale = [](auto x, auto... r) { return x * (int)sizeof...(r); };
    out[0] = of_autos(1, 2.5f, 3u);
    out[1] = of_autos();
    out[2] = after(2, 3, 4);
    out[3] = add(1, 2, 3, 4);
    out[4] = scale(7, 1, 1);
    out[5] = add() + add(5, 6) * (total == 21);
    out[6] = captured(1, 2, 3);
    out[7] = captured_list(4, 5);
    out[8] = captured_list() - 93;
    out[9] = captured_both(6, 5) + 2;
    out[10] = [](auto &&...p) { return (p + ...); }(1, 2);
}

int main()
{
    float *x, *y;
    int *n;
    double *d;
    cudaMallocManaged(&x, 8 * sizeof *x);
    cudaMallocManaged(&y, 8 * sizeof *y);
    cudaMallocManaged(&n, 8 * sizeof *n);
    cudaMallocManaged(&d, 8 * sizeof *d);

    add_all<<<1, 2>>>(x, 1, 2.5f, (char)3);
    cudaDeviceSynchronize();
    for (int i = 0; i < 2; i++)
        printf("sum %d + 1 + 2.5 + 3 = %g\n", i, x[i]);
    if (sum(1, 2.5f, 3) != 6.5f)
        printf("the host disagrees\n");
    add_all<<<1, 2>>>(x);
    cudaDeviceSynchronize();
    printf("nothing %g %g\n", x[0], x[1]);

    x[0] = 0.25f;
    n[0] = 10;
    d[0] = 2.25;
    scale<<<1, 1>>>(2.0f, x, n, d);
    n[1] = 1;
    cudaDeviceSynchronize();
    printf("scaled %g %d %g\n", x[0], n[0] + n[1], d[0]);

    permute<2, 0, 3, 1><<<1, 32>>>(n);
    cudaDeviceSynchronize();
    printf("axes %d %d %d %d\n", n[0], n[1], n[2], n[3]);

    for (int i = 0; i < 6; i++)
        n[i] = (i / 3 + 1) * (i % 3 == 0 ? 1 : i % 3 == 1 ? 10 : 100);
    rows<3><<<1, 2>>>(n, n + 6);
    cudaDeviceSynchronize();
    printf("row %d %d\n", n[6], n[7]);

    for (int i = 0; i < 6; i++)
        x[i] = i + 1;
    dots<<<1, 1>>>(x, y);
    cudaDeviceSynchronize();
    printf("dot 1*4 + 2*5 + 3*6 = %g\ncalled %g\n", y[0], y[1]);
    int *out;
    cudaMallocManaged(&out, 11 * sizeof *out);
    autos<<<1, 1>>>(out);
    cudaDeviceSynchronize();
    for (int i = 0; i < 11; i++)
        printf("%s %d%s", i == 0 ? "autos" : i == 6 ? "captured" : "", out[i], i == 5 || i == 10 ? "\n" : "");
    cudaFree(out);
    cudaFree(x);
    cudaFree(y);
    cudaFree(n);
    cudaFree(d);
    return cudaGetLastError() != cudaSuccess;
}
