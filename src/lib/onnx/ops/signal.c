/* Fourier transforms and windows of signals. Complex numbers are pairs along the last axis. */
#include "lib/onnx/ops/common.h"

#include <math.h>

/* x (..., 1) or (..., 2) as real or complex numbers (...). */
static ig_array *to_numbers(onnx_call *c, ig_array *x)
{
    int last = ig_ndim(x) - 1;
    int64_t n = ig_dim(x, last);
    if (ig_dtype_of(x) != IG_F64)
        x = ig_astype(x, IG_F32);
    if (n == 1)
        return ig_squeeze(x, IG_AXES(-1));
    if (n == 2)
        return ig_complex(ig_squeeze(op_part(x, last, 0, 1), IG_AXES(-1)),
                          ig_squeeze(op_part(x, last, 1, 2), IG_AXES(-1)));
    call_fail(c, IG_ERR_SHAPE, NULL, "the last axis must have 1 or 2 elements, not %lld",
              (long long)n);
    return NULL;
}

static ig_array *to_pairs(ig_array *x)
{
    return ig_stack((ig_array *[]){ig_real(x), ig_imag(x)}, 2, -1);
}

/* The transform of real or complex numbers along an axis; onesided: the first n / 2 + 1 results. */
static ig_array *transform(ig_array *x, int64_t n, int axis, bool onesided)
{
    bool is_complex = ig_isdtype(ig_dtype_of(x), "complex floating");
    if (onesided && !is_complex)
        return ig_rfft(x, n, axis, NULL);
    x = ig_fft(x, n, axis, NULL);
    return onesided ? op_part(x, axis, 0, n / 2 + 1) : x;
}

/* Before version 20 the axis is an attribute. */
void build_dft(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *y;
    bool inverse = call_attribute_bool(c, "inverse", false);
    bool onesided = call_attribute_bool(c, "onesided", false);
    int64_t given = call_version(c) < 20 ? call_attribute_int(c, "axis", 1) : call_int(c, 2, -2);
    int axis = op_axis(c, given, ig_ndim(x));
    int64_t length = ig_dim(x, axis);
    int64_t n = call_int(c, 1, inverse && onesided ? 2 * (length - 1) : length);
    op_within(c, "dft_length", n, 1, LENGTH_MOST);
    if (axis == ig_ndim(x) - 1)
        call_fail(c, IG_ERR_ARGUMENT, "axis",
                  "is the last axis, which holds real and imaginary parts");
    ig_array *numbers = to_numbers(c, x);
    if (ig_failed())
        return;
    if (inverse && onesided)
        y = ig_expand_dims(ig_irfft(numbers, n, axis, NULL), IG_AXES(-1));
    else
        y = to_pairs(inverse ? ig_ifft(numbers, n, axis, NULL)
                             : transform(numbers, n, axis, onesided));
    call_return(c, 0, ig_astype(y, ig_dtype_of(x)));
}

/* A signal of two axes is real: exporters leave out the last axis of length 1, and ONNX Runtime accepts it. */
void build_stft(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *window = call_array_or_null(c, 2);
    bool onesided = call_attribute_bool(c, "onesided", true);
    int64_t step = call_int(c, 1, 0);
    if (ig_ndim(x) == 2)
        x = ig_expand_dims(x, IG_AXES(-1));
    if (ig_failed() || ig_ndim(x) != 3) {
        call_fail(c, IG_ERR_SHAPE, NULL, "the signal must have 2 or 3 axes, not %d", ig_ndim(x));
        return;
    }
    int64_t length = ig_dim(x, 1), n = call_int(c, 3, window ? ig_size(window) : length);
    op_within(c, "frame_step", step, 1, LENGTH_MOST);
    op_within(c, "frame_length", n, window && ig_size(window) > 0 ? ig_size(window) : 1, length);
    if (ig_failed())
        return;
    ig_array *signal = to_numbers(c, x);
    ig_array *frames = ig_sliding_window_view(signal, IG_SHAPE(n), IG_AXES(1));
    frames = ig_slice(frames, IG_AXES(0, 0), IG_AXES(INT64_MAX, INT64_MAX), IG_AXES(1, step));
    if (window) {
        int64_t before = 0, after = n - ig_size(window);
        ig_dtype dtype = ig_dtype_of(x) == IG_F64 ? IG_F64 : IG_F32;
        window = pad_with(c, ig_astype(window, dtype), &before, &after, "constant", NULL);
        frames = ig_multiply(frames, window);
    }
    ig_array *y = to_pairs(transform(frames, n, 2, onesided));
    call_return(c, 0, ig_astype(y, ig_dtype_of(x)));
}

/* ---- windows -------------------------------------------------------------------------------- */

/* a0 - a1 cos(t) + a2 cos(2 t), t from 0 to 2 pi: once around without the end, or with it. */
static void build_window(onnx_call *c, double a0, double a1, double a2)
{
    int64_t n = call_int(c, 0, 0);
    bool periodic = call_attribute_bool(c, "periodic", true);
    ig_onnx_type type = call_attribute_type(c, "output_datatype", IG_ONNX_FLOAT);
    double *v = n >= 0 && n < INT32_MAX ? (double *)(void *)call_room(c, (int)n + 1) : NULL;
    if (!v) {
        call_fail(c, IG_ERR_ARGUMENT, "size", "is %lld", (long long)n);
        return;
    }
    int64_t steps = periodic ? n : n - 1;
    for (int64_t i = 0; i < n; i++) {
        double t = steps ? 2 * acos(-1) * (double)i / (double)steps : 0;
        v[i] = a0 - a1 * cos(t) + a2 * cos(2 * t);
    }
    ig_array *x = ig_to_device(ig_from_data(v, IG_SHAPE(n), IG_F64), "cpu");
    call_return_typed(c, 0, onnx_cast(x, IG_ONNX_DOUBLE, type, true), type);
}

void build_hann_window(onnx_call *c) { build_window(c, 0.5, 0.5, 0); }
void build_hamming_window(onnx_call *c) { build_window(c, 25.0 / 46, 21.0 / 46, 0); }
void build_blackman_window(onnx_call *c) { build_window(c, 0.42, 0.5, 0.08); }
