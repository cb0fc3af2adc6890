/* The target that runs a program's kernels as modules of the library, on any device.
 *
 * A unit is compiled at the first call that needs it. By then all instances of its templates are known, since
 * stubs register before main. So a unit is one module, and its variables exist once. Launches run immediately
 * and in order. */
#include "lib/cudart/cudart.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "engine/module/module.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The limit of static and dynamic shared memory together, unless the program raises it. */
enum { SHARED_BYTES = 48 << 10, SHARED_LIMIT_ATTRIBUTE = 8 };

/* A unit after compilation, successful or not. */
struct state {
    struct state *next;
    ig_cuda_unit *unit;
    ig_module *module; /* NULL if it did not compile, which was reported */
    char *said;        /* messages about kernels that failed, or NULL */
    char *globals;     /* the address of its variables, or NULL */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct state *states;
static bool keeps_guards; /* the current call prepares or makes a launch: see early.c */
static int fatal;         /* the error of a running kernel; it stays until the device is reset */

/* ---- the device ---- */

/* The limits of NVIDIA GPUs. Programs rely on launches beyond them being refused. */
static const uint32_t grid_most[3] = {INT32_MAX, 65535, 65535};
static const uint32_t block_most[3] = {1024, 1024, 64};
enum { THREADS_MOST = 1024 };

static uint64_t threads_most(const backend *dev)
{
    return dev->limits.threads < THREADS_MOST ? dev->limits.threads : THREADS_MOST;
}

const backend *cudart_begin(int *error)
{
    const backend *dev = cudart_device();
    pthread_mutex_lock(&lock);
    cudart_early_off();
    keeps_guards = false;
    *error = fatal;
    if (!*error)
        return dev;
    cudart_watch_error_seen(); /* the call returns it */
    pthread_mutex_unlock(&lock);
    cudart_set_last_error(*error);
    return NULL;
}

int cudart_end(int error)
{
    cudart_call_site_end();
    if (keeps_guards)
        cudart_early_on();
    else
        cudart_early_forget();
    pthread_mutex_unlock(&lock);
    return cudart_set_last_error(error);
}

void cudart_modules_error_seen(void)
{
    pthread_mutex_lock(&lock);
    cudart_watch_error_seen();
    pthread_mutex_unlock(&lock);
}

void cudart_modules_beyond(cudart_call_site at, size_t offset, size_t bytes, size_t room)
{
    pthread_mutex_lock(&lock);
    cudart_watch_report("copy out of range", false, at,
                        "the copy takes %zu bytes from byte %zu on, of a variable of %zu bytes",
                        bytes, offset, room);
    pthread_mutex_unlock(&lock);
}

int cudart_finish(void)
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

int modules_synchronize(void)
{
    const int error = cudart_finish();
    cudart_order_all();
    return error;
}

/* ---- units ---- */

/* The unit of the module that has this unit's code: linked units share one. */
static ig_cuda_unit *home_of(ig_cuda_unit *unit)
{
    return unit->is_linked && cudart_linked() ? cudart_linked() : unit;
}

/* The position of a unit among the linked ones. */
static int place_of(const ig_cuda_unit *unit)
{
    int n = 0;
    for (const ig_cuda_unit *u = cudart_linked(); u && u != unit; u = u->next)
        n++;
    return n;
}

/* Writes the name of a kernel or variable as its module has it; returns its length without the zero byte. */
static int name_at(const ig_cuda_unit *unit, const char *name, char *out, size_t room)
{
    const bool several = unit->is_linked && cudart_linked() && cudart_linked()->next;
    return several ? snprintf(out, room, "%d#%s", place_of(unit), name)
                   : snprintf(out, room, "%s", name);
}

/* The same in memory of its own; NULL if there is none. */
static char *name_of(const ig_cuda_unit *unit, const char *name)
{
    const size_t room = (size_t)name_at(unit, name, NULL, 0) + 1;
    char *out = memory_new(room);
    if (out)
        name_at(unit, name, out, room);
    return out;
}

/* The kernels of a module that the program may launch, without duplicates: their names, or only their number. */
static int requests_of(ig_cuda_unit *home, char **out)
{
    int n = 0;
    for (const ig_cuda_kernel *k = cudart_kernels(); k; k = k->next) {
        if (home_of(k->unit) != home || cudart_is_of_lambda(k->name))
            continue;
        char *name = out ? name_of(k->unit, k->request) : NULL;
        bool wanted = !out || name;
        for (int i = 0; i < n && wanted && out; i++)
            wanted = strcmp(out[i], name) != 0;
        if (wanted && out)
            out[n] = name;
        else
            memory_free(name);
        n += wanted;
    }
    return n;
}

/* The text of a file that the unit includes and brings along. */
static const char *find_header(void *context, const char *name, bool quoted, size_t *bytes)
{
    const ig_cuda_unit *u = context;
    (void)quoted;
    for (const char *const *h = u->headers; h && *h; h += 2)
        if (strcmp(h[0], name) == 0) {
            *bytes = strlen(h[1]);
            return h[1];
        }
    return NULL;
}

static kernel_options options_of(const ig_cuda_unit *u)
{
    return (kernel_options){.defines = u->defines,
                            .n_defines = cudart_count(u->defines),
                            .folders = u->folders,
                            .n_folders = cudart_count(u->folders),
                            .find = find_header,
                            .context = (void *)(uintptr_t)u};
}

static bool has_text(const ig_cuda_unit *u)
{
    if (u->text)
        return true;
    ig_fail(IG_ERR_UNSUPPORTED, "%s was compiled for NVIDIA GPUs only", u->name);
    return false;
}

/* Parses the unit with the units that are linked with it. */
static void parse(struct state *s, char **requests, kernel_linked *linked)
{
    ig_cuda_unit *u = s->unit;
    int n = 0;
    bool fine = has_text(u);
    for (ig_cuda_unit *other = u->is_linked ? u->next : NULL; other && fine; other = other->next) {
        fine = has_text(other);
        linked[n++] = (kernel_linked){other->name, other->text, options_of(other)};
    }
    const kernel_parse_options options = {.preprocess = options_of(u),
                                          .linked = linked,
                                          .n_linked = n,
                                          .skip_host = true,
                                          .instances = (const char *const *)requests,
                                          .n_instances = requests_of(u, requests)};
    if (fine)
        s->module = module_new(u->name, u->text, &options, &s->said);
    if (!s->module) {
        cudart_print_error();
        cudart_watch_unbuilt(IG_ERR_FORMAT);
    }
    for (int i = 0; i < options.n_instances; i++)
        memory_free(requests[i]);
}

static void compile(struct state *s)
{
    char **requests = memory_new((size_t)(requests_of(s->unit, NULL) + 1) * sizeof *requests);
    kernel_linked *linked = memory_new((size_t)(place_of(NULL) + 1) * sizeof *linked);
    if (requests && linked)
        parse(s, requests, linked);
    memory_free(requests);
    memory_free(linked);
}

/* The unit's module, compiled if needed; NULL after the reason was reported. */
static struct state *state_of(ig_cuda_unit *unit)
{
    unit = home_of(unit);
    if (!unit->state) {
        struct state *s = memory_new(sizeof *s);
        if (!s)
            return NULL;
        s->unit = unit;
        compile(s);
        s->next = states;
        states = unit->state = s;
    }
    struct state *s = unit->state;
    return s->module ? s : NULL;
}

static void state_free(struct state *s)
{
    s->unit->state = NULL;
    ig_module_free(s->module);
    memory_free(s->said);
    memory_free(s);
}

static void units_reset(void)
{
    cudart_watch_detach_modules();
    cudart_texels_changed(NULL);
    for (struct state *s = states, *next; s; s = next) {
        next = s->next;
        state_free(s);
    }
    states = NULL;
}

int modules_reset(void)
{
    pthread_mutex_lock(&lock);
    units_reset();
    cudart_memory_reset();
    fatal = cudaSuccess;
    return cudart_end(cudaSuccess);
}

int modules_device(ig_cuda_facts *facts)
{
    int error;
    ig_device_info info = {0};
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    if (dev->describe(dev, &info) != IG_OK)
        cudart_print_error();
    snprintf(facts->name, sizeof facts->name, "%s", info.model ? info.model : dev->name);
    snprintf(facts->bus, sizeof facts->bus, "0000:00:00.0");
    facts->memory = info.memory;
    facts->memory_used = cudart_memory_used();
    facts->cores = info.threads > 0 ? info.threads : info.cores > 0 ? info.cores : 1;
    facts->threads = (int)threads_most(dev);
    facts->waits = strcmp(dev->name, "cpu") == 0;
    facts->shared_bytes = dev->limits.shared_bytes;
    for (int i = 0; i < 3; i++)
        facts->cache_bytes = info.cache[i] ? info.cache[i] : facts->cache_bytes;
    return cudart_end(cudaSuccess);
}

/* ---- variables ---- */

/* Finds a variable on the device: its buffer and its address. */
static int locate(const backend *dev, const cudart_variable *v, binding *where, char **at)
{
    struct state *s = state_of(v->unit);
    size_t bytes;
    if (!s)
        return cudaErrorInvalidDeviceFunction;
    char *name = name_of(v->unit, v->name);
    const bool found = name && module_variable(s->module, dev, name, where, &bytes) == IG_OK;
    memory_free(name);
    if (!found) {
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

int modules_symbol(const cudart_variable *v, char **at)
{
    int error;
    binding where;
    const backend *dev = cudart_begin(&error);
    return dev ? cudart_end(locate(dev, v, &where, at)) : error;
}

/* ---- units that the program loads ---- */

ig_module *modules_unit_parse(const ig_cuda_unit *unit, const char *const *instances,
                              int n_instances, char **said)
{
    const kernel_parse_options options = {.preprocess = options_of(unit),
                                          .skip_host = true,
                                          .instances = instances,
                                          .n_instances = n_instances};
    return module_new(unit->name, unit->text, &options, said);
}

int modules_unit_module(ig_cuda_unit *unit, ig_module **module)
{
    int error;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    const struct state *s = state_of(unit);
    *module = s ? s->module : NULL;
    return cudart_end(s ? cudaSuccess : cudaErrorInvalidKernelImage);
}

void modules_unit_drop(ig_cuda_unit *unit)
{
    pthread_mutex_lock(&lock);
    cudart_watch_detach_modules();
    for (struct state **at = &states; *at; at = &(*at)->next)
        if ((*at)->unit == unit) {
            struct state *s = *at;
            *at = s->next;
            state_free(s);
            break;
        }
    pthread_mutex_unlock(&lock);
}

int modules_unit_variable(ig_cuda_unit *unit, const char *name, char **at, size_t *bytes)
{
    int error;
    binding where;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    struct state *s = state_of(unit);
    *at = NULL;
    if (s && module_variable(s->module, dev, name, &where, bytes) == IG_OK) {
        if (!s->globals)
            s->globals = cudart_memory_add(dev, where.buf, IG_CUDA_DEVICE);
        *at = s->globals ? s->globals + where.offset : NULL;
    } else {
        ig_error(NULL);
    }
    return cudart_end(*at ? cudaSuccess
                      : s ? cudaErrorSymbolNotFound
                          : cudaErrorInvalidKernelImage);
}

/* Copies the unit's managed variables to the device before a launch, or back to the host after it. */
static int exchange(const backend *dev, ig_cuda_unit *unit, bool to_device)
{
    for (const cudart_variable *v = cudart_variables(); v; v = v->next) {
        char *at;
        binding where;
        if (!v->managed || home_of(v->unit) != home_of(unit))
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
int modules_check(const cudart_shape *s)
{
    int error;
    uint64_t threads = 1;
    bool fits = true;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    for (int i = 0; i < 3; i++) {
        fits = fits && s->grid[i] && s->grid[i] <= grid_most[i] && s->block[i] &&
               s->block[i] <= block_most[i] && s->block[i] <= dev->limits.thread_at[i];
        threads *= s->block[i];
    }
    keeps_guards = true;
    error = fits && threads <= threads_most(dev) ? cudaSuccess : cudaErrorInvalidConfiguration;
    cudart_watch_launched(error, s->is_call, s->at);
    return cudart_end(error);
}

/* The kernel's name in its module. If it was not found by its type, its error is stored under its name. */
static const char *name_in(const ig_module *m, ig_cuda_kernel *k)
{
    if (!k->linked_name && k->unit->is_linked)
        k->linked_name = name_of(k->unit, k->request);
    const char *name = k->linked_name ? k->linked_name : k->request;
    return ig_module_find(m, name) ? name : k->name;
}

/* Builds a kernel for the device, so that it can be launched. */
static int prepare(const backend *dev, ig_cuda_kernel *k, struct state **s, module_kernel *ready)
{
    if (k->refused)
        return k->refused;
    if (cudart_refuses_lambda(k))
        return k->refused;
    *s = state_of(k->unit);
    if (!*s)
        return cudaErrorInvalidDeviceFunction;
    const char *name = name_in((*s)->module, k);
    const ig_status status = module_prepare((*s)->module, dev, name, ready);
    if (status == IG_OK) {
        if (ready->warnings && !k->warned)
            log_text(IG_WARNING, ready->warnings);
        k->warned = true;
        return cudaSuccess;
    }
    if (!ig_module_find((*s)->module, name) && (*s)->said) {
        log_text(IG_WARNING, (*s)->said);
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

/* Translates a pointer to the device address. A pointer that no kernel can use is reported here, before the
 * launch. */
static int resolve(const backend *dev, const module_kernel *k, int i, char **at)
{
    binding where;
    size_t bytes;
    int kind;
    if (!*at || cudart_memory_find(*at, &where, &bytes, &kind))
        return cudaSuccess;
    for (const cudart_variable *v = cudart_variables(); v; v = v->next)
        if (v->managed && *at >= v->shadow && *at <= v->shadow + v->bytes) {
            char *there = NULL;
            const int error = locate(dev, v, &where, &there);
            *at = there + (*at - v->shadow);
            return error;
        }
    if (cudart_watch_checks())
        return cudaSuccess; /* the check reports the access, if there is one */
    fflush(stdout);
    log_line(
        IG_NOTE,
        "kernel '%s': '%s' is %p, which is not memory of the device; allocate it with cudaMalloc",
        k->info->name, k->info->params[i].name, (void *)*at);
    return cudaErrorIllegalAddress;
}

int cudart_mismatch(void)
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
        return cudart_mismatch();
    }
    for (int i = 0; i < k->info->n_params; i++) {
        const ig_kernel_param *p = &k->info->params[i];
        if (sizes && sizes[i] != p->bytes) {
            ig_fail(IG_ERR_FORMAT,
                    "kernel '%s': parameter '%s' has %zu bytes on the host but %zu on the device",
                    k->info->name, p->name, sizes[i], p->bytes);
            return cudart_mismatch();
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

/* Pointers to arguments that lie at their offsets in a buffer, which `extra` of cuLaunchKernel names. memory_free. */
static void *const *spread(const module_kernel *k, void **extra)
{
    enum { BUFFER_POINTER = 1 };
    const char *packed = NULL;
    for (; *extra; extra += 2)
        if ((uintptr_t)*extra == BUFFER_POINTER)
            packed = extra[1];
    void **args = memory_new((size_t)(k->info->n_params + 1) * sizeof *args);
    for (int i = 0; args && packed && i < k->info->n_params; i++)
        args[i] = (void *)(uintptr_t)(packed + k->offsets[i]);
    return args;
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

/* Copies memory that the kernel may have written back to the host. */
static ig_status bring_back(const backend *dev, const module_kernel *k, const char *packed)
{
    for (int i = 0; i < k->info->n_params; i++) {
        const char *at;
        if (!k->info->params[i].is_written)
            continue;
        memcpy(&at, packed + k->offsets[i], sizeof at);
        if (at) {
            TRY(cudart_memory_mirror(dev, at, false));
            cudart_texels_changed(at);
        }
    }
    return IG_OK;
}

/* The number of bytes from an address to the end of its memory; 0 if kernels cannot use it. */
static size_t room_at(void *context, uint64_t at)
{
    (void)context;
    binding where;
    size_t bytes;
    int kind;
    return cudart_memory_find((const void *)(uintptr_t)at, &where, &bytes, &kind) ? bytes : 0;
}

/* Before a checked launch: pointers into the heap of kernels, which is a variable, are good in every kernel. */
static void know_heap(const backend *dev, struct state *s)
{
    binding where;
    size_t bytes;
    if (s->globals)
        return;
    if (module_variable(s->module, dev, "ig_heap", &where, &bytes) == IG_OK)
        s->globals = cudart_memory_add(dev, where.buf, IG_CUDA_DEVICE);
    else
        ig_error(NULL);
}

static int start(const backend *dev, ig_cuda_kernel *k, ig_module *m, const module_kernel *ready,
                 const cudart_shape *sh, const char *packed)
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
    for (int i = 0; i < ready->info->n_params && cudart_watch_checks(); i++) {
        const char *at;
        if (!ready->info->params[i].is_pointer || !ready->info->params[i].is_written)
            continue;
        memcpy(&at, packed + ready->offsets[i], sizeof at);
        cudart_early_add(at, ready->info->name, sh->at);
    }
    ig_status status = dev->language ? bind(dev, ready, packed, args) : IG_OK;
    const bool has_texels = dev->language && ready->has_textures;
    if (status == IG_OK && has_texels)
        status = cudart_texels_in(dev, m);
    cudart_order_begin(sh->stream, sh->at);
    if (status == IG_OK)
        status = cudart_watch_launch(m, dev, name_in(m, k), ready, &l, &endless);
    if (status == IG_OK && has_texels)
        status = cudart_texels_out(dev, m);
    if (status == IG_OK && dev->language)
        status = bring_back(dev, ready, packed);
    memory_free(args);
    if (endless && !asserted) {
        ig_error(NULL); /* it was reported */
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

static int launch_prepared(const backend *dev, ig_cuda_kernel *k, const cudart_shape *sh,
                           void *const *args, const size_t *sizes, int n)
{
    struct state *s;
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
    void *const *spreads = sh->extra ? spread(&ready, sh->extra) : NULL;
    args = spreads ? spreads : args;
    error = args || !ready.info->n_params ? pack(dev, &ready, args, sizes, n, packed)
                                          : cudaErrorInvalidValue;
    memory_free((void *)(uintptr_t)spreads);
    if (error == cudaErrorIllegalAddress)
        fatal = error;
    if (!error)
        error = exchange(dev, k->unit, true);
    if (!error && cudart_watch_checks())
        know_heap(dev, s);
    if (!error)
        error = start(dev, k, s->module, &ready, sh, packed);
    if (s->globals)
        cudart_texels_changed(s->globals);
    if (!error)
        error = exchange(dev, k->unit, false);
    memory_free(packed);
    return error;
}

int modules_launch(ig_cuda_kernel *k, const cudart_shape *s, void *const *args, const size_t *sizes,
                   int n)
{
    int error;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    keeps_guards = true;
    error = launch_prepared(dev, k, s, args, sizes, n);
    cudart_watch_launched(error, s->is_call, s->at);
    return cudart_end(error);
}

int modules_function(ig_cuda_kernel *k, ig_cuda_attributes *a)
{
    int error;
    struct state *s;
    module_kernel ready;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    error = prepare(dev, k, &s, &ready);
    if (!error)
        *a = (ig_cuda_attributes){.shared_bytes = ready.shared_bytes,
                                  .max_threads = ready.max_threads ? (int)ready.max_threads
                                                                   : (int)threads_most(dev),
                                  .registers = 32,
                                  .dynamic_shared_bytes = SHARED_BYTES - (int)ready.shared_bytes,
                                  .version = 70};
    return cudart_end(error);
}

int modules_function_set(ig_cuda_kernel *k, int attribute, int value)
{
    int error;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    if (attribute != SHARED_LIMIT_ATTRIBUTE)
        return cudart_end(cudaSuccess);
    if (value < 0 || (size_t)value > dev->limits.shared_bytes)
        error = cudaErrorInvalidValue;
    else
        k->shared_allowed = (size_t)value;
    return cudart_end(error);
}

/* A multiprocessor is a CPU core. Like a GPU's, it holds 2,048 threads and 32 blocks. */
int modules_occupancy(ig_cuda_kernel *k, int threads, size_t shared_bytes, int *blocks)
{
    ig_cuda_attributes a;
    const int error = modules_function(k, &a);
    if (error || threads <= 0)
        return error ? error : cudaErrorInvalidValue;
    const size_t bytes = a.shared_bytes + shared_bytes;
    const uint64_t room = cudart_device()->limits.shared_bytes;
    int n = threads > a.max_threads ? 0 : 2048 / ((threads + 31) / 32 * 32);
    n = n > 32 ? 32 : n;
    if (bytes && room / bytes < (uint64_t)n)
        n = (int)(room / bytes);
    *blocks = n;
    return cudaSuccess;
}

/* Limits have no effect. They can be read back; the initial values are a GPU's. Kernels cannot wait for kernels that they
 * launched, so that depth has no limit. */
int modules_limit(int which, size_t *value, bool set)
{
    enum { WAITS = 3, LIMITS = 5 }; /* the last one: pending launches of kernels */
    static size_t limits[LIMITS] = {1024, 8 << 20, 8 << 20, 0, 2048};
    if (which < 0 || which >= LIMITS || which == WAITS)
        return cudaErrorUnsupportedLimit;
    if (set)
        limits[which] = *value;
    else
        *value = limits[which];
    return cudaSuccess;
}

int modules_attribute(int which, int *value)
{
    (void)which;
    *value = 0;
    return cudaErrorNotSupported;
}

int modules_stream_query(void *stream) { return modules_stream_wait(stream); }
int modules_event_query(void *event) { return modules_event_wait(event); }

const cudart_target cudart_modules = {
#define ROW(name, parameters) .name = modules_##name,
#include "lib/cudart/target.def"
#undef ROW
};
