// Lambdas that capture values alone: of any form, on any device.
/* expect:
scaled 0 3 6 9
clamped 1 3 5 5
polynomial 1 6 17 34
generic 8 2.5
picked 40 20
steps 0 2 4
*/
#include <cstdio>

#define BOTH __host__ __device__

template <typename T, typename F> __global__ void transform(const T *in, T *out, int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = f(in[i]);
}

struct coefficients {
    float c[3];
};

template <typename T> static void run(const T *host, T *out, int n, T add)
{
    T *x, *y;
    cudaMalloc(&x, n * sizeof *x);
    cudaMalloc(&y, n * sizeof *y);
    cudaMemcpy(x, host, n * sizeof *x, cudaMemcpyHostToDevice);
    transform<<<1, 32>>>(x, y, n, [=] __device__ (auto v) { return T(v + add); });
    cudaMemcpy(out, y, n * sizeof *y, cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFree(y);
}

int main()
{
    float host[4] = {0, 1, 2, 3}, back[4], *x, *y;
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&y, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    auto show = [&](const char *what) { // of the host alone
        cudaMemcpy(back, y, sizeof back, cudaMemcpyDeviceToHost);
        printf("%s %g %g %g %g\n", what, back[0], back[1], back[2], back[3]);
    };

    const float factor = 3;
    transform<<<1, 4>>>(x, y, 4, [=] __device__ (float v) { return factor * v; });
    show("scaled");

    float low = 1, high{5};
    auto clamp = [low, high] BOTH(float v) -> float {
        v = 2 * v + 1;
        return v < low ? low : v > high ? high : v; /* { } */
    };
    transform<<<1, 4>>>(x, y, 4, clamp);
    show("clamped");
    if (clamp(7) != 5)
        printf("the host disagrees\n");

    coefficients p = {{1, 2, 3}};
    transform<<<1, 4>>>(x, y, 4, [p] __device__ (float v) {
        float s = 0;
        for (int k = 2; k >= 0; k--)
            s = s * v + p.c[k];
        return s;
    });
    show("polynomial");

    int whole[1] = {5};
    float part[1] = {1.5f};
    run(whole, whole, 1, 3);
    run(part, part, 1, 1.0f);
    printf("generic %d %g\n", whole[0], part[0]);

    float2 both = {10, 20};
    auto first = both.x, second = both.y;
    bool many = true;
    transform<<<1, 4>>>(x, y, 4, [=, twice = 2 * second] __device__ (float v) {
        return v > 1 ? (many ? twice : first) : second;
    });
    cudaMemcpy(back, y, sizeof back, cudaMemcpyDeviceToHost);
    printf("picked %g %g\n", back[2], back[1]);

    printf("steps");
    for (int k = 0; k < 3; k++) {
        transform<<<1, 4>>>(x, y, 4, [=] __device__ (float v) { return k * 2 + v * 0; });
        cudaMemcpy(back, y, sizeof back, cudaMemcpyDeviceToHost);
        printf(" %g", back[3]);
    }
    printf("\n");
    cudaFree(x);
    cudaFree(y);
    return cudaGetLastError() != cudaSuccess;
}
