/* kernels/compact.cu on the CPU: a task counts or writes the positions of some tiles of a mask. */
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

#include <string.h>

enum {
    TILE = 4096,     /* TILE of the kernel */
    TILES_EACH = 16, /* of a task */
};
enum { COUNT_MASK, COUNT_OUT, COUNT_SIZE };
enum { PUT_MASK, PUT_BEGIN, PUT_OUT, PUT_SIZE };

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
    const cpu_kernel_call *c = context;
    (void)worker;
    each_tile(task, call_long(c, COUNT_SIZE), c->at, count_tile);
}

static void put_task(void *context, int64_t task, int worker)
{
    const cpu_kernel_call *c = context;
    (void)worker;
    each_tile(task, call_long(c, PUT_SIZE), c->at, put_tile);
}

static int64_t tasks_of(int64_t size) { return (tiles_of(size) + TILES_EACH - 1) / TILES_EACH; }

ig_status cpu_kernel_compact_count(const cpu_kernel_call *c)
{
    pool_run(tasks_of(call_long(c, COUNT_SIZE)), count_task, (void *)c);
    return IG_OK;
}

ig_status cpu_kernel_compact_put(const cpu_kernel_call *c)
{
    pool_run(tasks_of(call_long(c, PUT_SIZE)), put_task, (void *)c);
    return IG_OK;
}
