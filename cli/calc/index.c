/* x[...]: items of arrays by ig_get, items of tuples as in Python. */
#include "calc/parts.h"

enum { BOUNDS = 3 };
static const int64_t not_given = INT64_MIN;

bool calc_to_int(calc *c, span where, const value *v, int64_t missing, int64_t *out)
{
    value number = *v;
    if (v->kind == V_ARRAY)
        number = value_from_index_array(&c->scratch, v->u.array);
    if (ig_failed())
        return calc_fail_library(c, where);
    if (v->kind == V_NONE)
        *out = missing;
    else if (number.kind == V_INT || number.kind == V_BOOL)
        *out = value_int_of(&number);
    else
        return calc_fail(c, where, "an int is expected here, not %s", value_kind_name(v->kind));
    return true;
}

static bool slice_eval(calc *c, const expr *n, ig_index *out)
{
    int64_t bounds[BOUNDS];
    int i = 0;
    for (const expr *bound = n->child; bound; bound = bound->next, i++) {
        value v;
        if (!calc_eval(c, bound, &v) || !calc_to_int(c, bound->where, &v, not_given, &bounds[i]))
            return false;
        if (v.kind != V_NONE && bounds[i] == not_given)
            bounds[i]++; /* INT64_MIN means "not given"; this bound is also beyond any end */
    }
    if (bounds[2] == 0)
        return calc_fail(c, n->where, "the step of a slice is not 0");
    *out = (ig_index){IG_INDEX_SLICE, bounds[0], bounds[1], bounds[2], NULL};
    return true;
}

static bool item_from_value(calc *c, span where, const value *v, ig_index *out)
{
    *out = (ig_index){.kind = IG_INDEX_ARRAY};
    if (v->kind == V_INT) {
        out->kind = IG_INDEX_INT;
        out->start = v->u.i;
    } else if (v->kind == V_NONE) {
        out->kind = IG_INDEX_NEWAXIS;
    } else if (v->kind == V_REST) {
        out->kind = IG_INDEX_REST;
    } else if (v->kind == V_FLOAT || v->kind == V_STRING || v->kind == V_DTYPE) {
        return calc_fail(c, where, "an index is an int, a slice, None, ... or an array, not %s",
                         value_kind_name(v->kind));
    } else if (value_has_items(v) && v->u.items.n == 0) {
        out->array = value_to_array(v, IG_I64); /* an empty list of indices, not of floats */
    } else {
        return calc_to_array(c, where, v, &out->array);
    }
    return true;
}

/* ---- tuples --------------------------------------------------------------------------------- */

static int64_t clip(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static bool tuple_slice(calc *c, const expr *n, const value *tuple, value *out)
{
    ig_index s;
    if (!slice_eval(c, n, &s))
        return false;
    int64_t count = tuple->u.items.n, step = s.step == not_given ? 1 : s.step;
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? count : count - 1;
    int64_t start = s.start == not_given ? (step > 0 ? low : high)
                                         : clip(s.start < 0 ? s.start + count : s.start, low, high);
    int64_t stop = s.stop == not_given ? (step > 0 ? high : low)
                                       : clip(s.stop < 0 ? s.stop + count : s.stop, low, high);
    step = clip(step, -count - 1, count + 1);
    value *items = arena_get(&c->scratch, sizeof(value) * (size_t)count);
    int kept = 0;
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step)
        items[kept++] = tuple->u.items.v[i];
    *out = (value){.kind = V_TUPLE, .u = {.items = {items, kept}}};
    return true;
}

static bool tuple_item(calc *c, const expr *n, const value *tuple, value *out)
{
    const expr *item = n->child->next;
    int count = tuple->u.items.n;
    if (item->next)
        return calc_fail(c, item->next->where, "a tuple has one index");
    if (item->kind == N_SLICE)
        return tuple_slice(c, item, tuple, out);
    value v;
    int64_t i;
    if (!calc_eval(c, item, &v))
        return false;
    if (v.kind == V_NONE)
        return calc_fail(c, item->where, "a tuple's index is an int or a slice");
    if (!calc_to_int(c, item->where, &v, 0, &i))
        return false;
    if (i < -count || i >= count)
        return calc_fail(c, item->where, "index %lld is outside of the tuple's %d items",
                         (long long)i, count);
    *out = tuple->u.items.v[i < 0 ? i + count : i];
    return true;
}

/* ---- named arrays --------------------------------------------------------------------------- */

bool calc_named_item(calc *c, span where, const value *named, const char *name, value *out)
{
    const value *item = value_named(named, name);
    nearest search = nearest_to(name);
    for (int i = 0; i < named->u.items.n; i++)
        nearest_offer(&search, named->names[i]);
    if (item) {
        *out = *item;
        return true;
    }
    str hint = {0};
    str_did_you_mean(&hint, &search);
    for (int i = 0; !search.best && i < named->u.items.n && hint.n < 200; i++)
        str_printf(&hint, "%s%s", i ? ", " : "; there are ", named->names[i]);
    calc_fail(c, where, "there is no array '%s'%s", name, hint.s ? hint.s : "");
    str_free(&hint);
    return false;
}

static bool named_item(calc *c, const expr *n, const value *named, value *out)
{
    const expr *item = n->child->next;
    value v;
    if (item->kind == N_SLICE || item->next || !calc_eval(c, item, &v) || v.kind != V_STRING)
        return calc_fail(c, item->where, "named arrays take one name in quotes");
    return calc_named_item(c, item->where, named, v.u.s, out);
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* x[(1, 2)] is x[1, 2]. */
static bool items_from_tuple(calc *c, span where, const value *tuple, ig_index **out, int *n)
{
    *n = tuple->u.items.n;
    *out = arena_get(&c->scratch, sizeof **out * (size_t)*n);
    for (int i = 0; i < *n; i++)
        if (!item_from_value(c, where, &tuple->u.items.v[i], &(*out)[i]))
            return false;
    return true;
}

static bool items_eval(calc *c, const expr *first, ig_index **out, int *n)
{
    int count = 0;
    for (const expr *item = first; item; item = item->next)
        count++;
    ig_index *items = arena_get(&c->scratch, sizeof *items * (size_t)count);
    *out = items;
    *n = count;
    for (const expr *item = first; item; item = item->next, items++) {
        value v;
        if (item->kind == N_SLICE) {
            if (!slice_eval(c, item, items))
                return false;
            continue;
        }
        if (!calc_eval(c, item, &v))
            return false;
        if (v.kind == V_TUPLE && count == 1)
            return items_from_tuple(c, item->where, &v, out, n);
        if (!item_from_value(c, item->where, &v, items))
            return false;
    }
    return true;
}

bool index_eval(calc *c, const expr *n, value *out)
{
    value x;
    ig_array *array;
    ig_index *items;
    int count;
    if (!calc_eval(c, n->child, &x))
        return false;
    if (x.kind == V_TUPLE)
        return tuple_item(c, n, &x, out);
    if (x.kind == V_NAMED)
        return named_item(c, n, &x, out);
    if (x.kind != V_ARRAY && x.kind != V_LIST)
        return calc_fail(c, n->where, "%s has no items", value_kind_name(x.kind));
    if (!calc_to_array(c, n->child->where, &x, &array) ||
        !items_eval(c, n->child->next, &items, &count))
        return false;
    return calc_give(c, n->where, ig_get(array, items, count), out);
}
