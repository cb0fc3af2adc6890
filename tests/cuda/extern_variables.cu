// A declaration with extern and its definition are one variable.
/* nvcc: rejects it; NVRTC does not
opencl: IG-PTRMEM
expect:
9 9 8
3 -> 1
*/
#include <cstdio>

struct Node {
    int v;
    Node *next;
};
extern __device__ Node last;
__device__ Node one = {1, nullptr};
__device__ Node last = {3, &one};

extern __constant__ int late;
__constant__ int late = 9;
extern __constant__ int late;

__global__ void read_late(int *out) { *out = late; }
__global__ void read_nodes(int *out)
{
    out[0] = last.v;
    out[1] = last.next->v;
}

int main()
{
    int *d, h[2], eight = 8, got;
    cudaMalloc(&d, sizeof h);
    read_late<<<1, 1>>>(d);
    cudaMemcpy(&h[0], d, sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&got, late, sizeof got);
    cudaMemcpyToSymbol(late, &eight, sizeof eight);
    read_late<<<1, 1>>>(d);
    cudaMemcpy(&h[1], d, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d %d\n", h[0], got, h[1]);
    read_nodes<<<1, 1>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d -> %d\n", h[0], h[1]);
    cudaFree(d);
}
