/* The table of storage formats, and sizes. */
#include "base/storage.h"
#include "base/error.h"

#include <string.h>

const storage_row storage_rows[STORAGE_FORMATS] = {
    [STORAGE_PLAIN] = {"plain", 1, 1, 0, 0},
#define STORAGE(name, elements, run, head, bits) \
    [STORAGE_##name] = {#name, elements, run, head, bits},
#include "base/storage.def"
};

ig_status storage_find(const char *what, const char *name, int64_t block, storage *s)
{
    int format = STORAGE_PLAIN + 1;
    TRY(require_pointer(what, "format", name));
    while (format < STORAGE_FORMATS && strcmp(storage_rows[format].name, name) != 0)
        format++;
    if (format == STORAGE_FORMATS)
        FAIL(IG_ERR_ARGUMENT,
             "%s: there is no storage format '%s'; there are f8_e4m3, f8_e5m2, q4_0, q8_0 and "
             "others, "
             "see docs/GUIDE.md",
             what, name);
    const int fixed = storage_rows[format].elements;
    const int64_t elements = block ? block : fixed ? fixed : STORAGE_BLOCK_USUAL;
    if (fixed ? elements != fixed
              : elements < 8 || elements > STORAGE_BLOCK_MOST || elements % 8 != 0)
        FAIL(IG_ERR_ARGUMENT, "%s: %s has no blocks of %lld elements", what, name,
             (long long)elements);
    *s = (storage){(uint16_t)format, (uint16_t)elements};
    return IG_OK;
}

int storage_run(storage s)
{
    const storage_row *row = &storage_rows[s.format];
    return row->elements ? row->run : s.block * row->bits / 8;
}

int64_t storage_block_bytes(storage s)
{
    const storage_row *row = &storage_rows[s.format];
    return row->head + (int64_t)s.block * row->bits / 8;
}

int64_t storage_bytes(storage s, ig_dtype dtype, int64_t n)
{
    return storage_is_plain(s) ? n * (int64_t)ig_dtype_bytes(dtype)
                               : n / s.block * storage_block_bytes(s);
}

int64_t storage_elements(storage s, ig_dtype dtype, int64_t bytes)
{
    return storage_is_plain(s) ? bytes / (int64_t)ig_dtype_bytes(dtype)
                               : bytes / storage_block_bytes(s) * s.block;
}
