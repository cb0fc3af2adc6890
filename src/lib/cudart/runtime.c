/* The exported functions of the CUDA runtime: registration, errors, and the choice of the target that does
 * the work. */
#include "lib/cudart/graphs.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the variables below */
static ig_cuda_kernel *kernels;
static cudart_variable *variables;
static ig_cuda_unit *linked;
static const backend *device;
static const cudart_target *chosen;

static _Thread_local int last;
static _Thread_local cudart_shape pushed;
static _Thread_local cudart_call_site here;

/* ---- errors ---- */

static const struct {
    int number;
    const char *name, *text;
} errors[] = {
#define CUDA_ERROR(name, number, text) {number, #name, text},
#include "lib/cudart/errors.def"
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
    if (cudart_watch_checks())
        cudart_modules_error_seen();
    return error;
}

void ig_cuda_call_at(const char *file, int line) { here = (cudart_call_site){file, line}; }

cudart_call_site cudart_call_site_now(void) { return here; }
void cudart_call_site_end(void) { here = (cudart_call_site){NULL, 0}; }

void cudart_print_error(void)
{
    const char *why = ig_error(NULL);
    fflush(stdout);
    log_line(IG_NOTE, "%s", why ? why : "the device failed");
}

/* ---- the target ---- */

/* The name of the device: --device of `ingot run`, or IG_DEVICE. NULL: the CPU. */
static const char *chosen_name(void)
{
    const char *name = getenv("IG_CUDA_DEVICE");
    return name && *name ? name : getenv("IG_DEVICE");
}

static const backend *choose(void)
{
    const char *name = chosen_name();
    const backend *dev = backend_find(name && *name ? name : "cpu");
    if (!dev)
        backend_missing(name);
    else if (!backend_runs_kernels(dev))
        ig_fail(IG_ERR_UNSUPPORTED, "device '%s' runs no kernels", dev->name);
    return dev && backend_runs_kernels(dev) ? dev : NULL;
}

/* Ends the program with ingot's exit code for a missing device. A program that ignores errors would otherwise
 * continue and print garbage. */
_Noreturn static void end_without_device(void)
{
    enum { NOT_THERE = 4 };
    const char *name = chosen_name();
    cudart_print_error();
    if (name && strncmp(name, "cuda", 4) == 0)
        log_line(IG_NOTE, "the program also runs with '--device cpu'%s",
                 backend_find("opencl") ? " or '--device opencl'" : "");
    fflush(NULL);
    _Exit(NOT_THERE);
}

static const cudart_target *target(void)
{
    pthread_mutex_lock(&lock);
    if (!chosen) {
        cudart_watch_begin();
        device = choose();
        if (!device)
            end_without_device();
        const bool is_cuda = device->language && strcmp(device->language, "cuda") == 0;
        chosen = is_cuda ? &cudart_gpu : &cudart_modules;
    }
    pthread_mutex_unlock(&lock);
    return chosen;
}

const cudart_target *cudart_enter(int *error)
{
    const cudart_target *t = target();
    *error = t->enter ? t->enter() : cudaSuccess;
    return *error ? NULL : t;
}

/* The result of a call of the target, once the calling thread has entered it. */
#define CALL(call) \
    ({ \
        const cudart_target *t_ = target(); \
        const int entered_ = t_->enter ? t_->enter() : cudaSuccess; \
        entered_ ? entered_ : t_->call; \
    })

const backend *cudart_device(void)
{
    target();
    return device;
}

/* ---- registered kernels and variables ---- */

ig_cuda_kernel *cudart_kernels(void) { return kernels; }
ig_cuda_unit *cudart_linked(void) { return linked; }
cudart_variable *cudart_variables(void) { return variables; }

/* Removes the spelling of unnamed namespaces by gcc and clang: it is not C++, and names resolve without it. */
static void strip_anonymous(char *name)
{
    static const char *const words[] = {"{anonymous}::", "(anonymous namespace)::"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (char *at; (at = strstr(name, words[i]));)
            memmove(at, at + strlen(words[i]), strlen(at + strlen(words[i])) + 1);
}

int ig_cuda_unit_add(ig_cuda_unit *unit)
{
    pthread_mutex_lock(&lock);
    unit->next = linked;
    linked = unit;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

ig_cuda_kernel *ig_cuda_kernel_add(ig_cuda_unit *unit, const void *stub, const char *name,
                                   const char *type, const size_t *sizes, int n)
{
    const size_t bytes = strlen(name), type_bytes = strlen(type);
    ig_cuda_kernel *k = memory_new(sizeof *k + bytes + 1);
    char *request = memory_new(bytes + type_bytes + 3);
    if (!k || !request) {
        memory_free(k);
        memory_free(request);
        return NULL;
    }
    k->unit = unit;
    k->stub = stub;
    memcpy(k->name, name, bytes);
    strip_anonymous(k->name);
    snprintf(request, bytes + type_bytes + 3, "(%s)%s", type, name);
    strip_anonymous(request);
    k->request = request;
    k->sizes = sizes;
    k->n_sizes = n;
    cudart_kernel_add(k);
    return k;
}

void cudart_kernel_add(ig_cuda_kernel *k)
{
    pthread_mutex_lock(&lock);
    k->next = kernels;
    kernels = k;
    pthread_mutex_unlock(&lock);
}

void cudart_kernel_remove(const ig_cuda_kernel *k)
{
    pthread_mutex_lock(&lock);
    for (ig_cuda_kernel **at = &kernels; *at; at = &(*at)->next)
        if (*at == k) {
            *at = k->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

int ig_cuda_variable_add(ig_cuda_unit *unit, void *shadow, const char *name, size_t bytes,
                         int managed)
{
    const size_t length = strlen(name) + 1;
    cudart_variable *v = memory_new(sizeof *v + length);
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
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static ig_cuda_kernel *kernel_of(const void *stub)
{
    pthread_mutex_lock(&lock);
    ig_cuda_kernel *k = kernels;
    while (k && k->stub != stub)
        k = k->next;
    pthread_mutex_unlock(&lock);
    return k;
}

ig_cuda_kernel *cudart_kernel(const void *stub, const size_t **sizes, int *n)
{
    ig_cuda_kernel *k = kernel_of(stub);
    *sizes = k ? k->sizes : NULL;
    *n = k ? k->n_sizes : 0;
    return k;
}

const void *cudart_kernel_stub(const ig_cuda_kernel *k) { return k->stub; }

int cudart_count(const char *const *list)
{
    int n = 0;
    while (list && list[n])
        n++;
    return n;
}

bool cudart_is_of_lambda(const char *name)
{
    return strstr(name, "<lambda(") || strstr(name, "lambda at ");
}

bool cudart_refuses_lambda(ig_cuda_kernel *k)
{
    if (!cudart_is_of_lambda(k->name))
        return false;
    ig_fail(IG_ERR_UNSUPPORTED,
            "kernel '%.*s' is given a lambda that does not pass from the host to a kernel here; "
            "write [=] __device__ (...) {...} in a function of the program's own file, or a struct "
            "with a __device__ operator()",
            (int)strcspn(k->name, "<"), k->name);
    cudart_print_error();
    cudart_watch_unbuilt(IG_ERR_UNSUPPORTED);
    k->refused = cudaErrorNotSupported;
    return true;
}

/* ---- launches ---- */

int ig_cuda_push(const uint32_t grid[3], const uint32_t block[3], size_t shared_bytes, void *stream,
                 int is_call)
{
    pushed = (cudart_shape){.grid = {grid[0], grid[1], grid[2]},
                            .block = {block[0], block[1], block[2]},
                            .shared_bytes = shared_bytes,
                            .stream = stream,
                            .is_call = is_call,
                            .at = here};
    const int error = CALL(check(&pushed));
    pushed.there = !error;
    return cudart_set_last_error(error);
}

/* A cudaLaunchAttribute: its number, and its value as ints from byte 8 on. Returns false if the modules' target cannot
 * obey it: clusters of several blocks. The others are hints, or orders that hold always. */
static bool take_attribute(const char *attribute)
{
    enum { ID_COOPERATIVE = 2, ID_CLUSTER = 4, VALUE_AT = 8 };
    static const int hints[] = {0, 1, 3, 5, 6, 8, 14};
    int id, value[3];
    memcpy(&id, attribute, sizeof id);
    memcpy(value, attribute + VALUE_AT, sizeof value);
    if (id == ID_COOPERATIVE)
        pushed.cooperative = value[0] != 0;
    if (id == ID_COOPERATIVE || id == ID_CLUSTER)
        return id == ID_COOPERATIVE || (value[0] == 1 && value[1] == 1 && value[2] == 1);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (id == hints[i])
            return true;
    return false;
}

int ig_cuda_push_attributes(const void *attributes, unsigned n)
{
    enum { ATTRIBUTE_BYTES = 72 };
    bool fits = true;
    for (unsigned i = 0; i < n && target() != &cudart_gpu; i++)
        fits &= take_attribute((const char *)attributes + (size_t)i * ATTRIBUTE_BYTES);
    if (!fits) {
        pushed.there = false;
        return cudart_set_last_error(cudaErrorNotSupported);
    }
    pushed.attributes = attributes;
    pushed.n_attributes = n;
    return cudaSuccess;
}

cudart_shape cudart_shape_take(void)
{
    const cudart_shape shape = pushed;
    pushed.there = false;
    return shape;
}

int ig_cuda_launch(ig_cuda_kernel *kernel, void *const *args, const size_t *sizes, int n)
{
    const cudart_shape shape = cudart_shape_take();
    if (!kernel || !shape.there)
        return cudart_set_last_error(kernel ? cudaErrorMissingConfiguration
                                            : cudaErrorMemoryAllocation);
    if (cudart_is_captured(shape.stream))
        return cudart_set_last_error(cudart_capture_launch(kernel, &shape, args));
    return cudart_set_last_error(CALL(launch(kernel, &shape, args, sizes, n)));
}

int cudart_launch(ig_cuda_kernel *k, const cudart_shape *shape, void *const *args)
{
    const int error = CALL(check(shape));
    return error ? error : CALL(launch(k, shape, args, k->sizes, k->n_sizes));
}

int ig_cuda_launch_stub(const void *stub, void *const *args, int cooperative)
{
    cudart_shape shape = cudart_shape_take();
    ig_cuda_kernel *k = kernel_of(stub);
    shape.cooperative |= cooperative != 0;
    if (k && shape.there && cudart_is_captured(shape.stream))
        return cudart_set_last_error(cudart_capture_launch(k, &shape, args));
    return cudart_set_last_error(!k            ? cudaErrorInvalidDeviceFunction
                                 : shape.there ? CALL(launch(k, &shape, args, NULL, -1))
                                               : cudaErrorMissingConfiguration);
}

int ig_cuda_function(const void *stub, ig_cuda_attributes *a)
{
    ig_cuda_kernel *k = kernel_of(stub);
    return cudart_set_last_error(k ? CALL(function(k, a)) : cudaErrorInvalidDeviceFunction);
}

int ig_cuda_function_set(const void *stub, int attribute, int value)
{
    ig_cuda_kernel *k = kernel_of(stub);
    return cudart_set_last_error(k ? CALL(function_set(k, attribute, value))
                                   : cudaErrorInvalidDeviceFunction);
}

int ig_cuda_occupancy(const void *stub, int threads, size_t shared_bytes, int *blocks)
{
    ig_cuda_kernel *k = kernel_of(stub);
    *blocks = 0;
    return cudart_set_last_error(k ? CALL(occupancy(k, threads, shared_bytes, blocks))
                                   : cudaErrorInvalidDeviceFunction);
}

/* ---- variables ---- */

static int symbol(const void *shadow, char **at, size_t *bytes)
{
    pthread_mutex_lock(&lock);
    const cudart_variable *v = variables;
    while (v && v->shadow != shadow)
        v = v->next;
    pthread_mutex_unlock(&lock);
    *at = v && v->managed ? v->shadow : NULL;
    *bytes = v ? v->bytes : 0;
    return v ? v->managed ? cudaSuccess : CALL(symbol(v, at)) : cudaErrorInvalidSymbol;
}

int ig_cuda_symbol(const void *shadow, void **at, size_t *bytes)
{
    char *found;
    const int error = symbol(shadow, &found, bytes);
    *at = found;
    return cudart_set_last_error(error);
}

int ig_cuda_symbol_range(const void *shadow, size_t offset, size_t bytes, void **at)
{
    char *found;
    size_t room;
    const cudart_call_site at_call = here; /* the target clears it */
    int error = symbol(shadow, &found, &room);
    if (!error && (offset > room || bytes > room - offset)) {
        cudart_modules_beyond(at_call, offset, bytes, room);
        error = cudaErrorInvalidValue;
    }
    *at = error ? NULL : found + offset;
    return cudart_set_last_error(error);
}

/* ---- memory ---- */

int ig_cuda_alloc(void **at, size_t bytes, int kind)
{
    if (!at)
        return cudart_set_last_error(cudaErrorInvalidValue);
    *at = NULL;
    return cudart_set_last_error(CALL(alloc(at, bytes, kind)));
}

int ig_cuda_alloc_async(void **at, size_t bytes, void *stream)
{
    if (!at)
        return cudart_set_last_error(cudaErrorInvalidValue);
    *at = NULL;
    if (cudart_is_captured(stream))
        return cudart_set_last_error(cudart_capture_alloc(at, bytes, stream));
    return cudart_set_last_error(CALL(alloc_async(at, bytes, stream)));
}

int ig_cuda_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind, void *stream, int is_async)
{
    if (!width || !height)
        return cudaSuccess;
    if (kind < 0 || kind > COPY_DEFAULT)
        return cudart_set_last_error(cudaErrorInvalidMemcpyDirection);
    if (height > 1 && (width > to_pitch || width > from_pitch))
        return cudart_set_last_error(cudaErrorInvalidPitchValue);
    const cudart_copy c = {to, from, to_pitch, from_pitch, width, height, kind, stream, is_async};
    if (is_async && cudart_is_captured(stream))
        return cudart_set_last_error(cudart_capture_copy(&c));
    return cudart_set_last_error(CALL(copy(&c)));
}

int ig_cuda_fill(void *at, size_t pitch, int value, size_t width, size_t height, void *stream,
                 int is_async)
{
    if (!width || !height)
        return cudaSuccess;
    if (height > 1 && width > pitch)
        return cudart_set_last_error(cudaErrorInvalidValue);
    const cudart_fill f = {at, pitch, width, height, value, stream, is_async};
    if (is_async && cudart_is_captured(stream))
        return cudart_set_last_error(cudart_capture_fill(&f));
    return cudart_set_last_error(CALL(fill(&f)));
}

int ig_cuda_kind(const void *at)
{
    const cudart_target *t = target();
    return t->enter && t->enter() ? IG_CUDA_HOST : t->kind(at);
}

int ig_cuda_event_free(void *event)
{
    return cudart_set_last_error(event ? CALL(event_free(event)) : cudaErrorInvalidResourceHandle);
}

/* cudaErrorNotReady is an answer, not a failure, so it is not kept as the last error. */
int ig_cuda_stream_query(void *stream)
{
    const int error =
        cudart_is_captured(stream) ? cudaErrorStreamCaptureUnsupported : CALL(stream_query(stream));
    return error == cudaErrorNotReady ? error : cudart_set_last_error(error);
}

int ig_cuda_event_query(void *event)
{
    const int error = event ? CALL(event_query(event)) : cudaErrorInvalidResourceHandle;
    return error == cudaErrorNotReady ? error : cudart_set_last_error(error);
}

/* ---- calls that are passed to the target unchanged ---- */

#define PASS(call) return cudart_set_last_error(CALL(call))

int ig_cuda_free(void *at, int pinned)
{
    int error;
    if (!pinned && cudart_graph_free(at, &error))
        return cudart_set_last_error(error);
    PASS(free(at, pinned));
}
int ig_cuda_free_async(void *at, void *stream)
{
    int error;
    if (cudart_is_captured(stream)) {
        const ig_cuda_step s = {.type = IG_CUDA_NODE_FREE, .at = at};
        return cudart_set_last_error(cudart_capture(stream, &s, NULL));
    }
    if (cudart_graph_free(at, &error))
        return cudart_set_last_error(error);
    PASS(free_async(at, stream));
}
int ig_cuda_adopt(void *at, size_t bytes) { PASS(adopt(at, bytes)); }
int ig_cuda_forget(void *at) { PASS(forget(at)); }
int ig_cuda_mapped(void *host, void **at) { PASS(mapped(host, at)); }
int ig_cuda_stream_new(void **s, unsigned flags, int priority)
{
    PASS(stream_new(s, flags, priority));
}
int ig_cuda_stream_free(void *s) { PASS(stream_free(s)); }
int ig_cuda_stream_wait(void *s)
{
    if (cudart_is_captured(s))
        return cudart_set_last_error(cudaErrorStreamCaptureUnsupported);
    PASS(stream_wait(s));
}
int ig_cuda_stream_after(void *s, void *event)
{
    int error;
    if (cudart_capture_wait(s, event, &error))
        return cudart_set_last_error(error);
    PASS(stream_after(s, event));
}
int ig_cuda_stream_about(void *s, unsigned *flags, int *priority)
{
    PASS(stream_about(s, flags, priority));
}
int ig_cuda_stream_call(void *s, void (*f)(void *), void *context)
{
    if (cudart_is_captured(s)) {
        const ig_cuda_step step = {.type = IG_CUDA_NODE_CALL, .call = f, .context = context};
        return cudart_set_last_error(cudart_capture(s, &step, NULL));
    }
    PASS(stream_call(s, f, context));
}
int ig_cuda_priorities(int *least, int *greatest) { PASS(priorities(least, greatest)); }
int ig_cuda_event_new(void **event, unsigned flags) { PASS(event_new(event, flags)); }
int ig_cuda_event_record(void *event, void *stream)
{
    int error;
    if (cudart_capture_record(event, stream, &error))
        return cudart_set_last_error(error);
    PASS(event_record(event, stream));
}
int ig_cuda_event_wait(void *event) { PASS(event_wait(event)); }
int ig_cuda_event_time(void *from, void *to, float *ms) { PASS(event_time(from, to, ms)); }
int ig_cuda_synchronize(void) { PASS(synchronize()); }
int ig_cuda_reset(void) { PASS(reset()); }
int ig_cuda_device(ig_cuda_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    PASS(device(facts));
}
int ig_cuda_attribute(int attribute, int *value) { PASS(attribute(attribute, value)); }
int ig_cuda_limit(int limit, size_t *value, int set) { PASS(limit(limit, value, set != 0)); }
