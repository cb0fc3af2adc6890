/* com.microsoft: products with quantized weights, and ops on quantized numbers. */
#include "lib/onnx/ops/common.h"
#include "lib/onnx/ops/parts.h"
#include "lib/onnx/ops/window.h"

/* ---- packed weights ---- */

/* The numbers of `bits` bits in bytes (..., n), the lowest bits first: u8 (..., n * 8 / bits). */
static ig_array *unpacked(ig_array *bytes, int64_t bits)
{
    const int n = (int)(8 / bits), ndim = ig_ndim(bytes);
    ig_array *parts[4];
    int64_t shape[IG_MAX_NDIM];
    if (!bytes || n == 1)
        return bytes;
    for (int i = 0; i < n; i++)
        parts[i] = ig_bitwise_and(ig_bitwise_right_shift(bytes, ig_int(i * bits)),
                                  ig_int((1 << bits) - 1));
    for (int i = 0; i < ndim; i++)
        shape[i] = ig_dim(bytes, i) * (i == ndim - 1 ? n : 1);
    return ig_reshape(ig_stack(parts, n, -1), (ig_ints){shape, ndim});
}

static bool bits_are_known(onnx_call *c, int64_t bits)
{
    if (bits == 2 || bits == 4 || bits == 8)
        return true;
    call_fail(c, IG_ERR_UNSUPPORTED, "bits", "%lld bits are not supported; 2, 4 and 8 are",
              (long long)bits);
    return false;
}

/* A @ B.T: B (N, blocks, bytes of a block) has K numbers in each row. */
void build_matmul_nbits(onnx_call *c)
{
    ig_array *a = call_array(c, 0), *b = call_array(c, 1), *scales = call_array(c, 2);
    const int64_t n = call_attribute_int(c, "N", 0), k = call_attribute_int(c, "K", 0);
    const int64_t bits = call_attribute_int(c, "bits", 4),
                  block = call_attribute_int(c, "block_size", 32);
    call_has_attribute(c, "accuracy_level"); /* a lower bound */
    if (call_attribute_int(c, "weight_prepacked", 0) != 0)
        call_fail(c, IG_ERR_UNSUPPORTED, "weight_prepacked",
                  "weights in the layout of a device are not supported");
    if (call_has(c, 4))
        call_fail(c, IG_ERR_UNSUPPORTED, "g_idx", "this input is not supported");
    if (block > INT32_MAX || n > INT32_MAX || k > INT32_MAX)
        call_fail(c, IG_ERR_UNSUPPORTED, "K", "N, K or block_size is too large");
    if (ig_failed() || !bits_are_known(c, bits))
        return;
    const int64_t blocks = block > 0 ? (k + block - 1) / block : 0, bytes = block * bits / 8;
    if (n < 1 || k < 1 || bytes < 1 || ig_size(b) != n * blocks * bytes ||
        ig_size(scales) != n * blocks) {
        call_fail(c, IG_ERR_SHAPE, "B",
                  "N, K, block_size and the sizes of B and scales do not match");
        return;
    }
    const ig_dtype dtype = ig_dtype_of(a), wide = part_wide(dtype);
    ig_array *w = ig_astype(unpacked(ig_reshape(b, IG_SHAPE(n, blocks, bytes)), bits), wide);
    ig_array *zero = ig_float((double)(1 << (bits - 1)));
    if (call_has(c, 3)) {
        zero = call_array(c, 3);
        if (!part_is_float(ig_dtype_of(zero)))
            zero = part_slice(unpacked(ig_reshape(zero, IG_SHAPE(n, -1)), bits), 1, 0, blocks);
        zero = ig_astype(ig_reshape(zero, IG_SHAPE(n, blocks, 1)), wide);
    }
    w = ig_multiply(ig_subtract(w, zero),
                    ig_astype(ig_reshape(scales, IG_SHAPE(n, blocks, 1)), wide));
    w = ig_astype(part_slice(ig_reshape(w, IG_SHAPE(n, blocks * block)), 1, 0, k), dtype);
    ig_array *y = ig_matmul(a, ig_matrix_transpose(w));
    call_return(c, 0, call_has(c, 5) ? ig_add(y, call_array(c, 5)) : y);
}

void build_gather_block_quantized(onnx_call *c)
{
    ig_array *data = call_array(c, 0), *indices = call_array(c, 1), *scales = call_array(c, 2);
    const int64_t block = call_attribute_int(c, "block_size", 128),
                  bits = call_attribute_int(c, "bits", 4);
    const bool packed = call_type(c, 0) == IG_ONNX_UINT8;
    const int64_t gather = call_attribute_int(c, "gather_axis", 0),
                  blocks = call_attribute_int(c, "quantize_axis", 1);
    if (ig_failed() || !bits_are_known(c, bits))
        return;
    if (block < 1 || block > INT32_MAX) {
        call_fail(c, IG_ERR_UNSUPPORTED, "block_size", "is out of range");
        return;
    }
    if (packed)
        data = unpacked(data, bits);
    const int ndim = ig_ndim(data), axis = part_axis(c, "gather_axis", gather, ndim);
    const int along = part_axis(c, "quantize_axis", blocks, ndim);
    const ig_dtype dtype = ig_dtype_of(scales);
    ig_array *zero = packed ? ig_float((double)(1 << (bits - 1))) : ig_float(0);
    if (call_has(c, 3)) {
        zero = packed ? unpacked(call_array(c, 3), bits) : call_array(c, 3);
        zero = part_slice(zero, along, 0, ig_dim(scales, along));
        zero = part_slice(part_repeat(ig_astype(zero, dtype), block, along), along, 0,
                          ig_dim(data, along));
    }
    ig_array *scale = part_slice(part_repeat(scales, block, along), along, 0, ig_dim(data, along));
    data = ig_multiply(ig_subtract(ig_astype(data, dtype), zero), scale);
    call_return(c, 0, ig_take(data, indices, IG_AXES(axis)));
}

/* ---- products ---- */

/* A zero point or scale of columns of B (..., K, N): one, or one for each. */
static ig_array *of_columns(ig_array *x)
{
    if (ig_size(x) == 1)
        return ig_reshape(x, IG_SCALAR);
    return ig_ndim(x) > 1 ? ig_expand_dims(x, IG_AXES(-2)) : x;
}

static ig_array *centred(ig_array *x, ig_array *zero)
{
    x = ig_astype(x, IG_I32);
    return zero ? ig_subtract(x, ig_astype(zero, IG_I32)) : x;
}

static ig_array *or_null(onnx_call *c, int i)
{
    ig_array *x = part_zero(c, i);
    return x ? of_columns(x) : NULL;
}

/* a @ b in i32, times both scales, plus input `bias`. */
static void scaled_product(onnx_call *c, ig_array *a, ig_array *b, ig_array *a_scale,
                           ig_array *b_scale, int bias)
{
    ig_array *y = ig_multiply(ig_astype(ig_matmul(a, b), IG_F32), ig_multiply(a_scale, b_scale));
    call_return(c, 0, call_has(c, bias) ? ig_add(y, call_array(c, bias)) : y);
}

/* A is quantized to u8 by its own range, as in DynamicQuantizeLinear. */
void build_dynamic_quantize_matmul(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *scale, *zero;
    ig_array *a = part_quantize_range(x, &scale, &zero);
    scaled_product(c, centred(a, zero), centred(call_array(c, 1), or_null(c, 3)), scale,
                   of_columns(call_array(c, 2)), 4);
}

void build_matmul_integer_to_float(onnx_call *c)
{
    ig_array *a_scale = call_array(c, 2);
    if (ig_size(a_scale) != 1)
        call_fail(c, IG_ERR_UNSUPPORTED, "a_scale", "must be one number");
    scaled_product(c, centred(call_array(c, 0), or_null(c, 4)),
                   centred(call_array(c, 1), or_null(c, 5)), ig_reshape(a_scale, IG_SCALAR),
                   of_columns(call_array(c, 3)), 6);
}

/* alpha * A @ B + C in i32, then quantized; f32 if there is no y_scale. */
void build_qgemm(onnx_call *c)
{
    ig_array *a = centred(call_array(c, 0), or_null(c, 2)), *b = call_array(c, 3);
    const bool turn_a = call_attribute_bool(c, "transA", false),
               turn_b = call_attribute_bool(c, "transB", false);
    const double alpha = call_attribute_float(c, "alpha", 1);
    ig_array *zero_b = or_null(c, 5);
    if (zero_b && turn_b && ig_ndim(zero_b) == 1)
        zero_b = ig_expand_dims(zero_b, IG_AXES(1));
    b = centred(b, zero_b);
    ig_array *y =
        ig_matmul(turn_a ? ig_matrix_transpose(a) : a, turn_b ? ig_matrix_transpose(b) : b);
    if (call_has(c, 6))
        y = ig_add(y, call_array(c, 6));
    ig_array *scale = ig_multiply(
        ig_multiply(ig_reshape(call_array(c, 1), IG_SCALAR), of_columns(call_array(c, 4))),
        ig_float(alpha));
    y = ig_multiply(ig_astype(y, IG_F32), scale);
    if (!call_has(c, 7)) {
        call_return(c, 0, y);
        return;
    }
    y = ig_divide(y, ig_reshape(call_array(c, 7), IG_SCALAR));
    ig_array *zero = part_zero(c, 8);
    zero = zero ? ig_reshape(zero, IG_SCALAR) : NULL;
    const ig_onnx_type type = call_has(c, 8) ? call_type(c, 8) : call_type(c, 0);
    call_return_typed(c, 0, part_quantize(y, zero, type, true), type);
}

void build_mul_integer(onnx_call *c)
{
    ig_array *a = centred(call_array(c, 0), call_array_or_null(c, 1));
    call_return(c, 0, ig_multiply(a, centred(call_array(c, 2), call_array_or_null(c, 3))));
}

/* ---- elementwise ---- */

/* Input i with scale and zero point in the next two inputs, as f32. */
static ig_array *real(onnx_call *c, int i)
{
    ig_array *zero = part_zero(c, i + 2);
    zero = zero ? ig_reshape(zero, IG_SCALAR) : NULL;
    return ig_multiply(ig_astype(centred(call_array(c, i), zero), IG_F32),
                       ig_reshape(call_array(c, i + 1), IG_SCALAR));
}

/* Output 0: x quantized by scale and zero point in inputs i and i + 1; type: if there is no zero point. late: ONNX Runtime
 * adds the zero point before it rounds, which matters for halves. */
static void give_rounded(onnx_call *c, ig_array *x, int i, ig_onnx_type type, bool late)
{
    ig_array *zero = part_zero(c, i + 1);
    zero = zero ? ig_reshape(zero, IG_SCALAR) : NULL;
    type = call_has(c, i + 1) ? call_type(c, i + 1) : type;
    x = ig_divide(x, ig_reshape(call_array(c, i), IG_SCALAR));
    if (late && zero) {
        x = ig_add(x, ig_astype(zero, ig_dtype_of(x)));
        zero = NULL;
    }
    call_return_typed(c, 0, part_quantize(x, zero, type, true), type);
}

static void give(onnx_call *c, ig_array *x, int i, ig_onnx_type type)
{
    give_rounded(c, x, i, type, false);
}

void build_qlinear_add(onnx_call *c)
{
    give_rounded(c, ig_add(real(c, 0), real(c, 3)), 6, call_type(c, 0), true);
}

void build_qlinear_mul(onnx_call *c)
{
    give_rounded(c, ig_multiply(real(c, 0), real(c, 3)), 6, call_type(c, 0), true);
}

void build_qlinear_leaky_relu(onnx_call *c)
{
    give(c, ig_leaky_relu(real(c, 0), call_attribute_float(c, "alpha", 0.01)), 3, call_type(c, 0));
}

void build_qlinear_sigmoid(onnx_call *c) { give(c, ig_sigmoid(real(c, 0)), 3, call_type(c, 0)); }

void build_qlinear_softmax(onnx_call *c)
{
    ig_array *x = real(c, 0);
    const int ndim = ig_ndim(x);
    const int axis = part_axis(c, "axis", call_attribute_int(c, "axis", -1), ndim);
    const bool flat = call_attribute_int(c, "opset", 13) < 13;
    int64_t axes[IG_MAX_NDIM];
    for (int i = axis; i < ndim; i++)
        axes[i - axis] = i;
    give(c, ig_softmax(x, (ig_ints){axes, flat ? ndim - axis : 1}), 3, call_type(c, 0));
}

void build_qlinear_where(onnx_call *c)
{
    give(c, ig_where(call_array(c, 0), real(c, 1), real(c, 4)), 7, call_type(c, 1));
}

void build_qlinear_concat(onnx_call *c)
{
    const int n = (call_inputs(c) - 2) / 3;
    ig_array **parts = (ig_array **)call_room(c, n + 1);
    for (int i = 0; i < n && parts; i++)
        parts[i] = real(c, 2 + 3 * i);
    if (n < 1 || !parts) {
        call_fail(c, IG_ERR_ARGUMENT, NULL, "there are no arrays");
        return;
    }
    const int axis = part_axis(c, "axis", call_attribute_int(c, "axis", 0), ig_ndim(parts[0]));
    if (!ig_failed())
        give(c, ig_concat(parts, n, IG_AXES(axis)), 0, call_type(c, 2));
}

void build_qlinear_reduce_mean(onnx_call *c)
{
    const ig_ints axes = call_attribute_ints(c, "axes");
    give(c, ig_mean(real(c, 0), axes, call_attribute_bool(c, "keepdims", true)), 3,
         call_type(c, 0));
}

void build_qlinear_global_average_pool(onnx_call *c)
{
    ig_array *x = real(c, 0);
    const bool last = call_attribute_bool(c, "channels_last", false);
    const int ndim = ig_ndim(x), first = last ? 1 : 2;
    int64_t axes[IG_MAX_NDIM];
    for (int i = 0; i < ndim - 2; i++)
        axes[i] = first + i;
    give(c, ig_mean(x, (ig_ints){axes, ndim - 2}, true), 3, call_type(c, 0));
}

/* x with its channels after the batch: they are last with the attribute channels_last. */
static ig_array *channels_first(ig_array *x, bool last)
{
    return last ? ig_moveaxis(x, IG_AXES(-1), IG_AXES(1)) : x;
}

void build_qlinear_average_pool(onnx_call *c)
{
    const bool last = call_attribute_bool(c, "channels_last", false);
    ig_array *y = window_average(c, channels_first(real(c, 0), last));
    give_rounded(c, last ? ig_moveaxis(y, IG_AXES(1), IG_AXES(-1)) : y, 3, call_type(c, 0), true);
}

void build_ms_qlinear_conv(onnx_call *c)
{
    if (call_attribute_bool(c, "channels_last", false))
        call_fail(c, IG_ERR_UNSUPPORTED, "channels_last", "is not supported");
    else
        build_qlinear_conv(c);
}
