/* An optional LAPACK of the system: IG_LAPACK is off, or the path of a library. It is loaded by the first op that it could
 * compute. */
#ifndef CPU_LAPACK_H
#define CPU_LAPACK_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stddef.h>

/* The functions for one type of elements. */
typedef struct lapack_type {
#define LAPACK(field, real, complex, parameters) void(*field) parameters;
#include "engine/backend/cpu/lapack.def"
} lapack_type;

typedef struct lapack {
    const char *name;    /* "openblas" */
    lapack_type type[4]; /* f32, f64, and complex ones of these */
    void (*threads_set)(int n);
    int (*threads_get)(void); /* NULL, as threads_set, if their number cannot be set */
} lapack;

/* The library; NULL if there is none. */
const lapack *lapack_get(void);
/* Why the value of IG_LAPACK is ignored, or NULL; loads nothing. */
const char *lapack_note(void);

#endif
