/* The modules of sentence-transformers: modules.json and the configuration of each module. The encoder comes first,
 * then pooling makes a vector from its hidden states, and the other modules are steps that transform the vector. See
 * model.h. */
#include "lib/model/model.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

typedef struct reading {
    model_config *c;
    const char *folder;
    const char *file; /* modules.json */
    const char *path; /* the module's folder; the configuration owns it */
} reading;

/* ---- pooling -------------------------------------------------------------------------------- */

/* Names of pool_kind, in "pooling_mode_NAME": true and in "pooling_mode": "NAME". */
static const char *const pool_names[POOLS][2] = {{"cls_token", "cls"},
                                                 {"max_tokens", "max"},
                                                 {"mean_tokens", "mean"},
                                                 {"mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
                                                 {"weightedmean_tokens", "weightedmean"},
                                                 {"lasttoken", "lasttoken"}};

static ig_status pool_add(reading *r, const json_file *f, const char *name)
{
    model_config *c = r->c;
    int kind = 0;
    while (kind < POOLS && strcmp(pool_names[kind][1], name) != 0)
        kind++;
    if (kind == POOLS)
        FAIL(IG_ERR_UNSUPPORTED,
             "load '%.300s': the pooling mode '%.40s' is not known; there are cls, max, mean, "
             "mean_sqrt_len_tokens, weightedmean and lasttoken",
             f->path, name);
    if (c->n_pools == POOLS)
        FAIL(IG_ERR_UNSUPPORTED, "load '%.300s': there are more than %d pooling modes", f->path,
             POOLS);
    c->pools[c->n_pools++] = (pool_kind)kind;
    return IG_OK;
}

typedef struct pool_reading {
    reading *r;
    const json_file *file;
} pool_reading;

/* "pooling_mode": "cls" or ["cls", "mean"] */
static ig_status pool_name_read(void *context, json_text key, field f)
{
    const pool_reading *p = context;
    char *name = field_text(f, NULL);
    (void)key;
    const ig_status status = pool_add(p->r, p->file, name ? name : "(not a name)");
    memory_free(name);
    return status;
}

/* "pooling_mode_cls_token": true. Unknown names must be false. */
static ig_status pool_flag_check(void *context, json_text key, field f)
{
    static const char begin[] = "pooling_mode_";
    const pool_reading *p = context;
    char *name = json_text_copy(key, NULL);
    bool known = !name || strncmp(name, begin, sizeof begin - 1) != 0 || !field_bool(f, false);
    for (int i = 0; i < POOLS && !known; i++)
        known = strcmp(pool_names[i][0], name + sizeof begin - 1) == 0;
    const ig_status status = !name   ? IG_ERR_MEMORY
                             : known ? IG_OK
                                     : pool_add(p->r, p->file, name + sizeof begin - 1);
    memory_free(name);
    return status;
}

/* The modes are a list, whose order is kept, or flags in older folders. */
static ig_status pooling_read(reading *r, const json_file *f)
{
    const field mode = field_get(f->root, "pooling_mode");
    pool_reading p = {r, f};
    r->c->n_pools = 0;
    r->c->hides_prompt = !field_bool(field_get(f->root, "include_prompt"), true);
    if (mode.kind == JSON_ARRAY) {
        TRY(field_each(mode, pool_name_read, &p));
        return r->c->n_pools ? IG_OK : pool_add(r, f, "");
    }
    if (field_given(mode))
        return pool_name_read(&p, (json_text){0}, mode);
    TRY(field_each(f->root, pool_flag_check, &p));
    for (int i = 0; i < POOLS; i++) {
        char key[64];
        snprintf(key, sizeof key, "pooling_mode_%s", pool_names[i][0]);
        if (field_bool(field_get(f->root, key), false))
            TRY(pool_add(r, f, pool_names[i][1]));
    }
    return r->c->n_pools ? IG_OK : pool_add(r, f, "mean");
}

/* ---- steps ---------------------------------------------------------------------------------- */

static vector_step *step_add(reading *r, vector_step step)
{
    model_config *c = r->c;
    vector_step *steps = memory_resize(c->steps, (size_t)(c->n_steps + 1) * sizeof *steps);
    if (!steps)
        return NULL;
    c->steps = steps;
    step.path = r->path;
    steps[c->n_steps] = step;
    return &steps[c->n_steps++];
}

/* torch.nn.modules.activation.Tanh */
static ig_status dense_activation(const json_file *f, activation *out)
{
    static const char *const names[][2] = {{"Identity", "linear"}, {"Tanh", "tanh"},
                                           {"ReLU", "relu"},       {"GELU", "gelu"},
                                           {"SiLU", "silu"},       {"Sigmoid", "sigmoid"}};
    char *name = field_text(field_get(f->root, "activation_function"), NULL);
    const char *dot = name ? strrchr(name, '.') : NULL, *kind = dot ? dot + 1 : name;
    *out = kind ? NULL : activation_find("tanh");
    for (size_t i = 0; i < sizeof names / sizeof *names && kind; i++)
        if (strcmp(names[i][0], kind) == 0)
            *out = activation_find(names[i][1]);
    const ig_status status =
        *out ? IG_OK
             : ig_fail(IG_ERR_UNSUPPORTED,
                       "load '%.300s': the activation_function '%.80s' is not known; there are "
                       "Identity, Tanh, ReLU, GELU, SiLU and Sigmoid",
                       f->path, name);
    memory_free(name);
    return status;
}

static ig_status dense_read(reading *r, const json_file *f)
{
    vector_step step = {.kind = STEP_DENSE, .bias = field_bool(field_get(f->root, "bias"), true)};
    const field input = field_get(f->root, "module_input_name");
    TRY(config_count(f, "in_features", 0, &step.in));
    TRY(config_count(f, "out_features", 0, &step.out));
    TRY(dense_activation(f, &step.activation));
    if ((field_given(input) && !field_is(input, "sentence_embedding")) ||
        field_bool(field_get(f->root, "use_residual"), false))
        FAIL(IG_ERR_UNSUPPORTED,
             "load '%.300s': a Dense module is known only on the vector of a text, without "
             "use_residual",
             f->path);
    return step_add(r, step) ? IG_OK : IG_ERR_MEMORY;
}

static ig_status norm_read(reading *r, const json_file *f)
{
    vector_step step = {.kind = STEP_NORM};
    TRY(config_count(f, "dimension", 0, &step.in));
    step.out = step.in;
    return step_add(r, step) ? IG_OK : IG_ERR_MEMORY;
}

static ig_status normalize_read(reading *r, const json_file *f)
{
    (void)f;
    return step_add(r, (vector_step){.kind = STEP_NORMALIZE}) ? IG_OK : IG_ERR_MEMORY;
}

/* ---- modules.json --------------------------------------------------------------------------- */

static ig_status transformer_read(reading *r, const json_file *f)
{
    (void)f;
    if (*r->path)
        FAIL(IG_ERR_UNSUPPORTED,
             "load '%.300s': the transformer is in the folder '%.80s', as older versions of "
             "sentence-transformers had it; save the model again with a newer version",
             r->file, r->path);
    return IG_OK;
}

static ig_status nothing_read(reading *r, const json_file *f)
{
    (void)r;
    (void)f;
    return IG_OK;
}

static ig_status kind_read(reading *r, const char *kind)
{
    static const struct {
        const char *name;
        bool config; /* the module has a config.json */
        ig_status (*read)(reading *r, const json_file *f);
    } rows[] = {{"Transformer", false, transformer_read},
                {"Pooling", true, pooling_read},
                {"Dense", true, dense_read},
                {"LayerNorm", true, norm_read},
                {"Normalize", false, normalize_read},
                {"Dropout", false, nothing_read}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_file f = {0};
        char name[MODEL_PATH];
        if (strcmp(rows[i].name, kind) != 0)
            continue;
        snprintf(name, sizeof name, "%.2000s/config.json", r->path);
        ig_status status = rows[i].config ? json_file_open(&f, r->folder, name, false) : IG_OK;
        if (status == IG_OK)
            status = rows[i].read(r, &f);
        json_file_close(&f);
        return status;
    }
    FAIL(IG_ERR_UNSUPPORTED,
         "load '%.300s': the module '%.60s' is not known; there are Transformer, Pooling, Dense, "
         "LayerNorm, Normalize and Dropout",
         r->file, kind);
}

/* Stores the name of a module's folder. */
static ig_status path_keep(reading *r, const char *path)
{
    model_config *c = r->c;
    char **modules;
    if (strstr(path, "..") || *path == '/')
        FAIL(IG_ERR_FORMAT, "load '%.300s': '%.100s' is not a folder of the model", r->file, path);
    if (!(modules = memory_resize(c->modules, (size_t)(c->n_modules + 1) * sizeof *modules)))
        return IG_ERR_MEMORY;
    c->modules = modules;
    if (!(modules[c->n_modules] = memory_text(path)))
        return IG_ERR_MEMORY;
    r->path = modules[c->n_modules++];
    return IG_OK;
}

/* {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"} */
static ig_status module_read(void *context, json_text key, field f)
{
    reading *r = context;
    char *type = field_text(field_get(f, "type"), NULL),
         *path = field_text(field_get(f, "path"), NULL);
    const char *dot = type ? strrchr(type, '.') : NULL, *kind = dot ? dot + 1 : type;
    (void)key;
    ig_status status = path_keep(r, path ? path : "");
    if (status == IG_OK)
        status = kind_read(r, kind ? kind : "(missing)");
    memory_free(type);
    memory_free(path);
    return status;
}

typedef struct prompt_reading {
    model_config *c;
    field name;
} prompt_reading;

/* "query": "query: " */
static ig_status prompt_find(void *context, json_text key, field f)
{
    const prompt_reading *r = context;
    char *name = json_text_copy(key, NULL);
    if (name && field_is(r->name, name)) {
        memory_free(r->c->prompt);
        r->c->prompt = field_text(f, NULL);
    }
    memory_free(name);
    return name ? IG_OK : IG_ERR_MEMORY;
}

/* The prompt that sentence-transformers puts before each text by default: an entry of "prompts". */
static ig_status prompt_read(model_config *c, const char *folder)
{
    json_file f;
    ig_status status = json_file_open(&f, folder, "config_sentence_transformers.json", true);
    prompt_reading r = {c, field_get(f.root, "default_prompt_name")};
    if (status == IG_OK && field_given(r.name)) {
        status = field_each(field_get(f.root, "prompts"), prompt_find, &r);
        if (status == IG_OK && !c->prompt)
            status = ig_fail(IG_ERR_FORMAT,
                             "load '%.300s': default_prompt_name is %.*s, which is not in prompts",
                             f.path, r.name.bytes < 60 ? (int)r.name.bytes : 60, r.name.at);
        else if (status == IG_OK && *c->prompt && c->hides_prompt)
            status = ig_fail(IG_ERR_UNSUPPORTED,
                             "load '%.300s': pooling leaves out the default prompt "
                             "(include_prompt is false); this is not known",
                             f.path);
    }
    json_file_close(&f);
    return status;
}

ig_status modules_read(model_config *c, const char *folder)
{
    json_file f;
    ig_status status = json_file_open(&f, folder, "modules.json", true);
    reading r = {.c = c, .folder = folder, .file = f.path};
    c->pools[0] = POOL_MEAN;
    c->n_pools = 1;
    if (status == IG_OK)
        status = field_each(f.root, module_read, &r);
    json_file_close(&f);
    return status == IG_OK ? prompt_read(c, folder) : status;
}
