/* Reads the safetensors format: ig_tensors_load. The format is in safetensors.h.
 *
 * The file is untrusted. Every rule of the format is checked. Tensors must cover the data without gaps or
 * overlap, so every byte has a meaning. The whole header is checked, also against the size of the file,
 * before memory is allocated for any tensor.
 */
#include "lib/io/file.h"
#include "lib/io/gguf.h"
#include "lib/io/npz.h"
#include "lib/io/safetensors.h"
#include "lib/io/tensors.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mapping.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- reading the header -------------------------------------------------------------------- */

/* A tensor in the header. */
struct slot {
    int index; /* in the set */
    ig_dtype dtype;
    const char *packed; /* storage format of one byte for each element; NULL: plain */
    int ndim;
    int64_t shape[IG_MAX_NDIM];
    uint64_t begin, end; /* in the data */
};

struct loader {
    struct io_file file;
    json_reader json;
    ig_tensors *set;
    struct slot *slots; /* one for each tensor of the set */
    int room;
};

/* A message that names the tensor: "load 'path': tensor 'name' text". */
static ig_status tensor_fail(const struct loader *l, const struct slot *slot, ig_status code,
                             const char *format, ...) IG_PRINTF(4, 5);

static ig_status tensor_fail(const struct loader *l, const struct slot *slot, ig_status code,
                             const char *format, ...)
{
    char why[256], name[IO_SHOWN_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    io_show(l->set->arrays.at[slot->index].name, name);
    return io_fail(&l->file, code, "tensor '%s' %s", name, why);
}

static ig_status json_failed(const struct loader *l)
{
    return io_fail(&l->file, l->json.status, "its header is not valid %s; save the file again",
                   l->json.problem);
}

/* Copies a JSON string as a C string; refuses a zero byte inside. */
static ig_status string_take(const struct loader *l, json_text source, char **copy)
{
    size_t bytes = 0;
    *copy = json_text_copy(source, &bytes);
    if (!*copy)
        return IG_ERR_MEMORY;
    if (strlen(*copy) == bytes)
        return IG_OK;
    memory_free(*copy);
    *copy = NULL;
    return io_fail(
        &l->file, IG_ERR_UNSUPPORTED,
        "a name or text at byte %td of its header contains a zero byte, which Ingot does not "
        "support; rename it",
        source.at - l->json.begin);
}

/* Floats of 8 bits stay as they are (ingot/storage.h), seen as f32. */
static const struct {
    const char *code, *format;
} packed_codes[] = {{"F8_E4M3", "f8_e4m3"}, {"F8_E5M2", "f8_e5m2"}};

static ig_status dtype_parse(struct loader *l, struct slot *slot)
{
    json_text code;
    if (!json_read_text(&l->json, &code))
        return json_failed(l);
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_C128; dtype++)
        if (safetensors_codes[dtype] && json_text_is(code, safetensors_codes[dtype]))
            slot->dtype = dtype;
    for (size_t i = 0; i < COUNT(packed_codes); i++)
        if (json_text_is(code, packed_codes[i].code)) {
            slot->dtype = IG_F32;
            slot->packed = packed_codes[i].format;
        }
    if (slot->dtype != IG_DTYPE_NONE)
        return IG_OK;
    char *name = NULL, shown[IO_SHOWN_BYTES];
    TRY(string_take(l, code, &name));
    io_show(name, shown);
    memory_free(name);
    return tensor_fail(
        l, slot, IG_ERR_UNSUPPORTED,
        "has dtype '%.40s', which Ingot does not hold; convert it to one of BOOL, U8 to "
        "U64, I8 to I64, F8_E4M3, F8_E5M2, F16, BF16, F32, F64, C64",
        shown);
}

static ig_status shape_parse(struct loader *l, struct slot *slot)
{
    int ndim = 0;
    json_open_array(&l->json);
    while (json_next_item(&l->json)) {
        uint64_t length = 0;
        if (json_read_uint(&l->json, &length) && length > INT64_MAX)
            return tensor_fail(
                l, slot, IG_ERR_FORMAT,
                "has an axis of length %" PRIu64 "; the file is damaged: save it again", length);
        if (ndim < IG_MAX_NDIM)
            slot->shape[ndim] = (int64_t)length;
        ndim++;
    }
    if (l->json.status != IG_OK)
        return json_failed(l);
    if (ndim > IG_MAX_NDIM)
        return tensor_fail(l, slot, IG_ERR_UNSUPPORTED,
                           "has %d axes, and Ingot allows %d; reshape it before saving", ndim,
                           IG_MAX_NDIM);
    slot->ndim = ndim;
    return IG_OK;
}

static ig_status offsets_parse(struct loader *l, struct slot *slot)
{
    uint64_t ends[2] = {0, 0};
    int n = 0;
    json_open_array(&l->json);
    while (json_next_item(&l->json)) {
        uint64_t offset = 0;
        json_read_uint(&l->json, &offset);
        if (n < 2)
            ends[n] = offset;
        n += n < 3;
    }
    if (l->json.status != IG_OK)
        return json_failed(l);
    if (n != 2 || ends[0] > ends[1])
        return tensor_fail(
            l, slot, IG_ERR_FORMAT,
            "has data_offsets that are not [begin, end] with begin <= end; the file is "
            "damaged: save it again");
    slot->begin = ends[0];
    slot->end = ends[1];
    return IG_OK;
}

static const struct field {
    const char *name;
    ig_status (*parse)(struct loader *l, struct slot *slot);
} fields[] = {
    {"dtype", dtype_parse},
    {"shape", shape_parse},
    {"data_offsets", offsets_parse},
};

/* Checks that shape and offsets give the same number of bytes. */
static ig_status slot_measure(const struct loader *l, const struct slot *slot)
{
    size_t bytes = 0;
    if (!io_measure(slot->shape, slot->ndim, slot->packed ? IG_U8 : slot->dtype, &bytes))
        return tensor_fail(
            l, slot, IG_ERR_FORMAT,
            "has more elements than can be addressed; the file is damaged: save it again");
    if (bytes != slot->end - slot->begin)
        return tensor_fail(l, slot, IG_ERR_FORMAT,
                           "needs %zu bytes by its shape and has %" PRIu64
                           " by its data_offsets; the file is damaged: save it again",
                           bytes, slot->end - slot->begin);
    return IG_OK;
}

/* Adds a tensor to the set, and its slot. The slot is valid until the next call. */
static ig_status slot_add(struct loader *l, json_text key, struct slot **slot)
{
    char *name = NULL;
    const int index = l->set->arrays.n;
    TRY(string_take(l, key, &name));
    if (!names_add(&l->set->arrays, name))
        return IG_ERR_MEMORY;
    if (!memory_room(&l->slots, index, &l->room, sizeof *l->slots))
        return IG_ERR_MEMORY;
    *slot = &l->slots[index];
    **slot = (struct slot){.index = index};
    return IG_OK;
}

static ig_status field_parse(struct loader *l, struct slot *slot, json_text name, unsigned *seen)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        if (json_text_is(name, fields[i].name)) {
            *seen |= 1u << i;
            return fields[i].parse(l, slot);
        }
    return tensor_fail(l, slot, IG_ERR_FORMAT,
                       "has a field other than dtype, shape and data_offsets (at byte %td of the "
                       "header); save the file again",
                       name.at - l->json.begin);
}

static ig_status tensor_parse(struct loader *l, json_text key)
{
    struct slot *slot = NULL;
    unsigned seen = 0;
    json_text name;
    TRY(slot_add(l, key, &slot));
    json_open_object(&l->json);
    while (json_next_key(&l->json, &name))
        TRY(field_parse(l, slot, name, &seen));
    if (l->json.status != IG_OK)
        return json_failed(l);
    for (size_t i = 0; i < COUNT(fields); i++)
        if (!(seen & 1u << i))
            return tensor_fail(l, slot, IG_ERR_FORMAT, "has no '%s'; save the file again",
                               fields[i].name);
    return slot_measure(l, slot);
}

static ig_status metadata_parse(struct loader *l)
{
    json_text key, value;
    json_open_object(&l->json);
    while (json_next_key(&l->json, &key) && json_read_text(&l->json, &value)) {
        char *name = NULL, *copy = NULL;
        TRY(string_take(l, key, &name));
        struct named *place = names_add(&l->set->texts, name);
        if (!place)
            return IG_ERR_MEMORY;
        TRY(string_take(l, value, &copy));
        place->text = copy;
    }
    return l->json.status == IG_OK ? IG_OK : json_failed(l);
}

static ig_status entries_parse(struct loader *l)
{
    json_text key;
    json_open_object(&l->json);
    while (json_next_key(&l->json, &key))
        TRY(json_text_is(key, SAFETENSORS_METADATA) ? metadata_parse(l) : tensor_parse(l, key));
    if (l->json.status != IG_OK)
        return json_failed(l);
    for (const char *pad = l->json.at; pad < l->json.end; pad++)
        if (*pad != ' ')
            return io_fail(&l->file, IG_ERR_FORMAT,
                           "its header goes on at byte %td, where only spaces may follow; save the "
                           "file again",
                           pad - l->json.begin);
    return IG_OK;
}

static ig_status header_parse(struct loader *l, const char *source, size_t bytes)
{
    if (bytes == 0 || source[0] != '{')
        return io_fail(
            &l->file, IG_ERR_FORMAT,
            "its header does not begin with '{'; it is not a safetensors file, or is damaged: name "
            "another, or save it again");
    json_begin(&l->json, source, bytes);
    const ig_status status = entries_parse(l);
    json_end(&l->json);
    return status;
}

static ig_status header_cut(const struct io_file *file, uint64_t promised, uint64_t found)
{
    return io_fail(file, IG_ERR_FORMAT,
                   "the file is cut short, or it is not a safetensors file: %" PRIu64
                   " bytes of header are promised, %" PRIu64 " are there; copy or save it again",
                   promised, found);
}

static ig_status header_read(struct loader *l)
{
    struct io_file *file = &l->file;
    unsigned char prefix[SAFETENSORS_LENGTH_BYTES];
    uint64_t length = 0;
    size_t got = 0;
    void *source = NULL;
    TRY(io_read(file, prefix, SAFETENSORS_LENGTH_BYTES, &got));
    if (got == 0)
        return io_fail(file, IG_ERR_FORMAT, "it is empty; save it again");
    if (got < SAFETENSORS_LENGTH_BYTES)
        return header_cut(file, SAFETENSORS_LENGTH_BYTES, got);
    if (memcmp(prefix, "version ", SAFETENSORS_LENGTH_BYTES) == 0)
        return io_fail(file, IG_ERR_FORMAT,
                       "it is a pointer of Git LFS, not the file itself; run 'git lfs pull' in its "
                       "folder, or download the file");
    for (int i = SAFETENSORS_LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | prefix[i];
    if (length > SAFETENSORS_HEADER_MAX_BYTES)
        return io_fail(file, IG_ERR_FORMAT,
                       "its header claims to be %" PRIu64
                       " bytes long, and the format allows %d; it "
                       "is not a safetensors file, or is damaged",
                       length, SAFETENSORS_HEADER_MAX_BYTES);
    if (file->left >= 0 && length > (uint64_t)file->left)
        return header_cut(file, length, (uint64_t)file->left);
    ig_status status = io_read_new(file, length, &source, &got);
    if (status == IG_OK && got < length)
        status = header_cut(file, length, got);
    if (status == IG_OK)
        status = header_parse(l, source, length);
    free(source);
    return status;
}

/* ---- reading the data ---------------------------------------------------------------------- */

static int slot_compare(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Sorts the slots in the order of the data, and checks that the data has no gap, no overlap, and exactly
 * the bytes of the file. */
static ig_status slots_order(struct loader *l)
{
    const int n = l->set->arrays.n;
    uint64_t at = 0;
    if (n)
        qsort(l->slots, (size_t)n, sizeof *l->slots, slot_compare);
    for (int i = 0; i < n; at = l->slots[i++].end)
        if (l->slots[i].begin != at)
            return tensor_fail(l, &l->slots[i], IG_ERR_FORMAT,
                               "begins at byte %" PRIu64
                               " of the data, and the one before it ends at %" PRIu64
                               "; the file is damaged: save it again",
                               l->slots[i].begin, at);
    if (l->file.left >= 0 && at > (uint64_t)l->file.left)
        return io_fail(&l->file, IG_ERR_FORMAT,
                       "the file is cut short: %" PRIu64 " bytes of data are expected, %" PRId64
                       " found; copy or save it again",
                       at, l->file.left);
    return io_admit(&l->file, at);
}

static ig_status data_check(const struct loader *l, const struct slot *slot,
                            const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; slot->dtype == IG_BOOL && i < bytes; i++)
        if (data[i] > 1)
            return tensor_fail(l, slot, IG_ERR_FORMAT,
                               "is BOOL, and its element %zu is %d, neither 0 nor 1; the file is "
                               "damaged: save it again",
                               i, data[i]);
    return IG_OK;
}

static ig_status tensor_read(struct loader *l, const struct slot *slot)
{
    const size_t bytes = (size_t)(slot->end - slot->begin);
    void *data = NULL;
    size_t got = 0;
    ig_status status = io_read_new(&l->file, bytes, &data, &got);
    if (status == IG_OK && got < bytes)
        status =
            tensor_fail(l, slot, IG_ERR_FORMAT,
                        "is cut short: %zu bytes are expected, %zu found; copy or save the file "
                        "again",
                        bytes, got);
    if (status == IG_OK)
        status = data_check(l, slot, data, bytes);
    if (status == IG_OK) {
        const ig_ints shape = {slot->shape, slot->ndim};
        if (IO_BIG_ENDIAN && !slot->packed)
            io_swap(data, bytes, io_swap_bytes(slot->dtype));
        ig_array *x = slot->packed ? ig_from_packed(slot->packed, 0, slot->dtype, shape, data,
                                                    bytes, free, data)
                                   : ig_from_data(data, shape, slot->dtype);
        data = slot->packed ? NULL : data;
        l->set->arrays.at[slot->index].array = ig_scope_forget(x);
        status = x ? IG_OK : IG_ERR_MEMORY;
    }
    free(data);
    return status;
}

/* ---- mapping the data ----------------------------------------------------------------------- */

/* A mapped file; the arrays over it share it. */
struct mapping {
    void *at;
    size_t bytes;
    _Atomic int users;
};

static void mapping_release(void *context)
{
    struct mapping *m = context;
    if (atomic_fetch_sub(&m->users, 1) != 1)
        return;
    mapping_forget(m->at);
    munmap(m->at, m->bytes);
    memory_free(m);
}

static struct mapping *mapping_new(struct io_file *file)
{
    struct stat info;
    struct mapping *m = memory_new(sizeof *m);
    if (!m)
        return NULL;
    if (fstat(file->fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        m->bytes = (size_t)info.st_size;
        m->at = mmap(NULL, m->bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
        m->users = 1;
        if (m->at != MAP_FAILED) {
            mapping_note(m->at, m->bytes, file->fd);
            return m;
        }
    }
    io_fail(file, IG_ERR_FILE, "it cannot be mapped; it must be a plain file");
    memory_free(m);
    return NULL;
}

/* An array over the mapped bytes. The rest of the last page, past the end of the file, may be read. */
static ig_status tensor_map(struct loader *l, const struct slot *slot, struct mapping *m,
                            size_t data)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (m->bytes + page - 1) / page * page;
    const size_t at = data + (size_t)slot->begin;
    char *from = (char *)m->at + at;
    TRY(data_check(l, slot, (unsigned char *)from, (size_t)(slot->end - slot->begin)));
    atomic_fetch_add(&m->users, 1);
    const ig_ints shape = {slot->shape, slot->ndim};
    ig_array *x = slot->packed
                      ? ig_from_packed(slot->packed, 0, slot->dtype, shape, from, all - at,
                                       mapping_release, m)
                      : ig_from_memory(from, all - at, shape, slot->dtype, mapping_release, m);
    l->set->arrays.at[slot->index].array = ig_scope_forget(x);
    return x ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status file_map(struct loader *l)
{
    unsigned char first[IO_PEEK_BYTES];
    size_t got = 0;
    TRY(io_peek(&l->file, first, sizeof first, &got));
    if (gguf_begins(first, got))
        return gguf_tensors_load(&l->file, l->set);
    TRY(header_read(l));
    TRY(slots_order(l));
    struct mapping *m = mapping_new(&l->file);
    if (!m)
        return error_waiting(IG_ERR_FILE);
    const size_t data = m->bytes - (size_t)l->file.left;
    const int n = l->set->arrays.n;
    ig_status status = IG_OK;
    if ((int64_t)(n ? l->slots[n - 1].end : 0) != l->file.left)
        status = io_fail(&l->file, IG_ERR_FORMAT,
                         "bytes follow its tensors; the file is damaged: save it again");
    for (int i = 0; i < n && status == IG_OK; i++)
        status = tensor_map(l, &l->slots[i], m, data);
    mapping_release(m);
    return status;
}

static ig_status file_read(struct loader *l)
{
    unsigned char first[IO_PEEK_BYTES];
    size_t got = 0;
    TRY(io_peek(&l->file, first, sizeof first, &got));
    if (npz_begins(first, got))
        return npz_read(&l->file, l->set);
    if (gguf_begins(first, got))
        return gguf_tensors_load(&l->file, l->set);
    TRY(header_read(l));
    TRY(slots_order(l));
    for (int i = 0; i < l->set->arrays.n; i++)
        TRY(tensor_read(l, &l->slots[i]));
    return io_expect_end(&l->file, "its tensors");
}

static ig_tensors *load(const char *path, ig_status (*read)(struct loader *l))
{
    struct loader l = {.set = ig_tensors_new()};
    if (!l.set)
        return NULL;
    if (io_open(&l.file, path) != IG_OK || read(&l) != IG_OK) {
        ig_tensors_free(l.set);
        l.set = NULL;
    }
    io_close(&l.file);
    memory_free(l.slots);
    return l.set;
}

ig_tensors *ig_tensors_load(const char *path) { return load(path, file_read); }

/* The mapped bytes are little-endian, so a big-endian machine reads the file instead. */
ig_tensors *ig_tensors_map(const char *path)
{
    return load(path, IO_BIG_ENDIAN ? file_read : file_map);
}
