/* Helpers of the tests of evaluation block by block: sources over memory, random cases, and the comparison of bits. */
#ifndef SUPPORT_BLOCKS_H
#define SUPPORT_BLOCKS_H

#include "support/unit.h"

#include <stdatomic.h>

/* A source that reads boxes of an array in memory. Its read number `fails_at` fails. */
typedef struct memory_source {
    char *data;
    int ndim;
    size_t bytes;
    int64_t stride[IG_MAX_NDIM];
    int reads, fails_at;
} memory_source;

/* A source with the elements of x. chunk: the chunk's length along each axis. NULL: it has none, and blocks may be used in
 * place. */
ig_array *source_of(ig_array *x, const int64_t *chunk);

extern int64_t sources_read; /* that all sources have read */

typedef struct memory_sink {
    char *data;
    int ndim;
    size_t bytes;
    int64_t shape[2], chunk[2];
    atomic_int wrong;
    bool done[64]; /* chunk i along the first axis has been written before */
} memory_sink;

/* The write function of a sink of two axes. Counts boxes that are not whole chunks. */
ig_status sink_write(void *context, const int64_t *start, const int64_t *size, const void *data);

/* Short tests run one in k cases. */
int one_in(int k);

/* A pseudorandom number from 0 to n - 1. */
int64_t below(int64_t n);

/* Normal random numbers, evaluated. */
ig_array *drawn(int seed, ig_ints shape, ig_dtype dtype);
ig_array *drawn_complex(int seed, ig_ints shape); /* IG_C64 */

/* Numbers near 1, some of them equal, with zeros of both signs, and with `special` also NaN and infinities. */
ig_array *drawn_odd(int seed, ig_ints shape, ig_dtype dtype, bool special);

/* A copy of the elements, to be freed. Fails the test if x is NULL or cannot be evaluated. */
void *elements(ig_array *x, size_t *bytes);

/* Whether the elements are equal bit by bit, or both NaN. */
bool same_bits(const char *a, const char *b, size_t bytes, ig_dtype dtype);

/* The gradient of loss by x. */
ig_array *gradient_of(ig_array *loss, ig_array *x);

/* x, or x as f32 if it has no floats. */
ig_array *as_float(ig_array *x);

#endif
