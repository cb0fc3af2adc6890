/* A tokenizer: its parts, and the steps from a text to tokens.
 *
 *   added tokens that match the text as it is -> normalizer -> added tokens that match the normal form
 *   -> pre-tokenizer -> model -> truncation -> special tokens -> padding
 */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include "lib/text/normalize.h"
#include "lib/text/split.h"
#include "lib/text/subword.h"

/* ---- added tokens --------------------------------------------------------------------------- */

typedef struct added_token {
    uint32_t *runes; /* what it matches */
    uint32_t n;
    int32_t id;
    bool single_word, lstrip, rstrip, normalized;
} added_token;

/* Tokens that are found in a text before it is split, by their first code point. */
typedef struct added_set {
    added_token *at; /* sorted by first code point, then longest first */
    int n;
    uint32_t ascii[4]; /* first code points below 128 */
    bool other;        /* there are others */
} added_set;

void added_set_free(added_set *s);
/* Adds the pieces of text[first..first+count): added tokens, and what is between them. */
void added_set_cut(const added_set *s, const rune *chars, size_t first, size_t count, pieces *out);

/* ---- special tokens ------------------------------------------------------------------------- */

typedef struct template_item {
    int32_t sequence; /* 0 or 1; -1: a special token */
    int32_t id, type;
} template_item;

typedef struct template_list {
    template_item *at;
    int n;
} template_list;

enum { TRIMS_MOST = 8 };

/* The post-processor. Without a template, tokens stay as they are. */
typedef struct post {
    bool has_template;
    template_list single, pair;
    bool types_zero; /* tokens of both texts have type 0, whether or not special tokens are added */
    bool types_by_template; /* those of the template hold even if special tokens are not added */
    /* Byte-level post-processors: offsets without the blanks of tokens. Several trim several times. */
    int n_trims;
    bool prefix_space[TRIMS_MOST]; /* a blank before the first word is not in the text */
    field settings;                /* while it is read */
} post;

/* settings is tokenizer_config.json: its add_prefix_space and trim_offsets replace those of RoBERTa's post-processor. */
ig_status post_read(post *p, field config, field settings);
void post_free(post *p);
/* The number of special tokens that are added to one text or to a pair. */
int post_count(const post *p, bool pair);

/* ---- tokens --------------------------------------------------------------------------------- */

/* A token with its range in the text, in code points at first, in bytes at the end. */
typedef struct text_token {
    int32_t id;
    uint32_t start, end;
    int32_t word;    /* -1: none */
    int8_t sequence; /* 0 or 1; -1: a special token or padding */
    uint8_t type, mask, special;
    uint16_t blanks[2]; /* at the beginning and end of a byte-level token */
} text_token;

typedef struct tokens {
    text_token *at;
    size_t n, room;
    bool failed;
} tokens;

bool tokens_reserve(tokens *t, size_t more);
void tokens_add(tokens *t, text_token one);
void tokens_free(tokens *t);

/* A text and its tokens, without special ones. */
typedef struct text_source {
    aligned original;
    uint32_t *byte_at; /* of each code point */
    size_t byte_room;
    bool ascii; /* code points are bytes, and the rest is not set */
    tokens tokens;
} text_source;

/* Scratch memory of one thread. */
typedef struct encoder {
    text_source sources[2]; /* a text and its pair */
    cut_text cut;
    normalize_scratch normalize;
    octets word;
    uint32_t *word_runes; /* the code point of each byte of the word */
    size_t word_room;
    subwords subwords;
    tokens out;       /* of all texts that this thread has encoded */
    bool refused;     /* a text is too long, and the truncation does not shorten it */
    bool exceeded;    /* a regular expression took too many steps */
    ig_status status; /* of the first failure of this thread, with its message */
    char why[512];
} encoder;

void encoder_free(encoder *e);

enum { LONGEST_FIRST, ONLY_FIRST, ONLY_SECOND };

typedef struct truncation {
    int64_t max_length; /* 0: none */
    int strategy;       /* LONGEST_FIRST and so on */
    bool left;
} truncation;

typedef struct padding {
    bool given;
    int64_t fixed; /* -1: to the longest of the batch */
    int64_t multiple;
    bool left;
    int32_t id, type;
} padding;

struct ig_tokenizer {
    normalizer *normalizer;
    splitter *splitter;
    subword_model *model;
    vocabulary added; /* texts of added tokens by id */
    added_set plain, normalized;
    post post;
    truncation truncation;
    padding padding;
    int32_t mask_id, pad_id;
    int32_t next_id; /* of added tokens, while they are read */
    bool bert;       /* BERT's normalizer and pre-tokenizer, for which ASCII has a short path */
};

/* ---- loading -------------------------------------------------------------------------------- */

/* What other files of a model folder say beside tokenizer.json. */
typedef struct tokenizer_more {
    field
        config;  /* tokenizer_config.json: options of BERT's normalizer, and added_tokens_decoder */
    field added; /* added_tokens.json: ids by token */
    field extra; /* additional_special_tokens */
    const char *mask, *pad;
} tokenizer_more;

/* Reads a tokenizer.json. model, if not NULL, is the model that it does not have; the tokenizer owns it, also after a
 * failure. NULL with an error that does not name the file. */
ig_tokenizer *tokenizer_parse(const char *source, size_t bytes, subword_model *model,
                              const tokenizer_more *more);
/* Reads the added tokens of tokenizer.json, `list`, and those of other files. */
ig_status added_tokens_read(ig_tokenizer *t, field list, const tokenizer_more *more);
/* Puts the name of the file before the message of the error. */
void tokenizer_name_file(const char *path);

/* The normalizer of BERT as JSON: `before` with the options of tokenizer_config.json; release it with memory_free. */
char *tokenizer_bert_normalizer(field config, field before);

/* Loads a tokenizer.json, the tokenizer of a model folder, or a vocab.txt. */
ig_tokenizer *tokenizer_load_json(const char *path, const tokenizer_more *more);
ig_tokenizer *tokenizer_load_folder(const char *path);
ig_tokenizer *tokenizer_load_lines(const char *path);

/* ---- steps ---------------------------------------------------------------------------------- */

/* Makes the tokens of one text. Offsets are in code points; source_bytes makes them bytes. */
void encoder_tokens(encoder *e, const ig_tokenizer *t, ig_text chars, text_source *out);
void source_bytes(text_source *s);

/* Truncates to max_length tokens in all, special ones included. Returns false if the strategy does not allow it. */
bool tokens_truncate(tokens *a, tokens *b, const truncation *how, int64_t max_length);

/* Appends a and b (may be NULL) with special tokens, unless plain, to out. */
void post_run(const post *p, const tokens *a, const tokens *b, bool plain, tokens *out);

/* Removes the blanks of byte-level tokens from their ranges, which are in code points. */
void post_trim(const post *p, tokens *list);

#endif
