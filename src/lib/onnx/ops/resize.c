/* Resampling: Resize, Upsample, GridSample, AffineGrid.
 *
 * Resize works axis by axis. The places to read and their weights depend only on lengths, so they are computed on the host. */
#include "lib/onnx/ops/common.h"

#include <math.h>
#include <stdlib.h>

enum coordinates {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP_AND_RESIZE,
    HALF_PIXEL_TF
};
enum mode { NEAREST, LINEAR, CUBIC };
enum nearest { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };

typedef struct resize {
    enum mode mode;
    enum coordinates coordinates;
    enum nearest nearest;
    bool antialias, excludes_outside;
    double cubic_a, extrapolation;
    float scale[IG_MAX_NDIM], roi_start[IG_MAX_NDIM], roi_end[IG_MAX_NDIM];
    int64_t size[IG_MAX_NDIM];
} resize;

/* ---- tables of one axis --------------------------------------------------------------------- */

/* For each of `out` places: the indices of n elements and their weights; tap t of place j is at [t * out + j]. */
typedef struct taps {
    int64_t in, out;
    int n;
    int64_t *index;
    double *weight;
    bool *outside; /* the place gets the extrapolation value; NULL: none does */
} taps;

static bool taps_new(taps *t)
{
    size_t count = (size_t)t->n * (size_t)t->out + 1;
    t->index = malloc(count * sizeof *t->index);
    t->weight = malloc(count * sizeof *t->weight);
    t->outside = malloc((size_t)t->out + 1);
    if (t->index && t->weight && t->outside)
        return true;
    ig_fail(IG_ERR_MEMORY, "out of memory for the weights of a resampled axis");
    return false;
}

static void taps_free(taps *t)
{
    free(t->index);
    free(t->weight);
    free(t->outside);
}

/* The place in the input of place j of the output, in f32: the scales are f32, and 5 * 0.6 is then the 3 that their author
 * meant. Where ONNX's text and its examples differ, align_corners follows the examples: its length may be fractional. */
static float source_place(const resize *r, int axis, int64_t in, int64_t j)
{
    const float scale = r->scale[axis], x = (float)j, last = (float)in - 1;
    const float exact = scale * (float)in, length = (float)r->size[axis];
    switch (r->coordinates) {
    case ALIGN_CORNERS: return exact == 1 ? 0 : x * last / (exact - 1);
    case ASYMMETRIC: return x / scale;
    case CROP_AND_RESIZE: {
        const float start = r->roi_start[axis], end = r->roi_end[axis];
        return length > 1 ? start * last + x * (end - start) * last / (length - 1)
                          : (start + end) * last / 2;
    }
    case PYTORCH_HALF_PIXEL: return length > 1 ? (x + 0.5F) / scale - 0.5F : 0;
    case HALF_PIXEL_TF: return (x + 0.5F) / scale;
    case HALF_PIXEL_SYMMETRIC:
        return (float)in / 2 * (1 - length / exact) + (x + 0.5F) / scale - 0.5F;
    case HALF_PIXEL: break;
    }
    return (x + 0.5F) / scale - 0.5F;
}

static float nearest_place(enum nearest mode, float x)
{
    switch (mode) {
    case PREFER_CEIL: return floorf(x + 0.5F);
    case FLOOR: return floorf(x);
    case CEIL: return ceilf(x);
    case PREFER_FLOOR: break;
    }
    return ceilf(x - 0.5F);
}

/* The weight of an element at distance x. */
static double kernel_at(const resize *r, double x)
{
    double a = r->cubic_a;
    x = fabs(x);
    if (r->mode == LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static int64_t clamped(double x, int64_t length)
{
    return x < 0 ? 0 : x >= (double)length ? length - 1 : (int64_t)x;
}

/* The taps of place j, around x. */
static void fill_place(const resize *r, taps *t, int64_t j, float x, double narrow)
{
    if (r->mode == NEAREST) {
        t->index[j] = clamped(nearest_place(r->nearest, x), t->in);
        t->weight[j] = 1;
        return;
    }
    double base = ceilf(x) - 1, sum = 0; /* x is in (base, base + 1] */
    for (int i = 0; i < t->n; i++) {
        double place = base + 1 - t->n / 2 + i;
        double weight = kernel_at(r, narrow * (place - x));
        if (r->excludes_outside && (place < 0 || place >= (double)t->in))
            weight = 0;
        t->index[i * t->out + j] = clamped(place, t->in);
        t->weight[i * t->out + j] = weight;
        sum += weight;
    }
    bool scales = (r->antialias || r->excludes_outside) && sum != 0;
    for (int i = 0; i < t->n && scales; i++)
        t->weight[i * t->out + j] /= sum;
}

static bool taps_fill(const resize *r, int axis, taps *t)
{
    double narrow = r->antialias && r->scale[axis] < 1 ? r->scale[axis] : 1;
    t->n = r->mode == NEAREST ? 1 : 2 * (int)ceil((r->mode == CUBIC ? 2 : 1) / narrow);
    if (!taps_new(t))
        return false;
    bool crops = r->coordinates == CROP_AND_RESIZE, any = false;
    for (int64_t j = 0; j < t->out; j++) {
        const float x = source_place(r, axis, t->in, j);
        t->outside[j] = crops && (x < 0 || x > (float)t->in - 1);
        any = any || t->outside[j];
        fill_place(r, t, j, x, narrow);
    }
    if (!any) {
        free(t->outside);
        t->outside = NULL;
    }
    return true;
}

/* ---- one axis ------------------------------------------------------------------------------- */

/* A 1-d table in the shape of an axis of x. */
static ig_array *along_axis(ig_array *v, ig_array *x, int axis)
{
    int64_t shape[IG_MAX_NDIM];
    for (int i = 0; i < ig_ndim(x); i++)
        shape[i] = i == axis ? -1 : 1;
    return ig_reshape(v, (ig_ints){shape, ig_ndim(x)});
}

/* Many taps: a product with the matrix of weights. */
static ig_array *by_matrix(ig_array *x, int axis, const taps *t)
{
    double *w = calloc((size_t)(t->in * t->out) + 1, sizeof *w);
    if (!w) {
        ig_fail(IG_ERR_MEMORY, "out of memory for the weights of a resampled axis");
        return NULL;
    }
    for (int i = 0; i < t->n; i++)
        for (int64_t j = 0; j < t->out; j++)
            w[t->index[i * t->out + j] * t->out + j] += t->weight[i * t->out + j];
    ig_array *matrix = op_numbers(w, IG_SHAPE(t->in, t->out), ig_dtype_of(x), x);
    free(w);
    x = ig_matmul(ig_moveaxis(x, IG_AXES(axis), IG_AXES(-1)), matrix);
    return ig_moveaxis(x, IG_AXES(-1), IG_AXES(axis));
}

static ig_array *by_taps(ig_array *x, int axis, const taps *t)
{
    ig_array *sum = NULL;
    for (int i = 0; i < t->n; i++) {
        ig_array *index = ig_from_data(t->index + i * t->out, IG_SHAPE(t->out), IG_I64);
        ig_array *part = ig_take(x, op_beside(index, x), IG_AXES(axis));
        if (t->n > 1) {
            ig_array *weight =
                op_numbers(t->weight + i * t->out, IG_SHAPE(t->out), ig_dtype_of(x), x);
            part = ig_multiply(part, along_axis(weight, x, axis));
        }
        sum = sum ? ig_add(sum, part) : part;
    }
    return sum;
}

static ig_array *resize_axis(const resize *r, ig_array *x, int axis)
{
    if (r->size[axis] == 0)
        return op_part(x, axis, 0, 0);
    taps t = {.in = ig_dim(x, axis), .out = r->size[axis]};
    ig_array *y = NULL;
    if (taps_fill(r, axis, &t)) {
        y = t.n > 8 ? by_matrix(x, axis, &t) : by_taps(x, axis, &t);
        if (t.outside) {
            ig_array *outside = op_beside(ig_from_data(t.outside, IG_SHAPE(t.out), IG_BOOL), x);
            y = ig_where(along_axis(outside, x, axis), ig_float(r->extrapolation), y);
        }
    }
    taps_free(&t);
    return y;
}

static ig_array *resize_all(onnx_call *c, const resize *r, ig_array *x)
{
    ig_dtype dtype = ig_dtype_of(x);
    bool crops = r->coordinates == CROP_AND_RESIZE;
    bool keeps = r->mode == NEAREST && !crops;
    if (!keeps && dtype != IG_F64 && dtype != IG_F32)
        x = ig_astype(x, IG_F32);
    for (int i = 0; i < ig_ndim(x); i++) {
        bool moves = crops && (r->roi_start[i] != 0 || r->roi_end[i] != 1);
        if (r->scale[i] == 1 && r->size[i] == ig_dim(x, i) && !moves)
            continue;
        if (ig_dim(x, i) < 1 || r->size[i] < 0 || r->size[i] > INT32_MAX) {
            call_fail(c, IG_ERR_SHAPE, NULL, "axis %d cannot be resampled from %lld to %lld", i,
                      (long long)ig_dim(x, i), (long long)r->size[i]);
            return NULL;
        }
        x = resize_axis(r, x, i);
        if (!x)
            return NULL;
    }
    if (ig_dtype_of(x) == dtype)
        return x;
    return ig_astype(is_float(dtype) ? x : ig_round(x), dtype);
}

/* ---- Resize --------------------------------------------------------------------------------- */

/* Sets all axes to stay as they are. */
static void resize_start(resize *r, ig_array *x)
{
    for (int i = 0; i < ig_ndim(x); i++) {
        r->scale[i] = 1;
        r->size[i] = ig_dim(x, i);
        r->roi_start[i] = 0;
        r->roi_end[i] = 1;
    }
}

static void set_scales(onnx_call *c, resize *r, ig_array *x, ig_ints axes, const double *scales)
{
    for (int i = 0; i < axes.n; i++) {
        const int axis = (int)axes.v[i];
        const float scale = (float)scales[i], length = scale * (float)ig_dim(x, axis);
        if (!(scale > 0 && length <= (float)INT32_MAX)) {
            call_fail(c, IG_ERR_ARGUMENT, "scales", "%g is out of range", scales[i]);
            return;
        }
        r->scale[axis] = scale;
        r->size[axis] = (int64_t)length;
    }
}

/* policy: stretch, not_larger, not_smaller. */
static void set_sizes(onnx_call *c, resize *r, ig_array *x, ig_ints axes, const int64_t *sizes,
                      int policy)
{
    float common = 0;
    for (int i = 0; i < axes.n; i++) {
        int axis = (int)axes.v[i];
        op_within(c, "sizes", sizes[i], 0, INT32_MAX);
        if (ig_dim(x, axis) < 1 && policy)
            call_fail(c, IG_ERR_SHAPE, "sizes", "axis %d has no elements", axis);
        if (ig_failed())
            return;
        r->size[axis] = sizes[i];
        r->scale[axis] = (float)sizes[i] / (float)ig_dim(x, axis);
        if (i == 0 || (policy == 1 ? r->scale[axis] < common : r->scale[axis] > common))
            common = r->scale[axis];
    }
    for (int i = 0; i < axes.n && policy; i++) {
        int axis = (int)axes.v[i];
        r->scale[axis] = common;
        r->size[axis] = (int64_t)(common * (float)ig_dim(x, axis) + 0.5F);
    }
}

/* A list of numbers at input i with one for each axis, or n times as many. */
static const double *read_reals(onnx_call *c, int i, int64_t n)
{
    ig_ints shape = call_shape(c, i);
    if (op_product(shape.v, shape.n) == n)
        return call_read(c, i, IG_F64);
    call_fail(c, IG_ERR_SHAPE, NULL, "input %d must have %lld numbers", i, (long long)n);
    return NULL;
}

/* The axes in the order in which they are given. */
static ig_ints resize_axes(onnx_call *c, int ndim)
{
    ig_ints given = call_attribute_ints(c, "axes");
    int n = given.v ? given.n : ndim;
    int64_t *axes = call_room(c, n + 1);
    for (int i = 0; i < n && axes; i++)
        axes[i] = given.v ? op_axis(c, given.v[i], ndim) : i;
    return (ig_ints){axes, axes ? n : 0};
}

static bool is_filled(onnx_call *c, int i)
{
    if (!call_has(c, i))
        return false;
    ig_ints shape = call_shape(c, i);
    return op_product(shape.v, shape.n) > 0;
}

void build_resize(onnx_call *c)
{
    resize r = {0};
    ig_array *x = call_array(c, 0);
    r.mode = (enum mode)call_attribute_choice(c, "mode", "nearest|linear|cubic");
    r.coordinates = (enum coordinates)call_attribute_choice(
        c, "coordinate_transformation_mode",
        "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|"
        "tf_crop_and_resize|tf_half_pixel_for_nn");
    r.nearest = (enum nearest)call_attribute_choice(
        c, "nearest_mode", "round_prefer_floor|round_prefer_ceil|floor|ceil");
    r.antialias = call_attribute_bool(c, "antialias", false);
    r.excludes_outside = call_attribute_bool(c, "exclude_outside", false);
    r.cubic_a = call_attribute_float(c, "cubic_coeff_a", -0.75);
    r.extrapolation = call_attribute_float(c, "extrapolation_value", 0);
    int policy =
        call_attribute_choice(c, "keep_aspect_ratio_policy", "stretch|not_larger|not_smaller");
    ig_ints axes = resize_axes(c, ig_ndim(x));
    if (ig_failed())
        return;
    resize_start(&r, x);
    bool has_sizes = is_filled(c, 3), has_scales = is_filled(c, 2);
    if (has_sizes == has_scales) {
        call_fail(c, IG_ERR_ARGUMENT, NULL, "needs either scales or sizes");
        return;
    }
    if (r.coordinates == CROP_AND_RESIZE) {
        const double *roi = read_reals(c, 1, 2 * axes.n);
        for (int i = 0; i < axes.n && roi; i++) {
            if (!isfinite(roi[i]) || !isfinite(roi[axes.n + i]))
                call_fail(c, IG_ERR_ARGUMENT, "roi", "is not finite");
            r.roi_start[axes.v[i]] = (float)roi[i];
            r.roi_end[axes.v[i]] = (float)roi[axes.n + i];
        }
    }
    if (has_sizes) {
        ig_ints sizes = call_ints(c, 3);
        if (sizes.n != axes.n)
            call_fail(c, IG_ERR_SHAPE, "sizes", "has %d numbers for %d axes", sizes.n, axes.n);
        else
            set_sizes(c, &r, x, axes, sizes.v, policy);
    } else {
        const double *scales = read_reals(c, 2, axes.n);
        if (scales)
            set_scales(c, &r, x, axes, scales);
    }
    if (!ig_failed())
        call_return(c, 0, resize_all(c, &r, x));
}

/* Old forms have scales for all axes and place elements without an offset. */
static void resize_by_scales(onnx_call *c, ig_array *x, const double *scales, bool is_linear)
{
    resize r = {.mode = is_linear ? LINEAR : NEAREST, .coordinates = ASYMMETRIC, .nearest = FLOOR};
    if (!scales)
        return;
    resize_start(&r, x);
    set_scales(c, &r, x, resize_axes(c, ig_ndim(x)), scales);
    if (!ig_failed())
        call_return(c, 0, resize_all(c, &r, x));
}

void build_resize_10(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    int mode = call_attribute_choice(c, "mode", "nearest|linear|bilinear");
    resize_by_scales(c, x, read_reals(c, 1, ig_ndim(x)), mode > 0);
}

void build_upsample(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    int mode = call_attribute_choice(c, "mode", "nearest|linear|bilinear"), n;
    double scales[IG_MAX_NDIM] = {1, 1};
    if (call_version(c) < 7 && ig_ndim(x) == 4) {
        scales[2] = call_attribute_float(c, "height_scale", 1);
        scales[3] = call_attribute_float(c, "width_scale", 1);
        resize_by_scales(c, x, scales, mode > 0);
        return;
    }
    if (call_version(c) >= 9) {
        resize_by_scales(c, x, read_reals(c, 1, ig_ndim(x)), mode > 0);
        return;
    }
    const float *given = call_attribute_floats(c, "scales", &n);
    if (n != ig_ndim(x)) {
        call_fail(c, IG_ERR_ARGUMENT, "scales", "has %d numbers for %d axes", n, ig_ndim(x));
        return;
    }
    for (int i = 0; i < n; i++)
        scales[i] = given[i];
    resize_by_scales(c, x, scales, mode > 0);
}

/* ---- grids ---------------------------------------------------------------------------------- */

void build_grid_sample(onnx_call *c)
{
    static const char *const modes[] = {"linear", "nearest", "cubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    ig_array *x = call_array(c, 0), *grid = call_array(c, 1);
    bool old = call_version(c) < 20;
    int mode =
        call_attribute_choice(c, "mode", old ? "bilinear|nearest|bicubic" : "linear|nearest|cubic");
    int padding = call_attribute_choice(c, "padding_mode", "zeros|border|reflection");
    bool align_corners = call_attribute_bool(c, "align_corners", false);
    ig_dtype dtype = ig_dtype_of(x), wide = dtype == IG_F64 ? IG_F64 : IG_F32;
    ig_array *y = ig_grid_sample(ig_astype(x, wide), ig_astype(grid, wide), modes[mode],
                                 paddings[padding], align_corners);
    call_return(c, 0, ig_astype(y, dtype));
}

/* The coordinates of an axis: -1 and 1 are the middles of the outer elements, or their outer ends. */
static ig_array *grid_axis(onnx_call *c, int64_t n, bool align_corners, ig_array *theta)
{
    double *v = (double *)(void *)call_room(c, (int)n + 1);
    for (int64_t i = 0; i < n && v; i++) {
        if (align_corners)
            v[i] = n > 1 ? 2.0 * (double)i / (double)(n - 1) - 1 : -1;
        else
            v[i] = (2.0 * (double)i + 1) / (double)n - 1;
    }
    return v ? op_numbers(v, IG_SHAPE(n), ig_dtype_of(theta), theta) : NULL;
}

void build_affine_grid(onnx_call *c)
{
    ig_array *theta = call_array(c, 0), *parts[4];
    ig_ints size = call_ints(c, 1);
    bool align_corners = call_attribute_bool(c, "align_corners", false);
    int n = size.n - 2;
    if ((n != 2 && n != 3) || ig_ndim(theta) != 3 || ig_dim(theta, 1) != n ||
        ig_dim(theta, 2) != n + 1) {
        call_fail(c, IG_ERR_SHAPE, NULL, "theta and size are not of a grid with 2 or 3 axes");
        return;
    }
    const int64_t *space = size.v + 2;
    for (int i = 0; i < n; i++)
        op_within(c, "size", space[i], 1, 1 << 30);
    if (ig_failed())
        return;
    ig_dtype dtype = ig_dtype_of(theta);
    for (int i = 0; i < n; i++) { /* the last axis of space comes first */
        int64_t shape[3] = {1, 1, 1};
        int axis = n - 1 - i;
        shape[axis] = space[axis];
        ig_array *along = grid_axis(c, space[axis], align_corners, theta);
        parts[i] = ig_broadcast_to(ig_reshape(along, (ig_ints){shape, n}), (ig_ints){space, n});
    }
    parts[n] = ig_ones((ig_ints){space, n}, dtype);
    int64_t places = op_product(space, n);
    ig_array *grid = ig_reshape(ig_stack(parts, n + 1, -1), IG_SHAPE(places, n + 1));
    grid = ig_matmul(grid, ig_matrix_transpose(theta));
    int64_t shape[5] = {size.v[0], space[0], space[1], n, n};
    if (n == 3)
        shape[3] = space[2];
    call_return(c, 0, ig_reshape(grid, (ig_ints){shape, n + 2}));
}
