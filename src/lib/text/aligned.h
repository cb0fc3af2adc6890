/* Text as code points, each with the range of the original text that it comes from.
 *
 * Ranges are in code points of the original. A text grows at its end. A failed allocation sets `failed`, and later
 * additions do nothing. The owner of the text checks `failed` once, at the end.
 */
#ifndef TEXT_ALIGNED_H
#define TEXT_ALIGNED_H

#include "ingot.h"

/* Bytes [first, last) of a text. */
typedef struct text_range {
    size_t first, last;
} text_range;

typedef struct rune {
    uint32_t c;
    uint32_t start, end;
} rune;

typedef struct aligned {
    rune *at;
    size_t n, room;
    size_t most; /* limit in runes; 0: none. A longer text is a failure */
    bool failed;
} aligned;

/* The limit on the runes that a tokenizer's parts may make from n runes. NFKD expands one code point to at most 18, and
 * these to about 33 bytes, but real texts do not consist of such code points only. */
static inline size_t aligned_most(size_t n) { return 16 * n + 65536; }

/* Makes room for `more` elements in a list with the members at, n, room and failed. The bytes count against the memory
 * budget. False on failure. */
#define LIST_RESERVE(l, more) \
    ((!(l)->failed && (more) <= (l)->room - (l)->n) || \
     ((l)->at = list_grow((l)->at, (l)->n, more, &(l)->room, sizeof *(l)->at, &(l)->failed), \
      !(l)->failed))
#define LIST_FREE(l) \
    (memory_counted_free((l)->at, (l)->room * sizeof *(l)->at), memset(l, 0, sizeof *(l)))
void *list_grow(void *at, size_t n, size_t more, size_t *room, size_t size, bool *failed);

/* Makes room for more runes; false on failure. */
bool aligned_reserve(aligned *a, size_t more);
void aligned_add(aligned *a, rune r);
void aligned_append(aligned *a, const rune *runes, size_t n);
void aligned_free(aligned *a);

/* A code point of a rewritten text. change is 0 if it replaces the next code point, above 0 if it is new, and below 0
 * if it replaces the next one and -change more. */
typedef struct rewrite {
    uint32_t c;
    int32_t change;
} rewrite;

typedef struct rewrites {
    rewrite *at;
    size_t n, room;
    size_t most; /* as in aligned */
    bool failed;
} rewrites;

void rewrites_add(rewrites *w, uint32_t c, int change);
void rewrites_free(rewrites *w);

/* Appends to `to` the text that the rewrites make of `from`. New code points get the range of the code point before
 * them. */
void aligned_rewrite(aligned *to, const aligned *from, const rewrites *w);

/* The canonical or compatibility decomposition of a text, optionally composed afterwards: NFD, NFKD, NFC, NFKC. */
void aligned_normalize(aligned *to, const aligned *from, bool compatible, bool compose,
                       rewrites *scratch);

/* A growing array of bytes, with the same rules. */
typedef struct octets {
    unsigned char *at;
    size_t n, room;
    bool failed;
} octets;

bool octets_reserve(octets *o, size_t more);
void octets_free(octets *o);

#endif
