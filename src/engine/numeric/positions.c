/* The positions at which a mask is true: nodes of kernels/compact.cu. */
#include "base/error.h"
#include "base/threads.h"
#include "engine/custom/library.h"
#include "engine/ops/composite.h"
#include "engine/ops/evaluate.h"
#include "engine/ops/kernels.h"
#include <string.h>

enum {
    TILE = 4096,     /* TILE of the kernel */
    TILES_EACH = 16, /* of a task */
};
enum { COUNT_MASK, COUNT_OUT, COUNT_SIZE, COUNT_PARAMS };
enum { PUT_MASK, PUT_BEGIN, PUT_OUT, PUT_SIZE, PUT_PARAMS };

/* ---- on the CPU ---- */

static int64_t tiles_of(int64_t size) { return (size + TILE - 1) / TILE; }

/* Calls do_tile for the tiles of a task. */
static void each_tile(int64_t task, int64_t size, void *const *at,
                      void (*do_tile)(void *const *, int64_t, int64_t, int64_t))
{
    const int64_t end = (task + 1) * TILES_EACH, tiles = tiles_of(size);
    for (int64_t t = task * TILES_EACH; t < end && t < tiles; t++)
        do_tile(at, t, t * TILE, (t + 1) * TILE < size ? (t + 1) * TILE : size);
}

static void count_tile(void *const *at, int64_t tile, int64_t first, int64_t end)
{
    const uint8_t *mask = at[COUNT_MASK];
    uint32_t n = 0;
    for (int64_t i = first; i < end; i++)
        n += mask[i] != 0;
    ((uint32_t *)at[COUNT_OUT])[tile] = n;
}

static void put_tile(void *const *at, int64_t tile, int64_t first, int64_t end)
{
    const uint8_t *mask = at[PUT_MASK];
    int64_t *to = (int64_t *)at[PUT_OUT] + ((const int64_t *)at[PUT_BEGIN])[tile];
    for (int64_t i = first; i < end; i += 8) {
        uint64_t eight = 0;
        const int64_t n = end - i < 8 ? end - i : 8;
        memcpy(&eight, mask + i, (size_t)n);
        for (int64_t k = 0; eight && k < n; k++)
            if (mask[i + k])
                *to++ = i + k;
    }
}

static void count_task(void *context, int64_t task, int worker)
{
    void *const *at = context;
    (void)worker;
    each_tile(task, *(const int64_t *)at[COUNT_SIZE], at, count_tile);
}

static void put_task(void *context, int64_t task, int worker)
{
    void *const *at = context;
    (void)worker;
    each_tile(task, *(const int64_t *)at[PUT_SIZE], at, put_tile);
}

static int64_t tasks_of(int64_t size) { return (tiles_of(size) + TILES_EACH - 1) / TILES_EACH; }

static void count_core(void *const *at)
{
    pool_run(tasks_of(*(const int64_t *)at[COUNT_SIZE]), count_task, (void *)at);
}

static void put_core(void *const *at)
{
    pool_run(tasks_of(*(const int64_t *)at[PUT_SIZE]), put_task, (void *)at);
}

/* ---- nodes ---- */

/* They are evaluated at once, so that vmap never builds them again. */
static const library_kernel counting = {
    .file = "compact.cu", .core = count_core, .writes_all = true};
static const library_kernel putting = {.file = "compact.cu", .core = put_core, .writes_all = true};

static ig_array *call(const library_kernel *k, const char *kernel, const ig_arg *args, int n,
                      int64_t blocks)
{
    const ig_kernel_call c = {.kernel = kernel,
                              .args = args,
                              .n_args = n,
                              .grid = {(uint32_t)blocks, 1, 1},
                              .block = {256, 1, 1}};
    ig_array *y;
    return library_call(k, &c, NULL, &y, 1) ? y : NULL;
}

ig_array *kernel_positions(ig_array *mask)
{
    const int64_t size = mask ? ig_size(mask) : 0, tiles = tiles_of(size), none = 0;
    if (!mask || size == 0)
        return mask ? build_fill(0, IG_I64, 1, &none) : NULL;
    if (tiles > INT32_MAX)
        FAIL_NULL(IG_ERR_UNSUPPORTED, "a mask has more than 2^43 elements");
    mask = ig_reshape(mask, IG_SHAPE(size));
    const ig_arg counts[COUNT_PARAMS] = {{.kind = IG_ARG_ARRAY, .u.array = mask},
                                         {.kind = IG_ARG_INT, .u.i = tiles},
                                         {.kind = IG_ARG_INT, .u.i = size}};
    ig_array *count =
        build_cast(call(&counting, "compact_count", counts, COUNT_PARAMS, tiles), IG_I64);
    ig_array *end = ig_cumulative_sum(count, IG_AXES(0), IG_DTYPE_NONE, false);
    ig_array *begin = ig_subtract(end, count), *total = NULL;
    if (end)
        total = ig_slice(end, IG_AXES(tiles - 1), IG_AXES(tiles), IG_NONE);
    ig_array *all[3] = {mask, begin, total};
    if (!begin || !total || evaluate_arrays(all, 3) != IG_OK)
        return NULL;
    const int64_t *n = evaluate_data(total);
    if (!n || *n == 0)
        return n ? build_fill(0, IG_I64, 1, &none) : NULL;
    const ig_arg puts[PUT_PARAMS] = {{.kind = IG_ARG_ARRAY, .u.array = mask},
                                     {.kind = IG_ARG_ARRAY, .u.array = begin},
                                     {.kind = IG_ARG_INT, .u.i = *n},
                                     {.kind = IG_ARG_INT, .u.i = size}};
    return call(&putting, "compact_put", puts, PUT_PARAMS, tiles);
}
