/* Cooperative groups: tiles of 16 threads add up their parts without a barrier.
 *
 * Run:
 *   ingot run examples/cuda/16_groups.cu --grid 2 --block 32 --arg x=arange:i32[64] --arg sums=zeros:i32[4]
 * Prints:
 *   sums = [120 376 632 888]
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void tile_sums(const int *x, int *sums)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int i = blockIdx.x * blockDim.x + block.thread_rank();
    int sum = cg::reduce(tile, x[i], cg::plus<int>());
    if (tile.thread_rank() == 0)
        sums[i / 16] = sum;
}
