/* Whole CUDA programs: compiled by the host's C++ compiler with our runtime, and run. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "cli.h"

typedef struct program_options {
    const char *const *sources;   /* .cu, .cpp; this and the other lists end with NULL */
    const char *const *folders;   /* -I */
    const char *const *defines;   /* -D */
    const char *const *libraries; /* -l */
    const char *const *args;      /* of the program */
    const char *device;           /* NULL: the CPU */
    int threads;                  /* 0: as many as there are cores */
    bool check, profile;          /* every launch, and what calls of the runtime do */
    bool json; /* all of it as JSON on stdout, what the program prints included */
} program_options;

/* Whether a source has a main, and so is a program rather than kernels alone. */
bool program_has_main(const char *path);

/* Compiles (unless it did before: programs are kept in the cache on the disk) and runs it. Returns the
 * program's exit code, 128 and the signal's number if one ended it; or one of ours if it did not come so
 * far, after saying why; 1 if a check found mistakes, which the program told on stderr. */
int run_program(const command *c, const program_options *o);

#endif
