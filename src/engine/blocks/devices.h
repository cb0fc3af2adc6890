/* The devices of this process that compute the blocks of a plan. */
#ifndef BLOCKS_DEVICES_H
#define BLOCKS_DEVICES_H

#include "engine/blocks/blocks.h"

/* Sets the devices of a plan, for arrays of this device: the devices of a list, or one whose copies overlap with its kernels. In a
 * team, none if the ranks have different numbers of workers: all ranks make the same plan. */
ig_status devices_set(block_plan *p, const backend *dev);
/* True if several devices evaluate these arrays together. */
bool devices_are_mixed(ig_array *const *arrays, int n);
/* The workers of a device, which compute blocks at the same time. */
int device_workers(const backend *dev);
/* True if the plan's devices can compute blocks of the stage at the same time; else one device computes one at a time. */
bool stage_can_divide(const block_plan *p, const stage *s);

#endif
