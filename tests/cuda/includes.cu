// Headers of the program's own with kernels in them, -I, -D, __FILE__ and __LINE__.
/* expect:
twice 14, offset 3
tests/cuda/includes.cu 18
*/
#include "include/twice.cuh"
#include "offset.cuh"
#include "include/twice.cuh"
#include <cstdio>

int main()
{
    int *d, h = GIVEN, o;
    cudaMalloc(&d, sizeof h);
    cudaMemcpy(d, &h, sizeof h, cudaMemcpyHostToDevice);
    o = run_offset(d, 3) - h;
    h = run_twice(d) - 2 * o;
    printf("twice %d, offset %d\n%s %d\n", h, o, __FILE__, __LINE__);
}
