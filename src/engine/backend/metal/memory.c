/* Buffers of an Apple GPU. Their memory is the host's, too: reads and writes of the host wait for the commands that
 * use the buffer, and then are plain copies. Copies and fills between commands are commands. */
#include "engine/backend/metal/metal.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- blocks: called with the lock ---- */

static metal_block *block_of(uint64_t at) { return (metal_block *)(uintptr_t)at; }

static size_t whole_pages(size_t bytes)
{
    return (bytes + METAL_PAGE - 1) / METAL_PAGE * METAL_PAGE;
}

static void windows_give(metal_block *b)
{
    for (int i = 0; i < b->n_windows; i++)
        objc_send(release, b->windows[i]);
    if (b->data)
        munmap(b->data, whole_pages(b->bytes));
    memory_free(b);
}

/* Metal wraps pages of mmap. Where the system's pages are smaller than Metal's, more is mapped, and the rest given back. */
static void *pages_map(size_t bytes)
{
    char *at =
        mmap(NULL, bytes + METAL_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    const size_t before = (METAL_PAGE - (uintptr_t)at % METAL_PAGE) % METAL_PAGE;
    if (before)
        munmap(at, before);
    munmap(at + before + bytes, METAL_PAGE - before);
    return at + before;
}

static ig_status windows_get(const metal_device *d, size_t bytes, uint64_t *at, bool *full)
{
    const size_t step = (size_t)d->base.limits.reach_bytes, all = whole_pages(bytes);
    const int n = (int)((all + step - 1) / step);
    metal_block *b = memory_new(sizeof *b + (size_t)n * sizeof *b->windows);
    if (!b)
        return IG_ERR_MEMORY;
    void *data = pages_map(all);
    b->data = data;
    b->bytes = bytes;
    for (int i = 0; i < n && b->data; i++) {
        const size_t from = (size_t)i * step, rest = all - from;
        b->windows[i] =
            objc_send(wrap_buffer, d->device, (char *)data + from,
                      rest < 2 * step ? rest : 2 * step, MTLResourceStorageModeShared, NULL);
        if (!b->windows[i])
            break;
        b->n_windows++;
    }
    *at = (uint64_t)(uintptr_t)b;
    if (b->n_windows == n)
        return IG_OK;
    windows_give(b);
    *full = true;
    return IG_ERR_MEMORY;
}

static ig_status block_get(void *device, size_t bytes, uint64_t *at, bool *full)
{
    const metal_device *d = device;
    if (bytes > d->base.limits.alloc_bytes)
        return windows_get(d, bytes, at, full);
    metal_block *b = memory_new(sizeof *b);
    if (!b)
        return IG_ERR_MEMORY;
    *at = (uint64_t)(uintptr_t)b;
    b->object = objc_send(new_buffer, d->device, bytes, MTLResourceStorageModeShared);
    b->data = objc_send(contents, b->object);
    if (b->data)
        return IG_OK;
    *full = !b->object;
    objc_send(release, b->object);
    memory_free(b);
    if (*full)
        return IG_ERR_MEMORY;
    FAIL(IG_ERR_MEMORY, "%s: the memory of a buffer of %zu bytes cannot be used by the host",
         d->name, bytes);
}

/* A command buffer holds references of its own, so blocks in use can be given back. Nothing uses windows any more. */
static void block_give(void *device, uint64_t at)
{
    metal_block *b = block_of(at);
    (void)device;
    if (b->n_windows) {
        windows_give(b);
        return;
    }
    objc_send(release, b->object);
    memory_free(b);
}

/* A failure is not lost: it poisons what the batch wrote. */
static void block_wait(void *device)
{
    const bool failed = ig_failed();
    if (metal_settle_all(device, NULL) != IG_OK && !failed)
        ig_error(NULL);
}

static bool block_busy(void *device, uint64_t at)
{
    return block_of(at)->used > ((const metal_device *)device)->completed;
}

const pool_driver metal_pool = {block_get, block_give, block_wait, NULL, block_busy};

/* ---- buffers ---- */

static void destroy(buffer *b)
{
    metal_memory *m = b->handle;
    metal_device *d = m->dev;
    if (metal_enter_open(d)) {
        if (m->block) {
            block_of(m->block->at)->used = m->used;
            pool_put(&d->pool, m->block);
        } else {
            /* The memory of a source must stay until the commands that read it have completed. */
            if (m->used > d->completed)
                metal_settle(d, m->used);
            objc_send(release, m->object);
        }
        metal_leave(d);
    } else if (m->block) {
        pool_lose(&d->pool, m->block);
    }
    buffer_release(m->source);
    memory_free(m);
}

static buffer *buffer_of(metal_device *d, size_t bytes, metal_memory **m)
{
    buffer *b = buffer_new_opaque(bytes);
    *m = b ? memory_new(sizeof **m) : NULL;
    if (!*m) {
        buffer_release(b);
        return NULL;
    }
    (*m)->dev = d;
    (*m)->bytes = bytes;
    return b;
}

static buffer *ready(buffer *b, metal_memory *m, void *data)
{
    b->device = &m->dev->base;
    b->data = data;
    b->handle = m;
    b->destroy = destroy;
    return b;
}

static buffer *dropped(buffer *b, metal_memory *m)
{
    memory_free(m);
    buffer_release(b);
    return NULL;
}

buffer *metal_alloc(const backend *dev, size_t bytes)
{
    metal_device *d = metal_device_of(dev);
    metal_memory *m;
    buffer *b = buffer_of(d, bytes, &m);
    if (!b)
        return NULL;
    if (metal_enter(d) != IG_OK)
        return dropped(b, m);
    m->block = pool_take(&d->pool, bytes);
    metal_leave(d);
    if (!m->block)
        return dropped(b, m);
    const metal_block *block = block_of(m->block->at);
    m->object = block->object;
    m->used = block->used;
    return ready(b, m, block->data);
}

id metal_place(const metal_memory *m, size_t offset, size_t *at)
{
    const size_t step = (size_t)m->dev->base.limits.reach_bytes;
    *at = m->object ? m->start + offset : offset % step;
    return m->object ? m->object : block_of(m->block->at)->windows[offset / step];
}

/* Metal wants whole pages. Those at both ends have bytes that are not ours, which nothing touches. */
buffer *metal_wrap(const backend *dev, buffer *from, size_t offset, size_t bytes)
{
    metal_device *d = metal_device_of(dev);
    metal_memory *m;
    const uintptr_t at = (uintptr_t)from->data + offset, first = at / METAL_PAGE * METAL_PAGE;
    const size_t all = (size_t)((at + bytes + METAL_PAGE - 1) / METAL_PAGE * METAL_PAGE - first);
    if (bytes < 4 * METAL_PAGE || all > dev->limits.alloc_bytes)
        return NULL;
    buffer *b = buffer_of(d, bytes, &m);
    if (!b || metal_enter(d) != IG_OK)
        return b ? dropped(b, m) : NULL;
    m->object =
        objc_send(wrap_buffer, d->device, (void *)first, all, MTLResourceStorageModeShared, NULL);
    metal_leave(d);
    if (!m->object)
        return dropped(b, m);
    m->start = (size_t)(at - first);
    m->source = buffer_retain(from);
    b->borrowed = true;
    return ready(b, m, (char *)from->data + offset);
}

/* ---- checks ---- */

ig_status metal_memory_of(const metal_device *d, const buffer *b, const char *what,
                          metal_memory **m)
{
    *m = b && b->destroy == destroy ? b->handle : NULL;
    if (!*m || (d && (*m)->dev != d))
        FAIL(IG_ERR_ARGUMENT, "%s: the buffer is not one of an Apple GPU", what);
    return IG_OK;
}

ig_status metal_memory_valid(const metal_memory *m, const char *what)
{
    const metal_failure *f = metal_failed(m->dev, m->written);
    if (f)
        FAIL(IG_ERR_DEVICE,
             "%s: %s: the buffer's content is not valid, because %s; write it as a whole first",
             m->dev->name, what, f->text);
    return IG_OK;
}

static ig_status range_of(const buffer *b, size_t offset, size_t bytes, const char *what,
                          metal_memory **m)
{
    TRY(metal_memory_of(NULL, b, what, m));
    return range_check(b, offset, bytes, what);
}

/* ---- the host ---- */

/* What has no valid content gets one only by a write of all of it. */
static void host_wrote(metal_memory *m, const buffer *b, size_t bytes)
{
    if (bytes == b->bytes)
        m->written = 0;
}

ig_status metal_write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    metal_memory *m;
    TRY(range_of(to, offset, bytes, "write", &m));
    if (bytes == 0)
        return IG_OK;
    TRY(metal_enter(m->dev));
    const ig_status status = metal_settle(m->dev, m->used);
    if (status == IG_OK) {
        memcpy((char *)to->data + offset, from, bytes);
        host_wrote(m, to, bytes);
    }
    metal_leave(m->dev);
    return status;
}

ig_status metal_read(buffer *from, size_t offset, void *to, size_t bytes)
{
    metal_memory *m;
    TRY(range_of(from, offset, bytes, "read", &m));
    if (bytes == 0)
        return IG_OK;
    TRY(metal_enter(m->dev));
    ig_status status = metal_settle(m->dev, m->used);
    if (status == IG_OK)
        status = metal_memory_valid(m, "read");
    if (status == IG_OK)
        memcpy(to, (const char *)from->data + offset, bytes);
    metal_leave(m->dev);
    return status;
}

/* ---- commands ---- */

/* Metal copies and fills multiples of 4 bytes of one buffer; the host does the others. */
static bool is_whole(size_t offset, size_t bytes) { return (offset | bytes) % 4 == 0; }

static ig_status copy_locked(buffer *to, metal_memory *t, size_t to_offset, buffer *from,
                             metal_memory *f, size_t from_offset, size_t bytes)
{
    metal_device *d = t->dev;
    id encoder;
    TRY(metal_memory_valid(f, "copy"));
    if (!t->object || !f->object || !is_whole(t->start + to_offset, bytes) ||
        !is_whole(f->start + from_offset, bytes)) {
        TRY(metal_settle(d, t->used > f->used ? t->used : f->used));
        TRY(metal_memory_valid(f, "copy"));
        memcpy((char *)to->data + to_offset, (const char *)from->data + from_offset, bytes);
        host_wrote(t, to, bytes);
        return IG_OK;
    }
    TRY(metal_encode(d, METAL_BLIT, "a copy", &encoder));
    metal_uses(f, false);
    metal_uses(t, bytes == to->bytes || !metal_failed(d, t->written));
    objc_send(copy_buffer, encoder, f->object, f->start + from_offset, t->object,
              t->start + to_offset, bytes);
    return metal_batch_check(d);
}

ig_status metal_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    metal_memory *t, *f;
    TRY(range_of(to, to_offset, bytes, "copy", &t));
    TRY(range_of(from, from_offset, bytes, "copy", &f));
    TRY(range_check_copy(to, to_offset, from, from_offset, bytes));
    if (bytes == 0)
        return IG_OK;
    TRY(metal_enter(t->dev));
    const ig_status status = copy_locked(to, t, to_offset, from, f, from_offset, bytes);
    metal_leave(t->dev);
    return status;
}

static ig_status fill_locked(buffer *to, metal_memory *m, size_t offset, uint8_t value,
                             size_t bytes)
{
    id encoder;
    if (!m->object || !is_whole(m->start + offset, bytes) || m->used <= m->dev->completed) {
        TRY(metal_settle(m->dev, m->used));
        memset((char *)to->data + offset, value, bytes);
        host_wrote(m, to, bytes);
        return IG_OK;
    }
    TRY(metal_encode(m->dev, METAL_BLIT, "a fill", &encoder));
    metal_uses(m, bytes == to->bytes || !metal_failed(m->dev, m->written));
    objc_send(fill_buffer, encoder, m->object, (NSRange){m->start + offset, bytes}, value);
    return metal_batch_check(m->dev);
}

ig_status metal_fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    metal_memory *m;
    TRY(range_of(to, offset, bytes, "fill", &m));
    if (bytes == 0)
        return IG_OK;
    TRY(metal_enter(m->dev));
    const ig_status status = fill_locked(to, m, offset, value, bytes);
    metal_leave(m->dev);
    return status;
}
