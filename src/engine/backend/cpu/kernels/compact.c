/* kernels/compact.cu on the CPU: a task counts or writes the positions of some tiles of a mask. */
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

#include <string.h>

enum {
    TILE = 4096,     /* TILE of the kernel */
    TILES_EACH = 16, /* of a task */
};
typedef struct compact_job {
    const uint8_t *mask;
    uint32_t *count; /* of a tile */
    const int64_t *begin;
    int64_t *place, size;
} compact_job;

static int64_t tiles_of(int64_t size) { return (size + TILE - 1) / TILE; }

/* Calls do_tile for the tiles of a task. */
static void each_tile(int64_t task, const compact_job *j,
                      void (*do_tile)(const compact_job *, int64_t, int64_t, int64_t))
{
    const int64_t end = (task + 1) * TILES_EACH, tiles = tiles_of(j->size);
    for (int64_t t = task * TILES_EACH; t < end && t < tiles; t++)
        do_tile(j, t, t * TILE, (t + 1) * TILE < j->size ? (t + 1) * TILE : j->size);
}

static void count_tile(const compact_job *j, int64_t tile, int64_t first, int64_t end)
{
    uint32_t n = 0;
    for (int64_t i = first; i < end; i++)
        n += j->mask[i] != 0;
    j->count[tile] = n;
}

static void put_tile(const compact_job *j, int64_t tile, int64_t first, int64_t end)
{
    int64_t *to = j->place + j->begin[tile];
    for (int64_t i = first; i < end; i += 8) {
        uint64_t eight = 0;
        const int64_t n = end - i < 8 ? end - i : 8;
        memcpy(&eight, j->mask + i, (size_t)n);
        for (int64_t k = 0; eight && k < n; k++)
            if (j->mask[i + k])
                *to++ = i + k;
    }
}

static void count_task(void *context, int64_t task, int worker)
{
    (void)worker;
    each_tile(task, context, count_tile);
}

static void put_task(void *context, int64_t task, int worker)
{
    (void)worker;
    each_tile(task, context, put_tile);
}

static int64_t tasks_of(int64_t size) { return (tiles_of(size) + TILES_EACH - 1) / TILES_EACH; }

ig_status cpu_kernel_compact_count(const cpu_kernel_call *c)
{
    compact_job j = {.mask = cpu_call_array(c, "mask"),
                     .count = cpu_call_array(c, "count"),
                     .size = cpu_call_number(c, "size")};
    pool_run(tasks_of(j.size), count_task, &j);
    return IG_OK;
}

ig_status cpu_kernel_compact_put(const cpu_kernel_call *c)
{
    compact_job j = {.mask = cpu_call_array(c, "mask"),
                     .begin = cpu_call_array(c, "begin"),
                     .place = cpu_call_array(c, "place"),
                     .size = cpu_call_number(c, "size")};
    pool_run(tasks_of(j.size), put_task, &j);
    return IG_OK;
}
