/* Shared by the move and index builders: inserting and removing axes of views, Python's slices, index
 * arrays, and reads at computed indices. */
#ifndef OPS_INDEX_H
#define OPS_INDEX_H

#include "engine/ops/builders.h"

/* ---- views (move.c) ---- */

/* Inserts an axis before v's axis `at`, which may be v->ndim; v must have room for it. */
void axis_insert(view *v, int at, int64_t length, int64_t stride);
void axis_remove(view *v, int axis);

/* length elements of an axis: start, start + step, ... All are inside the axis. */
typedef struct span {
    int64_t start, step, length;
} span;

/* start:stop:step of an axis of n elements, bounds clipped as Python does; step is not 0. */
span span_clip(int64_t start, int64_t stop, int64_t step, int64_t n);
/* Narrows an axis of v to s. */
void span_apply(view *v, int axis, span s);

/* A number without a dtype gets its default dtype; any other array is returned as it is. */
ig_array *move_settle(ig_array *x);

/* ---- index arrays (index.c) ---- */

/* indices as i64. Fails unless they are integers; the error names who. */
ig_array *index_cast(const char *who, ig_array *indices);

/* value in x's dtype. Fails if the conversion loses the kind: float to integer, number to bool. */
ig_array *index_fit(op_id op, const char *what, ig_array *x, ig_array *value);

/* out[i, j, k] = x at v[i, k] moved by index[j] * stride elements, where i are v's axes before
 * place and k the others. index is i64 within [-length, length), checked when it is evaluated. */
ig_array *index_read(const char *who, ig_array *x, const view *v, int place, ig_array *index,
                     int64_t length, int64_t stride);
/* x at index along axis. */
ig_array *index_take(const char *who, ig_array *x, ig_array *index, int axis);

/* The positions of the `kept` largest elements along axis, the largest first: the beginning of a stable descending
 * argsort. kept is at most the axis's length. */
ig_array *index_first_places(ig_array *x, int axis, int64_t kept);

/* ---- results that depend on data (unique.c) ---- */

/* Row-major positions at which mask, which is bool, is true; evaluates it. The caller frees them with
 * memory_free; NULL on failure. */
int64_t *mask_positions(ig_array *mask, int64_t *count);
/* True if x and mask have one shape and are read from sources, and the positions would take much memory. */
bool mask_spills(ig_array *x, ig_array *mask);
/* For these: the elements of x, 1-d, at which mask is true; evaluates both, in files. NULL on failure. */
ig_array *mask_selected(ig_array *x, ig_array *mask);

/* The results of the unique ops. */
typedef enum unique_part { VALUES, INDICES, INVERSE, COUNTS, UNIQUE_PARTS } unique_part;
enum { UNIQUE_FLAT = -1 };

/* The distinct slices of x along axis, or elements for UNIQUE_FLAT, sorted. out: the n results that parts lists. Evaluates
 * x. Returns n, 0 on failure. */
int unique_find(op_id op, ig_array *x, int axis, bool equal_nan, const unique_part *parts, int n,
                ig_array **out);

/* ---- x[...] (subscript.c) ---- */

/* ig_get; error messages begin with who. */
ig_array *subscript_get(const char *who, ig_array *x, const ig_index *items, int n);

#endif
