/* Regular expressions of tokenizers, over code points.
 *
 * Supports the syntax that tokenizer files use: alternatives, groups, (?:...), (?i:...), lookahead, lookbehind of
 * bounded length, \b, classes with \p{..}, \s, \d, \w, nested classes, &&, and the quantifiers ? * + {m,n}, lazy and
 * possessive. Anything else is refused with a message that names it. The matcher backtracks, with a limit on its steps.
 */
#ifndef TEXT_REGEX_H
#define TEXT_REGEX_H

#include "lib/text/aligned.h"

typedef struct regex regex;

/* The pattern is UTF-8. NULL on failure, with a message that names the pattern and the unsupported construct. */
regex *regex_new(const char *pattern, size_t bytes);
/* A pattern that matches the text literally. */
regex *regex_literal(const char *chars, size_t bytes);
void regex_free(regex *r);

/* Scratch memory of one thread. */
typedef struct regex_scratch {
    struct choice *stack;
    size_t used, room;
    bool failed;   /* a search ran out of memory ... */
    bool exceeded; /* ... or of steps; both stay set */
} regex_scratch;

void regex_scratch_free(regex_scratch *s);

/* Finds the first match at or after `from`. False if there is none or the search failed. Matches may be empty. */
bool regex_find(const regex *r, const rune *chars, size_t n, size_t from, regex_scratch *s,
                size_t *start, size_t *end);

#endif
