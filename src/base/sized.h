/* Public structs that the caller makes begin with their size, so that later versions can add fields at the end. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include "ingot/base.h"

/* The name of a struct, its size here, and its size in version 0.1, whose last field was `last`. */
typedef struct sized_type {
    const char *name;
    size_t bytes, first;
} sized_type;
#define SIZED(type, last) \
    (&(const sized_type){#type, sizeof(type), offsetof(type, last) + sizeof(((type *)0)->last)})

/* Copies the caller's struct to `to`. Fields that the caller's header does not have become 0. Fails if the struct has
 * nonzero fields that this library does not know, or if its size makes no sense. */
ig_status sized_read(const sized_type *type, void *to, const void *from);
/* Copies a struct of the library to the caller's: only the fields that the caller's header has. Its size stays. */
ig_status sized_write(const sized_type *type, void *to, const void *from);

#endif
