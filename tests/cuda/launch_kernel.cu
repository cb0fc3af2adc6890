// Kernels as values: cudaLaunchKernel, pointers to kernels, tables of them.
/* expect:
by address 42
by type 2.5
by table 3 4
by instance 8
with attributes 44 0
*/
#include <stdio.h>

__global__ void put(int *x, int v) { *x = v; }
__global__ void put_float(float *x, double v) { *x = (float)v; }
__global__ void add(int *x) { *x += 1; }
__global__ void mul(int *x) { *x *= 4; }
template <int N> __global__ void shift(int *x) { *x = 1 << N; }

int main()
{
    int *d, h, v = 42;
    float *f, hf;
    double w = 2.5;
    cudaMalloc(&d, sizeof h);
    cudaMalloc(&f, sizeof hf);
    void *args[] = {&d, &v};
    cudaLaunchKernel((void *)put, dim3(1), dim3(1), args, 0, 0);
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("by address %d\n", h);
    void *more[] = {&f, &w};
    cudaLaunchKernel(put_float, 1, 1, more);
    cudaMemcpy(&hf, f, sizeof hf, cudaMemcpyDeviceToHost);
    printf("by type %g\n", hf);
    void (*table[])(int *) = {add, mul};
    cudaMemset(d, 0, sizeof h);
    printf("by table");
    for (int i = 0; i < 2; i++) {
        int start = i ? 1 : 2;
        cudaMemcpy(d, &start, sizeof h, cudaMemcpyHostToDevice);
        table[i]<<<1, 1>>>(d);
        cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
        printf(" %d", h);
    }
    void *last[] = {&d};
    cudaLaunchKernel((const void *)shift<3>, 1, 1, last, 0, NULL);
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("\nby instance %d\n", h);
    cudaLaunchAttribute attributes[2];
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributePriority;
    attributes[1].val.priority = 0;
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    config.attrs = attributes;
    config.numAttrs = 2;
    const int error = cudaLaunchKernelEx(&config, put, d, 44);
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("with attributes %d %d\n", h, error);
}
