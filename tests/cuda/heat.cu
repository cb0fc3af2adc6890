// The heat equation by Jacobi: 2-D blocks, a residual by a block reduction and an atomic maximum, until it is small.
/* expect:
converged: yes
middle of the plate is the mean of the sides: yes
symmetric: yes
largest residual is what the host finds: yes
*/
#include <stdio.h>
#include <math.h>
#include <vector>

static const int N = 34, BX = 16, BY = 8;

__device__ float atomicMaxFloat(float *addr, float value)
{
    float old;
    old = (value >= 0) ? __int_as_float(atomicMax((int *)addr, __float_as_int(value)))
                       : __uint_as_float(atomicMin((unsigned int *)addr, __float_as_uint(value)));
    return old;
}

__global__ void jacobi(const float *u, float *v, float *residual)
{
    __shared__ float diff[BX * BY];
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    diff[t] = 0.0f;
    if (i > 0 && i < N - 1 && j > 0 && j < N - 1) {
        float next = 0.25f * (u[j * N + i - 1] + u[j * N + i + 1] + u[(j - 1) * N + i] + u[(j + 1) * N + i]);
        v[j * N + i] = next;
        diff[t] = fabsf(next - u[j * N + i]);
    }
    __syncthreads();
    for (int s = BX * BY / 2; s > 0; s >>= 1) {
        if (t < s)
            diff[t] = fmaxf(diff[t], diff[t + s]);
        __syncthreads();
    }
    if (t == 0)
        atomicMaxFloat(residual, diff[0]);
}

int main(void)
{
    const size_t bytes = N * N * sizeof(float);
    std::vector<float> h(N * N, 0.0f), before(N * N);
    for (int i = 0; i < N; i++)
        h[i] = h[(N - 1) * N + i] = 100.0f; // top and bottom are hot, left and right cold
    float *u, *v, *d_res, res = 1;
    cudaMalloc((void **)&u, bytes);
    cudaMalloc((void **)&v, bytes);
    cudaMalloc((void **)&d_res, sizeof(float));
    cudaMemcpy(u, h.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(v, u, bytes, cudaMemcpyDeviceToDevice);
    dim3 threads(BX, BY);
    dim3 blocks((N + BX - 1) / BX, (N + BY - 1) / BY);
    int iterations = 0;
    while (res > 1e-3f && iterations < 5000) {
        res = 0;
        cudaMemcpy(d_res, &res, sizeof res, cudaMemcpyHostToDevice);
        jacobi<<<blocks, threads>>>(u, v, d_res);
        cudaMemcpy(&res, d_res, sizeof res, cudaMemcpyDeviceToHost);
        float *swap = u;
        u = v, v = swap;
        iterations++;
    }
    cudaMemcpy(h.data(), u, bytes, cudaMemcpyDeviceToHost);
    cudaMemcpy(before.data(), v, bytes, cudaMemcpyDeviceToHost);
    float largest = 0, odd = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            largest = fmaxf(largest, fabsf(h[j * N + i] - before[j * N + i]));
            odd = fmaxf(odd, fabsf(h[j * N + i] - h[(N - 1 - j) * N + N - 1 - i]));
        }
    printf("converged: %s\n", res <= 1e-3f && iterations > 100 ? "yes" : "no");
    printf("middle of the plate is the mean of the sides: %s\n", fabsf(h[N / 2 * N + N / 2] - 50) < 1 ? "yes" : "no");
    printf("symmetric: %s\n", odd < 1e-3f ? "yes" : "no");
    printf("largest residual is what the host finds: %s\n", largest == res ? "yes" : "no");
    return 0;
}
