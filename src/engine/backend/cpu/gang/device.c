/* The CPU as a device without native programs: the engine emits every program as a kernel, and the CPU's gangs run it.
 * It is slow, and exists so that all emitted kernels can be tested, checked and profiled on a machine without a GPU. */
#include "engine/backend/cpu/gang/kernel.h"

static ig_status describe(const backend *dev, ig_device_info *info)
{
    (void)dev;
    *info = (ig_device_info){
        .name = "gang",
        .kind = "gang",
        .model = "emitted kernels on the CPU: for tests",
        .level = "",
        .levels = "",
        .isa = "",
    };
    return IG_OK;
}

static buffer *alloc(const backend *dev, size_t bytes)
{
    (void)dev;
    return backend_cpu.alloc(&backend_cpu, bytes);
}

static ig_status finish(const backend *dev)
{
    (void)dev;
    return IG_OK;
}

static void release(const backend *dev) { (void)dev; }

const backend backend_gang = {
    .name = "gang",
    .computes = true,
    .describe = describe,
    .alloc = alloc,
    .finish = finish,
    .release = release,
    .limits = {GANG_LIMITS, .shared_bytes = 1 << 17, .processors = 1},
    .write = cpu_memory_write,
    .read = cpu_memory_read,
    .copy = cpu_memory_copy,
    .fill = cpu_memory_fill,
    .kernel_discard = cpu_kernel_discard,
    .lanes = &cpu_lanes,
};
