/* Launching a kernel: checks, and its encoding into the open batch. What the caller got wrong is refused before
 * anything is encoded. */
#include "engine/backend/metal/metal.h"

#include "base/error.h"

#include <stdio.h>

enum { SHARED_STEP = 16 /* Metal wants threadgroup memory in multiples of this */ };

static uint64_t dynamic_bytes(const metal_kernel *k, const kernel_launch *l)
{
    const uint64_t bytes = l->shared_bytes ? l->shared_bytes : 1;
    return k->dynamic_shared ? (bytes + SHARED_STEP - 1) / SHARED_STEP * SHARED_STEP : 0;
}

static ig_status check_shape(const metal_kernel *k, const kernel_launch *l)
{
    const backend_limits *can = &k->dev->base.limits;
    const uint64_t most = k->threads < can->threads ? k->threads : can->threads;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] == 0 || l->block[i] == 0 || l->block[i] > can->thread_at[i] ||
            l->grid[i] > UINT32_MAX / l->block[i])
            FAIL(IG_ERR_ARGUMENT,
                 "%s: %s cannot launch %u x %u x %u blocks of %u x %u x %u threads", k->name,
                 k->dev->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                 l->block[2]);
        threads *= l->block[i];
    }
    if (threads > most)
        FAIL(IG_ERR_ARGUMENT, "%s: a block of %llu threads, but on %s it can have %llu at most",
             k->name, (unsigned long long)threads, k->dev->name, (unsigned long long)most);
    if (k->shared_bytes + dynamic_bytes(k, l) > can->shared_bytes)
        FAIL(IG_ERR_ARGUMENT, "%s: %llu bytes of shared memory, but a block on %s has %llu",
             k->name, (unsigned long long)(k->shared_bytes + dynamic_bytes(k, l)), k->dev->name,
             (unsigned long long)can->shared_bytes);
    return IG_OK;
}

/* A buffer of this device with valid content and a place in it, or a null pointer. *alone: one is seen through windows. */
static ig_status check_args(const metal_kernel *k, const kernel_launch *l, bool *alone)
{
    metal_memory *m;
    for (int i = 0; i < k->n_params; i++) {
        const binding *at = &l->args[i].at;
        if (k->params[i].kind != KERNEL_BUFFER)
            continue;
        if (at->offset > (at->buf ? at->buf->bytes : 0))
            FAIL(IG_ERR_ARGUMENT, "%s: parameter %d points %zu bytes into a buffer of %zu", k->name,
                 i + 1, at->offset, at->buf ? at->buf->bytes : 0);
        if (!at->buf)
            continue;
        TRY(metal_memory_of(k->dev, at->buf, k->name, &m));
        TRY(metal_memory_valid(m, k->name));
        if (!m->object && (!l->reach || l->reach > k->dev->base.limits.reach_bytes))
            FAIL(IG_ERR_UNSUPPORTED,
                 "%s: parameter %d points into %zu bytes, but a kernel on %s can use %llu at most",
                 k->name, i + 1, at->buf->bytes, k->dev->name,
                 (unsigned long long)k->dev->base.limits.alloc_bytes);
        *alone = *alone || !m->object;
    }
    return IG_OK;
}

/* A value of more than METAL_BYTES_MOST bytes is in a buffer that lives as long as the command buffer. */
static ig_status set_value(const metal_kernel *k, id encoder, const kernel_arg *a, int i)
{
    const size_t bytes = k->params[i].bytes;
    if (bytes <= METAL_BYTES_MOST) {
        objc_send(set_bytes, encoder, a->bytes, bytes, (NSUInteger)i);
        return IG_OK;
    }
    const id large = objc_send(new_buffer, k->dev->device, bytes, MTLResourceStorageModeShared);
    char *data = objc_send(contents, large);
    if (data) {
        for (size_t n = 0; n < bytes; n++)
            data[n] = ((const char *)a->bytes)[n];
        objc_send(set_buffer, encoder, large, 0, (NSUInteger)i);
    }
    objc_send(release, large);
    if (!data)
        FAIL(IG_ERR_MEMORY, "%s: parameter %d has %zu bytes, which do not fit", k->name, i + 1,
             bytes);
    return IG_OK;
}

/* An offset at the very end of a buffer, where nothing is read, is not allowed by Metal: the place before it is. */
static ig_status encode(const metal_kernel *k, const kernel_launch *l, id encoder)
{
    objc_send(set_pipeline, encoder, k->pipeline);
    for (int i = 0; i < k->n_params; i++) {
        const kernel_arg *a = &l->args[i];
        metal_memory *m =
            k->params[i].kind == KERNEL_BUFFER && a->at.buf ? a->at.buf->handle : NULL;
        if (k->params[i].kind == KERNEL_BYTES)
            TRY(set_value(k, encoder, a, i));
        else if (!m)
            objc_send(set_buffer, encoder, NULL, 0, (NSUInteger)i);
        else {
            size_t at;
            const id object = metal_place(m, a->at.offset < m->bytes ? a->at.offset : 0, &at);
            metal_uses(m, !m->source && !k->params[i].is_read);
            objc_send(set_buffer, encoder, object, at, (NSUInteger)i);
        }
    }
    if (k->dynamic_shared)
        objc_send(set_shared, encoder, dynamic_bytes(k, l), 0);
    objc_send(dispatch, encoder, (MTLSize){l->grid[0], l->grid[1], l->grid[2]},
              (MTLSize){l->block[0], l->block[1], l->block[2]});
    return IG_OK;
}

static ig_status launch_locked(metal_kernel *k, const kernel_launch *l)
{
    metal_device *d = k->dev;
    id encoder;
    double seconds = 0;
    bool alone = l->device_ns != NULL; /* in a batch of its own */
    TRY(check_args(k, l, &alone));
    if (alone)
        TRY(metal_settle_all(d, NULL));
    TRY(metal_encode(d, METAL_COMPUTE, l->label ? l->label : k->name, &encoder));
    TRY(encode(k, l, encoder));
    if (!alone)
        return metal_batch_check(d);
    TRY(metal_settle_all(d, &seconds));
    if (l->device_ns)
        *l->device_ns = (uint64_t)(seconds * 1e9);
    return IG_OK;
}

ig_status metal_kernel_launch(kernel_code *code, const kernel_launch *l)
{
    metal_kernel *k = (metal_kernel *)code;
    TRY(check_shape(k, l));
    TRY(metal_enter(k->dev));
    const ig_status status = launch_locked(k, l);
    metal_leave(k->dev);
    return status;
}
