// Separable convolution: rows, then columns, each with its halo in shared memory; the weights are constant memory.
/* expect:
rows and columns: max error 0
a constant picture stays: yes
*/
#include <stdio.h>
#include <stdlib.h>

#define RADIUS 4
#define LENGTH (2 * RADIUS + 1)
__constant__ float c_kernel[LENGTH];

template <int BX, int BY, int STEPS> __global__ void rows(float *dst, const float *src, int w)
{
    __shared__ float s[BY][(STEPS + 2) * BX];
    const int baseX = (blockIdx.x * STEPS - 1) * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    src += y * w + baseX;
    dst += y * w + baseX;
#pragma unroll
    for (int i = 0; i < STEPS + 2; i++)
        s[threadIdx.y][threadIdx.x + i * BX] = baseX + i * BX >= 0 && baseX + i * BX < w ? src[i * BX] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 1; i <= STEPS; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; j++)
            sum += c_kernel[RADIUS - j] * s[threadIdx.y][threadIdx.x + i * BX + j];
        dst[i * BX] = sum;
    }
}

__global__ void columns(float *dst, const float *src, int w, int h)
{
    extern __shared__ float tile[]; // (blockDim.y + 2 RADIUS) rows of blockDim.x
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y0 = blockIdx.y * blockDim.y;
    for (int r = threadIdx.y; r < blockDim.y + 2 * RADIUS; r += blockDim.y) {
        const int y = y0 + r - RADIUS;
        tile[r * blockDim.x + threadIdx.x] = (unsigned)y < (unsigned)h ? src[y * w + x] : 0.0f;
    }
    __syncthreads();
    float sum = 0;
    for (int j = -RADIUS; j <= RADIUS; j++)
        sum += c_kernel[RADIUS - j] * tile[(threadIdx.y + RADIUS + j) * blockDim.x + threadIdx.x];
    dst[(y0 + threadIdx.y) * w + x] = sum;
}

static const float weights[LENGTH] = {1, 2, 4, 8, 2, 8, 4, 2, 1}; // their sum is 32

static float at(const float *p, int x, int y, int w, int h) { return x < 0 || y < 0 || x >= w || y >= h ? 0 : p[y * w + x]; }

int main()
{
    const int w = 128, h = 48, bytes = w * h * sizeof(float);
    float *in = (float *)malloc(bytes), *out = (float *)malloc(bytes), *mid = (float *)malloc(bytes), *a, *b;
    cudaMalloc((void **)&a, bytes);
    cudaMalloc((void **)&b, bytes);
    cudaMemcpyToSymbol(c_kernel, weights, sizeof(weights));
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < w * h; i++)
            in[i] = run ? 1 : (i * 31 + i / w) % 17;
        cudaMemcpy(a, in, bytes, cudaMemcpyHostToDevice);
        rows<16, 4, 4><<<dim3(w / 64, h / 4), dim3(16, 4)>>>(b, a, w);
        columns<<<dim3(w / 32, h / 8), dim3(32, 8), 32 * (8 + 2 * RADIUS) * sizeof(float)>>>(a, b, w, h);
        cudaMemcpy(out, a, bytes, cudaMemcpyDeviceToHost);
        if (run) {
            printf("a constant picture stays: %s\n", out[20 * w + 60] == 32 * 32 ? "yes" : "no");
            break;
        }
        float worst = 0;
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                mid[y * w + x] = 0;
                for (int j = -RADIUS; j <= RADIUS; j++)
                    mid[y * w + x] += weights[RADIUS - j] * at(in, x + j, y, w, h);
            }
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float sum = 0;
                for (int j = -RADIUS; j <= RADIUS; j++)
                    sum += weights[RADIUS - j] * at(mid, x, y + j, w, h);
                worst = out[y * w + x] - sum > worst ? out[y * w + x] - sum : worst;
            }
        printf("rows and columns: max error %g\n", worst);
    }
    return 0;
}
