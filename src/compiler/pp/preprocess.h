/* From source text to tokens for the parser: includes, macros and conditionals done, literals decoded.
 *
 *     kernel_unit u;
 *     status = kernel_unit_begin(&u, 256 << 20);
 *     kernel_file *file = kernel_unit_text(&u, "saxpy.cu", text, bytes);
 *     if (file) status = kernel_preprocess(&u, file, &options, &tokens);
 *     if (u.diags.n_errors) ...
 *     kernel_unit_end(&u);
 */
#ifndef KERNEL_PREPROCESS_H
#define KERNEL_PREPROCESS_H

#include "compiler/pp/diag.h"
#include "compiler/pp/token.h"

/* The front end's state of one compilation. Not thread-safe while it is written. */
typedef struct kernel_unit {
    kernel_arena arena; /* the memory of all other members, and of trees and types */
    kernel_source source;
    kernel_diags diags;
    kernel_names names;
} kernel_unit;

/* Call kernel_unit_end in every case, also after a failure. */
ig_status kernel_unit_begin(kernel_unit *u, size_t cap_bytes);
void kernel_unit_end(kernel_unit *u);

/* The main file. Its includes are searched first in the folder of its name. NULL with the thread's error
 * set. */
kernel_file *kernel_unit_text(kernel_unit *u, const char *name, const char *text, size_t bytes);

/* The text of an include that is not on disk; NULL if there is none. It must stay valid until
 * kernel_preprocess returns. */
typedef const char *kernel_find(void *context, const char *name, bool quoted, size_t *bytes);

typedef struct kernel_options {
    const char *const *defines; /* "NAME", "NAME=VALUE" or "NAME(x)=VALUE" */
    int n_defines;
    const char *const *folders; /* searched for includes, after the including file's folder */
    int n_folders;
    bool skip_unknown; /* an unknown <header> is treated as empty, also one of a foreign library */
    bool no_disk;      /* files come from `find` and the built-in headers only */
    kernel_find *find; /* called before the disk is searched; or NULL */
    void *context;
} kernel_options;

/* The tokens of a file and all its includes, ended by TOKEN_END, in the unit's arena. Errors in the source
 * are in u->diags, and the tokens are valid nevertheless. The status is about memory only. */
ig_status kernel_preprocess(kernel_unit *u, kernel_file *file, const kernel_options *options,
                            kernel_tokens *tokens);

#endif
