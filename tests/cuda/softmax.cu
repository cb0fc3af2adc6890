// Softmax of rows by blocks, with dynamic shared memory, against the host.
/* expect:
largest difference below 1e-5: yes
*/
#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

__global__ void softmax(const float *x, float *y, int cols)
{
    extern __shared__ float part[];
    const float *row = x + blockIdx.x * cols;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        m = fmaxf(m, row[i]);
    part[threadIdx.x] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
        __syncthreads();
    }
    m = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        sum += expf(row[i] - m);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[blockIdx.x * cols + i] = expf(row[i] - m) / part[0];
}

int main()
{
    const int rows = 33, cols = 257, threads = 64;
    std::vector<float> x(rows * cols), y(x.size());
    for (size_t i = 0; i < x.size(); i++)
        x[i] = std::sin(i * 0.37f) * 5;
    float *dx, *dy;
    cudaMalloc(&dx, x.size() * sizeof(float));
    cudaMalloc(&dy, x.size() * sizeof(float));
    cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
    softmax<<<rows, threads, threads * sizeof(float)>>>(dx, dy, cols);
    cudaMemcpy(y.data(), dy, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
    float worst = 0;
    for (int r = 0; r < rows; r++) {
        float m = *std::max_element(&x[r * cols], &x[r * cols] + cols);
        double sum = 0;
        for (int i = 0; i < cols; i++)
            sum += std::exp((double)x[r * cols + i] - m);
        for (int i = 0; i < cols; i++)
            worst = std::max(worst, (float)std::fabs(std::exp((double)x[r * cols + i] - m) / sum -
                                                     y[r * cols + i]));
    }
    std::cout << "largest difference below 1e-5: " << (worst < 1e-5f ? "yes" : "no") << std::endl;
}
