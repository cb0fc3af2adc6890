/* The parts that all kinds of stores share: see ingot/store.h.
 *
 * A kind is a file that opens an array and fills the first part of its own struct. store.c checks the arguments of
 * every call, so a kind gets boxes that are inside the array and not empty.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "lib/io/file.h"

typedef struct store_kind {
    ig_status (*read)(ig_store *s, const int64_t *start, const int64_t *size, void *data);
    /* NULL: read-only. */
    ig_status (*write)(ig_store *s, const int64_t *start, const int64_t *size, const void *data);
    /* NULL: every element is stored. */
    ig_status (*has)(ig_store *s, const int64_t *start, bool *has);
    ig_status (*set_attributes)(ig_store *s, const char *attributes); /* NULL: refused */
    void (*close)(ig_store *s); /* what the kind added; not the struct itself */
} store_kind;

struct ig_store {
    const store_kind *kind;
    char *attributes; /* NULL: {} */
    bool writable;
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM], chunk[IG_MAX_NDIM], shard[IG_MAX_NDIM];
    uint64_t scratch_bytes;
    char shown[IO_SHOWN_BYTES]; /* its path, in messages */
};

/* Memory for one step that is used again for the next one: counted as array data. */
typedef struct spare {
    unsigned char *at;
    size_t room;
} spare;

/* Makes room for `bytes` bytes; the content is lost. */
ig_status store_reserve(spare *s, size_t bytes);
/* The same, keeping the first `used` bytes. Room grows by halves. */
ig_status store_grow(spare *s, size_t used, size_t bytes);
void store_release(spare *s);

/* Chooses the chunk of a file that has none: boxes of a few MiB that are one piece of the file, if they can be. */
void store_chunk_choose(ig_store *s, bool fortran);

/* Frees a store whose opening failed or that is closed; NULL is allowed. */
void store_free(ig_store *s);

/* Runs fn(ctx, task, worker) for all tasks by several threads. After the first failure, whose error becomes the error of
 * the calling thread, tasks that have not begun are left out. */
typedef ig_status (*store_task)(void *ctx, int64_t task, int worker);
ig_status store_run(int64_t tasks, store_task fn, void *ctx);

#endif
