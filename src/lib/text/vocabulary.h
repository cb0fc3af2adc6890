/* A vocabulary: token texts by id, and ids by text. */
#ifndef TEXT_VOCABULARY_H
#define TEXT_VOCABULARY_H

#include "ingot.h"

typedef struct vocabulary {
    unsigned char *bytes; /* all texts, each followed by a zero byte */
    size_t n_bytes, room_bytes;
    struct vocabulary_entry {
        uint32_t at, length, hash;
        int32_t id;
    } * entries; /* one for each text */
    int32_t count;
    int32_t *by_id; /* entries by id; -1: an id without a text */
    int32_t n;      /* the largest id + 1 */
    size_t room, room_ids;
    int32_t *slots; /* entries by hash, open addressing; -1: empty */
    uint32_t mask;
    int32_t longest; /* bytes of the longest text */
    /* A bit set of the hashes of all prefixes of texts. It may have false positives. */
    uint32_t *prefixes;
    uint32_t prefix_mask;
} vocabulary;

enum { VOCABULARY_MOST = 1 << 24 }; /* tokens */

/* Adds a token; ids may come in any order. If a text is added twice, the later id is found. If an id is added twice, it
 * keeps its first text. IG_ERR_FORMAT if the id is out of range. */
ig_status vocabulary_add(vocabulary *v, const void *chars, size_t bytes, int64_t id);
void vocabulary_free(vocabulary *v);

/* Makes the set of prefixes. Call it when all texts have been added. */
ig_status vocabulary_finish(vocabulary *v);

/* The id of a text; -1 if there is none. */
int32_t vocabulary_find(const vocabulary *v, const void *chars, size_t bytes);
/* The terminated text of an id; NULL if there is none. */
const char *vocabulary_text(const vocabulary *v, int64_t id, size_t *bytes);

/* A hash that can be extended: pass the hash of the preceding bytes as seed. */
static inline uint32_t vocabulary_hash(uint32_t seed, const unsigned char *at, size_t bytes)
{
    uint32_t h = seed;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ at[i]) * 0x01000193u;
    return h;
}
enum { VOCABULARY_SEED = 0x811c9dc5 };

/* False if no text has a prefix with this hash. */
static inline bool vocabulary_begins(const vocabulary *v, uint32_t hash)
{
    const uint32_t bit = (hash ^ hash >> 15) & v->prefix_mask;
    return v->prefixes[bit / 32] >> bit % 32 & 1;
}

/* Same as vocabulary_find, for a text in two parts whose hash is known. */
int32_t vocabulary_find_hashed(const vocabulary *v, uint32_t hash, const void *prefix,
                               size_t prefix_bytes, const void *chars, size_t bytes);

#endif
