/* A text model: what its folder says, its weights, and the network. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/json.h"
#include "lib/text/files.h"

enum { MODEL_PATH = 4096, MODEL_NAME = 256 };
enum { DISTANCE_BUCKETS = 32 }; /* of MPNet, whatever config.json says */

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

/* Names of the tensors of a layer, behind its prefix. */
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

/* The first position of a text. Behind the padding token: positions count the tokens that differ from it. */
typedef enum position_kind {
    POSITIONS_FROM_0,
    POSITIONS_BEHIND_PADDING, /* pad_token_id of config.json */
    POSITIONS_BEHIND_1
} position_kind;

/* Two layers, on the hidden state of the first token. */
typedef struct classify_names {
    const char *pre, *post;
    const char *activation; /* between them */
    bool in_encoder;        /* the first one has the prefix of the encoder */
    bool dropout;           /* before the first one too */
} classify_names;

typedef struct fill_names {
    const char *dense, *norm;
    const char *activation; /* between them; NULL: that of the layers */
    const char *decoder;    /* a linear layer, which may share the table of words */
    const char *bias;       /* its bias, if it is not decoder.bias */
} fill_names;

typedef struct architecture {
    const char *type;
    const char *prefix; /* of the encoder in models with a head: "bert." */
    const layer_names *layer;
    const config_keys *keys;
    config_sizes sizes;      /* the defaults of config.json */
    double classify_dropout; /* the default of that key; 0: as for hidden states */
    double eps;              /* of norms, whatever config.json says; 0: layer_norm_eps */
    bool types;              /* it has token types */
    position_kind positions;
    bool relative; /* attention has a bias by distance, which all layers share */
    bool narrow;   /* embeddings have a width of their own: embedding_size */
    bool attention_out_dropout;
    classify_names classify;
    fill_names fill;
} architecture;

/* model_type of config.json, the begin of the names of its classes in transformers, and what it is. */
typedef struct model_type {
    const char *name, *class_begin;
    const architecture *arch;
} model_type;

/* NULL if it is unknown. */
const model_type *model_type_find(const char *name);

/* Probabilities of dropout in training, of hidden states, of attention and in heads. */
typedef struct dropouts {
    double hidden, attention, classify, tag, answer;
} dropouts;

/* An activation function by its name in config.json; NULL if it is unknown. */
typedef ig_array *(*activation)(ig_array *x);
activation activation_find(const char *name);

/* How hidden states become a vector. Several vectors are joined. */
typedef enum pool_kind {
    POOL_CLS,
    POOL_MAX,
    POOL_MEAN,
    POOL_MEAN_SQRT, /* the sum over the root of the length */
    POOL_WEIGHTED,  /* the mean, weighted by the number of the token */
    POOL_LAST,
    POOLS
} pool_kind;

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

/* A module of sentence-transformers behind the pooling. */
typedef struct vector_step {
    enum { STEP_DENSE, STEP_NORM, STEP_NORMALIZE } kind;
    const char *path; /* the folder of the module, in the model folder */
    int64_t in, out;
    bool bias;             /* STEP_DENSE */
    activation activation; /* STEP_DENSE */
    weights weights;
} vector_step;

typedef struct model_config {
    const model_type *type;
    const architecture *arch;
    head_kind head; /* HEADS: config.json does not say */
    int64_t layers, heads, width, inner, vocabulary, positions, types;
    int64_t embedding;      /* the width of embeddings */
    int64_t padding;        /* the token that positions do not count; -1: they count all */
    int64_t first_position; /* padding + 1 */
    int64_t buckets;        /* of distances */
    int64_t max_length;
    bool no_types; /* all types of tokens count as 0 */
    bool lower;    /* texts are in lower case before they are split */
    double eps;
    activation activation;
    dropouts dropout;
    bool tied; /* the output of fill uses the table of words */
    char **labels;
    int n_labels;
    bool many_labels, regression; /* see ig_text_info */
    /* Vectors. */
    char **modules; /* their folders in the model folder */
    int n_modules;
    pool_kind pools[POOLS]; /* in the order of their vectors */
    int n_pools;
    char *prompt;      /* put before each text; NULL: nothing */
    bool hides_prompt; /* pooling leaves it out */
    vector_step *steps;
    int n_steps;
    int64_t dimensions;
} model_config;

/* Reads config.json, modules.json and what belongs to them. */
ig_status config_read(model_config *c, const char *folder);
ig_status modules_read(model_config *c, const char *folder);
void config_free(model_config *c);
/* A number of a file, from 1 to 2**31 - 1; `otherwise` if it is absent, or an error if that is 0. */
ig_status config_count(const json_file *f, const char *key, int64_t otherwise, int64_t *out);

/* ---- weights -------------------------------------------------------------------------------- */

/* Maps model.safetensors, or all shards of its index. */
ig_status weights_open(weights *w, const char *folder, ig_dtype dtype);
void weights_close(weights *w);

/* True if there is a tensor of that name. */
bool weights_has(const weights *w, const char *name);
/* The tensor of that name and shape in the dtype of the computation; NULL with an error that says what is expected. */
ig_array *weights_get(weights *w, const char *name, ig_ints shape);
/* n tensors of that shape, joined along their first axis, in the dtype of the computation. They are joined once, on the
 * host, so that a device needs no memory for each of them. NULL, perhaps without an error, if they cannot be. */
ig_array *weights_joined(weights *w, const char *const *names, int n, ig_ints shape);

/* ---- the model ------------------------------------------------------------------------------ */

/* Batches of one shape, for one head: how often they ran, and their computation from the second one on. */
enum { MODEL_PLANS = 16 };
typedef struct model_plan {
    head_kind head;
    ig_math math;
    int64_t n, t;
    bool types, places, mask;
    char device[64];
    int runs;
    uint64_t used; /* the model's clock when it was last used */
    ig_compiled *compiled;
} model_plan;

struct ig_text_model {
    model_config config;
    weights weights;
    ig_tokenizer *tokenizer;
    const char **label_list; /* for ig_text_info */
    uint64_t parameters;
    ig_model *dropping; /* draws the keys of dropout; NULL: there is none */
    dropouts dropout;
    model_plan plans[MODEL_PLANS];
    uint64_t plan_clock;
};

/* A batch of encodings as arrays: (N, T). */
typedef struct batch_arrays {
    int64_t n, t;
    ig_array *ids, *types, *mask; /* types is NULL if all are 0, mask if nothing is padding */
    ig_array *places;             /* positions; NULL: they count all tokens */
} batch_arrays;

ig_status batch_make(const ig_text_model *m, const ig_encoding *encodings, int n,
                     batch_arrays *out);

/* The last hidden states. all, if not NULL, gets those behind the embeddings and behind each layer. */
ig_array *encoder_run(ig_text_model *m, const batch_arrays *b, ig_array **all);
ig_array *head_run(ig_text_model *m, head_kind head, ig_array *hidden, ig_array *mask);
/* The columns of "embed" or "classify". */
int64_t head_columns(const ig_text_model *m, head_kind head);
/* The rows of a head in f32, for a batch. */
ig_array *rows_run(ig_text_model *m, head_kind head, const batch_arrays *b);
void plans_free(ig_text_model *m);
/* The hidden state of the first token: (N, width). */
ig_array *first_token(ig_array *hidden);
/* Opens the weights of the steps, and sets the size of vectors. */
ig_status vectors_open(model_config *c, const char *folder, ig_dtype dtype);
/* The vectors of texts: (N, dimensions). mask is (N, T); NULL: nothing is padding. */
ig_array *vectors_run(ig_text_model *m, ig_array *hidden, ig_array *mask);

/* x, or in training x with elements dropped. */
ig_array *dropout_run(ig_text_model *m, ig_array *x, double p);
/* layer_norm(x) over its last axis, of that width, with the tensors name.weight and name.bias. */
ig_array *norm_run(ig_text_model *m, const char *name, ig_array *x, int64_t width);
/* x @ weight.T + bias with the tensors name.weight and name.bias. */
ig_array *linear_run(ig_text_model *m, const char *name, ig_array *x, int64_t in, int64_t out);

/* Visits the names and shapes of all tensors of the encoder, or of a head, until visit fails. */
typedef ig_status (*tensor_visit)(void *context, const char *name, ig_ints shape);
ig_status encoder_tensors(const ig_text_model *m, tensor_visit visit, void *context);
ig_status vector_step_tensors(const vector_step *s, tensor_visit visit, void *context);
/* The name of the first layer of the classification head. */
const char *classify_pre(const ig_text_model *m, char out[MODEL_NAME]);
/* The name of the bias of words, and whether the output layer has a table of its own. */
const char *fill_bias(const ig_text_model *m, char out[MODEL_NAME]);
bool fill_table(const ig_text_model *m, char out[MODEL_NAME]); /* out: the name of the table */
ig_status head_tensors(const ig_text_model *m, head_kind head, int64_t labels, tensor_visit visit,
                       void *context);

#endif
