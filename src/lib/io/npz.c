/* Reads the npz format; ig_tensors_load calls it. The format is in npz.h.
 *
 * Nothing in a file is trusted. The directory decides what the members are, and each local header must
 * agree with it. Every offset is checked against the file before it is followed. The sizes of all members
 * are checked against the memory limit before the first is decompressed, and the checksum of each member
 * against its content.
 */
#include "lib/io/npz.h"
#include "base/inflate.h"
#include "lib/io/npy.h"
#include "lib/io/tensors.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct archive {
    struct io_file *file;
    const unsigned char *at; /* the whole file */
    uint64_t size;
    uint64_t directory, end; /* where the directory begins and ends */
    uint64_t count;          /* members */
};

struct member {
    const unsigned char *name;
    size_t name_bytes;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, bytes; /* its size in the file, and decompressed */
    uint64_t local;         /* where its local header is */
    uint64_t next;          /* where the next entry of the directory is */
    const unsigned char *data;
};

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static unsigned number16(const unsigned char *at) { return (unsigned)number(at, 2); }
static uint32_t number32(const unsigned char *at) { return (uint32_t)number(at, 4); }

bool npz_begins(const unsigned char *bytes, size_t n)
{
    /* A safetensors file begins with its header's length, whose first four bytes may equal ZIP_LOCAL. The
     * fifth byte is then 0. In an archive it is the version of the zip format, which is never 0. */
    return n >= 5 && ((number32(bytes) == ZIP_LOCAL && bytes[4]) || number32(bytes) == ZIP_END);
}

static ig_status damaged(const struct archive *a, const char *what)
{
    return io_fail(a->file, IG_ERR_FORMAT, "its zip %s; the file is damaged: copy or save it again",
                   what);
}

static const char in_parts[] = "it is one part of an archive in several files; join them first";

/* True if [offset, offset + bytes) ends at or before limit. */
static bool lies_within(uint64_t offset, uint64_t bytes, uint64_t limit)
{
    return offset <= limit && bytes <= limit - offset;
}

/* ---- the end record and the directory -------------------------------------------------------- */

/* Finds the end record: a comment of up to 64 KiB may follow it. */
static ig_status end_find(const struct archive *a, uint64_t *at)
{
    for (uint64_t comment = 0; comment <= UINT16_MAX && comment + ZIP_END_BYTES <= a->size;
         comment++) {
        *at = a->size - ZIP_END_BYTES - comment;
        if (number32(a->at + *at) == ZIP_END && number16(a->at + *at + 20) == comment)
            return IG_OK;
    }
    return damaged(a, "has no end record: it is cut short");
}

static ig_status end_read(struct archive *a)
{
    uint64_t at = 0;
    TRY(end_find(a, &at));
    const unsigned char *end = a->at + at;
    a->end = at;
    a->count = number16(end + 10);
    a->directory = number32(end + 16);
    uint64_t bytes = number32(end + 12), here = number16(end + 8);
    uint64_t disks = number16(end + 4) | number16(end + 6);
    if (at >= ZIP_LOCATOR_64_BYTES && number32(end - ZIP_LOCATOR_64_BYTES) == ZIP_LOCATOR_64) {
        const uint64_t locator = at - ZIP_LOCATOR_64_BYTES;
        a->end = number(a->at + locator + 8, 8);
        if (!lies_within(a->end, ZIP_END_64_BYTES, locator) ||
            number32(a->at + a->end) != ZIP_END_64)
            return damaged(a, "has no zip64 end record where it says");
        const unsigned char *end_64 = a->at + a->end;
        here = number(end_64 + 24, 8);
        if (disks == UINT16_MAX) /* the zip64 record has the numbers */
            disks = 0;
        disks |= number32(end_64 + 16) | number32(end_64 + 20) | number32(a->at + locator + 4);
        a->count = number(end_64 + 32, 8);
        bytes = number(end_64 + 40, 8);
        a->directory = number(end_64 + 48, 8);
    }
    if (here != a->count || disks)
        return io_fail(a->file, IG_ERR_UNSUPPORTED, "%s", in_parts);
    if (!lies_within(a->directory, bytes, a->end) || a->directory + bytes != a->end ||
        a->count > bytes / ZIP_DIRECTORY_BYTES)
        return damaged(a, "directory is not where its end record says");
    return IG_OK;
}

/* Takes 64-bit numbers from the extra fields; numbers that fit in the entry itself stay. */
static bool extra_read(const unsigned char *extra, size_t bytes, struct member *m)
{
    uint64_t *const wanted[] = {&m->bytes, &m->packed, &m->local};
    while (bytes >= 4) {
        const size_t length = number16(extra + 2);
        if (length > bytes - 4)
            return false;
        const unsigned char *at = extra + 4, *const field_end = at + length;
        for (int i = 0; number16(extra) == ZIP_EXTRA_64 && i < 3; i++) {
            if (*wanted[i] != UINT32_MAX)
                continue;
            if (field_end - at < 8)
                return false;
            *wanted[i] = number(at, 8);
            at += 8;
        }
        extra += 4 + length;
        bytes -= 4 + length;
    }
    return true;
}

/* Reads the entry at an offset of the directory, and the local header that it names. */
static ig_status member_find(const struct archive *a, uint64_t at, struct member *m)
{
    if (!lies_within(at, ZIP_DIRECTORY_BYTES, a->end) || number32(a->at + at) != ZIP_DIRECTORY)
        return damaged(a, "directory is broken");
    const unsigned char *entry = a->at + at;
    *m = (struct member){.name = entry + ZIP_DIRECTORY_BYTES,
                         .name_bytes = number16(entry + 28),
                         .flags = number16(entry + 8),
                         .method = number16(entry + 10),
                         .crc = number32(entry + 16),
                         .packed = number32(entry + 20),
                         .bytes = number32(entry + 24),
                         .local = number32(entry + 42)};
    if (number16(entry + 34) != 0) /* the disk */
        return io_fail(a->file, IG_ERR_UNSUPPORTED, "%s", in_parts);
    const size_t extra = number16(entry + 30), comment = number16(entry + 32);
    if (!lies_within(at + ZIP_DIRECTORY_BYTES, m->name_bytes + extra + comment, a->end))
        return damaged(a, "directory is broken");
    m->next = at + ZIP_DIRECTORY_BYTES + m->name_bytes + extra + comment;
    if (!extra_read(m->name + m->name_bytes, extra, m))
        return damaged(a, "directory has a broken zip64 field");

    if (!lies_within(m->local, ZIP_LOCAL_BYTES, a->directory))
        return damaged(a, "directory names a place outside of the file");
    const unsigned char *local = a->at + m->local;
    const size_t name_bytes = number16(local + 26), skip = name_bytes + number16(local + 28);
    if (number32(local) != ZIP_LOCAL || name_bytes != m->name_bytes ||
        number16(local + 8) != m->method ||
        !lies_within(m->local + ZIP_LOCAL_BYTES, skip, a->directory) ||
        memcmp(local + ZIP_LOCAL_BYTES, m->name, name_bytes) != 0 ||
        !lies_within(m->local + ZIP_LOCAL_BYTES + skip, m->packed, a->directory))
        return damaged(a, "directory and members disagree");
    m->data = local + ZIP_LOCAL_BYTES + skip;
    return IG_OK;
}

/* ---- members ----------------------------------------------------------------------------------- */

/* Copies the member's name without its suffix. The caller frees it, also after a failure. */
static ig_status name_take(const struct archive *a, const struct member *m, char **name)
{
    char shown[IO_SHOWN_BYTES];
    const size_t suffix = strlen(NPZ_SUFFIX), n = m->name_bytes;
    *name = memory_get(n + 1);
    if (!*name)
        return IG_ERR_MEMORY;
    memcpy(*name, m->name, n);
    (*name)[n] = '\0';
    const bool valid = strlen(*name) == n && json_is_utf8(*name);
    for (char *c = *name; !valid && *c; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    io_show(*name, shown);
    if (!valid)
        return io_fail(a->file, IG_ERR_UNSUPPORTED,
                       "the name of its member '%.100s' is not UTF-8; rename it", shown);
    if (n < suffix || strcmp(*name + n - suffix, NPZ_SUFFIX) != 0)
        return io_fail(
            a->file, IG_ERR_UNSUPPORTED,
            "its member '%.100s' is not an array: npz archives hold .npy files; save the "
            "arrays with numpy.savez",
            shown);
    (*name)[n - suffix] = '\0';
    return IG_OK;
}

static ig_status member_check(const struct archive *a, const struct member *m, const char *name)
{
    char shown[IO_SHOWN_BYTES];
    io_show(name, shown);
    if (m->flags & ZIP_ENCRYPTED)
        return io_fail(a->file, IG_ERR_UNSUPPORTED,
                       "its member '%.100s' is encrypted; decrypt the archive first", shown);
    if (m->method != ZIP_STORED && m->method != ZIP_DEFLATED)
        return io_fail(a->file, IG_ERR_UNSUPPORTED,
                       "its member '%.100s' is compressed by method %u, and Ingot reads stored and "
                       "deflated ones; save it with numpy.savez_compressed",
                       shown, m->method);
    if (m->method == ZIP_STORED ? m->bytes != m->packed : m->bytes / INFLATE_MAX_RATIO > m->packed)
        return io_fail(a->file, IG_ERR_FORMAT,
                       "its member '%.100s' claims to have %" PRIu64
                       " bytes, which cannot be in the "
                       "%" PRIu64 " bytes of the file that it takes; the file is damaged: copy or "
                       "save it again",
                       shown, m->bytes, m->packed);
    return IG_OK;
}

/* Adds the names of all members to the set, and checks that the members fit in memory. */
static ig_status members_check(const struct archive *a, ig_tensors *set)
{
    uint64_t at = a->directory, packed = 0, bytes = 0;
    for (uint64_t i = 0; i < a->count; i++) {
        struct member m;
        char *name = NULL;
        TRY(member_find(a, at, &m));
        ig_status status = name_take(a, &m, &name);
        if (status == IG_OK)
            status = member_check(a, &m, name);
        if (status == IG_OK && names_find(&set->arrays, name)) {
            char shown[IO_SHOWN_BYTES];
            io_show(name, shown);
            status = io_fail(a->file, IG_ERR_FORMAT,
                             "it has two arrays named '%.100s'; rename one of them", shown);
        }
        if (status != IG_OK) {
            memory_free(name);
            return status;
        }
        if (!names_add(&set->arrays, name))
            return IG_ERR_MEMORY;
        packed += m.packed; /* at most the file's size each, so neither sum overflows */
        bytes += m.bytes;
        if (packed > a->size)
            return damaged(a, "members overlap");
        at = m.next;
    }
    if (at != a->end)
        return damaged(a, "directory has more entries than its end record says");
    return io_admit(a->file, bytes);
}

/* Decompresses a member. The caller frees its content, also after a failure. */
static ig_status member_inflate(const struct archive *a, const struct member *m, const char *name,
                                unsigned char **content)
{
    *content = malloc(m->bytes ? m->bytes : 1);
    if (!*content)
        return io_fail(a->file, IG_ERR_MEMORY, "no memory for the %" PRIu64 " bytes of '%.100s'",
                       m->bytes, name);
    const ig_status status = inflate(m->data, m->packed, *content, m->bytes);
    if (status == IG_ERR_FORMAT)
        return io_fail(a->file, IG_ERR_FORMAT,
                       "its member '%.100s' cannot be decompressed; the file is damaged: copy or "
                       "save it again",
                       name);
    return status;
}

/* Reads the array of a member. It belongs to the set and to no scope. */
static ig_status member_read(const struct archive *a, const struct member *m, struct named *place)
{
    char shown[IO_SHOWN_BYTES], label[2 * IO_SHOWN_BYTES + 2];
    unsigned char *unpacked = NULL;
    struct io_file content;
    io_show(place->name, shown);
    if (m->method == ZIP_DEFLATED) {
        const ig_status status = member_inflate(a, m, shown, &unpacked);
        if (status != IG_OK) {
            free(unpacked);
            return status;
        }
    }
    const unsigned char *bytes = unpacked ? unpacked : m->data;
    snprintf(label, sizeof label, "%s: %s", a->file->shown, shown);
    ig_status status = IG_OK;
    if (crc32_add(0, bytes, m->bytes) != m->crc) {
        status = io_fail(a->file, IG_ERR_FORMAT,
                         "its member '%.100s' has a wrong checksum; the file is "
                         "damaged: copy or save it again",
                         shown);
    } else if ((status = ig_scope_begin()) == IG_OK) {
        io_open_memory(&content, bytes, m->bytes, label);
        place->array = ig_scope_forget(npy_read(&content));
        ig_scope_end();
        status = place->array ? io_expect_end(&content, "its elements") : io_waiting();
    }
    free(unpacked);
    return status;
}

static ig_status archive_read(struct archive *a, ig_tensors *set)
{
    TRY(end_read(a));
    TRY(members_check(a, set));
    uint64_t at = a->directory;
    for (int i = 0; i < set->arrays.n; i++) {
        struct member m;
        TRY(member_find(a, at, &m));
        TRY(member_read(a, &m, &set->arrays.at[i]));
        at = m.next;
    }
    return IG_OK;
}

ig_status npz_read(struct io_file *file, ig_tensors *set)
{
    void *data = NULL;
    size_t got = 0;
    /* The size of a pipe is unknown: the memory limit bounds how much is read from it. */
    const uint64_t most = file->left >= 0 ? (uint64_t)file->left : ig_memory_limit();
    ig_status status = io_admit(file, file->left >= 0 ? most : 0);
    if (status == IG_OK)
        status = io_read_new(file, most, &data, &got);
    if (status == IG_OK)
        status = archive_read(&(struct archive){.file = file, .at = data, .size = got}, set);
    free(data);
    return status;
}
