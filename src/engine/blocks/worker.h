/* A worker of a crew: the work on one block, on the worker's device (worker.c); crew.c has the queue of blocks. */
#ifndef BLOCKS_WORKER_H
#define BLOCKS_WORKER_H

#include "engine/blocks/crew.h"
#include "engine/blocks/fold.h"
#include "engine/blocks/piece.h"

enum { MESSAGE_BYTES = 512 };

/* An evaluated array in host memory. */
typedef struct value {
    buffer *data;
    size_t offset;
    buffer *pinned; /* that data is over, or NULL */
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
} value;

/* A copy, for a device, of an array that blocks use. */
typedef struct copied {
    const ig_array *of;
    int dev;
    ig_array *copy;
} copied;

typedef struct crew crew;

typedef struct worker {
    crew *c;
    pthread_t thread;
    int dev; /* index in the plan's devices */
    bool started;
    piece **mine, **next; /* of each step */
    box *end;
    int64_t skip;
    buffer **data; /* of each step, on the device */
    ig_array **loaded, **ends, **out;
    value *value;
    int n_value;
} worker;

struct crew {
    const block_plan *plan;
    stage *s;
    const crew_output *out;
    pieces pieces;
    pthread_mutex_t lock; /* guards all fields below, and the scratch fields of the steps */
    pthread_cond_t changed;
    pthread_mutex_t put; /* held while results are handed over */
    pthread_mutex_t cpu; /* held by the worker that evaluates on the CPU */
    engine *engine;      /* of that worker */
    ig_math math;
    worker *worker;
    int n_worker, live;
    int64_t unit, units, turn; /* units are tiles, or parts of them */
    bool chained;              /* parts of a product are computed in their turn */
    ig_array *sum;             /* of the parts so far */
    bool lost[BACKEND_LIST_MOST];
    double seconds[BACKEND_LIST_MOST]; /* of the units that are done, and their number */
    int64_t done[BACKEND_LIST_MOST];
    copied *copied;
    int n_copied, room_copied;
    fold_stack fold;
    ig_status status;
    char message[MESSAGE_BYTES];
};

ig_status worker_make(worker *w, crew *c, int dev);
void worker_free(worker *w);
const backend *worker_device(const worker *w);

/* Reads what a block needs, and copies it to the device. */
ig_status worker_load(worker *w, int64_t block);
void worker_unload(worker *w);
/* Gives back the pieces of the last block. With the lock. */
void worker_drop_pieces(worker *w);

/* Computes a block, and takes its values. */
ig_status worker_block(worker *w, int64_t block);
/* Computes all parts of a product's tile, and finishes it. */
ig_status worker_product(worker *w, int64_t tile);
/* Launches the evaluation of a part of a product that is loaded. It replaces *sum. */
ig_status worker_add_part(worker *w, int64_t block, ig_array **sum);
/* The tile of a product, from the sum of all its parts. */
ig_status worker_finish_product(worker *w, int64_t tile, ig_array **sum);

/* Waits for the worker's device. No lock is held, so others can launch and copy. */
ig_status worker_wait(const worker *w);
/* Evaluates n arrays, and takes their values, which replace the worker's old values. */
ig_status worker_take(worker *w, ig_array **made, int n);
void worker_drop_values(worker *w);
const char *worker_data(const value *v);
/* The value as an array of no device, in the current scope: any worker may use it. NULL on failure. */
ig_array *worker_array(const value *v);

#endif
