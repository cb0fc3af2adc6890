/* Floats in decimal: the shortest digits that read back as the same float of a dtype, by NumPy's rules. */
#ifndef IO_DECIMAL_H
#define IO_DECIMAL_H

#include "ingot.h"

/* value = 0.d1 d2 d3 ... * 10^point, with the sign. Zero has the one digit 0 and point 1. */
typedef struct decimal {
    char digits[32];
    int n;
    int point;
    bool negative;
} decimal;

/* With at most `places` digits after the point: the shortest digits if they fit, else f correctly
 * rounded. Trailing zeros are dropped. */
decimal decimal_fixed(double f, ig_dtype dtype, int places);

/* The same for the form d.ddde+xx, with least to most digits after the point. */
decimal decimal_scientific(double f, ig_dtype dtype, int least, int most);

/* The nearest value of dtype, as a double. */
double decimal_round(double f, ig_dtype dtype);

/* The number of digits after the point if d is written without an exponent. */
int decimal_places(const decimal *d);

enum {
    DECIMAL_BYTES = IG_FLOAT_TEXT
}; /* room for any float, with or without an exponent, and the terminator */

/* Writes "12." or "-0.25"; returns the length. */
int decimal_write(const decimal *d, char out[DECIMAL_BYTES]);
/* Writes "1.25e-07", with at least `places` digits after the point and `exponent_digits` in the exponent. */
int decimal_write_scientific(const decimal *d, int places, int exponent_digits,
                             char out[DECIMAL_BYTES]);

/* The magnitude from which NumPy writes whole numbers of a dtype with an exponent. */
double decimal_whole_limit(ig_dtype dtype);

#endif
