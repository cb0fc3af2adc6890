/* A cache of bytes on the disk, by content: what is dear to make and the same for the same key, such
 * as a compiled kernel.
 *
 * It is in $XDG_CACHE_HOME/ingot (else ~/.cache/ingot), a folder for each kind, and may be deleted at
 * any time. IG_CACHE=off switches it off. The whole key is kept and compared; an entry that is
 * damaged, or of another key, is removed and counts as none. Nothing here is an error: a cache that
 * cannot be read or written is an empty one. Processes may share it: an entry appears whole, by a
 * rename. */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include "ingot.h"

typedef struct cache {
    const char *kind;   /* a folder's name: "opencl" */
    uint64_t max_bytes; /* of all entries; those used longest ago are removed */
} cache;

/* What was put there under this key: *data is the caller's to memory_free. */
bool cache_get(const cache *c, const void *key, size_t key_bytes, void **data, size_t *bytes);
void cache_put(const cache *c, const void *key, size_t key_bytes, const void *data, size_t bytes);
/* Removes the entry: for one that its reader had no use for. */
void cache_remove(const cache *c, const void *key, size_t key_bytes);

#endif
