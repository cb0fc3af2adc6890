#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__device__ float warp_sum(cg::thread_block_tile<32> t, float v) { for (int i = t.size() / 2; i > 0; i /= 2) v += t.shfl_down(v, i); return v; }
template <int N> __device__ int rank(const cg::thread_block_tile<N> &t) { return t.thread_rank() + N; }
__global__ void blocks(float *x)
{
    cg::thread_block b = cg::this_thread_block();
    b.sync();
    cg::sync(b);
    x[b.thread_rank()] = b.size() + b.group_index().x + b.thread_index().y;
}
__global__ void tiles(float *x, int *n)
{
    auto t = cg::tiled_partition<32>(cg::this_thread_block());
    cg::thread_block_tile<8> e = cg::tiled_partition<8>(t);
    x[0] = warp_sum(t, x[1]) + cg::reduce(t, x[2], cg::plus<float>()) + e.shfl_xor(x[3], 1);
    n[0] = rank(e) + e.any(n[1]) + e.ballot(n[2] > 0) + t.meta_group_rank() + e.meta_group_size();
    e.sync();
}
__global__ void others(int *n)
{
    auto a = cg::coalesced_threads();
    if (a.thread_rank() == 0)
        n[0] = a.size() + a.shfl(n[1], 0);
    auto g = cg::this_grid();
    n[1] = g.thread_rank() + g.size();
    g.sync();
}
