/* From the text of a CUDA program to text for the host's C++ compiler.
 *
 * A launch becomes a call: `k<<<g, b>>>(a)` -> `::ig_cuda::ig_push(g, b) ? (void)0 : k(a)`. The body of a
 * kernel becomes a stub that launches the kernel with the stub's own parameters. Device-only functions are
 * removed. Device variables register themselves. Lambdas for kernels become structs (closure.h). Line numbers
 * do not change. The result needs cuda_runtime.h.
 *
 * The rewriter works on tokens, not on a tree: macros are not expanded, and both sides of an #if are
 * rewritten. In C files, only the names of included files are changed. */
#ifndef CLI_CUDA_REWRITE_H
#define CLI_CUDA_REWRITE_H

#include "str.h"

/* A file for the compiler. */
typedef struct rewritten {
    char *path; /* of the source */
    char *real; /* the same without links and "..", to identify the file */
    char *name; /* without folders; unique in the job */
    str text;
    str device;     /* the device side, for NVRTC (device.h), if the job needs it */
    bool is_unit;   /* it is compiled separately; other files are included */
    bool is_c;      /* a unit for the C compiler */
    bool uses_cuda; /* it, or a file that it includes, has device code or launches */
} rewritten;

/* A macro that stands for qualifiers (declare.h). */
typedef struct rewrite_alias {
    char *name;
    unsigned flags;
    bool has_body; /* it has braces: it may contain functions */
} rewrite_alias;

/* A set of names. */
typedef struct name_set {
    char **at;
    int n;
} name_set;

typedef struct rewrite_job {
    const char *const *folders, *const *defines; /* -I and -D; these lists end with NULL */
    const char *const *options;                  /* for NVRTC */
    rewritten *files;
    int n_files;
    rewrite_alias *aliases; /* of all files so far */
    int n_aliases;
    bool for_nvrtc; /* the device side is needed */
    /* Names in all files so far, for device.h: macros with parameters, namespaces, functions and types that
     * the device has, and types, variables and functions that only the host has. */
    name_set macros, namespaces, device_types, host_types, host_values;
} rewrite_job;

/* Adds a source and the files that it includes from its own folder or from -I. Returns its number, or -1 with
 * errno set if it cannot be read. */
int rewrite_add(rewrite_job *job, const char *path);
void rewrite_free(rewrite_job *job);

#endif
