/* Arrays that the ranks of a team divide (ingot/team.h): buffers whose content is fetched from all ranks.
 *
 * A part has a key, which is the same in all ranks. This rank answers questions for its own parts from the list below, in
 * a thread of the team. A part that no array of this rank uses any more is kept until all ranks say so. */
#include "ingot/grad.h"
#include "ingot/ops.h"
#include "ingot/team.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/team.h"
#include "engine/array/shutdown.h"
#include "engine/eval/engine.h"
#include "engine/eval/transfer.h"
#include <stdlib.h>
#include <string.h>

/* The own part of an array, and where the parts of all ranks begin. */
typedef struct divided {
    fetched base;
    uint64_t key;
    buffer *own;    /* NULL: no elements */
    bool is_dead;   /* this rank has released the array */
    uint64_t at[1]; /* size + 1 byte offsets */
} divided;

/* All parts, by key. */
static struct {
    pthread_mutex_t lock;
    divided **list;
    int n, room;
    uint64_t keys; /* made so far */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the list ---- */

static void part_free(divided *d)
{
    buffer_release(d->own);
    memory_free(d);
}

/* The array is gone; other ranks may still need its part. */
static void part_die(fetched *f)
{
    pthread_mutex_lock(&table.lock);
    ((divided *)f)->is_dead = true;
    pthread_mutex_unlock(&table.lock);
}

static const void *part_find(uint64_t key, uint64_t offset, uint64_t bytes)
{
    const void *found = NULL;
    pthread_mutex_lock(&table.lock);
    int low = 0, high = table.n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (table.list[middle]->key < key)
            low = middle + 1;
        else
            high = middle;
    }
    const divided *d = low < table.n ? table.list[low] : NULL;
    if (d && d->key == key && d->own && offset + bytes <= d->own->bytes)
        found = (const char *)d->own->data + offset;
    pthread_mutex_unlock(&table.lock);
    return found;
}

static ig_status part_fetch(fetched *f, void *to)
{
    const divided *d = (const divided *)f;
    const int size = ig_team_size(), me = ig_team_rank();
    team_ask *asks = memory_get((size_t)size * sizeof *asks);
    int n = 0;
    if (!asks)
        return IG_ERR_MEMORY;
    for (int r = 0; r < size; r++) {
        char *place = (char *)to + d->at[r];
        const size_t bytes = (size_t)(d->at[r + 1] - d->at[r]);
        if (r == me && bytes)
            memcpy(place, d->own->data, bytes);
        else if (bytes)
            asks[n++] = (team_ask){r, d->key, 0, place, bytes};
    }
    const ig_status status = team_fetch(asks, n);
    memory_free(asks);
    return status;
}

/* ---- parts that no rank needs ---- */

/* Frees the parts of arrays that no longer exist, unless a team is running: another rank may still ask for them. */
static void free_all(void)
{
    pthread_mutex_lock(&table.lock);
    int kept = 0;
    for (int i = 0; i < table.n; i++)
        if (table.list[i]->is_dead && !team_is_on())
            part_free(table.list[i]);
        else
            table.list[kept++] = table.list[i];
    table.n = kept;
    if (!kept) {
        memory_free(table.list);
        table.list = NULL;
        table.room = 0;
    }
    pthread_mutex_unlock(&table.lock);
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Frees the parts whose keys are in the lists of all ranks. */
static void free_agreed(uint64_t *keys, size_t n)
{
    const size_t size = (size_t)ig_team_size();
    qsort(keys, n, sizeof *keys, by_key);
    pthread_mutex_lock(&table.lock);
    int kept = 0;
    size_t k = 0;
    for (int i = 0; i < table.n; i++) {
        divided *d = table.list[i];
        while (k < n && keys[k] < d->key)
            k++;
        if (k + size <= n && keys[k + size - 1] == d->key)
            part_free(d);
        else
            table.list[kept++] = d;
    }
    table.n = kept;
    pthread_mutex_unlock(&table.lock);
}

/* The keys of parts whose arrays this rank has released; returns their number. keys may be NULL. */
static size_t list_dead(uint64_t *keys, size_t most)
{
    size_t n = 0;
    pthread_mutex_lock(&table.lock);
    for (int i = 0; i < table.n && n < most; i++)
        if (table.list[i]->is_dead) {
            if (keys)
                keys[n] = table.list[i]->key;
            n++;
        }
    pthread_mutex_unlock(&table.lock);
    return n;
}

/* The digest that ranks compare, and the number of keys that a rank sends. */
typedef struct summary {
    uint8_t digest[HASH_BYTES];
    uint64_t n_dead;
} summary;

/* Frees the parts that no rank needs. Ranks that return know that all others have the new parts. */
static ig_status agree(const uint8_t *digest)
{
    const size_t size = (size_t)ig_team_size(), me = (size_t)ig_team_rank();
    summary *all = memory_new(size * sizeof *all);
    uint64_t *at = memory_get((size + 1) * sizeof *at), *keys = NULL;
    ig_status status = all && at ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        memcpy(all[me].digest, digest, HASH_BYTES);
        all[me].n_dead = list_dead(NULL, SIZE_MAX);
        for (size_t r = 0; r <= size; r++)
            at[r] = r * sizeof *all;
        status = team_gather(TEAM_MAIN, all, at);
    }
    for (size_t r = 1; r < size && status == IG_OK; r++)
        if (memcmp(all[0].digest, all[r].digest, HASH_BYTES))
            status = ig_fail(IG_ERR_ARGUMENT,
                             "rank %d and rank 0 divide different arrays; start all ranks with the "
                             "same program, files and settings",
                             (int)r);
    if (status == IG_OK) {
        at[0] = 0;
        for (size_t r = 0; r < size; r++)
            at[r + 1] = at[r] + all[r].n_dead * sizeof *keys;
        keys = memory_get((size_t)at[size] + 1);
        status = keys ? IG_OK : IG_ERR_MEMORY;
    }
    if (status == IG_OK) {
        list_dead(keys + at[me] / sizeof *keys, (size_t)all[me].n_dead);
        status = team_gather(TEAM_MAIN, keys, at);
    }
    if (status == IG_OK)
        free_agreed(keys, (size_t)at[size] / sizeof *keys);
    memory_free(all);
    memory_free(at);
    memory_free(keys);
    return status;
}

/* ---- new arrays ---- */

/* The elements of x in host memory of exactly their size, not shared with a larger array. */
static buffer *host_elements(ig_array *x, size_t bytes)
{
    size_t offset = 0;
    buffer *from = engine_elements(engine_enter(), x, &offset);
    buffer *to = NULL;
    if (from && !from->device && !from->fetched && !from->foreign && offset == 0 &&
        from->bytes == bytes)
        to = buffer_retain(from);
    else if (from && (to = buffer_new(bytes)) &&
             transfer_read(from, offset, to->data, bytes) != IG_OK) {
        buffer_release(to);
        to = NULL;
    }
    buffer_release(from);
    engine_leave();
    return to;
}

static ig_status part_check(const ig_part *p, int64_t *elements)
{
    const int size = ig_team_size(), me = ig_team_rank();
    if (!p->cut || p->shape.n < 0 || p->shape.n > IG_MAX_NDIM || (p->shape.n && !p->shape.v) ||
        !ig_dtype_bytes(p->dtype))
        FAIL(IG_ERR_ARGUMENT, "team_join: a part needs a shape, a dtype and cut");
    bool fits = p->cut[0] == 0;
    *elements = 1;
    for (int i = 0; i < p->shape.n; i++)
        *elements *= p->shape.v[i];
    for (int r = 0; r < size; r++)
        fits = fits && p->cut[r] <= p->cut[r + 1];
    const int64_t own = p->cut[me + 1] - p->cut[me], have = p->own ? ig_size(p->own) : 0;
    if (!fits || p->cut[size] != *elements)
        FAIL(IG_ERR_ARGUMENT, "team_join: cut must go from 0 to %lld without decreasing",
             (long long)*elements);
    if (have != own || (p->own && ig_dtype_of(p->own) != p->dtype))
        FAIL(IG_ERR_ARGUMENT, "team_join: a part of %lld elements %s is needed, and it has %lld %s",
             (long long)own, ig_dtype_name(p->dtype), (long long)have,
             p->own ? ig_dtype_name(ig_dtype_of(p->own)) : "");
    return IG_OK;
}

/* Adds the part to the list. */
static ig_status part_new(const ig_part *p, divided **out)
{
    const int size = ig_team_size(), me = ig_team_rank();
    const size_t bytes = ig_dtype_bytes(p->dtype);
    divided *d = memory_new(sizeof *d + (size_t)size * sizeof *d->at);
    if (!d)
        return IG_ERR_MEMORY;
    for (int r = 0; r <= size; r++)
        d->at[r] = (uint64_t)p->cut[r] * bytes;
    const size_t own = (size_t)(d->at[me + 1] - d->at[me]);
    bool fine = !own || (d->own = host_elements(p->own, own));
    d->base = (fetched){.fetch = part_fetch, .destroy = part_die};
    d->is_dead = true; /* until an array uses it */
    pthread_mutex_lock(&table.lock);
    d->key = ++table.keys;
    fine = fine && memory_room(&table.list, table.n, &table.room, sizeof *table.list);
    if (fine)
        table.list[table.n++] = d;
    pthread_mutex_unlock(&table.lock);
    if (!fine) {
        part_free(d);
        return error_waiting(IG_ERR_MEMORY);
    }
    *out = d;
    return IG_OK;
}

/* The array of a part, which belongs to the scope. */
static ig_array *part_array(const ig_part *p, int64_t elements)
{
    divided *d = NULL;
    if (part_new(p, &d) != IG_OK)
        return NULL;
    d->is_dead = false;
    buffer *b = buffer_new_fetched((size_t)elements * ig_dtype_bytes(p->dtype), &d->base);
    return b ? array_leaf(p->dtype, p->shape.n, p->shape.v, b) : NULL;
}

static ig_status join_one(const ig_part *p, hash *h, ig_array **x)
{
    int64_t elements = 0;
    TRY(part_check(p, &elements));
    hash_add(h, &p->dtype, sizeof p->dtype);
    hash_add(h, p->shape.v, (size_t)p->shape.n * sizeof *p->shape.v);
    hash_add(h, p->cut, ((size_t)ig_team_size() + 1) * sizeof *p->cut);
    *x = ig_team_size() > 1 ? part_array(p, elements) : ig_reshape(p->own, p->shape);
    return *x ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status join_all(const ig_part *parts, int n, ig_array **fresh, ig_array **x)
{
    uint8_t digest[HASH_BYTES];
    hash h;
    if (ig_team_size() > 1)
        TRY(team_serve(part_find));
    shutdown_add(free_all);
    hash_begin(&h);
    for (int i = 0; i < n; i++)
        TRY(join_one(&parts[i], &h, &fresh[i]));
    hash_end(&h, digest);
    for (int i = 0; i < n; i++) {
        ig_release(x[i]);
        x[i] = ig_retain(fresh[i]);
    }
    return ig_team_size() > 1 ? agree(digest) : IG_OK;
}

ig_status ig_team_join(const ig_part *parts, int n, ig_array **x)
{
    if (n > 0 && (!parts || !x))
        FAIL(IG_ERR_ARGUMENT, "team_join: a list is NULL");
    ig_array **fresh = memory_new((size_t)(n + 1) * sizeof *fresh);
    ig_status status = !fresh        ? IG_ERR_MEMORY
                       : ig_failed() ? error_waiting(IG_ERR_ARGUMENT)
                                     : ig_scope_begin();
    if (status == IG_OK) {
        status = join_all(parts, n, fresh, x);
        ig_scope_end();
    }
    memory_free(fresh);
    if (status != IG_OK && team_is_on())
        team_fail(NULL);
    return status;
}

/* ---- whole arrays ---- */

static ig_status divide_all(ig_array **x, int n, ig_part *parts, int64_t *cut)
{
    const int size = ig_team_size(), me = ig_team_rank();
    for (int i = 0; i < n; i++, cut += size + 1) {
        if (!x[i])
            FAIL(IG_ERR_ARGUMENT, "team_divide: array %d is NULL", i);
        const int64_t all = ig_size(x[i]);
        for (int r = 0; r <= size; r++)
            cut[r] = all / size * r + all % size * r / size;
        ig_array *own = ig_slice(ig_reshape(x[i], IG_SHAPE(-1)), IG_SHAPE(cut[me]),
                                 IG_SHAPE(cut[me + 1]), IG_SHAPE(1));
        if (!own)
            return error_waiting(IG_ERR_MEMORY);
        parts[i] =
            (ig_part){cut[me] < cut[me + 1] ? own : NULL, ig_shape(x[i]), ig_dtype_of(x[i]), cut};
    }
    return ig_team_join(parts, n, x);
}

ig_status ig_team_divide(ig_array **x, int n)
{
    const size_t count = (size_t)(n > 0 ? n : 0), size = (size_t)ig_team_size();
    if (count && !x)
        FAIL(IG_ERR_ARGUMENT, "team_divide: the list is NULL");
    if (size == 1)
        return IG_OK;
    ig_part *parts = memory_get((count + 1) * sizeof *parts);
    int64_t *cut = memory_get((count + 1) * (size + 1) * sizeof *cut);
    ig_status status = parts && cut ? ig_scope_begin() : IG_ERR_MEMORY;
    if (status == IG_OK) {
        const bool kept = ig_keep_history(false);
        status = divide_all(x, n, parts, cut);
        ig_keep_history(kept);
        ig_scope_end();
    }
    memory_free(parts);
    memory_free(cut);
    return status;
}

bool ig_team_is_divided(const ig_array *x) { return x && x->root->data && x->root->data->fetched; }

void ig_team_divided_bytes(uint64_t *own, uint64_t *most)
{
    uint64_t parts = 0, now, peak;
    pthread_mutex_lock(&table.lock);
    for (int i = 0; i < table.n; i++)
        parts += table.list[i]->own ? table.list[i]->own->bytes : 0;
    pthread_mutex_unlock(&table.lock);
    buffer_fetched_bytes(&now, &peak);
    if (own)
        *own = parts;
    if (most)
        *most = peak;
}
