/* Quantized numbers: y = round(x / scale) + zero point, and contractions of them. Products of integers are summed in i32, exactly. */
#include "lib/onnx/ops/ops.h"
#include "lib/onnx/ops/parts.h"
#include "lib/onnx/ops/window.h"

#include <math.h>

bool part_range(ig_onnx_type type, double *low, double *high)
{
    static const struct {
        ig_onnx_type type;
        double low, high;
    } ranges[] = {
        {IG_ONNX_UINT8, 0, 255},        {IG_ONNX_INT8, -128, 127}, {IG_ONNX_UINT16, 0, 65535},
        {IG_ONNX_INT16, -32768, 32767}, {IG_ONNX_UINT4, 0, 15},    {IG_ONNX_INT4, -8, 7},
        {IG_ONNX_UINT2, 0, 3},          {IG_ONNX_INT2, -2, 1},     {IG_ONNX_INT32, -0x1p31, 0x1p31},
        {IG_ONNX_UINT32, 0, 0x1p32}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].type == type) {
            *low = ranges[i].low;
            *high = ranges[i].high;
            return true;
        }
    return false;
}

static bool is_small_float(ig_onnx_type type)
{
    return (type >= IG_ONNX_FLOAT8E4M3FN && type <= IG_ONNX_FLOAT8E5M2FNUZ) ||
           type == IG_ONNX_FLOAT4E2M1 || type == IG_ONNX_FLOAT8E8M0;
}

ig_array *part_quantize(ig_array *x, ig_array *zero, ig_onnx_type type, bool saturate)
{
    double low, high;
    if (is_small_float(type))
        return onnx_cast(ig_astype(x, IG_F32), IG_ONNX_FLOAT, type, saturate);
    if (!part_range(type, &low, &high)) {
        ig_fail(IG_ERR_DTYPE, "%s is not a type of quantized numbers", ig_onnx_type_name(type));
        return NULL;
    }
    ig_array *whole = ig_round(x);
    whole = ig_astype(whole, part_wide(ig_dtype_of(whole)));
    if (zero)
        whole = ig_add(whole, ig_astype(zero, ig_dtype_of(whole)));
    const ig_dtype dtype = ig_onnx_type_dtype(type);
    if (type != onnx_type_of(dtype)) /* else astype saturates */
        whole = ig_clip(whole, ig_float(low), ig_float(high));
    return ig_astype(whole, dtype);
}

ig_array *part_zero(onnx_call *c, int i)
{
    enum { MOST = 1 << 16 };
    const ig_onnx_value *v = call_has(c, i) ? call_value(c, i) : NULL;
    if (!v)
        return NULL;
    bool known = !v->varies && v->kind == IG_ONNX_TENSOR && ig_size(v->array) <= MOST &&
                 !part_is_float(ig_dtype_of(v->array));
    const int64_t *numbers = known ? call_read(c, i, IG_I64) : NULL;
    known = numbers != NULL;
    for (int64_t k = 0; known && k < ig_size(v->array); k++)
        known = numbers[k] == 0;
    return known ? NULL : call_array(c, i);
}

/* A scale or zero point in a shape that broadcasts with x: one number, one for each index of the axis, or one for each
 * block of the axis. */
static ig_array *spread(onnx_call *c, ig_array *s, const ig_array *x, const char *name)
{
    const int64_t block = call_attribute_int(c, "block_size", 0);
    const int64_t at = call_attribute_int(c, "axis", 1);
    const int ndim = ig_ndim(x);
    if (!s || !x || ig_ndim(s) == 0 || (ig_size(s) == 1 && block == 0))
        return ig_reshape(s, IG_SCALAR);
    const int axis = part_axis(c, "axis", at, ndim);
    if (block < 0 || block > INT32_MAX)
        call_fail(c, IG_ERR_ARGUMENT, "block_size", "is out of range");
    if (block > 0) {
        const int64_t n = ig_dim(x, axis);
        if (part_ndim(c, name, s, ndim) && ig_dim(s, axis) != (n + block - 1) / block)
            call_fail(c, IG_ERR_SHAPE, name, "has %lld blocks of %lld for %lld elements",
                      (long long)ig_dim(s, axis), (long long)block, (long long)n);
        return ig_failed() ? NULL : part_slice(part_repeat(s, block, axis), axis, 0, n);
    }
    if (!part_ndim(c, name, s, 1))
        return NULL;
    if (ig_size(s) != ig_dim(x, axis))
        call_fail(c, IG_ERR_SHAPE, name, "has %lld elements; axis %d of x has %lld",
                  (long long)ig_size(s), axis, (long long)ig_dim(x, axis));
    return part_along(s, ndim, axis);
}

/* Input 2 in such a shape; NULL if it is absent, or known to be 0. */
static ig_array *spread_zero(onnx_call *c, const ig_array *x, const char *name)
{
    ig_array *zero = call_has(c, 2) ? spread(c, call_array(c, 2), x, name) : NULL;
    return zero && part_zero(c, 2) ? zero : NULL;
}

void build_quantize_linear(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    ig_array *scale = spread(c, call_array(c, 1), x, "y_scale");
    ig_array *zero = spread_zero(c, x, "y_zero_point");
    const ig_onnx_type stated =
        call_attribute_type(c, "output_dtype", (ig_onnx_type)IG_ONNX_UNDEFINED);
    ig_onnx_type type = call_has(c, 2) ? call_type(c, 2) : stated ? stated : IG_ONNX_UINT8;
    if (stated && stated != type)
        call_fail(c, IG_ERR_DTYPE, "output_dtype", "differs from the type of y_zero_point");
    const ig_onnx_type precision = call_attribute_type(c, "precision", call_type(c, 1));
    ig_dtype dtype = ig_onnx_type_dtype(precision);
    if (!part_is_float(dtype))
        dtype = IG_F32;
    const ig_onnx_value *v = call_value(c, 0);
    ig_array *q;
    if (v && v->whole && v->whole_kind == WHOLE_SUMS && dtype == IG_F32 && scale &&
        ig_ndim(scale) == 0)
        q = ig_multiply(ig_astype(v->whole, IG_F32), ig_divide(v->scale, ig_astype(scale, dtype)));
    else
        q = ig_divide(ig_astype(x, dtype), ig_astype(scale, dtype));
    q = part_quantize(q, zero, type, call_attribute_bool(c, "saturate", true));
    call_return_typed(c, 0, q, type);
}

/* Output 0: x = whole * scale, of an axis or one for all. Products of such values are sums of whole numbers. stored, zero:
 * the arrays that whole was made of. */
static void return_whole(onnx_call *c, ig_array *x, ig_array *whole, ig_array *scale,
                         ig_array *stored, ig_array *zero)
{
    ig_onnx_value *v = value_array(x, IG_ONNX_FLOAT);
    if (v && !ig_failed()) {
        const int64_t axis = call_attribute_int(c, "axis", 1);
        const bool one = ig_size(scale) == 1 && (!zero || ig_size(zero) == 1);
        if (one && ig_dtype_bytes(ig_dtype_of(stored)) == 1) {
            v->bytes = ig_retain(stored);
            v->zero = zero ? ig_retain(ig_reshape(zero, IG_SCALAR)) : NULL;
        }
        v->whole = ig_retain(whole);
        v->scale = ig_retain(ig_size(scale) == 1 ? ig_reshape(scale, IG_SCALAR) : scale);
        v->scale_axis = (int)(axis < 0 ? axis + ig_ndim(x) : axis);
        v->whole_kind = call_type(c, 0) == IG_ONNX_INT32 ? WHOLE_INTS : WHOLE_BYTES;
        v->scale_varies = call_value(c, 1)->varies;
    }
    call_return_value(c, 0, v);
}

void build_dequantize_linear(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *of = x;
    ig_array *scale = spread(c, call_array(c, 1), x, "x_scale");
    const ig_dtype stored = ig_dtype_of(x);
    const bool whole = !part_is_float(stored);
    ig_onnx_type type = call_attribute_type(c, "output_dtype", call_type(c, 1));
    ig_array *zero = spread_zero(c, x, "x_zero_point");
    if (whole)
        x = ig_astype(x, IG_I32);
    if (zero)
        x = ig_subtract(x, ig_astype(zero, whole ? IG_I32 : stored));
    ig_dtype dtype = ig_onnx_type_dtype(type);
    if (!part_is_float(dtype) || is_small_float(type)) {
        call_fail(c, IG_ERR_DTYPE, "output_dtype", "%s is not supported", ig_onnx_type_name(type));
        return;
    }
    const ig_dtype wide = part_wide(dtype);
    ig_array *y = ig_multiply(ig_astype(x, wide), ig_astype(scale, wide));
    if (type == IG_ONNX_FLOAT && (stored == IG_I8 || stored == IG_U8 || stored == IG_I32) &&
        call_attribute_int(c, "block_size", 0) == 0 && ig_dtype_of(scale) == IG_F32)
        return_whole(c, y, x, scale, of, zero);
    else
        call_return(c, 0, ig_astype(y, dtype));
}

bool part_gathers_bytes(onnx_call *c, ig_array *indices, int axis)
{
    const ig_onnx_value *v = call_value(c, 0);
    if (!v || !v->bytes)
        return false;
    ig_array *bytes = ig_take(v->bytes, indices, IG_AXES(axis)), *x = ig_astype(bytes, IG_I32);
    if (v->zero)
        x = ig_subtract(x, ig_astype(v->zero, IG_I32));
    ig_onnx_value *y = value_array(ig_multiply(ig_astype(x, IG_F32), v->scale), IG_ONNX_FLOAT);
    if (y && !ig_failed()) {
        y->bytes = ig_retain(bytes);
        y->zero = v->zero ? ig_retain(v->zero) : NULL;
        y->whole = ig_retain(x);
        y->scale = ig_retain(v->scale);
        y->whole_kind = WHOLE_BYTES;
        y->scale_varies = v->scale_varies;
    }
    call_return_value(c, 0, y);
    return true;
}

bool part_whole(onnx_call *c, int axis, ig_array *x[2], ig_array **scale)
{
    const ig_onnx_value *v[2] = {call_value(c, 0), call_value(c, 1)};
    for (int i = 0; i < 2; i++)
        if (!v[i] || !v[i]->whole ||
            (ig_ndim(v[i]->scale) > 0 && (i == 0 || v[i]->scale_axis != axis)))
            return false;
    x[0] = v[0]->whole;
    x[1] = v[1]->whole;
    ig_array *other = v[1]->scale;
    *scale = ig_multiply(v[0]->scale, ig_ndim(other) > 0 ? ig_reshape(other, IG_SHAPE(-1)) : other);
    return true;
}

/* True if scales that are known are equal up to their rounding. */
static bool same_scales(onnx_call *c, ig_array *x, ig_array *y)
{
    const int64_t n = ig_size(x);
    if (n != ig_size(y))
        return false;
    const float *a = call_read_array(c, x, IG_F32), *b = call_read_array(c, y, IG_F32);
    bool same = a && b;
    for (int64_t i = 0; i < n && same; i++)
        same = fabsf(a[i] - b[i]) <= 1e-6f * fabsf(b[i]);
    return same;
}

bool part_whole_bias(onnx_call *c, ig_array *scale, ig_array **bias)
{
    const ig_onnx_value *v[3] = {call_value(c, 0), call_value(c, 1), NULL};
    *bias = NULL;
    if (!call_has(c, 2))
        return true;
    v[2] = call_value(c, 2);
    if (!v[2]->whole || v[2]->whole_kind != WHOLE_INTS)
        return false;
    for (int i = 0; i < 3; i++)
        if (v[i]->scale_varies)
            return false;
    *bias = v[2]->whole;
    return same_scales(c, v[2]->scale, scale);
}

void part_return_sums(onnx_call *c, ig_array *y, ig_array *sums, ig_array *scale)
{
    ig_onnx_value *v = value_array(y, IG_ONNX_FLOAT);
    if (v && !ig_failed()) {
        v->whole = ig_retain(sums);
        v->scale = ig_retain(scale);
        v->scale_axis = 1;
        v->whole_kind = WHOLE_SUMS;
    }
    call_return_value(c, 0, v);
}

ig_array *part_quantize_range(ig_array *x, ig_array **scale, ig_array **zero)
{
    ig_array *high = ig_maximum(ig_max(x, IG_NONE, false), ig_float(0));
    ig_array *low = ig_minimum(ig_min(x, IG_NONE, false), ig_float(0));
    ig_array *s = ig_divide(ig_subtract(high, low), ig_float(255));
    s = ig_where(ig_equal(s, ig_float(0)), ig_float(1), s);
    *zero = ig_round(ig_clip(ig_divide(ig_negative(low), s), ig_float(0), ig_float(255)));
    *scale = s;
    return part_quantize(ig_divide(x, s), *zero, IG_ONNX_UINT8, true);
}

void build_dynamic_quantize_linear(onnx_call *c)
{
    ig_array *scale, *zero;
    call_return(c, 0, part_quantize_range(call_array(c, 0), &scale, &zero));
    call_return(c, 1, ig_astype(scale, IG_F32));
    call_return(c, 2, ig_astype(zero, IG_U8));
}

/* ---- matrix products ---- */

/* A number for each row (axis -2) or column (axis -1) of matrices, or one for all. */
static ig_array *of_rows(ig_array *s, int axis)
{
    if (ig_size(s) == 1)
        return ig_reshape(s, IG_SCALAR);
    if (ig_ndim(s) == 1 && axis == -2)
        return ig_expand_dims(s, IG_AXES(1));
    return s;
}

/* Input i minus the zero points of input `zero`, in i32; small floats stay floats. */
static ig_array *centred(onnx_call *c, int i, int zero, int axis)
{
    ig_array *x = call_array(c, i);
    if (part_is_float(ig_dtype_of(x)))
        return x;
    ig_array *z = part_zero(c, zero);
    x = ig_astype(x, IG_I32);
    return z ? ig_subtract(x, ig_astype(of_rows(z, axis), IG_I32)) : x;
}

void build_matmul_integer(onnx_call *c)
{
    ig_array *a = centred(c, 0, 2, -2), *b = centred(c, 1, 3, -1);
    call_return(c, 0, ig_matmul(a, b));
}

void build_matmul_integer_16(onnx_call *c)
{
    call_return(c, 0, ig_matmul(centred(c, 0, 2, -2), centred(c, 1, 3, -1)));
}

/* sums * a_scale * b_scale / y_scale, quantized. */
static ig_array *requantized(onnx_call *c, ig_array *sums, ig_array *scale, int y_scale)
{
    const ig_onnx_type type = call_type(c, y_scale + 1);
    scale = ig_divide(scale, ig_astype(ig_reshape(call_array(c, y_scale), IG_SCALAR), IG_F32));
    ig_array *y = ig_multiply(ig_astype(sums, IG_F32), scale);
    ig_array *zero = part_zero(c, y_scale + 1);
    return part_quantize(y, zero ? ig_reshape(zero, IG_SCALAR) : NULL, type, true);
}

void build_qlinear_matmul(onnx_call *c)
{
    ig_array *sums = ig_matmul(centred(c, 0, 2, -2), centred(c, 3, 5, -1));
    ig_array *scale = ig_multiply(ig_astype(of_rows(call_array(c, 1), -2), IG_F32),
                                  ig_astype(of_rows(call_array(c, 4), -1), IG_F32));
    if (ig_size(call_array(c, 6)) != 1)
        call_fail(c, IG_ERR_UNSUPPORTED, "y_scale", "must be one number");
    call_return_typed(c, 0, requantized(c, sums, scale, 6), call_type(c, 7));
}

/* ---- convolutions ---- */

/* Kernels minus their zero point: one, or one for each output channel. */
static ig_array *centred_kernels(onnx_call *c, int i, int zero)
{
    ig_array *w = ig_astype(call_array(c, i), IG_I32), *z = part_zero(c, zero);
    if (!z)
        return w;
    z = ig_size(z) == 1 ? ig_reshape(z, IG_SCALAR) : part_along(z, ig_ndim(w), 0);
    return ig_subtract(w, ig_astype(z, IG_I32));
}

static ig_array *centred_image(onnx_call *c)
{
    ig_array *x = ig_astype(call_array(c, 0), IG_I32), *z = part_zero(c, 2);
    return z ? ig_subtract(x, ig_astype(ig_reshape(z, IG_SCALAR), IG_I32)) : x;
}

void build_conv_integer(onnx_call *c)
{
    call_return(c, 0, window_conv(c, centred_image(c), centred_kernels(c, 1, 3), NULL));
}

void build_qlinear_conv(onnx_call *c)
{
    ig_array *sums = window_conv(c, centred_image(c), centred_kernels(c, 3, 5), NULL);
    const int ndim = ig_ndim(sums);
    ig_array *w_scale = ig_astype(call_array(c, 4), IG_F32);
    w_scale = ig_size(w_scale) == 1 ? ig_reshape(w_scale, IG_SCALAR) : part_along(w_scale, ndim, 1);
    if (call_has(c, 8))
        sums = ig_add(sums, part_along(call_array(c, 8), ndim, 1));
    ig_array *scale =
        ig_multiply(ig_astype(ig_reshape(call_array(c, 1), IG_SCALAR), IG_F32), w_scale);
    call_return_typed(c, 0, requantized(c, sums, scale, 6), call_type(c, 7));
}
