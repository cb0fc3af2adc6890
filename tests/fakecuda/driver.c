/* The fake driver: devices, contexts, streams and events. See fake.h. */
#include "fakecuda/parts.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONTEXTS_MOST = 16, OTHER_ERROR = 304 /* of the operating system */ };

long fake_counts[FAKE_COUNTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long fail_at, waits, lose_at;
static bool fail_always, lost;
uint64_t fake_memory_bytes = (uint64_t)1 << 30;
static struct CUctx_st contexts[DEVICES_MOST];
static object *objects;
static _Thread_local CUcontext current[CONTEXTS_MOST];
static _Thread_local int n_current;

/* ---- control ---- */

SHOWN void fake_fail(long n, bool always)
{
    fake_counts[FAKE_CALLS] = 0;
    fail_at = n;
    fail_always = always;
}

SHOWN void fake_lose(long n)
{
    waits = 0;
    lose_at = n;
    lost = false;
}

SHOWN void fake_memory(uint64_t bytes) { fake_memory_bytes = bytes; }
SHOWN long fake_count(fake_what what) { return fake_counts[what]; }

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    fake_memory_bytes = (uint64_t)setting("FAKE_CUDA_MEMORY", (long)fake_memory_bytes);
    lose_at = setting("FAKE_CUDA_LOSE", 0);
}

static void log_call(const char *name)
{
    static const char *path;
    static bool looked;
    if (!looked)
        path = getenv("FAKE_CUDA_LOG");
    looked = true;
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "%s\n", name);
    fclose(f);
}

CUresult fake_enter(const char *name)
{
    pthread_mutex_lock(&lock);
    const long n = ++fake_counts[FAKE_CALLS];
    log_call(name);
    if (lost)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (!fail_at || (fail_always ? n < fail_at : n != fail_at))
        return CUDA_SUCCESS;
    lost = fail_always;
    return fail_always ? CUDA_ERROR_ILLEGAL_ADDRESS : OTHER_ERROR;
}

void fake_leave(void) { pthread_mutex_unlock(&lock); }

/* ---- objects ---- */

/* The device of the calling thread's context, or -1. */
int device_now(void) { return n_current ? current[n_current - 1]->device : -1; }

void *object_new(size_t bytes, void (*destroy)(void *o))
{
    object *o = device_now() < 0 ? NULL : calloc(1, bytes);
    if (!o)
        return NULL;
    *o = (object){objects, device_now(), destroy};
    objects = o;
    fake_counts[FAKE_OBJECTS]++;
    return o;
}

void object_free(void *given)
{
    object **at = &objects;
    while (*at && *at != given)
        at = &(*at)->next;
    if (!*at)
        abort(); /* it is not alive */
    object *o = *at;
    *at = o->next;
    o->destroy(o);
    free(o);
    fake_counts[FAKE_OBJECTS]--;
}

object *objects_first(void) { return objects; }

/* A context is destroyed, with everything it owns, when its last reference is released. */
static void objects_drop(int device)
{
    object *o = objects;
    while (o) {
        object *next = o->next;
        if (o->device == device) {
            object_free(o);
            next = objects;
        }
        o = next;
    }
}

/* ---- devices ---- */

static int devices(void)
{
    const long n = setting("FAKE_CUDA_DEVICES", 1);
    return n < 0 ? 0 : n > DEVICES_MOST ? DEVICES_MOST : (int)n;
}

CUresult cuInit(unsigned flags)
{
    (void)flags;
    ENTER;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version)
{
    ENTER;
    *version = 13000;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuGetErrorName(CUresult status, const char **name)
{
    switch (status) {
#define CU_STATUS(label, value) \
    case value: \
        *name = #label; \
        return CUDA_SUCCESS;
#include "engine/backend/cuda/api.def"
    case OTHER_ERROR: *name = "CUDA_ERROR_OPERATING_SYSTEM"; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuGetErrorString(CUresult status, const char **text)
{
    *text = status == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                                 : "an error for a test";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    ENTER;
    *count = devices();
    return fake_done(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER;
    *device = ordinal;
    return fake_done(ordinal < devices() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    ENTER;
    snprintf(name, (size_t)bytes, "fake GPU %d", device);
    return fake_done(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
    (void)device;
    ENTER;
    switch (what) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = (int)setting("FAKE_CUDA_CORES", 4);
        break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 1 << 20; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 227 << 10; break;
    default: *value = 0;
    }
    return fake_done(CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    ENTER;
    *bytes = (size_t)fake_memory_bytes;
    return fake_done(CUDA_SUCCESS);
}

/* ---- contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER;
    *context = &contexts[device];
    contexts[device].device = device;
    contexts[device].refs++;
    fake_counts[FAKE_OBJECTS]++;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    const CUresult entered = fake_enter(__func__);
    fake_counts[FAKE_OBJECTS]--;
    if (--contexts[device].refs == 0)
        objects_drop(device);
    return fake_done(entered);
}

/* These two also work on a device that was lost. */
CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    const CUresult entered = fake_enter(__func__);
    if (entered != CUDA_SUCCESS && !lost)
        return fake_done(entered);
    if (!context || context->refs <= 0 || n_current == CONTEXTS_MOST)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    current[n_current++] = context;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    const CUresult entered = fake_enter(__func__);
    if (n_current == 0)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    *context = current[--n_current];
    return fake_done(entered);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    ENTER;
    current[0] = context;
    n_current = 1;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    ENTER;
    objects_drop(device);
    return fake_done(CUDA_SUCCESS);
}

/* ---- commands ---- */

command *command_new(command_kind kind, uint64_t held)
{
    command *c = calloc(1, sizeof *c + held);
    if (c)
        c->kind = kind;
    return c;
}

void command_free(command *c)
{
    free(c->launch);
    free(c);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bool is_alive(const void *o)
{
    const object *at = objects;
    while (at && at != o)
        at = at->next;
    return at != NULL;
}

static CUresult stream_run(CUstream stream, long until);

static CUresult command_run(const command *c)
{
    const void *from = c->from ? c->from : c->held;
    switch (c->kind) {
    case COMMAND_COPY: memcpy(c->to, from, (size_t)c->bytes); break;
    case COMMAND_FILL: memset(c->to, c->value, (size_t)c->bytes); break;
    case COMMAND_EVENT:
        if (c->event) {
            c->event->ns = now_ns();
            c->event->stream = NULL;
        }
        break;
    case COMMAND_LAUNCH: return launch_run(c->launch);
    case COMMAND_CALL: c->call(from); break;
    case COMMAND_WAIT: return is_alive(c->stream) ? stream_run(c->stream, c->until) : CUDA_SUCCESS;
    }
    return CUDA_SUCCESS;
}

static void stream_destroy(void *o);
static void default_destroy(void *o)
{
    stream_destroy(o);
    fake_counts[FAKE_OBJECTS]++; /* the caller did not make it */
}

CUstream stream_of(CUstream stream)
{
    static CUstream usual[DEVICES_MOST];
    const int device = device_now();
    if ((uintptr_t)stream > 1 || device < 0)
        return stream;
    if (!is_alive(usual[device])) {
        CUstream s = usual[device] = object_new(sizeof *s, default_destroy);
        if (s) {
            s->last = &s->first;
            s->blocking = true;
        }
        fake_counts[FAKE_OBJECTS]--;
    }
    return usual[device];
}

/* Adds a command that first runs the commands of another stream, up to a number. */
static void follow(CUstream stream, CUstream other, long until)
{
    command *c = command_new(COMMAND_WAIT, 0);
    if (!c)
        abort();
    c->stream = other;
    c->until = until;
    *stream->last = c;
    stream->last = &c->next;
}

/* The default stream and blocking streams wait for each other's earlier commands. */
static void follow_others(CUstream stream, long now)
{
    for (object *o = objects; o; o = o->next) {
        CUstream other = (CUstream)(void *)o;
        const bool is_stream = o->destroy == stream_destroy || o->destroy == default_destroy;
        if (is_stream && other != stream && o->device == stream->base.device && other->first &&
            !other->capture && other->blocking && stream->blocking &&
            (stream->base.destroy == default_destroy || o->destroy == default_destroy))
            follow(stream, other, now);
    }
}

CUresult command_add(CUstream stream, command *c)
{
    static long numbers;
    stream = stream_of(stream);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!stream->capture)
        follow_others(stream, numbers);
    c->number = ++numbers;
    *stream->last = c;
    stream->last = &c->next;
    if (stream->capture) {
        memcpy(c->after, stream->follow, sizeof c->after);
        c->n_after = stream->n_follow;
        stream->follow[0] = c;
        stream->n_follow = 1;
    }
    return CUDA_SUCCESS;
}

SHOWN bool fake_call(CUstream stream, void (*run)(const void *data), const void *data, size_t bytes)
{
    if (fake_enter(__func__) != CUDA_SUCCESS) {
        fake_leave();
        return false;
    }
    command *c = command_new(COMMAND_CALL, bytes);
    if (c) {
        c->call = run;
        c->bytes = bytes;
        memcpy(c->held, data, bytes);
    }
    return fake_done(command_add(stream, c)) == CUDA_SUCCESS;
}

/* Runs the commands up to a number. */
static CUresult stream_run(CUstream stream, long until)
{
    CUresult status = CUDA_SUCCESS;
    while (stream->first && stream->first->number <= until) {
        command *c = stream->first;
        stream->first = c->next;
        if (!stream->first)
            stream->last = &stream->first;
        if (status == CUDA_SUCCESS)
            status = command_run(c);
        command_free(c);
    }
    return status;
}

CUresult stream_drain(CUstream stream)
{
    stream = stream_of(stream);
    if (stream->capture) {
        stream->spoiled = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    const CUresult status = stream_run(stream, LONG_MAX);
    if (status != CUDA_SUCCESS)
        lost = true;
    if (++waits == lose_at)
        lost = true;
    return lost ? CUDA_ERROR_ILLEGAL_ADDRESS : status;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **args, void **extra)
{
    (void)extra;
    ENTER;
    command *c = command_new(COMMAND_LAUNCH, 0);
    fake_launch *l = c ? malloc(sizeof *l) : NULL;
    if (!l) {
        free(c);
        return fake_done(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *l = (fake_launch){
        function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, {0}};
    c->launch = l;
    const CUresult status = launch_pack(function, args, l->args);
    if (status != CUDA_SUCCESS) {
        command_free(c);
        return fake_done(status);
    }
    fake_counts[FAKE_LAUNCHES] += !stream_of(stream)->capture;
    return fake_done(command_add(stream, c));
}

/* ---- streams and events ---- */

static void stream_destroy(void *o)
{
    CUstream s = o;
    while (s->first) {
        command *c = s->first;
        s->first = c->next;
        if (c->event)
            c->event->stream = NULL;
        command_free(c);
    }
}

static void event_destroy(void *o)
{
    const CUevent e = o;
    if (e->stream)
        for (command *c = e->stream->first; c; c = c->next)
            c->event = c->event == e ? NULL : c->event;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    ENTER;
    CUstream s = object_new(sizeof *s, stream_destroy);
    if (!s)
        return fake_done(CUDA_ERROR_INVALID_CONTEXT);
    s->last = &s->first;
    s->blocking = flags != CU_STREAM_NON_BLOCKING;
    *stream = s;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    const CUresult entered = fake_enter(__func__);
    object_free(stream);
    return fake_done(entered);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER;
    return fake_done(stream_drain(stream));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)flags;
    ENTER;
    if (!event->stream)
        return fake_done(CUDA_SUCCESS);
    command *c = command_new(COMMAND_WAIT, 0);
    if (c) {
        c->stream = event->stream;
        c->until = event->number;
    }
    return fake_done(command_add(stream, c));
}

CUresult cuCtxSynchronize(void)
{
    ENTER;
    CUresult status = CUDA_SUCCESS;
    for (object *o = objects; o; o = o->next)
        if ((o->destroy == stream_destroy || o->destroy == default_destroy) &&
            o->device == device_now() && status == CUDA_SUCCESS)
            status = stream_drain((CUstream)(void *)o);
    return fake_done(status);
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    ENTER;
    CUevent e = object_new(sizeof *e, event_destroy);
    if (!e)
        return fake_done(CUDA_ERROR_INVALID_CONTEXT);
    e->timed = flags != CU_EVENT_DISABLE_TIMING;
    *event = e;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event)
{
    const CUresult entered = fake_enter(__func__);
    object_free(event);
    return fake_done(entered);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    ENTER;
    event_destroy(event); /* only the last record counts */
    stream = stream_of(stream);
    command *c = command_new(COMMAND_EVENT, 0);
    if (c) {
        c->event = event;
        event->stream = stream;
        event->recorded = true;
    }
    const CUresult status = command_add(stream, c);
    event->number = c ? c->number : 0;
    return fake_done(status);
}

CUresult cuEventSynchronize(CUevent event)
{
    ENTER;
    return fake_done(event->stream ? stream_drain(event->stream) : CUDA_SUCCESS);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
    ENTER;
    if (!from->timed || !to->timed || !from->recorded || !to->recorded || from->stream ||
        to->stream)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    *milliseconds = (float)((to->ns - from->ns) * 1e-6);
    return fake_done(CUDA_SUCCESS);
}
