/* Barriers after early returns.
 *
 * In CUDA, barriers do not wait for a thread that has returned; on other GPUs all threads must reach them.
 * So in a function with both, `return` becomes `active = false`. All threads run statements with barriers;
 * only active threads run the others. A statement *holds* if all threads must run it together: it has a
 * barrier, or it leaves a loop that has one. The condition of such a statement must have the same value in
 * all threads: either it is *uniform*, so that inactive threads know it too, or the active threads of the
 * block vote on it. */
#include "compiler/print/parts.h"

/* ---- contents of a statement ------------------------------------------------------------------- */

static bool is_barrier(printer *p, const kernel_expr *e)
{
    if (e->kind == EXPR_CALL)
        return print_function_of(p, e->as.function)->holds;
    return expr_has_class(e, CLASS_BARRIER);
}

bool print_expr_holds(printer *p, const kernel_expr *e)
{
    if (!e)
        return false;
    if (is_barrier(p, e) || print_expr_holds(p, e->a) || print_expr_holds(p, e->b) ||
        (e->kind != EXPR_VAR && print_expr_holds(p, e->c)))
        return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (print_expr_holds(p, e->args[i]))
            return true;
    return false;
}

static bool list_holds(printer *p, const kernel_stmt *s, bool breaks, bool continues);

/* breaks, continues: whether a break or continue that leaves the statement counts. */
static bool holds(printer *p, const kernel_stmt *s, bool breaks, bool continues)
{
    if (print_expr_holds(p, s->value) || print_expr_holds(p, s->step))
        return true;
    switch (s->kind) {
    case STMT_BREAK: return breaks;
    case STMT_CONTINUE: return continues;
    case STMT_LOOP: return list_holds(p, s->body, false, false);
    case STMT_SWITCH: return list_holds(p, s->body, false, continues);
    default:
        return list_holds(p, s->body, breaks, continues) ||
               list_holds(p, s->otherwise, breaks, continues);
    }
}

static bool list_holds(printer *p, const kernel_stmt *s, bool breaks, bool continues)
{
    for (; s; s = s->next)
        if (holds(p, s, breaks, continues))
            return true;
    return false;
}

bool print_holds(printer *p, const kernel_stmt *s)
{
    return holds(p, s, p->loop_holds, p->loop_holds);
}

bool print_loop_holds(printer *p, const kernel_stmt *loop) { return holds(p, loop, false, false); }

/* True if threads leave the loop together. They leave a split loop by becoming inactive. */
static bool breaks_hold(printer *p, const kernel_stmt *loop)
{
    return print_loop_holds(p, loop) && !print_is_split(p, loop);
}

/* A failed assert ends its thread like a return. */
static bool ends_thread(const kernel_stmt *s)
{
    return s->kind == STMT_EXPR && s->value->kind == EXPR_BUILTIN &&
           (s->value->builtin == BUILTIN_ASSERT || s->value->builtin == BUILTIN_TRAP);
}

static bool returns(const kernel_stmt *s, bool breaks)
{
    if (s->kind == STMT_RETURN || ends_thread(s) || (breaks && s->kind == STMT_BREAK))
        return true;
    breaks = breaks && s->kind != STMT_LOOP && s->kind != STMT_SWITCH;
    for (const kernel_stmt *t = s->body; t; t = t->next)
        if (returns(t, breaks))
            return true;
    for (const kernel_stmt *t = s->otherwise; t; t = t->next)
        if (returns(t, breaks))
            return true;
    return false;
}

bool print_returns(printer *p, const kernel_stmt *s)
{
    (void)p;
    return returns(s, false);
}

bool print_deactivates(printer *p, const kernel_stmt *s) { return returns(s, p->loop_splits); }

/* ---- statements that inactive threads may run ---------------------------------------------------- */

static bool is_effect(const kernel_expr *e)
{
    if (e->kind == EXPR_CALL)
        return true;
    if (e->kind != EXPR_BUILTIN)
        return false;
    const int class = kernel_builtin_rows[e->builtin].class;
    return class > CLASS_CONVERT;
}

/* True if it accesses only variables of the thread. */
bool print_is_pure(const kernel_expr *e)
{
    if (!e)
        return true;
    if (is_effect(e))
        return false;
    if (e->kind == EXPR_DEREF || (e->kind == EXPR_VAR && e->as.var->storage > STORE_LOCAL))
        return false;
    if ((e->kind == EXPR_ADDRESS || e->kind == EXPR_DECAY) && e->a->kind == EXPR_VAR)
        return true;
    if (!print_is_pure(e->a) || !print_is_pure(e->b) ||
        (e->kind != EXPR_VAR && !print_is_pure(e->c)))
        return false;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!print_is_pure(e->args[i]) || type_is_pointer(e->args[i]->type))
            return false;
    return true;
}

/* Threads that did not take a split branch continue after it, and its assignments must not affect them. */
bool print_is_harmless(const printer *p, const kernel_stmt *s)
{
    return ((s->kind == STMT_EXPR && !p->split) || s->kind == STMT_DECLARE) && !ends_thread(s) &&
           print_is_pure(s->value);
}

/* ---- uniform values --------------------------------------------------------------------------- */

static bool *uniform_of(const print_function *f, const kernel_var *v)
{
    if (v->storage == STORE_PARAMETER)
        return &f->uniform_params[v->index];
    return v->storage == STORE_LOCAL ? &f->uniform_locals[v->index] : NULL;
}

bool print_is_uniform(const printer *p, const kernel_expr *e)
{
    switch (e->kind) {
    case EXPR_CONST: return true;
    case EXPR_INDEX: return e->base != INDEX_THREAD;
    case EXPR_LOAD: {
        const bool *known = e->a->kind == EXPR_VAR ? uniform_of(p->at, e->a->as.var) : NULL;
        return known && *known;
    }
    case EXPR_BUILTIN: return kernel_builtin_rows[e->builtin].class == CLASS_BARRIER;
    case EXPR_CAST:
    case EXPR_UNARY: return print_is_uniform(p, e->a);
    case EXPR_BINARY:
    case EXPR_AND:
    case EXPR_OR: return print_is_uniform(p, e->a) && print_is_uniform(p, e->b);
    case EXPR_CHOOSE:
        return print_is_uniform(p, e->a) && print_is_uniform(p, e->b) && print_is_uniform(p, e->c);
    default: return false;
    }
}

typedef struct uniform_state {
    printer *p;
    bool changed;
} uniform_state;

static void not_uniform(uniform_state *u, const kernel_var *v)
{
    bool *known = uniform_of(u->p->at, v);
    if (known && *known) {
        *known = false;
        u->changed = true;
    }
}

/* together: all threads evaluate it. */
static void look_at_expr(uniform_state *u, const kernel_expr *e, bool together)
{
    if (!e)
        return;
    if ((e->kind == EXPR_ASSIGN || e->kind == EXPR_UPDATE) && e->a->kind == EXPR_VAR) {
        if (!together || !print_is_uniform(u->p, e->b))
            not_uniform(u, e->a->as.var);
        together = together && print_is_pure(e->b);
    } else if (e->kind != EXPR_COMMA) {
        together = false;
    }
    look_at_expr(u, e->a, together);
    look_at_expr(u, e->b, together);
    if (e->kind != EXPR_VAR)
        look_at_expr(u, e->c, false);
    for (uint32_t i = 0; i < e->n_args; i++)
        look_at_expr(u, e->args[i], false);
}

/* loop: the innermost loop holds. split: some threads are inactive here, so assignments are not uniform. */
static void look_at(uniform_state *u, const kernel_stmt *s, bool together, bool loop, bool split)
{
    for (; s; s = s->next) {
        const bool plain = s->kind == STMT_EXPR || s->kind == STMT_DECLARE || s->kind == STMT_BLOCK;
        const bool here = together && (plain || holds(u->p, s, loop, loop));
        const bool inner = s->kind == STMT_LOOP ? breaks_hold(u->p, s) : loop;
        if (s->kind == STMT_DECLARE && s->value &&
            (!together || !print_is_pure(s->value) || !print_is_uniform(u->p, s->value)))
            not_uniform(u, s->var);
        const bool parted = split || print_is_split(u->p, s);
        look_at_expr(u, s->value,
                     here && print_is_pure(s->value) && !(split && s->kind == STMT_EXPR));
        look_at_expr(u, s->step, here && print_is_pure(s->step) && !print_is_split(u->p, s));
        look_at(u, s->body, here, inner, parted);
        look_at(u, s->otherwise, here, inner, parted);
    }
}

static bool is_plain(const kernel_var *v) { return type_is_arithmetic(v->type) && !v->addressed; }

static void find_uniform(printer *p, print_function *f)
{
    uniform_state u = {.p = p, .changed = true};
    f->uniform_params = kernel_arena_new(p->arena, f->f->n_params + 1);
    f->uniform_locals = kernel_arena_new(p->arena, f->f->n_locals + 1);
    for (uint32_t i = 0; i < f->f->n_params; i++)
        f->uniform_params[i] = f->f->is_kernel && is_plain(f->f->params[i]);
    for (const kernel_var *v = f->f->locals; v; v = v->next)
        f->uniform_locals[v->index] = is_plain(v);
    p->at = f;
    while (u.changed) {
        u.changed = false;
        look_at(&u, f->f->body, true, false, false);
    }
}

/* ---- functions -------------------------------------------------------------------------------- */

/* A return at the very end of the body is not an early return. */
static bool returns_early(printer *p, const kernel_function *f)
{
    for (const kernel_stmt *s = f->body; s; s = s->next)
        if (print_returns(p, s) && !(s->kind == STMT_RETURN && !s->next))
            return true;
    return false;
}

static void follow(printer *p, const kernel_expr *e, void *changed)
{
    if (e->kind != EXPR_CALL)
        return;
    print_function *f = print_function_of(p, e->as.function);
    if (f->holds && !f->follows)
        f->follows = *(bool *)changed = true;
}

/* True if a condition in the list needs a vote of the block. */
static bool needs_vote(printer *p, const kernel_stmt *s, bool loop)
{
    for (; s; s = s->next) {
        const bool inner = s->kind == STMT_LOOP ? breaks_hold(p, s) : loop;
        const bool choice = s->kind == STMT_IF || s->kind == STMT_LOOP;
        const bool split = print_is_split(p, s);
        if (split
                ? s->kind == STMT_LOOP
                : choice && holds(p, s, loop, loop) && !(s->value && print_is_uniform(p, s->value)))
            return true;
        if (needs_vote(p, s->body, inner) || needs_vote(p, s->otherwise, inner))
            return true;
    }
    return false;
}

/* The variable for votes is passed down from the kernel. */
static void find_votes(printer *p)
{
    for (print_function *f = p->functions; f; f = f->next) {
        p->at = f;
        bool needed = print_flagged(f) && needs_vote(p, f->f->body, false);
        for (uint32_t i = 0; i < f->f->n_callees; i++)
            needed = needed || print_function_of(p, f->f->callees[i])->hands[HAND_VOTE];
        if (needed)
            f->hands[HAND_VOTE] = true;
        if (f->hands[HAND_VOTE] && is_metal(p))
            f->hands[INDEX_THREAD] = true;
    }
}

static bool has_split_loop(printer *p, const kernel_stmt *s)
{
    for (; s; s = s->next)
        if ((s->kind == STMT_LOOP && print_is_split(p, s)) || has_split_loop(p, s->body) ||
            has_split_loop(p, s->otherwise))
            return true;
    return false;
}

/* Compilers that run all threads of a block in a loop between two barriers (PoCL 3) lose threads if the flag
 * is set inside branches or loops with barriers, or in functions. They can handle only returns at the top
 * level of a kernel. */
static bool is_hard_to_optimize(printer *p, print_function *f)
{
    if (!print_flagged(f))
        return false;
    p->at = f;
    for (const kernel_stmt *s = f->f->body; s; s = s->next)
        if (!f->f->is_kernel || (print_returns(p, s) && holds(p, s, false, false)) ||
            has_split_loop(p, s))
            return true;
    return false;
}

void print_active_find(printer *p)
{
    for (print_function *f = p->functions; f; f = f->next) {
        p->at = f;
        f->holds = list_holds(p, f->f->body, false, false);
        f->returns = f->holds && returns_early(p, f->f);
    }
    print_varies_find(p);
    /* A callee of a function with a flag gets the flag as a parameter, and so on down. */
    for (bool changed = true; changed;) {
        changed = false;
        for (print_function *f = p->functions; f; f = f->next)
            if (print_flagged(f))
                print_walk(p, f->f->body, follow, &changed);
    }
    for (print_function *f = p->functions; f; f = f->next)
        if (print_flagged(f))
            find_uniform(p, f);
    find_votes(p);
    for (print_function *f = p->functions; f; f = f->next)
        p->printed->avoid_optimizer = p->printed->avoid_optimizer || is_hard_to_optimize(p, f);
}
