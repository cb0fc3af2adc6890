/* Collects what a function uses from its finished tree: features with their first places, its callees, and
 * its shared variables. */
#include "compiler/parse/parser.h"

typedef struct collector {
    parser *p;
    kernel_function *f;
    uint32_t callees_room, shared_room;
} collector;

static void use(collector *c, kernel_feature feature, kernel_place place)
{
    if (feature != FEATURE_NONE && !c->f->uses[feature].place)
        c->f->uses[feature] = (kernel_use){place ? place : c->f->place, c->f};
}

static void use_type(collector *c, const kernel_type *t, kernel_place place)
{
    while (t->kind == TYPE_ARRAY)
        t = t->of;
    switch (t->kind) {
    case TYPE_F64: use(c, FEATURE_F64, place); break;
    case TYPE_F16: use(c, FEATURE_F16, place); break;
    case TYPE_BF16: use(c, FEATURE_BF16, place); break;
    case TYPE_I64:
    case TYPE_U64: use(c, FEATURE_I64, place); break;
    case TYPE_STRUCT:
        for (uint32_t i = 0; i < t->record->n_members; i++)
            use_type(c, t->record->members[i].type, place);
        if (t->record->fragment)
            use(c, FEATURE_WMMA, place);
        break;
    default: break;
    }
}

static void add_callee(collector *c, kernel_function *g)
{
    kernel_function *f = c->f;
    for (uint32_t i = 0; i < f->n_callees; i++)
        if (f->callees[i] == g)
            return;
    ARENA_ADD(c->p->arena, f->callees, f->n_callees, c->callees_room, g);
}

static void add_shared(collector *c, kernel_var *v, kernel_place place)
{
    kernel_function *f = c->f;
    use(c, v->storage == STORE_DYNAMIC ? FEATURE_SHARED_DYNAMIC : FEATURE_SHARED, place);
    for (uint32_t i = 0; i < f->n_shared; i++)
        if (f->shared[i] == v)
            return;
    ARENA_ADD(c->p->arena, f->shared, f->n_shared, c->shared_room, v);
}

static void use_atomic(collector *c, const kernel_expr *e)
{
    const kernel_type *t = e->args[e->n_args - 1]->type;
    if (t->kind == TYPE_F64)
        use(c, FEATURE_AF64, e->place);
    else if (t->size == 8)
        use(c, FEATURE_A64, e->place);
    else if (t->size == 2 || t->kind == TYPE_STRUCT)
        use(c, FEATURE_A16, e->place);
    else
        use(c, t->kind == TYPE_F32 ? FEATURE_ATOMIC_FLOAT : FEATURE_ATOMIC, e->place);
}

static void use_builtin(collector *c, const kernel_expr *e)
{
    const kernel_builtin_row *row = &kernel_builtin_rows[e->builtin];
    if (row->class == CLASS_ATOMIC)
        use_atomic(c, e);
    else
        use(c, row->feature, e->place);
}

/* The type of a value; doubles that come from literals are counted separately. */
static void use_value(collector *c, const kernel_expr *e)
{
    if (e->type->kind == TYPE_F64 && (e->soft || e->kind == EXPR_STRING)) {
        if (e->kind != EXPR_CONST)
            use(c, FEATURE_F64_LITERAL, e->place);
        return;
    }
    /* A double constant is part of double arithmetic, which is recorded itself. */
    if (e->kind == EXPR_CONST && e->type->kind == TYPE_F64)
        return;
    if (!(e->type->kind == TYPE_I64 && (e->kind == EXPR_CAST || e->kind == EXPR_CONST)))
        use_type(c, e->type, e->place);
}

static void visit(collector *c, kernel_expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_VAR) {
        e->c = NULL; /* only the parser needed it */
        if (e->as.var->storage == STORE_SHARED || e->as.var->storage == STORE_DYNAMIC)
            add_shared(c, e->as.var, e->place);
        return;
    }
    visit(c, e->a);
    visit(c, e->b);
    visit(c, e->c);
    for (uint32_t i = 0; i < e->n_args; i++)
        visit(c, e->args[i]);
    switch (e->kind) {
    case EXPR_CALL:
        add_callee(c, e->as.function);
        use(c, part_feature(c->p, e->as.function), e->place);
        break;
    case EXPR_BUILTIN: use_builtin(c, e); break;
    case EXPR_UPDATE:
        if (e->as.compute->kind == TYPE_F64)
            use(c, e->soft ? FEATURE_F64_LITERAL : FEATURE_F64, e->place);
        break;
    case EXPR_LOAD:
        if (type_is_pointer(e->type) && (e->a->kind == EXPR_MEMBER || e->a->kind == EXPR_DEREF))
            use(c, FEATURE_POINTER_MEMORY, e->place);
        break;
    default: break;
    }
    if (expr_is_place(e)) {
        if (e->type->quals & TYPE_VOLATILE)
            use(c, FEATURE_VOLATILE, e->place);
    } else {
        use_value(c, e);
    }
}

static void visit_list(collector *c, const kernel_stmt *s)
{
    for (; s; s = s->next) {
        if (s->var)
            use_type(c, s->var->type, s->var->place);
        visit(c, s->value);
        visit(c, s->step);
        visit_list(c, s->body);
        visit_list(c, s->otherwise);
    }
}

void feature_collect(parser *p, kernel_function *f)
{
    collector c = {.p = p, .f = f};
    for (uint32_t i = 0; i < f->n_params; i++) {
        const kernel_type *t = f->params[i]->type;
        while (t->kind == TYPE_POINTER)
            t = t->of;
        use_type(&c, t, f->params[i]->place);
    }
    use_type(&c, f->result, f->place);
    visit_list(&c, f->body);
}
