// Constructors that only the device has, of device variables and with functions that the host does not know.
/* expect:
constexpr 15 4 6
empty 0 9
lists 4 6 1065353216 0.5
done
*/
#include <cstdio>

__device__ int advance(int &n) { return ++n; }

struct Scaled {
    int a;
    constexpr __device__ Scaled(int q = 2) : a(q * 3) {}
};
struct Four {
    int a;
    constexpr __device__ Four() : a{4} {}
    __device__ int get() const { return a; }
};
struct Empty {
    int n;
    __device__ Empty() {}
};
struct Advanced {
    int n;
    __device__ Advanced(int &c) : n(advance(c)) {}
    __device__ Advanced() : n{five()} { n = advance(n); }
    __device__ int five() { return 5; }
};
struct Base {
    const int x;
    __device__ explicit Base(int q) : x(q) {}
};
struct Derived : Base {
    float f;
    __device__ __forceinline__ Derived(float v) : Base(__float_as_int(v)), f(__fdividef(v, 2)) {}
};

__device__ Scaled scaled(5), defaulted;
__constant__ Four four;
__device__ Empty empty;

__global__ void run()
{
    printf("constexpr %d %d %d\n", scaled.a, four.get(), defaulted.a);
    const int before = empty.n;
    empty.n = 9;
    printf("empty %d %d\n", before, empty.n);
    int c = 3;
    Advanced counted(c), own;
    Derived derived(1.0f);
    printf("lists %d %d %d %g\n", counted.n, own.n, derived.x, derived.f);
}

int main()
{
    run<<<1, 1>>>();
    printf("%s\n", cudaDeviceSynchronize() == cudaSuccess ? "done" : "failed");
}
