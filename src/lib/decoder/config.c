/* Sizes and options of a decoder: from the metadata of a GGUF file, or from config.json. */
#include "lib/decoder/decoder.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 1 << 30, LAYERS_MOST = 1 << 12 };

bool config_has_window(const decoder_config *c, int64_t layer)
{
    const window_form form = c->arch->window;
    if (c->window == 0 || form == WINDOW_NONE)
        return false;
    if (c->pattern > 0)
        return (layer + 1) % c->pattern != 0;
    return form == WINDOW_ALL || (form == WINDOW_ALTERNATE && layer % 2 == 0) ||
           (form == WINDOW_SIX && (layer + 1) % 6 != 0);
}

/* ---- GGUF ------------------------------------------------------------------------------------ */

typedef struct keys {
    const gguf *g;
    char prefix[64], name[160];
} keys;

static const char *key(keys *k, const char *name)
{
    snprintf(k->name, sizeof k->name, "%s.%s", k->prefix, name);
    return k->name;
}

static ig_status need(keys *k, const char *name, int64_t most, int64_t *out)
{
    return gguf_need_int(k->g, key(k, name), 1, most, out);
}

/* An integer that may be missing, or be a list with the same value for each layer. */
static ig_status maybe(keys *k, const char *name, int64_t otherwise, int64_t *out)
{
    const gguf_value *v = gguf_find(k->g, key(k, name));
    *out = otherwise;
    if (!v)
        return IG_OK;
    if (v->kind != GGUF_LIST)
        return gguf_need_int(k->g, k->name, 0, MOST, out);
    for (uint64_t i = 0; i < v->n; i++) {
        if (i && gguf_item_int(v, i) != *out)
            return gguf_fail(
                k->g, IG_ERR_UNSUPPORTED,
                "key '%s' differs between layers, which Ingot does not support; choose "
                "another model",
                k->name);
        *out = gguf_item_int(v, i);
    }
    return *out >= 0 && *out <= MOST
               ? IG_OK
               : gguf_fail(k->g, IG_ERR_FORMAT, "key '%s' is out of range", k->name);
}

static ig_status gguf_rope(decoder_config *c, keys *k)
{
    rope_config *r = &c->rope;
    const gguf *g = k->g;
    if (gguf_tensor_find(g, "position_embd.weight"))
        return IG_OK;
    TRY(maybe(k, "rope.dimension_count", c->head_width, &r->dims));
    r->base = gguf_number(g, key(k, "rope.freq_base"), 10000);
    if (c->arch->window == WINDOW_SIX)
        r->local_base = gguf_number(g, key(k, "rope.freq_base_swa"), 10000);
    r->factor = gguf_number(g, key(k, "rope.scaling.factor"), 1);
    r->original = gguf_int(g, key(k, "rope.scaling.original_context_length"), c->context);
    r->magnitude = gguf_number(g, key(k, "rope.scaling.attn_factor"), 0);
    r->fast = gguf_number(g, key(k, "rope.scaling.yarn_beta_fast"), 32);
    r->slow = gguf_number(g, key(k, "rope.scaling.yarn_beta_slow"), 1);
    r->exact = c->arch->limit > 0;
    if (gguf_tensor_find(g, "rope_factors_long.weight"))
        r->form = ROPE_LONG;
    else if (gguf_text_is(g, key(k, "rope.scaling.type"), "linear"))
        r->form = ROPE_LINEAR;
    else if (gguf_text_is(g, key(k, "rope.scaling.type"), "yarn"))
        r->form = ROPE_YARN;
    else if (gguf_find(g, key(k, "rope.scaling.type")) && !gguf_text_is(g, k->name, "none") &&
             !gguf_text_is(g, k->name, "llama3"))
        return gguf_fail(
            g, IG_ERR_UNSUPPORTED,
            "key '%s' names a scaling that Ingot does not support: linear, yarn, llama3 "
            "and longrope are; choose another model",
            k->name);
    return IG_OK;
}

/* Rules that hold for both sources. */
static const char *check(const decoder_config *c)
{
    if (c->heads % c->kv_heads)
        return "the number of heads is not a multiple of the number of heads of keys";
    if (c->rope.dims % 2 || c->rope.dims > c->head_width)
        return "the number of turned elements is odd, or larger than a head";
    if (c->rope.dims && !(c->rope.base > 1))
        return "the base of rope is not larger than 1";
    if (!(c->eps >= 0 && c->eps < 1) || !(c->rope.factor > 0) || c->rope.original < 1)
        return "a number of the norms or of rope is out of range";
    if (c->experts_used > c->experts)
        return "more experts are used than there are";
    if (!isfinite(c->attention_scale) || !(c->attention_cap >= 0) || !(c->logit_cap >= 0))
        return "a scale or a cap of attention is out of range";
    return NULL;
}

ig_status config_from_gguf(decoder_config *c, const gguf *g)
{
    keys k = {.g = g};
    const ig_text name = gguf_text(g, "general.architecture");
    c->arch = name.at ? architecture_by_name(name) : NULL;
    if (!c->arch)
        return gguf_fail(
            g, IG_ERR_UNSUPPORTED, "its architecture '%.*s' is not supported; supported are: %s",
            (int)(name.bytes < 40 ? name.bytes : 40), name.at ? name.at : "", architecture_list());
    if (gguf_int(g, "split.count", 1) > 1)
        return gguf_fail(
            g, IG_ERR_UNSUPPORTED,
            "it is one of %lld parts of a model, which Ingot does not join; merge them "
            "with llama-gguf-split --merge",
            (long long)gguf_int(g, "split.count", 1));
    snprintf(k.prefix, sizeof k.prefix, "%s", c->arch->name);
    TRY(need(&k, "block_count", LAYERS_MOST, &c->layers));
    TRY(need(&k, "embedding_length", MOST, &c->width));
    TRY(need(&k, "context_length", MOST, &c->context));
    TRY(need(&k, "attention.head_count", MOST, &c->heads));
    TRY(maybe(&k, "attention.head_count_kv", c->heads, &c->kv_heads));
    TRY(maybe(&k, "feed_forward_length", 0, &c->inner));
    TRY(maybe(&k, "attention.key_length", c->width / c->heads, &c->head_width));
    TRY(maybe(&k, "attention.sliding_window", 0, &c->window));
    TRY(maybe(&k, "attention.sliding_window_pattern", 0, &c->pattern));
    TRY(maybe(&k, "expert_count", 0, &c->experts));
    TRY(maybe(&k, "expert_used_count", 0, &c->experts_used));
    TRY(maybe(&k, "expert_feed_forward_length", c->inner, &c->expert_inner));
    c->experts_normed = true;
    const gguf_tensor *table = gguf_tensor_find(g, "token_embd.weight");
    if (!table || table->ndim != 2)
        return gguf_fail(g, IG_ERR_FORMAT, "the tensor 'token_embd.weight' is missing");
    c->vocabulary = table->shape[0];
    c->eps = gguf_number(g,
                         key(&k, c->arch->layer_norm ? "attention.layer_norm_epsilon"
                                                     : "attention.layer_norm_rms_epsilon"),
                         1e-5);
    c->attention_cap = gguf_number(g, key(&k, "attn_logit_softcapping"), c->arch->attention_cap);
    c->logit_cap = gguf_number(g, key(&k, "final_logit_softcapping"), c->arch->logit_cap);
    if (c->kv_heads < 1 || c->head_width < 1)
        return gguf_fail(g, IG_ERR_FORMAT, "a size of its heads is 0; convert it again");
    c->attention_scale = 1 / sqrt((double)c->head_width);
    /* The largest models of these families scale by the width instead, which their files do not say. */
    if (strcmp(c->arch->name, "gemma2") == 0 && c->layers == 46)
        c->attention_scale = 1 / sqrt((double)c->width / (double)c->heads);
    if (strcmp(c->arch->name, "gemma3") == 0 && c->layers == 62)
        c->attention_scale = 1 / sqrt((double)c->width / (double)c->heads);
    c->tied = !gguf_tensor_find(g, "output.weight");
    snprintf(c->activation, sizeof c->activation, "%s", c->arch->activation);
    TRY(gguf_rope(c, &k));
    if (c->rope.dims == 0)
        c->rope.factor = 1, c->rope.original = 1;
    const char *wrong = check(c);
    return wrong ? gguf_fail(g, IG_ERR_FORMAT, "%s; convert it again", wrong) : IG_OK;
}

/* ---- config.json ----------------------------------------------------------------------------- */

static ig_status json_fail(const json_file *f, const char *name, const char *why)
{
    FAIL(IG_ERR_FORMAT, "load '%.300s': '%s' %s", f->path, name, why);
}

/* The first of these names that has a value; NULL ends the list. */
static ig_status field_count(const json_file *f, const char *const *names, int64_t least,
                             int64_t otherwise, int64_t *out)
{
    *out = otherwise;
    for (int i = 0; names[i]; i++) {
        const field v = field_get(f->root, names[i]);
        if (!field_given(v))
            continue;
        const double number = field_number(v, -1);
        *out = field_int(v, -1);
        if (*out < least || *out > MOST || number != (double)*out)
            return json_fail(f, names[i], "is not a whole number in its range");
        return IG_OK;
    }
    return otherwise < 0 ? json_fail(f, names[0], "is missing") : IG_OK;
}

#define NAMES(...) \
    (const char *const[]) { __VA_ARGS__, NULL }

static double field_float(const json_file *f, const char *name, double otherwise)
{
    return field_number(field_get(f->root, name), otherwise);
}

/* The settings of rope, which newer files keep in rope_parameters. */
static ig_status json_rope(decoder_config *c, const json_file *f)
{
    static const char *const forms[] = {"default", "linear", "llama3", "yarn", "longrope", NULL};
    rope_config *r = &c->rope;
    field scaling = field_get(f->root, "rope_scaling"), local = {0};
    if (!field_given(scaling))
        scaling = field_get(f->root, "rope_parameters");
    if (field_given(field_get(scaling, "full_attention"))) { /* settings for each kind of layer */
        local = field_get(scaling, "sliding_attention");
        scaling = field_get(scaling, "full_attention");
    }
    r->base = field_number(field_get(scaling, "rope_theta"),
                           field_float(f, "rope_theta", field_float(f, "rotary_emb_base", 10000)));
    if (c->arch->window == WINDOW_SIX)
        r->local_base = field_number(field_get(local, "rope_theta"),
                                     field_float(f, "rope_local_base_freq", 10000));
    const double part = field_number(
        field_get(scaling, "partial_rotary_factor"),
        field_float(f, "partial_rotary_factor",
                    field_float(f, "rotary_pct", strcmp(c->arch->name, "gptneox") ? 1 : 0.25)));
    r->dims = (int64_t)((double)c->head_width * part);
    field form = field_get(scaling, "rope_type");
    if (!field_given(form))
        form = field_get(scaling, "type");
    int which = 0;
    TRY(field_choice(form, "rope_scaling.rope_type", forms, &which));
    r->form = (rope_form)which;
    r->factor = field_number(field_get(scaling, "factor"), 1);
    r->low = field_number(field_get(scaling, "low_freq_factor"), 1);
    r->high = field_number(field_get(scaling, "high_freq_factor"), 4);
    r->fast = field_number(field_get(scaling, "beta_fast"), 32);
    r->slow = field_number(field_get(scaling, "beta_slow"), 1);
    r->exact = !field_bool(field_get(scaling, "truncate"), true);
    r->magnitude = field_number(field_get(scaling, "attention_factor"), 0);
    r->original =
        field_int(field_get(scaling, "original_max_position_embeddings"),
                  field_int(field_get(f->root, "original_max_position_embeddings"), c->context));
    if (r->form == ROPE_LONG)
        r->factor = r->original > 0 ? (double)c->context / (double)r->original : 1;
    if (r->form == ROPE_LLAMA3 && !(r->high > r->low))
        return json_fail(f, "rope_scaling.high_freq_factor", "is not larger than low_freq_factor");
    return IG_OK;
}

static ig_status json_activation(decoder_config *c, const json_file *f)
{
    static const char *const known[] = {"silu",      "gelu", "gelu_new", "gelu_pytorch_tanh",
                                        "gelu_fast", "relu", NULL};
    static const char *const fields[] = {"hidden_activation", "hidden_act", "activation_function"};
    int which = -1;
    for (int i = 0; i < 3 && which < 0; i++)
        TRY(field_choice(field_get(f->root, fields[i]), fields[i], known, &which));
    snprintf(c->activation, sizeof c->activation, "%s",
             which < 0 ? c->arch->activation : known[which]);
    return IG_OK;
}

ig_status config_from_json(decoder_config *c, const json_file *f)
{
    char *type = field_text(field_get(f->root, "model_type"), NULL);
    c->arch = type ? architecture_by_type(type) : NULL;
    if (!c->arch)
        ig_fail(IG_ERR_UNSUPPORTED,
                "load '%.300s': model_type '%.40s' is not supported; supported are: %s", f->path,
                type ? type : "", architecture_list());
    memory_free(type);
    if (!c->arch)
        return IG_ERR_UNSUPPORTED;
    TRY(field_count(f, NAMES("num_hidden_layers", "n_layer"), 1, -1, &c->layers));
    TRY(field_count(f, NAMES("hidden_size", "n_embd"), 1, -1, &c->width));
    TRY(field_count(f, NAMES("num_attention_heads", "n_head"), 1, -1, &c->heads));
    TRY(field_count(f, NAMES("num_key_value_heads"), 1, c->heads, &c->kv_heads));
    TRY(field_count(f, NAMES("head_dim"), 1, c->width / c->heads, &c->head_width));
    TRY(field_count(f, NAMES("intermediate_size", "n_inner"), 1, 4 * c->width, &c->inner));
    TRY(field_count(f, NAMES("vocab_size"), 1, -1, &c->vocabulary));
    TRY(field_count(f, NAMES("max_position_embeddings", "n_positions"), 1, 2048, &c->context));
    TRY(field_count(f, NAMES("num_local_experts", "num_experts"), 0, 0, &c->experts));
    TRY(field_count(f, NAMES("num_experts_per_tok"), 0, 0, &c->experts_used));
    TRY(field_count(f, NAMES("moe_intermediate_size"), 1, c->inner, &c->expert_inner));
    if (c->layers > LAYERS_MOST)
        return json_fail(f, "num_hidden_layers", "is not a whole number in its range");
    if (!c->arch->roles->name[ROLE_ROUTER])
        c->experts = c->experts_used = 0;
    c->experts_normed =
        field_bool(field_get(f->root, "norm_topk_prob"), strcmp(c->arch->name, "qwen3moe") != 0);
    c->eps = field_float(
        f, "rms_norm_eps",
        field_float(f, "layer_norm_eps",
                    field_float(f, "layer_norm_epsilon", c->arch->layer_norm ? 1e-5 : 1e-6)));
    if (c->arch->window != WINDOW_NONE &&
        field_bool(field_get(f->root, "use_sliding_window"), true))
        TRY(field_count(f, NAMES("sliding_window"), 0, 0, &c->window));
    TRY(field_count(f, NAMES("sliding_window_pattern", "_sliding_window_pattern"), 0, 0,
                    &c->pattern));
    const double scalar = field_float(f, "query_pre_attn_scalar", (double)c->head_width);
    c->attention_scale = 1 / sqrt(scalar);
    if (c->arch->attention_cap > 0)
        c->attention_cap = field_float(f, "attn_logit_softcapping", 0);
    if (c->arch->scales_embedding)
        c->logit_cap = field_float(f, "final_logit_softcapping", 0);
    c->tied = field_bool(field_get(f->root, "tie_word_embeddings"), c->arch->tied);
    if (c->arch->roles->name[ROLE_POSITIONS])
        c->rope.factor = 1, c->rope.original = 1;
    else
        TRY(json_rope(c, f));
    if (c->arch->limit > 0 && (field_float(f, "swiglu_limit", c->arch->limit) != c->arch->limit ||
                               field_float(f, "swiglu_alpha", 1.702) != 1.702))
        return json_fail(f, "swiglu_limit",
                         "or swiglu_alpha has a value that Ingot does not support");
    if (strcmp(c->arch->name, "gptneox") == 0 &&
        !field_bool(field_get(f->root, "use_parallel_residual"), true))
        return json_fail(f, "use_parallel_residual", "is false, which Ingot does not support");
    TRY(json_activation(c, f));
    const char *wrong = check(c);
    return wrong ? json_fail(f, "config", wrong) : IG_OK;
}
