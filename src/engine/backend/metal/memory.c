/* Buffers of an Apple GPU. Their memory is also the host's: reads and writes of the host wait for the commands that use
 * the buffer, and then are plain copies. Copies and fills between commands are commands themselves. */
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

/* Metal wraps pages of mmap. The system's pages may be smaller than Metal's: maps more, and unmaps the unaligned rest. */
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
    const size_t step = (size_t)d->base.dev.limits.reach_bytes, all = whole_pages(bytes);
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
    if (bytes > d->base.dev.limits.alloc_bytes)
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
         d->base.name, bytes);
}

/* A command buffer holds its own references, so blocks in use can be released. Windows are not in use any more. */
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

/* A failure is not lost: it poisons the buffers that the batch wrote. */
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

static void attach(buffer *b)
{
    metal_memory *m = b->handle;
    const metal_block *block = block_of(m->base.block->at);
    m->object = block->object;
    m->base.used = block->used;
    b->data = block->data;
}

/* The memory of the source of a wrapped buffer must stay until the commands that read it have completed. */
static void detach(buffer *b, bool is_open)
{
    const metal_memory *m = b->handle;
    metal_device *d = metal_device_of(b->device);
    if (m->base.block) {
        block_of(m->base.block->at)->used = m->base.used;
    } else if (is_open) {
        if (m->base.used > d->completed)
            metal_settle(d, m->base.used);
        objc_send(release, m->object);
    }
}

bool metal_is_windowed(const buffer *b) { return !((const metal_memory *)b->handle)->object; }

id metal_place(const buffer *b, size_t offset, size_t *at)
{
    const metal_memory *m = b->handle;
    size_t left;
    *at = m->start + offset;
    if (m->object)
        return m->object;
    const metal_block *block = block_of(m->base.block->at);
    return block->windows[driver_window((size_t)b->device->limits.reach_bytes, block->n_windows,
                                        offset, at, &left)];
}

/* Metal needs whole pages. The first and last page also have bytes outside the range, which no command touches. */
buffer *metal_wrap(const backend *dev, buffer *from, size_t offset, size_t bytes)
{
    metal_device *d = metal_device_of(dev);
    const uintptr_t at = (uintptr_t)from->data + offset, first = at / METAL_PAGE * METAL_PAGE;
    const size_t all = (size_t)((at + bytes + METAL_PAGE - 1) / METAL_PAGE * METAL_PAGE - first);
    if (bytes < 4 * METAL_PAGE || all > dev->limits.alloc_bytes)
        return NULL;
    buffer *b = buffer_new_opaque(bytes);
    metal_memory *m = b ? memory_new(sizeof *m) : NULL;
    if (m && driver_enter(&d->base.dev) == IG_OK) {
        m->object = objc_send(wrap_buffer, d->device, (void *)first, all,
                              MTLResourceStorageModeShared, NULL);
        driver_unlock(&d->base.dev);
    }
    if (!m || !m->object) {
        memory_free(m);
        buffer_release(b);
        return NULL;
    }
    m->start = (size_t)(at - first);
    m->base.source = buffer_retain(from);
    b->borrowed = true;
    b->device = dev;
    b->data = (char *)from->data + offset;
    b->handle = m;
    b->destroy = driver_destroy;
    return b;
}

/* ---- the host ---- */

/* Waits until the host may touch the buffer. */
static ig_status settle(const buffer *b)
{
    return metal_settle(metal_device_of(b->device), ((const driver_memory *)b->handle)->used);
}

/* A buffer without valid content becomes valid only if all of it is written. */
static void host_wrote(buffer *b, size_t bytes)
{
    if (bytes == b->bytes)
        ((driver_memory *)b->handle)->written = 0;
}

static ig_status write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    TRY(settle(to));
    memcpy((char *)to->data + offset, from, bytes);
    host_wrote(to, bytes);
    return IG_OK;
}

static ig_status read(buffer *from, size_t offset, void *to, size_t bytes)
{
    TRY(settle(from));
    TRY(driver_valid(from, "read"));
    memcpy(to, (const char *)from->data + offset, bytes);
    return IG_OK;
}

/* ---- commands ---- */

/* Metal copies and fills multiples of 4 bytes of one object; the host does all others. */
static bool is_whole(const buffer *b, size_t offset, size_t bytes)
{
    const metal_memory *m = b->handle;
    return m->object && ((m->start + offset) | bytes) % 4 == 0;
}

/* Records that the open batch writes these bytes. */
static void batch_writes(metal_device *d, buffer *to, size_t bytes)
{
    metal_uses(to, false);
    driver_writes(to, bytes, d->open.number);
}

static ig_status copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    metal_device *d = metal_device_of(to->device);
    const metal_memory *t = to->handle, *f = from->handle;
    id encoder;
    TRY(driver_valid(from, "copy"));
    if (!is_whole(to, to_offset, bytes) || !is_whole(from, from_offset, bytes)) {
        TRY(settle(to));
        TRY(settle(from));
        TRY(driver_valid(from, "copy"));
        memcpy((char *)to->data + to_offset, (const char *)from->data + from_offset, bytes);
        host_wrote(to, bytes);
        return IG_OK;
    }
    TRY(metal_encode(d, METAL_BLIT, "a copy", &encoder));
    metal_uses(from, false);
    batch_writes(d, to, bytes);
    objc_send(copy_buffer, encoder, f->object, f->start + from_offset, t->object,
              t->start + to_offset, bytes);
    return metal_batch_check(d);
}

static ig_status fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    metal_device *d = metal_device_of(to->device);
    const metal_memory *m = to->handle;
    id encoder;
    if (!is_whole(to, offset, bytes) || m->base.used <= d->completed) {
        TRY(settle(to));
        memset((char *)to->data + offset, value, bytes);
        host_wrote(to, bytes);
        return IG_OK;
    }
    TRY(metal_encode(d, METAL_BLIT, "a fill", &encoder));
    batch_writes(d, to, bytes);
    objc_send(fill_buffer, encoder, m->object, (NSRange){m->start + offset, bytes}, value);
    return metal_batch_check(d);
}

static ig_status settle_all(const backend *dev)
{
    return metal_settle_all(metal_device_of(dev), NULL);
}

const struct driver metal_driver = {.search = &metal_search,
                                    .begin = metal_begin,
                                    .end = metal_end,
                                    .use = metal_use,
                                    .settle = settle_all,
                                    .write = write,
                                    .read = read,
                                    .copy = copy,
                                    .fill = fill,
                                    .memory_bytes = sizeof(metal_memory),
                                    .attach = attach,
                                    .detach = detach};
