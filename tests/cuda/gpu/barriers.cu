// Headers of libcu++ in kernels: a barrier in shared memory with an asynchronous copy, and an atomic of a scope.
/* expect:
doubled 0 2 4 .. 510
counted 1024
*/
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void twice(const int *from, int *to)
{
    __shared__ int tile[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&ready, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, from, sizeof tile, ready);
    ready.arrive_and_wait();
    to[threadIdx.x] = 2 * tile[threadIdx.x];
}

__global__ void count(int *n)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> counter(*n);
    counter.fetch_add(1, cuda::memory_order_relaxed);
}

int main()
{
    std::vector<int> h(256);
    int *a, *b, *n, total = 0;
    for (int i = 0; i < 256; i++)
        h[i] = i;
    cudaMalloc(&a, 1024);
    cudaMalloc(&b, 1024);
    cudaMalloc(&n, 4);
    cudaMemcpy(a, h.data(), 1024, cudaMemcpyHostToDevice);
    twice<<<1, 256>>>(a, b);
    cudaMemcpy(h.data(), b, 1024, cudaMemcpyDeviceToHost);
    printf("doubled %d %d %d .. %d\n", h[0], h[1], h[2], h[255]);
    cudaMemset(n, 0, 4);
    count<<<4, 256>>>(n);
    cudaMemcpy(&total, n, 4, cudaMemcpyDeviceToHost);
    printf("counted %d\n", total);
}
