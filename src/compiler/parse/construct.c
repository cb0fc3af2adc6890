/* Construction of objects by C++'s rules: constructors, the constructors that C++ adds to structs without one,
 * default values of members, and the initializer lists of constructors. Every object of class type, whether it
 * is a variable, a member, a base, an element or a temporary, is initialized by the functions of this file. */
#include "compiler/parse/parser.h"

function_decl *constructors_of(parser *p, const kernel_type *type)
{
    const scope *in = type_members(p, type, p->t->place);
    const symbol *y = in ? symbol_here(in, name_of(p, "constructor")) : NULL;
    return y && y->kind == SYMBOL_FUNCTION ? y->as.functions : NULL;
}

static const kernel_type *element_of(const kernel_type *t)
{
    while (t->kind == TYPE_ARRAY)
        t = t->of;
    return t->plain;
}

/* True if C++ adds a constructor without parameters: constructors of bases do not count. */
static bool is_implicit(parser *p, const kernel_type *type)
{
    const kernel_syntax *x = type->record->syntax;
    if (!x || x->has_default)
        return true;
    for (const function_decl *f = constructors_of(p, type); f; f = f->next)
        if (!f->used)
            return false;
    return !x->has_hidden;
}

bool init_needed(parser *p, const kernel_type *type)
{
    type = element_of(type);
    if (type->kind != TYPE_STRUCT)
        return false;
    type_complete(p, type, p->t->place);
    const kernel_struct *s = type->record;
    if (type == p->types->dim3 || !is_implicit(p, type) || has_vptr(p, type))
        return true;
    if (s->syntax && s->syntax->values)
        return true;
    for (uint32_t i = 0; i < s->n_members && !s->is_union; i++)
        if (init_needed(p, s->members[i].type))
            return true;
    for (const empty_base *b = s->syntax ? s->syntax->empty_bases : NULL; b; b = b->next)
        if (init_needed(p, b->type))
            return true;
    return false;
}

static bool has_empty_body(const function_decl *f)
{
    return f->is_method && f->n_parameters == 1 && f->body && f->body->kind == TOKEN_LBRACE &&
           f->body[1].kind == TOKEN_RBRACE;
}

bool init_is_empty(parser *p, const kernel_type *type)
{
    type = element_of(type);
    if (!init_needed(p, type))
        return true;
    const kernel_struct *s = type->record;
    bool empty = type != p->types->dim3 && is_implicit(p, type);
    for (const function_decl *f = constructors_of(p, type); f && !empty; f = f->next)
        empty = !f->used && has_empty_body(f);
    if (!empty || s->syntax->values || has_vptr(p, type))
        return false;
    for (uint32_t i = 0; i < s->n_members; i++)
        if (!init_is_empty(p, s->members[i].type))
            return false;
    for (const empty_base *b = s->syntax->empty_bases; b; b = b->next)
        if (!init_is_empty(p, b->type))
            return false;
    return true;
}

kernel_token *empty_body(parser *p, kernel_place place)
{
    kernel_token *body = kernel_arena_new(p->arena, 3 * sizeof *body);
    body[0] = (kernel_token){.kind = TOKEN_LBRACE, .place = place};
    body[1] = (kernel_token){.kind = TOKEN_RBRACE, .place = place};
    body[2] = (kernel_token){.kind = TOKEN_END, .place = place};
    return body;
}

/* The constructor that C++ adds: one with an empty body. except: a base that another constructor has
 * initialized, or NULL. */
static function_decl *implicit_constructor(parser *p, const kernel_type *type,
                                           const kernel_type *except)
{
    kernel_syntax *x = type->record->syntax;
    const kernel_place place = type->record->place;
    for (function_decl *f = x->implicit; f; f = f->next_kernel)
        if (!f->role && f->except == except)
            return f;
    function_decl *f = kernel_arena_new(p->arena, sizeof *f);
    *f = (function_decl){.name = name_of(p, "constructor"),
                         .scope = x->members,
                         .place = place,
                         .flags = IS_DEVICE | IS_CONSTEXPR,
                         .result = type_word_of(p, WORD_VOID),
                         .body = empty_body(p, place),
                         .is_method = true,
                         .except = except,
                         .parameters = method_parameters(p, place, type, 0, NULL, 0),
                         .n_parameters = 1,
                         .next_kernel = x->implicit};
    x->implicit = f;
    return f;
}

/* ---- objects ---------------------------------------------------------------------------------- */

kernel_expr *writable(parser *p, kernel_expr *to)
{
    if (to->type == to->type->plain)
        return to;
    kernel_expr *e = kernel_arena_copy(p->arena, to, sizeof *e);
    e->type = to->type->plain;
    return e;
}

static kernel_expr *assign(parser *p, kernel_expr *to, kernel_expr *value)
{
    if (to->kind == EXPR_VAR)
        to->as.var->assigned = true;
    return expr_node(p, EXPR_ASSIGN, value->place, value->type, to, value);
}

/* Calls a constructor for an object. */
static kernel_expr *construct_at(parser *p, kernel_expr *to, kernel_place place, kernel_expr **args,
                                 uint32_t n)
{
    const kernel_type *type = to->type->plain;
    function_decl *functions = constructors_of(p, type);
    if (!n && is_implicit(p, type)) {
        kernel_expr *zeros = assign(p, to, expr_list(p, place, type, 0));
        return expr_comma(p, zeros,
                          call_method(p, to, implicit_constructor(p, type, NULL), place, NULL, 0));
    }
    if (!functions)
        parser_fail_do(p, place, "write a __device__ constructor that is not a template",
                       "the constructors of '%s' are not supported", type_name(p, type));
    kernel_expr *e = call_method(p, to, functions, place, args, n);
    for (const function_decl *f = functions; f; f = f->next) {
        if (!f->used || e->kind != EXPR_CALL || e->as.function->instance->decl != f->used)
            continue;
        /* A base's constructor: the other members have their default values. */
        const kernel_type *base = f->used->parameters[0].type->of->plain;
        function_decl *others = implicit_constructor(p, type, base);
        return expr_comma(p, e, call_method(p, to, others, place, NULL, 0));
    }
    return e;
}

bool converts(parser *p, const kernel_expr *e, const kernel_type *to)
{
    if (p->converting || to->kind != TYPE_STRUCT || to->record->n_vector || to->record->fragment ||
        e->type->plain == to || !p->current)
        return false;
    bool any = false, templates = false;
    p->converting = true;
    for (const function_decl *f = constructors_of(p, to); f && !any; f = f->next) {
        templates |= !f->used && f->n_params;
        any = !f->used && !f->n_params && !(f->flags & IS_EXPLICIT) && f->n_parameters > 1 &&
              (f->n_parameters == 2 || f->parameters[2].init) &&
              expr_rank(p, e, f->parameters[1].type) >= 0;
    }
    if (templates && !any) {
        kernel_expr *args[2] = {type_dummy(p, type_reference(p->types, to)), (kernel_expr *)e};
        const kernel_instance *i =
            call_choose(p, constructors_of(p, to), e->place, NULL, 0, args, 2, true);
        any = i && !(i->decl->flags & IS_EXPLICIT);
    }
    p->converting = false;
    return any;
}

kernel_expr *construct(parser *p, const kernel_type *type, kernel_place place, kernel_expr **args,
                       uint32_t n)
{
    type = type->plain;
    if (type->kind != TYPE_STRUCT)
        return NULL;
    type_complete(p, type, place);
    if (type == p->types->dim3 && !n) { /* dim3 has a default constructor, which sets ones */
        kernel_expr *ones = expr_list(p, place, type, 3);
        for (int i = 0; i < 3; i++)
            ones->args[i] = expr_integer(p, place, type_word_of(p, WORD_UINT), 1);
        return ones;
    }
    if (n == 1 && args[0]->type->plain == type)
        return object_value(p, args[0]);
    const bool hidden = type->record->syntax && type->record->syntax->has_hidden;
    if (n ? !constructors_of(p, type) && !hidden : !init_needed(p, type))
        return NULL;
    kernel_var *v = temporary_new(p, type, place);
    kernel_expr *made = construct_at(p, expr_var(p, place, v), place, args, n);
    return expr_comma(p, made, expr_value(p, expr_var(p, place, v)));
}

kernel_expr *init_value(parser *p, const kernel_type *type, kernel_place place)
{
    if (type->kind == TYPE_STRUCT) {
        kernel_expr *made = construct(p, type, place, NULL, 0);
        return made ? made : expr_list(p, place, type->plain, 0);
    }
    if (type->kind != TYPE_ARRAY)
        return expr_zero(p, place, type->plain);
    const uint32_t n = init_needed(p, type) ? (uint32_t)type->count : 0;
    kernel_expr *list = expr_list(p, place, type, n);
    for (uint32_t i = 0; i < n; i++)
        list->args[i] = init_value(p, type->of, place);
    return list;
}

kernel_expr *init_default(parser *p, kernel_expr *to, kernel_place place)
{
    const kernel_type *type = element_of(to->type);
    to = writable(p, to);
    if (!init_needed(p, type))
        return NULL;
    if (to->type->kind != TYPE_ARRAY)
        return type == p->types->dim3 ? assign(p, to, init_value(p, type, place))
                                      : construct_at(p, to, place, NULL, 0);
    kernel_expr *args[2] = {
        expr_cast(p, expr_value(p, to), type_pointer(p->types, type), place),
        expr_integer(p, place, type_word_of(p, WORD_ULONG), to->type->size / type->size)};
    const symbol *y = symbol_here(p->root, name_of(p, "ig_construct"));
    return call_functions(p, y->as.functions, place, NULL, 0, args, 2, false);
}

/* True if t has pointers, which may hold the object's own address. */
static bool holds_pointers(const kernel_type *t)
{
    t = element_of(t);
    if (t->kind == TYPE_STRUCT)
        for (uint32_t i = 0; i < t->record->n_members; i++)
            if (holds_pointers(t->record->members[i].type))
                return true;
    return type_is_pointer(t);
}

/* Replaces the temporary v by the place `to`. */
static void replace(kernel_expr *e, const kernel_var *v, kernel_expr *to)
{
    kernel_expr **parts[] = {&e->a, &e->b, &e->c};
    for (int i = 0; i < 3 && e->kind != EXPR_VAR; i++)
        if (*parts[i] && (*parts[i])->kind == EXPR_VAR && (*parts[i])->as.var == v)
            *parts[i] = to;
        else if (*parts[i])
            replace(*parts[i], v, to);
    for (uint32_t i = 0; i < e->n_args; i++)
        replace(e->args[i], v, to);
}

static kernel_expr *set_array(parser *p, kernel_expr *to, const kernel_expr *list)
{
    const kernel_place place = list->place;
    kernel_expr *all = NULL;
    if (list->n_args < to->type->count) {
        const kernel_type *any = type_pointer(p->types, type_word_of(p, WORD_VOID));
        kernel_expr *args[3] = {
            expr_cast(p, expr_value(p, to), any, place),
            expr_integer(p, place, type_word_of(p, WORD_INT), 0),
            expr_integer(p, place, type_word_of(p, WORD_ULONG), to->type->size)};
        all = expr_builtin(p, place, BUILTIN_MEMSET, any, 3, args);
    }
    for (uint32_t i = 0; i < list->n_args; i++) {
        kernel_expr *at = expr_index(
            p, place, to, expr_integer(p, place, type_word_of(p, WORD_INT), (uint64_t)i));
        all = expr_comma(p, all, init_set(p, at, list->args[i]));
    }
    return all;
}

bool init_keeps_address(const kernel_expr *value, const kernel_type *type)
{
    return type->kind == TYPE_STRUCT && value->kind == EXPR_COMMA && value->b->kind == EXPR_LOAD &&
           value->b->a->kind == EXPR_VAR && value->b->a->as.var->is_temporary &&
           holds_pointers(type);
}

kernel_expr *init_set(parser *p, kernel_expr *to, kernel_expr *value)
{
    to = writable(p, to);
    const kernel_type *type = to->type;
    if (type->kind == TYPE_ARRAY && value->kind == EXPR_LIST)
        return set_array(p, to, value);
    if (type->kind == TYPE_ARRAY)
        parser_fail_do(p, value->place, "write {...}", "an array is not made from a value");
    value = expr_convert(p, value, type, "a member");
    /* The object itself is constructed, not a temporary, where its constructor may keep its address. */
    if (init_keeps_address(value, type)) {
        if (to->kind == EXPR_VAR)
            to->as.var->addressed = to->as.var->assigned = true;
        replace(value, value->b->a->as.var, to);
        return value->a;
    }
    return assign(p, to, value);
}

/* ---- constructors ----------------------------------------------------------------------------- */

/* An entry of an initializer list: ": a(1)". */
typedef struct entry {
    kernel_expr *to;
    const kernel_member *top; /* the member or base that contains it; NULL: the whole object */
    const kernel_type *base;  /* a base without members */
    const kernel_token *at;   /* its value */
    struct entry *next;
} entry;

static kernel_expr *self_object(parser *p, kernel_place place)
{
    const symbol *self = symbol_find(p, name_of(p, "this"));
    return expr_deref(p, place, expr_var(p, place, self->as.var));
}

static kernel_expr *self_member(parser *p, const kernel_member *m, kernel_place place)
{
    kernel_expr *e = expr_new(p, EXPR_MEMBER, place, m->type);
    e->a = self_object(p, place);
    e->as.member = m;
    return e;
}

/* The member or base that an entry names. */
static entry parse_initialized(parser *p, const kernel_type *of)
{
    const kernel_place place = p->t->place;
    const kernel_member *path[8];
    const kernel_struct *s = of->record;
    if (p->t->keyword || !at_type(p) || type_member_find(s, p->t->as.name, path)) {
        const kernel_name *name = expect_name(p, "a member");
        kernel_expr *to = expr_member(p, place, self_object(p, place), name);
        const int n = type_member_find(s, name, path);
        if (n && path[n - 1]->is_reference)
            to = to->a->a; /* the pointer */
        return (entry){.to = to, .top = n ? path[0] : NULL};
    }
    specifiers spec;
    parse_specifiers(p, &spec);
    const kernel_type *type = spec.type->plain;
    if (type == of) /* a delegating constructor */
        return (entry){.to = self_object(p, place)};
    for (uint32_t i = 0; i < s->n_members; i++)
        if (!s->members[i].name && s->members[i].type->plain == type)
            return (entry){.to = self_member(p, &s->members[i], place), .top = &s->members[i]};
    if (!base_is_empty(of, type))
        parser_fail(p, place, "'%s' is not a base of this struct", type_name(p, type));
    return (entry){.to = expr_var(p, place, temporary_new(p, type, place)), .base = type};
}

/* The initializer list of a constructor, whose values are parsed later: C++ initializes members in the order
 * of their declarations. */
static entry *parse_entries(parser *p, const kernel_type *of)
{
    entry *first = NULL, **end = &first;
    if (!accept(p, TOKEN_COLON))
        return NULL;
    do {
        entry *e = kernel_arena_new(p->arena, sizeof *e);
        *e = parse_initialized(p, of);
        e->at = p->t;
        if (!opens_group(p->t))
            parser_fail(p, p->t->place, "expected '(' after a member, found %s",
                        token_text(p, p->t));
        p->t = skip_group(p->t);
        LIST_ADD(end, e, next);
    } while (accept(p, TOKEN_COMMA));
    return first;
}

static void add(parser *p, stmt_list *out, kernel_place place, kernel_expr *e)
{
    if (e)
        stmt_add(p, out, STMT_EXPR, place)->value = temporary_finish(p, e);
}

static void set_entry(parser *p, stmt_list *out, entry *e)
{
    const kernel_token *back = p->t;
    const kernel_type *type = e->to->type->plain;
    p->t = e->at;
    kernel_expr *value;
    if (e->to->kind == EXPR_MEMBER && e->to->as.member->is_reference) {
        p->t++;
        value = expr_bind(p, parse_assignment(p), type->of, "a member");
        add(p, out, e->at->place, assign(p, e->to, value));
        p->t = back;
        return;
    }
    if (p->t[1].kind == TOKEN_RPAREN)
        value = init_value(p, type, p->t->place);
    else
        value = parse_init(p, &type, "a member");
    add(p, out, e->at->place, init_set(p, e->to, value));
    p->t = back;
}

static void set_member(parser *p, stmt_list *out, const kernel_type *of, uint32_t i, entry *entries)
{
    const kernel_member *m = &of->record->members[i];
    const kernel_place place = p->t->place;
    entry *told = entries;
    while (told && told->top != m)
        told = told->next;
    if (!told || told->to->as.member != m) { /* also of a member of an anonymous struct */
        kernel_expr *to = self_member(p, m, place);
        kernel_expr *value = member_default(p, of, i, symbol_find(p, name_of(p, "this"))->as.var);
        const bool other_member = of->record->is_union && (told || !value);
        if (!other_member)
            add(p, out, place, value ? init_set(p, to, value) : init_default(p, to, place));
    }
    for (; told; told = told->next)
        if (told->top == m)
            set_entry(p, out, told);
}

void parse_member_values(parser *p, stmt_list *out)
{
    const kernel_place place = p->t->place;
    const kernel_type *of = self_object(p, place)->type->plain, *except = p->current->decl->except;
    entry *entries = parse_entries(p, of);
    if (entries && !entries->top && !entries->base) {
        set_entry(p, out, entries);
        return;
    }
    for (const empty_base *b = of->record->syntax->empty_bases; b; b = b->next) {
        entry *told = entries;
        while (told && told->base != b->type->plain)
            told = told->next;
        if (told)
            set_entry(p, out, told);
        else if (b->type->plain != except && init_needed(p, b->type))
            add(p, out, place,
                init_default(p, expr_var(p, place, temporary_new(p, b->type, place)), place));
    }
    const kernel_name *vptr = name_of(p, "ig_vptr");
    bool sets = has_vptr(p, of); /* after the bases */
    for (uint32_t i = 0; i < of->record->n_members; i++) {
        const kernel_member *m = &of->record->members[i];
        if (sets && m->name && m->name != vptr) {
            vptrs_set(p, out, self_object(p, place));
            sets = false;
        }
        if (m->name != vptr && (!except || m->name || m->type->plain != except))
            set_member(p, out, of, i, entries);
    }
    if (sets)
        vptrs_set(p, out, self_object(p, place));
}
