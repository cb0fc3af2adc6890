/* A disk cache of bytes by key, for results that take long to make and depend only on the key, such as a
 * compiled kernel or program.
 *
 * It is in $XDG_CACHE_HOME/ingot (else ~/.cache/ingot), with one folder per kind, and may be deleted at
 * any time. IG_CACHE=off disables it. Folders and entries must belong to the effective user and must not
 * be writable by the group or by others; otherwise they are ignored, because their content is executed.
 * Folders and links above must belong to the effective user or to root.
 * The whole key is stored and compared. An entry that is damaged or has another key is removed and counts
 * as missing. Nothing here is an error: a cache that cannot be read or written counts as empty. Processes
 * may share it: an entry appears as a whole, by a rename. */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include "ingot/base.h"

typedef struct cache {
    const char *kind;   /* name of its folder: "opencl" */
    uint64_t max_bytes; /* of all entries; the least recently used ones are removed */
} cache;

/* Returns true if there is an entry for the key; the caller frees *data with memory_free. */
bool cache_get(const cache *c, const void *key, size_t key_bytes, void **data, size_t *bytes);
void cache_put(const cache *c, const void *key, size_t key_bytes, const void *data, size_t bytes);
/* Removes the entry, for a reader that cannot use it. */
void cache_remove(const cache *c, const void *key, size_t key_bytes);

#endif
