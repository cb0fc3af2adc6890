// Reductions of tiles and coalesced groups by lambdas and functions, of structs and vectors; copies of groups.
/* opencl: IG-WARP
expect:
lambda 31 30 16
struct 496 31 5 20
vector 120 240
coalesced 11 165 10 40
copies 496 100
*/
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
namespace cg = cooperative_groups;

struct best {
    float value;
    int at;
    char label;
    __host__ __device__ best operator+(const best &o) const { return {value + o.value, at + o.at, label}; }
    __host__ __device__ bool operator<(const best &o) const { return value < o.value; }
};

__device__ int common(int a, int b) { return a & b; }

__global__ void lambdas(int *y)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto part = cg::tiled_partition<16>(warp);
    const int i = threadIdx.x;
    y[0] = cg::reduce(warp, i, [](int a, int b) { return a > b ? a : b; });
    const int limit = 30;
    const int least = cg::reduce(warp, i, [=](int a, int b) { return min(max(a, b), limit); });
    const int first = cg::reduce(part, i, common);
    if (i == 31) {
        y[1] = least;
        y[2] = first;
    }
}

__global__ void structs(best *y)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int i = threadIdx.x;
    const best mine = {(float)((i * 7) % 32), i, 'a'};
    const best all = cg::reduce(warp, mine, cg::plus<best>());
    const best most = cg::reduce(warp, mine, [](best a, best b) { return a.value < b.value ? b : a; });
    const best other = warp.shfl(mine, 3);
    if (i == 7) {
        y[0] = all;
        y[1] = {most.value, other.at, most.label};
        y[2] = {(float)(most.at % 32), other.at + 2, 'b'};
    }
}

struct plus4 {
    __device__ float4 operator()(float4 a, float4 b) const { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
};

__global__ void vectors(float *y)
{
    auto half = cg::tiled_partition<16>(cg::this_thread_block());
    const float i = half.thread_rank();
    const float4 v = cg::reduce(half, make_float4(i, 2 * i, 0, 1), plus4());
    y[0] = v.x;
    y[1] = v.y;
}

__global__ void coalesced(int *y, best *b)
{
    if (threadIdx.x % 3 == 0) {
        auto g = cg::coalesced_threads();
        const int count = cg::reduce(g, 1, [](int a, int b) { return a + b; });
        const best sum = cg::reduce(g, best{1.0f, (int)threadIdx.x, 'c'}, cg::plus<best>());
        const best last = g.shfl(best{0, (int)g.thread_rank(), 'd'}, count - 1);
        if (g.thread_rank() == 0) {
            y[0] = count;
            y[1] = sum.at;
            b[0] = last;
        }
    }
}

__global__ void copies(const int *x, int *y)
{
    __shared__ int s[100];
    __shared__ char c[16];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    for (int i = threadIdx.x; i < 100; i += blockDim.x)
        s[i] = 0;
    block.sync();
    cg::memcpy_async(block, s, x, sizeof(int) * 32);
    cg::wait(block);
    int sum = cg::reduce(warp, s[warp.thread_rank()], cg::plus<int>());
    if (threadIdx.x == 0)
        y[0] = sum;
    block.sync();
    cg::memcpy_async(block, s, 100, x, 40);
    cg::memcpy_async(block, c, (const char *)x + 4, 5);
    cg::wait_prior<0>(block);
    if (threadIdx.x == 0)
        y[1] = s[39] + s[40] + c[0] + 60;
}

int main()
{
    int *y, *x;
    best *b;
    float *f;
    cudaMallocManaged(&y, 64);
    cudaMallocManaged(&f, 64);
    cudaMallocManaged(&x, 400);
    cudaMallocManaged(&b, 64);
    for (int i = 0; i < 100; i++)
        x[i] = i;
    lambdas<<<1, 32>>>(y);
    cudaDeviceSynchronize();
    printf("lambda %d %d %d\n", y[0], y[1], y[2]);
    structs<<<1, 32>>>(b);
    cudaDeviceSynchronize();
    printf("struct %g %g %d %d\n", b[0].value, b[1].value, b[2].at, b[1].at + (int)b[2].value - 8 + b[2].label - 'b' + b[0].label - 'a' + (b[0].at == 496 ? 16 : 0));
    vectors<<<1, 16>>>(f);
    cudaDeviceSynchronize();
    printf("vector %g %g\n", f[0], f[1]);
    coalesced<<<1, 32>>>(y, b);
    cudaDeviceSynchronize();
    printf("coalesced %d %d %d %d\n", y[0], y[1], b[0].at, 40 + b[0].label - 'd');
    copies<<<1, 64>>>(x, y);
    cudaDeviceSynchronize();
    printf("copies %d %d\n", y[0], y[1]);
    cudaFree(y);
    cudaFree(f);
    cudaFree(x);
    cudaFree(b);
}
