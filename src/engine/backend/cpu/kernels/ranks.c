/* kernels/ranks.cu on the CPU: a worker counts the digits of a piece of a row in its own table. */
#include "base/error.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

#include <stdatomic.h>
#include <string.h>

enum {
    DIGIT = 11,
    DIGITS = 1 << DIGIT,
    COPIES =
        4, /* of the table of the first digit, so that equal neighbours need not wait for each other */
    PIECE = 1 << 16,
    BLOCK = 256
};

/* How the bits of a dtype become keys. */
typedef enum order { FLOATS, SIGNED, UNSIGNED } order;

typedef struct rank_job {
    const void *x, *prefix;
    _Atomic uint32_t *count;
    int64_t size, pieces;
    int targets, shift, width;
} rank_job;

/* Targets whose counts are known. */
typedef struct pick_job {
    const uint32_t *count;
    const void *prefix;
    const int64_t *rank;
    void *out; /* prefixes or values */
    int64_t *out_rank, total;
    int targets, shift, width;
} pick_job;

static void add_table(const uint32_t *table, int64_t n, _Atomic uint32_t *to)
{
    for (int64_t k = 0; k < n; k++)
        if (table[k])
            atomic_fetch_add_explicit(&to[k], table[k], memory_order_relaxed);
}

#define KEY uint32_t
#define NAME(name) name##_32
#define INFINITE 0x7f800000u
#include "ranks.inc"
#undef KEY
#undef NAME
#undef INFINITE
#define KEY uint64_t
#define NAME(name) name##_64
#define INFINITE 0x7ff0000000000000u
#include "ranks.inc"

#define COUNT_TASK(name, bits, order) \
    static void name(void *context, int64_t task, int worker) \
    { \
        count_piece_##bits(context, task, worker, order); \
    }
COUNT_TASK(count_f32, 32, FLOATS)
COUNT_TASK(count_i32, 32, SIGNED)
COUNT_TASK(count_u32, 32, UNSIGNED)
COUNT_TASK(count_f64, 64, FLOATS)
COUNT_TASK(count_i64, 64, SIGNED)
COUNT_TASK(count_u64, 64, UNSIGNED)

static pool_fn count_task(ig_dtype dtype)
{
    switch (dtype) {
    case IG_F32: return count_f32;
    case IG_F64: return count_f64;
    case IG_I32: return count_i32;
    case IG_I64: return count_i64;
    case IG_U32: return count_u32;
    default: return count_u64;
    }
}

ig_status cpu_kernel_rank_count(const cpu_kernel_call *c)
{
    rank_job j = {.x = cpu_call_array(c, "x"),
                  .prefix = cpu_call_array(c, "prefix"),
                  .count = cpu_call_array(c, "count"),
                  .size = cpu_call_number(c, "size"),
                  .targets = (int)cpu_call_number(c, "targets"),
                  .shift = (int)cpu_call_number(c, "shift"),
                  .width = (int)cpu_call_number(c, "width")};
    const int tables = j.targets > COPIES ? j.targets : COPIES;
    TRY(scratch_reserve((size_t)tables * DIGITS * sizeof(uint32_t)));
    j.pieces = (j.size + PIECE - 1) / PIECE;
    pool_run(j.pieces * cpu_call_number(c, "rows"), count_task(cpu_call_dtype(c)), &j);
    return IG_OK;
}

static pick_job pick_of(const cpu_kernel_call *c)
{
    return (pick_job){.count = cpu_call_array(c, "count"),
                      .prefix = cpu_call_array(c, "prefix"),
                      .rank = cpu_call_array(c, "rank"),
                      .total = cpu_call_number(c, "total"),
                      .targets = (int)cpu_call_number(c, "targets"),
                      .shift = (int)cpu_call_number(c, "shift"),
                      .width = (int)cpu_call_number(c, "width")};
}

static bool is_narrow(const cpu_kernel_call *c)
{
    return c->param[cpu_call_find(c, "prefix")].dtype == IG_U32;
}

ig_status cpu_kernel_rank_pick(const cpu_kernel_call *c)
{
    pick_job j = pick_of(c);
    j.out = cpu_call_array(c, "next_prefix");
    j.out_rank = cpu_call_array(c, "next_rank");
    (is_narrow(c) ? pick_32 : pick_64)(&j);
    return IG_OK;
}

ig_status cpu_kernel_rank_value(const cpu_kernel_call *c)
{
    pick_job j = pick_of(c);
    j.out = cpu_call_array(c, "y");
    const ig_dtype dtype = c->param[cpu_call_find(c, "y")].dtype;
    const order o = dtype_is_float(dtype)                ? FLOATS
                    : dtype == IG_I32 || dtype == IG_I64 ? SIGNED
                                                         : UNSIGNED;
    (is_narrow(c) ? value_32 : value_64)(&j, o);
    return IG_OK;
}
