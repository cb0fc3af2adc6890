/* Writes GGUF files: see gguf.h. */
#include "lib/io/gguf.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

typedef struct bytes {
    unsigned char *at;
    size_t used, room;
} bytes;

struct gguf_writer {
    bytes keys, entries;
    int n_keys, n_tensors, room;
    size_t *sizes; /* of the tensors' data */
    uint64_t offset;
    struct io_file file;
    bool begun;
    int tensor;  /* the next one that gets data */
    size_t done; /* of its bytes */
    ig_status status;
};

gguf_writer *gguf_write_new(void) { return memory_new(sizeof(gguf_writer)); }

static void put(gguf_writer *w, bytes *b, const void *data, size_t n)
{
    if (w->status == IG_OK && n > b->room - b->used) {
        const size_t room = 2 * (b->used + n);
        void *larger = memory_resize(b->at, room);
        if (larger) {
            b->at = larger;
            b->room = room;
        } else {
            w->status = IG_ERR_MEMORY;
        }
    }
    if (w->status != IG_OK || n == 0)
        return;
    memcpy(b->at + b->used, data, n);
    b->used += n;
}

static void put_int(gguf_writer *w, bytes *b, uint64_t v, int n)
{
    unsigned char out[8];
    for (int i = 0; i < n; i++)
        out[i] = (unsigned char)(v >> 8 * i);
    put(w, b, out, (size_t)n);
}

static void put_text(gguf_writer *w, bytes *b, ig_text t)
{
    put_int(w, b, t.bytes, 8);
    put(w, b, t.at, t.bytes);
}

static void put_key(gguf_writer *w, const char *key, gguf_kind kind)
{
    put_text(w, &w->keys, (ig_text){key, strlen(key)});
    put_int(w, &w->keys, kind, 4);
    w->n_keys++;
}

static int item_bytes(gguf_kind kind)
{
    switch (kind) {
    case GGUF_U8:
    case GGUF_I8:
    case GGUF_BOOL: return 1;
    case GGUF_U16:
    case GGUF_I16: return 2;
    case GGUF_U64:
    case GGUF_I64:
    case GGUF_F64: return 8;
    default: return 4;
    }
}

void gguf_write_int(gguf_writer *w, const char *key, gguf_kind kind, int64_t value)
{
    put_key(w, key, kind);
    put_int(w, &w->keys, (uint64_t)value, item_bytes(kind));
}

void gguf_write_number(gguf_writer *w, const char *key, gguf_kind kind, double value)
{
    uint64_t bits = 0;
    const float narrow = (float)value;
    uint32_t low = 0;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&low, &narrow, sizeof low);
    put_key(w, key, kind);
    put_int(w, &w->keys, kind == GGUF_F32 ? low : bits, item_bytes(kind));
}

void gguf_write_text(gguf_writer *w, const char *key, ig_text value)
{
    put_key(w, key, GGUF_TEXT);
    put_text(w, &w->keys, value);
}

void gguf_write_texts(gguf_writer *w, const char *key, const ig_text *items, uint64_t n)
{
    put_key(w, key, GGUF_LIST);
    put_int(w, &w->keys, GGUF_TEXT, 4);
    put_int(w, &w->keys, n, 8);
    for (uint64_t i = 0; i < n; i++)
        put_text(w, &w->keys, items[i]);
}

void gguf_write_list(gguf_writer *w, const char *key, gguf_kind item, const void *items, uint64_t n)
{
    put_key(w, key, GGUF_LIST);
    put_int(w, &w->keys, item, 4);
    put_int(w, &w->keys, n, 8);
    put(w, &w->keys, items, (size_t)n * (size_t)item_bytes(item));
}

void gguf_write_value(gguf_writer *w, const gguf_value *v)
{
    put_text(w, &w->keys, v->key);
    put_int(w, &w->keys, v->kind, 4);
    w->n_keys++;
    if (v->kind == GGUF_LIST)
        put_int(w, &w->keys, v->item, 4);
    if (v->kind == GGUF_LIST || v->kind == GGUF_TEXT)
        put_int(w, &w->keys, v->n, 8);
    put(w, &w->keys, v->at, v->bytes);
}

static uint64_t padded(uint64_t n) { return (n + GGUF_ALIGN - 1) / GGUF_ALIGN * GGUF_ALIGN; }

void gguf_write_tensor(gguf_writer *w, const char *name, int type, const int64_t *shape, int ndim)
{
    const gguf_type *row = gguf_type_of((uint64_t)type);
    if (w->status != IG_OK)
        return;
    uint64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= (uint64_t)shape[i];
    if (ndim > GGUF_AXES || !row || (ndim ? shape[ndim - 1] : 1) % row->elements) {
        w->status =
            ig_fail(IG_ERR_UNSUPPORTED,
                    "save: tensor '%s' does not fit the type %s: rows of whole blocks of %d "
                    "and at most %d axes are needed; choose another type",
                    name, row ? row->name : "?", row ? row->elements : 0, GGUF_AXES);
        return;
    }
    if (!memory_room(&w->sizes, w->n_tensors, &w->room, sizeof *w->sizes)) {
        w->status = IG_ERR_MEMORY;
        return;
    }
    const uint64_t size = n / (uint64_t)row->elements * (uint64_t)row->bytes;
    put_text(w, &w->entries, (ig_text){name, strlen(name)});
    put_int(w, &w->entries, (uint64_t)ndim, 4);
    for (int i = ndim - 1; i >= 0; i--)
        put_int(w, &w->entries, (uint64_t)shape[i], 8);
    put_int(w, &w->entries, (uint64_t)type, 4);
    put_int(w, &w->entries, w->offset, 8);
    w->offset += padded(size);
    w->sizes[w->n_tensors++] = (size_t)size;
}

static ig_status zeros_write(gguf_writer *w, uint64_t n)
{
    static const unsigned char zeros[GGUF_ALIGN];
    return n ? io_write(&w->file, zeros, (size_t)n) : IG_OK;
}

ig_status gguf_write_begin(gguf_writer *w, const char *path)
{
    bytes head = {0};
    put(w, &head, "GGUF", 4);
    put_int(w, &head, GGUF_VERSION, 4);
    put_int(w, &head, (uint64_t)w->n_tensors, 8);
    put_int(w, &head, (uint64_t)w->n_keys, 8);
    put(w, &head, w->keys.at, w->keys.used);
    put(w, &head, w->entries.at, w->entries.used);
    if (w->status == IG_OK) {
        w->begun = true;
        w->status = io_create(&w->file, path);
    }
    if (w->status == IG_OK)
        w->status = io_write(&w->file, head.at, head.used);
    if (w->status == IG_OK)
        w->status = zeros_write(w, padded(head.used) - head.used);
    memory_free(head.at);
    return w->status;
}

ig_status gguf_write_data(gguf_writer *w, const void *data, size_t n)
{
    if (w->status != IG_OK)
        return w->status;
    if (w->tensor >= w->n_tensors || n > w->sizes[w->tensor] - w->done)
        return w->status = ig_fail(IG_ERR_INTERNAL, "save: a tensor has more data than its entry");
    w->status = io_write(&w->file, data, n);
    w->done += n;
    if (w->status == IG_OK && w->done == w->sizes[w->tensor]) {
        w->status = zeros_write(w, padded(w->done) - w->done);
        w->tensor++;
        w->done = 0;
    }
    return w->status;
}

ig_status gguf_write_end(gguf_writer *w, ig_status status)
{
    if (!w)
        return status == IG_OK ? IG_ERR_MEMORY : status;
    if (status == IG_OK)
        status = w->status;
    if (status == IG_OK && w->tensor < w->n_tensors)
        status = ig_fail(IG_ERR_INTERNAL, "save: a tensor has no data");
    if (w->begun)
        status = io_finish(&w->file, status);
    memory_free(w->keys.at);
    memory_free(w->entries.at);
    memory_free(w->sizes);
    memory_free(w);
    return status;
}
