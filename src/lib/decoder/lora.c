/* Low-rank adapters: see lora.h. */
#include "lib/decoder/lora.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME = DECODER_NAME + 48, RANK_MOST = 1 << 16 };

struct lora {
    double alpha, dropout;
    int64_t rank;      /* of new adapters */
    bool by_root;      /* scale = alpha / sqrt(rank) */
    char *targets;     /* NULL: all */
    ig_model *trained; /* NULL: adapters that only are used */
    ig_tensors *files; /* as the folder has them; NULL: new */
    ig_tensors *kept;  /* factors that are ready for products */
};

/* ---- modules --------------------------------------------------------------------------------- */

static const role modules[] = {ROLE_QUERY,           ROLE_KEY,  ROLE_VALUE,
                               ROLE_QUERY_KEY_VALUE, ROLE_GATE, ROLE_ATTENTION_OUT,
                               ROLE_GATE_UP,         ROLE_UP,   ROLE_DOWN};
enum { MODULES = sizeof modules / sizeof *modules };

static bool is_projection(role r) { return r == ROLE_QUERY || r == ROLE_KEY || r == ROLE_VALUE; }

/* The module that holds the layer of a role. */
static role module_of(const decoder *d, role r)
{
    const char *const *name = d->config.arch->roles->name;
    if (is_projection(r))
        return name[r] ? r : ROLE_QUERY_KEY_VALUE;
    return r == ROLE_GATE || r == ROLE_UP ? (name[r] ? r : ROLE_GATE_UP) : r;
}

/* True if layers have the module. */
static bool is_module(const decoder *d, role m)
{
    const decoder_config *c = &d->config;
    const char *const *name = c->arch->roles->name;
    const bool inner = m == ROLE_GATE || m == ROLE_UP || m == ROLE_GATE_UP || m == ROLE_DOWN;
    const bool parts = (m == ROLE_QUERY_KEY_VALUE && name[ROLE_QUERY]) ||
                       (m == ROLE_GATE_UP && name[ROLE_UP]) || (m == ROLE_GATE && !c->arch->gated);
    return name[m] && !(inner && c->experts) && !parts;
}

static void module_sizes(const decoder *d, role m, int64_t *in, int64_t *out)
{
    const decoder_config *c = &d->config;
    const int64_t q = c->heads * c->head_width, kv = c->kv_heads * c->head_width;
    *in = m == ROLE_ATTENTION_OUT ? q : m == ROLE_DOWN ? c->inner : c->width;
    *out = m == ROLE_QUERY                    ? q
           : m == ROLE_KEY || m == ROLE_VALUE ? kv
           : m == ROLE_QUERY_KEY_VALUE        ? q + 2 * kv
           : m == ROLE_GATE_UP                ? 2 * c->inner
           : m == ROLE_GATE || m == ROLE_UP   ? c->inner
                                              : c->width;
}

/* The name of a module in transformers, such as model.layers.3.mlp.up_proj. */
static int module_name(const decoder *d, role m, int64_t layer, char *out, size_t room)
{
    return snprintf(out, room, d->config.arch->roles->name[m], (int)layer);
}

static void factor_name(const decoder *d, role m, int64_t layer, char which, char out[NAME])
{
    size_t n = (size_t)snprintf(out, NAME, "base_model.model.");
    n += (size_t)module_name(d, m, layer, out + n, NAME - n - 16);
    snprintf(out + n, NAME - n, ".lora_%c.weight", which);
}

/* True if the list "q_proj,v_proj" has the end of the module's name. */
static bool is_target(const decoder *d, const lora *l, role m)
{
    char name[DECODER_NAME];
    const size_t n = (size_t)module_name(d, m, 0, name, sizeof name);
    for (const char *at = l->targets; at; at = strchr(at, ',')) {
        at += *at == ',';
        const size_t length = strcspn(at, ",");
        if (length > 0 && length < n && name[n - length - 1] == '.' &&
            memcmp(name + n - length, at, length) == 0)
            return true;
    }
    return !l->targets;
}

/* ---- factors --------------------------------------------------------------------------------- */

/* A (rank, in) or B (out, rank) of a module; NULL, without an error, if it has no adapter. */
static ig_array *factor_get(const decoder *d, role m, int64_t layer, char which)
{
    const lora *l = d->lora;
    int64_t in, out;
    char name[NAME];
    factor_name(d, m, layer, which, name);
    module_sizes(d, m, &in, &out);
    if (!l->trained)
        return ig_tensors_get(l->files, name);
    if (!is_target(d, l, m))
        return NULL;
    return which == 'A'
               ? ig_model_param(l->trained, name, IG_SHAPE(l->rank, in), IG_F32, IG_INIT_UNIFORM,
                                1 / sqrt((double)in))
               : ig_model_param(l->trained, name, IG_SHAPE(out, l->rank), IG_F32, IG_INIT_ZEROS, 0);
}

static ig_array *rows_of(ig_array *x, int64_t first, int64_t rows)
{
    return x ? ig_slice(x, IG_SHAPE(first, 0), IG_SHAPE(first + rows, ig_dim(x, 1)), IG_SHAPE(1, 1))
             : NULL;
}

/* The rows of a module's B that belong to a role, in the order of the base. */
static ig_array *rows_for(const decoder *d, role r, role m, ig_array *b)
{
    const decoder_config *c = &d->config;
    const int64_t q = c->heads * c->head_width, kv = c->kv_heads * c->head_width;
    const int64_t rank = b ? ig_dim(b, 1) : 0;
    const int64_t heads = r == ROLE_QUERY ? c->heads : c->kv_heads;
    if (m == ROLE_GATE_UP)
        return rows_of(b, r == ROLE_GATE ? 0 : c->inner, c->inner);
    if (m == ROLE_QUERY_KEY_VALUE && c->arch->heads_together) {
        const int64_t which = r == ROLE_QUERY ? 0 : r == ROLE_KEY ? 1 : 2;
        b = b ? ig_reshape(b, IG_SHAPE(c->heads, 3, c->head_width, rank)) : NULL;
        b = b ? ig_slice(b, IG_SHAPE(0, which), IG_SHAPE(c->heads, which + 1), IG_SHAPE(1, 1))
              : NULL;
        b = b ? ig_reshape(b, IG_SHAPE(q, rank)) : NULL;
    } else if (m == ROLE_QUERY_KEY_VALUE) {
        b = rows_of(b, r == ROLE_QUERY ? 0 : r == ROLE_KEY ? q : q + kv, r == ROLE_QUERY ? q : kv);
    }
    if (!b || !d->is_gguf || !c->arch->neighbours || (r != ROLE_QUERY && r != ROLE_KEY))
        return b;
    /* Files in which rope turns neighbouring elements have the halves of a head interleaved. */
    b = ig_permute_dims(ig_reshape(b, IG_SHAPE(heads, 2, c->head_width / 2, rank)),
                        IG_AXES(0, 2, 1, 3));
    return b ? ig_reshape(b, IG_SHAPE(heads * c->head_width, rank)) : NULL;
}

static double scale_of(const lora *l, int64_t rank)
{
    return l->alpha / (l->by_root ? sqrt((double)rank) : (double)rank);
}

/* The factors of a role: A, and the rows of scale * B. False without an error if there is no adapter. */
static bool factors_get(decoder *d, role r, int64_t layer, ig_array *factor[2])
{
    lora *l = d->lora;
    char name[2][32];
    const role m = module_of(d, r);
    for (int i = 0; i < 2; i++) {
        snprintf(name[i], sizeof name[i], "%d.%d.%d", (int)r, (int)layer, i);
        factor[i] = l->trained ? NULL : ig_tensors_get(l->kept, name[i]);
    }
    if (factor[0] && factor[1])
        return true;
    if (!is_module(d, m))
        return false;
    ig_array *a = factor_get(d, m, layer, 'A'), *b = a ? factor_get(d, m, layer, 'B') : NULL;
    if (!b)
        return false;
    b = rows_for(d, r, m, ig_astype(b, IG_F32));
    factor[0] = ig_astype(a, IG_F32);
    factor[1] = b ? ig_multiply(b, ig_float(scale_of(l, ig_dim(a, 0)))) : NULL;
    if (!factor[0] || !factor[1] || l->trained)
        return factor[0] && factor[1];
    if (ig_eval(factor, 2) != IG_OK)
        return false;
    for (int i = 0; i < 2; i++)
        if (ig_tensors_put(l->kept, name[i], factor[i]) != IG_OK)
            return false;
    return true;
}

ig_array *lora_add(decoder *d, role r, int64_t layer, ig_array *x, ig_array *y)
{
    ig_array *factor[2];
    if (!d->lora || !x || !y || layer < 0 || r == ROLE_ROUTER)
        return y;
    if (!factors_get(d, r, layer, factor))
        return ig_failed() ? NULL : y;
    if (d->lora->trained && d->lora->dropout > 0)
        x = ig_nn_dropout(d->lora->trained, x, d->lora->dropout);
    x = x ? ig_matmul(x, ig_matrix_transpose(factor[0])) : NULL;
    x = x ? ig_matmul(x, ig_matrix_transpose(factor[1])) : NULL;
    return x ? ig_add(y, x) : NULL;
}

ig_array *lora_merged(decoder *d, role r, int64_t layer, ig_array *w)
{
    ig_array *factor[2];
    if (!d->lora || !w || layer < 0 || ig_ndim(w) != 2)
        return w;
    if (!factors_get(d, r, layer, factor))
        return ig_failed() ? NULL : w;
    return ig_add(ig_astype(w, IG_F32), ig_matmul(factor[1], factor[0]));
}

/* The parts of a tensor of a GGUF file: layers that are one below the other. Returns their number. */
static int parts_of(const decoder *d, role r, const ig_array *w, role part[3])
{
    const bool both = r == ROLE_UP && d->config.arch->gated && ig_dim(w, 0) == 2 * d->config.inner;
    if (both || r == ROLE_QUERY_KEY_VALUE) {
        part[0] = both ? ROLE_GATE : ROLE_QUERY;
        part[1] = both ? ROLE_UP : ROLE_KEY;
        part[2] = ROLE_VALUE;
        return both ? 2 : 3;
    }
    part[0] = r;
    return 1;
}

ig_array *lora_merged_tensor(decoder *d, const char *name, ig_array *w)
{
    char own[DECODER_NAME];
    role part[3];
    ig_array *change[3], *factor[2];
    int layer = 0, i = 0;
    if (sscanf(name, "blk.%d.", &layer) != 1 || !w || ig_ndim(w) != 2)
        return w;
    for (; i < MODULES; i++) {
        const int n =
            snprintf(own, sizeof own - 8, roles_in_files(d->config.arch)->name[modules[i]], layer);
        snprintf(own + n, 8, ".weight");
        if (strcmp(own, name) == 0)
            break;
    }
    if (i == MODULES)
        return w;
    const role r = modules[i] == ROLE_GATE_UP ? ROLE_UP : modules[i];
    const int n = parts_of(d, r, w, part);
    for (int k = 0; k < n; k++) {
        if (!factors_get(d, part[k], layer, factor))
            return ig_failed() ? NULL : w;
        change[k] = ig_matmul(factor[1], factor[0]);
        if (!change[k])
            return NULL;
    }
    ig_array *all = n > 1 ? ig_concat(change, n, IG_AXES(0)) : change[0];
    return all ? ig_add(ig_astype(w, IG_F32), all) : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static ig_status item_count(void *context, json_text key, field value)
{
    (void)key;
    (void)value;
    ++*(int *)context;
    return IG_OK;
}

/* True for a list or an object that is not empty. */
static bool has_items(field f)
{
    int n = 0;
    return field_given(f) && field_each(f, item_count, &n) == IG_OK && n > 0;
}

/* Options of peft that change what an adapter computes. */
static ig_status options_check(const char *folder, field root)
{
    static const char *const flags[] = {"use_dora", "use_qalora", "use_bdlora", "lora_bias"};
    static const char *const lists[] = {"modules_to_save", "alpha_pattern", "layer_replication",
                                        "trainable_token_indices", "target_parameters"};
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof flags / sizeof *flags && !wrong; i++)
        wrong = field_bool(field_get(root, flags[i]), false) ? flags[i] : NULL;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !wrong; i++)
        wrong = has_items(field_get(root, lists[i])) ? lists[i] : NULL;
    if (!wrong && field_given(field_get(root, "bias")) &&
        !field_is(field_get(root, "bias"), "none"))
        wrong = "bias";
    if (!wrong && !field_is(field_get(root, "peft_type"), "LORA"))
        wrong = "peft_type";
    if (!wrong)
        return IG_OK;
    FAIL(IG_ERR_UNSUPPORTED,
         "load '%.300s/adapter_config.json': adapters with this value of '%s' are not supported; "
         "Ingot reads plain LoRA adapters of linear layers",
         folder, wrong);
}

/* Checks that both factors of each module fit, and that no tensor is left. */
static ig_status factors_check(const decoder *d, const char *folder)
{
    const ig_tensors *files = d->lora->files;
    char name[NAME];
    int found = 0;
    for (int64_t layer = 0; layer < d->config.layers; layer++)
        for (int i = 0; i < MODULES; i++) {
            int64_t in, out;
            ig_array *factor[2];
            if (!is_module(d, modules[i]))
                continue;
            module_sizes(d, modules[i], &in, &out);
            for (int k = 0; k < 2; k++) {
                factor_name(d, modules[i], layer, "AB"[k], name);
                factor[k] = ig_tensors_get(files, name);
                found += factor[k] != NULL;
            }
            if (!factor[0] && !factor[1])
                continue;
            if (!factor[0] || !factor[1] || ig_ndim(factor[0]) != 2 || ig_ndim(factor[1]) != 2 ||
                ig_dim(factor[0], 1) != in || ig_dim(factor[1], 0) != out ||
                ig_dim(factor[0], 0) != ig_dim(factor[1], 1) || ig_dim(factor[0], 0) < 1)
                FAIL(IG_ERR_FORMAT,
                     "load '%.300s': the shapes of '%s' and its other factor do not fit the model; "
                     "the adapters belong to another one",
                     folder, name);
        }
    if (found == ig_tensors_count(files) && found > 0)
        return IG_OK;
    FAIL(IG_ERR_UNSUPPORTED,
         "load '%.300s': %d of its %d tensors are factors of linear layers of '%.200s'; the "
         "adapters "
         "belong to another model, or change more than linear layers",
         folder, found, ig_tensors_count(files), d->path);
}

static ig_status config_read(lora *l, const char *folder)
{
    json_file f;
    ig_status status = json_file_open(&f, folder, "adapter_config.json", false);
    if (status == IG_OK)
        status = options_check(folder, f.root);
    if (status == IG_OK) {
        l->rank = field_int(field_get(f.root, "r"), 8);
        l->alpha = field_number(field_get(f.root, "lora_alpha"), 8);
        l->by_root = field_bool(field_get(f.root, "use_rslora"), false);
    }
    json_file_close(&f);
    return status;
}

static lora *lora_new(decoder *d)
{
    lora *l = memory_new(sizeof *l);
    if (!l)
        return NULL;
    lora_free(d->lora);
    d->lora = l;
    l->kept = ig_tensors_new();
    return l->kept ? l : NULL;
}

static ig_status files_open(decoder *d, const char *folder)
{
    char path[DECODER_PATH + 40];
    lora *l = d->lora;
    TRY(config_read(l, folder));
    snprintf(path, sizeof path, "%.4000s/adapter_model.safetensors", folder);
    l->files = ig_tensors_load(path);
    return l->files ? factors_check(d, folder) : error_waiting(IG_ERR_FILE);
}

decoder *decoder_open_adapted(const char *path, const char *folder)
{
    decoder *d = decoder_open(path);
    if (!d || !folder || (lora_new(d) && files_open(d, folder) == IG_OK))
        return d;
    decoder_close(d);
    return NULL;
}

void lora_free(lora *l)
{
    if (!l)
        return;
    ig_tensors_free(l->files);
    ig_tensors_free(l->kept);
    memory_free(l->targets);
    memory_free(l);
}

/* ---- training -------------------------------------------------------------------------------- */

/* Makes the parameters, in the order of layers, or takes those of the folder. */
static ig_status parameters_make(decoder *d)
{
    lora *l = d->lora;
    int n = 0;
    for (int64_t layer = 0; layer < d->config.layers; layer++)
        for (int i = 0; i < MODULES; i++)
            for (int k = 0; k < 2 && is_module(d, modules[i]); k++) {
                char name[NAME];
                factor_name(d, modules[i], layer, "AB"[k], name);
                ig_array *old = l->files ? ig_tensors_get(l->files, name) : NULL;
                ig_array *x = l->files && !old ? NULL : factor_get(d, modules[i], layer, "AB"[k]);
                n += x != NULL;
                if (x && old)
                    TRY(ig_model_set(l->trained, name, ig_astype(old, IG_F32)));
            }
    if (ig_failed())
        return error_waiting(IG_ERR_MEMORY);
    if (n == 0)
        FAIL(IG_ERR_ARGUMENT,
             "lora: no linear layer of '%.200s' has the name '%.100s'; names are those of the "
             "package transformers, such as q_proj",
             d->config.arch->model_type, l->targets ? l->targets : "");
    return IG_OK;
}

ig_status lora_begin(decoder *d, ig_model *m, const lora_settings *how, const char *from)
{
    lora *l = lora_new(d);
    if (!l)
        return IG_ERR_MEMORY;
    *l = (lora){.rank = how->rank, .alpha = how->alpha, .dropout = how->dropout, .kept = l->kept};
    if (from)
        TRY(files_open(d, from));
    if (l->rank < 1 || l->rank > RANK_MOST)
        FAIL(IG_ERR_ARGUMENT, "lora: the rank is from 1 to %d", RANK_MOST);
    l->targets = how->targets ? memory_text(how->targets) : NULL;
    if (how->targets && !l->targets)
        return IG_ERR_MEMORY;
    l->trained = m;
    return parameters_make(d);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The ends of the names of the modules that have adapters, which peft compares with the ends of names. */
static void targets_write(const decoder *d, text *t)
{
    bool first = true;
    for (int i = 0; i < MODULES; i++) {
        char name[DECODER_NAME];
        if (!is_module(d, modules[i]) || !is_target(d, d->lora, modules[i]))
            continue;
        module_name(d, modules[i], 0, name, sizeof name);
        const char *end = strstr(name, ".0.");
        text_add(t, first ? "" : ", ");
        json_quote(t, end ? end + 3 : name);
        first = false;
    }
}

static ig_status config_save(const decoder *d, const char *folder)
{
    const lora *l = d->lora;
    char path[DECODER_PATH + 32];
    text t = {0};
    text_add(&t, "{\n  \"base_model_name_or_path\": ");
    json_quote(&t, d->path);
    text_add(&t,
             ",\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": %s,\n  \"inference_mode\": true,\n"
             "  \"lora_alpha\": %.17g,\n  \"lora_dropout\": %.17g,\n  \"peft_type\": \"LORA\",\n"
             "  \"r\": %lld,\n  \"target_modules\": [",
             d->config.arch->transposed ? "true" : "false", l->alpha, l->dropout,
             (long long)l->rank);
    targets_write(d, &t);
    text_add(&t, "],\n  \"task_type\": \"CAUSAL_LM\",\n  \"use_rslora\": %s\n}\n",
             l->by_root ? "true" : "false");
    const size_t bytes = t.used;
    char *all = text_take(&t);
    if (!all)
        return IG_ERR_MEMORY;
    snprintf(path, sizeof path, "%.4000s/adapter_config.json", folder);
    const ig_status status = ig_write_file(path, all, bytes);
    memory_free(all);
    return status;
}

ig_status lora_save(const decoder *d, const char *folder)
{
    char path[DECODER_PATH + 40];
    const ig_model *m = d->lora->trained;
    ig_tensors *all = ig_tensors_new();
    ig_status status = all ? ig_tensors_put_text(all, "format", "pt") : IG_ERR_MEMORY;
    for (int i = 0; status == IG_OK && i < ig_model_count(m); i++)
        status = ig_tensors_put(all, ig_model_name(m, i), ig_model_get(m, ig_model_name(m, i)));
    snprintf(path, sizeof path, "%.4000s/adapter_model.safetensors", folder);
    if (status == IG_OK)
        status = ig_tensors_save(all, path);
    ig_tensors_free(all);
    return status == IG_OK ? config_save(d, folder) : status;
}

/* ---- the loss -------------------------------------------------------------------------------- */

static ig_status rope_whole(const decoder *d, int64_t n, int64_t length, ig_array *rope[4])
{
    const rope_config *r = &d->config.rope;
    const int64_t count = n * length * r->dims;
    if (r->dims == 0)
        return IG_OK;
    float *table = memory_get(2 * (size_t)count * sizeof *table);
    for (int i = 0; table && i < (r->local_base > 0 ? 4 : 2); i += 2) {
        for (int64_t k = 0; k < n; k++) {
            float *to = table + k * length * r->dims;
            rope_fill(d, i > 0, 0, length, length, to, to + count);
        }
        rope[i] = ig_from_data(table, IG_SHAPE(n * length, r->dims), IG_F32);
        rope[i + 1] = ig_from_data(table + count, IG_SHAPE(n * length, r->dims), IG_F32);
    }
    memory_free(table);
    return table ? IG_OK : IG_ERR_MEMORY;
}

ig_array *lora_loss(decoder *d, const int32_t *ids, int64_t n, int64_t length)
{
    const int64_t tokens = n * length;
    int32_t *in = memory_get(3 * (size_t)tokens * sizeof *in);
    if (!in)
        return NULL;
    int32_t *next = in + tokens, *positions = next + tokens;
    for (int64_t i = 0; i < tokens; i++) {
        const int32_t *window = ids + i / length * (length + 1) + i % length;
        in[i] = window[0];
        next[i] = window[1];
        positions[i] = (int32_t)(i % length);
    }
    network_in net = {.tokens = tokens,
                      .whole = n,
                      .all = true,
                      .ids = ig_from_data(in, IG_SHAPE(tokens), IG_I32),
                      .positions = ig_from_data(positions, IG_SHAPE(tokens), IG_I32)};
    ig_array *labels = ig_from_data(next, IG_SHAPE(tokens), IG_I32);
    memory_free(in);
    if (rope_whole(d, n, length, net.rope) != IG_OK || ig_failed())
        return NULL;
    ig_array *logits = network_build(d, &net);
    return logits && labels ? ig_cross_entropy(logits, labels, -1, NULL) : NULL;
}
