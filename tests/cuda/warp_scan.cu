// Scans by shuffles: in a warp, over the warps of a block, segmented by flags, and compaction by ballots.
/* opencl: IG-WARP
expect:
scan: 0 wrong, total 2558
segments: 0 wrong, last 25
kept 91, right
lanes of eight: 3025 11150 27312
*/
#include <cstdio>
#include <vector>

__device__ int warp_inclusive(int v, int lane)
{
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        const int up = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d)
            v += up;
    }
    return v;
}

__global__ void block_scan(const int *in, int *out)
{
    __shared__ int warps[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = warp_inclusive(in[threadIdx.x], lane);
    if (lane == 31)
        warps[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int w = threadIdx.x < blockDim.x / 32 ? warps[lane] : 0;
        warps[lane] = warp_inclusive(w, lane);
    }
    __syncthreads();
    out[threadIdx.x] = v + (warp ? warps[warp - 1] : 0);
}

__global__ void segmented(const int *in, const bool *head, int *out)
{
    const int lane = threadIdx.x;
    const unsigned heads = __ballot_sync(~0u, head[lane]) | 1u;
    const unsigned below = heads & (0xffffffffu >> (31 - lane));
    const int start = 31 - __clz(below);
    int v = in[lane];
    for (int d = 1; d < 32; d *= 2) {
        int up = __shfl_up_sync(~0u, v, d);
        v += lane - d >= start ? up : 0;
    }
    out[lane] = v;
}

__global__ void compact(const int *in, int n, int *out, int *count)
{
    for (int base = 0; base < n; base += 32) {
        const int i = base + threadIdx.x;
        const bool keep = i < n && in[i] % 5 == 2;
        const unsigned mask = __ballot_sync(0xffffffffu, keep);
        const int before = __popc(mask & ((1u << threadIdx.x) - 1));
        int start = *count;
        __syncwarp();
        if (keep)
            out[start + before] = in[i];
        if (threadIdx.x == 0)
            *count = start + __popc(mask);
        __syncwarp();
    }
}

__global__ void within_eight(int *out)
{
    int v = threadIdx.x;
    out[threadIdx.x] = __shfl_sync(~0u, v, 3, 8) * 1000 + __shfl_down_sync(~0u, v, 2, 8) * 10 + (__shfl_xor_sync(~0u, v, 5, 8) & 7);
}

int main()
{
    const int n = 512;
    int *in, *out, *count;
    bool *head;
    cudaMallocManaged(&in, n * sizeof(int));
    cudaMallocManaged(&out, n * sizeof(int));
    cudaMallocManaged(&count, sizeof(int));
    cudaMallocManaged(&head, 32);
    for (int i = 0; i < n; i++)
        in[i] = i * 7 % 11;
    block_scan<<<1, n>>>(in, out);
    cudaDeviceSynchronize();
    int sum = 0, wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += out[i] != (sum += in[i]);
    printf("scan: %d wrong, total %d\n", wrong, out[n - 1]);
    for (int i = 0; i < 32; i++)
        head[i] = i % 9 == 0 || i == 20;
    segmented<<<1, 32>>>(in, head, out);
    cudaDeviceSynchronize();
    wrong = sum = 0;
    for (int i = 0; i < 32; i++) {
        sum = head[i] ? in[i] : sum + in[i];
        wrong += out[i] != sum;
    }
    printf("segments: %d wrong, last %d\n", wrong, out[31]);
    *count = 0;
    compact<<<1, 32>>>(in, 500, out, count);
    cudaDeviceSynchronize();
    std::vector<int> want;
    for (int i = 0; i < 500; i++)
        if (in[i] % 5 == 2)
            want.push_back(in[i]);
    wrong = (int)want.size() != *count;
    for (int i = 0; i < *count && !wrong; i++)
        wrong += out[i] != want[i];
    printf("kept %d, %s\n", *count, wrong ? "WRONG" : "right");
    within_eight<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    printf("lanes of eight: %d %d %d\n", out[0], out[13], out[31]);
}
