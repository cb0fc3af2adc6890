/* Regular expressions of tokenizers, over code points.
 *
 * What is in use is read: alternatives, groups, (?:...), (?i:...), lookahead, lookbehind of bounded length, \b, classes
 * with \p{..}, \s, \d, \w, classes in classes, &&, the quantifiers ? * + {m,n}, lazy and possessive. Anything else is
 * refused by name. The matcher backtracks, with a limit on its steps.
 */
#ifndef TEXT_REGEX_H
#define TEXT_REGEX_H

#include "lib/text/aligned.h"

typedef struct regex regex;

/* NULL on failure; the message names the pattern and what is not supported in it. The pattern is UTF-8. */
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

/* Finds the first match at or behind `from`; false if there is none, or if the search failed. Matches may be empty. */
bool regex_find(const regex *r, const rune *chars, size_t n, size_t from, regex_scratch *s,
                size_t *start, size_t *end);

#endif
