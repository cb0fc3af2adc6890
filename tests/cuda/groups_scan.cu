// Scans over tiles: sums, the least and the greatest so far, an operation of one's own; where a compaction puts things.
/* opencl: IG-WARP
   expect:
tiles of 1: 0 wrong
tiles of 2: 0 wrong
tiles of 4: 0 wrong
tiles of 8: 0 wrong
tiles of 16: 0 wrong
tiles of 32: 0 wrong
kept 22: 0 3 6 9 ... 60 63
lanes of a mask: 0 wrong
*/
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cstdio>

namespace cg = cooperative_groups;

struct results {
    int sum, before, greatest, least_before, bits;
    float product;
    unsigned char narrow;
};

template <int N> __global__ void scans(const int *in, results *out)
{
    auto tile = cg::tiled_partition<N>(cg::this_thread_block());
    int i = threadIdx.x, x = in[i];
    results r;
    r.sum = cg::inclusive_scan(tile, x);
    r.before = cg::exclusive_scan(tile, x, cg::plus<int>());
    r.greatest = cg::inclusive_scan(tile, x, cg::greater<int>());
    r.least_before = cg::exclusive_scan(tile, x, cg::less<int>());
    r.bits = cg::inclusive_scan(tile, 1 << x, cg::bit_xor<int>());
    r.product = cg::inclusive_scan(tile, x * 0.5f + 1, [](float a, float b) { return a * b; });
    r.narrow = cg::inclusive_scan(tile, (unsigned char)(x * 40));
    out[i] = r;
}

template <int N> void run(const int *in, results *out, int n)
{
    scans<N><<<1, n>>>(in, out);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        results w = {0, 0, -1, 0, 0, 1, 0};
        for (int k = i / N * N; k <= i; k++) {
            w.sum += in[k];
            w.greatest = in[k] > w.greatest ? in[k] : w.greatest;
            if (k < i)
                w.least_before = k % N == 0 || in[k] < w.least_before ? in[k] : w.least_before;
            w.bits ^= 1 << in[k];
            w.product *= in[k] * 0.5f + 1;
            w.narrow += in[k] * 40;
        }
        const float off = out[i].product / w.product - 1;
        wrong += out[i].sum != w.sum || out[i].before != w.sum - in[i] ||
                 out[i].greatest != w.greatest || out[i].least_before != w.least_before ||
                 out[i].bits != w.bits || out[i].narrow != w.narrow || off > 1e-5f || off < -1e-5f;
    }
    printf("tiles of %d: %d wrong\n", N, wrong);
}

/* Keeps the multiples of three, in their order. */
__global__ void compact(int *out, int *count)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    __shared__ int sums[32];
    int i = threadIdx.x, keep = i % 3 == 0;
    int place = cg::exclusive_scan(warp, keep);
    if (warp.thread_rank() == warp.size() - 1)
        sums[i / 32] = place + keep;
    __syncthreads();
    if (i < 32) {
        int before = cg::exclusive_scan(warp, i < blockDim.x / 32 ? sums[i] : 0);
        sums[i] = before;
        if (i == blockDim.x / 32)
            *count = before;
    }
    __syncthreads();
    if (keep)
        out[sums[i / 32] + place] = i;
}

// Coalesced groups, whose lanes count by their ranks, and structs in tiles.
struct both {
    int sum, most;
};
__global__ void masked(int *wrong)
{
    const int t = threadIdx.x, each = blockIdx.x + 2;
    if (t % each == 1) {
        const auto g = cg::coalesced_threads();
        const int first = t / 32 * 32, value = t * 5 % 17;
        int sum = 0, most = 0, before = 0;
        for (int i = first; i <= t; i++)
            if (i % each == 1) {
                before = sum;
                sum += i * 5 % 17;
                most = max(most, i * 5 % 17);
            }
        const int a = cg::inclusive_scan(g, value), b = cg::exclusive_scan(g, value, cg::plus<int>());
        const int c = cg::inclusive_scan(g, value, cg::greater<int>());
        const int d = cg::inclusive_scan(g, value, [](int x, int y) { return x + y; });
        if (a != sum || b != before || c != most || d != sum)
            atomicAdd(wrong, 1);
    }
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const both s = cg::inclusive_scan(tile, both{t, t % 5}, [](both x, both y) {
        return both{x.sum + y.sum, max(x.most, y.most)};
    });
    const int r = t % 8;
    if (s.sum != (t - r) * (r + 1) + r * (r + 1) / 2 || s.most < t % 5)
        atomicAdd(wrong, 1);
}

int main()
{
    const int n = 64;
    int *x, *count;
    results *out;
    cudaMallocManaged(&x, n * sizeof *x);
    cudaMallocManaged(&count, sizeof *count);
    cudaMallocManaged(&out, n * sizeof *out);
    for (int i = 0; i < n; i++)
        x[i] = (i * 7 + 3) % 11;
    run<1>(x, out, n);
    run<2>(x, out, n);
    run<4>(x, out, n);
    run<8>(x, out, n);
    run<16>(x, out, n);
    run<32>(x, out, n);
    compact<<<1, n>>>(x, count);
    cudaDeviceSynchronize();
    printf("kept %d: %d %d %d %d ... %d %d\n", *count, x[0], x[1], x[2], x[3], x[20], x[21]);
    *count = 0;
    masked<<<8, n>>>(count);
    cudaDeviceSynchronize();
    printf("lanes of a mask: %d wrong\n", *count);
    cudaFree(x);
    cudaFree(count);
    cudaFree(out);
    return cudaGetLastError() != cudaSuccess;
}
