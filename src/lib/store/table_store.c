/* Tables as text (.csv, .tsv, .txt) as stores: the file is read once to find its rows, which are then read on demand. */
#include "lib/store/open.h"
#include "lib/store/store.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/table.h"

#include <string.h>

typedef struct table_store {
    ig_store base;
    char *path;
    struct table_index index;
} table_store;

static ig_status table_read_box(ig_store *s, const int64_t *start, const int64_t *size, void *data)
{
    const table_store *t = (const table_store *)s;
    struct io_file file;
    ig_status status = io_open(&file, t->path);
    if (status == IG_OK)
        status = table_rows(&file, &t->index, start, size, data);
    io_close(&file);
    return status;
}

static void table_close(ig_store *s)
{
    table_store *t = (table_store *)s;
    memory_free(t->path);
    memory_free(t->index.places);
}

static const store_kind table_kind = {.read = table_read_box, .close = table_close};

/* Rows of about a MiB, from one known place to another. */
static void chunk_choose(table_store *t)
{
    enum { CHUNK_BYTES = 1 << 20 };
    ig_store *s = &t->base;
    const int64_t row = 8 * t->index.columns, step = t->index.step;
    int64_t rows = CHUNK_BYTES / row / step * step;
    rows = rows > step ? rows : step;
    s->chunk[0] = s->shard[0] = rows < s->shape[0] ? rows : s->shape[0];
    s->chunk[1] = s->shard[1] = s->shape[1];
}

ig_store *table_store_open(const char *path)
{
    table_store *t = memory_new(sizeof *t);
    if (!t)
        return NULL;
    struct io_file file;
    ig_store *s = &t->base;
    s->kind = &table_kind;
    io_show(path, s->shown);
    ig_status status = (t->path = memory_text(path)) ? io_open(&file, path) : IG_ERR_MEMORY;
    if (status == IG_OK) {
        file.verb = "open";
        status = table_scan(&file, table_separator(path), &t->index);
    }
    if (t->path)
        io_close(&file);
    if (status != IG_OK) {
        store_free(s);
        return NULL;
    }
    s->dtype = t->index.whole ? IG_I64 : IG_F64;
    s->ndim = t->index.columns > 1 ? 2 : 1;
    s->shape[0] = t->index.rows;
    s->shape[1] = t->index.columns;
    chunk_choose(t);
    return s;
}
