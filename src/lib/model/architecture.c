/* The architectures of text models: tensor names, keys of config.json and their defaults, as in transformers. A new
 * architecture of this kind needs only a new row. See model.h. */
#include "lib/model/model.h"

#include "base/error.h"

#include <string.h>

static const layer_names bert_layer = {
    .prefix = "encoder.layer.%d.",
    .query = "attention.self.query",
    .key = "attention.self.key",
    .value = "attention.self.value",
    .out = "attention.output.dense",
    .norm1 = "attention.output.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .norm2 = "output.LayerNorm",
};

static const layer_names distilbert_layer = {
    .prefix = "transformer.layer.%d.",
    .query = "attention.q_lin",
    .key = "attention.k_lin",
    .value = "attention.v_lin",
    .out = "attention.out_lin",
    .norm1 = "sa_layer_norm",
    .up = "ffn.lin1",
    .down = "ffn.lin2",
    .norm2 = "output_layer_norm",
};

static const layer_names mpnet_layer = {
    .prefix = "encoder.layer.%d.",
    .query = "attention.attn.q",
    .key = "attention.attn.k",
    .value = "attention.attn.v",
    .out = "attention.attn.o",
    .norm1 = "attention.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .norm2 = "output.LayerNorm",
};

static const config_keys bert_keys = {
    .width = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .inner = "intermediate_size",
    .activation = "hidden_act",
    .dropout = "hidden_dropout_prob",
    .attention_dropout = "attention_probs_dropout_prob",
    .classify_dropout = "classifier_dropout",
    .tag_dropout = "classifier_dropout",
};

static const config_keys distilbert_keys = {
    .width = "dim",
    .layers = "n_layers",
    .heads = "n_heads",
    .inner = "hidden_dim",
    .activation = "activation",
    .dropout = "dropout",
    .attention_dropout = "attention_dropout",
    .classify_dropout = "seq_classif_dropout",
    .tag_dropout = "dropout",
    .answer_dropout = "qa_dropout",
};

/* Sizes of the base models. A macro, because clang 14 does not accept an object as an initializer of static data. */
#define BASE_SIZES \
    { \
        .width = 768, .layers = 12, .heads = 12, .inner = 3072 \
    }

/* Heads that several architectures have. */
#define DENSE_HEAD(function) \
    { \
        .pre = "classifier.dense", .dropout = true, .activation = function, \
        .post = "classifier.out_proj" \
    }
#define LM_HEAD \
    { \
        .dense = "lm_head.dense", .activation = "gelu", .norm = "lm_head.layer_norm", \
        .decoder = "lm_head.decoder", .bias = "lm_head.bias" \
    }

static const architecture bert = {
    .type = "bert",
    .prefix = "bert.",
    .layer = &bert_layer,
    .keys = &bert_keys,
    .sizes = BASE_SIZES,
    .attention_out_dropout = true,
    .types = true,
    .classify = {.pre = "pooler.dense",
                 .in_encoder = true,
                 .activation = "tanh",
                 .post = "classifier"},
    .fill = {.dense = "cls.predictions.transform.dense",
             .norm = "cls.predictions.transform.LayerNorm",
             .decoder = "cls.predictions.decoder",
             .bias = "cls.predictions.bias"},
};

static const architecture distilbert = {
    .type = "distilbert",
    .prefix = "distilbert.",
    .layer = &distilbert_layer,
    .keys = &distilbert_keys,
    .sizes = {.width = 768, .layers = 6, .heads = 12, .inner = 3072},
    .classify_dropout = 0.2,
    .eps = 1e-12,
    .classify = {.pre = "pre_classifier", .activation = "relu", .post = "classifier"},
    .fill = {.dense = "vocab_transform",
             .norm = "vocab_layer_norm",
             .decoder = "vocab_projector",
             .bias = "vocab_projector.bias"},
};

static const architecture roberta = {
    .type = "roberta",
    .prefix = "roberta.",
    .layer = &bert_layer,
    .keys = &bert_keys,
    .sizes = BASE_SIZES,
    .attention_out_dropout = true,
    .types = true,
    .positions = POSITIONS_BEHIND_PADDING,
    .classify = DENSE_HEAD("tanh"),
    .fill = LM_HEAD,
};

static const architecture mpnet = {
    .type = "mpnet",
    .prefix = "mpnet.",
    .layer = &mpnet_layer,
    .keys = &bert_keys,
    .sizes = BASE_SIZES,
    .attention_out_dropout = true,
    .positions = POSITIONS_BEHIND_1,
    .relative = true,
    .classify = DENSE_HEAD("tanh"),
    .fill = LM_HEAD,
};

static const architecture electra = {
    .type = "electra",
    .prefix = "electra.",
    .layer = &bert_layer,
    .keys = &bert_keys,
    .sizes = {.width = 256, .layers = 12, .heads = 4, .inner = 1024},
    .attention_out_dropout = true,
    .types = true,
    .narrow = true,
    .classify = DENSE_HEAD("gelu"),
    .fill = {.dense = "generator_predictions.dense",
             .activation = "gelu",
             .norm = "generator_predictions.LayerNorm",
             .decoder = "generator_lm_head",
             .bias = "generator_lm_head.bias"},
};

static const model_type types[] = {
    {"bert", "Bert", &bert},
    {"distilbert", "DistilBert", &distilbert},
    {"roberta", "Roberta", &roberta},
    {"xlm-roberta", "XLMRoberta", &roberta},
    {"camembert", "Camembert", &roberta},
    {"mpnet", "MPNet", &mpnet},
    {"electra", "Electra", &electra},
};

const model_type *model_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

/* ---- activations ---------------------------------------------------------------------------- */

static ig_array *gelu(ig_array *x) { return ig_gelu(x, "none"); }
static ig_array *gelu_tanh(ig_array *x) { return ig_gelu(x, "tanh"); }
static ig_array *linear(ig_array *x) { return x; }

activation activation_find(const char *name)
{
    static const struct {
        const char *name;
        activation run;
    } rows[] = {{"gelu", gelu},           {"gelu_python", gelu},
                {"gelu_new", gelu_tanh},  {"gelu_pytorch_tanh", gelu_tanh},
                {"gelu_fast", gelu_tanh}, {"relu", ig_relu},
                {"silu", ig_silu},        {"swish", ig_silu},
                {"tanh", ig_tanh},        {"sigmoid", ig_sigmoid},
                {"linear", linear}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].run;
    return NULL;
}

/* ---- heads ---------------------------------------------------------------------------------- */

static const char *const head_names[HEADS] = {"embed", "classify", "tag", "fill", "answer"};

const char *head_name(head_kind head) { return head_names[head]; }

head_kind head_find(const char *function, const char *name)
{
    for (int i = 0; i < HEADS; i++)
        if (name && strcmp(head_names[i], name) == 0)
            return (head_kind)i;
    ig_fail(IG_ERR_ARGUMENT,
            "%s: the head '%.40s' is not known; there are embed, classify, tag, fill and answer",
            function, name ? name : "(NULL)");
    return HEADS;
}
