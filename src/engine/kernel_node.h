/* Kernels of the user's in graphs, as the engine runs them. */
#ifndef ENGINE_KERNEL_NODE_H
#define ENGINE_KERNEL_NODE_H

#include "backend/backend.h"

/* A source that was read and checked, shared by all who ask for the same: see kernel_module_get. */
typedef struct kernel_module {
    atomic_int refs;
    ig_module *module;
    uint8_t content[32]; /* SHA-256 of all texts that it was made of */
    uint8_t asked[32];   /* of what it was asked for with */
    bool reads_files;    /* its includes come from the disk, and may be others next time */
    struct kernel_module *next, *prev;
} kernel_module;

/* The module of a source, new or found; NULL on failure. While anybody holds it nothing is parsed twice,
 * but for sources that include files. */
kernel_module *kernel_module_get(const char *name, const char *source, const ig_module_options *o,
                                 const char *kernel);
kernel_module *kernel_module_retain(kernel_module *m);
void kernel_module_release(kernel_module *m); /* NULL is fine */

/* Makes the kernel of a PROGRAM_KERNEL ready for the device, and launches it; bindings as those of
 * backend.launch. The engine's lock is held. */
ig_status kernel_node_compile(const program *p, const backend *dev);
ig_status kernel_node_launch(const program *p, const backend *dev, const binding *bindings);

#endif
