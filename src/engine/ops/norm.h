/* The gradient of layer_norm and rms_norm. It is computed from x and two numbers of each row; the graph of the separate ops would
 * store several arrays of the size of x in f32. */
#ifndef OPS_NORM_H
#define OPS_NORM_H

#include "engine/ops/ops.h"

/* What a norm y = (x - mean) * root * weight + bias was made of. weight and bias have one element for each element of a row, or
 * are NULL. mean (NULL: 0) and root are (..., 1) in the dtype of the computation. */
typedef struct norm_parts {
    ig_array *x, *weight, *bias, *mean, *root;
} norm_parts;

/* y with that gradient; y itself if a part is a number or is not a real float. axis: of the rows. */
ig_array *norm_recomputed(op_id op, ig_array *y, const norm_parts *p, ig_ints axis);

#endif
