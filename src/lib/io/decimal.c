/* Floats in decimal. libc's correctly rounded printf and strtod do the arithmetic; this file only searches
 * for the fewest digits. */
#include "lib/io/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* bits: of the significand. least: the exponent of the smallest step. kept: decimal digits that always survive a
 * round trip through the dtype, except for denormals. enough: digits that always distinguish its values. */
static const struct float_type {
    ig_dtype dtype;
    int bits, least, kept, enough;
    double most, normal;
} float_types[] = {
    {IG_F16, 11, -24, 3, 5, 65504.0, 0x1p-14},
    {IG_BF16, 8, -133, 2, 4, 0x1.fep127, 0x1p-126},
    {IG_F32, 24, -149, 6, 9, 0x1.fffffep127, 0x1p-126},
    {IG_F64, 53, -1074, 15, 17, 0x1.fffffffffffffp1023, 0x1p-1022},
};

static const struct float_type *type_of(ig_dtype dtype)
{
    const struct float_type *type = float_types;
    while (type->dtype != dtype && type->dtype != IG_F64)
        type++;
    return type;
}

double decimal_round(double f, ig_dtype dtype)
{
    const struct float_type *type = type_of(dtype);
    if (!isfinite(f) || type->dtype == IG_F64)
        return f;
    int exponent;
    frexp(f, &exponent);
    int step = exponent - type->bits > type->least ? exponent - type->bits : type->least;
    double rounded = ldexp(rint(ldexp(f, -step)), step);
    return fabs(rounded) > type->most ? copysign(INFINITY, f) : rounded;
}

/* Digits that a float of dtype always holds: 6 for f32. */
static int decimal_digits(ig_dtype dtype) { return type_of(dtype)->kept; }

static bool reads_back(const char *s, double f, const struct float_type *type)
{
    if (type->dtype == IG_F32) /* rounded once, not through a double */
        return strtof(s, NULL) == (float)f;
    return decimal_round(strtod(s, NULL), type->dtype) == f;
}

/* From "-d.ddde+xx". */
static decimal decimal_read(const char *s)
{
    decimal d = {.negative = *s == '-'};
    for (s += d.negative; *s && *s != 'e'; s++)
        if (*s != '.')
            d.digits[d.n++] = *s;
    d.point = *s == 'e' ? atoi(s + 1) + 1 : 1;
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

/* Just above a power of two, floats are spaced twice as wide as below it. So the shortest decimal that reads
 * back may be one step further from zero than the nearest decimal of that length. */
static bool next_reads_back(char *s, double f, const struct float_type *type)
{
    int exponent;
    char *end = strchr(s, 'e');
    if (fabs(frexp(f, &exponent)) != 0.5 || !end || end[-1] < '0' || end[-1] >= '9')
        return false;
    end[-1]++;
    return reads_back(s, f, type);
}

/* f is finite and a value of dtype, which is a float dtype. */
static decimal decimal_shortest(double f, ig_dtype dtype)
{
    const struct float_type *type = type_of(dtype);
    char s[64];
    int precision = fabs(f) < type->normal || type->kept < 4 ? 1 : type->kept;
    for (; precision <= type->enough; precision++) {
        snprintf(s, sizeof s, "%.*e", precision - 1, f);
        if (reads_back(s, f, type) || next_reads_back(s, f, type))
            break;
    }
    return decimal_read(s);
}

int decimal_places(const decimal *d) { return d->n > d->point ? d->n - d->point : 0; }

decimal decimal_fixed(double f, ig_dtype dtype, int places)
{
    decimal d = decimal_shortest(f, dtype);
    if (d.digits[0] == '0' || decimal_places(&d) <= places)
        return d;
    char s[400];
    snprintf(s, sizeof s, "%.*f", places, f);
    decimal fixed = {.negative = signbit(f) != 0};
    const char *at = s + fixed.negative;
    const char *dot = strchr(at, '.');
    fixed.point = (int)((dot ? dot : at + strlen(at)) - at);
    for (; *at; at++) {
        bool leading = fixed.n == 0 && *at == '0';
        if (*at == '.' || fixed.n == (int)sizeof fixed.digits)
            continue;
        if (leading)
            fixed.point--;
        else
            fixed.digits[fixed.n++] = *at;
    }
    while (fixed.n && fixed.digits[fixed.n - 1] == '0')
        fixed.n--;
    if (fixed.n == 0) {
        fixed.digits[fixed.n++] = '0';
        fixed.point = 1;
    }
    return fixed;
}

decimal decimal_scientific(double f, ig_dtype dtype, int least, int most)
{
    decimal d = decimal_shortest(f, dtype);
    if (d.n - 1 >= least && d.n - 1 <= most)
        return d;
    char s[64];
    snprintf(s, sizeof s, "%.*e", d.n - 1 < least ? least : most, f);
    return decimal_read(s);
}

int decimal_write(const decimal *d, char out[DECIMAL_BYTES])
{
    char *to = out;
    const bool zero = d->digits[0] == '0';
    const int before = d->point < 0 ? 0 : d->point < d->n ? d->point : d->n;
    if (d->negative)
        *to++ = '-';
    memcpy(to, d->digits, (size_t)before);
    to += before;
    for (int i = before; i < d->point; i++)
        *to++ = '0';
    if (d->point <= 0)
        *to++ = '0';
    *to++ = '.';
    for (int i = d->point; i < 0 && !zero; i++)
        *to++ = '0';
    if (!zero) {
        memcpy(to, d->digits + before, (size_t)(d->n - before));
        to += d->n - before;
    }
    *to = '\0';
    return (int)(to - out);
}

int decimal_write_scientific(const decimal *d, int places, int exponent_digits,
                             char out[DECIMAL_BYTES])
{
    const int exponent = d->digits[0] == '0' ? 0 : d->point - 1;
    const int missing = places > d->n - 1 ? places - (d->n - 1) : 0;
    return snprintf(out, DECIMAL_BYTES, "%s%c.%.*s%.*se%c%0*d", d->negative ? "-" : "",
                    d->digits[0], d->n - 1, d->digits + 1, missing, "0000000000000000",
                    exponent < 0 ? '-' : '+', exponent_digits, exponent < 0 ? -exponent : exponent);
}

/* NumPy has no bf16, so bf16 is written like f32. */
static ig_dtype numpy_dtype(ig_dtype dtype) { return dtype == IG_BF16 ? IG_F32 : dtype; }

/* The limit is the number of digits that the dtype holds, as in NumPy since 2.3; for f64, NumPy uses one
 * more. */
double decimal_whole_limit(ig_dtype dtype)
{
    dtype = numpy_dtype(dtype);
    return pow(10, decimal_digits(dtype) + (dtype == IG_F64));
}

int ig_float_text(double f, ig_dtype dtype, char *out)
{
    if (!out)
        return 0;
    f = decimal_round(f, dtype);
    if (!isfinite(f))
        return snprintf(out, DECIMAL_BYTES, "%s", isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
    const double magnitude = fabs(f), least = decimal_round(1e-4, numpy_dtype(dtype));
    const decimal d = decimal_shortest(f, dtype);
    if (magnitude == 0 || (magnitude >= least && magnitude < decimal_whole_limit(dtype))) {
        const int n = decimal_write(&d, out);
        return decimal_places(&d) ? n : n + snprintf(out + n, (size_t)(DECIMAL_BYTES - n), "0");
    }
    if (d.n > 1)
        return decimal_write_scientific(&d, 0, 2, out);
    return snprintf(out, DECIMAL_BYTES, "%s%ce%+03d", d.negative ? "-" : "", d.digits[0],
                    d.point - 1);
}
