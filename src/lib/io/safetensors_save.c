/* Writes the safetensors format: ig_tensors_save. The format is in safetensors.h.
 *
 * The header lists tensors in the order of the set. In the data, tensors with the widest elements come first,
 * so that every element is aligned to its size, which some readers need.
 */
#include "lib/io/file.h"
#include "lib/io/safetensors.h"
#include "lib/io/tensors.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

enum { SWAP_BYTES = 16 * 1024 }; /* swapped at a time, on big-endian machines */

const char *const safetensors_codes[] = {
    [IG_BOOL] = "BOOL", [IG_U8] = "U8",   [IG_I8] = "I8",   [IG_U16] = "U16", [IG_I16] = "I16",
    [IG_U32] = "U32",   [IG_I32] = "I32", [IG_U64] = "U64", [IG_I64] = "I64", [IG_F16] = "F16",
    [IG_BF16] = "BF16", [IG_F32] = "F32", [IG_F64] = "F64", [IG_C64] = "C64", [IG_C128] = NULL,
};

static size_t element_bytes(const ig_array *x) { return ig_dtype_bytes(ig_dtype_of(x)); }
static size_t array_bytes(const ig_array *x) { return (size_t)ig_size(x) * element_bytes(x); }

/* ---- the header ---------------------------------------------------------------------------- */

static void metadata_write(text *t, const struct names *texts)
{
    json_quote(t, SAFETENSORS_METADATA);
    text_add(t, ":{");
    for (int i = 0; i < texts->n; i++) {
        text_add(t, "%s", i ? "," : "");
        json_quote(t, texts->at[i].name);
        text_add(t, ":");
        json_quote(t, texts->at[i].text);
    }
    text_add(t, "}");
}

static void tensor_write(text *t, const struct named *tensor, uint64_t begin)
{
    const ig_array *x = tensor->array;
    json_quote(t, tensor->name);
    text_add(t, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_codes[ig_dtype_of(x)]);
    for (int i = 0; i < ig_ndim(x); i++)
        text_add(t, "%s%" PRId64, i ? "," : "", ig_dim(x, i));
    text_add(t, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + array_bytes(x));
}

/* The length, the header and its padding, *bytes in total; begins has the offset of each tensor. NULL
 * on failure; release with memory_free. */
static char *header_write(const ig_tensors *set, const uint64_t *begins, size_t *bytes)
{
    text t = {0};
    text_add(&t, "%*s{", SAFETENSORS_LENGTH_BYTES, "");
    if (set->texts.n)
        metadata_write(&t, &set->texts);
    for (int i = 0; i < set->arrays.n; i++) {
        text_add(&t, "%s", i || set->texts.n ? "," : "");
        tensor_write(&t, &set->arrays.at[i], begins[i]);
    }
    text_add(&t, "}");
    text_add(&t, "%*s", (int)(-t.used % SAFETENSORS_ALIGN), "");
    *bytes = t.used;
    char *header = text_take(&t);
    for (int i = 0; header && i < SAFETENSORS_LENGTH_BYTES; i++)
        header[i] = (char)((uint64_t)(*bytes - SAFETENSORS_LENGTH_BYTES) >> 8 * i);
    return header;
}

/* The offset of each tensor in the data; NULL on failure, release with memory_free. */
static uint64_t *tensors_place(const struct names *arrays)
{
    uint64_t *begins = memory_get((size_t)arrays->n * sizeof *begins);
    uint64_t at = 0;
    for (size_t width = 8; begins && width; width /= 2)
        for (int i = 0; i < arrays->n; i++)
            if (element_bytes(arrays->at[i].array) == width) {
                begins[i] = at;
                at += array_bytes(arrays->at[i].array);
            }
    return begins;
}

/* ---- the data ------------------------------------------------------------------------------ */

static ig_status bytes_write(struct io_file *file, const ig_array *x, const char *data)
{
    const size_t bytes = array_bytes(x);
    if (!IO_BIG_ENDIAN)
        return io_write(file, data, bytes);
    for (size_t done = 0; done < bytes; done += SWAP_BYTES) {
        char piece[SWAP_BYTES];
        const size_t n = bytes - done < SWAP_BYTES ? bytes - done : SWAP_BYTES;
        memcpy(piece, data + done, n);
        io_swap(piece, n, element_bytes(x));
        TRY(io_write(file, piece, n));
    }
    return IG_OK;
}

/* The elements of an array that ranks divide are here only while they are written. */
static ig_status data_write(struct io_file *file, ig_array *x)
{
    if (!ig_team_is_divided(x))
        return bytes_write(file, x, ig_data(x));
    char *data = memory_data_get(array_bytes(x));
    ig_status status = data ? ig_read(x, data, array_bytes(x)) : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = bytes_write(file, x, data);
    if (data)
        memory_data_free(data, array_bytes(x));
    return status;
}

static ig_status file_write(struct io_file *file, const ig_tensors *set, const uint64_t *begins)
{
    size_t bytes = 0;
    char *header = header_write(set, begins, &bytes);
    ig_status status = header ? IG_OK : IG_ERR_MEMORY;
    if (header && bytes - SAFETENSORS_LENGTH_BYTES > SAFETENSORS_HEADER_MAX_BYTES)
        status = io_fail(file, IG_ERR_UNSUPPORTED,
                         "its header would have %zu bytes, and the format allows %d; save fewer "
                         "tensors, or shorter names and texts",
                         bytes - SAFETENSORS_LENGTH_BYTES, SAFETENSORS_HEADER_MAX_BYTES);
    if (status == IG_OK)
        status = io_write(file, header, bytes);
    memory_free(header);
    for (size_t width = 8; width; width /= 2)
        for (int i = 0; status == IG_OK && i < set->arrays.n; i++)
            if (element_bytes(set->arrays.at[i].array) == width)
                status = data_write(file, set->arrays.at[i].array);
    return status;
}

ig_status ig_tensors_save(const ig_tensors *t, const char *path)
{
    struct io_file file;
    if (!t)
        FAIL(IG_ERR_ARGUMENT, "save: the set of tensors is NULL");
    for (int i = 0; i < t->arrays.n; i++)
        if (!safetensors_codes[ig_dtype_of(t->arrays.at[i].array)])
            FAIL(
                IG_ERR_UNSUPPORTED,
                "save: the format has no dtype for '%s', which is c128; convert it to c64, or save "
                "it as .npz",
                t->arrays.at[i].name);
    TRY(tensors_evaluate(&t->arrays));
    uint64_t *begins = tensors_place(&t->arrays);
    if (!begins)
        return IG_ERR_MEMORY;
    ig_status status = io_create(&file, path);
    if (status == IG_OK)
        status = file_write(&file, t, begins);
    memory_free(begins);
    return io_finish(&file, status);
}
