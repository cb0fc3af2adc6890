/* Builders of arrays from numbers. A constant array is a view of one element, so it takes no memory. A
 * sequence or a triangle is an expression over indices, so it is fused into the node that reads it. */
#include "base/error.h"
#include "engine/ops/builders.h"
#include <math.h>

/* ---- constants ---- */

/* value, which is 0-d, in dtype (IG_DTYPE_NONE: its own), repeated to shape. */
static int filled(op_id op, ig_ints shape, ig_array *value, ig_dtype dtype, ig_array **out)
{
    int64_t size;
    if (!value)
        return 0;
    if (value->view.ndim != 0)
        FAIL_NONE(IG_ERR_SHAPE, "%s: fill_value has %d dimensions; give one number or a 0-d array",
                  op_rows[op].name, value->view.ndim);
    if (dtype == IG_DTYPE_NONE)
        dtype = ig_result_type(&value, 1);
    if (infer_size(op, shape.n, shape.v, dtype, &size) != IG_OK)
        return 0;
    /* Evaluation materializes it: the elements of a view that repeats one number cannot be distinguished, and users
     * differentiate by arrays that they created with zeros. */
    return op_one(out,
                  build_contiguous(build_broadcast(op, ig_astype(value, dtype), shape.n, shape.v)));
}

/* The number of a row whose name is the number. */
static double value_of(op_id op) { return op == OP_ones || op == OP_ones_like; }

/* full: (shape, value, dtype); other rows: (shape, dtype) */
int op_fill(op_id op, const ig_arg *args, ig_array **out)
{
    if (op == OP_full)
        return filled(op, args[0].u.ints, args[1].u.array, arg_dtype(&args[2], IG_DTYPE_NONE), out);
    ig_dtype dtype = arg_dtype(&args[1], ig_default_dtype());
    return filled(op, args[0].u.ints, build_scalar(value_of(op), dtype), dtype, out);
}

/* The same in the shape of x. An array filled with a number has no device until it is evaluated. Here it gets the
 * device of x. */
int op_fill_like(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    const bool full = op == OP_full_like;
    ig_dtype dtype = arg_dtype(&args[full ? 2 : 1], ig_result_type(&x, 1));
    ig_array *value = full ? args[1].u.array : build_scalar(value_of(op), dtype);
    const int n = filled(op, ig_shape(x), value, dtype, out);
    if (n && !out[0]->root->is_number && !out[0]->root->device)
        out[0]->root->device = x->root->device;
    return n;
}

/* ---- sequences ---- */

/* Number of integers start, start + step, ... before stop. */
static uint64_t count_ints(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0 ? start >= stop : start <= stop)
        return 0;
    uint64_t first = (uint64_t)start, last = (uint64_t)stop;
    uint64_t reach = step > 0 ? last - first : first - last;
    return (reach - 1) / (step > 0 ? (uint64_t)step : -(uint64_t)step) + 1;
}

/* The same for floats; -1 if there is no such number, or it is too large. */
static double count_floats(double start, double stop, double step)
{
    double n = ceil((stop - start) / step);
    if (!isfinite(start) || !isfinite(stop) || !isfinite(step) || n >= 0x1p62)
        return -1;
    return fmax(n, 0);
}

static double number(const ig_arg *a) { return a->kind == IG_ARG_INT ? (double)a->u.i : a->u.f; }

/* start + i * step for the i64 indices i, each operation in dtype. */
static ig_array *sequence(ig_array *i, ig_array *start, ig_array *step, ig_dtype dtype)
{
    return ig_add(ig_multiply(build_cast(i, dtype), step), start);
}

int op_arange(op_id op, const ig_arg *args, ig_array **out)
{
    static const ig_arg zero = {.kind = IG_ARG_INT};
    bool one = args[1].kind == IG_ARG_NONE;
    const ig_arg *start = one ? &zero : &args[0], *stop = one ? &args[0] : &args[1],
                 *step = &args[2];
    bool ints = start->kind == IG_ARG_INT && stop->kind == IG_ARG_INT && step->kind == IG_ARG_INT;
    ig_dtype dtype = arg_dtype(&args[3], ints ? IG_I64 : ig_default_dtype());
    int64_t n, size;
    if (number(step) == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "arange: step is 0, so stop is never reached");
    if (ints) {
        uint64_t count = count_ints(start->u.i, stop->u.i, step->u.i);
        n = count > INT64_MAX ? INT64_MAX : (int64_t)count;
    } else {
        n = (int64_t)count_floats(number(start), number(stop), number(step));
        if (n < 0)
            FAIL_NONE(IG_ERR_ARGUMENT,
                      "arange: from %g to %g by %g is not a number of elements that "
                      "an array can have",
                      number(start), number(stop), number(step));
    }
    if (infer_size(op, 1, &n, IG_F64, &size) != IG_OK)
        return 0;
    ig_array *i = build_iota(1, &n);
    /* Floats are computed in f64 for every result dtype: the sums are then exact to the result's last bit. */
    ig_array *y = ints ? sequence(i, build_scalar_int(start->u.i, IG_I64),
                                  build_scalar_int(step->u.i, IG_I64), IG_I64)
                       : sequence(i, build_scalar(number(start), IG_F64),
                                  build_scalar(number(step), IG_F64), IG_F64);
    return op_one(out, build_cast(y, dtype));
}

int op_linspace(op_id op, const ig_arg *args, ig_array **out)
{
    double start = args[0].u.f, stop = args[1].u.f;
    int64_t n = args[2].u.i, size;
    ig_dtype dtype = arg_dtype(&args[3], ig_default_dtype());
    bool endpoint = args[4].u.b;
    if (n < 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "linspace: num is %lld; give 0 or more", (long long)n);
    if (infer_size(op, 1, &n, IG_F64, &size) != IG_OK)
        return 0;
    double parts = (double)(endpoint ? n - 1 : n);
    ig_array *i = build_iota(1, &n);
    ig_array *y = sequence(i, build_scalar(start, IG_F64),
                           build_scalar(parts > 0 ? (stop - start) / parts : 0, IG_F64), IG_F64);
    if (endpoint && n > 1)
        y = ig_where(ig_equal(i, ig_int(n - 1)), build_scalar(stop, IG_F64), y);
    return op_one(out, build_cast(dtype_is_int(dtype) ? ig_floor(y) : y, dtype));
}

/* ---- diagonals and triangles ---- */

/* bool (rows, cols): where compare(row + k, col) holds. */
static ig_array *diagonal_mask(ig_array *compare(ig_array *, ig_array *), int64_t rows,
                               int64_t cols, int64_t k)
{
    ig_array *row = build_iota(2, (int64_t[]){rows, 1}), *col = build_iota(1, &cols);
    return compare(ig_add(row, build_scalar_int(k, IG_I64)), col);
}

int op_eye(op_id op, const ig_arg *args, ig_array **out)
{
    int64_t rows = args[0].u.i, cols = args[1].kind == IG_ARG_INT ? args[1].u.i : rows, size;
    ig_dtype dtype = arg_dtype(&args[3], ig_default_dtype());
    if (infer_size(op, 2, (int64_t[]){rows, cols}, IG_I64, &size) != IG_OK)
        return 0;
    return op_one(out, build_cast(diagonal_mask(ig_equal, rows, cols, args[2].u.i), dtype));
}

/* x on one side of the k-th diagonal and on it, else 0, also where x is NaN. */
int op_triangle(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int ndim = x->view.ndim;
    if (ndim < 2)
        FAIL_NONE(IG_ERR_SHAPE, "%s: x has %d dimension%s, but needs at least 2", op_rows[op].name,
                  ndim, ndim == 1 ? "" : "s");
    ig_array *keep = diagonal_mask(op == OP_tril ? ig_greater_equal : ig_less_equal,
                                   x->view.shape[ndim - 2], x->view.shape[ndim - 1], args[1].u.i);
    return op_one(out, ig_where(keep, x, build_scalar(0, x->dtype)));
}
