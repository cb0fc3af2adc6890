/* Derivatives in the calculator.
 *
 * Plain numbers are computed at once, as in Python. To differentiate with respect to them, a float that is assigned to
 * a name gets a trace: the same number as a 0-d array of f64. Arithmetic on the number also builds, lazily, the same
 * arithmetic on its trace. If the number is combined with an array, its trace is used, as a weak scalar. Floats
 * without a name are constants. */
#include "calc/parts.h"

#include <string.h>

bool mentions_grad(const expr *n)
{
    static const char *const names[] = {"grad",   "value_and_grad", "jacobian", "jacfwd",
                                        "jacrev", "hessian",        "jvp",      "vjp"};
    bool found = false;
    for (; n && !found; n = n->next) {
        for (size_t i = 0;
             (n->kind == N_CALL || n->kind == N_METHOD) && i < sizeof names / sizeof *names; i++)
            found |= strcmp(n->name, names[i]) == 0;
        found |= mentions_grad(n->child);
    }
    return found;
}

/* ---- traces --------------------------------------------------------------------------------- */

/* True if v is a number or a nested list of numbers without traces; sets *any_float if one is a float. */
static bool is_plain_list(const value *v, bool *any_float)
{
    *any_float |= v->kind == V_FLOAT;
    if (v->trace || (v->kind != V_LIST && !value_is_number(v)))
        return false;
    bool plain = true;
    for (int i = 0; v->kind == V_LIST && plain && i < v->u.items.n; i++)
        plain = is_plain_list(&v->u.items.v[i], any_float);
    return plain;
}

bool trace_begin(calc *c, span where, value *v)
{
    bool any_float = false;
    if (v->trace || !is_plain_list(v, &any_float) || !any_float)
        return true;
    v->trace = value_to_array(v, IG_F64);
    if (v->trace)
        return true;
    ig_status code;
    const char *why = ig_error(&code);
    if (code == IG_ERR_SHAPE) /* a ragged list stays a list */
        return true;
    return calc_fail(c, where, "%s", why);
}

static ig_array *trace_of(const value *v)
{
    return v->trace ? v->trace : ig_scalar(value_float_of(v), IG_F64);
}

bool trace_operation(calc *c, const expr *n, const value *x, const value *y, value *out)
{
    if (out->kind != V_FLOAT || !(x->trace || (y && y->trace)))
        return true;
    value traced;
    ig_array *operands[2] = {trace_of(x), y ? trace_of(y) : NULL};
    if (!call_arrays(c, n->where, n->op->op, operands, y ? 2 : 1, &traced))
        return false;
    out->trace = traced.u.array;
    return true;
}

enum { HISTORY_SHARE = 8 }; /* history may use 1 / HISTORY_SHARE of the memory limit */

void trace_limit(calc *c)
{
    if (c->has_grad || !c->differentiates || ig_memory_used() < ig_memory_limit() / HISTORY_SHARE)
        return;
    ig_keep_history(false);
    for (const binding *b = c->names; b; b = b->next)
        if (b->bound.kind == V_ARRAY)
            ig_scope_forget(b->bound.u.array);
    ig_keep_history(true);
    c->forgot = true;
}

/* ---- grad ----------------------------------------------------------------------------------- */

/* A call of grad: the loss, and the values to differentiate with respect to. */
typedef struct question {
    calc *c;
    const expr *call;
    const value *loss, *by; /* by: n values */
    int n;
    ig_array *of, **params, **grads;
} question;

/* Finds an argument's expression. Both arguments exist: calc_call_builtin has checked. */
static const expr *expr_of_argument(const expr *call, const char *name, int position)
{
    const expr *n = call->child;
    for (int i = 0; n->kind == N_KEYWORD ? strcmp(n->name, name) != 0 : i != position; i++)
        n = n->next;
    return n->kind == N_KEYWORD ? n->child : n;
}

static span span_of_loss(const question *q) { return expr_of_argument(q->call, "loss", 0)->where; }

/* The expression of the i-th parameter if the parameters are written as a list; else the whole expression. */
static const expr *expr_of_x(const question *q, int i)
{
    const expr *n = expr_of_argument(q->call, "x", 1);
    bool list = q->n > 1 && (n->kind == N_LIST || n->kind == N_TUPLE);
    for (n = list ? n->child : n; list && i > 0; i--)
        n = n->next;
    return n;
}

static bool fail_param(const question *q, int i)
{
    calc *c = q->c;
    const value *v = &q->by[i];
    span where = expr_of_x(q, i)->where;
    if (v->kind == V_INT)
        return calc_fail(c, where,
                         "only floats have gradients, and this is the int %lld; write %lld.0",
                         (long long)v->u.i, (long long)v->u.i);
    if (v->kind == V_ARRAY)
        return calc_fail(c, where, "only floats have gradients, and this is %s; use astype(x, f32)",
                         ig_dtype_name(ig_dtype_of(v->u.array)));
    if (v->kind == V_FLOAT)
        return calc_fail(c, where,
                         "this number has no name, so nothing depends on it; give it one: x = 2.0");
    return calc_fail(c, where,
                     "grad differentiates by a name, an array or a list of these, not by %s",
                     value_kind_name(v->kind));
}

static bool is_real(const ig_array *x) { return ig_isdtype(ig_dtype_of(x), "real floating"); }

static bool has_gradient(const ig_array *x)
{
    return is_real(x) || ig_isdtype(ig_dtype_of(x), "complex floating");
}

static bool find_params(question *q)
{
    for (int i = 0; i < q->n; i++) {
        const value *v = &q->by[i];
        q->params[i] = v->kind == V_ARRAY ? v->u.array : v->trace;
        if (!q->params[i] || !has_gradient(q->params[i]))
            return fail_param(q, i);
    }
    return true;
}

static bool fail_unreached(const question *q, int i)
{
    return calc_fail(q->c, expr_of_x(q, i)->where, "the loss does not depend on this%s",
                     q->c->forgot ? ", or was made before grad was first used: make it again" : "");
}

static bool find_loss(question *q)
{
    calc *c = q->c;
    const value *v = q->loss;
    if (value_is_number(v) && !v->trace)
        return fail_unreached(q, 0);
    if (v->trace)
        q->of = v->trace;
    else if (!calc_to_array(c, span_of_loss(q), v, &q->of))
        return false;
    if (!is_real(q->of))
        return calc_fail(c, span_of_loss(q), "only floats have gradients, and the loss is %s",
                         ig_dtype_name(ig_dtype_of(q->of)));
    if (ig_ndim(q->of) == 0)
        return true;
    value shape = value_ints(&c->scratch, ig_shape(q->of));
    str t = {0};
    print_value(&t, &shape, true);
    calc_fail(c, span_of_loss(q),
              "the loss must be a scalar, and has shape %s; take its sum or mean", t.s);
    str_free(&t);
    return false;
}

/* Finds the parameter that the loss does not depend on. */
static bool fail_grad(const question *q)
{
    ig_status code;
    const char *why = ig_error(&code);
    if (code != IG_ERR_ARGUMENT)
        return calc_fail(q->c, q->call->where, "%s", why);
    int i = 0;
    while (i < q->n - 1 && ig_grad(q->of, &q->params[i], 1, &q->grads[i]) == IG_OK)
        i++;
    ig_error(NULL);
    return fail_unreached(q, i);
}

/* The gradient of a number with respect to a number is a number. Other gradients have the parameter's dtype, or the
 * loss's if the parameter is a number. */
static bool give_gradient(const question *q, int i, value *out)
{
    ig_array *g = q->grads[i];
    const value *by = &q->by[i];
    if (q->loss->kind == V_FLOAT && by->kind == V_FLOAT) {
        *out = value_float(ig_item(g));
        out->trace = g;
    } else if (by->kind == V_ARRAY) {
        *out = value_array(g);
    } else {
        *out = value_array(ig_astype(g, by->kind == V_LIST ? IG_F32 : ig_dtype_of(q->of)));
    }
    return !ig_failed() || calc_fail_library(q->c, q->call->where);
}

/* grad(loss, x): the derivative of a value. */
static bool grad_of_value(calc *c, const expr *n, const value *args, value *out)
{
    const value *x = &args[1];
    bool several = value_has_items(x) && !x->trace;
    question q = {.c = c, .call = n, .loss = &args[0]};
    q.by = several ? x->u.items.v : x;
    q.n = several ? x->u.items.n : 1;
    q.params = arena_get(&c->scratch, sizeof *q.params * (size_t)q.n);
    q.grads = arena_get(&c->scratch, sizeof *q.grads * (size_t)q.n);
    if (c->options.grads_most && ++c->grads > c->options.grads_most)
        return calc_fail(c, n->where, "more than %d gradients are refused here",
                         c->options.grads_most);
    if (!find_params(&q) || !find_loss(&q))
        return false;
    if (ig_grad(q.of, q.params, q.n, q.grads) != IG_OK)
        return fail_grad(&q);
    value *items = several ? arena_get(&c->scratch, sizeof *items * (size_t)q.n) : out;
    for (int i = 0; i < q.n; i++)
        if (!give_gradient(&q, i, &items[i]))
            return false;
    if (several)
        *out = (value){.kind = V_TUPLE, .u = {.items = {items, q.n}}};
    return true;
}

/* grad(f) is a function; grad(loss, x) a value. */
bool run_grad(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    value args[2] = {{0}};
    bool is_function = false;
    const expr *first = n->child, *second = first ? first->next : NULL;
    if (first && first->kind != N_KEYWORD && !grad_of_function(c, n, &is_function, out))
        return false;
    if (is_function)
        return true;
    if (!first || !second || second->next)
        return calc_fail(
            c, n->where,
            "grad takes a scalar and what to differentiate it by, grad(loss, x), or a function, "
            "grad(f)");
    for (const expr *a = first; a; a = a->next) {
        int i = a == second;
        if (a->kind == N_KEYWORD)
            i = strcmp(a->name, "loss") == 0 ? 0 : strcmp(a->name, "x") == 0 ? 1 : -1;
        if (i < 0)
            return calc_fail(c, a->where, "this argument is not one of grad(loss, x)");
        if (!calc_eval(c, a->kind == N_KEYWORD ? a->child : a, &args[i]))
            return false;
    }
    return grad_of_value(c, n, args, out);
}
