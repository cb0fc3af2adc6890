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
    ig_array *made; /* the caller's: a gradient so far, a copy */
    bool given;     /* the caller's: an array that it put in */
    int next;       /* edge to look at, while the walk is on it */
    bool needed;    /* the caller said so, or it is true of something behind it */
    bool finished;  /* all behind it is known */
} place;

typedef struct walk {
    bool
        gradients; /* follow only what gradients pass: floats, and custom inputs, not definitions */
    place *place;
    int n, room;
    int *slot; /* hash table of places by address; -1: free */
    size_t slots;
    int *order; /* places, inputs first */
    int n_order;
    int *stack;
} walk;

/* The place of x, new if there is none; NULL on failure. It moves when another is made. */
place *walk_put(walk *w, ig_array *x);
/* The place of x, or NULL. */
place *walk_find(const walk *w, const ig_array *x);
/* The place whose elements x sees: x itself if it is one. */
ig_array *walk_behind(const walk *w, ig_array *x);
/* Adds all that lies behind x to order. */
ig_status walk_from(walk *w, ig_array *x);
void walk_free(walk *w);

/* The edges of the array at a place are some of its inputs: those of [first, end). */
int edge_first(const walk *w, const ig_array *x);
int edge_end(const walk *w, const ig_array *x);
/* The place at the i-th edge; NULL if the walk does not follow it. */
ig_array *edge_to(const walk *w, const ig_array *x, int i);

#endif
