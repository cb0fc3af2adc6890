/* Datasets of HDF5 files, by libhdf5, which is found at run time.
 *
 * Damaged files crash the library or keep it busy without an end, so a file is read in child processes: one finds what the
 * dataset is, and one reads each box. Elements are read as they are stored, without a conversion by the library, and their
 * bytes are swapped if needed. A dataset whose elements are in other files (external links, external storage, virtual
 * datasets) is refused, so that a file cannot name others.
 *
 * Calls that write are made under one lock, since not every build of the library is safe for threads. A child is started
 * under the same lock, so that its copy of the library is not in use.
 */
#include "lib/store/child.h"
#include "lib/store/hdf5.h"
#include "lib/store/open.h"

#include "base/error.h"
#include "base/library.h"
#include "base/memory.h"
#include "base/whole_io.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More values of the library's headers. */
enum {
    CLASS_INTEGER = 0,
    CLASS_FLOAT = 1,
    CLASS_ENUM = 8,
    ORDER_LITTLE = 0,
    ORDER_BIG = 1,
    ORDER_MIXED = 3,
    LAYOUT_CHUNKED = 2,
    LAYOUT_VIRTUAL = 3,
    SPACE_SIMPLE = 1,
    SPACE_SCALAR = 0,
    NORM_IMPLIED = 0,
    NAME_BYTES = 256
};

/* A child that takes longer than these seconds, and one more for each piece of a box, is in an endless loop. */
enum { OPEN_SECONDS = 10, PIECE_BYTES = 4 << 20 };

struct hdf5_functions hdf5;

pthread_mutex_t hdf5_lock = PTHREAD_MUTEX_INITIALIZER;

const char *const hdf5_files[] = {"libhdf5_serial.so.310",
                                  "libhdf5_serial.so.103",
                                  "libhdf5.so.320",
                                  "libhdf5.so.310",
                                  "libhdf5.so.200",
                                  "libhdf5.so.103",
                                  "libhdf5.so",
                                  "libhdf5.dylib",
                                  NULL};

static bool library_begin(void)
{
    unsigned major = 0, minor = 0, release = 0;
    if (hdf5.begin() < 0 || hdf5.version(&major, &minor, &release) < 0 ||
        (major == 1 && minor < 10)) /* earlier ones have ids of 32 bits */
        return false;
    hdf5.silence(DEFAULT, NULL, NULL); /* it would print its errors */
    return true;
}

bool hdf5_library_there(void)
{
    static const library_function functions[] = {
#define READER(result, name, symbol, parameters) {#symbol, &hdf5.name},
#define WRITER(result, name, symbol, parameters)
#define NUMBER(name, symbol)
#include "lib/store/hdf5.def"
        {NULL, NULL}};
    static library_file wanted = {
        .files = hdf5_files, .functions = functions, .begin = library_begin};
    return library_there(&wanted);
}

/* ---- element types ----------------------------------------------------------------------------------- */

static ig_dtype integer_type(hid type, size_t bytes)
{
    static const ig_dtype types[2][9] = {
        [0] = {[1] = IG_U8, [2] = IG_U16, [4] = IG_U32, [8] = IG_U64},
        [1] = {[1] = IG_I8, [2] = IG_I16, [4] = IG_I32, [8] = IG_I64}};
    return bytes <= 8 && hdf5.type_precision(type) == 8 * bytes
               ? types[hdf5.type_sign(type) == 1][bytes]
               : IG_DTYPE_NONE;
}

static ig_dtype float_type(hid type, size_t bytes)
{
    size_t sign = 0, at = 0, exponent = 0, mantissa = 0, size = 0;
    if (hdf5.type_fields(type, &sign, &at, &exponent, &mantissa, &size) < 0 || mantissa != 0 ||
        sign != 8 * bytes - 1 || at != size || exponent + size + 1 != 8 * bytes ||
        hdf5.type_bias(type) != ((size_t)1 << (exponent - 1)) - 1 ||
        hdf5.type_norm(type) != NORM_IMPLIED)
        return IG_DTYPE_NONE;
    if (bytes == 2)
        return exponent == 5 ? IG_F16 : exponent == 8 ? IG_BF16 : IG_DTYPE_NONE;
    return bytes == 4 && exponent == 8    ? IG_F32
           : bytes == 8 && exponent == 11 ? IG_F64
                                          : IG_DTYPE_NONE;
}

/* Two floats of one type, one after the other: h5py writes complex numbers so. */
static ig_dtype pair_type(hid type, size_t bytes, int *order)
{
    ig_dtype parts[2] = {IG_DTYPE_NONE, IG_DTYPE_NONE};
    if (hdf5.type_members(type) != 2 || hdf5.type_member_offset(type, 0) != 0 ||
        hdf5.type_member_offset(type, 1) != bytes / 2)
        return IG_DTYPE_NONE;
    for (unsigned i = 0; i < 2; i++) {
        const hid member = hdf5.type_member(type, i);
        if (hdf5.type_class(member) == CLASS_FLOAT && hdf5.type_size(member) == bytes / 2)
            parts[i] = float_type(member, bytes / 2);
        *order = hdf5.type_order(member);
        hdf5.type_close(member);
    }
    if (parts[0] != parts[1])
        return IG_DTYPE_NONE;
    return parts[0] == IG_F32 ? IG_C64 : parts[0] == IG_F64 ? IG_C128 : IG_DTYPE_NONE;
}

/* h5py writes bools as an enum of 0 and 1. */
static ig_dtype bool_type(hid type)
{
    int8_t value[2] = {-1, -1};
    const bool two = hdf5.type_members(type) == 2 &&
                     hdf5.type_member_value(type, 0, &value[0]) >= 0 &&
                     hdf5.type_member_value(type, 1, &value[1]) >= 0;
    return two && (value[0] | value[1]) == 1 && (value[0] & value[1]) == 0 ? IG_BOOL
                                                                           : IG_DTYPE_NONE;
}

static ig_status type_read(hdf5_store *s)
{
    const int kind = hdf5.type_class(s->type);
    const size_t bytes = hdf5.type_size(s->type);
    int order = hdf5.type_order(s->type);
    ig_dtype dtype = IG_DTYPE_NONE;
    if (kind == CLASS_INTEGER)
        dtype = integer_type(s->type, bytes);
    else if (kind == CLASS_FLOAT)
        dtype = float_type(s->type, bytes);
    else if (kind == CLASS_ENUM && bytes == 1)
        dtype = bool_type(s->type);
    else if (kind == CLASS_COMPOUND)
        dtype = pair_type(s->type, bytes, &order);
    if (dtype == IG_DTYPE_NONE || (bytes > 1 && order != ORDER_LITTLE && order != ORDER_BIG))
        return io_fail(
            &s->file, IG_ERR_UNSUPPORTED,
            "its elements are not numbers that Ingot reads (class %d, %zu bytes); store numbers",
            kind, bytes);
    s->base.dtype = dtype;
    s->swap = bytes > 1 && (order == ORDER_BIG) != (IO_BIG_ENDIAN != 0);
    return IG_OK;
}

/* ---- the dataset --------------------------------------------------------------------------------------- */

static ig_status shape_read(hdf5_store *s)
{
    length dims[IG_MAX_NDIM * 2 + 32];
    size_t bytes = 0;
    const hid space = hdf5.data_space(s->data);
    const int kind = hdf5.space_class(space), ndim = hdf5.space_ndims(space);
    const bool good = space >= 0 && (kind == SPACE_SIMPLE || kind == SPACE_SCALAR) && ndim >= 0 &&
                      ndim <= IG_MAX_NDIM && hdf5.space_dims(space, dims, NULL) >= 0;
    hdf5.space_close(space);
    if (!good)
        return io_fail(&s->file, IG_ERR_UNSUPPORTED,
                       "it has no shape, or more than %d dimensions; reshape it", IG_MAX_NDIM);
    s->base.ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] > INT64_MAX)
            return io_fail(&s->file, IG_ERR_FORMAT,
                           "a length of its shape is too large; the file is damaged");
        s->base.shape[i] = (int64_t)dims[i];
    }
    return io_measure(s->base.shape, ndim, s->base.dtype, &bytes)
               ? IG_OK
               : io_fail(&s->file, IG_ERR_UNSUPPORTED,
                         "the array is larger than Ingot can address; split it");
}

static ig_status layout_read(hdf5_store *s)
{
    length dims[IG_MAX_NDIM];
    char name[4096] = "";
    ig_status status = IG_OK;
    const hid plan = hdf5.data_plan(s->data);
    const int layout = hdf5.plan_layout(plan), external = hdf5.plan_external(plan);
    store_chunk_choose(&s->base, false);
    if (layout == LAYOUT_CHUNKED && hdf5.plan_chunk(plan, s->base.ndim, dims) == s->base.ndim)
        for (int i = 0; i < s->base.ndim; i++) {
            const int64_t chunk = dims[i] > 0 && dims[i] < INT64_MAX ? (int64_t)dims[i] : 1;
            s->base.chunk[i] = s->base.shard[i] = chunk;
        }
    hdf5.plan_close(plan);
    const int64_t n = hdf5.file_name(s->data, name, sizeof name);
    if (layout == LAYOUT_VIRTUAL || external != 0 || n <= 0 || n >= (int64_t)sizeof name ||
        strcmp(name, s->path) != 0)
        status = io_fail(&s->file, IG_ERR_UNSUPPORTED,
                         "its elements are in another file, and Ingot reads only the file that is "
                         "named; copy them into it");
    return status;
}

/* The names in the root of the file, for a message; the only one, if there is one. */
static void names_read(hid file, char list[NAME_BYTES], char only[NAME_BYTES])
{
    size_t used = 0;
    length n = 0;
    char name[NAME_BYTES];
    list[0] = only[0] = 0;
    for (; n < 1000; n++) {
        const int64_t bytes = hdf5.link_name(file, ".", 0, 0, n, name, sizeof name, DEFAULT);
        if (bytes <= 0)
            break;
        if (n == 0)
            memcpy(only, name, sizeof name);
        if (used + strlen(name) + 8 < NAME_BYTES)
            used += (size_t)snprintf(list + used, NAME_BYTES - used, "%s%s", n ? ", " : "", name);
        else if (used && list[used - 1] != '.')
            used += (size_t)snprintf(list + used, NAME_BYTES - used, ", ...");
    }
    if (n != 1)
        only[0] = 0;
}

static ig_status dataset_open(hdf5_store *s)
{
    char list[NAME_BYTES], only[NAME_BYTES], shown[IO_SHOWN_BYTES];
    hdf5.silence(DEFAULT, NULL, NULL); /* it would print its errors */
    s->handle = hdf5.file_open(s->path, DEFAULT, DEFAULT);
    if (s->handle < 0)
        return io_fail(
            &s->file, IG_ERR_FORMAT,
            "libhdf5 cannot open it: it is damaged, or another program writes it; copy it again");
    names_read(s->handle, list, only);
    io_show(list, shown);
    s->data = hdf5.data_open(s->handle, *s->name ? s->name : *only ? only : ".", DEFAULT);
    if (s->data < 0)
        return io_fail(&s->file, IG_ERR_FILE, "%s; the file has: %s",
                       *s->name ? "there is no dataset of this name"
                                : "name a dataset in the file, after a slash",
                       shown);
    s->type = hdf5.data_type(s->data);
    TRY(type_read(s));
    TRY(shape_read(s));
    return layout_read(s);
}

/* ---- child processes ----------------------------------------------------------------------------------- */

/* The answer of a child: the error, or the dataset. */
typedef struct report {
    ig_status status;
    char text[1024];
    hdf5_store found; /* its pointers and handles are the child's */
} report;

static void report_send(hdf5_store *s, int out, ig_status status)
{
    report r = {.status = status, .found = *s};
    const char *text = ig_error(NULL);
    snprintf(r.text, sizeof r.text, "%s", text ? text : "");
    whole_write(out, &r, sizeof r);
}

static ig_status start_child(hdf5_store *s, child *c, child_work work, void *ctx, int seconds)
{
    pthread_mutex_lock(&hdf5_lock);
    const bool started = child_start(c, work, ctx, seconds);
    pthread_mutex_unlock(&hdf5_lock);
    return started ? IG_OK
                   : io_fail_system(&s->file, errno, "no process can be started that reads it");
}

/* Waits for a child. `received`: it sent everything. */
static ig_status finish(hdf5_store *s, child *c, bool received)
{
    int signal = 0;
    const child_end end = child_wait(c, &signal);
    if (received)
        return IG_OK;
    if (end == CHILD_TOO_LONG)
        return io_fail(&s->file, IG_ERR_FORMAT,
                       "libhdf5 did not end within %d s of processor time: the file is damaged; "
                       "copy it again",
                       c->seconds);
    if (end == CHILD_CRASHED)
        return io_fail(&s->file, IG_ERR_FORMAT,
                       "libhdf5 crashed (signal %d): the file is damaged; copy it again", signal);
    return io_fail(&s->file, IG_ERR_FORMAT,
                   "libhdf5 cannot read it: it is damaged, or a filter of it is not installed; "
                   "copy it again or install the filter");
}

static ig_status report_receive(child *c, report *r, bool *received)
{
    *received = whole_read(c->in, r, sizeof *r);
    return *received && r->status != IG_OK ? ig_fail(r->status, "%s", r->text) : IG_OK;
}

static void find(void *ctx, int out)
{
    ig_error(NULL); /* an older one would hide its own */
    report_send(ctx, out, dataset_open(ctx));
}

/* Fills the description of the dataset. */
static ig_status dataset_find(hdf5_store *s)
{
    child c;
    report r;
    bool received = false;
    TRY(start_child(s, &c, find, s, OPEN_SECONDS));
    ig_status status = report_receive(&c, &r, &received);
    const ig_status ended = finish(s, &c, received);
    if (status == IG_OK && (status = ended) == IG_OK) {
        s->swap = r.found.swap;
        s->base.dtype = r.found.base.dtype;
        s->base.ndim = r.found.base.ndim;
        memcpy(s->base.shape, r.found.base.shape, sizeof s->base.shape);
        memcpy(s->base.chunk, r.found.base.chunk, sizeof s->base.chunk);
        memcpy(s->base.shard, r.found.base.shard, sizeof s->base.shard);
    }
    return status;
}

/* ---- the kind ------------------------------------------------------------------------------------------ */

static bool piece_read(hdf5_store *s, const int64_t *start, const int64_t *size, void *data)
{
    length from[IG_MAX_NDIM], count[IG_MAX_NDIM];
    const int ndim = s->base.ndim;
    for (int i = 0; i < ndim; i++) {
        from[i] = (length)start[i];
        count[i] = (length)size[i];
    }
    if (ndim == 0)
        return hdf5.data_read(s->data, s->type, DEFAULT, DEFAULT, DEFAULT, data) >= 0;
    const hid space = hdf5.data_space(s->data), memory = hdf5.space_make(ndim, count, NULL);
    const bool read = space >= 0 && memory >= 0 &&
                      hdf5.space_select(space, 0, from, NULL, count, NULL) >= 0 &&
                      hdf5.data_read(s->data, s->type, memory, space, DEFAULT, data) >= 0;
    if (memory >= 0)
        hdf5.space_close(memory);
    if (space >= 0)
        hdf5.space_close(space);
    return read;
}

typedef struct box {
    const hdf5_store *store;
    const int64_t *start, *size;
    size_t bytes;
} box;

/* Sends a box in pieces, which end where rows of chunks do. */
static void box_send(hdf5_store *s, const box *b, int out)
{
    int64_t start[IG_MAX_NDIM] = {0}, size[IG_MAX_NDIM] = {1};
    const int ndim = s->base.ndim;
    memcpy(start, b->start, (size_t)ndim * sizeof *start);
    memcpy(size, b->size, (size_t)ndim * sizeof *size);
    const int64_t rows = size[0], end = start[0] + rows, row = (int64_t)b->bytes / rows;
    const int64_t chunk = ndim ? s->base.chunk[0] : 1, chunks = PIECE_BYTES / row / chunk;
    const int64_t most = (chunks > 0 ? chunks : 1) * chunk;
    unsigned char *data = memory_get((size_t)((most < rows ? most : rows) * row));
    for (; data && start[0] < end; start[0] += size[0]) {
        size[0] = most - start[0] % chunk;
        if (size[0] > end - start[0])
            size[0] = end - start[0];
        if (!piece_read(s, start, size, data) || !whole_write(out, data, (size_t)(size[0] * row)))
            break;
    }
    memory_free(data);
}

/* A child that reads a box. The file may have changed since it was opened. */
static void read_and_send(void *ctx, int out)
{
    const box *b = ctx;
    hdf5_store s = *b->store;
    ig_error(NULL);
    ig_status status = dataset_open(&s);
    if (status == IG_OK && (s.base.dtype != b->store->base.dtype || s.swap != b->store->swap ||
                            s.base.ndim != b->store->base.ndim ||
                            memcmp(s.base.shape, b->store->base.shape, sizeof s.base.shape) != 0))
        status = io_fail(&s.file, IG_ERR_FILE,
                         "the dataset has changed since it was opened; open it again");
    report_send(&s, out, status);
    if (status == IG_OK)
        box_send(&s, b, out);
}

static ig_status hdf5_read(ig_store *base, const int64_t *start, const int64_t *size, void *data)
{
    hdf5_store *s = (hdf5_store *)base;
    box b = {s, start, size, ig_dtype_bytes(base->dtype)};
    unsigned char *at = data;
    child c;
    report r;
    bool received = false;
    for (int i = 0; i < base->ndim; i++)
        b.bytes *= (size_t)size[i];
    TRY(start_child(s, &c, read_and_send, &b, OPEN_SECONDS + (int)(b.bytes / PIECE_BYTES)));
    ig_status status = report_receive(&c, &r, &received);
    if (status == IG_OK && received)
        received = whole_read(c.in, data, b.bytes);
    const ig_status ended = finish(s, &c, received);
    TRY(status);
    TRY(ended);
    if (s->swap)
        io_swap(data, b.bytes, io_swap_bytes(base->dtype));
    for (size_t i = 0; base->dtype == IG_BOOL && i < b.bytes; i++)
        at[i] = at[i] != 0;
    return IG_OK;
}

bool hdf5_handles_close(hdf5_store *s)
{
    bool fine = true;
    pthread_mutex_lock(&hdf5_lock);
    if (s->type > 0)
        hdf5.type_close(s->type);
    if (s->data > 0)
        fine = hdf5.data_close(s->data) >= 0;
    if (s->handle > 0)
        fine = hdf5.file_close(s->handle) >= 0 && fine;
    s->type = s->data = s->handle = 0;
    pthread_mutex_unlock(&hdf5_lock);
    return fine;
}

void hdf5_close(ig_store *base)
{
    hdf5_store *s = (hdf5_store *)base;
    hdf5_handles_close(s);
    if (s->temp)
        unlink(s->temp);
    memory_free(s->temp);
    memory_free(s->path);
    memory_free(s->name);
}

static const store_kind hdf5_kind = {.read = hdf5_read, .close = hdf5_close};

hdf5_store *hdf5_store_new(const char *verb, const char *path, const char *name)
{
    hdf5_store *s = memory_new(sizeof *s);
    char shown[IO_SHOWN_BYTES * 2];
    if (!s)
        return NULL;
    s->file = (struct io_file){.verb = verb, .fd = -1, .left = -1};
    const size_t n = strlen(path);
    snprintf(shown, sizeof shown, "%.163s%s%.160s", path + (n > 160 ? n - 160 : 0),
             *name ? "/" : "", name);
    io_show(shown, s->file.shown);
    memcpy(s->base.shown, s->file.shown, sizeof s->base.shown);
    s->path = memory_text(path);
    s->name = memory_text(name);
    s->base.kind = &hdf5_kind;
    if (s->path && s->name)
        return s;
    store_free(&s->base);
    return NULL;
}

ig_status hdf5_library_missing(const hdf5_store *s)
{
    return io_fail(&s->file, IG_ERR_UNSUPPORTED,
                   "HDF5 files need libhdf5 1.10 or later, which is not installed; install it");
}

ig_store *hdf5_store_open(const char *path, const char *name)
{
    hdf5_store *s = hdf5_store_new("open", path, name);
    if (!s)
        return NULL;
    if ((hdf5_library_there() ? dataset_find(s) : hdf5_library_missing(s)) == IG_OK)
        return &s->base;
    store_free(&s->base);
    return NULL;
}
