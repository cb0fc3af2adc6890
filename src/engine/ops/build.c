/* Building blocks of all builders: constants, views, nodes, and the builder of elementwise ops. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/builders.h"
#include "engine/ops/checks.h"
#include "engine/ops/complex.h"
#include "engine/ops/constant.h"
#include "engine/ops/layout.h"
#include <math.h>
#include <string.h>

/* ---- constants and data ---- */

ig_array *build_scalar(double value, ig_dtype dtype)
{
    uint64_t bits;
    dtype_store(dtype, &bits, value);
    return array_number(dtype, &bits);
}

ig_array *build_scalar_int(int64_t value, ig_dtype dtype)
{
    uint64_t bits;
    dtype_store_int(dtype, &bits, value);
    return array_number(dtype, &bits);
}

static ig_array *fixed(ig_array *x)
{
    if (x)
        x->is_fixed = true;
    return x;
}

ig_array *build_beside(const ig_array *x, double value)
{
    if (!x)
        return NULL;
    return x->weak || !dtype_is_float((ig_dtype)x->dtype)
               ? ig_float(value)
               : fixed(build_scalar(value, (ig_dtype)x->dtype));
}

static ig_array *weakened(ig_array *x)
{
    if (x)
        x->weak = true;
    return x;
}

ig_array *ig_int(int64_t value) { return weakened(build_scalar_int(value, IG_I64)); }
ig_array *ig_float(double value) { return weakened(build_scalar(value, IG_F64)); }
ig_array *ig_bool(bool value) { return weakened(build_scalar(value, IG_BOOL)); }

ig_array *ig_scalar(double value, ig_dtype dtype)
{
    if (ig_dtype_bytes(dtype) == 0)
        FAIL_NULL(IG_ERR_DTYPE, "scalar: %d is not a dtype", (int)dtype);
    return build_scalar(value, dtype);
}

/* An array over the elements in b; takes over the reference. */
static ig_array *leaf(ig_dtype dtype, ig_ints shape, buffer *b)
{
    if (!dtype_is_complex(dtype))
        return array_leaf(dtype, shape.n, shape.v, b);
    int64_t pairs[IG_MAX_NDIM + 1];
    if (shape.n == IG_MAX_NDIM) {
        buffer_release(b);
        FAIL_NULL(IG_ERR_SHAPE, "complex arrays have at most %d dimensions", IG_MAX_NDIM - 1);
    }
    memcpy(pairs, shape.v, (size_t)shape.n * sizeof *pairs);
    pairs[shape.n] = 2;
    return complex_of_pairs(array_leaf(dtype_part(dtype), shape.n + 1, pairs, b));
}

ig_array *ig_from_data(const void *data, ig_ints shape, ig_dtype dtype)
{
    int64_t size;
    if (ig_dtype_bytes(dtype) == 0)
        FAIL_NULL(IG_ERR_DTYPE, "from_data: %d is not a dtype", (int)dtype);
    if (require_list("from_data", "shape", shape.v, shape.n) != IG_OK ||
        infer_size(OP_reshape, shape.n, shape.v, dtype, &size) != IG_OK ||
        (size && require_pointer("from_data", "data", data) != IG_OK))
        return NULL;
    buffer *b = buffer_new((size_t)size * ig_dtype_bytes(dtype));
    if (!b)
        return NULL;
    if (b->bytes)
        memcpy(b->data, data, b->bytes);
    return leaf(dtype, shape, b);
}

/* Loops read whole vectors: up to this many bytes past the last element, whose values they ignore. */
enum { READ_PAST_BYTES = 64, LEAST_PAGE_BYTES = 4096 };

/* True if reading past the end of data cannot fail: the block is long enough, or its last byte is in the
 * same page. A sanitizer does not accept the second reason. */
static bool may_read_past(const void *data, size_t bytes, size_t block_bytes)
{
    if (block_bytes - bytes >= READ_PAST_BYTES)
        return true;
#if defined(__SANITIZE_ADDRESS__)
    return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return false;
#endif
#endif
    const uintptr_t last = (uintptr_t)data + bytes - 1;
    return last / LEAST_PAGE_BYTES == (last + READ_PAST_BYTES) / LEAST_PAGE_BYTES;
}

ig_array *ig_from_memory(void *data, size_t bytes, ig_ints shape, ig_dtype dtype,
                         void (*release)(void *context), void *context)
{
    const size_t width = ig_dtype_bytes(dtype);
    ig_array *x = NULL;
    int64_t size = 0;
    bool direct = false;
    if (width == 0)
        ig_fail(IG_ERR_DTYPE, "from_memory: %d is not a dtype", (int)dtype);
    else if (require_list("from_memory", "shape", shape.v, shape.n) == IG_OK &&
             infer_size(OP_reshape, shape.n, shape.v, dtype, &size) == IG_OK &&
             require_pointer("from_memory", "data", data) == IG_OK) {
        const size_t needed = (size_t)size * width;
        if (needed > bytes) {
            ig_fail(IG_ERR_ARGUMENT, "from_memory: the array needs %zu bytes, but data has %zu",
                    needed, bytes);
        } else {
            direct = needed && (uintptr_t)data % width == 0 && may_read_past(data, needed, bytes);
            buffer *b = direct ? buffer_foreign(data, needed, release, context) : NULL;
            x = !direct ? ig_from_data(data, shape, dtype) : b ? leaf(dtype, shape, b) : NULL;
        }
    }
    if (!direct && release) /* copied, or failed */
        release(context);
    return x;
}

/* ---- views ---- */

ig_array *build_broadcast(op_id op, ig_array *x, int ndim, const int64_t *shape)
{
    view v;
    if (ndim > IG_MAX_NDIM)
        FAIL_NULL(IG_ERR_SHAPE, "%s: the shape has %d axes; the most is %d", op_rows[op].name, ndim,
                  IG_MAX_NDIM);
    if (!x ||
        (x->view.ndim == ndim && memcmp(x->view.shape, shape, (size_t)ndim * sizeof *shape) == 0))
        return x;
    if (array_is_complex(x)) {
        const pair p = complex_parts(x);
        return complex_make(
            (pair){build_broadcast(op, p.re, ndim, shape), build_broadcast(op, p.im, ndim, shape)});
    }
    if (!view_broadcast(&x->view, ndim, shape, &v)) {
        char have[400], want[400];
        FAIL_NULL(IG_ERR_SHAPE, "%s: shape %s does not broadcast to %s", op_rows[op].name,
                  view_shape_text(x->view.ndim, x->view.shape, have),
                  view_shape_text(ndim, shape, want));
    }
    return array_view(op, x, &v);
}

ig_array *build_reshape(op_id op, ig_array *x, int ndim, const int64_t *shape)
{
    view v;
    if (!x)
        return NULL;
    if (array_is_complex(x)) {
        const pair p = complex_parts(x);
        return complex_make(
            (pair){build_reshape(op, p.re, ndim, shape), build_reshape(op, p.im, ndim, shape)});
    }
    if (!view_reshape(&x->view, ndim, shape, &v)) {
        x = build_contiguous(x);
        if (!x || !view_reshape(&x->view, ndim, shape, &v))
            return NULL;
    }
    return array_view(op, x, &v);
}

ig_array *build_permute(op_id op, ig_array *x, const int *axes)
{
    view v;
    if (!x)
        return NULL;
    if (array_is_complex(x)) {
        const pair p = complex_parts(x);
        return complex_make((pair){build_permute(op, p.re, axes), build_permute(op, p.im, axes)});
    }
    view_permute(&x->view, axes, &v);
    return array_view(op, x, &v);
}

ig_array *build_axis_last(op_id op, ig_array *x, int axis)
{
    int axes[IG_MAX_NDIM], n = 0;
    if (!x || axis == x->view.ndim - 1)
        return x;
    for (int i = 0; i < x->view.ndim; i++)
        if (i != axis)
            axes[n++] = i;
    axes[n] = axis;
    return build_permute(op, x, axes);
}

ig_array *build_axis_back(op_id op, ig_array *x, int axis)
{
    int axes[IG_MAX_NDIM];
    if (!x || axis == x->view.ndim - 1)
        return x;
    for (int i = 0; i < x->view.ndim; i++)
        axes[i] = i < axis ? i : i == axis ? x->view.ndim - 1 : i - 1;
    return build_permute(op, x, axes);
}

/* ---- nodes ---- */

/* A map node of inputs of one shape, apart from numbers, in the order of memory of x. */
static ig_array *map_in_order(op_id op, ig_dtype dtype, const int *axes, ig_array *const *x, int n)
{
    ig_array *in[3];
    const ig_array *like = NULL;
    for (int i = 0; i < n; i++) {
        if (!(in[i] = x[i]->is_number ? x[i] : build_permute(OP_permute_dims, x[i], axes)))
            return NULL;
        like = x[i]->is_number ? like : in[i];
    }
    return layout_back(array_node(op, dtype, like->view.ndim, like->view.shape, in, n, NULL), axes);
}

/* A map node of inputs that have the shape, apart from numbers. */
static ig_array *map_node(op_id op, ig_dtype dtype, int ndim, const int64_t *shape,
                          ig_array *const *x, int n)
{
    int axes[IG_MAX_NDIM];
    for (int i = 0; i < n; i++)
        if (x[i]->root->keeps_layout && layout_kept(x[i], axes))
            return map_in_order(op, dtype, axes, x, n);
    return array_node(op, dtype, ndim, shape, x, n, NULL);
}

/* The input whose shape all other inputs have, apart from numbers. NULL if the shapes differ, or if a result of that
 * shape and dtype could be too large. Usually there is one. */
static const ig_array *common_shape(ig_dtype dtype, ig_array *const *x, int n)
{
    const ig_array *like = NULL;
    for (int i = 0; i < n; i++) {
        if (x[i]->is_number)
            continue;
        if (!like)
            like = x[i];
        bool same = x[i]->view.ndim == like->view.ndim;
        for (int a = 0; same && a < like->view.ndim; a++)
            same = x[i]->view.shape[a] == like->view.shape[a];
        if (!same)
            return NULL;
    }
    return like && ig_dtype_bytes(dtype) <= ig_dtype_bytes((ig_dtype)like->dtype) ? like : NULL;
}

ig_array *build_map(op_id op, ig_dtype dtype, ig_array *const *x, int n)
{
    ig_array *in[3];
    int ndim;
    int64_t shape[IG_MAX_NDIM], size;
    for (int i = 0; i < n; i++)
        if (!x[i])
            return NULL;
    const ig_array *like = common_shape(dtype, x, n);
    if (like)
        return map_node(op, dtype, like->view.ndim, like->view.shape, x, n);
    if (infer_broadcast(op, x, n, &ndim, shape) != IG_OK ||
        infer_size(op, ndim, shape, dtype, &size) != IG_OK)
        return NULL;
    for (int i = 0; i < n; i++) /* a number needs no view: see array.h */
        if (!(in[i] = x[i]->is_number ? x[i] : build_broadcast(op, x[i], ndim, shape)))
            return NULL;
    return map_node(op, dtype, ndim, shape, in, n);
}

/* Converts a weak scalar. An integer that does not fit the dtype is an error. */
static ig_array *cast_weak(ig_array *x, ig_dtype dtype)
{
    const void *value = array_number_of(x);
    if (dtype_kind_of(x->dtype) == DTYPE_KIND_FLOAT || !dtype_is_int(dtype)) {
        return x->dtype == IG_I64 ? build_scalar_int(*(const int64_t *)value, dtype)
                                  : build_scalar(dtype_fetch(x->dtype, value), dtype);
    }
    ig_iinfo info;
    int64_t number = dtype_fetch_int(x->dtype, value);
    ig_iinfo_of(dtype, &info);
    if (number < info.min || (number > 0 && (uint64_t)number > info.max))
        FAIL_NULL(IG_ERR_ARGUMENT, "the number %lld does not fit %s; convert the array with astype",
                  (long long)number, ig_dtype_name(dtype));
    return build_scalar_int(number, dtype);
}

ig_array *build_cast(ig_array *x, ig_dtype dtype)
{
    if (!x)
        return NULL;
    if (dtype_is_complex(dtype))
        return complex_cast(x, dtype);
    if (array_is_complex(x) && dtype == IG_BOOL)
        return ig_not_equal(x, ig_float(0));
    if (array_is_complex(x))
        FAIL_NULL(IG_ERR_DTYPE, "astype: %s does not become %s; take real(x), imag(x) or abs(x)",
                  ig_dtype_name((ig_dtype)x->dtype), ig_dtype_name(dtype));
    if (x->weak && array_number_of(x))
        return cast_weak(x, dtype);
    ig_array *number;
    if (x->dtype != dtype && constant_cast(x, dtype, &number))
        return number;
    return x->dtype == dtype && !x->weak
               ? x
               : map_node(OP_astype, dtype, x->view.ndim, x->view.shape, &x, 1);
}

ig_array *ig_weak(ig_array *x)
{
    if (require_pointer("weak", "x", x) != IG_OK)
        return NULL;
    if (x->view.ndim != 0 || dtype_is_complex(x->dtype) || x->dtype == IG_BOOL)
        FAIL_NULL(IG_ERR_ARGUMENT, "weak: x must be a 0-d array of floats or integers; take one "
                                   "element of it");
    /* A map node, because weak leaves are converted by copying them, which would cut off gradients. */
    return weakened(array_node(OP_positive, x->dtype, 0, NULL, &x, 1, NULL));
}

ig_array *build_copy(ig_array *x)
{
    return array_node(OP_astype, x->dtype, x->view.ndim, x->view.shape, &x, 1, NULL);
}

ig_array *build_contiguous(ig_array *x)
{
    return !x || view_is_contiguous(&x->view) ? x : build_copy(x);
}

ig_array *build_fill(double value, ig_dtype dtype, int ndim, const int64_t *shape)
{
    return build_broadcast(OP_full, build_scalar(value, dtype), ndim, shape);
}

ig_array *build_iota(int ndim, const int64_t *shape)
{
    return array_node(OP_iota, IG_I64, ndim, shape, NULL, 0, NULL);
}

ig_array *build_assemble(op_id op, ig_dtype dtype, int ndim, const int64_t *shape,
                         ig_array *const *parts, view *dst, int n)
{
    int64_t size;
    if (!dst)
        return NULL;
    if (infer_size(op, ndim, shape, dtype, &size) != IG_OK) {
        memory_free(dst);
        return NULL;
    }
    return array_node(OP_assemble, dtype, ndim, shape, parts, n, &(node_attr){.dst = dst});
}

/* ---- the elementwise rule ---- */

/* The dtype in which a row computes, given the promoted dtype of its inputs. */
static ig_status accept(op_id op, ig_dtype *dtype)
{
    ig_dtype d = *dtype;
    const char *wants = NULL;
    switch (op_rows[op].accepts) {
    case ACCEPTS_FLOAT: *dtype = dtype_is_float(d) ? d : ig_default_dtype(); break;
    case ACCEPTS_BOOL: *dtype = IG_BOOL; break;
    case ACCEPTS_ROUND:
    case ACCEPTS_NUM: wants = d == IG_BOOL ? "numbers" : NULL; break;
    case ACCEPTS_INT: wants = !dtype_is_int(d) ? "integers" : NULL; break;
    case ACCEPTS_BITS: wants = dtype_is_float(d) ? "integers or bool" : NULL; break;
    default: break;
    }
    if (wants)
        FAIL(IG_ERR_DTYPE, "%s takes %s, not %s; convert with astype", op_rows[op].name, wants,
             ig_dtype_name(d));
    return IG_OK;
}

/* nextafter of f16 or bf16, computed in f32, which has smaller steps: x is moved by 0.6 of its largest
 * step, which rounds to the neighbour on both sides of a power of 2. */
static ig_array *half_nextafter(ig_array *const half[2], ig_dtype dtype)
{
    ig_finfo info;
    if (ig_finfo_of(dtype, &info) != IG_OK)
        return NULL;
    ig_array *x = build_cast(half[0], IG_F32), *y = build_cast(half[1], IG_F32);
    const double least = info.smallest_normal * info.eps;
    ig_array *step =
        ig_maximum(ig_multiply(ig_abs(x), ig_float(0.6 * info.eps)), ig_float(0.6 * least));
    ig_array *moved = ig_add(x, ig_multiply(ig_sign(ig_subtract(y, x)), step));
    /* From infinity to the largest number, or to NaN if y is NaN. */
    ig_array *inside =
        ig_add(ig_copysign(ig_float(info.max), x), ig_multiply(ig_sign(y), ig_float(0)));
    moved = ig_where(ig_isinf(x), inside, moved);
    return build_cast(ig_where(ig_equal(x, y), y, moved), dtype);
}

/* x, an array of integers, checked during evaluation: where bad is true, the evaluation fails. */
static ig_array *checked(ig_array *x, ig_array *bad, check_row row)
{
    const int64_t length = CHECK_LENGTH + row;
    ig_array *index = ig_where(bad, build_scalar_int(length, IG_I64), build_scalar_int(0, IG_I64));
    ig_array *zero = ig_take(build_fill(0, (ig_dtype)x->dtype, 1, &length), index, IG_AXES(0));
    return ig_bitwise_or(x, zero);
}

/* Integers have no result for a division by 0 and for a negative power of 0. A number is checked now, an array during
 * evaluation. x[1] becomes the checked array. */
static ig_status check_integers(op_id op, ig_array *x[2])
{
    const bool power = op == OP_pow;
    const void *number = array_number_of(x[1]);
    const double value = number ? dtype_fetch((ig_dtype)x[1]->dtype, number) : 0;
    if ((number && (power ? value >= 0 : value != 0)) || view_size(&x[0]->view) == 0 ||
        (power && dtype_kind_of((ig_dtype)x[1]->dtype) == DTYPE_KIND_UNSIGNED))
        return IG_OK;
    if (number && !power)
        FAIL(IG_ERR_ARGUMENT, "%s: an integer is divided by 0", op_rows[op].name);
    ig_array *zero = build_scalar_int(0, (ig_dtype)x[1]->dtype);
    ig_array *bad = ig_equal(power ? x[0] : x[1], zero);
    if (power)
        bad = ig_logical_and(bad, ig_less(x[1], zero));
    const check_row row = power                   ? CHECK_pow
                          : op == OP_floor_divide ? CHECK_floor_divide
                                                  : CHECK_remainder;
    x[1] = checked(x[1], bad, row);
    return x[1] ? IG_OK : IG_ERR_ARGUMENT;
}

int op_elementwise(op_id op, const ig_arg *args, ig_array **out)
{
    const op_row *row = &op_rows[op];
    ig_array *x[2] = {NULL, NULL};
    ig_dtype dtype;
    for (int i = 0; i < row->arity; i++)
        x[i] = args[i].u.array;
    const ig_array *last = x[row->arity - 1];
    if (x[0] && last && x[0]->dtype == last->dtype && !x[0]->weak && !last->weak) /* usually */
        dtype = (ig_dtype)x[0]->dtype;
    else if (infer_dtype(op, x, row->arity, &dtype) != IG_OK)
        return 0;
    if (dtype_is_complex(dtype))
        return complex_map(op, x, out);
    if (accept(op, &dtype) != IG_OK)
        return 0;
    if ((x[0]->is_constant || last->is_constant) && constant_map(op, x, dtype, out))
        return *out != NULL;
    if (row->accepts == ACCEPTS_ROUND && !dtype_is_float(dtype))
        return op_one(out, x[0]);
    if (op == OP_bitwise_invert && dtype == IG_BOOL)
        op = OP_logical_not;
    for (int i = 0; i < row->arity; i++)
        if (!(x[i] = build_cast(x[i], dtype)))
            return 0;
    if (op == OP_nextafter && dtype_is_half(dtype))
        return op_one(out, half_nextafter(x, dtype));
    if ((op == OP_floor_divide || op == OP_remainder || op == OP_pow) && dtype_is_int(dtype) &&
        check_integers(op, x) != IG_OK)
        return 0;
    return op_one(out, build_map(op, row->result == RESULT_TRUTH ? IG_BOOL : dtype, x, row->arity));
}

int op_where(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[3] = {build_cast(args[0].u.array, IG_BOOL), args[1].u.array, args[2].u.array};
    ig_dtype dtype;
    if (!x[0] || infer_dtype(op, x + 1, 2, &dtype) != IG_OK)
        return 0;
    x[1] = build_cast(x[1], dtype);
    x[2] = build_cast(x[2], dtype);
    return op_one(out, build_map(op, dtype, x, 3));
}

int op_astype(op_id op, const ig_arg *args, ig_array **out)
{
    (void)op; /* copy=True asks for a new array; arrays are immutable, so x itself is returned */
    ig_array *x = args[0].u.array;
    const void *number = x->weak ? array_number_of(x) : NULL;
    ig_array *y = number && dtype_is_float(x->dtype) && dtype_is_int(args[1].u.dtype)
                      ? build_scalar(dtype_fetch(x->dtype, number), args[1].u.dtype)
                      : build_cast(x, args[1].u.dtype);
    return op_one(out, y);
}
