/* Images, boxes and spectrograms. */
#include "lib/onnx/ops/ops.h"
#include "lib/onnx/ops/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- places between pixels ---- */

/* The two pixels around places of one axis, and the weights of both. Weights are 0 outside of the image. */
typedef struct neighbours {
    ig_array *low, *high;     /* i64, inside of the image */
    ig_array *w_low, *w_high; /* f32 */
} neighbours;

static ig_array *between(ig_array *x, double low, double high)
{
    return ig_clip(x, ig_float(low), ig_float(high));
}

static ig_array *where_or_zero(ig_array *condition, ig_array *x)
{
    return ig_where(condition, x, ig_float(0));
}

/* Pixels outside of the image are 0. */
static neighbours around_zeros(ig_array *place, int64_t length)
{
    const double last = (double)length - 1;
    ig_array *floor = ig_floor(place), *next = ig_add(floor, ig_float(1));
    ig_array *part = ig_subtract(place, floor);
    ig_array *has_low = ig_equal(between(floor, 0, last), floor);
    ig_array *has_high = ig_equal(between(next, 0, last), next);
    return (neighbours){
        ig_astype(between(floor, 0, last), IG_I64), ig_astype(between(next, 0, last), IG_I64),
        where_or_zero(has_low, ig_subtract(ig_float(1), part)), where_or_zero(has_high, part)};
}

/* ---- DeformConv ---- */

typedef struct deformed {
    int64_t n, channels, h, w, kh, kw, out_h, out_w, groups, offset_groups;
} deformed;

/* x (N * offset groups, channels of a group, H * W) at places (N * offset groups, 1, samples). */
static ig_array *sampled(ig_array *x, const neighbours *y, const neighbours *z, int64_t width)
{
    ig_array *sum = NULL;
    for (int i = 0; i < 4; i++) {
        ig_array *row = i & 2 ? y->high : y->low, *column = i & 1 ? z->high : z->low;
        ig_array *weight = ig_multiply(i & 2 ? y->w_high : y->w_low, i & 1 ? z->w_high : z->w_low);
        ig_array *at = ig_add(ig_multiply(row, ig_int(width)), column);
        ig_array *part =
            ig_multiply(ig_take_along_axis(x, at, -1), ig_astype(weight, ig_dtype_of(x)));
        sum = sum ? ig_add(sum, part) : part;
    }
    return sum;
}

/* Places (N * offset groups, 1, kernel * out) along an axis: offsets plus the places of an ordinary convolution. */
static ig_array *places(const deformed *d, ig_array *offset, int axis, int64_t stride,
                        int64_t dilation, int64_t pad)
{
    const int64_t k = d->kh * d->kw;
    ig_array *o =
        ig_reshape(offset, IG_SHAPE(d->n * d->offset_groups, d->kh, d->kw, 2, d->out_h, d->out_w));
    o = ig_astype(part_at(o, 3, axis), IG_F32);
    ig_array *tap = ig_multiply(part_count(axis ? d->kw : d->kh), ig_int(dilation));
    ig_array *out = ig_multiply(part_count(axis ? d->out_w : d->out_h), ig_int(stride));
    ig_array *base = ig_add(part_along(tap, 5, 1 + axis), part_along(out, 5, 3 + axis));
    base = ig_astype(ig_subtract(base, ig_int(pad)), IG_F32);
    return ig_reshape(ig_add(o, base),
                      IG_SHAPE(d->n * d->offset_groups, 1, k * d->out_h * d->out_w));
}

static int64_t in_list(ig_ints list, int i, int64_t otherwise)
{
    return list.v && i < list.n ? list.v[i] : otherwise;
}

static bool read_deformed(onnx_call *c, deformed *d, ig_array *x, ig_array *w, ig_array *offset)
{
    if (!part_ndim(c, "X", x, 4) || !part_ndim(c, "W", w, 4) || !part_ndim(c, "offset", offset, 4))
        return false;
    *d = (deformed){ig_dim(x, 0),
                    ig_dim(x, 1),
                    ig_dim(x, 2),
                    ig_dim(x, 3),
                    ig_dim(w, 2),
                    ig_dim(w, 3),
                    ig_dim(offset, 2),
                    ig_dim(offset, 3),
                    call_attribute_int(c, "group", 1),
                    call_attribute_int(c, "offset_group", 1)};
    if (d->groups < 1 || d->offset_groups < 1 || d->channels % d->offset_groups != 0 ||
        d->channels != ig_dim(w, 1) * d->groups || ig_dim(w, 0) % d->groups != 0 ||
        ig_dim(offset, 1) != d->offset_groups * d->kh * d->kw * 2)
        call_fail(c, IG_ERR_SHAPE, "offset", "shapes, group and offset_group do not match");
    return !ig_failed();
}

void build_deform_conv(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *w = call_array(c, 1), *offset = call_array(c, 2);
    const ig_ints strides = call_attribute_ints(c, "strides"),
                  pads = call_attribute_ints(c, "pads");
    const ig_ints dilations = call_attribute_ints(c, "dilations");
    deformed d;
    const ig_ints kernel = call_attribute_ints(c, "kernel_shape");
    if (kernel.v &&
        (in_list(kernel, 0, 0) != ig_dim(w, 2) || in_list(kernel, 1, 0) != ig_dim(w, 3)))
        call_fail(c, IG_ERR_SHAPE, "kernel_shape", "differs from the shape of W");
    if (!read_deformed(c, &d, x, w, offset))
        return;
    const int64_t k = d.kh * d.kw, out = d.out_h * d.out_w, both = d.n * d.offset_groups;
    neighbours at[2];
    for (int i = 0; i < 2; i++)
        at[i] = around_zeros(places(&d, offset, i, in_list(strides, i, 1), in_list(dilations, i, 1),
                                    in_list(pads, i, 0)),
                             i ? d.w : d.h);
    ig_array *flat = ig_reshape(x, IG_SHAPE(both, d.channels / d.offset_groups, d.h * d.w));
    ig_array *columns = sampled(flat, &at[0], &at[1], d.w);
    if (call_has(c, 4))
        columns = ig_multiply(columns, ig_reshape(call_array(c, 4), IG_SHAPE(both, 1, k * out)));
    columns = ig_reshape(columns, IG_SHAPE(d.n, d.groups, d.channels / d.groups * k, out));
    ig_array *kernels =
        ig_reshape(w, IG_SHAPE(d.groups, ig_dim(w, 0) / d.groups, d.channels / d.groups * k));
    ig_array *y =
        ig_reshape(ig_matmul(kernels, columns), IG_SHAPE(d.n, ig_dim(w, 0), d.out_h, d.out_w));
    if (call_has(c, 3))
        y = ig_add(y, part_along(call_array(c, 3), 4, 1));
    call_return(c, 0, y);
}

/* ---- RoiAlign ---- */

void build_roi_align(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *rois = call_array(c, 1), *image = call_array(c, 2);
    const bool old = call_row(c)->since < 16;
    const bool half = call_attribute_choice(c, "coordinate_transformation_mode",
                                            old ? "output_half_pixel|half_pixel"
                                                : "half_pixel|output_half_pixel") == (old ? 1 : 0);
    const bool max = call_attribute_choice(c, "mode", "avg|max") == 1;
    const ig_ints size = IG_SHAPE(call_attribute_int(c, "output_height", 1),
                                  call_attribute_int(c, "output_width", 1));
    call_return(c, 0,
                ig_roi_align(x, rois, image, size, call_attribute_float(c, "spatial_scale", 1),
                             call_attribute_int(c, "sampling_ratio", 0), half,
                             max ? "max" : "mean"));
}

/* ---- NonMaxSuppression ---- */

typedef struct candidate {
    double score;
    int64_t box;
} candidate;

static int by_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->box < y->box ? -1 : x->box > y->box;
}

/* box as x1, y1, x2, y2 with x1 <= x2 and y1 <= y2. */
static void corners(const float *box, bool centre, float out[4])
{
    if (centre) {
        for (int i = 0; i < 2; i++) {
            out[i] = box[i] - box[i + 2] / 2;
            out[i + 2] = box[i] + box[i + 2] / 2;
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        out[i] = box[1 - i] < box[3 - i] ? box[1 - i] : box[3 - i];
        out[i + 2] = box[1 - i] < box[3 - i] ? box[3 - i] : box[1 - i];
    }
}

/* True if the area of the intersection, divided by the area of the union, exceeds the threshold. */
static bool overlaps(const float *a, const float *b, bool centre, float threshold)
{
    float p[4], q[4], side[2];
    corners(a, centre, p);
    corners(b, centre, q);
    for (int i = 0; i < 2; i++) {
        side[i] = fminf(p[i + 2], q[i + 2]) - fmaxf(p[i], q[i]);
        if (!(side[i] > 0))
            return false;
    }
    const float common = side[0] * side[1], one = (p[2] - p[0]) * (p[3] - p[1]);
    const float two = (q[2] - q[0]) * (q[3] - q[1]), all = one + two - common;
    return common > 0 && one > 0 && two > 0 && all > 0 && common / all > threshold;
}

typedef struct suppression {
    onnx_call *call;
    const float *boxes, *scores;
    int64_t batches, classes, n, most;
    bool centre, limited;
    float iou, score;
    int64_t *rows; /* (found, 3) */
    int64_t found, room;
} suppression;

static bool keep(suppression *s, int64_t batch, int64_t class_index, int64_t box)
{
    if (s->found == s->room) {
        const int64_t room = s->room ? 2 * s->room : 256;
        int64_t *rows = room < INT32_MAX / 3 ? call_room(s->call, (int)(3 * room)) : NULL;
        if (!rows)
            return false;
        if (s->found)
            memcpy(rows, s->rows, (size_t)(3 * s->found) * sizeof *rows);
        s->rows = rows;
        s->room = room;
    }
    int64_t *row = s->rows + 3 * s->found++;
    row[0] = batch;
    row[1] = class_index;
    row[2] = box;
    return true;
}

/* Selects boxes of one class, the best score first. */
static void suppress(suppression *s, int64_t batch, int64_t class_index, candidate *list)
{
    const float *scores = s->scores + (batch * s->classes + class_index) * s->n;
    const float *boxes = s->boxes + batch * s->n * 4;
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (!s->limited || scores[i] > s->score)
            list[n++] = (candidate){(double)scores[i], i};
    qsort(list, (size_t)n, sizeof *list, by_score);
    const int64_t first = s->found;
    for (int64_t i = 0; i < n && s->found - first < s->most; i++) {
        bool hidden = false;
        for (int64_t j = first; j < s->found && !hidden; j++)
            hidden = overlaps(boxes + list[i].box * 4, boxes + s->rows[3 * j + 2] * 4, s->centre,
                              s->iou);
        if (!hidden && !keep(s, batch, class_index, list[i].box))
            return;
    }
}

void build_non_max_suppression(onnx_call *c)
{
    const ig_array *boxes = call_array(c, 0), *scores = call_array(c, 1);
    if (!part_ndim(c, "boxes", boxes, 3) || !part_ndim(c, "scores", scores, 3))
        return;
    suppression s = {.call = c,
                     .boxes = call_read(c, 0, IG_F32),
                     .scores = call_read(c, 1, IG_F32),
                     .batches = ig_dim(scores, 0),
                     .classes = ig_dim(scores, 1),
                     .n = ig_dim(scores, 2),
                     .most = call_int(c, 2, 0),
                     .centre = call_attribute_int(c, "center_point_box", 0) == 1,
                     .limited = call_has(c, 4),
                     .iou = (float)call_float(c, 3, 0),
                     .score = (float)call_float(c, 4, 0)};
    if (ig_failed())
        return;
    if (ig_dim(boxes, 0) != s.batches || ig_dim(boxes, 1) != s.n || ig_dim(boxes, 2) != 4 ||
        s.n > INT32_MAX / 4) {
        call_fail(c, IG_ERR_SHAPE, "boxes",
                  "must be (batches, boxes, 4), and scores (batches, classes, boxes)");
        return;
    }
    candidate *list = (candidate *)call_room(c, (int)(2 * s.n + 2));
    for (int64_t i = 0; i < s.batches * s.classes && !ig_failed(); i++)
        suppress(&s, i / s.classes, i % s.classes, list);
    call_return(c, 0,
                s.found ? ig_from_data(s.rows, IG_SHAPE(s.found, 3), IG_I64)
                        : ig_zeros(IG_SHAPE(0, 3), IG_I64));
}

/* ---- Col2Im, MaxUnpool, CenterCropPad ---- */

void build_col2im(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    const ig_ints image = call_ints(c, 1), block = call_ints(c, 2);
    const ig_ints pads = call_attribute_ints(c, "pads"),
                  strides = call_attribute_ints(c, "strides");
    const ig_ints dilations = call_attribute_ints(c, "dilations");
    const int n = image.n;
    if (ig_failed())
        return;
    if (n < 1 || n > IG_MAX_NDIM - 2 || block.n != n) {
        call_fail(c, IG_ERR_SHAPE, "block_shape", "does not match image_shape");
        return;
    }
    int64_t *padded = call_room(c, n), *stride = call_room(c, n), *dilation = call_room(c, n);
    for (int i = 0; i < n && !ig_failed(); i++) {
        padded[i] = image.v[i] + in_list(pads, i, 0) + in_list(pads, n + i, 0);
        stride[i] = in_list(strides, i, 1);
        dilation[i] = in_list(dilations, i, 1);
    }
    ig_array *y = ig_fold(x, (ig_ints){padded, n}, block, (ig_ints){dilation, n}, IG_SHAPE(0),
                          (ig_ints){stride, n});
    for (int i = 0; i < n && !ig_failed(); i++)
        y = part_slice(y, i + 2, in_list(pads, i, 0), in_list(pads, i, 0) + image.v[i]);
    call_return(c, 0, y);
}

void build_max_unpool(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *at = call_array(c, 1);
    const ig_ints kernel = call_attribute_ints(c, "kernel_shape"),
                  pads = call_attribute_ints(c, "pads");
    const ig_ints strides = call_attribute_ints(c, "strides");
    const int n = ig_ndim(x) - 2;
    int64_t shape[IG_MAX_NDIM], width[2 * IG_MAX_NDIM] = {0}, size = 1;
    if (ig_failed())
        return;
    if (n < 1 || kernel.n != n) {
        call_fail(c, IG_ERR_SHAPE, "kernel_shape", "does not match X");
        return;
    }
    for (int i = 0; i < n + 2; i++) {
        shape[i] = ig_dim(x, i);
        if (i > 1)
            shape[i] = (shape[i] - 1) * in_list(strides, i - 2, 1) + kernel.v[i - 2] -
                       in_list(pads, i - 2, 0) - in_list(pads, n + i - 2, 0);
        size *= shape[i];
    }
    ig_array *y = ig_scatter(ig_zeros(IG_SHAPE(size), ig_dtype_of(x)), ig_reshape(at, IG_SHAPE(-1)),
                             ig_reshape(x, IG_SHAPE(-1)), 0);
    y = ig_reshape(y, (ig_ints){shape, n + 2});
    if (call_has(c, 2)) {
        const ig_ints out = call_ints(c, 2);
        for (int i = 0; i < n + 2; i++)
            width[2 * i + 1] = in_list(out, i, 0) - shape[i];
        for (int i = 0; i < n + 2; i++)
            if (width[2 * i + 1] < 0 && !ig_failed())
                call_fail(c, IG_ERR_SHAPE, "output_shape", "is smaller than the pooled shape");
        y = ig_failed() ? NULL : ig_pad(y, (ig_ints){width, 2 * (n + 2)}, "constant", ig_int(0));
    }
    call_return(c, 0, y);
}

void build_center_crop_pad(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    const ig_ints shape = call_ints(c, 1), axes = call_attribute_ints(c, "axes");
    const int ndim = ig_ndim(x), n = axes.v ? axes.n : ndim;
    int64_t width[2 * IG_MAX_NDIM] = {0};
    if (!ig_failed() && shape.n != n)
        call_fail(c, IG_ERR_SHAPE, "shape", "has %d lengths for %d axes", shape.n, n);
    for (int i = 0; i < n && !ig_failed(); i++) {
        const int a = axes.v ? part_axis(c, "axes", axes.v[i], ndim) : i;
        const int64_t length = ig_dim(x, a), more = shape.v[i] - length;
        if (shape.v[i] < 0)
            call_fail(c, IG_ERR_SHAPE, "shape", "has a negative length");
        if (more < 0)
            x = part_slice(x, a, -more / 2, -more / 2 + shape.v[i]);
        if (more > 0) {
            width[2 * a] = more / 2;
            width[2 * a + 1] = more - more / 2;
        }
    }
    call_return(c, 0,
                ig_failed() ? NULL : ig_pad(x, (ig_ints){width, 2 * ndim}, "constant", ig_int(0)));
}

/* ---- MelWeightMatrix ---- */

/* Column i of the filters (bins of the spectrum, n): a triangle from edge[i] over edge[i + 1] to edge[i + 2]. */
static void mel_filter(float *out, int64_t n, int64_t i, const int64_t *edge)
{
    const int64_t low = edge[i], centre = edge[i + 1], high = edge[i + 2];
    if (low == centre)
        out[centre * n + i] = 1;
    else
        for (int64_t j = low; j <= centre; j++)
            out[j * n + i] = (float)((double)(j - low) / (double)(centre - low));
    for (int64_t j = centre; j < high; j++)
        out[j * n + i] = (float)((double)(high - j) / (double)(high - centre));
}

void build_mel_weight_matrix(onnx_call *c)
{
    const int64_t n = call_int(c, 0, 0), length = call_int(c, 1, 0), rate = call_int(c, 2, 0);
    const float low = (float)call_float(c, 3, 0), high = (float)call_float(c, 4, 0);
    const ig_onnx_type type = call_attribute_type(c, "output_datatype", IG_ONNX_FLOAT);
    const int64_t bins = length / 2 + 1;
    if (ig_failed())
        return;
    if (n < 1 || length < 1 || rate < 1 || !(low >= 0) || !(high >= low) || isinf(high) ||
        n > 1 << 20 || length > 1 << 28 || bins > INT32_MAX / n) {
        call_fail(c, IG_ERR_ARGUMENT, NULL, "an input is out of range");
        return;
    }
    const double from = 2595 * (double)log10f(1 + low / 700),
                 to = 2595 * (double)log10f(1 + high / 700);
    int64_t *edge = call_room(c, (int)n + 2);
    float *out = (float *)call_room(c, (int)(bins * n + 1) / 2 + 1);
    if (!edge || !out)
        return;
    memset(out, 0, (size_t)(bins * n) * sizeof *out);
    for (int64_t i = 0; i < n + 2; i++) {
        const double mel = from + (double)i * (to - from) / (double)(n + 2);
        const double hertz = 700 * (pow(10, mel / 2595) - 1);
        edge[i] = (int64_t)floor((double)(length + 1) * hertz / (double)rate);
        if (edge[i] > bins || (edge[i] == bins && i < n + 1)) {
            call_fail(c, IG_ERR_ARGUMENT, "upper_edge_hertz", "is above half of the sample rate");
            return;
        }
    }
    for (int64_t i = 0; i < n; i++)
        mel_filter(out, n, i, edge);
    call_return_typed(
        c, 0, ig_astype(ig_from_data(out, IG_SHAPE(bins, n), IG_F32), ig_onnx_type_dtype(type)),
        type);
}

/* ---- ImageDecoder ---- */

/* The gray of RGB pixels, in the integers of ITU-R 601 with 16 bits after the point. */
static ig_array *image_gray(ig_array *x)
{
    static const uint32_t parts[] = {19595, 38470, 7471};
    ig_array *sum =
        ig_sum(ig_multiply(ig_astype(x, IG_U32), ig_from_data(parts, IG_SHAPE(3), IG_U32)),
               IG_AXES(2), IG_U32, true);
    sum = ig_add(sum, ig_int(1 << 15));
    return ig_astype(ig_bitwise_right_shift(sum, ig_int(16)), IG_U8);
}

/* The bytes of a file of any format that ig_load reads. They are read on the host: the size of the image depends on them. */
void build_image_decoder(onnx_call *c)
{
    enum { RGB, BGR, GRAY };
    const int format = call_attribute_choice(c, "pixel_format", "RGB|BGR|Grayscale");
    const ig_array *file = call_array(c, 0);
    const void *bytes = call_read(c, 0, IG_U8);
    ig_array *x = bytes ? ig_image_from_memory(bytes, (size_t)ig_size(file)) : NULL;
    if (!x)
        return;
    const bool colored = ig_ndim(x) == 3 && ig_dim(x, 2) >= 3;
    const ig_index colors[] = {
        {.kind = IG_INDEX_REST},
        {.kind = IG_INDEX_SLICE, .start = 0, .stop = colored ? 3 : 1, .step = 1}};
    if (ig_dtype_of(x) == IG_U16)
        x = ig_astype(ig_bitwise_right_shift(x, ig_int(8)), IG_U8);
    if (ig_ndim(x) == 2)
        x = ig_expand_dims(x, IG_AXES(2));
    x = ig_get(x, colors, 2); /* without alpha */
    if (format == GRAY)
        x = colored ? image_gray(x) : x;
    else if (!colored)
        x = ig_broadcast_to(x, IG_SHAPE(ig_dim(x, 0), ig_dim(x, 1), 3));
    call_return(c, 0, format == BGR ? ig_flip(x, IG_AXES(2)) : x);
}
