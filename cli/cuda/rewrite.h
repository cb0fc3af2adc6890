/* From the text of a CUDA program to text for the host's C++ compiler.
 *
 * Launches become calls, `k<<<g, b>>>(a)` -> `::ig_cuda::ig_push(g, b) ? (void)0 : k(a)`; a kernel's body
 * becomes one that launches it with its own parameters; functions of the device alone go; variables of
 * the device make themselves known; lambdas for kernels become structs (closure.h). Lines stay where they are. What comes out needs cuda_runtime.h.
 *
 * It works on tokens, not on a tree: macros are not expanded, and both sides of an #if are rewritten. */
#ifndef CLI_CUDA_REWRITE_H
#define CLI_CUDA_REWRITE_H

#include "str.h"

/* A file for the compiler. */
typedef struct rewritten {
    char *path; /* of the source */
    char *name; /* without folders; unlike all others of the job */
    str text;
    bool is_unit; /* it is compiled by itself; others are included */
} rewritten;

typedef struct rewrite_job {
    const char *const *folders, *const *defines; /* -I and -D; each ends with NULL */
    bool (*is_ours)(const char *name);           /* headers that are not to be looked for */
    rewritten *files;
    int n_files;
} rewrite_job;

/* Adds a source and the files that it includes by quotes, as far as they are found. Returns its number; -1
 * with errno set if it cannot be read. */
int rewrite_add(rewrite_job *job, const char *path);
void rewrite_free(rewrite_job *job);

#endif
