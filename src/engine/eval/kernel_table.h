/* Emitted kernels, keyed by their text. Each text is a separate module, so two programs of one structure share a
 * kernel, whatever their shapes are. All functions are called with the engine's lock held. */
#ifndef ENGINE_KERNEL_TABLE_H
#define ENGINE_KERNEL_TABLE_H

#include "engine/module/module.h"

typedef struct kernel_row kernel_row;

/* The kernel of a text, new or existing, with one more user; NULL on failure. */
kernel_row *kernel_take(const char *source);
/* Removes one user. Keeps the most recently used of the kernels without users. */
void kernel_give(kernel_row *r);

/* Builds the kernel for a device and a block shape, unless it is built already. *out is as for
 * module_code. */
ig_status kernel_code_of(const kernel_row *r, const backend *dev, const char *entry,
                         const uint32_t block[3], module_batch *batch, kernel_code **out);
ig_status kernel_run(const kernel_row *r, const backend *dev, const char *entry, lane_launch *l);

/* Number of kernels with users. Each takes 1 to 5 MiB: its checked tree, and its code. */
int kernels_used(void);
/* Number of new kernels since the process started, for tests. */
int kernels_count(void);
void kernels_release(void);

#endif
