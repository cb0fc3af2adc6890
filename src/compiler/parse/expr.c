/* Expressions: from tokens to checked nodes, by precedence. */
#include <string.h>

#include "compiler/parse/parser.h"

static const uint8_t precedence[TOKEN_KINDS] = {
    [TOKEN_OR_OR] = 1,  [TOKEN_AND_AND] = 2, [TOKEN_PIPE] = 3,  [TOKEN_CARET] = 4,
    [TOKEN_AMP] = 5,    [TOKEN_EQ] = 6,      [TOKEN_NE] = 6,    [TOKEN_LT] = 7,
    [TOKEN_LE] = 7,     [TOKEN_GT] = 7,      [TOKEN_GE] = 7,    [TOKEN_SHL] = 8,
    [TOKEN_SHR] = 8,    [TOKEN_PLUS] = 9,    [TOKEN_MINUS] = 9, [TOKEN_STAR] = 10,
    [TOKEN_SLASH] = 10, [TOKEN_PERCENT] = 10};

static void grow(parser *p)
{
    if (++p->chain > CHAIN_MOST)
        parser_fail_do(p, p->t->place, "write it in several steps",
                       "an expression of more than %d operations", CHAIN_MOST);
}

typedef struct argument_list {
    kernel_expr **at;
    uint32_t n, room, chain, most;
} argument_list;

static void add_argument(parser *p, void *context)
{
    argument_list *l = context;
    if (l->n == PARAMS_MOST)
        parser_fail(p, p->t->place, "more than %d arguments", PARAMS_MOST);
    l->at = kernel_arena_grow(p->arena, l->at, &l->room, l->n + 1, sizeof *l->at);
    if (at(p, TOKEN_LBRACE)) { /* it gets the parameter's type */
        kernel_expr *e = expr_new(p, EXPR_LIST, p->t->place, type_word_of(p, WORD_VOID));
        e->as.braces = p->t;
        p->t = skip_group(p->t);
        l->at[l->n++] = e;
        return;
    }
    p->chain = l->chain;
    l->at[l->n++] = parse_assignment(p);
    l->most = p->chain > l->most ? p->chain : l->most;
}

uint32_t parse_values(parser *p, kernel_token_kind close, kernel_expr ***args)
{
    argument_list l = {.chain = p->chain, .most = p->chain};
    const bool no_gt = p->no_gt;
    p->no_gt = false;
    while (!at(p, close)) {
        if (!pack_expand(p, false, add_argument, &l))
            add_argument(p, &l);
        if (!accept(p, TOKEN_COMMA))
            break;
    }
    p->chain = l.most;
    p->no_gt = no_gt;
    *args = l.at;
    return l.n;
}

uint32_t parse_arguments(parser *p, kernel_expr ***args)
{
    const uint32_t n = parse_values(p, TOKEN_RPAREN, args);
    expect(p, TOKEN_RPAREN, "after arguments");
    return n;
}

/* ---- names and literals ------------------------------------------------------------------------ */

static kernel_expr *parse_literal(parser *p)
{
    static const uint8_t words[] = {
        [LITERAL_INT] = WORD_INT,        [LITERAL_UINT] = WORD_UINT,
        [LITERAL_LONG] = WORD_LONG,      [LITERAL_ULONG] = WORD_ULONG,
        [LITERAL_LONGLONG] = WORD_LLONG, [LITERAL_ULONGLONG] = WORD_ULLONG,
        [LITERAL_FLOAT] = WORD_FLOAT,    [LITERAL_DOUBLE] = WORD_DOUBLE,
        [LITERAL_CHAR] = WORD_CHAR,      [LITERAL_WCHAR] = WORD_INT,
        [LITERAL_CHAR16] = WORD_USHORT,  [LITERAL_CHAR32] = WORD_UINT};
    const kernel_token *t = p->t++;
    const kernel_type *type = type_word_of(p, words[t->type]);
    if (t->kind != TOKEN_FLOAT)
        return expr_integer(p, t->place, type, t->as.integer);
    kernel_expr *e = expr_number(p, t->place, type, t->as.number);
    e->soft = type->kind == TYPE_F64;
    return e;
}

/* The same constant at another place. */
static kernel_expr *expr_known(parser *p, const kernel_expr *constant, kernel_place place)
{
    kernel_expr *e = expr_new(p, EXPR_CONST, place, constant->type);
    e->value = constant->value;
    return e;
}

kernel_expr *use_var(parser *p, symbol *y, kernel_place place)
{
    if (y->is_outside)
        parser_fail_do(p, place, "write [&] or [=] before it", "'%s' is not captured by the lambda",
                       y->name->text);
    if (y->is_host)
        parser_fail_do(
            p, place, "pass it as an argument, or declare it __device__, __constant__ or constexpr",
            "'%s' is a host variable, and this is device code", y->name->text);
    if (y->as.var->is_extern)
        parser_fail_do(p, place,
                       "define it in this file, or link the file that defines it: -rdc=true",
                       "extern variable '%s' is not defined", y->name->text);
    if (y->as.var->storage >= STORE_GLOBAL && !y->constant)
        global_list(p, y->as.var);
    kernel_expr *e = expr_var(p, place, y->as.var);
    if (y->is_reference)
        return expr_deref(p, place, e);
    e->c = y->constant;
    return e;
}

/* threadIdx and the like are a vector of three index nodes; .x selects one. */
static kernel_expr *use_grid(parser *p, int which, kernel_place place)
{
    const kernel_type *type =
        which < INDEX_BLOCK_DIM ? type_vector(p->types, WORD_UINT, 3) : p->types->dim3;
    kernel_expr *list = expr_list(p, place, type, 3);
    for (int i = 0; i < 3; i++) {
        kernel_expr *e = expr_new(p, EXPR_INDEX, place, type_word_of(p, WORD_UINT));
        e->base = (uint8_t)which;
        e->axis = (uint8_t)i;
        list->args[i] = e;
    }
    return list;
}

static kernel_expr *make_vector(parser *p, const kernel_type *type, kernel_place place, uint32_t n,
                                kernel_expr **args)
{
    if (n != type->record->n_vector)
        parser_fail(p, place, "'make_%s' takes %d arguments, not %u", type->record->name,
                    type->record->n_vector, n);
    kernel_expr *list = expr_list(p, place, type, n);
    for (uint32_t i = 0; i < n; i++)
        list->args[i] =
            expr_convert(p, args[i], type->record->element,
                         parser_format(p, "argument %u of 'make_%s'", i + 1, type->record->name));
    return list;
}

static kernel_expr *parse_make(parser *p, const kernel_type *type, kernel_place place)
{
    kernel_expr **args;
    expect(p, TOKEN_LPAREN, "after the name of a vector");
    const uint32_t n = parse_arguments(p, &args);
    return make_vector(p, type, place, n, args);
}

/* *this, or NULL outside of member functions. */
static kernel_expr *this_object(parser *p, kernel_place place)
{
    symbol *y = symbol_find(p, name_of(p, "this"));
    return y && y->kind == SYMBOL_VAR ? use_var(p, y, place) : NULL;
}

/* T(x), T{...}, at the type. */
static kernel_expr *parse_functional_cast(parser *p)
{
    const kernel_place place = p->t->place;
    specifiers s;
    parse_specifiers(p, &s);
    const kernel_type *type = s.type;
    if (accept(p, TOKEN_SCOPE)) { /* vec<float, 4>::size */
        const scope *in = type_members(p, type, place);
        const kernel_name *name = expect_name(p, "the name of a member");
        symbol *y = in ? symbol_in(in, name) : NULL;
        if (y && y->kind == SYMBOL_FUNCTION)
            return parse_method(p, y->as.functions->is_method ? this_object(p, place) : NULL,
                                y->as.functions, place);
        if (y && y->kind == SYMBOL_VAR)
            return use_var(p, y, place);
        if (!y || y->kind != SYMBOL_CONSTANT)
            parser_fail(p, place, "'%s' has no constant '%s'", type_name(p, type), name->text);
        return expr_known(p, y->constant, place);
    }
    if (!at(p, TOKEN_LPAREN) && !at(p, TOKEN_LBRACE))
        parser_fail(p, p->t->place, "expected '(' after the type '%s', found %s",
                    type_name(p, type), token_text(p, p->t));
    if (at(p, TOKEN_LPAREN) && p->t[1].kind == TOKEN_RPAREN) {
        p->t += 2;
        type_complete(p, type, place);
        return init_value(p, type, place);
    }
    const kernel_type *made = type;
    if (at(p, TOKEN_LPAREN) && type->kind != TYPE_STRUCT) {
        p->t++;
        return expr_cast(p, parse_inside(p, TOKEN_RPAREN, "after a value"), type, place);
    }
    return parse_init(p, &made, parser_format(p, "'%s'", type_name(p, type)));
}

static kernel_expr *use_member(parser *p, const kernel_name *name, kernel_place place)
{
    kernel_expr *object = this_object(p, place);
    if (!object)
        parser_fail(p, place, "member '%s' without an object", name->text);
    return expr_member(p, place, object, name);
}

static kernel_expr *parse_function(parser *p, symbol *y, kernel_place place)
{
    if (y->as.functions->is_method)
        return parse_method(p, this_object(p, place), y->as.functions, place);

    /* A source may add overloads to a CUDA name. */
    symbol *own = symbol_here(p->root, y->name);
    if (!own || (own->kind != SYMBOL_BUILTIN && own->kind != SYMBOL_MAKE) || !at(p, TOKEN_LPAREN))
        return parse_call(p, y->as.functions, place);
    p->t++;
    kernel_expr **args;
    const uint32_t n = parse_arguments(p, &args);
    kernel_expr *e = call_functions(p, y->as.functions, place, NULL, 0, args, n, true);
    if (e)
        return e;
    return own->kind == SYMBOL_MAKE ? make_vector(p, own->as.type, place, n, args)
                                    : builtin_call(p, own->as.builtin, place, n, args);
}

static kernel_expr *parse_named(parser *p)
{
    const kernel_token *last;
    symbol *y = parse_name(p, &last);
    const kernel_place place = last->place;
    if (!y) {
        const bool called = at(p, TOKEN_LPAREN) || at(p, TOKEN_SCOPE);
        if (at(p, TOKEN_LPAREN) && last->as.name == name_of(p, "cudaDeviceSynchronize"))
            parser_fail_do(p, place, "launch what follows into cudaStreamTailLaunch",
                           "a kernel cannot wait for its launches, as in CUDA 12");
        if (at(p, TOKEN_LPAREN) && last->bytes > 4 && strncmp(last->text, "cuda", 4) == 0)
            parser_fail_do(p, place, "call it outside of the kernel",
                           "%s is a function of the host's runtime", token_text(p, last));
        parser_fail_do(p, place, "declare it before, or include the header that has it",
                       "unknown %s %s", called ? "function" : "name", token_text(p, last));
    }
    switch (y->kind) {
    case SYMBOL_VAR: return use_var(p, y, place);
    case SYMBOL_CONSTANT: return expr_known(p, y->constant, place);
    case SYMBOL_FUNCTION: return parse_function(p, y, place);
    case SYMBOL_MEMBER: return use_member(p, y->name, place);
    case SYMBOL_BROKEN:
        if (y->broken)
            p->diags->repeated = y->broken;
        parser_jump(p);
    case SYMBOL_BUILTIN: return parse_builtin(p, y->as.builtin, place);
    case SYMBOL_SPECIAL: return y->special(p, y->which, place);
    case SYMBOL_MAKE: return parse_make(p, y->as.type, place);
    case SYMBOL_GRID: return use_grid(p, y->as.number, place);
    case SYMBOL_STRUCT_TEMPLATE:
        if (y->as.syntax->is_value)
            return value_template(p, y->as.syntax, place);
        break;
    default: break;
    }
    parser_fail(p, place, "%s is a %s, not a value", token_text(p, last),
                y->kind == SYMBOL_NAMESPACE ? "namespace"
                : y->kind == SYMBOL_PACK    ? "parameter pack"
                                            : "type");
}

/* ---- keywords --------------------------------------------------------------------------------- */

static kernel_expr *parse_sizeof(parser *p, bool align)
{
    const kernel_place place = (p->t++)->place;
    const kernel_type *type;
    if (at(p, TOKEN_ELLIPSIS))
        return parse_pack_size(p);
    p->t++;
    const bool named = p->t[-1].kind == TOKEN_LPAREN && at_type(p);
    p->t--;
    if (named) {
        p->t++;
        type = parse_type(p);
        expect(p, TOKEN_RPAREN, "after a type");
    } else {
        lifetime *const temporaries = p->temporaries; /* the operand is not evaluated */
        const kernel_expr *e = parse_unary(p);
        p->temporaries = temporaries;
        type = e->type;
        if (e->kind == EXPR_STRING)
            type = type_array(p->types, type->of, e->as.text->bytes + 1);
    }
    if (type->kind == TYPE_REFERENCE)
        type = type->of;
    type_complete(p, type, place);
    if (!type->size || type->kind == TYPE_FUNCTION)
        parser_fail(p, place, "'%s' has no size", type_name(p, type));
    return expr_integer(p, place, type_word_of(p, WORD_ULONG), align ? type->align : type->size);
}

static kernel_expr *parse_cpp_cast(parser *p)
{
    const kernel_place place = (p->t++)->place;
    expect(p, TOKEN_LT, "after a cast");
    const bool no_gt = p->no_gt;
    p->no_gt = true;
    const kernel_type *type = parse_type(p);
    const bool moves = p->t[-1].kind == TOKEN_AND_AND && type->kind == TYPE_REFERENCE;
    p->no_gt = no_gt;
    expect_close_angle(p);
    expect(p, TOKEN_LPAREN, "after a cast");
    kernel_expr *e = expr_cast(p, parse_inside(p, TOKEN_RPAREN, "after a cast"), type, place);
    e->moves = moves;
    return e;
}

/* A call of the library that the marked feature stands for: a device without it refuses the kernel. */
static kernel_expr *marked(parser *p, kernel_place place, int mark, kernel_expr *e)
{
    return expr_comma(p, expr_builtin(p, place, mark, type_word_of(p, WORD_VOID), 0, NULL), e);
}

kernel_expr *device_malloc(parser *p, kernel_place place, kernel_expr *bytes)
{
    bytes = expr_convert(p, bytes, type_word_of(p, WORD_ULONG), "a number of bytes");
    return marked(p, place, BUILTIN_MALLOC, part_call(p, "ig_heap_get", place, &bytes, 1));
}

kernel_expr *device_free(parser *p, kernel_place place, kernel_expr *e)
{
    const kernel_type *any = type_pointer(p->types, type_word_of(p, WORD_VOID));
    e = expr_cast(p, expr_value(p, e), any, place);
    return marked(p, place, BUILTIN_FREE, part_call(p, "ig_heap_put", place, &e, 1));
}

/* new T, new T[n], delete p: the heap of a kernel, which only the CPU can provide. */
static kernel_expr *parse_new(parser *p)
{
    const kernel_place place = (p->t++)->place;
    specifiers s;
    kernel_expr *memory = NULL;
    if (accept(p, TOKEN_LPAREN)) /* new (memory) T(...) */
        memory = expr_value(p, parse_inside(p, TOKEN_RPAREN, "after the memory of an object"));
    parse_specifiers(p, &s);
    const kernel_type *type = s.type;
    while (accept(p, TOKEN_STAR))
        type = type_pointer(p->types, type);
    type_complete(p, type, place);
    const kernel_type *size = type_word_of(p, WORD_ULONG), *pointer = type_pointer(p->types, type);
    kernel_expr *bytes = expr_integer(p, place, size, type->size), *before = NULL, *n = NULL;
    if (accept(p, TOKEN_LBRACKET)) {
        n = expr_convert(p, parse_expression(p), size, "a number of elements");
        n = expr_once(p, n, &before);
        bytes = expr_binary(p, place, TOKEN_STAR, bytes, n);
        expect(p, TOKEN_RBRACKET, "after the number of elements");
    }
    kernel_expr *made =
        expr_cast(p, memory ? memory : device_malloc(p, place, bytes), pointer, place);
    const bool empty = at(p, TOKEN_LPAREN) && p->t[1].kind == TOKEN_RPAREN;
    const bool told = at(p, TOKEN_LPAREN) || at(p, TOKEN_LBRACE);
    if (n && told && !empty)
        parser_fail_do(p, place, "assign to the elements afterwards",
                       "'new' of an array with values is not supported");
    kernel_expr *value = NULL;
    if (empty && !n)
        value = init_value(p, type, place);
    else if (told && !empty)
        value = parse_init(p, &type, "'new'");
    if (empty)
        p->t += 2;
    if (!told && !init_needed(p, type))
        return expr_comma(p, before, made);
    made = expr_once(p, made, &before);
    kernel_expr *set;
    if (n) {
        kernel_expr *args[2] = {made, n};
        const char *name = init_needed(p, type) ? "ig_construct" : "ig_clear";
        const symbol *y = symbol_here(p->root, name_of(p, name));
        set = call_functions(p, y->as.functions, place, NULL, 0, args, 2, false);
    } else {
        kernel_expr *to = expr_deref(p, place, made);
        set = value ? init_set(p, to, value) : init_default(p, to, place);
    }
    const kernel_type *nothing = type_word_of(p, WORD_VOID);
    kernel_expr *guarded = expr_node(p, EXPR_CHOOSE, place, nothing, expr_bool(p, made),
                                     expr_node(p, EXPR_CAST, place, nothing, set, NULL));
    guarded->c = expr_node(p, EXPR_CAST, place, nothing, expr_zero(p, place, size), NULL);
    return expr_comma(p, expr_comma(p, before, guarded), made);
}

static kernel_expr *parse_delete(parser *p)
{
    const kernel_place place = (p->t++)->place;
    const bool array = accept(p, TOKEN_LBRACKET);
    if (array)
        expect(p, TOKEN_RBRACKET, "after 'delete['");
    kernel_expr *e = expr_value(p, parse_unary(p)), *before = NULL;
    if (!type_is_pointer(e->type))
        parser_fail(p, place, "'delete' takes a pointer, not '%s'", type_name(p, e->type));
    if (e->type->of->kind == TYPE_VOID || !object_ends(p, e->type->of))
        return device_free(p, place, e);
    if (array)
        parser_fail_do(p, place, "delete the elements one by one",
                       "'delete[]' of objects with destructors is not supported");
    e = expr_once(p, e, &before);
    const kernel_type *nothing = type_word_of(p, WORD_VOID);
    kernel_expr *end = object_end(p, expr_deref(p, place, e));
    if (type_is_pointer(end->type)) { /* a virtual destructor */
        kernel_expr *whole = expr_node(p, EXPR_CHOOSE, place, end->type, expr_bool(p, e), end);
        whole->c = expr_zero(p, place, end->type);
        return expr_comma(p, before, device_free(p, place, whole));
    }
    kernel_expr *guarded = expr_node(p, EXPR_CHOOSE, place, nothing, expr_bool(p, e),
                                     expr_node(p, EXPR_CAST, place, nothing, end, NULL));
    guarded->c = expr_node(p, EXPR_CAST, place, nothing,
                           expr_zero(p, place, type_word_of(p, WORD_ULONG)), NULL);
    return expr_comma(p, expr_comma(p, before, guarded), device_free(p, place, e));
}

static kernel_expr *parse_keyword(parser *p)
{
    const kernel_place place = p->t->place;
    switch (p->t->keyword) {
    case KEYWORD_true:
    case KEYWORD_false:
        return expr_integer(p, place, type_word_of(p, WORD_BOOL),
                            (p->t++)->keyword == KEYWORD_true);
    case KEYWORD_nullptr: p->t++; return expr_integer(p, place, type_word_of(p, WORD_NULL), 0);
    case KEYWORD_sizeof: return parse_sizeof(p, false);
    case KEYWORD_alignof: return parse_sizeof(p, true);
    case KEYWORD_static_cast:
    case KEYWORD_reinterpret_cast:
    case KEYWORD_const_cast: return parse_cpp_cast(p);
    case KEYWORD_new: return parse_new(p);
    case KEYWORD_delete: return parse_delete(p);
    case KEYWORD_throw:
    case KEYWORD_try:
    case KEYWORD_typeid:
    case KEYWORD_dynamic_cast:
        parser_fail_do(p, place, "return an error in memory instead",
                       "%s is not available in device code", token_text(p, p->t));
    case KEYWORD_this: {
        kernel_expr *object = this_object(p, (p->t++)->place);
        if (!object)
            parser_fail(p, place, "'this' outside of a member function");
        return expr_address(p, place, object);
    }
    default: break;
    }
    if (at_type(p))
        return parse_functional_cast(p);
    parser_fail(p, place, "expected an expression, found %s", token_text(p, p->t));
}

const kernel_string *parse_string(parser *p)
{
    if (p->t->type != LITERAL_CHAR)
        parser_fail_do(p, p->t->place, "remove the prefix",
                       "strings of wide characters are not supported");
    return (p->t++)->as.string;
}

static kernel_expr *parse_primary(parser *p)
{
    switch (p->t->kind) {
    case TOKEN_INTEGER:
    case TOKEN_FLOAT:
    case TOKEN_CHAR: return parse_literal(p);
    case TOKEN_STRING: {
        kernel_expr *e = expr_new(
            p, EXPR_STRING, p->t->place,
            type_pointer(p->types, type_qualify(p->types, type_word_of(p, WORD_CHAR), TYPE_CONST)));
        e->as.text = parse_string(p);
        return e;
    }
    case TOKEN_LPAREN:
        if (at_fold(p))
            return parse_fold(p);
        p->t++;
        return parse_inside(p, TOKEN_RPAREN, "after an expression");
    case TOKEN_LBRACKET: return parse_lambda(p);
    case TOKEN_SCOPE:
    case TOKEN_NAME:
        if (p->t->kind == TOKEN_NAME && p->t->keyword)
            return parse_keyword(p);
        if (p->t->kind == TOKEN_NAME && p->t->as.name == name_of(p, "requires") &&
            (p->t[1].kind == TOKEN_LPAREN || p->t[1].kind == TOKEN_LBRACE))
            return parse_requires(p);
        return at_type(p) ? parse_functional_cast(p) : parse_named(p);
    default: parser_fail(p, p->t->place, "expected an expression, found %s", token_text(p, p->t));
    }
}

/* ---- postfix, unary --------------------------------------------------------------------------- */

/* "~T()" of an object, at the tilde. */
static kernel_expr *parse_end(parser *p, kernel_expr *object, kernel_place place)
{
    p->t += 2;
    expect(p, TOKEN_LPAREN, "after a destructor");
    expect(p, TOKEN_RPAREN, "after a destructor");
    kernel_expr *end = object_end(p, object);
    if (end)
        return end;
    return expr_node(p, EXPR_CAST, place, type_word_of(p, WORD_VOID), expr_value(p, object), NULL);
}

static kernel_expr *parse_member(parser *p, kernel_expr *e, bool arrow)
{
    const kernel_place place = p->t->place;
    function_decl *own = arrow ? methods_of(p, e->type, "operator->") : NULL;
    if (own)
        e = call_method(p, e, own, place, NULL, 0);
    if (arrow)
        e = expr_deref(p, place, e);
    accept_word(p, KEYWORD_template);
    if (at(p, TOKEN_TILDE) && p->t[1].kind == TOKEN_NAME) /* x.~T() */
        return parse_end(p, e, place);
    kernel_name *name = expect_name(p, "the name of a member");
    if (at(p, TOKEN_SCOPE)) { /* x.base::f() */
        symbol *y = part_load(p, symbol_find(p, name));
        if (!y || y->kind != SYMBOL_TYPE || !y->as.type || y->as.type->kind != TYPE_STRUCT)
            parser_fail(p, place, "'%s' is not a struct", name->text);
        e = expr_to_base(p, e, y->as.type);
        p->t++;
        name = expect_name(p, "the name of a member");
    }
    if (e->type->word >= WORD_BLOCK)
        return group_member(p, e, name, place);
    if (e->type->kind == TYPE_STRUCT && e->type->record->fragment &&
        name == name_of(p, "num_elements"))
        return expr_integer(p, place, type_word_of(p, WORD_INT),
                            e->type->record->members[0].type->count);
    if ((at(p, TOKEN_LPAREN) || at(p, TOKEN_LT)) && e->type->kind == TYPE_STRUCT) {
        type_complete(p, e->type, place);
        const kernel_member *path[8];
        function_decl *functions = methods_of(p, e->type, name->text);
        if (functions)
            return parse_method(p, e, functions, place);
        if (at(p, TOKEN_LPAREN) && !type_member_find(e->type->record, name, path))
            parser_fail_do(p, place, "write a __device__ function that takes the struct",
                           "'%s' has no member function '%s' that is supported",
                           type_name(p, e->type), name->text);
    }
    const scope *in = type_members(p, e->type, place);
    symbol *y = in ? symbol_here(in, name) : NULL;
    if (y && y->kind == SYMBOL_CONSTANT) /* a static member */
        return expr_known(p, y->constant, place);
    if (y && y->kind == SYMBOL_VAR)
        return use_var(p, y, place);
    return expr_member(p, place, e, name);
}

static kernel_expr *call_pointer(parser *p, kernel_expr *e, kernel_place place)
{
    const kernel_type *type = e->type->kind == TYPE_POINTER ? e->type->of : e->type;
    if (type->kind != TYPE_FUNCTION)
        parser_fail(p, place, "'%s' is not a function", type_name(p, e->type));
    kernel_expr **args;
    const uint32_t n = parse_arguments(p, &args);
    return call_through(p, e, place, args, n);
}

static kernel_expr *parse_postfix(parser *p)
{
    kernel_expr *e = parse_primary(p);
    for (;;) {
        const kernel_place place = p->t->place;
        if (p->split)
            return e;
        if (at(p, TOKEN_LBRACKET)) {
            const uint32_t chain = p->chain;
            p->t++;
            kernel_expr *i = parse_inside(p, TOKEN_RBRACKET, "after an index");
            if (p->chain < chain)
                p->chain = chain;
            function_decl *own = methods_of(p, e->type, "operator[]");
            e = own ? call_method(p, e, own, place, &i, 1) : expr_index(p, place, e, i);
        } else if (accept(p, TOKEN_DOT)) {
            e = parse_member(p, e, false);
        } else if (accept(p, TOKEN_ARROW)) {
            e = parse_member(p, e, true);
        } else if (at(p, TOKEN_INCREMENT) || at(p, TOKEN_DECREMENT)) {
            e = expr_step(p, place, (p->t++)->kind == TOKEN_INCREMENT, true, e);
        } else if (at(p, TOKEN_LPAREN) && methods_of(p, e->type, "operator()")) {
            e = parse_method(p, e, methods_of(p, e->type, "operator()"), place);
        } else if (accept(p, TOKEN_LPAREN)) {
            e = call_pointer(p, expr_value(p, e), place);
        } else {
            return e;
        }
        grow(p);
    }
}

/* (T)x and (T){...} */
static kernel_expr *parse_cast(parser *p)
{
    const kernel_place place = (p->t++)->place;
    const bool no_gt = p->no_gt;
    p->no_gt = false;
    const kernel_type *type = parse_type(p);
    p->no_gt = no_gt;
    expect(p, TOKEN_RPAREN, "after a type");
    if (at(p, TOKEN_LBRACE))
        return parse_braces(p, &type);
    return expr_cast(p, parse_unary(p), type, place);
}

/* At "box<5>": true if "::" and something other than a type follow, as in (box<5>::value + 1). */
static bool at_constant_inside(parser *p)
{
    const kernel_token *back = p->t;
    const bool no_gt = p->no_gt;
    p->no_gt = false;
    parse_type(p);
    const bool inside = at(p, TOKEN_SCOPE);
    p->no_gt = no_gt;
    p->t = back;
    return inside;
}

static bool at_cast(parser *p)
{
    if (!at(p, TOKEN_LPAREN))
        return false;
    p->t++;
    bool type = at_type(p);
    /* (float(x) + 1): a functional cast in parentheses */
    if (type && at(p, TOKEN_NAME) && p->t[1].kind == TOKEN_LPAREN && p->t[2].kind != TOKEN_STAR &&
        p->t[2].kind != TOKEN_AMP)
        type = p->t->keyword == KEYWORD_const;
    else if (type && at(p, TOKEN_NAME) && p->t[1].kind == TOKEN_LBRACE)
        type = false;
    else if (type && at(p, TOKEN_NAME) && !p->t->keyword && p->t[1].kind == TOKEN_LT)
        type = !at_constant_inside(p);
    p->t--;
    return type;
}

static kernel_expr *parse_prefix(parser *p)
{
    const kernel_place place = p->t->place;
    switch (p->t->kind) {
    case TOKEN_NOT:
    case TOKEN_TILDE:
    case TOKEN_MINUS:
    case TOKEN_PLUS: {
        const int token = (p->t++)->kind;
        return expr_unary(p, place, token, parse_unary(p));
    }
    case TOKEN_STAR: {
        p->t++;
        kernel_expr *e = parse_unary(p);
        function_decl *own = methods_of(p, e->type, "operator*");
        return own ? call_method(p, e, own, place, NULL, 0) : expr_deref(p, place, e);
    }
    case TOKEN_AMP: {
        p->t++;
        kernel_expr *member = accept_member_address(p);
        return member ? member : expr_address(p, place, parse_unary(p));
    }
    case TOKEN_INCREMENT:
    case TOKEN_DECREMENT: {
        const bool up = (p->t++)->kind == TOKEN_INCREMENT;
        return expr_step(p, place, up, false, parse_unary(p));
    }
    case TOKEN_LPAREN: return !at_fold(p) && at_cast(p) ? parse_cast(p) : parse_postfix(p);
    default: return parse_postfix(p);
    }
}

kernel_expr *parse_unary(parser *p)
{
    parser_down(p);
    kernel_expr *e = parse_prefix(p);
    parser_up(p);
    return e;
}

/* ---- binary and beyond ------------------------------------------------------------------------ */

static int next_precedence(const parser *p)
{
    if (p->split || (p->no_gt && at_close_angle(p)))
        return 0;
    return precedence[p->t->kind];
}

static kernel_expr *parse_binary(parser *p, int least)
{
    const uint32_t chain = p->chain;
    kernel_expr *a = parse_pointed(p);
    for (;;) {
        const int level = next_precedence(p);
        if (level < least || !level)
            return a;
        const kernel_token *op = p->t++;
        const uint32_t left = p->chain;
        p->chain = chain;
        const bool maybe = op->kind == TOKEN_AND_AND || op->kind == TOKEN_OR_OR;
        p->conditional += maybe;
        kernel_expr *b = parse_binary(p, level + 1);
        p->conditional -= maybe;
        if (p->chain < left)
            p->chain = left;
        grow(p);
        a = expr_binary(p, op->place, op->kind, a, b);
    }
}

static kernel_expr *parse_conditional(parser *p)
{
    kernel_expr *a = parse_binary(p, 1);
    if (!at(p, TOKEN_QUESTION))
        return a;
    const kernel_place place = (p->t++)->place;
    parser_down(p);
    p->conditional++;
    kernel_expr *b = parse_inside(p, TOKEN_COLON, "in '?:'");
    kernel_expr *c = parse_assignment(p);
    p->conditional--;
    parser_up(p);
    return expr_choose(p, place, a, b, c);
}

kernel_expr *parse_constant(parser *p) { return fold_all(p, expr_value(p, parse_conditional(p))); }

static bool is_assignment(int token) { return token >= TOKEN_ASSIGN && token <= TOKEN_SHR_ASSIGN; }

kernel_expr *expr_infix(parser *p, kernel_place place, int token, kernel_expr *a, kernel_expr *b)
{
    if (token == TOKEN_COMMA) {
        a = object_discard(p, a);
        if (expr_is_place(a) && a->type->kind != TYPE_ARRAY)
            a = expr_value(p, a);
        return expr_comma(p, a, expr_value(p, b));
    }
    if (token == TOKEN_ASSIGN)
        return expr_assign(p, place, a, b);
    if (is_assignment(token))
        return expr_update(p, place, token, a, b);
    if (!precedence[token])
        parser_fail(p, place, "a fold expression needs an operator");
    return expr_binary(p, place, token, a, b);
}

kernel_expr *parse_assignment(parser *p)
{
    parser_down(p);
    kernel_expr *to = parse_conditional(p);
    const kernel_token *op = p->t;
    const bool assigns = is_assignment(op->kind) && !p->split;
    if (assigns) {
        p->t++;
        grow(p);
        if (op->kind == TOKEN_ASSIGN && at(p, TOKEN_LBRACE)) {
            const kernel_type *type = to->type->plain;
            to = expr_assign(p, op->place, to, parse_braces(p, &type));
        } else {
            to = expr_infix(p, op->place, op->kind, to, parse_assignment(p));
        }
    }
    parser_up(p);
    return to;
}

kernel_expr *parse_expression(parser *p)
{
    kernel_expr *a = parse_assignment(p);
    while (at(p, TOKEN_COMMA) && !p->split) {
        const kernel_place place = (p->t++)->place;
        grow(p);
        a = expr_infix(p, place, TOKEN_COMMA, a, parse_assignment(p));
    }
    return a;
}

kernel_expr *parse_inside(parser *p, kernel_token_kind close, const char *where)
{
    const bool no_gt = p->no_gt;
    p->no_gt = false;
    kernel_expr *e = parse_expression(p);
    p->no_gt = no_gt;
    expect(p, close, where);
    return e;
}
