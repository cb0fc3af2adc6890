/* Decoders: models that predict the next token of a text. They come from a GGUF file or a model folder.
 *
 *   architecture.c  the table of what differs between architectures
 *   config.c        sizes and options, from metadata or config.json
 *   weights.c       tensors by their role
 *   experts.c       tensors of experts, of folders
 *   rope.c          the angles of rotary embeddings
 *   network.c       the graph: from tokens and the cache to logits
 *   cache.c         the forms of keys and values in the cache
 *   session.c       texts: their cache, and the compiled graphs
 *   sample.c        the choice of the next token
 *   tokens.c        the tokenizer, and the bytes of tokens
 *   answer.c        the tokens of one answer, with stop texts and grammars
 *   generate.c      one answer, also with guesses
 *   scheduler.c     several answers at the same time, and the cache of prompts
 *   generator.c     the public interface
 *   quantize.c      a GGUF file with other types
 *   convert.c       a model folder as a GGUF file
 *   lora.c          low-rank adapters: used, trained, merged
 *
 * Shapes: T tokens, W width, H heads of query, K heads of key and value, D width of a head, C places of the cache. */
#ifndef DECODER_DECODER_H
#define DECODER_DECODER_H

#include "ingot.h"
#include "lib/grammar/grammar.h"
#include "lib/io/gguf.h"
#include "lib/text/files.h"

enum { DECODER_PATH = 4096, DECODER_NAME = 160 };

/* ---- architectures --------------------------------------------------------------------------- */

typedef enum role {
    ROLE_EMBEDDING,
    ROLE_POSITIONS,
    ROLE_OUT_NORM,
    ROLE_OUT,
    ROLE_ATTENTION_NORM,
    ROLE_QUERY,
    ROLE_KEY,
    ROLE_VALUE,
    ROLE_QUERY_KEY_VALUE, /* the three in one tensor */
    ROLE_QUERY_NORM,
    ROLE_KEY_NORM,
    ROLE_SINKS, /* of each head: a score without a value */
    ROLE_ATTENTION_OUT,
    ROLE_ATTENTION_AFTER, /* the norm after attention, before the sum */
    ROLE_INNER_NORM,
    ROLE_GATE,
    ROLE_UP,
    ROLE_GATE_UP, /* both in one tensor, the gate first */
    ROLE_DOWN,
    ROLE_INNER_AFTER,
    ROLE_ROUTER,
    ROLE_EXPERT_GATE,
    ROLE_EXPERT_UP,
    ROLE_EXPERT_DOWN,
    ROLE_EXPERT_GATE_UP, /* both for all experts, in turn */
    ROLE_ROPE_FACTORS,
    ROLE_ROPE_LONG,
    ROLE_ROPE_SHORT,
    ROLES
} role;

/* Names of tensors, without ".weight", ".bias" and "_bias". %d: the layer; a second %d: the expert. */
typedef struct role_names {
    const char *name[ROLES];
} role_names;

typedef enum window_form {
    WINDOW_NONE,
    WINDOW_ALL,       /* every layer has the window, if there is one */
    WINDOW_ALTERNATE, /* layers 0, 2, 4, ... */
    WINDOW_SIX        /* all but every sixth layer */
} window_form;

typedef struct architecture {
    const char *name;           /* general.architecture of GGUF files */
    const char *model_type;     /* of config.json */
    const role_names *roles;    /* in model folders */
    const role_names *in_files; /* in GGUF files, if they are not the usual ones */
    bool layer_norm;            /* with mean and bias; otherwise RMS */
    bool adds_one;              /* model folders store the weights of norms less 1 */
    bool neighbours;            /* GGUF files: rope turns neighbouring elements, not halves */
    bool parallel;              /* attention and inner layers read the same input */
    bool scales_embedding;      /* by sqrt(W) */
    bool transposed;            /* model folders store linear layers as (in, out) */
    bool heads_together;        /* model folders store query, key and value head by head */
    const char *activation; /* if config.json does not say: "silu", "gelu_pytorch_tanh", "gelu" */
    bool gated;             /* activation(gate) * up */
    double limit; /* of experts: gate * sigmoid(1.702 * gate) * (up + 1), both clipped; 0: not */
    window_form window;
    bool tied;                       /* by default */
    double attention_cap, logit_cap; /* defaults; 0: none */
} architecture;

/* The names in GGUF files. */
const role_names *roles_in_files(const architecture *a);
/* NULL if it is unknown. */
const architecture *architecture_by_name(ig_text gguf_name);
const architecture *architecture_by_type(const char *model_type);
/* The names of all, for a message. */
const char *architecture_list(void);

/* ---- configuration --------------------------------------------------------------------------- */

typedef enum rope_form { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3, ROPE_YARN, ROPE_LONG } rope_form;

typedef struct rope_config {
    rope_form form;
    int64_t dims;            /* that are turned; 0: positions are embeddings */
    double base, local_base; /* local_base: of layers with a window; 0: the same */
    double factor;           /* positions are divided by it */
    double low, high;        /* llama3 */
    double fast, slow;       /* yarn */
    bool exact;              /* yarn: the ends of the ramp are not rounded to pairs */
    double magnitude;        /* of the result: yarn, long; 0: by the form's rule */
    int64_t original;        /* context before scaling */
} rope_config;

typedef struct decoder_config {
    const architecture *arch;
    int64_t layers, width, heads, kv_heads, head_width, inner, vocabulary, context;
    int64_t experts, experts_used, expert_inner;
    bool experts_normed; /* the weights of the chosen experts have the sum 1 */
    double eps, attention_scale, attention_cap, logit_cap;
    int64_t window;  /* keys that a layer with a window sees; 0: all */
    int64_t pattern; /* one layer in so many has no window; 0: by the architecture */
    rope_config rope;
    bool tied;
    char activation[32];
} decoder_config;

ig_status config_from_gguf(decoder_config *c, const gguf *g);
ig_status config_from_json(decoder_config *c, const json_file *f);
/* True if the layer sees only the last `window` keys. */
bool config_has_window(const decoder_config *c, int64_t layer);

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct lora lora;
/* Keys and values of the cache. q8: groups of numbers of 8 bits with a scale. */
typedef enum cache_form { CACHE_F32, CACHE_F16, CACHE_Q8 } cache_form;
enum { CACHE_PARTS = 2 };

typedef struct decoder {
    decoder_config config;
    cache_form cache;
    uint64_t cache_limit; /* bytes of the cache of a session, at most; 0: any */
    char path[DECODER_PATH];
    bool is_gguf;
    const role_names *roles;
    ig_tensors **files;
    int n_files;
    ig_tensors
        *derived; /* tensors that are computed once: norms, parts of others, transposed ones */
    gguf *file;   /* NULL: a folder */
    float *rope_factors[2]; /* divisors of the frequencies: short and long; NULL: none */
    lora *lora;             /* adapters; NULL: none */
} decoder;

/* True if the path is a folder. */
bool is_folder(const char *path);
/* Opens a GGUF file or a model folder. NULL on failure. A decoder may have several sessions, of one thread at a time. */
decoder *decoder_open(const char *path);
void decoder_close(decoder *d);
/* Bytes of all weights in the files. */
uint64_t decoder_bytes(const decoder *d);

/* The tensor of a role in a layer (-1: outside of layers), with that shape, or NULL with an error. `optional`: NULL
 * without an error if it is missing. */
ig_array *weight_get(decoder *d, role r, int64_t layer, bool bias, bool optional, ig_ints shape);

/* Chooses the form of the cache of later sessions: "f32", "f16" or "q8"; NULL: as it is. */
ig_status cache_choose(decoder *d, const char *form, uint64_t limit);
const char *cache_name(const decoder *d);
/* The arrays of all keys, or of all values, of a layer: 1 or 2, with this dtype and this number of elements for a token. */
int cache_parts(const decoder *d);
ig_dtype cache_dtype(const decoder *d, int part);
int64_t cache_width(const decoder *d, int part);
/* Bytes of the cache for that many tokens. */
uint64_t cache_bytes(const decoder *d, int64_t tokens);
/* Keys or values (..., K * D) as the parts that the cache holds, and back. False and NULL on failure. */
bool cache_pack(const decoder *d, ig_array *x, ig_array *part[CACHE_PARTS]);
ig_array *cache_unpack(const decoder *d, ig_array *const part[CACHE_PARTS]);

/* The name of a tensor; "" if the files have no such tensor. */
void role_name(const decoder *d, role r, int64_t layer, int64_t expert, bool bias,
               char out[DECODER_NAME]);
/* The tensor of this name, or NULL. */
ig_array *tensor_find(const decoder *d, const char *name);
/* The same with that shape; NULL with an error. */
ig_array *tensor_need(const decoder *d, const char *name, ig_ints shape);
/* A tensor of all experts of a folder, or its biases. NULL if there is none, or with an error. */
ig_array *experts_get(const decoder *d, role r, int64_t layer, bool bias, ig_ints shape);

/* The cosines and sines of `n` positions from `first` on, for the first or the local base: (n, dims) each, as the
 * factors of x and of its turned elements. `length`: of the whole text, which long rope depends on. */
void rope_fill(const decoder *d, bool local, int64_t first, int64_t n, int64_t length,
               float *cosine, float *sine);
/* Reads the factors of frequencies from the settings of config.json. */
ig_status rope_factors_read(decoder *d, field scaling);
/* The divisors of the frequencies of llama3's rope, dims / 2 of them. */
void rope_llama3(const rope_config *r, float *divisors);
/* Reads the tensors with factors of frequencies. */
ig_status rope_open(decoder *d);
/* The element that each element is turned with: dims indices. */
void rope_partners(const decoder *d, int32_t *partner);

/* The inputs of the graph. */
typedef struct network_in {
    int64_t tokens, places; /* T, C */
    int64_t texts;          /* of the cache */
    bool all;               /* logits of all tokens, not only of `last` */
    bool apart;             /* each token belongs to its own text: those from 0 to T - 1 */
    bool hidden;            /* the hidden states after the last norm, not logits */
    int64_t
        whole; /* not 0: the tokens are so many texts of equal length, from their beginnings; no cache */
    ig_array **
        cache; /* the parts of keys and values of each layer in turn: (texts * capacity, cache_width) */
    ig_array *ids;       /* (T,) */
    ig_array *positions; /* (T,) i32 */
    ig_array *start;     /* (T, 1) i32: the places of the cache that are written */
    ig_array *last;      /* (1,) i32 */
    ig_array *text;      /* (1,) i32: the text, if there are several and not `apart` */
    ig_array *rope[4];   /* cosine and sine, then those of the local base; (T, dims) */
} network_in;

/* The logits: (1, vocabulary) or (T, vocabulary); hidden states have the width W. Replaces cache by the new caches. NULL on failure. */
ig_array *network_build(decoder *d, network_in *in);

/* Writes a copy of a GGUF file or a model folder whose matrices have this type, such as "q4_k". adapters: a folder of adapters
 * that are merged, or NULL. */
ig_status decoder_quantize(const char *from, const char *adapters, const char *type,
                           const char *to);

/* ---- sessions -------------------------------------------------------------------------------- */

typedef struct session session;

/* capacity: tokens of the text, at most. NULL on failure. */
session *session_new(decoder *d, int64_t capacity);
/* The same with several texts, each of that capacity. */
session *session_new_texts(decoder *d, int64_t texts, int64_t capacity);
void session_free(session *s);
/* Chooses the text of the other functions, which is 0 at first. */
void session_choose(session *s, int64_t which);
/* The first `length` tokens of a text become the chosen text. */
ig_status session_copy(session *s, int64_t from, int64_t length);
/* Adds ids[i] to the text i, for all i below n; a text whose id is -1 stays as it is. Returns n rows of logits, valid until
 * the next call; NULL on failure. */
const float *session_step(session *s, const int32_t *ids, int64_t n);
int64_t session_length(const session *s);
/* Bytes of the cache. */
uint64_t session_cache_bytes(const session *s);
int64_t session_vocabulary(const session *s);
/* Removes tokens from the end of the text. */
void session_cut(session *s, int64_t length);
/* Adds tokens to the text. Returns the logits of the token after the last one, valid until the next call; NULL on
 * failure. ig_cancel stops it between parts. */
const float *session_add(session *s, const int32_t *ids, int64_t n);
/* The same, and calls visit with the logits of each token in turn. */
ig_status session_each(session *s, const int32_t *ids, int64_t n,
                       ig_status (*visit)(void *context, int64_t token, const float *logits),
                       void *context);
/* The same with hidden states after the last norm, of the model's width, in place of logits. */
ig_status session_states(session *s, const int32_t *ids, int64_t n,
                         ig_status (*visit)(void *context, int64_t token, const float *states),
                         void *context);

/* ---- sampling -------------------------------------------------------------------------------- */

typedef struct sampling {
    double temperature;                     /* 0: the most probable token */
    int64_t top_k;                          /* 0: all */
    double top_p, min_p, typical;           /* 1, 0 and 1: all */
    double repetition, presence, frequency; /* 1, 0 and 0: none */
    int64_t last;                           /* tokens of the text that penalties count; -1: all */
    uint64_t seed;
} sampling;

extern const sampling sampling_default;

typedef struct sampler sampler;

sampler *sampler_new(const sampling *how, int64_t vocabulary);
void sampler_free(sampler *s);
/* The next token of a text. The draw is a function of the seed and of the number n of tokens. *logprob: the logarithm of
 * its probability by the model. -1 on failure: a logit is NaN. */
int32_t sampler_next(sampler *s, const float *logits, const int32_t *tokens, int64_t n,
                     double *logprob);

/* ---- tokens ---------------------------------------------------------------------------------- */

enum { TOKEN_BYTES = 4096 };

typedef struct tokens_of tokens_of;

/* The tokenizer of a decoder. The decoder must stay open. NULL on failure. */
tokens_of *tokens_open(const decoder *d);
void tokens_close(tokens_of *k);
/* The tokens of a text, with a first token if the model wants one. Release with memory_free. NULL on failure. */
int32_t *tokens_encode(const tokens_of *k, ig_text s, int64_t *n);
/* Puts the first token of texts in place of *id, if the model wants one. */
void tokens_begin(const tokens_of *k, int32_t *id);
/* The same for the text of a chat template, in which special tokens count, except in the data of the conversation. */
struct chat_text;
int32_t *tokens_encode_chat(const tokens_of *k, const struct chat_text *s, int64_t *n);
/* The texts of the tokens that begin and end a text; "" if there is none. */
const char *tokens_begin_text(const tokens_of *k);
const char *tokens_end_text(const tokens_of *k);
/* The tokens that end a text or a turn. */
int tokens_ends(const tokens_of *k, const int32_t **ids);
/* The bytes of a token, which may be a part of a character; none for control tokens. Returns how many. */
size_t tokens_decode(const tokens_of *k, int32_t id, char out[TOKEN_BYTES]);
/* True if another decoder has the same tokens. */
bool tokens_same(const decoder *d, const tokens_of *k);
/* True if the token ends a text or a turn. */
bool tokens_is_end(const tokens_of *k, int32_t id);

/* ---- generation ------------------------------------------------------------------------------ */

/* A token, and the text in UTF-8 that is certain since the last one: whole characters. id -1: the rest of the text at the end. */
typedef struct generated {
    ig_text text;
    int32_t id;
    double logprob;
} generated;

typedef struct generation {
    int64_t tokens; /* at most */
    sampling sampling;
    const char *const *stops; /* texts that end the generation, and are no part of it */
    int n_stops;
    bool ignores_end; /* goes on after a token that ends the text, unless there is a grammar */
    grammar *grammar; /* which the text follows; NULL: none. It serves one thread at a time */
    /* Tokens are guessed and checked several at a time, which changes no token of the answer. lookup: they follow an earlier
     * place of the text with the same last tokens. draft: a session of a small model with the same tokens; NULL: none. */
    bool lookup;
    session *draft;
    ig_status (*visit)(void *context, const generated *g);
    void *context;
} generation;

typedef struct generation_result {
    int64_t tokens, guessed, accepted; /* accepted: guesses that were right */
    enum { GENERATED_LENGTH, GENERATED_END, GENERATED_STOP } end;
} generation_result;

/* Generates after a prompt. The session has a part of the prompt already, or nothing. */
ig_status generate(session *s, const tokens_of *k, const int32_t *prompt, int64_t n,
                   const generation *g, generation_result *r);

#endif
