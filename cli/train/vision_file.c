/* The folders of networks that ingot train vision makes: config.json and model.safetensors. */
#include "vision_net.h"

#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char made_by[] = "ingot train vision 1";
enum { CONFIG_MOST = 64 << 20 };

static ig_status config_save(const vision_config *v, const char *folder)
{
    char path[4096];
    str t = {0}, sizes = {0};
    vision_sizes_write(v, &sizes);
    str_json(&t, "{made_by: %s, network: %s, sizes: %s, dropout: %.9g, classes:", made_by,
             vision_name(v), sizes.s, v->dropout);
    name_list_write(&v->classes, &t);
    str_json(&t, "image_mean: [%.9g, %.9g, %.9g], image_std: [%.9g, %.9g, %.9g]}\n", v->mean[0],
             v->mean[1], v->mean[2], v->deviation[0], v->deviation[1], v->deviation[2]);
    snprintf(path, sizeof path, "%s/config.json", folder);
    const ig_status status = ig_write_file(path, t.s, t.n);
    str_free(&sizes);
    str_free(&t);
    return status;
}

/* The number of batches that PyTorch counts beside running statistics: torchvision's files have it. */
static ig_status count_put(ig_tensors *t, const char *name, int64_t steps)
{
    static const char end[] = "running_var";
    char count[160];
    if (!str_ends(name, end))
        return IG_OK;
    snprintf(count, sizeof count, "%.*snum_batches_tracked", (int)(strlen(name) + 1 - sizeof end),
             name);
    return ig_tensors_put(t, count, ig_from_data(&steps, IG_SHAPE(), IG_I64));
}

ig_status vision_save(const ig_model *m, const vision_config *v, int64_t steps, const char *folder)
{
    char path[4096];
    ig_tensors *t = ig_tensors_new();
    ig_status status = t ? ig_scope_begin() : IG_ERR_MEMORY;
    const bool open = status == IG_OK;
    if (open)
        status = ig_tensors_put_text(t, "format", "pt");
    for (int i = 0; i < ig_model_count(m) && status == IG_OK; i++) {
        const char *name = ig_model_name(m, i);
        status = ig_tensors_put(t, name, ig_model_get(m, name));
        if (status == IG_OK)
            status = count_put(t, name, steps);
    }
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (status == IG_OK)
        status = ig_tensors_save(t, path);
    if (open)
        ig_scope_end();
    ig_tensors_free(t);
    return status == IG_OK ? config_save(v, folder) : status;
}

/* True for the layer whose outputs are the classes. */
static bool is_head(const char *name)
{
    return strncmp(name, "fc.", 3) == 0 || strncmp(name, "heads.head.", 11) == 0;
}

ig_status vision_load(ig_model *m, const vision_config *v, const char *path, bool *fresh)
{
    char file[4096];
    snprintf(file, sizeof file, "%s%s", path,
             str_ends(path, ".safetensors") ? "" : "/model.safetensors");
    ig_tensors *t = ig_tensors_map(file);
    ig_status status = t ? IG_OK : IG_ERR_FILE;
    *fresh = false;
    for (int i = 0; i < ig_model_count(m) && status == IG_OK; i++) {
        const char *name = ig_model_name(m, i);
        ig_array *x = ig_tensors_get(t, name);
        if (!x) {
            status = ig_fail(IG_ERR_FORMAT,
                             "%s: it has no tensor '%s'; give the weights of a %s, as torchvision "
                             "names them",
                             file, name, vision_name(v));
        } else if (is_head(name) && ig_dim(x, 0) != v->classes.n) {
            *fresh = true;
        } else {
            status = ig_model_set(m, name, ig_astype(x, IG_F32));
        }
    }
    ig_tensors_free(t);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Up to three numbers of an array. */
static void numbers_read(json_reader *r, double out[3])
{
    json_number n;
    int i = 0;
    if (json_open_array(r))
        while (json_next_item(r) && json_read_number(r, &n)) {
            if (i < 3)
                out[i] = n.kind == JSON_F64 ? n.as.f : (double)n.as.i;
            i++;
        }
}

static void classes_read(json_reader *r, name_list *l)
{
    json_text item;
    if (json_open_array(r))
        while (json_next_item(r) && json_read_text(r, &item)) {
            char *copy = json_text_copy(item, NULL);
            if (copy)
                name_list_add(l, copy);
            memory_free(copy);
        }
}

/* The texts of a config that decide the network. */
typedef struct config_texts {
    char *maker, *network, *sizes;
} config_texts;

static void string_take(json_reader *r, char **out)
{
    json_text found;
    memory_free(*out);
    *out = json_read_text(r, &found) ? json_text_copy(found, NULL) : NULL;
}

static ig_status config_parse(json_reader *r, vision_config *v, config_texts *c)
{
    double mean[3] = {0}, deviation[3] = {0};
    json_text key;
    json_open_object(r);
    while (json_next_key(r, &key))
        if (json_text_is(key, "made_by"))
            string_take(r, &c->maker);
        else if (json_text_is(key, "network"))
            string_take(r, &c->network);
        else if (json_text_is(key, "sizes"))
            string_take(r, &c->sizes);
        else if (json_text_is(key, "classes"))
            classes_read(r, &v->classes);
        else if (json_text_is(key, "image_mean"))
            numbers_read(r, mean);
        else if (json_text_is(key, "image_std"))
            numbers_read(r, deviation);
        else
            json_skip(r);
    const ig_status status = json_end(r);
    if (status != IG_OK)
        return status;
    str why = {0};
    bool fine = c->maker && strcmp(c->maker, made_by) == 0 && c->network && v->classes.n > 1 &&
                deviation[0] > 0 && deviation[1] > 0 && deviation[2] > 0;
    fine = fine && vision_config_read(v, c->network, c->sizes, &why);
    memcpy(v->mean, mean, sizeof mean);
    memcpy(v->deviation, deviation, sizeof deviation);
    str_free(&why);
    return fine ? IG_OK : IG_ERR_FORMAT;
}

bool vision_is(const char *folder)
{
    char path[4096];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *content = str_read_file(path, CONFIG_MOST, &n);
    const bool is = content && strstr(content, made_by);
    free(content);
    return is;
}

ig_status vision_open(vision_config *v, ig_model **m, const char *folder)
{
    char path[4096];
    size_t n = 0;
    json_reader r;
    config_texts c = {0};
    bool fresh = false;
    *v = (vision_config){0};
    *m = NULL;
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *content = str_read_file(path, CONFIG_MOST, &n);
    if (!content)
        return ig_fail(IG_ERR_FILE, "%s: it cannot be read", path);
    json_begin(&r, content, n);
    ig_status status = config_parse(&r, v, &c);
    if (status != IG_OK)
        status = ig_fail(IG_ERR_FORMAT, "%s: it is not a config of 'ingot train vision'%s%s", path,
                         r.status == IG_OK ? "" : ": ", r.status == IG_OK ? "" : r.problem);
    memory_free(c.maker);
    memory_free(c.network);
    memory_free(c.sizes);
    free(content);
    *m = status == IG_OK ? ig_model_new(0) : NULL;
    if (!*m)
        return status == IG_OK ? IG_ERR_MEMORY : status;
    status = vision_build(*m, v, NULL);
    if (status == IG_OK)
        status = vision_load(*m, v, folder, &fresh);
    if (status == IG_OK && fresh)
        status =
            ig_fail(IG_ERR_FORMAT, "%s: model.safetensors has another number of classes", folder);
    return status;
}
