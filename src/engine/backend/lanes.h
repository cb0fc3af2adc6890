/* The interface of a device that runs kernels as lane code instead of text: the CPU. Such a device can also
 * check and profile a kernel, because it sees every access. */
#ifndef BACKEND_LANES_H
#define BACKEND_LANES_H

#include "engine/backend/backend.h"
#include "compiler/code.h"
#include "compiler/watch.h"
#include "ingot.h"

/* A launch with all features of lane code. Pointers may be NULL. */
typedef struct lane_launch {
    kernel_launch base;
    const void *packed; /* replaces base.args: arguments in CUDA's layout, with host addresses */
    const binding *globals;     /* memory of the variables of the source */
    bool *asserted;             /* set to whether an assertion failed */
    const kernel_output *print; /* NULL: standard output, without knowledge of arrays */
    void *context;              /* passed to print */
    kernel_check *check;        /* receives the mistakes of the launch */
    ig_profile_line *profile;   /* one for each instruction; the counts are filled in */
} lane_launch;

typedef struct lane_runner {
    /* The code must outlive the kernel. */
    ig_status (*build)(const backend *dev, const lane_code *code, const kernel_param *params,
                       int n_params, kernel_code **out);
    ig_status (*launch)(kernel_code *code, const lane_launch *l);
} lane_runner;

#endif
