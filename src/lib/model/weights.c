/* The weights of a model folder: mapped safetensors files, converted to another dtype on demand. See model.h. */
#include "lib/model/model.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- opening -------------------------------------------------------------------------------- */

static ig_status file_add(weights *w, const char *name)
{
    char path[MODEL_PATH];
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->names[i], name) == 0)
            return IG_OK;
    if (strchr(name, '/') || strcmp(name, "..") == 0)
        FAIL(IG_ERR_FORMAT,
             "load '%.200s/model.safetensors.index.json': '%.100s' is not a file of the folder",
             w->folder, name);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", w->folder, name) >= sizeof path)
        FAIL(IG_ERR_FILE, "load '%.100s...': the path is too long", w->folder);
    ig_tensors **files = memory_resize(w->files, (size_t)(w->n + 1) * sizeof *files);
    if (!files)
        return IG_ERR_MEMORY;
    w->files = files;
    char **names = memory_resize(w->names, (size_t)(w->n + 1) * sizeof *names);
    if (!names)
        return IG_ERR_MEMORY;
    w->names = names;
    w->names[w->n] = memory_text(path);
    if (!w->names[w->n])
        return IG_ERR_MEMORY;
    w->files[w->n] = ig_tensors_map(path);
    if (!w->files[w->n]) {
        memory_free(w->names[w->n]);
        return error_waiting(IG_ERR_FILE);
    }
    w->n++;
    return IG_OK;
}

static ig_status shard_read(void *context, json_text key, field f)
{
    char *name = field_text(f, NULL);
    (void)key;
    const ig_status status =
        name ? file_add(context, name)
             : ig_fail(IG_ERR_FORMAT,
                       "load '%.200s/model.safetensors.index.json': weight_map has a value that is "
                       "not a file name",
                       ((const weights *)context)->folder);
    memory_free(name);
    return status;
}

static ig_status index_read(weights *w, const char *name)
{
    json_file f;
    ig_status status = json_file_open(&f, w->folder, name, false);
    const field map = field_get(f.root, "weight_map");
    if (status == IG_OK && map.kind != JSON_OBJECT)
        status = ig_fail(IG_ERR_FORMAT, "load '%.300s': it has no weight_map", f.path);
    if (status == IG_OK)
        status = field_each(map, shard_read, w);
    json_file_close(&f);
    return status;
}

ig_status weights_open(weights *w, const char *folder, ig_dtype dtype)
{
    char path[MODEL_PATH];
    snprintf(w->folder, sizeof w->folder, "%s", folder);
    w->dtype = dtype;
    w->prefix = "";
    w->converted = ig_tensors_new();
    if (!w->converted)
        return error_waiting(IG_ERR_MEMORY);
    snprintf(path, sizeof path, "%.4000s/model.safetensors", folder);
    if (file_exists(path))
        return file_add(w, "model.safetensors");
    snprintf(path, sizeof path, "%.4000s/model.safetensors.index.json", folder);
    if (file_exists(path))
        return index_read(w, "model.safetensors.index.json");
    FAIL(IG_ERR_FILE,
         "load '%.300s': it has neither model.safetensors nor model.safetensors.index.json; "
         "pytorch_model.bin is not read, because reading it executes code: convert it with "
         "transformers' save_pretrained",
         folder);
}

void weights_close(weights *w)
{
    for (int i = 0; i < w->n; i++) {
        ig_tensors_free(w->files[i]);
        memory_free(w->names[i]);
    }
    memory_free(w->files);
    memory_free(w->names);
    ig_tensors_free(w->converted);
}

/* ---- finding -------------------------------------------------------------------------------- */

/* The name that older files use for a tensor of a norm: gamma or beta. */
static bool older_name(const char *name, char out[MODEL_NAME])
{
    static const char *const ends[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                          {"LayerNorm.bias", "LayerNorm.beta"}};
    const size_t n = strlen(name);
    for (int i = 0; i < 2; i++) {
        const size_t m = strlen(ends[i][0]);
        if (n >= m && strcmp(name + n - m, ends[i][0]) == 0) {
            snprintf(out, MODEL_NAME, "%.*s%s", (int)(n - m), name, ends[i][1]);
            return true;
        }
    }
    return false;
}

static ig_array *find(const weights *w, const char *name, const char **file)
{
    char older[MODEL_NAME];
    const bool has_older = older_name(name, older);
    for (int i = 0; i < w->n; i++) {
        ig_array *x = ig_tensors_get(w->files[i], name);
        if (!x && has_older)
            x = ig_tensors_get(w->files[i], older);
        *file = w->names[i];
        if (x)
            return x;
    }
    return NULL;
}

bool weights_has(const weights *w, const char *name)
{
    const char *file;
    return (w->trained && ig_model_get(w->trained, name)) || find(w, name, &file);
}

static const char *shape_text(ig_ints shape, char out[128])
{
    size_t n = 0;
    out[n++] = '(';
    for (int i = 0; i < shape.n && n < 100; i++)
        n += (size_t)snprintf(out + n, 128 - n, i ? ", %lld" : "%lld", (long long)shape.v[i]);
    snprintf(out + n, 128 - n, shape.n == 1 ? ",)" : ")");
    return out;
}

static bool same_shape(const ig_array *x, ig_ints shape)
{
    const ig_ints has = ig_shape(x);
    return has.n == shape.n &&
           (has.n == 0 || memcmp(has.v, shape.v, (size_t)has.n * sizeof *has.v) == 0);
}

/* The tensor in the dtype of the computation; evaluated once and cached. */
static ig_array *convert(weights *w, const char *name, ig_array *x)
{
    ig_array *kept = ig_tensors_get(w->converted, name);
    if (kept)
        return kept;
    if (ig_scope_begin() != IG_OK)
        return NULL;
    ig_array *y = ig_astype(x, w->dtype);
    if (y && ig_eval(&y, 1) == IG_OK)
        ig_tensors_put(w->converted, name, y);
    ig_scope_end();
    return ig_tensors_get(w->converted, name);
}

/* The name of a tensor that differs from `name` only in its prefix; NULL if there is none. */
static const char *find_similar(const weights *w, const char *name)
{
    const size_t n = strlen(name);
    for (int i = 0; i < w->n; i++)
        for (int k = 0; k < ig_tensors_count(w->files[i]); k++) {
            const char *other = ig_tensors_name(w->files[i], k);
            const size_t m = strlen(other);
            if (m > n && other[m - n - 1] == '.' && strcmp(other + m - n, name) == 0)
                return other;
        }
    return NULL;
}

/* The tensor as stored in the file. */
static ig_array *find_checked(const weights *w, const char *name, ig_ints shape)
{
    char want[128], have[128];
    const char *file = w->n ? w->names[0] : w->folder;
    ig_array *x = find(w, name, &file);
    if (!x) {
        const char *similar = find_similar(w, name);
        FAIL_NULL(
            IG_ERR_FORMAT,
            "load '%.250s': the tensor '%.100s' is missing; expected one of shape %s%s%.100s%s",
            w->n > 1 ? w->folder : file, name, shape_text(shape, want),
            similar ? "; there is '" : "", similar ? similar : "",
            similar ? "', a name that transformers does not load either" : "");
    }
    if (!same_shape(x, shape))
        FAIL_NULL(IG_ERR_FORMAT,
                  "load '%.250s': the tensor '%.100s' has shape %s; config.json says %s", file,
                  name, shape_text(ig_shape(x), have), shape_text(shape, want));
    if (ig_dtype_of(x) != w->dtype && !ig_isdtype(ig_dtype_of(x), "real floating"))
        FAIL_NULL(IG_ERR_FORMAT,
                  "load '%.250s': the tensor '%.100s' is %s; expected f32, f16 or bf16", file, name,
                  ig_dtype_name(ig_dtype_of(x)));
    return x;
}

ig_array *weights_get(weights *w, const char *name, ig_ints shape)
{
    char want[128], have[128];
    ig_array *x = w->trained ? ig_model_get(w->trained, name) : NULL;
    if (x && !same_shape(x, shape))
        FAIL_NULL(IG_ERR_SHAPE, "the trained parameter '%.100s' has shape %s; expected %s", name,
                  shape_text(ig_shape(x), have), shape_text(shape, want));
    if (x || ig_failed())
        return x;
    x = find_checked(w, name, shape);
    return x && ig_dtype_of(x) != w->dtype ? convert(w, name, x) : x;
}
