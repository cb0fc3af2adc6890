/* Arithmetic of sizes. */
#ifndef BASE_INTEGER_H
#define BASE_INTEGER_H

#include <stdint.h>

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
/* a / b, rounded up; and n rounded up to a multiple of `unit`. */
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t round_up(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }

#endif
