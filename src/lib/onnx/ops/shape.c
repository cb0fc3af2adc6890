/* Shapes, moves, and arrays made from shapes. */
#include "lib/onnx/ops/common.h"

#include <math.h>
#include <string.h>

/* ---- views ---------------------------------------------------------------------------------- */

void build_identity(onnx_call *c)
{
    ig_onnx_value *v = call_value(c, 0);
    if (v)
        call_return_value(c, 0, ig_onnx_value_retain(v));
    else
        call_fail(c, IG_ERR_ARGUMENT, NULL, "has no input");
}

/* A 0 copies the length of the input, unless allowzero. */
void build_reshape_to(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    ig_ints shape = op_list(c, "shape", 5, 1);
    bool allows_zero = call_attribute_bool(c, "allowzero", false);
    int64_t *lengths = call_room(c, shape.n + 1);
    int64_t product = 1;
    bool overflows = false;
    int unknown = -1;
    for (int i = 0; i < shape.n && lengths; i++) {
        lengths[i] = shape.v[i];
        if (lengths[i] == 0 && !allows_zero) {
            lengths[i] = ig_dim(x, i);
            if (i >= ig_ndim(x))
                call_fail(c, IG_ERR_SHAPE, "shape", "0 at %d, but the input has %d axes", i,
                          ig_ndim(x));
        }
        if (lengths[i] == -1)
            unknown = i;
        else
            overflows = overflows || __builtin_mul_overflow(product, lengths[i], &product);
    }
    if (overflows)
        call_fail(c, IG_ERR_SHAPE, "shape", "has too many elements");
    if (!lengths || ig_failed())
        return;
    if (unknown >= 0 && product > 0)
        lengths[unknown] = ig_size(x) / product;
    op_return_tokens(c, 0, 0, ig_reshape(x, (ig_ints){lengths, shape.n}));
}

void build_transpose(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    ig_ints order = call_attribute_ints(c, "perm");
    int64_t reversed[IG_MAX_NDIM];
    for (int i = 0; i < ig_ndim(x); i++)
        reversed[i] = ig_ndim(x) - 1 - i;
    if (!call_has_attribute(c, "perm"))
        order = (ig_ints){reversed, ig_ndim(x)};
    op_return_tokens(c, 0, 0, order.n || ig_ndim(x) ? ig_permute_dims(x, order) : x);
}

void build_flatten(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    int ndim = ig_ndim(x);
    int64_t axis = call_attribute_int(c, "axis", 1);
    if (axis < -ndim || axis > ndim) {
        call_fail(c, IG_ERR_SHAPE, "axis", "%lld is out of range for %d axes", (long long)axis,
                  ndim);
        return;
    }
    int first = (int)(axis < 0 ? axis + ndim : axis);
    ig_ints shape = ig_shape(x);
    int64_t rows = op_product(shape.v, first), columns = op_product(shape.v + first, ndim - first);
    op_return_tokens(c, 0, 0, ig_reshape(x, IG_SHAPE(rows, columns)));
}

void build_squeeze(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    ig_ints axes = op_list(c, "axes", 13, 1);
    int64_t ones[IG_MAX_NDIM];
    int n = 0;
    for (int i = 0; i < ig_ndim(x); i++)
        if (ig_dim(x, i) == 1)
            ones[n++] = i;
    axes = axes.v ? op_axes(c, axes, ig_ndim(x)) : (ig_ints){ones, n};
    op_return_tokens(c, 0, 0, axes.n ? ig_squeeze(x, axes) : x);
}

void build_unsqueeze(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    ig_ints axes = op_list(c, "axes", 13, 1);
    if (ig_ndim(x) + axes.n > IG_MAX_NDIM)
        call_fail(c, IG_ERR_SHAPE, "axes", "makes more than %d axes", IG_MAX_NDIM);
    else
        axes = op_axes(c, axes, ig_ndim(x) + axes.n);
    op_return_tokens(c, 0, 0, axes.n && !ig_failed() ? ig_expand_dims(x, axes) : x);
}

/* x and the shape broadcast against each other. */
void build_expand(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    ig_ints shape = call_ints(c, 1);
    int ndim = shape.n > ig_ndim(x) ? shape.n : ig_ndim(x);
    int64_t *lengths = call_room(c, ndim + 1);
    for (int i = 0; i < ndim && lengths; i++) {
        int of_x = i - (ndim - ig_ndim(x)), of_shape = i - (ndim - shape.n);
        int64_t have = of_x < 0 ? 1 : ig_dim(x, of_x), want = of_shape < 0 ? 1 : shape.v[of_shape];
        lengths[i] = want == 1 ? have : want;
    }
    if (lengths && !ig_failed())
        op_return_tokens(c, 0, 0, ig_broadcast_to(x, (ig_ints){lengths, ndim}));
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void slice(onnx_call *c, ig_ints starts, ig_ints ends, ig_ints axes, ig_ints steps)
{
    ig_array *x = op_tokens(c, 0);
    int ndim = ig_ndim(x);
    int64_t from[IG_MAX_NDIM], to[IG_MAX_NDIM], by[IG_MAX_NDIM];
    for (int i = 0; i < ndim; i++) {
        from[i] = 0;
        to[i] = INT64_MAX;
        by[i] = 1;
    }
    if (starts.n != ends.n || (axes.v && axes.n != starts.n) || (steps.v && steps.n != starts.n))
        call_fail(c, IG_ERR_ARGUMENT, NULL, "starts, ends, axes and steps differ in length");
    for (int i = 0; i < starts.n && !ig_failed(); i++) {
        int axis = op_axis(c, axes.v ? axes.v[i] : i, ndim);
        from[axis] = starts.v[i];
        to[axis] = ends.v[i];
        by[axis] = steps.v ? steps.v[i] : 1;
        /* Unlike Python, a start before the first element is the first element, also for steps back. */
        if (by[axis] < 0 && from[axis] < -ig_dim(x, axis))
            from[axis] = 0;
    }
    if (ig_failed())
        return;
    op_return_tokens(c, 0, 0,
                     ig_slice(x, (ig_ints){from, ndim}, (ig_ints){to, ndim}, (ig_ints){by, ndim}));
}

void build_slice(onnx_call *c)
{
    slice(c, call_ints(c, 1), call_ints(c, 2), op_list(c, "axes", 0, 3), op_list(c, "steps", 0, 4));
}

void build_slice_old(onnx_call *c)
{
    slice(c, call_attribute_ints(c, "starts"), call_attribute_ints(c, "ends"),
          call_attribute_ints(c, "axes"), IG_NONE);
}

/* Equal parts, of which the last may be shorter, or the lengths that are given. */
void build_split(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    int axis = op_attribute_axis(c, 0, ig_ndim(x)), n = call_outputs(c);
    ig_ints lengths = op_list(c, "split", 13, 1);
    int64_t length = ig_dim(x, axis), start = 0, count = call_attribute_int(c, "num_outputs", n);
    if (count != n || (lengths.v && lengths.n != n))
        call_fail(c, IG_ERR_ARGUMENT, "split", "has %lld parts for %d outputs",
                  (long long)(lengths.v ? lengths.n : count), n);
    for (int i = 0; i < n && !ig_failed(); i++) {
        int64_t part = lengths.v ? lengths.v[i] : (length + n - 1) / n;
        int64_t stop = part < length - start ? start + part : length;
        if (part < 0 || (lengths.v && part > length - start))
            call_fail(c, IG_ERR_SHAPE, "split", "parts do not fit the length %lld",
                      (long long)length);
        else
            op_return_tokens(c, i, 0, op_part(x, axis, start, stop));
        start = stop;
    }
    if (lengths.v && start != length && !ig_failed())
        call_fail(c, IG_ERR_SHAPE, "split", "parts make %lld, not %lld", (long long)start,
                  (long long)length);
}

void build_concat(onnx_call *c)
{
    int n = call_inputs(c);
    ig_array **x = (ig_array **)(void *)call_room(c, n + 1);
    for (int i = 0; i < n && x; i++)
        x[i] = op_tokens(c, i);
    if (!x || n < 1 || ig_failed())
        return;
    int axis = op_attribute_axis(c, 1, ig_ndim(x[0]));
    op_return_tokens(c, 0, 0, n == 1 ? x[0] : ig_concat(x, n, IG_AXES(axis)));
}

void build_tile(onnx_call *c)
{
    op_return_tokens(c, 0, 0, ig_tile(op_tokens(c, 0), call_ints(c, 1)));
}

/* One axis, repeated. */
void build_tile_old(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    int64_t repeats[IG_MAX_NDIM], count = call_int(c, 1, 1);
    int axis = op_axis(c, call_int(c, 2, 0), ig_ndim(x));
    for (int i = 0; i < ig_ndim(x); i++)
        repeats[i] = i == axis ? count : 1;
    op_return_tokens(c, 0, 0, ig_tile(x, (ig_ints){repeats, ig_ndim(x)}));
}

/* ---- borders -------------------------------------------------------------------------------- */

static void pad(onnx_call *c, ig_ints pads, ig_ints axes, ig_array *value)
{
    ig_array *x = op_tokens(c, 0);
    int64_t before[IG_MAX_NDIM] = {0}, after[IG_MAX_NDIM] = {0};
    int n = axes.v ? axes.n : ig_ndim(x);
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    int mode = call_attribute_choice(c, "mode", "constant|reflect|edge|wrap");
    if (pads.n != 2 * n)
        call_fail(c, IG_ERR_ARGUMENT, "pads", "has %d numbers for %d axes", pads.n, n);
    for (int i = 0; i < n && !ig_failed(); i++) {
        int axis = op_axis(c, axes.v ? axes.v[i] : i, ig_ndim(x));
        before[axis] = pads.v[i];
        after[axis] = pads.v[n + i];
    }
    if (ig_failed())
        return;
    if (value && ig_ndim(value))
        value = ig_reshape(value, IG_SCALAR);
    if (!mode && !value && ig_onnx_value_kind(call_value(c, 0)) == IG_ONNX_TEXTS)
        call_fail(c, IG_ERR_UNSUPPORTED, NULL, "strings need a constant_value");
    else
        op_return_tokens(c, 0, 0, pad_with(c, x, before, after, modes[mode], mode ? NULL : value));
}

void build_pad(onnx_call *c)
{
    pad(c, call_ints(c, 1), op_list(c, "axes", 0, 3), call_has(c, 2) ? op_tokens(c, 2) : NULL);
}

void build_pad_old(onnx_call *c)
{
    const char *name = call_version(c) < 2 ? "paddings" : "pads";
    double value = call_attribute_float(c, "value", 0);
    pad(c, call_attribute_ints(c, name), IG_NONE, ig_scalar(value, ig_dtype_of(call_array(c, 0))));
}

/* ---- space and depth ------------------------------------------------------------------------ */

void build_depth_to_space(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    int64_t b = op_within(c, "blocksize", call_attribute_int(c, "blocksize", 0), 1, 1 << 20);
    bool columns_first = call_attribute_choice(c, "mode", "DCR|CRD") == 1;
    if (ig_ndim(x) != 4 || b < 1 || ig_dim(x, 1) % (b * b)) {
        call_fail(c, IG_ERR_SHAPE, "blocksize",
                  "needs 4 axes and channels in multiples of its square");
        return;
    }
    int64_t n = ig_dim(x, 0), d = ig_dim(x, 1) / (b * b), h = ig_dim(x, 2), w = ig_dim(x, 3);
    if (columns_first)
        x = ig_permute_dims(ig_reshape(x, IG_SHAPE(n, d, b, b, h, w)), IG_AXES(0, 1, 4, 2, 5, 3));
    else
        x = ig_permute_dims(ig_reshape(x, IG_SHAPE(n, b, b, d, h, w)), IG_AXES(0, 3, 4, 1, 5, 2));
    op_return_tokens(c, 0, 0, ig_reshape(x, IG_SHAPE(n, d, h * b, w * b)));
}

void build_space_to_depth(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0);
    int64_t b = op_within(c, "blocksize", call_attribute_int(c, "blocksize", 0), 1, 1 << 20);
    if (ig_ndim(x) != 4 || b < 1 || ig_dim(x, 2) % b || ig_dim(x, 3) % b) {
        call_fail(c, IG_ERR_SHAPE, "blocksize", "needs 4 axes and lengths in multiples of it");
        return;
    }
    int64_t n = ig_dim(x, 0), d = ig_dim(x, 1), h = ig_dim(x, 2) / b, w = ig_dim(x, 3) / b;
    x = ig_permute_dims(ig_reshape(x, IG_SHAPE(n, d, h, b, w, b)), IG_AXES(0, 3, 5, 1, 2, 4));
    op_return_tokens(c, 0, 0, ig_reshape(x, IG_SHAPE(n, d * b * b, h, w)));
}

/* ---- shapes as values ----------------------------------------------------------------------- */

static int64_t clamp_axis(int64_t axis, int ndim)
{
    axis = axis < 0 ? axis + ndim : axis;
    return axis < 0 ? 0 : axis > ndim ? ndim : axis;
}

void build_shape(onnx_call *c)
{
    ig_ints shape = call_shape(c, 0);
    int64_t start = clamp_axis(call_attribute_int(c, "start", 0), shape.n);
    int64_t end = clamp_axis(call_attribute_int(c, "end", shape.n), shape.n);
    int64_t n = end > start ? end - start : 0;
    call_return(c, 0, op_host_ints(n ? shape.v + start : NULL, IG_SHAPE(n)));
}

void build_size(onnx_call *c)
{
    ig_ints shape = call_shape(c, 0);
    int64_t size = op_product(shape.v, shape.n);
    call_return(c, 0, op_host_ints(&size, IG_SCALAR));
}

/* ---- made arrays ---------------------------------------------------------------------------- */

static ig_array *floats_attribute(onnx_call *c, const char *name)
{
    int n;
    const float *v = call_attribute_floats(c, name, &n);
    float none = 0;
    return ig_from_data(v ? v : &none, IG_SHAPE(n), IG_F32);
}

static void return_texts(onnx_call *c, const onnx_bytes *texts, ig_ints shape)
{
    call_return_value(c, 0, value_texts(texts, shape));
}

void build_constant(onnx_call *c)
{
    int n;
    if (call_has_attribute(c, "value")) {
        call_return_value(c, 0, call_attribute_value(c, "value"));
    } else if (call_has_attribute(c, "sparse_value")) {
        const onnx_sparse *sparse = call_attribute_sparse(c, "sparse_value");
        call_return_value(c, 0, sparse ? value_of_sparse(sparse, NULL) : NULL);
    } else if (call_has_attribute(c, "value_int")) {
        int64_t value = call_attribute_int(c, "value_int", 0);
        call_return(c, 0, op_host_ints(&value, IG_SCALAR));
    } else if (call_has_attribute(c, "value_ints")) {
        ig_ints list = call_attribute_ints(c, "value_ints");
        call_return(c, 0, op_host_ints(list.v, IG_SHAPE(list.n)));
    } else if (call_has_attribute(c, "value_float")) {
        call_return(c, 0, ig_scalar(call_attribute_float(c, "value_float", 0), IG_F32));
    } else if (call_has_attribute(c, "value_floats")) {
        call_return(c, 0, floats_attribute(c, "value_floats"));
    } else if (call_has_attribute(c, "value_string")) {
        const char *text = call_attribute_text(c, "value_string", "");
        return_texts(c, &(onnx_bytes){text, strlen(text)}, IG_SCALAR);
    } else if (call_has_attribute(c, "value_strings")) {
        const onnx_bytes *texts = call_attribute_texts(c, "value_strings", &n);
        return_texts(c, texts, IG_SHAPE(n));
    } else {
        call_fail(c, IG_ERR_ARGUMENT, NULL, "has no value");
    }
}

/* Integers may shape graphs, so they stay on the CPU; floats filled in by one number are on any device. */
void build_constant_of_shape(onnx_call *c)
{
    ig_ints shape = call_ints(c, 0);
    ig_array *value = ig_scalar(0, IG_F32);
    ig_onnx_type type = IG_ONNX_FLOAT;
    if (call_has_attribute(c, "value")) {
        ig_onnx_value *v = call_attribute_value(c, "value");
        type = ig_onnx_value_type(v);
        value = ig_reshape(ig_onnx_value_get(v), IG_SCALAR);
        ig_onnx_value_release(v);
    }
    shape = shape.v ? shape : IG_SCALAR;
    ig_array *y = is_float(ig_dtype_of(value))
                      ? ig_full(shape, ig_float(ig_item(value)), ig_dtype_of(value))
                      : ig_broadcast_to(value, shape);
    call_return_typed(c, 0, y, type);
}

void build_eye_like(onnx_call *c)
{
    ig_ints shape = call_shape(c, 0);
    ig_onnx_type type = call_attribute_type(c, "dtype", call_type(c, 0));
    if (shape.n != 2) {
        call_fail(c, IG_ERR_SHAPE, NULL, "needs 2 axes, not %d", shape.n);
        return;
    }
    ig_array *eye =
        ig_eye(shape.v[0], shape.v[1],
               op_within(c, "k", call_attribute_int(c, "k", 0), -LENGTH_MOST, LENGTH_MOST),
               ig_onnx_type_dtype(type));
    call_return_typed(c, 0, eye, type);
}

/* start + i * delta for ceil((limit - start) / delta) elements. */
void build_range(onnx_call *c)
{
    ig_array *start = ig_reshape(call_array(c, 0), IG_SCALAR);
    ig_array *delta = ig_reshape(call_array(c, 2), IG_SCALAR);
    ig_dtype dtype = ig_dtype_of(start);
    double count;
    if (is_integer(dtype)) {
        int64_t a = call_int(c, 0, 0), b = call_int(c, 1, 0), by = call_int(c, 2, 1);
        count = by == 0  ? -1
                : by > 0 ? ceil(((double)b - (double)a) / (double)by)
                         : ceil(((double)a - (double)b) / -(double)by);
        if (by == 0)
            call_fail(c, IG_ERR_ARGUMENT, "delta", "is 0");
    } else {
        double a = call_float(c, 0, 0), b = call_float(c, 1, 0), by = call_float(c, 2, 1);
        count = ceil((b - a) / by);
        if (by == 0 || !isfinite(count))
            call_fail(c, IG_ERR_ARGUMENT, "delta", "gives no finite number of elements");
    }
    if (count > (double)LENGTH_MOST)
        call_fail(c, IG_ERR_SHAPE, NULL, "has %g elements", count);
    if (ig_failed())
        return;
    ig_onnx_type stash = call_attribute_type(c, "stash_type", IG_ONNX_FLOAT);
    bool is_half = dtype == IG_F16 || dtype == IG_BF16;
    ig_dtype wide = is_half ? ig_onnx_type_dtype(stash) : dtype;
    ig_array *i = op_iota(count > 0 ? (int64_t)count : 0, wide, start);
    ig_array *y = ig_add(ig_astype(start, wide), ig_multiply(i, ig_astype(delta, wide)));
    call_return(c, 0, ig_astype(y, dtype));
}

void build_trilu(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    int64_t k = op_within(c, "k", call_int(c, 1, 0), -LENGTH_MOST, LENGTH_MOST);
    bool upper = call_attribute_bool(c, "upper", true);
    call_return_typed(c, 0, upper ? ig_triu(x, k) : ig_tril(x, k), call_type(c, 0));
}
