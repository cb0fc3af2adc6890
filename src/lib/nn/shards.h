/* Data-parallel steps: how sums are formed, and how the ranks divide a model.
 *
 * A step computes one vector per shard: the gradients of all parameters, then the changes of all states. It lies in
 * plain memory, each entry in f32, or in f64 for entries in f64. The vectors are summed along a fixed binary tree over
 * the shards: the sum of [lo, hi) is the sum of its halves. A node of the tree is a sum that one rank has.
 *
 * The ranks divide the vector too: entries are cut into pieces of PIECE elements, and each rank owns a run of pieces. It
 * sums them over all shards, and it alone holds the optimizer's state for them. So no bit depends on the ranks. */
#ifndef NN_SHARDS_H
#define NN_SHARDS_H

#include "base/team.h"
#include "lib/nn/optimizer.h"

enum { SHARDS_MAX = 4096, NODES_MAX = 32, PIECE = 1024 };

/* Where an entry of the model lies: a parameter, or a state. */
typedef struct place {
    int64_t size;       /* in elements */
    int64_t piece;      /* the first one */
    uint64_t fine, own; /* byte offsets in vectors of sums, and in vectors of values */
    ig_dtype fine_dtype, own_dtype;
} place;

/* The sum over the shards [lo, hi). */
typedef struct node {
    int lo, hi;
    char *sum;
} node;

typedef struct shards {
    int rank, ranks;
    uint64_t model;               /* id of the model that the places are for */
    bool is_agreed;               /* all ranks have the same places */
    int n, n_param;               /* entries; the first n_param are parameters */
    place *at;                    /* n + 1 */
    uint64_t *fine_cut, *own_cut; /* ranks + 1 byte offsets: where the part of each rank begins */

    int count, first, next,
        end;      /* shards of this step; own ones are [first, end), next is not yet added */
    bool is_open; /* between ig_shards_begin and ig_shards_step */
    int n_also;
    double *number; /* for each shard: weight * loss, then n_also numbers */
    size_t number_room;
    node node[NODES_MAX];
    int n_node;
    char *spare[NODES_MAX]; /* memory for vectors */
    int n_spare;
} shards;

/* ---- shards.c ---- */

/* Memory for a vector; NULL, with an error, if there is none. It is kept for the next vector. */
char *shards_room(shards *s);
void shards_room_return(shards *s, char *memory);

/* Fills the places when they are first needed: layers may create parameters after ig_shards_begin. */
ig_status shards_ready(shards *s, const ig_model *m);

/* Makes a node of the evaluated entries of shard s->next; an entry that is NULL is 0. */
ig_status shards_push(shards *s, ig_array **term);
/* Adds nodes that are halves of one node. rank -1: the nodes are whole vectors with their own memory. */
void shards_merge(shards *s, node *list, int *n, int rank);

/* Ends the step in this rank, and in all others if it failed. Returns status. */
ig_status shards_end(ig_optimizer *o, ig_model *m, ig_status status);

/* ---- exchange.c ---- */

/* Sends the parts of own nodes to the ranks that own them, and receives the own part of all nodes. */
typedef struct exchange {
    node *node; /* all nodes, by shard; sum: the own part */
    team_move *move;
    char *memory; /* of received parts */
    int n, n_move;
} exchange;

/* Sums the own part over all shards into x->node[0]. Collective. */
ig_status exchange_sum(shards *s, exchange *x);
void exchange_free(exchange *x);

/* ---- divided.c ---- */

/* Where the spans of all ranks begin in each parameter: ranks + 1 numbers for each, in new memory. NULL: no memory. */
int64_t *divided_cuts(const shards *s);
/* Makes the values of parameters from their parts. Collective. */
ig_status divided_join(const shards *s, ig_model *m);
/* Divides whole parameters. Collective. */
ig_status divided_begin(shards *s, ig_model *m);

/* ---- tree.c ---- */

/* The shards that a rank computes: [*first, *end). */
void shards_of_rank(int count, int ranks, int rank, int *first, int *end);

/* True if the last two of n nodes are the halves of one node. */
bool nodes_are_halves(const node *list, int n, int count);

/* Lists the nodes that a rank sums by itself, with sum NULL; returns their number. */
int nodes_of_rank(int count, int ranks, int rank, node *list);

/* The sum over the tree of value[k * stride] for all shards k. */
double tree_sum(const double *value, int lo, int hi, int stride);

/* ---- vector.c ---- */

/* Fills places and cuts for a list of arrays, of which the first n_param are parameters. */
ig_status vector_fill(shards *s, ig_array *const *list, int n, int n_param);
void vector_free(shards *s);
/* Fails if the ranks have different places or models; m may be NULL. Collective; does nothing after the first success. */
ig_status vector_agree(shards *s, const ig_model *m);

/* The first piece of a rank; for rank == ranks, the number of pieces. */
int64_t vector_piece(const shards *s, int rank);

/* The elements of entry i that a rank owns: [*lo, *hi). */
void vector_span(const shards *s, int i, int rank, int64_t *lo, int64_t *hi);

/* into += from, for n elements of an entry. */
void vector_add_entry(const place *p, char *into, const char *from, int64_t n);

/* into += from, for the part of a rank; both begin at its first byte. rank -1: the whole vector. */
void vector_add(const shards *s, int rank, char *into, const char *from);

#endif
