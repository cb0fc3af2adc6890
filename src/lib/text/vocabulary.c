/* Vocabularies: see vocabulary.h. */
#include "lib/text/vocabulary.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* Mixes the hash, because the low bits of FNV are weak. */
static uint32_t slot_of(const vocabulary *v, uint32_t hash)
{
    return (hash ^ hash >> 15) & v->mask;
}

int32_t vocabulary_find_hashed(const vocabulary *v, uint32_t hash, const void *prefix,
                               size_t prefix_bytes, const void *chars, size_t bytes)
{
    if (!v->slots)
        return -1;
    for (uint32_t i = slot_of(v, hash);; i = (i + 1) & v->mask) {
        if (v->slots[i] < 0)
            return -1;
        const struct vocabulary_entry *e = &v->entries[v->slots[i]];
        if (e->hash == hash && e->length == prefix_bytes + bytes &&
            (prefix_bytes == 0 || memcmp(v->bytes + e->at, prefix, prefix_bytes) == 0) &&
            memcmp(v->bytes + e->at + prefix_bytes, chars, bytes) == 0)
            return e->id;
    }
}

int32_t vocabulary_find(const vocabulary *v, const void *chars, size_t bytes)
{
    return vocabulary_find_hashed(v, vocabulary_hash(VOCABULARY_SEED, chars, bytes), "", 0, chars,
                                  bytes);
}

const char *vocabulary_text(const vocabulary *v, int64_t id, size_t *bytes)
{
    if (id < 0 || id >= v->n || v->by_id[id] < 0)
        return NULL;
    const struct vocabulary_entry *e = &v->entries[v->by_id[id]];
    if (bytes)
        *bytes = e->length;
    return (const char *)v->bytes + e->at;
}

/* The slot of a text, or the empty slot where it would go. */
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
    for (int32_t i = 0; i < v->count; i++) {
        const struct vocabulary_entry *e = &v->entries[i];
        slots[slot_for(v, e->hash, v->bytes + e->at, e->length)] = i;
    }
    return IG_OK;
}

/* Grows a block of *room elements to at least n. */
static ig_status grow(void **at, size_t n, size_t *room, size_t size)
{
    if (n <= *room)
        return IG_OK;
    const size_t more = n + n / 2 + 1024;
    void *block = memory_resize(*at, more * size);
    if (!block)
        return IG_ERR_MEMORY;
    *at = block;
    *room = more;
    return IG_OK;
}

/* Makes room for one more text, and for an id. */
static ig_status rooms_grow(vocabulary *v, size_t bytes, size_t id)
{
    void *chars = v->bytes, *entries = v->entries, *by_id = v->by_id;
    const ig_status status = grow(&chars, v->n_bytes + bytes + 1, &v->room_bytes, 1);
    v->bytes = chars;
    TRY(status);
    const ig_status second = grow(&entries, (size_t)v->count + 1, &v->room, sizeof *v->entries);
    v->entries = entries;
    TRY(second);
    const ig_status third = grow(&by_id, id + 1, &v->room_ids, sizeof *v->by_id);
    v->by_id = by_id;
    TRY(third);
    return !v->slots || (uint32_t)v->count + 1 > (v->mask + 1) / 2 ? slots_grow(v) : IG_OK;
}

ig_status vocabulary_add(vocabulary *v, const void *chars, size_t bytes, int64_t id)
{
    if (id < 0 || id >= VOCABULARY_MOST)
        FAIL(IG_ERR_FORMAT, "the vocabulary has the id %lld; ids are from 0 to %d", (long long)id,
             VOCABULARY_MOST - 1);
    if (v->n_bytes + bytes + 1 > UINT32_MAX)
        FAIL(IG_ERR_FORMAT, "the vocabulary has more than 4 GiB of text");
    TRY(rooms_grow(v, bytes, (size_t)id));
    const uint32_t hash = vocabulary_hash(VOCABULARY_SEED, chars, bytes),
                   slot = slot_for(v, hash, chars, bytes);
    if (v->slots[slot] < 0) {
        v->slots[slot] = v->count;
        v->entries[v->count++] =
            (struct vocabulary_entry){(uint32_t)v->n_bytes, (uint32_t)bytes, hash, 0};
        if (bytes)
            memcpy(v->bytes + v->n_bytes, chars, bytes);
        v->n_bytes += bytes;
        v->bytes[v->n_bytes++] = 0;
        if ((int32_t)bytes > v->longest)
            v->longest = (int32_t)bytes;
    }
    v->entries[v->slots[slot]].id = (int32_t)id;
    while (v->n <= id)
        v->by_id[v->n++] = -1;
    if (v->by_id[id] < 0)
        v->by_id[id] = v->slots[slot];
    return IG_OK;
}

ig_status vocabulary_finish(vocabulary *v)
{
    size_t bits = 1024;
    while (bits < 8 * v->n_bytes && bits < (size_t)1 << 31)
        bits *= 2;
    v->prefixes = memory_new(bits / 8);
    v->prefix_mask = (uint32_t)(bits - 1);
    for (int32_t i = 0; i < v->count && v->prefixes; i++) {
        uint32_t hash = VOCABULARY_SEED;
        for (uint32_t j = 0; j < v->entries[i].length; j++) {
            hash = vocabulary_hash(hash, v->bytes + v->entries[i].at + j, 1);
            const uint32_t bit = (hash ^ hash >> 15) & v->prefix_mask;
            v->prefixes[bit / 32] |= 1u << bit % 32;
        }
    }
    return v->prefixes ? IG_OK : IG_ERR_MEMORY;
}

void vocabulary_free(vocabulary *v)
{
    memory_free(v->prefixes);
    memory_free(v->bytes);
    memory_free(v->entries);
    memory_free(v->by_id);
    memory_free(v->slots);
    *v = (vocabulary){0};
}
