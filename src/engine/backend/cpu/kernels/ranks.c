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

/* Parameters of the kernels. */
enum {
    COUNT_X,
    COUNT_PREFIX,
    COUNT_OUT,
    COUNT_ROWS,
    COUNT_SIZE,
    COUNT_BLOCKS,
    COUNT_SHIFT,
    COUNT_WIDTH,
    COUNT_TARGETS
};
enum {
    PICK_COUNT,
    PICK_PREFIX,
    PICK_RANK,
    PICK_OUT,
    PICK_OUT_RANK,
    PICK_TOTAL,
    PICK_SHIFT,
    PICK_WIDTH,
    PICK_TARGETS
};
enum { VALUE_OUT = PICK_OUT, VALUE_TOTAL, VALUE_SHIFT, VALUE_WIDTH, VALUE_TARGETS };
/* How the bits of a dtype become keys. */
typedef enum order { FLOATS, SIGNED, UNSIGNED } order;

typedef struct rank_job {
    const void *x, *prefix;
    _Atomic uint32_t *count;
    int64_t size, pieces;
    int targets, shift, width;
} rank_job;

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
    rank_job j = {.x = c->at[COUNT_X],
                  .prefix = c->at[COUNT_PREFIX],
                  .count = c->at[COUNT_OUT],
                  .size = call_long(c, COUNT_SIZE),
                  .targets = call_int(c, COUNT_TARGETS),
                  .shift = call_int(c, COUNT_SHIFT),
                  .width = call_int(c, COUNT_WIDTH)};
    const int tables = j.targets > COPIES ? j.targets : COPIES;
    TRY(scratch_reserve((size_t)tables * DIGITS * sizeof(uint32_t)));
    j.pieces = (j.size + PIECE - 1) / PIECE;
    pool_run(j.pieces * call_long(c, COUNT_ROWS), count_task(call_dtype(c)), &j);
    return IG_OK;
}

ig_status cpu_kernel_rank_pick(const cpu_kernel_call *c)
{
    (c->param[PICK_PREFIX].dtype == IG_U32 ? pick_32 : pick_64)(c);
    return IG_OK;
}

ig_status cpu_kernel_rank_value(const cpu_kernel_call *c)
{
    const ig_dtype dtype = c->param[VALUE_OUT].dtype;
    const order o = dtype_is_float(dtype)                ? FLOATS
                    : dtype == IG_I32 || dtype == IG_I64 ? SIGNED
                                                         : UNSIGNED;
    (c->param[PICK_PREFIX].dtype == IG_U32 ? value_32 : value_64)(c, o);
    return IG_OK;
}
