/* Pieces: elements of sources in host memory, and copies of them on devices. Blocks that need the same elements share a
 * piece, while one of them is being computed. */
#ifndef BLOCKS_PIECE_H
#define BLOCKS_PIECE_H

#include "engine/blocks/blocks.h"
#include <pthread.h>

/* Memory that is expensive to get: pinned host memory, and memory of devices that is copied to while kernels run. */
typedef struct shelf_buffer {
    buffer *b;
    const backend *dev;
    bool visible;
    struct shelf_buffer *next;
} shelf_buffer;

typedef struct shelf {
    pthread_mutex_t lock;
    shelf_buffer *first;
} shelf;

/* A buffer of at least this size that no command uses; NULL on failure. visible: pinned host memory. */
buffer *shelf_take(shelf *s, const backend *dev, size_t bytes, bool visible);
void shelf_put(shelf *s, const backend *dev, buffer *b, bool visible); /* b may be NULL */
void shelf_clear(shelf *s);

typedef enum piece_state { PIECE_NEW, PIECE_BUSY, PIECE_READY, PIECE_FAILED } piece_state;

/* Work that one thread does and others wait for. */
typedef struct piece_work {
    piece_state state;
    ig_status status; /* of PIECE_FAILED, with its message */
    char why[256];
} piece_work;

typedef struct piece {
    int refs, step;
    box want;
    size_t bytes;
    piece_work load;
    buffer *host, *pinned; /* host is over the memory of pinned, if that is not NULL */
    struct piece *from;    /* has a part of it; NULL: none */
    struct {
        piece_work copy;
        buffer *b;
    } there[BACKEND_LIST_MOST];
} piece;

typedef struct pieces {
    const steps *work;
    const backend *const *dev;
    int n_dev;
    const backend *pins; /* makes pinned memory; NULL: host memory is used as it is */
    pthread_mutex_t *lock;
    pthread_cond_t *changed;
    pthread_mutex_t *
        source; /* for each step, the first of its source: held while it is read, unless it is concurrent */
    pthread_mutex_t copying; /* held while all threads copy */
    shelf shelf;
} pieces;

ig_status pieces_begin(pieces *p);
void pieces_end(pieces *p);
/* A new piece for a block of a step; from: NULL or a piece that has a part of it. With the lock. NULL on failure. */
piece *piece_new(int of, const box *want, size_t bytes, piece *from);
void piece_release(pieces *p, piece *x); /* with the lock; NULL is fine */
/* Reads the elements, unless they are there, or waits until another thread has read them. */
ig_status piece_load(pieces *p, piece *x);
/* Begins to fill a new piece that only the caller fills: *to becomes its host memory; NULL: another thread has filled it. */
ig_status piece_begin(pieces *p, piece *x, char **to);
/* Ends that. Returns the status. */
ig_status piece_end(pieces *p, piece *x, ig_status status);
/* The elements on a device, as a buffer that the caller retains; NULL on failure. */
buffer *piece_on(pieces *p, piece *x, int dev);

#endif
