// Kernel templates by type and number: given, deduced, with defaults, specialised, of enums and structs.
/* expect:
float 16: 3
double 4: 3.5
deduced: 5 default 8
specialised: 100
enum: 9 -1
struct: 6
*/
#include <cstdio>

template <typename T, int N> __global__ void add(T *x, T a)
{
    if (threadIdx.x < N)
        x[threadIdx.x] += a;
}
template <typename T, unsigned int N = 8> __global__ void widths(T *x, T a) { x[0] = a; x[1] = N; }
template <typename T> __global__ void kind(T *x) { *x = 1; }
template <> __global__ void kind<float>(float *x) { *x = 100; }

enum class Op { Plus, Minus };
template <Op op, bool twice> __global__ void apply(int *x)
{
    int v = op == Op::Plus ? x[0] + 4 : x[0] - 4;
    *x = twice ? v + v - 1 : v;
}

struct Pair {
    int a;
    float b;
};
struct Sum {
    __host__ __device__ int operator()(Pair p) const { return p.a + (int)p.b; }
};
template <typename F> __global__ void with(F f, Pair p, int *x) { *x = f(p); }

template <typename T> T first(T *d)
{
    T h;
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    return h;
}
template <typename T, int N> T run(T start, T a)
{
    T *d;
    cudaMalloc(&d, N * sizeof(T));
    cudaMemset(d, 0, N * sizeof(T));
    cudaMemcpy(d, &start, sizeof(T), cudaMemcpyHostToDevice);
    add<T, N><<<1, 32>>>(d, a);
    return first(d);
}

int main()
{
    printf("float 16: %g\n", run<float, 16>(1, 2));
    printf("double 4: %g\n", run<double, 4>(1, 2.5));
    int *i;
    cudaMalloc(&i, 8);
    widths<<<1, 1>>>(i, 5);
    printf("deduced: %d default %d\n", first(i), first(i + 1));
    float *f;
    cudaMalloc(&f, 4);
    kind<<<1, 1>>>(f);
    printf("specialised: %g\n", first(f));
    int five = 5;
    cudaMemcpy(i, &five, 4, cudaMemcpyHostToDevice);
    apply<Op::Plus, false><<<1, 1>>>(i);
    printf("enum: %d", first(i));
    cudaMemset(i, 0, 4);
    apply<Op::Plus, false><<<1, 1>>>(i);
    apply<Op::Minus, true><<<1, 1>>>(i);
    printf(" %d\n", first(i));
    with<<<1, 1>>>(Sum(), Pair{2, 4.5f}, i);
    printf("struct: %d\n", first(i));
}
