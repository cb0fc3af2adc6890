// The generators of cuRAND in kernels; their state is allocated by the host.
/* expect:
mean is near 0.5: 1
normal: mean 1, deviation 1
the same sequence again: 1
*/
#include <cstdio>
#include <curand_kernel.h>

__global__ void setup(curandState *states, curandStatePhilox4_32_10_t *philox)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(1234, i, 0, &states[i]);
    curand_init(1234, i, 0, &philox[i]);
}
__global__ void draw(curandState *states, curandStatePhilox4_32_10_t *philox, double *sums, unsigned *first)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        *first = curand(&states[0]);
    for (int k = 0; k < 64; k++) {
        const float u = curand_uniform(&states[i]), n = curand_normal(&philox[i]);
        atomicAdd(&sums[0], u);
        atomicAdd(&sums[1], n);
        atomicAdd(&sums[2], n * n);
    }
}

int main()
{
    const int threads = 256, blocks = 8, n = threads * blocks * 64;
    curandState *states;
    curandStatePhilox4_32_10_t *philox;
    double *sums, h[3];
    unsigned *first, seen[2];
    cudaMalloc(&states, threads * blocks * sizeof *states);
    cudaMalloc(&philox, threads * blocks * sizeof *philox);
    cudaMalloc(&sums, sizeof h);
    cudaMalloc(&first, sizeof *first);
    for (int round = 0; round < 2; round++) {
        cudaMemset(sums, 0, sizeof h);
        setup<<<blocks, threads>>>(states, philox);
        draw<<<blocks, threads>>>(states, philox, sums, first);
        cudaMemcpy(h, sums, sizeof h, cudaMemcpyDeviceToHost);
        cudaMemcpy(&seen[round], first, sizeof *first, cudaMemcpyDeviceToHost);
    }
    const double mean = h[1] / n, deviation = h[2] / n - mean * mean;
    printf("mean is near 0.5: %d\n", h[0] / n > 0.49 && h[0] / n < 0.51);
    printf("normal: mean %d, deviation %d\n", mean > -0.02 && mean < 0.02, deviation > 0.97 && deviation < 1.03);
    printf("the same sequence again: %d\n", seen[0] == seen[1]);
}
