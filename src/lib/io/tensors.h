/* The parts of a set of named arrays: two lists in the order of insertion, each with a search tree by name.
 * The tree is balanced, because an untrusted file may choose the names.
 */
#ifndef IO_TENSORS_H
#define IO_TENSORS_H

#include "ingot.h"

struct named {
    char *name;
    ig_array *array; /* of a tensor; owned */
    char *text;      /* of metadata; owned */
    int level;       /* in the AA tree */
    int child[2];    /* smaller and greater names, as indices; -1: none */
};

struct names {
    struct named *at;
    int n, room;
    int root;
};

struct ig_tensors {
    struct names arrays, texts;
};

/* Returns NULL if there is none of that name. */
struct named *names_find(const struct names *names, const char *name);

/* Adds an element at the end; NULL on failure. Takes ownership of name (from memory_text or the like), also on
 * failure. If several have the same name, names_find may return any of them. */
struct named *names_add(struct names *names, char *name);

/* Evaluates all arrays in one run and makes each contiguous. So the data cannot fail any more once a file
 * has been started. */
ig_status tensors_evaluate(const struct names *arrays);

#endif
