/* Shared by the builders of Fourier, cosine and sine transforms. */
#ifndef NUMERIC_FFT_H
#define NUMERIC_FFT_H

#include "engine/ops/ops.h"

/* Which direction is divided by the number of points; both: by its square root. */
typedef enum fft_scaling { FFT_SCALE_BACKWARD, FFT_SCALE_FORWARD, FFT_SCALE_BOTH } fft_scaling;

ig_status fft_norm(op_id op, const ig_arg *norm, fft_scaling *s);
double fft_scale(fft_scaling s, bool backward, double n);

/* x as f32, or f64 for f64; complex arrays are returned as they are. */
ig_array *fft_floats(op_id op, ig_array *x);
/* x with n elements along an axis: cut, or with zeros at the end. */
ig_array *fft_resize(op_id op, ig_array *x, int axis, int64_t n);
/* x[start:stop] along an axis. */
ig_array *fft_part(ig_array *x, int axis, int64_t start, int64_t stop);

#endif
