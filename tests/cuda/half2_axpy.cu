// Half precision on both sides.
/* expect:
3 5 7 9 11 13 15 17
bits 3c00 c000 7bff 7c00 0001
*/
#include <cuda_fp16.h>
#include <stdio.h>

__global__ void haxpy(int n, half a, const half *x, half *y)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n / 2) {
        const half2 *x2 = (const half2 *)x;
        half2 *y2 = (half2 *)y;
        y2[i] = __hfma2(__halves2half2(a, a), x2[i], y2[i]);
    }
}

int main()
{
    const int n = 8;
    half *x, *y, h[n];
    cudaMalloc(&x, n * sizeof(half));
    cudaMalloc(&y, n * sizeof(half));
    for (int i = 0; i < n; i++)
        h[i] = __float2half((float)i);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    for (int i = 0; i < n; i++)
        h[i] = __float2half(3.0f);
    cudaMemcpy(y, h, sizeof h, cudaMemcpyHostToDevice);
    haxpy<<<1, 32>>>(n, __float2half(2.0f), x, y);
    cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        printf("%g%s", __half2float(h[i]), i + 1 < n ? " " : "\n");
    const float edge[] = {1.0f, -2.0f, 65504.0f, 65520.0f, 5.9604645e-8f};
    printf("bits");
    for (float f : edge) {
        half e = __float2half(f);
        unsigned short bits;
        memcpy(&bits, &e, 2);
        printf(" %04x", bits);
    }
    printf("\n");
}
