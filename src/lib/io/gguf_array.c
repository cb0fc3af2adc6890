/* Tensors of GGUF files as arrays. */
#include "lib/io/gguf.h"
#include "lib/io/tensors.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static void file_release(void *context) { gguf_close(context); }

ig_array *gguf_array(gguf *g, const gguf_tensor *t)
{
    const gguf_type *type = gguf_type_of((uint64_t)t->type);
    const ig_ints shape = {t->shape, t->ndim};
    void *data = (void *)(uintptr_t)t->data;
    if (!*type->format || (IO_BIG_ENDIAN && type->elements == 1)) {
        gguf_fail(
            g, IG_ERR_UNSUPPORTED,
            "tensor '%s' has type %s, which Ingot does not read%s; convert the file to another "
            "type, such as Q4_K",
            t->name.at, type->name, IO_BIG_ENDIAN ? " on this machine" : "");
        return NULL;
    }
    gguf_keep(g);
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_F64; dtype++)
        if (strcmp(type->format, ig_dtype_name(dtype)) == 0)
            return ig_from_memory(data, t->readable, shape, dtype, file_release, g);
    return ig_from_packed(type->format, 0, IG_F32, shape, data, t->readable, file_release, g);
}

bool gguf_begins(const unsigned char *first, size_t n)
{
    return n >= 4 && !memcmp(first, "GGUF", 4);
}

ig_status gguf_tensors_load(const struct io_file *file, ig_tensors *set)
{
    const gguf_tensor *list;
    gguf *g = gguf_open_file(file);
    if (!g)
        return error_waiting(IG_ERR_FILE);
    ig_status status = IG_OK;
    const int n = gguf_tensors(g, &list);
    for (int i = 0; i < n && status == IG_OK; i++) {
        ig_array *x = ig_scope_forget(gguf_array(g, &list[i]));
        char *name = x ? memory_text(list[i].name.at) : NULL;
        struct named *place = name ? names_add(&set->arrays, name) : NULL;
        if (place)
            place->array = x;
        else {
            ig_release(x);
            status = error_waiting(IG_ERR_MEMORY);
        }
    }
    gguf_close(g);
    return status;
}
