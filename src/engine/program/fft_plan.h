/* How a Fourier transform is computed: shared by its nodes (numeric/fft_lines.c) and the CPU's code (backend/cpu/kernels/fft.c).
 * All of it depends on the length and the dtype alone.
 *
 * A line of up to fft_line_most points whose length has only small prime factors is transformed by passes
 * (kernels/fft.cu): pass after pass, n = radix * m, and sum p of the m sums of `radix` points gets the factors
 * exp(-2 pi i p k / n), k = 1 ... radix - 1; then m takes the place of n. A longer length is the product of two: lines of
 * every n2-th point, whose results are turned by the factors exp(-2 pi i k1 j2 / n), then lines of the results. A length
 * with a large prime factor is a convolution with a chirp (Bluestein), by transforms of a length without one. */
#ifndef PROGRAM_FFT_PLAN_H
#define PROGRAM_FFT_PLAN_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    FFT_PASSES = 12,   /* most passes of a line */
    FFT_PRIME = 31,    /* the largest prime factor of a line's length */
    FFT_WITH_TABLE = 7 /* primes from this on have their roots in the table */
};

/* Factors of the imaginary parts of points and of results: 1 or -1. */
typedef struct fft_signs {
    int in, out;
} fft_signs;

static inline int64_t fft_line_most(ig_dtype part) { return part == IG_F64 ? 2048 : 4096; }

/* True if no prime factor of n exceeds FFT_PRIME. */
bool fft_is_smooth(int64_t n);
/* The radices of a line of n points, which is smooth; returns their number. */
int fft_radices(int64_t n, int radix[static FFT_PASSES]);
/* The first of the two factors of a smooth n that is more than fft_line_most: lines of that many points. */
int64_t fft_first(int64_t n, ig_dtype part);
/* A smooth length of at least n for convolutions. */
int64_t fft_good_length(int64_t n);
/* Bytes that suffice for a transform of n complex points in one piece: tables, argument, result and temporaries. */
int64_t fft_enough(int64_t n, ig_dtype part);
/* Pairs that one table of turns has: result k of line i has the product of two factors, one for k % turns and one for
 * k - k % turns. */
int64_t fft_turns(int64_t n);

#endif
