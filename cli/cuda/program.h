/* Whole CUDA programs: compiled by the host's C++ compiler with our runtime, then run. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "cli.h"

typedef struct program_options {
    const char *const *sources;      /* .cu, .cpp, .c; this and the other lists end with NULL */
    const char *const *folders;      /* -I */
    const char *const *defines;      /* -D */
    const char *const *libraries;    /* -l */
    const char *const *flags;        /* other options for the compiler: -fopenmp */
    const char *const *device_flags; /* options for NVRTC: -use_fast_math */
    const char *const *args;         /* of the program */
    const char *device;              /* NULL: the CPU */
    const char *compare;             /* program_compare: the other devices */
    double tolerance;                /* program_compare: relative tolerance of numbers */
    str *output;                     /* if not NULL: receives the program's stdout */
    int threads;                     /* 0: one per core */
    bool check, profile;             /* every launch, and calls of the runtime */
    bool json;                       /* a JSON report on stdout, with the program's output */
} program_options;

/* True if a source defines main; a file without main has only kernels. */
bool program_has_main(const char *path);

/* Compiles the program, unless the cache has it, and runs it. Returns its exit code, or 128 plus the signal's
 * number if a signal ended it. If it could not be run: one of our exit codes, after reporting why. If a check
 * found mistakes, which the program reported on stderr: 1. */
int run_program(const command *c, const program_options *o);

#endif
