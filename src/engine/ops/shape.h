/* Shared by compositions that cut and join arrays. All of them take complex arrays. */
#ifndef OPS_SHAPE_H
#define OPS_SHAPE_H

#include "engine/ops/composite.h"

/* x[from:to] along axis, as a view; negative bounds count from the end. */
ig_array *shape_part(ig_array *x, int axis, int64_t from, int64_t to);
/* A 0 in the dtype of x, to go with x in where. */
ig_array *shape_zero(const ig_array *x);
/* x, or if axis is absent x as one axis; *at is the axis. NULL on failure. */
ig_array *shape_axis_or_flat(op_id op, ig_array *x, const ig_arg *axis, int *at);
/* value in the dtype of x. Fails if the conversion loses the kind: complex to real, float to integer, number to bool. */
ig_array *shape_fit(op_id op, const char *what, ig_array *x, ig_array *value);
/* x, 1-d, as a view that broadcasts with ndim axes, along axis. */
ig_array *shape_along(ig_array *x, int ndim, int axis);
/* Fails during evaluation if one of the i64 indices is not within [0, length); else returns them. */
ig_array *shape_checked(const char *who, ig_array *indices, int64_t length);

#endif
