/* Declarations inside functions: variables, shared memory, references, static constants. */
#include "compiler/parse/parser.h"

kernel_var *local_new(parser *p, kernel_name *name, const kernel_type *type, kernel_place place)
{
    kernel_var *v = kernel_arena_new(p->arena, sizeof *v);
    kernel_function *f = p->current->function;
    v->name = name_unique(p, name->text, false);
    v->source_name = name;
    v->type = type;
    v->storage = STORE_LOCAL;
    v->place = place;
    v->index = f->n_locals++;
    LIST_ADD(p->locals_end, v, next);
    return v;
}

symbol *local_declare(parser *p, const declarator *d, kernel_var *v)
{
    const symbol *old = symbol_here(p->scope, d->name);
    if (old && old->kind != SYMBOL_TYPE) {
        parser_error(p, d->place, "'%s' is declared twice", d->name->text);
        parser_note(p, old->place, "first here");
    }
    symbol *y = symbol_add(p, p->scope, SYMBOL_VAR, d->name, d->place);
    y->as.var = v;
    return y;
}

void declare_shared(parser *p, const specifiers *s, const declarator *d)
{
    if (at(p, TOKEN_ASSIGN) || at(p, TOKEN_LBRACE) || at(p, TOKEN_LPAREN))
        parser_fail_do(p, p->t->place, "assign to it in one thread, then __syncthreads()",
                       "shared variable '%s' cannot be initialized", d->name->text);
    const bool open = d->type->kind == TYPE_ARRAY && !d->type->count;
    if (open && !(s->flags & IS_EXTERN))
        parser_fail_do(p, d->place, "write its size, or extern __shared__",
                       "shared array '%s' has no size", d->name->text);
    if (d->type->kind == TYPE_REFERENCE)
        parser_fail(p, d->place, "a reference cannot be shared");
    type_complete(p, d->type, d->place);
    if (!(s->flags & IS_EXTERN) && !init_is_empty(p, d->type))
        parser_fail_do(p, d->place, "give its constructor an empty body, and assign in one thread",
                       "shared variable '%s' has a constructor or default values", d->name->text);
    if (object_ends(p, d->type))
        parser_fail_do(p, d->place, "use a struct without a destructor",
                       "shared variable '%s' has a destructor", d->name->text);
    kernel_var *v = kernel_arena_new(p->arena, sizeof *v);
    v->name = name_unique(p, d->name->text, true);
    v->source_name = d->name;
    v->type = d->type;
    v->align = s->align > d->type->align ? s->align : d->type->align;
    v->storage = s->flags & IS_EXTERN ? STORE_DYNAMIC : STORE_SHARED;
    v->place = d->place;
    local_declare(p, d, v);
}

const kernel_type *auto_deduce(parser *p, const kernel_type *type, kernel_expr *e)
{
    if (type->kind == TYPE_REFERENCE && type->of->kind == TYPE_AUTO)
        return type_reference(p->types, type_qualify(p->types, e->type, type->of->quals));
    if (type->kind == TYPE_POINTER && type->of->kind == TYPE_AUTO) {
        const kernel_type *t = expr_value(p, e)->type;
        if (!type_is_pointer(t))
            parser_fail(p, e->place, "'auto *' is made from a pointer, not '%s'", type_name(p, t));
        return t;
    }
    if (type->kind == TYPE_AUTO || type->word == WORD_GROUP || group_takes(type, e->type)) {
        const kernel_type *t = expr_value(p, e)->type;
        if (t->kind == TYPE_VOID)
            parser_fail(p, e->place, "there is no variable of type void");
        return type_qualify(p->types, t, type->quals);
    }
    return type;
}

void declare_reference(parser *p, const declarator *d, const kernel_type *type, kernel_expr *e,
                       stmt_list *out)
{
    kernel_expr *address = expr_bind(p, e, type->of, parser_format(p, "'%s'", d->name->text));
    if (!expr_is_place(e) && object_ends(p, type->of) && p->temporaries) {
        /* The temporary lives as long as the reference. */
        lifetime_add(p, p->scope, p->temporaries->var);
        p->temporaries = p->temporaries->next;
    }
    kernel_var *v = local_new(p, d->name, type_pointer(p->types, type->of), d->place);
    local_declare(p, d, v)->is_reference = true;
    kernel_stmt *s = stmt_add(p, out, STMT_DECLARE, d->place);
    s->var = v;
    s->value = temporary_finish(p, address);
}

/* A static table of constants becomes a constant of the tree; another static variable is one of the device. It has one
 * object for each instance of its function, whose name is part of its own. */
static void declare_static(parser *p, const declarator *d, const kernel_type *type, kernel_expr *e)
{
    const bool constant = type->quals & TYPE_CONST;
    kernel_var *v =
        global_var(p, d->name, type, constant ? STORE_CONSTANT : STORE_GLOBAL, d->place);
    if (constant ? !e || !evaluate_initial(p, e, v) : e && !evaluate_initial(p, e, v))
        parser_fail_do(p, d->place, "use a __device__ variable outside of the function",
                       "the value of static variable '%s' is not a constant", d->name->text);
    v->symbol = constant
                    ? NULL
                    : parser_format(p, "%s::%s", p->current->function->source_name, d->name->text);
    if (v->symbol && p->options->n_linked)
        v->symbol = parser_format(p, "%d#%s", p->file, v->symbol);
    global_list(p, v);
    symbol *y = local_declare(p, d, v);
    y->constant = constant && e->kind == EXPR_CONST ? e : NULL;
}

void declare_local(parser *p, const specifiers *s, declarator *d, stmt_list *out)
{
    const kernel_type *type = d->type;
    const char *what = parser_format(p, "'%s'", d->name->text);
    kernel_expr *e = NULL;
    if (type->kind == TYPE_ARRAY && type->of->kind == TYPE_REFERENCE)
        parser_fail(p, d->place, "there is no array of references");
    if (at(p, TOKEN_ASSIGN) || at(p, TOKEN_LBRACE) || at(p, TOKEN_LPAREN))
        e = parse_init(p, &type, what);
    if (e)
        type = auto_deduce(p, type, e);
    if (type->kind == TYPE_AUTO || type->kind == TYPE_REFERENCE) {
        if (!e)
            parser_fail(p, d->place, "%s needs a value", what);
        declare_reference(p, d, type, e, out);
        return;
    }
    type_complete(p, type, d->place);
    if (type->kind == TYPE_VOID || (type->kind == TYPE_ARRAY && !type->count))
        parser_fail(p, d->place, "%s has no size", what);
    if (type->size > UINT32_MAX)
        parser_fail(p, d->place, "%s is too large", what);
    if (s->flags & IS_CONSTEXPR)
        type = type_qualify(p->types, type, TYPE_CONST);
    if (!e && type->kind == TYPE_STRUCT)
        e = construct(p, type, d->place, NULL, 0);
    if (e && type->kind != TYPE_ARRAY)
        e = expr_convert(p, e, type->plain, what);
    if (e && (type->quals & TYPE_CONST))
        e = fold_all(p, e);
    if ((s->flags & IS_CONSTEXPR) && (!e || (type_is_scalar(type) && e->kind != EXPR_CONST)))
        parser_fail(p, d->place, "%s is constexpr, but its value is not a constant", what);
    if (s->flags & IS_STATIC) {
        if (!e || e->kind != EXPR_CONST)
            e = e ? fold_all(p, e) : NULL;
        declare_static(p, d, type, e);
        return;
    }
    kernel_var *v = local_new(p, d->name, type, d->place);
    symbol *y = local_declare(p, d, v);
    if (e && e->kind == EXPR_CONST && (type->quals & TYPE_CONST) && !(type->quals & TYPE_VOLATILE))
        y->constant = e;
    kernel_stmt *made = stmt_add(p, out, STMT_DECLARE, d->place);
    made->var = v;
    kernel_expr *to = expr_var(p, d->place, v);
    kernel_expr *set = !e                            ? init_default(p, to, d->place)
                       : init_keeps_address(e, type) ? init_set(p, to, e)
                                                     : NULL;
    if (set)
        stmt_add(p, out, STMT_EXPR, d->place)->value = temporary_finish(p, set);
    else
        made->value = e ? temporary_finish(p, e) : NULL;
    lifetime_add(p, p->scope, v);
}

/* The part of an object that the i-th name of "auto [a, b]" stands for. */
static kernel_expr *bound_part(parser *p, kernel_expr *whole, uint32_t i, kernel_place place)
{
    if (whole->type->kind == TYPE_ARRAY)
        return expr_index(p, place, whole, expr_integer(p, place, type_word_of(p, WORD_INT), i));
    const kernel_member *m = &whole->type->record->members[i];
    if (!m->name)
        parser_fail(p, place, "'%s' has bases, so its members cannot be bound by '[...]'",
                    type_name(p, whole->type));
    return expr_member(p, place, whole, m->name);
}

/* The declarator of a hidden variable. */
static declarator hidden(parser *p, const kernel_type *type, kernel_place place)
{
    return (declarator){.name = name_of(p, "bound"), .place = place, .type = type};
}

/* "auto [a, b] = value;" after "auto": a hidden variable, or a hidden reference, has the value. A name is a variable with
 * a part of it, or a reference to that part. */
static void declare_bound(parser *p, const specifiers *s, stmt_list *out)
{
    const kernel_place place = p->t->place;
    const bool refers = accept(p, TOKEN_AMP) || accept(p, TOKEN_AND_AND);
    const kernel_token *names = p->t;
    p->t = skip_group(p->t);
    const kernel_type *type = s->type;
    if (!at(p, TOKEN_ASSIGN) && !at(p, TOKEN_LBRACE) && !at(p, TOKEN_LPAREN))
        parser_fail(p, p->t->place, "'[...]' needs a value");
    kernel_expr *e = parse_init(p, &type, "'[...]'");
    const bool array = e->type->kind == TYPE_ARRAY;
    type_complete(p, e->type, place);
    if (!array && (e->type->kind != TYPE_STRUCT || e->type->record->is_union))
        parser_fail(p, e->place, "'[...]' takes the parts of a struct or an array, not of '%s'",
                    type_name(p, e->type));
    scope *const outer = p->scope;
    p->scope = scope_open(p, outer, true); /* of the hidden name */
    const bool place_of = expr_is_place(e) && (refers || array);
    const unsigned quals = s->type->quals;
    if (place_of) {
        const declarator d = hidden(p, type_reference(p->types, e->type), place);
        declare_reference(p, &d, d.type, e, out);
    } else {
        const declarator d = hidden(p, e->type->plain, place);
        kernel_var *v = local_new(p, d.name, d.type, place);
        local_declare(p, &d, v);
        kernel_stmt *made = stmt_add(p, out, STMT_DECLARE, place);
        made->var = v;
        made->value = temporary_finish(p, expr_convert(p, e, d.type, "'[...]'"));
        lifetime_add(p, outer, v);
    }
    const symbol *y = symbol_here(p->scope, name_of(p, "bound"));
    kernel_expr *whole = expr_var(p, place, y->as.var);
    if (y->is_reference)
        whole = expr_deref(p, place, whole);
    scope_close(p, p->scope);
    p->scope = outer;
    uint32_t i = 0;
    const uint64_t parts = array ? whole->type->count : whole->type->record->n_members;
    for (const kernel_token *t = names + 1; t->kind != TOKEN_RBRACKET; i++) {
        if (t->kind != TOKEN_NAME || i == parts)
            parser_fail(p, t->place, i == parts ? "'%s' has no more parts" : "expected a name",
                        type_name(p, whole->type));
        kernel_expr *part = bound_part(p, whole, i, t->place);
        const bool copies = !refers && part->type->kind != TYPE_ARRAY &&
                            !object_copies(p, part->type) && !object_ends(p, part->type);
        declarator d = {.name = t->as.name, .place = t->place, .type = part->type};
        if (copies) {
            kernel_var *v =
                local_new(p, d.name, type_qualify(p->types, d.type->plain, quals), t->place);
            local_declare(p, &d, v);
            kernel_stmt *made = stmt_add(p, out, STMT_DECLARE, t->place);
            made->var = v;
            made->value = expr_value(p, part);
        } else {
            d.type =
                type_reference(p->types, type_qualify(p->types, d.type, d.type->quals | quals));
            declare_reference(p, &d, d.type, part, out);
        }
        t++;
        t += t->kind == TOKEN_COMMA;
    }
    if (i != parts)
        parser_fail(p, place, "'%s' has %llu parts, and there are %u names",
                    type_name(p, whole->type), (unsigned long long)parts, i);
}

/* True at "[a, b]" after "auto". */
static bool at_bound(const parser *p, const specifiers *s)
{
    const kernel_token *t = p->t;
    t += t->kind == TOKEN_AMP || t->kind == TOKEN_AND_AND;
    return s->type->kind == TYPE_AUTO && t->kind == TOKEN_LBRACKET && t[1].kind == TOKEN_NAME;
}

void parse_declarators(parser *p, const specifiers *s, stmt_list *out)
{
    if (at_bound(p, s)) {
        declare_bound(p, s, out);
        return;
    }
    do {
        declarator d = parse_declarator(p, s->type);
        if (!d.name)
            parser_fail(p, d.place, "expected a name, found %s", token_text(p, p->t));
        if (d.is_function)
            parser_fail_do(p, d.place, "declare it outside",
                           "a function is declared inside a function: '%s'", d.name->text);
        p->declaring = d.name;
        if (s->flags & IS_SHARED)
            declare_shared(p, s, &d);
        else if (s->flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED | IS_EXTERN))
            parser_fail_do(p, d.place, "declare it outside of the function",
                           "variable '%s' cannot be declared so here", d.name->text);
        else
            declare_local(p, s, &d, out);
        p->declaring = NULL;
    } while (accept(p, TOKEN_COMMA));
}

void parse_declaration(parser *p, stmt_list *out)
{
    specifiers s;
    parse_specifiers(p, &s);
    if (s.flags & IS_TYPEDEF) {
        parse_typedef(p, &s);
        return;
    }
    if (!at(p, TOKEN_SEMICOLON))
        parse_declarators(p, &s, out);
    expect(p, TOKEN_SEMICOLON, "after a declaration");
}

void parse_static_assert(parser *p)
{
    const kernel_place place = p->t->place;
    expect(p, TOKEN_LPAREN, "after 'static_assert'");
    kernel_expr *e = fold_all(p, expr_bool(p, parse_assignment(p)));
    const kernel_string *message = NULL;
    if (accept(p, TOKEN_COMMA) && at(p, TOKEN_STRING))
        message = (p->t++)->as.string;
    expect(p, TOKEN_RPAREN, "after 'static_assert'");
    expect(p, TOKEN_SEMICOLON, "after 'static_assert'");
    if (e->kind != EXPR_CONST)
        parser_fail(p, place, "static_assert: not a constant");
    if (!e->value.integer)
        parser_fail(p, place, "static_assert failed%s%s", message ? ": " : "",
                    message ? message->text : "");
}

bool at_declaration(parser *p)
{
    if (!at_type(p))
        return false;
    if (p->t->keyword == KEYWORD_const || p->t->keyword == KEYWORD_static ||
        p->t->keyword == KEYWORD_alignas || p->t->keyword == KEYWORD___align__ ||
        at(p, TOKEN_LBRACKET))
        return true;
    const kernel_token *back = p->t;
    const kernel_token *last = back;
    if (at_word(p, KEYWORD_decltype))
        p->t = skip_group(p->t + 1);
    else if (at(p, TOKEN_NAME) && p->t->keyword)
        p->t++;
    else
        parse_name(p, &last);
    if (at(p, TOKEN_LT) && !back->keyword) { /* tile<4>::clear(s); is not a declaration */
        specifiers s;
        p->t = back;
        parse_specifiers(p, &s);
    }
    const kernel_token *next = p->t;
    p->t = back;
    if (next->kind == TOKEN_SCOPE)
        return false;
    if (next->kind == TOKEN_LPAREN) { /* T (*f)(int), T (&a)[4]; not T(&x, 1) */
        if (next[1].kind != TOKEN_STAR && next[1].kind != TOKEN_AMP)
            return false;
        for (next++;
             next->kind == TOKEN_STAR || next->kind == TOKEN_AMP || next->keyword == KEYWORD_const;
             next++)
            ;
        return next->kind == TOKEN_NAME &&
               (next[1].kind == TOKEN_RPAREN || next[1].kind == TOKEN_LBRACKET);
    }
    return next->kind != TOKEN_LBRACE || back->keyword == KEYWORD_struct ||
           back->keyword == KEYWORD_enum || back->keyword == KEYWORD_union;
}
