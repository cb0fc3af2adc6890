/* Results that are stored in the order of memory of their inputs.
 *
 * Some native code is faster if the channels of images are the last axis. Its result is a root with that order, seen
 * through a view with the usual axes, (N, C, H, W). The root is marked: keeps_layout. An elementwise op, a padding or a
 * pool of such a view computes in the order of the root, is marked in turn, and is seen through the same permutation.
 * So a whole network stays in one order, and only its first input is copied. Values do not depend on it. */
#ifndef OPS_LAYOUT_H
#define OPS_LAYOUT_H

#include "engine/ops/builders.h"

/* True if x shows all elements of a marked root with its axes permuted. axes: the axes of x in the order of memory. */
bool layout_kept(const ig_array *x, int *axes);

/* y, which was computed in the order of memory, with axis i of y at axes[i]. Marks the root of y. */
ig_array *layout_back(ig_array *y, const int *axes);

#endif
