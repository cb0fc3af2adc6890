/* Workers that compute the blocks of a stage at the same time, each on a device: several devices, or one device whose
 * copies overlap with its kernels. */
#ifndef BLOCKS_CREW_H
#define BLOCKS_CREW_H

#include "engine/blocks/blocks.h"

/* Where a crew's results go, and what it has done. Calls of put are made by one thread at a time. */
typedef struct crew_output {
    bool (*has)(void *context, int64_t tile); /* it has been written before */
    ig_status (*put)(void *context, int root, const box *b, const void *data);
    void (*read)(void *context, uint64_t bytes); /* called by the thread that calls crew_run */
    void *context;
    uint32_t since; /* cancel_count() at the start */
} crew_output;

/* Sets the devices of a plan, for arrays of this device. */
void crew_devices(block_plan *p, const backend *dev);
/* True if several devices evaluate these arrays together. */
bool crew_is_mixed(ig_array *const *arrays, int n);
/* The workers of a device. */
int crew_workers(const backend *dev);
/* True if a crew can compute the stage. */
bool crew_can(const block_plan *p, const stage *s);
ig_status crew_run(const block_plan *p, stage *s, const crew_output *out);

#endif
