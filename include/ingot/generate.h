/* Models that generate text. */
#ifndef INGOT_GENERATE_H
#define INGOT_GENERATE_H

#include "ingot/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A decoder: a GGUF file, or a model folder as hubs publish it. docs/GENERATE.md lists the architectures. It makes several
 * answers at the same time; a prompt that begins like an earlier one is computed from where they differ. A generator and its
 * answers must be used by one thread at a time. */
typedef struct ig_generator ig_generator;

typedef struct ig_generator_options {
    size_t size;               /* sizeof(ig_generator_options); 0: the fields of version 0.1 */
    int64_t context;           /* tokens of a prompt and its answer; 0: the model's, at most 2048 */
    int64_t texts;             /* answers at the same time; 0: 1. The cache has room for all */
    const char *chat_template; /* a file with a chat template; NULL: the model's */
} ig_generator_options;

typedef struct ig_generator_info {
    size_t size;              /* sizeof(ig_generator_info); 0: the fields of version 0.1 */
    const char *architecture; /* "llama", "qwen3", ... */
    int64_t layers, width, vocabulary;
    int64_t context; /* tokens that the model reads at most */
    int64_t room;    /* tokens of a prompt and its answer in this generator */
    uint64_t bytes;  /* of the weights */
} ig_generator_info;

/* Loads a model onto the device of the calling thread. options may be NULL. NULL on failure. */
IG_API ig_generator *ig_generator_load(const char *path, const ig_generator_options *options);
/* Its answers must be freed before. */
IG_API void ig_generator_free(ig_generator *g);
IG_API ig_status ig_generator_info_get(const ig_generator *g, ig_generator_info *info);

/* Fields that are 0 are not used: the most probable token is chosen. */
typedef struct ig_generate_options {
    size_t size;    /* sizeof(ig_generate_options); 0: the fields of version 0.1 */
    int64_t tokens; /* at most; 0: 64 */
    double temperature;
    int64_t top_k;
    double top_p, min_p, typical;           /* 0: all tokens */
    double repetition, presence, frequency; /* penalties for recent tokens; 0: none */
    uint64_t seed;
    const char *const *stops; /* texts that end the answer, and are no part of it */
    int n_stops;
    bool ignores_end; /* goes on after a token that ends the text */
    bool is_chat;     /* the prompt is a JSON array of messages: [{"role": ..., "content": ...}] */
    const char *grammar; /* the answer follows this grammar in GBNF; NULL: any text */
    const char *schema;  /* the answer is JSON that this JSON schema allows; NULL: any text */
} ig_generate_options;

/* An answer that is being made. */
typedef struct ig_answer ig_answer;

/* Begins an answer. options may be NULL. NULL on failure. */
IG_API ig_answer *ig_generate(ig_generator *g, ig_text prompt, const ig_generate_options *options);

typedef struct ig_answer_token {
    size_t size;    /* sizeof(ig_answer_token); 0: the fields of version 0.1 */
    int32_t id;     /* -1: only the rest of the text */
    double logprob; /* the logarithm of its probability */
    ig_text
        text; /* whole characters that are certain now, perhaps none; valid until the next call */
} ig_answer_token;

/* Waits for the next token. False at the end, and on failure: then an error is pending. Other answers of the generator go on
 * in the meantime. ig_cancel stops it. */
IG_API bool ig_answer_next(ig_answer *a, ig_answer_token *token);
/* Why it has ended: "end" (the model ended it), "stop", "length"; NULL, without an error, if it has not. */
IG_API const char *ig_answer_end(const ig_answer *a);
/* Tokens of the prompt, and those of them that were in the cache. */
IG_API int64_t ig_answer_prompt(const ig_answer *a, int64_t *cached);
/* Also stops it. NULL is ignored. */
IG_API void ig_answer_free(ig_answer *a);

/* Vectors of n texts, (n, width): the mean of the hidden states after the last norm, divided by its length. NULL on failure. */
IG_API ig_array *ig_generator_embed(ig_generator *g, const ig_text *texts, int n);

#ifdef __cplusplus
}
#endif

#endif
