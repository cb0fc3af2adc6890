/* The runtime of whole CUDA programs: kernels and variables, found by the address of the host's stub.
 *
 * A unit is compiled at the first call that needs it; by then all instances of its templates are known,
 * since stubs make themselves known before main. So a unit is one module, and its variables exist once.
 * Launches run at once and in order. */
#include "cudart/cudart.h"

#include "base/error.h"
#include "base/memory.h"
#include "module/module.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The limit of static and dynamic shared memory together, unless the program raises it. */
enum { SHARED_BYTES = 48 << 10 };

struct ig_cuda_kernel {
    ig_cuda_kernel *next;
    ig_cuda_unit *unit;
    const void *stub;
    size_t shared_allowed;
    bool warned;
    int refused; /* the error of launches if it cannot be built, which was reported */
    char name[];
};

typedef struct variable {
    struct variable *next;
    ig_cuda_unit *unit;
    char *shadow;
    size_t bytes;
    bool managed;
    char name[];
} variable;

/* A unit after its compilation, whether or not that succeeded. */
struct ig_cuda_state {
    struct ig_cuda_state *next;
    ig_cuda_unit *unit;
    ig_module *module; /* NULL if it did not compile, which was reported */
    char *said;        /* messages about kernels that failed, or NULL */
    char *globals;     /* the address of its variables, or NULL */
};

typedef struct shape {
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    bool there;
    cudart_call_site at;
} shape;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ig_cuda_kernel *kernels;
static variable *variables;
static struct ig_cuda_state *states;
static const backend *device;
static int fatal; /* the error that a running kernel met; it stays until the device is reset */
static _Thread_local int last;
static _Thread_local shape pushed;
static _Thread_local cudart_call_site here;

/* ---- errors ---- */

static const struct {
    int number;
    const char *name, *text;
} errors[] = {
#define CUDA_ERROR(name, number, text) {number, #name, text},
#include "cudart/errors.def"
#undef CUDA_ERROR
};

const char *ig_cuda_error_name(int error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *ig_cuda_error_text(int error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error)
            return errors[i].text;
    return "unrecognized error code";
}

int cudart_set_last_error(int error)
{
    if (error)
        last = error;
    return error;
}

int ig_cuda_fail(int error) { return cudart_set_last_error(error); }

int ig_cuda_last_error(int forget)
{
    const int error = last;
    if (forget)
        last = cudaSuccess;
    if (cudart_watch_checks()) {
        pthread_mutex_lock(&lock);
        cudart_watch_error_seen();
        pthread_mutex_unlock(&lock);
    }
    return error;
}

void ig_cuda_call_at(const char *file, int line) { here = (cudart_call_site){file, line}; }

cudart_call_site cudart_call_site_now(void) { return here; }

void cudart_print_error(void)
{
    const char *why = ig_error(NULL);
    fflush(stdout);
    fprintf(stderr, "ingot: %s\n", why ? why : "the device failed");
}

/* ---- the device ---- */

/* The limits of NVIDIA GPUs. Programs rely on launches beyond them being refused. */
static const uint32_t grid_most[3] = {INT32_MAX, 65535, 65535};
static const uint32_t block_most[3] = {1024, 1024, 64};
enum { THREADS_MOST = 1024 };

static uint64_t threads_most(const backend *dev)
{
    return dev->limits.threads < THREADS_MOST ? dev->limits.threads : THREADS_MOST;
}

static const backend *choose(void)
{
    const char *name = getenv("IG_CUDA_DEVICE");
    const backend *dev = backend_find(name && *name ? name : "cpu");
    if (!dev)
        backend_missing(name);
    else if (!backend_runs_kernels(dev))
        ig_fail(IG_ERR_UNSUPPORTED, "device '%s' runs no kernels", dev->name);
    return dev && backend_runs_kernels(dev) ? dev : NULL;
}

/* Ends the program with ingot's exit code for a missing device. A program that ignores errors would otherwise
 * go on and print garbage. */
_Noreturn static void end_without_device(void)
{
    enum { NOT_THERE = 4 };
    cudart_print_error();
    fflush(NULL);
    _Exit(NOT_THERE);
}

const backend *cudart_begin(int *error)
{
    pthread_mutex_lock(&lock);
    if (!device) {
        cudart_watch_begin();
        device = choose();
        if (!device)
            end_without_device();
    }
    *error = fatal;
    if (!*error)
        return device;
    cudart_watch_error_seen(); /* the call returns it */
    pthread_mutex_unlock(&lock);
    cudart_set_last_error(*error);
    return NULL;
}

int cudart_end(int error)
{
    here = (cudart_call_site){NULL, 0};
    pthread_mutex_unlock(&lock);
    return cudart_set_last_error(error);
}

int ig_cuda_synchronize(void)
{
    int error;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    if (dev->finish(dev) != IG_OK) {
        cudart_print_error();
        error = fatal = cudaErrorLaunchFailure;
    }
    fflush(stdout);
    return cudart_end(error);
}

int ig_cuda_reset(void)
{
    pthread_mutex_lock(&lock);
    cudart_units_reset();
    cudart_memory_reset();
    fatal = cudaSuccess;
    return cudart_end(cudaSuccess);
}

int ig_cuda_device(ig_cuda_facts *facts)
{
    int error;
    ig_device_info info = {0};
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    if (dev->describe(dev, &info) != IG_OK)
        cudart_print_error();
    memset(facts, 0, sizeof *facts);
    snprintf(facts->name, sizeof facts->name, "%s", info.model ? info.model : dev->name);
    facts->memory = info.memory;
    facts->memory_used = cudart_memory_used();
    facts->cores = info.threads > 0 ? info.threads : info.cores > 0 ? info.cores : 1;
    facts->threads = (int)threads_most(dev);
    facts->shared_bytes = dev->limits.shared_bytes;
    for (int i = 0; i < 3; i++)
        facts->cache_bytes = info.cache[i] ? info.cache[i] : facts->cache_bytes;
    return cudart_end(cudaSuccess);
}

double ig_cuda_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- units ---- */

ig_cuda_kernel *ig_cuda_kernel_add(ig_cuda_unit *unit, const void *stub, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    ig_cuda_kernel *k = memory_new(sizeof *k + bytes);
    if (!k)
        return NULL;
    k->unit = unit;
    k->stub = stub;
    memcpy(k->name, name, bytes);
    pthread_mutex_lock(&lock);
    k->next = kernels;
    kernels = k;
    pthread_mutex_unlock(&lock);
    return k;
}

int ig_cuda_variable_add(ig_cuda_unit *unit, void *shadow, const char *name, size_t bytes,
                         int managed)
{
    const size_t length = strlen(name) + 1;
    variable *v = memory_new(sizeof *v + length);
    if (!v)
        return cudart_set_last_error(cudaErrorMemoryAllocation);
    v->unit = unit;
    v->shadow = shadow;
    v->bytes = bytes;
    v->managed = managed;
    memcpy(v->name, name, length);
    pthread_mutex_lock(&lock);
    v->next = variables;
    variables = v;
    return cudart_end(cudaSuccess);
}

static int count(const char *const *list)
{
    int n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* True if a template argument is the type of a lambda, as gcc or clang spell it. The unit has no name for it. */
static bool is_of_lambda(const char *name)
{
    return strstr(name, "<lambda(") || strstr(name, "lambda at ");
}

/* The instances of the unit's templates, without duplicates. */
static int instances_of(const ig_cuda_unit *unit, const char **out)
{
    int n = 0;
    for (const ig_cuda_kernel *k = kernels; k; k = k->next) {
        bool wanted = k->unit == unit && strchr(k->name, '<') && !is_of_lambda(k->name);
        for (int i = 0; i < n && wanted && out; i++)
            wanted = strcmp(out[i], k->name) != 0;
        if (wanted && out)
            out[n] = k->name;
        n += wanted;
    }
    return n;
}

static void compile(struct ig_cuda_state *s)
{
    const ig_cuda_unit *u = s->unit;
    const char **instances = memory_new((size_t)(instances_of(u, NULL) + 1) * sizeof *instances);
    if (!instances)
        return;
    const kernel_parse_options options = {.preprocess = {.defines = u->defines,
                                                         .n_defines = count(u->defines),
                                                         .folders = u->folders,
                                                         .n_folders = count(u->folders)},
                                          .skip_host = true,
                                          .instances = instances,
                                          .n_instances = instances_of(u, instances)};
    s->module = module_new(u->name, u->text, &options, &s->said);
    if (!s->module) {
        cudart_print_error();
        cudart_watch_unbuilt(IG_ERR_FORMAT);
    }
    memory_free(instances);
}

/* The unit's module, compiled if needed; NULL after the reason was reported. */
static struct ig_cuda_state *state_of(ig_cuda_unit *unit)
{
    if (!unit->state) {
        struct ig_cuda_state *s = memory_new(sizeof *s);
        if (!s)
            return NULL;
        s->unit = unit;
        compile(s);
        s->next = states;
        states = unit->state = s;
    }
    return unit->state->module ? unit->state : NULL;
}

void cudart_units_reset(void)
{
    cudart_watch_detach_modules();
    for (struct ig_cuda_state *s = states, *next; s; s = next) {
        next = s->next;
        s->unit->state = NULL;
        ig_module_free(s->module);
        memory_free(s->said);
        memory_free(s);
    }
    states = NULL;
}

/* ---- variables ---- */

/* Finds a variable on the device: its buffer and its address. */
static int locate(const backend *dev, const variable *v, binding *where, char **at)
{
    struct ig_cuda_state *s = state_of(v->unit);
    size_t bytes;
    if (!s)
        return cudaErrorInvalidDeviceFunction;
    if (module_variable(s->module, dev, v->name, where, &bytes) != IG_OK) {
        cudart_print_error();
        return cudaErrorInvalidSymbol;
    }
    if (bytes != v->bytes) {
        ig_fail(IG_ERR_INTERNAL, "variable '%s' has %zu bytes in kernels but %zu on the host",
                v->name, bytes, v->bytes);
        cudart_print_error();
        return cudaErrorInvalidSymbol;
    }
    if (!s->globals)
        s->globals = cudart_memory_add(dev, where->buf, IG_CUDA_DEVICE);
    *at = s->globals ? s->globals + where->offset : NULL;
    return s->globals ? cudaSuccess : cudaErrorMemoryAllocation;
}

static int symbol(const backend *dev, const void *shadow, char **at, size_t *bytes)
{
    const variable *v = variables;
    binding where;
    while (v && v->shadow != shadow)
        v = v->next;
    *at = v && v->managed ? v->shadow : NULL;
    *bytes = v ? v->bytes : 0;
    return v ? v->managed ? cudaSuccess : locate(dev, v, &where, at) : cudaErrorInvalidSymbol;
}

int ig_cuda_symbol(const void *shadow, void **at, size_t *bytes)
{
    int error;
    char *found;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    error = symbol(dev, shadow, &found, bytes);
    *at = found;
    return cudart_end(error);
}

int ig_cuda_symbol_range(const void *shadow, size_t offset, size_t bytes, void **at)
{
    int error;
    char *found;
    size_t room;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    error = symbol(dev, shadow, &found, &room);
    if (!error && (offset > room || bytes > room - offset)) {
        cudart_watch_report("copy out of range", false, here,
                            "the copy takes %zu bytes from byte %zu on, of a variable of %zu bytes",
                            bytes, offset, room);
        error = cudaErrorInvalidValue;
    }
    *at = error ? NULL : found + offset;
    return cudart_end(error);
}

/* Copies the unit's managed variables to the device before a launch, and back to the host after it. */
static int exchange(const backend *dev, const ig_cuda_unit *unit, bool to_device)
{
    for (const variable *v = variables; v; v = v->next) {
        char *at;
        binding where;
        if (!v->managed || v->unit != unit)
            continue;
        const int error = locate(dev, v, &where, &at);
        if (error)
            return error;
        if ((to_device ? dev->write(where.buf, where.offset, v->shadow, v->bytes)
                       : dev->read(where.buf, where.offset, v->shadow, v->bytes)) != IG_OK) {
            cudart_print_error();
            return fatal = cudaErrorLaunchFailure;
        }
    }
    return cudaSuccess;
}

/* ---- launches ---- */

/* The error is cudaErrorInvalidConfiguration, as in CUDA up to version 12 and its manual. CUDA 13.0 returns
 * cudaErrorInvalidValue. */
static int take_shape(const backend *dev, const uint32_t grid[3], const uint32_t block[3],
                      size_t shared_bytes, shape *out)
{
    uint64_t threads = 1;
    bool fits = true;
    for (int i = 0; i < 3; i++) {
        fits = fits && grid[i] && grid[i] <= grid_most[i] && block[i] &&
               block[i] <= block_most[i] && block[i] <= dev->limits.thread_at[i];
        threads *= block[i];
    }
    fits = fits && threads <= threads_most(dev);
    *out = (shape){
        {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared_bytes, fits, here};
    return fits ? cudaSuccess : cudaErrorInvalidConfiguration;
}

int ig_cuda_push(const uint32_t grid[3], const uint32_t block[3], size_t shared_bytes, void *stream)
{
    int error;
    const backend *dev = cudart_begin(&error);
    (void)stream;
    pushed.there = false;
    if (!dev)
        return error;
    error = take_shape(dev, grid, block, shared_bytes, &pushed);
    cudart_watch_refused(error, here);
    return cudart_end(error);
}

/* Builds a kernel for the device, so that it can be launched. */
static int prepare(const backend *dev, ig_cuda_kernel *k, struct ig_cuda_state **s,
                   module_kernel *ready)
{
    if (k->refused)
        return k->refused;
    if (is_of_lambda(k->name)) {
        ig_fail(
            IG_ERR_UNSUPPORTED,
            "kernel '%.*s' is given a lambda that does not pass from the host to a kernel here; "
            "write [=] __device__ (...) {...} in a function of the program's own file, or a struct "
            "with a __device__ operator()",
            (int)strcspn(k->name, "<"), k->name);
        cudart_print_error();
        cudart_watch_unbuilt(IG_ERR_UNSUPPORTED);
        return k->refused = cudaErrorNotSupported;
    }
    *s = state_of(k->unit);
    if (!*s)
        return cudaErrorInvalidDeviceFunction;
    const ig_status status = module_prepare((*s)->module, dev, k->name, ready);
    if (status == IG_OK) {
        if (ready->warnings && !k->warned)
            fprintf(stderr, "%s", ready->warnings);
        k->warned = true;
        return cudaSuccess;
    }
    if (!ig_module_find((*s)->module, k->name) && (*s)->said) {
        fprintf(stderr, "%s", (*s)->said);
        memory_free((*s)->said);
        (*s)->said = NULL;
    }
    cudart_print_error();
    cudart_watch_unbuilt(status);
    if (status == IG_ERR_MEMORY)
        return cudaErrorMemoryAllocation;
    return k->refused = status == IG_ERR_UNSUPPORTED ? cudaErrorNotSupported
                                                     : cudaErrorInvalidDeviceFunction;
}

/* Translates a pointer to the device's address. A pointer that no kernel can follow is reported here, before
 * the launch. */
static int resolve(const backend *dev, const module_kernel *k, int i, char **at)
{
    binding where;
    size_t bytes;
    int kind;
    if (!*at || cudart_memory_find(*at, &where, &bytes, &kind))
        return cudaSuccess;
    for (const variable *v = variables; v; v = v->next)
        if (v->managed && *at >= v->shadow && *at <= v->shadow + v->bytes) {
            char *there = NULL;
            const int error = locate(dev, v, &where, &there);
            *at = there + (*at - v->shadow);
            return error;
        }
    if (cudart_watch_checks())
        return cudaSuccess; /* the check reports the access, if there is one */
    fflush(stdout);
    fprintf(stderr,
            "ingot: kernel '%s': '%s' is %p, which is no memory of the device; cudaMalloc gives "
            "such memory\n",
            k->info->name, k->info->params[i].name, (void *)*at);
    return cudaErrorIllegalAddress;
}

/* Reports that host and device disagree about a kernel, which is then not launched. The exit code of `ingot run`
 * tells. */
static int mismatch(void)
{
    cudart_print_error();
    cudart_watch_unbuilt(IG_ERR_FORMAT);
    return cudaErrorInvalidValue;
}

static int pack(const backend *dev, const module_kernel *k, void *const *args, const size_t *sizes,
                int n, char *packed)
{
    if (n != k->info->n_params && n >= 0) {
        ig_fail(IG_ERR_FORMAT, "kernel '%s' has %d parameters on the host but %d on the device",
                k->info->name, n, k->info->n_params);
        return mismatch();
    }
    for (int i = 0; i < k->info->n_params; i++) {
        const ig_kernel_param *p = &k->info->params[i];
        if (sizes && sizes[i] != p->bytes) {
            ig_fail(IG_ERR_FORMAT,
                    "kernel '%s': parameter '%s' has %zu bytes on the host but %zu on the device",
                    k->info->name, p->name, sizes[i], p->bytes);
            return mismatch();
        }
        memcpy(packed + k->offsets[i], args[i], p->bytes);
        if (p->is_pointer) {
            char *at;
            memcpy(&at, args[i], sizeof at);
            const int error = resolve(dev, k, i, &at);
            if (error)
                return error;
            memcpy(packed + k->offsets[i], &at, sizeof at);
        }
    }
    return cudaSuccess;
}

/* Arguments for a device with separate memory: pointers become buffers and offsets. */
static ig_status bind(const backend *dev, const module_kernel *k, const char *packed,
                      kernel_arg *out)
{
    for (int i = 0; i < k->info->n_params; i++) {
        const char *at;
        size_t bytes;
        int kind;
        out[i] = (kernel_arg){{NULL, 0}, packed + k->offsets[i]};
        if (!k->info->params[i].is_pointer)
            continue;
        memcpy(&at, packed + k->offsets[i], sizeof at);
        if (at && cudart_memory_find(at, &out[i].at, &bytes, &kind))
            TRY(cudart_memory_mirror(dev, at, true));
    }
    return IG_OK;
}

/* Copies what the kernel may have written back to the host. */
static ig_status bring_back(const backend *dev, const module_kernel *k, const char *packed)
{
    for (int i = 0; i < k->info->n_params; i++) {
        const char *at;
        if (!k->info->params[i].is_written)
            continue;
        memcpy(&at, packed + k->offsets[i], sizeof at);
        if (at)
            TRY(cudart_memory_mirror(dev, at, false));
    }
    return IG_OK;
}

/* How many bytes follow an address in memory that kernels may use; 0: it is not such memory. */
static size_t room_at(void *context, uint64_t at)
{
    (void)context;
    binding where;
    size_t bytes;
    int kind;
    return cudart_memory_find((const void *)(uintptr_t)at, &where, &bytes, &kind) ? bytes : 0;
}

static int start(const backend *dev, ig_cuda_kernel *k, ig_module *m, const module_kernel *ready,
                 const shape *sh, const char *packed)
{
    bool asserted = false, endless = false;
    kernel_arg *args = memory_new((size_t)(ready->info->n_params + 1) * sizeof *args);
    if (!args)
        return cudaErrorMemoryAllocation;
    static const kernel_output output = {.room = room_at};
    lane_launch l = {.base = {.shared_bytes = sh->shared_bytes, .args = args},
                     .print = &output,
                     .asserted = &asserted,
                     .packed = dev->language ? NULL : packed};
    memcpy(l.base.grid, sh->grid, sizeof l.base.grid);
    memcpy(l.base.block, sh->block, sizeof l.base.block);
    ig_status status = dev->language ? bind(dev, ready, packed, args) : IG_OK;
    if (status == IG_OK)
        status = cudart_watch_launch(m, dev, k->name, ready, &l, &endless);
    if (status == IG_OK && dev->language)
        status = bring_back(dev, ready, packed);
    memory_free(args);
    if (endless && !asserted) {
        ig_error(NULL); /* was reported */
        return cudaErrorLaunchTimeout;
    }
    if (status == IG_OK)
        return cudaSuccess;
    cudart_print_error();
    if (status == IG_ERR_MEMORY)
        return cudaErrorMemoryAllocation;
    return status == IG_ERR_DEVICE ? fatal = asserted ? cudaErrorAssert : cudaErrorLaunchFailure
                                   : cudaErrorInvalidConfiguration;
}

static int launch(const backend *dev, ig_cuda_kernel *k, const shape *sh, void *const *args,
                  const size_t *sizes, int n)
{
    struct ig_cuda_state *s;
    module_kernel ready;
    int error = prepare(dev, k, &s, &ready);
    if (error)
        return error;
    const size_t allowed = k->shared_allowed > SHARED_BYTES ? k->shared_allowed : SHARED_BYTES;
    const uint64_t threads = (uint64_t)sh->block[0] * sh->block[1] * sh->block[2];
    if (ready.max_threads && threads > ready.max_threads)
        return cudaErrorInvalidValue;
    if (sh->shared_bytes + ready.shared_bytes > allowed)
        return cudaErrorInvalidValue;
    char *packed = memory_new(ready.argument_bytes + 8);
    if (!packed)
        return cudaErrorMemoryAllocation;
    error = pack(dev, &ready, args, sizes, n, packed);
    if (error == cudaErrorIllegalAddress)
        fatal = error;
    if (!error)
        error = exchange(dev, k->unit, true);
    if (!error)
        error = start(dev, k, s->module, &ready, sh, packed);
    if (!error)
        error = exchange(dev, k->unit, false);
    memory_free(packed);
    return error;
}

int ig_cuda_launch(ig_cuda_kernel *kernel, void *const *args, const size_t *sizes, int n)
{
    int error;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    const shape sh = pushed;
    pushed.there = false;
    if (!kernel || !sh.there)
        return cudart_end(kernel ? cudaErrorMissingConfiguration : cudaErrorMemoryAllocation);
    error = launch(dev, kernel, &sh, args, sizes, n);
    cudart_watch_refused(error, sh.at);
    return cudart_end(error);
}

static ig_cuda_kernel *kernel_of(const void *stub)
{
    ig_cuda_kernel *k = kernels;
    while (k && k->stub != stub)
        k = k->next;
    return k;
}

int ig_cuda_launch_stub(const void *stub, const uint32_t grid[3], const uint32_t block[3],
                        size_t shared_bytes, void *stream, void *const *args)
{
    int error;
    shape sh;
    const backend *dev = cudart_begin(&error);
    (void)stream;
    if (!dev)
        return error;
    ig_cuda_kernel *k = kernel_of(stub);
    error = k ? take_shape(dev, grid, block, shared_bytes, &sh) : cudaErrorInvalidDeviceFunction;
    return cudart_end(error ? error : launch(dev, k, &sh, args, NULL, -1));
}

int ig_cuda_function(const void *stub, ig_cuda_attributes *a)
{
    int error;
    struct ig_cuda_state *s;
    module_kernel ready;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    ig_cuda_kernel *k = kernel_of(stub);
    error = k ? prepare(dev, k, &s, &ready) : cudaErrorInvalidDeviceFunction;
    if (!error)
        *a = (ig_cuda_attributes){.shared_bytes = ready.shared_bytes,
                                  .max_threads = ready.max_threads ? (int)ready.max_threads
                                                                   : (int)threads_most(dev),
                                  .registers = 32};
    return cudart_end(error);
}

int ig_cuda_allow_shared(const void *stub, size_t bytes)
{
    int error;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    ig_cuda_kernel *k = kernel_of(stub);
    if (!k)
        error = cudaErrorInvalidDeviceFunction;
    else if (bytes > dev->limits.shared_bytes)
        error = cudaErrorInvalidValue;
    else
        k->shared_allowed = bytes;
    return cudart_end(error);
}
