/* Builders of the ops whose shapes depend on data. They evaluate their inputs at once, and return data or
 * lazy reads at the indices that they found. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/array/above.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"

/* Allocates n integers within the memory budget of array data; NULL on failure. */
static int64_t *get_i64(int64_t n, const char *who)
{
    size_t bytes = (size_t)n * sizeof(int64_t);
    return memory_admit(bytes, who) == IG_OK ? memory_get(bytes) : NULL;
}

/* ---- masks ---- */

int64_t *mask_positions(ig_array *mask, int64_t *count)
{
    /* above.data stores a copy of a strided view in its array. mask may be the caller's x, so use a new view. */
    ig_array *own = mask ? array_view(OP_nonzero, mask, &mask->view) : NULL;
    const uint8_t *holds = own ? above.data(own) : NULL;
    int64_t size = ig_size(mask), n = 0;
    if (!holds)
        return NULL;
    for (int64_t i = 0; i < size; i++)
        n += holds[i] != 0;
    int64_t *at = get_i64(n, "mask");
    if (!at)
        return NULL;
    *count = n;
    n = 0;
    for (int64_t i = 0; i < size; i++)
        if (holds[i])
            at[n++] = i;
    return at;
}

/* Where the elements of a selection were: see above.selected. */
typedef struct selected_at {
    ig_array *mask;
    bool sorted; /* mask selects from the sorted elements */
} selected_at;

static void selected_release(void *context)
{
    selected_at *s = context;
    ig_release(s->mask);
    memory_free(s);
}

static ig_status pull_selected(void *context, ig_array *const *inputs, int n, ig_array *out,
                               ig_array *g, ig_array **grads)
{
    (void)n, (void)out;
    const selected_at *s = context;
    ig_array *x = inputs[0];
    ig_array *order = s->sorted ? above.filed(ig_argsort(x, 0, false, true)) : NULL;
    ig_array *at = s->sorted && !order ? NULL : above.selected(order, s->mask);
    ig_array *zero = build_fill(0, (ig_dtype)x->dtype, x->view.ndim, x->view.shape);
    grads[0] = at && zero ? ig_scatter_add(zero, at, g, 0) : NULL;
    return grads[0] ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* The elements of x, which is 1-d, or of sorted, which has them sorted and is in a file, where mask holds. The gradient goes
 * to x. */
static ig_array *selected_of(ig_array *x, ig_array *sorted, ig_array *mask)
{
    ig_array *values = sorted ? sorted : above.filed(x);
    ig_array *y = values ? above.selected(values, mask) : NULL; /* NULL would select places */
    if (!y || !dtype_is_float((ig_dtype)x->dtype))
        return y;
    selected_at *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    *s = (selected_at){ig_retain(mask), sorted != NULL};
    return ig_custom_grad(y, &x, 1, pull_selected, s, selected_release);
}

bool mask_spills(ig_array *x, ig_array *mask)
{
    return view_same_shape(&x->view, &mask->view) && !array_is_complex(x) &&
           (above.is_large(x) || above.is_large(mask));
}

ig_array *mask_selected(ig_array *x, ig_array *mask)
{
    mask = above.filed(ig_reshape(build_cast(mask, IG_BOOL), IG_SHAPE(-1)));
    return mask ? selected_of(ig_reshape(x, IG_SHAPE(-1)), NULL, mask) : NULL;
}

int op_mask_select(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *mask = args[1].u.array;
    const char *who = op_rows[op].name;
    if (mask->dtype != IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s: mask must be bool, not %s; compare, or convert with astype",
                  who, ig_dtype_name(mask->dtype));
    ig_index item = {.kind = IG_INDEX_ARRAY, .array = mask};
    return op_one(out, subscript_get(who, args[0].u.array, &item, 1));
}

int op_nonzero(op_id op, const ig_arg *args, ig_array **out)
{
    const view *v = &args[0].u.array->view;
    int64_t inner = 1;
    if (v->ndim == 0)
        FAIL_NONE(IG_ERR_SHAPE, "%s: x has no axes; use x != 0", op_rows[op].name);
    ig_array *mask = build_cast(args[0].u.array, IG_BOOL);
    ig_array *at = above.is_large(args[0].u.array)
                       ? above.selected(NULL, above.filed(ig_reshape(mask, IG_SHAPE(-1))))
                       : above.positions(mask);
    for (int a = v->ndim - 1; a >= 0 && at; inner *= v->shape[a--]) {
        ig_array *index = inner > 1 ? ig_floor_divide(at, ig_int(inner)) : at;
        if (!(out[a] = a > 0 ? ig_remainder(index, ig_int(v->shape[a])) : index))
            return 0;
    }
    return at ? v->ndim : 0;
}

/* ---- unique ---- */

/* x sorted. order has the position of each sorted element in x, or is NULL; first, bool, says where groups of equal ones
 * begin, and starts has these places. */
typedef struct groups {
    ig_array *order, *first, *starts;
    int64_t size;
} groups;

/* bool: where groups begin, if differs says where an element differs from the next. */
static ig_array *beginnings(const ig_array *sorted, ig_array *differs)
{
    const int64_t one = 1;
    ig_array *both[2] = {build_fill(1, IG_BOOL, 1, &one), differs};
    return sorted->view.shape[0] == 0 ? differs : differs ? ig_concat(both, 2, IG_AXES(0)) : NULL;
}

/* Cuts sorted elements where differs, of each and the next, is true. */
static bool groups_find(groups *g, ig_array *order, ig_array *sorted, ig_array *differs)
{
    g->size = sorted->view.shape[0];
    g->order = order;
    g->first = beginnings(sorted, differs);
    ig_array *all[3] = {sorted, g->first, order};
    if (!g->first || above.eval(all, order ? 3 : 2) != IG_OK)
        return false;
    g->starts = above.positions(g->first);
    return g->starts && above.eval(&g->starts, 1) == IG_OK;
}

/* bool: where rows of sorted, along axis 0, differ from the next. NaN differs from itself, unless equal_nan. */
static ig_array *differences(ig_array *sorted, bool equal_nan)
{
    ig_array *after = ig_slice(sorted, IG_AXES(1), IG_AXES(INT64_MAX), IG_NONE);
    ig_array *before = ig_slice(sorted, IG_AXES(0), IG_AXES(-1), IG_NONE);
    ig_array *differs = ig_not_equal(after, before);
    if (equal_nan && dtype_is_float(sorted->dtype))
        differs = ig_logical_and(differs, ig_logical_not(ig_isnan(before)));
    return sorted->view.ndim == 1 ? differs : ig_any(differs, IG_AXES(1), false);
}

/* The first of each group in x: the sort is stable. */
static ig_array *unique_indices(const groups *g)
{
    return index_take("unique", g->order, g->starts, 0);
}

static ig_array *unique_inverse(const groups *g)
{
    ig_array *sums =
        ig_cumulative_sum(ig_astype(g->first, IG_I64), IG_AXES(0), IG_DTYPE_NONE, false);
    ig_array *zero = build_fill(0, IG_I64, 1, &g->size);
    return ig_scatter(zero, g->order, ig_subtract(sums, ig_int(1)), 0);
}

static ig_array *unique_counts(const groups *g)
{
    ig_array *end = ig_full(IG_SHAPE(1), ig_int(g->size), IG_I64);
    ig_array *next = ig_slice(g->starts, IG_AXES(1), IG_AXES(INT64_MAX), IG_NONE);
    if (ig_size(g->starts) == 0)
        return g->starts;
    return ig_subtract(ig_concat((ig_array *[]){next, end}, 2, IG_AXES(0)), g->starts);
}

/* The order that sorts the rows of x, (n, m), by their first elements, then by their second, ... The sorts are stable, so
 * the last column is sorted by first. Long chains are evaluated on the way. */
static ig_array *rows_order(op_id op, ig_array *x)
{
    enum { EACH = 32 };
    const int64_t n = x->view.shape[0], m = x->view.shape[1];
    ig_array *order = build_iota(1, &n), *columns = ig_matrix_transpose(x);
    for (int64_t c = m - 1; c >= 0 && order; c--) {
        ig_array *column =
            ig_squeeze(ig_slice(columns, IG_AXES(c), IG_AXES(c + 1), IG_NONE), IG_AXES(0));
        if (!column || !(column = index_take(op_rows[op].name, column, order, 0)))
            return NULL;
        ig_array *next = ig_argsort(column, 0, false, true);
        order = next ? index_take(op_rows[op].name, order, next, 0) : NULL;
        if (c % EACH == 0 && order && above.eval(&order, 1) != IG_OK)
            return NULL;
    }
    return order;
}

/* x as rows along axis: (n, m); or its elements, if axis is NONE. */
static ig_array *rows_along(op_id op, ig_array *x, int axis)
{
    int64_t shape[2] = {view_size(&x->view), 1};
    if (axis == UNIQUE_FLAT)
        return build_reshape(op, x, 1, shape);
    shape[0] = x->view.shape[axis];
    for (int a = 0; a < x->view.ndim; a++)
        shape[1] *= a == axis ? 1 : x->view.shape[a];
    return build_reshape(op, ig_moveaxis(x, IG_AXES(axis), IG_AXES(0)), 2, shape);
}

/* The rows of sorted at the starts of groups, in the shape of slices of x. */
static ig_array *unique_rows(op_id op, ig_array *sorted, const groups *g, const ig_array *x,
                             int axis)
{
    int64_t shape[IG_MAX_NDIM] = {ig_size(g->starts)};
    ig_array *y = index_take(op_rows[op].name, sorted, g->starts, 0);
    if (axis == UNIQUE_FLAT)
        return y;
    for (int a = 0, k = 1; a < x->view.ndim; a++)
        if (a != axis)
            shape[k++] = x->view.shape[a];
    return ig_moveaxis(build_reshape(op, y, x->view.ndim, shape), IG_AXES(0), IG_AXES(axis));
}

/* ---- unique elements of arrays that do not fit in memory ---- */

/* True if the place of an element among the distinct values says to which group it belongs. values: in memory, or not. */
static bool is_searchable(ig_array *values, bool equal_nan)
{
    if (!values->root->data)
        return false;
    if (equal_nan || !dtype_is_float((ig_dtype)values->dtype))
        return true;
    const int64_t n = ig_size(values);
    const uint8_t *nan =
        above.data(ig_isnan(ig_slice(values, IG_AXES(n - 1), IG_AXES(n), IG_NONE)));
    return nan && !*nan;
}

/* x is 1-d. The sorted elements, their order and the mask of groups are in files. */
static int unique_spilled(ig_array *x, bool equal_nan, const unique_part *parts, int n,
                          ig_array **out)
{
    ig_array *sorted = above.filed(ig_sort(x, 0, false, true));
    ig_array *first = sorted ? beginnings(sorted, differences(sorted, equal_nan)) : NULL;
    groups g = {.size = x->view.shape[0], .first = first ? above.filed(first) : NULL};
    ig_array *values = g.first ? selected_of(x, sorted, g.first) : NULL;
    if (!values)
        return 0;
    const bool searches = is_searchable(values, equal_nan);
    for (int i = 0; i < n; i++) {
        const bool ordered = parts[i] == INDICES || (parts[i] == INVERSE && !searches);
        if (ordered && !g.order && !(g.order = above.filed(ig_argsort(x, 0, false, true))))
            return 0;
        if (parts[i] == COUNTS && !(g.starts = above.selected(NULL, g.first)))
            return 0;
        out[i] = parts[i] == VALUES    ? values
                 : parts[i] == INDICES ? above.selected(g.order, g.first)
                 : parts[i] == COUNTS  ? unique_counts(&g)
                 : searches            ? ig_searchsorted(values, x, "left", NULL)
                                       : unique_inverse(&g);
        if (!out[i])
            return 0;
    }
    return n;
}

int unique_find(op_id op, ig_array *x, int axis, bool equal_nan, const unique_part *parts, int n,
                ig_array **out)
{
    static ig_array *(*const find[UNIQUE_PARTS])(const groups *) = {
        [INDICES] = unique_indices, [INVERSE] = unique_inverse, [COUNTS] = unique_counts};
    ig_array *rows = rows_along(op, x, axis), *order = NULL, *sorted = NULL;
    bool ordered = axis != UNIQUE_FLAT;
    for (int i = 0; i < n; i++)
        ordered = ordered || parts[i] == INDICES || parts[i] == INVERSE;
    if (!rows)
        return 0;
    if (axis == UNIQUE_FLAT && above.is_large(rows)) {
        const int made = unique_spilled(rows, equal_nan, parts, n, out);
        for (int i = 0; i < made; i++)
            if (parts[i] == INVERSE &&
                !(out[i] = build_reshape(op, out[i], x->view.ndim, x->view.shape)))
                return 0;
        return made;
    }
    if (!ordered)
        sorted = ig_sort(rows, 0, false, true);
    else if ((order =
                  axis == UNIQUE_FLAT ? ig_argsort(rows, 0, false, true) : rows_order(op, rows)))
        sorted = index_take(op_rows[op].name, rows, order, 0);
    groups g;
    if (!sorted || !groups_find(&g, order, sorted, differences(sorted, equal_nan)))
        return 0;
    for (int i = 0; i < n; i++) {
        out[i] = parts[i] == VALUES ? unique_rows(op, sorted, &g, x, axis) : find[parts[i]](&g);
        if (parts[i] == INVERSE && axis == UNIQUE_FLAT)
            out[i] = build_reshape(op, out[i], x->view.ndim, x->view.shape);
        if (!out[i])
            return 0;
    }
    return n;
}

/* Complex elements: as rows of their parts, sorted by the real part first. -0 is 0 there, so that equal elements are
 * neighbours. */
static int unique_complex(op_id op, ig_array *x, const unique_part *parts, int n, ig_array **out)
{
    const pair p = complex_parts(x);
    const int64_t size = ig_size(x);
    ig_array *both[2] = {ig_add(p.re, ig_float(0)), ig_add(p.im, ig_float(0))};
    for (int i = 0; i < 2; i++)
        both[i] = ig_reshape(both[i], (ig_ints){&size, 1});
    ig_array *rows = ig_stack(both, 2, 1);
    if (!rows || unique_find(op, rows, 0, false, parts, n, out) != n)
        return 0;
    for (int i = 0; i < n; i++) {
        if (parts[i] == VALUES)
            out[i] = complex_of_pairs(out[i]);
        else if (parts[i] == INVERSE)
            out[i] = build_reshape(op, out[i], x->view.ndim, x->view.shape);
        if (!out[i])
            return 0;
    }
    return n;
}

int op_unique(op_id op, const ig_arg *args, ig_array **out)
{
    static const unique_part all[] = {VALUES, INDICES, INVERSE, COUNTS},
                             inverse[] = {VALUES, INVERSE}, counts[] = {VALUES, COUNTS};
    const unique_part *parts = op == OP_unique_all       ? all
                               : op == OP_unique_inverse ? inverse
                                                         : counts;
    const int n = op == OP_unique_all ? UNIQUE_PARTS : op == OP_unique_values ? 1 : 2;
    ig_array *x = args[0].u.array;
    return array_is_complex(x) ? unique_complex(op, x, parts, n, out)
                               : unique_find(op, x, UNIQUE_FLAT, false, parts, n, out);
}
