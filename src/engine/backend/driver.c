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

ig_status driver_failed(driver_device *d, uint64_t first, const char *what, const char *why)
{
    char text[2 * FLIGHT_TEXT_BYTES];
    snprintf(text, sizeof text, "%s failed: %s", what, why);
    failures_add(&d->failures, first, d->number, text);
    FAIL(IG_ERR_DEVICE, "%s: %s; its results cannot be used", d->name, text);
}

/* ---- devices ---- */

driver_device *driver_add(device_search *s, const backend *vtable, const pool_driver *pool)
{
    if (s->count == s->most)
        return NULL;
    driver_device *d = (driver_device *)((char *)s->devices + (size_t)s->count * s->device_bytes);
    const bool fresh = d->dev.name == NULL;
    const pthread_mutex_t lock = d->lock;
    const uint64_t limit = d->pool.limit_set;
    memset(d, 0, s->device_bytes);
    d->dev = *vtable;
    d->lock = lock;
    if (fresh) {
        pthread_mutexattr_t recursive;
        pthread_mutexattr_init(&recursive);
        pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&d->lock, &recursive);
        pthread_mutexattr_destroy(&recursive);
    }
    snprintf(d->name, sizeof d->name, "%s:%d", vtable->language, s->count);
    d->dev.name = d->name;
    d->dev.pool = &d->pool;
    d->pool = (memory_pool){.driver = pool, .device = d, .name = d->name, .limit_set = limit};
    return d;
}

static void lock(const backend *dev)
{
    pthread_mutex_lock(&driver_of(dev)->lock);
    if (dev->driver->begin)
        dev->driver->begin(dev);
}

void driver_unlock(const backend *dev)
{
    if (dev->driver->end)
        dev->driver->end(dev);
    pthread_mutex_unlock(&driver_of(dev)->lock);
}

static ig_status use(const backend *dev)
{
    const ig_status status = dev->driver->use(dev);
    if (status == IG_OK && !driver_of(dev)->is_open)
        driver_of(dev)->is_open = true;
    return status;
}

ig_status driver_enter(const backend *dev)
{
    TRY(search_check(dev->driver->search, dev));
    lock(dev);
    const ig_status status = use(dev);
    if (status != IG_OK)
        driver_unlock(dev);
    return status;
}

void driver_leave(const backend *dev)
{
    if (dev->driver->unuse)
        dev->driver->unuse(dev);
    driver_unlock(dev);
}

ig_status driver_left(const backend *dev, ig_status status)
{
    driver_leave(dev);
    return status;
}

bool driver_lock_open(const backend *dev)
{
    const bool ours = search_is_ours(dev->driver->search);
    if (ours)
        lock(dev);
    return ours;
}

ig_status driver_finish(const backend *dev)
{
    if (!driver_of(dev)->is_open)
        return IG_OK;
    TRY(driver_enter(dev));
    return driver_left(dev, dev->driver->settle(dev));
}

/* ---- buffers ---- */

void driver_destroy(buffer *b)
{
    const backend *dev = b->device;
    const struct driver *d = dev->driver;
    driver_memory *m = b->handle;
    const bool is_locked = driver_lock_open(dev), is_open = is_locked && !driver_of(dev)->is_lost;
    if (d->detach)
        d->detach(b, is_open);
    if (m->block)
        (is_open ? pool_put : pool_lose)(dev->pool, m->block);
    if (is_locked)
        driver_unlock(dev);
    buffer_release(m->source); /* without the lock: it may be a view of a buffer of this device */
    memory_free(m);
}

/* Usually there is a kept block. Then the thread need not use the device. */
static pool_block *take(const backend *dev, size_t bytes)
{
    const bool keeps =
        driver_of(dev)->is_open && !driver_of(dev)->is_lost && !dev->pool->driver->busy;
    pool_block *block = keeps ? pool_take_kept(dev->pool, bytes) : NULL;
    if (block || use(dev) != IG_OK)
        return block;
    block = pool_take(dev->pool, bytes);
    if (dev->driver->unuse)
        dev->driver->unuse(dev);
    return block;
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
    if (m && search_check(d->search, dev) == IG_OK) {
        lock(dev);
        b->device = dev;
        b->handle = m;
        m->block = take(dev, bytes);
        if (m->block && d->attach)
            d->attach(b);
        driver_unlock(dev);
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

static const char *why_invalid(const buffer *b)
{
    return failures_find(&driver_of(b->device)->failures, ((driver_memory *)b->handle)->written);
}

ig_status driver_valid(const buffer *b, const char *what)
{
    const char *why = why_invalid(b);
    if (why)
        FAIL(IG_ERR_DEVICE,
             "%s: %s: the buffer's content is not valid, because %s; write it as a whole first",
             b->device->name, what, why);
    return IG_OK;
}

void driver_writes(buffer *b, size_t bytes, uint64_t number)
{
    if (bytes == b->bytes || !why_invalid(b))
        ((driver_memory *)b->handle)->written = number;
}

/* ---- entries of struct backend ---- */

/* Checks the range and enters the device, unless the range is empty. */
static ig_status enter_range(const buffer *b, size_t offset, size_t bytes, const char *what)
{
    TRY(driver_owns(NULL, b, what));
    TRY(range_check(b, offset, bytes, what));
    return bytes ? driver_enter(b->device) : IG_OK;
}

ig_status driver_write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    TRY(enter_range(to, offset, bytes, "write"));
    return bytes ? driver_left(to->device, to->device->driver->write(to, offset, from, bytes))
                 : IG_OK;
}

ig_status driver_read(buffer *from, size_t offset, void *to, size_t bytes)
{
    TRY(enter_range(from, offset, bytes, "read"));
    return bytes ? driver_left(from->device, from->device->driver->read(from, offset, to, bytes))
                 : IG_OK;
}

ig_status driver_fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    TRY(enter_range(to, offset, bytes, "fill"));
    return bytes ? driver_left(to->device, to->device->driver->fill(to, offset, value, bytes))
                 : IG_OK;
}

/* Commands of two devices are not ordered, so a copy between them waits for both. */
ig_status driver_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    TRY(driver_owns(NULL, to, "copy"));
    TRY(driver_owns(NULL, from, "copy"));
    const struct driver *d = to->device->driver;
    const bool peers = to->device->copies_peers && from->device->driver == d;
    TRY(driver_owns(peers ? NULL : to->device, from, "copy"));
    TRY(range_check_copy(to, to_offset, from, from_offset, bytes));
    if (bytes == 0)
        return IG_OK;
    if (from->device != to->device)
        TRY(driver_finish(from->device));
    TRY(driver_enter(to->device));
    return driver_left(to->device, d->copy(to, to_offset, from, from_offset, bytes));
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

void *driver_kernel_new(const backend *dev, const kernel_image *image, size_t bytes)
{
    driver_kernel *k = memory_new(bytes + (size_t)image->n_params * sizeof *k->params);
    if (!k)
        return NULL;
    k->code.dev = dev;
    k->dynamic_shared = image->dynamic_shared;
    k->n_params = image->n_params;
    k->params = (kernel_param *)((char *)k + bytes);
    if (image->n_params)
        memcpy(k->params, image->params, (size_t)image->n_params * sizeof *k->params);
    snprintf(k->name, sizeof k->name, "kernel '%.48s'", image->entry);
    return k;
}

ig_status driver_check_shape(const driver_kernel *k, const kernel_launch *l, uint64_t dynamic)
{
    const backend *dev = k->code.dev;
    const backend_limits *can = &dev->limits;
    const uint64_t most = k->threads && k->threads < can->threads ? k->threads : can->threads;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] == 0 || l->block[i] == 0)
            FAIL(IG_ERR_ARGUMENT,
                 "%s: %s cannot launch %u x %u x %u blocks of %u x %u x %u threads", k->name,
                 dev->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                 l->block[2]);
        threads *= l->block[i];
        if (l->block[i] > can->thread_at[i] || threads > most)
            FAIL(IG_ERR_ARGUMENT,
                 "%s: a block of %u x %u x %u threads, but on %s it can have %llu at most, and "
                 "%llu along %c",
                 k->name, l->block[0], l->block[1], l->block[2], dev->name,
                 (unsigned long long)most, (unsigned long long)can->thread_at[i], "xyz"[i]);
    }
    if (k->shared_static > can->shared_bytes || dynamic > can->shared_bytes - k->shared_static)
        FAIL(IG_ERR_ARGUMENT, "%s: %llu bytes of shared memory, but a block on %s has %llu",
             k->name, (unsigned long long)(dynamic + k->shared_static), dev->name,
             (unsigned long long)can->shared_bytes);
    return IG_OK;
}

ig_status driver_check_args(const driver_kernel *k, const kernel_launch *l)
{
    const backend *dev = k->code.dev;
    const backend_limits *can = &dev->limits;
    for (int i = 0; i < k->n_params; i++) {
        const binding *at = &l->args[i].at;
        if (k->params[i].kind != KERNEL_BUFFER)
            continue;
        if (at->offset > (at->buf ? at->buf->bytes : 0))
            FAIL(IG_ERR_ARGUMENT, "%s: parameter %d points %zu bytes into a buffer of %zu", k->name,
                 i + 1, at->offset, at->buf ? at->buf->bytes : 0);
        if (!at->buf)
            continue;
        TRY(driver_owns(dev, at->buf, k->name));
        if (at->buf->bytes > can->alloc_bytes && (!l->reach || l->reach > can->reach_bytes))
            FAIL(IG_ERR_UNSUPPORTED,
                 "%s: parameter %d points into %zu bytes, but a kernel on %s can use %llu at most",
                 k->name, i + 1, at->buf->bytes, dev->name, (unsigned long long)can->alloc_bytes);
    }
    return IG_OK;
}

ig_status driver_check_valid(const driver_kernel *k, const kernel_launch *l)
{
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].kind == KERNEL_BUFFER && l->args[i].at.buf)
            TRY(driver_valid(l->args[i].at.buf, k->name));
    return IG_OK;
}
