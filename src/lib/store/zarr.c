/* Boxes of Zarr arrays.
 *
 * A box is split into the cells of the grid of objects, and a cell that is a shard into its chunks. Cells, or the chunks
 * of a single shard, are tasks for several threads. A chunk whose elements lie in one piece in the caller's memory is
 * decoded there directly.
 */
#include "lib/store/zarr.h"
#include "base/box.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint64_t MISSING =
    UINT64_MAX; /* offset and size of a chunk that a shard does not have */

/* One call of ig_store_read or ig_store_write. */
typedef struct job {
    zarr *z;
    const int64_t *start, *size; /* of the box */
    char *data;
    int64_t strides[IG_MAX_NDIM];                   /* of data, in bytes */
    int64_t first[IG_MAX_NDIM], count[IG_MAX_NDIM]; /* the cells that it meets */
    codec_room *rooms;                              /* one for each worker */
} job;

/* A part of the grid: a cell or a chunk, clipped to the box of the job. */
typedef struct part {
    int64_t begin[IG_MAX_NDIM]; /* its first element in the array */
    int64_t low[IG_MAX_NDIM];   /* the first element of the box in it, from `begin` */
    int64_t size[IG_MAX_NDIM];  /* elements of the box in it */
    bool empty;                 /* the box does not meet it */
    bool whole;                 /* the box covers all its elements that are inside the array */
    bool full;                  /* ... and no element of it is outside the array */
} part;

static part part_of(const job *j, const int64_t *begin, const int64_t *lengths)
{
    const ig_store *s = &j->z->base;
    part p = {.whole = true, .full = true};
    for (int i = 0; i < s->ndim; i++) {
        const int64_t room = s->shape[i] - begin[i];
        const int64_t inside = room < lengths[i] ? room : lengths[i];
        int64_t low = j->start[i] - begin[i], high = low + j->size[i];
        low = low > 0 ? low : 0;
        high = high < inside ? high : inside;
        p.begin[i] = begin[i];
        p.low[i] = low;
        p.size[i] = high - low;
        p.empty |= high <= low;
        p.whole &= high - low == inside;
        p.full &= inside == lengths[i];
    }
    p.full &= p.whole;
    return p;
}

/* The first element of a part in the caller's memory. */
static char *part_data(const job *j, const part *p)
{
    char *at = j->data;
    for (int i = 0; i < j->z->base.ndim; i++)
        at += (p->begin[i] + p->low[i] - j->start[i]) * j->strides[i];
    return at;
}

/* Its offset in a chunk, in the stored order of axes. */
static int64_t part_offset(const job *j, const part *p)
{
    int64_t offset = 0;
    for (int i = 0; i < j->z->base.ndim; i++)
        offset += p->low[i] * j->z->chain.strides[i];
    return offset;
}

/* ---- cells and their objects --------------------------------------------------------------------- */

static void cell_key(const zarr *z, const int64_t *cell, char key[PLACE_KEY_BYTES])
{
    size_t n = 0;
    const int ndim = z->base.ndim;
    key[0] = 0;
    if (z->prefixed)
        n += (size_t)snprintf(key, PLACE_KEY_BYTES, "c");
    for (int i = 0; i < ndim; i++) {
        if (n)
            key[n++] = z->separator;
        n += (size_t)snprintf(key + n, PLACE_KEY_BYTES - n, "%" PRId64, cell[i]);
    }
    if (!z->prefixed && ndim == 0)
        snprintf(key, PLACE_KEY_BYTES, "0");
}

/* Objects are written under a lock, so that threads that write parts of one object do not undo each other's work. */
static pthread_mutex_t *cell_lock(zarr *z, const int64_t *cell)
{
    uint64_t number = 0;
    for (int i = 0; i < z->base.ndim; i++)
        number = number * 1000003 + (uint64_t)cell[i];
    return &z->locks[number % ZARR_LOCKS];
}

static void cell_of_task(const job *j, int64_t task, int64_t *cell, int64_t *begin)
{
    for (int i = j->z->base.ndim - 1; i >= 0; i--) {
        cell[i] = j->first[i] + task % j->count[i];
        begin[i] = cell[i] * j->z->base.shard[i];
        task /= j->count[i];
    }
}

/* Where a chunk of a shard begins. */
static void inner_begin(const zarr *z, const int64_t *shard_begin, int64_t inner, int64_t *begin)
{
    for (int i = z->base.ndim - 1; i >= 0; i--) {
        const int64_t n = z->base.shard[i] / z->base.chunk[i];
        begin[i] = shard_begin[i] + inner % n * z->base.chunk[i];
        inner /= n;
    }
}

/* ---- reading --------------------------------------------------------------------------------------- */

static void part_fill(const job *j, const part *p)
{
    const ig_store *s = &j->z->base;
    box_fill(s->ndim, p->size, part_data(j, p), j->strides, j->z->fill, ig_dtype_bytes(s->dtype));
}

/* Copies a part from a decoded chunk; `first` is its first element there. */
static void part_place(const job *j, const part *p, const unsigned char *first)
{
    const ig_store *s = &j->z->base;
    box_copy(s->ndim, p->size, part_data(j, p), j->strides, first, j->z->chain.strides,
             ig_dtype_bytes(s->dtype));
}

/* Reads a part of a chunk that is stored as it is: only the bytes from its first to its last element. */
static ig_status plain_read(const job *j, const part *p, object *o, int64_t offset,
                            codec_room *room, bool *found)
{
    const codec_chain *c = &j->z->chain;
    const int64_t first = part_offset(j, p);
    size_t bytes = ig_dtype_bytes(j->z->base.dtype);
    for (int i = 0; i < j->z->base.ndim; i++)
        bytes += (size_t)((p->size[i] - 1) * c->strides[i]);
    TRY(store_reserve(&room->chunk, bytes));
    TRY(object_read(o, offset + first, bytes, room->chunk.at, found));
    if (!*found)
        return IG_OK;
    codec_chain span = *c;
    span.bytes = bytes;
    TRY(codec_decode(&span, &o->file, room->chunk.at, bytes, room->chunk.at, room));
    part_place(j, p, room->chunk.at);
    return IG_OK;
}

/* Decodes a chunk that has been read to where the caller wants it. */
static ig_status chunk_decode(const job *j, const part *p, const object *o, const void *from,
                              size_t bytes, bool direct, codec_room *room)
{
    const codec_chain *c = &j->z->chain;
    if (direct)
        return codec_decode(c, &o->file, from, bytes, part_data(j, p), room);
    TRY(store_reserve(&room->chunk, c->bytes));
    TRY(codec_decode(c, &o->file, from, bytes, room->chunk.at, room));
    part_place(j, p, room->chunk.at + part_offset(j, p));
    return IG_OK;
}

/* Reads a chunk that takes `bytes` bytes of an object; -1: all of it. *found: see object_read. */
static ig_status chunk_read(const job *j, const part *p, object *o, int64_t offset, int64_t bytes,
                            codec_room *room, bool *found)
{
    const codec_chain *c = &j->z->chain;
    const ig_store *s = &j->z->base;
    const bool direct = p->full && !c->transposed &&
                        box_is_dense(s->ndim, p->size, j->strides, ig_dtype_bytes(s->dtype));
    size_t n = (size_t)bytes;
    if (bytes < 0) {
        TRY(object_read_all(o, codec_chain_most(c), &room->stored, &n, found));
        return *found ? chunk_decode(j, p, o, room->stored.at, n, direct, room) : IG_OK;
    }
    if (c->n_steps == 0 && n != c->bytes)
        return io_fail(&o->file, IG_ERR_FORMAT,
                       "it is damaged: a chunk has %zu bytes, and %zu are stored; write it again",
                       c->bytes, n);
    if (c->n_steps == 0 && !direct)
        return plain_read(j, p, o, offset, room, found);
    if (c->n_steps)
        TRY(store_reserve(&room->stored, n ? n : 1));
    void *from = c->n_steps ? (void *)room->stored.at : part_data(j, p);
    TRY(object_read(o, offset, n, from, found));
    return *found ? chunk_decode(j, p, o, from, n, direct, room) : IG_OK;
}

/* Reads the index of a shard into room->index: offset and size of each chunk. */
static ig_status index_read(const zarr *z, object *o, codec_room *room, bool *found)
{
    const size_t stored = codec_chain_most(&z->index);
    TRY(store_reserve(&room->index, stored));
    TRY(object_read(o, z->index_first ? 0 : -(int64_t)stored, stored, room->index.at, found));
    if (!*found)
        return IG_OK;
    return codec_decode(&z->index, &o->file, room->index.at, stored, room->index.at, room);
}

/* The position of a chunk in a shard. *there is false if the shard does not have it. */
static ig_status index_entry(const zarr *z, const object *o, const void *index, int64_t inner,
                             int64_t *offset, size_t *bytes, bool *there)
{
    uint64_t entry[2];
    memcpy(entry, (const char *)index + (size_t)inner * sizeof entry, sizeof entry);
    *there = entry[0] != MISSING || entry[1] != MISSING;
    if (!*there)
        return IG_OK;
    const size_t most = codec_chain_most(&z->chain);
    if (entry[0] > INT64_MAX || entry[1] > most ||
        (o->bytes >= 0 &&
         (entry[0] > (uint64_t)o->bytes || entry[1] > (uint64_t)o->bytes - entry[0])))
        return io_fail(&o->file, IG_ERR_FORMAT,
                       "it is damaged: its index has a chunk of %" PRIu64 " bytes at %" PRIu64
                       "; write it again",
                       entry[1], entry[0]);
    *offset = (int64_t)entry[0];
    *bytes = (size_t)entry[1];
    return IG_OK;
}

/* The chunks of one shard that a box meets. */
typedef struct shard_job {
    job *j;
    object *o;
    const void *index;
    const int64_t *begin;                           /* of the shard */
    int64_t first[IG_MAX_NDIM], count[IG_MAX_NDIM]; /* chunks, from its first one */
} shard_job;

static ig_status inner_read(void *ctx, int64_t task, int worker)
{
    const shard_job *s = ctx;
    const zarr *z = s->j->z;
    int64_t begin[IG_MAX_NDIM], inner = 0, scale = 1, offset = 0;
    size_t bytes = 0;
    bool there = false;
    for (int i = z->base.ndim - 1; i >= 0; i--) {
        const int64_t at = s->first[i] + task % s->count[i];
        begin[i] = s->begin[i] + at * z->base.chunk[i];
        inner += at * scale;
        scale *= z->base.shard[i] / z->base.chunk[i];
        task /= s->count[i];
    }
    const part p = part_of(s->j, begin, z->base.chunk);
    TRY(index_entry(z, s->o, s->index, inner, &offset, &bytes, &there));
    if (there)
        TRY(chunk_read(s->j, &p, s->o, offset, (int64_t)bytes, &s->j->rooms[worker], &there));
    if (!there)
        part_fill(s->j, &p);
    return IG_OK;
}

static ig_status shard_read(job *j, const part *p, object *o, int worker)
{
    const zarr *z = j->z;
    bool found = true;
    int64_t tasks = 1;
    TRY(index_read(z, o, &j->rooms[worker], &found));
    if (!found) {
        part_fill(j, p);
        return IG_OK;
    }
    shard_job s = {.j = j, .o = o, .index = j->rooms[worker].index.at, .begin = p->begin};
    for (int i = 0; i < z->base.ndim; i++) {
        const int64_t last = (p->low[i] + p->size[i] - 1) / z->base.chunk[i];
        s.first[i] = p->low[i] / z->base.chunk[i];
        s.count[i] = last - s.first[i] + 1;
        tasks *= s.count[i];
    }
    if (tasks == 1)
        return inner_read(&s, 0, worker);
    return store_run(tasks, inner_read, &s);
}

static ig_status cell_read(void *ctx, int64_t task, int worker)
{
    job *j = ctx;
    int64_t cell[IG_MAX_NDIM], begin[IG_MAX_NDIM];
    char key[PLACE_KEY_BYTES];
    object o;
    bool found = false;
    cell_of_task(j, task, cell, begin);
    const part p = part_of(j, begin, j->z->base.shard);
    cell_key(j->z, cell, key);
    TRY(object_open(j->z->place, key, &o, &found));
    if (!found) {
        part_fill(j, &p);
        return IG_OK;
    }
    ig_status status;
    const size_t most = codec_chain_most(&j->z->chain);
    if (j->z->sharded) {
        status = shard_read(j, &p, &o, worker);
    } else if (o.bytes >= 0 && (uint64_t)o.bytes > most) {
        status = io_fail(&o.file, IG_ERR_FORMAT,
                         "it is damaged: it has %" PRId64
                         " bytes, and a chunk has at most %zu; write it again",
                         o.bytes, most);
    } else {
        status = chunk_read(j, &p, &o, 0, o.bytes, &j->rooms[worker], &found);
        if (status == IG_OK && !found)
            part_fill(j, &p);
    }
    object_close(&o);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* Decodes a stored chunk into room->chunk. */
static ig_status chunk_load(const zarr *z, object *o, int64_t offset, size_t bytes,
                            codec_room *room)
{
    bool found = true;
    const size_t most = codec_chain_most(&z->chain);
    if (bytes > most)
        return io_fail(
            &o->file, IG_ERR_FORMAT,
            "it is damaged: it has %zu bytes, and a chunk has at most %zu; write it again", bytes,
            most);
    TRY(store_reserve(&room->stored, bytes ? bytes : 1));
    TRY(object_read(o, offset, bytes, room->stored.at, &found));
    return codec_decode(&z->chain, &o->file, room->stored.at, bytes, room->chunk.at, room);
}

/* Encodes a chunk with the part of the box in it. `old`, which may be NULL, has its former elements, which take `bytes`
 * bytes at `offset`. */
static ig_status chunk_make(const job *j, const part *p, object *old, int64_t offset, size_t bytes,
                            const struct io_file *file, codec_room *room, const void **out,
                            size_t *n)
{
    const zarr *z = j->z;
    const codec_chain *c = &z->chain;
    const size_t element = ig_dtype_bytes(z->base.dtype);
    if (p->full && !c->transposed && !c->swap &&
        box_is_dense(z->base.ndim, p->size, j->strides, element))
        return codec_encode(c, file, part_data(j, p), room, out, n);
    TRY(store_reserve(&room->chunk, c->bytes));
    if (!p->whole && old)
        TRY(chunk_load(z, old, offset, bytes, room));
    else if (!p->full)
        box_fill(1, (int64_t[]){(int64_t)(c->bytes / element)}, room->chunk.at,
                 (int64_t[]){(int64_t)element}, z->fill, element);
    box_copy(z->base.ndim, p->size, room->chunk.at + part_offset(j, p), c->strides, part_data(j, p),
             j->strides, element);
    return codec_encode(c, file, room->chunk.at, room, out, n);
}

static ig_status chunk_write(job *j, const part *p, const char *key, object *old, codec_room *room)
{
    struct io_file file;
    const void *out = NULL;
    size_t n = 0;
    place_name(j->z->place, "save", key, &file);
    TRY(chunk_make(j, p, old, 0, old ? (size_t)old->bytes : 0, &file, room, &out, &n));
    return place_put(j->z->place, key, &(piece){out, n}, 1);
}

/* A shard that is being written: chunks that the box does not meet are copied as they are stored. */
typedef struct shard_writer {
    job *j;
    const part *p; /* the shard */
    struct io_file file;
    object *old; /* NULL: none */
    uint64_t *index;
    uint64_t base; /* bytes before the first chunk */
    spare out;
    size_t used;
} shard_writer;

static ig_status shard_append(shard_writer *w, int64_t inner, const void *bytes, size_t n)
{
    TRY(store_grow(&w->out, w->used, w->used + n));
    if (n)
        memcpy(w->out.at + w->used, bytes, n);
    w->index[2 * inner] = w->base + w->used;
    w->index[2 * inner + 1] = n;
    w->used += n;
    return IG_OK;
}

static ig_status inner_write(shard_writer *w, int64_t inner, codec_room *room)
{
    const zarr *z = w->j->z;
    int64_t begin[IG_MAX_NDIM], offset = 0;
    size_t bytes = 0, n = 0;
    bool there = false, found = true;
    const void *out = NULL;
    inner_begin(z, w->p->begin, inner, begin);
    const part p = part_of(w->j, begin, z->base.chunk);
    if (w->old)
        TRY(index_entry(z, w->old, room->index.at, inner, &offset, &bytes, &there));
    w->index[2 * inner] = w->index[2 * inner + 1] = MISSING;
    if (p.empty && !there)
        return IG_OK;
    if (p.empty) {
        TRY(store_reserve(&room->stored, bytes ? bytes : 1));
        TRY(object_read(w->old, offset, bytes, room->stored.at, &found));
        return shard_append(w, inner, room->stored.at, bytes);
    }
    TRY(chunk_make(w->j, &p, there ? w->old : NULL, offset, bytes, &w->file, room, &out, &n));
    return shard_append(w, inner, out, n);
}

static ig_status shard_put(shard_writer *w, const char *key, codec_room *room)
{
    const zarr *z = w->j->z;
    const void *index = NULL;
    size_t n = 0;
    for (int64_t inner = 0; inner < z->inner_count; inner++)
        TRY(inner_write(w, inner, room));
    TRY(codec_encode(&z->index, &w->file, w->index, room, &index, &n));
    const piece chunks = {w->out.at, w->used}, end = {index, n};
    const piece pieces[2] = {z->index_first ? end : chunks, z->index_first ? chunks : end};
    return place_put(z->place, key, pieces, 2);
}

static ig_status shard_write(job *j, const part *p, const char *key, object *old, codec_room *room)
{
    const zarr *z = j->z;
    bool found = true;
    shard_writer w = {.j = j, .p = p, .old = old};
    w.base = z->index_first ? codec_chain_most(&z->index) : 0;
    place_name(z->place, "save", key, &w.file);
    if (old)
        TRY(index_read(z, old, room, &found));
    w.index = memory_data_get(z->index.bytes);
    const ig_status status = w.index ? shard_put(&w, key, room) : error_waiting(IG_ERR_MEMORY);
    memory_data_free(w.index, z->index.bytes);
    store_release(&w.out);
    return status;
}

static ig_status cell_write(void *ctx, int64_t task, int worker)
{
    job *j = ctx;
    zarr *z = j->z;
    int64_t cell[IG_MAX_NDIM], begin[IG_MAX_NDIM];
    char key[PLACE_KEY_BYTES];
    object old;
    bool found = false;
    ig_status status = IG_OK;
    cell_of_task(j, task, cell, begin);
    const part p = part_of(j, begin, z->base.shard);
    cell_key(z, cell, key);
    pthread_mutex_t *lock = cell_lock(z, cell);
    pthread_mutex_lock(lock);
    if (!p.whole)
        status = object_open(z->place, key, &old, &found);
    if (status == IG_OK)
        status = (z->sharded ? shard_write : chunk_write)(j, &p, key, found ? &old : NULL,
                                                          &j->rooms[worker]);
    if (found)
        object_close(&old);
    pthread_mutex_unlock(lock);
    return status;
}

static ig_status cell_remove(void *ctx, const char *name, bool folder)
{
    (void)folder;
    return strspn(name, "0123456789.") == strlen(name) ? place_remove((place *)ctx, name) : IG_OK;
}

ig_status zarr_remove_cells(place *p) { return place_list(p, "", cell_remove, p); }

/* ---- the functions of the kind ------------------------------------------------------------------------- */

static ig_status job_run(zarr *z, const int64_t *start, const int64_t *size, void *data,
                         store_task fn)
{
    const ig_store *s = &z->base;
    job j = {.z = z, .start = start, .size = size, .data = data};
    int64_t tasks = 1;
    const int workers = pool_threads();
    box_strides(s->ndim, size, ig_dtype_bytes(s->dtype), j.strides);
    for (int i = 0; i < s->ndim; i++) {
        j.first[i] = start[i] / s->shard[i];
        j.count[i] = (start[i] + size[i] - 1) / s->shard[i] - j.first[i] + 1;
        tasks *= j.count[i];
    }
    j.rooms = memory_new((size_t)workers * sizeof *j.rooms);
    if (!j.rooms)
        return error_waiting(IG_ERR_MEMORY);
    const ig_status status = store_run(tasks, fn, &j);
    for (int i = 0; i < workers; i++)
        codec_room_release(&j.rooms[i]);
    memory_free(j.rooms);
    return status;
}

static ig_status zarr_read(ig_store *s, const int64_t *start, const int64_t *size, void *data)
{
    return job_run((zarr *)s, start, size, data, cell_read);
}

void zarr_clean(zarr *z)
{
    if (!atomic_exchange(&z->cleaned, true))
        place_clean(z->place);
}

static ig_status zarr_write(ig_store *s, const int64_t *start, const int64_t *size,
                            const void *data)
{
    zarr_clean((zarr *)s);
    return job_run((zarr *)s, start, size, (void *)(uintptr_t)data, cell_write);
}

static ig_status zarr_has(ig_store *s, const int64_t *start, bool *has)
{
    zarr *z = (zarr *)s;
    int64_t cell[IG_MAX_NDIM], inner = 0, offset = 0;
    size_t bytes = 0;
    char key[PLACE_KEY_BYTES];
    object o;
    codec_room room = {0};
    for (int i = 0; i < s->ndim; i++) {
        cell[i] = start[i] / s->shard[i];
        inner = inner * (s->shard[i] / s->chunk[i]) + start[i] % s->shard[i] / s->chunk[i];
    }
    cell_key(z, cell, key);
    if (!z->sharded)
        return place_has(z->place, key, has);
    TRY(object_open(z->place, key, &o, has));
    if (!*has)
        return IG_OK;
    ig_status status = index_read(z, &o, &room, has);
    if (status == IG_OK && *has)
        status = index_entry(z, &o, room.index.at, inner, &offset, &bytes, has);
    object_close(&o);
    codec_room_release(&room);
    return status;
}

static ig_status zarr_set_attributes(ig_store *s, const char *attributes)
{
    return zarr_put_attributes((zarr *)s, attributes);
}

static void zarr_close(ig_store *s)
{
    zarr *z = (zarr *)s;
    place_close(z->place);
    memory_free(z->dimensions);
    for (int i = 0; i < ZARR_LOCKS; i++)
        pthread_mutex_destroy(&z->locks[i]);
}

const store_kind zarr_kind = {.read = zarr_read,
                              .write = zarr_write,
                              .has = zarr_has,
                              .set_attributes = zarr_set_attributes,
                              .close = zarr_close};
