/* Runs the statements of chat templates: see run.h. */
#include "lib/chat/run.h"

#include <string.h>

/* ---- variables ------------------------------------------------------------------------------ */

frame *frame_new(render *r, frame *parent)
{
    frame *f = render_get(r, 1, sizeof *f);
    if (f)
        f->parent = parent;
    return f;
}

value *frame_find(frame *f, int symbol)
{
    for (; f; f = f->parent)
        for (int i = 0; i < f->n; i++)
            if (f->at[i].symbol == symbol)
                return &f->at[i].v;
    return NULL;
}

void frame_set(render *r, frame *f, int symbol, value v)
{
    for (int i = 0; f && i < f->n; i++)
        if (f->at[i].symbol == symbol) {
            f->at[i].v = v;
            return;
        }
    if (!f)
        return;
    if (f->n == f->room) {
        const int room = 2 * f->room + 4;
        struct variable *at = render_get(r, (size_t)room, sizeof *at);
        if (!at)
            return;
        if (f->n)
            memcpy(at, f->at, (size_t)f->n * sizeof *at);
        f->at = at;
        f->room = room;
    }
    f->at[f->n++] = (struct variable){symbol, v};
}

static void namespace_set(render *r, frame *f, const node *target, value v)
{
    const value *found = frame_find(f, target->symbol);
    if (!found || found->kind != VALUE_NAMESPACE) {
        render_fail(r, "cannot set '%.*s.%.*s': '%.*s' is not a namespace", (int)target->name.n,
                    target->name.at, (int)target->constant.as.s.n, target->constant.as.s.at,
                    (int)target->name.n, target->name.at);
        return;
    }
    if (target->constant.as.s.n && target->constant.as.s.at[0] == '_') {
        render_fail(r, "names in namespaces must not begin with '_'");
        return;
    }
    dict_set(r, found->as.dict, target->constant, v);
}

void target_set(render *r, frame *f, const node *target, value v)
{
    if (r->failed)
        return;
    if (target->kind == NODE_NAME) {
        frame_set(r, f, target->symbol, v);
        return;
    }
    if (target->kind == NODE_NAMESPACE_ITEM) {
        namespace_set(r, f, target, v);
        return;
    }
    const list *l = value_items(r, v);
    if (!l)
        return;
    if (l->n != (size_t)target->args.n) {
        render_fail(r, "cannot unpack %zu values into %d variables", l->n, target->args.n);
        return;
    }
    for (size_t i = 0; i < l->n; i++)
        target_set(r, f, target->args.at[i], l->at[i]);
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* The text that statements write, in a frame of their own. */
static string body_capture(render *r, frame *f, const node_list *body)
{
    builder all = {0}, *out = r->out;
    r->out = &all;
    statements_run(r, f, body);
    r->out = out;
    return builder_string(&all);
}

static value captured_filter(render *r, frame *f, const node *filter, string text)
{
    const value before = r->captured;
    value v = value_string(text);
    if (filter) {
        r->captured = v;
        v = evaluate(r, f, filter);
        r->captured = before;
    }
    return v;
}

static void set_block_run(render *r, frame *f, const node *n)
{
    frame *inner = frame_new(r, f);
    const string text = body_capture(r, inner, &n->body);
    target_set(r, f, n->a, captured_filter(r, inner, n->b, text));
}

static void filter_run(render *r, frame *f, const node *n)
{
    frame *inner = frame_new(r, f);
    const string text = body_capture(r, inner, &n->body);
    builder_value(r, r->out, captured_filter(r, inner, n->a, text));
}

static void if_run(render *r, frame *f, const node *n)
{
    for (; n && !r->failed; n = n->more) {
        r->line = n->line;
        if (value_truth(evaluate(r, f, n->a))) {
            statements_run(r, f, &n->body);
            return;
        }
        if (!n->more)
            statements_run(r, f, &n->other);
    }
}

static void with_run(render *r, frame *f, const node *n)
{
    frame *inner = frame_new(r, f);
    for (int i = 0; i + 1 < n->args.n && inner; i += 2)
        target_set(r, inner, n->args.at[i], evaluate(r, f, n->args.at[i + 1]));
    statements_run(r, inner, &n->body);
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* The items for which the condition of the loop holds. */
static list *items_filter(render *r, frame *f, const node *n, const list *items)
{
    list *l = list_new(r, items->n, LIST_PLAIN);
    for (size_t i = 0; l && i < items->n && !r->failed; i++) {
        frame *inner = frame_new(r, f);
        if (!inner)
            break;
        target_set(r, inner, n->a, items->at[i]);
        if (value_truth(evaluate(r, inner, n->c)))
            l->at[l->n++] = items->at[i];
    }
    return l;
}

static void loop_run(render *r, frame *f, const node *n, value over, int depth)
{
    list *items = value_items(r, over);
    if (items && n->c)
        items = items_filter(r, f, n, items);
    struct loop *loop = items ? render_get(r, 1, sizeof *loop) : NULL;
    if (!loop)
        return;
    bool whole = false; /* Jinja runs the `else` part unless some iteration reaches its end */
    *loop = (struct loop){items, 0, depth, {.kind = VALUE_MISSING}, n, f};
    for (; (size_t)loop->index < items->n && render_step(r, 1); loop->index++) {
        frame *inner = frame_new(r, f);
        if (!inner)
            return;
        frame_set(r, inner, r->t->symbol_loop, (value){.kind = VALUE_LOOP, .as.loop = loop});
        target_set(r, inner, n->a, items->at[loop->index]);
        statements_run(r, inner, &n->body);
        const bool ends = r->flow == FLOW_BREAK;
        whole |= r->flow == FLOW_ON;
        r->flow = FLOW_ON;
        if (!ends)
            continue;
        if (over.kind == VALUE_LIST && over.as.list->kind == LIST_ITERATOR && !n->c)
            over.as.list->next -= items->n - (size_t)loop->index - 1; /* the rest is not read */
        break;
    }
    if (!whole && n->other.n)
        statements_run(r, frame_new(r, f), &n->other);
}

value loop_call(render *r, struct loop *l, value items)
{
    builder all = {0}, *out = r->out;
    if (!l->n->recursive)
        return render_fail(r, "the loop of line %d cannot be called; it is not recursive",
                           l->n->line);
    if (render_enter(r)) {
        r->out = &all;
        loop_run(r, l->scope, l->n, items, l->depth0 + 1);
        r->out = out;
    }
    render_leave(r);
    return value_string(builder_string(&all));
}

/* ---- macros --------------------------------------------------------------------------------- */

static value macro_new(render *r, frame *f, const node *n, string name)
{
    struct macro *m = render_get(r, 1, sizeof *m);
    if (!m)
        return (value){.kind = VALUE_UNDEFINED};
    *m = (struct macro){name, n, f};
    return (value){.kind = VALUE_MACRO, .as.macro = m};
}

static const value *named_find(const arguments *all, string name)
{
    for (int i = 0; i < all->n_named; i++)
        if (string_equal(all->named[i].name, name))
            return &all->named[i].v;
    return NULL;
}

/* Arguments without parameters: varargs and kwargs. */
static void macro_rest(render *r, frame *f, const struct macro *m, const arguments *all)
{
    const named_list *p = &m->n->named;
    list *rest = list_new(r, all->n > p->n ? (size_t)(all->n - p->n) : 0, LIST_TUPLE);
    dict *names = dict_new(r, (size_t)all->n_named);
    for (int i = p->n; rest && i < all->n; i++)
        rest->at[rest->n++] = all->at[i];
    for (int i = 0; names && i < all->n_named; i++) {
        bool known = string_is(all->named[i].name, "caller");
        for (int j = 0; j < p->n && !known; j++)
            known = string_equal(p->at[j].name, all->named[i].name);
        if (!known)
            dict_add(r, names, value_string(all->named[i].name), all->named[i].v);
    }
    if (r->failed || !rest || !names)
        return;
    if (rest->n && !m->n->uses_varargs)
        render_fail(r, "macro '%.*s' takes not more than %d arguments", (int)m->name.n, m->name.at,
                    p->n);
    else if (names->n && !m->n->uses_kwargs)
        render_fail(r, "macro '%.*s' has no parameter '%.*s'", (int)m->name.n, m->name.at,
                    (int)names->at[0].key.as.s.n, names->at[0].key.as.s.at);
    frame_set(r, f, r->t->symbol_varargs, value_of_list(rest));
    frame_set(r, f, r->t->symbol_kwargs, value_dict(names));
}

value macro_call(render *r, const struct macro *m, const arguments *all)
{
    frame *f = frame_new(r, m->scope);
    const named_list *p = &m->n->named;
    const value *caller = named_find(all, string_of("caller"));
    value v = chat_plain("");
    if (f && render_enter(r)) {
        const int line = r->line;
        frame_set(r, f, r->t->symbol_caller,
                  caller ? *caller : value_undefined(r, "no caller is defined"));
        for (int i = 0; i < p->n; i++) {
            const value *given = i < all->n ? &all->at[i] : named_find(all, p->at[i].name);
            if (i < all->n && named_find(all, p->at[i].name))
                render_fail(r, "macro '%.*s' has two values for '%.*s'", (int)m->name.n, m->name.at,
                            (int)p->at[i].name.n, p->at[i].name.at);
            frame_set(r, f, p->at[i].symbol,
                      given            ? *given
                      : p->at[i].value ? evaluate(r, f, p->at[i].value)
                                       : value_undefined(r, "parameter '%.*s' was not provided",
                                                         (int)p->at[i].name.n, p->at[i].name.at));
        }
        macro_rest(r, f, m, all);
        if (!r->failed)
            v = value_string(body_capture(r, f, &m->n->body));
        r->line = r->failed ? r->line : line;
    }
    render_leave(r);
    return v;
}

/* {% call(x) macro() %}: the macro gets the body as its argument `caller`. */
static void call_run(render *r, frame *f, const node *n)
{
    frame *inner = frame_new(r, f);
    if (!inner)
        return;
    frame_set(r, inner, r->t->symbol_caller, macro_new(r, f, n, (string){"caller", NULL, 6}));
    node call = *n->a, name = {.kind = NODE_NAME, .line = n->line, .symbol = r->t->symbol_caller};
    named_node *all = render_get(r, (size_t)call.named.n + 1, sizeof *all);
    if (!all)
        return;
    if (call.named.n)
        memcpy(all, call.named.at, (size_t)call.named.n * sizeof *all);
    all[call.named.n] = (named_node){r->t->symbol_caller, {"caller", NULL, 6}, &name};
    call.named = (named_list){all, call.named.n + 1, 0};
    builder_value(r, r->out, evaluate(r, inner, &call));
}

/* ---- statements ----------------------------------------------------------------------------- */

static void statement_run(render *r, frame *f, const node *n)
{
    switch (n->kind) {
    case STATEMENT_DATA: builder_add(r, r->out, n->constant.as.s); break;
    case STATEMENT_PRINT: builder_value(r, r->out, evaluate(r, f, n->a)); break;
    case STATEMENT_SET: target_set(r, f, n->a, evaluate(r, f, n->b)); break;
    case STATEMENT_SET_BLOCK: set_block_run(r, f, n); break;
    case STATEMENT_IF: if_run(r, f, n); break;
    case STATEMENT_FOR: loop_run(r, f, n, evaluate(r, f, n->b), 0); break;
    case STATEMENT_MACRO: frame_set(r, f, n->symbol, macro_new(r, f, n, n->name)); break;
    case STATEMENT_CALL: call_run(r, f, n); break;
    case STATEMENT_FILTER: filter_run(r, f, n); break;
    case STATEMENT_WITH: with_run(r, f, n); break;
    case STATEMENT_GENERATION: statements_run(r, frame_new(r, f), &n->body); break;
    case STATEMENT_BREAK: r->flow = FLOW_BREAK; break;
    case STATEMENT_CONTINUE: r->flow = FLOW_CONTINUE; break;
    default: break;
    }
}

void statements_run(render *r, frame *f, const node_list *l)
{
    for (int i = 0; f && i < l->n && r->flow == FLOW_ON && render_step(r, 1); i++) {
        r->line = l->at[i]->line;
        statement_run(r, f, l->at[i]);
    }
}
