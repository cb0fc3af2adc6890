/* Floats in decimal: the fewest digits that read back as the same float of a dtype. */
#ifndef CLI_DECIMAL_H
#define CLI_DECIMAL_H

#include <ingot.h>

#include "str.h"

/* value = 0.d1 d2 d3 ... * 10^point, with the sign. Zero has the one digit 0 and point 1. */
typedef struct decimal {
    char digits[32];
    int n;
    int point;
    bool negative;
} decimal;

/* f is finite and a value of dtype, one of the floats. */
decimal decimal_shortest(double f, ig_dtype dtype);

/* At most places digits after the point: the shortest digits where they are fewer, else f correctly
 * rounded. Zeros at the end are not kept. */
decimal decimal_fixed(double f, ig_dtype dtype, int places);

/* The same for the form d.ddde+xx, with least to most digits after the point. */
decimal decimal_scientific(double f, ig_dtype dtype, int least, int most);

/* The nearest value of dtype, as a double. */
double decimal_round(double f, ig_dtype dtype);

/* Digits that a float of dtype always holds: 6 for f32. */
int decimal_digits(ig_dtype dtype);

/* "12.", "-0.25": the digits before the point, the point, the digits after it. */
void str_decimal(str *t, const decimal *d);
int decimal_places(const decimal *d); /* digits after the point in that form */

#endif
