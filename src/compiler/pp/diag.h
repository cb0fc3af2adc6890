/* Diagnostics about a source: errors, warnings and notes, several in one run.
 *
 * An error in the source is not a status: it is recorded here, and parsing continues. Rendered:
 *
 *     saxpy.cu:7:12: error: 'k' uses double, which an Apple GPU does not have [IG-F64]
 *         y[i] = a * x[i];
 *                  ^
 *       why: ...
 *       do:  ...
 *     saxpy.cu:2:19: note: in the macro 'SCALE'
 *
 * A diagnostic that repeats another one at the same place is dropped. Notes belong to the error or warning
 * before them and are dropped with it. */
#ifndef KERNEL_DIAG_H
#define KERNEL_DIAG_H

#include "compiler/pp/source.h"

struct text; /* of base/text.h */

enum { DIAG_MAX = 50 /* errors and warnings that are kept; the others are counted */ };

typedef enum kernel_severity { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } kernel_severity;

typedef struct kernel_diag {
    struct kernel_diag *next;
    kernel_severity severity;
    const char *code;         /* "IG-F64", or NULL */
    kernel_place place;       /* of the caret */
    const char *message;      /* one line, no full stop */
    const char *why, *remedy; /* or NULL */
} kernel_diag;

typedef struct kernel_diags {
    const kernel_source *source;
    kernel_arena *arena;
    kernel_diag *first, *last;
    kernel_diag *current;        /* diag_why and the like add to this one; NULL if it was dropped */
    const kernel_diag *repeated; /* the error that the last dropped report repeats, or NULL */
    uint32_t n_errors, n_warnings; /* all of them, kept or not; repeats are not counted */
    uint32_t n_kept;
} kernel_diags;

void kernel_diags_begin(kernel_diags *d, const kernel_source *source, kernel_arena *arena);

/* code is a literal or NULL. */
void diag_error(kernel_diags *d, kernel_place place, const char *code, const char *format, ...)
    IG_PRINTF(4, 5);
void diag_warning(kernel_diags *d, kernel_place place, const char *code, const char *format, ...)
    IG_PRINTF(4, 5);
void diag_note(kernel_diags *d, kernel_place place, const char *format, ...) IG_PRINTF(3, 4);

/* Adds to the last diagnostic: the reason, and what to do. */
void diag_why(kernel_diags *d, const char *format, ...) IG_PRINTF(2, 3);
void diag_do(kernel_diags *d, const char *format, ...) IG_PRINTF(2, 3);

/* Renders all diagnostics in order, with terminal colours if asked for. */
void kernel_diags_render(const kernel_diags *d, bool colour, struct text *out);
/* Renders one of them, with its macros and includes. */
void kernel_diag_render(const kernel_source *s, const kernel_diag *diag, bool colour,
                        struct text *out);

#endif
