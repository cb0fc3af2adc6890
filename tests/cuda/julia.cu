// A Julia set: a struct of complex numbers with operators, one block for each pixel, as in the first books.
/* expect:
in the set: 209
middle row: ......##...............#......#.#.#......#...............##.....
point symmetric: yes
*/
#include <cstdio>
#define DIM 64

struct cuComplex {
    float r;
    float i;
    __device__ cuComplex(float a, float b) : r(a), i(b) {}
    __device__ float magnitude2(void) { return r * r + i * i; }
    __device__ cuComplex operator*(const cuComplex &a) { return cuComplex(r * a.r - i * a.i, i * a.r + r * a.i); }
    __device__ cuComplex operator+(const cuComplex &a) { return cuComplex(r + a.r, i + a.i); }
};

__device__ int julia(int x, int y)
{
    const float scale = 1.5;
    float jx = scale * (float)(DIM / 2 - x) / (DIM / 2);
    float jy = scale * (float)(DIM / 2 - y) / (DIM / 2);
    cuComplex c(-0.8, 0.156);
    cuComplex a(jx, jy);
    for (int i = 0; i < 200; i++) {
        a = a * a + c;
        if (a.magnitude2() > 1000)
            return 0;
    }
    return 1;
}

__global__ void kernel(unsigned char *ptr)
{
    int x = blockIdx.x;
    int y = blockIdx.y;
    int offset = x + y * gridDim.x;
    int value = julia(x, y);
    ptr[offset * 4 + 0] = 255 * value;
    ptr[offset * 4 + 1] = 0;
    ptr[offset * 4 + 2] = 0;
    ptr[offset * 4 + 3] = 255;
}

int main(void)
{
    static unsigned char bitmap[DIM * DIM * 4];
    unsigned char *dev_bitmap;
    cudaMalloc((void **)&dev_bitmap, sizeof(bitmap));
    dim3 grid(DIM, DIM);
    kernel<<<grid, 1>>>(dev_bitmap);
    cudaMemcpy(bitmap, dev_bitmap, sizeof(bitmap), cudaMemcpyDeviceToHost);
    int inside = 0, odd = 0;
    for (int y = 0; y < DIM; y++)
        for (int x = 0; x < DIM; x++) {
            inside += bitmap[4 * (y * DIM + x)] == 255;
            if (x && y)
                odd += bitmap[4 * (y * DIM + x)] != bitmap[4 * ((DIM - y) * DIM + DIM - x)];
        }
    printf("in the set: %d\nmiddle row: ", inside);
    for (int x = 0; x < DIM; x++)
        putchar(bitmap[4 * (DIM / 2 * DIM + x)] ? '#' : '.');
    printf("\npoint symmetric: %s\n", odd ? "no" : "yes");
    cudaFree(dev_bitmap);
}
