// Groups of the lanes with the same label or predicate, within warps, tiles and coalesced groups.
/* opencl: IG-WARP
expect:
labels 11 0, 11 0, 10 0, 11 10
predicates 10 10, 22 22
tiles 4 2, 4 3
coalesced 8 28, 8 92
*/
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void partitions(int *y)
{
    const int t = threadIdx.x;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto third = cg::labeled_partition(warp, t % 3);
    y[2 * t] = third.size();
    y[2 * t + 1] = third.thread_rank();
    auto side = cg::binary_partition(warp, t < 10);
    y[64 + 2 * t] = side.size();
    y[64 + 2 * t + 1] = cg::reduce(side, 1, cg::plus<int>());
    auto eight = cg::tiled_partition<8>(cg::this_thread_block());
    auto even = cg::binary_partition(eight, t % 2 == 0);
    y[128 + 2 * t] = even.size();
    y[128 + 2 * t + 1] = even.thread_rank();
    if (t < 16) {
        auto here = cg::coalesced_threads();
        auto half = cg::labeled_partition(here, (long long)t / 8 << 40);
        y[192 + 2 * t] = half.size();
        y[192 + 2 * t + 1] = cg::reduce(half, t, cg::plus<int>());
    }
}

int main()
{
    int *y;
    cudaMallocManaged(&y, 256 * sizeof *y);
    partitions<<<1, 32>>>(y);
    cudaDeviceSynchronize();
    printf("labels %d %d, %d %d, %d %d, %d %d\n", y[0], y[1], y[2], y[3], y[4], y[5], y[62], y[63]);
    printf("predicates %d %d, %d %d\n", y[64], y[65], y[126], y[127]);
    printf("tiles %d %d, %d %d\n", y[128 + 8], y[128 + 9], y[128 + 14], y[128 + 15]);
    printf("coalesced %d %d, %d %d\n", y[192], y[193], y[192 + 30], y[192 + 31]);
}
