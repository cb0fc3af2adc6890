/* From text to a kernel: by the driver's compiler, or from the cache on disk, which has the binary that the compiler
 * made from the same text for the same device and driver. If the driver no longer accepts a binary, it is deleted,
 * and the text is compiled again. PoCL has its own cache, and would compile a second time to return a binary, so its
 * binaries are not cached here. */
#include "engine/backend/opencl/header.h"
#include "engine/backend/opencl/opencl.h"

#include "base/cache.h"
#include "base/embed.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 3000 };

static const cache binaries = {.kind = "opencl", .max_bytes = (uint64_t)256 << 20};

/* A build, and everything that its result depends on. */
typedef struct building {
    opencl_device *dev;
    const kernel_image *image; /* the first of n images with the same text */
    int n;
    char *prelude;
    char *options;
    char *key;
    size_t key_bytes;
    bool is_pocl;
    bool no_header; /* the prelude declares the functions that the text calls */
} building;

/* A build without the header. */
typedef struct bare {
    bool wanted, tried, refused;
} bare;

INCLUDE_FILE("kernels_opencl", "kernels/opencl.cl");
extern const char kernels_opencl[];

static ig_status prelude_make(building *b, bool no_header)
{
    const bool f64 = b->dev->base.dev.limits.f64;
    const bool nvidia = opencl_is_nvidia(b->dev),
               warp = nvidia && strstr(b->image->source, "ig_warp_");
    const bool extremes =
        nvidia && b->dev->base.dev.limits.extremes && strstr(b->image->source, "ig_fmax_nan");
    text t = {0};
    if (b->is_pocl || warp || extremes)
        text_add(&t, "%s%s%s%s%s", b->is_pocl ? "#define IG_POCL\n" : "",
                 f64 ? "#define IG_F64\n" : "", warp ? "#define IG_WARP\n" : "",
                 extremes ? "#define IG_EXTREMES\n" : "", kernels_opencl);
    b->no_header = b->is_pocl && no_header && opencl_declare(&t, b->image->source, f64);
    b->prelude = text_take(&t);
    return b->prelude ? IG_OK : IG_ERR_MEMORY;
}

static ig_status options_make(building *b)
{
    const opencl_device *d = b->dev;
    const kernel_image *t = b->image;
    text options = {0};
    const char *more = getenv("IG_OPENCL_OPTIONS");
    text_add(&options, "%s%s%s%s%s%s", t->options ? t->options : "", more ? " " : "",
             more ? more : "",
             d->base.dev.limits.exact_division ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
             t->avoid_optimizer && strcmp(d->kind, "cpu") == 0 ? " -cl-opt-disable" : "",
             b->no_header ? " " OPENCL_NO_HEADER : "");
    b->options = text_take(&options);
    return b->options ? IG_OK : IG_ERR_MEMORY;
}

static void building_end(building *b)
{
    memory_free(b->prelude);
    memory_free(b->options);
    memory_free(b->key);
}

/* Each part of the key has its length, so that two keys are equal only if all parts are. */
static ig_status key_make(building *b)
{
    const opencl_device *d = b->dev;
    const kernel_image *t = b->image;
    text key = {0};
    const char *const parts[] = {ig_version(), d->platform_name, d->platform_version, d->model,
                                 d->version,   d->driver,        b->options,          t->entry,
                                 b->prelude,   t->source};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        text_add(&key, "%zu %s\n", strlen(parts[i]), parts[i]);
    b->key_bytes = key.used;
    b->key = text_take(&key);
    return b->key ? IG_OK : IG_ERR_MEMORY;
}

static ig_status building_begin(building *b, opencl_device *d, const kernel_image *t, int n,
                                bool no_header)
{
    *b = (building){.dev = d,
                    .image = t,
                    .n = n,
                    .is_pocl = strcmp(d->platform_name, "Portable Computing Language") == 0};
    TRY(prelude_make(b, no_header));
    TRY(options_make(b));
    return key_make(b);
}

/* ---- the kernel of a program ---- */

typedef struct made {
    cl_kernel kernel;
    cl_uint n_args;
    size_t threads;
    cl_ulong shared_bytes;
} made;

/* A kernel that declares its block size runs with it, even if the driver reports a lower limit for other blocks. */
static cl_int threads_of(const building *b, made *out)
{
    size_t block[3] = {0};
    const cl_device_id id = b->dev->id;
    cl_int status = cl.clGetKernelWorkGroupInfo(out->kernel, id, CL_KERNEL_WORK_GROUP_SIZE,
                                                sizeof out->threads, &out->threads, NULL);
    if (status == CL_SUCCESS)
        status = cl.clGetKernelWorkGroupInfo(out->kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                             sizeof block, block, NULL);
    const size_t declared = block[0] * block[1] * block[2];
    out->threads = declared > out->threads ? declared : out->threads;
    return status;
}

static cl_int kernel_of(const building *b, const kernel_image *t, cl_program built, made *out)
{
    const cl_device_id id = b->dev->id;
    cl_int status = CL_SUCCESS;
    out->kernel = cl.clCreateKernel(built, t->entry, &status);
    if (status != CL_SUCCESS)
        return status;
    status =
        cl.clGetKernelInfo(out->kernel, CL_KERNEL_NUM_ARGS, sizeof out->n_args, &out->n_args, NULL);
    if (status == CL_SUCCESS)
        status = threads_of(b, out);
    if (status == CL_SUCCESS)
        status = cl.clGetKernelWorkGroupInfo(out->kernel, id, CL_KERNEL_LOCAL_MEM_SIZE,
                                             sizeof out->shared_bytes, &out->shared_bytes, NULL);
    if (status != CL_SUCCESS)
        cl.clReleaseKernel(out->kernel);
    return status;
}

/* Creates all kernels, or none. */
static cl_int kernels_of(const building *b, cl_program built, made *out)
{
    cl_int status = CL_SUCCESS;
    int n = 0;
    while (n < b->n && status == CL_SUCCESS) {
        status = kernel_of(b, &b->image[n], built, &out[n]);
        n += status == CL_SUCCESS;
    }
    while (status != CL_SUCCESS && n)
        cl.clReleaseKernel(out[--n].kernel);
    return status;
}

/* ---- the cache ---- */

static cl_int from_binary(const building *b, const void *data, size_t bytes, made *out)
{
    const opencl_device *d = b->dev;
    const unsigned char *at = data;
    cl_int status = CL_SUCCESS, taken = CL_SUCCESS;
    cl_program built =
        cl.clCreateProgramWithBinary(d->context, 1, &d->id, &bytes, &at, &taken, &status);
    if (status != CL_SUCCESS)
        return status;
    if (taken == CL_SUCCESS)
        taken = cl.clBuildProgram(built, 1, &d->id, b->options, NULL, NULL);
    if (taken == CL_SUCCESS)
        taken = kernels_of(b, built, out);
    cl.clReleaseProgram(built);
    return taken;
}

static bool from_cache(const building *b, made *out)
{
    void *data;
    size_t bytes;
    if (b->is_pocl || !cache_get(&binaries, b->key, b->key_bytes, &data, &bytes))
        return false;
    const int64_t began = trace_begin();
    const bool good = from_binary(b, data, bytes, out) == CL_SUCCESS;
    trace_end(began, "load a kernel");
    memory_free(data);
    if (!good)
        cache_remove(&binaries, b->key, b->key_bytes);
    return good;
}

/* If the driver does not return its binary, or memory is lacking, nothing is cached. */
static void to_cache(const building *b, cl_program built)
{
    size_t bytes = 0;
    if (b->is_pocl ||
        cl.clGetProgramInfo(built, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) !=
            CL_SUCCESS ||
        bytes == 0 || bytes > binaries.max_bytes)
        return;
    const bool failed = ig_failed();
    unsigned char *data = memory_get(bytes);
    if (!data && !failed)
        ig_error(NULL);
    if (data &&
        cl.clGetProgramInfo(built, CL_PROGRAM_BINARIES, sizeof data, &data, NULL) == CL_SUCCESS)
        cache_put(&binaries, b->key, b->key_bytes, data, bytes);
    memory_free(data);
}

/* ---- the compiler ---- */

/* The compiler's log: whole lines, of limited length; "" if there is none. */
static void read_log(const building *b, cl_program built, char out[static LOG_BYTES])
{
    size_t bytes = 0;
    out[0] = '\0';
    if (cl.clGetProgramBuildInfo(built, b->dev->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) !=
            CL_SUCCESS ||
        bytes == 0)
        return;
    char *all = memory_new(bytes + 1);
    if (all && cl.clGetProgramBuildInfo(built, b->dev->id, CL_PROGRAM_BUILD_LOG, bytes, all,
                                        NULL) == CL_SUCCESS) {
        size_t length = strlen(all);
        while (length && strchr(" \t\r\n", all[length - 1]))
            all[--length] = '\0';
        const int n = snprintf(out, LOG_BYTES - 4, "%s", all);
        char *line = n >= LOG_BYTES - 4 ? strrchr(out, '\n') : NULL;
        if (line)
            memcpy(line, "\n...", 5);
    }
    memory_free(all);
}

static ig_status build_failed(const building *b, cl_program built, cl_int status)
{
    char log[LOG_BYTES];
    read_log(b, built, log);
    FAIL(IG_ERR_DEVICE, "%s: the driver's compiler refuses kernel '%s': %s%s%s", b->dev->base.name,
         b->image->entry, opencl_status_name(status), log[0] ? "\n" : "; it does not say why", log);
}

/* The kernels of a program that was built, or an error with the compiler's log. */
static ig_status take(const building *b, cl_program built, cl_int status, made *out)
{
    if (status != CL_SUCCESS)
        return build_failed(b, built, status);
    status = kernels_of(b, built, out);
    if (status == CL_INVALID_KERNEL_NAME)
        FAIL(IG_ERR_ARGUMENT, "%s: the text has no kernel '%s'", b->dev->base.name,
             b->image->entry);
    TRY(opencl_check(b->dev, status, "clCreateKernel"));
    to_cache(b, built);
    return IG_OK;
}

/* *refused: the compiler rejects the text without the header, so there is no kernel. */
static ig_status from_source(const building *b, made *out, bool *refused)
{
    const opencl_device *d = b->dev;
    const char *source[2] = {b->prelude, b->image->source};
    cl_int status = CL_SUCCESS;
    cl_program built = cl.clCreateProgramWithSource(d->context, 2, source, NULL, &status);
    TRY(opencl_check(d, status, "clCreateProgramWithSource"));
    const int64_t began = driver_compile_begin(&d->base.dev);
    status = cl.clBuildProgram(built, 1, &d->id, b->options, NULL, NULL);
    driver_compile_end(began);
    *refused = status == CL_BUILD_PROGRAM_FAILURE && b->no_header;
    const ig_status result = *refused ? IG_OK : take(b, built, status, out);
    cl.clReleaseProgram(built);
    return result;
}

/* ---- entries of struct backend ---- */

/* Number of arguments of the OpenCL kernel. */
static cl_uint args_of(const kernel_image *t)
{
    cl_uint n = t->dynamic_shared;
    for (int i = 0; i < t->n_params; i++)
        n += t->params[i].kind == KERNEL_BUFFER ? 2 : 1;
    return n;
}

static ig_status check_params(const opencl_device *d, const kernel_image *t)
{
    uint64_t bytes = 0;
    for (int i = 0; i < t->n_params; i++)
        bytes += t->params[i].kind == KERNEL_BUFFER ? sizeof(void *) + sizeof(cl_ulong)
                                                    : t->params[i].bytes;
    if (bytes > d->base.dev.limits.param_bytes)
        FAIL(IG_ERR_UNSUPPORTED, "%s: kernel '%s' has %llu bytes of parameters; here %llu are all",
             d->base.name, t->entry, (unsigned long long)bytes,
             (unsigned long long)d->base.dev.limits.param_bytes);
    return IG_OK;
}

static ig_status kernel_wrap(const building *b, const kernel_image *t, const made *m,
                             kernel_code **out)
{
    const cl_uint expected = args_of(t);
    if (m->n_args != expected)
        FAIL(
            IG_ERR_ARGUMENT,
            "%s: kernel '%s' has %u parameters in its text, but %u are described (a buffer is two)",
            b->dev->base.name, t->entry, m->n_args, expected);
    size_t value_bytes = 0;
    for (int i = 0; i < t->n_params; i++)
        value_bytes += t->params[i].kind == KERNEL_BYTES ? t->params[i].bytes : 0;
    opencl_kernel *k = driver_kernel_new(&b->dev->base.dev, t, sizeof *k);
    opencl_set *set = memory_new((size_t)t->n_params * sizeof *set + value_bytes + 1);
    if (!k || !set) {
        memory_free(k);
        memory_free(set);
        return IG_ERR_MEMORY;
    }
    k->set = set;
    unsigned char *values = (unsigned char *)(set + t->n_params);
    for (int i = 0; i < t->n_params; i++)
        if (t->params[i].kind == KERNEL_BYTES) {
            set[i].bytes = values;
            values += t->params[i].bytes;
        }
    k->dev = b->dev;
    k->kernel = m->kernel;
    k->base.threads = m->threads;
    k->base.shared_static = m->shared_bytes;
    *out = &k->base.code;
    return IG_OK;
}

/* Wraps all kernels, or releases them. */
static ig_status wrap_all(const building *b, const made *m, kernel_code **out)
{
    ig_status status = IG_OK;
    int n = 0;
    while (n < b->n && status == IG_OK) {
        status = kernel_wrap(b, &b->image[n], &m[n], &out[n]);
        n += status == IG_OK;
    }
    for (int i = 0; i < b->n && status != IG_OK; i++) {
        cl.clReleaseKernel(m[i].kernel);
        if (i < n)
            memory_free(out[i]);
    }
    return status;
}

static ig_status build(opencl_device *d, const kernel_image *t, int n, bare *how, kernel_code **out)
{
    building b;
    made *m = memory_new((size_t)n * sizeof *m);
    if (!m)
        return IG_ERR_MEMORY;
    ig_status status = building_begin(&b, d, t, n, how->wanted);
    how->tried = b.no_header;
    if (status == IG_OK && !from_cache(&b, m))
        status = from_source(&b, m, &how->refused);
    if (status == IG_OK && !how->refused)
        status = wrap_all(&b, m, out);
    building_end(&b);
    memory_free(m);
    return status;
}

/* Compiling takes long. The device stays open meanwhile, but is not locked. */
ig_status opencl_kernels_build(const backend *dev, const kernel_image *t, int n, kernel_code **out)
{
    opencl_device *d = opencl_device_of(dev);
    for (int i = 0; i < n; i++)
        TRY(check_params(d, &t[i]));
    TRY(driver_enter(&d->base.dev));
    d->n_kernels += n;
    bare how = {.wanted = !d->takes_no_bare};
    driver_unlock(&d->base.dev);
    ig_status status = build(d, t, n, &how, out);
    if (how.refused)
        status = build(d, t, n, &(bare){0}, out);
    if (how.tried && status == IG_OK && driver_lock_open(&d->base.dev)) {
        d->took_bare = d->took_bare || !how.refused;
        d->takes_no_bare = !d->took_bare;
        driver_unlock(&d->base.dev);
    }
    if (status != IG_OK && driver_lock_open(&d->base.dev)) {
        d->n_kernels -= n;
        driver_unlock(&d->base.dev);
    }
    return status;
}

ig_status opencl_kernel_build(const backend *dev, const kernel_image *t, kernel_code **out)
{
    return opencl_kernels_build(dev, t, 1, out);
}

void opencl_kernel_discard(kernel_code *code)
{
    opencl_kernel *k = (opencl_kernel *)code;
    if (!k)
        return;
    if (driver_lock_open(&k->dev->base.dev)) {
        cl.clReleaseKernel(k->kernel);
        k->dev->n_kernels--;
        driver_unlock(&k->dev->base.dev);
    }
    memory_free(k->set);
    memory_free(k);
}
