/* Several printed kernels as one file. */
#ifndef KERNEL_PRINT_JOIN_H
#define KERNEL_PRINT_JOIN_H

#include "compiler/print/print.h"

typedef struct print_joined_part {
    char *text, *name;
} print_joined_part;

/* Initialize with zeros. */
typedef struct print_joined {
    print_joined_part *at;
    int n, room;
    bool line; /* the last part was a single line */
    text all;
} print_joined;

/* Adds the parts of a kernel's text that the file does not have yet. comment, if not NULL, precedes the
 * kernel. *entry, if entry is not NULL, receives the kernel's name in the file (memory_free). */
ig_status print_join(print_joined *j, const kernel_printed *p, const char *comment, char **entry);
/* The file (memory_free), or NULL if memory ran out. j is empty again. */
char *print_joined_take(print_joined *j);

#endif
