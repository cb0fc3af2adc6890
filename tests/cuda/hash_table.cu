// An open hash table with atomicCAS, as in blog posts: insert, look up, and delete by a mark.
/* expect:
inserted 5000, slots in use 5000
found 5000, wrong 0, absent 1000
after deleting the odd keys: 2500
duplicates keep one slot: yes
*/
#include <stdint.h>
#include <stdio.h>
#include <vector>

struct KeyValue {
    uint32_t key;
    uint32_t value;
};

const uint32_t kCapacity = 16 * 1024;
const uint32_t kEmpty = 0xffffffff;

__device__ uint32_t hash(uint32_t k)
{
    k ^= k >> 16;
    k *= 0x85ebca6b;
    k ^= k >> 13;
    k *= 0xc2b2ae35;
    k ^= k >> 16;
    return k & (kCapacity - 1);
}

__global__ void insert(KeyValue *table, const KeyValue *kvs, unsigned n)
{
    unsigned tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < n) {
        uint32_t key = kvs[tid].key, value = kvs[tid].value, slot = hash(key);
        while (true) {
            uint32_t prev = atomicCAS(&table[slot].key, kEmpty, key);
            if (prev == kEmpty || prev == key) {
                table[slot].value = value;
                return;
            }
            slot = (slot + 1) & (kCapacity - 1);
        }
    }
}

template <bool kDelete> __global__ void lookup(KeyValue *table, KeyValue *kvs, unsigned n)
{
    for (unsigned tid = blockIdx.x * blockDim.x + threadIdx.x; tid < n; tid += blockDim.x * gridDim.x) {
        uint32_t key = kvs[tid].key, slot = hash(key);
        kvs[tid].value = kEmpty;
        for (;; slot = (slot + 1) & (kCapacity - 1)) {
            if (table[slot].key == key) {
                kvs[tid].value = table[slot].value;
                if (kDelete)
                    table[slot].value = kEmpty;
                break;
            }
            if (table[slot].key == kEmpty)
                break;
        }
    }
}

__global__ void count(const KeyValue *table, unsigned *n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    bool used = i < kCapacity && table[i].key != kEmpty && table[i].value != kEmpty;
    int block = __syncthreads_count(used);
    if (threadIdx.x == 0)
        atomicAdd(n, block);
}

static unsigned in_use(const KeyValue *table)
{
    unsigned *n, h;
    cudaMalloc(&n, sizeof *n);
    cudaMemset(n, 0, sizeof *n);
    count<<<kCapacity / 256, 256>>>(table, n);
    cudaMemcpy(&h, n, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(n);
    return h;
}

int main()
{
    const unsigned n = 5000;
    std::vector<KeyValue> h;
    for (unsigned i = 0; i < n + 1000; i++)
        h.push_back(KeyValue{i * 2654435761u % 1000003u, i});
    KeyValue *table, *kvs;
    const size_t bytes = h.size() * sizeof(KeyValue);
    cudaMalloc(&table, kCapacity * sizeof(KeyValue));
    cudaMalloc(&kvs, bytes);
    cudaMemset(table, 0xff, kCapacity * sizeof(KeyValue));
    cudaMemcpy(kvs, h.data(), bytes, cudaMemcpyHostToDevice);
    insert<<<(n + 127) / 128, 128>>>(table, kvs, n);
    printf("inserted %u, slots in use %u\n", n, in_use(table));
    lookup<false><<<8, 128>>>(table, kvs, (unsigned)h.size());
    cudaMemcpy(h.data(), kvs, bytes, cudaMemcpyDeviceToHost);
    unsigned found = 0, wrong = 0, absent = 0;
    for (unsigned i = 0; i < h.size(); i++) {
        found += h[i].value != kEmpty;
        absent += h[i].value == kEmpty;
        wrong += h[i].value != (i < n ? i : kEmpty);
    }
    printf("found %u, wrong %u, absent %u\n", found, wrong, absent);
    std::vector<KeyValue> odd;
    for (unsigned i = 1; i < n; i += 2)
        odd.push_back(h[i]);
    cudaMemcpy(kvs, odd.data(), odd.size() * sizeof(KeyValue), cudaMemcpyHostToDevice);
    lookup<true><<<8, 128>>>(table, kvs, (unsigned)odd.size());
    printf("after deleting the odd keys: %u\n", in_use(table));
    for (auto &kv : odd)
        kv = {12345, 1};
    cudaMemset(table, 0xff, kCapacity * sizeof(KeyValue));
    cudaMemcpy(kvs, odd.data(), odd.size() * sizeof(KeyValue), cudaMemcpyHostToDevice);
    insert<<<20, 128>>>(table, kvs, (unsigned)odd.size());
    printf("duplicates keep one slot: %s\n", in_use(table) == 1 ? "yes" : "no");
}
