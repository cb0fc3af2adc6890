/* The heap of kernels: blocks of 16 << n bytes with a header of 16. Free blocks of a size are a list. Its head is the
 * block's index in ig_heap and, in the upper 32 bits, a number that each change of the list increments: a thread that
 * has read the head of an older list does not replace a newer one. */
__device__ unsigned long long ig_heap_used, ig_heap_free[20];
__device__ ulonglong2 ig_heap[1 << 19];

__device__ void *ig_heap_get(unsigned long ig_bytes)
{
    int ig_size = 1;
    while (ig_size < 20 && (16ul << ig_size) - 16 < ig_bytes)
        ig_size++;
    if (ig_size == 20)
        return nullptr;
    unsigned long long ig_seen = *(volatile unsigned long long *)&ig_heap_free[ig_size];
    while ((unsigned)ig_seen) {
        const unsigned long long ig_next = *(volatile unsigned long long *)&ig_heap[(unsigned)ig_seen].x;
        const unsigned long long ig_head = ig_seen;
        ig_seen = atomicCAS(&ig_heap_free[ig_size], ig_head, ((ig_head >> 32) + 1) << 32 | ig_next);
        if (ig_seen == ig_head)
            return ig_heap + (unsigned)ig_head;
    }
    const unsigned long long ig_all = 16ull << ig_size;
    const unsigned long long ig_offset = atomicAdd(&ig_heap_used, ig_all);
    if (ig_offset + ig_all > sizeof ig_heap) {
        atomicAdd(&ig_heap_used, 0 - ig_all);
        return nullptr;
    }
    ig_heap[ig_offset / 16].x = ig_size;
    return ig_heap + ig_offset / 16 + 1;
}

__device__ void ig_heap_put(void *ig_p)
{
    if (!ig_p)
        return;
    const unsigned long long ig_at = (ulonglong2 *)ig_p - ig_heap;
    const int ig_size = (int)ig_heap[ig_at - 1].x;
    unsigned long long ig_head, ig_seen = *(volatile unsigned long long *)&ig_heap_free[ig_size];
    do {
        ig_head = ig_seen;
        *(volatile unsigned long long *)&ig_heap[ig_at].x = (unsigned)ig_head;
        __threadfence();
        ig_seen = atomicCAS(&ig_heap_free[ig_size], ig_head, ((ig_head >> 32) + 1) << 32 | ig_at);
    } while (ig_seen != ig_head);
}
