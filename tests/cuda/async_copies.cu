// cuda::barrier, cuda::pipeline, cuda::memcpy_async and cuda::atomic; shuffles of vectors and structs by a tile.
/* opencl: IG-WAIT
   expect:
barrier: 32640 32640
thread pipeline: 0 wrong
block pipeline: 0 wrong
group: 0 wrong
atomic: 512 256 255 42 1
struct: 1 3 0.5
*/
#include <stdio.h>
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

enum { THREADS = 256, STAGES = 2 };

// Each warp adds its part; the first one waits for all arrivals.
__global__ void arrive_wait(int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int sum[2];
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        sum[0] = sum[1] = 0;
    }
    __syncthreads();
    for (int phase = 0; phase < 2; phase++) {
        atomicAdd(&sum[phase], (int)threadIdx.x);
        auto token = bar.arrive();
        if (threadIdx.x < 32) {
            bar.wait(std::move(token));
            if (threadIdx.x == 0)
                out[phase] = sum[phase];
        }
        if (phase == 0)
            __syncthreads();
    }
}

__global__ void by_thread(float *out, const float *in, int n)
{
    __shared__ float4 tile[2][THREADS];
    const auto shape = cuda::aligned_size_t<alignof(float4)>(sizeof(float4));
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    for (int i = 0; i < 2; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&tile[i][threadIdx.x], (const float4 *)in + i * THREADS + threadIdx.x, shape, pipe);
        pipe.producer_commit();
    }
    for (int i = 0; i < 2; i++) {
        pipe.consumer_wait();
        __syncthreads();
        const float4 v = tile[i][(threadIdx.x + 1) % THREADS];
        out[i * THREADS + threadIdx.x] = v.x + v.y + v.z + v.w;
        pipe.consumer_release();
    }
}

// The last warp loads rows, the others double them.
__global__ void by_roles(float *out, const float *in, int rows)
{
    const int width = THREADS - 32;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    __shared__ float tile[STAGES][THREADS - 32];
    auto block = cg::this_thread_block();
    const bool produces = threadIdx.x >= width;
    auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    for (int r = 0; r < rows; r++) {
        if (produces) {
            pipe.producer_acquire();
            for (int i = threadIdx.x - width; i < width; i += 32)
                cuda::memcpy_async(&tile[r % STAGES][i], &in[r * width + i], sizeof(float), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            out[r * width + threadIdx.x] = 2 * tile[r % STAGES][width - 1 - threadIdx.x];
            pipe.consumer_release();
        }
    }
}

__global__ void by_group(int *out, const int *in)
{
    __shared__ int tile[THREADS];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, in, sizeof(int) * THREADS, bar);
    bar.arrive_and_wait();
    out[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

__device__ cuda::atomic<int, cuda::thread_scope_device> total;
__global__ void counts(int *out)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> most;
    if (threadIdx.x == 0)
        most.store(0);
    __syncthreads();
    total.fetch_add(2, cuda::std::memory_order_relaxed);
    most.fetch_max(threadIdx.x);
    cuda::atomic_ref<int, cuda::thread_scope_device> ref(out[1]);
    ref++;
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = total.load(cuda::std::memory_order_acquire);
        out[2] = most;
        int old = 7;
        cuda::atomic_ref<int, cuda::thread_scope_device> third(out[3]);
        const bool first = third.compare_exchange_strong(old, 1);
        out[4] = third.compare_exchange_strong(old, 42) && !first;
    }
}

struct item {
    int key;
    float value;
    short rest[3];
};
__global__ void shuffles(uint4 *v, item *s)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    v[threadIdx.x] = tile.shfl_xor(v[threadIdx.x], 1);
    s[threadIdx.x] = tile.shfl(s[threadIdx.x], 3);
}

int main()
{
    const int n = THREADS * 8;
    float host[n], got[n], *in, *out;
    int counters[5] = {0, 0, 0, 5, 0}, *d;
    for (int i = 0; i < n; i++)
        host[i] = i % 97;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&d, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);

    arrive_wait<<<1, THREADS>>>(d);
    int sums[2];
    cudaMemcpy(sums, d, sizeof sums, cudaMemcpyDeviceToHost);
    printf("barrier: %d %d\n", sums[0], sums[1]);

    by_thread<<<1, THREADS>>>(out, in, n);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < 2 * THREADS; i++) {
        const float *p = host + 4 * (i / THREADS * THREADS + (i + 1) % THREADS);
        wrong += got[i] != p[0] + p[1] + p[2] + p[3];
    }
    printf("thread pipeline: %d wrong\n", wrong);

    const int rows = 5, width = THREADS - 32;
    by_roles<<<1, THREADS>>>(out, in, rows);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    wrong = 0;
    for (int i = 0; i < rows * width; i++)
        wrong += got[i] != 2 * host[i / width * width + width - 1 - i % width];
    printf("block pipeline: %d wrong\n", wrong);

    by_group<<<1, THREADS>>>((int *)out, (const int *)in);
    cudaMemcpy(got, out, THREADS * sizeof(int), cudaMemcpyDeviceToHost);
    wrong = 0;
    for (int i = 0; i < THREADS; i++)
        wrong += got[i] != host[THREADS - 1 - i];
    printf("group: %d wrong\n", wrong);

    cudaMemcpy(d, counters, sizeof counters, cudaMemcpyHostToDevice);
    counts<<<1, THREADS>>>(d);
    cudaMemcpy(counters, d, sizeof counters, cudaMemcpyDeviceToHost);
    printf("atomic: %d %d %d %d %d\n", counters[0], counters[1], counters[2], counters[3], counters[4]);

    uint4 v[32];
    item s[32];
    for (int i = 0; i < 32; i++) {
        v[i] = make_uint4(i, i + 1, i + 2, i + 3);
        s[i] = {i, i * 0.5f - 1, {}};
    }
    uint4 *d_v = (uint4 *)in;
    item *d_s = (item *)out;
    cudaMemcpy(d_v, v, sizeof v, cudaMemcpyHostToDevice);
    cudaMemcpy(d_s, s, sizeof s, cudaMemcpyHostToDevice);
    shuffles<<<1, 32>>>(d_v, d_s);
    cudaMemcpy(v, d_v, sizeof v, cudaMemcpyDeviceToHost);
    cudaMemcpy(s, d_s, sizeof s, cudaMemcpyDeviceToHost);
    printf("struct: %u %d %g\n", v[0].x, s[9].key, s[9].value);
    cudaFree(in);
    cudaFree(out);
    cudaFree(d);
}
