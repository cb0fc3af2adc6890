/* "using": other names for types, and names from namespaces and bases.
 *
 * A function introduced by "using" is a separate entry among the overloads of its name; the entry points to
 * the function. So overloads that are added later in this scope are not visible in the original scope. */
#include "compiler/parse/parser.h"

/* Adds the functions of a name to the overloads in this scope, including constructors. */
static void use_functions(parser *p, function_decl *functions, kernel_place place)
{
    symbol *y = symbol_here(p->scope, functions->name);
    if (!y || y->kind != SYMBOL_FUNCTION)
        y = symbol_add(p, p->scope, SYMBOL_FUNCTION, functions->name, place);
    function_decl **end = &y->as.functions;
    while (*end)
        end = &(*end)->next;
    for (function_decl *f = functions; f; f = f->next) {
        function_decl *made = kernel_arena_copy(p->arena, f, sizeof *made);
        made->used = function_itself(f);
        made->next = NULL;
        LIST_ADD(end, made, next);
    }
}

/* Skips "a::b<c>::" of a name and returns the scope it means, or NULL. *type: the struct of that scope, or
 * NULL. */
static scope *parse_qualifiers(parser *p, const kernel_type **type)
{
    scope *in = accept(p, TOKEN_SCOPE) ? scope_global(p) : NULL;
    *type = NULL;
    while (at(p, TOKEN_NAME) && !p->t->keyword) {
        const kernel_token *t = p->t;
        symbol *y = in ? symbol_in(in, t->as.name) : symbol_find(p, t->as.name);
        const bool instance = y && y->kind == SYMBOL_STRUCT_TEMPLATE && t[1].kind == TOKEN_LT;
        if (!instance && t[1].kind != TOKEN_SCOPE)
            break;
        p->t++;
        *type = instance ? struct_instance(p, y->as.syntax, t->place)
                : y && y->kind == SYMBOL_TYPE && y->as.type ? y->as.type->plain
                                                            : NULL;
        in = *type && (*type)->kind == TYPE_STRUCT ? type_members(p, *type, t->place)
             : y                                   ? symbol_inside(p, y)
                                                   : NULL;
        if (!in)
            parser_fail(p, t->place, "%s is neither a namespace nor a struct", token_text(p, t));
        expect(p, TOKEN_SCOPE, "in a name");
    }
    return in;
}

/* "using n::a;" at the name. */
static void parse_used_name(parser *p)
{
    const kernel_type *type;
    const kernel_token *first = p->t;
    scope *in = parse_qualifiers(p, &type);
    const kernel_token *last = p->t;
    const bool is_operator = accept_word(p, KEYWORD_operator);
    kernel_name *name = is_operator ? parse_operator_name(p) : expect_name(p, "a name");
    const bool constructs =
        type && !is_operator && type->record->syntax && type->record->syntax->name == name;
    if (constructs)
        name = name_of(p, "constructor");
    const symbol *y = !in ? symbol_find(p, name) : symbol_in(in, name);
    if (!y && in && in->is_global)
        y = symbol_in(p->root, name);
    if (!y && !constructs)
        parser_fail(p, last->place, "unknown name %s", token_text(p, last));
    if (y && y->kind == SYMBOL_FUNCTION)
        use_functions(p, y->as.functions, first->place);
    else if (y)
        symbol_alias(p, p->scope, y, last->place);
}

void parse_using(parser *p)
{
    const kernel_token *last;
    if (accept_word(p, KEYWORD_namespace)) {
        symbol *y = parse_name(p, &last);
        if (!y || y->kind != SYMBOL_NAMESPACE)
            parser_fail(p, last->place, "unknown namespace %s", token_text(p, last));
        scope_use(p, p->scope, y->as.inside);
    } else if (p->t[1].kind == TOKEN_ASSIGN) {
        const kernel_place place = p->t->place;
        kernel_name *name = expect_name(p, "a name");
        p->t++;
        const kernel_type *type = parse_type(p);
        symbol_add(p, p->scope, SYMBOL_TYPE, name, place)->as.type = type;
    } else {
        accept_word(p, KEYWORD_typename);
        do
            parse_used_name(p);
        while (accept(p, TOKEN_COMMA));
    }
    expect(p, TOKEN_SEMICOLON, "after 'using'");
}
