/* One run of a kernel: the request, and the results of each device. */
#ifndef CLI_RUN_SESSION_H
#define CLI_RUN_SESSION_H

#include "bench/timing.h"
#include "run/run.h"

typedef struct shape {
    uint32_t n[3];
} shape;

typedef struct settings {
    const char *kernel;
    shape grid, block;
    words args, defines, folders, libraries, flags, device_flags, outs;
    uint64_t shared_bytes, seed;
    int64_t ulp;
    const char *compare;
    double tolerance;
    bool time, print, full, json, check, profile;
    engine_options engine;
} settings;

/* The results of one device. */
typedef struct answer {
    const char *device;
    ig_array **results; /* one per parameter that is written */
    difference *apart;  /* of each result from the first device's */
    double seconds;
    timing time; /* of several launches */
    str printed;
} answer;

typedef struct session {
    const command *command;
    const settings *set;
    const char *file;
    ig_module *module;
    const ig_kernel_info *kernel;
    run_args args;
    answer *answers;
    int n_answers;
    ig_kernel_findings *findings; /* findings and profile: from the first device */
    ig_profile *profile;
} session;

/* Writes the arrays that --output names, and prints results, differences, findings and times as text or JSON.
 * Returns the exit code. */
int run_tell(const session *s);
/* Prints the findings of a check that stopped the kernel. Returns the exit code. */
int run_tell_mistakes(const session *s);

#endif
