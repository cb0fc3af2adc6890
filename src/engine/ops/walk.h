/* A walk over the history of some arrays, inputs first, without recursion. It also passes through evaluated
 * arrays, because it follows how arrays were made, not what must be computed.
 *
 * A place is an array at which the walk stops: a root, or a view that must be distinguished from its root
 * (one that the caller added beforehand, a stop_gradient, or a custom gradient). All other views only
 * select elements of a place. */
#ifndef OPS_WALK_H
#define OPS_WALK_H

#include "engine/ops/ops.h"

typedef struct place {
    ig_array *at;
    ig_array *made; /* set by the caller: the gradient so far, or a copy */
    bool given;     /* set by the caller: an array that the caller added */
    int next;       /* the next edge, while the place is on the stack */
    bool needed;    /* set by the caller, or a place that it depends on is needed */
    bool finished;  /* all places that it depends on are finished */
} place;

typedef struct walk {
    bool gradients; /* follow only edges of gradients: floats, custom inputs, not definitions */
    bool ends;      /* follow no edges of arrays that the caller added */
    place *place;
    int n, room;
    int *slot; /* hash table of places by address; -1: free */
    size_t slots;
    int *order; /* places, inputs first */
    int n_order;
    int *stack;
} walk;

/* The place of x, created if there is none; NULL on failure. The pointer is valid until another place is created. */
place *walk_put(walk *w, ig_array *x);
/* The place of x, or NULL. */
place *walk_find(const walk *w, const ig_array *x);
/* The place whose elements x sees; x itself if it is a place. */
ig_array *walk_behind(const walk *w, ig_array *x);
/* Adds x and everything that it depends on to order. */
ig_status walk_from(walk *w, ig_array *x);
void walk_free(walk *w);

/* The edges of a place are the inputs [first, end) of its array. */
int edge_first(const walk *w, const ig_array *x);
int edge_end(const walk *w, const ig_array *x);
/* The place that the i-th edge leads to; NULL if the walk does not follow the edge. */
ig_array *edge_to(const walk *w, const ig_array *x, int i);

#endif
