/* Graphs of work, and the capture of streams into graphs.
 *
 * A graph owns its nodes, and a node the parameters of its work. An executable graph is a copy of a graph in an order
 * that obeys the dependencies. A body or a child graph is part of the node that has it. graphs.c has graphs and nodes,
 * executable.c launches, capture.c captures. Functions return an error of CUDA. */
#ifndef CUDART_GRAPHS_H
#define CUDART_GRAPHS_H

#include "lib/cudart/cudart.h"

/* ---- for runtime.c ---- */

/* True if the work of the stream becomes nodes of a graph. */
bool cudart_is_captured(const void *stream);
/* Adds a node to the graph of a captured stream; out may be NULL. */
int cudart_capture(void *stream, const ig_cuda_step *step, ig_cuda_node **out);
int cudart_capture_launch(ig_cuda_kernel *k, const cudart_shape *shape, void *const *args);
int cudart_capture_copy(const cudart_copy *c);
int cudart_capture_fill(const cudart_fill *f);
int cudart_capture_alloc(void **at, size_t bytes, void *stream);
/* An event that is recorded in a captured stream, and a stream that waits for an event of one: false if neither is
 * captured. */
bool cudart_capture_record(void *event, void *stream, int *error);
bool cudart_capture_wait(void *stream, void *event, int *error);

/* The program frees memory that a graph's launch has allocated: false if it is other memory. */
bool cudart_graph_free(void *at, int *error);

/* ---- of runtime.c ---- */

/* The kernel of a stub with the sizes of its parameters; NULL if there is none. */
ig_cuda_kernel *cudart_kernel(const void *stub, const size_t **sizes, int *n);
const void *cudart_kernel_stub(const ig_cuda_kernel *k);
/* Launches on shape->stream, which is not captured. */
int cudart_launch(ig_cuda_kernel *k, const cudart_shape *shape, void *const *args);

/* ---- shared by the files of graphs ---- */

/* Memory of allocation nodes and of conditions. Its address is known from the node's creation on. It is kept while a node has it, or while
 * a launch has allocated it and nothing has freed it. */
typedef struct cudart_block {
    struct cudart_block *next;
    void *at;
    size_t bytes;
    int holders;     /* nodes and graphs */
    bool is_counted; /* in the sizes that the program may ask for */
    bool is_live;
} cudart_block;

/* A condition of a graph: its memory has the value. */
typedef struct cudart_condition {
    cudart_block *memory;
    unsigned initial;
    bool is_set; /* to the initial value by each launch */
} cudart_condition;

struct ig_cuda_node {
    ig_cuda_graph *graph;
    const ig_cuda_node *origin; /* of a copy: the node that it was copied from */
    ig_cuda_step step;          /* args points to own_args */
    ig_cuda_kernel *kernel;
    cudart_shape shape;
    void **own_args; /* with the values after it */
    cudart_block *memory;
    ig_cuda_graph *bodies[IG_CUDA_BODIES_MOST]; /* the child graph, or those of a condition */
    ig_cuda_node **after;
    int n_after, room;
    int mark; /* of a walk */
};

struct ig_cuda_graph {
    ig_cuda_node **nodes;
    int n, room;
    bool is_part; /* of a node */
    cudart_condition *conditions;
    int n_conditions, conditions_room;
};

/* A launch allocates the memory or frees it. */
int cudart_block_use(cudart_block *b, bool is_live);
int cudart_node_add(ig_cuda_graph *g, ig_cuda_node *const *after, size_t n_after,
                    const ig_cuda_step *s, ig_cuda_node **out);
/* Replaces the work of a node by work of the same type. */
int cudart_node_replace(ig_cuda_node *n, const ig_cuda_step *s);
bool cudart_node_is_after(const ig_cuda_node *n, const ig_cuda_node *before);
/* The copy of a node in a clone of its graph; NULL if none. */
ig_cuda_node *cudart_graph_copy_of(const ig_cuda_graph *g, const ig_cuda_node *origin);
/* Marks: of no node, and of all nodes before one. */
void cudart_graph_unmark(ig_cuda_graph *g);
void cudart_node_mark_before(ig_cuda_node *n);

#endif
