/* Expressions. A conversion is written only where C has no implicit one. */
#include <string.h>

#include "compiler/print/parts.h"

typedef struct operator_row {
    const char *text;
    uint8_t level;
} operator_row;

static const operator_row operators[] = {
    [OP_NEGATE] = {"-", LEVEL_UNARY}, [OP_INVERT] = {"~", LEVEL_UNARY},
    [OP_NOT] = {"!", LEVEL_UNARY},    [OP_ADD] = {"+", LEVEL_SUM},
    [OP_SUB] = {"-", LEVEL_SUM},      [OP_MUL] = {"*", LEVEL_PRODUCT},
    [OP_DIV] = {"/", LEVEL_PRODUCT},  [OP_REM] = {"%", LEVEL_PRODUCT},
    [OP_AND] = {"&", LEVEL_BIT_AND},  [OP_OR] = {"|", LEVEL_BIT_OR},
    [OP_XOR] = {"^", LEVEL_BIT_XOR},  [OP_SHL] = {"<<", LEVEL_SHIFT},
    [OP_SHR] = {">>", LEVEL_SHIFT},   [OP_EQ] = {"==", LEVEL_EQUAL},
    [OP_NE] = {"!=", LEVEL_EQUAL},    [OP_LT] = {"<", LEVEL_ORDER},
    [OP_LE] = {"<=", LEVEL_ORDER},    [OP_GT] = {">", LEVEL_ORDER},
    [OP_GE] = {">=", LEVEL_ORDER},    [OP_OFFSET] = {"+", LEVEL_SUM},
    [OP_DISTANCE] = {"-", LEVEL_SUM}};

/* ---- small things ----------------------------------------------------------------------------- */

bool print_is_simple(const kernel_expr *e)
{
    switch (e->kind) {
    case EXPR_VAR:
    case EXPR_CONST:
    case EXPR_INDEX: return true;
    case EXPR_LOAD:
    case EXPR_DECAY:
    case EXPR_ADDRESS:
    case EXPR_MEMBER:
    case EXPR_DEREF:
    case EXPR_CAST:
    case EXPR_UNARY: return print_is_simple(e->a);
    case EXPR_BINARY: return print_is_simple(e->a) && print_is_simple(e->b);
    default: return false;
    }
}

const char *print_temp(printer *p, const kernel_type *t, uint8_t space)
{
    const char *name = print_name_new(p, print_format(p, "temp_%d", ++p->n_temps));
    text_add(&p->temps, "    %s;\n", print_declare(p, t, space, name, false));
    return name;
}

/* The kind that C computes in, for these operands of an arithmetic operator. */
static type_kind usual(type_kind a, type_kind b)
{
    const type_kind most = a > b ? a : b;
    return most < TYPE_I32 ? TYPE_I32 : most;
}

/* ---- forms of values -------------------------------------------------------------------------- */

const char *print_loader(printer *p, const kernel_type *t)
{
    if (is_cuda(p))
        return NULL;
    if (t->kind == TYPE_BF16) {
        print_use(p, PRELUDE_BF16);
        return "ig_from_bf16";
    }
    if (t->kind == TYPE_F16 && !p->target->f16) {
        print_use(p, PRELUDE_F16);
        return "ig_from_half";
    }
    return NULL;
}

const char *print_storer(printer *p, const kernel_type *t)
{
    const char *name = print_loader(p, t);
    return !name ? NULL : t->kind == TYPE_BF16 ? "ig_to_bf16" : "ig_to_half";
}

/* The function that rounds a value to a type that is computed in a wider one; NULL: not needed. */
static const char *rounder(printer *p, const kernel_type *t)
{
    const char *name = print_loader(p, t);
    return !name ? NULL : t->kind == TYPE_BF16 ? "ig_round_bf16" : "ig_round_half";
}

static void open_call(printer *p, const char *name)
{
    if (name)
        print_out(p, "%s(", name);
}

static void close_call(printer *p, const char *name)
{
    if (name)
        print_out(p, ")");
}

static void open_paren(printer *p, bool needed) { print_out(p, "%s", needed ? "(" : ""); }
static void close_paren(printer *p, bool needed) { print_out(p, "%s", needed ? ")" : ""); }

/* ---- places ----------------------------------------------------------------------------------- */

static bool is_handed(const printer *p, const kernel_var *v)
{
    if (v->storage <= STORE_LOCAL || is_cuda(p))
        return false;
    return v->storage != STORE_SHARED || !p->at->f->is_kernel;
}

/* An index without the implicit widening. */
static const kernel_expr *index_of(const kernel_expr *i)
{
    const bool widened = i->kind == EXPR_CAST && type_is_integer(i->a->type);
    return widened ? i->a : i;
}

void print_index(printer *p, const kernel_expr *i, int level)
{
    i = index_of(i);
    if (i->kind == EXPR_INDEX && *p->lang->index[i->base][i->axis] == '(')
        print_out(p, "%s", p->lang->index[i->base][i->axis] + strlen("(uint)"));
    else if (i->kind == EXPR_CONST)
        print_integer(p, p->tree->types.basic[WORD_INT], i->value.integer, level);
    else
        print_expr(p, i, level);
}

/* True if the cast only adds qualifiers to the pointee. */
static bool adds_const(const kernel_expr *e)
{
    const kernel_type *to = e->type, *from = e->a->type;
    return type_is_pointer(to) && type_is_pointer(from) && to->of->plain == from->of->plain &&
           (from->of->quals & ~to->of->quals) == 0 && e->space == e->a->space &&
           to->of->kind != TYPE_ARRAY;
}

static void dereference(printer *p, const kernel_expr *pointer, int level)
{
    while (pointer->kind == EXPR_CAST && adds_const(pointer))
        pointer = pointer->a;
    if (print_wmma_element(p, pointer, level))
        return;
    if (pointer->kind == EXPR_BINARY && pointer->op == OP_OFFSET) {
        print_expr(p, pointer->a, LEVEL_POSTFIX);
        print_out(p, "[");
        print_index(p, pointer->b, LEVEL_COMMA);
        print_out(p, "]");
    } else if (pointer->kind == EXPR_ADDRESS) {
        print_expr(p, pointer->a, level);
    } else {
        open_paren(p, level > LEVEL_UNARY);
        print_out(p, "*");
        print_expr(p, pointer, LEVEL_UNARY);
        close_paren(p, level > LEVEL_UNARY);
    }
}

static void member(printer *p, const kernel_expr *e)
{
    const kernel_type *t = e->a->type->plain;
    const char *name = print_member_name(p, t->record, e->as.member);
    const kernel_expr *a = e->a;
    print_wmma_share(p, e);
    const bool arrow = a->kind == EXPR_DEREF && !print_native(p, t) &&
                       !(a->a->kind == EXPR_BINARY && a->a->op == OP_OFFSET) &&
                       a->a->kind != EXPR_ADDRESS;
    if (arrow)
        print_expr(p, a->a, LEVEL_POSTFIX);
    else
        print_expr(p, a, LEVEL_POSTFIX);
    print_out(p, "%s%s", arrow ? "->" : ".", name);
}

static void variable(printer *p, const kernel_var *v, int level)
{
    const char *name = print_name_of(p, v);
    if (is_handed(p, v) && v->type->kind != TYPE_ARRAY) {
        open_paren(p, level > LEVEL_UNARY);
        print_out(p, "*%s", name);
        close_paren(p, level > LEVEL_UNARY);
    } else {
        print_out(p, "%s", name);
    }
}

static void address(printer *p, const kernel_expr *e, int level)
{
    const kernel_expr *a = e->a;
    const bool part = a->kind == EXPR_MEMBER && print_native(p, a->a->type->plain);
    const int own = part ? LEVEL_SUM : LEVEL_UNARY;
    open_paren(p, level > own);
    if (a->kind == EXPR_VAR && is_handed(p, a->as.var)) {
        if (a->type->kind == TYPE_ARRAY)
            print_out(p, "(%s)", print_type(p, e->type, e->space, true));
        print_out(p, "%s", print_name_of(p, a->as.var));
    } else if (part) { /* C has no pointers to parts of vectors */
        print_out(p, "(%s)&", print_type(p, e->type, e->space, true));
        print_expr(p, a->a, LEVEL_UNARY);
        const int at = (int)(a->as.member - a->a->type->record->members);
        if (at)
            print_out(p, " + %d", at);
    } else if (a->kind == EXPR_DEREF) {
        print_expr(p, a->a, LEVEL_UNARY);
    } else {
        print_out(p, "&");
        print_expr(p, a, LEVEL_UNARY);
    }
    close_paren(p, level > own);
}

/* ---- casts ------------------------------------------------------------------------------------ */

/* x != 0 */
static void truth(printer *p, const kernel_expr *a, int level)
{
    open_paren(p, level > LEVEL_EQUAL);
    print_expr(p, a, LEVEL_EQUAL + 1);
    print_out(p, " != ");
    if (type_is_float(a->type) || is_cuda(p)) {
        const kernel_expr zero = {
            .kind = EXPR_CONST, .type = a->type, .space = a->space, .soft = a->soft};
        print_expr(p, &zero, LEVEL_EQUAL + 1);
    } else {
        print_out(p, "0");
    }
    close_paren(p, level > LEVEL_EQUAL);
}

static void cast(printer *p, const kernel_expr *e, int level, bool unrounded)
{
    const kernel_expr *a = e->a;
    const kernel_type *t = e->type;
    const type_kind kind = print_kind_of(p, e), from = print_kind_of(p, a);
    if (t->kind == TYPE_BOOL && from != TYPE_BOOL) {
        truth(p, a, level);
        return;
    }
    if (adds_const(e)) {
        print_expr(p, a, level);
        return;
    }
    const int mode = type_is_integer(t) ? BUILTIN_CONVERT_RZ - BUILTIN_CONVERT_RN : 0;
    if (print_convert(p, t, a, mode, level))
        return;
    const char *rounding = t->kind != a->type->kind ? rounder(p, t) : NULL;
    if (rounding && a->type->kind == TYPE_F64 && print_kind_of(p, a) == TYPE_F64 &&
        t->kind == TYPE_F16) {
        print_use(p, PRELUDE_F16_F64);
        rounding = "ig_round_half_double";
    }
    if (rounding && unrounded && !is_cuda(p) && a->type->kind == TYPE_F32) {
        print_expr(p, a, level);
    } else if (rounding) {
        print_out(p, "%s(", rounding);
        print_expr(p, a, LEVEL_ASSIGN);
        print_out(p, ")");
    } else if (kind == from && kind != TYPE_POINTER) {
        print_expr(p, a, level);
    } else {
        open_paren(p, level > LEVEL_UNARY);
        print_out(p, "(%s)",
                  kind == TYPE_POINTER ? print_type(p, t, e->space, true)
                  : kind == TYPE_F32   ? "float"
                                       : print_type(p, t, SPACE_UNSET, false));
        print_expr(p, a, LEVEL_UNARY);
        close_paren(p, level > LEVEL_UNARY);
    }
}

/* e without a cast that changes nothing or that C makes implicitly in a conversion to kind `to`. */
static const kernel_expr *without_cast(const printer *p, const kernel_expr *e, type_kind to)
{
    while (e->kind == EXPR_CAST && type_is_arithmetic(e->type) && type_is_arithmetic(e->a->type)) {
        const type_kind kind = print_kind_of(p, e), from = print_kind_of(p, e->a);
        if (e->type->kind == TYPE_BOOL || kind != to ||
            (print_kind(p, e->type) != (type_kind)e->type->kind) ||
            (from == TYPE_F16) != (kind == TYPE_F16))
            break;
        if (kind != from && kind < from &&
            !(type_is_integer(e->type) && type_is_integer(e->a->type)))
            break; /* narrowing casts are shown */
        e = e->a;
    }
    return e;
}

/* True if its lower 32 bits do not depend on the upper bits of its operands. */
static bool is_modular(const kernel_expr *e)
{
    if (e->type->kind != TYPE_I32 && e->type->kind != TYPE_U32)
        return false;
    switch (e->kind) {
    case EXPR_INDEX:
    case EXPR_CONST:
    case EXPR_LOAD: return true;
    case EXPR_CAST: return is_modular(e->a);
    case EXPR_BINARY:
        return e->op >= OP_ADD && e->op <= OP_MUL && is_modular(e->a) && is_modular(e->b);
    default: return false;
    }
}

void print_into(printer *p, const kernel_expr *e, const kernel_type *to, bool stored, int level)
{
    const char *store = stored ? print_storer(p, to) : NULL;
    const bool before = p->bare_index;
    open_call(p, store);
    if (type_is_arithmetic(to) && !is_cuda(p))
        e = without_cast(p, e, print_kind(p, to));
    p->bare_index = (to->kind == TYPE_I32 || to->kind == TYPE_U32) && is_modular(e);
    p->unrounded = store != NULL;
    print_expr(p, e, store ? LEVEL_ASSIGN : level);
    p->bare_index = before;
    close_call(p, store);
}

/* ---- operators -------------------------------------------------------------------------------- */

/* Removes casts from the operands if C then still computes in `kind`. */
static void strip(const printer *p, type_kind kind, const kernel_expr **a, const kernel_expr **b)
{
    if (kind == TYPE_POINTER || is_cuda(p))
        return;
    const kernel_expr *x = without_cast(p, *a, kind), *y = without_cast(p, *b, kind);
    const type_kind kx = print_kind_of(p, x), ky = print_kind_of(p, y);
    if (usual(kx, ky) == kind) {
        *a = x;
        *b = y;
    } else if (usual(print_kind_of(p, *a), ky) == kind) {
        *b = y;
    } else if (usual(kx, print_kind_of(p, *b)) == kind) {
        *a = x;
    }
}

/* a op b, with extra parentheses where precedence is often misread. */
static void infix(printer *p, const kernel_expr *a, kernel_operator op, const kernel_expr *b)
{
    const int level = operators[op].level;
    const bool bits = level <= LEVEL_BIT_AND || level == LEVEL_SHIFT;
    const int left = bits && a->kind == EXPR_BINARY && a->op != op ? LEVEL_UNARY : level;
    const int right = bits ? LEVEL_UNARY : level + 1;
    print_expr(p, a, left);
    print_out(p, " %s ", operators[op].text);
    if (op == OP_OFFSET)
        print_index(p, b, LEVEL_PRODUCT);
    else
        print_expr(p, b, right);
}

/* True if a value is surely at least 0 and below the limit. */
static bool is_below(const kernel_expr *e, uint64_t limit)
{
    while (e->kind == EXPR_CAST && type_is_integer(e->type) && type_is_integer(e->a->type))
        e = e->a;
    if (e->kind == EXPR_CONST)
        return (uint64_t)e->value.integer < limit;
    if (e->kind != EXPR_BINARY)
        return false;
    if (e->op == OP_AND)
        return is_below(e->a, limit) || is_below(e->b, limit);
    return e->op == OP_REM && !type_is_signed(e->type) && is_below(e->b, limit + 1);
}

/* A shift that may be by the width of the type or more, which is undefined in C and defined on NVIDIA's GPUs. */
static bool shifts_far(const printer *p, const kernel_expr *e)
{
    return !is_cuda(p) && (e->op == OP_SHL || e->op == OP_SHR) &&
           !is_below(e->b, e->type->size == 8 ? 64 : 32);
}

static void shift(printer *p, const kernel_expr *e, int level)
{
    const bool wide = e->type->size == 8, is_signed = type_is_signed(e->type);
    const bool casts = is_signed && e->op == OP_SHL;
    print_use(p, wide ? PRELUDE_SHIFTS_64 : PRELUDE_SHIFTS);
    open_paren(p, casts && level > LEVEL_UNARY);
    if (casts)
        print_out(p, "(%s)", p->lang->values[e->type->kind]);
    print_out(p, "%s%s%s(", e->op == OP_SHL ? "ig_shl" : "ig_shr",
              is_signed && e->op == OP_SHR ? "_signed" : "", wide ? "_long" : "");
    print_expr(p, e->a, LEVEL_ASSIGN);
    print_out(p, ", ");
    print_expr(p, e->b, LEVEL_ASSIGN);
    print_out(p, ")");
    close_paren(p, casts && level > LEVEL_UNARY);
}

static void binary(printer *p, const kernel_expr *e, int level, bool unrounded)
{
    if (shifts_far(p, e)) {
        shift(p, e, level);
        return;
    }
    const char *rounding = unrounded ? NULL : rounder(p, e->type);
    const kernel_expr *a = e->a, *b = e->b;
    const int own = rounding ? LEVEL_POSTFIX : operators[e->op].level;
    if (e->op == OP_SHL || e->op == OP_SHR)
        ;
    else if (e->op != OP_OFFSET && e->op != OP_DISTANCE)
        strip(p, print_kind_of(p, e->a), &a, &b);
    open_paren(p, level > own);
    open_call(p, rounding);
    infix(p, a, e->op, b);
    close_call(p, rounding);
    close_paren(p, level > own);
}

/* Negation by a function, if the target needs it. */
static bool negated_by_call(printer *p, const kernel_expr *e)
{
    const int kind = e->type->kind;
    if (!p->target->negates_bits || e->op != OP_NEGATE || e->a->kind == EXPR_CONST ||
        (kind != TYPE_F32 && kind != TYPE_F64))
        return false;
    print_use(p, kind == TYPE_F64 ? PRELUDE_NEGATE_F64 : PRELUDE_NEGATE);
    open_call(p, kind == TYPE_F64 ? "ig_negate_double" : "ig_negate");
    print_expr(p, e->a, LEVEL_ASSIGN);
    close_call(p, "");
    return true;
}

static void unary(printer *p, const kernel_expr *e, int level)
{
    if (negated_by_call(p, e))
        return;
    open_paren(p, level > LEVEL_UNARY);
    print_out(p, "%s", operators[e->op].text);
    const bool twice = e->a->kind == EXPR_UNARY || e->a->kind == EXPR_CONST;
    print_expr(p, e->a, twice ? LEVEL_POSTFIX : LEVEL_UNARY);
    close_paren(p, level > LEVEL_UNARY);
}

static void logic(printer *p, const kernel_expr *e, int level)
{
    const int own = e->kind == EXPR_AND ? LEVEL_AND : LEVEL_OR;
    open_paren(p, level > own);
    print_expr(p, e->a, e->a->kind == EXPR_AND && own == LEVEL_OR ? LEVEL_UNARY : own);
    print_out(p, own == LEVEL_AND ? " && " : " || ");
    print_expr(p, e->b, e->b->kind == EXPR_AND && own == LEVEL_OR ? LEVEL_UNARY : own + 1);
    close_paren(p, level > own);
}

static void choose(printer *p, const kernel_expr *e, int level)
{
    open_paren(p, level > LEVEL_CHOOSE);
    print_expr(p, e->a, LEVEL_OR);
    print_around(p, " ? ", e->b, LEVEL_CHOOSE + 1, " : ");
    print_expr(p, e->c, LEVEL_CHOOSE);
    close_paren(p, level > LEVEL_CHOOSE);
}

/* ---- assignments ------------------------------------------------------------------------------ */

static void assign(printer *p, const kernel_expr *e, int level)
{
    const bool stored = print_is_stored(p, e->a);
    const char *load = level > LEVEL_EFFECT && stored ? print_loader(p, e->type) : NULL;
    open_call(p, load);
    open_paren(p, !load && level > LEVEL_ASSIGN);
    print_expr(p, e->a, LEVEL_UNARY);
    print_out(p, " = ");
    print_into(p, e->b, e->a->type->plain, stored, LEVEL_ASSIGN);
    close_paren(p, !load && level > LEVEL_ASSIGN);
    close_call(p, load);
}

static bool is_one(const kernel_expr *e)
{
    return e->kind == EXPR_CONST &&
           (type_is_float(e->type) ? e->value.number == 1 : e->value.integer == 1);
}

/* "++" or "--" if the update is one of them, else NULL. */
static const char *step_of(const kernel_expr *e)
{
    if (e->op == OP_OFFSET && e->b->kind == EXPR_CONST && e->b->value.integer == UINT64_MAX)
        return "--";
    if (!is_one(e->b))
        return NULL;
    return e->op == OP_ADD || e->op == OP_OFFSET ? "++" : e->op == OP_SUB ? "--" : NULL;
}

/* place = (type)((compute)place op b), for types without compound assignment in C. */
static void update_long(printer *p, const kernel_expr *e, int level)
{
    const kernel_type *t = e->a->type->plain;
    kernel_expr load = {.kind = EXPR_LOAD, .type = t, .place = e->place, .a = e->a};
    kernel_expr widened = {.kind = EXPR_CAST, .type = e->as.compute, .soft = e->soft, .a = &load};
    kernel_expr value = {.kind = EXPR_BINARY,
                         .op = e->op,
                         .type = e->as.compute,
                         .soft = e->soft,
                         .a = e->as.compute == t ? &load : &widened,
                         .b = e->b};
    kernel_expr back = {.kind = EXPR_CAST, .type = t, .a = &value};
    kernel_expr set = *e;
    set.kind = EXPR_ASSIGN;
    set.b = e->as.compute == t ? &value : &back;
    if (!print_is_simple(e->a)) {
        print_refuse(p, e->place, "IG-EXPR", "the place would be computed twice",
                     "take a reference to the place first",
                     "'%s=' on a %s through a computed place", operators[e->op].text,
                     p->lang->values[t->kind] ? p->lang->values[t->kind] : "bfloat16");
        print_stop(p);
    }
    if (!e->post) {
        assign(p, &set, level);
        return;
    }
    const char *old = print_temp(p, t, SPACE_UNSET);
    print_out(p, "(%s = ", old);
    print_expr(p, &load, LEVEL_ASSIGN);
    print_out(p, ", ");
    assign(p, &set, LEVEL_EFFECT);
    print_out(p, ", %s)", old);
}

static void update(printer *p, const kernel_expr *e, int level)
{
    const kernel_type *t = e->a->type->plain;
    const bool shifts = e->op == OP_SHL || e->op == OP_SHR;
    const kernel_expr *b = e->b;
    const char *step = step_of(e);
    if (type_is_arithmetic(t) && !step && !shifts) {
        const type_kind compute =
            e->soft && !p->target->f64 ? TYPE_F32 : print_kind(p, e->as.compute);
        const kernel_expr *bare = without_cast(p, b, compute);
        if (usual(print_kind(p, t), print_kind_of(p, bare)) == compute)
            b = bare;
        if (usual(print_kind(p, t), print_kind_of(p, b)) != compute)
            step = NULL;
    }
    const bool to_integer =
        type_is_integer(t) && type_is_float(e->as.compute) && !p->target->casts_fit;
    if (to_integer && !is_cuda(p)) { /* undefined in C */
        update_long(p, e, level);
        return;
    }
    if (print_differs(p, t) && (t->kind != TYPE_BOOL || print_is_stored(p, e->a))) {
        update_long(p, e, level);
        return;
    }
    if (shifts && print_is_simple(e->a) && shifts_far(p, e)) {
        update_long(p, e, level);
        return;
    }
    const int own = step ? (e->post ? LEVEL_POSTFIX : LEVEL_UNARY) : LEVEL_ASSIGN;
    const bool quiet = step && level == LEVEL_EFFECT;
    open_paren(p, level > own);
    if (step && !e->post && !quiet)
        print_out(p, "%s", step);
    print_expr(p, e->a, step ? (e->post || quiet ? LEVEL_POSTFIX : LEVEL_UNARY) : LEVEL_UNARY);
    if (step && (e->post || quiet)) {
        print_out(p, "%s", step);
    } else if (!step) {
        const bool back =
            e->op == OP_OFFSET && b->kind == EXPR_CONST && (int64_t)b->value.integer < 0;
        print_out(p, " %s= ", back ? "-" : operators[e->op].text);
        if (back)
            print_out(p, "%lld", -(long long)b->value.integer);
        else if (e->op == OP_OFFSET)
            print_index(p, b, LEVEL_ASSIGN);
        else
            print_expr(p, b, LEVEL_ASSIGN);
    }
    close_paren(p, level > own);
}

/* ---- calls and lists -------------------------------------------------------------------------- */

/* A value of the type for a parameter of a call by inactive threads. */
static void print_any(printer *p, const kernel_type *t)
{
    if (t->kind != TYPE_STRUCT || print_native(p, t)) {
        print_out(p, "0");
        return;
    }
    print_use(p, PRELUDE_EMPTY);
    print_out(p, is_opencl(p) ? "(%s){0}" : "ig_empty<%s>()", print_type(p, t, SPACE_UNSET, true));
}

static void call(printer *p, const kernel_expr *e)
{
    const print_function *f = print_function_of(p, e->as.function);
    print_out(p, "%s(", f->name);
    for (uint32_t i = 0; i < e->n_args; i++) {
        const kernel_var *v = f->f->params[i];
        const bool guarded = p->maybe && f->follows && !print_is_pure(e->args[i]);
        print_out(p, "%s", i ? ", " : "");
        if (guarded)
            print_out(p, "active ? ");
        print_into(p, e->args[i], v->type->plain, print_var_stored(v),
                   guarded ? LEVEL_CHOOSE + 1 : LEVEL_ASSIGN);
        if (guarded) {
            print_out(p, " : ");
            print_any(p, v->type->plain);
        }
    }
    print_hand_args(p, f, e->n_args == 0);
    print_out(p, ")");
}

/* The items between braces or parentheses; missing items are zero. */
void print_list_items(printer *p, const kernel_expr *e)
{
    const kernel_type *t = e->type->plain;
    const bool vector = print_native(p, t), metal = is_metal(p);
    const uint32_t n = vector ? t->record->n_vector : e->n_args;
    for (uint32_t i = 0; i < n; i++) {
        print_out(p, "%s", i ? ", " : "");
        if (i >= e->n_args) {
            print_out(p, "0");
            continue;
        }
        const kernel_expr *item = e->args[i];
        const kernel_type *to =
            t->kind == TYPE_ARRAY ? t->of->plain : t->record->members[i].type->plain;
        if (item->kind == EXPR_LIST && !print_native(p, item->type->plain)) {
            print_out(p, "{");
            print_list_items(p, item);
            print_out(p, "}");
        } else if (metal && !vector) { /* C++ forbids narrowing in braces */
            const char *store = print_storer(p, to);
            open_call(p, store);
            print_expr(p, item, LEVEL_ASSIGN);
            close_call(p, store);
        } else {
            print_into(p, item, to, true, LEVEL_ASSIGN);
        }
    }
    if (!n && is_opencl(p))
        print_out(p, "0");
}

static void list(printer *p, const kernel_expr *e, int level)
{
    const bool vector = print_native(p, e->type->plain), c = is_opencl(p);
    const char *name = print_type(p, e->type, SPACE_UNSET, true);
    const bool wrap = c && vector && level > LEVEL_UNARY;
    open_paren(p, wrap);
    print_out(p, c ? "(%s)%s" : "%s%s", name, vector ? "(" : "{");
    print_list_items(p, e);
    print_out(p, vector ? ")" : "}");
    close_paren(p, wrap);
}

static void load(printer *p, const kernel_expr *e, int level)
{
    const char *name = print_is_stored(p, e->a) ? print_loader(p, e->type) : NULL;
    open_call(p, name);
    print_expr(p, e->a, name ? LEVEL_ASSIGN : level);
    close_call(p, name);
}

void print_expr(printer *p, const kernel_expr *e, int level)
{
    const char *replaced =
        e->kind == EXPR_CALL || e->kind == EXPR_BUILTIN ? print_name_of(p, e) : NULL;
    if (replaced) { /* the call was printed before the statement */
        print_out(p, "%s", replaced);
        return;
    }
    const bool unrounded = p->unrounded; /* the store rounds it */
    p->unrounded = false;
    switch ((expr_kind)e->kind) {
    case EXPR_VAR: variable(p, e->as.var, level); break;
    case EXPR_DEREF: dereference(p, e->a, level); break;
    case EXPR_MEMBER: {
        const bool value =
            e->a->kind != EXPR_VAR && e->a->kind != EXPR_DEREF && e->a->kind != EXPR_MEMBER;
        const char *name = value ? print_loader(p, e->type) : NULL;
        open_call(p, name);
        member(p, e);
        close_call(p, name);
        break;
    }
    case EXPR_CONST: print_constant(p, e, level); break;
    case EXPR_STRING: break;
    case EXPR_LOAD: load(p, e, level); break;
    case EXPR_ADDRESS: address(p, e, level); break;
    case EXPR_DECAY: print_expr(p, e->a, level); break;
    case EXPR_CAST: cast(p, e, level, unrounded); break;
    case EXPR_UNARY: unary(p, e, level); break;
    case EXPR_BINARY: binary(p, e, level, unrounded); break;
    case EXPR_AND:
    case EXPR_OR: logic(p, e, level); break;
    case EXPR_CHOOSE: choose(p, e, level); break;
    case EXPR_COMMA:
        open_paren(p, level > LEVEL_COMMA);
        print_expr(p, e->a, LEVEL_EFFECT);
        print_out(p, ", ");
        print_expr(p, e->b, LEVEL_ASSIGN);
        close_paren(p, level > LEVEL_COMMA);
        break;
    case EXPR_ASSIGN: assign(p, e, level); break;
    case EXPR_UPDATE: update(p, e, level); break;
    case EXPR_CALL: call(p, e); break;
    case EXPR_BUILTIN:
        p->unrounded = unrounded;
        print_builtin(p, e, level);
        break;
    case EXPR_INDEX: {
        const char *name = p->lang->index[e->base][e->axis];
        if (*name == '(' && p->bare_index)
            name += strlen("(uint)");
        const bool wrap = *name == '(' && level > LEVEL_UNARY;
        open_paren(p, wrap);
        print_out(p, "%s", name);
        close_paren(p, wrap);
        break;
    }
    case EXPR_LIST: list(p, e, level); break;
    }
}

void print_around(printer *p, const char *before, const kernel_expr *e, int level,
                  const char *after)
{
    print_out(p, "%s", before);
    print_expr(p, e, level);
    print_out(p, "%s", after);
}
