/* Short names for tests of gradients: arrays of numbers, and expectations. */
#ifndef TESTS_GRAD_EXPECT_H
#define TESTS_GRAD_EXPECT_H

#include "support/unit.h"

/* A 1-d f64 array of the numbers; EXPECT: x has just these, in whatever shape, but for rounding. */
#define NUMBERS(...) \
    numbers_of((const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))
#define EXPECT(x, ...) \
    expect_numbers(x, (const double[]){__VA_ARGS__}, \
                   sizeof((double[]){__VA_ARGS__}) / sizeof(double), __LINE__)
/* The library did what was asked. */
#define FINE(call) expect_fine(call, __LINE__)

ig_array *numbers_of(const double *v, size_t n);
void expect_numbers(ig_array *x, const double *want, size_t n, int line);
void expect_fine(ig_status status, int line);
/* All elements of two arrays are equal, but for rounding. */
void expect_same(ig_array *x, ig_array *want);

/* The sum of all elements, as a scalar. */
ig_array *total(ig_array *x);
/* d loss / d x, of which there must be one. */
ig_array *grad_of(ig_array *loss, ig_array *x);

/* script works, and with any one allocation failing it says so, with one message, and leaks nothing. */
void expect_failures_are_clean(bool (*script)(void));

#endif
