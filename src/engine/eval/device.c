/* The devices of arrays: the current device, the device of an array, waiting, and the number of threads. */
#include "base/sized.h"
#include "engine/eval/emitted.h"
#include "engine/eval/engine.h"
#include "engine/eval/device_list.h"

#include "base/error.h"
#include "base/threads.h"

/* Finds a device by the name that arrays carry. Names and devices keep their addresses, so the last result is
 * cached. */
static const backend *device_named(const char *name)
{
    static _Thread_local const char *last;
    static _Thread_local const backend *found;
    if (name == backend_cpu.name)
        return &backend_cpu;
    if (name != last) {
        const backend *dev = backend_find(name);
        if (!dev)
            return &backend_cpu;
        last = name;
        found = dev;
    }
    return found;
}

const backend *engine_device(void) { return device_named(array_device_now()); }

/* The device of an array now, or when it will be evaluated. */
const backend *engine_device_of(const ig_array *x)
{
    const char *name = x->root->device;
    return device_named(name ? name : array_device_now());
}

const char *ig_array_device(const ig_array *x) { return x ? engine_device_of(x)->name : NULL; }

const char *ig_device(void)
{
    const backend *dev = engine_device();
    const device_list *g = device_list_of(dev);
    return g ? g->name : dev->name;
}

ig_status ig_set_device(const char *name)
{
    if (name && backend_is_list(name))
        return device_list_set(name);
    const backend *found = name ? backend_find(name) : NULL;
    if (!found)
        return backend_missing(name ? name : "");
    if (found->no_arrays)
        FAIL(IG_ERR_UNSUPPORTED, "device '%s': %s", found->name, found->no_arrays);
    array_device_set(found->name);
    device_list_clear();
    return IG_OK;
}

int ig_device_count(void) { return backend_count(); }

ig_status ig_device_get(int i, ig_device_info *info)
{
    TRY(require_pointer("device_get", "info", info));
    const backend *dev = backend_at(i);
    if (!dev)
        FAIL(IG_ERR_ARGUMENT, "device %d: there are %d", i, backend_count());
    ig_device_info own = {0};
    TRY(dev->describe(dev, &own));
    own.runs_arrays = dev->computes && !dev->no_arrays;
    own.runs_kernels = backend_runs_kernels(dev);
    own.flushes_subnormals = own.runs_arrays && !dev->limits.subnormals;
    return sized_write(SIZED(ig_device_info, flushes_subnormals), info, &own);
}

const ig_absent *ig_device_absent(int i)
{
    static _Thread_local ig_absent absent;
    return i >= 0 && backend_absent(i, &absent) ? &absent : NULL;
}

const ig_library *ig_device_library(const char *device, int i)
{
    const backend *dev = device ? backend_find(device) : NULL;
    return dev && dev->library ? dev->library(i) : NULL;
}

ig_status ig_synchronize(const char *device)
{
    const backend *list[BACKEND_LIST_MOST] = {engine_device()};
    const device_list *g = device ? NULL : device_list_of(list[0]);
    const int n = device ? backend_list(device, list) : g ? g->n : 1;
    ig_status status = n ? IG_OK : error_waiting(IG_ERR_DEVICE);
    for (int i = 0; i < n && status == IG_OK; i++) {
        engine_enter();
        status = emitted_finish(g ? g->dev[i] : list[i]);
        engine_leave();
    }
    return status;
}

ig_status ig_set_threads(int n)
{
    if (n < 0)
        FAIL(IG_ERR_ARGUMENT, "threads: %d is negative; 0 asks for the default", n);
    engine_enter(); /* a running evaluation relies on the number of workers */
    cpu_turn_begin();
    pool_set_threads(n);
    cpu_turn_end();
    engine_leave();
    return IG_OK;
}

int ig_threads(void) { return pool_threads(); }
