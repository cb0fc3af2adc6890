// Cooperative groups: reductions over tiles of several sizes, one atomic for each coalesced group, templates of groups.
/* opencl: IG-WARP
expect:
blocks 523776 warps 523776 largest 1023 fours 523776
77 is in warp 2, alternating warps 32
kept 342, their sum 174933
*/
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
namespace cg = cooperative_groups;
using namespace cooperative_groups;

template <typename Group> __device__ int sum_down(Group g, int v)
{
    for (int i = g.size() / 2; i > 0; i /= 2)
        v += g.shfl_down(v, i);
    return v;
}

__device__ int reduce_shared(thread_group g, int *temp, int val)
{
    int lane = g.thread_rank();
    for (int i = g.size() / 2; i > 0; i /= 2) {
        temp[lane] = val;
        g.sync();
        if (lane < i)
            val += temp[lane + i];
        g.sync();
    }
    return val;
}

__device__ int atomicAggInc(int *counter)
{
    coalesced_group active = coalesced_threads();
    int old;
    if (active.thread_rank() == 0)
        old = atomicAdd(counter, active.size());
    return active.shfl(old, 0) + active.thread_rank();
}

__global__ void sums(const int *x, int *out)
{
    __shared__ int temp[256];
    thread_block block = this_thread_block();
    const int v = x[block.group_index().x * block.size() + block.thread_rank()];
    const int whole = reduce_shared(block, temp, v);
    auto warp = tiled_partition<32>(block);
    thread_block_tile<4> four = tiled_partition<4>(warp);
    const int by_warp = sum_down(warp, v), by_four = sum_down(four, v);
    const int largest = cg::reduce(warp, v, cg::greater<int>());
    if (block.thread_rank() == 0)
        atomicAdd(&out[0], whole);
    if (warp.thread_rank() == 0) {
        atomicAdd(&out[1], by_warp);
        atomicMax(&out[2], largest);
    }
    if (four.thread_rank() == 0)
        atomicAdd(&out[3], by_four);
    if (warp.any(v == 77) && warp.thread_rank() == 0)
        out[4] = warp.meta_group_rank();
    if (warp.ballot(v % 2) == 0xaaaaaaaau && warp.thread_rank() == 0)
        atomicAdd(&out[5], 1);
}

__global__ void filter(int *dst, int *count, const int *src, int n)
{
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
        if (src[i] % 3 == 0)
            dst[atomicAggInc(count)] = src[i];
}

int main()
{
    const int n = 1024;
    int *x, *out, *kept;
    cudaMallocManaged(&x, n * sizeof(int));
    cudaMallocManaged(&out, 7 * sizeof(int));
    cudaMallocManaged(&kept, n * sizeof(int));
    for (int i = 0; i < n; i++)
        x[i] = i;
    for (int i = 0; i < 7; i++)
        out[i] = 0;
    sums<<<4, 256>>>(x, out);
    filter<<<2, 128>>>(kept, &out[6], x, n);
    cudaDeviceSynchronize();
    printf("blocks %d warps %d largest %d fours %d\n", out[0], out[1], out[2], out[3]);
    printf("77 is in warp %d, alternating warps %d\n", out[4], out[5]);
    int sum = 0;
    for (int i = 0; i < out[6]; i++)
        sum += kept[i] % 3 == 0 ? kept[i] : -1000000;
    printf("kept %d, their sum %d\n", out[6], sum);
    return 0;
}
