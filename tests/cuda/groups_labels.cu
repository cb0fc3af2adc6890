// Groups of the lanes with the same label or predicate, within warps, tiles and coalesced groups; members of the latter.
/* opencl: IG-WARP
expect:
labels 11 0, 11 0, 10 0, 11 10
predicates 10 10, 22 22
tiles 4 2, 4 3
coalesced 8 28, 8 92
members 1f 2aa 7ff 1, 7 10 5 1
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

__global__ void members(int *y)
{
    const int t = threadIdx.x;
    if (t % 3 != 1)
        return;
    cg::coalesced_group g = cg::coalesced_threads();
    const unsigned low = g.ballot(t < 16), like = g.match_any(t % 2);
    int all;
    const unsigned same = g.match_all(5, all);
    const int up = g.shfl_up(t, 2), down = g.shfl_down(t, 3);
    const double next = g.shfl_down(t * 0.5, 1);
    if (t == 4) {
        y[0] = low, y[1] = like, y[2] = same, y[3] = all;
        y[7] = next == 3.5;
    }
    if (t == 13)
        y[4] = up;
    if (t == 1)
        y[5] = down;
    const int last = g.shfl_down(t == 28 ? 5 : 6, 1);
    if (t == 31)
        y[6] = last - 1;
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
    members<<<1, 32>>>(y);
    cudaDeviceSynchronize();
    printf("members %x %x %x %d, %d %d %d %d\n", y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7]);
}
