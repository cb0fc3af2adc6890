/* Code shared by drivers; see driver.h. */
#include "engine/backend/driver.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/trace.h"

#include <stdio.h>
#include <string.h>

/* ---- failed commands ---- */

/* When the list is full, merges the two ranges with the fewest commands between them. The commands between
 * them then count as failed, too, which is safe. */
static void merge_nearest(failure_list *f)
{
    int nearest = 0;
    for (int i = 1; i + 1 < f->n; i++)
        if (f->at[i + 1].first - f->at[i].last < f->at[nearest + 1].first - f->at[nearest].last)
            nearest = i;
    f->at[nearest].last = f->at[nearest + 1].last;
    memmove(f->at + nearest + 1, f->at + nearest + 2, (size_t)(f->n - nearest - 2) * sizeof *f->at);
    f->n--;
}

void failures_add(failure_list *f, uint64_t first, uint64_t last, const char *text)
{
    if (f->n == FAILURES_MOST)
        merge_nearest(f);
    f->at[f->n].first = first;
    f->at[f->n].last = last;
    snprintf(f->at[f->n++].text, sizeof f->at->text, "%s", text);
}

const char *failures_find(const failure_list *f, uint64_t number)
{
    for (int i = f->n - 1; i >= 0; i--)
        if (number >= f->at[i].first && number <= f->at[i].last)
            return f->at[i].text;
    return NULL;
}

/* ---- buffers ---- */

void driver_destroy(buffer *b)
{
    const backend *dev = b->device;
    const struct driver *d = dev->driver;
    driver_memory *m = b->handle;
    const bool is_open = d->enter_open(dev);
    if (d->detach)
        d->detach(b, is_open);
    if (m->block)
        (is_open ? pool_put : pool_lose)(dev->pool, m->block);
    if (is_open)
        d->leave(dev);
    buffer_release(m->source); /* without the lock: it may be a view of a buffer of this device */
    memory_free(m);
}

buffer *driver_alloc(const backend *dev, size_t bytes)
{
    const struct driver *d = dev->driver;
    const backend_limits *l = &dev->limits;
    if (bytes > l->alloc_bytes && l->alloc_bytes && !l->reach_bytes)
        FAIL_NULL(IG_ERR_MEMORY,
                  "%s: a buffer of %zu bytes is needed, but the device allows at most %llu; use "
                  "smaller arrays, or let the CPU run it: --fallback warn or auto",
                  dev->name, bytes, (unsigned long long)l->alloc_bytes);
    buffer *b = buffer_new_opaque(bytes);
    driver_memory *m = b ? memory_new(d->memory_bytes) : NULL;
    if (m && d->enter(dev) == IG_OK) {
        b->device = dev;
        b->handle = m;
        m->block = pool_take(dev->pool, bytes);
        if (m->block && d->attach)
            d->attach(b);
        d->leave(dev);
    }
    if (m && m->block) {
        b->destroy = driver_destroy;
        return b;
    }
    memory_free(m);
    buffer_release(b);
    return NULL;
}

ig_status driver_owns(const backend *dev, const buffer *b, const char *what)
{
    if (!b || !b->device || !b->device->driver)
        FAIL(IG_ERR_ARGUMENT, "%s: the buffer is %s", what,
             b ? "in host memory, not on a device that runs kernels" : "NULL");
    if (dev && b->device != dev)
        FAIL(IG_ERR_ARGUMENT, "%s: the buffer is another device's (%s); copy it through the host",
             what, b->device->name);
    return IG_OK;
}

ig_status driver_valid(const failure_list *f, const buffer *b, const char *what)
{
    const driver_memory *m = b->handle;
    const char *why = failures_find(f, m->written);
    if (why)
        FAIL(IG_ERR_DEVICE,
             "%s: %s: the buffer's content is not valid, because %s; write it as a whole first",
             b->device->name, what, why);
    return IG_OK;
}

void driver_writes(const failure_list *f, buffer *b, size_t bytes, uint64_t number)
{
    driver_memory *m = b->handle;
    if (bytes == b->bytes || !failures_find(f, m->written))
        m->written = number;
}

/* ---- entries of struct backend ---- */

ig_status driver_write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    TRY(driver_owns(NULL, to, "write"));
    TRY(range_check(to, offset, bytes, "write"));
    if (bytes == 0)
        return IG_OK;
    const struct driver *d = to->device->driver;
    TRY(d->enter(to->device));
    const ig_status status = d->write(to, offset, from, bytes);
    d->leave(to->device);
    return status;
}

ig_status driver_read(buffer *from, size_t offset, void *to, size_t bytes)
{
    TRY(driver_owns(NULL, from, "read"));
    TRY(range_check(from, offset, bytes, "read"));
    if (bytes == 0)
        return IG_OK;
    const struct driver *d = from->device->driver;
    TRY(d->enter(from->device));
    const ig_status status = d->read(from, offset, to, bytes);
    d->leave(from->device);
    return status;
}

ig_status driver_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    TRY(driver_owns(NULL, to, "copy"));
    TRY(driver_owns(to->device, from, "copy"));
    TRY(range_check_copy(to, to_offset, from, from_offset, bytes));
    if (bytes == 0)
        return IG_OK;
    const struct driver *d = to->device->driver;
    TRY(d->enter(to->device));
    const ig_status status = d->copy(to, to_offset, from, from_offset, bytes);
    d->leave(to->device);
    return status;
}

ig_status driver_fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    TRY(driver_owns(NULL, to, "fill"));
    TRY(range_check(to, offset, bytes, "fill"));
    if (bytes == 0)
        return IG_OK;
    const struct driver *d = to->device->driver;
    TRY(d->enter(to->device));
    const ig_status status = d->fill(to, offset, value, bytes);
    d->leave(to->device);
    return status;
}

ig_status driver_describe(const backend *dev, ig_device_info *info)
{
    *info = dev->facts;
    info->name = dev->name;
    info->levels = "";
    info->memory_limit = dev->pool ? pool_limit(dev->pool) : 0;
    return IG_OK;
}

int64_t driver_compile_begin(const backend *dev)
{
    log_work_begin(dev->name);
    return trace_begin();
}

void driver_compile_end(int64_t began)
{
    trace_end(began, "compile a kernel");
    log_work_end();
}

/* ---- launches ---- */

ig_status driver_check_shape(const driver_kernel *k, const kernel_launch *l, uint64_t dynamic)
{
    const backend_limits *can = &k->dev->limits;
    const uint64_t most = k->threads && k->threads < can->threads ? k->threads : can->threads;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] == 0 || l->block[i] == 0)
            FAIL(IG_ERR_ARGUMENT,
                 "%s: %s cannot launch %u x %u x %u blocks of %u x %u x %u threads", k->name,
                 k->dev->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                 l->block[2]);
        threads *= l->block[i];
        if (l->block[i] > can->thread_at[i] || threads > most)
            FAIL(IG_ERR_ARGUMENT,
                 "%s: a block of %u x %u x %u threads, but on %s it can have %llu at most, and "
                 "%llu along %c",
                 k->name, l->block[0], l->block[1], l->block[2], k->dev->name,
                 (unsigned long long)most, (unsigned long long)can->thread_at[i], "xyz"[i]);
    }
    if (k->shared_static > can->shared_bytes || dynamic > can->shared_bytes - k->shared_static)
        FAIL(IG_ERR_ARGUMENT, "%s: %llu bytes of shared memory, but a block on %s has %llu",
             k->name, (unsigned long long)(dynamic + k->shared_static), k->dev->name,
             (unsigned long long)can->shared_bytes);
    return IG_OK;
}

ig_status driver_check_args(const driver_kernel *k, const kernel_launch *l)
{
    const backend_limits *can = &k->dev->limits;
    for (int i = 0; i < k->n_params; i++) {
        const binding *at = &l->args[i].at;
        if (k->params[i].kind != KERNEL_BUFFER)
            continue;
        if (at->offset > (at->buf ? at->buf->bytes : 0))
            FAIL(IG_ERR_ARGUMENT, "%s: parameter %d points %zu bytes into a buffer of %zu", k->name,
                 i + 1, at->offset, at->buf ? at->buf->bytes : 0);
        if (!at->buf)
            continue;
        TRY(driver_owns(k->dev, at->buf, k->name));
        if (at->buf->bytes > can->alloc_bytes && (!l->reach || l->reach > can->reach_bytes))
            FAIL(IG_ERR_UNSUPPORTED,
                 "%s: parameter %d points into %zu bytes, but a kernel on %s can use %llu at most",
                 k->name, i + 1, at->buf->bytes, k->dev->name,
                 (unsigned long long)can->alloc_bytes);
    }
    return IG_OK;
}
