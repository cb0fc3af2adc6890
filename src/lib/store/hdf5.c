/* Datasets of HDF5 files, by libhdf5, which is found at run time.
 *
 * Elements are read as they are stored, without a conversion by the library, and their bytes are swapped if needed. All
 * calls are made under one lock, since not every build of the library is safe for threads. A dataset whose elements are in
 * other files (external links, external storage, virtual datasets) is refused, so that a file cannot name others.
 */
#include "lib/store/library.h"
#include "lib/store/open.h"
#include "lib/store/store.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int64_t hid;     /* of version 1.10 and later */
typedef uint64_t length; /* hsize_t */

/* Values of the library's headers. */
enum {
    DEFAULT = 0,
    CLASS_INTEGER = 0,
    CLASS_FLOAT = 1,
    CLASS_COMPOUND = 6,
    CLASS_ENUM = 8,
    ORDER_LITTLE = 0,
    ORDER_BIG = 1,
    ORDER_MIXED = 3,
    LAYOUT_CHUNKED = 2,
    LAYOUT_VIRTUAL = 3,
    SPACE_SIMPLE = 1,
    SPACE_SCALAR = 0,
    NAME_BYTES = 256
};

static struct {
    bool found;
    int (*begin)(void);
    int (*version)(unsigned *major, unsigned *minor, unsigned *release);
    int (*silence)(hid stack, void *function, void *data);
    hid (*file_open)(const char *name, unsigned flags, hid list);
    int (*file_close)(hid file);
    int64_t (*file_name)(hid object, char *name, size_t size);
    int (*link_exists)(hid at, const char *name, hid list);
    int64_t (*link_name)(hid at, const char *group, int index, int order, length n, char *name,
                         size_t size, hid list);
    hid (*data_open)(hid at, const char *name, hid list);
    int (*data_close)(hid data);
    hid (*data_space)(hid data);
    hid (*data_type)(hid data);
    hid (*data_plan)(hid data);
    int (*data_read)(hid data, hid type, hid memory, hid file, hid list, void *out);
    int (*space_class)(hid space);
    int (*space_ndims)(hid space);
    int (*space_dims)(hid space, length *dims, length *most);
    hid (*space_make)(int rank, const length *dims, const length *most);
    int (*space_select)(hid space, int how, const length *start, const length *stride,
                        const length *count, const length *block);
    int (*space_close)(hid space);
    int (*type_class)(hid type);
    size_t (*type_size)(hid type);
    int (*type_order)(hid type);
    int (*type_sign)(hid type);
    size_t (*type_precision)(hid type);
    int (*type_fields)(hid type, size_t *sign, size_t *exponent, size_t *exponent_size,
                       size_t *mantissa, size_t *size);
    int (*type_members)(hid type);
    hid (*type_member)(hid type, unsigned i);
    size_t (*type_member_offset)(hid type, unsigned i);
    int (*type_close)(hid type);
    int (*plan_layout)(hid plan);
    int (*plan_chunk)(hid plan, int room, length *dims);
    int (*plan_external)(hid plan);
    int (*plan_close)(hid plan);
} h5;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const hdf5_files[] = {"libhdf5_serial.so.310",
                                         "libhdf5_serial.so.103",
                                         "libhdf5.so.320",
                                         "libhdf5.so.310",
                                         "libhdf5.so.200",
                                         "libhdf5.so.103",
                                         "libhdf5.so",
                                         "libhdf5.dylib",
                                         "/opt/homebrew/lib/libhdf5.dylib",
                                         NULL};

static void find_library(void)
{
    const library_function functions[] = {
        {"H5open", &h5.begin},
        {"H5get_libversion", &h5.version},
        {"H5Eset_auto2", &h5.silence},
        {"H5Fopen", &h5.file_open},
        {"H5Fclose", &h5.file_close},
        {"H5Fget_name", &h5.file_name},
        {"H5Lexists", &h5.link_exists},
        {"H5Lget_name_by_idx", &h5.link_name},
        {"H5Dopen2", &h5.data_open},
        {"H5Dclose", &h5.data_close},
        {"H5Dget_space", &h5.data_space},
        {"H5Dget_type", &h5.data_type},
        {"H5Dget_create_plist", &h5.data_plan},
        {"H5Dread", &h5.data_read},
        {"H5Sget_simple_extent_type", &h5.space_class},
        {"H5Sget_simple_extent_ndims", &h5.space_ndims},
        {"H5Sget_simple_extent_dims", &h5.space_dims},
        {"H5Screate_simple", &h5.space_make},
        {"H5Sselect_hyperslab", &h5.space_select},
        {"H5Sclose", &h5.space_close},
        {"H5Tget_class", &h5.type_class},
        {"H5Tget_size", &h5.type_size},
        {"H5Tget_order", &h5.type_order},
        {"H5Tget_sign", &h5.type_sign},
        {"H5Tget_precision", &h5.type_precision},
        {"H5Tget_fields", &h5.type_fields},
        {"H5Tget_nmembers", &h5.type_members},
        {"H5Tget_member_type", &h5.type_member},
        {"H5Tget_member_offset", &h5.type_member_offset},
        {"H5Tclose", &h5.type_close},
        {"H5Pget_layout", &h5.plan_layout},
        {"H5Pget_chunk", &h5.plan_chunk},
        {"H5Pget_external_count", &h5.plan_external},
        {"H5Pclose", &h5.plan_close},
    };
    unsigned major = 0, minor = 0, release = 0;
    h5.found = store_library_find(hdf5_files, functions, sizeof functions / sizeof *functions) &&
               h5.begin() >= 0 && h5.version(&major, &minor, &release) >= 0 &&
               (major > 1 || minor >= 10); /* earlier ones have ids of 32 bits */
    if (h5.found)
        h5.silence(DEFAULT, NULL, NULL); /* it would print its errors */
}

static bool library_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_library);
    return h5.found;
}

typedef struct hdf5_store {
    ig_store base;
    struct io_file file; /* for messages */
    hid handle, data, type;
    bool swap;
    char *temp,
        *real; /* of a new file: where it is written, and its name when it is complete; else NULL */
} hdf5_store;

/* ---- element types ----------------------------------------------------------------------------------- */

static ig_dtype integer_type(hid type, size_t bytes)
{
    static const ig_dtype types[2][9] = {
        [0] = {[1] = IG_U8, [2] = IG_U16, [4] = IG_U32, [8] = IG_U64},
        [1] = {[1] = IG_I8, [2] = IG_I16, [4] = IG_I32, [8] = IG_I64}};
    return bytes <= 8 && h5.type_precision(type) == 8 * bytes
               ? types[h5.type_sign(type) == 1][bytes]
               : IG_DTYPE_NONE;
}

static ig_dtype float_type(hid type, size_t bytes)
{
    size_t sign = 0, at = 0, exponent = 0, mantissa = 0, size = 0;
    if (h5.type_fields(type, &sign, &at, &exponent, &mantissa, &size) < 0 || mantissa != 0 ||
        sign != 8 * bytes - 1)
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
    if (h5.type_members(type) != 2 || h5.type_member_offset(type, 0) != 0 ||
        h5.type_member_offset(type, 1) != bytes / 2)
        return IG_DTYPE_NONE;
    for (unsigned i = 0; i < 2; i++) {
        const hid member = h5.type_member(type, i);
        if (h5.type_class(member) == CLASS_FLOAT && h5.type_size(member) == bytes / 2)
            parts[i] = float_type(member, bytes / 2);
        *order = h5.type_order(member);
        h5.type_close(member);
    }
    if (parts[0] != parts[1])
        return IG_DTYPE_NONE;
    return parts[0] == IG_F32 ? IG_C64 : parts[0] == IG_F64 ? IG_C128 : IG_DTYPE_NONE;
}

static ig_status type_read(hdf5_store *s)
{
    const int kind = h5.type_class(s->type);
    const size_t bytes = h5.type_size(s->type);
    int order = h5.type_order(s->type);
    ig_dtype dtype = IG_DTYPE_NONE;
    if (kind == CLASS_INTEGER)
        dtype = integer_type(s->type, bytes);
    else if (kind == CLASS_FLOAT)
        dtype = float_type(s->type, bytes);
    else if (kind == CLASS_ENUM && bytes == 1)
        dtype = IG_BOOL; /* h5py writes bools so */
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
    const hid space = h5.data_space(s->data);
    const int kind = h5.space_class(space), ndim = h5.space_ndims(space);
    const bool good = space >= 0 && (kind == SPACE_SIMPLE || kind == SPACE_SCALAR) && ndim >= 0 &&
                      ndim <= IG_MAX_NDIM && h5.space_dims(space, dims, NULL) >= 0;
    h5.space_close(space);
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

static ig_status layout_read(hdf5_store *s, const char *path)
{
    length dims[IG_MAX_NDIM];
    char name[4096] = "";
    ig_status status = IG_OK;
    const hid plan = h5.data_plan(s->data);
    const int layout = h5.plan_layout(plan), external = h5.plan_external(plan);
    store_chunk_choose(&s->base, false);
    if (layout == LAYOUT_CHUNKED && h5.plan_chunk(plan, s->base.ndim, dims) == s->base.ndim)
        for (int i = 0; i < s->base.ndim; i++) {
            const int64_t chunk = dims[i] > 0 && dims[i] < INT64_MAX ? (int64_t)dims[i] : 1;
            s->base.chunk[i] = s->base.shard[i] = chunk;
        }
    h5.plan_close(plan);
    const int64_t n = h5.file_name(s->data, name, sizeof name);
    if (layout == LAYOUT_VIRTUAL || external != 0 || n <= 0 || n >= (int64_t)sizeof name ||
        strcmp(name, path) != 0)
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
        const int64_t bytes = h5.link_name(file, ".", 0, 0, n, name, sizeof name, DEFAULT);
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

static ig_status dataset_open(hdf5_store *s, const char *path, const char *name)
{
    char list[NAME_BYTES], only[NAME_BYTES], shown[IO_SHOWN_BYTES];
    s->handle = h5.file_open(path, DEFAULT, DEFAULT);
    if (s->handle < 0)
        return io_fail(
            &s->file, IG_ERR_FORMAT,
            "libhdf5 cannot open it: it is damaged, or another program writes it; copy it again");
    names_read(s->handle, list, only);
    io_show(list, shown);
    s->data = h5.data_open(s->handle, *name ? name : *only ? only : ".", DEFAULT);
    if (s->data < 0)
        return io_fail(&s->file, IG_ERR_FILE, "%s; the file has: %s",
                       *name ? "there is no dataset of this name"
                             : "name a dataset in the file, after a slash",
                       shown);
    s->type = h5.data_type(s->data);
    TRY(type_read(s));
    TRY(shape_read(s));
    return layout_read(s, path);
}

/* ---- the kind ------------------------------------------------------------------------------------------ */

static ig_status box_read(hdf5_store *s, const int64_t *start, const int64_t *size, void *data)
{
    length from[IG_MAX_NDIM], count[IG_MAX_NDIM];
    const int ndim = s->base.ndim;
    for (int i = 0; i < ndim; i++) {
        from[i] = (length)start[i];
        count[i] = (length)size[i];
    }
    if (ndim == 0)
        return h5.data_read(s->data, s->type, DEFAULT, DEFAULT, DEFAULT, data) >= 0 ? IG_OK
                                                                                    : IG_ERR_FORMAT;
    const hid space = h5.data_space(s->data), memory = h5.space_make(ndim, count, NULL);
    const bool read = space >= 0 && memory >= 0 &&
                      h5.space_select(space, 0, from, NULL, count, NULL) >= 0 &&
                      h5.data_read(s->data, s->type, memory, space, DEFAULT, data) >= 0;
    if (memory >= 0)
        h5.space_close(memory);
    if (space >= 0)
        h5.space_close(space);
    return read ? IG_OK : IG_ERR_FORMAT;
}

static ig_status hdf5_read(ig_store *base, const int64_t *start, const int64_t *size, void *data)
{
    hdf5_store *s = (hdf5_store *)base;
    size_t bytes = ig_dtype_bytes(base->dtype);
    unsigned char *at = data;
    for (int i = 0; i < base->ndim; i++)
        bytes *= (size_t)size[i];
    pthread_mutex_lock(&lock);
    const ig_status status = box_read(s, start, size, data);
    pthread_mutex_unlock(&lock);
    if (status != IG_OK)
        return io_fail(&s->file, IG_ERR_FORMAT,
                       "libhdf5 cannot read it: it is damaged, or a filter of it is not installed; "
                       "copy it again or install the filter");
    if (s->swap)
        io_swap(data, bytes, io_swap_bytes(base->dtype));
    for (size_t i = 0; base->dtype == IG_BOOL && i < bytes; i++)
        at[i] = at[i] != 0;
    return IG_OK;
}

/* Closes the open handles; false if the library cannot write the data that it has kept. */
static bool handles_close(hdf5_store *s)
{
    bool fine = true;
    pthread_mutex_lock(&lock);
    if (s->type > 0)
        h5.type_close(s->type);
    if (s->data > 0)
        fine = h5.data_close(s->data) >= 0;
    if (s->handle > 0)
        fine = h5.file_close(s->handle) >= 0 && fine;
    s->type = s->data = s->handle = 0;
    pthread_mutex_unlock(&lock);
    return fine;
}

static void hdf5_close(ig_store *base)
{
    hdf5_store *s = (hdf5_store *)base;
    handles_close(s);
    if (s->temp)
        unlink(s->temp);
    memory_free(s->temp);
    memory_free(s->real);
}

static const store_kind hdf5_kind = {.read = hdf5_read, .close = hdf5_close};

static hdf5_store *store_new(const char *verb, const char *path, const char *name)
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
    return s;
}

static ig_status library_missing(const hdf5_store *s)
{
    return io_fail(&s->file, IG_ERR_UNSUPPORTED,
                   "HDF5 files need libhdf5 1.10 or later, which is not installed; install it");
}

ig_store *hdf5_store_open(const char *path, const char *name)
{
    hdf5_store *s = store_new("open", path, name);
    if (!s)
        return NULL;
    ig_status status = IG_OK;
    if (library_there()) {
        s->base.kind = &hdf5_kind;
        pthread_mutex_lock(&lock);
        status = dataset_open(s, path, name);
        pthread_mutex_unlock(&lock);
    } else {
        status = library_missing(s);
    }
    if (status == IG_OK)
        return &s->base;
    store_free(&s->base);
    return NULL;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

enum { CREATE_NEW = 2, SPACE_OF_ONE = 0, PATH_BYTES = 4096 };

static struct {
    hid (*file_create)(const char *name, unsigned flags, hid list, hid access);
    hid (*data_create)(hid at, const char *name, hid type, hid space, hid links, hid plan,
                       hid access);
    int (*data_write)(hid data, hid type, hid memory, hid file, hid list, const void *from);
    hid (*space_of)(int kind);
    hid (*plan_create)(hid kind);
    int (*plan_set_chunk)(hid plan, int ndim, const length *dims);
    int (*plan_make_groups)(hid plan, unsigned yes);
    hid (*type_copy)(hid type);
    hid (*type_enum)(hid base);
    int (*type_enum_add)(hid type, const char *name, const void *value);
    hid (*type_compound)(int kind, size_t size);
    int (*type_add)(hid type, const char *name, size_t offset, hid member);
    int (*type_set_size)(hid type, size_t size);
    int (*type_set_fields)(hid type, size_t sign, size_t exponent, size_t exponent_size,
                           size_t mantissa, size_t size);
    int (*type_set_bias)(hid type, size_t bias);
    const hid *links, *plans; /* classes of lists */
    const hid *i8, *i16, *i32, *i64, *u8, *u16, *u32, *u64, *f32, *f64;
} h5w;

static const library_function writers[] = {
    {"H5Fcreate", &h5w.file_create},
    {"H5Dcreate2", &h5w.data_create},
    {"H5Dwrite", &h5w.data_write},
    {"H5Screate", &h5w.space_of},
    {"H5Pcreate", &h5w.plan_create},
    {"H5Pset_chunk", &h5w.plan_set_chunk},
    {"H5Pset_create_intermediate_group", &h5w.plan_make_groups},
    {"H5Tcopy", &h5w.type_copy},
    {"H5Tenum_create", &h5w.type_enum},
    {"H5Tenum_insert", &h5w.type_enum_add},
    {"H5Tcreate", &h5w.type_compound},
    {"H5Tinsert", &h5w.type_add},
    {"H5Tset_size", &h5w.type_set_size},
    {"H5Tset_fields", &h5w.type_set_fields},
    {"H5Tset_ebias", &h5w.type_set_bias},
    {"H5P_CLS_LINK_CREATE_ID_g", &h5w.links},
    {"H5P_CLS_DATASET_CREATE_ID_g", &h5w.plans},
    {"H5T_NATIVE_INT8_g", &h5w.i8},
    {"H5T_NATIVE_INT16_g", &h5w.i16},
    {"H5T_NATIVE_INT32_g", &h5w.i32},
    {"H5T_NATIVE_INT64_g", &h5w.i64},
    {"H5T_NATIVE_UINT8_g", &h5w.u8},
    {"H5T_NATIVE_UINT16_g", &h5w.u16},
    {"H5T_NATIVE_UINT32_g", &h5w.u32},
    {"H5T_NATIVE_UINT64_g", &h5w.u64},
    {"H5T_NATIVE_FLOAT_g", &h5w.f32},
    {"H5T_NATIVE_DOUBLE_g", &h5w.f64},
};

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
    const hid space = ndim ? h5.space_make(ndim, dims, NULL) : h5w.space_of(SPACE_OF_ONE);
    const hid links = h5w.plan_create(*h5w.links), plan = h5w.plan_create(*h5w.plans);
    h5w.plan_make_groups(links, 1);
    if (cut)
        h5w.plan_set_chunk(plan, ndim, chunk);
    s->data = h5w.data_create(s->handle, name, s->type, space, links, plan, DEFAULT);
    h5.plan_close(links);
    h5.plan_close(plan);
    h5.space_close(space);
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
    pthread_mutex_lock(&lock);
    const hid space = h5.data_space(s->data),
              memory = base->ndim ? h5.space_make(base->ndim, count, NULL) : DEFAULT;
    const bool written =
        space >= 0 && memory >= 0 &&
        (!base->ndim || h5.space_select(space, 0, from, NULL, count, NULL) >= 0) &&
        h5w.data_write(s->data, s->type, memory, base->ndim ? space : DEFAULT, DEFAULT, data) >= 0;
    if (memory > 0)
        h5.space_close(memory);
    h5.space_close(space);
    pthread_mutex_unlock(&lock);
    return written ? IG_OK
                   : io_fail(&s->file, IG_ERR_FILE,
                             "libhdf5 cannot write it: the disk may be full; make room");
}

static const store_kind new_kind = {.read = hdf5_read, .write = hdf5_write, .close = hdf5_close};

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
    static store_library library;
    if (!library_there())
        return library_missing(s);
    pthread_mutex_lock(&lock);
    library.files = hdf5_files;
    library.functions = writers;
    library.n = sizeof writers / sizeof *writers;
    pthread_mutex_unlock(&lock);
    if (!store_library_has(&library))
        return library_missing(s);
    char text[PATH_BYTES];
    if (snprintf(text, sizeof text, "%.*s.tmp-%ld", (int)end, path, (long)getpid()) >=
        (int)sizeof text)
        return io_fail(&s->file, IG_ERR_FILE, "the path is too long; choose a shorter one");
    if (!(s->temp = memory_text(text)))
        return IG_ERR_MEMORY;
    text[end] = 0;
    if (!(s->real = memory_text(text)))
        return IG_ERR_MEMORY;
    if (path[end] && access(s->real, F_OK) == 0)
        return io_fail(&s->file, IG_ERR_FILE,
                       "the file is there, and Ingot adds no datasets to files; name another one");
    s->base.kind = &new_kind;
    s->base.writable = true;
    pthread_mutex_lock(&lock);
    const ig_status status = dataset_create(s, name);
    pthread_mutex_unlock(&lock);
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
    hdf5_store *s = store_new("save", path, "");
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
    if (!handles_close(s))
        return io_fail(&s->file, IG_ERR_FILE,
                       "libhdf5 cannot write it: the disk may be full; make room");
    if (rename(s->temp, s->real) != 0)
        return io_fail_system(&s->file, errno, "it cannot be put in its place");
    memory_free(s->temp);
    s->temp = NULL;
    return IG_OK;
}
