/* The memory of devices as ingot.h reports it: the device's pool, or the budget of the process. */
#include "base/sized.h"
#include "engine/backend/pool.h"
#include "base/error.h"
#include "engine/eval/engine.h"
#include "engine/eval/device_list.h"

static ig_status find_device(const char *name, const backend **dev)
{
    *dev = name ? backend_find(name) : engine_device();
    return *dev ? IG_OK : backend_missing(name);
}

ig_status ig_device_memory(const char *device, ig_memory_info *info)
{
    const backend *dev;
    TRY(require_pointer("device_memory", "info", info));
    TRY(find_device(device, &dev));
    const memory_pool *p = dev->pool;
    const ig_memory_info own = {.limit = p ? pool_limit(p) : ig_memory_limit(),
                                .used = p ? atomic_load(&p->used) : ig_memory_used(),
                                .peak = p ? atomic_load(&p->peak) : ig_memory_peak(),
                                .cached = p ? atomic_load(&p->cached) : 0,
                                .largest = dev->limits.alloc_bytes};
    return sized_write(SIZED(ig_memory_info, largest), info, &own);
}

static ig_status set_limit(const backend *dev, uint64_t bytes)
{
    if (!dev->pool)
        return ig_set_memory_limit(bytes);
    atomic_store(&dev->pool->limit_set, bytes);
    return IG_OK;
}

/* Each device of a list gets the limit. */
ig_status ig_set_device_memory_limit(const char *device, uint64_t bytes)
{
    const backend *list[BACKEND_LIST_MOST] = {engine_device()};
    const device_list *g = device ? NULL : device_list_of(list[0]);
    const int n = device ? backend_list(device, list) : g ? g->n : 1;
    for (int i = 0; i < n; i++)
        TRY(set_limit(g ? g->dev[i] : list[i], bytes));
    return n ? IG_OK : error_waiting(IG_ERR_DEVICE);
}
