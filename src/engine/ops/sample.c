/* Builders of ops that read images in patches and at computed places: unfold, fold and grid_sample. */
#include "base/error.h"
#include "engine/ops/grad.h"
#include "engine/ops/shape.h"
#include "engine/ops/window.h"
#include <math.h>
#include <string.h>

/* ---- patches ---- */

/* Reads kernel_size, dilation, padding and stride, and counts the windows over n axes of those lengths. */
static ig_status patches_read(op_id op, const ig_arg *args, int n, const int64_t *length,
                              windows *w)
{
    *w = (windows){.n = n};
    if (n < 1 || n > WINDOW_AXES_MOST)
        FAIL(IG_ERR_SHAPE, "%s: there are %d spatial axes; give 1, 2 or 3", op_rows[op].name, n);
    TRY(window_numbers(op, "kernel_size", args[0].u.ints, n, 1, w->kernel));
    TRY(window_numbers(op, "dilation", args[1].u.ints, n, 1, w->dilation));
    TRY(window_numbers(op, "padding", args[2].u.ints, n, 0, w->padding));
    TRY(window_numbers(op, "stride", args[3].u.ints, n, 1, w->stride));
    return window_count(op, w, length, false);
}

/* The order of axes that exchanges (N, C, out..., kernel...) and (N, C, kernel..., out...). */
static void patches_order(const windows *w, int order[2 + 2 * WINDOW_AXES_MOST])
{
    order[0] = 0;
    order[1] = 1;
    for (int a = 0; a < w->n; a++) {
        order[2 + a] = 2 + w->n + a;
        order[2 + w->n + a] = 2 + a;
    }
}

static int64_t product(const int64_t *v, int n)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= v[i];
    return p;
}

BUILDER(patches)
{
    ig_array *x = args[0].u.array;
    int order[2 + 2 * WINDOW_AXES_MOST];
    windows w;
    view v;
    if (patches_read(op, args + 1, x->view.ndim - 2, x->view.shape + 2, &w) != IG_OK ||
        !(x = window_pad(x, &w, BORDER_ZERO)))
        return 0;
    const int64_t shape[3] = {x->view.shape[0], x->view.shape[1] * product(w.kernel, w.n),
                              product(w.out, w.n)};
    window_view(&x->view, &w, &v);
    patches_order(&w, order);
    x = build_permute(op, array_view(op, x, &v), order);
    return op_one(out, x ? build_reshape(op, x, 3, shape) : NULL);
}

/* x (N, C, kernel..., out...) added up at the places of its elements in the padded image, whose spatial lengths are in shape
 * after N and C. */
static ig_array *patches_add(op_id op, ig_array *x, const windows *w, const int64_t *shape)
{
    int order[2 + 2 * WINDOW_AXES_MOST];
    ig_array *image = build_contiguous(build_fill(0, (ig_dtype)x->dtype, 2 + w->n, shape));
    view v;
    if (!image)
        return NULL;
    patches_order(w, order);
    window_view(&image->view, w, &v);
    return grad_through_view(build_permute(op, x, order), image, &v);
}

BUILDER(add_patches)
{
    ig_array *x = args[0].u.array;
    const ig_ints size = args[1].u.ints;
    int64_t shape[2 + WINDOW_AXES_MOST] = {0}, apart[2 + 2 * WINDOW_AXES_MOST];
    ig_dtype dtype;
    windows w;
    for (int a = 0; a < size.n && a < WINDOW_AXES_MOST; a++)
        if ((shape[2 + a] = size.v[a]) < 1)
            FAIL_NONE(IG_ERR_ARGUMENT, "fold: output_size has %lld; give 1 or more",
                      (long long)size.v[a]);
    if (composite_floats(op, &x, 1, &dtype) != IG_OK ||
        patches_read(op, args + 2, size.n, shape + 2, &w) != IG_OK)
        return 0;
    const int64_t elements = product(w.kernel, w.n), count = product(w.out, w.n);
    if (x->view.ndim != 3 || x->view.shape[1] % elements != 0 || x->view.shape[2] != count) {
        char text[400];
        FAIL_NONE(
            IG_ERR_SHAPE,
            "fold: x has shape %s, but must be (N, C * %lld, %lld): the elements of a window, "
            "and the windows in output_size",
            view_shape_text(x->view.ndim, x->view.shape, text), (long long)elements,
            (long long)count);
    }
    shape[0] = apart[0] = x->view.shape[0];
    shape[1] = apart[1] = x->view.shape[1] / elements;
    for (int a = 0; a < w.n; a++) {
        shape[2 + a] += 2 * w.padding[a];
        apart[2 + a] = w.kernel[a];
        apart[2 + w.n + a] = w.out[a];
    }
    x = build_reshape(op, x, 2 + 2 * w.n, apart);
    x = x ? patches_add(op, x, &w, shape) : NULL;
    for (int a = 0; a < w.n && x; a++)
        x = shape_part(x, 2 + a, w.padding[a], w.padding[a] + size.v[a]);
    return composite_result(out, x, dtype);
}

/* ---- places ---- */

typedef enum outside { ZEROS, BORDER, REFLECTION } outside;

typedef struct sampler {
    sampling mode;
    outside padding;
    bool corners;
} sampler;

/* v mirrored at both ends of an axis of that length, until it is inside. */
static ig_array *mirrored(ig_array *v, int64_t length, bool corners)
{
    const double low = corners ? 0 : -0.5, span = corners ? (double)(length - 1) : (double)length;
    if (span == 0)
        return ig_times(v, 0);
    v = ig_remainder(ig_plus(v, -low), ig_float(2 * span));
    return ig_plus(ig_minimum(v, ig_subtract(ig_float(2 * span), v)), low);
}

/* The place v as the padding moves it. */
static ig_array *inside(const sampler *s, ig_array *v, int64_t length)
{
    if (s->padding == REFLECTION)
        v = mirrored(v, length, s->corners);
    return s->padding == ZEROS ? v : ig_clip(v, ig_float(0), ig_float((double)(length - 1)));
}

/* The elements along one axis that a place reads. */
typedef struct taps {
    int n;
    ig_array *at[4];     /* i64, inside the axis */
    ig_array *weight[4]; /* 0 where the element is outside */
} taps;

static void tap_set(taps *t, int i, ig_array *at, ig_array *weight, int64_t length)
{
    ig_array *valid =
        ig_logical_and(ig_greater_equal(at, ig_float(0)), ig_less(at, ig_float((double)length)));
    t->at[i] = build_cast(ig_stop_gradient(ig_where(valid, at, ig_float(0))), IG_I64);
    t->weight[i] = ig_where(valid, weight, ig_float(0));
}

/* The elements around g, which is within [-1, 1], along an axis of that length. */
static taps taps_of(const sampler *s, ig_array *g, int64_t length)
{
    const double n = (double)length;
    taps t = {.n = s->mode == SAMPLE_NEAREST ? 1 : s->mode == SAMPLE_LINEAR ? 2 : 4};
    ig_array *v = s->corners ? ig_times(ig_plus(g, 1), (n - 1) / 2)
                             : ig_plus(ig_times(ig_plus(g, 1), n / 2), -0.5);
    if (s->mode != SAMPLE_CUBIC)
        v = inside(s, v, length);
    if (s->mode == SAMPLE_NEAREST) {
        tap_set(&t, 0, ig_round(v), ig_ones_like(v, IG_DTYPE_NONE), length);
        return t;
    }
    ig_array *first = ig_stop_gradient(ig_floor(v)), *rest = ig_subtract(v, first), *weight[4];
    if (s->mode == SAMPLE_LINEAR) {
        weight[0] = ig_subtract(ig_float(1), rest);
        weight[1] = rest;
    } else
        composite_cubic(rest, weight);
    for (int i = 0; i < t.n; i++) {
        ig_array *at = ig_plus(first, i - (s->mode == SAMPLE_CUBIC));
        tap_set(&t, i, s->mode == SAMPLE_CUBIC ? inside(s, at, length) : at, weight[i], length);
    }
    return t;
}

/* The weighted sum of the elements that grid (N, out..., axes) names in x (N, C, spatial...): (N, C, out...). */
static ig_array *sampled(const sampler *s, ig_array *x, ig_array *grid)
{
    const int axes = x->view.ndim - 2;
    const int64_t batch = x->view.shape[0], channels = x->view.shape[1];
    int64_t shape[IG_MAX_NDIM] = {batch, channels}, places = 1;
    taps t[WINDOW_AXES_MOST];
    int total = 1;
    for (int a = 0; a < axes; a++)
        places *= shape[2 + a] = grid->view.shape[1 + a];
    grid = ig_reshape(grid, IG_SHAPE(batch, 1, places, axes));
    for (int a = 0; a < axes; a++) { /* the last axis of x comes first in grid */
        ig_array *g = grid ? shape_part(grid, 3, axes - 1 - a, axes - a) : NULL;
        t[a] = taps_of(s, ig_squeeze(g, IG_AXES(3)), x->view.shape[2 + a]);
        total *= t[a].n;
    }
    ig_array *flat = ig_reshape(x, IG_SHAPE(batch, channels, -1)), *sum = NULL;
    for (int k = 0; k < total; k++) {
        ig_array *at = NULL, *weight = NULL;
        for (int a = 0, rest = k; a < axes; a++) {
            const int i = rest % t[a].n;
            rest /= t[a].n;
            at = a ? ig_add(ig_multiply(at, ig_int(x->view.shape[2 + a])), t[a].at[i]) : t[a].at[i];
            weight = a ? ig_multiply(weight, t[a].weight[i]) : t[a].weight[i];
        }
        at = ig_broadcast_to(at, IG_SHAPE(batch, channels, places));
        ig_array *part = ig_multiply(ig_take_along_axis(flat, at, 2), weight);
        sum = k ? ig_add(sum, part) : part;
    }
    return ig_reshape(sum, (ig_ints){shape, x->view.ndim});
}

static ig_status read_outside(const char *text, outside *padding)
{
    static const char *const names[] = {"zeros", "border", "reflection"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *padding = (outside)i;
            return IG_OK;
        }
    FAIL(IG_ERR_ARGUMENT,
         "grid_sample: padding_mode is 'zeros', 'border' or 'reflection', not '%s'", text);
}

BUILDER(grid_sample)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    const int axes = x[0]->view.ndim - 2;
    const view *grid = &x[1]->view;
    sampler s = {.corners = args[4].u.b};
    ig_dtype dtype;
    if (composite_sampling(op, args[2].u.str, &s.mode) != IG_OK ||
        read_outside(args[3].u.str, &s.padding) != IG_OK)
        return 0;
    if (axes < 1 || axes > WINDOW_AXES_MOST || grid->ndim != axes + 2 ||
        grid->shape[axes + 1] != axes || grid->shape[0] != x[0]->view.shape[0])
        FAIL_NONE(IG_ERR_SHAPE,
                  "grid_sample: x must be (N, C, ...) with 1 to 3 spatial axes, and grid (N, ..., "
                  "number of spatial axes) with as many");
    for (int a = 0; a < axes; a++)
        if (x[0]->view.shape[2 + a] == 0)
            FAIL_NONE(IG_ERR_SHAPE, "grid_sample: spatial axis %d of x has length 0", a);
    if (composite_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    return composite_result(out, sampled(&s, x[0], x[1]), dtype);
}
