/* Constant folding of one operation, in the arithmetic of each type. */
#include <math.h>
#include <string.h>

#include "compiler/parse/parser.h"

/* ---- arithmetic of a type ---------------------------------------------------------------------- */

uint64_t fold_wrap(type_kind kind, uint64_t x)
{
    switch (kind) {
    case TYPE_BOOL: return x != 0;
    case TYPE_I8: return (uint64_t)(int64_t)(int8_t)x;
    case TYPE_U8: return (uint8_t)x;
    case TYPE_I16: return (uint64_t)(int64_t)(int16_t)x;
    case TYPE_U16: return (uint16_t)x;
    case TYPE_I32: return (uint64_t)(int64_t)(int32_t)x;
    case TYPE_U32: return (uint32_t)x;
    default: return x;
    }
}

/* Rounds to `bits` of mantissa (with the leading one), with exponents from least on; overflows beyond
 * most. */
static double round_to(double x, int bits, int least, double most)
{
    if (!(fabs(x) > 0) || isinf(x))
        return x;
    int exponent;
    frexp(x, &exponent);
    if (exponent < least)
        exponent = least;
    const double unit = ldexp(1, exponent - bits);
    const double y = nearbyint(x / unit) * unit;
    return fabs(y) > most ? copysign(INFINITY, x) : y;
}

double fold_round(type_kind kind, double x)
{
    switch (kind) {
    case TYPE_F16: return round_to(x, 11, -13, 65504);
    case TYPE_BF16: return round_to(x, 8, -125, 0x1.fep127);
    case TYPE_F32: return (double)(float)x;
    default: return x;
    }
}

/* Converts by the rules of builtins.def. */
static uint64_t float_to_integer(type_kind from, type_kind kind, double x)
{
    static const int bits[] = {[TYPE_I8] = 7,   [TYPE_U8] = 8,   [TYPE_I16] = 15, [TYPE_U16] = 16,
                               [TYPE_I32] = 31, [TYPE_U32] = 32, [TYPE_I64] = 63, [TYPE_U64] = 64};
    const bool is_signed = (kind - TYPE_I8) % 2 == 0;
    const bool narrow = kind<TYPE_I32, wide = kind> TYPE_U32;
    if (narrow && (from == TYPE_F32 || from == TYPE_F64))
        return fold_wrap(kind, float_to_integer(from, is_signed ? TYPE_I32 : TYPE_U32, x));
    if (isnan(x) && (wide || (from == TYPE_F64 && !narrow)))
        return fold_wrap(kind, UINT64_C(1) << (wide ? 63 : 31));
    if (isnan(x))
        return 0;
    const double top = ldexp(1, bits[kind]);
    if (x >= top)
        return fold_wrap(kind, is_signed ? (UINT64_C(1) << bits[kind]) - 1 : UINT64_MAX);
    if (x <= (is_signed ? -top : 0))
        return fold_wrap(kind, is_signed ? (uint64_t)INT64_MIN >> (63 - bits[kind]) |
                                               ~((UINT64_C(1) << bits[kind]) - 1)
                                         : 0);
    return is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
}

typedef fold_number number;

/* x, rounded to odd if a double cannot hold its lowest bits. Rounding the result is then the same as rounding
 * x. */
static uint64_t odd_53(uint64_t x, bool is_signed)
{
    const uint64_t size = is_signed && (int64_t)x < 0 ? 0 - x : x, rest = x & 2047;
    return size >> 53 && rest ? (x - rest) | 2048 : x;
}

bool fold_cast(const kernel_type *from, const kernel_type *to, number x, number *out)
{
    if (type_is_float(from)) {
        if (to->kind == TYPE_BOOL)
            out->integer = x.number != 0;
        else if (type_is_integer(to))
            out->integer = float_to_integer(from->kind, to->kind, x.number);
        else if (type_is_float(to))
            out->number = fold_round(to->kind, x.number);
        else
            return false;
        return true;
    }
    if (type_is_float(to)) {
        const bool is_signed = type_is_signed(from);
        /* Rounded once: through double only if that is exact, or if the type itself is wider. */
        if (to->kind == TYPE_F32)
            out->number = is_signed ? (double)(float)(int64_t)x.integer : (double)(float)x.integer;
        else
            out->number = fold_round(to->kind, is_signed ? (double)(int64_t)odd_53(x.integer, true)
                                                         : (double)odd_53(x.integer, false));
        return true;
    }
    out->integer = fold_wrap(to->kind, x.integer);
    return type_is_scalar(to);
}

static bool integer_op(const kernel_type *t, kernel_operator op, uint64_t a, uint64_t b,
                       number *out)
{
    const bool is_signed = type_is_signed(t);
    const int bits = (int)t->size * 8;
    const int64_t x = (int64_t)a, y = (int64_t)b;
    uint64_t r;
    switch (op) {
    case OP_ADD: r = a + b; break;
    case OP_SUB: r = a - b; break;
    case OP_MUL: r = a * b; break;
    case OP_DIV:
    case OP_REM:
        if (!b || (is_signed && y == -1 && a == fold_wrap(t->kind, UINT64_C(1) << (bits - 1))))
            return false;
        if (op == OP_DIV)
            r = is_signed ? (uint64_t)(x / y) : a / b;
        else
            r = is_signed ? (uint64_t)(x % y) : a % b;
        break;
    case OP_AND: r = a & b; break;
    case OP_OR: r = a | b; break;
    case OP_XOR: r = a ^ b; break;
    case OP_SHL:
    case OP_SHR:
        if (b >= (uint64_t)bits)
            return false;
        r = op == OP_SHL ? a << b : is_signed ? (uint64_t)(x >> b) : a >> b;
        break;
    case OP_EQ: r = a == b; break;
    case OP_NE: r = a != b; break;
    case OP_LT: r = is_signed ? x < y : a < b; break;
    case OP_LE: r = is_signed ? x <= y : a <= b; break;
    case OP_GT: r = is_signed ? x > y : a > b; break;
    case OP_GE: r = is_signed ? x >= y : a >= b; break;
    default: return false;
    }
    out->integer = op >= OP_EQ && op <= OP_GE ? r : fold_wrap(t->kind, r);
    return true;
}

/* Rounding to double and then to a type of at most 24 bits gives the same result as rounding once. */
static bool float_op(const kernel_type *t, kernel_operator op, double a, double b, number *out)
{
    switch (op) {
    case OP_ADD: out->number = fold_round(t->kind, a + b); return true;
    case OP_SUB: out->number = fold_round(t->kind, a - b); return true;
    case OP_MUL: out->number = fold_round(t->kind, a * b); return true;
    case OP_DIV: out->number = fold_round(t->kind, a / b); return true;
    case OP_EQ: out->integer = a == b; return true;
    case OP_NE: out->integer = a != b; return true;
    case OP_LT: out->integer = a < b; return true;
    case OP_LE: out->integer = a <= b; return true;
    case OP_GT: out->integer = a > b; return true;
    case OP_GE: out->integer = a >= b; return true;
    default: return false;
    }
}

bool fold_binary(const kernel_type *t, kernel_operator op, number a, number b, number *out)
{
    return type_is_float(t) ? float_op(t, op, a.number, b.number, out)
                            : integer_op(t, op, a.integer, b.integer, out);
}

bool fold_unary(const kernel_type *t, kernel_operator op, number a, number *out)
{
    if (op == OP_NOT)
        out->integer = !a.integer;
    else if (op == OP_INVERT)
        out->integer = fold_wrap(t->kind, ~a.integer);
    else if (type_is_float(t))
        out->number = -a.number;
    else
        out->integer = fold_wrap(t->kind, -a.integer);
    return true;
}

/* Between integers and floats of 32 or 64 bits. */
static bool bit_cast(const kernel_type *from, const kernel_type *to, number a, number *out)
{
    uint64_t bits = a.integer;
    if (from->kind == TYPE_F32) {
        const float x = (float)a.number;
        uint32_t word;
        memcpy(&word, &x, 4);
        bits = word;
    } else if (from->kind == TYPE_F64) {
        memcpy(&bits, &a.number, 8);
    }
    if (to->kind == TYPE_F32) {
        const uint32_t word = (uint32_t)bits;
        float x;
        memcpy(&x, &word, 4);
        out->number = (double)x;
    } else if (to->kind == TYPE_F64) {
        memcpy(&out->number, &bits, 8);
    } else {
        out->integer = fold_wrap(to->kind, bits);
    }
    return from->size >= 4 && type_is_arithmetic(from) && type_is_arithmetic(to);
}

/* Builtins that are used to compute sizes and limits. */
bool fold_builtin(const kernel_expr *e, const number *a, number *out)
{
    if (!e->n_args)
        return false;
    const kernel_type *t = e->args[0]->type;
    const bool is_signed = type_is_signed(t);
    switch (e->builtin) {
    case BUILTIN_MIN:
    case BUILTIN_MAX: {
        const bool less =
            is_signed ? (int64_t)a[0].integer < (int64_t)a[1].integer : a[0].integer < a[1].integer;
        *out = less == (e->builtin == BUILTIN_MIN) ? a[0] : a[1];
        return true;
    }
    case BUILTIN_BITCAST: return bit_cast(t, e->type, a[0], out);
    case BUILTIN_ABS:
        out->integer = fold_wrap(t->kind, (int64_t)a[0].integer < 0 ? -a[0].integer : a[0].integer);
        return true;
    case BUILTIN_POPC:
        out->integer =
            (uint64_t)__builtin_popcountll(t->size == 4 ? (uint32_t)a[0].integer : a[0].integer);
        return true;
    case BUILTIN_SQRT:
        out->number = fold_round(t->kind, sqrt(a[0].number));
        return t->kind >= TYPE_F32;
    case BUILTIN_FABS: out->number = fabs(a[0].number); return true;
    case BUILTIN_FLOOR: out->number = floor(a[0].number); return true;
    case BUILTIN_CEIL: out->number = ceil(a[0].number); return true;
    case BUILTIN_FMIN: out->number = fmin(a[0].number, a[1].number); return true;
    case BUILTIN_FMAX: out->number = fmax(a[0].number, a[1].number); return true;
    default: return false;
    }
}

/* ---- one node --------------------------------------------------------------------------------- */

static bool is_const(const kernel_expr *e) { return e->kind == EXPR_CONST; }

number fold_get(const kernel_expr *e)
{
    number n = {0};
    if (type_is_float(e->type))
        n.number = e->value.number;
    else
        n.integer = e->value.integer;
    return n;
}

kernel_expr *fold_put(parser *p, const kernel_expr *e, number n)
{
    kernel_expr *c = expr_new(p, EXPR_CONST, e->place, e->type);
    if (type_is_float(e->type))
        c->value.number = n.number;
    else
        c->value.integer = n.integer;
    c->soft = e->soft;
    return c;
}

kernel_expr *fold(parser *p, kernel_expr *e)
{
    number n = {0};
    bool known = false;
    switch (e->kind) {
    case EXPR_CAST:
        known = is_const(e->a) && fold_cast(e->a->type, e->type, fold_get(e->a), &n);
        break;
    case EXPR_UNARY:
        known = is_const(e->a) && fold_unary(e->type, e->op, fold_get(e->a), &n);
        break;
    case EXPR_BINARY:
        known = is_const(e->a) && is_const(e->b) && !type_is_pointer(e->type) &&
                fold_binary(e->a->type, e->op, fold_get(e->a), fold_get(e->b), &n);
        break;
    case EXPR_AND:
    case EXPR_OR:
        if (is_const(e->a)) {
            if ((e->kind == EXPR_AND) == (e->a->value.integer != 0))
                return e->b;
            known = true;
            n.integer = e->kind == EXPR_OR;
        }
        break;
    case EXPR_CHOOSE:
        if (is_const(e->a))
            return e->a->value.integer ? e->b : e->c;
        break;
    default: break;
    }
    return known ? fold_put(p, e, n) : e;
}

int64_t fold_integer(parser *p, kernel_expr *e, const char *what)
{
    e = expr_value(p, e);
    if (!type_is_integer(e->type))
        parser_fail(p, e->place, "%s is an integer, not '%s'", what, type_name(p, e->type));
    e = fold_all(p, e);
    if (e->kind != EXPR_CONST)
        parser_fail_do(p, e->place, "make it constexpr, a #define or a parameter of a template",
                       "%s is not a constant", what);
    return (int64_t)e->value.integer;
}
