/* .npy files as stores: one file, or a folder of files that follow each other along the first axis.
 *
 * A file is mapped: the system reads the pages that a box needs. One file stays mapped. The files of a folder are mapped
 * for the time of a call, because there may be more of them than mappings are allowed.
 */
#include "base/box.h"
#include "lib/store/open.h"
#include "lib/store/store.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/npy.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct npy_file {
    char *path;
    struct npy_layout layout;
    int64_t first;  /* its first row in the array */
    size_t offset;  /* of its elements in the file */
    const char *at; /* the mapped file; NULL: not mapped */
    size_t bytes;   /* of the file */
} npy_file;

typedef struct npy_store {
    ig_store base;
    int n;
    npy_file *files; /* in the order of their rows */
} npy_store;

/* ---- files ----------------------------------------------------------------------------------------- */

/* Reads the header of a file, and checks that all its elements are there. */
static ig_status file_open(npy_file *f, struct io_file *file)
{
    TRY(io_open(file, f->path));
    const int64_t bytes = file->left;
    if (bytes < 0)
        return io_fail(file, IG_ERR_FILE, "it is not a file that can be mapped; copy it to a file");
    TRY(npy_read_layout(file, &f->layout));
    f->bytes = (size_t)bytes;
    f->offset = (size_t)(bytes - file->left);
    if ((uint64_t)file->left < f->layout.bytes)
        return io_fail(file, IG_ERR_FORMAT,
                       "the file is cut short: %zu bytes of elements are expected, %" PRId64
                       " found; copy or save it again",
                       f->layout.bytes, file->left);
    return IG_OK;
}

static bool layout_same(const struct npy_layout *a, const struct npy_layout *b)
{
    return a->dtype == b->dtype && a->swap == b->swap && a->fortran == b->fortran &&
           a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static ig_status file_map(npy_file *f)
{
    struct io_file file;
    const struct npy_layout known = f->layout;
    ig_status status = file_open(f, &file);
    if (status == IG_OK && known.dtype != IG_DTYPE_NONE && !layout_same(&known, &f->layout))
        status = io_fail(&file, IG_ERR_FILE, "its header has changed; open it again");
    if (status == IG_OK && f->layout.bytes) {
        void *at = mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, file.fd, 0);
        if (at == MAP_FAILED)
            status = io_fail_system(&file, errno, "it cannot be mapped");
        else
            f->at = at;
    }
    io_close(&file);
    return status;
}

static void file_unmap(npy_file *f)
{
    if (f->at)
        munmap((void *)(uintptr_t)f->at, f->bytes);
    f->at = NULL;
}

static void file_strides(const npy_file *f, int64_t *strides)
{
    const struct npy_layout *l = &f->layout;
    int64_t stride = (int64_t)ig_dtype_bytes(l->dtype);
    for (int i = 0; i < l->ndim; i++) {
        const int axis = l->fortran ? i : l->ndim - 1 - i;
        strides[axis] = stride;
        stride *= l->shape[axis];
    }
}

/* Copies a box of a mapped file. */
static void file_copy(const npy_file *f, const int64_t *start, const int64_t *size, char *to)
{
    const struct npy_layout *l = &f->layout;
    const size_t element = ig_dtype_bytes(l->dtype);
    int64_t from_strides[IG_MAX_NDIM], to_strides[IG_MAX_NDIM];
    size_t bytes = element;
    const char *from = f->at + f->offset;
    file_strides(f, from_strides);
    box_strides(l->ndim, size, element, to_strides);
    for (int i = 0; i < l->ndim; i++) {
        from += start[i] * from_strides[i];
        bytes *= (size_t)size[i];
    }
    box_copy(l->ndim, size, to, to_strides, from, from_strides, element);
    if (l->swap)
        io_swap(to, bytes, io_swap_bytes(l->dtype));
    for (size_t i = 0; l->dtype == IG_BOOL && i < bytes; i++)
        to[i] = to[i] != 0;
}

/* ---- the kind -------------------------------------------------------------------------------------- */

static ig_status npy_read_box(ig_store *s, const int64_t *start, const int64_t *size, void *data)
{
    npy_store *n = (npy_store *)s;
    char *to = data;
    int64_t begin[IG_MAX_NDIM], part[IG_MAX_NDIM];
    size_t row = ig_dtype_bytes(s->dtype);
    if (n->n == 1) {
        file_copy(&n->files[0], start, size, to);
        return IG_OK;
    }
    memcpy(begin, start, (size_t)s->ndim * sizeof *begin);
    memcpy(part, size, (size_t)s->ndim * sizeof *part);
    for (int i = 1; i < s->ndim; i++)
        row *= (size_t)size[i];
    for (int i = 0; i < n->n; i++) {
        npy_file f = n->files[i]; /* other threads map the same file */
        const int64_t rows = f.layout.shape[0];
        const int64_t low = start[0] > f.first ? start[0] : f.first;
        const int64_t end = start[0] + size[0], last = f.first + rows;
        const int64_t high = end < last ? end : last;
        if (high <= low)
            continue;
        begin[0] = low - f.first;
        part[0] = high - low;
        TRY(file_map(&f));
        file_copy(&f, begin, part, to);
        file_unmap(&f);
        to += (size_t)part[0] * row;
    }
    return IG_OK;
}

static void npy_close(ig_store *s)
{
    npy_store *n = (npy_store *)s;
    for (int i = 0; i < n->n; i++) {
        file_unmap(&n->files[i]);
        memory_free(n->files[i].path);
    }
    memory_free(n->files);
}

static const store_kind npy_kind = {.read = npy_read_box, .close = npy_close};

const void *ig_store_data(const ig_store *s)
{
    const npy_store *n = (const npy_store *)s;
    if (!s || s->kind != &npy_kind || n->n != 1 || !n->files[0].at)
        return NULL;
    const npy_file *f = &n->files[0];
    const bool plain = !f->layout.swap && (!f->layout.fortran || f->layout.ndim < 2) &&
                       f->layout.dtype != IG_BOOL && f->offset % ig_dtype_bytes(s->dtype) == 0;
    return plain ? f->at + f->offset : NULL;
}

static npy_store *npy_new(const char *path, int n)
{
    npy_store *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    s->base.kind = &npy_kind;
    io_show(path, s->base.shown);
    s->files = memory_new((size_t)(n ? n : 1) * sizeof *s->files);
    if (!s->files) {
        store_free(&s->base);
        return NULL;
    }
    return s;
}

static void shape_take(npy_store *s)
{
    const struct npy_layout *l = &s->files[0].layout;
    s->base.dtype = l->dtype;
    s->base.ndim = l->ndim;
    memcpy(s->base.shape, l->shape, sizeof l->shape);
}

ig_store *npy_store_open(const char *path)
{
    npy_store *s = npy_new(path, 1);
    if (!s)
        return NULL;
    s->n = 1;
    s->files[0].path = memory_text(path);
    if (!s->files[0].path || file_map(&s->files[0]) != IG_OK) {
        store_free(&s->base);
        return NULL;
    }
    shape_take(s);
    store_chunk_choose(&s->base, s->files[0].layout.fortran);
    return &s->base;
}

/* ---- folders --------------------------------------------------------------------------------------- */

/* The order of names, in which numbers are compared by their value: "2.npy" is before "10.npy". */
static int name_order(const void *a, const void *b)
{
    const char *x = ((const npy_file *)a)->path, *y = ((const npy_file *)b)->path;
    while (*x && *y) {
        if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
            x += strspn(x, "0");
            y += strspn(y, "0");
            const size_t n = strspn(x, "0123456789"), m = strspn(y, "0123456789");
            const int order = n != m ? (n < m ? -1 : 1) : memcmp(x, y, n);
            if (order)
                return order;
            x += n;
            y += m;
        } else if (*x != *y) {
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        } else {
            x++, y++;
        }
    }
    return *x || *y ? (*x ? 1 : -1)
                    : strcmp(((const npy_file *)a)->path, ((const npy_file *)b)->path);
}

static bool name_is_npy(const char *name)
{
    const size_t n = strlen(name);
    return name[0] != '.' && n > 4 && strcasecmp(name + n - 4, ".npy") == 0;
}

static ig_status names_read(npy_store *s, const char *path, DIR *folder)
{
    int room = 1;
    for (const struct dirent *e; (e = readdir(folder));) {
        if (!name_is_npy(e->d_name))
            continue;
        if (!memory_room(&s->files, s->n, &room, sizeof *s->files))
            return IG_ERR_MEMORY;
        const size_t bytes = strlen(path) + strlen(e->d_name) + 2;
        char *name = memory_get(bytes);
        if (!name)
            return error_waiting(IG_ERR_MEMORY);
        snprintf(name, bytes, "%s/%s", path, e->d_name);
        s->files[s->n++] = (npy_file){.path = name};
    }
    qsort(s->files, (size_t)s->n, sizeof *s->files, name_order);
    return IG_OK;
}

/* Reads the headers: all files must have one dtype and one shape, except for the number of rows. */
static ig_status headers_read(npy_store *s)
{
    int64_t rows = 0;
    for (int i = 0; i < s->n; i++) {
        npy_file *f = &s->files[i];
        const struct npy_layout *l = &f->layout, *l0 = &s->files[0].layout;
        struct io_file file;
        ig_status status = file_open(f, &file);
        if (status == IG_OK &&
            (l->ndim == 0 || l->ndim != l0->ndim || l->dtype != l0->dtype ||
             memcmp(l->shape + 1, l0->shape + 1, (size_t)(l->ndim - 1) * sizeof *l->shape) != 0))
            status = io_fail(&file, IG_ERR_SHAPE,
                             "the files of the folder do not fit each other: all need one dtype, "
                             "and one shape after the "
                             "first axis; remove the others");
        io_close(&file);
        TRY(status);
        f->first = rows;
        if (__builtin_add_overflow(rows, l->shape[0], &rows))
            return io_fail(&file, IG_ERR_FORMAT,
                           "the files have too many rows; open them one by one");
    }
    shape_take(s);
    s->base.shape[0] = rows;
    return IG_OK;
}

ig_store *npy_folder_open(const char *path)
{
    DIR *folder = opendir(path);
    npy_store *s = folder ? npy_new(path, 0) : NULL;
    if (!s) {
        if (folder)
            closedir(folder);
        return NULL;
    }
    ig_status status = names_read(s, path, folder);
    closedir(folder);
    if (status == IG_OK && s->n == 0)
        status = ig_fail(IG_ERR_FILE,
                         "open '%s': the folder has no array: no zarr.json, no .zarray and no .npy "
                         "files; check the path",
                         s->base.shown);
    if (status == IG_OK)
        status = s->n == 1 ? file_map(&s->files[0]) : headers_read(s);
    if (status != IG_OK) {
        store_free(&s->base);
        return NULL;
    }
    if (s->n == 1)
        shape_take(s);
    store_chunk_choose(&s->base, s->files[0].layout.fortran);
    return &s->base;
}
