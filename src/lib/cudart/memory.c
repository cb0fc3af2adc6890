/* Memory of CUDA programs: a sorted table of address ranges, each with its buffer.
 *
 * If the device computes in host memory (it runs lane code), an address is where the bytes are. Otherwise it is
 * a reserved range of the process without access rights. So arithmetic on device pointers works, and a host
 * that dereferences one by mistake faults. Memory that host and device share is then host memory, and the
 * buffer is a copy that launches update.
 *
 * Under a check, freed memory stays in the table, so that later uses are found, until there is too much of it. */
#include "base/error.h"
#include "base/memory.h"
#include "lib/cudart/cudart.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ROUND_BYTES: the row alignment of cudaMallocPitch, and the slack after each allocation, since kernels may
 * read slightly past their data, as on a GPU. ALIGN_BYTES: the alignment of each allocation, as CUDA
 * guarantees. */
enum { ROUND_BYTES = 512, ALIGN_BYTES = 256, FREED_MOST_BYTES = 1 << 28 };

typedef struct range {
    char *at;
    size_t bytes; /* as requested */
    int kind;
    buffer *buf;  /* NULL: host memory, on a device that computes in it */
    size_t skip;  /* bytes of the buffer before `at` */
    bool adopted; /* registered host memory */
    bool mapped;  /* mapped in this process, in addition to the buffer */
    bool asked;   /* allocated by ig_cuda_alloc, at the call site `from` */
    cudart_call_site from;
    uint64_t freed;   /* 0: in use; else the number of the free that released it */
    uint8_t *written; /* under a check, of cudaMalloc: see kernel_memory */
} range;

static struct {
    range *at;
    int n, room;
    uint64_t bytes;
    uint64_t freed_bytes, frees;
} table;

static const char *const names[] = {[IG_CUDA_PINNED] = "cudaMallocHost",
                                    [IG_CUDA_DEVICE] = "cudaMalloc",
                                    [IG_CUDA_MANAGED] = "cudaMallocManaged"};

/* The number of ranges that begin at or before the address. */
static int rank(const void *at)
{
    int low = 0, high = table.n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if ((uintptr_t)table.at[middle].at <= (uintptr_t)at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The range that contains an address; its end counts as inside. */
static range *range_of(const void *at)
{
    const int i = rank(at);
    range *r = i ? &table.at[i - 1] : NULL;
    return r && (size_t)((const char *)at - r->at) <= r->bytes ? r : NULL;
}

/* The same, without freed memory. */
static range *live_range_of(const void *at)
{
    range *r = range_of(at);
    return r && !r->freed ? r : NULL;
}

static bool insert(range r)
{
    if (!memory_room(&table.at, table.n, &table.room, sizeof *table.at))
        return false;
    const int i = rank(r.at);
    memmove(&table.at[i + 1], &table.at[i], (size_t)(table.n - i) * sizeof r);
    table.at[i] = r;
    table.n++;
    table.bytes += r.buf ? r.bytes : 0;
    return true;
}

static void drop(range *r)
{
    if (r->mapped)
        munmap(r->at, r->bytes);
    if (r->freed)
        table.freed_bytes -= r->bytes;
    else
        table.bytes -= r->buf ? r->bytes : 0;
    buffer_release(r->buf);
    memory_free(r->written);
    memmove(r, r + 1, (size_t)(&table.at[table.n] - (r + 1)) * sizeof *r);
    table.n--;
}

/* Removes a range. Under a check, keeps it as freed, and removes the oldest if there is too much freed
 * memory. */
static void retire(range *r)
{
    if (!cudart_watch_checks()) {
        drop(r);
        return;
    }
    table.bytes -= r->bytes;
    table.freed_bytes += r->bytes;
    r->freed = ++table.frees;
    while (table.freed_bytes > FREED_MOST_BYTES) {
        range *oldest = NULL;
        for (int i = 0; i < table.n; i++)
            if (table.at[i].freed && (!oldest || table.at[i].freed < oldest->freed))
                oldest = &table.at[i];
        drop(oldest);
    }
}

/* Assigns addresses to a buffer; the first one is a multiple of `align`. */
static char *place(const backend *dev, buffer *b, size_t bytes, int kind, size_t align)
{
    const size_t skip = dev->language ? 0 : (0 - (uintptr_t)b->data) % align;
    range r = {.at = (char *)b->data + skip, .bytes = bytes, .kind = kind, .buf = b, .skip = skip};
    if (dev->language) {
        r.at = mmap(NULL, bytes, kind == IG_CUDA_DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        r.mapped = r.at != MAP_FAILED;
        if (!r.mapped)
            return NULL;
    }
    if (insert(r)) {
        buffer_retain(b);
        return r.at;
    }
    if (r.mapped)
        munmap(r.at, bytes);
    return NULL;
}

char *cudart_memory_add(const backend *dev, buffer *b, int kind)
{
    return place(dev, b, b->bytes, kind, 1);
}

bool cudart_memory_find(const void *at, binding *where, size_t *bytes, int *kind)
{
    const range *r = live_range_of(at);
    if (!r)
        return false;
    const size_t offset = (size_t)((const char *)at - r->at);
    *where = (binding){r->buf, r->skip + offset};
    *bytes = r->bytes - offset;
    *kind = r->kind;
    return true;
}

ig_status cudart_memory_mirror(const backend *dev, const void *at, bool to_device)
{
    const range *r = live_range_of(at);
    if (!r || !r->buf || !dev->language || r->kind == IG_CUDA_DEVICE)
        return IG_OK;
    return to_device ? dev->write(r->buf, 0, r->at, r->bytes)
                     : dev->read(r->buf, 0, r->at, r->bytes);
}

void cudart_memory_reset(void)
{
    while (table.n)
        drop(&table.at[table.n - 1]);
    memory_free(table.at);
    table.at = NULL;
    table.room = 0;
}

uint64_t cudart_memory_used(void) { return table.bytes; }

kernel_memory *cudart_memory_list(int *n)
{
    kernel_memory *list = memory_new(((size_t)table.n + 1) * sizeof *list);
    *n = list ? table.n : 0;
    for (int i = 0; i < *n; i++)
        list[i] = (kernel_memory){.base = (uintptr_t)table.at[i].at,
                                  .bytes = table.at[i].bytes,
                                  .freed = table.at[i].freed != 0,
                                  .written = table.at[i].written};
    return list;
}

/* ---- written bytes ---- */

static bool bit(const uint8_t *bits, size_t i) { return bits[i / 8] >> i % 8 & 1; }

/* Records that bytes were written. from: the device bytes that were copied there, or NULL for other
 * values. */
static void note_written(const char *at, const char *from, size_t bytes)
{
    const range *to = live_range_of(at), *source = from ? live_range_of(from) : NULL;
    if (!to || !to->written)
        return;
    const uint8_t *known = source ? source->written : NULL;
    const size_t begin = (size_t)(at - to->at), shift = known ? (size_t)(from - source->at) : 0;
    for (size_t i = 0; i < bytes; i++) {
        const size_t k = begin + i;
        if (!known && k % 8 == 0 && bytes - i >= 8) {
            const size_t whole = (bytes - i) / 8;
            memset(to->written + k / 8, 0xff, whole);
            i += 8 * whole - 1;
        } else if (!known || bit(known, shift + i)) {
            to->written[k / 8] |= (uint8_t)(1u << k % 8);
        } else {
            to->written[k / 8] &= (uint8_t) ~(1u << k % 8);
        }
    }
}

/* ---- reports of a check ---- */

/* "4096 bytes of cudaMalloc (prog.cu:12)". */
static const char *describe(const range *r, char *out, size_t room)
{
    int n = snprintf(out, room, "%zu bytes of %s", r->bytes,
                     r->asked ? names[r->kind] : "the program's");
    if (r->asked && r->from.file && n > 0 && (size_t)n < room)
        snprintf(out + n, room - (size_t)n, " (%s:%d)", r->from.file, r->from.line);
    return out;
}

static bool same_place(const range *a, const range *b)
{
    return a->from.file == b->from.file && a->from.line == b->from.line && a->kind == b->kind;
}

/* Leaks of one call site are reported together. */
void cudart_memory_leaks(void)
{
    for (int i = 0; i < table.n; i++) {
        const range *r = &table.at[i];
        size_t bytes = 0, count = 0, before = 0;
        for (int k = 0; k < table.n && r->asked && !r->freed; k++) {
            const range *other = &table.at[k];
            if (!other->asked || other->freed || !same_place(r, other))
                continue;
            before += k < i;
            bytes += other->bytes;
            count++;
        }
        char pieces[40] = "";
        if (count > 1)
            snprintf(pieces, sizeof pieces, ", in %zu pieces", count);
        if (count && !before)
            cudart_watch_report("leak", true, r->from, "%zu bytes of %s were never freed%s", bytes,
                                names[r->kind], pieces);
    }
}

/* ---- calls ---- */

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Whether memory of this kind has pages of its own, for guards. */
static bool has_pages(const backend *dev, int kind)
{
    return cudart_watch_checks() && kind == IG_CUDA_MANAGED && !dev->language;
}

bool cudart_memory_managed(const void *at, char **begin, size_t *bytes, char *what, size_t room)
{
    const range *r = live_range_of(at);
    if (!r || !r->asked || !has_pages(cudart_device(), r->kind))
        return false;
    *begin = r->at;
    *bytes = (r->bytes + page_bytes() - 1) / page_bytes() * page_bytes();
    describe(r, what, room);
    return true;
}

static int allocate(const backend *dev, void **at, size_t bytes, int kind)
{
    ig_device_info info = {0};
    if (dev->describe(dev, &info) != IG_OK || (info.memory && bytes > info.memory))
        return cudaErrorMemoryAllocation;
    const size_t room = (bytes + 2 * ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
    const bool guarded = has_pages(dev, kind); /* then its pages hold nothing else */
    const size_t align = guarded ? page_bytes() : ALIGN_BYTES;
    buffer *b = dev->alloc(dev, room + (guarded ? 2 : 1) * align);
    *at = b ? place(dev, b, bytes, kind, align) : NULL;
    buffer_release(b);
    if (!*at)
        return cudaErrorMemoryAllocation;
    range *r = range_of(*at);
    r->asked = true;
    r->from = cudart_call_site_now();
    if (cudart_watch_checks() && kind == IG_CUDA_DEVICE)
        r->written = memory_new(bytes / 8 + 1);
    return cudaSuccess;
}

int modules_alloc(void **at, size_t bytes, int kind)
{
    int error;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    if (bytes)
        error = allocate(dev, at, bytes, kind);
    if (error && ig_failed())
        cudart_print_error();
    return cudart_end(error);
}

static void tell_bad_free(const void *at, const range *r, int pinned)
{
    const char *name = pinned ? "cudaFreeHost" : "cudaFree";
    char what[200];
    if (r && r->freed)
        cudart_watch_report("bad free", false, cudart_call_site_now(),
                            "%s of memory that was freed already: %s", name,
                            describe(r, what, sizeof what));
    else if (r && r->at != at)
        cudart_watch_report("bad free", false, cudart_call_site_now(),
                            "%s of an address %zu bytes into %s", name,
                            (size_t)((const char *)at - r->at), describe(r, what, sizeof what));
    else if (r)
        cudart_watch_report("bad free", false, cudart_call_site_now(),
                            "%s of %s, which it does not free", name,
                            describe(r, what, sizeof what));
    else
        cudart_watch_report("bad free", false, cudart_call_site_now(), "%s of %p, which no %s gave",
                            name, at, pinned ? "cudaMallocHost" : "cudaMalloc");
}

int modules_free(void *at, int pinned)
{
    int error;
    if (!cudart_begin(&error))
        return error;
    range *r = at ? range_of(at) : NULL;
    const bool fits = r && !r->freed && r->at == at && !r->adopted &&
                      (r->kind == IG_CUDA_PINNED) == (pinned != 0);
    if (at && !fits)
        tell_bad_free(at, r, pinned);
    if (fits) {
        cudart_order_all();
        retire(r);
    }
    return cudart_end(!at || fits ? cudaSuccess : cudaErrorInvalidValue);
}

int modules_adopt(void *at, size_t bytes)
{
    int error;
    const backend *dev = cudart_begin(&error);
    if (!dev)
        return error;
    const range *r = live_range_of(at);
    range own = {.at = at, .bytes = bytes, .kind = IG_CUDA_PINNED, .adopted = true};
    if (!at || !bytes)
        return cudart_end(cudaErrorInvalidValue);
    if (r && (char *)at < r->at + r->bytes)
        return cudart_end(cudaErrorHostMemoryAlreadyRegistered);
    own.buf = dev->language ? dev->alloc(dev, bytes) : NULL;
    if ((dev->language && !own.buf) || !insert(own)) {
        buffer_release(own.buf);
        error = cudaErrorMemoryAllocation;
    }
    return cudart_end(error);
}

int modules_forget(void *at)
{
    int error;
    if (!cudart_begin(&error))
        return error;
    range *r = live_range_of(at);
    const bool fits = r && r->at == at && r->adopted;
    if (fits)
        drop(r);
    return cudart_end(fits ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

int modules_kind(const void *at)
{
    int error, kind = IG_CUDA_HOST;
    binding where;
    size_t bytes;
    if (cudart_begin(&error)) {
        if (cudart_memory_find(at, &where, &bytes, &kind) && !bytes)
            kind = IG_CUDA_HOST;
        cudart_end(cudaSuccess);
    }
    return kind;
}

/* One side of a copy. */
typedef struct side {
    char *at;
    binding where; /* buf is set if the bytes are in device memory that the host cannot address */
    bool device;   /* a kernel may use it */
} side;

/* True if the range has enough bytes and, if required, kernels can use it. `does` begins the message of a
 * check: "the copy reads". */
static bool look(const backend *dev, const void *at, size_t bytes, bool on_device, const char *does,
                 side *s)
{
    size_t room;
    int kind;
    char what[200];
    const range *r = at ? range_of(at) : NULL;
    *s = (side){.at = (char *)(uintptr_t)at};
    const bool found = at && cudart_memory_find(at, &s->where, &room, &kind) && (room || !bytes);
    s->device = found && (kind == IG_CUDA_DEVICE || kind == IG_CUDA_MANAGED);
    if (!found || !dev->language || kind != IG_CUDA_DEVICE)
        s->where = (binding){NULL, 0};
    if (found && bytes > room)
        cudart_watch_report("copy out of range", false, cudart_call_site_now(),
                            "%s %zu bytes from byte %zu on, of %s", does, bytes, r->bytes - room,
                            describe(r, what, sizeof what));
    else if (r && r->freed)
        cudart_watch_report("freed memory", false, cudart_call_site_now(),
                            "%s memory that was freed: %s", does, describe(r, what, sizeof what));
    else if (!at || (on_device && !s->device))
        cudart_watch_report(at ? "host pointer" : "null pointer", false, cudart_call_site_now(),
                            "%s %p as memory of the device, which it is not", does, at);
    else
        return !found || bytes <= room;
    return false;
}

static ig_status copy_row(const backend *dev, const side *to, size_t to_at, const side *from,
                          size_t from_at, size_t bytes)
{
    if (to->where.buf && from->where.buf)
        return dev->copy(to->where.buf, to->where.offset + to_at, from->where.buf,
                         from->where.offset + from_at, bytes);
    if (to->where.buf)
        return dev->write(to->where.buf, to->where.offset + to_at, from->at + from_at, bytes);
    if (from->where.buf)
        return dev->read(from->where.buf, from->where.offset + from_at, to->at + to_at, bytes);
    memmove(to->at + to_at, from->at + from_at, bytes);
    return IG_OK;
}

/* The bytes from the start of the first row to the end of the last. */
static size_t extent(size_t pitch, size_t width, size_t height)
{
    return height ? pitch * (height - 1) + width : 0;
}

int modules_copy(const cudart_copy *c)
{
    int error;
    const backend *dev = cudart_begin(&error);
    side to, from;
    if (!dev)
        return error;
    const bool to_device = c->kind == COPY_TO_DEVICE || c->kind == COPY_ON_DEVICE;
    const bool from_device = c->kind == COPY_TO_HOST || c->kind == COPY_ON_DEVICE;
    if (!look(dev, c->to, extent(c->to_pitch, c->width, c->height), to_device, "the copy writes",
              &to) ||
        !look(dev, c->from, extent(c->from_pitch, c->width, c->height), from_device,
              "the copy reads", &from))
        return cudart_end(cudaErrorInvalidValue);
    ig_status status = IG_OK;
    for (size_t y = 0; y < c->height && status == IG_OK; y++) {
        status = copy_row(dev, &to, y * c->to_pitch, &from, y * c->from_pitch, c->width);
        note_written(to.at + y * c->to_pitch, from.at + y * c->from_pitch, c->width);
    }
    if (status != IG_OK)
        cudart_print_error();
    cudart_order_command(c->stream, !c->is_async);
    cudart_texels_changed(c->to);
    return cudart_end(status == IG_OK ? cudaSuccess : cudaErrorUnknown);
}

int modules_fill(const cudart_fill *f)
{
    int error;
    const backend *dev = cudart_begin(&error);
    side s;
    if (!dev)
        return error;
    if (!look(dev, f->at, extent(f->pitch, f->width, f->height), !live_range_of(f->at),
              "cudaMemset writes", &s))
        return cudart_end(cudaErrorInvalidValue);
    ig_status status = IG_OK;
    for (size_t y = 0; y < f->height && status == IG_OK; y++) {
        if (s.where.buf)
            status =
                dev->fill(s.where.buf, s.where.offset + y * f->pitch, (uint8_t)f->value, f->width);
        else
            memset(s.at + y * f->pitch, f->value, f->width);
        note_written(s.at + y * f->pitch, NULL, f->width);
    }
    if (status != IG_OK)
        cudart_print_error();
    cudart_order_command(f->stream, !f->is_async);
    cudart_texels_changed(f->at);
    return cudart_end(status == IG_OK ? cudaSuccess : cudaErrorUnknown);
}

int modules_alloc_async(void **at, size_t bytes, void *stream)
{
    (void)stream;
    return modules_alloc(at, bytes, IG_CUDA_DEVICE);
}

int modules_free_async(void *at, void *stream)
{
    (void)stream;
    return modules_free(at, 0);
}

int modules_mapped(void *host, void **device)
{
    *device = host;
    return modules_kind(host) == IG_CUDA_PINNED ? cudaSuccess : cudaErrorInvalidValue;
}
