/* Special values by the rules of the Python array API standard 2025.12: each row is a sentence of the standard, for
 * all values of the classes that it names. Finite results other than 0 have the op's error bound (the standard: "an
 * implementation-dependent approximation"). For integers, overflow wraps, and shifts by the
 * width or more leave only the sign. */
#include "verify/verify.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values by name, and classes of values. As a result, "x1", "-x1" and "x2" are the inputs themselves. */
static const struct value_class {
    const char *name;
    int n;
    double v[12];
} classes[] = {
    {"nan", 1, {NAN}},
    {"inf", 1, {INFINITY}},
    {"-inf", 1, {-INFINITY}},
    {"0", 1, {0.0}},
    {"-0", 1, {-0.0}},
    {"1", 1, {1}},
    {"-1", 1, {-1}},
    {"pi", 1, {3.14159265358979323846}},
    {"-pi", 1, {-3.14159265358979323846}},
    {"pi/2", 1, {1.57079632679489661923}},
    {"-pi/2", 1, {-1.57079632679489661923}},
    {"pi/4", 1, {0.78539816339744830962}},
    {"-pi/4", 1, {-0.78539816339744830962}},
    {"3pi/4", 1, {2.35619449019234492885}},
    {"-3pi/4", 1, {-2.35619449019234492885}},
    {"half", 1, {0.5}},
    {"tiny", 1, {0x1p-149}}, /* the smallest denormal f32 */
    {"zeros", 2, {0.0, -0.0}},
    {"infs", 2, {INFINITY, -INFINITY}},
    {"pos", 6, {0x1p-149, 0.25, 1, 3, 7.5, 0x1.fffffep127}},
    {"neg", 6, {-0x1p-149, -0.25, -1, -3, -7.5, -0x1.fffffep127}},
    {"fin", 9, {0.0, -0.0, 0x1p-149, 0.25, 1, 3, -0.25, -7.5, -0x1.fffffep127}},
    {"nonzero", 6, {0x1p-149, 0.25, -3, 7.5, INFINITY, -INFINITY}},
    {"any", 10, {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 2.5, -0x1p-149, 0x1.fffffep127}},
    {"ordered", 8, {INFINITY, -INFINITY, 0.0, -0.0, 1, -2.5, 0x1p-149, 0x1.fffffep127}},
    {"above 1", 3, {1.5, 3, INFINITY}},
    {"above 1 fin", 3, {1.5, 3, 0x1.fffffep127}},
    {"below -1", 3, {-1.5, -3, -INFINITY}},
    {"below 1", 4, {0.5, 0.0, -1, -INFINITY}},
    {"above -0 neg", 3, {-0.25, -3, -INFINITY}}, /* less than 0 */
    {"odd", 4, {1, 3, 7, 101}},
    {"-odd", 4, {-1, -3, -7, -101}},
    {"even", 4, {2, 4, 100, 0x1p40}},
    {"-even", 4, {-2, -4, -100, -0x1p40}},
    {"part", 3, {0.5, 1.5, 7.25}}, /* not integers */
    {"-part", 3, {-0.5, -1.5, -7.25}},
    {"whole", 6, {0.0, -0.0, 3, -7, 0x1p40, -0x1p24}},
    {"large", 4, {2, 1.5, -3, 0x1p100}}, /* magnitude above 1 */
    {"small", 4, {0.5, -0.25, 0x1p-149, 0.0}},
};

static const struct rule {
    const char *op, *x1, *x2, *result;
} rules[] = {
    {"abs", "nan", NULL, "nan"},
    {"abs", "-0", NULL, "0"},
    {"abs", "infs", NULL, "inf"},
    {"acos", "nan", NULL, "nan"},
    {"acos", "above 1", NULL, "nan"},
    {"acos", "below -1", NULL, "nan"},
    {"acos", "1", NULL, "0"},
    {"acos", "-1", NULL, "pi"},
    {"acos", "zeros", NULL, "pi/2"},
    {"acosh", "nan", NULL, "nan"},
    {"acosh", "below 1", NULL, "nan"},
    {"acosh", "1", NULL, "0"},
    {"acosh", "inf", NULL, "inf"},
    {"asin", "nan", NULL, "nan"},
    {"asin", "above 1", NULL, "nan"},
    {"asin", "below -1", NULL, "nan"},
    {"asin", "zeros", NULL, "x1"},
    {"asin", "1", NULL, "pi/2"},
    {"asin", "-1", NULL, "-pi/2"},
    {"asinh", "nan", NULL, "nan"},
    {"asinh", "zeros", NULL, "x1"},
    {"asinh", "infs", NULL, "x1"},
    {"asinh", "tiny", NULL, "x1"},
    {"atan", "nan", NULL, "nan"},
    {"atan", "zeros", NULL, "x1"},
    {"atan", "inf", NULL, "pi/2"},
    {"atan", "-inf", NULL, "-pi/2"},
    {"atan", "1", NULL, "pi/4"},
    {"atanh", "nan", NULL, "nan"},
    {"atanh", "below -1", NULL, "nan"},
    {"atanh", "above 1", NULL, "nan"},
    {"atanh", "-1", NULL, "-inf"},
    {"atanh", "1", NULL, "inf"},
    {"atanh", "zeros", NULL, "x1"},
    {"ceil", "whole", NULL, "x1"},
    {"ceil", "infs", NULL, "x1"},
    {"ceil", "nan", NULL, "nan"},
    {"cos", "nan", NULL, "nan"},
    {"cos", "zeros", NULL, "1"},
    {"cos", "infs", NULL, "nan"},
    {"cosh", "nan", NULL, "nan"},
    {"cosh", "zeros", NULL, "1"},
    {"cosh", "infs", NULL, "inf"},
    {"erf", "nan", NULL, "nan"},
    {"erf", "zeros", NULL, "x1"},
    {"erf", "inf", NULL, "1"},
    {"erf", "-inf", NULL, "-1"},
    {"erfinv", "nan", NULL, "nan"},
    {"erfinv", "zeros", NULL, "x1"},
    {"erfinv", "1", NULL, "inf"},
    {"erfinv", "-1", NULL, "-inf"},
    {"erfinv", "above 1", NULL, "nan"},
    {"erfinv", "below -1", NULL, "nan"},
    {"exp", "nan", NULL, "nan"},
    {"exp", "zeros", NULL, "1"},
    {"exp", "inf", NULL, "inf"},
    {"exp", "-inf", NULL, "0"},
    {"exp2", "nan", NULL, "nan"},
    {"exp2", "zeros", NULL, "1"},
    {"exp2", "inf", NULL, "inf"},
    {"exp2", "-inf", NULL, "0"},
    {"exp2", "-1", NULL, "half"},
    {"expm1", "nan", NULL, "nan"},
    {"expm1", "zeros", NULL, "x1"},
    {"expm1", "inf", NULL, "inf"},
    {"expm1", "-inf", NULL, "-1"},
    {"expm1", "tiny", NULL, "x1"},
    {"floor", "whole", NULL, "x1"},
    {"floor", "infs", NULL, "x1"},
    {"floor", "nan", NULL, "nan"},
    {"gelu_erf", "nan", NULL, "nan"},
    {"gelu_erf", "inf", NULL, "inf"},
    {"isfinite", "infs", NULL, "0"},
    {"isfinite", "nan", NULL, "0"},
    {"isfinite", "fin", NULL, "1"},
    {"isinf", "infs", NULL, "1"},
    {"isinf", "nan", NULL, "0"},
    {"isinf", "fin", NULL, "0"},
    {"isnan", "nan", NULL, "1"},
    {"isnan", "infs", NULL, "0"},
    {"isnan", "fin", NULL, "0"},
    {"log", "nan", NULL, "nan"},
    {"log", "neg", NULL, "nan"},
    {"log", "-inf", NULL, "nan"},
    {"log", "zeros", NULL, "-inf"},
    {"log", "1", NULL, "0"},
    {"log", "inf", NULL, "inf"},
    {"log10", "nan", NULL, "nan"},
    {"log10", "neg", NULL, "nan"},
    {"log10", "-inf", NULL, "nan"},
    {"log10", "zeros", NULL, "-inf"},
    {"log10", "1", NULL, "0"},
    {"log10", "inf", NULL, "inf"},
    {"log1p", "nan", NULL, "nan"},
    {"log1p", "below -1", NULL, "nan"},
    {"log1p", "-1", NULL, "-inf"},
    {"log1p", "zeros", NULL, "x1"},
    {"log1p", "inf", NULL, "inf"},
    {"log1p", "tiny", NULL, "x1"},
    {"log2", "nan", NULL, "nan"},
    {"log2", "neg", NULL, "nan"},
    {"log2", "-inf", NULL, "nan"},
    {"log2", "zeros", NULL, "-inf"},
    {"log2", "1", NULL, "0"},
    {"log2", "inf", NULL, "inf"},
    {"log2", "half", NULL, "-1"},
    {"logical_not", "zeros", NULL, "1"},
    {"logical_not", "nan", NULL, "0"},
    {"logical_not", "nonzero", NULL, "0"},
    {"negative", "any", NULL, "-x1"},
    {"positive", "any", NULL, "x1"},
    {"reciprocal", "nan", NULL, "nan"},
    {"reciprocal", "0", NULL, "inf"},
    {"reciprocal", "-0", NULL, "-inf"},
    {"reciprocal", "inf", NULL, "0"},
    {"reciprocal", "-inf", NULL, "-0"},
    {"round", "whole", NULL, "x1"},
    {"round", "infs", NULL, "x1"},
    {"round", "nan", NULL, "nan"},
    {"round", "half", NULL, "0"},
    {"round", "tiny", NULL, "0"},
    {"rsqrt", "nan", NULL, "nan"},
    {"rsqrt", "0", NULL, "inf"},
    {"rsqrt", "inf", NULL, "0"},
    {"rsqrt", "neg", NULL, "nan"},
    {"rsqrt", "1", NULL, "1"},
    {"sigmoid", "nan", NULL, "nan"},
    {"sigmoid", "zeros", NULL, "half"},
    {"sigmoid", "inf", NULL, "1"},
    {"sigmoid", "-inf", NULL, "0"},
    {"sign", "neg", NULL, "-1"},
    {"sign", "zeros", NULL, "0"},
    {"sign", "pos", NULL, "1"},
    {"sign", "nan", NULL, "nan"},
    {"sign", "inf", NULL, "1"},
    {"sign", "-inf", NULL, "-1"},
    {"signbit", "0", NULL, "0"},
    {"signbit", "-0", NULL, "1"},
    {"signbit", "inf", NULL, "0"},
    {"signbit", "-inf", NULL, "1"},
    {"signbit", "pos", NULL, "0"},
    {"signbit", "neg", NULL, "1"},
    {"sin", "nan", NULL, "nan"},
    {"sin", "zeros", NULL, "x1"},
    {"sin", "infs", NULL, "nan"},
    {"sin", "tiny", NULL, "x1"},
    {"sinh", "nan", NULL, "nan"},
    {"sinh", "zeros", NULL, "x1"},
    {"sinh", "infs", NULL, "x1"},
    {"sinh", "tiny", NULL, "x1"},
    {"sqrt", "nan", NULL, "nan"},
    {"sqrt", "neg", NULL, "nan"},
    {"sqrt", "zeros", NULL, "x1"},
    {"sqrt", "inf", NULL, "inf"},
    {"square", "nan", NULL, "nan"},
    {"square", "infs", NULL, "inf"},
    {"square", "zeros", NULL, "0"},
    {"tan", "nan", NULL, "nan"},
    {"tan", "zeros", NULL, "x1"},
    {"tan", "infs", NULL, "nan"},
    {"tanh", "nan", NULL, "nan"},
    {"tanh", "zeros", NULL, "x1"},
    {"tanh", "inf", NULL, "1"},
    {"tanh", "-inf", NULL, "-1"},
    {"tanh", "tiny", NULL, "x1"},
    {"trunc", "whole", NULL, "x1"},
    {"trunc", "infs", NULL, "x1"},
    {"trunc", "nan", NULL, "nan"},

    {"add", "nan", "any", "nan"},
    {"add", "any", "nan", "nan"},
    {"add", "inf", "-inf", "nan"},
    {"add", "-inf", "inf", "nan"},
    {"add", "inf", "inf", "inf"},
    {"add", "-inf", "-inf", "-inf"},
    {"add", "infs", "fin", "x1"},
    {"add", "fin", "infs", "x2"},
    {"add", "-0", "-0", "-0"},
    {"add", "-0", "0", "0"},
    {"add", "0", "-0", "0"},
    {"add", "0", "0", "0"},
    {"add", "zeros", "pos", "x2"},
    {"add", "neg", "zeros", "x1"},
    {"atan2", "nan", "any", "nan"},
    {"atan2", "any", "nan", "nan"},
    {"atan2", "pos", "zeros", "pi/2"},
    {"atan2", "0", "pos", "0"},
    {"atan2", "0", "0", "0"},
    {"atan2", "0", "-0", "pi"},
    {"atan2", "0", "neg", "pi"},
    {"atan2", "-0", "pos", "-0"},
    {"atan2", "-0", "0", "-0"},
    {"atan2", "-0", "-0", "-pi"},
    {"atan2", "-0", "neg", "-pi"},
    {"atan2", "neg", "zeros", "-pi/2"},
    {"atan2", "pos", "inf", "0"},
    {"atan2", "pos", "-inf", "pi"},
    {"atan2", "neg", "inf", "-0"},
    {"atan2", "neg", "-inf", "-pi"},
    {"atan2", "inf", "fin", "pi/2"},
    {"atan2", "-inf", "fin", "-pi/2"},
    {"atan2", "inf", "inf", "pi/4"},
    {"atan2", "inf", "-inf", "3pi/4"},
    {"atan2", "-inf", "inf", "-pi/4"},
    {"atan2", "-inf", "-inf", "-3pi/4"},
    {"copysign", "pos", "pos", "x1"},
    {"copysign", "pos", "-0", "-x1"},
    {"copysign", "pos", "neg", "-x1"},
    {"copysign", "neg", "0", "-x1"},
    {"copysign", "neg", "neg", "x1"},
    {"copysign", "nan", "any", "nan"},
    {"copysign", "0", "-inf", "-0"},
    {"divide", "nan", "any", "nan"},
    {"divide", "any", "nan", "nan"},
    {"divide", "infs", "infs", "nan"},
    {"divide", "zeros", "zeros", "nan"},
    {"divide", "0", "pos", "0"},
    {"divide", "-0", "pos", "-0"},
    {"divide", "0", "neg", "-0"},
    {"divide", "-0", "neg", "0"},
    {"divide", "pos", "0", "inf"},
    {"divide", "pos", "-0", "-inf"},
    {"divide", "neg", "0", "-inf"},
    {"divide", "neg", "-0", "inf"},
    {"divide", "inf", "pos", "inf"},
    {"divide", "inf", "neg", "-inf"},
    {"divide", "-inf", "pos", "-inf"},
    {"divide", "-inf", "neg", "inf"},
    {"divide", "pos", "inf", "0"},
    {"divide", "pos", "-inf", "-0"},
    {"divide", "neg", "inf", "-0"},
    {"divide", "neg", "-inf", "0"},
    {"equal", "nan", "any", "0"},
    {"equal", "any", "nan", "0"},
    {"equal", "zeros", "zeros", "1"},
    {"equal", "inf", "inf", "1"},
    {"equal", "inf", "-inf", "0"},
    {"equal", "fin", "infs", "0"},
    {"not_equal", "nan", "any", "1"},
    {"not_equal", "any", "nan", "1"},
    {"not_equal", "zeros", "zeros", "0"},
    {"greater", "nan", "any", "0"},
    {"greater", "any", "nan", "0"},
    {"greater", "zeros", "zeros", "0"},
    {"greater", "inf", "fin", "1"},
    {"greater_equal", "nan", "any", "0"},
    {"greater_equal", "any", "nan", "0"},
    {"greater_equal", "zeros", "zeros", "1"},
    {"less", "nan", "any", "0"},
    {"less", "any", "nan", "0"},
    {"less", "zeros", "zeros", "0"},
    {"less", "-inf", "fin", "1"},
    {"less_equal", "nan", "any", "0"},
    {"less_equal", "any", "nan", "0"},
    {"less_equal", "zeros", "zeros", "1"},
    {"floor_divide", "nan", "any", "nan"},
    {"floor_divide", "any", "nan", "nan"},
    {"floor_divide", "infs", "infs", "nan"},
    {"floor_divide", "zeros", "zeros", "nan"},
    {"floor_divide", "0", "pos", "0"},
    {"floor_divide", "-0", "pos", "-0"},
    {"floor_divide", "0", "neg", "-0"},
    {"floor_divide", "-0", "neg", "0"},
    {"floor_divide", "pos", "0", "inf"},
    {"floor_divide", "pos", "-0", "-inf"},
    {"floor_divide", "neg", "0", "-inf"},
    {"floor_divide", "neg", "-0", "inf"},
    {"floor_divide", "inf", "pos", "inf"},
    {"floor_divide", "inf", "neg", "-inf"},
    {"floor_divide", "-inf", "pos", "-inf"},
    {"floor_divide", "-inf", "neg", "inf"},
    {"floor_divide", "pos", "inf", "0"},
    {"floor_divide", "pos", "-inf", "-0"},
    {"floor_divide", "neg", "inf", "-0"},
    {"floor_divide", "neg", "-inf", "0"},
    {"hypot", "infs", "any", "inf"},
    {"hypot", "any", "infs", "inf"},
    {"hypot", "nan", "fin", "nan"},
    {"hypot", "fin", "nan", "nan"},
    {"hypot", "pos", "zeros", "x1"},
    {"hypot", "zeros", "pos", "x2"},
    {"hypot", "neg", "zeros", "-x1"},
    {"hypot", "zeros", "zeros", "0"},
    {"logaddexp", "nan", "any", "nan"},
    {"logaddexp", "any", "nan", "nan"},
    {"logaddexp", "inf", "ordered", "inf"},
    {"logaddexp", "ordered", "inf", "inf"},
    {"logaddexp", "-inf", "-inf", "-inf"},
    {"logaddexp", "-inf", "above 1", "x2"},
    {"logaddexp", "above 1", "-inf", "x1"},
    {"logical_and", "nan", "nonzero", "1"},
    {"logical_and", "zeros", "any", "0"},
    {"logical_or", "zeros", "zeros", "0"},
    {"logical_or", "zeros", "nan", "1"},
    {"logical_xor", "zeros", "nonzero", "1"},
    {"maximum", "nan", "any", "nan"},
    {"maximum", "any", "nan", "nan"},
    {"maximum", "inf", "ordered", "inf"},
    {"maximum", "fin", "-inf", "x1"},
    {"maximum", "neg", "pos", "x2"},
    {"minimum", "nan", "any", "nan"},
    {"minimum", "any", "nan", "nan"},
    {"minimum", "-inf", "ordered", "-inf"},
    {"minimum", "fin", "inf", "x1"},
    {"minimum", "neg", "pos", "x1"},
    {"multiply", "nan", "any", "nan"},
    {"multiply", "any", "nan", "nan"},
    {"multiply", "infs", "zeros", "nan"},
    {"multiply", "zeros", "infs", "nan"},
    {"multiply", "inf", "pos", "inf"},
    {"multiply", "inf", "neg", "-inf"},
    {"multiply", "-inf", "neg", "inf"},
    {"multiply", "pos", "-inf", "-inf"},
    {"multiply", "inf", "-inf", "-inf"},
    {"multiply", "-inf", "-inf", "inf"},
    {"multiply", "0", "neg", "-0"},
    {"multiply", "-0", "neg", "0"},
    {"multiply", "-0", "pos", "-0"},
    {"multiply", "0", "pos", "0"},
    {"nextafter", "nan", "any", "nan"},
    {"nextafter", "any", "nan", "nan"},
    {"nextafter", "-0", "0", "x2"},
    {"nextafter", "0", "-0", "x2"},
    {"nextafter", "inf", "inf", "inf"},
    {"nextafter", "1", "1", "1"},
    {"pow", "above 1", "inf", "inf"},
    {"pow", "above 1", "-inf", "0"},
    {"pow", "below -1", "inf", "inf"},
    {"pow", "below -1", "-inf", "0"},
    {"pow", "1", "any", "1"},
    {"pow", "-1", "infs", "1"},
    {"pow", "any", "zeros", "1"},
    {"pow", "nan", "nonzero", "nan"},
    {"pow", "nonzero", "nan", "nan"},
    {"pow", "small", "inf", "0"},
    {"pow", "small", "-inf", "inf"},
    {"pow", "inf", "pos", "inf"},
    {"pow", "inf", "neg", "0"},
    {"pow", "-inf", "odd", "-inf"},
    {"pow", "-inf", "even", "inf"},
    {"pow", "-inf", "part", "inf"},
    {"pow", "-inf", "-odd", "-0"},
    {"pow", "-inf", "-even", "0"},
    {"pow", "-inf", "-part", "0"},
    {"pow", "0", "pos", "0"},
    {"pow", "0", "neg", "inf"},
    {"pow", "-0", "odd", "-0"},
    {"pow", "-0", "even", "0"},
    {"pow", "-0", "part", "0"},
    {"pow", "-0", "-odd", "-inf"},
    {"pow", "-0", "-even", "inf"},
    {"pow", "-0", "-part", "inf"},
    {"pow", "neg", "part", "nan"},
    {"pow", "neg", "-part", "nan"},
    {"pow", "any", "1", "x1"},
    {"remainder", "nan", "any", "nan"},
    {"remainder", "any", "nan", "nan"},
    {"remainder", "infs", "infs", "nan"},
    {"remainder", "zeros", "zeros", "nan"},
    {"remainder", "zeros", "pos", "0"},
    {"remainder", "zeros", "neg", "-0"},
    {"remainder", "pos", "zeros", "nan"},
    {"remainder", "neg", "zeros", "nan"},
    {"remainder", "infs", "pos", "nan"},
    {"remainder", "infs", "neg", "nan"},
    {"remainder", "pos", "inf", "x1"},
    {"remainder", "pos", "-inf", "x2"},
    {"remainder", "neg", "inf", "x2"},
    {"remainder", "neg", "-inf", "x1"},
    {"subtract", "nan", "any", "nan"},
    {"subtract", "inf", "inf", "nan"},
    {"subtract", "-inf", "-inf", "nan"},
    {"subtract", "0", "0", "0"},
    {"subtract", "-0", "0", "-0"},
    {"subtract", "0", "-0", "0"},
    {"subtract", "fin", "inf", "-inf"},
};
enum { RULES = sizeof rules / sizeof *rules };

/* For all integer dtypes. min, max and width are the dtype's; -1 has all bits set. Rows with a negative number apply
 * only to signed dtypes. */
static const struct rule integer_rules[] = {
    {"add", "max", "1", "min"},
    {"subtract", "min", "1", "max"},
    {"multiply", "max", "max", "1"},
    {"multiply", "min", "-1", "min"},
    {"negative", "min", NULL, "min"},
    {"abs", "min", NULL, "min"},
    {"square", "max", NULL, "1"},
    {"floor_divide", "min", "-1", "min"},
    {"floor_divide", "-7", "2", "-4"},
    {"floor_divide", "7", "-2", "-4"},
    {"remainder", "min", "-1", "0"},
    {"remainder", "-7", "2", "1"},
    {"remainder", "7", "-2", "-1"},
    {"remainder", "7", "2", "1"},
    {"bitwise_left_shift", "1", "width", "0"},
    {"bitwise_left_shift", "max", "100", "0"},
    {"bitwise_left_shift", "1", "-1", "0"},
    {"bitwise_right_shift", "max", "width", "0"},
    {"bitwise_right_shift", "min", "width", "sign"},
    {"bitwise_right_shift", "-1", "100", "-1"},
    {"bitwise_right_shift", "-5", "1", "-3"},
    {"bitwise_invert", "0", NULL, "ones"},
    {"pow", "0", "0", "1"},
    {"pow", "max", "0", "1"},
    {"pow", "2", "width", "0"},
    {"pow", "2", "-1", "0"},
    {"pow", "-1", "-3", "-1"},
    {"pow", "-1", "-2", "1"},
    {"pow", "1", "-5", "1"},
    {"sign", "min", NULL, "sign"},
    {"maximum", "min", "max", "max"},
    {"minimum", "min", "max", "min"},
    {"greater", "max", "min", "1"},
    {"less", "min", "max", "1"},
    {"floor", "max", NULL, "max"},
    {"round", "min", NULL, "min"},
    {"logical_not", "min", NULL, "is zero"},
};
enum { INTEGER_RULES = sizeof integer_rules / sizeof *integer_rules };

/* ---- checking ---- */

static const struct value_class *class_of(const char *name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].name, name) == 0)
            return &classes[i];
    assert(!"a rule names a class that is not there");
    return NULL;
}

static real expected(const char *result, double x, double y)
{
    if (strcmp(result, "x1") == 0)
        return (real)x;
    if (strcmp(result, "-x1") == 0)
        return (real)-x;
    return (real)(strcmp(result, "x2") == 0 ? y : class_of(result)->v[0]);
}

/* The rules of one op and dtype, value by value. */
typedef struct values {
    run *r;
    double ulp; /* error bound of finite results */
    int number; /* number of the next value */
} values;

/* Calls the op on one pair of values on the calling thread's device; NaN after an error. */
static real call_one(const run *r, int arity, const real v[2])
{
    char data[2][8];
    ig_arg args[2] = {{.kind = IG_ARG_ARRAY}, {.kind = IG_ARG_ARRAY}};
    ig_array *y = NULL;
    real got = (real)NAN;
    ig_scope_begin();
    for (int i = 0; i < arity; i++) {
        real_store(r->dtype, data[i], v[i]);
        args[i].u.array = ig_from_data(data[i], IG_SCALAR, r->dtype);
    }
    if (ig_call(r->report->op->name, args, arity, &y, 1) == 1 && ig_data(y))
        got = real_load(ig_dtype_of(y), ig_data(y));
    ig_scope_end();
    return got;
}

/* The result on the reference device. */
static real call_there(const run *r, int arity, const real v[2])
{
    const char *here = ig_device();
    ig_set_device(r->scope->reference);
    const real want = call_one(r, arity, v);
    ig_set_device(here);
    return want;
}

/* True if a device that flushes subnormal numbers may differ: an input or the result is subnormal. */
static bool is_subnormal_case(const run *r, const real v[2], int arity, real got, real want)
{
    bool takes = false;
    for (int i = 0; i < arity; i++)
        takes = takes || (v[i] != 0 && run_may_flush(r, r->dtype, 0, v[i]));
    return takes || run_may_flush(r, r->dtype, got, want);
}

/* Calls the op on one pair of values and compares the result with want. */
static void check_one(values *s, int arity, const real v[2], real want, double ulp)
{
    char name[CASE_NAME];
    const ig_dtype d = s->r->dtype;
    snprintf(name, sizeof name, "special.%d", s->number++);
    if (!run_wants(s->r, name))
        return;
    if (s->r->scope->reference) {
        want = call_there(s->r, arity, v);
        ulp = 0;
    }
    const real got = call_one(s->r, arity, v);
    ig_status code = IG_OK;
    const char *error = ig_error(&code);
    if (error && code == IG_ERR_UNSUPPORTED) {
        run_refuse(s->r);
        return;
    }
    const real rounded = real_round(d, want);
    bool same = isnan(rounded) ? isnan(got) : got == rounded && signbit(got) == signbit(rounded);
    if (!same && ulp > 0 && isfinite(rounded) && rounded != 0)
        same = fabsl(got - want) <= (real)ulp * real_ulp(d, want);
    if (!same && !error && is_subnormal_case(s->r, v, arity, got, rounded)) {
        run_flushed(s->r, 1);
        same = true;
    }
    if (same && !error)
        run_pass(s->r);
    else if (error)
        run_fail(s->r, name, "%s", error);
    else
        run_fail(s->r, name,
                 arity == 2 ? "(%.9Lg, %.9Lg): got %.21Lg, expected %.21Lg"
                            : "(%.9Lg%.0Lg): got %.21Lg, expected %.21Lg",
                 v[0], v[1], got, rounded);
}

static void check_rule(values *s, const struct rule *r)
{
    const struct value_class *x = class_of(r->x1), *y = r->x2 ? class_of(r->x2) : NULL;
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < (y ? y->n : 1); k++) {
            const double b = y ? y->v[k] : 0;
            check_one(s, y ? 2 : 1, (real[]){(real)x->v[i], (real)b},
                      expected(r->result, x->v[i], b), s->ulp);
        }
}

/* Parses a number of an integer rule; *fits is false if the dtype cannot represent it. */
static real integer(const char *text, ig_dtype d, bool *fits)
{
    const real low = real_min(d), high = real_max(d);
    const real v = strcmp(text, "min") == 0       ? low
                   : strcmp(text, "max") == 0     ? high
                   : strcmp(text, "width") == 0   ? (real)real_width(d)
                   : strcmp(text, "sign") == 0    ? (real)(low < 0 ? -1 : 0)
                   : strcmp(text, "ones") == 0    ? real_wrap(d, UINT64_MAX)
                   : strcmp(text, "is zero") == 0 ? (real)(low == 0)
                                                  : (real)strtol(text, NULL, 10);
    *fits = *fits && v >= low && v <= high;
    return v;
}

static void check_integer_rule(values *s, const struct rule *r)
{
    bool fits = true;
    const ig_dtype d = s->r->dtype;
    const real v[2] = {integer(r->x1, d, &fits), r->x2 ? integer(r->x2, d, &fits) : 0};
    const real want = integer(r->result, d, &fits);
    if (fits)
        check_one(s, r->x2 ? 2 : 1, v, want, 0);
}

void special_check(run *r)
{
    values s = {r, r->report->op->ulp, 0};
    const char *op = r->report->op->name;
    for (int i = 0; dtype_in(r->dtype, BIT(IG_F32) | BIT(IG_F64)) && i < RULES; i++)
        if (strcmp(rules[i].op, op) == 0)
            check_rule(&s, &rules[i]);
    for (int i = 0; dtype_in(r->dtype, INTS) && i < INTEGER_RULES; i++)
        if (strcmp(integer_rules[i].op, op) == 0)
            check_integer_rule(&s, &integer_rules[i]);
}

const char *special_stray(void)
{
    for (int i = 0; i < RULES + INTEGER_RULES; i++) {
        const char *op = i < RULES ? rules[i].op : integer_rules[i - RULES].op;
        if (!ig_op_find(op))
            return op;
    }
    return NULL;
}
