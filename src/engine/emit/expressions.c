/* Rows of ops.def as C text: types of lanes, expressions, conversions. */
#include "engine/emit/writer.h"
#include "engine/ops/ops.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const expressions[OP_CORE_COUNT] = {
#define UNARY(name, accepts, result, expr, ulp, domain, gradient, exact, numpy, ...) \
    [OP_##name] = #expr,
#define BINARY(name, accepts, result, expr, ulp, domain, gradient, exact, numpy, ...) \
    [OP_##name] = #expr,
#define FOLD(name, accepts, identity, expr, ...) [OP_##name] = #expr,
#include "engine/ops/rows/elementwise.def"
};

static const char *const identities[OP_CORE_COUNT] = {
#define UNARY(name, accepts, result, expr, ulp, domain, gradient, exact, numpy, ...)
#define BINARY(name, accepts, result, expr, ulp, domain, gradient, exact, numpy, ...)
#define FOLD(name, accepts, identity, expr, ...) [OP_##name] = #identity,
#include "engine/ops/rows/elementwise.def"
};

const char *emit_lane_type(ig_dtype dtype)
{
    static const char *const types[DTYPE_COUNT] = {
        [IG_I8] = "signed char",   [IG_I16] = "short",
        [IG_I32] = "int",          [IG_I64] = "long long",
        [IG_U8] = "unsigned char", [IG_U16] = "unsigned short",
        [IG_U32] = "unsigned int", [IG_U64] = "unsigned long long",
        [IG_F32] = "float",        [IG_F64] = "double",
    };
    return types[dtype_lane(dtype)];
}

const char *emit_storage_type(ig_dtype dtype)
{
    return dtype_is_half(dtype) ? "unsigned short" : emit_lane_type(dtype);
}

/* True if the expression only has ring and bit operations. These are computed in unsigned types, which wrap and give
 * the same bits. */
static bool is_ring(const char *e) { return strpbrk(e, "_/%<>!=?") == NULL; }

static const char *unsigned_type(ig_dtype lane)
{
    return lane == IG_I64 ? "unsigned long long" : "unsigned int";
}

static void substitute(text *t, const char *e, const char *x, const char *y)
{
    while (*e) {
        const size_t n =
            strspn(e, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
        if (n == 1 && *e == 'x')
            text_add(t, "%s", x);
        else if (n == 1 && *e == 'y')
            text_add(t, "%s", y);
        else
            text_add(t, "%.*s", (int)(n ? n : 1), e);
        e += n ? n : 1;
    }
}

void emit_expression(text *t, int op, ig_dtype dtype, const char *x, const char *y)
{
    const ig_dtype lane = dtype_lane(dtype);
    const char *type = op_rows[op].result == RESULT_TRUTH ? "unsigned char" : emit_lane_type(lane);
    const char *e = expressions[op];
    text_add(t, "(%s)(", type);
    if (dtype_kind_of(lane) == DTYPE_KIND_SIGNED && is_ring(e)) {
        char ux[64], uy[64];
        snprintf(ux, sizeof ux, "(%s)%s", unsigned_type(lane), x);
        snprintf(uy, sizeof uy, "(%s)%s", unsigned_type(lane), y ? y : "0");
        substitute(t, e, ux, uy);
    } else
        substitute(t, e, x, y ? y : "0");
    text_add(t, ")");
}

void emit_identity(text *t, int fold, ig_dtype dtype)
{
    const char *type = emit_lane_type(dtype);
    char zero[48];
    snprintf(zero, sizeof zero, "((%s)0)", type);
    text_add(t, "(%s)(", type);
    substitute(t, identities[fold], zero, zero);
    text_add(t, ")");
}

bool emit_needs_math(int op)
{
    return strstr(expressions[op], "m_") || (identities[op] && strstr(identities[op], "m_"));
}

void emit_cast(emit_writer *w, ig_dtype from, ig_dtype to, const char *x)
{
    const bool floats = dtype_is_float(from);
    w->needs_f64 = w->needs_f64 || from == IG_F64 || to == IG_F64;
    if (to == IG_BOOL)
        text_add(&w->body, "(unsigned char)(%s != 0)", x);
    else if (dtype_is_half(to)) {
        w->uses |= USES_HALF;
        text_add(&w->body, "round_%s(%s)", ig_dtype_name(to), x);
    } else if (floats && dtype_is_int(to)) {
        w->uses |= USES_LANES;
        text_add(&w->body, "saturate_%s(%s)", ig_dtype_name(to), x);
    } else
        text_add(&w->body, "(%s)%s", emit_lane_type(to), x);
}
