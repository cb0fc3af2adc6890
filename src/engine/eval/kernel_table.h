/* Emitted kernels by their text. A text is a module of its own, so two programs of one structure share a
 * kernel, whatever their shapes are. Everything here is called with the engine's lock held. */
#ifndef ENGINE_KERNEL_TABLE_H
#define ENGINE_KERNEL_TABLE_H

#include "engine/backend/lanes.h"

typedef struct kernel_row kernel_row;

/* The kernel of a text, new or found, with one more user; NULL on failure. */
kernel_row *kernel_take(const char *source);
/* One user less. Of the kernels without users, those that were used last are kept. */
void kernel_give(kernel_row *r);

/* Builds the kernel for a device and a shape of blocks, unless it is built already. *out is NULL if only kernel_run
 * can launch it. */
ig_status kernel_code_of(const kernel_row *r, const backend *dev, const char *entry,
                         const uint32_t block[3], kernel_code **out);
ig_status kernel_run(const kernel_row *r, const backend *dev, const char *entry, lane_launch *l);

/* How many kernels were new since the process started: for tests. */
int kernels_count(void);
void kernels_release(void);

#endif
