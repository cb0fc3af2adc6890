// Bitonic sort: one launch for each pass, and the same in shared memory for keys with values.
/* expect:
sorted: yes
sum kept: yes
block sort: ok, values follow: ok
*/
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void bitonicStep(int *data, int j, int k)
{
    unsigned int i = threadIdx.x + blockDim.x * blockIdx.x;
    unsigned int ixj = i ^ j;
    if (ixj > i) {
        if ((i & k) == 0) {
            if (data[i] > data[ixj]) {
                int temp = data[i];
                data[i] = data[ixj];
                data[ixj] = temp;
            }
        } else {
            if (data[i] < data[ixj]) {
                int temp = data[i];
                data[i] = data[ixj];
                data[ixj] = temp;
            }
        }
    }
}

__device__ inline void comparator(unsigned &keyA, unsigned &valA, unsigned &keyB, unsigned &valB, unsigned dir)
{
    unsigned t;
    if ((keyA > keyB) == dir) {
        t = keyA; keyA = keyB; keyB = t;
        t = valA; valA = valB; valB = t;
    }
}

const unsigned LIMIT = 512;

__global__ void sortShared(unsigned *key, unsigned *val, unsigned length, unsigned dir)
{
    __shared__ unsigned s_key[LIMIT];
    __shared__ unsigned s_val[LIMIT];
    key += blockIdx.x * LIMIT + threadIdx.x;
    val += blockIdx.x * LIMIT + threadIdx.x;
    s_key[threadIdx.x + 0] = key[0];
    s_val[threadIdx.x + 0] = val[0];
    s_key[threadIdx.x + (LIMIT / 2)] = key[LIMIT / 2];
    s_val[threadIdx.x + (LIMIT / 2)] = val[LIMIT / 2];
    for (unsigned size = 2; size < length; size <<= 1) {
        unsigned ddd = dir ^ ((threadIdx.x & (size / 2)) != 0);
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], ddd);
        }
    }
    for (unsigned stride = length / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
        comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], dir);
    }
    __syncthreads();
    key[0] = s_key[threadIdx.x + 0];
    val[0] = s_val[threadIdx.x + 0];
    key[LIMIT / 2] = s_key[threadIdx.x + (LIMIT / 2)];
    val[LIMIT / 2] = s_val[threadIdx.x + (LIMIT / 2)];
}

int main()
{
    const int n = 1 << 12;
    std::vector<int> h(n);
    unsigned s = 12345;
    long long before = 0, after = 0;
    for (auto &v : h) {
        s = s * 1103515245u + 12345u;
        before += v = (int)(s >> 8) % 100000 - 50000;
    }
    int *d;
    cudaMalloc(&d, n * sizeof(int));
    cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    for (int k = 2; k <= n; k <<= 1)
        for (int j = k >> 1; j > 0; j = j >> 1)
            bitonicStep<<<n / 256, 256>>>(d, j, k);
    cudaMemcpy(h.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (int v : h)
        after += v;
    printf("sorted: %s\n", std::is_sorted(h.begin(), h.end()) ? "yes" : "no");
    printf("sum kept: %s\n", before == after ? "yes" : "no");

    std::vector<unsigned> key(4 * LIMIT), val(4 * LIMIT), k0;
    for (unsigned i = 0; i < key.size(); i++)
        key[i] = (s = s * 1103515245u + 12345u) >> 16, val[i] = i;
    k0 = key;
    unsigned *dk, *dv;
    cudaMalloc(&dk, key.size() * sizeof(unsigned));
    cudaMalloc(&dv, key.size() * sizeof(unsigned));
    cudaMemcpy(dk, &key[0], key.size() * sizeof(unsigned), cudaMemcpyHostToDevice);
    cudaMemcpy(dv, &val[0], key.size() * sizeof(unsigned), cudaMemcpyHostToDevice);
    sortShared<<<4, LIMIT / 2>>>(dk, dv, LIMIT, 1u);
    cudaMemcpy(&key[0], dk, key.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);
    cudaMemcpy(&val[0], dv, key.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);
    bool ok = true, follow = true;
    for (unsigned b = 0; b < 4; b++) {
        ok = ok && std::is_sorted(key.begin() + b * LIMIT, key.begin() + (b + 1) * LIMIT);
        for (unsigned i = b * LIMIT; i < (b + 1) * LIMIT; i++)
            follow = follow && val[i] / LIMIT == b && k0[val[i]] == key[i];
    }
    printf("block sort: %s, values follow: %s\n", ok ? "ok" : "WRONG", follow ? "ok" : "WRONG");
    cudaFree(d), cudaFree(dk), cudaFree(dv);
}
