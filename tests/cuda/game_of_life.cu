// The game of life on a torus: 2-D grid, a tile with its border in shared memory, pointers swapped by the host.
/* expect:
generation 0: 5 cells
generation 64: 5 cells
the glider went round: yes
random field after 20: same as the host
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W 64
#define H 48
#define TILE 16

__global__ void step(const unsigned char *from, unsigned char *to)
{
    __shared__ unsigned char cells[TILE + 2][TILE + 2];
    const int x0 = blockIdx.x * TILE - 1, y0 = blockIdx.y * TILE - 1;
    for (int i = threadIdx.y * TILE + threadIdx.x; i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
        const int lx = i % (TILE + 2), ly = i / (TILE + 2);
        cells[ly][lx] = from[(y0 + ly + H) % H * W + (x0 + lx + W) % W];
    }
    __syncthreads();
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int n = 0;
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
        for (int dx = -1; dx <= 1; ++dx)
            if (dx || dy)
                n += cells[ty + dy][tx + dx];
    const bool alive = n == 3 || (n == 2 && cells[ty][tx]);
    to[(y0 + ty) * W + x0 + tx] = alive;
}

static void step_host(const unsigned char *from, unsigned char *to)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int n = 0;
            for (int k = 0; k < 9; k++)
                if (k != 4)
                    n += from[(y + k / 3 - 1 + H) % H * W + (x + k % 3 - 1 + W) % W];
            to[y * W + x] = n == 3 || (n == 2 && from[y * W + x]);
        }
}

static void run(unsigned char *field, int generations)
{
    unsigned char *a, *b;
    cudaMalloc(&a, W * H);
    cudaMalloc(&b, W * H);
    cudaMemcpy(a, field, W * H, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE), grid(W / TILE, H / TILE);
    for (int i = 0; i < generations; i++) {
        step<<<grid, block>>>(a, b);
        unsigned char *t = a;
        a = b;
        b = t;
    }
    cudaMemcpy(field, a, W * H, cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(b);
}

static int count(const unsigned char *field)
{
    int n = 0;
    for (int i = 0; i < W * H; i++)
        n += field[i];
    return n;
}

int main()
{
    static unsigned char glider[W * H], field[W * H], want[2][W * H];
    glider[1] = glider[W + 2] = glider[2 * W] = glider[2 * W + 1] = glider[2 * W + 2] = 1;
    memcpy(field, glider, sizeof field);
    printf("generation 0: %d cells\n", count(field));
    run(field, 64);
    printf("generation 64: %d cells\n", count(field));
    run(field, 4 * W * 3 - 64);
    printf("the glider went round: %s\n", memcmp(field, glider, sizeof field) ? "no" : "yes");
    unsigned seed = 1;
    for (int i = 0; i < W * H; i++)
        want[0][i] = field[i] = (seed = seed * 1664525u + 1013904223u) >> 31;
    for (int i = 0; i < 20; i++)
        step_host(want[i & 1], want[~i & 1]);
    run(field, 20);
    printf("random field after 20: %s\n", memcmp(field, want[0], sizeof field) ? "differs" : "same as the host");
    return 0;
}
