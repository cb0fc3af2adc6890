/* How a Fourier transform is computed. All of it depends on the length and the dtype alone.
 *
 * A line of up to fft_line_most points whose length has only small prime factors is transformed by passes
 * (kernels/fft.cu): pass after pass, n = radix * m, and sum p of the m sums of `radix` points gets the factors
 * exp(-2 pi i p k / n), k = 1 ... radix - 1; then m takes the place of n. A longer length is the product of two: lines of
 * every n2-th point, whose results are turned by the factors exp(-2 pi i k1 j2 / n), then lines of the results. A length
 * with a large prime factor is a convolution with a chirp (Bluestein), by transforms of a length without one. */
#ifndef NUMERIC_FFT_PLAN_H
#define NUMERIC_FFT_PLAN_H

#include "engine/backend/cpu/lanes/fft.h"

static inline int64_t fft_line_most(ig_dtype part) { return part == IG_F64 ? 2048 : 4096; }

/* True if no prime factor of n exceeds FFT_PRIME. */
bool fft_is_smooth(int64_t n);
/* The radices of a line of n points, which is smooth; returns their number. */
int fft_radices(int64_t n, int radix[static FFT_PASSES]);
/* The first of the two factors of a smooth n that is more than fft_line_most: lines of that many points. */
int64_t fft_first(int64_t n, ig_dtype part);
/* A smooth length of at least n for convolutions. */
int64_t fft_good_length(int64_t n);
/* Pairs that one table of turns has: result k of line i has the product of two factors, one for k % turns and one for
 * k - k % turns. */
int64_t fft_turns(int64_t n);

/* Tables, as arrays of f32 or f64 pairs on the current device. They are made once, in higher precision. NULL on failure.
 * The caller owns the reference. */
typedef enum fft_table {
    FFT_FACTORS, /* of the passes of a line of n points; before them, from FFT_WITH_TABLE on, the roots of the prime */
    FFT_TURN,    /* of the results of `other` lines of n points: [turns + the others, other] */
    FFT_CHIRP,   /* exp(-pi i j^2 / n), j < n */
    FFT_CHIRPS, /* the transform of the conjugate chirp, a convolution of `other` points, over `other` */
    FFT_HALF,    /* exp(-2 pi i k / n), k <= n / 2 */
    FFT_QUARTER, /* exp(-2 pi i k / n), k < other */
} fft_table;
ig_array *fft_table_get(fft_table kind, int64_t n, int64_t other, ig_dtype part);

/* A node: the first `to` points of x, pairs (rows..., n, 2), times the points of w, which has at least as many; 0 where x
 * has none. */
ig_array *fft_times(ig_array *x, ig_array *w, int64_t to, fft_signs signs, double scale);

/* Runs a job on the CPU. */
void fft_run(fft_job *j, ig_dtype part);

#endif
