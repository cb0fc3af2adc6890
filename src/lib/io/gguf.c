/* Reads GGUF files: see gguf.h. */
#include "lib/io/gguf.h"

#include "base/error.h"
#include "base/mapping.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_ENTRIES = 1 << 20, /* keys, and tensors */
    NAME_BYTES = 1 << 16,   /* of a key or a tensor's name */
    ALIGN_MOST = 1 << 20
};

struct gguf {
    const unsigned char *begin;
    size_t bytes;
    bool mapped;
    _Atomic int users;
    struct io_file file; /* for messages */
    gguf_value *values;
    gguf_tensor *tensors;
    int n_values, n_tensors;
    int *value_order, *tensor_order; /* sorted by name */
    char *names;                     /* the tensors' names, terminated */
};

static const gguf_type types[] = {
#define GGUF_TYPE(id, name, elements, bytes, format) [id] = {#name, elements, bytes, format},
#include "lib/io/gguf.def"
};

const gguf_type *gguf_type_of(uint64_t id)
{
    return id < GGUF_TYPES && types[id].name ? &types[id] : NULL;
}

int gguf_type_find(const char *name)
{
    for (int i = 0; i < GGUF_TYPES; i++)
        if (types[i].name && strcasecmp(types[i].name, name) == 0)
            return i;
    return -1;
}

ig_status gguf_fail(const gguf *g, ig_status code, const char *format, ...)
{
    char why[400];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return io_fail(&g->file, code, "%s", why);
}

/* ---- the header ------------------------------------------------------------------------------ */

static const int kind_bytes[GGUF_KINDS] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8};

typedef struct cursor {
    const gguf *g;
    size_t at;
} cursor;

static uint64_t little(const unsigned char *at, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

static ig_status cut(const cursor *c, const char *what)
{
    return gguf_fail(c->g, IG_ERR_FORMAT,
                     "the file is cut short at byte %zu, in %s; copy or download it again", c->at,
                     what);
}

static ig_status number_read(cursor *c, int bytes, const char *what, uint64_t *out)
{
    if (c->g->bytes - c->at < (size_t)bytes)
        return cut(c, what);
    *out = little(c->g->begin + c->at, bytes);
    c->at += (size_t)bytes;
    return IG_OK;
}

static ig_status text_read(cursor *c, const char *what, ig_text *out)
{
    uint64_t n = 0;
    TRY(number_read(c, 8, what, &n));
    if (n > c->g->bytes - c->at)
        return cut(c, what);
    *out = (ig_text){(const char *)c->g->begin + c->at, (size_t)n};
    c->at += (size_t)n;
    return IG_OK;
}

/* A copy of a name for messages. */
static const char *shown(ig_text name)
{
    char *out = thread_text();
    char copy[IO_SHOWN_BYTES];
    const size_t n = name.bytes < 100 ? name.bytes : 100;
    memcpy(copy, name.at, n);
    copy[n] = '\0';
    if (out)
        io_show(copy, out);
    return out ? out : "?";
}

static ig_status name_read(cursor *c, const char *what, ig_text *out)
{
    const size_t at = c->at;
    TRY(text_read(c, what, out));
    if (out->bytes && out->bytes < NAME_BYTES && !memchr(out->at, 0, out->bytes))
        return IG_OK;
    return gguf_fail(
        c->g, IG_ERR_FORMAT,
        "the name at byte %zu (%s) is empty, longer than %d bytes or contains a zero byte; "
        "the file is damaged: download it again",
        at, what, NAME_BYTES);
}

static int name_compare(ig_text a, ig_text b)
{
    const size_t n = a.bytes < b.bytes ? a.bytes : b.bytes;
    const int order = memcmp(a.at, b.at, n);
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* Reads the items of a list, or a single value, of kind v->item or v->kind, and sets v->bytes. */
static ig_status items_read(cursor *c, gguf_value *v, gguf_kind kind)
{
    v->at = c->g->begin + c->at;
    const char *what = shown(v->key);
    if (kind == GGUF_TEXT) {
        for (uint64_t i = 0; i < v->n; i++) {
            ig_text item;
            TRY(text_read(c, what, &item));
        }
    } else {
        const size_t each = (size_t)kind_bytes[kind], left = c->g->bytes - c->at;
        if (v->n > left / each)
            return cut(c, what);
        c->at += (size_t)v->n * each;
    }
    v->bytes = (size_t)(c->g->begin + c->at - v->at);
    for (uint64_t i = 0; kind == GGUF_BOOL && i < v->n; i++)
        if (v->at[i] > 1)
            return gguf_fail(c->g, IG_ERR_FORMAT,
                             "key '%s' is bool, and has a byte of %d, neither 0 nor 1; the file is "
                             "damaged: download it again",
                             shown(v->key), v->at[i]);
    return IG_OK;
}

static ig_status kind_read(cursor *c, ig_text key, gguf_kind *out)
{
    uint64_t kind = 0;
    TRY(number_read(c, 4, shown(key), &kind));
    if (kind >= GGUF_KINDS)
        return gguf_fail(c->g, IG_ERR_FORMAT,
                         "key '%s' has a value of kind %" PRIu64
                         ", which GGUF does not define; the file is damaged: download it again",
                         shown(key), kind);
    *out = (gguf_kind)kind;
    return IG_OK;
}

static ig_status value_read(cursor *c, gguf_value *v)
{
    TRY(name_read(c, "a key", &v->key));
    TRY(kind_read(c, v->key, &v->kind));
    v->n = 1;
    if (v->kind == GGUF_TEXT) {
        ig_text t;
        TRY(text_read(c, shown(v->key), &t));
        v->at = (const unsigned char *)t.at;
        v->n = v->bytes = t.bytes;
        return IG_OK;
    }
    if (v->kind != GGUF_LIST)
        return items_read(c, v, v->kind);
    TRY(kind_read(c, v->key, &v->item));
    TRY(number_read(c, 8, shown(v->key), &v->n));
    if (v->item == GGUF_LIST)
        return gguf_fail(c->g, IG_ERR_UNSUPPORTED,
                         "key '%s' is a list of lists, which Ingot does not read; write the file "
                         "without it",
                         shown(v->key));
    return items_read(c, v, v->item);
}

static ig_status tensor_fail(const gguf *g, const gguf_tensor *t, const char *format, ...)
    IG_PRINTF(3, 4);

static ig_status tensor_fail(const gguf *g, const gguf_tensor *t, const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return gguf_fail(g, IG_ERR_FORMAT, "tensor '%s' %s; the file is damaged: download it again",
                     shown(t->name), why);
}

/* Reads a tensor's entry; *offset counts from the first byte of the data. */
static ig_status tensor_read(cursor *c, gguf_tensor *t, uint64_t *offset)
{
    uint64_t ndim = 0, type = 0, length[GGUF_AXES] = {0};
    TRY(name_read(c, "a tensor's name", &t->name));
    TRY(number_read(c, 4, "a tensor's axes", &ndim));
    if (ndim > GGUF_AXES)
        return tensor_fail(c->g, t, "has %" PRIu64 " axes, and the format allows %d", ndim,
                           GGUF_AXES);
    for (uint64_t i = 0; i < ndim; i++)
        TRY(number_read(c, 8, "a tensor's axes", &length[i]));
    TRY(number_read(c, 4, "a tensor's type", &type));
    TRY(number_read(c, 8, "a tensor's offset", offset));
    const gguf_type *row = gguf_type_of(type);
    if (!row)
        return gguf_fail(c->g, IG_ERR_UNSUPPORTED,
                         "tensor '%s' has type %" PRIu64
                         ", which Ingot does not know; convert the file to another type",
                         shown(t->name), type);
    t->type = (int)type;
    t->ndim = (int)ndim;
    uint64_t blocks = 1;
    for (int i = 0; i < t->ndim; i++) {
        uint64_t n = length[i];
        t->shape[t->ndim - 1 - i] = (int64_t)n;
        if (n == 0 || n > INT64_MAX / 16)
            return tensor_fail(c->g, t, "has an axis of length %" PRIu64, n);
        if (i == 0 && n % (uint64_t)row->elements)
            return tensor_fail(c->g, t,
                               "has rows of %" PRIu64 " elements, and blocks of %s have %d", n,
                               row->name, row->elements);
        if (i == 0)
            n /= (uint64_t)row->elements;
        if (__builtin_mul_overflow(blocks, n, &blocks))
            return tensor_fail(c->g, t, "has more elements than can be addressed");
    }
    if (t->ndim == 0 && row->elements > 1)
        return tensor_fail(c->g, t, "has no axes, and blocks of %s have %d elements", row->name,
                           row->elements);
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(blocks, (uint64_t)row->bytes, &bytes) || bytes > c->g->bytes)
        return tensor_fail(c->g, t, "is larger than the file");
    t->bytes = (size_t)bytes;
    return IG_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct sorted {
    ig_text name;
    int index;
};

static int sorted_compare(const void *left, const void *right)
{
    return name_compare(((const struct sorted *)left)->name, ((const struct sorted *)right)->name);
}

/* The entries sorted by name, without two of one name. names: of the first entry; step: bytes from one to the next. */
static ig_status order_make(const gguf *g, const ig_text *names, size_t step, int n,
                            const char *what, int **order)
{
    ig_status status = IG_OK;
    struct sorted *list = memory_get((size_t)n * sizeof *list);
    *order = memory_get((size_t)n * sizeof **order);
    if (!list || !*order) {
        memory_free(list);
        return IG_ERR_MEMORY;
    }
    for (int i = 0; i < n; i++)
        list[i] = (struct sorted){
            *(const ig_text *)(const void *)((const char *)names + (size_t)i * step), i};
    if (n)
        qsort(list, (size_t)n, sizeof *list, sorted_compare);
    for (int i = 0; i < n; i++) {
        (*order)[i] = list[i].index;
        if (status == IG_OK && i && name_compare(list[i - 1].name, list[i].name) == 0)
            status = gguf_fail(g, IG_ERR_FORMAT,
                               "%s '%s' is there twice; the file is damaged: download it again",
                               what, shown(list[i].name));
    }
    memory_free(list);
    return status;
}

/* Terminated copies of the tensors' names. */
static ig_status names_copy(gguf *g)
{
    size_t bytes = 0;
    for (int i = 0; i < g->n_tensors; i++)
        bytes += g->tensors[i].name.bytes + 1;
    char *to = g->names = memory_get(bytes);
    if (!to)
        return IG_ERR_MEMORY;
    for (int i = 0; i < g->n_tensors; i++) {
        ig_text *name = &g->tensors[i].name;
        memcpy(to, name->at, name->bytes);
        to[name->bytes] = '\0';
        name->at = to;
        to += name->bytes + 1;
    }
    return IG_OK;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static int place_compare(const void *left, const void *right)
{
    const gguf_tensor *a = *(const gguf_tensor *const *)left,
                      *b = *(const gguf_tensor *const *)right;
    return (a->data > b->data) - (a->data < b->data);
}

/* Checks that no two tensors share bytes. */
static ig_status overlap_check(const gguf *g)
{
    ig_status status = IG_OK;
    const gguf_tensor **order = memory_get((size_t)g->n_tensors * sizeof *order);
    if (!order)
        return IG_ERR_MEMORY;
    for (int i = 0; i < g->n_tensors; i++)
        order[i] = &g->tensors[i];
    if (g->n_tensors)
        qsort(order, (size_t)g->n_tensors, sizeof *order, place_compare);
    for (int i = 1; i < g->n_tensors && status == IG_OK; i++)
        if (order[i - 1]->data + order[i - 1]->bytes > order[i]->data)
            status = tensor_fail(g, order[i], "shares bytes with tensor '%s'",
                                 shown(order[i - 1]->name));
    memory_free(order);
    return status;
}

static ig_status alignment_read(const gguf *g, size_t *align)
{
    int64_t v = GGUF_ALIGN;
    if (gguf_find(g, "general.alignment"))
        TRY(gguf_need_int(g, "general.alignment", 1, ALIGN_MOST, &v));
    if (v & (v - 1))
        return gguf_fail(g, IG_ERR_FORMAT,
                         "general.alignment is %" PRId64
                         ", not a power of 2; the file is damaged: download it again",
                         v);
    *align = (size_t)v;
    return IG_OK;
}

/* Sets the tensors' data from their offsets, which `offset` has. */
static ig_status tensors_place(gguf *g, size_t header, const uint64_t *offset)
{
    size_t align = 0;
    TRY(alignment_read(g, &align));
    const size_t data = (header + align - 1) / align * align;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t readable = g->mapped ? (g->bytes + page - 1) / page * page : g->bytes;
    for (int i = 0; i < g->n_tensors; i++) {
        gguf_tensor *t = &g->tensors[i];
        if (offset[i] % align)
            return tensor_fail(g, t, "is at offset %" PRIu64 ", not a multiple of %zu", offset[i],
                               align);
        if (data > g->bytes || offset[i] > g->bytes - data ||
            t->bytes > g->bytes - data - offset[i])
            return gguf_fail(g, IG_ERR_FORMAT,
                             "the file is cut short: tensor '%s' ends at byte %" PRIu64
                             " of %zu; copy or download it again",
                             shown(t->name), (uint64_t)data + offset[i] + t->bytes, g->bytes);
        t->data = g->begin + data + offset[i];
        t->readable = readable - data - offset[i];
    }
    return overlap_check(g);
}

static ig_status count_read(cursor *c, const char *what, int *out)
{
    uint64_t n = 0;
    TRY(number_read(c, 8, what, &n));
    if (n > MOST_ENTRIES)
        return gguf_fail(c->g, IG_ERR_FORMAT,
                         "it claims to have %" PRIu64
                         " %s, and Ingot allows %d; the file is damaged: download it again",
                         n, what, MOST_ENTRIES);
    *out = (int)n;
    return IG_OK;
}

static ig_status begin_read(cursor *c)
{
    uint64_t version = 0;
    const gguf *g = c->g;
    if (g->bytes >= 8 && memcmp(g->begin, "version ", 8) == 0)
        return gguf_fail(
            g, IG_ERR_FORMAT,
            "it is a pointer of Git LFS, not the file itself; run 'git lfs pull' in its "
            "folder, or download the file");
    if (g->bytes < 4 || memcmp(g->begin, "GGUF", 4) != 0)
        return gguf_fail(
            g, IG_ERR_FORMAT,
            "it does not begin with 'GGUF': it is not a GGUF file, or is damaged; name "
            "another file");
    c->at = 4;
    TRY(number_read(c, 4, "its version", &version));
    if (version == GGUF_VERSION)
        return IG_OK;
    if (version == GGUF_VERSION << 24)
        return gguf_fail(g, IG_ERR_UNSUPPORTED,
                         "it is a big-endian file; convert it to little-endian");
    return gguf_fail(g, IG_ERR_UNSUPPORTED,
                     "it has version %" PRIu64 ", and Ingot reads version %d; convert it again",
                     version, GGUF_VERSION);
}

/* Entries grow with the bytes that were read, whatever the counts promise. */
static ig_status entries_read(gguf *g, cursor *c, uint64_t **offset)
{
    int n_values = 0, n_tensors = 0, room = 0, offsets = 0;
    TRY(count_read(c, "tensors", &n_tensors));
    TRY(count_read(c, "keys", &n_values));
    for (; g->n_values < n_values; g->n_values++) {
        if (!memory_room(&g->values, g->n_values, &room, sizeof *g->values))
            return IG_ERR_MEMORY;
        g->values[g->n_values] = (gguf_value){0};
        TRY(value_read(c, &g->values[g->n_values]));
    }
    room = 0;
    for (; g->n_tensors < n_tensors; g->n_tensors++) {
        if (!memory_room(&g->tensors, g->n_tensors, &room, sizeof *g->tensors) ||
            !memory_room(offset, g->n_tensors, &offsets, sizeof **offset))
            return IG_ERR_MEMORY;
        g->tensors[g->n_tensors] = (gguf_tensor){0};
        TRY(tensor_read(c, &g->tensors[g->n_tensors], &(*offset)[g->n_tensors]));
    }
    return IG_OK;
}

static ig_status file_read(gguf *g)
{
    cursor c = {g, 0};
    uint64_t *offset = NULL;
    ig_status status = begin_read(&c);
    if (status == IG_OK)
        status = entries_read(g, &c, &offset);
    if (status == IG_OK)
        status = order_make(g, g->values ? &g->values->key : NULL, sizeof *g->values, g->n_values,
                            "key", &g->value_order);
    if (status == IG_OK)
        status = names_copy(g);
    if (status == IG_OK)
        status = order_make(g, g->tensors ? &g->tensors->name : NULL, sizeof *g->tensors,
                            g->n_tensors, "tensor", &g->tensor_order);
    if (status == IG_OK)
        status = tensors_place(g, c.at, offset);
    memory_free(offset);
    return status;
}

static ig_status file_map(gguf *g, int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return gguf_fail(g, IG_ERR_FILE, "it cannot be mapped; it must be a plain file");
    if (info.st_size == 0)
        return gguf_fail(g, IG_ERR_FORMAT, "it is empty; download it again");
    void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return gguf_fail(g, IG_ERR_FILE, "it cannot be mapped; free some memory");
    g->begin = at;
    g->bytes = (size_t)info.st_size;
    g->mapped = true;
    mapping_note(at, g->bytes, fd);
    return IG_OK;
}

static gguf *gguf_new(const struct io_file *file)
{
    gguf *g = memory_new(sizeof *g);
    if (!g)
        return NULL;
    g->users = 1;
    g->file = *file;
    g->file.fd = -1;
    return g;
}

static gguf *opened(gguf *g, ig_status status)
{
    if (status == IG_OK)
        status = file_read(g);
    if (status == IG_OK)
        return g;
    gguf_close(g);
    return NULL;
}

gguf *gguf_open_file(const struct io_file *file)
{
    gguf *g = gguf_new(file);
    return g ? opened(g, file_map(g, file->fd)) : NULL;
}

gguf *gguf_open(const char *path)
{
    struct io_file file;
    gguf *g = io_open(&file, path) == IG_OK ? gguf_open_file(&file) : NULL;
    io_close(&file);
    return g;
}

gguf *gguf_open_memory(const void *bytes, size_t n, const char *name)
{
    struct io_file file;
    io_open_memory(&file, bytes, n, name);
    gguf *g = gguf_new(&file);
    if (!g)
        return NULL;
    g->begin = bytes;
    g->bytes = n;
    return opened(g, IG_OK);
}

gguf *gguf_keep(gguf *g)
{
    atomic_fetch_add(&g->users, 1);
    return g;
}

void gguf_close(gguf *g)
{
    if (!g || atomic_fetch_sub(&g->users, 1) != 1)
        return;
    if (g->mapped) {
        mapping_forget(g->begin);
        munmap((void *)(uintptr_t)g->begin, g->bytes);
    }
    memory_free(g->values);
    memory_free(g->tensors);
    memory_free(g->value_order);
    memory_free(g->tensor_order);
    memory_free(g->names);
    memory_free(g);
}

/* ---- values ---------------------------------------------------------------------------------- */

int gguf_values(const gguf *g, const gguf_value **list)
{
    *list = g->values;
    return g->n_values;
}

int gguf_tensors(const gguf *g, const gguf_tensor **list)
{
    *list = g->tensors;
    return g->n_tensors;
}

const gguf_value *gguf_find(const gguf *g, const char *key)
{
    const ig_text name = {key, strlen(key)};
    for (int lo = 0, hi = g->value_order ? g->n_values : 0; lo < hi;) {
        const int middle = lo + (hi - lo) / 2;
        const gguf_value *v = &g->values[g->value_order[middle]];
        const int order = name_compare(name, v->key);
        if (order == 0)
            return v;
        if (order < 0)
            hi = middle;
        else
            lo = middle + 1;
    }
    return NULL;
}

const gguf_tensor *gguf_tensor_find(const gguf *g, const char *key)
{
    const ig_text name = {key, strlen(key)};
    for (int lo = 0, hi = g->n_tensors; lo < hi;) {
        const int middle = lo + (hi - lo) / 2;
        const gguf_tensor *t = &g->tensors[g->tensor_order[middle]];
        const int order = name_compare(name, t->name);
        if (order == 0)
            return t;
        if (order < 0)
            hi = middle;
        else
            lo = middle + 1;
    }
    return NULL;
}

static gguf_kind item_kind(const gguf_value *v) { return v->kind == GGUF_LIST ? v->item : v->kind; }

int64_t gguf_item_int(const gguf_value *v, uint64_t i)
{
    const gguf_kind kind = item_kind(v);
    const int bytes = kind_bytes[kind];
    if (bytes == 0 || kind == GGUF_F32 || kind == GGUF_F64)
        return 0;
    const uint64_t bits = little(v->at + i * (uint64_t)bytes, bytes);
    switch (kind) {
    case GGUF_I8: return (int8_t)bits;
    case GGUF_I16: return (int16_t)bits;
    case GGUF_I32: return (int32_t)bits;
    default: return (int64_t)bits;
    }
}

double gguf_item_number(const gguf_value *v, uint64_t i)
{
    const gguf_kind kind = item_kind(v);
    if (kind == GGUF_F32) {
        const uint32_t bits = (uint32_t)little(v->at + 4 * i, 4);
        float x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    if (kind == GGUF_F64) {
        const uint64_t bits = little(v->at + 8 * i, 8);
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    return kind == GGUF_U64 ? (double)(uint64_t)gguf_item_int(v, i) : (double)gguf_item_int(v, i);
}

static bool is_number(gguf_kind kind)
{
    return kind != GGUF_TEXT && kind != GGUF_LIST && kind != GGUF_BOOL;
}

static bool is_int(gguf_kind kind)
{
    return is_number(kind) && kind != GGUF_F32 && kind != GGUF_F64;
}

int64_t gguf_int(const gguf *g, const char *key, int64_t otherwise)
{
    const gguf_value *v = gguf_find(g, key);
    return v && is_int(v->kind) ? gguf_item_int(v, 0) : otherwise;
}

double gguf_number(const gguf *g, const char *key, double otherwise)
{
    const gguf_value *v = gguf_find(g, key);
    return v && is_number(v->kind) ? gguf_item_number(v, 0) : otherwise;
}

bool gguf_bool(const gguf *g, const char *key, bool otherwise)
{
    const gguf_value *v = gguf_find(g, key);
    return v && v->kind == GGUF_BOOL ? v->at[0] != 0 : otherwise;
}

ig_text gguf_text(const gguf *g, const char *key)
{
    const gguf_value *v = gguf_find(g, key);
    return v && v->kind == GGUF_TEXT ? (ig_text){(const char *)v->at, v->bytes} : (ig_text){0};
}

bool gguf_text_is(const gguf *g, const char *key, const char *plain)
{
    const ig_text t = gguf_text(g, key);
    return t.at && t.bytes == strlen(plain) && memcmp(t.at, plain, t.bytes) == 0;
}

ig_status gguf_need_int(const gguf *g, const char *key, int64_t least, int64_t most, int64_t *out)
{
    const gguf_value *v = gguf_find(g, key);
    if (!v || !is_int(v->kind))
        return gguf_fail(g, IG_ERR_FORMAT,
                         "key '%s' is %s; the file cannot be used: convert it again", key,
                         v ? "not an integer" : "missing");
    *out = gguf_item_int(v, 0);
    if (*out < least || *out > most)
        return gguf_fail(g, IG_ERR_FORMAT,
                         "key '%s' is %" PRId64 ", not between %" PRId64 " and %" PRId64
                         "; the file is damaged: download it again",
                         key, *out, least, most);
    return IG_OK;
}

ig_text *gguf_texts(const gguf *g, const char *key, uint64_t *n)
{
    const gguf_value *v = gguf_find(g, key);
    if (!v || v->kind != GGUF_LIST || v->item != GGUF_TEXT) {
        gguf_fail(g, IG_ERR_FORMAT, "key '%s' is %s; the file cannot be used: convert it again",
                  key, v ? "not a list of texts" : "missing");
        return NULL;
    }
    ig_text *list = memory_get((size_t)v->n * sizeof *list);
    cursor c = {g, (size_t)(v->at - g->begin)};
    for (uint64_t i = 0; list && i < v->n; i++)
        if (text_read(&c, key, &list[i]) != IG_OK) {
            memory_free(list);
            return NULL;
        }
    *n = v->n;
    return list;
}
