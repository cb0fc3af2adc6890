/* A device that computes nothing: its buffers have no memory and its launches do nothing. It shows the
 * schedules of computations of any size without running them. */
#include "engine/backend/backend.h"

#include "base/memory.h"

#include <stdatomic.h>

static ig_status describe(const backend *dev, ig_device_info *info)
{
    (void)dev;
    *info = (ig_device_info){
        .name = "null",
        .kind = "null",
        .model = "computes nothing: for tests of the scheduler",
        .level = "",
        .levels = "",
        .isa = "",
    };
    return IG_OK;
}

static buffer *alloc(const backend *dev, size_t bytes)
{
    buffer *b = buffer_new_opaque(bytes);
    if (b)
        b->device = dev;
    return b;
}

static ig_status compile(const backend *dev, program *p)
{
    (void)dev;
    p->compiled = NULL;
    return IG_OK;
}

static void discard(program *p) { (void)p; }

static ig_status launch(const program *p, const binding *bindings)
{
    (void)p;
    (void)bindings;
    return IG_OK;
}

static ig_status finish(const backend *dev)
{
    (void)dev;
    return IG_OK;
}

static void release(const backend *dev) { (void)dev; }

const backend backend_null = {
    .name = "null",
    .computes = false,
    .describe = describe,
    .alloc = alloc,
    .compile = compile,
    .discard = discard,
    .launch = launch,
    .finish = finish,
    .release = release,
};
