/* OpenCL devices: finds and describes them, opens and closes them. GPUs come first, then accelerators, then
 * CPUs; each is a separate backend. */
#include "engine/backend/opencl/opencl.h"

#include "engine/backend/search.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { DEVICES_MAX = 16, IDS_MAX = 32, VERSION_NEEDED = 102, WINDOW_ALIGN = 4096 };

opencl_api cl;

static void look(void);
static opencl_device devices[DEVICES_MAX];
device_search opencl_search = {.look = look,
                               .devices = devices,
                               .device_bytes = sizeof *devices,
                               .most = DEVICES_MAX,
                               .what = "OpenCL",
                               .lock = PTHREAD_MUTEX_INITIALIZER};
static const backend vtable;

ig_status opencl_check(const opencl_device *d, cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return IG_OK;
    const bool memory =
        status == CL_OUT_OF_HOST_MEMORY || status == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    FAIL(memory ? IG_ERR_MEMORY : IG_ERR_DEVICE, "%s: %s: %s", d->base.name, what,
         opencl_status_name(status));
}

/* ---- properties ---- */

static void because(const char *what, cl_int status, const char *remedy)
{
    search_because(&opencl_search, what, status == CL_SUCCESS ? NULL : opencl_status_name(status),
                   remedy);
}

static const char look_again[] = "clinfo, and install the device's driver again";

/* Reads a number of 4 or 8 bytes. */
static cl_int device_number(cl_device_id id, cl_device_info what, uint64_t *out)
{
    uint64_t wide = 0;
    uint32_t narrow;
    size_t got = 0;
    const cl_int status = cl.clGetDeviceInfo(id, what, sizeof wide, &wide, &got);
    memcpy(&narrow, &wide, sizeof narrow);
    *out = got == sizeof narrow ? narrow : wide;
    return status;
}

/* Copies text, without leading blanks, cut to the room. */
static cl_int text_keep(cl_int status, const char *all, char *out, size_t room)
{
    snprintf(out, room, "%s", all + strspn(all, " \t\n"));
    return status;
}

static cl_int platform_text(cl_platform_id id, cl_platform_info what, char *out, size_t room)
{
    char all[1024] = "";
    return text_keep(cl.clGetPlatformInfo(id, what, sizeof all - 1, all, NULL), all, out, room);
}

static cl_int device_text(cl_device_id id, cl_device_info what, char *out, size_t room)
{
    char all[1024] = "";
    return text_keep(cl.clGetDeviceInfo(id, what, sizeof all - 1, all, NULL), all, out, room);
}

static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

bool opencl_is_nvidia(const opencl_device *d)
{
    return strcmp(d->platform_name, "NVIDIA CUDA") == 0;
}

static cl_int read_facts(opencl_device *d)
{
    backend_limits *l = &d->base.dev.limits;
    uint64_t cores = 0, f32 = 0, f64 = 0, unified = 0;
    size_t axes[8] = {0};
    const struct {
        cl_device_info what;
        uint64_t *to;
    } numbers[] = {
        {CL_DEVICE_MAX_COMPUTE_UNITS, &cores},
        {CL_DEVICE_GLOBAL_MEM_SIZE, &d->memory},
        {CL_DEVICE_MAX_WORK_GROUP_SIZE, &l->threads},
        {CL_DEVICE_LOCAL_MEM_SIZE, &l->shared_bytes},
        {CL_DEVICE_MAX_MEM_ALLOC_SIZE, &l->alloc_bytes},
        {CL_DEVICE_MAX_PARAMETER_SIZE, &l->param_bytes},
        {CL_DEVICE_SINGLE_FP_CONFIG, &f32},
        {CL_DEVICE_DOUBLE_FP_CONFIG, &f64},
        {CL_DEVICE_HOST_UNIFIED_MEMORY, &unified},
    };
    cl_int status = CL_SUCCESS;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == CL_SUCCESS; i++)
        status = device_number(d->id, numbers[i].what, numbers[i].to);
    if (status == CL_SUCCESS)
        status = cl.clGetDeviceInfo(d->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof axes, axes, NULL);
    d->cores = (int)cores;
    if (opencl_is_nvidia(d)) /* it reports a quarter of the memory, but allows all of it */
        l->alloc_bytes = d->memory;
    d->base.pool.total = d->memory;
    d->base.pool.block_most = l->alloc_bytes;
    d->base.pool.cached_most =
        unified ? d->memory / 8 : 0; /* other programs need the memory, too */
    l->subnormals = f32 & CL_FP_DENORM;
    l->exact_division = f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    l->f64 = f64 != 0;
    l->unified = unified != 0;
    l->cpu = strcmp(d->kind, "cpu") == 0;
    if (l->cpu && l->unified)
        l->reach_bytes = l->alloc_bytes / 2 / WINDOW_ALIGN * WINDOW_ALIGN;
    l->buffers = (int)(l->param_bytes / (sizeof(void *) + sizeof(cl_ulong)));
    for (int i = 0; i < 3; i++)
        l->thread_at[i] = axes[i];
    return status;
}

static void read_subgroup(opencl_device *d, const char *extensions)
{
    static const struct {
        const char *extension;
        cl_device_info what;
    } rows[] = {{"cl_nv_device_attribute_query", CL_DEVICE_WARP_SIZE_NV},
                {"cl_amd_device_attribute_query", CL_DEVICE_WAVEFRONT_WIDTH_AMD}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t width = 0;
        if (has_word(extensions, rows[i].extension) &&
            device_number(d->id, rows[i].what, &width) == CL_SUCCESS)
            d->base.dev.limits.subgroup = (int)width;
    }
}

/* NVIDIA's properties: minimum and maximum of floats are instructions since compute capability 8.0. */
static void read_nvidia(opencl_device *d, const char *extensions)
{
    backend_limits *l = &d->base.dev.limits;
    uint64_t major = 0;
    if (!opencl_is_nvidia(d) || !has_word(extensions, "cl_nv_device_attribute_query"))
        return;
    if (device_number(d->id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, &major) == CL_SUCCESS)
        l->extremes = major >= 8;
    l->masked_shuffles = !l->shuffles && l->subgroup == 32;
}

static cl_int read_extensions(opencl_device *d)
{
    backend_limits *l = &d->base.dev.limits;
    size_t bytes = 0;
    cl_int status = cl.clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes);
    if (status != CL_SUCCESS)
        return status;
    char *all = memory_new(bytes + 1);
    if (!all)
        return CL_OUT_OF_HOST_MEMORY;
    status = cl.clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, bytes, all, NULL);
    l->f16 = has_word(all, "cl_khr_fp16");
    l->f64 = l->f64 || has_word(all, "cl_khr_fp64");
    l->atomics_i64 = has_word(all, "cl_khr_int64_base_atomics") &&
                     has_word(all, "cl_khr_int64_extended_atomics");
    l->shuffles =
        has_word(all, "cl_khr_subgroup_shuffle") && has_word(all, "cl_khr_subgroup_ballot");
    if (status == CL_SUCCESS) {
        read_subgroup(d, all);
        read_nvidia(d, all);
    }
    memory_free(all);
    snprintf(d->features, sizeof d->features, "%s%s%s%s%s%s", l->f16 ? "f16 " : "",
             l->f64 ? "f64 " : "", l->atomics_i64 ? "atomics64 " : "",
             l->subnormals ? "subnormals " : "", l->exact_division ? "exact-division " : "",
             l->unified ? "unified-memory " : "");
    const size_t used = strlen(d->features);
    d->features[used ? used - 1 : 0] = '\0';
    return status;
}

/* Fills the device; false if it cannot be used. The reason is kept. */
static bool device_look(opencl_device *d)
{
    int major = 0, minor = 0;
    uint64_t available = 0, compiler = 0;
    cl_int status = device_text(d->id, CL_DEVICE_NAME, d->model, sizeof d->model);
    if (status == CL_SUCCESS)
        status = device_text(d->id, CL_DRIVER_VERSION, d->driver, sizeof d->driver);
    if (status == CL_SUCCESS)
        status = device_text(d->id, CL_DEVICE_VERSION, d->version, sizeof d->version);
    if (status == CL_SUCCESS)
        status = device_number(d->id, CL_DEVICE_AVAILABLE, &available);
    if (status == CL_SUCCESS)
        status = device_number(d->id, CL_DEVICE_COMPILER_AVAILABLE, &compiler);
    if (status == CL_SUCCESS)
        status = read_facts(d);
    if (status == CL_SUCCESS)
        status = read_extensions(d);
    if (status != CL_SUCCESS) {
        because("a device does not say what it is", status, look_again);
        return false;
    }
    if (sscanf(d->version, "OpenCL %d.%d", &major, &minor) != 2 ||
        100 * major + minor < VERSION_NEEDED)
        because("a device is older than OpenCL 1.2", CL_SUCCESS, "a newer driver");
    else if (!available || !compiler)
        because(available ? "a device has no compiler" : "a device is not available", CL_SUCCESS,
                look_again);
    d->base.dev.limits.version = 100 * major + minor;
    snprintf(d->level, sizeof d->level, "OpenCL %d.%d", major, minor);
    d->base.dev.facts = (ig_device_info){.kind = d->kind,
                                         .model = d->model,
                                         .level = d->level,
                                         .isa = d->features,
                                         .driver = d->driver,
                                         .cores = d->cores,
                                         .memory = d->memory};
    return d->base.dev.limits.version >= VERSION_NEEDED && available && compiler;
}

/* ---- search ---- */

static void device_add(const char *kind, cl_platform_id platform, cl_device_id id)
{
    opencl_device *d = (opencl_device *)driver_add(&opencl_search, &vtable, &opencl_pool);
    if (!d)
        return;
    d->platform = platform;
    d->id = id;
    d->kind = kind;
    const cl_int named =
        platform_text(platform, CL_PLATFORM_NAME, d->platform_name, sizeof d->platform_name);
    const cl_int dated = platform_text(platform, CL_PLATFORM_VERSION, d->platform_version,
                                       sizeof d->platform_version);
    if (named != CL_SUCCESS || dated != CL_SUCCESS)
        because("a platform does not say what it is", named ? named : dated, look_again);
    else if (device_look(d))
        opencl_search.count++;
}

static void look_at_platforms(void)
{
    static const struct {
        const char *name;
        cl_device_type type;
    } kinds[] = {{"gpu", CL_DEVICE_TYPE_GPU},
                 {"accelerator", CL_DEVICE_TYPE_ACCELERATOR},
                 {"cpu", CL_DEVICE_TYPE_CPU}};
    cl_platform_id platforms[IDS_MAX];
    cl_device_id ids[IDS_MAX];
    cl_uint n = 0, m;
    const char *remedy = NULL, *why = opencl_api_load(&cl, &remedy);
    if (why) {
        because(why, CL_SUCCESS, remedy);
        return;
    }
    const cl_int status = cl.clGetPlatformIDs(IDS_MAX, platforms, &n);
    if (status != CL_SUCCESS && status != CL_PLATFORM_NOT_FOUND_KHR)
        because("the OpenCL loader failed", status, look_again);
    n = status != CL_SUCCESS ? 0 : n < IDS_MAX ? n : IDS_MAX;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (cl_uint p = 0; p < n; p++) {
            m = 0;
            const cl_int asked = cl.clGetDeviceIDs(platforms[p], kinds[k].type, IDS_MAX, ids, &m);
            if (asked != CL_SUCCESS && asked != CL_DEVICE_NOT_FOUND)
                because("a driver does not tell its devices", asked, look_again);
            for (cl_uint i = 0; asked == CL_SUCCESS && i < m && i < IDS_MAX; i++)
                device_add(kinds[k].name, platforms[p], ids[i]);
        }
    because(n ? "there is a driver, but it has no device"
              : "there is an OpenCL loader, but no driver",
            CL_SUCCESS, "apt-get install your device's driver (for the CPU, pocl-opencl-icd)");
}

static void look(void)
{
    opencl_lists lists;
    opencl_lists_keep(&lists);
    look_at_platforms();
    opencl_lists_restore(&lists);
}

/* ---- open and close ---- */

ig_status opencl_use(const backend *dev)
{
    opencl_device *d = opencl_device_of(dev);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)d->platform, 0};
    cl_int status = CL_SUCCESS;
    if (d->context)
        return IG_OK;
    cl_context context = cl.clCreateContext(properties, 1, &d->id, NULL, NULL, &status);
    TRY(opencl_check(d, status, "clCreateContext"));
    d->queue = cl.clCreateCommandQueue(context, d->id, 0, &status);
    if (status != CL_SUCCESS) {
        cl.clReleaseContext(context);
        return opencl_check(d, status, "clCreateCommandQueue");
    }
    d->context = context;
    return IG_OK;
}

/* Closes the device, unless a buffer or kernel of it is still in use. */
static void release(const backend *dev)
{
    opencl_device *d = opencl_device_of(dev);
    if (!driver_lock_open(dev))
        return;
    if (d->context)
        pool_trim(&d->base.pool);
    if (d->context && d->base.pool.used == 0 && d->n_kernels == 0) {
        cl.clFinish(d->queue);
        queue_drop(d);
        cl.clReleaseCommandQueue(d->queue);
        if (d->timed)
            cl.clReleaseCommandQueue(d->timed);
        d->timed = NULL;
        cl.clReleaseContext(d->context);
        d->context = NULL;
        d->base.is_open = false;
    }
    driver_unlock(dev);
}

/* ---- the backend ---- */

static const backend vtable = {
    DRIVER_ENTRIES,
    .driver = &opencl_driver,
    .release = release,
    .language = "opencl",
    .kernel_build = opencl_kernel_build,
    .kernels_build = opencl_kernels_build,
    .kernel_discard = opencl_kernel_discard,
    .kernel_launch = opencl_kernel_launch,
};

const backend_family backend_opencl = {.name = "opencl", .search = &opencl_search};
