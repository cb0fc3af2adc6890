// Lambdas of the host, given to kernels: what they capture goes with them, pointers too.
/* opencl: IG-PTRMEM
   expect:
ramp 0.5 31.5
line 3 13, on the host 13
table 11 88, 64 hits
most 126
sum 1008
cubes 1 8
both 330 429
rows 0 11 22
*/
#include <cstdio>
#include <vector>

template <typename F> __global__ void for_each(int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        f(i);
}

template <typename T, typename F> __global__ void transform(const T *in, T *out, int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = f(in[i]);
}

template <typename T, typename Op> __device__ T reduce_block(T v, Op op)
{
    __shared__ T s[64];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (threadIdx.x < d)
            s[threadIdx.x] = op(s[threadIdx.x], s[threadIdx.x + d]);
        __syncthreads();
    }
    return s[0];
}

template <typename T, typename Op> __global__ void reduce(const T *in, T *out, Op op)
{
    T v = reduce_block(in[threadIdx.x], op);
    if (threadIdx.x == 0)
        *out = v;
}

template <typename F, typename G> __global__ void both(float *out, F f, G g) { out[threadIdx.x] = f(threadIdx.x) + g(threadIdx.x); }

struct Params { float a, b; };
__constant__ float table[4] = {1, 10, 100, 1000};
__device__ int hits;
__device__ float cube(float x) { return x * x * x; }

namespace tools {
template <typename F> void launch(int n, F f) { for_each<<<(n + 63) / 64, 64>>>(n, f); cudaDeviceSynchronize(); }
void ramp(float *x, int n, float step)
{
    launch(n, [=] __device__ (int i) { x[i] = step * i; });
}
}

template <typename T, int N> void power(T *x, int n)
{
    tools::launch(n, [=] __device__ (int i) {
        T r = 1;
        for (int k = 0; k < N; k++)
            r *= x[i];
        x[i] = r;
    });
}

int main()
{
    const int n = 64;
    float *x, *y;
    int *m;
    cudaMallocManaged(&x, n * sizeof *x);
    cudaMallocManaged(&y, n * sizeof *y);
    cudaMallocManaged(&m, n * sizeof *m);
    for (int i = 0; i < n; i++) {
        int j = i * 2;
        m[i] = j;
    }
    tools::ramp(x, n, 0.5f);
    printf("ramp %g %g\n", x[1], x[63]);

    Params p = {2, 3};
    auto line = [p] __host__ __device__ (float v) { return p.a * v + p.b; };
    transform<<<1, 64>>>(x, y, n, line);
    cudaDeviceSynchronize();
    printf("line %g %g, on the host %g\n", y[0], y[10], line(5.0f));

    transform<<<1, 64>>>(x, y, n, [=] __device__ (float v) -> float {
        float j = 0; // not the one of the loop above
        for (int k = 0; k < 2; k++)
            j += table[k] * cube(v);
        atomicAdd(&hits, 1);
        return j;
    });
    cudaDeviceSynchronize();
    int h = 0;
    cudaMemcpyFromSymbol(&h, hits, sizeof h);
    printf("table %g %g, %d hits\n", y[2], y[4], h);

    reduce<<<1, 64>>>(m, m, [] __device__ (int a, int b) { return a > b ? a : b; });
    cudaDeviceSynchronize();
    printf("most %d\n", m[0]);
    reduce<<<1, 64>>>(x, y, [] __device__ (auto a, auto b) { return a + b; });
    cudaDeviceSynchronize();
    printf("sum %g\n", y[0]);

    power<float, 3>(x, 8);
    printf("cubes %g %g\n", x[2], x[4]);

    float s = 10;
    auto f = [=] __device__ (int i) { return s + i; };
    auto g = [=, k = n / 2] __device__ (int i) { return f(i) * k; };
    both<<<1, 4>>>(y, f, g);
    cudaDeviceSynchronize();
    printf("both %g %g\n", y[0], y[3]);

    unsigned long long rows = 3;
    std::vector<float> wanted = {0, 11, 22};
    for (unsigned r = 0; r < rows; r++) {
        float *row = y + 4 * r;
        for_each<<<1, 4>>>(4, [row, r] __device__ (int i) { row[i] = 10 * r + i; });
    }
    cudaDeviceSynchronize();
    printf("rows");
    for (unsigned r = 0; r < rows; r++)
        printf(" %g%s", y[5 * r], y[5 * r] == wanted[r] ? "" : " (wrong)");
    printf("\n");
    cudaFree(x);
    cudaFree(y);
    cudaFree(m);
    return cudaGetLastError() != cudaSuccess;
}
