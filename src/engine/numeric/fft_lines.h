/* Fourier transforms of pairs: f32 or f64 arrays whose last axis has the length 2. They have gradients and work in
 * vmap. Each returns NULL on failure, and for NULL. */
#ifndef NUMERIC_FFT_LINES_H
#define NUMERIC_FFT_LINES_H

#include "engine/ops/ops.h"

/* The sums over j of x[j] exp(-2 pi i j k / n) along an axis, times scale; backward: exp(2 pi i j k / n). */
ig_array *fft_pairs(ig_array *pairs, int axis, bool backward, double scale);

/* The same without a gradient; with `own` by own kernels, even if the device has a library. */
ig_array *fft_values(ig_array *pairs, int axis, bool backward, double scale, bool own);
/* The same for axis 1 of x, (parts, n, lines, 2), by own kernels and without a gradient; n is smooth. */
ig_array *fft_smooth(ig_array *x, bool backward, double scale);

/* The first n / 2 + 1 pairs of the transform of real numbers along the last axis, times scale. */
ig_array *fft_of_real(ig_array *x, double scale);
/* The n real numbers, along the last axis, of the backward transform of pairs that belong to real numbers, given the
 * first n / 2 + 1; times scale. The imaginary parts of the first pair, and of the last if n is even, are not read. */
ig_array *fft_to_real(ig_array *pairs, int64_t n, double scale);

/* The same without gradients; own: see fft_values. */
ig_array *fft_values_of_real(ig_array *x, double scale, bool own);
ig_array *fft_values_to_real(ig_array *pairs, int64_t n, double scale, bool own);

#endif
