/* Arithmetic of plain numbers, by Python's rules: integers are exact (more than 64 bits is an error, never a
 * wrong number), / gives a float, // and % round down, bool counts as 0 and 1. */
#include "calc/value.h"

#include <math.h>

static const char too_large[] =
    "the integer result does not fit in 64 bits; make an operand a float";
static const char by_zero[] = "division by zero; write inf or nan if you mean them";
static const char no_bits[] =
    "&, |, ^, ~, << and >> work on bits and take integers or bools; a power is written **";

int64_t value_int_of(const value *v) { return v->kind == V_BOOL ? v->u.b : v->u.i; }

double value_float_of(const value *v)
{
    return v->kind == V_FLOAT ? v->u.f : (double)value_int_of(v);
}

static bool both_whole(const value *x, const value *y)
{
    return x->kind != V_FLOAT && y->kind != V_FLOAT;
}

static bool both_bool(const value *x, const value *y)
{
    return x->kind == V_BOOL && y->kind == V_BOOL;
}

static const char *give_int(value *out, int64_t i)
{
    *out = value_int(i);
    return NULL;
}

static const char *give_float(value *out, double f)
{
    *out = value_float(f);
    return NULL;
}

static const char *give_bool(value *out, bool b)
{
    *out = value_bool(b);
    return NULL;
}

const char *number_add(const value *x, const value *y, value *out)
{
    int64_t i;
    if (!both_whole(x, y))
        return give_float(out, value_float_of(x) + value_float_of(y));
    if (__builtin_add_overflow(value_int_of(x), value_int_of(y), &i))
        return too_large;
    return give_int(out, i);
}

const char *number_subtract(const value *x, const value *y, value *out)
{
    int64_t i;
    if (!both_whole(x, y))
        return give_float(out, value_float_of(x) - value_float_of(y));
    if (__builtin_sub_overflow(value_int_of(x), value_int_of(y), &i))
        return too_large;
    return give_int(out, i);
}

const char *number_multiply(const value *x, const value *y, value *out)
{
    int64_t i;
    if (!both_whole(x, y))
        return give_float(out, value_float_of(x) * value_float_of(y));
    if (__builtin_mul_overflow(value_int_of(x), value_int_of(y), &i))
        return too_large;
    return give_int(out, i);
}

const char *number_divide(const value *x, const value *y, value *out)
{
    if (value_float_of(y) == 0)
        return by_zero;
    return give_float(out, value_float_of(x) / value_float_of(y));
}

/* Quotient rounded down, and the remainder with the sign of y, as CPython computes them. */
static void float_divmod(double x, double y, double *quotient, double *remainder)
{
    double mod = fmod(x, y);
    double div = (x - mod) / y;
    if (mod != 0) {
        if ((y < 0) != (mod < 0)) {
            mod += y;
            div -= 1;
        }
    } else {
        mod = copysign(0.0, y);
    }
    double whole = floor(div);
    if (div - whole > 0.5)
        whole += 1;
    *quotient = div != 0 ? whole : copysign(0.0, x / y);
    *remainder = mod;
}

/* The caller refuses INT64_MIN // -1. */
static void int_divmod(int64_t x, int64_t y, int64_t *quotient, int64_t *remainder)
{
    int64_t div = y == -1 ? -x : x / y, mod = y == -1 ? 0 : x % y;
    bool down = mod != 0 && (mod < 0) != (y < 0);
    *quotient = div - down;
    *remainder = down ? mod + y : mod;
}

static const char *number_divmod(const value *x, const value *y, value *quotient, value *remainder)
{
    if (value_float_of(y) == 0)
        return by_zero;
    if (both_whole(x, y)) {
        int64_t a = value_int_of(x), b = value_int_of(y), div, mod;
        if (a == INT64_MIN && b == -1)
            return too_large;
        int_divmod(a, b, &div, &mod);
        *quotient = value_int(div);
        *remainder = value_int(mod);
    } else {
        double div, mod;
        float_divmod(value_float_of(x), value_float_of(y), &div, &mod);
        *quotient = value_float(div);
        *remainder = value_float(mod);
    }
    return NULL;
}

const char *number_floor_divide(const value *x, const value *y, value *out)
{
    value rest;
    return number_divmod(x, y, out, &rest);
}

const char *number_remainder(const value *x, const value *y, value *out)
{
    value whole;
    return number_divmod(x, y, &whole, out);
}

static const char *int_power(int64_t base, int64_t exponent, value *out)
{
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return too_large;
        exponent >>= 1;
        if (exponent && __builtin_mul_overflow(base, base, &base))
            return too_large;
    }
    return give_int(out, result);
}

const char *number_power(const value *x, const value *y, value *out)
{
    if (both_whole(x, y) && value_int_of(y) >= 0)
        return int_power(value_int_of(x), value_int_of(y), out);
    double base = value_float_of(x), exponent = value_float_of(y);
    if (base == 0 && exponent < 0)
        return "0 to a negative power";
    if (base < 0 && isfinite(base) && isfinite(exponent) && exponent != floor(exponent))
        return "a negative number to a fractional power is complex, which Ingot has not yet";
    double result = pow(base, exponent);
    if (isinf(result) && isfinite(base) && isfinite(exponent))
        return "the result is too large for a float";
    return give_float(out, result);
}

const char *number_left_shift(const value *x, const value *y, value *out)
{
    if (!both_whole(x, y))
        return no_bits;
    int64_t a = value_int_of(x), by = value_int_of(y), factor = 1;
    if (by < 0)
        return "a shift by a negative number of bits";
    if (a == 0)
        return give_int(out, 0);
    if (by > 62 || __builtin_mul_overflow(a, factor << by, &a))
        return too_large;
    return give_int(out, a);
}

const char *number_right_shift(const value *x, const value *y, value *out)
{
    if (!both_whole(x, y))
        return no_bits;
    int64_t a = value_int_of(x), by = value_int_of(y);
    if (by < 0)
        return "a shift by a negative number of bits";
    return give_int(out, a >> (by > 63 ? 63 : by));
}

const char *number_and(const value *x, const value *y, value *out)
{
    if (both_bool(x, y))
        return give_bool(out, x->u.b && y->u.b);
    return both_whole(x, y) ? give_int(out, value_int_of(x) & value_int_of(y)) : no_bits;
}

const char *number_or(const value *x, const value *y, value *out)
{
    if (both_bool(x, y))
        return give_bool(out, x->u.b || y->u.b);
    return both_whole(x, y) ? give_int(out, value_int_of(x) | value_int_of(y)) : no_bits;
}

const char *number_xor(const value *x, const value *y, value *out)
{
    if (both_bool(x, y))
        return give_bool(out, x->u.b != y->u.b);
    return both_whole(x, y) ? give_int(out, value_int_of(x) ^ value_int_of(y)) : no_bits;
}

const char *number_equal(const value *x, const value *y, value *out)
{
    bool same = both_whole(x, y) ? value_int_of(x) == value_int_of(y)
                                 : value_float_of(x) == value_float_of(y);
    return give_bool(out, same);
}

const char *number_not_equal(const value *x, const value *y, value *out)
{
    number_equal(x, y, out);
    out->u.b = !out->u.b;
    return NULL;
}

const char *number_less(const value *x, const value *y, value *out)
{
    bool less = both_whole(x, y) ? value_int_of(x) < value_int_of(y)
                                 : value_float_of(x) < value_float_of(y);
    return give_bool(out, less);
}

const char *number_less_equal(const value *x, const value *y, value *out)
{
    bool less = both_whole(x, y) ? value_int_of(x) <= value_int_of(y)
                                 : value_float_of(x) <= value_float_of(y);
    return give_bool(out, less);
}

const char *number_greater(const value *x, const value *y, value *out)
{
    return number_less(y, x, out);
}

const char *number_greater_equal(const value *x, const value *y, value *out)
{
    return number_less_equal(y, x, out);
}

const char *number_negative(const value *x, const value *y, value *out)
{
    (void)y;
    if (x->kind == V_FLOAT)
        return give_float(out, -x->u.f);
    if (value_int_of(x) == INT64_MIN)
        return too_large;
    return give_int(out, -value_int_of(x));
}

const char *number_positive(const value *x, const value *y, value *out)
{
    (void)y;
    *out = x->kind == V_BOOL ? value_int(x->u.b) : *x;
    return NULL;
}

/* ~true is false, as for bool arrays; Python gives -2. */
const char *number_invert(const value *x, const value *y, value *out)
{
    (void)y;
    if (x->kind == V_BOOL)
        return give_bool(out, !x->u.b);
    return x->kind == V_INT ? give_int(out, ~x->u.i) : no_bits;
}
