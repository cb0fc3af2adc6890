// A radix sort over many blocks: 4 bits a pass; counts of each block, a scan of them, and stable scattering.
/* opencl: IG-WARP
expect:
100000 keys sorted: yes, stable: yes
negative ints sorted: yes
*/
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int kBits = 4, kDigits = 1 << kBits, kBlock = 256;

__global__ void count_digits(const uint32_t *keys, int n, int shift, uint32_t *counts)
{
    __shared__ uint32_t local[kDigits];
    if (threadIdx.x < kDigits)
        local[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * kBlock + threadIdx.x;
    if (i < n)
        atomicAdd(&local[(keys[i] >> shift) & (kDigits - 1)], 1u);
    __syncthreads();
    if (threadIdx.x < kDigits)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

// One block; each thread takes a run of the counts.
__global__ void scan_counts(uint32_t *counts, int n)
{
    __shared__ uint32_t sums[kBlock];
    const int run = (n + kBlock - 1) / kBlock, from = threadIdx.x * run, to = min(from + run, n);
    uint32_t mine = 0;
    for (int i = from; i < to; i++)
        mine += counts[i];
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int offset = 1; offset < kBlock; offset *= 2) {
        uint32_t other = threadIdx.x >= offset ? sums[threadIdx.x - offset] : 0;
        __syncthreads();
        sums[threadIdx.x] += other;
        __syncthreads();
    }
    uint32_t at = sums[threadIdx.x] - mine;
    for (int i = from; i < to; i++) {
        uint32_t c = counts[i];
        counts[i] = at;
        at += c;
    }
}

__global__ void scatter(const uint32_t *keys, const uint32_t *values, int n, int shift, const uint32_t *offsets,
                        uint32_t *out_keys, uint32_t *out_values)
{
    __shared__ uint32_t warp_counts[kBlock / 32][kDigits];
    const int i = blockIdx.x * kBlock + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int k = threadIdx.x; k < kBlock / 32 * kDigits; k += kBlock)
        (&warp_counts[0][0])[k] = 0;
    __syncthreads();
    const uint32_t key = i < n ? keys[i] : 0;
    const int digit = i < n ? (key >> shift) & (kDigits - 1) : kDigits;
    const unsigned same = __match_any_sync(0xffffffffu, digit);
    const int rank = __popc(same & ((1u << lane) - 1));
    if (digit < kDigits && rank == 0)
        warp_counts[warp][digit] = __popc(same);
    __syncthreads();
    if (digit == kDigits)
        return;
    uint32_t at = offsets[digit * gridDim.x + blockIdx.x] + rank;
    for (int w = 0; w < warp; w++)
        at += warp_counts[w][digit];
    out_keys[at] = key;
    out_values[at] = values[i];
}

static void sort(std::vector<uint32_t> &keys, std::vector<uint32_t> &values)
{
    const int n = (int)keys.size(), blocks = (n + kBlock - 1) / kBlock;
    uint32_t *k[2], *v[2], *counts;
    for (int i = 0; i < 2; i++) {
        cudaMalloc(&k[i], n * sizeof(uint32_t));
        cudaMalloc(&v[i], n * sizeof(uint32_t));
    }
    cudaMalloc(&counts, blocks * kDigits * sizeof(uint32_t));
    cudaMemcpy(k[0], keys.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice);
    cudaMemcpy(v[0], values.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice);
    for (int shift = 0, from = 0; shift < 32; shift += kBits, from ^= 1) {
        count_digits<<<blocks, kBlock>>>(k[from], n, shift, counts);
        scan_counts<<<1, kBlock>>>(counts, blocks * kDigits);
        scatter<<<blocks, kBlock>>>(k[from], v[from], n, shift, counts, k[from ^ 1], v[from ^ 1]);
    }
    cudaMemcpy(keys.data(), k[0], n * sizeof(uint32_t), cudaMemcpyDeviceToHost);
    cudaMemcpy(values.data(), v[0], n * sizeof(uint32_t), cudaMemcpyDeviceToHost);
    for (uint32_t *p : {k[0], k[1], v[0], v[1], counts})
        cudaFree(p);
}

int main()
{
    std::vector<uint32_t> keys(100000), values(keys.size());
    uint32_t x = 42;
    for (size_t i = 0; i < keys.size(); i++) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        keys[i] = x % 50000 * 65537u;
        values[i] = (uint32_t)i;
    }
    const auto before = keys;
    sort(keys, values);
    bool sorted = std::is_sorted(keys.begin(), keys.end()), stable = true;
    for (size_t i = 0; i < keys.size(); i++) {
        sorted &= before[values[i]] == keys[i];
        stable &= i == 0 || keys[i - 1] != keys[i] || values[i - 1] < values[i];
    }
    printf("%zu keys sorted: %s, stable: %s\n", keys.size(), sorted ? "yes" : "no", stable ? "yes" : "no");
    std::vector<int> ints;
    for (int i = 0; i < 1000; i++)
        ints.push_back((i * 7919) % 2001 - 1000);
    std::vector<uint32_t> flipped(ints.size()), order(ints.size());
    for (size_t i = 0; i < ints.size(); i++)
        flipped[i] = (uint32_t)ints[i] ^ 0x80000000u;
    sort(flipped, order);
    std::sort(ints.begin(), ints.end());
    bool same = true;
    for (size_t i = 0; i < ints.size(); i++)
        same &= (int)(flipped[i] ^ 0x80000000u) == ints[i];
    printf("negative ints sorted: %s\n", same ? "yes" : "no");
}
