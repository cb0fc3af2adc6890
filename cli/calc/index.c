/* x[...]: items of arrays by ig_get, items of tuples as in Python. */
#include "calc/parts.h"

#include <string.h>

enum { BOUNDS = 3 };
static const int64_t not_given = INT64_MIN;

bool calc_to_int(calc *c, span where, const value *v, int64_t missing, int64_t *out)
{
    value number = *v;
    if (v->kind == V_ARRAY && !calc_may_read(c, where))
        return false;
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
        if (!calc_to_array(c, where, v, &out->array))
            return false;
        return ig_dtype_of(out->array) != IG_BOOL || calc_may_read(c, where);
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
    calc_fail(c, where, "there is no item '%s'%s", name, hint.s ? hint.s : "");
    str_free(&hint);
    return false;
}

static bool named_item(calc *c, const expr *n, const value *named, value *out)
{
    const expr *item = n->child->next;
    value v;
    if (item->kind == N_SLICE || item->next || !calc_eval(c, item, &v) || v.kind != V_STRING)
        return calc_fail(c, item->where, "a dict takes one key in quotes");
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

/* True for a list that is not an array, such as a list of arrays of different shapes. */
static bool is_mixed(const value *v)
{
    for (int i = 0; i < v->u.items.n; i++) {
        const value *item = &v->u.items.v[i];
        if (!value_is_number(item) && !(item->kind == V_LIST && !is_mixed(item)))
            return true;
    }
    return false;
}

bool index_eval(calc *c, const expr *n, value *out)
{
    value x;
    ig_array *array;
    ig_index *items;
    int count;
    if (grid_is(c, n->child))
        return grid_eval(c, n, out);
    if (!calc_eval(c, n->child, &x))
        return false;
    if (x.kind == V_TUPLE || (x.kind == V_LIST && is_mixed(&x)))
        return tuple_item(c, n, &x, out);
    if (x.kind == V_STRING)
        return calc_fail(c, n->where, "a string has no items here");
    if (x.kind == V_NAMED)
        return named_item(c, n, &x, out);
    if (x.kind != V_ARRAY && x.kind != V_LIST)
        return calc_fail(c, n->where, "%s has no items", value_kind_name(x.kind));
    if (!calc_to_array(c, n->child->where, &x, &array) ||
        !items_eval(c, n->child->next, &items, &count))
        return false;
    return calc_give(c, n->where, ig_get(array, items, count), out);
}

/* ---- updates -------------------------------------------------------------------------------- */

static ig_array *flat(ig_array *x) { return ig_reshape(x, IG_SHAPE(-1)); }

/* Writes v to the elements of x that the items select, with this op: scatter or one of its relatives. The elements are selected
 * by indexing an array of their positions. */
static bool write_items(calc *c, span where, const char *op, ig_array *x, const expr *first,
                        const value *v, value *out)
{
    ig_index *items;
    ig_array *update;
    int count;
    if (!items_eval(c, first, &items, &count) || !calc_to_array(c, where, v, &update))
        return false;
    ig_array *places = ig_reshape(ig_arange(0, (double)ig_size(x), 1, IG_I64), ig_shape(x));
    places = ig_get(places, items, count);
    if (!places)
        return calc_fail_library(c, where);
    update = ig_broadcast_to(ig_astype(update, ig_dtype_of(x)), ig_shape(places));
    ig_array *operands[3] = {flat(x), flat(places), flat(update)};
    ig_arg args[3];
    for (int i = 0; i < 3; i++) {
        if (!operands[i])
            return calc_fail_library(c, where);
        args[i] = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = operands[i]};
    }
    ig_array *written;
    if (ig_call(op, args, 3, &written, 1) != 1)
        return calc_fail_library(c, where);
    return calc_give(c, where, ig_reshape(written, ig_shape(x)), out);
}

bool index_assign(calc *c, const expr *target, const value *v, value *out)
{
    value x;
    ig_array *array;
    if (!calc_eval(c, target->child, &x))
        return false;
    if (x.kind == V_NAMED)
        return dict_assign(c, target->child->next, &x, v, out);
    if (x.kind != V_ARRAY && x.kind != V_LIST)
        return calc_fail(c, target->where, "only items of an array can be assigned, not of %s",
                         value_kind_name(x.kind));
    return calc_to_array(c, target->where, &x, &array) &&
           write_items(c, target->where, "scatter", array, target->child->next, v, out);
}

bool index_update(calc *c, const expr *n, bool *is_update, value *out)
{
    static const struct {
        const char *method, *op;
    } rows[] = {{"set", "scatter"}, {"add", "scatter_add"}};
    const expr *item = n->kind == N_METHOD ? n->child : NULL;
    if (!item || item->kind != N_INDEX || item->child->kind != N_ATTRIBUTE ||
        strcmp(item->child->name, "at") != 0)
        return true;
    *is_update = true;
    const char *op = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].method, n->name) == 0)
            op = rows[i].op;
    value x, v;
    ig_array *array;
    if (!op)
        return calc_fail(c, n->where, "x.at[...] has set and add, not '%s'", n->name);
    if (!item->next || item->next->next || item->next->kind == N_KEYWORD)
        return calc_fail(c, n->where, "%s takes one value: x.at[...].%s(v)", n->name, n->name);
    return calc_eval(c, item->child->child, &x) && calc_eval(c, item->next, &v) &&
           calc_to_array(c, n->where, &x, &array) &&
           write_items(c, n->where, op, array, item->child->next, &v, out);
}
