// Histograms: atomics in global memory, private ones in shared memory, and a grid-stride loop over bytes as words.
/* opencl: IG-WARP
expect:
letters: a 7143 g 7143 z 0
global == shared: 1
words == bytes: 1
total 50001
*/
#include <iostream>
#include <string>
#include <vector>
using namespace std;

typedef unsigned char byte_t;
constexpr int BINS = 256;

__global__ void naive(const byte_t *text, size_t n, unsigned *bins)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(bins + text[i], 1u);
}

__global__ void privatised(const byte_t *__restrict__ text, size_t n, unsigned *__restrict__ bins)
{
    __shared__ unsigned mine[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        mine[i] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&mine[text[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (mine[i])
            atomicAdd(&bins[i], mine[i]);
}

__global__ void words(const unsigned *text, size_t n_words, unsigned *bins)
{
    extern __shared__ unsigned part[];
    unsigned *warp_bins = &part[(threadIdx.x >> 5) * BINS];
    for (unsigned i = threadIdx.x & 31; i < BINS; i += 32)
        warp_bins[i] = 0u;
    __syncwarp();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n_words; i += (size_t)blockDim.x * gridDim.x) {
        unsigned w = text[i];
#pragma unroll 4
        for (int b = 0; b < 4; b++, w >>= 8)
            atomicInc(warp_bins + (w & 0xffu), 0xffffffffu);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) {
        unsigned sum = 0;
        for (unsigned k = 0; k < blockDim.x / warpSize; k++)
            sum += part[k * BINS + i];
        atomicAdd(&bins[i], sum);
    }
}

static vector<unsigned> fetch(const unsigned *device)
{
    vector<unsigned> h(BINS);
    cudaMemcpy(h.data(), device, BINS * sizeof h[0], cudaMemcpyDeviceToHost);
    return h;
}

int main()
{
    string text;
    for (int i = 0; i < 50001; i++)
        text.push_back('a' + i % 7);
    byte_t *d;
    unsigned *bins;
    cudaMalloc(&d, text.size());
    cudaMalloc(&bins, BINS * sizeof *bins);
    cudaMemcpy(d, text.c_str(), text.size(), cudaMemcpyHostToDevice);
    cudaMemset(bins, 0, BINS * sizeof *bins);
    naive<<<(text.size() + 255) / 256, 256>>>(d, text.size(), bins);
    const auto first = fetch(bins);
    cout << "letters: a " << first['a'] << " g " << first['g'] << " z " << first['z'] << endl;
    cudaMemset(bins, 0, BINS * sizeof *bins);
    privatised<<<8, 192>>>(d, text.size(), bins);
    cout << "global == shared: " << (fetch(bins) == first) << "\n";
    cudaMemset(bins, 0, BINS * sizeof *bins);
    words<<<4, 128, 4 * BINS * sizeof(unsigned)>>>(reinterpret_cast<const unsigned *>(d), text.size() / 4, bins);
    auto last = fetch(bins);
    last[(byte_t)text.back()]++; // one byte is over
    cout << "words == bytes: " << (last == first) << "\n";
    unsigned total = 0;
    for (auto n : first)
        total += n;
    cout << "total " << total << endl;
    cudaFree(d);
    cudaFree(bins);
    return 0;
}
