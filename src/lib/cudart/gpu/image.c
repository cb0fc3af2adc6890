/* Images of units: from the disk cache, or compiled. A cache entry has one zero-terminated symbol for each
 * expression, followed by the image. */
#include "lib/cudart/gpu/gpu.h"

#include "base/cache.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

static const cache images = {.kind = "cuda-programs", .max_bytes = (uint64_t)256 << 20};

static void key_list(text *key, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        text_add(key, "%zu %s\n", strlen(list[i]), list[i]);
    text_add(key, ".\n");
}

/* The version of NVRTC is not part of the key: an image that works remains valid. */
static char *key_of(const ig_cuda_unit *u, int capability, const gpu_expression *expressions, int n,
                    size_t *bytes)
{
    text key = {0};
    const char *const parts[] = {ig_version(), u->name, u->gpu_text};
    text_add(&key, "1 %d\n", capability);
    key_list(&key, parts, 3);
    key_list(&key, u->defines, cudart_count(u->defines));
    key_list(&key, u->folders, cudart_count(u->folders));
    key_list(&key, u->options, cudart_count(u->options));
    key_list(&key, u->gpu_headers, cudart_count(u->gpu_headers));
    for (int i = 0; i < n; i++)
        text_add(&key, "%zu %s\n", strlen(expressions[i].name), expressions[i].name);
    *bytes = key.used;
    return text_take(&key);
}

static bool read_entry(const char *at, const char *end, gpu_image *out)
{
    for (int i = 0; i < out->n; i++) {
        const size_t left = (size_t)(end - at), length = strnlen(at, left);
        if (length == left)
            return false;
        out->symbols[i] = length ? memory_new(length + 1) : NULL;
        if (length && !out->symbols[i])
            return false;
        if (length)
            memcpy(out->symbols[i], at, length);
        at += length + 1;
    }
    out->bytes = (size_t)(end - at);
    out->data = memory_new(out->bytes + 1);
    if (out->data)
        memcpy(out->data, at, out->bytes);
    return out->data != NULL;
}

static void write_entry(const char *key, size_t key_bytes, const gpu_image *image)
{
    size_t bytes = image->bytes, at = 0;
    for (int i = 0; i < image->n; i++)
        bytes += (image->symbols[i] ? strlen(image->symbols[i]) : 0) + 1;
    char *all = memory_new(bytes);
    if (!all)
        return;
    for (int i = 0; i < image->n; i++) {
        const size_t length = image->symbols[i] ? strlen(image->symbols[i]) : 0;
        if (length)
            memcpy(all + at, image->symbols[i], length);
        at += length + 1;
    }
    memcpy(all + at, image->data, image->bytes);
    cache_put(&images, key, key_bytes, all, bytes);
    memory_free(all);
}

static void empty(gpu_image *image)
{
    for (int i = 0; i < image->n && image->symbols; i++) {
        memory_free(image->symbols[i]);
        image->symbols[i] = NULL;
    }
    memory_free(image->data);
    image->data = NULL;
}

void gpu_image_free(gpu_image *image)
{
    empty(image);
    memory_free(image->symbols);
    *image = (gpu_image){0};
}

ig_status gpu_compile(const ig_cuda_unit *unit, int capability, const gpu_expression *expressions,
                      int n, gpu_image *out)
{
    size_t key_bytes, bytes;
    void *kept = NULL;
    char *key = key_of(unit, capability, expressions, n, &key_bytes);
    *out = (gpu_image){.n = n, .symbols = memory_new((size_t)(n + 1) * sizeof *out->symbols)};
    ig_status status = key && out->symbols ? IG_OK : IG_ERR_MEMORY;
    bool found = false;
    if (status == IG_OK && cache_get(&images, key, key_bytes, &kept, &bytes)) {
        found = read_entry(kept, (const char *)kept + bytes, out);
        memory_free(kept);
        if (!found)
            empty(out);
    }
    if (status == IG_OK && !found)
        status = gpu_nvrtc(unit, capability, expressions, out);
    if (status == IG_OK && !found)
        write_entry(key, key_bytes, out);
    memory_free(key);
    if (status != IG_OK)
        gpu_image_free(out);
    return status;
}
