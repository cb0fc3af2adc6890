/* Arrays whose elements encode their position, in several layouts, and comparison of results with a
 * rule for each element. */
#ifndef TESTS_LAYOUTS_H
#define TESTS_LAYOUTS_H

#include "ingot.h"

/* Contiguous; flipped (negative strides); transposed; every second element of a larger array. */
enum { LAYOUTS = 4 };

/* The row-major number of index i in shape. */
int64_t layout_number(const int64_t *i, ig_ints shape);
/* Advances to the next index in row-major order; false after the last. */
bool layout_next(int64_t *i, ig_ints shape);

/* x with x[i] = layout_number(i, shape). */
ig_array *layout_make(int layout, ig_ints shape, ig_dtype dtype);

/* Fails the test unless y has this shape and y[i] == rule(i) for all i; a NULL rule stands for the
 * row-major number of i in shape. */
void layout_expect(ig_array *y, ig_ints shape, int64_t (*rule)(const int64_t *i));
/* The same against numbers in row-major order. */
void layout_expect_data(ig_array *y, ig_ints shape, const int64_t *data);

/* Fails the test unless the pending error has this code and its text begins with `start`; clears
 * it. */
void layout_expect_error(ig_status code, const char *start);

#endif
