/* Short names for tests of gradients: arrays of numbers, and expectations. */
#ifndef TESTS_GRAD_EXPECT_H
#define TESTS_GRAD_EXPECT_H

#include "support/unit.h"

/* A 1-d f64 array of the numbers. EXPECT: x has exactly these numbers, in any shape, except for rounding. */
#define NUMBERS(...) \
    numbers_of((const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))
#define EXPECT(x, ...) \
    expect_numbers(x, (const double[]){__VA_ARGS__}, \
                   sizeof((double[]){__VA_ARGS__}) / sizeof(double), __LINE__)
/* The call succeeded. */
#define FINE(call) expect_fine(call, __LINE__)

ig_array *numbers_of(const double *v, size_t n);
void expect_numbers(ig_array *x, const double *want, size_t n, int line);
void expect_fine(ig_status status, int line);
/* All elements of two arrays are equal, except for rounding. */
void expect_same(ig_array *x, ig_array *want);

/* The sum of all elements, as a scalar. */
ig_array *total(ig_array *x);
/* d loss / d x, which must exist. */
ig_array *grad_of(ig_array *loss, ig_array *x);

/* The script succeeds. If any one allocation fails, it reports exactly one message and leaks nothing. */
void expect_failures_are_clean(bool (*script)(void));

#endif
