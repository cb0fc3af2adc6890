// A variable whose initial value is not a constant breaks the kernels that use it, and only these.
/* nvcc: rejects it
exit: 5
stderr: the value of 'bad' is not a constant
expect:
5
invalid device function
invalid device symbol
*/
#include <cstdio>

__device__ int other = 4;
__device__ int bad = other + 1;
__global__ void uses(int *o) { *o = bad; }
__global__ void fine(int *o) { *o = 5; }

int main()
{
    int *d, h = 0;
    cudaMalloc(&d, sizeof *d);
    fine<<<1, 1>>>(d);
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d\n", h);
    uses<<<1, 1>>>(d);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    printf("%s\n", cudaGetErrorString(cudaMemcpyFromSymbol(&h, bad, sizeof h)));
    cudaFree(d);
}
