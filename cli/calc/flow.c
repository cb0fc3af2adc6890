/* Conditions, loops and comprehensions of the calculator, and chained comparisons. */
#include "calc/parts.h"

#include <string.h>

bool calc_may_read(calc *c, span where)
{
    return !c->maps ||
           calc_fail(
               c, where,
               "inside vmap an array stands for many, so its elements cannot be read here; use "
               "where(condition, x1, x2) and ops of whole arrays");
}

/* ---- conditions ------------------------------------------------------------------------------- */

bool calc_truth(calc *c, const expr *n, const value *v, bool *out)
{
    if (value_is_number(v)) {
        *out = value_float_of(v) != 0;
    } else if (v->kind == V_ARRAY) {
        if (ig_size(v->u.array) != 1)
            return calc_fail(c, n->where,
                             "the truth of an array of %lld elements is not clear; use any(x) or "
                             "all(x), or & | ~ and "
                             "where(condition, x1, x2) for each element",
                             (long long)ig_size(v->u.array));
        if (!calc_may_read(c, n->where))
            return false;
        ig_array *is = ig_not_equal(v->u.array, ig_int(0));
        *out = is && ig_item(ig_any(is, IG_NONE, false)) != 0;
        return !ig_failed() || calc_fail_library(c, n->where);
    } else {
        *out = value_has_parts(v)    ? v->u.items.n > 0
               : v->kind == V_STRING ? v->u.s[0] != 0
                                     : v->kind != V_NONE;
    }
    return true;
}

bool flow_if(calc *c, const expr *n, value *out)
{
    const expr *condition = n->child, *yes = condition->next, *no = yes->next;
    value v;
    bool is;
    *out = (value){0};
    if (!calc_eval(c, condition, &v) || !calc_truth(c, condition, &v, &is))
        return false;
    if (!is && !no)
        c->quiet = true;
    return is ? calc_eval(c, yes, out) : !no || calc_eval(c, no, out);
}

bool flow_logic(calc *c, const expr *n, value *out)
{
    bool is;
    if (!calc_eval(c, n->child, out) || !calc_truth(c, n->child, out, &is))
        return false;
    if (is == (n->kind == N_OR))
        return true;
    return calc_eval(c, n->child->next, out);
}

bool flow_not(calc *c, const expr *n, value *out)
{
    value v;
    bool is;
    if (!calc_eval(c, n->child, &v) || !calc_truth(c, n->child, &v, &is))
        return false;
    *out = value_bool(!is);
    return true;
}

/* ---- comparisons ------------------------------------------------------------------------------ */

static bool compare(calc *c, const expr *link, const value *x, const value *y, value *out)
{
    expr literals[2] = {{.kind = N_LITERAL, .where = link->where, .literal = *x},
                        {.kind = N_LITERAL, .where = link->where, .literal = *y}};
    const expr both = {
        .kind = N_BINARY, .where = link->where, .op = link->op, .child = &literals[0]};
    literals[0].next = &literals[1];
    return calc_eval(c, &both, out);
}

/* a < b < c is (a < b) & (b < c), for each element of arrays. */
bool flow_chain(calc *c, const expr *n, value *out)
{
    value x, y, all = value_bool(true), one;
    if (!calc_eval(c, n->child, &x))
        return false;
    for (const expr *link = n->child->next; link; link = link->next, x = y) {
        if (!calc_eval(c, link->child, &y) || !compare(c, link, &x, &y, &one))
            return false;
        if (value_is_number(&all) && value_is_number(&one)) {
            all = value_bool(value_float_of(&all) != 0 && value_float_of(&one) != 0);
            continue;
        }
        ig_array *operands[2];
        if (!calc_to_array(c, link->where, &all, &operands[0]) ||
            !calc_to_array(c, link->where, &one, &operands[1]) ||
            !call_arrays(c, link->where, "logical_and", operands, 2, &all))
            return false;
    }
    *out = all;
    return true;
}

bool flow_membership(calc *c, const expr *n, const value *x, const value *y, value *out)
{
    const char *text = n->op->text;
    const bool negated = strstr(text, "not") != NULL;
    bool found = false;
    if (text[1] == 's') { /* is, is not */
        found = value_equal(x, y);
    } else if (y->kind == V_NAMED && x->kind == V_STRING) {
        found = value_named(y, x->u.s) != NULL;
    } else if (y->kind == V_STRING && x->kind == V_STRING) {
        found = strstr(y->u.s, x->u.s) != NULL;
    } else if (value_has_items(y)) {
        for (int i = 0; !found && i < y->u.items.n; i++)
            found = value_equal(x, &y->u.items.v[i]);
    } else {
        ig_array *operands[2];
        value is;
        if (!calc_to_array(c, n->where, y, &operands[0]) ||
            !calc_to_array(c, n->where, x, &operands[1]) ||
            !call_arrays(c, n->where, "equal", operands, 2, &is) ||
            !call_arrays(c, n->where, "any", &is.u.array, 1, &is) || !calc_truth(c, n, &is, &found))
            return false;
    }
    *out = value_bool(found != negated);
    return true;
}

/* ---- items ------------------------------------------------------------------------------------ */

bool calc_items(calc *c, span where, const value *v, value *out)
{
    *out = *v;
    if (value_has_items(v) && !v->trace)
        return true;
    if (v->kind == V_NAMED) {
        *out = dict_keys(c, v);
        return true;
    }
    ig_array *x;
    return calc_to_array(c, where, v, &x) && call_arrays(c, where, "unstack", &x, 1, out);
}

/* Binds the targets of a loop to an item: local names in a function or comprehension, else variables. */
static bool targets_bind(calc *c, const expr *first, const value *item, bool is_local)
{
    value items = {.kind = V_TUPLE, .u = {.items = {item, 1}}};
    int count = 0;
    for (const expr *t = first; t; t = t->next)
        count++;
    if (count > 1 && !calc_items(c, first->where, item, &items))
        return false;
    if (items.u.items.n != count)
        return calc_fail(c, first->where, "%d names for %d values", count, items.u.items.n);
    const value *v = items.u.items.v;
    for (const expr *t = first; t; t = t->next, v++) {
        const char *why = calc_reserved(t->name);
        if (why)
            return calc_fail(c, t->where, "'%s' %s; choose another name", t->name, why);
        if (is_local)
            calc_push(c, t->name, v);
        else
            calc_bind(c, t->name, v);
    }
    return true;
}

bool flow_each(calc *c, const expr *n, value *out)
{
    const expr *item = n->child, *values = item->next, *condition = values->next,
               *targets = condition->next;
    const local *before = c->locals;
    value v, items;
    if (!calc_eval(c, values, &v) || !calc_items(c, values->where, &v, &items))
        return false;
    const int count = items.u.items.n;
    value *kept = arena_get(&c->scratch, sizeof *kept * (size_t)(count + 1));
    int n_kept = 0;
    bool fine = true;
    for (int i = 0; fine && i < count; i++) {
        value is;
        bool wanted = true;
        c->locals = before;
        fine = targets_bind(c, targets, &items.u.items.v[i], true);
        if (fine && (condition->kind != N_LITERAL || condition->literal.kind != V_NONE))
            fine = calc_eval(c, condition, &is) && calc_truth(c, condition, &is, &wanted);
        if (fine && wanted)
            fine = calc_eval(c, item, &kept[n_kept++]);
    }
    c->locals = before;
    *out = (value){.kind = V_LIST, .u = {.items = {kept, n_kept}}};
    return fine;
}

/* ---- loops ------------------------------------------------------------------------------------ */

bool flow_block(calc *c, const expr *n, value *out)
{
    bool fine = true;
    *out = (value){0};
    c->quiet = true;
    for (const expr *s = n->child; fine && s && !c->returned; s = s->next) {
        c->quiet = false;
        fine = calc_eval(c, s, out);
    }
    return fine;
}

bool flow_return(calc *c, const expr *n, value *out)
{
    if (!c->calls)
        return calc_fail(c, n->where, "'return' is outside of a function");
    const bool fine = calc_eval(c, n->child, out);
    c->returned = true;
    return fine;
}

/* One more step of a loop. Outside of functions, the arrays of the step before are released. */
static bool step_begin(calc *c, const expr *n, bool first)
{
    if (++c->loops > LOOPS_MOST)
        return calc_fail(c, n->where, "loops run more than %d steps in all", LOOPS_MOST);
    if (c->options.stopped && c->options.stopped()) {
        calc_fail(c, n->where, "the loop was cancelled");
        c->wrong.code = IG_ERR_CANCELLED;
        return false;
    }
    if (c->calls)
        return true;
    if (!first) {
        ig_scope_end();
        c->scopes--;
        calc_forget_retired(c);
    }
    if (ig_scope_begin() != IG_OK)
        return calc_fail_library(c, n->where);
    c->scopes++;
    return true;
}

bool flow_for(calc *c, const expr *n, value *out)
{
    const expr *values = n->child, *block = values->next, *targets = block->next;
    value v, items;
    arena memory = {0};
    *out = (value){0};
    c->quiet = true;
    if (!calc_eval(c, values, &v) || !calc_items(c, values->where, &v, &items))
        return false;
    items = value_keep(&memory, &items); /* the body may assign to the name of the values */
    bool fine = true;
    for (int i = 0; fine && i < items.u.items.n && !c->returned; i++)
        fine = step_begin(c, n, i == 0) &&
               targets_bind(c, targets, &items.u.items.v[i], c->calls > 0) &&
               calc_eval(c, block, out);
    value_release(&items);
    arena_free(&memory);
    return fine;
}

bool flow_while(calc *c, const expr *n, value *out)
{
    const expr *condition = n->child, *block = condition->next;
    bool fine = true, goes_on = true;
    *out = (value){0};
    c->quiet = true;
    for (bool first = true; fine && !c->returned; first = false) {
        value v, result;
        fine = calc_eval(c, condition, &v) && calc_truth(c, condition, &v, &goes_on);
        if (!fine || !goes_on)
            break;
        fine = step_begin(c, n, first) && calc_eval(c, block, &result);
        if (fine && c->returned)
            *out = result;
    }
    if (!c->returned)
        c->quiet = true;
    return fine;
}
