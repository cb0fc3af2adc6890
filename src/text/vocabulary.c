/* Vocabularies: see vocabulary.h. */
#include "text/vocabulary.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* The low bits of the hash are mixed, because FNV's are weak. */
static uint32_t slot_of(const vocabulary *v, uint32_t hash)
{
    return (hash ^ hash >> 15) & v->mask;
}

int32_t vocabulary_find_hashed(const vocabulary *v, uint32_t hash, const void *prefix,
                               size_t prefix_bytes, const void *chars, size_t bytes)
{
    if (!v->slots)
        return -1;
    hash |= hash == 0;
    for (uint32_t i = slot_of(v, hash);; i = (i + 1) & v->mask) {
        const int32_t id = v->slots[i];
        if (id < 0)
            return -1;
        const struct vocabulary_entry *e = &v->entries[id];
        if (e->hash == hash && e->length == prefix_bytes + bytes &&
            memcmp(v->bytes + e->at, prefix, prefix_bytes) == 0 &&
            memcmp(v->bytes + e->at + prefix_bytes, chars, bytes) == 0)
            return id;
    }
}

int32_t vocabulary_find(const vocabulary *v, const void *chars, size_t bytes)
{
    return vocabulary_find_hashed(v, vocabulary_hash(VOCABULARY_SEED, chars, bytes), "", 0, chars,
                                  bytes);
}

const char *vocabulary_text(const vocabulary *v, int64_t id, size_t *bytes)
{
    if (id < 0 || id >= v->n || !v->entries[id].hash)
        return NULL;
    if (bytes)
        *bytes = v->entries[id].length;
    return (const char *)v->bytes + v->entries[id].at;
}

/* The slot of a text, or the empty one where it belongs. */
static uint32_t slot_for(const vocabulary *v, uint32_t hash, const void *chars, size_t bytes)
{
    uint32_t i = slot_of(v, hash);
    for (; v->slots[i] >= 0; i = (i + 1) & v->mask) {
        const struct vocabulary_entry *e = &v->entries[v->slots[i]];
        if (e->hash == hash && e->length == bytes && memcmp(v->bytes + e->at, chars, bytes) == 0)
            break;
    }
    return i;
}

static ig_status slots_grow(vocabulary *v)
{
    const uint32_t size = v->slots ? 2 * (v->mask + 1) : 1024;
    int32_t *slots = memory_get(size * sizeof *slots);
    if (!slots)
        return IG_ERR_MEMORY;
    memset(slots, 0xff, size * sizeof *slots);
    memory_free(v->slots);
    v->slots = slots;
    v->mask = size - 1;
    for (int32_t id = 0; id < v->n; id++) {
        if (!v->entries[id].hash)
            continue;
        const struct vocabulary_entry *e = &v->entries[id];
        slots[slot_for(v, e->hash, v->bytes + e->at, e->length)] = id;
    }
    return IG_OK;
}

static ig_status rooms_grow(vocabulary *v, size_t bytes, int32_t id)
{
    if (v->n_bytes + bytes + 1 > v->room_bytes) {
        const size_t room = 2 * v->room_bytes + bytes + 4096;
        unsigned char *all = memory_resize(v->bytes, room);
        if (!all)
            return IG_ERR_MEMORY;
        v->bytes = all;
        v->room_bytes = room;
    }
    if (id >= v->room) {
        const int32_t room = id + id / 2 + 1024;
        struct vocabulary_entry *entries =
            memory_resize(v->entries, (size_t)room * sizeof *entries);
        if (!entries)
            return IG_ERR_MEMORY;
        v->entries = entries;
        v->room = room;
    }
    if (!v->slots || (uint32_t)v->n + 1 > (v->mask + 1) / 2)
        return slots_grow(v);
    return IG_OK;
}

ig_status vocabulary_add(vocabulary *v, const void *chars, size_t bytes, int64_t id)
{
    if (id < 0 || id >= VOCABULARY_MOST)
        FAIL(IG_ERR_FORMAT, "the vocabulary has the id %lld; ids are from 0 to %d", (long long)id,
             VOCABULARY_MOST - 1);
    if (v->n_bytes + bytes + 1 > UINT32_MAX)
        FAIL(IG_ERR_FORMAT, "the vocabulary has more than 4 GiB of text");
    TRY(rooms_grow(v, bytes, (int32_t)id));
    for (; v->n <= id; v->n++) {
        v->entries[v->n] = (struct vocabulary_entry){0};
        if ((uint32_t)v->n + 1 > (v->mask + 1) / 2)
            TRY(slots_grow(v));
    }
    struct vocabulary_entry *e = &v->entries[id];
    if (e->hash)
        return IG_OK; /* the first text of an id stays */
    uint32_t hash = vocabulary_hash(VOCABULARY_SEED, chars, bytes);
    hash |= hash == 0;
    *e = (struct vocabulary_entry){(uint32_t)v->n_bytes, (uint32_t)bytes, hash};
    if (bytes)
        memcpy(v->bytes + v->n_bytes, chars, bytes);
    v->n_bytes += bytes;
    v->bytes[v->n_bytes++] = 0;
    if ((int32_t)bytes > v->longest)
        v->longest = (int32_t)bytes;
    v->slots[slot_for(v, hash, chars, bytes)] = (int32_t)id;
    return IG_OK;
}

void vocabulary_free(vocabulary *v)
{
    memory_free(v->bytes);
    memory_free(v->entries);
    memory_free(v->slots);
    *v = (vocabulary){0};
}
