// Cooperative groups: the block, and tiles of a warp.
/* opencl: IG-WARP
expect:
sum 1024, tiles 32
*/
#include <cooperative_groups.h>
#include <stdio.h>
namespace cg = cooperative_groups;

__device__ int tile_sum(cg::thread_block_tile<32> tile, int v)
{
    for (int i = tile.size() / 2; i > 0; i /= 2)
        v += tile.shfl_down(v, i);
    return v;
}

__global__ void reduce(const int *x, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int v = tile_sum(tile, x[block.thread_rank() + blockIdx.x * blockDim.x]);
    block.sync();
    if (tile.thread_rank() == 0) {
        atomicAdd(&out[0], v);
        atomicAdd(&out[1], 1);
    }
}

int main()
{
    enum { N = 1024 };
    int *x, *out;
    cudaMallocManaged(&x, N * sizeof(int));
    cudaMallocManaged(&out, 2 * sizeof(int));
    for (int i = 0; i < N; i++)
        x[i] = 1;
    out[0] = out[1] = 0;
    reduce<<<4, 256>>>(x, out);
    cudaDeviceSynchronize();
    printf("sum %d, tiles %d\n", out[0], out[1]);
}
