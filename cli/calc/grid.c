/* NumPy's objects that are indexed with ranges: mgrid[0:3, 0:2], ogrid, r_[1:4, 9], c_[x, y]. A step such as 5j is a number of
 * points, with the end included. */
#include "calc/parts.h"

#include <string.h>

typedef enum grid_kind { GRID_FULL, GRID_OPEN, GRID_ROWS, GRID_COLUMNS, GRID_KINDS } grid_kind;

static const char *const kinds[GRID_KINDS] = {"mgrid", "ogrid", "r_", "c_"};

bool grid_is(const calc *c, const expr *n)
{
    const bool plain = n->kind == N_NAME && !calc_find_name(c, n->name),
               module = n->kind == N_ATTRIBUTE && is_module(c, n->child);
    for (int i = 0; i < GRID_KINDS && (plain || module); i++)
        if (strcmp(kinds[i], n->name) == 0)
            return true;
    return false;
}

/* The numbers of start:stop:step. */
static bool range_eval(calc *c, const expr *n, ig_array **out)
{
    const expr *step = n->child->next->next;
    const bool points = step->kind == N_IMAGINARY;
    double bounds[3] = {0, 0, 1};
    bool whole = !points;
    int i = 0;
    for (const expr *bound = n->child; bound; bound = bound->next, i++) {
        value v;
        if (bound == step && points)
            continue;
        if (!calc_eval(c, bound, &v))
            return false;
        if (v.kind == V_NONE && i != 1)
            continue;
        if (!value_is_number(&v))
            return calc_fail(c, bound->where, "a range here is start:stop:step in numbers");
        bounds[i] = value_float_of(&v);
        whole &= v.kind != V_FLOAT;
    }
    if (bounds[2] == 0)
        return calc_fail(c, n->where, "the step of a range is not 0");
    *out = points ? ig_linspace(bounds[0], bounds[1], (int64_t)step->literal.u.f, IG_F32, true)
                  : ig_arange(bounds[0], bounds[1], bounds[2], whole ? IG_I64 : IG_F32);
    return *out ? true : calc_fail_library(c, n->where);
}

/* Axis i of n: along its own axis of the grid. */
static ig_array *along(ig_array *x, int i, int n)
{
    int64_t shape[IG_MAX_NDIM];
    for (int k = 0; k < n; k++)
        shape[k] = k == i ? ig_size(x) : 1;
    return ig_reshape(x, (ig_ints){shape, n});
}

static bool grid_give(calc *c, const expr *n, grid_kind kind, ig_array **axes, int count,
                      value *out)
{
    int64_t shape[IG_MAX_NDIM];
    if (count == 1)
        return calc_give(c, n->where, axes[0], out);
    for (int i = 0; i < count; i++)
        shape[i] = ig_size(axes[i]);
    for (int i = 0; i < count; i++) {
        axes[i] = along(axes[i], i, count);
        if (kind == GRID_FULL)
            axes[i] = ig_broadcast_to(axes[i], (ig_ints){shape, count});
        if (!axes[i])
            return calc_fail_library(c, n->where);
    }
    if (kind == GRID_FULL)
        return calc_give(c, n->where, ig_stack(axes, count, 0), out);
    *out = value_arrays(&c->scratch, axes, count);
    return true;
}

/* An item of r_ or c_: a range, a number or an array, with at least the axes of a vector or of a column. */
static bool part_eval(calc *c, const expr *item, grid_kind kind, ig_array **out)
{
    value v;
    if (item->kind == N_SLICE) {
        if (!range_eval(c, item, out))
            return false;
    } else if (!calc_eval(c, item, &v)) {
        return false;
    } else if (v.kind == V_STRING) {
        return calc_fail(c, item->where, "directives in quotes are not supported; use concat");
    } else if (!calc_to_array(c, item->where, &v, out)) {
        return false;
    }
    if (ig_ndim(*out) == 0)
        *out = ig_reshape(*out, IG_SHAPE(1));
    if (kind == GRID_COLUMNS && ig_ndim(*out) == 1)
        *out = ig_expand_dims(*out, IG_AXES(1));
    return *out ? true : calc_fail_library(c, item->where);
}

bool grid_eval(calc *c, const expr *n, value *out)
{
    grid_kind kind = GRID_FULL;
    while (strcmp(kinds[kind], n->child->name) != 0)
        kind++;
    int count = 0;
    for (const expr *item = n->child->next; item; item = item->next)
        count++;
    ig_array **parts = arena_get(&c->scratch, sizeof *parts * (size_t)count);
    const bool grid = kind == GRID_FULL || kind == GRID_OPEN;
    if (grid && count > IG_MAX_NDIM - 1)
        return calc_fail(c, n->where, "a grid has at most %d axes", IG_MAX_NDIM - 1);
    count = 0;
    for (const expr *item = n->child->next; item; item = item->next) {
        if (grid && item->kind != N_SLICE)
            return calc_fail(c, item->where, "%s takes ranges: %s[0:3, 0:2]", kinds[kind],
                             kinds[kind]);
        if (!(grid ? range_eval(c, item, &parts[count]) : part_eval(c, item, kind, &parts[count])))
            return false;
        count++;
    }
    if (grid)
        return grid_give(c, n, kind, parts, count, out);
    return calc_give(c, n->where, ig_concat(parts, count, IG_AXES(kind == GRID_COLUMNS ? -1 : 0)),
                     out);
}
