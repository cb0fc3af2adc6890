/* A text model: its configuration, its weights, and the network. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/json.h"
#include "lib/text/files.h"
#include "ingot.h"

enum { MODEL_PATH = 4096, MODEL_NAME = 256 };
#define VECTOR_NORM_EPS 1e-5    /* of torch.nn.LayerNorm, for steps after the pooling */
enum { DISTANCE_BUCKETS = 32 }; /* of MPNet; config.json's value is ignored */

typedef enum head_kind {
    HEAD_EMBED,
    HEAD_CLASSIFY,
    HEAD_TAG,
    HEAD_FILL,
    HEAD_ANSWER,
    HEADS
} head_kind;

/* The name of a head, such as "embed", and the head of a name: HEADS with an error if it is unknown. */
const char *head_name(head_kind head);
head_kind head_find(const char *function, const char *name);

/* ---- architectures -------------------------------------------------------------------------- */

/* Tensor names of a layer, without its prefix. */
typedef struct layer_names {
    const char *prefix; /* "encoder.layer.%d." */
    const char *query, *key, *value, *out, *norm1, *up, *down, *norm2;
} layer_names;

/* Keys of config.json. */
typedef struct config_keys {
    const char *width, *layers, *heads, *inner, *activation;
    const char *dropout, *attention_dropout;
    const char *classify_dropout, *tag_dropout, *answer_dropout; /* NULL: the head has none */
} config_keys;

typedef struct config_sizes {
    int64_t width, layers, heads, inner;
} config_sizes;

/* The first position of a text. After padding: positions start after the padding token's id and skip padding tokens. */
typedef enum position_kind {
    POSITIONS_FROM_0,
    POSITIONS_BEHIND_PADDING, /* pad_token_id of config.json */
    POSITIONS_BEHIND_1
} position_kind;

/* Two layers, on the hidden state of the first token. */
typedef struct classify_names {
    const char *pre, *post;
    const char *activation; /* between the two layers */
    bool in_encoder;        /* the first layer has the prefix of the encoder */
    bool dropout;           /* also before the first layer */
} classify_names;

typedef struct fill_names {
    const char *dense, *norm;
    const char *activation; /* between the layers; NULL: the encoder layers' activation */
    const char *decoder;    /* a linear layer, which may share the word embeddings */
    const char *bias;       /* name of its bias, if not decoder.bias */
} fill_names;

typedef struct architecture {
    const char *type;
    const char *prefix; /* the encoder's prefix in models with a head: "bert." */
    const layer_names *layer;
    const config_keys *keys;
    config_sizes sizes;      /* defaults for config.json */
    double classify_dropout; /* default of its key; 0: same as for hidden states */
    double eps;              /* of norms; overrides config.json. 0: layer_norm_eps */
    bool types;              /* has token types */
    position_kind positions;
    bool relative; /* attention has a bias by distance, shared by all layers */
    bool narrow;   /* embeddings have their own width: embedding_size */
    bool attention_out_dropout;
    classify_names classify;
    fill_names fill;
} architecture;

/* model_type of config.json, the prefix of its class names in transformers, and its architecture. */
typedef struct model_type {
    const char *name, *class_begin;
    const architecture *arch;
} model_type;

/* NULL if it is unknown. */
const model_type *model_type_find(const char *name);

/* Dropout probabilities in training: of hidden states, of attention, and in heads. */
typedef struct dropouts {
    double hidden, attention, classify, tag, answer;
} dropouts;

/* An activation function by its name in config.json; NULL if it is unknown. */
typedef ig_array *(*activation)(ig_array *x);
activation activation_find(const char *name);

/* How hidden states are pooled into a vector. Several poolings are concatenated. */
typedef enum pool_kind {
    POOL_CLS,
    POOL_MAX,
    POOL_MEAN,
    POOL_MEAN_SQRT, /* the sum divided by the square root of the length */
    POOL_WEIGHTED,  /* the mean, weighted by token number */
    POOL_LAST,
    POOLS
} pool_kind;

typedef struct weights {
    char folder[MODEL_PATH];
    ig_tensors **files;
    char **names; /* names of the files */
    int n;
    ig_tensors *converted; /* tensors in the dtype of the computation */
    ig_dtype dtype;
    const char *prefix; /* the encoder's prefix in these files: the architecture's, or "" */
    const ig_model *trained;
} weights;

/* A module of sentence-transformers after the pooling. */
typedef struct vector_step {
    enum { STEP_DENSE, STEP_NORM, STEP_NORMALIZE } kind;
    const char *path; /* the module's folder, relative to the model folder */
    int64_t in, out;
    bool bias;             /* STEP_DENSE */
    activation activation; /* STEP_DENSE */
    weights weights;
} vector_step;

typedef struct model_config {
    const model_type *type;
    const architecture *arch;
    head_kind head; /* HEADS: config.json does not name one */
    int64_t layers, heads, width, inner, vocabulary, positions, types;
    int64_t embedding;      /* the width of embeddings */
    int64_t padding;        /* the token that positions skip; -1: none */
    int64_t first_position; /* padding + 1 */
    int64_t buckets;        /* of distances */
    int64_t max_length;
    bool no_types; /* all token types count as 0 */
    bool lower;    /* texts are lowered before they are split */
    double eps;
    activation activation;
    dropouts dropout;
    bool tied; /* the output layer of fill shares the word embeddings */
    char **labels;
    int n_labels;
    bool many_labels, regression; /* see ig_text_info */
    /* Vectors. */
    char **modules; /* the modules' folders, relative to the model folder */
    int n_modules;
    pool_kind pools[POOLS]; /* in the order of the concatenation */
    int n_pools;
    char *prompt;      /* put before each text; NULL: nothing */
    bool hides_prompt; /* pooling leaves out the prompt's tokens */
    vector_step *steps;
    int n_steps;
    int64_t dimensions;
} model_config;

/* Reads config.json, modules.json and the files they refer to. */
ig_status config_read(model_config *c, const char *folder);
ig_status modules_read(model_config *c, const char *folder);
void config_free(model_config *c);
/* A number from a file, from 1 to 2**31 - 1. If it is absent: `otherwise`, or an error if that is 0. */
ig_status config_count(const json_file *f, const char *key, int64_t otherwise, int64_t *out);

/* ---- weights -------------------------------------------------------------------------------- */

/* Maps model.safetensors, or all shards of its index. */
ig_status weights_open(weights *w, const char *folder, ig_dtype dtype);
void weights_close(weights *w);

/* True if the tensor exists. */
bool weights_has(const weights *w, const char *name);
/* The tensor in the dtype of the computation. NULL with an error if it is missing or has another shape. */
ig_array *weights_get(weights *w, const char *name, ig_ints shape);

/* ---- the model ------------------------------------------------------------------------------ */

/* The compiled computation of batches of one shape and head. */
enum { MODEL_PLANS = 16 };
typedef struct model_plan {
    head_kind head;
    ig_math math;
    int64_t n, t;
    bool types, places, mask;
    char device[64];
    uint64_t used; /* the model's clock at the last use */
    ig_compiled *compiled;
} model_plan;

struct ig_text_model {
    model_config config;
    weights weights;
    ig_tokenizer *tokenizer;
    const char **label_list; /* for ig_text_info */
    uint64_t parameters;
    ig_model *dropping; /* draws the dropout keys; NULL: no dropout */
    dropouts dropout;
    model_plan plans[MODEL_PLANS];
    uint64_t plan_clock;
};

/* A batch of encodings as arrays: (N, T). */
typedef struct batch_arrays {
    int64_t n, t;
    ig_array *ids, *types, *mask; /* types: NULL if all are 0; mask: NULL if there is no padding */
    ig_array *places;             /* positions; NULL: all tokens count */
} batch_arrays;

ig_status batch_make(const ig_text_model *m, const ig_encoding *encodings, int n,
                     batch_arrays *out);

/* The bucket of a distance between two tokens. */
int32_t distance_bucket(int64_t distance);
/* The last hidden states. all: if not NULL, gets the hidden states after the embeddings and after each layer. */
ig_array *encoder_run(ig_text_model *m, const batch_arrays *b, ig_array **all);
ig_array *head_run(ig_text_model *m, head_kind head, ig_array *hidden, ig_array *mask);
/* The number of columns of "embed" or "classify". */
int64_t head_columns(const ig_text_model *m, head_kind head);
/* The output rows of a head for a batch, in f32. */
ig_array *rows_run(ig_text_model *m, head_kind head, const batch_arrays *b);
void plans_free(ig_text_model *m);
/* The hidden state of the first token: (N, width). */
ig_array *first_token(ig_array *hidden);
/* Opens the weights of the steps, and sets the dimension of the vectors. */
ig_status vectors_open(model_config *c, const char *folder, ig_dtype dtype);
/* The vectors of texts: (N, dimensions). mask: (N, T); NULL: no padding. */
ig_array *vectors_run(ig_text_model *m, ig_array *hidden, ig_array *mask);

/* In training: dropout(x); otherwise x. */
ig_array *dropout_run(ig_text_model *m, ig_array *x, double p);
/* layer_norm(x) over the last axis, which has that width, with the tensors name.weight and name.bias. */
ig_array *norm_run(ig_text_model *m, const char *name, ig_array *x, int64_t width);
/* x @ weight.T + bias with the tensors name.weight and name.bias. */
ig_array *linear_run(ig_text_model *m, const char *name, ig_array *x, int64_t in, int64_t out);

/* Calls visit with the name and shape of each tensor of the encoder, or of a head, until visit fails. */
typedef ig_status (*tensor_visit)(void *context, const char *name, ig_ints shape);
ig_status encoder_tensors(const ig_text_model *m, tensor_visit visit, void *context);
ig_status vector_step_tensors(const vector_step *s, tensor_visit visit, void *context);
/* The name of the first layer of the classification head. */
const char *classify_pre(const ig_text_model *m, char out[MODEL_NAME]);
/* The name of the word biases. fill_table: true if the output layer has its own table. */
const char *fill_bias(const ig_text_model *m, char out[MODEL_NAME]);
bool fill_table(const ig_text_model *m, char out[MODEL_NAME]); /* out: the table's name */
ig_status head_tensors(const ig_text_model *m, head_kind head, int64_t labels, tensor_visit visit,
                       void *context);

#endif
