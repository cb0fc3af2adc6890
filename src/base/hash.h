/* SHA-256 (FIPS 180-4): names content, and detects damaged files. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_BYTES = 32, HASH_BLOCK_BYTES = 64 };

/* For content in pieces: hash_begin, hash_add for each piece in order, hash_end. */
typedef struct hash {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[HASH_BLOCK_BYTES];
} hash;

void hash_begin(hash *h);
void hash_add(hash *h, const void *data, size_t bytes);
void hash_end(hash *h, uint8_t out[static HASH_BYTES]);

#endif
