/* Modules shared by content: while a module has a holder, the same source is not parsed twice, unless it
 * includes files. */
#ifndef MODULE_SHARED_H
#define MODULE_SHARED_H

#include "ingot.h"
#include <stdatomic.h>

typedef struct shared_module {
    atomic_int refs;
    ig_module *module;
    uint8_t content[32]; /* SHA-256 of all texts that it was built from */
    uint8_t request[32]; /* SHA-256 of the arguments of shared_module_get */
    bool reads_files;    /* it includes files from the disk, which may change */
    struct shared_module *next, *prev;
} shared_module;

/* The module of a source, new or existing; NULL on failure. is_library: the source is of kernels/, and so are the files
 * that it includes. */
shared_module *shared_module_get(const char *name, const char *source, const ig_module_options *o,
                                 const char *kernel, bool is_library);
void shared_module_release(shared_module *m); /* NULL is fine */

#endif
