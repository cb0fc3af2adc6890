// Rows with a pitch, copied and filled.
/* expect:
pitch is enough: 1
0 2 4 6 8 10 12 14 16 18 20 22
filled: 16843009
*/
#include <stdio.h>

__global__ void twice(float *m, size_t pitch, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) {
        float *row = (float *)((char *)m + y * pitch);
        row[x] *= 2;
    }
}

int main()
{
    const int w = 4, h = 3;
    float a[h][w], *d;
    size_t pitch;
    for (int i = 0; i < w * h; i++)
        a[i / w][i % w] = i;
    cudaMallocPitch(&d, &pitch, w * sizeof(float), h);
    printf("pitch is enough: %d\n", pitch >= w * sizeof(float));
    cudaMemcpy2D(d, pitch, a, w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice);
    twice<<<dim3(1, 2), dim3(4, 2)>>>(d, pitch, w, h);
    cudaMemcpy2D(a, w * sizeof(float), d, pitch, w * sizeof(float), h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < w * h; i++)
        printf("%g%s", a[i / w][i % w], i + 1 < w * h ? " " : "\n");
    int one[w];
    cudaMemset2D(d, pitch, 1, w * sizeof(float), h);
    cudaMemcpy(one, (char *)d + 2 * pitch, sizeof one, cudaMemcpyDeviceToHost);
    printf("filled: %d\n", one[3]);
}
