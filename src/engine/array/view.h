/* A view: an affine map from a row-major index space to the elements of a buffer. Strides and offset
 * count elements; a stride may be 0 (broadcast) or negative (flipped). Arrays and programs access buffers
 * through views. */
#ifndef ARRAY_VIEW_H
#define ARRAY_VIEW_H

#include "ingot/array.h"

typedef struct view {
    int ndim;
    int64_t offset;
    int64_t shape[IG_MAX_NDIM];
    int64_t stride[IG_MAX_NDIM];
} view;

/* Copies only the ndim axes in use. */
static inline void view_copy(view *to, const view *from)
{
    const int n = from->ndim;
    to->ndim = n;
    to->offset = from->offset;
    for (int i = 0; i < n; i++) {
        to->shape[i] = from->shape[i];
        to->stride[i] = from->stride[i];
    }
}
/* Number of elements of the index space. */
int64_t view_size(const view *v);
/* The row-major view of a fresh buffer. shape may be v->shape itself. */
void view_contiguous(view *v, int ndim, const int64_t *shape);
/* True if the elements lie one after another in row-major order from v->offset on (any axes of length 1 or
 * 0 are fine). */
bool view_is_contiguous(const view *v);
bool view_same_shape(const view *a, const view *b);
bool view_equal(const view *a, const view *b);
/* v broadcast to shape; false if the shapes do not fit, and then out is undefined. out must not be v. */
bool view_broadcast(const view *v, int ndim, const int64_t *shape, view *out);
/* The same elements in another shape of the same size; false if strides cannot express it. */
bool view_reshape(const view *v, int ndim, const int64_t *shape, view *out);
/* out axis i is v axis axes[i]. out must not be v. */
void view_permute(const view *v, const int *axes, view *out);
/* Lowest and highest element that v touches (both v->offset for a scalar); v must not be empty. */
void view_bounds(const view *v, int64_t *low, int64_t *high);
/* The axes longer than 1, from the longest stride to the shortest; returns how many there are. */
int view_axes_by_stride(const view *v, int axes[static IG_MAX_NDIM]);
/* True if no element is seen twice. May return false in error for strides that interleave. */
bool view_is_injective(const view *v);
/* Merges neighbouring axes that each of the n views (of one shape) walks as one, and drops axes of
 * length 1. The result is the same space in the same order. */
void view_collapse(view *const *views, int n);
/* Element offset of the index-th point of the space. */
int64_t view_at(const view *v, int64_t index);

/* "(2, 3)" into text; returns text. */
const char *view_shape_text(int ndim, const int64_t *shape, char text[static 400]);

#endif
