/* Windows of convolutions and pools over the axes after the first two. */
#ifndef ONNX_OPS_WINDOW_H
#define ONNX_OPS_WINDOW_H

#include "lib/onnx/ops/common.h"

enum { WINDOW_AXES = IG_MAX_NDIM - 2 };

typedef struct window {
    int n; /* axes */
    int64_t kernel[WINDOW_AXES], stride[WINDOW_AXES], dilation[WINDOW_AXES];
    int64_t before[WINDOW_AXES], after[WINDOW_AXES]; /* padding */
    /* Elements that the last window needs after the padding, with ceil_mode; negative: elements that no window reads. */
    int64_t extra[WINDOW_AXES];
    int64_t out[WINDOW_AXES]; /* number of windows */
} window;

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. kernel: if the attribute is absent. Fails and
 * returns false if they do not fit the shape (N, C, ...). */
bool window_read(onnx_call *c, ig_ints shape, ig_ints kernel, window *w);

/* x with its padding, and with the extra one. */
ig_array *pool_pad(onnx_call *c, ig_array *x, const window *w, bool extra, ig_array *value);
/* All windows of the padded x as a view (N, C, windows..., elements of a window...). */
ig_array *pool_view(ig_array *x, const window *w);

/* The convolution of x (N, C, ...) and weight (M, C / group, ...) with the attributes of Conv; exact for integers. bias (M)
 * may be NULL. */
ig_array *window_conv(onnx_call *c, ig_array *x, ig_array *weight, ig_array *bias);
/* The average of each window of x, with the attributes of AveragePool. */
ig_array *window_average(onnx_call *c, ig_array *x);

#endif
