/* x[items...] with NumPy's rules. Integers, slices, new axes and "..." become one view of x. Index arrays
 * and masks become one read through this view: each gives an offset along its axes, and the offsets of
 * several are added, so x is not copied before it is read. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"

/* An index array, or a mask converted to one: it moves along an axis by index * stride elements. */
typedef struct mover {
    ig_array *index; /* i64 within [-length, length), else it fails when evaluated */
    int64_t length, stride;
} mover;

typedef struct subscript {
    const char *who;
    ig_array *x;
    int n_rest; /* axes that "..." stands for */
    bool has_array;
    int axis; /* the next axis of x */
    view v;   /* the view so far, without the axes with movers */
    mover move[IG_MAX_NDIM];
    int n_move;
    /* The position of the axes of the index arrays: the first array's, or the front if other items
     * stand between the arrays. An integer next to arrays counts as one of them. */
    int place;
    enum { NO_RUN, IN_RUN, AFTER_RUN } run;
} subscript;

/* ---- one item each ---- */

static void enter_run(subscript *s)
{
    if (s->run != IN_RUN)
        s->place = s->run == AFTER_RUN ? 0 : s->v.ndim;
    s->run = IN_RUN;
}

static void leave_run(subscript *s)
{
    if (s->run == IN_RUN)
        s->run = AFTER_RUN;
}

static ig_status add_axis(subscript *s, int64_t length, int64_t stride)
{
    if (s->v.ndim == IG_MAX_NDIM)
        FAIL(IG_ERR_SHAPE, "%s: the result has more than the %d dimensions that Ingot has", s->who,
             IG_MAX_NDIM);
    axis_insert(&s->v, s->v.ndim, length, stride);
    return IG_OK;
}

static ig_status item_int(subscript *s, const ig_index *item)
{
    int64_t n = s->x->view.shape[s->axis], i = item->start;
    if (i < -n || i >= n)
        FAIL(IG_ERR_INDEX, "%s: index %lld is out of bounds for axis %d of length %lld", s->who,
             (long long)i, s->axis, (long long)n);
    s->v.offset += (i < 0 ? i + n : i) * s->x->view.stride[s->axis++];
    if (s->has_array)
        enter_run(s);
    return IG_OK;
}

static ig_status item_slice(subscript *s, const ig_index *item)
{
    const int64_t none = INT64_MIN;
    int64_t step = item->step == none ? 1 : item->step;
    if (step == 0)
        FAIL(IG_ERR_ARGUMENT, "%s: the slice of axis %d has step 0; give any other number", s->who,
             s->axis);
    /* An absent bound is the first or last element in the direction of the step. */
    int64_t start = item->start != none ? item->start : step > 0 ? 0 : INT64_MAX;
    int64_t stop = item->stop != none ? item->stop : step > 0 ? INT64_MAX : INT64_MIN;
    int64_t n = s->x->view.shape[s->axis];
    leave_run(s);
    TRY(add_axis(s, n, s->x->view.stride[s->axis++]));
    span_apply(&s->v, s->v.ndim - 1, span_clip(start, stop, step, n));
    return IG_OK;
}

static ig_status item_newaxis(subscript *s, const ig_index *item)
{
    (void)item;
    leave_run(s);
    return add_axis(s, 1, 0);
}

static ig_status item_rest(subscript *s, const ig_index *item)
{
    (void)item;
    leave_run(s);
    for (int i = 0; i < s->n_rest; i++, s->axis++)
        TRY(add_axis(s, s->x->view.shape[s->axis], s->x->view.stride[s->axis]));
    return IG_OK;
}

/* True if a mask has the shape of the axes. As in NumPy, an axis of a mask may have length 0: it selects nothing. */
static bool mask_fits(const view *axes, const view *mask)
{
    for (int a = 0; a < mask->ndim; a++)
        if (mask->shape[a] != axes->shape[a] && mask->shape[a] != 0)
            return false;
    return true;
}

/* A mask over the next axes of x, as distances from the lowest element that they reach. */
static ig_status item_mask(subscript *s, ig_array *mask)
{
    view axes = {.ndim = mask->view.ndim};
    for (int a = 0; a < axes.ndim; a++) {
        axes.shape[a] = s->x->view.shape[s->axis + a];
        axes.stride[a] = s->x->view.stride[s->axis + a];
    }
    if (!mask_fits(&axes, &mask->view)) {
        char have[400], want[400];
        FAIL(IG_ERR_SHAPE, "%s: the mask has shape %s, but the axes from %d on have %s", s->who,
             view_shape_text(mask->view.ndim, mask->view.shape, have), s->axis,
             view_shape_text(axes.ndim, axes.shape, want));
    }
    int64_t n = 0, low = 0, high = 0;
    int64_t *at = mask_positions(mask, &n);
    if (!at)
        return IG_ERR_MEMORY;
    if (view_size(&axes) > 0)
        view_bounds(&axes, &low, &high);
    for (int64_t i = 0; i < n; i++)
        at[i] = view_at(&axes, at[i]) - low;
    ig_array *index = ig_from_data(at, (ig_ints){&n, 1}, IG_I64);
    memory_free(at);
    s->v.offset += low;
    s->axis += axes.ndim;
    s->move[s->n_move++] = (mover){index, high - low + 1, 1};
    return index ? IG_OK : IG_ERR_MEMORY;
}

static ig_status item_array(subscript *s, const ig_index *item)
{
    enter_run(s);
    if (s->n_move == IG_MAX_NDIM)
        FAIL(IG_ERR_ARGUMENT, "%s: more than %d index arrays", s->who, IG_MAX_NDIM);
    if (item->array->dtype == IG_BOOL)
        return item_mask(s, item->array);
    ig_array *index = index_cast(s->who, item->array);
    s->move[s->n_move++] = (mover){index, s->x->view.shape[s->axis], s->x->view.stride[s->axis]};
    s->axis++;
    return index ? IG_OK : IG_ERR_MEMORY;
}

/* The number of axes of x that an item takes; "..." takes all others. */
static int axes_of(const ig_index *item)
{
    const bool mask = item->kind == IG_INDEX_ARRAY && item->array->dtype == IG_BOOL;
    return mask ? item->array->view.ndim
                : item->kind != IG_INDEX_NEWAXIS && item->kind != IG_INDEX_REST;
}

static ig_status (*const apply[])(subscript *s, const ig_index *item) = {
    [IG_INDEX_INT] = item_int,   [IG_INDEX_SLICE] = item_slice, [IG_INDEX_NEWAXIS] = item_newaxis,
    [IG_INDEX_REST] = item_rest, [IG_INDEX_ARRAY] = item_array,
};

/* ---- all items ---- */

/* Counts axes first, so that the axes of "..." are known and too many items are refused. */
static ig_status survey(subscript *s, const ig_index *items, int n)
{
    int axes = 0, rests = 0, ndim = s->x->view.ndim;
    for (int i = 0; i < n; i++) {
        if ((unsigned)items[i].kind > IG_INDEX_ARRAY)
            FAIL(IG_ERR_ARGUMENT, "%s: item %d has no kind of ig_index_kind", s->who, i);
        if (items[i].kind == IG_INDEX_ARRAY && !items[i].array)
            FAIL(IG_ERR_ARGUMENT, "%s: the array of item %d is NULL", s->who, i);
        axes += axes_of(&items[i]);
        rests += items[i].kind == IG_INDEX_REST;
        s->has_array = s->has_array || items[i].kind == IG_INDEX_ARRAY;
    }
    if (axes > ndim)
        FAIL(IG_ERR_INDEX, "%s: %d ax%s indexed, but x has %d; give fewer", s->who, axes,
             axes == 1 ? "is is" : "es are", ndim);
    if (rests > 1)
        FAIL(IG_ERR_INDEX, "%s: '...' appears %d times; it may appear once", s->who, rests);
    s->n_rest = ndim - axes;
    return IG_OK;
}

/* Combines several movers into one: the distance from the lowest element that they can reach. If an index
 * is out of bounds, so is the distance, and evaluation fails. */
static mover join_movers(subscript *s)
{
    ig_array *distance = ig_int(0), *outside = ig_bool(false), *zero = ig_int(0);
    mover all = {.length = 1, .stride = 1};
    for (int k = 0; k < s->n_move; k++) {
        mover m = s->move[k];
        ig_array *n = ig_int(m.length), *i = m.index;
        ig_array *wrong = ig_logical_or(ig_less(i, ig_int(-m.length)), ig_greater_equal(i, n));
        i = ig_where(ig_less(i, zero), ig_add(i, n), i);
        int64_t reach = m.length > 0 ? (m.length - 1) * m.stride : 0;
        if (m.stride < 0) {
            i = ig_subtract(ig_int(m.length - 1), i);
            s->v.offset += reach;
            m.stride = -m.stride;
        }
        outside = ig_logical_or(outside, wrong);
        distance = ig_add(distance, ig_multiply(i, ig_int(m.stride)));
        all.length += reach < 0 ? -reach : reach;
    }
    all.index = ig_where(outside, ig_int(all.length), distance);
    return all;
}

ig_array *subscript_get(const char *who, ig_array *x, const ig_index *items, int n)
{
    subscript s = {.who = who, .x = x};
    ig_array *index[IG_MAX_NDIM];
    int ndim;
    int64_t shape[IG_MAX_NDIM];
    s.v.offset = x->view.offset;
    if (survey(&s, items, n) != IG_OK)
        return NULL;
    if (n == 1 && items[0].kind == IG_INDEX_ARRAY && items[0].array->dtype == IG_BOOL &&
        x->view.ndim > 0 && mask_spills(x, items[0].array))
        return mask_selected(x, items[0].array);
    bool rest = false;
    for (int i = 0; i < n; i++) {
        rest = rest || items[i].kind == IG_INDEX_REST;
        if (apply[items[i].kind](&s, &items[i]) != IG_OK)
            return NULL;
    }
    if (!rest && item_rest(&s, NULL) != IG_OK)
        return NULL;
    if (s.n_move == 0)
        return array_view(OP_slice, x, &s.v);
    for (int k = 0; k < s.n_move; k++)
        index[k] = s.move[k].index;
    if (infer_broadcast(OP_take, index, s.n_move, &ndim, shape) != IG_OK)
        return NULL;
    mover m = s.n_move == 1 ? s.move[0] : join_movers(&s);
    return index_read(who, x, &s.v, s.place, m.index, m.length, m.stride);
}

ig_array *ig_get(ig_array *x, const ig_index *items, int n)
{
    if (require_pointer("get", "x", x) != IG_OK || require_list("get", "items", items, n) != IG_OK)
        return NULL;
    if (array_is_complex(x)) {
        const pair p = complex_parts(x);
        return complex_make((pair){ig_get(p.re, items, n), ig_get(p.im, items, n)});
    }
    if (!(x = move_settle(x)))
        return NULL;
    const char *before = array_device_follow(x); /* positions are made on the device of x */
    ig_array *y = subscript_get("get", x, items, n);
    array_device_set(before);
    return y;
}
