/* Convolutions as readers of a graph find them: the result of a convolution is a view with a gradient of its own. */
#ifndef OPS_CONV_H
#define OPS_CONV_H

#include "engine/ops/window.h"

typedef struct conv_numbers {
    bool transposed;
    int n, groups;
    int64_t stride[WINDOW_AXES_MOST], padding[WINDOW_AXES_MOST], dilation[WINDOW_AXES_MOST];
} conv_numbers;

/* The numbers of the convolution whose result x is: x->in[1] and x->in[2] are its operands x and weight, x->in[3], if there
 * is one, is the bias. NULL if x is anything else. */
const conv_numbers *conv_of(const ig_array *x);

#endif
