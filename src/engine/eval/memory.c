/* The memory of devices as ingot.h reports it: the device's pool, or the budget of the process. */
#include "base/sized.h"
#include "engine/backend/pool.h"
#include "base/error.h"
#include "engine/eval/engine.h"

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

ig_status ig_set_device_memory_limit(const char *device, uint64_t bytes)
{
    const backend *dev;
    TRY(find_device(device, &dev));
    if (!dev->pool)
        return ig_set_memory_limit(bytes);
    atomic_store(&dev->pool->limit_set, bytes);
    return IG_OK;
}
