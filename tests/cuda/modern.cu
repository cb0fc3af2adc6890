// C++17 in kernels: names bound to parts, loops over objects, templates as arguments, specializations by their result.
/* expect:
bound 9 12 3 7 5 8
ranges 67 6
special 2 3 4 15 6
templates 31 496 13 1
*/
#include <cstdio>
#include <cuda_fp16.h>
#include <type_traits>

struct measure {
    int count;
    float mean;
};
__device__ measure make(int n) { return {n, 2.0f * n}; }

__global__ void bound(int *y)
{
    auto [n, mean] = make(3);
    y[0] = n + (int)mean;
    int pair[2] = {4, 5};
    auto &[first, second] = pair;
    first = 7;
    y[1] = pair[0] + second;
    const auto &[a, b] = measure{1, 2.0f};
    y[2] = a + (int)b;
    auto [copy, other] = pair;
    copy = 100;
    y[3] = pair[0];
    y[4] = other;
    measure m = {1, 1.0f};
    for (int i = 0; i < 3; i++) {
        auto &[count, sum] = m;
        count += i;
        sum += 1;
    }
    const auto [key, value] = make_int2(m.count, (int)m.mean);
    y[5] = key + value;
}

struct row {
    int v[3];
    __device__ int *begin() { return v; }
    __device__ int *end() { return v + 3; }
    __device__ const int *begin() const { return v; }
    __device__ const int *end() const { return v + 3; }
};
__device__ int total(const row &r)
{
    int sum = 0;
    for (const auto &x : r)
        sum += x;
    return sum;
}

__global__ void ranges(int *y)
{
    int a[4] = {1, 2, 3, 4}, sum = 0;
    for (int x : a)
        sum += x;
    for (auto &x : a)
        x *= 2;
    for (const auto &x : a)
        sum += x;
    row r = {{5, 6, 7}};
    for (auto &x : r) {
        if (x == 6)
            continue;
        x++;
    }
    for (auto x : r)
        sum += x;
    y[0] = sum + total(row{{5, 6, 6}});
    row one = {{1, 2, 3}};
    y[1] = total(one);
}

template <typename T> __device__ T from(float a);
template <> __device__ float from(float a) { return a + 1; }
template <> __device__ half from(float a) { return __float2half(a + 2); }
template <> __device__ int from<int>(float a) { return (int)a + 3; }
template <typename R, typename A, typename B> __device__ R product(A a, B b);
template <> __device__ float2 product(float2 a, float2 b) { return {a.x * b.x, a.y * b.y}; }
template <> __device__ float product<float, float>(float a, float b) { return a * b; }

__global__ void special(int *y)
{
    y[0] = (int)from<float>(1.0f);
    y[1] = (int)__half2float(from<half>(1.0f));
    y[2] = from<int>(1.0f);
    y[3] = (int)product<float2>(make_float2(2, 3), make_float2(4, 5)).y;
    y[4] = (int)product<float>(2.0f, 3.0f);
}

template <typename T> struct largest {
    __device__ static T of(T a, T b) { return a > b ? a : b; }
};
template <typename T> struct sum_of {
    __device__ static T of(T a, T b) { return a + b; }
};
template <template <class> class F, typename T> __device__ T reduce(T v, T *s)
{
    for (int n = 16; n > 0; n /= 2) {
        s[threadIdx.x] = v;
        __syncthreads();
        v = F<T>::of(v, s[threadIdx.x ^ n]);
        __syncthreads();
    }
    return v;
}
template <template <typename> class F = sum_of> struct holder {
    template <typename T> __device__ static T twice(T x) { return F<T>::of(x, x); }
};

__global__ void templates(int *y)
{
    __shared__ int s[32];
    __shared__ float f[32];
    const int most = reduce<largest, int>(threadIdx.x, s);
    const float all = reduce<sum_of>((float)threadIdx.x, f);
    if (threadIdx.x)
        return;
    y[0] = most;
    y[1] = (int)all;
    y[2] = holder<>::twice(4) + holder<largest>::twice(5);
    y[3] = std::is_same<std::make_unsigned<int>::type, unsigned>::value;
}

static void show(const char *name, const int *y, int n)
{
    cudaDeviceSynchronize();
    printf("%s", name);
    for (int i = 0; i < n; i++)
        printf(" %d", y[i]);
    printf("\n");
}

int main()
{
    int *y;
    cudaMallocManaged(&y, 8 * sizeof *y);
    bound<<<1, 1>>>(y);
    show("bound", y, 6);
    ranges<<<1, 1>>>(y);
    show("ranges", y, 2);
    special<<<1, 1>>>(y);
    show("special", y, 5);
    templates<<<1, 32>>>(y);
    show("templates", y, 4);
}
