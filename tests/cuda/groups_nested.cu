// Tiles of tiles: their ranks are those in the parent, also through functions, templates and variables of the type.
/* opencl: IG-WARP
expect:
fours of a warp: rank 3 of 8, thread 2; lane 14 is thread 14 of its warp
fours of a block: rank 11 of 16
pairs of fours: rank 1 of 2, through functions 1 2 1 2, by name 1 2
sums of fours 54 of pairs 29
ranks agree 64 of 64
*/
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <stdio.h>
namespace cg = cooperative_groups;

__device__ int plain(cg::thread_block_tile<2> g) { return g.meta_group_rank() * 10 + g.meta_group_size(); }
template <int N> __device__ int sized(const cg::thread_block_tile<N> &g) { return g.meta_group_rank() * 10 + g.meta_group_size(); }
template <typename G> __device__ int any(G g) { return g.meta_group_rank() * 10 + g.meta_group_size(); }

__global__ void ranks(int *out, int *agree)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    auto four = cg::tiled_partition<4>(warp);
    cg::thread_block_tile<4> of_block = cg::tiled_partition<4>(block);
    cg::thread_block_tile<4> of_warp = cg::tiled_partition<4>(warp);
    auto pair = cg::tiled_partition<2>(four);
    cg::thread_block_tile<2, cg::thread_block_tile<4>> named = cg::tiled_partition<2>(of_warp);
    const int t = threadIdx.x, lane = t % 32;
    if (four.meta_group_rank() == lane / 4 && four.meta_group_size() == 8 && four.thread_rank() == lane % 4 &&
        of_warp.meta_group_rank() == lane / 4 && of_warp.meta_group_size() == 8 && of_block.meta_group_rank() == t / 4 &&
        of_block.meta_group_size() == 16 && pair.meta_group_rank() == lane % 4 / 2 && pair.meta_group_size() == 2 &&
        warp.meta_group_rank() == t / 32 && warp.meta_group_size() == 2 && four.shfl(lane, 1) == lane / 4 * 4 + 1)
        atomicAdd(agree, 1);
    const int fours = cg::reduce(four, lane, cg::plus<int>()), pairs = cg::reduce(pair, lane, cg::plus<int>());
    const int a = plain(pair), b = sized<2>(pair), c = any(named);
    if (t != 46)
        return;
    const int all[] = {(int)four.meta_group_rank(), (int)four.meta_group_size(), (int)four.thread_rank(), lane,
                       (int)warp.thread_rank(), (int)of_block.meta_group_rank(), (int)of_block.meta_group_size(),
                       (int)pair.meta_group_rank(), (int)pair.meta_group_size(), a, b, c, fours, pairs};
    for (int i = 0; i < 14; i++)
        out[i] = all[i];
}

int main()
{
    int *d, *agree, r[14], n = 0;
    cudaMalloc(&d, sizeof r);
    cudaMalloc(&agree, sizeof n);
    cudaMemset(agree, 0, sizeof n);
    ranks<<<1, 64>>>(d, agree);
    cudaMemcpy(r, d, sizeof r, cudaMemcpyDeviceToHost);
    cudaMemcpy(&n, agree, sizeof n, cudaMemcpyDeviceToHost);
    printf("fours of a warp: rank %d of %d, thread %d; lane %d is thread %d of its warp\n", r[0], r[1], r[2], r[3], r[4]);
    printf("fours of a block: rank %d of %d\n", r[5], r[6]);
    printf("pairs of fours: rank %d of %d, through functions %d %d %d %d, by name %d %d\n", r[7], r[8], r[9] / 10, r[9] % 10,
           r[10] / 10, r[10] % 10, r[11] / 10, r[11] % 10);
    printf("sums of fours %d of pairs %d\n", r[12], r[13]);
    printf("ranks agree %d of 64\n", n);
}
