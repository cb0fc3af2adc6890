// K-means: assignment by threads, sums by float atomics in shared memory, until nothing moves.
/* expect:
rounds: 2
cluster 0: 500 points around -100.068 -101.070
cluster 1: 500 points around 99.932 -101.070
cluster 2: 500 points around -100.068 98.930
cluster 3: 500 points around 99.932 98.930
*/
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int K = 4;
__constant__ float2 centres[K];

__global__ void assign(const float2 *points, int n, int *label, int *changed)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int best = 0;
    float nearest = INFINITY;
    for (int c = 0; c < K; c++) {
        const float dx = points[i].x - centres[c].x, dy = points[i].y - centres[c].y, d = dx * dx + dy * dy;
        if (d < nearest) {
            nearest = d;
            best = c;
        }
    }
    if (label[i] != best) {
        label[i] = best;
        *changed = 1;
    }
}

struct Sum {
    float x, y;
    int n;
};

__global__ void accumulate(const float2 *points, const int *label, int n, Sum *sums)
{
    __shared__ Sum local[K];
    if (threadIdx.x < K)
        local[threadIdx.x] = {0.f, 0.f, 0};
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        Sum &s = local[label[i]];
        atomicAdd(&s.x, points[i].x);
        atomicAdd(&s.y, points[i].y);
        atomicAdd(&s.n, 1);
    }
    __syncthreads();
    if (threadIdx.x < K) {
        atomicAdd(&sums[threadIdx.x].x, local[threadIdx.x].x);
        atomicAdd(&sums[threadIdx.x].y, local[threadIdx.x].y);
        atomicAdd(&sums[threadIdx.x].n, local[threadIdx.x].n);
    }
}

int main()
{
    const int n = 2000;
    std::vector<float2> points;
    for (int i = 0; i < n; i++) { // four squares of whole numbers, far apart: sums are exact in any order
        const int which = i % 4, x = i / 4 % 21 - 10, y = i / 84 % 21 - 10;
        points.push_back(make_float2(x + (which & 1 ? 100 : -100), y + (which & 2 ? 100 : -100)));
    }
    float2 *d, start[K] = {{-90, -95}, {80, -100}, {-100, 70}, {120, 90}};
    int *label, *changed, moved = 1, rounds = 0;
    Sum *sums, h[K];
    cudaMalloc(&d, n * sizeof(float2));
    cudaMalloc(&label, n * sizeof(int));
    cudaMalloc(&changed, sizeof(int));
    cudaMalloc(&sums, sizeof h);
    cudaMemcpy(d, points.data(), n * sizeof(float2), cudaMemcpyHostToDevice);
    cudaMemset(label, 0xff, n * sizeof(int));
    while (moved && rounds < 20) {
        cudaMemcpyToSymbol(centres, start, sizeof start);
        cudaMemset(changed, 0, sizeof(int));
        cudaMemset(sums, 0, sizeof h);
        assign<<<(n + 255) / 256, 256>>>(d, n, label, changed);
        accumulate<<<4, 128>>>(d, label, n, sums);
        cudaMemcpy(h, sums, sizeof h, cudaMemcpyDeviceToHost);
        cudaMemcpy(&moved, changed, sizeof moved, cudaMemcpyDeviceToHost);
        for (int c = 0; c < K; c++)
            start[c] = make_float2(h[c].x / h[c].n, h[c].y / h[c].n);
        rounds++;
    }
    printf("rounds: %d\n", rounds);
    for (int c = 0; c < K; c++)
        printf("cluster %d: %d points around %.3f %.3f\n", c, h[c].n, start[c].x, start[c].y);
}
