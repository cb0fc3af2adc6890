/* NVIDIA GPUs: finds and describes them, opens and closes them. */
#include "engine/backend/cuda/cuda.h"
#include "engine/backend/cuda/find.h"
#include "engine/backend/cuda/native.h"

#include "engine/backend/search.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"

#include <stdio.h>
#include <string.h>

enum { DEVICES_MAX = 16, CAPABILITY_NEEDED = 60 };

cuda_api cu;

static void look(void);
static cuda_device devices[DEVICES_MAX];
device_search cuda_search = {.look = look,
                             .devices = devices,
                             .device_bytes = sizeof *devices,
                             .most = DEVICES_MAX,
                             .what = "CUDA",
                             .lock = PTHREAD_MUTEX_INITIALIZER};
static const backend vtable;

static const char *error_text(CUresult status)
{
    char *text = thread_text();
    const char *name = NULL, *said = NULL;
    if (cu.error_name(status, &name) != CUDA_SUCCESS)
        name = NULL;
    if (cu.error_text(status, &said) != CUDA_SUCCESS)
        said = NULL;
    if (!text)
        return name ? name : "an unknown error";
    snprintf(text, THREAD_TEXT_BYTES, "%s (%s)", name ? name : "an unknown error",
             said ? said : "the driver does not say more");
    return text;
}

/* True for errors that make the context unusable. */
static bool is_sticky(CUresult status)
{
    return (status >= CUDA_ERROR_ILLEGAL_ADDRESS && status < 720 &&
            status != CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) ||
           status == 214 /* ECC */ || status == 46 /* device unavailable */;
}

/* Such an error is caused by a launch since the last wait, not by the call that reports it. */
void cuda_note(cuda_device *d, CUresult status, const char *what)
{
    char names[FLIGHT_TEXT_BYTES];
    if (!is_sticky(status) || d->base.is_lost)
        return;
    flight_text(&d->flight, names);
    snprintf(d->dead, sizeof d->dead, "%s: %s%s%s", what, error_text(status),
             names[0] ? ", by " : "", names);
    d->base.is_lost = true;
}

CUresult cuda_wait(cuda_device *d)
{
    const CUresult status = cu.stream_wait(d->stream);
    if (status == CUDA_SUCCESS)
        flight_clear(&d->flight);
    return status;
}

ig_status cuda_check(cuda_device *d, CUresult status, const char *what)
{
    if (status == CUDA_SUCCESS)
        return IG_OK;
    cuda_note(d, status, what);
    if (d->base.is_lost)
        FAIL(IG_ERR_DEVICE, "%s failed earlier (%s) and cannot go on; restart the process",
             d->base.name, d->dead);
    FAIL(status == CUDA_ERROR_OUT_OF_MEMORY ? IG_ERR_MEMORY : IG_ERR_DEVICE, "%s: %s: %s",
         d->base.name, what, error_text(status));
}

/* ---- properties ---- */

static void because(const char *what, CUresult status, const char *remedy)
{
    search_because(&cuda_search, what, status == CUDA_SUCCESS ? NULL : error_text(status), remedy);
}

/* 0 if the driver does not report it; then the device is not used. */
static int attribute(cuda_device *d, CUdevice_attribute what)
{
    int value = 0;
    const CUresult status = cu.device_attribute(&value, what, d->id);
    if (status != CUDA_SUCCESS) {
        d->unknown = true;
        because("the driver does not describe its GPU", status,
                "nvidia-smi, to see what is wrong with it");
    }
    return status == CUDA_SUCCESS ? value : 0;
}

static bool device_look(cuda_device *d)
{
    backend_limits *l = &d->base.dev.limits;
    size_t memory = 0;
    CUresult status = cu.device_name(d->model, sizeof d->model, d->id);
    if (status == CUDA_SUCCESS)
        status = cu.device_memory(&memory, d->id);
    if (status != CUDA_SUCCESS) {
        because("the driver does not describe its GPU", status,
                "nvidia-smi, to see what is wrong with it");
        return false;
    }
    d->base.pool.total = memory;
    d->cores = attribute(d, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    const uint64_t l2_bytes = (uint64_t)attribute(d, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    d->capability = 10 * attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                    attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    *l = (backend_limits){
        .version = d->capability,
        .subgroup = attribute(d, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .threads = (uint64_t)attribute(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .thread_at = {(uint64_t)attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                      (uint64_t)attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                      (uint64_t)attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .shared_bytes =
            (uint64_t)attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        .alloc_bytes = memory,
        .param_bytes = 4096,
        .buffers = 512,
        .processors = d->cores,
        .f16 = true,
        .f64 = true,
        .atomics_i64 = true,
        .shuffles = true,
        .subnormals = true,
        .exact_division = true,
        .extremes = true,
        .unified = attribute(d, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0,
    };
    d->base.dev.native = cuda_is_hopper(d) ? &cuda_native_hopper : &cuda_native_programs;
    snprintf(d->level, sizeof d->level, "compute capability %d.%d", d->capability / 10,
             d->capability % 10);
    snprintf(d->features, sizeof d->features, "f16 f64 atomics64 subnormals exact-division%s",
             l->unified ? " unified-memory" : "");
    d->base.dev.facts = (ig_device_info){.kind = "gpu",
                                         .model = d->model,
                                         .level = d->level,
                                         .isa = d->features,
                                         .cores = d->cores,
                                         .memory = memory,
                                         .cache = {0, l2_bytes, 0}};
    if (d->unknown)
        return false;
    if (d->capability < CAPABILITY_NEEDED)
        because("the GPU is older than compute capability 6.0", CUDA_SUCCESS,
                "use it through OpenCL");
    return d->capability >= CAPABILITY_NEEDED;
}

static void device_add(int ordinal)
{
    cuda_device *d = (cuda_device *)driver_add(&cuda_search, &vtable, &cuda_pool);
    if (d && cu.device_get(&d->id, ordinal) == CUDA_SUCCESS && device_look(d))
        cuda_search.count++;
}

static void look(void)
{
    int64_t began = trace_begin();
    const char *remedy = NULL, *why = cuda_api_load(&cu, &remedy);
    int n = 0;
    trace_end(began, "load libcuda");
    if (why) {
        because(why, CUDA_SUCCESS, remedy);
        return;
    }
    began = trace_begin();
    CUresult status = cu.init(0);
    trace_end(began, "start the driver");
    if (status == CUDA_SUCCESS)
        status = cu.device_count(&n);
    if (status != CUDA_SUCCESS)
        because("the driver does not start", status, "nvidia-smi, to see what is wrong with it");
    for (int i = 0; status == CUDA_SUCCESS && i < n; i++)
        device_add(i);
    because("there is a driver, but no GPU", CUDA_SUCCESS,
            "nvidia-smi, to see what the driver finds");
}

/* ---- open and close ---- */

/* Called with the context current. */
static void close_parts(cuda_device *d)
{
    if (d->staged)
        cu.event_destroy(d->staged);
    if (d->given)
        cu.event_destroy(d->given);
    if (d->staging)
        cu.host_free(d->staging);
    for (int i = 0; i < 3; i++)
        if ((CUstream[]){d->stream, d->up, d->down}[i])
            cu.stream_destroy((CUstream[]){d->stream, d->up, d->down}[i]);
    d->up = d->down = NULL;
    d->staged = NULL;
    d->given = NULL;
    d->staging = NULL;
    d->stream = NULL;
}

static ig_status open_context(cuda_device *d)
{
    CUcontext context = NULL;
    int64_t began = trace_begin();
    TRY(cuda_check(d, cu.context_retain(&context, d->id), "opening the context"));
    trace_end(began, "open the context");
    began = trace_begin();
    CUresult status = cu.context_push(context);
    if (status == CUDA_SUCCESS) {
        status = cu.stream_create(&d->stream, CU_STREAM_NON_BLOCKING);
        if (status == CUDA_SUCCESS)
            status = cu.host_alloc(&d->staging, CUDA_STAGING_BYTES, 0);
        if (status == CUDA_SUCCESS)
            status = cu.event_create(&d->staged, CU_EVENT_DISABLE_TIMING);
        if (status != CUDA_SUCCESS)
            close_parts(d);
        cu.context_pop(&(CUcontext){NULL});
    }
    trace_end(began, "allocate staging memory");
    if (status == CUDA_SUCCESS)
        d->context = context;
    else
        cu.context_release(d->id);
    return cuda_check(d, status, "opening the context");
}

ig_status cuda_use(const backend *dev)
{
    cuda_device *d = cuda_device_of(dev);
    if (d->base.is_lost)
        return cuda_check(d, CUDA_ERROR_LAUNCH_FAILED, "an earlier command");
    if (!d->context)
        TRY(open_context(d));
    return cuda_check(d, cu.context_push(d->context), "using the context");
}

void cuda_unuse(const backend *dev)
{
    (void)dev;
    cu.context_pop(&(CUcontext){NULL});
}

bool cuda_push(cuda_device *d)
{
    return d->context && search_is_ours(&cuda_search) &&
           cu.context_push(d->context) == CUDA_SUCCESS;
}

/* Returns pooled memory; if no buffer and no kernel is left, closes the device. It can be opened
 * again later, even after an error that destroyed the context: if that does not help, the driver reports it. */
static void release(const backend *dev)
{
    cuda_device *d = cuda_device_of(dev);
    pthread_mutex_lock(&d->base.lock);
    const bool current = cuda_push(d);
    if (current && !d->base.is_lost)
        cu.stream_wait(d->stream);
    if (d->context)
        pool_trim(&d->base.pool);
    cuda_native_release(d);
    const bool closes = d->context && d->base.pool.used == 0 && d->n_kernels == 0;
    if (closes)
        close_parts(d);
    if (current)
        cu.context_pop(&(CUcontext){NULL});
    if (closes) {
        cu.context_release(d->id);
        d->context = NULL;
        d->base.is_open = d->base.is_lost = false;
        flight_clear(&d->flight);
    }
    pthread_mutex_unlock(&d->base.lock);
}

static const backend vtable = {
    DRIVER_ENTRIES,
    .driver = &cuda_driver,
    .library = find_about,
    .alloc_visible = cuda_alloc_visible,
    .release = release,
    .language = "cuda",
    .copies_peers = true,
    .kernel_build = cuda_kernel_build,
    .builds_in_threads = true,
    .kernels_build = cuda_kernels_build,
    .kernel_discard = cuda_kernel_discard,
    .kernel_launch = cuda_kernel_launch,
    .native = &cuda_native_programs, /* device_look may choose another table */
    .replay = &cuda_replays,
    .share = &cuda_shared,
    .stream = &cuda_streams,
};

const backend_family backend_cuda = {.name = "cuda", .search = &cuda_search};
