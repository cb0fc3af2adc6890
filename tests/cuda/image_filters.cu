// Filters of a picture: uchar4 to grey, Sobel with clamped borders, a median by a sorting network, a histogram's threshold.
/* expect:
white dots 129, after the median 0, wrong 0
.......................
......##.......##......
....##...........##....
....#.............#....
....#.............#....
....#.............#....
....##...........##....
......##.......##......
.......................
*/
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <vector>
typedef unsigned char uchar;

__global__ void to_grey(const uchar4 *rgba, uchar *grey, int w, int h)
{
    const int2 p = make_int2(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y);
    if (p.x >= w || p.y >= h)
        return;
    const uchar4 c = rgba[p.y * w + p.x];
    grey[p.y * w + p.x] = (uchar)((c.x * 77 + c.y * 151 + c.z * 28) >> 8);
}

__device__ int clamped(const uchar *g, int x, int y, int w, int h)
{
    return g[min(max(y, 0), h - 1) * w + min(max(x, 0), w - 1)];
}

__global__ void sobel(const uchar *g, uchar *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    const int kx[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    int gx = 0, gy = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int v = clamped(g, x + dx, y + dy, w, h);
            gx += kx[dy + 1][dx + 1] * v;
            gy += kx[dx + 1][dy + 1] * v;
        }
    out[y * w + x] = (uchar)min(255, (int)sqrtf((float)(gx * gx + gy * gy)));
}

#define SORT(a, b)                \
    {                             \
        const uchar lo = min(a, b); \
        b = max(a, b);            \
        a = lo;                   \
    }

__global__ void median(const uchar *g, uchar *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    uchar v[9];
#pragma unroll
    for (int i = 0; i < 9; i++)
        v[i] = clamped(g, x + i % 3 - 1, y + i / 3 - 1, w, h);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 8 - i; k++)
            SORT(v[k], v[k + 1])
    out[y * w + x] = v[4];
}

int main()
{
    const int w = 75, h = 50;
    std::vector<uchar4> picture(w * h);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const bool inside = (x - 37) * (x - 37) + (y - 25) * (y - 25) < 15 * 15;
            const uchar v = inside ? 220 : 20;
            picture[y * w + x] = (x * 7 + y * 13) % 29 == 0 ? make_uchar4(255, 255, 255, 255) : make_uchar4(v, v, v, 255);
        }
    uchar4 *d;
    uchar *grey, *edges, *clean;
    cudaMalloc(&d, w * h * sizeof(uchar4));
    cudaMalloc(&grey, w * h), cudaMalloc(&edges, w * h), cudaMalloc(&clean, w * h);
    cudaMemcpy(d, picture.data(), w * h * sizeof(uchar4), cudaMemcpyHostToDevice);
    dim3 block(16, 16), grid((w + 15) / 16, (h + 15) / 16);
    to_grey<<<grid, block>>>(d, grey, w, h);
    median<<<grid, block>>>(grey, clean, w, h);
    sobel<<<grid, block>>>(clean, edges, w, h);
    std::vector<uchar> g(w * h), m(w * h), e(w * h), want(w * h);
    cudaMemcpy(g.data(), grey, w * h, cudaMemcpyDeviceToHost);
    cudaMemcpy(m.data(), clean, w * h, cudaMemcpyDeviceToHost);
    cudaMemcpy(e.data(), edges, w * h, cudaMemcpyDeviceToHost);
    int noise = 0, left = 0, wrong = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            noise += g[y * w + x] == 255;
            left += m[y * w + x] == 255;
            uchar v[9];
            for (int i = 0; i < 9; i++)
                v[i] = g[std::min(std::max(y + i / 3 - 1, 0), h - 1) * w + std::min(std::max(x + i % 3 - 1, 0), w - 1)];
            std::nth_element(v, v + 4, v + 9);
            wrong += m[y * w + x] != v[4];
        }
    printf("white dots %d, after the median %d, wrong %d\n", noise, left, wrong);
    for (int y = 9; y < 42; y += 4) {
        for (int x = 15; x < 60; x += 2)
            putchar(e[y * w + x] > 200 ? '#' : '.');
        putchar('\n');
    }
}
