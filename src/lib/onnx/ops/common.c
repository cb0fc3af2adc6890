/* Helpers that several groups of op functions share. */
#include "lib/onnx/ops/common.h"

#include <math.h>
#include <stdlib.h>

bool is_float(ig_dtype dtype) { return ig_isdtype(dtype, "real floating"); }
bool is_integer(ig_dtype dtype) { return ig_isdtype(dtype, "integral"); }

int64_t op_product(const int64_t *v, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(product, v[i], &product))
            return INT64_MAX;
    return product;
}

int64_t op_within(onnx_call *c, const char *where, int64_t number, int64_t low, int64_t high)
{
    if (number >= low && number <= high)
        return number;
    call_fail(c, IG_ERR_ARGUMENT, where, "%lld is out of range", (long long)number);
    return 0;
}

/* ---- axes ----------------------------------------------------------------------------------- */

int op_axis(onnx_call *c, int64_t axis, int ndim)
{
    if (axis >= -ndim && axis < ndim)
        return (int)(axis < 0 ? axis + ndim : axis);
    call_fail(c, IG_ERR_SHAPE, "axis", "axis %lld is out of range for %d axes", (long long)axis,
              ndim);
    return 0;
}

int op_attribute_axis(onnx_call *c, int64_t otherwise, int ndim)
{
    return op_axis(c, call_attribute_int(c, "axis", otherwise), ndim);
}

ig_ints op_axes(onnx_call *c, ig_ints axes, int ndim)
{
    bool is_in[IG_MAX_NDIM + 1] = {false};
    int64_t *sorted = call_room(c, axes.n + 1);
    int n = 0;
    for (int i = 0; i < axes.n && !ig_failed(); i++) {
        int axis = op_axis(c, axes.v[i], ndim);
        if (is_in[axis])
            call_fail(c, IG_ERR_ARGUMENT, "axes", "axis %d is given twice", axis);
        is_in[axis] = true;
    }
    for (int axis = 0; axis < ndim && sorted && !ig_failed(); axis++)
        if (is_in[axis])
            sorted[n++] = axis;
    return (ig_ints){sorted, n};
}

ig_ints op_list(onnx_call *c, const char *name, int since, int i)
{
    if (call_version(c) < since)
        return call_attribute_ints(c, name);
    return call_has(c, i) ? call_ints(c, i) : IG_NONE;
}

/* ---- arrays --------------------------------------------------------------------------------- */

ig_array **op_arrays(onnx_call *c, int *n)
{
    *n = call_inputs(c);
    ig_array **arrays = (ig_array **)(void *)call_room(c, *n + 1);
    for (int i = 0; i < *n && arrays; i++)
        arrays[i] = call_array(c, i);
    if (!arrays)
        *n = 0;
    return arrays;
}

ig_array *op_beside(ig_array *made, ig_array *x)
{
    return x ? ig_to_device(made, ig_array_device(x)) : NULL;
}

ig_array *op_iota(int64_t n, ig_dtype dtype, ig_array *x)
{
    return op_beside(ig_arange(0, (double)n, 1, dtype), x);
}

ig_array *op_numbers(const double *v, ig_ints shape, ig_dtype dtype, ig_array *x)
{
    const double none = 0;
    ig_array *host = ig_to_device(ig_from_data(v ? v : &none, shape, IG_F64), "cpu");
    return op_beside(ig_astype(host, dtype), x);
}

ig_array *op_host_ints(const int64_t *v, ig_ints shape)
{
    int64_t none = 0;
    return ig_to_device(ig_from_data(v ? v : &none, shape, IG_I64), "cpu");
}

ig_array *op_part(ig_array *x, int axis, int64_t start, int64_t stop)
{
    int64_t from[IG_MAX_NDIM] = {0}, to[IG_MAX_NDIM];
    for (int i = 0; i <= axis; i++)
        to[i] = INT64_MAX;
    from[axis] = start;
    to[axis] = stop;
    return ig_slice(x, (ig_ints){from, axis + 1}, (ig_ints){to, axis + 1}, IG_NONE);
}

ig_array *op_channels(ig_array *x, int ndim)
{
    int64_t shape[IG_MAX_NDIM] = {ig_size(x), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return x ? ig_reshape(x, (ig_ints){shape, ndim > 2 ? ndim - 1 : 1}) : NULL;
}

ig_array *pad_with(onnx_call *c, ig_array *x, const int64_t *before, const int64_t *after,
                   const char *mode, ig_array *value)
{
    int ndim = ig_ndim(x);
    int64_t from[IG_MAX_NDIM], to[IG_MAX_NDIM], widths[2 * IG_MAX_NDIM];
    bool crops = false, pads = false;
    for (int i = 0; i < ndim; i++) {
        int64_t length = ig_dim(x, i);
        op_within(c, "pads", before[i], -LENGTH_MOST, LENGTH_MOST);
        op_within(c, "pads", after[i], -LENGTH_MOST, LENGTH_MOST);
        if (ig_failed())
            return NULL;
        from[i] = before[i] < 0 ? -before[i] : 0;
        to[i] = after[i] < 0 ? length + after[i] : length;
        if (from[i] > to[i])
            call_fail(c, IG_ERR_SHAPE, "pads", "axis %d of length %lld is cropped by %lld", i,
                      (long long)length, (long long)-(before[i] + after[i]));
        crops = crops || from[i] > 0 || to[i] < length;
        widths[2 * i] = before[i] > 0 ? before[i] : 0;
        widths[2 * i + 1] = after[i] > 0 ? after[i] : 0;
        pads = pads || widths[2 * i] || widths[2 * i + 1];
    }
    if (ig_failed())
        return NULL;
    if (crops)
        x = ig_slice(x, (ig_ints){from, ndim}, (ig_ints){to, ndim}, IG_NONE);
    return pads ? ig_pad(x, (ig_ints){widths, 2 * ndim}, mode, value) : x;
}

ig_array *op_as(ig_array *x, ig_dtype dtype)
{
    return x && ig_dtype_of(x) != dtype ? ig_astype(x, dtype) : x;
}

ig_array *op_wide(ig_array *x)
{
    ig_dtype dtype = ig_dtype_of(x);
    return op_as(x, dtype == IG_F16 || dtype == IG_BF16 ? IG_F32 : dtype);
}

ig_array *op_extreme(ig_dtype dtype, bool highest)
{
    if (is_float(dtype))
        return ig_scalar(highest ? INFINITY : -INFINITY, dtype);
    if (dtype == IG_BOOL)
        return ig_astype(ig_bool(highest), IG_BOOL);
    ig_iinfo info = {0};
    ig_iinfo_of(dtype, &info);
    if (!highest)
        return ig_astype(ig_int(info.min), dtype);
    if (dtype == IG_U64)
        return ig_bitwise_invert(ig_scalar(0, IG_U64));
    return ig_astype(ig_int((int64_t)info.max), dtype);
}

/* ---- tensors of strings --------------------------------------------------------------------- */

static bool is_texts(onnx_call *c, int i)
{
    return ig_onnx_value_kind(call_value(c, i)) == IG_ONNX_TEXTS;
}

static int64_t text_count(onnx_call *c, int i)
{
    ig_ints shape = ig_onnx_value_shape(call_value(c, i));
    return op_product(shape.v, shape.n);
}

ig_array *op_tokens(onnx_call *c, int i)
{
    if (!is_texts(c, i))
        return call_array(c, i);
    int64_t before = 0, n = text_count(c, i);
    for (int k = 0; k < i; k++)
        before += is_texts(c, k) ? text_count(c, k) : 0;
    ig_array *tokens = ig_arange((double)before, (double)(before + n), 1, IG_I64);
    return ig_reshape(ig_to_device(tokens, "cpu"), ig_onnx_value_shape(call_value(c, i)));
}

static const char *find_text(onnx_call *c, int64_t token, size_t *bytes)
{
    for (int i = 0; i < call_inputs(c); i++) {
        if (!is_texts(c, i))
            continue;
        int64_t n = text_count(c, i);
        if (token < n)
            return ig_onnx_value_text(call_value(c, i), token, bytes);
        token -= n;
    }
    return NULL;
}

void op_return_tokens(onnx_call *c, int o, int i, ig_array *x)
{
    if (!is_texts(c, i)) {
        call_return_typed(c, o, x, call_type(c, i));
        return;
    }
    const int64_t *tokens = x ? call_read_array(c, x, IG_I64) : NULL;
    if (!tokens)
        return;
    int64_t n = ig_size(x);
    onnx_bytes *texts = malloc(sizeof *texts * (size_t)(n + 1));
    for (int64_t k = 0; k < n && texts; k++)
        texts[k].at = find_text(c, tokens[k], &texts[k].n);
    if (texts)
        call_return_value(c, o, value_texts(texts, ig_shape(x)));
    else
        call_fail(c, IG_ERR_MEMORY, NULL, "out of memory");
    free(texts);
}
