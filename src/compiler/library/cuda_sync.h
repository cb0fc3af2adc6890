/* The parts of libcu++ that kernels synchronize with: cuda::barrier, cuda::pipeline, cuda::memcpy_async and cuda::atomic,
 * for <cuda/barrier>, <cuda/pipeline> and <cuda/atomic>. A copy is finished when memcpy_async returns. Threads of one
 * warp that wait for each other must arrive together. The host sees the types alone. Included by CUDA programs only. */
#ifndef INGOT_CUDA_SYNC_H
#define INGOT_CUDA_SYNC_H

namespace cuda
{
enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread
};
enum class pipeline_role { producer, consumer };

namespace std
{
enum memory_order {
    memory_order_relaxed,
    memory_order_consume,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
};
} // namespace std
enum memory_order {
    memory_order_relaxed,
    memory_order_consume,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
};

/* A size that is a multiple of an alignment. */
template <unsigned long ig_align> struct aligned_size_t {
    unsigned long value;
    __host__ __device__ explicit aligned_size_t(unsigned long ig_n) : value(ig_n) {}
    __host__ __device__ operator unsigned long() const { return value; }
};

/* A phase is the number of completed ones. Threads that drop out leave all later phases. */
template <thread_scope ig_scope> struct barrier {
    typedef unsigned arrival_token;
    unsigned ig_phase, ig_pending, ig_expected;
#ifdef __CUDA_ARCH__
    __device__ void ig_arrived(unsigned ig_n, unsigned ig_at)
    {
        if (atomicSub(&ig_pending, ig_n) == ig_n) {
            atomicExch(&ig_pending, atomicOr(&ig_expected, 0u));
            __threadfence();
            atomicExch(&ig_phase, ig_at + 1);
        }
    }
    __device__ unsigned arrive(unsigned ig_n = 1)
    {
        const unsigned ig_at = atomicOr(&ig_phase, 0u);
        __threadfence();
        ig_arrived(ig_n, ig_at);
        return ig_at;
    }
    __device__ void wait(unsigned ig_token)
    {
        while (atomicOr(&ig_phase, 0u) == ig_token)
            ;
        __threadfence();
    }
    __device__ void wait_parity(bool ig_parity)
    {
        while ((atomicOr(&ig_phase, 0u) & 1) == (unsigned)ig_parity)
            ;
        __threadfence();
    }
    __device__ bool try_wait(unsigned ig_token) { return atomicOr(&ig_phase, 0u) != ig_token; }
    __device__ void arrive_and_wait() { wait(arrive()); }
    __device__ void arrive_and_drop()
    {
        const unsigned ig_at = atomicOr(&ig_phase, 0u);
        atomicSub(&ig_expected, 1u);
        __threadfence();
        ig_arrived(1, ig_at);
    }
#endif
};

#ifdef __CUDA_ARCH__
template <thread_scope ig_scope> __device__ void init(barrier<ig_scope> *ig_b, int ig_n)
{
    ig_b->ig_phase = 0;
    ig_b->ig_pending = ig_b->ig_expected = ig_n;
    __threadfence();
}
#endif

/* Arrivals at each stage since the begin: of producers that committed, and of consumers that released. */
template <thread_scope ig_scope, int ig_stages> struct pipeline_shared_state {
    unsigned ig_producers, ig_consumers, ig_counts[2 * ig_stages];
};

/* A pipeline of one thread has nothing to wait for. */
template <thread_scope ig_scope> struct pipeline {
    unsigned *ig_state; /* the counts of threads, then those of the stages; NULL for one thread */
    int ig_stages;
    unsigned ig_head, ig_tail; /* the next stages to produce and to consume */
#ifdef __CUDA_ARCH__
    __device__ void ig_arrive(unsigned ig_stage, int ig_which)
    {
        __threadfence();
        atomicAdd(&ig_state[2 + ig_which * ig_stages + ig_stage % ig_stages], 1u);
    }
    /* Waits until all threads of a kind have arrived at the stage. */
    __device__ void ig_wait(unsigned ig_stage, int ig_which)
    {
        const unsigned ig_wanted = ig_state[ig_which] * (ig_stage / ig_stages + 1);
        unsigned *const ig_count = &ig_state[2 + ig_which * ig_stages + ig_stage % ig_stages];
        while (atomicOr(ig_count, 0u) < ig_wanted)
            ;
        __threadfence();
    }
    __device__ void producer_acquire()
    {
        if (ig_state && ig_head >= (unsigned)ig_stages)
            ig_wait(ig_head - ig_stages, 1);
    }
    __device__ void producer_commit()
    {
        if (ig_state)
            ig_arrive(ig_head, 0);
        ig_head++;
    }
    __device__ void consumer_wait()
    {
        if (ig_state)
            ig_wait(ig_tail, 0);
    }
    __device__ void consumer_release()
    {
        if (ig_state)
            ig_arrive(ig_tail, 1);
        ig_tail++;
    }
#endif
};

#ifdef __CUDA_ARCH__
__device__ inline pipeline<thread_scope_thread> make_pipeline()
{
    pipeline<thread_scope_thread> ig_p;
    ig_p.ig_state = nullptr;
    ig_p.ig_stages = 1;
    ig_p.ig_head = ig_p.ig_tail = 0;
    return ig_p;
}
template <typename ig_group, thread_scope ig_scope, int ig_stages>
__device__ pipeline<ig_scope> ig_pipeline(const ig_group &ig_g,
                                          pipeline_shared_state<ig_scope, ig_stages> *ig_s,
                                          unsigned ig_produces, unsigned ig_consumes)
{
    if (ig_g.thread_rank() == 0) {
        ig_s->ig_producers = ig_s->ig_consumers = 0;
        for (int ig_i = 0; ig_i < 2 * ig_stages; ig_i++)
            ig_s->ig_counts[ig_i] = 0;
    }
    ig_g.sync();
    atomicAdd(&ig_s->ig_producers, ig_produces);
    atomicAdd(&ig_s->ig_consumers, ig_consumes);
    ig_g.sync();
    pipeline<ig_scope> ig_p;
    ig_p.ig_state = &ig_s->ig_producers;
    ig_p.ig_stages = ig_stages;
    ig_p.ig_head = ig_p.ig_tail = 0;
    return ig_p;
}
template <typename ig_group, thread_scope ig_scope, int ig_stages>
__device__ pipeline<ig_scope> make_pipeline(const ig_group &ig_g,
                                            pipeline_shared_state<ig_scope, ig_stages> *ig_s)
{
    return ig_pipeline(ig_g, ig_s, 1, 1);
}
template <typename ig_group, thread_scope ig_scope, int ig_stages>
__device__ pipeline<ig_scope> make_pipeline(const ig_group &ig_g,
                                            pipeline_shared_state<ig_scope, ig_stages> *ig_s,
                                            pipeline_role ig_role)
{
    return ig_pipeline(ig_g, ig_s, ig_role == pipeline_role::producer,
                       ig_role == pipeline_role::consumer);
}
template <int ig_prior, thread_scope ig_scope>
__device__ void pipeline_consumer_wait_prior(pipeline<ig_scope> &)
{
}

/* Copies the part of one thread out of n. */
template <typename ig_t, typename ig_u>
__device__ void ig_copy_part(ig_t *ig_to, const ig_u *ig_from, unsigned long ig_bytes,
                             unsigned ig_rank, unsigned ig_n)
{
    if constexpr (sizeof(ig_t) % 4 == 0) {
        for (unsigned long ig_i = ig_rank; ig_i < ig_bytes / 4; ig_i += ig_n)
            ((unsigned *)ig_to)[ig_i] = ((const unsigned *)ig_from)[ig_i];
    } else {
        for (unsigned long ig_i = ig_rank; ig_i < ig_bytes; ig_i += ig_n)
            ((unsigned char *)ig_to)[ig_i] = ((const unsigned char *)ig_from)[ig_i];
    }
}
template <typename ig_t, typename ig_u, typename ig_size_type, typename ig_sync>
__device__ void memcpy_async(ig_t *ig_to, const ig_u *ig_from, ig_size_type ig_bytes, ig_sync &)
{
    ig_copy_part(ig_to, ig_from, (unsigned long)ig_bytes, 0, 1);
}
template <typename ig_group, typename ig_t, typename ig_u, typename ig_size_type, typename ig_sync>
__device__ void memcpy_async(const ig_group &ig_g, ig_t *ig_to, const ig_u *ig_from,
                             ig_size_type ig_bytes, ig_sync &)
{
    ig_copy_part(ig_to, ig_from, (unsigned long)ig_bytes, ig_g.thread_rank(), ig_g.size());
}
#endif

/* Orders are all treated as the strongest one. */
#ifdef __CUDA_ARCH__
#define IG_ATOMIC(ig_place) \
    __device__ ig_t load(int = 0) const \
    { \
        __threadfence(); \
        const ig_t ig_v = *(volatile const ig_t *)(ig_place); \
        __threadfence(); \
        return ig_v; \
    } \
    __device__ void store(ig_t ig_v, int = 0) \
    { \
        __threadfence(); \
        *(volatile ig_t *)(ig_place) = ig_v; \
        __threadfence(); \
    } \
    __device__ ig_t exchange(ig_t ig_v, int = 0){ \
        IG_ORDERED(atomicExch((ig_t *)(ig_place), ig_v))} __device__ ig_t \
    fetch_add(ig_t ig_v, int = 0){IG_ORDERED(atomicAdd((ig_t *)(ig_place), ig_v))} __device__ ig_t \
    fetch_sub(ig_t ig_v, int = 0){ \
        IG_ORDERED(atomicAdd((ig_t *)(ig_place), (ig_t)(0 - ig_v)))} __device__ ig_t \
    fetch_and(ig_t ig_v, int = 0){IG_ORDERED(atomicAnd((ig_t *)(ig_place), ig_v))} __device__ ig_t \
    fetch_or(ig_t ig_v, int = 0){IG_ORDERED(atomicOr((ig_t *)(ig_place), ig_v))} __device__ ig_t \
    fetch_xor(ig_t ig_v, int = 0){IG_ORDERED(atomicXor((ig_t *)(ig_place), ig_v))} __device__ ig_t \
    fetch_min(ig_t ig_v, int = 0){IG_ORDERED(atomicMin((ig_t *)(ig_place), ig_v))} __device__ ig_t \
    fetch_max(ig_t ig_v, int = 0){IG_ORDERED(atomicMax((ig_t *)(ig_place), ig_v))} __device__ bool \
    compare_exchange_strong(ig_t &ig_old, ig_t ig_v, int = 0, int = 0) \
    { \
        const ig_t ig_wanted = ig_old; \
        __threadfence(); \
        ig_old = atomicCAS((ig_t *)(ig_place), ig_wanted, ig_v); \
        __threadfence(); \
        return ig_old == ig_wanted; \
    } \
    __device__ bool compare_exchange_weak(ig_t &ig_old, ig_t ig_v, int = 0, int = 0) \
    { \
        return compare_exchange_strong(ig_old, ig_v); \
    } \
    __device__ operator ig_t() const { return load(); } \
    __device__ ig_t operator++() { return (ig_t)(fetch_add(1) + 1); } \
    __device__ ig_t operator++(int) { return fetch_add(1); } \
    __device__ ig_t operator--() { return (ig_t)(fetch_sub(1) - 1); } \
    __device__ ig_t operator--(int) { return fetch_sub(1); } \
    __device__ ig_t operator+=(ig_t ig_v) { return (ig_t)(fetch_add(ig_v) + ig_v); } \
    __device__ ig_t operator-=(ig_t ig_v) { return (ig_t)(fetch_sub(ig_v) - ig_v); }
#define IG_ORDERED(ig_call) \
    __threadfence(); \
    const ig_t ig_r = ig_call; \
    __threadfence(); \
    return ig_r;
#else
#define IG_ATOMIC(ig_place)
#endif
template <typename ig_t, thread_scope ig_scope = thread_scope_system> struct atomic {
    ig_t ig_value;
    IG_ATOMIC(&ig_value)
};
template <typename ig_t, thread_scope ig_scope = thread_scope_system> struct atomic_ref {
    ig_t *ig_at;
    __host__ __device__ explicit atomic_ref(ig_t &ig_x) : ig_at(&ig_x) {}
    IG_ATOMIC(ig_at)
};
#undef IG_ATOMIC
#undef IG_ORDERED
} // namespace cuda
#ifdef __CUDA_ARCH__
using cuda::init; /* found by the type of its argument */
#endif

#endif
