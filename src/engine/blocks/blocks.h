/* Evaluation block by block. The steps:
 *
 *   steps    the nodes between sources and what a stage computes, inputs first, with the edges between them
 *   demand   given a block of the result, the block of each node that it needs
 *   build    the graph of that block, made of ordinary nodes, which ig_eval computes
 *   plan     the stages of an evaluation, how each is cut into blocks, and the bytes that it reads and holds
 *   run      the loop over the blocks of a stage: reads ahead, computes, writes
 *
 * A block of a node has the same bits as these elements of the whole node: an elementwise value depends on its inputs
 * only, and a fold or a product only on whole rows. Where a row itself is too long, stage.c cuts it where the fold's
 * order has a subtree. */
#ifndef BLOCKS_BLOCKS_H
#define BLOCKS_BLOCKS_H

#include "engine/eval/engine.h"
#include "engine/program/cuts.h"
#include "ingot/blocks.h"

/* How blocks are evaluated. */
static const eval_context block_context = {.is_block = true};

/* ---- steps ---- */

/* How a view sees its root. */
typedef enum edge_kind {
    EDGE_LEAF,   /* the root is evaluated: any part of the view is a view */
    EDGE_AXES,   /* each axis of the view walks along one axis of the root, or along none */
    EDGE_LINEAR, /* otherwise: blocks of the root must be contiguous */
    EDGE_WHOLE   /* the whole root is needed */
} edge_kind;

/* An array that a step, or the stage, reads. */
typedef struct edge {
    ig_array *in;
    int from; /* the step that computes its root; -1 for EDGE_LEAF */
    edge_kind kind;
    /* EDGE_AXES: the root's axis of each axis of the view (-1: none), the root's step per step of the view, and the
     * place of the view's first element in the root. */
    int8_t axis[IG_MAX_NDIM];
    int64_t by[IG_MAX_NDIM], at[IG_MAX_NDIM];
} edge;

/* Describes v, a view of a root, by axes; false if that is not possible. */
bool edge_by_axes(edge *e, const view *v, const view *root);
/* The block of the root that a block of the view needs. */
box edge_box(const edge *e, const box *b);

typedef enum step_kind {
    STEP_SOURCE,   /* read from a source */
    STEP_CALL,     /* whole chunks that a function computes from chunks of the inputs */
    STEP_READY,    /* an earlier stage has computed it */
    STEP_MAP,      /* each element needs the same element of the inputs */
    STEP_IOTA,     /* depends on the index */
    STEP_BITS,     /* depends on the linear index */
    STEP_READ,     /* elements at places in[0] of the last axis of in[1], which is table_seen */
    STEP_REDUCE,   /* needs whole rows of the trailing axes */
    STEP_ROWS,     /* needs, and computes, whole rows of the last axis */
    STEP_SEARCH,   /* needs all of in[0] */
    STEP_CONTRACT, /* needs whole sums */
    STEP_STACK,    /* needs, and computes, whole matrices of a stack */
    STEP_ASSEMBLE, /* parts of the result come from different inputs */
    STEP_WHOLE     /* can only be computed as a whole */
} step_kind;

typedef struct step {
    ig_array *root;
    int sight; /* steps that are split: which of the step's root */
    step_kind kind;
    node_cut cut_by; /* what a block needs; not of STEP_CALL and STEP_ASSEMBLE */
    edge *in;
    edge *place; /* STEP_ASSEMBLE: where each input lies in the result */
    int n_in;
    block_source *source; /* STEP_SOURCE, STEP_CALL */
    uint64_t read, exact; /* bytes that the stage reads of it, and would read if it had no chunks */
    bool is_end;          /* an end of the stage sees it */
    bool cut;             /* blocks would compute it again and again: see steps_demand */
    /* Of the current block: */
    bool wanted, linear;
    box want;
    int64_t asked;  /* STEP_SOURCE: elements that are needed; want has whole chunks */
    ig_array *made; /* borrowed from the scope */
} step;

/* The steps that some arrays (ends) depend on. */
typedef struct steps {
    step *step;
    int n, room;
    edge *end;
    int n_end;
    bool are_inputs; /* the ends are inputs of what the stage computes, not its results */
    /* If not NULL: the array that stands for an evaluated root, on the device that computes. */
    ig_array *(*leaf)(void *context, ig_array *root);
    void *context;
} steps;

/* A root that an earlier stage computes, or a leaf that is read block by block. */
typedef struct ready {
    ig_array *root;
    block_source *source; /* the file or host memory that it is in; NULL: memory of the device */
    bool is_leaf;         /* evaluated before: an array in host memory, which blocks read */
    bool is_pick;         /* source is a pick; a stage may compute the root, too */
} ready;

/* Lists the steps for n ends. The arrays must live as long as the steps.
 * Some belong to the scope.
 * STEPS_INPUTS: the ends are inputs of what the stage computes.
 * STEPS_SPLIT: a root that is seen through different views has a step for each, if computing parts of it twice is little work.
 * Else a block needs all that lies between the parts that it sees: for x - x[0], all rows from the first on. */
enum { STEPS_INPUTS = 1, STEPS_SPLIT = 2 };
ig_status steps_make(steps *w, ig_array *const *ends, int n, unsigned how, const ready *done,
                     int n_done);
bool steps_are_split(const steps *w); /* a source has several steps */
void steps_free(steps *w);
/* Sets want of all steps, for a block of each end. blocks: the number of such blocks, which is not an integer if the last
 * ones are shorter. Steps that would be computed much more than once are marked as cut, and stay so; what they need is not
 * wanted. 0: all costly steps are cut; -1: no cuts. */
void steps_demand(steps *w, const box *want, double blocks);
/* Builds the ends' blocks in the current scope, after steps_demand. loaded[i]: the block of step i, a source, or all of a
 * root that is ready. Functions of blocks are called, unless their blocks are loaded too. */
ig_status steps_build(steps *w, const box *want, ig_array *const *loaded, ig_array **made);

/* Makes the block of each input of step k; false on failure. */
bool steps_inputs(const steps *w, int k, ig_array **in);

/* ---- functions of blocks ---- */

/* The block of input i that the chunks in b need. */
box map_input(const step *s, int i, const box *b);
/* The block s->want of a step, whose function is called for each chunk. in: the inputs' blocks. NULL on failure. */
ig_array *map_run(const step *s, ig_array *const *in);

/* ---- sources ---- */

bool source_is_selection(const block_source *s); /* of keep_selected */

/* A file for the elements of root, which is deleted when the source is released; NULL on failure. */
block_source *spill_make(const ig_array *root);
ig_status spill_write(const block_source *s, const box *b, const void *data);

/* The elements of root in host memory. data: NULL if a stage computes them, and then calls host_give. NULL on failure. */
block_source *host_make(const ig_array *root, buffer *data);
void host_give(const block_source *s, buffer *data);

ig_status block_read(const block_source *s, const box *b, void *to);
/* The elements of b, which is a run, as a buffer over `all` elements of a source, which calls release(owner) at its end.
 * NULL on failure. */
buffer *source_part(const block_source *s, const void *all, const box *b,
                    void (*release)(void *owner), void *owner);

/* ---- stages ---- */

/* Where the results of a stage go. TO_MEMORY: to the device. TO_HOST: they are too large for it, and host memory is not. */
typedef enum stage_to { TO_MEMORY, TO_FILE, TO_SINK, TO_HOST } stage_to;

/* Computes some roots of one shape from sources and from results of earlier stages. The roots are cut into tiles. Except for
 * CUT_APART and CUT_MERGE, there is one root, and its rows are cut into parts. A block is a part of a tile, or a tile. */
typedef struct stage {
    cut_join join;
    stage_to to;
    ig_array **root; /* owned list */
    int n_root;
    int first_sink; /* TO_SINK: the sink of root[0]; the others follow */
    int64_t tile[IG_MAX_NDIM];
    int64_t part;        /* elements of a part of a row */
    ig_array *merged[2]; /* CUT_MERGE: the arrays that its blocks read; they belong to the scope */
    int64_t runs;        /* of a row */
    steps work;
    double share; /* of the limit that the blocks in flight should take */
    int ahead;    /* blocks that are read before they are needed: 0 or 1 */
    bool all_cut; /* every costly step is a separate stage */
    bool split;   /* STEPS_SPLIT */
    /* For people, and for the memory limit, in bytes: */
    uint64_t load; /* of the sources' elements that a block needs */
    uint64_t read, write;
    uint64_t peak; /* that it needs in addition to the memory held before and after it */
    uint64_t held; /* that it leaves in memory */
} stage;

int64_t stage_tiles(const stage *s);
bool stage_carries(const stage *s);  /* a part continues the part before it */
int64_t stage_parts(const stage *s); /* of a tile */
int64_t stage_row(const stage *s);   /* elements of a row that is cut into parts */
int64_t stage_unit(
    const stage *s); /* parts are 2^k times as long, where the order of sums is fixed */
box stage_tile(const stage *s, int64_t nth);
/* The block of the roots that is complete after a part of a tile. */
box stage_block(const stage *s, int64_t tile, int64_t part);
/* The block of each end that a part of a tile needs. Returns the place of the part's first element in the rows of
 * these blocks, which may begin before it. */
int64_t stage_want(const stage *s, int64_t tile, int64_t part, box *want);
/* Builds the result of a part of a tile from the blocks of the ends. sum: the result of the parts before, for
 * CUT_ORDERED and CUT_UPDATE; for CUT_CARRY their out[1]. NULL for the first part. Returns the number of arrays, 0 on
 * failure. */
int stage_build(const stage *s, int64_t tile, int64_t part, int64_t skip, ig_array *const *ends,
                ig_array *sum, ig_array **out);
/* Joins the results of a part of a row and of the parts that follow; the result belongs to the scope. */
enum { FOLD_VALUES = 2 }; /* of a part, at most */
int fold_join(const ig_array *root, ig_array *const *left, ig_array *const *right, ig_array **out);
/* The root's block, from the joined results. */
ig_array *stage_finish(const stage *s, int64_t tile, ig_array *const *made);

/* The same for CUT_CARRY: scan.c. */
int scan_build(const stage *s, int64_t part, ig_array *x, ig_array *carry, ig_array **out);
int64_t scan_unit(const ig_array *root); /* elements; parts are multiples of it */
/* The same for CUT_UPDATE: table.c. */
bool table_fits(const ig_array *root);   /* there is such a stage for the root */
int64_t table_row(const ig_array *root); /* the length of the axis that is cut into parts */
bool table_cuts(const ig_array *root);   /* the result may be cut into tiles */
/* The elements that a read sees; the axis that is read is the last one. Axes along which it sees one element have length 1. */
ig_array *table_seen(const ig_array *root);
/* Reads elements of such an array, or of a part of it, at the places in index. */
ig_array *table_pick(ig_array *index, ig_array *seen);
int table_ends(const ig_array *root, ig_array **ends); /* n_in arrays; 0 on failure */
void table_want(const stage *s, const box *tile, int64_t from, int64_t to,
                box *want); /* of writes */
ig_array *table_build(const stage *s, int64_t tile, int64_t part, ig_array *const *ends,
                      ig_array *sum);
ig_array *table_finish(const stage *s, int64_t tile, ig_array *made);

/* CUT_MERGE: sort.c. Rows are cut into pieces of `length`, which are sorted and written to files as runs. */
bool sort_fits(const ig_array *root);
/* The sorted pieces: out[i][0] their elements, and for argsort out[i][1] their places. Returns the number of i; 0 on
 * failure. */
int sort_runs(const ig_array *root, int64_t length, ig_array *out[2][2]);
/* Makes arrays, one, and for argsort another, whose blocks have the elements of blocks of the root, and their places, from
 * files of the runs. Returns their number; 0 on failure. */
int sort_merged(const ig_array *root, int64_t length, ig_array *const made[2][2], int pieces,
                const ready *done, int n_done, ig_array **out);
ig_array *sort_build(const stage *s, ig_array *const *ends);

typedef struct block_plan {
    stage *stage;
    int n, room;
    ready *done;
    int n_done, room_done;
    ig_array **root; /* of the arrays: what the stages compute */
    int n_root;
    const ig_block_sink *sink; /* or NULL */
    uint64_t limit, peak;      /* bytes that it may hold, and will */
    uint64_t host, kept;       /* bytes that are free in host memory, and that results there take */
    bool refused;              /* no plan fits */
    uint64_t part;             /* 1/part of the limit: larger results of stages leave memory */
    const ig_array *piece;     /* a run that is being planned, which is not cut into runs again */
    /* The devices that compute blocks at the same time (devices.h), and their workers; 0: one device, one block at a time. */
    const backend *dev[BACKEND_LIST_MOST];
    int n_dev, workers;
} block_plan;

/* Adds the reads that are picks (picks.c) to the roots that are ready. */
ig_status picks_add(block_plan *p);
/* The source that a pick reads; else s. */
const block_source *picks_from(const block_source *s);

/* Adds the leaves in host memory, which a device with its own memory reads block by block, to the roots that are ready. */
ig_status host_leaves(block_plan *p);

/* Plans the evaluation of arrays, to sinks if these are not NULL. Makes arrays in the current scope. */
ig_status block_plan_make(block_plan *p, ig_array *const *arrays, const ig_block_sink *sinks,
                          int n);
void block_plan_free(block_plan *p);
ig_status block_plan_run(block_plan *p);
void block_plan_text(const block_plan *p, text *t);

#endif
