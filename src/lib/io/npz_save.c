/* Writes the npz format: ig_tensors_save_npz. The format is in npz.h.
 *
 * Members are stored, not compressed. The same arrays always give the same bytes: each member has the
 * earliest time of the format. All numbers are written in their zip64 form, so archives above 4 GiB and
 * small ones take the same path.
 */
#include "base/inflate.h"
#include "lib/io/npy.h"
#include "lib/io/npz.h"
#include "lib/io/tensors.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum {
    VERSION = 45,            /* of the zip format: the first with zip64 */
    FIRST_DATE = 1 << 5 | 1, /* 1 January 1980 */
    LOCAL_EXTRA_BYTES = 4 + 16,
    DIRECTORY_EXTRA_BYTES = 4 + 24,
    NAME_MAX_BYTES = UINT16_MAX
};

struct member {
    const struct named *array;
    uint32_t crc;
    uint64_t bytes; /* header and elements */
    uint64_t at;    /* where its local header is */
};

/* A record that is being written. */
struct record {
    unsigned char at[ZIP_END_64_BYTES + ZIP_LOCATOR_64_BYTES + ZIP_END_BYTES];
    size_t used;
};

static void put(struct record *r, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        r->at[r->used++] = (unsigned char)(value >> 8 * i);
}

static size_t element_bytes(const ig_array *x)
{
    return (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
}

static size_t name_bytes(const struct member *m)
{
    return strlen(m->array->name) + strlen(NPZ_SUFFIX);
}

/* The common part of a local header and a directory entry. */
static void put_member(struct record *r, const struct member *m, int extra_bytes)
{
    bool ascii = true;
    for (const char *c = m->array->name; *c; c++)
        ascii = ascii && (unsigned char)*c < 0x80;
    put(r, VERSION, 2);
    put(r, ascii ? 0 : ZIP_UTF8, 2);
    put(r, ZIP_STORED, 2);
    put(r, 0, 2); /* time */
    put(r, FIRST_DATE, 2);
    put(r, m->crc, 4);
    put(r, UINT32_MAX, 4); /* both sizes are in the extra field */
    put(r, UINT32_MAX, 4);
    put(r, name_bytes(m), 2);
    put(r, (uint64_t)extra_bytes, 2);
}

static void put_extra(struct record *r, const struct member *m, int extra_bytes)
{
    put(r, ZIP_EXTRA_64, 2);
    put(r, (uint64_t)extra_bytes - 4, 2);
    put(r, m->bytes, 8);
    put(r, m->bytes, 8);
    if (extra_bytes == DIRECTORY_EXTRA_BYTES)
        put(r, m->at, 8);
}

/* Writes the fixed part of a record, the member's name, and the extra field. */
static ig_status head_write(struct io_file *file, const struct member *m, const struct record *head,
                            int extra_bytes)
{
    struct record extra = {.used = 0};
    put_extra(&extra, m, extra_bytes);
    TRY(io_write(file, head->at, head->used));
    TRY(io_write(file, m->array->name, strlen(m->array->name)));
    TRY(io_write(file, NPZ_SUFFIX, strlen(NPZ_SUFFIX)));
    return io_write(file, extra.at, extra.used);
}

static ig_status member_write(struct io_file *file, struct member *m)
{
    ig_array *x = m->array->array;
    const void *data = ig_data(x);
    unsigned char header[NPY_HEADER_MAX_BYTES];
    const size_t header_bytes = npy_header(x, header), data_bytes = element_bytes(x);
    m->bytes = header_bytes + data_bytes;
    m->crc = crc32_add(crc32_add(0, header, header_bytes), data, data_bytes);
    struct record head = {.used = 0};
    put(&head, ZIP_LOCAL, 4);
    put_member(&head, m, LOCAL_EXTRA_BYTES);
    TRY(head_write(file, m, &head, LOCAL_EXTRA_BYTES));
    TRY(io_write(file, header, header_bytes));
    return io_write(file, data, data_bytes);
}

static ig_status entry_write(struct io_file *file, const struct member *m)
{
    struct record head = {.used = 0};
    put(&head, ZIP_DIRECTORY, 4);
    put(&head, 3 << 8 | VERSION, 2); /* made on Unix: attributes are permissions */
    put_member(&head, m, DIRECTORY_EXTRA_BYTES);
    put(&head, 0, 2); /* comment */
    put(&head, 0, 2); /* disk */
    put(&head, 0, 2); /* internal attributes */
    put(&head, (uint64_t)0600 << 16, 4);
    put(&head, UINT32_MAX, 4); /* the offset is in the extra field */
    return head_write(file, m, &head, DIRECTORY_EXTRA_BYTES);
}

static void put_end_64(struct record *r, uint64_t count, uint64_t directory, uint64_t end)
{
    put(r, ZIP_END_64, 4);
    put(r, ZIP_END_64_BYTES - 12, 8);
    put(r, 3 << 8 | VERSION, 2);
    put(r, VERSION, 2);
    put(r, 0, 8); /* disks */
    put(r, count, 8);
    put(r, count, 8);
    put(r, end - directory, 8);
    put(r, directory, 8);
    put(r, ZIP_LOCATOR_64, 4);
    put(r, 0, 4);
    put(r, end, 8);
    put(r, 1, 4);
}

/* An archive without members has no zip64 records: readers recognize it by the end record at its start. */
static ig_status end_write(struct io_file *file, uint64_t count, uint64_t directory, uint64_t end)
{
    struct record r = {.used = 0};
    if (count)
        put_end_64(&r, count, directory, end);
    put(&r, ZIP_END, 4);
    put(&r, 0, 4); /* disks */
    put(&r, count ? UINT16_MAX : 0, 2);
    put(&r, count ? UINT16_MAX : 0, 2);
    put(&r, count ? UINT32_MAX : 0, 4);
    put(&r, count ? UINT32_MAX : 0, 4);
    put(&r, 0, 2); /* comment */
    return io_write(file, r.at, r.used);
}

static ig_status archive_write(struct io_file *file, struct member *members, int n)
{
    uint64_t at = 0;
    for (int i = 0; i < n; i++) {
        members[i].at = at;
        TRY(member_write(file, &members[i]));
        at += ZIP_LOCAL_BYTES + name_bytes(&members[i]) + LOCAL_EXTRA_BYTES + members[i].bytes;
    }
    const uint64_t directory = at;
    for (int i = 0; i < n; i++) {
        TRY(entry_write(file, &members[i]));
        at += ZIP_DIRECTORY_BYTES + name_bytes(&members[i]) + DIRECTORY_EXTRA_BYTES;
    }
    return end_write(file, (uint64_t)n, directory, at);
}

ig_status ig_tensors_save_npz(const ig_tensors *t, const char *path)
{
    struct io_file file;
    if (!t)
        FAIL(IG_ERR_ARGUMENT, "save: the set of tensors is NULL");
    if (t->texts.n)
        FAIL(IG_ERR_UNSUPPORTED,
             "save: npz files hold no texts, and this set has %d; save it as safetensors",
             t->texts.n);
    for (int i = 0; i < t->arrays.n; i++)
        if (strlen(t->arrays.at[i].name) > NAME_MAX_BYTES - strlen(NPZ_SUFFIX))
            FAIL(IG_ERR_UNSUPPORTED,
                 "save: npz files hold names of up to %d bytes; shorten '%.40s...'",
                 (int)(NAME_MAX_BYTES - strlen(NPZ_SUFFIX)), t->arrays.at[i].name);
    TRY(tensors_evaluate(&t->arrays));
    struct member *members = memory_new((size_t)t->arrays.n * sizeof *members);
    if (!members)
        return IG_ERR_MEMORY;
    for (int i = 0; i < t->arrays.n; i++)
        members[i].array = &t->arrays.at[i];
    ig_status status = io_create(&file, path);
    if (status == IG_OK)
        status = archive_write(&file, members, t->arrays.n);
    memory_free(members);
    return io_finish(&file, status);
}
