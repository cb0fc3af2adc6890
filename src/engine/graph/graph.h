/* From arrays to a schedule. The steps:
 *
 *   graph_order     lists the unevaluated roots that the arrays need, inputs first
 *   graph_keep      adds nodes that the caller holds to the outputs
 *   graph_key       finds equal nodes (one computes for all) and writes the key: the structure as bytes
 *   schedule_build  turns nodes into programs: fuse, emit, find chains, plan memory
 *   schedule_text   prints the schedule for people
 *
 * A schedule holds no array and no buffer, so one schedule serves all graphs with the same key. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/text.h"
#include "engine/ops/ops.h"
#include "engine/program/cuts.h"

/* A growing list of bytes. */
typedef struct byte_list {
    unsigned char *at;
    size_t used, room;
} byte_list;

/* One evaluation. The engine reuses this struct, so a small evaluation allocates nothing here. */
typedef struct graph {
    ig_array **node; /* unevaluated roots; x->index is the position */
    int n_node, room_node;
    ig_array **leaf; /* evaluated roots that nodes read; x->index is -1 - the position */
    int n_leaf, room_leaf;
    ig_array **out; /* roots that are stored, each once: the requested outputs, then the nodes of
                     * graph_keep */
    int n_out, room_out;
    int n_asked;            /* outputs without the nodes of graph_keep */
    int *same;              /* same[i] is the first node equal to node i */
    unsigned char *donated; /* the evaluation may overwrite leaf i: a graph_donation */
    ig_array **stack;       /* of the traversal */
    int room_stack;
    int *scratch; /* hash table, counters */
    size_t room_same, room_donated, room_scratch;
    byte_list key;
    uint64_t hash;  /* of key */
    ig_math math;   /* of contractions; the caller sets it before graph_key */
    uint32_t epoch; /* of its walk */
} graph;

/* The number of a new walk. Arrays are marked by it. All walks of the process count together, since graphs share arrays, also
 * a loop's body and the graph around it; the engine's lock guards them. */
uint32_t graph_epoch(void);

/* Fills node, leaf, out and donated. Arrays that are evaluated already are skipped. A leaf is donated if
 * nothing but this evaluation holds it. */
ig_status graph_order(graph *g, ig_array *const *arrays, int n);
/* Adds nodes that the caller holds beyond this evaluation to the outputs, so that later evaluations do not
 * recompute them: ig_eval in ingot.h states the rule. Call it after graph_donate. */
ig_status graph_keep(graph *g);
/* DONATED: an evaluation that fails leaves the leaf as it was. EXPENDED: it may have overwritten it. */
typedef enum graph_donation { NOT_DONATED, DONATED, EXPENDED } graph_donation;
/* Donates the leaves among the roots of arrays, even if others hold them. */
void graph_donate(graph *g, ig_array *const *arrays, int n, graph_donation how);
/* Fills same, key and hash. */
ig_status graph_key(graph *g);
void graph_free(graph *g);

/* ---- schedules ---- */

/* SLOT_ROWS: a temporary that only one chain uses. It exists by rows: the backend holds only the rows in progress.
 * SLOT_HOST: a temporary that only CPU programs use, in a schedule for another device. */
typedef enum slot_kind { SLOT_LEAF, SLOT_OUT, SLOT_TEMP, SLOT_ROWS, SLOT_HOST } slot_kind;

/* A buffer of a schedule. */
typedef struct slot {
    slot_kind kind;
    int index;      /* of the leaf */
    bool is_number; /* for a leaf: kernels take it by value */
    int node;       /* for SLOT_OUT and SLOT_TEMP: the node that it holds; -1: a copy, or an unused
                     * result */
    int shares;     /* the slot whose buffer this slot reuses: for an output, a donated leaf; for a
                     * temporary, an output. For a leaf: the output that reuses it. -1 if none */
    int64_t bytes;
    int64_t offset;  /* within the arena, for a SLOT_TEMP that does not share */
    int first, last; /* programs that use it first and last */
    int from, until; /* the same, widened to whole chains: no other slot may use its memory
                      * meanwhile */
    int written;     /* the last program that writes it, or -1; an assembly has several writers */
} slot;

typedef struct schedule {
    program *program;
    int n_program, room_program;
    slot *slot;
    int n_slot, room_slot;
    int64_t arena_bytes; /* all temporaries */
    int64_t out_bytes;   /* all outputs, except those in donated buffers */
    int *out_slot;       /* of each of the graph's outputs */
    int n_node;          /* of the graph, before fusing */
    int n_on_cpu;        /* programs that the CPU runs instead of the device */
    bool may_fall_back;  /* it was compiled under a policy that allows such programs */
    bool is_crowded;     /* a kernel has more parameters than the device allows */
    /* If values are computed again to fit in memory: a line that says which, the bytes that a run would need without it,
     * and the limit that it was made for. Else NULL and 0. */
    char *recomputes;
    uint64_t plain_bytes, limit;
    bool is_least; /* no schedule of this graph needs less memory */
    /* The engine's: what a run takes on the device in addition to its leaves, and at most if it copies leaves. */
    uint64_t run_bytes, most_bytes;
    unsigned char *key;
    size_t key_bytes;
    uint64_t hash;
    uint64_t used; /* clock of the cache when it was last used */
    struct repeat
        *repeat; /* the engine's state for a device that can replay its launches, or NULL */
    struct fault_flow *flow; /* the engine's record of which results may be wrong, or NULL */
} schedule;

/* A device's preferences for schedules. */
typedef struct schedule_rules {
    int group_nodes;    /* the most nodes of a program; 0: as many as a tape has registers for */
    bool contract_ends; /* a chain that begins with a contraction also ends with one */
    /* The most bytes of a matrix that all batches of a chain's contraction share, such as a weight; 0: any number. A
     * chain processes few rows at a time, and reads the whole matrix for each such block. */
    int64_t chain_matrix_bytes;
    /* A chain that begins and ends with a contraction reads in[1] of both once per block of rows. That pays if a row of
     * the first contraction's in[0] and a row of the last one's result have at most this many elements together, as in
     * attention; 0: always. */
    int64_t contract_width;
    int64_t plain_product; /* see backend_native */
    bool half_epilogues;   /* see backend_native */
    /* Memory for the temporaries that only one chain uses. Rows of at most warp_points points are computed warp_rows at
     * a time, longer rows one at a time. Chains of contractions have no such limit. 0: in a chain that begins with a
     * contraction all such temporaries become SLOT_ROWS, whatever their size; in other chains none do. */
    int64_t chain_bytes;
    int64_t warp_points, warp_rows;
} schedule_rules;

/* Builds the programs and buffers for g, after graph_key; NULL on failure. */
schedule *schedule_build(const graph *g, const schedule_rules *rules);
/* The backend must have discarded the programs. */
void schedule_free(schedule *s);

/* The parts of schedule_build. */
typedef struct fusion fusion;
ig_status schedule_fuse(const graph *g, const schedule_rules *rules, fusion *out);
void fusion_free(fusion *f);
ig_status schedule_emit(const graph *g, const fusion *f, schedule *s);
void schedule_live_ranges(schedule *s); /* first and last of all slots */
ig_status schedule_chain(schedule *s,
                         const schedule_rules *rules); /* marks chains; widens live ranges */
ig_status schedule_plan(const graph *g, schedule *s);

/* Proves that the schedule computes its programs' results in whatever order a backend runs rows and points: see
 * check.h. The message of IG_ERR_INTERNAL names the broken rule. g is the graph that the schedule was built for. */
ig_status schedule_check(const graph *g, const schedule *s);
/* The same for the launches that a device may run at the same time. Launch i follows the launches chain[first[i]] to
 * chain[first[i + 1] - 1], and those that these follow; n launches. */
ig_status schedule_check_order(const schedule *s, const int *first, const int *chain, int n);

/* "x0", "y1": the slot's name where a schedule is printed. */
const char *schedule_slot_name(const schedule *s, int i, char name[static 16]);
/* Prints the schedule. core_name, which may be NULL, is backend.core_name. */
void schedule_text(const schedule *s, const graph *g, const char *device,
                   const char *(*core_name)(const program *p), text *t);

/* ---- groups: nodes that run as one program ---- */

/* The nodes of one program: map nodes before the core, the core, map nodes after it. A group without a core is a map
 * program. Groups of the same depth never depend on each other. */
typedef struct group {
    int core; /* node, or -1 */
    int depth;
    int latest; /* while fusing: the greatest depth that precedes all groups that read it */
    bool waits; /* it should run as late as possible */
    uint16_t
        copy;    /* while fusing: node_attr.copy of its nodes that are recomputed to save memory */
    bool copied; /* while fusing: it is recomputed to save memory */
    bool may_fail; /* see program.may_fail */
    int n_node;    /* members, the core included */
    int members;   /* while fusing: head of the list of members */
    int pre_like;  /* a node whose shape is the space of the pre part, or -1 */
    bool read;     /* while fusing: a node of another group reads it */
    bool permuted; /* the core reads the axes of the pre part in the order perm */
    bool span;     /* the core reduces a range of the pre part's points to one value */
    bool linear;   /* a pre node uses the linear index, so the axes must stay in order */
    int perm[IG_MAX_NDIM];
    int *pre, *post; /* nodes in order */
    int n_pre, n_post;
} group;

/* All groups in the order in which they run, and which nodes are stored in memory. A node that another
 * group reads and that is not stored is recomputed there. */
struct fusion {
    group *group;
    int n_group;
    int *members; /* the lists of all groups */
    bool *stored; /* of each node */
};

#endif
