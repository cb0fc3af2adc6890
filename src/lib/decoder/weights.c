/* The tensors of a decoder by their role, from a GGUF file or the safetensors files of a folder. */
#include "lib/decoder/lora.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { LAYERS_MOST = 1 << 20 };

/* ---- opening --------------------------------------------------------------------------------- */

static ig_status tensors_add(decoder *d, ig_tensors *set)
{
    if (!set)
        return error_waiting(IG_ERR_FILE);
    ig_tensors **files = memory_resize(d->files, (size_t)(d->n_files + 1) * sizeof *files);
    if (!files) {
        ig_tensors_free(set);
        return IG_ERR_MEMORY;
    }
    d->files = files;
    d->files[d->n_files++] = set;
    return IG_OK;
}

typedef struct shards {
    decoder *d;
    char **names;
    int n, room;
} shards;

static ig_status shard_add(void *context, json_text name, field f)
{
    shards *s = context;
    char path[DECODER_PATH + 256];
    (void)name;
    char *file = field_text(f, NULL);
    for (int i = 0; file && i < s->n; i++)
        if (strcmp(s->names[i], file) == 0) {
            memory_free(file);
            return IG_OK;
        }
    if (!file || strchr(file, '/') || strlen(file) > 250 || strcmp(file, "..") == 0) {
        memory_free(file);
        FAIL(IG_ERR_FORMAT,
             "load '%.300s/model.safetensors.index.json': weight_map has a value that is not the "
             "name "
             "of a file of the folder",
             s->d->path);
    }
    if (!memory_room(&s->names, s->n, &s->room, sizeof *s->names)) {
        memory_free(file);
        return IG_ERR_MEMORY;
    }
    s->names[s->n++] = file;
    snprintf(path, sizeof path, "%s/%s", s->d->path, file);
    return tensors_add(s->d, ig_tensors_map(path));
}

static ig_status shards_open(decoder *d)
{
    shards s = {.d = d};
    json_file f;
    ig_status status = json_file_open(&f, d->path, "model.safetensors.index.json", false);
    if (status == IG_OK)
        status = field_each(field_get(f.root, "weight_map"), shard_add, &s);
    json_file_close(&f);
    for (int i = 0; i < s.n; i++)
        memory_free(s.names[i]);
    memory_free(s.names);
    if (status == IG_OK && d->n_files == 0)
        FAIL(IG_ERR_FORMAT, "load '%.300s/model.safetensors.index.json': it names no files",
             d->path);
    return status;
}

static ig_status folder_open(decoder *d)
{
    json_file f;
    char path[DECODER_PATH + 32];
    d->roles = NULL;
    ig_status status = json_file_open(&f, d->path, "config.json", false);
    if (status == IG_OK)
        status = config_from_json(&d->config, &f);
    if (status == IG_OK) {
        const field scaling = field_get(f.root, "rope_scaling");
        status = rope_factors_read(d, field_given(scaling) ? scaling
                                                           : field_get(f.root, "rope_parameters"));
    }
    json_file_close(&f);
    TRY(status);
    d->roles = d->config.arch->roles;
    snprintf(path, sizeof path, "%s/model.safetensors", d->path);
    if (file_exists(path))
        return tensors_add(d, ig_tensors_map(path));
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", d->path);
    if (file_exists(path))
        return shards_open(d);
    FAIL(IG_ERR_FILE,
         "load '%.300s': it has neither model.safetensors nor model.safetensors.index.json; files "
         "of "
         "pickled objects are not read: convert them with transformers' save_pretrained",
         d->path);
}

static ig_status file_open(decoder *d)
{
    d->is_gguf = true;
    d->file = gguf_open(d->path);
    if (!d->file)
        return error_waiting(IG_ERR_FILE);
    TRY(config_from_gguf(&d->config, d->file));
    d->roles = roles_in_files(d->config.arch);
    return tensors_add(d, ig_tensors_map(d->path));
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* The name with %d for its numbers, without its ending; numbers: the first two. */
static void name_normalize(const char *name, char out[DECODER_NAME], int64_t numbers[2])
{
    static const char *const ends[] = {".weight", ".bias", "_bias", "_blocks", "_scales"};
    size_t n = 0, end = strlen(name);
    int found = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i])) {
            end -= strlen(ends[i]);
            break;
        }
    numbers[0] = numbers[1] = 0;
    for (size_t i = 0; i < end && n < DECODER_NAME - 3; i++) {
        const bool digits = name[i] >= '0' && name[i] <= '9' && i > 0 && name[i - 1] == '.';
        if (!digits) {
            out[n++] = name[i];
            continue;
        }
        int64_t v = 0;
        for (; i < end && name[i] >= '0' && name[i] <= '9'; i++)
            v = v < LAYERS_MOST ? 10 * v + (name[i] - '0') : v;
        i--;
        numbers[found ? 1 : 0] = v;
        found++;
        out[n++] = '%';
        out[n++] = 'd';
    }
    out[n] = '\0';
}

/* Tensors that older files store although they follow from the configuration. */
static bool is_needless(const char *name)
{
    static const char *const ends[] = {"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias",
                                       ".attention.bias", ".attention.masked_bias"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

/* Checks that each tensor has a role, so that no part of a model is left out silently. */
static ig_status names_check(const decoder *d)
{
    char form[DECODER_NAME];
    int64_t numbers[2];
    for (int i = 0; i < d->n_files; i++)
        for (int k = 0; k < ig_tensors_count(d->files[i]); k++) {
            const char *name = ig_tensors_name(d->files[i], k);
            int r = 0;
            name_normalize(name, form, numbers);
            while (r < ROLES && !(d->roles->name[r] && strcmp(d->roles->name[r], form) == 0))
                r++;
            if ((r == ROLES && !is_needless(name)) || numbers[0] >= d->config.layers)
                FAIL(IG_ERR_UNSUPPORTED,
                     "load '%.300s': the tensor '%.150s' is not one that Ingot knows for '%s' with "
                     "%lld "
                     "layers; choose another model",
                     d->path, name, d->config.arch->model_type, (long long)d->config.layers);
        }
    return IG_OK;
}

bool is_folder(const char *path)
{
    char inside[DECODER_PATH + 4];
    snprintf(inside, sizeof inside, "%s/.", path);
    return file_exists(inside);
}

decoder *decoder_open(const char *path)
{
    if (!path || !*path || strlen(path) >= DECODER_PATH)
        FAIL_NULL(IG_ERR_ARGUMENT, "load: no path of a model is given, or it is too long");
    decoder *d = memory_new(sizeof *d);
    if (!d)
        return NULL;
    snprintf(d->path, sizeof d->path, "%s", path);
    d->derived = ig_tensors_new();
    ig_status status = d->derived ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = is_folder(path) ? folder_open(d) : file_open(d);
    if (status == IG_OK)
        status = names_check(d);
    if (status == IG_OK)
        status = rope_open(d);
    if (status == IG_OK)
        return d;
    decoder_close(d);
    return NULL;
}

void decoder_close(decoder *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->n_files; i++)
        ig_tensors_free(d->files[i]);
    memory_free(d->files);
    ig_tensors_free(d->derived);
    lora_free(d->lora);
    gguf_close(d->file);
    memory_free(d->rope_factors[0]);
    memory_free(d->rope_factors[1]);
    memory_free(d);
}

uint64_t decoder_bytes(const decoder *d)
{
    uint64_t bytes = 0;
    for (int i = 0; i < d->n_files; i++)
        for (int k = 0; k < ig_tensors_count(d->files[i]); k++) {
            ig_array *x = ig_tensors_get(d->files[i], ig_tensors_name(d->files[i], k));
            ig_storage s = {.size = sizeof s};
            if (ig_storage_of(x, &s) == IG_OK)
                bytes += (uint64_t)s.bytes;
        }
    return bytes;
}

/* ---- finding --------------------------------------------------------------------------------- */

ig_array *tensor_find(const decoder *d, const char *name)
{
    for (int i = 0; i < d->n_files; i++) {
        ig_array *x = ig_tensors_get(d->files[i], name);
        if (x)
            return x;
    }
    return NULL;
}

static bool same_shape(const ig_array *x, ig_ints shape)
{
    const ig_ints has = ig_shape(x);
    return has.n == shape.n &&
           (has.n == 0 || memcmp(has.v, shape.v, (size_t)has.n * sizeof *has.v) == 0);
}

static const char *shape_text(ig_ints shape)
{
    char *out = thread_text();
    size_t n = 0;
    for (int i = 0; out && i < shape.n && n < 100; i++)
        n += (size_t)snprintf(out + n, THREAD_TEXT_BYTES - n, i ? ", %lld" : "(%lld",
                              (long long)shape.v[i]);
    if (out)
        snprintf(out + n, THREAD_TEXT_BYTES - n, shape.n ? shape.n == 1 ? ",)" : ")" : "()");
    return out ? out : "";
}

ig_array *tensor_need(const decoder *d, const char *name, ig_ints shape)
{
    ig_array *x = tensor_find(d, name);
    if (!x || !same_shape(x, shape))
        FAIL_NULL(IG_ERR_FORMAT,
                  "load '%.300s': the tensor '%s' is missing, or its shape is not %s", d->path,
                  name, shape_text(shape));
    return x;
}

static bool is_expert(role r) { return r >= ROLE_EXPERT_GATE && r <= ROLE_EXPERT_GATE_UP; }

void role_name(const decoder *d, role r, int64_t layer, int64_t expert, bool bias,
               char out[DECODER_NAME])
{
    const char *form = d->roles->name[r];
    *out = '\0';
    if (!form)
        return;
    size_t n = 0;
    int64_t numbers[2] = {layer, expert}, *number = numbers;
    for (; *form && n < DECODER_NAME - 32; form++)
        if (form[0] == '%') {
            n += (size_t)snprintf(out + n, DECODER_NAME - n, "%lld", (long long)*number++);
            form++;
        } else {
            out[n++] = *form;
        }
    const bool bare =
        !d->is_gguf && (r == ROLE_SINKS || (d->config.arch->limit > 0 && is_expert(r)));
    snprintf(out + n, DECODER_NAME - n, bare ? bias ? "_bias" : "" : bias ? ".bias" : ".weight");
}

/* Keeps an array, evaluated, under a name of its own. Returns it, borrowed. */
static ig_array *keep(decoder *d, const char *name, ig_array *x)
{
    if (x && ig_eval(&x, 1) == IG_OK)
        ig_tensors_put(d->derived, name, x);
    return ig_tensors_get(d->derived, name);
}

static bool is_norm(role r)
{
    return r == ROLE_OUT_NORM || r == ROLE_ATTENTION_NORM || r == ROLE_QUERY_NORM ||
           r == ROLE_KEY_NORM || r == ROLE_ATTENTION_AFTER || r == ROLE_INNER_NORM ||
           r == ROLE_INNER_AFTER;
}

/* Rows [first, first + rows) of a matrix or vector. */
static ig_array *rows_of(ig_array *x, int64_t first, int64_t rows)
{
    return x ? ig_slice(x, IG_SHAPE(first), IG_SHAPE(first + rows), IG_SHAPE(1)) : NULL;
}

/* ---- tensors that are made of others --------------------------------------------------------- */

/* Query, key or value of a tensor that holds all three. */
static ig_array *third_get(decoder *d, role r, int64_t layer, bool bias, bool optional)
{
    const decoder_config *c = &d->config;
    const int64_t q = c->heads * c->head_width, kv = c->kv_heads * c->head_width;
    const int64_t first = r == ROLE_QUERY ? 0
                          : r == ROLE_KEY ? q
                                          : q + kv,
                  rows = r == ROLE_QUERY ? q : kv;
    ig_array *x = weight_get(d, ROLE_QUERY_KEY_VALUE, layer, bias, optional,
                             bias ? IG_SHAPE(q + 2 * kv) : IG_SHAPE(q + 2 * kv, c->width));
    if (!x || d->is_gguf || !c->arch->heads_together)
        return rows_of(x, first, rows);
    /* (H, 3, D) rows */
    const int64_t which = r == ROLE_QUERY ? 0 : r == ROLE_KEY ? 1 : 2;
    x = ig_reshape(x, bias ? IG_SHAPE(c->heads, 3, c->head_width)
                           : IG_SHAPE(c->heads, 3, c->head_width, c->width));
    x = x ? ig_slice(x, IG_SHAPE(0, which), IG_SHAPE(c->heads, which + 1), IG_SHAPE(1, 1)) : NULL;
    return x ? ig_reshape(x, bias ? IG_SHAPE(rows) : IG_SHAPE(rows, c->width)) : NULL;
}

static ig_array *made_get(decoder *d, role r, int64_t layer, bool bias, bool optional,
                          ig_ints shape)
{
    const decoder_config *c = &d->config;
    if (r == ROLE_QUERY || r == ROLE_KEY || r == ROLE_VALUE)
        return third_get(d, r, layer, bias, optional);
    if ((r == ROLE_GATE || r == ROLE_UP) && c->arch->gated && !bias &&
        d->roles->name[ROLE_GATE_UP]) {
        ig_array *both =
            weight_get(d, ROLE_GATE_UP, layer, false, optional, IG_SHAPE(2 * c->inner, c->width));
        return rows_of(both, r == ROLE_GATE ? 0 : c->inner, c->inner);
    }
    return !d->is_gguf && is_expert(r) ? experts_get(d, r, layer, bias, shape) : NULL;
}

static ig_array *checked(const decoder *d, const char *name, ig_array *x, ig_ints shape)
{
    if (!same_shape(x, shape))
        FAIL_NULL(IG_ERR_FORMAT,
                  "load '%.300s': the tensor '%s' has shape %s, and the configuration says %s",
                  d->path, name, shape_text(ig_shape(x)), shape_text(shape));
    if (!ig_isdtype(ig_dtype_of(x), "real floating"))
        FAIL_NULL(IG_ERR_FORMAT, "load '%.300s': the tensor '%s' is %s, not a float", d->path, name,
                  ig_dtype_name(ig_dtype_of(x)));
    return x;
}

/* True if the file's tensor is used as it is. */
static bool is_plain(const decoder *d, role r, const ig_array *x)
{
    return (d->is_gguf || !(d->config.arch->adds_one && is_norm(r))) &&
           (ig_dtype_of(x) == IG_F32 || (ig_dtype_of(x) != IG_F64 && ig_ndim(x) > 1));
}

ig_array *weight_get(decoder *d, role r, int64_t layer, bool bias, bool optional, ig_ints shape)
{
    char name[DECODER_NAME], made[DECODER_NAME + 16];
    role_name(d, r, layer, 0, bias, name);
    snprintf(made, sizeof made, "%d.%lld.%d", (int)r, (long long)layer, bias);
    ig_array *x = ig_tensors_get(d->derived, made);
    if (x || ig_failed())
        return x;
    x = *name ? tensor_find(d, name) : NULL;
    const bool split =
        r == ROLE_UP && x && !bias && ig_ndim(x) == 2 && ig_dim(x, 0) == 2 * shape.v[0];
    if (!x || split || (is_expert(r) && !d->is_gguf)) {
        x = made_get(d, r, layer, bias, optional, shape);
        if (!x && !optional && !ig_failed())
            ig_fail(IG_ERR_FORMAT, "load '%.300s': the tensor '%s' is missing", d->path, name);
        return x ? keep(d, made, x) : NULL;
    }
    const bool turned = !d->is_gguf && d->config.arch->transposed && !bias && ig_ndim(x) == 2 &&
                        r != ROLE_EMBEDDING && r != ROLE_POSITIONS && r != ROLE_OUT;
    if (turned)
        x = ig_permute_dims(x, IG_AXES(1, 0));
    if (!x || !checked(d, name, x, shape))
        return NULL;
    if (!turned && is_plain(d, r, x))
        return x;
    ig_array *wide = turned ? x : ig_astype(x, IG_F32);
    if (wide && !d->is_gguf && d->config.arch->adds_one && is_norm(r))
        wide = ig_add(wide, ig_float(1));
    return wide ? keep(d, made, wide) : NULL;
}
