/* Pointers to members that are not functions: `float C::*` is the struct ig_member<float, C> of the library, which holds the
 * member's offset as the host's compiler passes it. So they are copied, compared, deduced and passed to kernels as any
 * struct. */
#include "compiler/parse/parser.h"

/* The class that the name at t means, or NULL. */
static const kernel_type *class_at(parser *p, const kernel_token *t)
{
    const symbol *y = t->kind == TOKEN_NAME && !t->keyword ? symbol_find(p, t->as.name) : NULL;
    return y && y->kind == SYMBOL_TYPE ? y->as.type : NULL;
}

bool at_member_pointer(const parser *p)
{
    return at(p, TOKEN_NAME) && !p->t->keyword && p->t[1].kind == TOKEN_SCOPE &&
           p->t[2].kind == TOKEN_STAR;
}

static const kernel_type *pointer_type(parser *p, const kernel_type *of, const kernel_type *to,
                                       kernel_place place)
{
    const symbol *y = part_load(p, symbol_here(p->root, name_of(p, "ig_member")));
    const template_arg args[2] = {{.type = of, .is_set = true}, {.type = to, .is_set = true}};
    kernel_syntax *s = y->as.syntax;
    return struct_made(p, s, struct_arguments(p, s, args, 2, place), place);
}

const kernel_type *parse_member_pointer(parser *p, const kernel_type *of)
{
    const kernel_place place = p->t->place;
    const kernel_type *to = class_at(p, p->t);
    if (!to)
        parser_fail(p, place, "%s is not a class", token_text(p, p->t));
    p->t += 3;
    return pointer_type(p, of, to, place);
}

kernel_expr *accept_member_address(parser *p)
{
    const kernel_place place = p->t->place;
    const kernel_member *path[8];
    const kernel_type *to =
        p->t[1].kind == TOKEN_SCOPE && p->t[2].kind == TOKEN_NAME ? class_at(p, p->t) : NULL;
    if (!to || to->kind != TYPE_STRUCT || !type_members(p, to, place))
        return NULL;
    const int n = type_member_find(to->record, p->t[2].as.name, path);
    if (!n)
        return NULL;
    p->t += 3;
    uint64_t offset = 0;
    for (int i = 0; i < n; i++)
        offset += path[i]->offset;
    if (path[n - 1]->bits)
        parser_fail(p, place, "a bit-field has no address");
    const kernel_type *type = pointer_type(p, path[n - 1]->type, to->plain, place);
    type_members(p, type, place);
    kernel_expr *made = expr_list(p, place, type, 1);
    made->args[0] = expr_integer(p, place, type_word_of(p, WORD_LLONG), offset);
    return made;
}

kernel_expr *parse_pointed(parser *p)
{
    kernel_expr *e = parse_unary(p);
    while ((at(p, TOKEN_DOT_STAR) || at(p, TOKEN_ARROW_STAR)) && !p->split) {
        const kernel_place place = p->t->place;
        if ((p->t++)->kind == TOKEN_ARROW_STAR)
            e = expr_deref(p, place, e);
        kernel_expr *args[2] = {e, parse_unary(p)};
        if (args[1]->type->kind != TYPE_STRUCT)
            parser_fail(p, place, "'%s' is not a pointer to a member", type_name(p, args[1]->type));
        e = part_call(p, "ig_member_of", place, args, 2);
    }
    return e;
}
