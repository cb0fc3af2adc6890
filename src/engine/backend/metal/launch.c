/* Launching a kernel: checks, and encoding into the open batch. Mistakes of the caller are refused before anything is
 * encoded. */
#include "engine/backend/metal/metal.h"

#include "base/error.h"

#include <stdio.h>

enum { SHARED_STEP = 16 /* Metal needs threadgroup memory in multiples of this */ };

static uint64_t dynamic_bytes(const metal_kernel *k, const kernel_launch *l)
{
    const uint64_t bytes = l->shared_bytes ? l->shared_bytes : 1;
    return k->base.dynamic_shared ? (bytes + SHARED_STEP - 1) / SHARED_STEP * SHARED_STEP : 0;
}

/* Metal counts the threads of the whole grid with 32 bits. */
static ig_status check(const metal_kernel *k, const kernel_launch *l)
{
    TRY(driver_check_shape(&k->base, l, dynamic_bytes(k, l)));
    for (int i = 0; i < 3; i++)
        if (l->grid[i] > UINT32_MAX / l->block[i])
            FAIL(IG_ERR_ARGUMENT,
                 "%s: %u blocks of %u threads along %c, but %s can launch %u threads at most",
                 k->base.name, l->grid[i], l->block[i], "xyz"[i], k -> dev -> base.name,
                 UINT32_MAX);
    return driver_check_args(&k->base, l);
}

static bool has_windows(const metal_kernel *k, const kernel_launch *l)
{
    for (int i = 0; i < k->base.n_params; i++)
        if (k->base.params[i].kind == KERNEL_BUFFER && l->args[i].at.buf &&
            metal_is_windowed(l->args[i].at.buf))
            return true;
    return false;
}

/* A value of more than METAL_BYTES_MOST bytes is put into a buffer that lives as long as the command buffer. */
static ig_status set_value(const metal_kernel *k, id encoder, const kernel_arg *a, int i)
{
    const size_t bytes = k->base.params[i].bytes;
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
        FAIL(IG_ERR_MEMORY, "%s: parameter %d has %zu bytes, which do not fit", k->base.name, i + 1,
             bytes);
    return IG_OK;
}

/* Metal does not allow an offset at the very end of a buffer. Nothing is read there, so offset 0 is passed instead. */
static ig_status encode(const metal_kernel *k, const kernel_launch *l, id encoder)
{
    objc_send(set_pipeline, encoder, k->pipeline);
    for (int i = 0; i < k->base.n_params; i++) {
        const kernel_arg *a = &l->args[i];
        buffer *b = k->base.params[i].kind == KERNEL_BUFFER ? a->at.buf : NULL;
        if (k->base.params[i].kind == KERNEL_BYTES)
            TRY(set_value(k, encoder, a, i));
        else if (!b)
            objc_send(set_buffer, encoder, NULL, 0, (NSUInteger)i);
        else {
            size_t at;
            const id object = metal_place(b, a->at.offset < b->bytes ? a->at.offset : 0, &at);
            metal_uses(b, !b->borrowed && !k->base.params[i].is_read);
            objc_send(set_buffer, encoder, object, at, (NSUInteger)i);
        }
    }
    if (k->base.dynamic_shared)
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
    const bool alone = l->device_ns || has_windows(k, l); /* in a separate batch */
    TRY(driver_check_valid(&k->base, l));
    if (alone)
        TRY(metal_settle_all(d, NULL));
    TRY(metal_encode(d, METAL_COMPUTE, l->label ? l->label : k->base.name, &encoder));
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
    TRY(check(k, l));
    TRY(driver_enter(&k->dev->base.dev));
    return driver_left(&k->dev->base.dev, launch_locked(k, l));
}
