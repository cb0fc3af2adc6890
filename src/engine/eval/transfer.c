/* Transfers of data between devices; see transfer.h. Devices of one kind may copy to each other. All other transfers go
 * through host memory. */
#include "engine/eval/transfer.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/eval/emitted.h"
#include "engine/eval/faults.h"
#include "engine/eval/fallback.h"

#include <string.h>

/* The CPU, and all devices that run on it, use host memory. */
bool transfer_is_on(const buffer *b, const backend *dev)
{
    return b->device == dev || (!b->device && (dev->lanes || !dev->computes));
}

static bool stays_on_host(const backend *dev, uint64_t bytes)
{
    return fallback_too_large(dev, bytes) && fallback_allowed(dev);
}

bool transfer_stays(const buffer *b, const backend *dev)
{
    return transfer_is_on(b, dev) || (!b->device && stays_on_host(dev, b->bytes));
}

buffer *transfer_alloc(const backend *dev, size_t bytes)
{
    return stays_on_host(dev, bytes) ? buffer_new(bytes) : dev->alloc(dev, bytes);
}

ig_status transfer_read(buffer *from, size_t offset, void *to, size_t bytes)
{
    if (bytes == 0)
        return IG_OK;
    if (!from->device) {
        TRY(buffer_hold(from));
        memcpy(to, (const char *)from->data + offset, bytes);
        buffer_drop(from);
        return IG_OK;
    }
    const backend *dev = from->device;
    if (!dev->computes || !dev->read)
        FAIL(IG_ERR_DEVICE, "device '%s' computes nothing, so there is nothing to read", dev->name);
    TRY(emitted_finish(dev));
    TRY(faults_check(from));
    return dev->read(from, offset, to, bytes);
}

ig_status transfer_write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    if (bytes == 0)
        return IG_OK;
    if (!to->device) {
        memcpy((char *)to->data + offset, from, bytes);
        return IG_OK;
    }
    return to->device->write(to, offset, from, bytes);
}

static void release_owner(void *context) { buffer_release(context); }

buffer *transfer_share(buffer *from, size_t offset, size_t bytes)
{
    const backend *dev = from->device;
    if (!dev || !dev->wrap || !from->data)
        return NULL;
    if (emitted_finish(dev) != IG_OK || faults_check(from) != IG_OK ||
        dev->read(from, 0, &(char){0}, 1) != IG_OK)
        return NULL;
    buffer *b =
        buffer_foreign((char *)from->data + offset, bytes, release_owner, buffer_retain(from));
    if (b)
        b->borrowed = true;
    return b;
}

/* A device that uses host memory shares it; otherwise the bytes are copied. */
static buffer *to_host(buffer *from, size_t offset, size_t bytes)
{
    if (bytes && from->device && from->device->wrap && from->data)
        return transfer_share(from, offset, bytes);
    buffer *b = buffer_new(bytes);
    if (b && transfer_read(from, offset, b->data, bytes) == IG_OK)
        return b;
    buffer_release(b);
    return NULL;
}

static buffer *copy_of(buffer *from, size_t offset, size_t bytes, const backend *dev)
{
    if (dev->lanes || stays_on_host(dev, bytes))
        return to_host(from, offset, bytes);
    const bool peers = from->device && dev->copies_peers && from->device->copy == dev->copy;
    if (from->fetched || (from->device && from->device != dev && !peers)) {
        buffer *between = to_host(from, offset, bytes);
        buffer *there = between ? copy_of(between, 0, bytes, dev) : NULL;
        buffer_release(between);
        return there;
    }
    buffer *b = dev->wrap && !from->device && bytes ? dev->wrap(dev, from, offset, bytes) : NULL;
    if (b)
        return b;
    b = dev->alloc(dev, bytes);
    if (!b || !dev->computes || bytes == 0)
        return b;
    ig_status status = IG_OK;
    if (from->device && from->device != dev) { /* do not copy the result of a failed evaluation */
        status = emitted_finish(from->device);
        status = status == IG_OK ? faults_check(from) : status;
    }
    b->written = from->device == dev ? from->written : 0;
    if (status == IG_OK)
        status = from->device ? dev->copy(b, 0, from, offset, bytes)
                              : transfer_write(b, 0, (const char *)from->data + offset, bytes);
    if (status == IG_OK)
        return b;
    buffer_release(b);
    return NULL;
}

buffer *transfer_copy(buffer *from, size_t offset, size_t bytes, const backend *dev)
{
    buffer *b = copy_of(from, offset, bytes, dev);
    if (b && offset == 0 && bytes == from->bytes)
        b->stored = from->stored;
    return b;
}

ig_status transfer_root(ig_array *root, const backend *dev)
{
    if (transfer_stays(root->data, dev))
        return IG_OK;
    buffer *there = transfer_copy(root->data, 0, root->data->bytes, dev);
    if (!there)
        return error_waiting(IG_ERR_MEMORY);
    there->serial = root->data->serial;
    buffer_release(root->data);
    root->data = there;
    return IG_OK;
}
