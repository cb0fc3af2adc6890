/* Nodes that factor whole matrices or transform whole lines: the interface between numeric/override_nodes.c, which builds them, and
 * backends that have a library for them. Such a library has its own order of additions, so math mode `same` has no such
 * nodes.
 *
 * Operands are contiguous, of f32 or f64. Complex elements are pairs: the last axis has the length 2. A library's matrices
 * are column-major: a matrix of m rows and n columns is an array (count, n, m). Except for NATIVE_FFT and
 * NATIVE_FFT_OF_REAL, the first result begins as a copy of the last input, and the library overwrites it. info (count) of
 * i32 is 0 unless a matrix failed, as in LAPACK.
 *
 *   kind                inputs                results
 *   NATIVE_CHOLESKY     a (n, n)              the lower factor L below the diagonal, a = L L^H; info
 *   NATIVE_LU           a (n, m)              both factors; pivots (count, min(m, n)) of i32, from 1 on
 *   NATIVE_TRIANGULAR   a (n, n), b (n, c)    x (n, c) by rows: a x = b. a is by rows, too, unless OVERRIDE_TURNED
 *   NATIVE_QR           a (n, m)              reflections, with R above the diagonal; Q (OVERRIDE_WIDTH, m), m >= n
 *   NATIVE_EIGH         a (n, n)              vectors if OVERRIDE_WIDTH; values (n), ascending; info
 *   NATIVE_SVD          a (n, m)              garbage; values (n), descending; info; U (OVERRIDE_WIDTH, m), V^H (n, n); m >= n
 *   NATIVE_FFT          x (m, n) of pairs     the sums along m, not scaled
 *   NATIVE_FFT_OF_REAL  x (m)                 the first m / 2 + 1 pairs
 *   NATIVE_FFT_TO_REAL  x (m / 2 + 1) pairs   garbage; the m real numbers, not scaled
 *
 * NATIVE_QR and NATIVE_SVD have no Q, U and V if OVERRIDE_WIDTH is 0. */
#ifndef PROGRAM_OVERRIDE_H
#define PROGRAM_OVERRIDE_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers of such a node. */
enum {
    OVERRIDE_COUNT,   /* matrices, or groups of lines */
    OVERRIDE_ROWS,    /* m; the points of a line */
    OVERRIDE_COLUMNS, /* n; the lines of a group; c of NATIVE_TRIANGULAR, whose n is OVERRIDE_ROWS */
    OVERRIDE_COMPLEX,
    OVERRIDE_WIDTH,
    OVERRIDE_UPPER, /* of NATIVE_TRIANGULAR; of NATIVE_FFT: backward */
    OVERRIDE_UNIT,
    OVERRIDE_TURNED /* a is column-major */
};

/* True if the lengths of a matrix fit the integers of LAPACK and cuSOLVER, also in products of a few. */
static inline bool override_fits(const int64_t *number)
{
    const int64_t most = INT32_MAX / 4, m = number[OVERRIDE_ROWS], n = number[OVERRIDE_COLUMNS];
    return m <= most && n <= most && m * n <= most && m * number[OVERRIDE_WIDTH] <= most;
}

/* IG_OVERRIDES: no such nodes, nodes where a library was measured to be faster, or all that a library can compute. */
typedef enum override_wish { OVERRIDE_NONE, OVERRIDE_FASTER, OVERRIDE_ALL } override_wish;
override_wish override_wished(void);
/* Why the value of IG_OVERRIDES is ignored, or NULL. */
const char *override_note(void);

#endif
