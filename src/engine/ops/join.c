/* Builders of the move ops that write a new array: concat, stack, pad, roll, repeat, tile. If the result
 * consists of parts copied to regions, it is one assemble node, which casts and writes each part once. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/array/above.h"
#include "engine/ops/index.h"
#include "engine/ops/layout.h"
#include <string.h>

/* ---- assemblies ---- */

/* Parts and the regions that they are copied to, in order. */
typedef struct assembly {
    op_id op;
    ig_dtype dtype;
    int n;
    view whole; /* view of the whole output */
    ig_array **part;
    view *dst;
} assembly;

/* Begins an assembly of the n arrays, in their common dtype, as an array of that shape. The region of a part
 * is at first the corner of the output in the shape of the part. If the part has another number of axes, the
 * region is its elements one after another. The caller must call assembly_end in any case. */
static bool assembly_begin(assembly *as, op_id op, ig_array *const *x, int n, int ndim,
                           const int64_t *shape)
{
    int64_t size;
    *as = (assembly){.op = op, .n = n};
    if (infer_dtype(op, x, n, &as->dtype) != IG_OK ||
        infer_size(op, ndim, shape, as->dtype, &size) != IG_OK)
        return false;
    view_contiguous(&as->whole, ndim, shape);
    as->part = memory_new((size_t)n * sizeof *as->part);
    as->dst = memory_new((size_t)n * sizeof *as->dst);
    bool ok = as->part && as->dst;
    for (int i = 0; i < n && ok; i++) {
        const view *v = &x[i]->view;
        as->part[i] = build_cast(x[i], as->dtype);
        ok = as->part[i] != NULL;
        view_contiguous(&as->dst[i], v->ndim, v->shape);
        if (v->ndim == ndim)
            memcpy(as->dst[i].stride, as->whole.stride, sizeof as->whole.stride);
    }
    return ok;
}

static ig_array *assembly_end(assembly *as, bool ok)
{
    ig_array *y = NULL;
    if (ok)
        y = build_assemble(as->op, as->dtype, as->whole.ndim, as->whole.shape, as->part, as->dst,
                           as->n);
    else
        memory_free(as->dst);
    memory_free(as->part);
    return y;
}

/* ---- concat, stack ---- */

/* The arrays one after another along axis; shape is theirs, except for the sum along axis. */
static ig_array *join(op_id op, ig_array *const *x, int n, int axis, int ndim, const int64_t *shape)
{
    assembly as;
    bool ok = assembly_begin(&as, op, x, n, ndim, shape);
    int64_t at = 0;
    for (int i = 0; i < n && ok; i++) {
        as.dst[i].offset = at * as.whole.stride[axis];
        at += x[i]->view.shape[axis];
    }
    return assembly_end(&as, ok);
}

/* The same in the order of memory of the first array, if that order is kept; else NULL. */
static ig_array *join_in_order(op_id op, ig_array *const *x, int n, int axis, const int64_t *shape)
{
    int axes[IG_MAX_NDIM], at = 0;
    int64_t ordered[IG_MAX_NDIM];
    const int ndim = x[0]->view.ndim;
    ig_array **in = layout_kept(x[0], axes) ? memory_get((size_t)n * sizeof *in) : NULL;
    if (!in)
        return NULL;
    bool fine = true;
    for (int i = 0; i < n; i++)
        fine = (in[i] = build_permute(OP_permute_dims, x[i], axes)) && fine;
    for (int i = 0; i < ndim; i++) {
        ordered[i] = shape[axes[i]];
        at = axes[i] == axis ? i : at;
    }
    ig_array *y = fine ? layout_back(join(op, in, n, at, ndim, ordered), axes) : NULL;
    memory_free(in);
    return y;
}

/* The same for flattened arrays: each is written as it is in row-major order, so none is copied first. */
static ig_array *join_flat(op_id op, ig_array *const *x, int n, int64_t size)
{
    assembly as;
    bool ok = assembly_begin(&as, op, x, n, 1, &size);
    int64_t at = 0;
    for (int i = 0; i < n && ok; i++) {
        as.dst[i].offset = at;
        at += view_size(&x[i]->view);
    }
    return assembly_end(&as, ok);
}

/* Fails unless x[i] has the shape of x[0], except for axis (-1: no exception). */
static ig_status check_like(op_id op, ig_array *const *x, int i, int axis)
{
    const view *v = &x[i]->view, *first = &x[0]->view;
    bool same = v->ndim == first->ndim;
    for (int a = 0; a < v->ndim && same; a++)
        same = v->shape[a] == first->shape[a] || a == axis;
    if (same)
        return IG_OK;
    char have[400], want[400];
    view_shape_text(v->ndim, v->shape, have);
    view_shape_text(first->ndim, first->shape, want);
    if (axis < 0)
        FAIL(IG_ERR_SHAPE, "%s: array %d has shape %s, but array 0 has %s; all must have one shape",
             op_rows[op].name, i, have, want);
    FAIL(IG_ERR_SHAPE,
         "%s: array %d has shape %s, but array 0 has %s; axis %d is joined, the others must be "
         "equal",
         op_rows[op].name, i, have, want, axis);
}

int op_concat(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *const *x = args[0].u.arrays.v;
    int n = args[0].u.arrays.n, axis = 0;
    bool flat = args[1].kind == IG_ARG_NONE;
    int64_t sum = 0, shape[IG_MAX_NDIM];
    if (n == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "concat: give at least one array");
    if (!flat && x[0]->view.ndim == 0)
        FAIL_NONE(IG_ERR_SHAPE,
                  "concat: array 0 has no axis to join along; use stack, or axis=None");
    if (!flat && infer_axis(op, args[1].u.i, x[0]->view.ndim, &axis) != IG_OK)
        return 0;
    for (int i = 0; i < n; i++) {
        if (!flat && check_like(op, x, i, axis) != IG_OK)
            return 0;
        int64_t length = flat ? view_size(&x[i]->view) : x[i]->view.shape[axis];
        if (__builtin_add_overflow(sum, length, &sum))
            FAIL_NONE(IG_ERR_SHAPE, "concat: the result has more elements than can be addressed");
    }
    if (flat)
        return op_one(out, join_flat(op, x, n, sum));
    memcpy(shape, x[0]->view.shape, sizeof shape);
    shape[axis] = sum;
    ig_array *y = join_in_order(op, x, n, axis, shape);
    return op_one(out, y ? y : join(op, x, n, axis, x[0]->view.ndim, shape));
}

int op_stack(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *const *x = args[0].u.arrays.v;
    int n = args[0].u.arrays.n, axis;
    if (n == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "stack: give at least one array");
    view v = x[0]->view;
    if (v.ndim == IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE,
                  "stack: the arrays have %d dimensions, which is the most that Ingot "
                  "has; use concat",
                  v.ndim);
    if (infer_axis(op, args[1].u.i, v.ndim + 1, &axis) != IG_OK)
        return 0;
    for (int i = 1; i < n; i++)
        if (check_like(op, x, i, -1) != IG_OK)
            return 0;
    axis_insert(&v, axis, n, 0);
    assembly as;
    bool ok = assembly_begin(&as, op, x, n, v.ndim, v.shape);
    for (int i = 0; i < n && ok; i++) {
        as.dst[i] = as.whole;
        axis_remove(&as.dst[i], axis);
        as.dst[i].offset = i * as.whole.stride[axis];
    }
    return op_one(out, assembly_end(&as, ok));
}

/* ---- slice_update ---- */

/* The positions start, start + step, ... of an axis of n elements, length of them. */
static ig_status place_span(int axis, int64_t start, int64_t step, int64_t n, int64_t length,
                            span *s)
{
    if (step == 0)
        FAIL(IG_ERR_ARGUMENT, "slice_update: the step of axis %d is 0; give any other number",
             axis);
    int64_t first = start < 0 ? start + n : start, reach, last;
    bool inside = first >= 0 && first < n && !__builtin_mul_overflow(length - 1, step, &reach) &&
                  !__builtin_add_overflow(first, reach, &last) && last >= 0 && last < n;
    if (length > 0 && !inside)
        FAIL(IG_ERR_INDEX,
             "slice_update: %lld elements from %lld by %lld do not fit axis %d of length %lld",
             (long long)length, (long long)start, (long long)step, axis, (long long)n);
    *s = (span){first, step, length};
    return IG_OK;
}

/* A small part of an array is copied first. Then x can be updated in place, even if the part is one of x, as in
 * x[i] = x[j]. */
static ig_array *apart(ig_array *update, const ig_array *x)
{
    enum { SMALL = 4 };
    const view *v = &update->view;
    return update->root == update || update->root->is_number ||
                   view_size(v) > view_size(&x->view) / SMALL
               ? update
               : array_node(OP_astype, (ig_dtype)update->dtype, v->ndim, v->shape, &update, 1,
                            NULL);
}

int op_slice_update(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array, *update = index_fit(op, "update", x, args[1].u.array);
    ig_ints start = args[2].u.ints, step = arg_ints(&args[3]);
    if (!update)
        return 0;
    const view *v = &x->view, *u = &update->view;
    if (u->ndim != v->ndim || start.n > v->ndim)
        FAIL_NONE(IG_ERR_SHAPE,
                  "slice_update: x has %d axes, update %d, start %d numbers; update "
                  "needs as many as x, start no more",
                  v->ndim, u->ndim, start.n);
    if (step.v && step.n != start.n)
        FAIL_NONE(IG_ERR_ARGUMENT, "slice_update: start has %d numbers, step %d; give as many",
                  start.n, step.n);
    update = apart(update, x);
    if (!update)
        return 0;
    u = &update->view;
    assembly as;
    bool ok = assembly_begin(&as, op, (ig_array *[]){x, update}, 2, v->ndim, v->shape);
    if (ok)
        as.dst[1] = as.whole;
    for (int a = 0; a < v->ndim && ok; a++) {
        span s;
        ok = place_span(a, a < start.n ? start.v[a] : 0, step.v && a < start.n ? step.v[a] : 1,
                        v->shape[a], u->shape[a], &s) == IG_OK;
        if (ok)
            span_apply(&as.dst[1], a, s);
    }
    return op_one(out, assembly_end(&as, ok));
}

/* ---- pad ---- */

/* The index functions map positions to elements: `at` counts positions along the padded axis from the first
 * of its n elements, and the result is the element to copy there. */
static ig_array *edge_index(ig_array *at, int64_t n)
{
    return ig_minimum(ig_maximum(at, ig_int(0)), ig_int(n - 1));
}

static ig_array *reflect_index(ig_array *at, int64_t n)
{
    ig_array *last = ig_int(n - 1);
    /* Forward and back is one period; a single element is its own mirror image. */
    ig_array *phase = ig_remainder(at, ig_int(n > 1 ? 2 * (n - 1) : 1));
    return ig_subtract(last, ig_abs(ig_subtract(last, phase)));
}

/* Like reflect, but the last element is repeated. */
static ig_array *symmetric_index(ig_array *at, int64_t n)
{
    ig_array *phase = ig_remainder(at, ig_int(2 * n));
    return ig_minimum(phase, ig_subtract(ig_int(2 * n - 1), phase));
}

static ig_array *wrap_index(ig_array *at, int64_t n) { return ig_remainder(at, ig_int(n)); }

/* The border functions compute w elements along an axis of y, before it or after it. Integers are computed in f64. */
static ig_array *border_work(ig_array *y)
{
    return y && !dtype_is_float(y->dtype) ? ig_astype(y, IG_F64) : y;
}

static ig_array *maximum_border(ig_array *y, int64_t axis, int64_t w, bool after, ig_array *end)
{
    (void)w, (void)after, (void)end;
    return ig_max(y, (ig_ints){&axis, 1}, true);
}

static ig_array *minimum_border(ig_array *y, int64_t axis, int64_t w, bool after, ig_array *end)
{
    (void)w, (void)after, (void)end;
    return ig_min(y, (ig_ints){&axis, 1}, true);
}

static ig_array *rounded(ig_array *border, ig_dtype dtype)
{
    const bool rounds = border && dtype != border->dtype && dtype != IG_BOOL;
    return ig_astype(rounds ? ig_round(border) : border, dtype);
}

static ig_array *mean_border(ig_array *y, int64_t axis, int64_t w, bool after, ig_array *end)
{
    (void)w, (void)after, (void)end;
    return rounded(ig_mean(border_work(y), (ig_ints){&axis, 1}, true), y->dtype);
}

static ig_array *median_border(ig_array *y, int64_t axis, int64_t w, bool after, ig_array *end)
{
    (void)w, (void)after, (void)end;
    return rounded(ig_median(border_work(y), (ig_ints){&axis, 1}, true), y->dtype);
}

/* The first or last element of y along an axis, with length 1. */
static ig_array *edge_of(ig_array *y, int axis, bool last)
{
    view v = y->view;
    span_apply(&v, axis, (span){last ? v.shape[axis] - 1 : 0, 1, 1});
    return array_view(OP_slice, y, &v);
}

/* From `end` at the outermost place to y's edge, which is not repeated. */
static ig_array *ramp_border(ig_array *y, int64_t axis, int64_t w, bool after, ig_array *end)
{
    int64_t shape[IG_MAX_NDIM];
    ig_array *edge = border_work(edge_of(y, (int)axis, after)), *place = build_iota(1, &w);
    if (!edge)
        return NULL;
    for (int a = 0; a < y->view.ndim; a++)
        shape[a] = a == axis ? w : 1;
    place = after ? ig_subtract(ig_int(w - 1), place) : place;
    place = ig_astype(ig_reshape(place, (ig_ints){shape, y->view.ndim}), edge->dtype);
    end = ig_astype(end ? end : ig_int(0), edge->dtype);
    ig_array *step = ig_divide(ig_subtract(edge, end), ig_float((double)w));
    ig_array *ramp = ig_add(ig_multiply(place, step), end);
    return edge->dtype == y->dtype ? ramp : ig_astype(ig_floor(ramp), y->dtype);
}

/* index selects elements of x; border computes others. Without either the border is one value. odd: a mirrored element e
 * is replaced by 2 edge - e. */
static const struct pad_mode {
    const char *name;
    ig_array *(*index)(ig_array *at, int64_t n);
    ig_array *(*border)(ig_array *y, int64_t axis, int64_t w, bool after, ig_array *end);
    bool odd;
} pad_modes[] = {{"constant", NULL, NULL, false},
                 {"empty", NULL, NULL, false},
                 {"edge", edge_index, NULL, false},
                 {"reflect", reflect_index, NULL, false},
                 {"reflect_odd", reflect_index, NULL, true},
                 {"symmetric", symmetric_index, NULL, false},
                 {"symmetric_odd", symmetric_index, NULL, true},
                 {"wrap", wrap_index, NULL, false},
                 {"maximum", NULL, maximum_border, false},
                 {"minimum", NULL, minimum_border, false},
                 {"mean", NULL, mean_border, false},
                 {"median", NULL, median_border, false},
                 {"linear_ramp", NULL, ramp_border, false}};

static const struct pad_mode *find_mode(const char *name)
{
    for (size_t i = 0; i < sizeof pad_modes / sizeof *pad_modes; i++)
        if (strcmp(name, pad_modes[i].name) == 0)
            return &pad_modes[i];
    FAIL_NULL(IG_ERR_ARGUMENT,
              "pad: unknown mode '%s'; use 'constant', 'edge', 'reflect', 'reflect_odd', "
              "'symmetric', 'symmetric_odd', 'wrap', 'maximum', 'minimum', 'mean', 'median', "
              "'linear_ramp' or 'empty'",
              name);
}

/* The padding before and after each axis of v, and the resulting lengths. */
static ig_status pad_shape(const view *v, ig_ints width, int64_t (*pad)[2], int64_t *shape)
{
    if (width.n != 1 && width.n != 2 && width.n != 2 * v->ndim)
        FAIL(IG_ERR_ARGUMENT,
             "pad: pad_width has %d numbers; give 1, 2, or before and after for each of %d axes",
             width.n, v->ndim);
    for (int a = 0; a < v->ndim; a++) {
        for (int side = 0; side < 2; side++) {
            pad[a][side] = width.v[width.n == 1 ? 0 : width.n == 2 ? side : 2 * a + side];
            if (pad[a][side] < 0)
                FAIL(IG_ERR_ARGUMENT, "pad: %lld for axis %d is negative; use slice to cut",
                     (long long)pad[a][side], a);
        }
        if (__builtin_add_overflow(v->shape[a], pad[a][0], &shape[a]) ||
            __builtin_add_overflow(shape[a], pad[a][1], &shape[a]))
            FAIL(IG_ERR_SHAPE, "pad: axis %d gets longer than can be addressed", a);
    }
    return IG_OK;
}

static ig_array *pad_constant(op_id op, ig_array *x, int64_t (*pad)[2], const int64_t *shape,
                              ig_array *value)
{
    value = index_fit(op, "value", x, value);
    if (value && value->view.ndim != 0)
        FAIL_NULL(IG_ERR_SHAPE, "pad: value has %d dimensions; give one number", value->view.ndim);
    value = build_broadcast(op, value, x->view.ndim, shape);
    if (!value)
        return NULL;
    assembly as;
    bool ok = assembly_begin(&as, op, (ig_array *[]){value, x}, 2, x->view.ndim, shape);
    for (int a = 0; a < x->view.ndim && ok; a++)
        as.dst[1].offset += pad[a][0] * as.whole.stride[a];
    return assembly_end(&as, ok);
}

/* y with computed borders along one axis. */
static ig_array *pad_border(op_id op, const struct pad_mode *mode, ig_array *y, int axis,
                            const int64_t *pad, ig_array *end)
{
    int64_t shape[IG_MAX_NDIM];
    ig_array *part[3];
    int n = 0;
    memcpy(shape, y->view.shape, sizeof shape);
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            part[n++] = y;
        if (i == 1 || pad[i / 2] == 0)
            continue;
        shape[axis] = pad[i / 2];
        ig_array *border = mode->border(y, axis, pad[i / 2], i == 2, end);
        if (!(part[n++] = build_broadcast(op, border, y->view.ndim, shape)))
            return NULL;
    }
    return ig_concat(part, n, IG_AXES(axis));
}

/* y with elements selected along one axis: element i is the one at place i - before, of n places. */
static ig_array *pad_index(const struct pad_mode *mode, ig_array *y, int axis, int64_t before,
                           int64_t places)
{
    const int64_t n = y->view.shape[axis];
    ig_array *at = ig_subtract(build_iota(1, &places), ig_int(before));
    ig_array *taken = index_take("pad", y, mode->index(at, n), axis);
    if (!mode->odd || n == 1)
        return taken;
    /* A place before the first element is 2 first - e, where e is at the mirrored place after it. There, every second run
     * of n elements is 2 last - e, and each period adds 2 (last - first). */
    const int repeats = mode->index == symmetric_index;
    const int64_t period = 2 * (n - 1 + repeats);
    int64_t shape[IG_MAX_NDIM];
    for (int a = 0; a < y->view.ndim; a++)
        shape[a] = a == axis ? places : 1;
    at = ig_reshape(at, (ig_ints){shape, y->view.ndim});
    ig_array *is_before = ig_less(at, ig_int(0));
    ig_array *after = ig_where(is_before, ig_subtract(ig_int(-repeats), at), at);
    ig_array *first = edge_of(y, axis, false), *last = edge_of(y, axis, true);
    ig_array *turned = ig_subtract(ig_add(last, last), taken);
    ig_array *is_turned = ig_greater_equal(ig_remainder(after, ig_int(period)), ig_int(n));
    ig_array *value = ig_where(is_turned, turned, taken);
    if (before >= period || places - before > period) {
        ig_array *turns = ig_floor_divide(after, ig_int(period)), *rise = ig_subtract(last, first);
        ig_array *more = ig_multiply(ig_add(rise, rise), ig_astype(turns, y->dtype));
        value = ig_where(ig_greater(turns, ig_int(0)), ig_add(value, more), value);
    }
    return ig_where(is_before, ig_subtract(ig_add(first, first), value), value);
}

int op_pad(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    const struct pad_mode *mode = find_mode(args[2].u.str);
    int64_t pad[IG_MAX_NDIM][2], shape[IG_MAX_NDIM], size;
    if (!mode || pad_shape(&x->view, args[1].u.ints, pad, shape) != IG_OK ||
        infer_size(op, x->view.ndim, shape, x->dtype, &size) != IG_OK)
        return 0;
    if (!mode->index && !mode->border)
        return op_one(out, pad_constant(op, x, pad, shape, args[3].u.array));
    if (mode->odd && x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "pad: mode '%s' subtracts elements, but x is bool; convert it",
                  mode->name);
    ig_array *y = array_view(op, x, &x->view);
    for (int a = 0; a < x->view.ndim && y; a++) {
        int64_t n = x->view.shape[a];
        if (shape[a] == n)
            continue;
        if (n == 0)
            FAIL_NONE(IG_ERR_SHAPE,
                      "pad: axis %d has length 0, so there is no element to continue "
                      "with '%s'; use 'constant'",
                      a, mode->name);
        if (mode->border) {
            y = pad_border(op, mode, y, a, pad[a], args[3].u.array);
            continue;
        }
        y = pad_index(mode, y, a, pad[a][0], shape[a]);
    }
    return op_one(out, y);
}

/* ---- roll ---- */

static ig_array *roll_axis(op_id op, ig_array *x, int64_t shift, int axis)
{
    int64_t n = x->view.shape[axis];
    if (n == 0 || shift % n == 0)
        return x;
    int64_t head = (shift % n + n) % n; /* elements that wrap around */
    ig_array *part[2];
    for (int i = 0; i < 2; i++) {
        view v = x->view;
        span_apply(&v, axis, i ? (span){0, 1, n - head} : (span){n - head, 1, head});
        if (!(part[i] = array_view(op, x, &v)))
            return NULL;
    }
    return join(op, part, 2, axis, x->view.ndim, x->view.shape);
}

int op_roll(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array, *y = x;
    ig_ints shift = args[1].u.ints, axis = arg_ints(&args[2]);
    if (shift.n != 1 && (!axis.v || shift.n != axis.n))
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "roll: %d shifts for %d axes; give one shift, or one for each axis", shift.n,
                  axis.v ? axis.n : 0);
    if (!axis.v) {
        int64_t size = view_size(&x->view);
        y = build_reshape(op, x, 1, &size);
        y = y ? roll_axis(op, y, shift.v[0], 0) : NULL;
        return op_one(out, build_reshape(op, y, x->view.ndim, x->view.shape));
    }
    for (int i = 0; i < axis.n && y; i++) {
        int a;
        if (infer_axis(op, axis.v[i], x->view.ndim, &a) != IG_OK)
            return 0;
        y = roll_axis(op, y, shift.v[shift.n == 1 ? 0 : i], a);
    }
    return op_one(out, y == x ? array_view(op, x, &x->view) : y);
}

/* ---- repeat, tile ---- */

/* x with each element of axis repeated `times` times; unless `each`, the axis repeated as a whole. */
static ig_array *stretch(op_id op, ig_array *x, int axis, int64_t times, bool each)
{
    int64_t shape[IG_MAX_NDIM], size;
    int ndim = x->view.ndim;
    memcpy(shape, x->view.shape, sizeof shape);
    if (__builtin_mul_overflow(shape[axis], times, &shape[axis]))
        FAIL_NULL(IG_ERR_SHAPE, "%s: axis %d gets longer than can be addressed", op_rows[op].name,
                  axis);
    if (infer_size(op, ndim, shape, x->dtype, &size) != IG_OK)
        return NULL;
    if (ndim == IG_MAX_NDIM) { /* no room for one more axis: merge the axes around it */
        int64_t three[3] = {1, x->view.shape[axis], 1};
        for (int a = 0; a < ndim; a++)
            three[a < axis ? 0 : 2] *= a == axis ? 1 : x->view.shape[a];
        if (!(x = build_reshape(op, x, 3, three)))
            return NULL;
        axis = 1;
    }
    view v = x->view;
    axis_insert(&v, each ? axis + 1 : axis, times, 0);
    return build_reshape(op, array_view(op, x, &v), ndim, shape);
}

int op_tile(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints times = args[1].u.ints;
    view v = x->view;
    if (times.n > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE,
                  "tile: %d repetitions are more than the %d dimensions that Ingot has", times.n,
                  IG_MAX_NDIM);
    while (v.ndim < times.n)
        axis_insert(&v, 0, 1, 0);
    ig_array *y = array_view(op, x, &v);
    for (int i = 0, lead = v.ndim - times.n; i < times.n && y; i++) {
        if (times.v[i] < 0)
            FAIL_NONE(IG_ERR_ARGUMENT, "tile: %lld repetitions are negative",
                      (long long)times.v[i]);
        if (times.v[i] != 1)
            y = stretch(op, y, lead + i, times.v[i], false);
    }
    return op_one(out, y);
}

/* The counts as numbers, from the list or from an array, which is evaluated. NULL on failure. */
static const int64_t *repeat_counts(const ig_arg *repeats, int64_t *n)
{
    if (repeats->kind == IG_ARG_INTS) {
        *n = repeats->u.ints.n;
        return repeats->u.ints.v;
    }
    ig_array *counts = index_cast("repeat", repeats->u.array);
    if (counts && counts->view.ndim > 1)
        FAIL_NULL(IG_ERR_SHAPE, "repeat: repeats has %d dimensions; give a number or a 1-d array",
                  counts->view.ndim);
    *n = ig_size(counts);
    return counts ? above.data(counts) : NULL;
}

/* x with element i of axis repeated count[i] times; sum is the sum of all counts. */
static ig_array *repeat_by(ig_array *x, int axis, const int64_t *count, int64_t sum)
{
    size_t bytes;
    if (__builtin_mul_overflow((uint64_t)sum, sizeof *count, &bytes))
        FAIL_NULL(IG_ERR_SHAPE, "repeat: axis %d gets longer than can be addressed", axis);
    int64_t *from = memory_admit(bytes, "repeat") == IG_OK ? memory_get(bytes) : NULL;
    if (!from)
        return NULL;
    for (int64_t i = 0, at = 0; i < x->view.shape[axis]; i++)
        for (int64_t k = 0; k < count[i]; k++)
            from[at++] = i;
    ig_array *index = ig_from_data(from, (ig_ints){&sum, 1}, IG_I64);
    memory_free(from);
    return index_take("repeat", x, index, axis);
}

int op_repeat(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int axis = 0;
    int64_t size = view_size(&x->view), n = 0, sum = 0;
    if (args[2].kind == IG_ARG_NONE) {
        if (!(x = build_reshape(op, x, 1, &size)))
            return 0;
    } else if (infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK) {
        return 0;
    }
    const int64_t *count = repeat_counts(&args[1], &n);
    if (!count)
        return 0;
    if (n != 1 && n != x->view.shape[axis])
        FAIL_NONE(IG_ERR_SHAPE,
                  "repeat: %lld repeats for axis %d of length %lld; give 1 or as many",
                  (long long)n, axis, (long long)x->view.shape[axis]);
    for (int64_t i = 0; i < n; i++) {
        if (count[i] < 0)
            FAIL_NONE(IG_ERR_ARGUMENT, "repeat: %lld repeats are negative", (long long)count[i]);
        if (__builtin_add_overflow(sum, count[i], &sum))
            FAIL_NONE(IG_ERR_SHAPE, "repeat: axis %d gets longer than can be addressed", axis);
    }
    return op_one(out, n == 1 ? stretch(op, x, axis, sum, true) : repeat_by(x, axis, count, sum));
}
