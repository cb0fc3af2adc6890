/* The Apple GPU of a machine: finding, describing, opening and closing it. */
#include "engine/backend/metal/metal.h"

#include "base/error.h"
#include "base/machine.h"
#include "engine/backend/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 600, THREADS_MOST = 1024, SIMD_WIDTH = 32, NEWER_FAMILIES = 8 };

static void look(void);
static metal_device device;
device_search metal_search = {.look = look,
                              .devices = &device,
                              .device_bytes = sizeof device,
                              .most = 1,
                              .what = "Metal",
                              .lock = PTHREAD_MUTEX_INITIALIZER};
static const backend vtable;

const char *metal_error_text(id error, const char *otherwise)
{
    const char *text = objc_send(utf8, objc_send(description, error));
    return text ? text : otherwise;
}

/* ---- properties of the device ---- */

static bool because(const char *why, const char *remedy)
{
    search_because(&metal_search, why, NULL, remedy);
    return false;
}

/* The newest family of Apple's GPUs that the device belongs to: 7 for Apple7. Family numbers are consecutive, so this
 * also tries some newer ones that Metal has no name for today. */
static int family_of(const metal_device *d)
{
    for (NSInteger f = MTLGPUFamilyApple9 + NEWER_FAMILIES; f >= MTLGPUFamilyApple1; f--)
        if (objc_send(supports_family, d->device, f))
            return (int)(f - MTLGPUFamilyApple1) + 1;
    return 0;
}

/* Older GPUs have other simdgroups or their own memory, and no simdgroup matrices. */
static bool can_use(const metal_device *d, int family)
{
    char why[WHY_BYTES];
    if (family >= MTLGPUFamilyApple7 - MTLGPUFamilyApple1 + 1 && objc_send(is_unified, d->device))
        return true;
    if (family)
        snprintf(why, sizeof why,
                 "'%s' is of the GPU family Apple%d; Apple7 (M1) or newer is needed", d->model,
                 family);
    else
        snprintf(why, sizeof why, "'%s' is not an Apple GPU; Apple7 (M1) or newer is needed",
                 d->model);
    return because(why, "use the CPU device");
}

static void set_limits(metal_device *d, int family)
{
    const NSUInteger most = objc_send(buffer_most, d->device);
    const uint64_t budget = objc_send(working_set, d->device);
    d->memory = (uint64_t)machine_get()->memory_bytes;
    d->base.pool.total = budget;
    d->base.pool.block_most = most < budget ? most : budget;
    d->base.pool.cached_most = budget / 4; /* other programs need memory too */
    d->base.dev.limits = (backend_limits){
        .version = 203,
        .subgroup = SIMD_WIDTH,
        .threads = THREADS_MOST,
        .thread_at = {THREADS_MOST, THREADS_MOST, THREADS_MOST},
        .shared_bytes = objc_send(shared_most, d->device),
        .alloc_bytes = most < budget ? most : budget,
        .reach_bytes = most / 2 / METAL_PAGE * METAL_PAGE,
        .buffers = METAL_BUFFERS,
        .f16 = true,
        .shuffles = true,
        .matrices = true,
        .exact_division = true,
        .unified = true,
    };
    snprintf(d->family, sizeof d->family, "Apple%d", family);
    snprintf(d->features, sizeof d->features, "f16 exact-division simdgroup-matrix unified-memory");
    snprintf(d->note, sizeof d->note,
             "no f64; f32 may flush subnormal numbers to zero; arrays beyond %.1f GiB run in tiles",
             (double)d->base.dev.limits.alloc_bytes / (1 << 30));
    d->base.dev.facts = (ig_device_info){.kind = "gpu",
                                         .model = d->model,
                                         .level = d->family,
                                         .isa = d->features,
                                         .note = d->note,
                                         .memory = d->memory};
}

static bool device_look(metal_device *d)
{
    void *pool = objc.pool_push();
    d->device = objc.default_device();
    const char *model = objc_send(utf8, objc_send(device_name, d->device));
    snprintf(d->model, sizeof d->model, "%s", model ? model : "");
    const int family = family_of(d);
    bool usable = d->device ? can_use(d, family)
                            : because("Metal has no device", "system_profiler SPDisplaysDataType");
    if (usable) {
        const char *library = getenv("IG_METAL");
        set_limits(d, family);
        d->base.dev.facts.cores = metal_core_count(library && *library ? library : NULL);
        usable = d->base.pool.total && d->base.dev.limits.alloc_bytes
                     ? mps_look(d) ||
                           because("IG_MPS must be measured, measure, on or off", "unset IG_MPS")
                     : because("the GPU has no memory", NULL);
    }
    if (!usable) {
        objc_send(release, d->device);
        d->device = NULL;
    }
    objc.pool_pop(pool);
    return usable;
}

static void look(void)
{
    const char *remedy = NULL, *why = objc_load(&remedy);
    if (why)
        because(why, remedy);
    else if (driver_add(&metal_search, &vtable, &metal_pool))
        metal_search.count = device_look(&device);
}

/* ---- open and close ---- */

ig_status metal_use(const backend *dev)
{
    metal_device *d = metal_device_of(dev);
    if (!d->queue)
        d->queue = objc_send(new_queue, d->device);
    if (!d->queue)
        FAIL(IG_ERR_DEVICE, "%s gives no command queue", dev->name);
    return IG_OK;
}

void metal_begin(const backend *dev) { metal_device_of(dev)->autorelease = objc.pool_push(); }
void metal_end(const backend *dev) { objc.pool_pop(metal_device_of(dev)->autorelease); }

/* Waits, and closes the queue. Buffers and kernels of callers stay valid. */
static void release(const backend *dev)
{
    metal_device *d = metal_device_of(dev);
    if (!driver_lock_open(dev))
        return;
    const bool failed = ig_failed();
    if (metal_settle_all(d, NULL) != IG_OK && !failed)
        ig_error(NULL);
    pool_trim(&d->base.pool);
    objc_send(release, d->queue);
    d->queue = NULL;
    d->base.is_open = d->base.pool.used != 0;
    if (!d->base.is_open) {
        objc_send(release, d->device);
        d->device = NULL;
    }
    driver_unlock(dev);
}

/* ---- the backend ---- */

static const backend vtable = {
    DRIVER_ENTRIES,
    .driver = &metal_driver,
    .alloc_visible = driver_alloc,
    .wrap = metal_wrap,
    .release = release,
    .language = "metal",
    .kernel_build = metal_kernel_build,
    .kernel_discard = metal_kernel_discard,
    .kernel_launch = metal_kernel_launch,
    .native = &metal_native_programs,
};

const backend_family backend_metal = {.name = "metal", .search = &metal_search};
