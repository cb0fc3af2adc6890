/* Address spaces: the memory that each pointer points to.
 *
 * Pointers in a kernel's parameters and in memory are global; the address of a variable has the variable's
 * space. From these roots, spaces propagate through initializers, assignments, ?:, arithmetic, casts and
 * returns until nothing changes. A variable has one space for the pointers in it. If two spaces meet, it is
 * generic, which is reported with both places. A call uses the clone of its function for the spaces of its
 * arguments, so the spaces of parameters are known when a function is analysed. */
#include <string.h>

#include "compiler/parse/parser.h"

enum { CALLS_MOST = 200, CLONES_MOST = 2000 };

typedef struct kernel_clone {
    kernel_function *f;
    uint8_t *signature; /* a space for each parameter, SPACE_UNSET if it is not a pointer */
    bool open;
    struct kernel_clone *next;
} kernel_clone;

typedef struct space_state {
    parser *p;
    kernel_function *f;
    kernel_place *param_places, *local_places; /* where a variable got its space */
    kernel_place result_place;
    bool changed, final;
    int depth;
} space_state;

static void infer(parser *p, kernel_function *f, const uint8_t *signature, int depth);

static const char *const space_words[] = {"unset",  "global", "constant",
                                          "shared", "local",  "generic"};

/* ---- variables -------------------------------------------------------------------------------- */

static bool holds_pointers(const kernel_type *t)
{
    while (t->kind == TYPE_ARRAY)
        t = t->of;
    return t->kind == TYPE_POINTER;
}

static uint8_t storage_space(const kernel_var *v)
{
    static const uint8_t spaces[] = {
        [STORE_PARAMETER] = SPACE_LOCAL, [STORE_LOCAL] = SPACE_LOCAL,
        [STORE_SHARED] = SPACE_SHARED,   [STORE_DYNAMIC] = SPACE_SHARED,
        [STORE_GLOBAL] = SPACE_GLOBAL,   [STORE_CONSTANT] = SPACE_CONSTANT};
    return spaces[v->storage];
}

/* The variable that holds the pointer at this place; NULL if the pointer is in other memory. */
static kernel_var *holder(const kernel_expr *place)
{
    for (;;) {
        if (place->kind == EXPR_VAR)
            return place->as.var->storage <= STORE_LOCAL && holds_pointers(place->as.var->type)
                       ? place->as.var
                       : NULL;
        if (place->kind != EXPR_DEREF)
            return NULL;
        const kernel_expr *e = place->a;
        while (e->kind == EXPR_BINARY && e->op == OP_OFFSET)
            e = e->a;
        if (e->kind != EXPR_DECAY && e->kind != EXPR_ADDRESS)
            return NULL;
        place = e->a;
    }
}

static void conflict(space_state *s, kernel_place place, kernel_place first, uint8_t space,
                     uint8_t before, const char *what)
{
    if (!s->f->uses[FEATURE_GENERIC].place)
        s->f->uses[FEATURE_GENERIC] = (kernel_use){place, s->f};
    diag_warning(s->p->diags, place, "IG-AS",
                 "%s points to %s memory here, and to %s memory elsewhere", what,
                 space_words[space], space_words[before]);
    diag_do(s->p->diags, "use two variables, if it is to run on every GPU");
    if (first)
        diag_note(s->p->diags, first, "%s memory here", space_words[before]);
}

/* Propagates `space` into *to. */
static void join(space_state *s, uint8_t *to, kernel_place *first, uint8_t space,
                 kernel_place place, const char *what)
{
    if (space == SPACE_UNSET || *to == space || *to == SPACE_GENERIC)
        return;
    s->changed = true;
    if (*to == SPACE_UNSET) {
        *to = space;
        *first = place;
        return;
    }
    conflict(s, place, *first, space, *to, what);
    *to = SPACE_GENERIC;
}

static void join_var(space_state *s, kernel_var *v, uint8_t space, kernel_place place)
{
    char what[80] = "'";
    strncat(what, v->source_name ? v->source_name->text : v->name, sizeof what - 3);
    strcat(what, "'");
    kernel_place *first =
        v->storage == STORE_PARAMETER ? &s->param_places[v->index] : &s->local_places[v->index];
    join(s, &v->space, first, space, place, what);
}

/* Stores a pointer into a place. */
static void store(space_state *s, const kernel_expr *place, uint8_t space, kernel_place where)
{
    kernel_var *v = holder(place);
    if (v) {
        join_var(s, v, space, where);
    } else if (s->final && space != SPACE_UNSET && space != SPACE_GLOBAL) {
        conflict(s, where, 0, space, SPACE_GLOBAL, "a pointer kept in memory");
    }
}

static uint8_t meet(uint8_t a, uint8_t b)
{
    return a == b || b == SPACE_UNSET ? a : a == SPACE_UNSET ? b : SPACE_GENERIC;
}

/* ---- clones ----------------------------------------------------------------------------------- */

typedef struct copier {
    parser *p;
    kernel_var **params, **locals;
} copier;

static kernel_var *copy_var(const copier *c, kernel_var *v)
{
    if (!v || v->storage > STORE_LOCAL)
        return v;
    return v->storage == STORE_PARAMETER ? c->params[v->index] : c->locals[v->index];
}

static kernel_expr *copy_expr(const copier *c, const kernel_expr *e)
{
    if (!e)
        return NULL;
    kernel_expr *made = kernel_arena_copy(c->p->arena, e, sizeof *made);
    made->a = copy_expr(c, e->a);
    made->b = copy_expr(c, e->b);
    made->c = copy_expr(c, e->c);
    if (e->kind == EXPR_VAR)
        made->as.var = copy_var(c, e->as.var);
    if (e->n_args) {
        made->args = kernel_arena_get(c->p->arena, e->n_args * sizeof *made->args);
        for (uint32_t i = 0; i < e->n_args; i++)
            made->args[i] = copy_expr(c, e->args[i]);
    }
    return made;
}

static kernel_stmt *copy_list(const copier *c, const kernel_stmt *s)
{
    kernel_stmt *first = NULL, **end = &first;
    for (; s; s = s->next) {
        kernel_stmt *made = kernel_arena_copy(c->p->arena, s, sizeof *made);
        made->value = copy_expr(c, s->value);
        made->step = copy_expr(c, s->step);
        made->var = copy_var(c, s->var);
        made->body = copy_list(c, s->body);
        made->otherwise = copy_list(c, s->otherwise);
        if (s->n_cases) {
            made->cases = kernel_arena_get(c->p->arena, s->n_cases * sizeof *made->cases);
            for (uint32_t i = 0; i < s->n_cases; i++) {
                made->cases[i] = s->cases[i];
                const kernel_stmt *old = s->body;
                kernel_stmt *new = made->body;
                for (; old && old != s->cases[i].from; old = old->next)
                    new = new->next;
                made->cases[i].from = old ? new : NULL;
            }
        }
        LIST_ADD(end, made, next);
    }
    *end = NULL;
    return first;
}

static kernel_var *copy_one(parser *p, const kernel_var *v)
{
    kernel_var *made = kernel_arena_copy(p->arena, v, sizeof *made);
    made->space = SPACE_UNSET;
    made->next = NULL;
    return made;
}

static kernel_function *copy_function(parser *p, const kernel_function *f)
{
    kernel_function *made = kernel_arena_copy(p->arena, f, sizeof *made);
    memset(made->uses, 0, sizeof made->uses);
    made->callees = NULL;
    made->shared = NULL;
    made->n_callees = made->n_shared = made->visited = 0;
    made->collected = made->listed = made->is_recursive = false;
    made->next = made->machine = NULL;
    made->result_space = SPACE_UNSET;
    copier c = {p, NULL, NULL};
    c.params = made->params = kernel_arena_get(p->arena, f->n_params * sizeof *made->params);
    c.locals = kernel_arena_get(p->arena, f->n_locals * sizeof *c.locals);
    for (uint32_t i = 0; i < f->n_params; i++)
        made->params[i] = copy_one(p, f->params[i]);
    made->locals = NULL;
    kernel_var **end = &made->locals;
    for (const kernel_var *v = f->locals; v; v = v->next) {
        c.locals[v->index] = *end = copy_one(p, v);
        end = &(*end)->next;
    }
    made->body = copy_list(&c, f->body);
    return made;
}

static const char *clone_name(parser *p, const kernel_function *f, const uint8_t *signature)
{
    char letters[PARAMS_MOST + 1];
    size_t n = 0;
    bool plain = true;
    for (uint32_t i = 0; i < f->n_params; i++)
        if (signature[i] != SPACE_UNSET) {
            letters[n++] = "?gcslx"[signature[i]];
            plain = plain && signature[i] == SPACE_GLOBAL;
        }
    letters[n] = 0;
    return plain ? f->name : name_unique(p, parser_format(p, "%s__%s", f->name, letters), true);
}

/* The function for a signature; NULL if it cannot be used. */
static kernel_function *clone_get(space_state *s, kernel_instance *i, const uint8_t *signature)
{
    parser *p = s->p;
    kernel_function *base = i->function;
    const uint32_t n = base->n_params;
    if (base->failed || !i->parsed)
        return base;
    for (kernel_clone *c = i->clones; c; c = c->next)
        if (!memcmp(c->signature, signature, n)) {
            if (c->open) {
                c->f->is_recursive = true;
                if (!c->f->uses[FEATURE_RECURSION].place)
                    c->f->uses[FEATURE_RECURSION] = (kernel_use){c->f->place, c->f};
            }
            return c->f;
        }
    if (s->depth >= CALLS_MOST || ++p->n_instances > INSTANCES_MOST) {
        parser_error(p, base->place, "calls are nested too deeply: more than %d functions",
                     CALLS_MOST);
        base->failed = true;
        return base;
    }
    kernel_clone *c = kernel_arena_new(p->arena, sizeof *c);
    c->f = i->clones ? copy_function(p, i->pristine) : base;
    if (!i->clones) {
        i->base_name = base->name;
        i->pristine = base;
    }
    c->signature = kernel_arena_get(p->arena, n + 1);
    memcpy(c->signature, signature, n);
    c->next = i->clones;
    i->clones = c;
    c->f->name = i->base_name;
    c->f->name = clone_name(p, c->f, signature);
    c->open = true;
    infer(p, c->f, signature, s->depth + 1);
    c->open = false;
    return c->f;
}

/* ---- expressions ------------------------------------------------------------------------------ */

static uint8_t visit(space_state *s, kernel_expr *e);

static uint8_t visit_call(space_state *s, kernel_expr *e)
{
    kernel_instance *i = e->as.function->instance;
    uint8_t signature[PARAMS_MOST] = {0};
    bool known = true;
    for (uint32_t k = 0; k < e->n_args; k++) {
        uint8_t space = visit(s, e->args[k]);
        if (!type_is_pointer(e->args[k]->type))
            continue;
        if (space == SPACE_UNSET && s->final)
            space = SPACE_GLOBAL;
        signature[k] = space;
        known = known && space != SPACE_UNSET;
    }
    if (!s->final && (!known || !type_is_pointer(e->type)))
        return SPACE_UNSET;
    kernel_function *f = clone_get(s, i, signature);
    if (s->final)
        e->as.function = f;
    return type_is_pointer(e->type) ? f->result_space : SPACE_UNSET;
}

static uint8_t visit_list(space_state *s, kernel_expr *e)
{
    uint8_t space = SPACE_UNSET;
    for (uint32_t i = 0; i < e->n_args; i++) {
        const uint8_t part = visit(s, e->args[i]);
        const kernel_type *type = e->args[i]->type;
        if (e->type->kind == TYPE_ARRAY)
            space = meet(space, part);
        else if (s->final && type_is_pointer(type) && part != SPACE_GLOBAL && part != SPACE_UNSET)
            conflict(s, e->args[i]->place, 0, part, SPACE_GLOBAL, "a member");
    }
    return space;
}

static uint8_t load_space(const kernel_expr *place)
{
    const kernel_var *v = holder(place);
    return v ? v->space : SPACE_GLOBAL;
}

static uint8_t builtin_space(const kernel_expr *e)
{
    if (e->builtin == BUILTIN_MEMCPY || e->builtin == BUILTIN_MEMSET)
        return e->args[0]->space;
    if (e->builtin == BUILTIN_SHARED_POINTER)
        return SPACE_SHARED;
    return type_is_pointer(e->type) ? SPACE_GLOBAL : SPACE_UNSET;
}

static uint8_t space_of(space_state *s, kernel_expr *e)
{
    const bool pointer = type_is_pointer(e->type);
    uint8_t a = SPACE_UNSET, b = SPACE_UNSET, c = SPACE_UNSET;
    if (e->kind == EXPR_CALL)
        return visit_call(s, e);
    if (e->kind == EXPR_LIST)
        return visit_list(s, e);
    if (e->a)
        a = visit(s, e->a);
    if (e->b)
        b = visit(s, e->b);
    if (e->kind != EXPR_VAR && e->c)
        c = visit(s, e->c);
    for (uint32_t i = 0; i < e->n_args; i++)
        visit(s, e->args[i]);
    switch (e->kind) {
    case EXPR_VAR: return storage_space(e->as.var);
    case EXPR_DEREF:
    case EXPR_ADDRESS:
    case EXPR_DECAY: return a;
    case EXPR_MEMBER: return expr_is_place(e) ? a : pointer ? SPACE_GLOBAL : SPACE_UNSET;
    case EXPR_STRING: return SPACE_CONSTANT;
    case EXPR_LOAD: return pointer ? load_space(e->a) : SPACE_UNSET;
    case EXPR_CAST: return !pointer ? SPACE_UNSET : type_is_pointer(e->a->type) ? a : SPACE_GLOBAL;
    case EXPR_BINARY: return pointer ? a : SPACE_UNSET;
    case EXPR_CHOOSE:
        if (pointer && s->final && meet(b, c) == SPACE_GENERIC && b != SPACE_GENERIC &&
            c != SPACE_GENERIC)
            conflict(s, e->place, 0, b, c, "'?:'");
        return pointer ? meet(b, c) : SPACE_UNSET;
    case EXPR_COMMA: return pointer ? b : SPACE_UNSET;
    case EXPR_ASSIGN:
        if (pointer)
            store(s, e->a, b, e->place);
        return pointer ? b : SPACE_UNSET;
    case EXPR_UPDATE: return pointer ? load_space(e->a) : SPACE_UNSET;
    case EXPR_BUILTIN: return builtin_space(e);
    default: return SPACE_UNSET;
    }
}

static uint8_t visit(space_state *s, kernel_expr *e)
{
    e->space = space_of(s, e);
    if (s->final && e->space == SPACE_UNSET && (type_is_pointer(e->type) || expr_is_place(e)))
        e->space = SPACE_GLOBAL;
    return e->space;
}

/* ---- statements ------------------------------------------------------------------------------- */

static void visit_list_of(space_state *s, kernel_stmt *list)
{
    for (kernel_stmt *t = list; t; t = t->next) {
        const uint8_t space = t->value ? visit(s, t->value) : SPACE_UNSET;
        if (t->kind == STMT_DECLARE && t->value && holds_pointers(t->var->type))
            join_var(s, t->var, space, t->place);
        if (t->kind == STMT_RETURN && t->value && type_is_pointer(t->value->type))
            join(s, &s->f->result_space, &s->result_place, space, t->place, "the result");
        visit_list_of(s, t->body);
        if (t->step)
            visit(s, t->step);
        visit_list_of(s, t->otherwise);
    }
}

static void infer(parser *p, kernel_function *f, const uint8_t *signature, int depth)
{
    space_state s = {.p = p, .f = f, .depth = depth};
    s.param_places = kernel_arena_new(p->arena, f->n_params * sizeof(kernel_place));
    s.local_places = kernel_arena_new(p->arena, f->n_locals * sizeof(kernel_place));
    for (uint32_t i = 0; i < f->n_params; i++)
        if (holds_pointers(f->params[i]->type)) {
            f->params[i]->space = signature[i];
            s.param_places[i] = f->params[i]->place;
        }
    do {
        s.changed = false;
        visit_list_of(&s, f->body);
    } while (s.changed);
    for (kernel_var *v = f->locals; v; v = v->next)
        if (v->space == SPACE_UNSET && holds_pointers(v->type))
            v->space = SPACE_GLOBAL;
    if (f->result_space == SPACE_UNSET && type_is_pointer(f->result))
        f->result_space = SPACE_GLOBAL;
    s.final = true;
    visit_list_of(&s, f->body);
}

void space_infer(parser *p, kernel_function *kernel)
{
    uint8_t signature[PARAMS_MOST] = {0};
    for (uint32_t i = 0; i < kernel->n_params; i++)
        if (holds_pointers(kernel->params[i]->type))
            signature[i] = SPACE_GLOBAL;
    infer(p, kernel, signature, 0);
}
