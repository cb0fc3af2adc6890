/* Code shared by the verbs of text models: options, loading, and the loop over texts. */
#ifndef CLI_TEXT_COMMON_H
#define CLI_TEXT_COMMON_H

#include "lines.h"

/* A list of texts for a note: up to NAMED_TEXTS numbers, counted from 1. */
enum { NAMED_TEXTS = 8 };
typedef struct text_list {
    int64_t first[NAMED_TEXTS], n;
} text_list;

/* The format of the answers. */
typedef enum text_format {
    FORMAT_TEXT,  /* lines for reading */
    FORMAT_JSON,  /* one object per line */
    FORMAT_TABLE, /* one row per line, with `separator` between fields */
    FORMAT_ARRAYS /* the verb collects numbers and saves them after the last text */
} text_format;

typedef struct text_settings {
    const char *model, *lora, *file, *dtype, *output;
    bool json, quiet;
    engine_options engine;
    text_format format;
    char separator;
    int64_t done;    /* texts before this batch */
    text_list empty; /* texts without words */
    int64_t cut;     /* texts with more tokens than the model reads */
    int most_tokens;
    str written; /* for the file */
} text_settings;

typedef struct cache_settings {
    const char *form;
    uint64_t limit;
} cache_settings;

/* clang-format off */
#define TEXT_OPTIONS(s) \
    {"--model", 'm', "DIR", option_text, &(s).model, "the model folder"}, \
    {"--file", 'f', "FILE", option_text, &(s).file, "reads texts from a file, one in each line"}, \
    {"--dtype", 0, "f32|f16|bf16", option_text, &(s).dtype, "the dtype of the computation (f32)"}
#define OUTPUT_OPTION(s, help) {"--output", 'o', "FILE", option_text, &(s).output, help}
#define LORA_OPTION(path) \
    {"--lora", 0, "DIR", option_text, &(path), "adapters for the model, as the package peft writes them"}
/* The cache of keys and values; s: cache_settings. */
#define CACHE_OPTIONS(s) \
    {"--cache", 0, "f32|f16|q8", option_text, &(s).form, "keys and values of earlier tokens (f32)"}, \
    {"--cache-limit", 0, "SIZE", option_bytes, &(s).limit, "bytes of the cache, at most"}
/* How the next token is drawn; s: a struct sampling of lib/decoder. */
#define SAMPLING_OPTIONS(s) \
    {"--temperature", 0, "X", option_number, &(s).temperature, \
     "0: the most probable token (0); higher: more random"}, \
    {"--top-k", 0, "N", option_count, &(s).top_k, "draws from the N most probable tokens (40)"}, \
    {"--top-p", 0, "X", option_part, &(s).top_p, \
     "from the fewest with this probability together (0.95)"}, \
    {"--min-p", 0, "X", option_part, &(s).min_p, \
     "from those with this part of the highest one (0.05)"}, \
    {"--typical", 0, "X", option_part, &(s).typical, \
     "from the most typical ones with this probability (1)"}, \
    {"--repetition", 0, "X", option_penalty, &(s).repetition, \
     "divides logits of recent tokens (1)"}, \
    {"--presence", 0, "X", option_number, &(s).presence, \
     "is taken from logits of recent tokens (0)"}, \
    {"--frequency", 0, "X", option_number, &(s).frequency, \
     "the same for each time that they occur (0)"}, \
    {"--seed", 0, "N", option_seed, &(s).seed, "the same seed draws the same tokens (0)"}
/* Files that say which texts are generated; s: a grammar_files. */
#define GRAMMAR_OPTIONS(s) \
    {"--grammar", 0, "FILE", option_text, &(s).gbnf, "the answer follows a grammar in GBNF"}, \
    {"--schema", 0, "FILE", option_text, &(s).schema, "the answer is JSON that a JSON schema allows"}
/* clang-format on */

struct grammar;
typedef struct grammar_files {
    const char *gbnf, *schema;
} grammar_files;

/* Opens the grammar that was given. Sets *out to NULL if there is none. False on failure; the library then has an error
 * pending. Release it with grammar_free. */
bool grammar_open(const grammar_files *f, struct grammar **out);

/* Read a number from 0 to a million; the same, but not 0; a number from 0 to 1. */
bool option_number(const char *s, void *place);
bool option_penalty(const char *s, void *place);
bool option_part(const char *s, void *place);

/* Sets the format from --json or from the suffix of -o FILE, which is checked. Returns -1, or the exit code after
 * reporting an error. */
int text_format_choose(const command *c, text_settings *s);

/* Adds a field of a table and the separator after it, or the end of the row. */
void field_add(str *t, const text_settings *s, const char *text, bool last);

/* Adds a text to the list, by its number. */
void text_list_add(text_list *l, int64_t number);
/* Writes "lines 2, 5 and 7 more". Texts that are arguments are called "texts". */
void text_list_say(str *t, const text_list *l, bool are_lines);

/* Reads and applies the options, and loads the model onto the device. Returns -1, or the exit code after reporting an error. */
int text_model_open(const command *c, int *argc, char **argv, text_settings *s, ig_text_model **m,
                    ig_text_info *info);

/* Answers one batch of texts into out. Returns false on failure; the library then has an error pending. */
typedef bool (*text_answer)(void *context, const ig_text *texts, int n, str *out);

/* Reads texts and answers them batch by batch, with a progress bar. Prints the answers, or collects them for the file.
 * Ctrl-C stops after the current batch; the file is then not written. Returns the exit code. */
int text_loop(const command *c, text_settings *s, char **words, int n_words, text_answer answer,
              void *context);

/* Counts texts with more tokens than the model reads, for a note at the end of text_loop. */
void text_cut_count(text_settings *s, const ig_text_model *m, const ig_text_info *info,
                    const ig_text *texts, int n);

/* Writes the probabilities of n logits: their softmax, or each one's sigmoid if independent. */
void probabilities(const float *logits, int n, bool independent, double *out);

#endif
