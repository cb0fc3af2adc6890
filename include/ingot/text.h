/* Tokenizers and text models. */
#ifndef INGOT_TEXT_H
#define INGOT_TEXT_H

#include "ingot/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- text ---------------------------------------------------------------------------------- */

/* A borrowed text: bytes of UTF-8 without a terminator. Bytes that are not UTF-8 count as U+FFFD. */
typedef struct ig_text {
    const char *at;
    size_t bytes;
} ig_text;

/* A tokenizer turns texts into the token ids of a model: WordPiece, BPE, Unigram or WordLevel. Any number of threads
 * may use one at a time. */
typedef struct ig_tokenizer ig_tokenizer;

/* Reads a tokenizer.json, a vocab.txt, or the tokenizer of a model folder: tokenizer.json, vocab.txt, or vocab.json and
 * merges.txt, with tokenizer_config.json and special_tokens_map.json. Needs the library utf8proc at run time. NULL on
 * failure: the message names the file and the part of it that is not supported. */
IG_API ig_tokenizer *ig_tokenizer_load(const char *path);
IG_API void ig_tokenizer_free(ig_tokenizer *t);

/* The number of token ids: the largest id plus 1. The text of an id, and the id of a text; NULL and -1, without an
 * error, if there is none. */
IG_API int ig_tokenizer_count(const ig_tokenizer *t);
IG_API const char *ig_tokenizer_token(const ig_tokenizer *t, int id);
IG_API int ig_tokenizer_id(const ig_tokenizer *t, const char *token);
/* The id of the special token "mask" or "pad"; -1, without an error, if there is none. */
IG_API int ig_tokenizer_special(const ig_tokenizer *t, const char *name);

/* The tokens of a text or of a pair of texts. All lists have n elements. */
typedef struct ig_encoding {
    int n;
    const int32_t *ids;
    const int32_t *types;    /* 0, or 1 for the second text of a pair, as the tokenizer says */
    const int32_t *starts;   /* the bytes of the text that a token stands for: from this one ... */
    const int32_t *ends;     /* ... up to this one; both 0 for tokens that are not in the text */
    const int32_t *words;    /* the index of the word; -1: none */
    const int8_t *sequences; /* 0 or 1: in the first or second text; -1: in neither */
    const uint8_t *mask;     /* 1; 0: padding */
    const uint8_t *special;  /* 1: a special token that was added, or padding */
} ig_encoding;

typedef struct ig_encode_options {
    size_t size;    /* sizeof(ig_encode_options); 0: the fields of version 0.1 */
    bool plain;     /* adds no special tokens */
    int max_length; /* the maximum number of tokens; 0: the tokenizer's setting; -1: no limit */
    int pad;        /* the minimum, by padding; 0: the tokenizer's setting; -1: no padding */
} ig_encode_options;

/* Encodes n texts, or n pairs if pairs is not NULL, on all threads. options may be NULL. Returns n encodings in one
 * block: release it with ig_free. NULL on failure. */
IG_API ig_encoding *ig_tokenizer_encode(const ig_tokenizer *t, const ig_text *texts,
                                        const ig_text *pairs, int n,
                                        const ig_encode_options *options);

/* ---- text models --------------------------------------------------------------------------- */

/* An encoder from a model folder as hubs publish it: config.json, model.safetensors (or shards with an index), the
 * tokenizer, and modules.json of sentence-transformers. Architectures: BERT, DistilBERT, RoBERTa, MPNet, ELECTRA.
 * Nothing in the folder is executed. A model must be used by one thread at a time. */
typedef struct ig_text_model ig_text_model;

typedef struct ig_text_info {
    size_t size;              /* sizeof(ig_text_info); 0: the fields of version 0.1 */
    const char *architecture; /* "distilbert", "bert", "roberta", "mpnet", "electra" */
    const char
        *head; /* the task that the folder is for: "embed", "classify", "tag", "fill", "answer" */
    int layers, heads;
    int width;      /* of hidden states */
    int dimensions; /* of vectors */
    int max_length; /* tokens of a text, including special ones */
    int n_labels;
    const char *const *labels;
    bool
        many_labels; /* labels are independent: probabilities by sigmoid, not softmax; also if there is one label */
    bool regression; /* logits are numbers to use as they are, not probabilities */
    uint64_t parameters;
    int mask_id; /* the token [MASK]; -1: none */
} ig_text_info;

/* Loads a folder onto the device of the calling thread. dtype is the dtype of the computation: IG_F32 (or
 * IG_DTYPE_NONE), IG_F16, IG_BF16 or IG_F64. Weights of that dtype are mapped, others are converted once. NULL on
 * failure: the message names the file, the tensor, and what was expected. */
IG_API ig_text_model *ig_text_model_load(const char *folder, ig_dtype dtype);
IG_API void ig_text_model_free(ig_text_model *m);
/* The texts belong to the model. */
IG_API ig_status ig_text_model_info(const ig_text_model *m, ig_text_info *info);
IG_API const ig_tokenizer *ig_text_model_tokenizer(const ig_text_model *m);

/* Hidden states of n encodings: (N, T, width). N and T are rounded up to a few sizes, so that many batches share a
 * schedule. Rows and positions past the encodings have no meaning. */
IG_API ig_array *ig_text_model_hidden(ig_text_model *m, const ig_encoding *encodings, int n);
/* Writes the hidden states after the embeddings and after each layer to out, which has room for max_out. Returns how
 * many: layers + 1; 0 on failure. */
IG_API int ig_text_model_states(ig_text_model *m, const ig_encoding *encodings, int n,
                                ig_array **out, int max_out);
/* A head on hidden states of the same encodings: "embed" (N, dimensions), "classify" (N, labels), "tag" (N, T, labels),
 * "answer" (N, T, 2: start and end), "fill" (N, T, vocabulary). Only "embed" needs the encodings, to know the padding;
 * otherwise they may be NULL, with n 0. "tag", "answer" and "fill" also take other hidden states (..., width). */
IG_API ig_array *ig_text_model_head(ig_text_model *m, const char *head, ig_array *hidden,
                                    const ig_encoding *encodings, int n);
/* Vectors ("embed"; a default prompt is put before texts) or logits ("classify") of n texts, or of n pairs unless pairs
 * is NULL, cut to max_length tokens: (n, dimensions) or (n, labels), in f32. Runs batches of similar length. ig_cancel
 * stops it. */
IG_API ig_array *ig_text_model_run(ig_text_model *m, const char *head, const ig_text *texts,
                                   const ig_text *pairs, int n);
/* Checks x, a result of the model, for NaN; ig_text_model_run checks its own results. IG_ERR_FORMAT names the tensor of
 * the folder that has a NaN or an infinity. IG_ERR_UNSUPPORTED: all weights are finite, so a value overflows. */
IG_API ig_status ig_text_model_check(ig_text_model *m, ig_array *x);

/* Trainable weights: parameters of trained replace the weights of the same names; NULL: none. The model keeps a
 * reference to trained only until the next call. */
IG_API ig_status ig_text_model_override(ig_text_model *m, const ig_model *trained);
/* Adds the weights of the encoder (if all) and of the head to trained as parameters. If the folder has no head for
 * "classify" with n labels, a new one is drawn from the key of trained. */
IG_API ig_status ig_text_model_train(ig_text_model *m, ig_model *trained, const char *head,
                                     int labels, bool all);
/* Dropout as in training, with keys of trained (see ig_nn_dropout). All probabilities are p, or come from config.json
 * if p is negative. trained NULL: no dropout, which is the default. The model keeps a reference to trained only until
 * the next call. */
IG_API ig_status ig_text_model_dropout(ig_text_model *m, ig_model *trained, double p);
/* Writes a model folder with the replaced weights and these labels (n 0: unchanged). ig_text_model_load and the Python
 * package transformers can load it. The folder is created. */
IG_API ig_status ig_text_model_save(ig_text_model *m, const char *head, const char *const *labels,
                                    int n, const char *folder);
/* Writes the model with a head (NULL: its own; see ig_text_info) as an ONNX model, which takes ids of tokens as int64: input_ids,
 * attention_mask and, if the model has token types, token_type_ids, all (batch, tokens). embed gives last_hidden_state and
 * sentence_embedding, answer start_logits and end_logits, other heads logits. The model must have been loaded in f32. */
IG_API ig_status ig_text_model_export(ig_text_model *m, const char *head, const char *path);

#ifdef __cplusplus
}
#endif

#endif
