/* Arithmetic of constants. Loops over the elements of an array combine single numbers, and a node of the graph for each of them
 * would cost more than all other work. Only what every device rounds in the same way is computed here: one IEEE operation
 * of f32 or f64, wrapping integers, comparisons. Results that are NaN or subnormal, and extremes of equal floats (zeros
 * with different signs), are left to the evaluation. */
#include "engine/ops/constant.h"
#include "base/error.h"
#include "engine/ops/builders.h"
#include <float.h>
#include <math.h>
#include <string.h>

static ig_array *constant_of(ig_dtype dtype, const void *bits)
{
    ig_array *x = array_number(dtype, bits);
    if (x)
        x->is_constant = true;
    return x;
}

ig_array *ig_constant(const void *element, ig_dtype dtype)
{
    if (require_pointer("constant", "element", element) != IG_OK)
        return NULL;
    if (ig_dtype_bytes(dtype) == 0 || dtype_is_complex(dtype))
        FAIL_NULL(IG_ERR_DTYPE,
                  "constant: a constant is real, and %d is not such a dtype; use ig_scalar or "
                  "ig_from_data",
                  (int)dtype);
    return constant_of(dtype, element);
}

/* A number of a kind that fits its dtype: floats in f, integers and bools in i. */
typedef struct number {
    double f;
    int64_t i;
} number;

static bool is_wide(ig_dtype d) { return d == IG_F32 || d == IG_F64; }

/* The value of x in a dtype; false if the conversion is left to the evaluation. */
static bool value_in(const ig_array *x, ig_dtype dtype, number *n)
{
    const ig_dtype from = (ig_dtype)x->dtype;
    if (x->root != x || !x->is_number || !(x->is_constant || x->weak))
        return false;
    if (dtype_is_float(from)) {
        if (!is_wide(from) || !is_wide(dtype))
            return false;
        n->f = dtype_fetch(from, &x->number);
        n->f = dtype == IG_F32 ? (double)(float)n->f : n->f;
        return isfinite(n->f);
    }
    n->i = dtype_fetch_int(from, &x->number);
    if (is_wide(dtype)) {
        if (from == IG_U64 && n->i < 0)
            return false;
        n->f = dtype == IG_F32 ? (double)(float)n->i : (double)n->i;
        return true;
    }
    uint64_t bits = 0;
    if (!dtype_is_int(dtype) || (from == IG_U64) != (dtype == IG_U64))
        return dtype == IG_BOOL && from == IG_BOOL;
    dtype_store_int(dtype, &bits, n->i);
    return dtype_fetch_int(dtype, &bits) == n->i; /* else an evaluation wraps, or it is an error */
}

/* -1, 0 or 1 as a is less than, equal to or greater than b. */
static int order(number a, number b, ig_dtype dtype)
{
    if (is_wide(dtype))
        return (a.f > b.f) - (a.f < b.f);
    if (dtype == IG_U64)
        return ((uint64_t)a.i > (uint64_t)b.i) - ((uint64_t)a.i < (uint64_t)b.i);
    return (a.i > b.i) - (a.i < b.i);
}

/* The result of a comparison by the order of its operands; -1 if op is none. */
static int compared(op_id op, int order)
{
    switch (op) {
    case OP_less: return order < 0;
    case OP_less_equal: return order <= 0;
    case OP_equal: return order == 0;
    case OP_not_equal: return order != 0;
    case OP_greater: return order > 0;
    case OP_greater_equal: return order >= 0;
    default: return -1;
    }
}

static bool float_result(op_id op, number a, number b, ig_dtype dtype, uint64_t *bits)
{
    const bool narrow = dtype == IG_F32;
    const float x = narrow ? (float)a.f : 0, y = narrow ? (float)b.f : 0;
    const int by = order(a, b, dtype);
    double r;
    switch (op) {
    case OP_add: r = narrow ? (double)(x + y) : a.f + b.f; break;
    case OP_subtract: r = narrow ? (double)(x - y) : a.f - b.f; break;
    case OP_multiply: r = narrow ? (double)(x * y) : a.f * b.f; break;
    case OP_divide: r = narrow ? (double)(x / y) : a.f / b.f; break;
    case OP_negative: r = -a.f; break;
    case OP_abs: r = fabs(a.f); break;
    case OP_minimum: r = by < 0 ? a.f : b.f; break;
    case OP_maximum: r = by > 0 ? a.f : b.f; break;
    default: return false;
    }
    if (isnan(r) || (r != 0 && fabs(r) < (narrow ? (double)FLT_MIN : DBL_MIN)) ||
        (by == 0 && (op == OP_minimum || op == OP_maximum)))
        return false;
    dtype_store(dtype, bits, r);
    return true;
}

/* A narrower result, which wraps, has the lowest bits of a 64-bit one. */
static bool int_result(op_id op, number a, number b, ig_dtype dtype, uint64_t *bits)
{
    const uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;
    const int by = order(a, b, dtype);
    uint64_t r;
    switch (op) {
    case OP_add: r = x + y; break;
    case OP_subtract: r = x - y; break;
    case OP_multiply: r = x * y; break;
    case OP_negative: r = 0 - x; break;
    case OP_minimum: r = by < 0 ? x : y; break;
    case OP_maximum: r = by > 0 ? x : y; break;
    default: return false;
    }
    switch (ig_dtype_bytes(dtype)) {
    case 1: *bits = (uint8_t)r; break;
    case 2: *bits = (uint16_t)r; break;
    case 4: *bits = (uint32_t)r; break;
    default: *bits = r; break;
    }
    return true;
}

/* The result of op, of one or two numbers of the dtype, in storage format. Returns its dtype; IG_DTYPE_NONE: an evaluation must
 * find it. */
static ig_dtype result_of(op_id op, ig_dtype dtype, number a, number b, uint64_t *bits)
{
    const int truth = op_rows[op].arity == 2 ? compared(op, order(a, b, dtype)) : -1;
    if (truth >= 0) {
        *bits = 0;
        *(uint8_t *)bits = (uint8_t)truth;
        return IG_BOOL;
    }
    const bool known = is_wide(dtype)        ? float_result(op, a, b, dtype, bits)
                       : dtype_is_int(dtype) ? int_result(op, a, b, dtype, bits)
                                             : false;
    return known ? dtype : IG_DTYPE_NONE;
}

bool constant_map(op_id op, ig_array *const x[2], ig_dtype dtype, ig_array **out)
{
    number a, b = {0, 0};
    uint64_t bits = 0;
    if (!value_in(x[0], dtype, &a) || (op_rows[op].arity == 2 && !value_in(x[1], dtype, &b)))
        return false;
    const ig_dtype made = result_of(op, dtype, a, b, &bits);
    if (!made)
        return false;
    *out = constant_of(made, &bits);
    return true;
}

static bool number_at(const void *element, ig_dtype dtype, number *n)
{
    n->f = is_wide(dtype) ? dtype_fetch(dtype, element) : 0;
    n->i = is_wide(dtype) ? 0 : dtype_fetch_int(dtype, element);
    return isfinite(n->f);
}

ig_dtype ig_op_constant(const ig_op *op, ig_dtype dtype, const void *x1, const void *x2, void *out)
{
    const ig_op *first = op_info((op_id)0);
    if (!op || op < first || op >= first + OP_COUNT || !x1 || !out)
        return IG_DTYPE_NONE;
    const op_id id = (op_id)(op - first);
    number a, b = {0, 0};
    uint64_t bits;
    if (!(is_wide(dtype) || dtype_is_int(dtype)) || (id == OP_divide && !is_wide(dtype)) ||
        op_rows[id].arity != (x2 ? 2 : 1) || !number_at(x1, dtype, &a) ||
        (x2 && !number_at(x2, dtype, &b)))
        return IG_DTYPE_NONE;
    const ig_dtype made = result_of(id, dtype, a, b, &bits);
    if (made)
        memcpy(out, &bits, ig_dtype_bytes(made));
    return made;
}

bool constant_cast(ig_array *x, ig_dtype dtype, ig_array **out)
{
    number n;
    uint64_t bits = 0;
    if (!x->is_constant || !value_in(x, dtype, &n))
        return false;
    if (is_wide(dtype))
        dtype_store(dtype, &bits, n.f);
    else
        dtype_store_int(dtype, &bits, n.i);
    return *out = constant_of(dtype, &bits), true;
}
