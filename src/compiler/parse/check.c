/* Operators: checks their operands by the rules of C++ and makes the node. */
#include "compiler/parse/parser.h"

typedef struct operator_row {
    uint8_t op;   /* a kernel_operator */
    uint8_t kind; /* 'a'rithmetic, 'i'nteger, 's'hift, 'c'omparison */
} operator_row;

static const operator_row rows[TOKEN_KINDS] = {
    [TOKEN_PLUS] = {OP_ADD, 'a'},  [TOKEN_MINUS] = {OP_SUB, 'a'},   [TOKEN_STAR] = {OP_MUL, 'a'},
    [TOKEN_SLASH] = {OP_DIV, 'a'}, [TOKEN_PERCENT] = {OP_REM, 'i'}, [TOKEN_AMP] = {OP_AND, 'i'},
    [TOKEN_PIPE] = {OP_OR, 'i'},   [TOKEN_CARET] = {OP_XOR, 'i'},   [TOKEN_SHL] = {OP_SHL, 's'},
    [TOKEN_SHR] = {OP_SHR, 's'},   [TOKEN_EQ] = {OP_EQ, 'c'},       [TOKEN_NE] = {OP_NE, 'c'},
    [TOKEN_LT] = {OP_LT, 'c'},     [TOKEN_LE] = {OP_LE, 'c'},       [TOKEN_GT] = {OP_GT, 'c'},
    [TOKEN_GE] = {OP_GE, 'c'},
};

/* The operator of "+=" is "+". */
static const uint8_t operator_of[TOKEN_KINDS] = {
    [TOKEN_PLUS_ASSIGN] = TOKEN_PLUS,       [TOKEN_MINUS_ASSIGN] = TOKEN_MINUS,
    [TOKEN_STAR_ASSIGN] = TOKEN_STAR,       [TOKEN_SLASH_ASSIGN] = TOKEN_SLASH,
    [TOKEN_PERCENT_ASSIGN] = TOKEN_PERCENT, [TOKEN_AMP_ASSIGN] = TOKEN_AMP,
    [TOKEN_PIPE_ASSIGN] = TOKEN_PIPE,       [TOKEN_CARET_ASSIGN] = TOKEN_CARET,
    [TOKEN_SHL_ASSIGN] = TOKEN_SHL,         [TOKEN_SHR_ASSIGN] = TOKEN_SHR};

/* ---- the user's own operators ------------------------------------------------------------------ */

static bool in_scopes(const scope *from, const scope *s)
{
    for (; from; from = from->parent) {
        if (from == s)
            return true;
        for (const scope_link *u = from->using; u; u = u->next)
            if (u->to == s)
                return true;
    }
    return false;
}

/* True if an operator of the scope may convert its operands: it is visible here, or declared where the type of
 * an operand is. */
static bool is_associated(parser *p, const scope *s, const kernel_expr *a, const kernel_expr *b)
{
    const kernel_expr *const operands[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const kernel_type *type = operands[i] ? operands[i]->type : NULL;
        const kernel_syntax *x = type && type->kind == TYPE_STRUCT ? type->record->syntax : NULL;
        if (x && (x->members == s || in_scopes(x->scope, s)))
            return true;
    }
    return in_scopes(p->scope, s);
}

/* A call of operator+(a, b) if one fits; else NULL. */
static kernel_expr *user_operator(parser *p, kernel_place place, int token, kernel_expr *a,
                                  kernel_expr *b)
{
    const bool structs = a->type->kind == TYPE_STRUCT || (b && b->type->kind == TYPE_STRUCT);
    if (!structs && !a->type->enumeration && !(b && b->type->enumeration))
        return NULL;
    kernel_name *name = name_of(p, parser_format(p, "operator%s", kernel_token_kind_text(token)));
    kernel_expr *args[2] = {a, b}, *kept = NULL, *before = NULL;
    for (symbol *y = name->symbol; y; y = y->shadowed) {
        if (y->kind != SYMBOL_FUNCTION)
            continue;
        args[0] = a;
        if (y->as.functions->is_method && a->type->kind == TYPE_STRUCT && !expr_is_place(a)) {
            /* A member function may be called on a value, even if the function is not const. */
            kept = kept ? kept : expr_once(p, a, &before)->a;
            args[0] = kept;
        }
        const bool converting = p->converting;
        p->converting |= !structs || !is_associated(p, y->scope, a, b);
        kernel_expr *call =
            call_functions(p, y->as.functions, place, NULL, 0, args, b ? 2 : 1, true);
        p->converting = converting;
        if (!call)
            continue;
        if (!before || args[0] != kept)
            return call;
        return expr_comma(p, temporary_keep(p, kept->as.var, before), call);
    }
    return NULL;
}

static _Noreturn void wrong_operands(parser *p, kernel_place place, int token, const kernel_expr *a,
                                     const kernel_expr *b)
{
    const bool floats = (type_is_float(a->type) || type_is_float(b->type)) &&
                        rows[operator_of[token] ? operator_of[token] : token].kind != 'a';
    parser_error(p, place, "'%s' cannot be applied to '%s' and '%s'", kernel_token_kind_text(token),
                 type_name(p, a->type), type_name(p, b->type));
    if (!p->quiet) {
        if (a->type->kind == TYPE_STRUCT || b->type->kind == TYPE_STRUCT)
            diag_do(p->diags, "write it for each member, or define __device__ operator%s",
                    kernel_token_kind_text(token));
        else if (floats)
            diag_do(p->diags, "convert to an integer first%s",
                    token == TOKEN_PERCENT ? ", or use fmodf" : "");
    }
    parser_jump(p);
}

/* ---- binary ----------------------------------------------------------------------------------- */

kernel_expr *expr_op(parser *p, kernel_place place, kernel_operator op, kernel_expr *a,
                     kernel_expr *b)
{
    const bool compares = op >= OP_EQ && op <= OP_GE;
    kernel_expr *e =
        expr_new(p, EXPR_BINARY, place, compares ? type_word_of(p, WORD_BOOL) : a->type);
    e->op = op;
    e->a = a;
    e->b = b;
    e->soft = e->type->kind == TYPE_F64 && a->soft && b->soft;
    return fold(p, e);
}

static kernel_expr *to_offset(parser *p, kernel_expr *i)
{
    i = convert_operand(p, i);
    if (!type_is_integer(i->type))
        parser_fail(p, i->place, "an index is an integer, not '%s'", type_name(p, i->type));
    return expr_convert(p, expr_value(p, i), type_word_of(p, WORD_LONG), "an index");
}

static kernel_expr *offset(parser *p, kernel_place place, kernel_expr *a, kernel_expr *i, bool back)
{
    if (a->type->of->kind == TYPE_VOID)
        parser_fail_do(p, place, "cast it to char * first", "arithmetic with a void pointer");
    type_complete(p, a->type->of, place);
    i = to_offset(p, i);
    if (back)
        i = expr_unary(p, place, TOKEN_MINUS, i);
    kernel_expr *e = expr_node(p, EXPR_BINARY, place, a->type, a, i);
    e->op = OP_OFFSET;
    return e;
}

static kernel_expr *cast_pointer(parser *p, kernel_expr *e, const kernel_type *to)
{
    return e->type == to ? e : expr_cast(p, e, to, e->place);
}

/* The common pointer type of two pointers (or of one and 0); NULL if there is none. */
static const kernel_type *common_pointer(parser *p, kernel_expr *a, kernel_expr *b)
{
    if (!type_is_pointer(a->type))
        return expr_is_null(a) ? b->type : NULL;
    if (!type_is_pointer(b->type))
        return expr_is_null(b) ? a->type : NULL;
    if (expr_is_null(a) && a->type->word == WORD_NULL)
        return b->type;
    if (expr_is_null(b) && b->type->word == WORD_NULL)
        return a->type;
    const kernel_type *x = a->type->of, *y = b->type->of;
    const unsigned quals = x->quals | y->quals;
    const kernel_member *path[8];
    if (x->plain == y->plain || base_path(y, x, path) > 0)
        return type_pointer(p->types, type_qualify(p->types, x, quals));
    if (base_path(x, y, path) > 0)
        return type_pointer(p->types, type_qualify(p->types, y, quals));
    if (x->kind == TYPE_VOID || y->kind == TYPE_VOID)
        return type_pointer(p->types, type_qualify(p->types, type_word_of(p, WORD_VOID), quals));
    return NULL;
}

static kernel_expr *pointers(parser *p, kernel_place place, int token, kernel_expr *a,
                             kernel_expr *b)
{
    const bool pa = type_is_pointer(a->type), pb = type_is_pointer(b->type);
    if (token == TOKEN_PLUS && pa != pb)
        return offset(p, place, pa ? a : b, pa ? b : a, false);
    if (token == TOKEN_MINUS && pa && !pb)
        return offset(p, place, a, b, true);
    const kernel_type *type = common_pointer(p, a, b);
    if (!type || (rows[token].kind != 'c' && token != TOKEN_MINUS))
        wrong_operands(p, place, token, a, b);
    a = cast_pointer(p, a, type);
    b = cast_pointer(p, b, type);
    if (token != TOKEN_MINUS)
        return expr_op(p, place, rows[token].op, a, b);
    if (type->of->kind == TYPE_VOID)
        parser_fail_do(p, place, "cast them to char * first", "arithmetic with void pointers");
    type_complete(p, type->of, place);
    kernel_expr *e = expr_node(p, EXPR_BINARY, place, type_word_of(p, WORD_LONG), a, b);
    e->op = OP_DISTANCE;
    return e;
}

static kernel_expr *logical(parser *p, kernel_place place, int token, kernel_expr *a,
                            kernel_expr *b)
{
    const expr_kind kind = token == TOKEN_AND_AND ? EXPR_AND : EXPR_OR;
    a = expr_bool(p, a);
    return fold(p, expr_node(p, kind, place, type_word_of(p, WORD_BOOL), a, expr_bool(p, b)));
}

kernel_expr *expr_binary(parser *p, kernel_place place, int token, kernel_expr *a, kernel_expr *b)
{
    if (token == TOKEN_AND_AND || token == TOKEN_OR_OR)
        return logical(p, place, token, a, b);
    kernel_expr *made = user_operator(p, place, token, a, b);
    if (made)
        return made;
    a = expr_value(p, convert_operand(p, a));
    b = expr_value(p, convert_operand(p, b));
    const operator_row row = rows[token];
    made = builtin_pair(p, place, row.op, a, b);
    if (made)
        return made;
    if (type_is_pointer(a->type) || type_is_pointer(b->type))
        return pointers(p, place, token, a, b);
    const bool enums = row.kind == 'c' && a->type == b->type && a->type->enumeration;
    const kernel_type *type = enums ? a->type : type_usual(p, a->type, b->type);
    if (!type || (type_is_float(type) && (row.kind == 'i' || row.kind == 's')))
        wrong_operands(p, place, token, a, b);
    if (enums) { /* operands of scoped enums are compared as integers, too */
        type = type_promote(p, type);
        return expr_op(p, place, row.op, expr_cast(p, a, type, place),
                       expr_cast(p, b, type, place));
    }
    if (row.kind == 's')
        return expr_op(p, place, row.op, expr_convert(p, a, type_promote(p, a->type), "an operand"),
                       expr_convert(p, b, type_promote(p, b->type), "an operand"));
    return expr_op(p, place, row.op, expr_convert(p, a, type, "an operand"),
                   expr_convert(p, b, type, "an operand"));
}

/* ---- unary ------------------------------------------------------------------------------------ */

kernel_expr *expr_unary(parser *p, kernel_place place, int token, kernel_expr *a)
{
    kernel_expr *made = user_operator(p, place, token, a, NULL);
    if (made)
        return made;
    if (token == TOKEN_NOT) {
        kernel_expr *e =
            expr_node(p, EXPR_UNARY, place, type_word_of(p, WORD_BOOL), expr_bool(p, a), NULL);
        e->op = OP_NOT;
        return fold(p, e);
    }
    if (token == TOKEN_PLUS && lambda_function(p, a->type, NULL))
        return lambda_pointer(p, a, NULL);
    a = expr_value(p, convert_operand(p, a));
    if (token == TOKEN_PLUS && type_is_pointer(a->type))
        return a;
    made = token == TOKEN_MINUS ? builtin_pair(p, place, OP_NEGATE, a, NULL) : NULL;
    if (made)
        return made;
    const kernel_type *type = type_usual(p, a->type, a->type) ? type_promote(p, a->type) : NULL;
    if (!type || (token == TOKEN_TILDE && !type_is_integer(type)))
        parser_fail(p, place, "'%s' cannot be applied to '%s'", kernel_token_kind_text(token),
                    type_name(p, a->type));
    a = expr_convert(p, a, type, "an operand");
    if (token == TOKEN_PLUS)
        return a;
    kernel_expr *e = expr_node(p, EXPR_UNARY, place, type, a, NULL);
    e->op = token == TOKEN_TILDE ? OP_INVERT : OP_NEGATE;
    e->soft = a->soft;
    return fold(p, e);
}

kernel_expr *expr_choose(parser *p, kernel_place place, kernel_expr *a, kernel_expr *b,
                         kernel_expr *c)
{
    a = expr_bool(p, a);
    const kernel_type *type = NULL;
    if (b->type->kind == TYPE_VOID && c->type->kind == TYPE_VOID) {
        type = b->type->plain;
    } else {
        b = expr_value(p, b);
        c = expr_value(p, c);
        if (b->type == c->type)
            type = b->type;
        else if (type_is_pointer(b->type) || type_is_pointer(c->type))
            type = common_pointer(p, b, c);
        else
            type = type_usual(p, b->type, c->type);
        if (!type)
            parser_fail_do(p, place, "cast one of them",
                           "'?:' with '%s' and '%s', which have no type in common",
                           type_name(p, b->type), type_name(p, c->type));
        b = expr_convert(p, b, type, "'?:'");
        c = expr_convert(p, c, type, "'?:'");
    }
    kernel_expr *e = expr_node(p, EXPR_CHOOSE, place, type, a, b);
    e->c = c;
    e->soft = b->soft && c->soft;
    return fold(p, e);
}

/* ---- assignments ------------------------------------------------------------------------------ */

static void check_assignable(parser *p, kernel_place place, kernel_expr *to)
{
    if (!expr_is_place(to))
        parser_fail(p, place, "a value cannot be assigned to");
    if (to->type->quals & TYPE_CONST)
        parser_fail(p, place, "a const object cannot be assigned to");
    if (to->type->kind == TYPE_ARRAY)
        parser_fail_do(p, place, "copy the elements in a loop", "an array cannot be assigned to");
    if (to->type->kind == TYPE_VOID)
        parser_fail_do(p, place, "cast the pointer to the type that it points to",
                       "a void pointer cannot be written through");
    /* Find the variable that the place is part of. */
    while (to->kind == EXPR_MEMBER || to->kind == EXPR_DEREF || to->kind == EXPR_DECAY ||
           to->kind == EXPR_ADDRESS || (to->kind == EXPR_BINARY && to->op == OP_OFFSET))
        to = to->a;
    if (to->kind == EXPR_VAR) {
        if (to->as.var->storage == STORE_CONSTANT)
            parser_fail(p, place, "constant memory cannot be written by a kernel");
        to->as.var->assigned = true;
    }
}

kernel_expr *expr_assign(parser *p, kernel_place place, kernel_expr *to, kernel_expr *value)
{
    kernel_expr *made = to->type->kind == TYPE_STRUCT ? object_assign(p, place, to, value) : NULL;
    if (made)
        return made;
    to = expr_chosen_place(p, to);
    check_assignable(p, place, to);
    if (to->type->kind == TYPE_STRUCT && value->type->plain == to->type->plain)
        value = expr_value(p, value);
    else
        value = expr_convert(p, value, to->type->plain, "an assignment");
    if (bit_field(to))
        value = bit_field_value(p, bit_field(to), value);
    return expr_node(p, EXPR_ASSIGN, place, to->type->plain, to, value);
}

/* A place that is used twice. */
kernel_expr *expr_place_once(parser *p, kernel_expr *e, kernel_expr **before)
{
    e = expr_chosen_place(p, e);
    if (!expr_is_place(e))
        parser_fail(p, e->place, "a variable, or a part of one, is needed here, not a value");
    if (e->kind == EXPR_VAR)
        return e;
    if (e->kind == EXPR_MEMBER) {
        kernel_expr *m = expr_new(p, EXPR_MEMBER, e->place, e->type);
        *m = *e;
        m->a = expr_place_once(p, e->a, before);
        return m;
    }
    return expr_deref(p, e->place, expr_once(p, e->a, before));
}

static kernel_expr *update_by_parts(parser *p, kernel_place place, int token, kernel_expr *to,
                                    kernel_expr *value)
{
    kernel_expr *before = NULL;
    to = expr_place_once(p, to, &before);
    value = expr_binary(p, place, operator_of[token], to, value);
    return expr_comma(p, before, expr_assign(p, place, to, value));
}

static kernel_expr *update(parser *p, kernel_place place, kernel_operator op, kernel_expr *to,
                           const kernel_type *compute, kernel_expr *value)
{
    kernel_expr *e = expr_node(p, EXPR_UPDATE, place, to->type->plain, to, value);
    e->op = op;
    e->as.compute = compute;
    e->soft = compute->kind == TYPE_F64 && to->type->kind != TYPE_F64 && value->soft;
    return e;
}

kernel_expr *expr_update(parser *p, kernel_place place, int token, kernel_expr *to,
                         kernel_expr *value)
{
    kernel_expr *made = user_operator(p, place, token, to, value);
    if (made)
        return made;
    if (to->type->kind == TYPE_STRUCT || bit_field(to)) /* float3 with operator+, half2 */
        return update_by_parts(p, place, token, to, value);
    check_assignable(p, place, to);
    value = expr_value(p, convert_operand(p, value));
    const operator_row row = rows[operator_of[token]];
    if (type_is_pointer(to->type)) {
        if (row.op != OP_ADD && row.op != OP_SUB)
            wrong_operands(p, place, token, to, value);
        value = offset(p, place, expr_value(p, to), value, row.op == OP_SUB)->b;
        return update(p, place, OP_OFFSET, to, to->type->plain, value);
    }
    const kernel_type *type = type_usual(p, to->type, value->type);
    if (!type || to->type->enumeration || (type_is_float(type) && row.kind != 'a'))
        wrong_operands(p, place, token, to, value);
    if (row.kind == 's')
        return update(p, place, row.op, to, type_promote(p, to->type),
                      expr_convert(p, value, type_promote(p, value->type), "an operand"));
    return update(p, place, row.op, to, type, expr_convert(p, value, type, "an operand"));
}

kernel_expr *expr_step(parser *p, kernel_place place, bool up, bool post, kernel_expr *to)
{
    kernel_expr *mark = post ? expr_integer(p, place, type_word_of(p, WORD_INT), 0) : NULL;
    kernel_expr *own = user_operator(p, place, up ? TOKEN_INCREMENT : TOKEN_DECREMENT, to, mark);
    if (own)
        return own;
    if (bit_field(to)) {
        kernel_expr *before = NULL;
        to = expr_place_once(p, to, &before);
        kernel_expr *old = post ? expr_once(p, expr_value(p, to), &before) : NULL;
        kernel_expr *made = expr_binary(p, place, up ? TOKEN_PLUS : TOKEN_MINUS, to,
                                        expr_integer(p, place, type_word_of(p, WORD_INT), 1));
        made = expr_comma(p, before, expr_assign(p, place, to, made));
        return old ? expr_comma(p, made, old) : made;
    }
    check_assignable(p, place, to);
    const kernel_type *type = to->type->plain;
    if (type->kind == TYPE_BOOL || !type_is_scalar(type) || type->enumeration ||
        type->word >= WORD_NULL)
        parser_fail(p, place, "'%s' cannot be applied to '%s'", up ? "++" : "--",
                    type_name(p, type));
    kernel_expr *e;
    if (type_is_pointer(type)) {
        kernel_expr *one = expr_integer(p, place, type_word_of(p, WORD_LONG), up ? 1 : UINT64_MAX);
        type_complete(p, type->of, place);
        e = update(p, place, OP_OFFSET, to, type, one);
    } else {
        const kernel_type *compute = type_promote(p, type);
        kernel_expr *one = type_is_float(compute) ? expr_number(p, place, compute, 1)
                                                  : expr_integer(p, place, compute, 1);
        e = update(p, place, up ? OP_ADD : OP_SUB, to, compute, one);
    }
    e->post = post;
    return e;
}

/* ---- parts ------------------------------------------------------------------------------------ */

kernel_expr *expr_index(parser *p, kernel_place place, kernel_expr *a, kernel_expr *i)
{
    a = expr_value(p, convert_operand(p, a));
    i = expr_value(p, i);
    if (!type_is_pointer(a->type) && type_is_pointer(i->type)) {
        kernel_expr *t = a;
        a = i;
        i = t;
    }
    if (!type_is_pointer(a->type))
        parser_fail(p, place, "'%s' cannot be indexed: it is neither an array nor a pointer",
                    type_name(p, a->type));
    return expr_deref(p, place, offset(p, place, a, i, false));
}

kernel_expr *expr_member(parser *p, kernel_place place, kernel_expr *a, const kernel_name *name)
{
    if (a->type->kind != TYPE_STRUCT)
        parser_fail(p, place, "'%s' has no members", type_name(p, a->type));
    type_complete(p, a->type, place);
    kernel_struct *s = a->type->record;
    if (a->kind == EXPR_LIST && s->n_vector) /* threadIdx.x */
        for (uint32_t i = 0; i < a->n_args; i++)
            if (s->members[i].name == name)
                return a->args[i];
    const kernel_member *path[8];
    const int n = type_member_find(s, name, path);
    if (!n) {
        parser_error(p, place, "'%s' has no member '%s'", type_name(p, a->type), name->text);
        if (!p->quiet && s->has_methods)
            diag_do(p->diags,
                    "if it is a template: write a __device__ function that takes the struct");
        parser_jump(p);
    }
    kernel_expr *before = NULL;
    if (!expr_is_place(a) && object_ends(p, a->type)) {
        a = expr_once(p, a, &before)->a;
        before = temporary_keep(p, a->as.var, before);
    }
    for (int i = 0; i < n; i++) {
        const kernel_type *type = path[i]->type;
        if (expr_is_place(a))
            type = type_qualify(p->types, type, a->type->quals);
        a = expr_node(p, EXPR_MEMBER, place, expr_is_place(a) ? type : type->plain, a, NULL);
        a->as.member = path[i];
    }
    if (path[n - 1]->is_reference)
        a = expr_deref(p, place, a);
    return before ? expr_comma(p, before, expr_value(p, a)) : a;
}
