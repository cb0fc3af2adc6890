/* Values: registers as C expressions, and arithmetic. What has no expression here calls the loop that the lane machine
 * uses, so all results have its bits. */
#include "compiler/native/writer.h"

#include "base/memory.h"
#include "engine/ops/op_id.h"

#include <stdio.h>
#include <string.h>

/* ---- types ---- */

typedef struct type_row {
    const char *type, *vector, *element, *kept;
} type_row;

static const type_row types[] = {
    [IG_BOOL] = {"u8", "vi", "u8", "i32"},   [IG_I8] = {"i8", "vi", "i8", "i32"},
    [IG_I16] = {"i16", "vi", "i16", "i32"},  [IG_I32] = {"i32", "vi", "i32", "i32"},
    [IG_I64] = {"i64", "vl", "i64", "i64"},  [IG_U8] = {"u8", "vu", "u8", "u32"},
    [IG_U16] = {"u16", "vu", "u16", "u32"},  [IG_U32] = {"u32", "vu", "u32", "u32"},
    [IG_U64] = {"u64", "vq", "u64", "u64"},  [IG_F16] = {"u16", "vu", "u16", "u32"},
    [IG_BF16] = {"u16", "vu", "u16", "u32"}, [IG_F32] = {"f32", "vf", "f32", "f32"},
    [IG_F64] = {"f64", "vd", "f64", "f64"},
};

const char *write_type(int dtype) { return types[dtype].type; }
const char *write_vector(int dtype) { return types[dtype].vector; }
const char *write_element(int dtype) { return types[dtype].element; }
const char *write_kept(int dtype) { return types[dtype].kept; }

static bool is_wide(int dtype) { return ig_dtype_bytes((ig_dtype)dtype) == 8; }
static bool is_half(int dtype) { return dtype == IG_F16 || dtype == IG_BF16; }
static bool is_real(int dtype) { return dtype == IG_F32 || dtype == IG_F64; }
static bool is_small(int dtype) { return ig_dtype_bytes((ig_dtype)dtype) < 4; }

/* ---- registers ---- */

bool write_is_scalar(const writer *w, int32_t r)
{
    return w->mode <= MODE_LANE || w->p->kind[r] != KIND_VARY;
}

bool write_is_one(const writer *w, int32_t r)
{
    return w->mode <= MODE_LANE || plan_scalar(w->p, r);
}

static void write_constant(writer *w, const code_reg *reg)
{
    const int d = reg->dtype;
    if (d == IG_F32)
        SAY(w, "BITS(f32, 0x%xu)", (unsigned)reg->bits);
    else if (d == IG_F64)
        SAY(w, "BITS(f64, 0x%llxull)", (unsigned long long)reg->bits);
    else if (d == IG_BOOL)
        SAY(w, "(u8)%d", (reg->bits & 1) != 0);
    else
        SAY(w, "((%s)0x%llxull)", types[d].type, (unsigned long long)reg->bits);
}

void write_scalar(writer *w, int32_t r)
{
    if (w->c->reg[r].origin == ORIGIN_CONSTANT)
        write_constant(w, &w->c->reg[r]);
    else
        SAY(w, "s%d", r);
}

void write_lanes(writer *w, int32_t r, int unit)
{
    const int d = w->c->reg[r].dtype;
    const native_kind kind = (native_kind)w->p->kind[r];
    if (kind == KIND_VARY) {
        SAY(w, "v%d_%d", r, unit);
        return;
    }
    SAY(w, d == IG_BOOL ? "MASK(" : "(SPLAT_%s(", types[d].vector);
    write_scalar(w, r);
    SAY(w, ")");
    if (kind == KIND_AFFINE)
        SAY(w, " + ((%s){IOTA} + %d) * (%s)%lldll", types[d].vector, unit * w->p->width,
            types[d].type, (long long)w->p->stride[r]);
    if (kind == KIND_PATTERN) {
        SAY(w, " + (%s){", types[d].vector);
        for (int l = 0; l < w->p->width; l++)
            SAY(w, "%lld,", (long long)plan_offset(w->p, r, unit * w->p->width + l));
        SAY(w, "}");
    }
    if (d != IG_BOOL)
        SAY(w, ")");
}

void write_bits(writer *w, int unit)
{
    if (w->mode == MODE_FULL)
        SAY(w, "FULL");
    else
        SAY(w, "bits(m_%d)", unit);
}

static bool is_kept(const writer *w, const code_inst *i)
{
    return w->mode == MODE_MASKED && i->flags & CODE_MASKED;
}

void write_assign(writer *w, const code_inst *i, int unit)
{
    const char *v = types[w->c->reg[i->d].dtype].vector;
    if (is_kept(w, i))
        SAY(w, "v%d_%d = pick_%s(m_%d, (%s)(", i->d, unit, v, unit, v);
    else
        SAY(w, "v%d_%d = (%s)(", i->d, unit, v);
}

void write_assigned(writer *w, const code_inst *i, int unit)
{
    if (is_kept(w, i))
        SAY(w, "), v%d_%d);\n", i->d, unit);
    else
        SAY(w, ");\n");
}

/* ---- arrays of lanes ---- */

void write_array(writer *w, const char *name, int32_t r, int dtype)
{
    const char *e = types[dtype].element;
    if (r == CODE_NONE)
        return;
    SAY(w, "%s %s[%d];\n", e, name, w->p->lanes);
    for (int u = 0; u < w->p->units; u++) {
        SAY(w, "pack_%s(%s + %d, ", e, name, u * w->p->width);
        SAY(w, dtype == IG_BOOL ? "(vu)(" : "(%s)(", types[dtype].vector);
        write_lanes(w, r, u);
        SAY(w, dtype == IG_BOOL ? " & 1));\n" : "));\n");
    }
}

void write_from_array(writer *w, const code_inst *i, const char *name, int dtype)
{
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        SAY(w, dtype == IG_BOOL ? "unpack_%s(%s + %d) != 0" : "unpack_%s(%s + %d)",
            types[dtype].element, name, u * w->p->width);
        write_assigned(w, i, u);
    }
}

int write_call(writer *w, bool is_row, int row, int dtype)
{
    native_text *o = w->out;
    for (int n = 0; n < o->n_call; n++)
        if (o->call[n].is_row == is_row && o->call[n].row == row && o->call[n].dtype == dtype)
            return n;
    if (o->n_call == w->call_room) {
        const int room = w->call_room * 2 + 8;
        native_call *more = memory_get((size_t)room * sizeof *more);
        if (!more) {
            w->failed = true;
            return 0;
        }
        if (o->n_call)
            memcpy(more, o->call, (size_t)o->n_call * sizeof *more);
        memory_free(o->call);
        o->call = more;
        w->call_room = room;
    }
    o->call[o->n_call] = (native_call){is_row, (uint16_t)row, (uint8_t)dtype};
    return o->n_call++;
}

static void write_operand_copy(writer *w, const char *name, int32_t r, int dtype)
{
    if (r == CODE_NONE)
        return;
    SAY(w, "const %s %s = ", types[dtype].type, name);
    write_scalar(w, r);
    SAY(w, ";\n");
}

/* Calls the loop of the row for one value, or for the lanes of a group. */
static void write_loop(writer *w, const code_inst *i)
{
    const int n = write_call(w, i->op == CODE_ROW, i->row, dtype_lane((ig_dtype)i->dtype));
    const int result = w->c->reg[i->d].dtype;
    const char *args[] = {i->a == CODE_NONE ? "0" : "x_", i->b == CODE_NONE ? "0" : "y_",
                          i->c == CODE_NONE ? "0" : "z_"};
    SAY(w, "{\n");
    if (write_is_scalar(w, i->d)) {
        const char *and[] = {i->a == CODE_NONE ? "" : "&", i->b == CODE_NONE ? "" : "&",
                             i->c == CODE_NONE ? "" : "&"};
        write_operand_copy(w, "x_", i->a, i->dtype);
        write_operand_copy(w, "y_", i->b, i->dtype);
        write_operand_copy(w, "z_", i->c, i->dtype);
        SAY(w, "%s d_;\nb->loop[%d](1, &d_, %s%s, %s%s, %s%s);\ns%d = d_;\n}\n", types[result].type,
            n, and[0], args[0], and[1], args[1], and[2], args[2], i -> d);
        return;
    }
    write_array(w, "x_", i->a, i->dtype);
    write_array(w, "y_", i->b, i->dtype);
    write_array(w, "z_", i->c, i->dtype);
    SAY(w, "%s d_[%d];\nb->loop[%d](%d, d_, %s, %s, %s);\n", types[result].element, w->p->lanes, n,
        w->p->lanes, args[0], args[1], args[2]);
    write_from_array(w, i, "d_", result);
    SAY(w, "}\n");
}

/* ---- rows as expressions ---- */

enum { FOR_INT = 1, FOR_WIDE = 2, FOR_REAL = 4, FOR_SMALL = 8, FOR_BOOL = 16 };
enum { FOR_WHOLE = FOR_INT | FOR_WIDE, FOR_NUMBERS = FOR_WHOLE | FOR_REAL };
enum { FOR_ORDER = FOR_NUMBERS | FOR_SMALL, FOR_BITS = FOR_WHOLE | FOR_SMALL | FOR_BOOL };

/* $x, $y, $z are the operands, $T the type of a value, $V of a vector. */
typedef struct row_text {
    int row;
    int takes;
    bool truth; /* gives a mask */
    const char *vector, *scalar;
} row_text;

static const row_text maps[] = {
    {OP_add, FOR_NUMBERS, false, "$x + $y", "$x + $y"},
    {OP_subtract, FOR_NUMBERS, false, "$x - $y", "$x - $y"},
    {OP_multiply, FOR_NUMBERS, false, "$x * $y", "$x * $y"},
    {OP_divide, FOR_REAL, false, "$x / $y", "$x / $y"},
    {OP_negative, FOR_NUMBERS, false, "-$x", "-$x"},
    {OP_positive, FOR_NUMBERS, false, "$x", "$x"},
    {OP_square, FOR_NUMBERS, false, "$x * $x", "$x * $x"},
    {OP_reciprocal, FOR_REAL, false, "SPLAT_$V(1) / $x", "1 / $x"},
    {OP_abs, FOR_REAL, false, "fabs_$V($x)", "fabs_$T($x)"},
    {OP_sqrt, FOR_REAL, false, "sqrt_$V($x)", "sqrt_$T($x)"},
    {OP_floor, FOR_REAL, false, "floor_$V($x)", "floor_$T($x)"},
    {OP_ceil, FOR_REAL, false, "ceil_$V($x)", "ceil_$T($x)"},
    {OP_trunc, FOR_REAL, false, "trunc_$V($x)", "trunc_$T($x)"},
    {OP_round, FOR_REAL, false, "round_$V($x)", "round_$T($x)"},
    {OP_copysign, FOR_REAL, false, "copysign_$V($x, $y)", "copysign_$T($x, $y)"},
    {OP_isnan, FOR_REAL, true, "$x != $x", "$x != $x"},
    {OP_isinf, FOR_REAL, true, "fabs_$V($x) == SPLAT_$V(__builtin_inff())",
     "fabs_$T($x) == __builtin_inff()"},
    {OP_isfinite, FOR_REAL, true, "fabs_$V($x) < SPLAT_$V(__builtin_inff())",
     "fabs_$T($x) < __builtin_inff()"},
    {OP_maximum, FOR_INT, false, "pick_$V($y < $x, $x, $y)", "$x > $y ? $x : $y"},
    {OP_minimum, FOR_INT, false, "pick_$V($x < $y, $x, $y)", "$x < $y ? $x : $y"},
    {OP_bitwise_and, FOR_BITS, false, "$x & $y", "$x & $y"},
    {OP_bitwise_or, FOR_BITS, false, "$x | $y", "$x | $y"},
    {OP_bitwise_xor, FOR_BITS, false, "$x ^ $y", "$x ^ $y"},
    {OP_bitwise_invert, FOR_WHOLE, false, "~$x", "~$x"},
    {OP_bitwise_left_shift, FOR_WHOLE, false, "shl_$V($x, $y)", "shl_$T($x, $y)"},
    {OP_bitwise_right_shift, FOR_WHOLE, false, "shr_$V($x, $y)", "shr_$T($x, $y)"},
    {OP_logical_and, FOR_BOOL, true, "$x & $y", "$x & $y"},
    {OP_logical_or, FOR_BOOL, true, "$x | $y", "$x | $y"},
    {OP_logical_xor, FOR_BOOL, true, "$x ^ $y", "$x ^ $y"},
    {OP_logical_not, FOR_BOOL, true, "~$x", "!$x"},
    {OP_equal, FOR_ORDER | FOR_BOOL, true, "$x == $y", "$x == $y"},
    {OP_not_equal, FOR_ORDER | FOR_BOOL, true, "$x != $y", "$x != $y"},
    {OP_less, FOR_ORDER, true, "$x < $y", "$x < $y"},
    {OP_less_equal, FOR_ORDER, true, "$x <= $y", "$x <= $y"},
    {OP_greater, FOR_ORDER, true, "$x > $y", "$x > $y"},
    {OP_greater_equal, FOR_ORDER, true, "$x >= $y", "$x >= $y"},
};

static const row_text rows[] = {
    {CODE_ROW_divide, FOR_WHOLE, false, "divide_$V($x, $y)", "divide_$T($x, $y)"},
    {CODE_ROW_modulo, FOR_WHOLE, false, "modulo_$V($x, $y)", "modulo_$T($x, $y)"},
    {CODE_ROW_fma, FOR_REAL, false, "fma_$V($x, $y, $z)", "fma_$T($x, $y, $z)"},
    {CODE_ROW_fmin, FOR_REAL, false, "fmin_$V($x, $y)", "fmin_$T($x, $y)"},
    {CODE_ROW_fmax, FOR_REAL, false, "fmax_$V($x, $y)", "fmax_$T($x, $y)"},
};

static int taken(int dtype)
{
    return dtype == IG_BOOL                       ? FOR_BOOL
           : is_real(dtype)                       ? FOR_REAL
           : is_half(dtype)                       ? 0
           : is_small(dtype)                      ? FOR_SMALL
           : ig_dtype_bytes((ig_dtype)dtype) == 8 ? FOR_WIDE
                                                  : FOR_INT;
}

static const row_text *text_of(const code_inst *i)
{
    const row_text *table = i->op == CODE_MAP ? maps : rows;
    const size_t n = i->op == CODE_MAP ? sizeof maps / sizeof *maps : sizeof rows / sizeof *rows;
    for (size_t k = 0; k < n; k++)
        if (table[k].row == i->row)
            return table[k].takes & taken(i->dtype) ? &table[k] : NULL;
    return NULL;
}

static void write_operand(writer *w, int32_t r, int unit, bool scalar)
{
    if (scalar)
        write_scalar(w, r);
    else
        write_lanes(w, r, unit);
}

static void write_row(writer *w, const code_inst *i, const char *f, int unit, bool scalar)
{
    for (; *f; f++) {
        const int32_t operand = f[1] == 'x' ? i->a : f[1] == 'y' ? i->b : i->c;
        if (*f != '$')
            SAY(w, "%c", *f);
        else if (f[1] == 'T' || f[1] == 'V')
            SAY(w, "%s", f[1] == 'T' ? types[i->dtype].type : types[i->dtype].vector);
        else
            write_operand(w, operand, unit, scalar);
        f += *f == '$';
    }
}

static void write_expression(writer *w, const code_inst *i, const row_text *r)
{
    if (write_is_scalar(w, i->d)) {
        SAY(w, "s%d = (%s)(", i->d, types[w->c->reg[i->d].dtype].type);
        write_row(w, i, r->scalar, 0, true);
        SAY(w, ");\n");
        return;
    }
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        SAY(w, r->truth && is_wide(i->dtype) ? "TO(vi, " : "(");
        write_row(w, i, r->vector, u, false);
        SAY(w, ")");
        write_assigned(w, i, u);
    }
}

/* ---- conversions, copies, choices ---- */

static bool calls_convert(int from, int to, bool scalar)
{
    const bool narrows = is_real(from) && !is_real(to) && is_small(to) && to != IG_BOOL;
    return is_half(from) || is_half(to) || (narrows && !scalar);
}

static void write_convert_call(writer *w, const code_inst *i)
{
    SAY(w, "{\n");
    if (write_is_scalar(w, i->d)) {
        write_operand_copy(w, "x_", i->a, i->dtype);
        SAY(w, "%s d_;\nb->convert(%d, %d, 1, &d_, &x_);\ns%d = d_;\n}\n", types[i->to].type,
            i->dtype, i->to, i->d);
        return;
    }
    write_array(w, "x_", i->a, i->dtype);
    SAY(w, "%s d_[%d];\nb->convert(%d, %d, %d, d_, x_);\n", types[i->to].element, w->p->lanes,
        i->dtype, i->to, w->p->lanes);
    write_from_array(w, i, "d_", i->to);
    SAY(w, "}\n");
}

static void write_scalar_conversion(writer *w, const code_inst *i)
{
    const char *to = types[i->to].type;
    SAY(w, "s%d = ", i->d);
    if (i->to == IG_BOOL)
        SAY(w, "0 != ");
    else if (is_real(i->dtype) && !is_real(i->to))
        SAY(w, "%s_of_%s", to, types[i->dtype].type);
    else
        SAY(w, "(%s)", to);
    SAY(w, "(");
    write_scalar(w, i->a);
    SAY(w, ");\n");
}

/* What is before and after the operand of a vector conversion. */
static void conversion_text(int from, int to, const char **before, const char **after)
{
    static const char *const narrow[][2] = {[IG_I8] = {"(", " << 24 >> 24)"},
                                            [IG_I16] = {"(", " << 16 >> 16)"},
                                            [IG_U8] = {"(", " & 255)"},
                                            [IG_U16] = {"(", " & 65535)"}};
    static const char *const narrowed[][2] = {[IG_I8] = {"(TO(vi, ", ") << 24 >> 24)"},
                                              [IG_I16] = {"(TO(vi, ", ") << 16 >> 16)"},
                                              [IG_U8] = {"(TO(vu, ", ") & 255)"},
                                              [IG_U16] = {"(TO(vu, ", ") & 65535)"}};
    const bool small = is_small(to) && to != IG_BOOL && from != IG_BOOL;
    *after = ")";
    if (to == IG_BOOL)
        *before = is_wide(from) ? "TO(vi, 0 != " : "(0 != ";
    else if (small) {
        *before = (is_wide(from) ? narrowed : narrow)[to][0];
        *after = (is_wide(from) ? narrowed : narrow)[to][1];
    } else
        *before = NULL;
}

static void write_vector_conversion(writer *w, const code_inst *i)
{
    const char *v = types[i->to].vector, *from = types[i->dtype].vector, *before, *after;
    const int f = i->dtype, to = i->to;
    conversion_text(f, to, &before, &after);
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        if (before)
            SAY(w, "%s", before);
        else if (is_real(f) && !is_real(to))
            SAY(w, "%s_of_%s(", types[to].type, from);
        else
            SAY(w, "TO(%s, ", v);
        if (before && to != IG_BOOL && !is_wide(f))
            SAY(w, "(%s)", v);
        write_lanes(w, i->a, u);
        SAY(w, f == IG_BOOL && to != IG_BOOL ? " & 1%s" : "%s", after);
        write_assigned(w, i, u);
    }
}

static void write_conversion(writer *w, const code_inst *i)
{
    const bool scalar = write_is_scalar(w, i->d);
    if (calls_convert(i->dtype, i->to, scalar))
        write_convert_call(w, i);
    else
        (scalar ? write_scalar_conversion : write_vector_conversion)(w, i);
}

static void write_rounding(writer *w, const code_inst *i)
{
    SAY(w, "{\n");
    if (write_is_scalar(w, i->d)) {
        write_operand_copy(w, "x_", i->a, IG_F32);
        SAY(w, "f32 d_;\nb->round(%d, 1, &d_, &x_);\ns%d = d_;\n}\n", i->to, i->d);
        return;
    }
    write_array(w, "x_", i->a, IG_F32);
    SAY(w, "b->round(%d, %d, x_, x_);\n", i->to, w->p->lanes);
    write_from_array(w, i, "x_", IG_F32);
    SAY(w, "}\n");
}

/* Bits of another type. Lanes of small integers are extended to 32 bits, lanes of bool are masks. */
static void write_copy(writer *w, const code_inst *i)
{
    const int d = w->c->reg[i->d].dtype, from = w->c->reg[i->a].dtype;
    if (!write_is_scalar(w, i->d) && from != d && is_small(d)) {
        code_inst same = *i;
        same.dtype = (uint8_t)(is_half(from) ? IG_U16 : from);
        same.to = (uint8_t)(is_half(d) ? IG_U16 : d);
        write_vector_conversion(w, &same);
        return;
    }
    if (write_is_scalar(w, i->d)) {
        SAY(w, "s%d = BITS(%s, ", i->d, types[d].type);
        write_scalar(w, i->a);
        SAY(w, ");\n");
        return;
    }
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        write_lanes(w, i->a, u);
        write_assigned(w, i, u);
    }
}

static void write_pick(writer *w, const code_inst *i)
{
    const char *v = types[w->c->reg[i->d].dtype].vector;
    if (write_is_scalar(w, i->d)) {
        SAY(w, "s%d = ", i->d);
        write_scalar(w, i->a);
        SAY(w, " ? ");
        write_scalar(w, i->b);
        SAY(w, " : ");
        write_scalar(w, i->c);
        SAY(w, ";\n");
        return;
    }
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        SAY(w, "pick_%s(", v);
        write_lanes(w, i->a, u);
        SAY(w, ", ");
        write_lanes(w, i->b, u);
        SAY(w, ", ");
        write_lanes(w, i->c, u);
        SAY(w, ")");
        write_assigned(w, i, u);
    }
}

void write_value(writer *w, const code_inst *i)
{
    const row_text *r;
    switch (i->op) {
    case CODE_CONVERT: write_conversion(w, i); return;
    case CODE_ROUND: write_rounding(w, i); return;
    case CODE_COPY: write_copy(w, i); return;
    case CODE_PICK: write_pick(w, i); return;
    default: break;
    }
    r = text_of(i);
    if (r)
        write_expression(w, i, r);
    else
        write_loop(w, i);
}
