/* Builder of roi_align, on kernels/roi_align.cu. The kernel reads images as (N, H, W, C), so that the channels of a place are
 * neighbours. Its gradient is the gradient of a definition by other ops:
 *   mean   two products with the weights of the rows and of the columns of each bin
 *   max    the element that the kernel picked, times its weight */
#include "base/error.h"
#include "base/memory.h"
#include "engine/custom/library.h"
#include "engine/ops/grad.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include "engine/ops/window.h"
#include <math.h>
#include <string.h>

#define PICK_Y ((int64_t)1 << 22) /* see the kernel */
enum {
    PLACES_MOST = 1 << 20, /* in a bin along an axis; PICK_Y / 4 */
    PLACES_NEAR = 6,       /* places that are computed from the box are more than 1/2 apart, */
                           /* so this many cover an element and its neighbours */
    START = 0,
    BIN,
    STEP,
    N_PLACES, /* the numbers of geometry, (boxes, x or y, 4) */
};
enum {
    X,
    GEOMETRY,
    NUMBER,
    IMAGE,
    Y,
    PICK
}; /* parameters of the kernel; without PICK in mode mean */
enum { N_ROWS, N_COLUMNS, N_MOST };

/* ---- nodes ---- */

typedef struct roi_align {
    int64_t bins[2]; /* x, y */
    bool most;
    int64_t ratio; /* places of a bin along an axis; 0: as many as elements */
} roi_align;

static int build_again(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel kernel = {
    .file = "roi_align.cu", .build = build_again, .writes_all = true};

/* The results for x (N, H, W, C), geometry (R, 2, 4), number (R) and image (R): (R, C, rows, columns). */
static int node(const roi_align *r, ig_array *const in[4], ig_array **out)
{
    const int64_t *x = in[X]->view.shape, boxes = in[IMAGE]->view.shape[0];
    const int64_t blocks = (boxes * x[3] * r->bins[0] * r->bins[1] + 255) / 256;
    library_args c = args_like(NULL, 0);
    args_arrays(&c, in, Y);
    for (int i = 0; i < 1 + r->most; i++)
        ARGS_RESULT(&c, boxes, x[3], r->bins[1], r->bins[0]);
    ARGS_INTS(&c, boxes, x[3], x[1], x[2], r->bins[1], r->bins[0]);
    const char *const defines[] = {in[X]->dtype == IG_F64 ? "REAL=double" : "REAL=float",
                                   r->most ? "MOST=1" : "MOST=0", NULL};
    const int64_t number[LIBRARY_NUMBERS] = {
        [N_ROWS] = r->bins[1], [N_COLUMNS] = r->bins[0], [N_MOST] = r->most};
    return args_call(&c, &kernel, "roi_align", defines, blocks > 65535 ? 65535 : blocks,
                     LIBRARY_THREADS, number, out);
}

/* The first two axes of x as one. */
static ig_array *joined(ig_array *x)
{
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape + 1, sizeof shape - sizeof *shape);
    shape[0] = -1;
    return ig_reshape(x, (ig_ints){shape, x->view.ndim - 1});
}

/* For vmap: one more axis before all inputs. The images of all are numbered. */
static int build_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const roi_align r = {.bins = {number[N_COLUMNS], number[N_ROWS]}, .most = number[N_MOST]};
    const int64_t stack = in[X]->view.shape[0], images = in[X]->view.shape[1];
    ig_array *first = ig_multiply(build_iota(2, (int64_t[]){stack, 1}), ig_int(images));
    ig_array *all[4] = {joined(in[X]), joined(in[GEOMETRY]), joined(in[NUMBER]),
                        first ? joined(ig_add(in[IMAGE], first)) : NULL};
    ig_array *y[LIBRARY_RESULTS];
    if (!all[0] || !all[1] || !all[2] || !all[3] || !node(&r, all, y))
        return 0;
    for (int i = 0; i < 1 + r.most; i++) {
        const int64_t *s = y[i]->view.shape;
        if (!(out[i] = ig_reshape(y[i], IG_SHAPE(stack, s[0] / stack, s[1], s[2], s[3]))))
            return 0;
    }
    return 1 + r.most;
}

/* ---- the gradient ---- */

/* One number of each box along an axis, (R, 1, 1, 1). */
static ig_array *of_boxes(ig_array *geometry, int axis, int number)
{
    ig_array *x = geometry ? shape_part(geometry, 1, axis, axis + 1) : NULL;
    x = x ? shape_part(x, 2, number, number + 1) : NULL;
    return ig_reshape(x, IG_SHAPE(-1, 1, 1, 1));
}

/* 0, 1, ... n - 1 along one of four axes. */
static ig_array *counted(int64_t n, int axis, const ig_array *like)
{
    int64_t shape[4] = {1, 1, 1, 1};
    shape[axis] = n;
    return build_cast(build_iota(4, shape), (ig_dtype)like->dtype);
}

static ig_array *either(ig_array *condition, ig_array *x)
{
    return ig_where(condition, x, ig_float(0));
}

/* at, of an axis of that length, as the kernel clamps it, and whether it is inside. */
static ig_array *clamped(ig_array *at, int64_t length, ig_array **inside)
{
    *inside = ig_logical_and(ig_greater_equal(at, ig_float(-1)),
                             ig_less_equal(at, ig_float((double)length)));
    return ig_clip(at, ig_float(0), ig_float((double)(length - 1)));
}

/* The weights of all elements of an axis in the sums of each bin, (R, bins, length). */
static ig_array *weights(const roi_align *r, ig_array *geometry, int axis, int64_t length)
{
    ig_array *step = of_boxes(geometry, axis, STEP);
    ig_array *n = ig_stop_gradient(of_boxes(geometry, axis, N_PLACES));
    ig_array *base =
        ig_add(of_boxes(geometry, axis, START),
               ig_multiply(counted(r->bins[axis], 1, geometry), of_boxes(geometry, axis, BIN)));
    ig_array *element = counted(length, 2, geometry), *place, *inside;
    if (r->ratio > 0)
        place = counted(r->ratio, 3, geometry);
    else { /* the first place that may be next to the element, and those after it */
        ig_array *from = ig_divide(ig_subtract(ig_plus(element, -1), base), step);
        from = ig_maximum(ig_minimum(ig_plus(ig_floor(from), -1), ig_plus(n, -PLACES_NEAR)),
                          ig_float(0));
        place = ig_add(ig_stop_gradient(from), counted(PLACES_NEAR, 3, geometry));
    }
    ig_array *at = clamped(ig_add(base, ig_multiply(ig_plus(place, 0.5), step)), length, &inside);
    ig_array *weight = ig_subtract(ig_float(1), ig_abs(ig_subtract(at, element)));
    weight = either(ig_logical_and(inside, ig_less(place, n)), ig_maximum(weight, ig_float(0)));
    return ig_sum(weight, IG_AXES(3), IG_DTYPE_NONE, false);
}

/* The rows of all images are the rows of one matrix; a box has weights for the rows of its own image. */
static ig_array *mean_defined(const roi_align *r, ig_array *const *in)
{
    const int64_t *s = in[X]->view.shape, boxes = in[IMAGE]->view.shape[0];
    ig_array *high = weights(r, in[GEOMETRY], 1, s[1]), *wide = weights(r, in[GEOMETRY], 0, s[2]);
    ig_array *own = ig_equal(ig_reshape(in[IMAGE], IG_SHAPE(boxes, 1, 1, 1)),
                             build_iota(4, (int64_t[]){1, 1, s[0], 1}));
    high = either(own, ig_reshape(high, IG_SHAPE(boxes, r->bins[1], 1, s[1])));
    ig_array *rows = ig_matmul(ig_reshape(high, IG_SHAPE(boxes * r->bins[1], s[0] * s[1])),
                               ig_reshape(in[X], IG_SHAPE(s[0] * s[1], s[2] * s[3])));
    rows = ig_reshape(rows, IG_SHAPE(boxes, r->bins[1], s[2], s[3]));
    ig_array *y = ig_matmul(ig_reshape(wide, IG_SHAPE(boxes, 1, r->bins[0], s[2])), rows);
    y = ig_permute_dims(y, IG_AXES(0, 3, 1, 2));
    return ig_divide(y, ig_reshape(in[NUMBER], IG_SHAPE(boxes, 1, 1, 1)));
}

/* The elements of an axis that were picked, i64, and their weights. second: the later of the two around a place. */
static ig_array *picked(const roi_align *r, ig_array *geometry, int axis, ig_array *place,
                        ig_array *second, int64_t length, ig_array **weight)
{
    ig_array *base = ig_add(
        of_boxes(geometry, axis, START),
        ig_multiply(counted(r->bins[axis], 3 - axis, geometry), of_boxes(geometry, axis, BIN)));
    ig_array *step = of_boxes(geometry, axis, STEP), *inside;
    ig_array *at = ig_add(base, ig_multiply(ig_plus(place, 0.5), step));
    at = clamped(at, length, &inside);
    ig_array *low = ig_stop_gradient(ig_floor(at)), *part = ig_subtract(at, low);
    *weight = ig_where(second, part, ig_subtract(ig_float(1), part));
    ig_array *element = ig_add(low, build_cast(second, (ig_dtype)geometry->dtype));
    return build_cast(ig_minimum(element, ig_float((double)(length - 1))), IG_I64);
}

/* in[NUMBER] is what the kernel picked. */
static ig_array *most_defined(const roi_align *r, ig_array *const *in)
{
    const int64_t *s = in[X]->view.shape;
    const ig_dtype dtype = (ig_dtype)in[X]->dtype;
    ig_array *some = ig_greater_equal(in[NUMBER], ig_int(0));
    ig_array *pick = ig_maximum(in[NUMBER], ig_int(0)), *weight[2];
    ig_array *right = ig_not_equal(ig_bitwise_and(pick, ig_int(1)), ig_int(0));
    ig_array *lower = ig_not_equal(ig_bitwise_and(pick, ig_int(2)), ig_int(0));
    ig_array *place_x = ig_floor_divide(ig_bitwise_and(pick, ig_int(PICK_Y - 1)), ig_int(4));
    ig_array *place_y = ig_floor_divide(pick, ig_int(PICK_Y));
    ig_array *column =
        picked(r, in[GEOMETRY], 0, build_cast(place_x, dtype), right, s[2], &weight[0]);
    ig_array *row = picked(r, in[GEOMETRY], 1, build_cast(place_y, dtype), lower, s[1], &weight[1]);
    ig_array *at =
        ig_add(ig_multiply(ig_reshape(in[IMAGE], IG_SHAPE(-1, 1, 1, 1)), ig_int(s[1])), row);
    at = ig_add(ig_multiply(at, ig_int(s[2])), column);
    at = ig_add(ig_multiply(at, ig_int(s[3])), build_iota(4, (int64_t[]){1, s[3], 1, 1}));
    ig_array *x = ig_take(ig_reshape(in[X], IG_SHAPE(-1)), at, IG_AXES(0));
    return either(some, ig_multiply(x, ig_multiply(weight[0], weight[1])));
}

static ig_status pull_boxes(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                            ig_array **grads)
{
    const roi_align *r = context;
    (void)out;
    for (int i = NUMBER; i < n; i++)
        grads[i] = NULL; /* steps */
    ig_array *y = r->most ? most_defined(r, in) : mean_defined(r, in);
    return y ? grad_of_definition(y, g, in, NUMBER, grads) : error_waiting(IG_ERR_MEMORY);
}

/* ---- the op ---- */

/* The places of boxes (R, 4): geometry (R, 2, 4), and number (R), NaN for a box with too many places. */
static ig_array *geometry_of(const roi_align *r, ig_array *boxes, double scale, bool aligned,
                             ig_array **number)
{
    const int64_t n = boxes->view.shape[0];
    ig_array *corner = ig_reshape(ig_times(boxes, scale), IG_SHAPE(n, 2, 2));
    corner = aligned ? ig_plus(corner, -0.5) : corner;
    ig_array *start = corner ? shape_part(corner, 1, 0, 1) : NULL;
    ig_array *length = start ? ig_subtract(shape_part(corner, 1, 1, 2), start) : NULL;
    length = aligned ? length : ig_maximum(length, ig_float(1));
    ig_array *bins = ig_from_data(r->bins, IG_SHAPE(2), IG_I64);
    ig_array *bin = length ? ig_divide(length, build_cast(bins, (ig_dtype)boxes->dtype)) : NULL;
    ig_array *places = r->ratio > 0 ? ig_full_like(bin, ig_float((double)r->ratio), IG_DTYPE_NONE)
                                    : ig_stop_gradient(ig_ceil(bin));
    ig_array *few = ig_less_equal(places, ig_float(PLACES_MOST));
    ig_array *many = ig_where(few, places, ig_float(NAN));
    *number = ig_maximum(
        ig_prod(ig_maximum(many, ig_float(0)), IG_AXES(1, 2), IG_DTYPE_NONE, false), ig_float(1));
    places = ig_where(few, ig_maximum(places, ig_float(0)), ig_float(0));
    ig_array *step = ig_divide(bin, ig_maximum(places, ig_float(1)));
    ig_array *all[4] = {start, bin, step, places};
    return ig_reshape(ig_stack(all, 4, -1), IG_SHAPE(n, 2, 4));
}

static ig_array *aligned_boxes(const roi_align *r, ig_array *in[4])
{
    ig_array *y[LIBRARY_RESULTS];
    roi_align *kept = NULL;
    if (!node(r, in, y) || !(kept = memory_get(sizeof *kept)))
        return NULL;
    *kept = *r;
    if (r->most)
        in[NUMBER] = y[1];
    return ig_custom_grad(y[0], in, 4, pull_boxes, kept, memory_free);
}

BUILDER(roi_align)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array}, *in[4];
    const view *v = &x[0]->view, *boxes = &x[1]->view, *image = &args[2].u.array->view;
    const char *mode = args[7].u.str;
    roi_align r = {.most = strcmp(mode, "max") == 0, .ratio = args[5].u.i};
    int64_t size[2];
    ig_dtype dtype;
    if (!r.most && strcmp(mode, "mean") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "roi_align: mode is 'mean' or 'max', not '%s'", mode);
    if (v->ndim != 4 || boxes->ndim != 2 || boxes->shape[1] != 4 || image->ndim != 1 ||
        image->shape[0] != boxes->shape[0])
        FAIL_NONE(IG_ERR_SHAPE,
                  "roi_align: x must be (N, C, H, W), boxes (boxes, 4) and indices (boxes)");
    if (r.ratio > PLACES_MOST)
        FAIL_NONE(IG_ERR_ARGUMENT, "roi_align: sampling_ratio is %lld; give at most %d",
                  (long long)r.ratio, PLACES_MOST);
    if (window_numbers(op, "output_size", args[3].u.ints, 2, 1, size) != IG_OK ||
        composite_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    const int64_t shape[4] = {boxes->shape[0], v->shape[1], size[0], size[1]};
    int64_t total;
    if (infer_size(op, 4, shape, dtype, &total) != IG_OK)
        return 0;
    for (int a = 1; a < 4; a++)
        if (v->shape[a] > INT32_MAX || size[a > 2] > INT32_MAX)
            FAIL_NONE(IG_ERR_SHAPE, "roi_align: an axis is longer than %d", INT32_MAX);
    if (total == 0)
        return op_one(out, build_fill(0, dtype, 4, shape));
    if (v->shape[0] * v->shape[2] * v->shape[3] == 0)
        FAIL_NONE(IG_ERR_SHAPE, "roi_align: x has no elements");
    r.bins[0] = size[1];
    r.bins[1] = size[0];
    in[X] = build_contiguous(ig_permute_dims(x[0], IG_AXES(0, 2, 3, 1)));
    in[GEOMETRY] = geometry_of(&r, x[1], args[4].u.f, args[6].u.b, &in[NUMBER]);
    in[IMAGE] = shape_checked("roi_align", index_cast("roi_align", args[2].u.array), v->shape[0]);
    for (int i = 0; i < 4; i++)
        if (!in[i])
            return 0;
    return composite_result(out, aligned_boxes(&r, in), dtype);
}
