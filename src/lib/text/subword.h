/* Models of tokenizers: they split a word into tokens of a vocabulary. WordPiece, BPE, Unigram and WordLevel. */
#ifndef TEXT_SUBWORD_H
#define TEXT_SUBWORD_H

#include "base/json.h"
#include "lib/text/aligned.h"
#include "lib/text/field.h"
#include "lib/text/vocabulary.h"

/* A token of a word, with the bytes of the word that it stands for. */
typedef struct subword {
    int32_t id;
    uint32_t start, end;
} subword;

/* Tokens of a word, and scratch memory of one thread. */
typedef struct subwords {
    subword *at;
    size_t n, room;
    bool failed;
    bool unknown; /* a word needed an unknown token, and the vocabulary has none */
    void *scratch;
    size_t scratch_bytes;
} subwords;

void subwords_add(subwords *s, int32_t id, size_t start, size_t end);
/* Scratch memory of at least `bytes` bytes; NULL on failure. */
void *subwords_scratch(subwords *s, size_t bytes);
void subwords_free(subwords *s);

typedef struct model_config {
    char *type; /* "WordPiece" */
    char *unknown, *prefix, *suffix;
    int64_t unknown_id, longest_word;
    bool byte_fallback, fuse_unknown, ignore_merges;
} model_config;

typedef struct subword_model subword_model;

enum { RUNE_IDS = 512 };

typedef struct subword_kind {
    const char *name;
    void (*split)(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out);
} subword_kind;

struct subword_model {
    const subword_kind *kind;
    vocabulary vocabulary;
    model_config config;
    int32_t unknown_id;
    int32_t byte_ids[256];      /* ids of "<0x00>" and so on; -1: none */
    int32_t rune_ids[RUNE_IDS]; /* ids of single code points */
    /* BPE: maps a pair of ids to its rank and merged id, with open addressing. */
    struct merge {
        int32_t left, right; /* left -1: empty */
        int32_t rank, id;
    } * merges;
    uint32_t merge_mask, n_merges;
    /* Unigram. */
    double *scores;
    int64_t n_scores;
    double least_score;
    /* BPE without merges: the rank of each token. Any two neighbours that make a token may be merged. NULL: merges. */
    int32_t *ranks;
};

/* Reads the value of "model" in tokenizer.json. NULL on failure. */
subword_model *subword_model_read(json_reader *r);
/* Makes a WordPiece model from the lines of vocab.txt. */
subword_model *subword_model_lines(const char *chars, size_t bytes, const char *unknown);
/* Makes a BPE model from vocab.json and merges.txt. *in_merges: whether a failure is in merges.txt. */
subword_model *subword_model_pairs(const char *words, size_t n_words, const char *merges,
                                   size_t n_merges, bool *in_merges);
/* Makes a BPE model of lists: texts by id; and merges "left right", or a score for each token, of which the highest is
 * merged first. */
typedef struct subword_lists {
    const ig_text *tokens, *merges;
    uint64_t n, n_merges;
    const float *scores; /* NULL: merges */
    int64_t unknown_id;  /* -1: none */
    bool byte_fallback, ignore_merges;
} subword_lists;
subword_model *subword_model_lists(const subword_lists *from);
void subword_model_free(subword_model *m);
/* The number of tokens in the vocabulary. */
int32_t subword_model_size(const subword_model *m);

/* Replaces the contents of out with the tokens of a word that is not empty. */
void subword_split(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out);

/* BPE's table of merges. */
ig_status merges_add(subword_model *m, int32_t left, int32_t right, int32_t id, int32_t rank);

void wordpiece_split(const subword_model *m, const unsigned char *word, size_t bytes,
                     subwords *out);
void wordlevel_split(const subword_model *m, const unsigned char *word, size_t bytes,
                     subwords *out);
void bpe_split(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out);
void unigram_split(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out);

#endif
