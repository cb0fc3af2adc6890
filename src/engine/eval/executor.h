/* How a device runs the programs of a schedule. There are two ways, and the rest of the engine sees only this table:
 *
 *   executor_direct    the device runs programs itself: the CPU, null
 *   executor_emitted   the device compiles kernels, which the engine emits: CUDA, OpenCL, Metal, gang
 *
 * A schedule is prepared once. A run arranges, launches chain by chain, and finishes. User kernels and programs that
 * the CPU runs for the device are launched elsewhere (run.c). The engine's lock is held. */
#ifndef ENGINE_EXECUTOR_H
#define ENGINE_EXECUTOR_H

#include "engine/backend/backend.h"
#include "engine/graph/graph.h"

struct run;
struct module_batch;

typedef struct executor {
    /* The device's rules for building schedules. */
    schedule_rules (*rules)(const backend *dev);
    /* IG_ERR_UNSUPPORTED, with the reason as the error, if the device cannot run a program of s. Compiles nothing.
     * NULL: the device runs every program, so nothing falls back. */
    ig_status (*support)(schedule *s, const backend *dev);
    /* Bytes that launches of s need in addition to its slots. Compiles nothing; does not know the memory of native code.
     * NULL: the device keeps none. */
    uint64_t (*scratch)(const schedule *s, const backend *dev);
    /* Prepares the i-th program; for a chain it is called with the first program. If the builds of kernels are deferred
     * to a batch, a second call without it takes them. */
    ig_status (*prepare)(schedule *s, int i, const backend *dev, struct module_batch *batch);
    void (*discard)(program *p, const backend *dev);
    /* Called before the launches of a run, when its slots are bound: reserves memory, passes numbers by value. */
    ig_status (*arrange)(const struct run *r);
    /* The two parts of arrange that a run of many steps needs: reserves memory, and passes new bindings. NULL: nothing to
     * do. */
    ig_status (*reserve)(const schedule *s, const backend *dev);
    ig_status (*rebind)(const struct run *r);
    /* Launches the chain that starts with p. With device_ns it waits, and adds the time on the device. */
    ig_status (*launch)(const struct run *r, const program *p, uint64_t *device_ns);
    /* Called after the last launch or the first failure. status: the result so far. launched: at least one launch was
     * made. Returns status, or the first failure. */
    ig_status (*finish)(const struct run *r, ig_status status, bool launched);
    /* The name of the native code that runs the program's core, or NULL; used if backend.core_name is NULL. */
    const char *(*core_name)(const program *p);
} executor;

extern const executor executor_direct, executor_emitted;

static inline const executor *executor_of(const backend *dev)
{
    return dev->launch ? &executor_direct : &executor_emitted;
}

#endif
