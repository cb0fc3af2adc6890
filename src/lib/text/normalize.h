/* Normalizers of tokenizers: steps that rewrite a text before it is split. */
#ifndef TEXT_NORMALIZE_H
#define TEXT_NORMALIZE_H

#include "lib/text/aligned.h"
#include "lib/text/field.h"
#include "lib/text/regex.h"

typedef struct normalizer normalizer;

/* From the value of "normalizer" in tokenizer.json; null has no steps. NULL on failure. */
normalizer *normalizer_new(field config);
void normalizer_free(normalizer *n);

/* Reads a pattern: {"String": text}, {"Regex": text} or a text. */
ig_status pattern_read(field f, regex **out);

/* True if the only step is BERT's, with its default options: clean, split ideographs, lower case without accents. */
bool normalizer_is_bert(const normalizer *n);

/* Scratch memory of one thread. */
typedef struct normalize_scratch {
    aligned a, b;
    uint32_t origin; /* where the text begins in the original */
    rewrites changes;
    regex_scratch regex;
} normalize_scratch;

void normalize_scratch_free(normalize_scratch *s);

/* Appends the normalized runes to `to`, whose `most` is set. If a step makes the text longer than that, sets to->failed
 * and an error that names the step. */
void normalizer_run(const normalizer *n, const rune *runes, size_t count, aligned *to,
                    normalize_scratch *s);

#endif
