#include "lib/onnx/store.h"

#include "lib/onnx/fields.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LEAST_BYTES = 1024, /* of tensors in the data file of a model that is too large for one file */
    ALIGN_BYTES = 64,   /* of tensors in the data file */
    EXTERNAL = 1        /* TensorProto.DataLocation */
};

static const char data_end[] = ".data";

struct store_piece {
    const void *at;
    size_t bytes, swap;
    uint64_t offset;
};

bool store_open(onnx_store *s, const char *path, int64_t least, uint64_t all_bytes)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t room = strlen(name) + sizeof data_end;
    *s = (onnx_store){.least = least, .location = memory_get(room)};
    if (least < 0 && all_bytes > INT32_MAX)
        s->least = LEAST_BYTES;
    if (s->location)
        snprintf(s->location, room, "%s%s", name, data_end);
    return s->location != NULL;
}

void store_close(onnx_store *s)
{
    memory_free(s->location);
    memory_free(s->pieces);
    *s = (onnx_store){0};
}

/* ---- the model ------------------------------------------------------------------------------ */

static bool piece_add(onnx_store *s, const stored_tensor *t, uint64_t *offset)
{
    if (!memory_room(&s->pieces, s->n, &s->room, sizeof *s->pieces)) {
        s->failed = true;
        return false;
    }
    *offset = (s->bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    s->pieces[s->n++] = (struct store_piece){t->at, t->bytes, t->swap, *offset};
    s->bytes = *offset + t->bytes;
    return true;
}

static void pair_write(onnx_writer *w, const char *key, const char *value)
{
    const size_t pair = onnx_write_begin(w, TENSOR_EXTERNAL);
    onnx_write_text(w, PAIR_KEY, key);
    onnx_write_text(w, PAIR_VALUE, value);
    onnx_write_end(w, pair);
}

static void number_pair(onnx_writer *w, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    pair_write(w, key, digits);
}

static void external_write(onnx_store *s, onnx_writer *w, const stored_tensor *t)
{
    uint64_t offset = 0;
    if (!piece_add(s, t, &offset))
        return;
    pair_write(w, "location", s->location);
    number_pair(w, "offset", offset);
    number_pair(w, "length", t->bytes);
    onnx_write_int(w, TENSOR_LOCATION, EXTERNAL);
}

/* Elements are little-endian in files. */
static void inline_write(onnx_writer *w, const stored_tensor *t)
{
    onnx_write_bytes(w, TENSOR_RAW, t->at, t->bytes);
    if (IO_BIG_ENDIAN && t->swap > 1 && !w->failed)
        io_swap(w->at + w->used - t->bytes, t->bytes, t->swap);
}

void store_tensor(onnx_store *s, onnx_writer *w, int field, const stored_tensor *t)
{
    const size_t tensor = onnx_write_begin(w, field);
    onnx_write_ints(w, TENSOR_DIMS, t->shape.v, t->shape.n);
    onnx_write_int(w, TENSOR_TYPE, t->type);
    onnx_write_text(w, TENSOR_NAME, t->name);
    if (s->least >= 0 && t->bytes && t->bytes >= (uint64_t)s->least)
        external_write(s, w, t);
    else
        inline_write(w, t);
    onnx_write_end(w, tensor);
}

void store_info(onnx_writer *w, int field, const char *name, ig_onnx_type type, ig_ints dims,
                const char *const *names)
{
    const size_t info = onnx_write_begin(w, field);
    onnx_write_text(w, INFO_NAME, name);
    const size_t types = onnx_write_begin(w, INFO_TYPE), tensor = onnx_write_begin(w, TYPE_TENSOR);
    onnx_write_int(w, TYPE_ELEMENT, type);
    const size_t shape = onnx_write_begin(w, TYPE_SHAPE);
    for (int i = 0; i < dims.n; i++) {
        const size_t dim = onnx_write_begin(w, SHAPE_DIM);
        if (dims.v[i] >= 0)
            onnx_write_int(w, DIM_VALUE, dims.v[i]);
        else if (names && names[i])
            onnx_write_text(w, DIM_PARAM, names[i]);
        onnx_write_end(w, dim);
    }
    onnx_write_end(w, shape);
    onnx_write_end(w, tensor);
    onnx_write_end(w, types);
    onnx_write_end(w, info);
}

/* ---- the files ------------------------------------------------------------------------------ */

/* Writes elements of the other byte order in parts. */
static ig_status swapped_write(struct io_file *file, const struct store_piece *p)
{
    char part[4096];
    for (size_t done = 0; done < p->bytes;) {
        const size_t n = p->bytes - done < sizeof part ? p->bytes - done : sizeof part;
        memcpy(part, (const char *)p->at + done, n);
        io_swap(part, n, p->swap);
        TRY(io_write(file, part, n));
        done += n;
    }
    return IG_OK;
}

static ig_status pieces_write(const onnx_store *s, struct io_file *file)
{
    static const char gap[ALIGN_BYTES];
    uint64_t at = 0;
    for (int i = 0; i < s->n; i++) {
        const struct store_piece *p = &s->pieces[i];
        TRY(io_write(file, gap, (size_t)(p->offset - at)));
        if (IO_BIG_ENDIAN && p->swap > 1)
            TRY(swapped_write(file, p));
        else
            TRY(io_write(file, p->at, p->bytes));
        at = p->offset + p->bytes;
    }
    return IG_OK;
}

static ig_status data_write(const onnx_store *s, const char *path)
{
    struct io_file file;
    const size_t room = strlen(path) + sizeof data_end;
    char *name = memory_get(room);
    if (!name)
        return error_waiting(IG_ERR_MEMORY);
    snprintf(name, room, "%s%s", path, data_end);
    ig_status status = io_create(&file, name);
    if (status == IG_OK)
        status = pieces_write(s, &file);
    status = io_finish(&file, status);
    memory_free(name);
    return status;
}

ig_status store_write(const onnx_store *s, const onnx_writer *w, const char *path)
{
    struct io_file file;
    if (s->failed || w->failed)
        return error_waiting(IG_ERR_MEMORY);
    if (w->used > INT32_MAX)
        FAIL(IG_ERR_UNSUPPORTED,
             "save: the model has %zu bytes besides its large tensors; an ONNX file has at most "
             "2 GiB",
             w->used);
    if (s->n)
        TRY(data_write(s, path));
    ig_status status = io_create(&file, path);
    if (status == IG_OK)
        status = io_write(&file, w->at, w->used);
    return io_finish(&file, status);
}
