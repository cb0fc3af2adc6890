// A kernel that cannot be compiled is told with its place, fails by its error, and leaves others alone. The
// program ends by the code for a bad source, as it has none of its own.
/* nvcc: rejects it
stderr: tests/cuda/mistake.cu:13:36: error: unknown name
   exit: 5
   expect:
bad: invalid device function
again: invalid device function
good: 5
*/
#include <stdio.h>

__global__ void bad(int *x) { *x = not_there; }
__global__ void good(int *x) { *x = 5; }

int main()
{
    int *d, h;
    cudaMalloc(&d, sizeof h);
    bad<<<1, 1>>>(d);
    printf("bad: %s\n", cudaGetErrorString(cudaGetLastError()));
    bad<<<1, 1>>>(d); // is told once
    printf("again: %s\n", cudaGetErrorString(cudaGetLastError()));
    good<<<1, 1>>>(d);
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("good: %d\n", h);
}
