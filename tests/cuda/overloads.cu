// Kernels of one name for different types, in anonymous and nested namespaces.
/* expect:
int 1 float 2
inner 3 outer 4
*/
#include <cstdio>

template <typename T> __device__ T one() { return T(1); }

namespace outer
{
namespace inner
{
__global__ void set(int *x) { *x = 3; }
} // namespace inner
__global__ void set(int *x) { *x = 4; }
} // namespace outer
namespace
{
__global__ void put(int *x) { *x = one<int>(); }
__global__ void putf(float *x)
{
    *x = one<float>() + 1;
}
} // namespace

template <typename T> T take(T *d)
{
    T h;
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    return h;
}

int main()
{
    int *i;
    float *f;
    cudaMalloc(&i, 4);
    cudaMalloc(&f, 4);
    put<<<1, 1>>>(i);
    putf<<<1, 1>>>(f);
    printf("int %d float %g\n", take(i), take(f));
    outer::inner::set<<<1, 1>>>(i);
    printf("inner %d", take(i));
    outer::set<<<1, 1>>>(i);
    printf(" outer %d\n", take(i));
}
