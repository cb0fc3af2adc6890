/* com.microsoft: products with quantized weights, and ops on quantized numbers. */
#include "base/mapping.h"
#include "base/memory.h"
#include "base/storage.h"
#include "lib/onnx/ops/common.h"
#include "lib/onnx/ops/parts.h"
#include "lib/onnx/ops/window.h"
#include "lib/onnx/value.h"

#include <stdio.h>
#include <string.h>

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

/* Weights of MatMulNBits: n rows of `blocks` blocks, of `block` numbers of `bits` bits. */
typedef struct nbits {
    int64_t n, blocks, block, bits;
    ig_dtype dtype;     /* of the product ... */
    const char *device; /* ... and its device */
} nbits;

/* Memory of packed blocks. */
typedef struct packed_memory {
    size_t bytes;
    char *at;
} packed_memory;

static void packed_free(void *context)
{
    packed_memory *m = context;
    if (m)
        memory_data_free(m->at, m->bytes);
    memory_free(m);
}

/* The zero points: bytes have 8 / bits of them, and rows whole bytes. */
static float zero_of(const nbits *w, const uint8_t *packed, const float *floats, int64_t row,
                     int64_t i)
{
    const int64_t per = 8 / w->bits, bytes = (w->blocks + per - 1) / per;
    if (floats)
        return floats[row * w->blocks + i];
    if (!packed)
        return 0;
    return (float)(packed[row * bytes + i / per] >> i % per * w->bits & ((1 << w->bits) - 1));
}

/* Inputs 1 to 3 as blocks of a storage format at `to`. False after an error. */
static bool pack_blocks(onnx_call *c, const nbits *w, storage s, char *to)
{
    const bool zeros = call_has(c, 3), floating = storage_rows[s.format].head == 8;
    const uint8_t *codes = call_read(c, 1, IG_U8);
    const uint8_t *packed = zeros && !floating ? call_read(c, 3, IG_U8) : NULL;
    const float *scales = call_read(c, 2, IG_F32);
    const float *floats = floating ? call_read(c, 3, IG_F32) : NULL;
    const int64_t per = 8 / w->bits, bytes = w->block / per;
    uint8_t code[STORAGE_BLOCK_MOST];
    if (ig_failed())
        return false;
    for (int64_t i = 0; i < w->n * w->blocks; i++) {
        const uint8_t *from = codes + i * bytes;
        for (int64_t j = 0; j < w->block; j++)
            code[j] = (uint8_t)(from[j / per] >> j % per * w->bits & ((1 << w->bits) - 1));
        storage_pack_codes(s, code, scales[i],
                           zero_of(w, packed, floats, i / w->blocks, i % w->blocks),
                           to + i * storage_block_bytes(s));
    }
    mapping_give_back(codes, (size_t)(w->n * w->blocks * bytes));
    return true;
}

/* True if inputs 1 to 3 are the same in each run, and zero points are as many as they should be. */
static bool are_constant(onnx_call *c, const nbits *w)
{
    const int64_t per = 8 / w->bits, bytes = (w->blocks + per - 1) / per;
    for (int i = 1; i <= 3; i++)
        if (call_has(c, i) && call_value(c, i)->varies)
            return false;
    if (w->block % 8 != 0 || w->block > STORAGE_BLOCK_MOST ||
        (w->dtype != IG_F32 && w->dtype != IG_F16 && w->dtype != IG_BF16))
        return false;
    ig_array *zero = call_array_or_null(c, 3);
    return !zero || ig_size(zero) == w->n * (part_is_float(ig_dtype_of(zero)) ? w->blocks : bytes);
}

/* The weights as an array over blocks, which the value of input 1 keeps for other plans; NULL if they are not constant, or
 * after an error. */
static ig_array *packed_weights(onnx_call *c, const nbits *w)
{
    static const char *const formats[3][9] = {{[2] = "i2", [4] = "i4", [8] = "i8"},
                                              {[2] = "u2", [4] = "u4", [8] = "u8"},
                                              {[2] = "z2", [4] = "z4", [8] = "z8"}};
    ig_onnx_value *v = call_value(c, 1);
    ig_onnx_value *const with[2] = {call_value(c, 2), call_has(c, 3) ? call_value(c, 3) : NULL};
    storage s;
    if (ig_failed() || !are_constant(c, w))
        return NULL;
    if (v->packed && v->packed_with[0] == with[0] && v->packed_with[1] == with[1] &&
        ig_dim(v->packed, 0) == w->n && ig_dtype_of(v->packed) == w->dtype &&
        strcmp(ig_array_device(v->packed), w->device) == 0)
        return v->packed;
    const int kind = !with[1] ? 0 : part_is_float(ig_dtype_of(with[1]->array)) ? 2 : 1;
    if (storage_find("MatMulNBits", formats[kind][w->bits], w->block, &s) != IG_OK)
        return NULL;
    packed_memory *m = memory_new(sizeof *m);
    if (!m)
        return NULL;
    m->bytes = (size_t)(w->n * w->blocks * storage_block_bytes(s));
    m->at = memory_data_get(m->bytes);
    if (!m->at || !pack_blocks(c, w, s, m->at)) {
        packed_free(m);
        return NULL;
    }
    char device[64];
    snprintf(device, sizeof device, "%s", ig_device());
    ig_set_device(w->device);
    ig_array *x =
        ig_from_packed(formats[kind][w->bits], w->block, w->dtype,
                       IG_SHAPE(w->n, w->blocks * w->block), m->at, m->bytes, packed_free, m);
    ig_set_device(device);
    return value_keep_packed(v, with, x);
}

/* The weights as a graph of their parts: inputs 1 to 3 depend on the model's inputs. */
static ig_array *unpacked_weights(onnx_call *c, const nbits *w)
{
    const int64_t n = w->n, blocks = w->blocks, bytes = w->block * w->bits / 8;
    const ig_dtype wide = part_wide(w->dtype);
    ig_array *x = ig_reshape(call_array(c, 1), IG_SHAPE(n, blocks, bytes));
    x = ig_astype(unpacked(x, w->bits), wide);
    ig_array *zero = ig_float((double)(1 << (w->bits - 1)));
    if (call_has(c, 3)) {
        zero = call_array(c, 3);
        if (!part_is_float(ig_dtype_of(zero)))
            zero = part_slice(unpacked(ig_reshape(zero, IG_SHAPE(n, -1)), w->bits), 1, 0, blocks);
        zero = ig_astype(ig_reshape(zero, IG_SHAPE(n, blocks, 1)), wide);
    }
    ig_array *scales = ig_astype(ig_reshape(call_array(c, 2), IG_SHAPE(n, blocks, 1)), wide);
    x = ig_multiply(ig_subtract(x, zero), scales);
    return ig_astype(ig_reshape(x, IG_SHAPE(n, blocks * w->block)), w->dtype);
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
    const nbits weights = {n, blocks, block, bits, ig_dtype_of(a), ig_array_device(a)};
    ig_array *w = packed_weights(c, &weights);
    w = w || ig_failed() ? w : unpacked_weights(c, &weights);
    ig_array *y = ig_matmul(a, ig_matrix_transpose(part_slice(w, 1, 0, k)));
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
