/* Tables of Fourier transforms, and the product with one. */
#ifndef NUMERIC_FFT_TABLES_H
#define NUMERIC_FFT_TABLES_H

#include "engine/ops/ops.h"
#include "engine/program/fft_plan.h"

/* Tables, as arrays of f32 or f64 pairs on the current device. They are made once, in higher precision. The caller
 * owns the reference. NULL on failure; if there is no memory for the table, the error names `enough` bytes, which suffice
 * for the whole transform. */
typedef enum fft_table {
    FFT_FACTORS, /* of the passes of a line of n points; before them, from FFT_WITH_TABLE on, the roots of the prime */
    FFT_TURN,    /* of the results of `other` lines of n points: [turns + the others, other] */
    FFT_CHIRP,   /* exp(-pi i j^2 / n), j < n */
    FFT_CHIRPS, /* the transform of the conjugate chirp, a convolution of `other` points, over `other` */
    FFT_HALF,    /* exp(-2 pi i k / n), k <= n / 2 */
    FFT_QUARTER, /* exp(-2 pi i k / n), k < other */
} fft_table;
ig_array *fft_table_get(fft_table kind, int64_t n, int64_t other, ig_dtype part, int64_t enough);

/* A node: the first `to` points of x, pairs (rows..., n, 2), times the points of w, which has at least as many; 0 where x
 * has none. */
ig_array *fft_times(ig_array *x, ig_array *w, int64_t to, fft_signs signs, double scale);

#endif
