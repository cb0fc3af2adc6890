/* From arrays to a schedule. The hops:
 *
 *   graph_order     the unevaluated roots behind the arrays, inputs first
 *   graph_number    equal nodes found (one computes for all), and the key: the structure as bytes
 *   schedule_build  nodes to programs: groups are fused, tapes written, chains found, buffers planned
 *   schedule_text   the schedule for people
 *
 * A schedule holds no array and no buffer, so one with the same key serves every graph of that
 * structure. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/text.h"
#include "ops/ops.h"
#include "program/program.h"

/* A growing list of bytes. */
typedef struct byte_list {
    unsigned char *at;
    size_t used, room;
} byte_list;

/* What is to be computed. Kept and reused by the engine, so that a small evaluation allocates
 * nothing here. */
typedef struct graph {
    ig_array **node; /* unevaluated roots; x->index is its place */
    int n_node, room_node;
    ig_array **leaf; /* evaluated roots that nodes read; x->index is -1 - its place */
    int n_leaf, room_leaf;
    ig_array **out; /* the roots asked for, each once; all are nodes */
    int n_out, room_out;
    int *same;        /* same[i] is the first node equal to node i */
    bool *donated;    /* leaf i dies with this evaluation */
    ig_array **stack; /* of the walk */
    int room_stack;
    int *scratch; /* hash table, counters */
    size_t room_same, room_donated, room_scratch;
    byte_list key;
    uint64_t hash; /* of key */
    uint32_t epoch;
} graph;

/* Fills node, leaf, out and donated. Arrays that are evaluated already are skipped. */
ig_status graph_order(graph *g, ig_array *const *arrays, int n);
/* The leaves among the roots of given die with this evaluation, whoever holds them. */
void graph_give(graph *g, ig_array *const *given, int n);
/* Fills same, key and hash. */
ig_status graph_number(graph *g);
void graph_free(graph *g);

/* ---- schedules ---- */

/* SLOT_ROWS is a temporary that only a chain sees: it exists by rows, in the backend's own memory. */
typedef enum slot_kind { SLOT_LEAF, SLOT_OUT, SLOT_TEMP, SLOT_ROWS } slot_kind;

/* A buffer of a schedule. */
typedef struct slot {
    slot_kind kind;
    int index; /* of the leaf */
    int node; /* that it holds, for SLOT_OUT and SLOT_TEMP; -1: a copy or a result that no node has */
    int home; /* slot whose buffer it shares: an output a donated leaf's, a temporary an
                      * output's; of a leaf: who shares it; or -1 */
    int64_t bytes;
    int64_t offset;  /* of SLOT_TEMP without a home: within the arena */
    int first, last; /* programs that touch it first and last */
    int from, until; /* the same, widened to whole chains: when its memory must be its own */
} slot;

typedef struct schedule {
    program *program;
    int n_program, room_program;
    slot *slot;
    int n_slot, room_slot;
    int64_t arena_bytes; /* all temporaries */
    int64_t out_bytes;   /* all outputs that are not donated */
    int *out_slot;       /* of each root asked for, in the graph's order */
    int n_node;          /* of the graph, before fusing */
    unsigned char *key;
    size_t key_bytes;
    uint64_t hash;
    uint64_t used; /* when, for the cache */
} schedule;

/* Programs and buffers for g, which was ordered and numbered; NULL on failure. */
schedule *schedule_build(const graph *g);
/* Compiled programs must be discarded before. */
void schedule_free(schedule *s);

/* The parts of schedule_build. */
typedef struct group group;
ig_status schedule_fuse(const graph *g, group **groups, int *n_groups);
ig_status schedule_emit(const graph *g, const group *groups, int n_groups, schedule *s);
void schedule_lifetimes(schedule *s);  /* first and last of all slots */
ig_status schedule_chain(schedule *s); /* marks chains; widens lifetimes */
ig_status schedule_plan(const graph *g, schedule *s);

/* For people. how, which may be NULL, tells what a device runs a program's core by, or NULL. */
void schedule_text(const schedule *s, const graph *g, const char *device,
                   const char *(*how)(const program *p), text *t);

/* Growing an array of anything: room for one more of n; false on failure. */
bool graph_room(void *array_pointer, int n, int *room, size_t element_bytes);

/* ---- groups: what runs as one program ---- */

typedef enum node_kind {
    KIND_MAP,
    KIND_REDUCE,
    KIND_ARGREDUCE,
    KIND_CONTRACT,
    KIND_KERNEL,
    KIND_SCAN,
    KIND_SORT,
    KIND_ARGSORT,
    KIND_SEARCH,
    KIND_WRITE,
    KIND_ASSEMBLE
} node_kind;

node_kind node_kind_of(const ig_array *x);
/* True if y's elements are its root's, in the same linear order. */
bool node_is_whole(const ig_array *y);
/* True if map node x reads its j-th input element by element: the key of bits and the table of read are
 * read otherwise. */
bool node_walks(const ig_array *x, int j);

/* One program in the making: map nodes before the core, the core, map nodes behind it. A group
 * without a core is a map program. Groups of one depth never depend on each other. */
struct group {
    int core; /* node, or -1 */
    int depth;
    int latest;    /* the greatest depth that is before all who read it, while fusing */
    bool waits;    /* it may run as late as it can */
    bool copied;   /* it is computed again to save memory, while fusing */
    int n_node;    /* members, the core included */
    int members;   /* head of the list of members while fusing */
    int pre_like;  /* a node whose shape is the space of the pre part, or -1 */
    bool read;     /* by a node of another group, while fusing */
    bool permuted; /* the core reads the pre part's axes in the order perm */
    bool linear;   /* a pre node uses the linear index, so the axes must stay as they are */
    int perm[IG_MAX_NDIM];
    int *pre, *post; /* nodes in order */
    int n_pre, n_post;
};

#endif
