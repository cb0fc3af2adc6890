/* Copies, assignments and the end of objects, by C++'s rules: copy and move constructors, operator=, destructors,
 * and those that C++ adds to structs whose members or bases have them. Objects of other types are copied as bytes.
 *
 * A value of a struct that is not in memory yet belongs to the object that it initializes. So moving it there runs
 * no constructor, and no destructor for its temporary. A parameter belongs to the called function, which destroys
 * it. Every other temporary is destroyed at the end of its full expression. */
#include "compiler/parse/parser.h"

typedef enum need { NEED_COPY, NEED_ASSIGN, NEED_DESTROY } need;

static const kernel_type *element_of(const kernel_type *t)
{
    while (t->kind == TYPE_ARRAY)
        t = t->of;
    return t->plain;
}

static function_decl *own_functions(parser *p, const kernel_type *type, const char *name)
{
    const scope *in = type_members(p, type, p->t->place);
    const symbol *y = in ? symbol_here(in, name_of(p, name)) : NULL;
    return y && y->kind == SYMBOL_FUNCTION ? y->as.functions : NULL;
}

/* True if f is operator= of the struct for another object of the same struct. */
static bool is_assignment_of(const function_decl *f, const kernel_type *type)
{
    if (f->used || f->n_params || !f->is_method || f->n_parameters != 2)
        return false;
    const kernel_type *t = f->parameters[1].type;
    return (t->kind == TYPE_REFERENCE ? t->of->plain : t->plain) == type;
}

static bool has_own(parser *p, const kernel_type *type, need what)
{
    const kernel_syntax *x = type->record->syntax;
    if (!x || !x->members)
        return false;
    if (what == NEED_COPY)
        return x->has_copy || x->hides_copy;
    if (what == NEED_DESTROY)
        return own_functions(p, type, "destructor") != NULL || x->hides_destructor;
    for (const function_decl *f = own_functions(p, type, "operator="); f; f = f->next)
        if (is_assignment_of(f, type))
            return true;
    return false;
}

/* True if the operation is more than copying bytes, for type or for a part of it. */
static bool needs(parser *p, const kernel_type *type, need what)
{
    type = element_of(type);
    if (type->kind != TYPE_STRUCT)
        return false;
    type_complete(p, type, p->t->place);
    const kernel_struct *s = type->record;
    if (s->n_vector || s->fragment)
        return false;
    if (has_own(p, type, what))
        return true;
    if (what == NEED_DESTROY ? has_virtual_end(type) : has_vptr(p, type))
        return true;
    for (uint32_t i = 0; i < s->n_members && !s->is_union; i++)
        if (needs(p, s->members[i].type, what))
            return true;
    for (const empty_base *b = s->syntax ? s->syntax->empty_bases : NULL; b; b = b->next)
        if (needs(p, b->type, what))
            return true;
    return false;
}

bool object_copies(parser *p, const kernel_type *type) { return needs(p, type, NEED_COPY); }
bool object_ends(parser *p, const kernel_type *type) { return needs(p, type, NEED_DESTROY); }

/* ---- the functions that C++ adds --------------------------------------------------------------- */

/* The function of a struct for a role, made when it is first needed. Its body is empty: object_statements adds
 * what it does. */
static function_decl *implicit_function(parser *p, const kernel_type *type, function_role role)
{
    static const char *const names[] = {
        [ROLE_COPY] = "copy", [ROLE_ASSIGN] = "assign", [ROLE_END] = "end"};
    kernel_syntax *x = type->record->syntax;
    const kernel_place place = type->record->place;
    for (function_decl *f = x->implicit; f; f = f->next_kernel)
        if (f->role == role)
            return f;
    const parameter other = {
        .name = name_of(p, "other"),
        .place = place,
        .type = type_reference(p->types, type_qualify(p->types, type, TYPE_CONST))};
    const uint32_t n = role == ROLE_END ? 0 : 1;
    function_decl made = {.name = name_of(p, names[role]),
                          .scope = x->members,
                          .place = place,
                          .flags = IS_DEVICE | IS_CONSTEXPR,
                          .result = role == ROLE_ASSIGN ? type_reference(p->types, type)
                                                        : type_word_of(p, WORD_VOID),
                          .is_method = true,
                          .role = (uint8_t)role,
                          .parameters = method_parameters(p, place, type, 0, &other, n),
                          .n_parameters = n + 1,
                          .next_kernel = x->implicit};
    made.body = empty_body(p, place);
    x->implicit = kernel_arena_copy(p->arena, &made, sizeof made);
    return x->implicit;
}

function_decl *implicit_end(parser *p, const kernel_type *type)
{
    return implicit_function(p, type, ROLE_END);
}

/* Calls a function template of the library on all elements of an array. */
static kernel_expr *for_elements(parser *p, const char *name, kernel_expr *to, kernel_expr *from)
{
    const kernel_place place = to->place;
    const kernel_type *type = element_of(to->type);
    kernel_expr *args[3];
    uint32_t n = 0;
    kernel_expr *const arrays[2] = {to, from};
    for (int i = 0; i < 2; i++)
        if (arrays[i])
            args[n++] = expr_cast(p, expr_value(p, arrays[i]), type_pointer(p->types, type), place);
    args[n++] = expr_integer(p, place, type_word_of(p, WORD_ULONG), to->type->size / type->size);
    const symbol *y = symbol_here(p->root, name_of(p, name));
    return call_functions(p, y->as.functions, place, NULL, 0, args, n, false);
}

/* Constructs the object `to` as a copy of the place `from`. */
static kernel_expr *copy_to(parser *p, kernel_expr *to, kernel_expr *from)
{
    if (to->type->kind == TYPE_ARRAY)
        return for_elements(p, "ig_copy_all", to, from);
    const kernel_type *type = to->type->plain;
    const kernel_syntax *x = type->record->syntax;
    if (x && x->hides_copy && !x->has_copy)
        parser_fail_do(p, from->place, "declare it __host__ __device__",
                       "the copy constructor of '%s' is a host function, and this is device code",
                       type_name(p, type));
    function_decl *f = x && x->has_copy ? own_functions(p, type, "constructor")
                                        : implicit_function(p, type, ROLE_COPY);
    return call_method(p, to, f, from->place, &from, 1);
}

kernel_expr *object_copy_to(parser *p, kernel_expr *to, kernel_expr *from)
{
    if (object_copies(p, to->type))
        return copy_to(p, to, from);
    return expr_node(p, EXPR_ASSIGN, from->place, to->type->plain, to, expr_value(p, from));
}

kernel_expr *object_value(parser *p, kernel_expr *e)
{
    if (e->type->kind != TYPE_STRUCT || !object_copies(p, e->type))
        return expr_value(p, e);
    e = expr_chosen_place(p, e);
    const bool comma = e->kind == EXPR_COMMA && e->b->kind == EXPR_LOAD &&
                       !(e->b->a->kind == EXPR_VAR && e->b->a->as.var->is_temporary);
    if (comma) /* of the source: (x, y) is y itself */
        return expr_comma(p, e->a, object_value(p, e->b->a));
    if (!expr_is_place(e))
        return e;
    kernel_var *v = temporary_new(p, e->type, e->place);
    kernel_expr *made = copy_to(p, expr_var(p, e->place, v), e);
    return expr_comma(p, made, expr_value(p, expr_var(p, e->place, v)));
}

kernel_expr *object_assign(parser *p, kernel_place place, kernel_expr *to, kernel_expr *value)
{
    const kernel_type *type = to->type->plain;
    function_decl *own = own_functions(p, type, "operator=");
    if (own) {
        kernel_expr *all[2] = {to, value};
        bool assigns = false;
        for (const function_decl *f = own; f; f = f->next)
            assigns |= is_assignment_of(f, type) || f->used;
        if (assigns || value->type->plain != type)
            return call_method(p, to, own, place, &value, 1);
        kernel_expr *e = call_functions(p, own, place, NULL, 0, all, 2, true);
        if (e)
            return e;
    }
    if (!needs(p, type, NEED_ASSIGN) && !object_ends(p, type))
        return NULL;
    return call_method(p, to, implicit_function(p, type, ROLE_ASSIGN), place, &value, 1);
}

/* Destroys an object whose class is known. */
static kernel_expr *end_itself(parser *p, kernel_expr *object)
{
    const kernel_type *type = object->type->plain;
    return call_method(p, object, implicit_end(p, type), object->place, NULL, 0);
}

kernel_expr *object_end(parser *p, kernel_expr *object)
{
    if (!object_ends(p, object->type))
        return NULL;
    if (object->type->kind == TYPE_ARRAY)
        return for_elements(p, "ig_end_all", object, NULL);
    const kernel_type *type = object->type->plain;
    if (type->record->syntax->hides_destructor)
        parser_fail_do(p, object->place, "declare it __host__ __device__",
                       "the destructor of '%s' is a host function, and this is device code",
                       type_name(p, type));
    kernel_expr *end = virtual_end(p, object);
    return end ? end : end_itself(p, object);
}

/* ---- bodies ----------------------------------------------------------------------------------- */

static void add(parser *p, stmt_list *out, kernel_place place, kernel_expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_DEREF && e->a->kind == EXPR_CALL)
        e = e->a; /* a returned reference is not read */
    stmt_add(p, out, STMT_EXPR, place)->value = e;
}

static kernel_expr *object_named(parser *p, const char *name, kernel_place place)
{
    return expr_deref(p, place, expr_var(p, place, symbol_find(p, name_of(p, name))->as.var));
}

static kernel_expr *part_of(parser *p, kernel_expr *object, const kernel_member *m)
{
    kernel_expr *e = expr_new(p, EXPR_MEMBER, object->place,
                              type_qualify(p->types, m->type, object->type->quals));
    e->a = object;
    e->as.member = m;
    return e;
}

static void assign_part(parser *p, stmt_list *out, kernel_expr *to, kernel_expr *from)
{
    if (to->type->kind == TYPE_ARRAY)
        add(p, out, to->place, for_elements(p, "ig_assign_all", to, from));
    else
        add(p, out, to->place, expr_assign(p, to->place, to, from));
}

void object_statements(parser *p, stmt_list *out)
{
    const kernel_place place = p->t->place;
    const function_role role = (function_role)p->current->decl->role;
    if (is_dispatcher(p->current->decl)) {
        dispatch_statements(p, out);
        return;
    }
    kernel_expr *self = object_named(p, "this", place);
    const kernel_type *type = self->type->plain;
    const kernel_struct *s = type->record;
    if (role == ROLE_END) {
        vptrs_set(p, out, self); /* virtual calls of the destructor are those of its own class */
        function_decl *own = own_functions(p, type, "destructor");
        if (own)
            add(p, out, place, call_method(p, self, own, place, NULL, 0));
        for (uint32_t i = s->is_union ? 0 : s->n_members; i-- > 0;) {
            kernel_expr *part = part_of(p, self, &s->members[i]);
            const bool base = !s->members[i].name && object_ends(p, part->type);
            add(p, out, place, base ? end_itself(p, part) : object_end(p, part));
        }
        return;
    }
    kernel_expr *other = object_named(p, "other", place);
    const bool whole =
        role == ROLE_COPY || s->is_union; /* then the parts that are more than bytes */
    if (whole)
        add(p, out, place, expr_node(p, EXPR_ASSIGN, place, type, self, expr_value(p, other)));
    for (uint32_t i = 0; i < s->n_members && !s->is_union; i++) {
        if (s->members[i].name == name_of(p, "ig_vptr"))
            continue;
        kernel_expr *to = part_of(p, self, &s->members[i]),
                    *from = part_of(p, other, &s->members[i]);
        if (role == ROLE_ASSIGN)
            assign_part(p, out, writable(p, to), from);
        else if (object_copies(p, to->type))
            add(p, out, place, copy_to(p, writable(p, to), from));
    }
    if (role == ROLE_COPY) /* after the bases, which set theirs */
        vptrs_set(p, out, self);
    if (role == ROLE_ASSIGN)
        stmt_add(p, out, STMT_RETURN, place)->value = expr_address(p, place, self);
}

/* ---- lifetimes -------------------------------------------------------------------------------- */

void lifetime_add(parser *p, scope *s, kernel_var *v)
{
    if (!object_ends(p, v->type))
        return;
    const lifetime made = {v, NULL, s->lifetimes};
    s->lifetimes = kernel_arena_copy(p->arena, &made, sizeof made);
}

static kernel_expr *set_flag(parser *p, kernel_var *flag, bool value)
{
    kernel_expr *to = expr_var(p, flag->place, flag);
    return expr_node(p, EXPR_ASSIGN, flag->place, flag->type, to,
                     expr_integer(p, flag->place, flag->type, value));
}

static kernel_expr *to_void(parser *p, kernel_expr *e)
{
    return expr_node(p, EXPR_CAST, e->place, type_word_of(p, WORD_VOID), e, NULL);
}

static kernel_expr *end_all(parser *p, const lifetime *l, const kernel_var *except)
{
    kernel_expr *all = NULL;
    for (; l; l = l->next) {
        if (l->var == except)
            continue;
        kernel_expr *end = object_end(p, writable(p, expr_var(p, l->var->place, l->var)));
        if (l->flag) {
            kernel_expr *made = expr_value(p, expr_var(p, end->place, l->flag));
            kernel_expr *maybe = expr_node(p, EXPR_CHOOSE, end->place, end->type, made, end);
            maybe->c = to_void(p, expr_integer(p, end->place, l->flag->type, 0));
            end = maybe;
        }
        all = expr_comma(p, all, end);
    }
    return all;
}

void lifetime_end(parser *p, const scope *s, stmt_list *out)
{
    add(p, out, p->t->place, end_all(p, s->lifetimes, NULL));
}

bool lifetime_any(const scope *from, const scope *to)
{
    for (; from && from != to; from = from->parent)
        if (from->lifetimes)
            return true;
    return false;
}

void lifetime_leave(parser *p, const scope *to, const kernel_var *except, stmt_list *out)
{
    for (const scope *s = p->scope; s && s != to; s = s->parent)
        add(p, out, p->t->place, end_all(p, s->lifetimes, except));
}

kernel_expr *temporary_keep(parser *p, kernel_var *v, kernel_expr *before)
{
    if (!object_ends(p, v->type))
        return before;
    lifetime made = {v, NULL, p->temporaries};
    if (p->conditional) {
        made.flag = temporary_new(p, type_word_of(p, WORD_BOOL), v->place);
        before = expr_comma(p, before, to_void(p, set_flag(p, made.flag, true)));
    }
    p->temporaries = kernel_arena_copy(p->arena, &made, sizeof made);
    return before;
}

kernel_expr *temporary_finish(parser *p, kernel_expr *e)
{
    if (!p->temporaries)
        return e;
    kernel_expr *ends = end_all(p, p->temporaries, NULL);
    for (const lifetime *l = p->temporaries; l; l = l->next)
        if (l->flag)
            e = expr_comma(p, set_flag(p, l->flag, false), e);
    p->temporaries = NULL;
    if (e->type->kind == TYPE_VOID)
        return expr_comma(p, e, ends);
    kernel_expr *before = NULL, *value = expr_once(p, expr_value(p, e), &before);
    if (!before) /* a constant or a variable */
        return expr_comma(p, ends, value);
    return expr_comma(p, expr_comma(p, before, ends), value);
}

kernel_expr *object_discard(parser *p, kernel_expr *e)
{
    if (e->type->kind != TYPE_STRUCT || expr_is_place(e) || !object_ends(p, e->type))
        return e;
    kernel_expr *before = NULL, *v = expr_once(p, e, &before);
    before = temporary_keep(p, v->a->as.var, before);
    return expr_comma(p, before, v);
}
