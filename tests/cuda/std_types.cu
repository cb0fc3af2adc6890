// Types of the C++ library in kernels, which nvcc takes with --expt-relaxed-constexpr.
/* nvcc: rejects it; NVRTC does not
expect:
array 3 4 10 9
pair 2 3 5
*/
#include <array>
#include <cstdio>
#include <utility>

__global__ void arrays(int *y, std::array<int, 4> a)
{
    y[0] = a[2];
    y[1] = (int)a.size();
    for (int x : a)
        y[2] += x;
    std::array<float, 3> f;
    f.fill(3.0f);
    y[3] = (int)(f[0] + f.back() + f.front());
}

__global__ void pairs(int *y)
{
    const std::pair<int, float> p = std::make_pair(2, 3.0f);
    y[0] = p.first;
    y[1] = (int)p.second;
    auto [a, b] = p;
    y[2] = a + (int)b;
}

int main()
{
    int *y;
    cudaMallocManaged(&y, 8 * sizeof *y);
    cudaMemset(y, 0, 8 * sizeof *y);
    arrays<<<1, 1>>>(y, {1, 2, 3, 4});
    pairs<<<1, 1>>>(y + 4);
    cudaDeviceSynchronize();
    printf("array %d %d %d %d\npair %d %d %d\n", y[0], y[1], y[2], y[3], y[4], y[5], y[6]);
}
