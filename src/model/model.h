/* A text model: what its folder says, its weights, and the network. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/json.h"
#include "text/field.h"

enum { MODEL_PATH = 4096, MODEL_NAME = 256 };

typedef enum head_kind {
    HEAD_EMBED,
    HEAD_CLASSIFY,
    HEAD_TAG,
    HEAD_FILL,
    HEAD_ANSWER,
    HEADS
} head_kind;

/* "embed" and so on. HEADS with an error if it is unknown. */
const char *head_name(head_kind head);
head_kind head_find(const char *function, const char *name);

/* ---- architectures -------------------------------------------------------------------------- */

/* Names of the tensors of an architecture. Those of a layer follow its prefix. */
typedef struct architecture {
    const char *type;   /* model_type of config.json */
    const char *prefix; /* of the encoder in models with a head: "bert." */
    const char *layer;  /* "encoder.layer.%d." */
    const char *query, *key, *value, *out, *norm1, *up, *down, *norm2;
    /* Keys of config.json. */
    const char *width_key, *layers_key, *heads_key, *inner_key, *activation_key;
    bool types;             /* it has token types */
    bool padded_positions;  /* the first position is behind that of the padding token */
    bool relative;          /* attention has a bias by distance, which all layers share */
    const char *pre, *post; /* the two layers of the classification head */
    bool pre_in_encoder;    /* its first layer has the prefix of the encoder */
    const char *pre_activation;
    const char *fill_dense, *fill_norm, *fill_decoder, *fill_bias;
} architecture;

const architecture *architecture_find(const char *type);

typedef struct model_config {
    const architecture *arch;
    head_kind head;
    int64_t layers, heads, width, inner, vocabulary, positions, types;
    int64_t first_position; /* behind the padding token, or 0 */
    int64_t buckets;        /* of distances */
    int64_t max_length;
    double eps;
    char activation[32];
    bool tied; /* the output of fill uses the table of words */
    char **labels;
    int n_labels;
    bool many_labels;
    /* Vectors. */
    enum { POOL_MEAN, POOL_CLS, POOL_MAX } pooling;
    bool root_length; /* the sum over the root of the length, instead of the mean */
    bool normalize;
} model_config;

/* Reads config.json, modules.json and what belongs to them. */
ig_status config_read(model_config *c, const char *folder);
void config_free(model_config *c);

/* ---- weights -------------------------------------------------------------------------------- */

typedef struct weights {
    char folder[MODEL_PATH];
    ig_tensors **files;
    char **names; /* of the files */
    int n;
    ig_tensors *converted; /* to the dtype of the computation */
    ig_dtype dtype;
    const char *prefix; /* of the encoder in these files: that of the architecture, or "" */
    const ig_model *trained;
} weights;

/* Maps model.safetensors, or all shards of its index. */
ig_status weights_open(weights *w, const char *folder, ig_dtype dtype);
void weights_close(weights *w);

/* True if there is a tensor of that name. */
bool weights_has(const weights *w, const char *name);
/* The tensor of that name and shape in the dtype of the computation; NULL with an error that says what is expected. */
ig_array *weights_get(weights *w, const char *name, ig_ints shape);

/* ---- the model ------------------------------------------------------------------------------ */

struct ig_text_model {
    model_config config;
    weights weights;
    ig_tokenizer *tokenizer;
    const char **label_list; /* for ig_text_info */
    uint64_t parameters;
};

/* A batch of encodings as arrays: (N, T). */
typedef struct batch_arrays {
    int64_t n, t;
    ig_array *ids, *types, *mask; /* types is NULL if all are 0, mask if nothing is padding */
} batch_arrays;

ig_status batch_make(const ig_text_model *m, const ig_encoding *encodings, int n,
                     batch_arrays *out);

/* The last hidden states. all, if not NULL, gets those behind the embeddings and behind each layer. */
ig_array *encoder_run(ig_text_model *m, const batch_arrays *b, ig_array **all);
ig_array *head_run(ig_text_model *m, head_kind head, ig_array *hidden, ig_array *mask);

/* x @ weight.T + bias with the tensors name.weight and name.bias. */
ig_array *linear_run(ig_text_model *m, const char *name, ig_array *x, int64_t in, int64_t out);
ig_array *activation_run(const char *name, ig_array *x);

/* Visits the names and shapes of all tensors of the encoder, or of a head, until visit fails. */
typedef ig_status (*tensor_visit)(void *context, const char *name, ig_ints shape);
ig_status encoder_tensors(const ig_text_model *m, tensor_visit visit, void *context);
ig_status head_tensors(const ig_text_model *m, head_kind head, int64_t labels, tensor_visit visit,
                       void *context);

#endif
