/* The network of GPT-2. See gpt_net.h. */
#include "gpt_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int64_t layers, heads, width;
} sizes[] = {
    {"124M", 12, 12, 768}, {"350M", 24, 16, 1024}, {"774M", 36, 20, 1280}, {"1558M", 48, 25, 1600}};

enum { LENGTH = 1024, SIZES = sizeof sizes / sizeof *sizes };

static bool size_read(gpt_config *g, const char *word, size_t n, str *why)
{
    const struct {
        const char *name;
        int64_t *place;
    } fields[] = {
        {"layers", &g->layers}, {"heads", &g->heads}, {"width", &g->width}, {"length", &g->length}};
    for (int i = 0; i < 4; i++) {
        const size_t length = strlen(fields[i].name);
        if (n <= length || strncmp(word, fields[i].name, length) != 0 || word[length] != '=')
            continue;
        char *end;
        const long long value = strtoll(word + length + 1, &end, 10);
        if (end != word + n || value < 1 || value > 1 << 20) {
            str_printf(why, "'%.*s' is not a number from 1 to 1048576", (int)n, word);
            return false;
        }
        *fields[i].place = value;
        return true;
    }
    str_printf(why, "unknown size '%.*s'; there are layers=, heads=, width= and length=", (int)n,
               word);
    return false;
}

bool gpt_config_read(gpt_config *g, const char *text, str *why)
{
    g->layers = sizes[0].layers;
    g->heads = sizes[0].heads;
    g->width = sizes[0].width;
    g->length = LENGTH;
    while (*text) {
        const size_t n = strcspn(text, ",");
        int i = 0;
        while (i < SIZES && (strlen(sizes[i].name) != n || strncmp(sizes[i].name, text, n) != 0))
            i++;
        if (i < SIZES) {
            g->layers = sizes[i].layers;
            g->heads = sizes[i].heads;
            g->width = sizes[i].width;
        } else if (n && text[0] >= '0' && text[0] <= '9') {
            str_printf(why, "unknown size '%.*s'; there are", (int)n, text);
            for (int k = 0; k < SIZES; k++)
                str_printf(why, "%s %s", k ? "," : "", sizes[k].name);
            return false;
        } else if (!size_read(g, text, n, why)) {
            return false;
        }
        text += n + (text[n] == ',');
    }
    if (g->width % g->heads == 0)
        return true;
    str_printf(why, "a width of %lld cannot be divided among %lld heads", (long long)g->width,
               (long long)g->heads);
    return false;
}

/* ---- the graph ------------------------------------------------------------------------------- */

enum { NAME_BYTES = 64 };
#define EPS 1e-5
#define DEVIATION 0.02

static ig_array *parameter(ig_model *m, const char *layer, const char *part, ig_ints shape,
                           ig_init init, double scale)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "transformer.%s.%s", layer, part);
    return ig_model_param(m, name, shape, IG_F32, init, scale);
}

/* x @ weight + bias, with a weight (in, out). */
static ig_array *project(ig_model *m, const char *layer, ig_array *x, int64_t out, double deviation)
{
    ig_array *w =
        parameter(m, layer, "weight", IG_SHAPE(ig_dim(x, -1), out), IG_INIT_NORMAL, deviation);
    ig_array *b = parameter(m, layer, "bias", IG_SHAPE(out), IG_INIT_ZEROS, 0);
    return ig_add(ig_matmul(x, w), b);
}

static ig_array *norm(ig_model *m, const char *layer, ig_array *x)
{
    const ig_ints shape = IG_SHAPE(ig_dim(x, -1));
    ig_array *w = parameter(m, layer, "weight", shape, IG_INIT_ONES, 1);
    ig_array *b = parameter(m, layer, "bias", shape, IG_INIT_ZEROS, 0);
    return ig_layer_norm(x, w, b, IG_AXES(-1), EPS);
}

/* Part i of x (n, t, 3 * width): (n, heads, t, width / heads). */
static ig_array *heads_of(const gpt_config *g, ig_array *x, int i)
{
    const int64_t n = ig_dim(x, 0), t = ig_dim(x, 1), w = g->width;
    x = ig_slice(x, IG_SHAPE(0, 0, i * w), IG_SHAPE(n, t, (i + 1) * w), IG_SHAPE(1, 1, 1));
    return ig_permute_dims(ig_reshape(x, IG_SHAPE(n, t, g->heads, w / g->heads)),
                           IG_AXES(0, 2, 1, 3));
}

/* The sums that layers add to x: norm, then attention or inner layers. */
static ig_array *block(ig_model *m, const gpt_config *g, int64_t layer, ig_array *x)
{
    const double last = DEVIATION / sqrt(2.0 * (double)g->layers);
    char name[4][NAME_BYTES];
    const char *const parts[2][4] = {{"ln_1", "attn.c_attn", "attn.c_proj"},
                                     {"ln_2", "mlp.c_fc", "mlp.c_proj"}};
    for (int half = 0; half < 2 && x; half++) {
        for (int i = 0; i < 3; i++)
            snprintf(name[i], NAME_BYTES, "h.%lld.%s", (long long)layer, parts[half][i]);
        ig_array *y =
            project(m, name[1], norm(m, name[0], x), (half ? 4 : 3) * g->width, DEVIATION);
        if (half) {
            y = ig_gelu(y, "tanh");
        } else {
            y = ig_scaled_dot_product_attention(heads_of(g, y, 0), heads_of(g, y, 1),
                                                heads_of(g, y, 2), NULL, true, 0);
            y = ig_reshape(ig_permute_dims(y, IG_AXES(0, 2, 1, 3)), ig_shape(x));
        }
        y = project(m, name[2], y, g->width, last);
        x = ig_add(x, g->dropout > 0 ? ig_nn_dropout(m, y, g->dropout) : y);
    }
    return x;
}

ig_array *gpt_logits(ig_model *m, const gpt_config *g, ig_array *ids)
{
    ig_array *words =
        parameter(m, "wte", "weight", IG_SHAPE(g->words, g->width), IG_INIT_NORMAL, DEVIATION);
    ig_array *places =
        parameter(m, "wpe", "weight", IG_SHAPE(g->length, g->width), IG_INIT_NORMAL, DEVIATION);
    ig_array *x = ig_embedding(ids, words);
    x = ig_add(
        x, ig_slice(places, IG_SHAPE(0, 0), IG_SHAPE(ig_dim(ids, 1), g->width), IG_SHAPE(1, 1)));
    if (g->dropout > 0)
        x = ig_nn_dropout(m, x, g->dropout);
    for (int64_t i = 0; i < g->layers && x; i++)
        x = block(m, g, i, x);
    return ig_matmul(norm(m, "ln_f", x), ig_matrix_transpose(words));
}

ig_array *gpt_loss(ig_model *m, const gpt_config *g, ig_array *ids)
{
    const int64_t n = ig_dim(ids, 0), t = ig_dim(ids, 1);
    ig_array *x = ig_slice(ids, IG_SHAPE(0, 0), IG_SHAPE(n, t - 1), IG_SHAPE(1, 1));
    ig_array *next = ig_slice(ids, IG_SHAPE(0, 1), IG_SHAPE(n, t), IG_SHAPE(1, 1));
    return ig_cross_entropy(ig_astype(gpt_logits(m, g, x), IG_F32), next, -1, NULL);
}

double gpt_flops(const ig_model *m, const gpt_config *g)
{
    double weights = 0;
    for (int i = 0; i < ig_model_count(m); i++) {
        const ig_array *x = ig_model_get(m, ig_model_name(m, i));
        weights += ig_ndim(x) == 2 ? (double)ig_size(x) : 0;
    }
    weights -= (double)(g->length * g->width);                           /* positions are added */
    return 6 * weights + 6 * (double)(g->layers * g->width * g->length); /* causal attention */
}

/* ---- the model folder ------------------------------------------------------------------------ */

static ig_status config_save(const gpt_config *g, const char *folder)
{
    char path[4096];
    str t = {0};
    str_json(&t, "{architectures: [%s], model_type: %s, activation_function: %s, torch_dtype: %s",
             "GPT2LMHeadModel", "gpt2", "gelu_new", "float32");
    str_json(&t, "n_layer: %lld, n_head: %lld, n_embd: %lld, n_positions: %lld, n_ctx: %lld",
             (long long)g->layers, (long long)g->heads, (long long)g->width, (long long)g->length,
             (long long)g->length);
    str_json(&t, "vocab_size: %lld, layer_norm_epsilon: %.3g, initializer_range: %.3g",
             (long long)g->words, EPS, DEVIATION);
    str_json(&t, "embd_pdrop: %.9g, resid_pdrop: %.9g, attn_pdrop: 0, tie_word_embeddings: true",
             g->dropout, g->dropout);
    /* GPT-2's <|endoftext|>, if the vocabulary has it */
    str_json(&t, g->words > 50256 ? "bos_token_id: 50256, eos_token_id: 50256}\n"
                                  : "bos_token_id: null, eos_token_id: null}\n");
    snprintf(path, sizeof path, "%s/config.json", folder);
    const ig_status status = ig_write_file(path, t.s, t.n);
    str_free(&t);
    return status;
}

ig_status gpt_save(const ig_model *m, const gpt_config *g, const char *folder)
{
    char path[4096];
    ig_tensors *t = ig_tensors_new();
    ig_status status = t ? ig_tensors_put_text(t, "format", "pt") : IG_ERR_MEMORY;
    for (int i = 0; i < ig_model_count(m) && status == IG_OK; i++) {
        const char *name = ig_model_name(m, i);
        status = ig_tensors_put(t, name, ig_model_get(m, name));
    }
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (status == IG_OK)
        status = ig_tensors_save(t, path);
    ig_tensors_free(t);
    return status == IG_OK ? config_save(g, folder) : status;
}

ig_status gpt_load(ig_model *m, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    ig_tensors *t = ig_tensors_map(path);
    ig_status status = t ? IG_OK : IG_ERR_FILE;
    for (int i = 0; i < ig_model_count(m) && status == IG_OK; i++) {
        const char *name = ig_model_name(m, i);
        ig_array *x = ig_tensors_get(t, name);
        if (!x) /* files of the hub lack the first part of the names */
            x = ig_tensors_get(t, strchr(name, '.') + 1);
        status = x ? ig_model_set(m, name, ig_astype(x, IG_F32))
                   : ig_fail(IG_ERR_FORMAT, "%s: it has no tensor '%s'", path, name);
    }
    ig_tensors_free(t);
    return status;
}
