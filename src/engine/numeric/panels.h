/* Shared by decompositions of large real matrices, which reduce some columns at a time: tridiagonal.c and bidiagonal.c.
 * Functions pass on NULL. */
#ifndef NUMERIC_PANELS_H
#define NUMERIC_PANELS_H

#include "engine/numeric/spectral.h"
#include "base/integer.h"

enum {
    PANEL = 32,          /* columns of a call */
    PANEL_ROWS = 8,      /* rows, and */
    PANEL_THREADS = 256, /* threads of a block of its kernel */
    PANELS_MOST = 32768 / PANEL,
    PANEL_CHUNK = 64, /* elements of a vector whose sum is one partial sum */
    LEAF_MOST = 32,   /* rows of a part that is not divided */
    DIVIDE_THREADS = 64
};

#define AXIS(i) ((ig_ints){(int64_t[]){i}, 1})

/* Builds a call of the kernel for the dtype of x, f32 or f64. */
int panels_launch(const library_kernel *kernel, const char *name, const library_args *args,
                  int64_t blocks, int64_t threads, const int64_t *number, ig_array **out);

/* ---- arrays ---- */

/* x, whose last axis has length 1, repeated n times along it. */
ig_array *panels_repeated(ig_array *x, int64_t n);
/* x with n lengths instead of its last axes. */
ig_array *panels_folded(ig_array *x, int axes, int n, const int64_t *lengths);
/* Element `at` of axis `axis`, without the axis. */
ig_array *panels_one(ig_array *x, int axis, int64_t at);
/* For each row of x: -1 if its component of largest modulus is negative, else 1. */
ig_array *panels_signs(ig_array *x);

/* Reflections I - v v^T: the rows v of each panel, for rows of n elements. The rows of panel i have the last
 * n - PANEL i elements; those before are 0. */
typedef struct reflections {
    ig_array *v[PANELS_MOST];
    int panels;
    int64_t n;
} reflections;

/* The rows of x, multiplied with all reflections, the last one first. */
ig_array *panels_apply(const reflections *r, ig_array *x);

#endif
