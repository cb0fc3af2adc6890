// Names: namespaces in one go, variables of one name in two of them, a parameter that is called as its kernel.
/* expect:
kernel 16
parameters 4 and 7
variables 2 and 9
nested 5
*/
#include <cstdio>

namespace lab::tools
{
__device__ int step = 5;
namespace inner
{
__global__ void histogram(int *histogram, int n) { histogram[threadIdx.x] = n; }
} // namespace inner
__global__ void next(int *x) { x[threadIdx.x]++; }
} // namespace lab::tools

namespace first
{
__device__ int count = 1;
template <typename T> __global__ void scale(T *x, T scale) { x[threadIdx.x] *= scale; }
} // namespace first
namespace second
{
__device__ int count = 2;
}
namespace
{
__global__ void add(int add, int *x) { *x += add; }
} // namespace

__global__ void fill(int *fill) { *fill = 4; }
__global__ void count_up() { first::count += 4 * second::count; }

int main()
{
    int *x, a, b;
    cudaMallocManaged(&x, 32 * sizeof *x);
    lab::tools::inner::histogram<<<1, 32>>>(x, 3);
    first::scale<<<1, 32>>>(x, 5);
    lab::tools::next<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    printf("kernel %d\n", x[31]);

    fill<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    a = *x;
    add<<<1, 1>>>(3, x);
    cudaDeviceSynchronize();
    printf("parameters %d and %d\n", a, *x);

    count_up<<<1, 1>>>();
    cudaMemcpyFromSymbol(&a, second::count, sizeof a);
    cudaMemcpyFromSymbol(&b, first::count, sizeof b);
    printf("variables %d and %d\n", a, b);
    cudaMemcpyFromSymbol(&a, lab::tools::step, sizeof a);
    printf("nested %d\n", a);
    cudaFree(x);
}
