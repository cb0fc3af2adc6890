/* Builders of functions that take numbers apart, functions of integers and bits, and running functions. */
#include "engine/ops/special.h"

#include "base/error.h"
#include <string.h>

/* ---- numbers ---- */

static ig_array *slope_cbrt(ig_array *const *x, ig_array *y)
{
    (void)x;
    return ig_reciprocal(ig_times(ig_square(y), 3));
}

/* A first value by logarithms, and a step of Newton's method, which corrects half of its digits. */
BUILDER(cbrt)
{
    static const special_slopes slopes = {{slope_cbrt}};
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *a = ig_abs(x), *as_is = ig_logical_or(special_is(x, 0), ig_isinf(x));
    ig_array *y = ig_exp(ig_divide(ig_log(a), ig_float(3)));
    ig_array *step = ig_subtract(ig_divide(a, ig_square(y)), y);
    y = ig_copysign(ig_add(y, ig_divide(step, ig_float(3))), x);
    return composite_result(out, special_with_slopes(ig_where(as_is, x, y), &x, 1, &slopes), dtype);
}

/* Both arguments in their common dtype, which must not be bool. */
static bool two_numbers(op_id op, const ig_arg *args, ig_array *x[2], ig_dtype *dtype)
{
    for (int i = 0; i < 2; i++)
        x[i] = args[i].u.array;
    if (infer_dtype(op, x, 2, dtype) != IG_OK)
        return false;
    if (*dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype",
                  op_rows[op].name);
    for (int i = 0; i < 2; i++)
        x[i] = build_cast(x[i], *dtype);
    return x[0] && x[1];
}

/* The remainder of absolute values is exact. The lowest integer has no absolute value, but remainders of
 * integers are exact. */
BUILDER(fmod)
{
    ig_array *x[2];
    ig_dtype dtype;
    if (!two_numbers(op, args, x, &dtype))
        return 0;
    if (dtype_is_float(dtype))
        return op_one(out, ig_copysign(ig_remainder(ig_abs(x[0]), ig_abs(x[1])), x[0]));
    ig_array *r = ig_remainder(x[0], x[1]), *zero = ig_int(0);
    ig_array *other = ig_not_equal(ig_less(x[0], zero), ig_less(x[1], zero));
    other = ig_logical_and(other, ig_not_equal(r, zero));
    return op_one(out, ig_where(other, ig_subtract(r, x[1]), r));
}

BUILDER(trunc_divide)
{
    ig_array *x[2];
    ig_dtype dtype;
    if (!two_numbers(op, args, x, &dtype))
        return 0;
    if (dtype_is_float(dtype))
        return op_one(out, ig_trunc(ig_divide(x[0], x[1])));
    if (dtype_kind_of(dtype) == DTYPE_KIND_UNSIGNED)
        return op_one(out, ig_floor_divide(x[0], x[1]));
    return op_one(out, ig_floor_divide(ig_subtract(x[0], ig_fmod(x[0], x[1])), x[1]));
}

BUILDER(divmod)
{
    ig_array *x1 = args[0].u.array, *x2 = args[1].u.array;
    if (x1->dtype == IG_BOOL && x2->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "divmod takes numbers, not bool; convert with astype");
    out[0] = ig_floor_divide(x1, x2);
    out[1] = out[0] ? ig_remainder(x1, x2) : NULL;
    return out[1] ? 2 : 0;
}

BUILDER(modf)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *whole = ig_trunc(x);
    ig_array *part = ig_where(ig_isinf(x), ig_float(0), ig_subtract(x, whole));
    out[0] = build_cast(ig_copysign(part, x), dtype);
    out[1] = build_cast(whole, dtype);
    return out[0] && out[1] ? 2 : 0;
}

/* x * 2^n. Only the last of three factors makes the result subnormal, so it is rounded once. */
static ig_array *scaled(ig_array *x, ig_array *n)
{
    const double most = special_is_f64(x) ? 1022 : 126, step = special_is_f64(x) ? 969 : 102;
    for (int i = 0; i < 2; i++) {
        ig_array *down = ig_where(special_below(n, -most), ig_float(-step), build_beside(x, 0));
        ig_array *by = ig_where(ig_greater(n, ig_float(most)), ig_float(most), down);
        x = ig_multiply(x, ig_exp2(by));
        n = ig_subtract(n, by);
    }
    return ig_multiply(x, ig_exp2(ig_clip(n, ig_float(-most), ig_float(most + 1))));
}

/* The exponent by a logarithm, which may be off by one near a power of 2. */
BUILDER(frexp)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *as_is = ig_logical_or(special_is(x, 0), ig_logical_not(ig_isfinite(x)));
    ig_array *safe = ig_where(as_is, ig_float(0.5), x), *zero = build_beside(x, 0);
    ig_array *e = ig_plus(ig_floor(ig_log2(ig_abs(safe))), 1);
    ig_array *m = scaled(safe, ig_negative(e)), *size = ig_abs(m);
    ig_array *off = ig_where(special_not_below(size, 1), ig_float(1), zero);
    off = ig_where(special_below(size, 0.5), ig_float(-1), off);
    m = ig_multiply(m, ig_exp2(ig_negative(off)));
    out[0] = build_cast(ig_where(as_is, x, m), dtype);
    out[1] = build_cast(ig_where(as_is, zero, ig_add(e, off)), IG_I32);
    return out[0] && out[1] ? 2 : 0;
}

BUILDER(ldexp)
{
    ig_array *x = args[0].u.array, *n = args[1].u.array;
    ig_dtype dtype;
    if (dtype_is_float((ig_dtype)n->dtype))
        FAIL_NONE(IG_ERR_DTYPE, "ldexp: the exponents are %s, but must be integers",
                  ig_dtype_name((ig_dtype)n->dtype));
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    n = ig_clip(build_cast(n, IG_I64), ig_int(-5000), ig_int(5000));
    return composite_result(out, scaled(x, build_cast(n, (ig_dtype)x->dtype)), dtype);
}

BUILDER(spacing)
{
    ig_array *x = ig_stop_gradient(args[0].u.array);
    if (x && !dtype_is_float((ig_dtype)x->dtype))
        x = build_cast(x, ig_default_dtype());
    ig_array *a = ig_abs(x);
    ig_array *up = ig_subtract(ig_nextafter(a, ig_float(INFINITY)), a);
    ig_array *down = ig_subtract(a, ig_nextafter(a, ig_float(0)));
    return op_one(out, ig_copysign(ig_where(ig_isinf(up), down, up), x));
}

BUILDER(integer_pow)
{
    ig_array *x = args[0].u.array, *y = NULL;
    const int64_t power = args[1].u.i;
    if (x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "integer_pow takes numbers, not bool; convert with astype");
    if (power < 0 && !dtype_is_float((ig_dtype)x->dtype))
        FAIL_NONE(IG_ERR_ARGUMENT, "integer_pow: y is %lld, but integers take only powers from 0",
                  (long long)power);
    if (power == 0)
        return op_one(out, ig_ones_like(x, IG_DTYPE_NONE));
    for (uint64_t left = power < 0 ? 0 - (uint64_t)power : (uint64_t)power; left; left >>= 1) {
        if (left & 1)
            y = y ? ig_multiply(y, x) : x;
        x = left > 1 ? ig_square(x) : x;
    }
    return op_one(out, power < 0 ? ig_reciprocal(y) : y);
}

/* ---- integers and bits ---- */

static bool takes_integers(op_id op, ig_dtype dtype)
{
    if (dtype_is_int(dtype))
        return true;
    ig_fail(IG_ERR_DTYPE, "%s takes integers, not %s", op_rows[op].name, ig_dtype_name(dtype));
    return false;
}

/* Euclid's algorithm for unsigned integers. Successive numbers of Fibonacci take the most steps: less than 1.5 for each
 * bit. The unchecked remainder by 0 is 0. */
static ig_array *gcd_of(ig_array *a, ig_array *b, int bits)
{
    for (int left = bits + bits / 2; left > 0 && a && b; left--) {
        ig_array *rest = build_map(OP_remainder, (ig_dtype)a->dtype, (ig_array *[]){a, b}, 2);
        a = ig_where(ig_equal(b, ig_int(0)), a, b);
        b = rest;
    }
    return b ? a : NULL;
}

static ig_dtype unsigned_of(ig_dtype dtype)
{
    const size_t bytes = ig_dtype_bytes(dtype);
    return bytes == 1 ? IG_U8 : bytes == 2 ? IG_U16 : bytes == 4 ? IG_U32 : IG_U64;
}

BUILDER(divisors)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (infer_dtype(op, x, 2, &dtype) != IG_OK || !takes_integers(op, dtype))
        return 0;
    const ig_dtype natural = unsigned_of(dtype); /* has the absolute value of the lowest integer */
    for (int i = 0; i < 2; i++)
        x[i] = build_cast(ig_abs(build_cast(x[i], dtype)), natural);
    ig_array *y = gcd_of(x[0], x[1], 8 * (int)ig_dtype_bytes(dtype));
    if (y && op == OP_lcm) {
        ig_array *part = build_map(OP_floor_divide, natural, (ig_array *[]){x[0], y}, 2);
        y = ig_abs(build_cast(ig_multiply(part, x[1]), dtype));
    }
    return op_one(out, y ? build_cast(y, dtype) : NULL);
}

static ig_array *shifted(ig_array *x, int by) { return ig_bitwise_right_shift(x, ig_int(by)); }

/* The number of bits of unsigned x: sums of neighbours, of pairs, and so on. */
static ig_array *bit_count(ig_array *x, int bits)
{
    const ig_dtype dtype = (ig_dtype)x->dtype;
    ig_array *mask[3];
    for (int i = 0; i < 3; i++) {
        const int64_t pattern[3] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f};
        mask[i] = build_scalar_int(
            bits == 64 ? pattern[i] : pattern[i] & ((INT64_C(1) << bits) - 1), dtype);
    }
    x = ig_subtract(x, ig_bitwise_and(shifted(x, 1), mask[0]));
    x = ig_add(ig_bitwise_and(x, mask[1]), ig_bitwise_and(shifted(x, 2), mask[1]));
    x = ig_bitwise_and(ig_add(x, shifted(x, 4)), mask[2]);
    for (int by = 8; by < bits; by *= 2)
        x = ig_add(x, shifted(x, by));
    return ig_bitwise_and(x, ig_int(0x7f));
}

BUILDER(bitwise_count)
{
    ig_array *x = args[0].u.array;
    const ig_dtype dtype = (ig_dtype)x->dtype;
    if (!takes_integers(op, dtype))
        return 0;
    x = build_cast(ig_abs(x), unsigned_of(dtype));
    return op_one(out, x ? build_cast(bit_count(x, 8 * (int)ig_dtype_bytes(dtype)), IG_U8) : NULL);
}

/* All bits below the highest one are set, and counted. */
BUILDER(clz)
{
    ig_array *x = args[0].u.array;
    const ig_dtype dtype = (ig_dtype)x->dtype;
    const int bits = 8 * (int)ig_dtype_bytes(dtype);
    if (!takes_integers(op, dtype))
        return 0;
    x = build_cast(x, unsigned_of(dtype));
    for (int by = 1; by < bits; by *= 2)
        x = ig_bitwise_or(x, shifted(x, by));
    return op_one(out, x ? build_cast(ig_subtract(ig_int(bits), bit_count(x, bits)), dtype) : NULL);
}

/* How far bit i of eight is shifted, as u8; NULL if the order is unknown. */
static ig_array *bit_places(op_id op, const char *order)
{
    const int64_t eight = 8;
    ig_array *place = build_cast(build_iota(1, &eight), IG_U8);
    if (strcmp(order, "little") == 0)
        return place;
    if (strcmp(order, "big") == 0)
        return ig_flip(place, IG_NONE);
    FAIL_NULL(IG_ERR_ARGUMENT, "%s: bitorder is 'big' or 'little', not '%s'", op_rows[op].name,
              order);
}

/* x, flattened if there is no axis, with that axis last. */
static ig_array *bits_last(op_id op, ig_array *x, const ig_arg *axis, int *at)
{
    if (axis->kind != IG_ARG_INT)
        x = ig_reshape(x, IG_SHAPE(-1));
    if (!x || infer_axis(op, axis->kind == IG_ARG_INT ? axis->u.i : 0, x->view.ndim, at) != IG_OK)
        return NULL;
    return build_axis_last(op, x, *at);
}

/* The last axis with the length, longer by zeros or shorter. */
static ig_array *last_resized(op_id op, ig_array *x, int64_t length)
{
    const int last = x->view.ndim - 1;
    int64_t shape[IG_MAX_NDIM], stop[IG_MAX_NDIM], start[IG_MAX_NDIM] = {0};
    memcpy(shape, x->view.shape, sizeof shape);
    memcpy(stop, x->view.shape, sizeof stop);
    stop[last] = length;
    if (length <= x->view.shape[last])
        return ig_slice(x, (ig_ints){start, last + 1}, (ig_ints){stop, last + 1}, IG_NONE);
    shape[last] = length - x->view.shape[last];
    ig_array *both[2] = {x, build_fill(0, (ig_dtype)x->dtype, x->view.ndim, shape)};
    (void)op;
    return ig_concat(both, 2, IG_AXES(last));
}

/* The last axis in parts of this length along one more axis, or such parts joined. */
static ig_array *last_parted(op_id op, ig_array *x, int64_t length)
{
    int64_t shape[IG_MAX_NDIM];
    if (!x)
        return NULL;
    int ndim = x->view.ndim;
    if (length > 1 && ndim == IG_MAX_NDIM)
        FAIL_NULL(IG_ERR_SHAPE, "%s: x has %d dimensions; it may have %d", op_rows[op].name, ndim,
                  IG_MAX_NDIM - 1);
    memcpy(shape, x->view.shape, sizeof shape);
    if (length > 1) {
        shape[ndim - 1] /= length;
        shape[ndim++] = length;
    } else {
        shape[ndim - 2] *= shape[ndim - 1];
        ndim--;
    }
    return ig_reshape(x, (ig_ints){shape, ndim});
}

BUILDER(packbits)
{
    int axis;
    ig_array *x = bits_last(op, ig_astype(args[0].u.array, IG_BOOL), &args[1], &axis);
    ig_array *place = bit_places(op, args[2].u.str);
    if (!x || !place)
        return 0;
    const int64_t length = x->view.shape[x->view.ndim - 1];
    x = last_parted(op, last_resized(op, build_cast(x, IG_U8), (length + 7) / 8 * 8), 8);
    x = ig_sum(ig_bitwise_left_shift(x, place), IG_AXES(-1), IG_U8, false);
    return op_one(out, x ? build_axis_back(op, x, axis) : NULL);
}

BUILDER(unpackbits)
{
    int axis;
    const ig_dtype dtype = (ig_dtype)args[0].u.array->dtype;
    if (dtype != IG_BOOL && !takes_integers(op, dtype))
        return 0;
    ig_array *x = bits_last(op, build_cast(args[0].u.array, IG_U8), &args[1], &axis);
    ig_array *place = bit_places(op, args[3].u.str);
    if (!x || !place)
        return 0;
    if (x->view.ndim == IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "unpackbits: x has %d dimensions; it may have %d", x->view.ndim,
                  IG_MAX_NDIM - 1);
    x = ig_bitwise_and(ig_bitwise_right_shift(special_column(x), place), ig_int(1));
    x = last_parted(op, x, 1);
    if (x && args[2].kind == IG_ARG_INT) {
        const int64_t all = x->view.shape[x->view.ndim - 1], count = args[2].u.i;
        if (count < -all)
            FAIL_NONE(IG_ERR_ARGUMENT, "unpackbits: count is %lld, but there are %lld bits",
                      (long long)count, (long long)all);
        x = last_resized(op, x, count < 0 ? all + count : count);
    }
    return op_one(out, x ? build_axis_back(op, x, axis) : NULL);
}

/* ---- along an axis ---- */

/* As NumPy: differences are taken to [-period / 2, period / 2], the upper end for those that were above 0. */
BUILDER(unwrap)
{
    ig_array *x = args[0].u.array;
    const double period = args[3].kind == IG_ARG_FLOAT ? args[3].u.f : 2 * M_PI;
    const double discont = args[1].kind == IG_ARG_FLOAT ? args[1].u.f : period / 2;
    ig_dtype dtype;
    int axis;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK ||
        infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    if (x->view.shape[axis] < 2)
        return composite_result(out, x, dtype);
    ig_array *gap = ig_diff(x, axis, 1, NULL, NULL);
    ig_array *moved =
        ig_plus(ig_remainder(ig_plus(gap, period / 2), ig_float(period)), -period / 2);
    ig_array *edge = ig_logical_and(special_is(moved, -period / 2), ig_greater(gap, ig_float(0)));
    moved = ig_where(edge, ig_float(period / 2), moved);
    ig_array *step = ig_where(special_below(ig_abs(gap), discont), ig_float(0),
                              ig_stop_gradient(ig_subtract(moved, gap)));
    step = ig_cumulative_sum(step, IG_AXES(axis), IG_DTYPE_NONE, true);
    return composite_result(out, ig_add(x, step), dtype);
}

/* Each element is joined with those 1, 2, 4, ... before it. */
BUILDER(cumulative_logsumexp)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    int axis;
    if (args[1].kind != IG_ARG_INT && x->view.ndim != 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "cumulative_logsumexp: x has %d dimensions; give an axis",
                  x->view.ndim);
    if (composite_floats(op, &x, 1, &dtype) != IG_OK ||
        infer_axis(op, args[1].kind == IG_ARG_INT ? args[1].u.i : 0, x->view.ndim, &axis) != IG_OK)
        return 0;
    x = build_axis_last(op, x, axis);
    const int last = x ? x->view.ndim - 1 : 0;
    const int64_t length = x ? x->view.shape[last] : 0;
    for (int64_t by = 1; by < length && x; by *= 2) {
        int64_t shape[IG_MAX_NDIM], from[IG_MAX_NDIM] = {0};
        memcpy(shape, x->view.shape, sizeof shape);
        shape[last] = length - by;
        ig_array *before =
            ig_slice(x, (ig_ints){from, last + 1}, (ig_ints){shape, last + 1}, IG_NONE);
        shape[last] = by;
        ig_array *both[2] = {build_fill(-INFINITY, (ig_dtype)x->dtype, last + 1, shape), before};
        x = before ? ig_logaddexp(x, ig_concat(both, 2, IG_AXES(last))) : NULL;
    }
    return composite_result(out, x ? build_axis_back(op, x, axis) : NULL, dtype);
}
