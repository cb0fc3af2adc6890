/* Which values differ between the threads of a block or, in an earlier pass, between the lanes of a warp.
 *
 * A variable varies if a value that depends on threadIdx reaches it: by an assignment, by an argument of a
 * call, or because it is assigned under a condition that varies. A value that all threads load from one
 * address does not vary. A branch whose condition varies and that has a barrier inside is *split*: only some
 * threads enter it. So is a loop with a barrier that some threads leave before others.
 *
 * A function is *apart* if a warp may run one of its shuffles with only some of its lanes: under a condition
 * that differs between lanes, or after a lane has returned. */
#include "compiler/print/parts.h"

typedef struct search {
    printer *p;
    bool changed;
} search;

static bool *flag_of(const print_function *f, const kernel_var *v)
{
    if (v->storage == STORE_PARAMETER)
        return &f->varying_params[v->index];
    return v->storage == STORE_LOCAL ? &f->varying_locals[v->index] : NULL;
}

static void mark(search *s, bool *flag, bool varies)
{
    if (flag && varies && !*flag)
        *flag = s->changed = true;
}

/* threadIdx.x >> 5 or / 32: equal in all lanes of a warp if blocks have one axis. */
static bool is_warp_number(const kernel_expr *e)
{
    const kernel_expr *a = e->a;
    while (a->kind == EXPR_CAST)
        a = a->a;
    if (a->kind != EXPR_INDEX || a->base != INDEX_THREAD || a->axis != 0 ||
        e->b->kind != EXPR_CONST)
        return false;
    return (e->op == OP_SHR && e->b->value.integer == 5) ||
           (e->op == OP_DIV && e->b->value.integer == 32);
}

bool print_varies(printer *p, const kernel_expr *e)
{
    if (!e)
        return false;
    switch (e->kind) {
    case EXPR_VAR: {
        const bool *flag = flag_of(p->at, e->as.var);
        return flag && *flag;
    }
    case EXPR_INDEX: return e->base == INDEX_THREAD;
    case EXPR_BINARY:
        if (p->by_warps && is_warp_number(e))
            return false;
        break;
    case EXPR_BUILTIN: {
        const int class = kernel_builtin_rows[e->builtin].class;
        if (class == CLASS_BARRIER)
            return false;
        if (class == CLASS_WARP || class == CLASS_ATOMIC || class == CLASS_CLOCK)
            return true;
        break;
    }
    case EXPR_CALL:
        if (print_function_of(p, e->as.function)->varying_result)
            return true;
        break;
    default: break;
    }
    if (print_varies(p, e->a) || print_varies(p, e->b) || print_varies(p, e->c))
        return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (print_varies(p, e->args[i]))
            return true;
    return false;
}

/* The local variable that a place is part of, or NULL. */
static const kernel_var *root_of(const kernel_expr *e)
{
    while (e && e->kind != EXPR_VAR)
        e = e->a;
    return e ? e->as.var : NULL;
}

static void find_in_expr(search *s, const kernel_expr *e, bool divergent)
{
    if (!e || e->kind == EXPR_VAR)
        return;
    if (e->kind == EXPR_ASSIGN || e->kind == EXPR_UPDATE) {
        const kernel_var *v = root_of(e->a);
        if (v)
            mark(s, flag_of(s->p->at, v), divergent || print_varies(s->p, e->b));
    } else if (e->kind == EXPR_CALL) {
        print_function *f = print_function_of(s->p, e->as.function);
        for (uint32_t i = 0; i < e->n_args && i < f->f->n_params; i++)
            mark(s, &f->varying_params[i], print_varies(s->p, e->args[i]));
        mark(s, &f->apart, divergent || s->p->at->apart);
    } else if (expr_has_class(e, CLASS_WARP)) {
        mark(s, &s->p->at->apart, divergent);
    }
    find_in_expr(s, e->a, divergent);
    const bool chosen =
        divergent || ((e->kind == EXPR_AND || e->kind == EXPR_OR || e->kind == EXPR_CHOOSE) &&
                      print_varies(s->p, e->a));
    find_in_expr(s, e->b, chosen);
    find_in_expr(s, e->c, chosen);
    for (uint32_t i = 0; i < e->n_args; i++)
        find_in_expr(s, e->args[i], divergent);
}

/* True if it has a `break` or `continue` under a condition that varies. */
static bool leaves_apart(printer *p, const kernel_stmt *s, bool divergent)
{
    for (; s; s = s->next) {
        if ((s->kind == STMT_BREAK || s->kind == STMT_CONTINUE) && divergent)
            return true;
        if (s->kind == STMT_LOOP)
            continue;
        const bool inner = divergent || ((s->kind == STMT_IF || s->kind == STMT_SWITCH) &&
                                         print_varies(p, s->value));
        if (leaves_apart(p, s->body, inner) || leaves_apart(p, s->otherwise, inner))
            return true;
    }
    return false;
}

static void find_in(search *s, const kernel_stmt *t, bool divergent)
{
    for (; t; t = t->next) {
        if (t->kind == STMT_DECLARE)
            mark(s, flag_of(s->p->at, t->var), print_varies(s->p, t->value));
        if (t->kind == STMT_RETURN && t->value && (divergent || print_varies(s->p, t->value)) &&
            !s->p->at->varying_result)
            s->p->at->varying_result = s->changed = true;
        mark(s, &s->p->at->apart, t->kind == STMT_RETURN && divergent);
        const bool choice = t->kind == STMT_IF || t->kind == STMT_LOOP || t->kind == STMT_SWITCH;
        const bool inner =
            divergent || (choice && print_varies(s->p, t->value)) ||
            (s->p->by_warps && t->kind == STMT_LOOP && leaves_apart(s->p, t->body, false));
        find_in_expr(s, t->value, divergent);
        find_in_expr(s, t->step, inner);
        find_in(s, t->body, inner);
        find_in(s, t->otherwise, inner);
    }
}

/* True if it has a `break` of the innermost loop under a condition that varies. */
static bool has_varying_break(printer *p, const kernel_stmt *s, bool divergent)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_BREAK && divergent)
            return true;
        if (s->kind != STMT_IF && s->kind != STMT_BLOCK)
            continue;
        const bool inner = divergent || (s->kind == STMT_IF && print_varies(p, s->value));
        if (has_varying_break(p, s->body, inner) || has_varying_break(p, s->otherwise, inner))
            return true;
    }
    return false;
}

bool print_is_split(printer *p, const kernel_stmt *s)
{
    if ((s->kind != STMT_IF && s->kind != STMT_LOOP) || !print_loop_holds(p, s))
        return false;
    return print_varies(p, s->value) ||
           (s->kind == STMT_LOOP && has_varying_break(p, s->body, false));
}

static bool has_split(printer *p, const kernel_stmt *s)
{
    for (; s; s = s->next)
        if (print_is_split(p, s) || has_split(p, s->body) || has_split(p, s->otherwise))
            return true;
    return false;
}

static void find_all(printer *p)
{
    search s = {.p = p, .changed = true};
    for (print_function *f = p->functions; f; f = f->next) {
        f->varying_params = kernel_arena_new(p->arena, f->f->n_params + 1);
        f->varying_locals = kernel_arena_new(p->arena, f->f->n_locals + 1);
        f->varying_result = false;
    }
    while (s.changed) {
        s.changed = false;
        for (print_function *f = p->functions; f; f = f->next) {
            p->at = f;
            find_in(&s, f->f->body, false);
        }
    }
}

void print_varies_find(printer *p)
{
    p->by_warps = true;
    find_all(p);
    p->by_warps = false;
    for (print_function *f = p->functions; f; f = f->next)
        f->together = p->target->whole_warps && !f->apart;
    find_all(p);
    for (print_function *f = p->functions; f; f = f->next) {
        p->at = f;
        f->splits = f->holds && has_split(p, f->f->body);
    }
}
