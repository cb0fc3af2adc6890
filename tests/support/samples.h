/* Random arrays in several layouts whose sums of products are exact, so that results can be compared
 * to the last bit: floats are small multiples of 1/8, integers are small. */
#ifndef TESTS_SAMPLES_H
#define TESTS_SAMPLES_H

#include "ingot.h"

/* An array and its values. */
typedef struct sample {
    ig_array *x;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
    double *v; /* row-major; freed by sample_free */
} sample;

/* The same numbers in every run. */
uint64_t sample_random(void);
int64_t sample_between(int64_t low, int64_t high); /* both included */

/* Layouts as in layouts.h: contiguous, flipped, transposed, every second element; and one whose
 * last axis repeats one element (stride 0). */
enum { SAMPLE_LAYOUTS = 5 };
sample sample_make(int layout, ig_ints shape, ig_dtype dtype);
void sample_free(sample *s);

/* Fails the test unless y has this shape and dtype, and y[i] is want[i] rounded to it, to the bit. */
void sample_expect(const char *what, ig_array *y, ig_ints shape, ig_dtype dtype,
                   const double *want);

#endif
