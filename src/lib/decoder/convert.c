/* A model folder as a GGUF file. The tokenizer is the folder's tokenizer.json, under the key that the GGUF format has for it. The
 * file is read again before it is given out: what its metadata cannot say is refused. */
#include "lib/decoder/quantize.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/decoder/lora.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- metadata -------------------------------------------------------------------------------- */

typedef struct metadata {
    gguf_writer *w;
    const char *prefix;
    char name[160];
} metadata;

static const char *key(metadata *m, const char *name)
{
    snprintf(m->name, sizeof m->name, "%s.%s", m->prefix, name);
    return m->name;
}

static void count(metadata *m, const char *name, int64_t value)
{
    if (value > 0)
        gguf_write_int(m->w, key(m, name), GGUF_U32, value);
}

static void number(metadata *m, const char *name, double value)
{
    gguf_write_number(m->w, key(m, name), GGUF_F32, value);
}

static ig_text plain(const char *s) { return (ig_text){s, strlen(s)}; }

static void rope_write(metadata *m, const rope_config *r)
{
    static const char *const names[] = {[ROPE_LINEAR] = "linear", [ROPE_YARN] = "yarn"};
    if (r->dims == 0)
        return;
    count(m, "rope.dimension_count", r->dims);
    number(m, "rope.freq_base", r->base);
    if (r->local_base > 0)
        number(m, "rope.freq_base_swa", r->local_base);
    if (r->form != ROPE_LINEAR && r->form != ROPE_YARN)
        return;
    gguf_write_text(m->w, key(m, "rope.scaling.type"), plain(names[r->form]));
    number(m, "rope.scaling.factor", r->factor);
    count(m, "rope.scaling.original_context_length", r->original);
    if (r->form == ROPE_YARN) {
        number(m, "rope.scaling.yarn_beta_fast", r->fast);
        number(m, "rope.scaling.yarn_beta_slow", r->slow);
    }
    if (r->magnitude > 0)
        number(m, "rope.scaling.attn_factor", r->magnitude);
}

static void config_write(gguf_writer *w, const decoder *d)
{
    const decoder_config *c = &d->config;
    metadata m = {.w = w, .prefix = c->arch->name};
    gguf_write_text(w, "general.architecture", plain(c->arch->name));
    count(&m, "block_count", c->layers);
    count(&m, "embedding_length", c->width);
    count(&m, "context_length", c->context);
    count(&m, "attention.head_count", c->heads);
    count(&m, "attention.head_count_kv", c->kv_heads);
    count(&m, "attention.key_length", c->head_width);
    count(&m, "attention.value_length", c->head_width);
    count(&m, "feed_forward_length", c->inner);
    count(&m, "attention.sliding_window", c->window);
    count(&m, "attention.sliding_window_pattern", c->pattern);
    count(&m, "expert_count", c->experts);
    count(&m, "expert_used_count", c->experts_used);
    if (c->experts)
        count(&m, "expert_feed_forward_length", c->expert_inner);
    number(&m,
           c->arch->layer_norm ? "attention.layer_norm_epsilon"
                               : "attention.layer_norm_rms_epsilon",
           c->eps);
    if (c->attention_cap > 0)
        number(&m, "attn_logit_softcapping", c->attention_cap);
    if (c->logit_cap > 0)
        number(&m, "final_logit_softcapping", c->logit_cap);
    rope_write(&m, &c->rope);
}

/* Copies a text file of the folder, which may be missing. */
static ig_status file_write(gguf_writer *w, const char *folder, const char *name, const char *under)
{
    char path[DECODER_PATH + 32];
    char *data = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const ig_status status = file_read_whole(path, true, &data, &bytes);
    if (status == IG_OK && data)
        gguf_write_text(w, under, (ig_text){data, bytes});
    free(data);
    return status;
}

static ig_status tokens_write(gguf_writer *w, const decoder *d)
{
    char path[DECODER_PATH + 32];
    json_file f;
    tokens_of *k = tokens_open(d);
    if (!k)
        return error_waiting(IG_ERR_FILE);
    const int32_t *ends;
    const int n = tokens_ends(k, &ends);
    gguf_write_list(w, "tokenizer.ggml.eos_token_ids", GGUF_I32, ends, (uint64_t)n);
    tokens_close(k);
    snprintf(path, sizeof path, "%s/tokenizer.json", d->path);
    if (!file_exists(path))
        FAIL(IG_ERR_UNSUPPORTED,
             "quantize: '%.300s' has no tokenizer.json; write one with transformers' AutoTokenizer "
             "and "
             "save_pretrained",
             d->path);
    TRY(file_write(w, d->path, "tokenizer.json", "tokenizer.huggingface.json"));
    snprintf(path, sizeof path, "%s/chat_template.jinja", d->path);
    if (file_exists(path))
        return file_write(w, d->path, "chat_template.jinja", "tokenizer.chat_template");
    TRY(json_file_open(&f, d->path, "tokenizer_config.json", true));
    size_t bytes = 0;
    char *source = field_text(field_get(f.root, "chat_template"), &bytes);
    if (source)
        gguf_write_text(w, "tokenizer.chat_template", (ig_text){source, bytes});
    memory_free(source);
    json_file_close(&f);
    return IG_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* The shape of a role's tensor; {0} axes: this model has no such tensor. */
static ig_ints shape_of(const decoder *d, role r, int64_t v[3])
{
    const decoder_config *c = &d->config;
    const int64_t q = c->heads * c->head_width, kv = c->kv_heads * c->head_width;
    const int64_t rows[ROLES][4] = {
        /* axes, then lengths */
        [ROLE_EMBEDDING] = {2, c->vocabulary, c->width},
        [ROLE_POSITIONS] = {c->rope.dims ? 0 : 2, c->context, c->width},
        [ROLE_OUT_NORM] = {1, c->width},
        [ROLE_OUT] = {c->tied ? 0 : 2, c->vocabulary, c->width},
        [ROLE_ATTENTION_NORM] = {1, c->width},
        [ROLE_QUERY] = {2, q, c->width},
        [ROLE_KEY] = {2, kv, c->width},
        [ROLE_VALUE] = {2, kv, c->width},
        [ROLE_QUERY_NORM] = {1, c->head_width},
        [ROLE_KEY_NORM] = {1, c->head_width},
        [ROLE_SINKS] = {1, c->heads},
        [ROLE_ATTENTION_OUT] = {2, c->width, q},
        [ROLE_ATTENTION_AFTER] = {1, c->width},
        [ROLE_INNER_NORM] = {1, c->width},
        [ROLE_GATE] = {c->experts || !c->arch->gated ? 0 : 2, c->inner, c->width},
        [ROLE_UP] = {c->experts ? 0 : 2, c->inner, c->width},
        [ROLE_DOWN] = {c->experts ? 0 : 2, c->width, c->inner},
        [ROLE_INNER_AFTER] = {1, c->width},
        [ROLE_ROUTER] = {c->experts ? 2 : 0, c->experts, c->width},
        [ROLE_EXPERT_GATE] = {c->experts ? 3 : 0, c->experts, c->expert_inner, c->width},
        [ROLE_EXPERT_UP] = {c->experts ? 3 : 0, c->experts, c->expert_inner, c->width},
        [ROLE_EXPERT_DOWN] = {c->experts ? 3 : 0, c->experts, c->width, c->expert_inner}};
    memcpy(v, rows[r] + 1, 3 * sizeof *v);
    return (ig_ints){v, (int)rows[r][0]};
}

/* Rows of queries and keys in the order of files whose rope turns neighbouring elements. */
static ig_array *rows_interleave(ig_array *x, int64_t heads, int64_t width)
{
    const int64_t rest = ig_size(x) / (heads * width);
    ig_array *y =
        ig_permute_dims(ig_reshape(x, IG_SHAPE(heads, 2, width / 2, rest)), IG_AXES(0, 2, 1, 3));
    return y ? ig_reshape(y, ig_shape(x)) : NULL;
}

typedef struct converting {
    decoder *d;
    gguf_writer *w;
    const quantize_choice *choice;
    bool declares; /* otherwise it writes the data */
} converting;

static ig_status tensor_convert(converting *t, role r, int64_t layer, bool bias)
{
    decoder *d = t->d;
    const decoder_config *c = &d->config;
    int64_t v[3];
    char name[DECODER_NAME];
    ig_ints shape = shape_of(d, r, v);
    if (shape.n == 0)
        return IG_OK;
    shape.n = !bias ? shape.n : shape.n == 3 ? 2 : 1;
    ig_array *x = weight_get(d, r, layer, bias, true, shape);
    if (!x)
        return ig_failed() ? error_waiting(IG_ERR_FORMAT) : IG_OK;
    size_t n = (size_t)snprintf(name, sizeof name, roles_in_files(c->arch)->name[r], (int)layer);
    snprintf(name + n, sizeof name - n, bias ? ".bias" : ".weight");
    gguf_tensor as = {.name = {name, strlen(name)}, .ndim = shape.n};
    memcpy(as.shape, v, sizeof v);
    const int type = quantize_type(t->choice, &as);
    if (t->declares) {
        gguf_write_tensor(t->w, name, type, v, shape.n);
        return IG_OK;
    }
    if (!bias)
        x = lora_merged(d, r, layer, x);
    if (c->arch->neighbours && (r == ROLE_QUERY || r == ROLE_KEY))
        x = rows_interleave(ig_astype(x, IG_F32), r == ROLE_QUERY ? c->heads : c->kv_heads,
                            c->head_width);
    return quantize_write(t->w, x, type);
}

static ig_status tensors_convert(converting *t)
{
    const decoder_config *c = &t->d->config;
    for (int r = 0; r < ROLES; r++) {
        const char *name = roles_in_files(c->arch)->name[r];
        if (!name || r == ROLE_QUERY_KEY_VALUE || r == ROLE_GATE_UP)
            continue;
        const int64_t layers = strchr(name, '%') ? c->layers : 1;
        for (int64_t i = 0; i < 2 * layers; i++) {
            TRY(ig_scope_begin());
            const ig_status status =
                tensor_convert(t, (role)r, strchr(name, '%') ? i / 2 : -1, i % 2 == 1);
            ig_scope_end();
            TRY(status);
        }
    }
    if (c->rope.form != ROPE_LLAMA3)
        return IG_OK;
    const int64_t n = c->rope.dims / 2;
    if (t->declares) {
        gguf_write_tensor(t->w, "rope_freqs.weight", GGUF_TYPE_F32, &n, 1);
        return IG_OK;
    }
    float *divisors = memory_get((size_t)n * sizeof *divisors);
    if (!divisors)
        return IG_ERR_MEMORY;
    rope_llama3(&c->rope, divisors);
    const ig_status status = gguf_write_data(t->w, divisors, (size_t)n * sizeof *divisors);
    memory_free(divisors);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What the file says must be what the folder says. */
static const char *difference(const decoder_config *a, const decoder_config *b)
{
    const bool window = a->window > 0 && a->window < a->context;
    for (int64_t i = 0; window && i < a->layers; i++)
        if (config_has_window(a, i) != config_has_window(b, i))
            return "its sliding window";
    if (strcmp(a->activation, b->activation) != 0 &&
        !(strncmp(a->activation, "gelu_", 5) == 0 && strncmp(b->activation, "gelu_", 5) == 0))
        return "its activation";
    if (fabs(a->attention_scale - b->attention_scale) > 1e-6 * a->attention_scale)
        return "its scale of attention";
    if (a->rope.form == ROPE_LONG || a->rope.dims != b->rope.dims ||
        (a->arch->neighbours && a->rope.dims && a->rope.dims != a->head_width))
        return "its form of rope";
    return a->experts && !a->experts_normed ? "its sums of experts" : NULL;
}

static ig_status file_check(const decoder *d, const char *path)
{
    gguf *g = gguf_open(path);
    decoder_config c = {0};
    ig_status status = g ? config_from_gguf(&c, g) : error_waiting(IG_ERR_FILE);
    const char *lost = status == IG_OK ? difference(&d->config, &c) : NULL;
    gguf_close(g);
    if (lost)
        status = ig_fail(IG_ERR_UNSUPPORTED,
                         "quantize: a GGUF file of '%s' cannot say %s; use the folder as it is",
                         d->config.arch->name, lost);
    if (status != IG_OK)
        unlink(path);
    return status;
}

ig_status decoder_convert(const char *folder, const char *adapters, const quantize_choice *choice,
                          const char *to)
{
    decoder *d = decoder_open_adapted(folder, adapters);
    gguf_writer *w = d ? gguf_write_new() : NULL;
    if (!w) {
        decoder_close(d);
        return error_waiting(IG_ERR_FILE);
    }
    converting t = {.d = d, .w = w, .choice = choice, .declares = true};
    config_write(w, d);
    gguf_write_int(w, "general.file_type", GGUF_U32, choice->file_type);
    gguf_write_int(w, "general.quantization_version", GGUF_U32, 2);
    ig_status status = tokens_write(w, d);
    if (status == IG_OK)
        status = tensors_convert(&t);
    if (status == IG_OK)
        status = gguf_write_begin(w, to);
    t.declares = false;
    if (status == IG_OK)
        status = tensors_convert(&t);
    status = gguf_write_end(w, status);
    if (status == IG_OK)
        status = file_check(d, to);
    decoder_close(d);
    return status;
}
