/* Measures the peaks of the machine: multiply-adds in registers and copies in memory, on all threads.
 *
 * Each loop keeps enough independent sums in flight to hide the latency of its instruction. This file is
 * built with contraction, so that a * b + c of vectors is one fma. The best of several tries counts, because a
 * peak is a maximum, not an average. Tries are short, so that on a busy machine some are
 * not interrupted. */
#include "limits.h"

#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { TRIES = 300, COPY_TRIES = 15, LEAST_TRIES = 5, MAX_THREADS = 1024 };
/* Runs count iterations of a loop of multiply-adds and returns a value that depends on all of them. */
typedef double fma_loop(long count, double factor, double term);

static const double try_s = 0.0005, enough_s = 1;
static const size_t copy_bytes = (size_t)128 << 20;

/* Whether to stop after t tries. On a busy machine a try is slow, because it waits for all threads. */
static bool over(int t, double begin_s)
{
    return t >= LEAST_TRIES && clock_s() - begin_s > enough_s;
}

/* ---- one job on all threads --------------------------------------------------------------------- */

struct part {
    void (*job)(struct part *);
    atomic_int *missing; /* threads that have not reached the start yet */
    double begin_s, end_s;
    fma_loop *loop;
    long count;          /* iterations */
    double factor, term; /* its operands */
    double result;       /* keeps the compiler from removing the loop */
    char *from, *to;     /* of a copy */
    size_t size_bytes;
};

static void *part_run(void *argument)
{
    struct part *part = argument;
    atomic_fetch_sub(part->missing, 1);
    while (atomic_load(part->missing) > 0)
        sched_yield();
    part->begin_s = clock_s();
    part->job(part);
    part->end_s = clock_s();
    return NULL;
}

/* Starts a thread on the i-th CPU that this process may use, modulo their number. Pinning is needed because a try is
 * over before the system would separate two threads that began on one CPU. */
static bool part_start(pthread_t *thread, struct part *part, int i)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        return false;
#if defined(__linux__)
    cpu_set_t usable, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
        int nth = i % CPU_COUNT(&usable), cpu = 0;
        while (!CPU_ISSET(cpu, &usable) || nth-- > 0)
            cpu++;
        CPU_SET(cpu, &one);
        pthread_attr_setaffinity_np(&attr, sizeof one, &one);
    }
#else
    (void)i;
#endif
    const bool started = pthread_create(thread, &attr, part_run, part) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

/* Seconds from the first begin to the last end; 0 if not all threads could be started. */
static double parts_run(struct part *parts, int n)
{
    pthread_t thread[MAX_THREADS];
    atomic_int missing = n;
    int made = 0;
    for (; made < n; made++) {
        parts[made].missing = &missing;
        if (!part_start(&thread[made], &parts[made], made))
            break;
    }
    atomic_fetch_sub(&missing, n - made);
    double begin = 0, end = 0;
    for (int i = 0; i < made; i++) {
        pthread_join(thread[i], NULL);
        begin = i == 0 || parts[i].begin_s < begin ? parts[i].begin_s : begin;
        end = i == 0 || parts[i].end_s > end ? parts[i].end_s : end;
    }
    return made == n ? end - begin : 0;
}

/* ---- multiply-adds: one loop for each instruction ----------------------------------------------- */

/* The compiler must not assume anything about a vector after this. */
#if defined(__aarch64__)
#define HIDE(v) __asm__("" : "+w"(v))
#elif defined(__x86_64__)
#define HIDE(v) __asm__("" : "+v"(v))
#else
#define HIDE(v) __asm__("" : "+m"(v))
#endif

struct loop {
    fma_loop *run;
    double flops; /* of one iteration */
};

/* Four pipes with a latency of four need 16 sums; if there are 16 registers, only 12 fit. */
#if defined(__x86_64__)
#define BASE_SUMS 12
#else
#define BASE_SUMS 16
#endif

#define TARGET
#define NAME fma_f32
#define SCALAR float
#define BYTES 16
#define SUMS BASE_SUMS
#include "fma_loop.inc"
#define TARGET
#define NAME fma_f64
#define SCALAR double
#define BYTES 16
#define SUMS BASE_SUMS
#include "fma_loop.inc"

#if defined(__aarch64__) && defined(__linux__)

static struct loop loop_find(ig_dtype dtype)
{
    const unsigned long has_fhm = 1ul << 23, has_bf16 = 1ul << 14;
    if (dtype == IG_F64)
        return (struct loop){fma_f64, BASE_SUMS * 2 * 2};
    if (dtype == IG_BF16 && (getauxval(AT_HWCAP2) & has_bf16))
        return (struct loop){limits_bfmmla, 16 * 16 * 2};
    if (dtype == IG_F16 && (getauxval(AT_HWCAP) & has_fhm))
        return (struct loop){limits_fmlal, 16 * 4 * 2};
    return (struct loop){fma_f32, BASE_SUMS * 4 * 2};
}

#elif defined(__x86_64__)

#define TARGET __attribute__((target("avx2,fma")))
#define NAME fma_f32_avx2
#define SCALAR float
#define BYTES 32
#define SUMS 12
#include "fma_loop.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME fma_f64_avx2
#define SCALAR double
#define BYTES 32
#define SUMS 12
#include "fma_loop.inc"
#define TARGET __attribute__((target("avx512f")))
#define NAME fma_f32_avx512
#define SCALAR float
#define BYTES 64
#define SUMS 16
#include "fma_loop.inc"
#define TARGET __attribute__((target("avx512f")))
#define NAME fma_f64_avx512
#define SCALAR double
#define BYTES 64
#define SUMS 16
#include "fma_loop.inc"

/* Sixteen f32 sums, each of two products of bf16. */
__attribute__((target("avx512f,avx512bf16"))) static double dpbf16(long count, double factor,
                                                                   double term)
{
    __m512 sum[16];
#pragma GCC unroll 32
    for (int k = 0; k < 16; k++)
        sum[k] = _mm512_set1_ps((float)(term * k));
    const __m512bh x = _mm512_cvtne2ps_pbh(sum[1], sum[2]);
    const __m512bh y = _mm512_cvtne2ps_pbh(sum[0], _mm512_set1_ps((float)factor));
    for (long i = 0; i < count; i++) {
#pragma GCC unroll 32
        for (int k = 0; k < 16; k++)
            sum[k] = _mm512_dpbf16_ps(sum[k], x, y);
    }
    double all = 0;
#pragma GCC unroll 32
    for (int k = 0; k < 16; k++)
        all += (double)sum[k][0];
    return all;
}

static struct loop loop_find(ig_dtype dtype)
{
    const bool wide = __builtin_cpu_supports("avx512f");
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (dtype == IG_BF16 && wide && __builtin_cpu_supports("avx512bf16"))
        return (struct loop){dpbf16, 16 * 32 * 2};
    if (dtype == IG_F64)
        return wide ? (struct loop){fma_f64_avx512, 16 * 8 * 2}
               : fma ? (struct loop){fma_f64_avx2, 12 * 4 * 2}
                     : (struct loop){fma_f64, BASE_SUMS * 2 * 2};
    return wide ? (struct loop){fma_f32_avx512, 16 * 16 * 2}
           : fma ? (struct loop){fma_f32_avx2, 12 * 8 * 2}
                 : (struct loop){fma_f32, BASE_SUMS * 4 * 2};
}

#else

static struct loop loop_find(ig_dtype dtype)
{
    return dtype == IG_F64 ? (struct loop){fma_f64, BASE_SUMS * 2 * 2}
                           : (struct loop){fma_f32, BASE_SUMS * 4 * 2};
}

#endif

static void multiply_add(struct part *part)
{
    part->result = part->loop(part->count, part->factor, part->term);
}

static double loop_limit(struct loop loop, int threads)
{
    static struct part parts[MAX_THREADS];
    struct part part = {
        .job = multiply_add, .loop = loop.run, .count = 1000, .factor = 0.999, .term = 1e-3};
    double best = 0, begin_s = clock_s();
    for (int t = 0; t < TRIES && !over(t, begin_s);) {
        for (int i = 0; i < threads; i++)
            parts[i] = part;
        const double took_s = parts_run(parts, threads);
        if (took_s <= 0)
            return 0;
        const double rate = loop.flops * (double)part.count * threads / took_s * 1e-9;
        best = rate > best ? rate : best;
        if (t > 0 || took_s >= try_s)
            t++;
        else
            part.count *= 2;
    }
    return best;
}

double limit_fma(ig_dtype dtype, int threads)
{
    if (!ig_isdtype(dtype, "real floating") || threads < 1 || threads > MAX_THREADS)
        return 0;
    const double limit = loop_limit(loop_find(dtype), threads);
    if (dtype == IG_F32 || dtype == IG_F64)
        return limit;
    /* Converting to f32 first may be faster. */
    const double as_f32 = loop_limit(loop_find(IG_F32), threads);
    return limit > as_f32 ? limit : as_f32;
}

/* ---- copies ------------------------------------------------------------------------------------- */

static void touch(struct part *part)
{
    memset(part->from, 1, part->size_bytes);
    memset(part->to, 2, part->size_bytes);
}

static void copy(struct part *part) { memcpy(part->to, part->from, part->size_bytes); }

double limit_copy(int threads)
{
    static struct part parts[MAX_THREADS];
    if (threads < 1 || threads > MAX_THREADS)
        return 0;
    const size_t size_bytes = copy_bytes / (size_t)threads;
    char *from = malloc(copy_bytes), *to = malloc(copy_bytes);
    double best = 0, begin_s = clock_s();
    for (int t = -1; from && to && t < COPY_TRIES && !over(t, begin_s); t++) {
        for (int i = 0; i < threads; i++)
            parts[i] = (struct part){.job = t < 0 ? touch : copy,
                                     .from = from + (size_t)i * size_bytes,
                                     .to = to + (size_t)i * size_bytes,
                                     .size_bytes = size_bytes};
        const double took_s = parts_run(parts, threads);
        if (took_s <= 0)
            break;
        const double rate = 2e-9 * (double)(size_bytes * (size_t)threads) / took_s;
        best = t >= 0 && rate > best ? rate : best;
    }
    free(from);
    free(to);
    return best;
}
