// Launches by kernels: their order, streams, arguments, templates and errors, nested launches, copies and fills.
/* opencl: IG-CDP
nvcc: rejects it
expect:
9 invalid configuration argument
0
1 11 12 2 21 22
24 65
2000
11111111 11111111 11111111 11111111
no error
*/
#include <cstdio>
__device__ int order[64], count;
struct Pair {
    double a;
    char b;
};
__global__ void leaf(Pair p, int tag, const float *x, short s)
{
    if (threadIdx.x == 0) {
        order[atomicAdd(&count, 1)] = tag;
    }
    if (p.a != 2.5 || p.b != 'q' || s != -7 || x[threadIdx.x] != threadIdx.x)
        printf("wrong argument\n");
}
template <int N, typename T> __global__ void mid(T *x, int tag)
{
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        order[atomicAdd(&count, 1)] = tag;
        leaf<<<1, dim3(4, 1), 0, cudaStreamTailLaunch>>>({2.5, 'q'}, tag * 10 + 2, x, -7);
        leaf<<<dim3(1, 1), N>>>(Pair{2.5, 'q'}, tag * 10 + 1, x, -7);
    }
}
__global__ void parent(float *x)
{
    for (int i = threadIdx.x; i < 8; i += blockDim.x)
        x[i] = i;
    __syncthreads();
    if (threadIdx.x)
        return;
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    mid<8><<<1, 8, 8 * sizeof(float), s>>>(x, 1);
    mid<4, float><<<1, 4, 32>>>(x, 2);
    cudaStreamDestroy(s);
    if (cudaGetLastError() != cudaSuccess)
        printf("error\n");
    leaf<<<1, 2048>>>({}, 0, x, 0);
    printf("%d %s\n", (int)cudaPeekAtLastError(), cudaGetErrorString(cudaGetLastError()));
    printf("%d\n", (int)cudaPeekAtLastError());
}
__global__ void deep(int *depth, int n)
{
    depth[0] = n;
    deep<<<1, 1>>>(depth, n + 1);
    if (cudaPeekAtLastError() != cudaSuccess)
        depth[1] = cudaGetLastError();
}
__global__ void many(int *n, int k)
{
    if (k < 0)
        atomicAdd(n, 1);
    else
        many<<<1, 1>>>(n, -1);
}
__global__ void moves(int *a, int *b)
{
    cudaMemsetAsync(b, 0x11, 5 * sizeof(int));
    cudaMemcpyAsync(a + 1, b, 4 * sizeof(int), cudaMemcpyDeviceToDevice, 0);
    int *p;
    cudaMalloc(&p, 16);
    p[0] = 1;
    cudaFree(p);
}
int main()
{
    float *x;
    int *d, h[10] = {0}, got[64], n;
    cudaMalloc(&x, 32);
    cudaMalloc(&d, 40);
    cudaMemset(d, 0, 40);
    parent<<<1, 4>>>(x);
    cudaMemcpyFromSymbol(got, order, sizeof got);
    cudaMemcpyFromSymbol(&n, count, 4);
    for (int i = 0; i < n; i++)
        printf("%d%c", got[i], " \n"[i == n - 1]);
    deep<<<1, 1>>>(d, 0);
    cudaMemcpy(h, d, 8, cudaMemcpyDeviceToHost);
    printf("%d %d\n", h[0], h[1]);
    many<<<20, 100>>>(d + 2, 0);
    cudaMemcpy(h, d, 12, cudaMemcpyDeviceToHost);
    printf("%d\n", h[2]);
    moves<<<1, 1>>>(d, d + 5);
    cudaMemcpy(h, d, 40, cudaMemcpyDeviceToHost);
    printf("%x %x %x %x\n", h[1], h[4], h[5], h[9]);
    cudaFree(x);
    cudaFree(d);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
