/* From the text of a CUDA program to text for the host's C++ compiler.
 *
 * A launch becomes a call: `k<<<g, b>>>(a)` -> `::ig_cuda::ig_push(g, b) ? (void)0 : k(a)`. The body of a
 * kernel becomes a stub that launches the kernel with the stub's own parameters. Device-only functions are
 * removed. Device variables register themselves. Lambdas for kernels become structs (closure.c). Line numbers
 * do not change. The result needs cuda_runtime.h.
 *
 * The rewriter works on tokens, not on a tree: macros are not expanded, and both sides of an #if are
 * rewritten. In C files, only the names of included files are changed. */
#ifndef CLI_CUDA_REWRITE_H
#define CLI_CUDA_REWRITE_H

#include "cuda/declare.h"

/* A file for the compiler. */
typedef struct rewritten {
    char *path; /* of the source */
    char *real; /* the same without links and "..", to identify the file */
    char *name; /* without folders; unique in the job */
    str text;
    str source; /* as it is written, with the names of included files as in `text`, if the job needs it */
    str device;     /* the device side, for NVRTC (device.h), if the job needs it */
    bool is_unit;   /* it is compiled separately; other files are included */
    bool is_c;      /* a unit for the C compiler */
    bool uses_cuda; /* it, or a file that it includes, has device code or launches */
} rewritten;

typedef struct rewrite_job {
    const char *const *folders, *const *defines; /* -I and -D; these lists end with NULL */
    const char *const *options;                  /* for NVRTC */
    rewritten *files;
    int n_files;
    bool for_nvrtc; /* the program runs on an NVIDIA GPU: the device side is needed */
    bool
        is_portable; /* it runs on any device, without its sources: both sides are needed, and the texts of included
                         * files */
    bool is_image;      /* the result is an image of the device code, for cuModuleLoad */
    bool is_linked;     /* device code is linked across files */
    bool all_cuda;      /* units have device code, whatever their names */
    kernel_unit *names; /* of all files so far, with what is known about them */
} rewrite_job;

/* Adds a source and the files that it includes from its own folder or from -I. Returns its number, or -1 with
 * errno set if it cannot be read. */
int rewrite_add(rewrite_job *job, const char *path);
void rewrite_free(rewrite_job *job);

/* True if the text has a function main. */
bool rewrite_has_main(const char *text, size_t bytes);

/* ---- the parts of the rewriter ---- */

/* Replaces [from, to) of the text; the line breaks there are kept. */
typedef struct rewrite_edit {
    const char *from, *to;
    str text;
    bool directive; /* a backslash precedes each line break */
} rewrite_edit;

enum { SPACES_MOST = 64 };

typedef struct rewriter {
    rewrite_job *job;
    const char *path, *text;
    char *device;       /* the device side: a copy of the text with blanks; NULL: none */
    const cuda_list *s; /* the code, or a directive */
    bool directive;
    bool is_unit, is_c, uses_cuda; /* as in struct rewritten */
    int number;                    /* of the file */
    rewrite_edit *edits;
    int n_edits;
    const cuda_token *spaces[SPACES_MOST]; /* the names of the enclosing namespaces */
    int n_spaces;
    str closures; /* structs of lambdas for the device, appended to the unit's text */
    int n_closures;
} rewriter;

/* Adds an edit; the caller fills in its text before it adds another. */
str *rewrite_edit_add(rewriter *r, const char *from, const char *to);
/* Adds `ns::` for each enclosing namespace. */
void rewrite_add_spaces(const rewriter *r, str *out);

/* Replaces a kernel's body by its stub; registers variables after their declaration (stub.c). */
void stub_kernel(rewriter *r, const declaration *d);
void stub_variables(rewriter *r, const declaration *d);

/* Rewrites the lambda whose '[' is at i, inside a function, if it is for a kernel (closure.c). Returns its last token,
 * or i. */
int closure_rewrite(rewriter *r, const declaration *function, int i);

#endif
