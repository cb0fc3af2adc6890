/* Windows that slide over the spatial axes of x (N, C, spatial...), for convolutions and pooling. A window
 * is a view: its elements are not copied, and neighbouring windows may overlap. */
#ifndef OPS_WINDOW_H
#define OPS_WINDOW_H

#include "engine/ops/builders.h"

enum { WINDOW_AXES_MOST = 3 };

/* The parameters of the windows, for each spatial axis. */
typedef struct windows {
    int n; /* spatial axes */
    int64_t kernel[WINDOW_AXES_MOST], stride[WINDOW_AXES_MOST], dilation[WINDOW_AXES_MOST];
    int64_t padding[WINDOW_AXES_MOST]; /* elements added before and after the axis */
    int64_t extra[WINDOW_AXES_MOST];   /* further elements after it, which the last window needs */
    int64_t out[WINDOW_AXES_MOST];     /* number of windows */
} windows;

/* Number of spatial axes of the row, taken from its name. */
int window_axes(op_id op);

/* Reads one number for all n axes, or one for each axis. Fails if one is below least. what is the argument's name. */
ig_status window_numbers(op_id op, const char *what, ig_ints given, int n, int64_t least,
                         int64_t *numbers);

/* Fails unless x, the argument called what, has two axes in addition to the spatial ones. */
ig_status window_check(op_id op, const char *what, const ig_array *x);

/* Number of elements from the first to the last that a window covers along one axis; -1 on overflow. */
int64_t window_reach(const windows *w, int axis);

/* Computes w->out and w->extra for x of those spatial lengths. With ceil_mode the last window may extend
 * past the end, if it starts inside x or inside the padding before it. */
ig_status window_count(op_id op, windows *w, const int64_t *length, bool ceil_mode);

/* The value of the padding: 0, or the lowest value of the dtype. */
typedef enum window_border { BORDER_ZERO, BORDER_LOWEST } window_border;
ig_array *window_border_value(ig_dtype dtype, window_border border);

/* x with w->padding and w->extra border elements around it; x itself if there are none. */
ig_array *window_pad(ig_array *x, const windows *w, window_border border);
/* The same with a border of a 0-d array. */
ig_array *window_pad_with(ig_array *x, const windows *w, ig_array *border);

/* (N, C, out..., kernel...) of the padded x (N, C, spatial...). */
void window_view(const view *x, const windows *w, view *v);

#endif
