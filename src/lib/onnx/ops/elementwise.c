/* Functions of single elements. */
#include "lib/onnx/ops/common.h"

#include <string.h>

/* Calls the op of Ingot that the row names. */
static ig_array *call_ingot(onnx_call *c, ig_array *const *x, int n)
{
    ig_arg args[4] = {{0}};
    for (int i = 0; i < n && i < 4; i++)
        args[i] = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x[i]};
    ig_array *result = NULL;
    if (!ig_failed())
        ig_call(call_row(c)->ingot, args, n, &result, 1);
    return result;
}

void build_op(onnx_call *c)
{
    int n;
    ig_array **x = op_arrays(c, &n);
    if (n > 4)
        call_fail(c, IG_ERR_ARGUMENT, NULL, "has %d inputs", n);
    call_return(c, 0, call_ingot(c, x, n));
}

/* ---- two operands --------------------------------------------------------------------------- */

/* The second operand. In old versions its first axis may belong to the axis `axis` of the first operand. */
static ig_array *second_operand(onnx_call *c, ig_array *x)
{
    ig_array *y = call_array(c, 1);
    call_ignore(c, "broadcast");
    if (call_version(c) >= 7 || !call_has_attribute(c, "axis"))
        return y;
    int axis = op_attribute_axis(c, 0, ig_ndim(x)), n = ig_ndim(y);
    int64_t shape[IG_MAX_NDIM];
    for (int i = 0; i < ig_ndim(x) - axis; i++)
        shape[i] = i < n ? ig_dim(y, i) : 1;
    return ig_failed() ? NULL : ig_reshape(y, (ig_ints){shape, ig_ndim(x) - axis});
}

void build_binary(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *y = second_operand(c, x);
    call_return(c, 0, call_ingot(c, (ig_array *[]){x, y}, 2));
}

void build_div(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    ig_array *y = second_operand(c, x);
    call_return(c, 0, is_integer(ig_dtype_of(x)) ? ig_trunc_divide(x, y) : ig_divide(x, y));
}

/* x to the power of input 1 if that is a known small number, which products or a square root compute faster, within as
 * many roundings; else NULL. */
static ig_array *known_power(onnx_call *c, ig_array *x)
{
    const ig_onnx_value *v = call_value(c, 1);
    if (!x || !v || v->varies || v->kind != IG_ONNX_TENSOR || ig_size(v->array) != 1 ||
        ig_ndim(v->array) > ig_ndim(x) || !is_float(ig_dtype_of(x)))
        return NULL;
    const double *power = call_read(c, 1, IG_F64);
    if (!power || (*power != 2 && *power != 3))
        return NULL;
    ig_array *square = ig_multiply(x, x);
    return *power == 2 ? square : ig_multiply(square, x);
}

/* The result has the dtype of the base. */
void build_pow(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *y = second_operand(c, x);
    ig_dtype dtype = ig_dtype_of(x);
    ig_array *known = known_power(c, x);
    if (ig_promote(dtype, ig_dtype_of(y)) == IG_DTYPE_NONE)
        y = ig_astype(y, dtype);
    call_return(c, 0, known ? known : ig_astype(ig_pow(x, y), dtype));
}

void build_mod(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *y = call_array(c, 1);
    bool truncates = call_attribute_bool(c, "fmod", false);
    call_return(c, 0, truncates ? ig_fmod(x, y) : ig_remainder(x, y));
}

void build_bit_shift(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *y = call_array(c, 1);
    const char *direction = call_attribute_text(c, "direction", "");
    if (!strcmp(direction, "LEFT"))
        call_return(c, 0, ig_bitwise_left_shift(x, y));
    else if (!strcmp(direction, "RIGHT"))
        call_return(c, 0, ig_bitwise_right_shift(x, y));
    else
        call_fail(c, IG_ERR_ARGUMENT, "direction", "must be LEFT or RIGHT");
}

/* Bool arrays of the comparisons of strings: each string is numbered by the first one that equals it. */
static ig_array *text_numbers(onnx_call *c, int i)
{
    ig_onnx_value *v = call_value(c, i), *all[2] = {call_value(c, 0), call_value(c, 1)};
    ig_ints shape = ig_onnx_value_shape(v);
    int64_t n = op_product(shape.v, shape.n);
    int64_t *numbers = call_room(c, (int)n + 1);
    for (int64_t k = 0; k < n && numbers; k++) {
        size_t bytes, others;
        const char *text = ig_onnx_value_text(v, k, &bytes), *other;
        int64_t number = 0;
        numbers[k] = -1;
        for (int a = 0; a < 2 && numbers[k] < 0; a++) {
            ig_ints s = ig_onnx_value_shape(all[a]);
            int64_t count = op_product(s.v, s.n);
            for (int64_t j = 0; j < count && numbers[k] < 0; j++, number++) {
                other = ig_onnx_value_text(all[a], j, &others);
                if (others == bytes && !memcmp(text, other, bytes))
                    numbers[k] = number;
            }
        }
    }
    return numbers ? op_host_ints(numbers, shape) : NULL;
}

void build_equal(onnx_call *c)
{
    if (ig_onnx_value_kind(call_value(c, 0)) == IG_ONNX_TEXTS &&
        ig_onnx_value_kind(call_value(c, 1)) == IG_ONNX_TEXTS)
        call_return(c, 0, ig_equal(text_numbers(c, 0), text_numbers(c, 1)));
    else
        build_binary(c);
}

/* ---- any number of operands ----------------------------------------------------------------- */

static ig_array *fold_operands(onnx_call *c, int *n)
{
    ig_array **x = op_arrays(c, n);
    if (*n < 1) {
        call_fail(c, IG_ERR_ARGUMENT, NULL, "has no inputs");
        return NULL;
    }
    ig_array *result = x[0];
    for (int i = 1; i < *n; i++)
        result = call_ingot(c, (ig_array *[]){result, x[i]}, 2);
    return result;
}

void build_variadic(onnx_call *c)
{
    int n;
    call_return(c, 0, fold_operands(c, &n));
}

void build_mean(onnx_call *c)
{
    int n;
    ig_array *sum = fold_operands(c, &n);
    call_return(c, 0, n > 1 ? ig_divide(sum, ig_float(n)) : sum);
}

/* The branches may be strings. */
void build_where(onnx_call *c)
{
    ig_array *x = op_tokens(c, 1), *y = op_tokens(c, 2),
             *condition = op_beside(call_array(c, 0), x);
    op_return_tokens(c, 0, 1, ig_where(condition, x, y));
}

/* ---- activations ---------------------------------------------------------------------------- */

void build_celu(onnx_call *c)
{
    call_return(c, 0, ig_celu(call_array(c, 0), call_attribute_float(c, "alpha", 1)));
}

void build_elu(onnx_call *c)
{
    call_return(c, 0, ig_elu(call_array(c, 0), call_attribute_float(c, "alpha", 1)));
}

void build_gelu(onnx_call *c)
{
    bool tanh = call_attribute_choice(c, "approximate", "none|tanh") == 1;
    call_return(c, 0, ig_gelu(call_array(c, 0), tanh ? "tanh" : "none"));
}

void build_hard_sigmoid(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    ig_array *y = ig_times(op_wide(x), call_attribute_float(c, "alpha", 0.2f));
    y = ig_clip(ig_plus(y, call_attribute_float(c, "beta", 0.5)), ig_float(0), ig_float(1));
    call_return(c, 0, op_as(y, ig_dtype_of(x)));
}

void build_leaky_relu(onnx_call *c)
{
    call_return(c, 0, ig_leaky_relu(call_array(c, 0), call_attribute_float(c, "alpha", 0.01f)));
}

/* The slope broadcasts to x; in old versions a vector holds one for each channel. */
void build_prelu(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *slope = call_array(c, 1);
    if (call_version(c) < 7 && ig_ndim(slope) == 1 && ig_size(slope) > 1)
        slope = op_channels(slope, ig_ndim(x));
    call_return(c, 0, ig_where(ig_less(x, ig_int(0)), ig_multiply(x, slope), x));
}

void build_selu(onnx_call *c)
{
    bool old = call_version(c) < 6;
    double alpha = call_attribute_float(c, "alpha", old ? 1.6732f : 1.67326319217681884765625);
    double gamma = call_attribute_float(c, "gamma", old ? 1.0507f : 1.05070102214813232421875);
    ig_array *x = call_array(c, 0);
    call_return(c, 0, op_as(ig_times(ig_elu(op_wide(x), alpha), gamma), ig_dtype_of(x)));
}

void build_shrink(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    double bias = call_attribute_float(c, "bias", 0),
           lambda = call_attribute_float(c, "lambd", 0.5);
    ig_array *y = ig_where(ig_greater(x, ig_float(lambda)), ig_plus(x, -bias), ig_float(0));
    y = ig_where(ig_less(x, ig_float(-lambda)), ig_plus(x, bias), y);
    call_return(c, 0, ig_astype(y, ig_dtype_of(x)));
}

void build_swish(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    double alpha = call_attribute_float(c, "alpha", 1);
    ig_array *wide = op_wide(x), *gate = ig_sigmoid(alpha == 1 ? wide : ig_times(wide, alpha));
    call_return(c, 0, op_as(ig_multiply(wide, gate), ig_dtype_of(x)));
}

void build_thresholded_relu(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *alpha = ig_float(call_attribute_float(c, "alpha", 1));
    call_return(c, 0, ig_where(ig_greater(x, alpha), x, ig_float(0)));
}

/* ---- others --------------------------------------------------------------------------------- */

/* The upper bound wins over the lower one. Before version 11 the bounds are attributes. */
void build_clip(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *low, *high;
    if (call_version(c) < 11) {
        low = call_has_attribute(c, "min") ? ig_float(call_attribute_float(c, "min", 0)) : NULL;
        high = call_has_attribute(c, "max") ? ig_float(call_attribute_float(c, "max", 0)) : NULL;
    } else {
        low = call_array_or_null(c, 1);
        high = call_array_or_null(c, 2);
    }
    if (low)
        x = ig_maximum(x, low);
    if (high)
        x = ig_minimum(x, high);
    call_return(c, 0, x);
}

void build_isinf(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    bool negative = call_attribute_bool(c, "detect_negative", true);
    bool positive = call_attribute_bool(c, "detect_positive", true);
    ig_array *result = ig_isinf(x);
    if (!negative)
        result = ig_logical_and(result, ig_greater(x, ig_float(0)));
    if (!positive)
        result = ig_logical_and(result, ig_less(x, ig_float(0)));
    call_return(c, 0, result);
}
