/* Folds of small windows that slide over planes, as in pooling: see pool.c. */
#ifndef CPU_POOL_H
#define CPU_POOL_H

#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/elements/sliding.h"

typedef struct pool_plan {
    bool on;
    sliding windows;
    axis_group planes, k;
    int64_t n_plane, n_k; /* planes of windows, and points of a window */
    int64_t lane;         /* bytes */
    int64_t together;     /* planes that go through the epilogue together, if they have one band */
} pool_plan;

/* Sets the plan if p, whose tape is a single LOAD, folds such windows. The inner part of its space begins at an axis. */
void pool_choose(pool_plan *q, const program *p, int axis);
size_t pool_scratch(const pool_plan *q, const program *p);
void pool_fold(const pool_plan *q, const program *p, const binding *b, cpu_fault *fault);

#endif
