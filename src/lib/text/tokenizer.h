/* A tokenizer: its parts, and the steps that turn a text into tokens.
 *
 *   added tokens that match the text as it is -> normalizer -> added tokens that match the normal form
 *   -> pre-tokenizer -> model -> truncation -> special tokens -> padding
 */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include "lib/io/gguf.h"
#include "lib/text/normalize.h"
#include "lib/text/split.h"
#include "lib/text/subword.h"

/* ---- added tokens --------------------------------------------------------------------------- */

typedef struct added_token {
    uint32_t *runes; /* the text that it matches */
    uint32_t n;
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
} added_token;

/* Tokens that are found in a text before it is split. */
typedef struct added_set {
    added_token *at; /* sorted by first code point, then longest first */
    int n;
    uint32_t ascii[4]; /* bits of the first code points below 128 */
    bool other;        /* some token begins with another code point */
} added_set;

void added_set_free(added_set *s);
/* Where special tokens are plain text: everywhere, or in ranges of bytes in order. */
typedef struct literal_text {
    bool everywhere;
    const text_range *ranges;
    int n;
    const uint32_t *byte_at; /* the byte of each code point of the original text */
} literal_text;

/* Adds the pieces of text[first..first+count): the added tokens and the text between them. */
void added_set_cut(const added_set *s, const rune *chars, size_t first, size_t count,
                   const literal_text *literal, pieces *out);

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
    bool types_zero;        /* tokens of both texts have type 0, with or without special tokens */
    bool types_by_template; /* the template's types apply even without special tokens */
    /* Byte-level post-processors: each one removes the blanks of tokens from the offsets. */
    int n_trims;
    bool prefix_space[TRIMS_MOST]; /* a blank was inserted before the first word */
    field settings;                /* only during parsing */
} post;

/* settings: tokenizer_config.json. Its add_prefix_space and trim_offsets override the options of RoBERTa's post-processor. */
ig_status post_read(post *p, field config, field settings);
void post_free(post *p);
/* The number of special tokens that are added to a text or to a pair. */
int post_count(const post *p, bool pair);

/* ---- tokens --------------------------------------------------------------------------------- */

/* A token with its range in the text: first in code points, in the result in bytes. */
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

/* A text and its tokens, without special tokens. */
typedef struct text_source {
    aligned original;
    uint32_t *byte_at; /* byte offset of each code point */
    size_t byte_room;
    bool ascii; /* every code point is one byte; `original` and byte_at are not set */
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
    literal_text literal;
    tokens out;       /* tokens of all texts that this thread has encoded */
    bool refused;     /* a text is too long, and the strategy forbids truncating it */
    bool exceeded;    /* a regular expression took too many steps */
    ig_status status; /* the thread's first failure; its message is in `why` */
    char why[512];
} encoder;

void encoder_free(encoder *e);

enum { LONGEST_FIRST, ONLY_FIRST, ONLY_SECOND };

typedef struct truncation {
    int64_t max_length; /* 0: no limit */
    int strategy;       /* LONGEST_FIRST, ... */
    bool left;
} truncation;

typedef struct padding {
    bool given;
    int64_t fixed; /* -1: to the longest text of the batch */
    int64_t multiple;
    bool left;
    int32_t id, type;
} padding;

struct ig_tokenizer {
    normalizer *normalizer;
    splitter *splitter;
    subword_model *model;
    vocabulary added; /* texts and ids of added tokens */
    added_set plain, normalized;
    post post;
    truncation truncation;
    padding padding;
    int32_t mask_id, pad_id;
    int32_t next_id; /* id of the next added token, during parsing */
    bool literal;    /* special tokens in texts are plain text, unless an option says otherwise */
    bool bert; /* uses BERT's normalizer and pre-tokenizer, which have a fast path for ASCII */
};

/* ---- loading -------------------------------------------------------------------------------- */

/* Values from files of a model folder other than tokenizer.json. */
typedef struct tokenizer_more {
    field
        config;  /* tokenizer_config.json: options of BERT's normalizer, and added_tokens_decoder */
    field added; /* added_tokens.json: ids by token */
    field extra; /* additional_special_tokens */
    const char *mask, *pad;
} tokenizer_more;

/* Parses a tokenizer.json. model: if not NULL, replaces its missing "model". The tokenizer takes ownership of it, also
 * on failure. Returns NULL with an error that does not name the file. */
ig_tokenizer *tokenizer_parse(const char *source, size_t bytes, subword_model *model,
                              const tokenizer_more *more);
/* Reads the added tokens: `list` of tokenizer.json, and the other files. */
ig_status added_tokens_read(ig_tokenizer *t, field list, const tokenizer_more *more);
/* Prepends the file name to the pending error's message. */
void tokenizer_name_file(const char *path);

/* BERT's normalizer as JSON: `before`, with the options of tokenizer_config.json. Release it with memory_free. */
char *tokenizer_bert_normalizer(field config, field before);

/* Loads a tokenizer.json, the tokenizer of a model folder, or a vocab.txt. */
ig_tokenizer *tokenizer_load_json(const char *path, const tokenizer_more *more);
ig_tokenizer *tokenizer_load_folder(const char *path);
ig_tokenizer *tokenizer_load_lines(const char *path);
ig_tokenizer *tokenizer_load_gguf(const char *path);
/* The tokenizer of a GGUF file that is open. It finds special tokens only by tokenizer_encode_marked. */
ig_tokenizer *tokenizer_read_gguf(const gguf *g);

/* Encodes a text, without tokens at its ends. Special tokens in it count, except in these ranges, which are in order.
 * Release the result with ig_free. NULL on failure. */
ig_encoding *tokenizer_encode_marked(const ig_tokenizer *t, ig_text s, const text_range *data,
                                     int n_data);

/* ---- steps ---------------------------------------------------------------------------------- */

/* Makes the tokens of one text. Offsets are in code points; source_bytes converts them to bytes. */
void encoder_tokens(encoder *e, const ig_tokenizer *t, ig_text chars, text_source *out);
void source_bytes(text_source *s);

/* Truncates a and b to max_length tokens in total; special tokens are not counted. Returns false if the strategy does
 * not allow it. */
bool tokens_truncate(tokens *a, tokens *b, const truncation *how, int64_t max_length);

/* Appends a and b (may be NULL) to out, with special tokens unless plain. */
void post_run(const post *p, const tokens *a, const tokens *b, bool plain, tokens *out);

/* Removes the blanks of byte-level tokens from their ranges. The ranges are in code points. */
void post_trim(const post *p, tokens *list);

#endif
