/* Workers that compute the blocks of a stage at the same time. workers.c has the queue of blocks and the order in which
 * results are handed over; worker.c has the work on one block.
 *
 * A device has several workers: while one waits for kernels, the next one reads and copies. If one device of the process
 * computes alone, there are two, of which one evaluates at a time, or one if a block does not leave memory to read ahead. */
#ifndef BLOCKS_WORKER_H
#define BLOCKS_WORKER_H

#include "engine/blocks/devices.h"
#include "engine/blocks/fold.h"
#include "engine/blocks/piece.h"
#include "engine/blocks/ranks.h"
#include "engine/blocks/results.h"

enum { MESSAGE_BYTES = 1024 };

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
    const backend *dev;
    ig_array *copy;
} copied;

/* The progress of an evaluation. */
typedef struct block_progress {
    uint32_t since;                /* cancel_count() at the start */
    uint64_t before, bytes, total; /* of earlier stages, of this one, of all */
} block_progress;

/* Reports the share of this stage that is done. Called by the thread that evaluates. */
void progress_tell(const block_progress *p, double share);

typedef struct workers workers;

struct worker {
    workers *all;
    pthread_t thread;
    int dev; /* index in the workers' devices */
    bool started;
    steps work; /* of the stage, with the worker's own blocks */
    int64_t block, skip;
    bool busy;            /* a block is loaded, or is being loaded */
    bool keeps;           /* the old block, while the next one is loaded: parts of it are copied */
    piece **mine, **next; /* of each step; they stay until the worker's next block */
    box *end;
    buffer **data; /* of each step, on the device */
    ig_array **loaded, **ends, **out;
    value *value;
    int n_value;
    ig_array **carry, *sum;      /* of the parts so far, and of all parts of a tile */
    ig_status (*job)(worker *w); /* that the calling thread should do; NULL: none */
    ig_status job_status;
    char why[MESSAGE_BYTES];
};

struct workers {
    const block_plan *plan;
    stage *s;
    const results *to;
    const backend *dev[BACKEND_LIST_MOST];
    int n_dev;
    bool alone; /* there is memory for one graph at a time, or arrays move between devices */
    bool calls; /* graphs call users' functions: the calling thread builds and evaluates them */
    bool
        ordered; /* a part of a tile continues the one before, and parts are computed in their turn */
    bool passes;  /* ranks read panels of sources for each other, block by block */
    bool threads; /* each worker has one; else the calling thread is the only worker */
    block_progress *progress;
    pieces pieces;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    pthread_mutex_t put; /* held while results are handed over */
    pthread_mutex_t one; /* held while the CPU evaluates; for `alone`, while any device does */
    engine *engine; /* of the CPU, if there are other devices; NULL: the engine of the process */
    ig_math math;
    worker *worker;
    int n, live;
    /* Units are blocks, or whole tiles if one worker computes all their parts: */
    int64_t unit, units, each, turn, load_turn;
    int64_t first, end; /* the blocks of this rank */
    bool crowded;       /* a worker keeps its old block while it loads the next one */
    int64_t computed;   /* blocks, and those that sinks had */
    ig_array *carry;    /* from the parts so far, on the device */
    fold_stack fold;
    char *lead; /* packed entries of a tile that another rank has begun */
    uint64_t lead_bytes;
    bool lost[BACKEND_LIST_MOST];
    double seconds[BACKEND_LIST_MOST]; /* of the units that are done, and their number */
    int64_t done[BACKEND_LIST_MOST];
    copied *copied;
    int n_copied, room_copied;
    ig_status status;
    char message[MESSAGE_BYTES];
};

/* ---- workers.c ---- */

/* Computes the blocks of a stage, or, in a team, of this rank. */
ig_status workers_run(const block_plan *p, stage *s, const results *to, block_progress *progress);
/* Waits until *turn is n. Returns false if another worker has failed. */
bool workers_wait(workers *all, const int64_t *turn, int64_t n);

/* ---- worker.c ---- */

ig_status worker_make(worker *w, workers *all, int dev);
void worker_free(worker *w);
const backend *worker_device(const worker *w);

/* Reads what a block needs, and copies it to the device. */
ig_status worker_load(worker *w, int64_t block);
void worker_unload(worker *w);
/* Evaluates the block that is loaded, and takes its values. */
ig_status worker_compute(worker *w);
/* Launches the evaluation of the block that is loaded, a part that continues *carry, which it replaces. The results are in
 * w->out, and belong to the current scope. */
ig_status worker_continue(worker *w, ig_array **carry);
/* Waits for the worker's device. No lock is held, so others can launch and copy. */
ig_status worker_wait(const worker *w);
/* Takes the values of n evaluated arrays, which replace the worker's old values. */
ig_status worker_read(worker *w, ig_array *const *made, int n);
/* Evaluates n arrays, and does the same. */
ig_status worker_take(worker *w, ig_array **made, int n);
void worker_drop_values(worker *w);
const char *worker_data(const value *v);
/* Makes the values arrays of no device, in the current scope, which any worker may use, and drops the values. */
ig_status worker_arrays(worker *w, ig_array **made);

#endif
