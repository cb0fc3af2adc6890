/* Pre-tokenizers: they cut a normalized text into pieces, mostly words, which the model splits into tokens. */
#ifndef TEXT_SPLIT_H
#define TEXT_SPLIT_H

#include "lib/text/aligned.h"
#include "lib/text/field.h"
#include "lib/text/regex.h"

/* A part of a text: runes, or an added token (id >= 0), which is not split further. */
typedef struct piece {
    uint32_t first, count;
    int32_t id;
} piece;

typedef struct pieces {
    piece *at;
    size_t n, room;
    bool failed;
} pieces;

/* Adds a piece, unless it is empty. */
void pieces_add(pieces *p, size_t first, size_t count, int32_t id);
void pieces_free(pieces *p);

/* A text in pieces, and scratch memory for the next one. */
typedef struct cut_text {
    aligned text, spare;
    pieces list, spare_list;
    regex_scratch regex;
} cut_text;

void cut_text_free(cut_text *t);

typedef struct splitter splitter;

/* Reads the value of "pre_tokenizer" in tokenizer.json; null does nothing. prefix_space, if it is a bool, overrides
 * add_prefix_space of a ByteLevel that is not in a sequence. NULL on failure. */
splitter *splitter_new(field config, field prefix_space);
void splitter_free(splitter *s);
bool splitter_is_bert(const splitter *s);

/* text.most is set. If the text becomes longer than that, sets text.failed and an error. */
void splitter_run(const splitter *s, cut_text *t);

#endif
