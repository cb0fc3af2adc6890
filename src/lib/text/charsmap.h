/* The character map of sentencepiece models ("precompiled_charsmap"), and the code points that stand for bytes in
 * byte-level vocabularies.
 */
#ifndef TEXT_CHARSMAP_H
#define TEXT_CHARSMAP_H

#include "lib/text/aligned.h"

typedef struct charsmap charsmap;

/* Decodes the base64 data: the length of a double-array trie, the trie, and the replacements. NULL on failure. */
charsmap *charsmap_new(const char *base64, size_t bytes);
void charsmap_free(charsmap *m);

/* Adds the rewrites of a text; returns false if nothing changes. */
bool charsmap_run(const charsmap *m, const aligned *from, rewrites *w);

/* The code point that stands for a byte, as in GPT-2. */
uint32_t charsmap_byte(unsigned char byte);
/* Adds the bytes of the runes, each as the code point that stands for it. */
void charsmap_bytes(const rune *from, size_t n, aligned *to);

#endif
