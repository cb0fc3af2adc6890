/* New HDF5 files with one dataset. A file gets its name when it is complete. */
#include "lib/store/hdf5.h"
#include "lib/store/open.h"

#include "base/error.h"
#include "base/library.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CREATE_NEW = 2, SPACE_OF_ONE = 0, PATH_BYTES = 4096 };

static struct {
#define READER(result, name, symbol, parameters)
#define WRITER(result, name, symbol, parameters) result(*name) parameters;
#define NUMBER(name, symbol) const hid *name;
#include "lib/store/hdf5.def"
} h5w;

static const library_function writers[] = {
#define READER(result, name, symbol, parameters)
#define WRITER(result, name, symbol, parameters) {#symbol, &h5w.name},
#define NUMBER(name, symbol) {#symbol, &h5w.name},
#include "lib/store/hdf5.def"
    {NULL, NULL}};

/* A float of 16 bits, the mantissa in the lowest ones. */
static hid half_make(size_t mantissa, size_t bias)
{
    const hid type = h5w.type_copy(*h5w.f32);
    h5w.type_set_fields(type, 15, mantissa, 15 - mantissa, 0, mantissa);
    h5w.type_set_size(type, 2);
    h5w.type_set_bias(type, bias);
    return type;
}

/* A new type as h5py has it: bools are enums, complex numbers are pairs. */
static hid type_make(ig_dtype dtype)
{
    const hid *plain[] = {
        [IG_I8] = h5w.i8,   [IG_I16] = h5w.i16, [IG_I32] = h5w.i32, [IG_I64] = h5w.i64,
        [IG_U8] = h5w.u8,   [IG_U16] = h5w.u16, [IG_U32] = h5w.u32, [IG_U64] = h5w.u64,
        [IG_F32] = h5w.f32, [IG_F64] = h5w.f64};
    if (dtype == IG_F16)
        return half_make(10, 15);
    if (dtype == IG_BF16)
        return half_make(7, 127);
    if (dtype == IG_BOOL) {
        const hid type = h5w.type_enum(*h5w.i8);
        h5w.type_enum_add(type, "FALSE", &(int8_t){0});
        h5w.type_enum_add(type, "TRUE", &(int8_t){1});
        return type;
    }
    if (dtype == IG_C64 || dtype == IG_C128) {
        const size_t part = ig_dtype_bytes(dtype) / 2;
        const hid type = h5w.type_compound(CLASS_COMPOUND, 2 * part);
        h5w.type_add(type, "r", 0, dtype == IG_C64 ? *h5w.f32 : *h5w.f64);
        h5w.type_add(type, "i", part, dtype == IG_C64 ? *h5w.f32 : *h5w.f64);
        return type;
    }
    const size_t at = (size_t)dtype;
    return at < sizeof plain / sizeof *plain && plain[at] ? h5w.type_copy(*plain[at]) : -1;
}

static ig_status dataset_create(hdf5_store *s, const char *name)
{
    length dims[IG_MAX_NDIM], chunk[IG_MAX_NDIM];
    const int ndim = s->base.ndim;
    bool cut = ndim > 0;
    for (int i = 0; i < ndim; i++) {
        dims[i] = (length)s->base.shape[i];
        chunk[i] = (length)s->base.chunk[i];
        cut = cut && dims[i];
    }
    s->handle = h5w.file_create(s->temp, CREATE_NEW, DEFAULT, DEFAULT);
    if (s->handle < 0)
        return io_fail(&s->file, IG_ERR_FILE, "libhdf5 cannot create the file; check its folder");
    s->type = type_make(s->base.dtype);
    const hid space = ndim ? hdf5.space_make(ndim, dims, NULL) : h5w.space_of(SPACE_OF_ONE);
    const hid links = h5w.plan_create(*h5w.links), plan = h5w.plan_create(*h5w.plans);
    h5w.plan_make_groups(links, 1);
    if (cut)
        h5w.plan_set_chunk(plan, ndim, chunk);
    s->data = h5w.data_create(s->handle, name, s->type, space, links, plan, DEFAULT);
    hdf5.plan_close(links);
    hdf5.plan_close(plan);
    hdf5.space_close(space);
    return s->data >= 0
               ? IG_OK
               : io_fail(&s->file, IG_ERR_FILE,
                         "libhdf5 cannot create a dataset '%s'; choose another name", name);
}

static ig_status hdf5_write(ig_store *base, const int64_t *start, const int64_t *size,
                            const void *data)
{
    hdf5_store *s = (hdf5_store *)base;
    length from[IG_MAX_NDIM], count[IG_MAX_NDIM];
    for (int i = 0; i < base->ndim; i++) {
        from[i] = (length)start[i];
        count[i] = (length)size[i];
    }
    pthread_mutex_lock(&hdf5_lock);
    const hid space = hdf5.data_space(s->data),
              memory = base->ndim ? hdf5.space_make(base->ndim, count, NULL) : DEFAULT;
    const bool written =
        space >= 0 && memory >= 0 &&
        (!base->ndim || hdf5.space_select(space, 0, from, NULL, count, NULL) >= 0) &&
        h5w.data_write(s->data, s->type, memory, base->ndim ? space : DEFAULT, DEFAULT, data) >= 0;
    if (memory > 0)
        hdf5.space_close(memory);
    hdf5.space_close(space);
    pthread_mutex_unlock(&hdf5_lock);
    return written ? IG_OK
                   : io_fail(&s->file, IG_ERR_FILE,
                             "libhdf5 cannot write it: the disk may be full; make room");
}

static const store_kind new_kind = {.write = hdf5_write, .close = hdf5_close};

/* The end of the file's name in a path: after ".h5" or ".hdf5", at a slash or at the end; 0: it is another file. */
static size_t file_end(const char *path)
{
    static const char *const suffixes[] = {".h5", ".hdf5"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        for (const char *at = path; (at = strstr(at, suffixes[i])); at++) {
            const char *end = at + strlen(suffixes[i]);
            if (*end == 0 || *end == '/')
                return (size_t)(end - path);
        }
    return 0;
}

bool hdf5_is_path(const char *path) { return file_end(path) > 0; }

static ig_status create(hdf5_store *s, const char *path, size_t end, const char *name)
{
    static library_file wanted = {.files = hdf5_files, .functions = writers};
    if (!hdf5_library_there() || !library_there(&wanted))
        return hdf5_library_missing(s);
    char text[PATH_BYTES];
    if (snprintf(text, sizeof text, "%.*s.tmp-%ld", (int)end, path, (long)getpid()) >=
        (int)sizeof text)
        return io_fail(&s->file, IG_ERR_FILE, "the path is too long; choose a shorter one");
    if (!(s->temp = memory_text(text)))
        return IG_ERR_MEMORY;
    s->path[end] = 0;
    if (path[end] && access(s->path, F_OK) == 0)
        return io_fail(&s->file, IG_ERR_FILE,
                       "the file is there, and Ingot adds no datasets to files; name another one");
    s->base.kind = &new_kind;
    s->base.writable = true;
    pthread_mutex_lock(&hdf5_lock);
    const ig_status status = dataset_create(s, name);
    pthread_mutex_unlock(&hdf5_lock);
    return status;
}

/* The requested chunks, cut to the length of the axis: HDF5 does not have longer ones. */
static ig_status chunks_take(hdf5_store *s, ig_ints chunk)
{
    if (chunk.v && chunk.n != s->base.ndim)
        return io_fail(&s->file, IG_ERR_SHAPE,
                       "chunks: the number of lengths is %d, and the array has %d dimensions; give "
                       "one for each",
                       chunk.n, s->base.ndim);
    for (int i = 0; chunk.v && i < chunk.n; i++) {
        const int64_t most = s->base.shape[i] > 0 ? s->base.shape[i] : 1;
        if (chunk.v[i] < 1 && chunk.v[i] != -1)
            return io_fail(&s->file, IG_ERR_SHAPE,
                           "chunks: the length %lld on axis %d is not positive; give a larger one, "
                           "or -1 for the whole axis",
                           (long long)chunk.v[i], i);
        s->base.chunk[i] = s->base.shard[i] =
            chunk.v[i] > 0 && chunk.v[i] < most ? chunk.v[i] : most;
    }
    return IG_OK;
}

ig_store *hdf5_store_create(const char *path, ig_ints shape, ig_dtype dtype, ig_ints chunk)
{
    const size_t end = file_end(path);
    const char *name = path[end] && path[end + 1] ? path + end + 1 : "data";
    hdf5_store *s = hdf5_store_new("save", path, "");
    if (!s)
        return NULL;
    s->base.dtype = dtype;
    s->base.ndim = shape.n;
    for (int i = 0; i < shape.n; i++)
        s->base.shape[i] = shape.v[i];
    store_chunk_choose(&s->base, false);
    if (chunks_take(s, chunk) == IG_OK && create(s, path, end, name) == IG_OK)
        return &s->base;
    store_free(&s->base);
    return NULL;
}

ig_status hdf5_store_finish(ig_store *base)
{
    hdf5_store *s = (hdf5_store *)base;
    if (!hdf5_handles_close(s))
        return io_fail(&s->file, IG_ERR_FILE,
                       "libhdf5 cannot write it: the disk may be full; make room");
    if (rename(s->temp, s->path) != 0)
        return io_fail_system(&s->file, errno, "it cannot be put in its place");
    memory_free(s->temp);
    s->temp = NULL;
    return IG_OK;
}
