/* Reads the idx format of MNIST's files: ig_load_idx and ig_idx_from_memory.
 *
 * A file is two zero bytes, the type of its elements, the number of its axes, their lengths as u32,
 * then the elements; all big-endian. The file is untrusted: its size must match its lengths exactly.
 */
#include "lib/io/file.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_BYTES = 4, LENGTH_BYTES = 4 };

static const struct type {
    unsigned char code;
    ig_dtype dtype;
} types[] = {
    {0x08, IG_U8}, {0x09, IG_I8}, {0x0b, IG_I16}, {0x0c, IG_I32}, {0x0d, IG_F32}, {0x0e, IG_F64},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct header {
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
    size_t bytes; /* of all elements */
};

static ig_status header_cut(const struct io_file *file, size_t promised, size_t found)
{
    return io_fail(
        file, IG_ERR_FORMAT,
        "the file is cut short: %zu bytes of header are expected, %zu are there; copy it "
        "again",
        promised, found);
}

/* Reads the first four bytes: the type of the elements, and the number of axes. */
static ig_status magic_read(struct io_file *file, struct header *header)
{
    unsigned char magic[MAGIC_BYTES];
    size_t got = 0;
    TRY(io_read(file, magic, MAGIC_BYTES, &got));
    if (got == 0)
        return io_fail(file, IG_ERR_FORMAT, "it is empty; copy it again");
    if (got >= 2 && magic[0] == 0x1f && magic[1] == 0x8b)
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "it is compressed with gzip; decompress it first (gunzip)");
    if (magic[0] != 0 || (got >= 2 && magic[1] != 0))
        return io_fail(
            file, IG_ERR_FORMAT,
            "it is not an idx file: it does not begin with two zero bytes; name another");
    if (got < MAGIC_BYTES)
        return header_cut(file, MAGIC_BYTES, got);
    for (size_t i = 0; i < COUNT(types); i++)
        if (types[i].code == magic[2])
            header->dtype = types[i].dtype;
    if (header->dtype == IG_DTYPE_NONE)
        return io_fail(
            file, IG_ERR_FORMAT,
            "its elements are of type 0x%02x, which the idx format does not have (08 u8, 09 "
            "i8, 0b i16, 0c i32, 0d f32, 0e f64); it is damaged, or not an idx file",
            magic[2]);
    header->ndim = magic[3];
    if (header->ndim > IG_MAX_NDIM)
        return io_fail(file, IG_ERR_UNSUPPORTED, "it has %d axes, and Ingot allows %d; reshape it",
                       header->ndim, IG_MAX_NDIM);
    return IG_OK;
}

static ig_status shape_read(struct io_file *file, struct header *header)
{
    unsigned char lengths[IG_MAX_NDIM * LENGTH_BYTES];
    const size_t expected = (size_t)header->ndim * LENGTH_BYTES;
    size_t got = 0;
    TRY(io_read(file, lengths, expected, &got));
    if (got < expected)
        return header_cut(file, MAGIC_BYTES + expected, MAGIC_BYTES + got);
    for (int i = 0; i < header->ndim; i++)
        for (int k = 0; k < LENGTH_BYTES; k++)
            header->shape[i] = header->shape[i] << 8 | lengths[i * LENGTH_BYTES + k];
    if (io_measure(header->shape, header->ndim, header->dtype, &header->bytes))
        return IG_OK;
    return io_fail(
        file, IG_ERR_FORMAT,
        "its shape has more elements than can be addressed; the file is damaged: copy it again");
}

/* Reads an open file, and closes it. */
static ig_array *idx_read(struct io_file *file)
{
    struct header header = {.dtype = IG_DTYPE_NONE};
    ig_array *x = NULL;
    void *data = NULL;
    if (magic_read(file, &header) == IG_OK && shape_read(file, &header) == IG_OK &&
        io_read_elements(file, header.bytes, header.dtype, &data) == IG_OK &&
        io_expect_end(file, "its elements") == IG_OK) {
        if (!IO_BIG_ENDIAN)
            io_swap(data, header.bytes, ig_dtype_bytes(header.dtype));
        x = ig_from_data(data, (ig_ints){header.shape, header.ndim}, header.dtype);
    }
    free(data);
    io_close(file);
    return x;
}

ig_array *ig_load_idx(const char *path)
{
    struct io_file file;
    if (io_open(&file, path) == IG_OK)
        return idx_read(&file);
    io_close(&file);
    return NULL;
}

ig_array *ig_idx_from_memory(const void *bytes, size_t n)
{
    struct io_file file;
    if (!bytes)
        FAIL_NULL(IG_ERR_ARGUMENT, "load: the bytes of the idx file are NULL");
    io_open_memory(&file, bytes, n, "idx in memory");
    return idx_read(&file);
}
