/* From source text to tokens for the parser: includes, macros and conditionals done, literals decoded.
 *
 *     kernel_unit u;
 *     status = kernel_unit_begin(&u, 256 << 20);
 *     kernel_file *file = kernel_unit_text(&u, "saxpy.cu", text, bytes);     (or kernel_unit_read)
 *     if (file) status = kernel_preprocess(&u, file, &options, &tokens);
 *     if (u.diags.n_errors) ...
 *     kernel_unit_end(&u);
 */
#ifndef KERNEL_PREPROCESS_H
#define KERNEL_PREPROCESS_H

#include "compiler/pp/diag.h"
#include "compiler/pp/token.h"

/* What the front end knows of one compilation. Not shared between threads while it is written. */
typedef struct kernel_unit {
    kernel_arena arena; /* all of the others' memory, and that of trees and types */
    kernel_source source;
    kernel_diags diags;
    kernel_names names;
} kernel_unit;

/* Always to be ended, whatever it returns. */
ig_status kernel_unit_begin(kernel_unit *u, size_t cap_bytes);
void kernel_unit_end(kernel_unit *u);

/* The main file, from memory or from disk. Its own includes are looked for in the folder that its name or
 * path has. NULL with the thread's error set. */
kernel_file *kernel_unit_text(kernel_unit *u, const char *name, const char *text, size_t bytes);
kernel_file *kernel_unit_read(kernel_unit *u, const char *path);

/* The text of an include that is not on disk: NULL if there is none. It must stay until the call of
 * kernel_preprocess returns. */
typedef const char *kernel_find(void *context, const char *name, bool quoted, size_t *bytes);

typedef struct kernel_options {
    const char *const *defines; /* "NAME", "NAME=VALUE" or "NAME(x)=VALUE" */
    int n_defines;
    const char *const
        *folders; /* where includes are looked for, after the including file's folder */
    int n_folders;
    bool
        skip_unknown; /* an unknown <header> is treated as empty, and so is that of a foreign library */
    bool no_disk;     /* files are found by `find` and among the built-in headers only */
    kernel_find *find; /* asked before the disk; or NULL */
    void *context;
} kernel_options;

/* The tokens of a file and all that it includes, ended by TOKEN_END, in the unit's arena. Mistakes in
 * the source are in u->diags, and there are tokens nevertheless; the status is about memory alone. */
ig_status kernel_preprocess(kernel_unit *u, kernel_file *file, const kernel_options *options,
                            kernel_tokens *tokens);

#endif
