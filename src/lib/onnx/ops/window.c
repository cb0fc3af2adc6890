/* Convolutions and pools. */
#include "lib/onnx/ops/window.h"
#include "lib/onnx/ops/parts.h"

#include <string.h>

/* ---- windows -------------------------------------------------------------------------------- */

enum { NOTSET, SAME_UPPER, SAME_LOWER, VALID };

static int read_auto_pad(onnx_call *c)
{
    return call_attribute_choice(c, "auto_pad", "NOTSET|SAME_UPPER|SAME_LOWER|VALID");
}

/* A list with one number for each axis, or `otherwise` for all. */
static void read_numbers(onnx_call *c, const char *name, int n, int64_t otherwise, int64_t *v)
{
    ig_ints list = call_attribute_ints(c, name);
    if (list.v && list.n != n)
        call_fail(c, IG_ERR_ARGUMENT, name, "has %d numbers for %d axes", list.n, n);
    for (int i = 0; i < n; i++)
        v[i] = list.v && list.n == n ? list.v[i] : otherwise;
}

static void read_pads(onnx_call *c, int n, window *w)
{
    int64_t pads[2 * WINDOW_AXES];
    read_numbers(c, "pads", 2 * n, 0, pads);
    memcpy(w->before, pads, sizeof *pads * (size_t)n);
    memcpy(w->after, pads + n, sizeof *pads * (size_t)n);
}

static bool read_basics(onnx_call *c, ig_ints shape, ig_ints kernel, window *w)
{
    memset(w, 0, sizeof *w);
    w->n = shape.n - 2;
    if (w->n < 1 || w->n > WINDOW_AXES / 2) {
        call_fail(c, IG_ERR_SHAPE, NULL, "the input has %d axes", shape.n);
        return false;
    }
    if (call_has_attribute(c, "kernel_shape"))
        kernel = call_attribute_ints(c, "kernel_shape");
    if (kernel.n != w->n) {
        call_fail(c, IG_ERR_ARGUMENT, "kernel_shape", "has %d numbers for %d axes", kernel.n, w->n);
        return false;
    }
    memcpy(w->kernel, kernel.v, sizeof *kernel.v * (size_t)w->n);
    read_numbers(c, "strides", w->n, 1, w->stride);
    read_numbers(c, "dilations", w->n, 1, w->dilation);
    read_pads(c, w->n, w);
    for (int i = 0; i < w->n; i++)
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1)
            call_fail(c, IG_ERR_ARGUMENT, NULL,
                      "kernel_shape, strides and dilations must be positive");
        else if (w->kernel[i] > INT32_MAX || w->stride[i] > INT32_MAX || w->dilation[i] > 1 << 20 ||
                 w->before[i] < -INT32_MAX || w->before[i] > INT32_MAX ||
                 w->after[i] < -INT32_MAX || w->after[i] > INT32_MAX)
            call_fail(c, IG_ERR_ARGUMENT, NULL,
                      "kernel_shape, strides, dilations or pads are out of range");
    return !ig_failed();
}

static int64_t reach(const window *w, int i) { return (w->kernel[i] - 1) * w->dilation[i] + 1; }

/* The share of padding that comes first. */
static int64_t first_half(int64_t total, bool upper)
{
    return upper ? total / 2 : total - total / 2;
}

bool window_read(onnx_call *c, ig_ints shape, ig_ints kernel, window *w)
{
    if (!read_basics(c, shape, kernel, w))
        return false;
    int kind = read_auto_pad(c);
    bool ceil_mode = call_attribute_bool(c, "ceil_mode", false);
    for (int i = 0; i < w->n; i++) {
        int64_t length = shape.v[2 + i], stride = w->stride[i];
        if (kind == SAME_UPPER || kind == SAME_LOWER) {
            int64_t total = ((length + stride - 1) / stride - 1) * stride + reach(w, i) - length;
            total = total > 0 ? total : 0;
            w->before[i] = first_half(total, kind == SAME_UPPER);
            w->after[i] = total - w->before[i];
        } else if (kind == VALID) {
            w->before[i] = w->after[i] = 0;
        }
        int64_t room = length + w->before[i] + w->after[i] - reach(w, i);
        if (room < 0 && !(ceil_mode && room > -stride)) {
            call_fail(c, IG_ERR_SHAPE, NULL, "a window of %lld does not fit the padded length %lld",
                      (long long)reach(w, i), (long long)(room + reach(w, i)));
            return false;
        }
        w->out[i] = (room < 0 ? 0 : room / stride) + 1;
        /* A window that begins after the input and its first padding does not count. */
        if (ceil_mode && room > 0 && room % stride && w->out[i] * stride < length + w->before[i])
            w->out[i]++;
        w->extra[i] = (w->out[i] - 1) * stride - room;
    }
    return true;
}

ig_array *pool_pad(onnx_call *c, ig_array *x, const window *w, bool extra, ig_array *value)
{
    int64_t before[IG_MAX_NDIM] = {0}, after[IG_MAX_NDIM] = {0};
    for (int i = 0; i < w->n; i++) {
        before[2 + i] = w->before[i];
        after[2 + i] = w->after[i] + (extra ? w->extra[i] : 0);
    }
    return pad_with(c, x, before, after, "constant", value);
}

ig_array *pool_view(ig_array *x, const window *w)
{
    int64_t lengths[WINDOW_AXES], axes[WINDOW_AXES], steps[IG_MAX_NDIM] = {1, 1};
    int64_t from[IG_MAX_NDIM] = {0}, to[IG_MAX_NDIM];
    for (int i = 0; i < w->n; i++) {
        lengths[i] = reach(w, i);
        axes[i] = 2 + i;
        steps[2 + i] = w->stride[i];
        steps[2 + w->n + i] = w->dilation[i];
    }
    int ndim = 2 + 2 * w->n;
    for (int i = 0; i < ndim; i++)
        to[i] = INT64_MAX;
    ig_array *view = ig_sliding_window_view(x, (ig_ints){lengths, w->n}, (ig_ints){axes, w->n});
    return ig_slice(view, (ig_ints){from, ndim}, (ig_ints){to, ndim}, (ig_ints){steps, ndim});
}

/* The elements of each window along one last axis. */
static ig_array *window_rows(ig_array *x, const window *w)
{
    int64_t shape[IG_MAX_NDIM] = {ig_dim(x, 0), ig_dim(x, 1)};
    for (int i = 0; i < w->n; i++)
        shape[2 + i] = w->out[i];
    shape[2 + w->n] = op_product(w->kernel, w->n);
    return ig_reshape(pool_view(x, w), (ig_ints){shape, 3 + w->n});
}

/* The padding is the same before and after each axis, and an op of Ingot adds it. */
static bool is_plain(const window *w, bool is_pool)
{
    for (int i = 0; i < w->n; i++)
        if (w->before[i] != w->after[i] || w->before[i] < 0 ||
            (is_pool && (w->extra[i] > 0 || 2 * w->before[i] > w->kernel[i])))
            return false;
    return w->n <= 3;
}

/* ---- convolutions --------------------------------------------------------------------------- */

typedef ig_array *conv_function(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                                ig_ints padding, ig_ints dilation, int groups);
typedef ig_array *conv_transpose_function(ig_array *x, ig_array *weight, ig_array *bias,
                                          ig_ints stride, ig_ints padding, ig_ints output_padding,
                                          int groups, ig_ints dilation);

static ig_ints weight_kernel(ig_array *weight)
{
    ig_ints shape = ig_shape(weight);
    return shape.n > 2 ? (ig_ints){shape.v + 2, shape.n - 2} : IG_NONE;
}

static bool has_conv(onnx_call *c, const window *w)
{
    if (w->n > 3)
        call_fail(c, IG_ERR_UNSUPPORTED, NULL, "convolutions have 1 to 3 axes of space, not %d",
                  w->n);
    return w->n <= 3;
}

ig_array *window_conv(onnx_call *c, ig_array *x, ig_array *weight, ig_array *bias)
{
    static conv_function *const functions[] = {ig_conv1d, ig_conv2d, ig_conv3d};
    int groups = (int)op_within(c, "group", call_attribute_int(c, "group", 1), 1, INT32_MAX);
    window w;
    if (!window_read(c, ig_shape(x), weight_kernel(weight), &w) || !has_conv(c, &w))
        return NULL;
    int64_t zero[3] = {0, 0, 0};
    bool plain = is_plain(&w, false);
    if (!plain)
        x = pool_pad(c, x, &w, false, NULL);
    return functions[w.n - 1](x, weight, bias, (ig_ints){w.stride, w.n},
                              (ig_ints){plain ? w.before : zero, w.n}, (ig_ints){w.dilation, w.n},
                              groups);
}

void build_conv(onnx_call *c)
{
    ig_array *x[2] = {call_array(c, 0), call_array(c, 1)}, *bias = call_array_or_null(c, 2), *scale;
    if (!part_whole(c, 0, x, &scale)) {
        call_return(c, 0, window_conv(c, x[0], x[1], bias));
        return;
    }
    ig_array *sums = window_conv(c, x[0], x[1], NULL), *whole;
    const int ndim = ig_ndim(sums);
    const bool exact = part_whole_bias(c, scale, &whole);
    if (exact && whole)
        sums = ig_add(sums, op_channels(whole, ndim));
    scale = ig_ndim(scale) > 0 ? op_channels(scale, ndim) : scale;
    ig_array *y = ig_multiply(ig_astype(sums, IG_F32), scale);
    if (exact)
        part_return_sums(c, y, sums, scale);
    else
        call_return(c, 0, bias ? ig_add(y, op_channels(bias, ndim)) : y);
}

/* Padding crops the result; output_shape and auto_pad state it by the length that is wanted. */
static void transpose_pads(onnx_call *c, ig_ints shape, const int64_t *more, window *w)
{
    int kind = read_auto_pad(c);
    bool is_same = kind == SAME_UPPER || kind == SAME_LOWER;
    int64_t wanted[WINDOW_AXES];
    read_numbers(c, "output_shape", w->n, -1, wanted);
    for (int i = 0; i < w->n; i++) {
        op_within(c, "output_shape", wanted[i], -1, LENGTH_MOST);
        op_within(c, "output_padding", more[i], 0, INT32_MAX);
        if (ig_failed())
            return;
        int64_t length = shape.v[2 + i], full = (length - 1) * w->stride[i] + more[i] + reach(w, i);
        if (kind == VALID)
            w->before[i] = w->after[i] = 0;
        if (wanted[i] < 0 && is_same && length * w->stride[i] < full)
            wanted[i] = length * w->stride[i];
        else if (is_same)
            w->before[i] = w->after[i] = 0;
        if (wanted[i] >= 0) {
            int64_t total = full - wanted[i];
            w->before[i] = total > 0 ? first_half(total, kind == SAME_UPPER) : 0;
            w->after[i] = total - w->before[i];
        }
    }
}

void build_conv_transpose(onnx_call *c)
{
    static conv_transpose_function *const functions[] = {ig_conv_transpose1d, ig_conv_transpose2d,
                                                         ig_conv_transpose3d};
    ig_array *x = call_array(c, 0), *weight = call_array(c, 1), *bias = call_array_or_null(c, 2);
    int groups = (int)op_within(c, "group", call_attribute_int(c, "group", 1), 1, INT32_MAX);
    window w;
    int64_t more[WINDOW_AXES], zero[3] = {0, 0, 0};
    if (!read_basics(c, ig_shape(x), weight_kernel(weight), &w) || !has_conv(c, &w))
        return;
    read_numbers(c, "output_padding", w.n, 0, more);
    transpose_pads(c, ig_shape(x), more, &w);
    if (ig_failed())
        return;
    ig_array *y =
        functions[w.n - 1](x, weight, NULL, (ig_ints){w.stride, w.n}, (ig_ints){zero, w.n},
                           (ig_ints){zero, w.n}, groups, (ig_ints){w.dilation, w.n});
    for (int i = 0; i < w.n; i++) {
        w.before[i] = -w.before[i];
        w.after[i] = more[i] - w.after[i];
    }
    y = pool_pad(c, y, &w, false, NULL);
    call_return(c, 0, bias ? ig_add(y, op_channels(bias, ig_ndim(y))) : y);
}

/* ---- pools ---------------------------------------------------------------------------------- */

typedef ig_array *max_pool_function(ig_array *, ig_ints, ig_ints, ig_ints, ig_ints, bool);
typedef int max_pool_indices_function(ig_array *, ig_ints, ig_ints, ig_ints, ig_ints, bool,
                                      ig_array *[2]);

/* The position in x of elements of its padded image of that shape, which are given by their position in space. column_major: the
 * first axis of space is the fastest one. */
static ig_array *flat_positions(ig_array *x, ig_ints padded, ig_array *at, const window *w,
                                bool column_major)
{
    const ig_ints shape = ig_shape(x);
    const int64_t planes[2 + WINDOW_AXES] = {shape.v[0], shape.v[1], 1, 1, 1};
    ig_array *plane = op_iota(shape.v[0] * shape.v[1], IG_I64, x);
    ig_array *y = ig_multiply(ig_reshape(plane, (ig_ints){planes, shape.n}),
                              ig_int(op_product(shape.v + 2, w->n)));
    for (int i = w->n - 1; i >= 0; i--) {
        const int64_t by =
            column_major ? op_product(shape.v + 2, i) : op_product(shape.v + 3 + i, w->n - 1 - i);
        ig_array *along = ig_remainder(at, ig_int(padded.v[2 + i]));
        y = ig_add(y, ig_multiply(ig_subtract(along, ig_int(w->before[i])), ig_int(by)));
        at = ig_floor_divide(at, ig_int(padded.v[2 + i]));
    }
    return y;
}

void build_max_pool(onnx_call *c)
{
    static max_pool_function *const values[] = {ig_max_pool1d, ig_max_pool2d, ig_max_pool3d};
    static max_pool_indices_function *const both[] = {
        ig_max_pool1d_with_indices, ig_max_pool2d_with_indices, ig_max_pool3d_with_indices};
    ig_array *x = call_array(c, 0), *padded = x, *y[2] = {NULL, NULL};
    const bool column_major = call_attribute_bool(c, "storage_order", false);
    window w, inner;
    if (!window_read(c, ig_shape(x), IG_NONE, &w))
        return;
    inner = w;
    if (!is_plain(&w, true)) {
        padded = pool_pad(c, x, &w, true, op_extreme(ig_dtype_of(x), false));
        memset(inner.before, 0, sizeof inner.before);
    } else
        memset(w.before, 0, sizeof w.before); /* positions are those in x already */
    const ig_ints kernel = {w.kernel, w.n}, stride = {w.stride, w.n}, pads = {inner.before, w.n};
    const ig_ints dilation = {w.dilation, w.n};
    if (w.n > 3 && call_wants(c, 1))
        call_fail(c, IG_ERR_UNSUPPORTED, NULL,
                  "has indices of windows over %d axes; at most 3 are supported", w.n);
    else if (w.n > 3)
        y[0] = ig_max(window_rows(padded, &w), IG_AXES(-1), false);
    else if (!call_wants(c, 1))
        y[0] = values[w.n - 1](padded, kernel, stride, pads, dilation, false);
    else if (both[w.n - 1](padded, kernel, stride, pads, dilation, false, y) == 2)
        call_return(c, 1, flat_positions(x, ig_shape(padded), y[1], &w, column_major));
    call_return(c, 0, y[0]);
}

static ig_array *plain_average_pool(ig_array *x, const window *w, bool counts_pads)
{
    ig_ints kernel = {w->kernel, w->n}, stride = {w->stride, w->n}, pads = {w->before, w->n};
    if (w->n == 1)
        return ig_avg_pool1d(x, kernel, stride, pads, false, counts_pads);
    if (w->n == 2)
        return ig_avg_pool2d(x, kernel, stride, pads, false, counts_pads);
    return ig_avg_pool3d(x, kernel, stride, pads, false, counts_pads);
}

/* The sum of each window. */
static ig_array *window_sums(ig_array *x, const window *w)
{
    int64_t axes[WINDOW_AXES];
    for (int i = 0; i < w->n; i++)
        axes[i] = 2 + w->n + i;
    return ig_sum(pool_view(x, w), (ig_ints){axes, w->n}, ig_dtype_of(x), false);
}

/* The number of elements of each window. Padding counts if counts_pads; the extra elements of ceil_mode never count. */
static ig_array *window_counts(onnx_call *c, ig_array *x, window w, bool counts_pads)
{
    int64_t shape[IG_MAX_NDIM] = {1, 1};
    for (int i = 0; i < w.n; i++) {
        shape[2 + i] = ig_dim(x, 2 + i) + (counts_pads ? w.before[i] + w.after[i] : 0);
        if (counts_pads)
            w.before[i] = w.after[i] = 0;
    }
    ig_array *ones = ig_ones((ig_ints){shape, 2 + w.n}, IG_F32);
    return window_sums(pool_pad(c, ones, &w, true, NULL), &w);
}

/* The sum of each window divided by the number of its elements. Without dilation, the sum is a mean times a constant. */
static ig_array *general_average_pool(onnx_call *c, ig_array *x, window w, bool counts_pads)
{
    ig_dtype dtype = ig_dtype_of(x);
    x = op_wide(x);
    ig_array *counts = window_counts(c, x, w, counts_pads);
    ig_array *padded = pool_pad(c, x, &w, true, NULL);
    bool is_dilated = w.n > 3;
    for (int i = 0; i < w.n; i++)
        is_dilated = is_dilated || w.dilation[i] > 1;
    ig_array *sums;
    if (is_dilated) {
        sums = window_sums(padded, &w);
    } else {
        memset(w.before, 0, sizeof w.before);
        sums = plain_average_pool(padded, &w, true);
        counts = ig_times(counts, 1.0 / (double)op_product(w.kernel, w.n));
    }
    return ig_astype(ig_divide(sums, ig_astype(counts, ig_dtype_of(sums))), dtype);
}

ig_array *window_average(onnx_call *c, ig_array *x)
{
    bool counts_pads = call_attribute_bool(c, "count_include_pad", false), is_dilated = false;
    window w;
    if (!window_read(c, ig_shape(x), IG_NONE, &w))
        return NULL;
    for (int i = 0; i < w.n; i++)
        is_dilated = is_dilated || w.dilation[i] > 1;
    return !is_dilated && is_plain(&w, true) ? plain_average_pool(x, &w, counts_pads)
                                             : general_average_pool(c, x, w, counts_pads);
}

void build_average_pool(onnx_call *c) { call_return(c, 0, window_average(c, call_array(c, 0))); }

/* abs(x)**p, and its inverse. */
static ig_array *power_of(ig_array *x, double p)
{
    return p == 1 ? ig_abs(x) : p == 2 ? ig_square(x) : ig_pow(ig_abs(x), ig_float(p));
}

static ig_array *root_of(ig_array *x, double p)
{
    return p == 1 ? x : p == 2 ? ig_sqrt(x) : ig_pow(x, ig_float(1 / p));
}

static double read_p(onnx_call *c)
{
    return call_version(c) < 2 ? call_attribute_float(c, "p", 2)
                               : (double)call_attribute_int(c, "p", 2);
}

void build_lp_pool(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    double p = read_p(c);
    window w;
    if (!window_read(c, ig_shape(x), IG_NONE, &w))
        return;
    ig_array *sums = window_sums(pool_pad(c, power_of(op_wide(x), p), &w, true, NULL), &w);
    call_return(c, 0, op_as(root_of(sums, p), ig_dtype_of(x)));
}

/* ---- pools of all of space ------------------------------------------------------------------ */

static ig_ints space_axes(onnx_call *c, ig_array *x)
{
    int64_t *axes = call_room(c, IG_MAX_NDIM);
    for (int i = 2; i < ig_ndim(x) && axes; i++)
        axes[i - 2] = i;
    if (ig_ndim(x) < 3)
        call_fail(c, IG_ERR_SHAPE, NULL, "the input has %d axes", ig_ndim(x));
    return (ig_ints){axes, ig_ndim(x) - 2};
}

void build_global_average_pool(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    ig_ints axes = space_axes(c, x);
    call_return(c, 0, ig_failed() ? NULL : ig_mean(x, axes, true));
}

void build_global_max_pool(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    ig_ints axes = space_axes(c, x);
    call_return(c, 0, ig_failed() ? NULL : ig_max(x, axes, true));
}

void build_global_lp_pool(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    ig_ints axes = space_axes(c, x);
    double p = read_p(c);
    if (ig_failed())
        return;
    ig_array *sums = ig_sum(power_of(op_wide(x), p), axes, IG_DTYPE_NONE, true);
    call_return(c, 0, op_as(root_of(sums, p), ig_dtype_of(x)));
}

/* ---- pools of regions ----------------------------------------------------------------------- */

/* Which of n places along an axis each bin of each region covers: bool (regions, bins, n). first and last are columns
 * (regions, 1) in pixels. */
static ig_array *bin_masks(ig_array *first, ig_array *last, int64_t bins, int64_t n)
{
    ig_array *length = ig_maximum(ig_plus(ig_subtract(last, first), 1), ig_float(1));
    ig_array *bin = op_iota(bins, IG_F32, first), *size = ig_divide(length, ig_float((double)bins));
    ig_array *start = ig_add(ig_floor(ig_multiply(bin, size)), first);
    ig_array *stop = ig_add(ig_ceil(ig_multiply(ig_plus(bin, 1), size)), first);
    ig_array *place = op_iota(n, IG_F32, first);
    return ig_logical_and(ig_greater_equal(place, ig_expand_dims(start, IG_AXES(2))),
                          ig_less(place, ig_expand_dims(stop, IG_AXES(2))));
}

/* Column i of the regions, in pixels. */
static ig_array *region_edge(ig_array *regions, int64_t i, double scale)
{
    return ig_floor(ig_plus(ig_times(op_part(regions, 1, i, i + 1), scale), 0.5));
}

/* Regions are rows of batch index, x1, y1, x2, y2. A bin without a place gives 0. */
void build_max_roi_pool(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *regions = ig_astype(call_array(c, 1), IG_F32);
    ig_ints bins = call_attribute_ints(c, "pooled_shape");
    double scale = call_attribute_float(c, "spatial_scale", 1);
    if (ig_ndim(x) != 4 || ig_ndim(regions) != 2 || ig_dim(regions, 1) != 5 || bins.n != 2) {
        call_fail(c, IG_ERR_SHAPE, NULL,
                  "needs x (N, C, H, W), regions (n, 5) and 2 numbers of bins");
        return;
    }
    ig_array *batch = ig_reshape(ig_astype(op_part(regions, 1, 0, 1), IG_I64), IG_SHAPE(-1));
    ig_array *lowest = op_extreme(ig_dtype_of(x), false);
    ig_array *columns = bin_masks(region_edge(regions, 1, scale), region_edge(regions, 3, scale),
                                  bins.v[1], ig_dim(x, 3));
    ig_array *rows = bin_masks(region_edge(regions, 2, scale), region_edge(regions, 4, scale),
                               bins.v[0], ig_dim(x, 2));
    ig_array *y = ig_expand_dims(ig_take(x, batch, IG_AXES(0)), IG_AXES(3)); /* n C H 1 W */
    y = ig_max(ig_where(ig_expand_dims(columns, IG_AXES(1, 2)), y, lowest), IG_AXES(-1), false);
    y = ig_expand_dims(y, IG_AXES(2)); /* n C 1 H bins */
    y = ig_max(ig_where(ig_expand_dims(rows, IG_AXES(1, 4)), y, lowest), IG_AXES(3), false);
    call_return(c, 0, ig_where(ig_equal(y, lowest), ig_scalar(0, ig_dtype_of(x)), y));
}
