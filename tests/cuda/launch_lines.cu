// Launches over several lines, in any spelling; a macro before a kernel's name; ">>" in a type.
/* expect:
line 26: 7 8
line 30: 9 10
*/
#include <stdio.h>

#define BOUNDED(n) __launch_bounds__(n)
template <int number, typename T> struct two {
    T first, second;
};

__global__ BOUNDED(64) void fill(two<1, two<2, int>> *out, int from)
{
    out->first.first = from;
    out->first.second = from + 1;
}

int main()
{
    two<1, two<2, int>> *x;
    cudaMallocManaged(&x, sizeof *x);
    fill
        <<<dim3(1), 1>>>(x, 7);
    cudaDeviceSynchronize();
    printf("line %d: %d %d\n", __LINE__, x->first.first, x->first.second);
    fill<< <1,
        1>> >(x, 9);
    cudaDeviceSynchronize();
    printf("line %d: %d %d\n", __LINE__, x->first.first, x->first.second);
    cudaFree(x);
    return 0;
}
