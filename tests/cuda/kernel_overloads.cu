// Kernel templates of one name whose parameters differ: each launch means one of them, also if another is never launched.
/*
expect:
float 0 2 4 .. 510 by 4
half 0 3 6 .. 765 by 8
plain 41
*/
#include <cstdio>
#include <cuda_fp16.h>

template <typename T> struct lanes { static constexpr int n = 4; };
template <> struct lanes<__half> { static constexpr int n = 8; };

template <int BLOCK, int N> __global__ void scale(float *x, int *by, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        x[i] *= 2.0f;
    if (i == 0)
        *by = N;
}

template <int BLOCK, int N> __global__ void scale(__half *x, int *by, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        x[i] = __hmul(x[i], __float2half(3.0f));
    if (i == 0)
        *by = N;
}

template <int BLOCK, int N> __global__ void scale(double *x, int *by, int n) { *by = n; }

__global__ void plain(double *x) { x[0] = -1; }
__global__ void plain(int *x) { x[0] = 41; }

template <int BLOCK> struct launcher {
    template <typename T> static void run(T *x, int *by, int n) { scale<BLOCK, lanes<T>::n><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(x, by, n); }
};

template <typename T> static void show(const char *name)
{
    enum { N = 256 };
    T h[N], *x;
    int *by, lanes_seen = 0;
    for (int i = 0; i < N; i++)
        h[i] = (T)(float)i;
    cudaMalloc(&x, sizeof h);
    cudaMalloc(&by, sizeof *by);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    launcher<64>::run<T>(x, by, N);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpy(&lanes_seen, by, sizeof lanes_seen, cudaMemcpyDeviceToHost);
    printf("%s %g %g %g .. %g by %d\n", name, (float)h[0], (float)h[1], (float)h[2], (float)h[N - 1], lanes_seen);
    cudaFree(x);
    cudaFree(by);
}

int main()
{
    int *x, h = 0;
    show<float>("float");
    show<__half>("half");
    cudaMalloc(&x, sizeof h);
    plain<<<1, 1>>>(x);
    cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost);
    printf("plain %d\n", h);
    cudaFree(x);
    return cudaGetLastError() != cudaSuccess;
}
