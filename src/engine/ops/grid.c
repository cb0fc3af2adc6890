/* Builders of diagonals, grids, index arrays and strided views. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include <math.h>
#include <string.h>

/* ---- diagonals ---- */

/* A matrix with x, which is 1-d, on its k-th diagonal. Element (i, j) of the diagonal is x[i] if k >= 0, else x[j]. */
static ig_array *diagonal_matrix(op_id op, ig_array *x, int64_t k)
{
    const int64_t wide = k < 0 ? -k : k, n = ig_size(x) + wide;
    int64_t size;
    if (!x || infer_size(op, 2, (int64_t[]){n, n}, IG_C128, &size) != IG_OK)
        return NULL;
    ig_array *mask = ig_eye(n, n, k, IG_BOOL),
             *padded = ig_pad(x, IG_SHAPE(0, wide), "constant", shape_zero(x));
    return ig_where(mask, ig_expand_dims(padded, IG_AXES(k < 0 ? 0 : 1)), shape_zero(x));
}

BUILDER(diag)
{
    ig_array *x = args[0].u.array;
    if (x->view.ndim == 2)
        return op_one(out, ig_diagonal(x, args[1].u.i));
    if (x->view.ndim != 1)
        FAIL_NONE(IG_ERR_SHAPE, "diag: x has %d dimensions; give 1 or 2", x->view.ndim);
    return op_one(out, diagonal_matrix(op, x, args[1].u.i));
}

BUILDER(diagflat)
{
    ig_array *x = move_settle(args[0].u.array);
    return op_one(out, diagonal_matrix(op, ig_reshape(x, IG_SHAPE(-1)), args[1].u.i));
}

/* The diagonal is every step-th element in row-major order, before `end`. */
BUILDER(fill_diagonal)
{
    ig_array *x = args[0].u.array, *value = shape_fit(op, "val", x, args[1].u.array);
    const view *v = &x->view;
    int64_t step = 1, inner = 1, end = ig_size(x);
    if (v->ndim < 2)
        FAIL_NONE(IG_ERR_SHAPE, "fill_diagonal: x has %d dimension%s, but needs at least 2",
                  v->ndim, v->ndim == 1 ? "" : "s");
    for (int a = v->ndim - 1; a > 0; a--) {
        step += inner *= v->shape[a];
        if (v->ndim > 2 && v->shape[a] != v->shape[0])
            FAIL_NONE(IG_ERR_SHAPE, "fill_diagonal: axes 0 and %d of x differ in length", a);
    }
    if (v->ndim == 2 && !args[2].u.b && v->shape[1] < v->shape[0])
        end = v->shape[1] * v->shape[1];
    ig_array *at = build_iota(v->ndim, v->shape), *number = ig_floor_divide(at, ig_int(step));
    ig_array *on = ig_logical_and(ig_equal(ig_remainder(at, ig_int(step)), ig_int(0)),
                                  ig_less(at, ig_int(end)));
    if (value && value->view.ndim > 0) {
        if (ig_size(value) == 0)
            FAIL_NONE(IG_ERR_SHAPE, "fill_diagonal: val has no elements");
        value = ig_take(ig_reshape(value, IG_SHAPE(-1)),
                        ig_remainder(number, ig_int(ig_size(value))), IG_AXES(0));
    }
    return op_one(out, ig_where(on, value, x));
}

/* ---- strided views ---- */

BUILDER(sliding_window_view)
{
    ig_array *x = args[0].u.array;
    if (array_is_complex(x)) {
        const pair p = complex_parts(x);
        const ig_ints shape = args[1].u.ints, axis = arg_ints(&args[2]);
        return op_one(out, complex_make((pair){ig_sliding_window_view(p.re, shape, axis),
                                               ig_sliding_window_view(p.im, shape, axis)}));
    }
    const ig_ints window = args[1].u.ints;
    int axes[IG_MAX_NDIM], n = window.n;
    if (args[2].kind == IG_ARG_NONE && n != x->view.ndim)
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "sliding_window_view: window_shape has %d lengths, but x has %d axes; give axis",
                  n, x->view.ndim);
    if (args[2].kind != IG_ARG_NONE && args[2].u.ints.n != n)
        FAIL_NONE(IG_ERR_ARGUMENT, "sliding_window_view: %d lengths for %d axes; give as many", n,
                  args[2].u.ints.n);
    if (x->view.ndim + n > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE,
                  "sliding_window_view: the result has more dimensions than the %d that Ingot has",
                  IG_MAX_NDIM);
    view v = x->view;
    for (int i = 0; i < n; i++) { /* an axis may be given twice */
        axes[i] = i;
        if (args[2].kind != IG_ARG_NONE &&
            infer_axis(op, args[2].u.ints.v[i], x->view.ndim, &axes[i]) != IG_OK)
            return 0;
        const int64_t length = v.shape[axes[i]], own = window.v[i];
        if (own < 0 || own > length)
            FAIL_NONE(IG_ERR_SHAPE,
                      "sliding_window_view: a window of %lld does not fit axis %d of length %lld",
                      (long long)own, axes[i], (long long)length);
        axis_insert(&v, v.ndim, own, v.stride[axes[i]]);
        v.shape[axes[i]] = length - own + 1;
    }
    return op_one(out, array_view(op, x, &v));
}

BUILDER(as_strided)
{
    ig_array *x = build_contiguous(move_settle(args[0].u.array));
    const ig_ints shape = args[1].u.ints, strides = args[2].u.ints;
    int64_t size, low = args[3].u.i, high = low, have = ig_size(x);
    bool fits = x && shape.n == strides.n;
    if (x && !fits)
        FAIL_NONE(IG_ERR_ARGUMENT, "as_strided: %d lengths and %d strides; give as many", shape.n,
                  strides.n);
    if (!x || infer_size(op, shape.n, shape.v, IG_F64, &size) != IG_OK)
        return 0;
    view v;
    view_contiguous(&v, shape.n, shape.v);
    for (int a = 0; a < shape.n && size > 0; a++) {
        int64_t reach;
        fits = fits && !__builtin_mul_overflow(shape.v[a] - 1, strides.v[a], &reach) &&
               !__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
        v.stride[a] = strides.v[a];
    }
    if (size > 0 && (!fits || low < 0 || high >= have))
        FAIL_NONE(IG_ERR_INDEX, "as_strided: elements %lld to %lld are read, but x has %lld",
                  (long long)low, (long long)high, (long long)have);
    v.offset = size > 0 ? x->view.offset + args[3].u.i : x->view.offset;
    return op_one(out, array_view(op, x, &v));
}

/* ---- numbers ---- */

BUILDER(tri)
{
    const int64_t rows = args[0].u.i, cols = args[1].kind == IG_ARG_INT ? args[1].u.i : rows;
    int64_t size;
    if (infer_size(op, 2, (int64_t[]){rows, cols}, IG_I64, &size) != IG_OK)
        return 0;
    ig_array *row = build_iota(2, (int64_t[]){rows, 1}), *col = build_iota(1, &cols);
    ig_array *below = ig_less_equal(col, ig_add(row, build_scalar_int(args[2].u.i, IG_I64)));
    return op_one(out, build_cast(below, arg_dtype(&args[3], ig_default_dtype())));
}

/* Powers of base with evenly spaced exponents, computed in f64. */
static ig_array *powers(double start, double stop, int64_t num, bool endpoint, double base)
{
    ig_array *exponent = ig_linspace(start, stop, num, IG_F64, endpoint);
    return ig_pow(build_scalar(base, IG_F64), exponent);
}

BUILDER(logspace)
{
    const ig_dtype dtype = arg_dtype(&args[5], ig_default_dtype());
    return op_one(
        out,
        build_cast(powers(args[0].u.f, args[1].u.f, args[2].u.i, args[3].u.b, args[4].u.f), dtype));
}

/* The first and the last value are exact. */
BUILDER(geomspace)
{
    const double start = args[0].u.f, stop = args[1].u.f, sign = start < 0 ? -1 : 1;
    const int64_t n = args[2].u.i;
    if (!(start * sign > 0 && stop * sign > 0))
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "geomspace: from %g to %g; give two numbers of the same sign, not 0", start,
                  stop);
    ig_array *y = powers(log10(start * sign), log10(stop * sign), n, args[3].u.b, 10);
    ig_array *i = y ? build_iota(1, &n) : NULL;
    y = ig_where(ig_equal(i, ig_int(0)), build_scalar(start, IG_F64), ig_times(y, sign));
    if (args[3].u.b && n > 1)
        y = ig_where(ig_equal(i, ig_int(n - 1)), build_scalar(stop, IG_F64), y);
    return op_one(out, build_cast(y, arg_dtype(&args[4], ig_default_dtype())));
}

/* ---- indices ---- */

/* The index along one axis of each element of an array of that shape, as a view. */
static ig_array *axis_indices(op_id op, ig_ints shape, int axis)
{
    int64_t column[IG_MAX_NDIM], size;
    if (infer_size(op, shape.n, shape.v, IG_I64, &size) != IG_OK)
        return NULL;
    for (int a = 0; a < shape.n; a++)
        column[a] = a == axis ? shape.v[a] : 1;
    return build_broadcast(op, build_iota(shape.n, column), shape.n, shape.v);
}

BUILDER(indices)
{
    const ig_ints shape = args[0].u.ints;
    ig_array *each[IG_MAX_NDIM];
    if (shape.n == 0 || shape.n >= IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "indices: %d dimensions; give 1 to %d", shape.n, IG_MAX_NDIM - 1);
    for (int a = 0; a < shape.n; a++)
        if (!(each[a] = axis_indices(op, shape, a)))
            return 0;
    return op_one(out, build_cast(ig_stack(each, shape.n, 0), arg_dtype(&args[1], IG_I64)));
}

BUILDER(broadcasted_iota)
{
    const ig_ints shape = args[1].u.ints;
    int axis;
    if (infer_axis(op, args[2].u.i, shape.n, &axis) != IG_OK)
        return 0;
    return op_one(out, build_cast(axis_indices(op, shape, axis), args[0].u.dtype));
}

BUILDER(diag_indices)
{
    const int64_t n = args[0].u.i, ndim = args[1].u.i;
    int64_t size;
    if (ndim < 1 || ndim > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_ARGUMENT, "diag_indices: ndim is %lld; give 1 to %d", (long long)ndim,
                  IG_MAX_NDIM);
    if (infer_size(op, 1, &n, IG_I64, &size) != IG_OK)
        return 0;
    for (int64_t i = 0; i < ndim; i++)
        if (!(out[i] = build_iota(1, &n)))
            return 0;
    return (int)ndim;
}

/* Rows and columns of a triangle, counted on the host: nothing but numbers says how many there are. */
BUILDER(triangle_indices)
{
    const int64_t rows = args[0].u.i, k = args[1].u.i,
                  cols = args[2].kind == IG_ARG_INT ? args[2].u.i : rows;
    int64_t size, n = 0;
    if (infer_size(op, 2, (int64_t[]){rows, cols}, IG_I64, &size) != IG_OK)
        return 0;
    for (int pass = 0; pass < 2; pass++) {
        buffer *b[2] = {NULL, NULL};
        for (int i = 0; pass && i < 2; i++)
            if (!(b[i] = buffer_new((size_t)n * sizeof(int64_t)))) {
                buffer_release(b[0]);
                return 0;
            }
        int64_t count = 0;
        for (int64_t r = 0; r < rows; r++) {
            const int64_t edge = r + k; /* the column on the diagonal */
            int64_t from = op == OP_tril_indices || edge < 0 ? 0 : edge;
            const int64_t to = op == OP_tril_indices && edge + 1 < cols ? edge + 1 : cols;
            for (; from < to; from++, count++)
                if (pass) {
                    ((int64_t *)b[0]->data)[count] = r;
                    ((int64_t *)b[1]->data)[count] = from;
                }
        }
        n = count;
        for (int i = 0; pass && i < 2; i++)
            out[i] = array_leaf(IG_I64, 1, &n, b[i]);
    }
    return out[0] && out[1] ? 2 : 0;
}

/* Reads an array of length elements that takes no memory at the indices: the read checks them. */
ig_array *shape_checked(const char *who, ig_array *indices, int64_t length)
{
    if (!indices)
        return NULL;
    ig_array *refused = ig_bitwise_and(indices, build_scalar_int(~INDEX_REFUSED, IG_I64));
    ig_array *zero = index_take(who, build_fill(0, IG_I64, 1, &length), refused, 0);
    return ig_add(indices, zero);
}

BUILDER(unravel_index)
{
    const ig_ints shape = args[1].u.ints;
    ig_array *at = index_cast(op_rows[op].name, args[0].u.array);
    int64_t size;
    if (!at || infer_size(op, shape.n, shape.v, IG_I64, &size) != IG_OK)
        return 0;
    if (shape.n == 0)
        FAIL_NONE(IG_ERR_SHAPE, "unravel_index: shape has no axes");
    at = shape_checked(op_rows[op].name, at, size);
    for (int a = shape.n - 1; a >= 0; a--) {
        out[a] = a == 0 ? at : ig_remainder(at, ig_int(shape.v[a]));
        at = ig_floor_divide(at, ig_int(shape.v[a]));
        if (!out[a])
            return 0;
    }
    return shape.n;
}

BUILDER(ravel_multi_index)
{
    const ig_ints shape = args[1].u.ints;
    const char *who = op_rows[op].name, *mode = args[2].u.str;
    const bool wrap = strcmp(mode, "wrap") == 0, clip = strcmp(mode, "clip") == 0;
    ig_array *at = NULL;
    int64_t size;
    if (args[0].u.arrays.n != shape.n || shape.n == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: %d index arrays for %d axes; give as many", who,
                  args[0].u.arrays.n, shape.n);
    if (!wrap && !clip && strcmp(mode, "raise") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: mode is 'raise', 'wrap' or 'clip', not '%s'", who, mode);
    if (infer_size(op, shape.n, shape.v, IG_I64, &size) != IG_OK)
        return 0;
    for (int a = 0; a < shape.n; a++) {
        const int64_t n = shape.v[a];
        ig_array *own = args[0].u.arrays.v[a];
        if (wrap && own->dtype == IG_U64) /* before index_cast limits it */
            own = ig_remainder(own, ig_int(n));
        own = index_cast(who, own);
        own = wrap   ? ig_remainder(own, ig_int(n))
              : clip ? ig_clip(own, ig_int(0), ig_int(n - 1))
                     : shape_checked(who, own, n);
        at = a == 0 ? own : ig_add(ig_multiply(at, ig_int(n)), own);
    }
    return op_one(out, at);
}

/* ---- trim_zeros ---- */

BUILDER(trim_zeros)
{
    ig_array *x = args[0].u.array;
    const char *trim = args[1].u.str;
    int64_t n;
    if (x->view.ndim != 1)
        FAIL_NONE(IG_ERR_SHAPE, "trim_zeros: x has %d dimensions; give 1", x->view.ndim);
    if (trim[strspn(trim, "fbFB")])
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "trim_zeros: trim has the letters f (front) and b (back), not '%s'", trim);
    int64_t *at = mask_positions(build_cast(x, IG_BOOL), &n);
    if (!at)
        return 0;
    const int64_t from = n == 0 ? 0 : strpbrk(trim, "fF") ? at[0] : 0;
    const int64_t to = n == 0 ? 0 : strpbrk(trim, "bB") ? at[n - 1] + 1 : x->view.shape[0];
    memory_free(at);
    return op_one(out, shape_part(x, 0, from, to));
}
