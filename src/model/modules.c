/* The modules of sentence-transformers: modules.json and the configuration of each module. The encoder is the first; pooling
 * makes a vector of its hidden states, and the modules behind it are steps that change the vector. See model.h. */
#include "model/model.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

typedef struct reading {
    model_config *c;
    const char *folder;
    const char *file; /* modules.json */
    const char *path; /* the folder of the module, as the configuration keeps it */
} reading;

/* ---- pooling -------------------------------------------------------------------------------- */

/* Names of pool_kind: in "pooling_mode_NAME": true, and in "pooling_mode": "NAME". */
static const char *const pool_names[POOLS][2] = {{"cls_token", "cls"},
                                                 {"max_tokens", "max"},
                                                 {"mean_tokens", "mean"},
                                                 {"mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
                                                 {"weightedmean_tokens", "weightedmean"},
                                                 {"lasttoken", "lasttoken"}};

typedef struct pool_reading {
    const json_file *file;
    unsigned pools;
} pool_reading;

static ig_status pool_add(pool_reading *r, const char *name, int column)
{
    for (int i = 0; i < POOLS; i++)
        if (strcmp(pool_names[i][column], name) == 0) {
            r->pools |= 1u << i;
            return IG_OK;
        }
    FAIL(IG_ERR_UNSUPPORTED,
         "load '%.300s': the pooling mode '%.40s' is not known; there are cls, max, mean, "
         "mean_sqrt_len_tokens, weightedmean and lasttoken",
         r->file->path, name);
}

/* "pooling_mode": "cls" or ["cls", "mean"] */
static ig_status pool_name_read(void *context, json_text key, field f)
{
    char *name = field_text(f, NULL);
    (void)key;
    const ig_status status = pool_add(context, name ? name : "(not a name)", 1);
    memory_free(name);
    return status;
}

/* "pooling_mode_cls_token": true */
static ig_status pool_flag_read(void *context, json_text key, field f)
{
    static const char begin[] = "pooling_mode_";
    char *name = json_text_copy(key, NULL);
    if (!name)
        return IG_ERR_MEMORY;
    const ig_status status = strncmp(name, begin, sizeof begin - 1) == 0 && field_bool(f, false)
                                 ? pool_add(context, name + sizeof begin - 1, 0)
                                 : IG_OK;
    memory_free(name);
    return status;
}

static ig_status pooling_read(reading *r, const json_file *f)
{
    const field mode = field_get(f->root, "pooling_mode");
    pool_reading pools = {.file = f};
    if (mode.kind == JSON_TEXT)
        TRY(pool_name_read(&pools, (json_text){0}, mode));
    TRY(field_each(mode, pool_name_read, &pools));
    TRY(field_each(f->root, pool_flag_read, &pools));
    if (!field_given(mode) && !field_given(field_get(f->root, "pooling_mode_mean_tokens")))
        pools.pools |= 1u << POOL_MEAN; /* the default */
    if (!pools.pools)
        FAIL(IG_ERR_FORMAT, "load '%.300s': all pooling modes are false", f->path);
    r->c->pools = pools.pools;
    return IG_OK;
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
             "load '%.300s': the transformer is in the folder '%.80s'; only one in the model "
             "folder itself is read",
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
        bool config; /* it has a config.json */
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

/* Keeps the name of a module's folder. */
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

ig_status modules_read(model_config *c, const char *folder)
{
    json_file f;
    ig_status status = json_file_open(&f, folder, "modules.json", true);
    reading r = {.c = c, .folder = folder, .file = f.path};
    c->pools = 1u << POOL_MEAN;
    if (status == IG_OK)
        status = field_each(f.root, module_read, &r);
    json_file_close(&f);
    return status;
}
