// Memory of cudaMalloc that nothing wrote: read by a kernel, changed by an atomic, copied from one array to another.
/* finds: uninitialised: thread (8, 0, 0) of block (0, 0, 0) of launch 2 reads element 8 of 'x', which neither the host nor a kernel has written
finds: uninitialised: thread (0, 0, 0) of block (0, 0, 0) of launch 3 reads element 0 of 'counter'
finds: uninitialised: thread (4, 0, 0) of block (0, 0, 0) of launch 6 reads element 4 of 'y'
*/
#include <stdio.h>

struct gap { char a; double b; };

__global__ void put(int *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
__global__ void sum(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x] + 1; }
__global__ void count(int *counter) { atomicAdd(counter, 1); }
__global__ void fine(const int *y) { if (y[threadIdx.x] > 100) printf("no\n"); }
__global__ void later(const int *y) { if (y[threadIdx.x] > 100) printf("no\n"); }
__global__ void swap_gaps(gap *g) { gap t = g[0]; g[0] = g[1]; g[1] = t; }
__global__ void set_gaps(gap *g) { g[threadIdx.x].a = 1; g[threadIdx.x].b = 2; }

int main()
{
    int *x, *y, *counter, *copied, h[16] = {0};
    gap *g;
    cudaMalloc(&x, sizeof h);
    cudaMalloc(&y, sizeof h);
    cudaMalloc(&copied, sizeof h);
    cudaMalloc(&counter, sizeof h);
    cudaMalloc(&g, 2 * sizeof *g);
    put<<<1, 16>>>(x, 8);
    sum<<<1, 16>>>(x, y); // half of x was written; y is after it
    count<<<1, 1>>>(counter);
    cudaMemset(counter, 0, sizeof h);
    fine<<<1, 16>>>(counter);
    cudaMemcpy(copied, h, 16, cudaMemcpyHostToDevice);
    cudaMemcpy(y, h, sizeof h, cudaMemcpyHostToDevice);
    fine<<<1, 16>>>(y);
    cudaMemcpy(y, copied, sizeof h, cudaMemcpyDeviceToDevice); // four elements have values
    later<<<1, 16>>>(y);
    set_gaps<<<1, 2>>>(g);
    swap_gaps<<<1, 1>>>(g); // padding is not read
    cudaFree(x);
    cudaFree(y);
    cudaFree(copied);
    cudaFree(counter);
    cudaFree(g);
}
