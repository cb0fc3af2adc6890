/* Lowering of CUDA's builtin functions. A table covers all functions that are computed lane by lane; the
 * others have one function per kind. fragment.c has wmma. */
#include "compiler/lower/lower.h"

#include "engine/ops/op_id.h"

#include <string.h>

/* ---- computed lane by lane ---- */

enum { BY_NONE, BY_MAP, BY_TRUTH, BY_ROW };

/* The LANES of builtins.def, and the rounding mode. */
typedef struct how {
    uint8_t by;
    int16_t row;
    uint8_t rounding;
} how;

#define MAP(op) BY_MAP, OP_##op
#define TRUTH(op) BY_TRUTH, OP_##op
#define ROW(name) BY_ROW, CODE_ROW_##name
#define OTHER BY_NONE, 0
static const how hows[BUILTINS] = {
#define VALUE(id, class, lanes, opencl, metal, piece) [BUILTIN_##id] = {lanes, 0},
#define DIRECTED(id, lanes) \
    [BUILTIN_##id##_RZ] = {lanes, 1}, [BUILTIN_##id##_RU] = {lanes, 2}, \
    [BUILTIN_##id##_RD] = {lanes, 3},
#include "compiler/builtins.def"
};

static int32_t compute(lower *l, const kernel_expr *e, const lower_value *v)
{
    const how *h = &hows[e->builtin];
    const kernel_type *type = e->args[0]->type;
    const ig_dtype d = lower_lane(type);
    const int32_t a = v[0].reg[0], b = e->n_args > 1 ? v[1].reg[0] : CODE_NONE;
    int32_t c = e->n_args > 2 ? v[2].reg[0] : CODE_NONE, r;
    if (e->builtin == BUILTIN_SAD) /* the sum is unsigned, the difference has the operands' sign */
        c = lower_convert(l, c, lower_lane(e->args[2]->type), d);
    if (h->by == BY_ROW)
        r = lower_row(l, (code_row)h->row, d, a, b, c);
    else
        r = (h->by == BY_TRUTH ? lower_truth : lower_map)(l, h->row, d, a, b);
    l->c->inst[l->c->n_inst - 1].flags |= (uint8_t)(CODE_ROUNDING * h->rounding);
    if (h->by == BY_TRUTH)
        return r;
    if (type_is_integer(e->type))
        return lower_convert(l, r, d, lower_lane(e->type));
    return lower_rounded(l, e->type, r);
}

/* ---- composed of other operations ---- */

static int32_t as_integer(lower *l, const kernel_type *t, int32_t reg)
{
    return lower_convert(l, reg, lower_lane(t), IG_I32);
}

/* Funnel shifts: x is the lower word, y the upper one; the shift wraps at 32 or stops there. */
static int32_t funnel(lower *l, const kernel_expr *e, const lower_value *v)
{
    const bool stops = e->builtin == BUILTIN_FUNNEL_LC || e->builtin == BUILTIN_FUNNEL_RC;
    const bool left = e->builtin == BUILTIN_FUNNEL_L || e->builtin == BUILTIN_FUNNEL_LC;
    const int32_t most = lower_integer(l, IG_U32, stops ? 32 : 31);
    const int32_t by = lower_map(l, stops ? OP_minimum : OP_bitwise_and, IG_U32, v[2].reg[0], most);
    return lower_row(l, left ? CODE_ROW_funnel_left : CODE_ROW_funnel_right, IG_U32, v[0].reg[0],
                     v[1].reg[0], by);
}

/* Root of the sum of squares of all arguments, or its inverse. */
static int32_t norm(lower *l, const kernel_expr *e, const lower_value *v)
{
    const ig_dtype d = lower_lane(e->type);
    int32_t sum = CODE_NONE;
    for (uint32_t i = 0; i < e->n_args; i++) {
        const int32_t wide = lower_convert(l, v[i].reg[0], d, IG_F64);
        const int32_t square = lower_map(l, OP_multiply, IG_F64, wide, wide);
        sum = i ? lower_map(l, OP_add, IG_F64, sum, square) : square;
    }
    const bool inverse = e->builtin == BUILTIN_RNORM3D || e->builtin == BUILTIN_RNORM4D;
    return lower_convert(l, lower_map(l, inverse ? OP_rsqrt : OP_sqrt, IG_F64, sum, CODE_NONE),
                         IG_F64, d);
}

/* To an integer: rounded first. To a float: in the rounding mode. */
static int32_t convert(lower *l, const kernel_expr *e, const lower_value *v)
{
    static const int rounds[] = {OP_round, OP_trunc, OP_ceil, OP_floor};
    const int mode = e->builtin - BUILTIN_CONVERT_RN;
    const kernel_type *from = e->args[0]->type;
    int32_t a = v[0].reg[0];
    if (type_is_float(from) && type_is_integer(e->type)) {
        a = lower_map(l, rounds[mode], lower_lane(from), a, CODE_NONE);
        return lower_cast(l, a, from, e->type);
    }
    if (!mode)
        return lower_cast(l, a, from, e->type);
    const int before = l->c->n_inst; /* rounding twice in one direction is rounding once */
    a = lower_convert(l, a, lower_lane(from), lower_lane(e->type));
    a = lower_rounded(l, e->type, a);
    for (int k = before; k < l->c->n_inst; k++)
        l->c->inst[k].flags |= (uint8_t)(CODE_ROUNDING * mode);
    return a;
}

/* The same bytes as another type: scalars by a move, structs and halves through memory. */
static lower_value bitcast(lower *l, const kernel_expr *e, const lower_value *v)
{
    const kernel_type *from = e->args[0]->type, *to = e->type;
    if (type_is_scalar(from) && type_is_scalar(to) && lower_lane(from) == lower_stored(from) &&
        lower_lane(to) == lower_stored(to))
        return lower_value_of(l, to, lower_bits(l, v[0].reg[0], lower_lane(to)));
    lower_place p = lower_memory(from, lower_special(l, ORIGIN_LOCAL), SPACE_LOCAL);
    p.offset = lower_local(l, from->size, 8);
    lower_store(l, &p, &v[0]);
    p.type = to;
    return lower_load(l, &p);
}

/* Results through pointers. */
static void put(lower *l, const kernel_expr *pointer, int32_t reg)
{
    const kernel_type *t = pointer->type->of;
    const lower_place p = lower_pointee(l, pointer, t);
    const lower_value v = lower_value_of(l, t, reg);
    lower_store(l, &p, &v);
}

static lower_value sine_and_cosine(lower *l, const kernel_expr *e)
{
    const int32_t x = lower_scalar(l, e->args[0]);
    const ig_dtype d = lower_lane(e->args[0]->type);
    const bool pi = e->builtin == BUILTIN_SINCOSPI;
    const int32_t s = pi ? lower_row(l, CODE_ROW_sinpi, d, x, CODE_NONE, CODE_NONE)
                         : lower_map(l, OP_sin, d, x, CODE_NONE);
    const int32_t c = pi ? lower_row(l, CODE_ROW_cospi, d, x, CODE_NONE, CODE_NONE)
                         : lower_map(l, OP_cos, d, x, CODE_NONE);
    put(l, e->args[1], s);
    put(l, e->args[2], c);
    return (lower_value){.type = e->type, .address = CODE_NONE};
}

/* The exponent that scales |x| into [1, 2), plus more; 0 if x is 0 or not finite. */
static int32_t exponent(lower *l, ig_dtype d, int32_t x, int more)
{
    const int32_t power = lower_row(l, CODE_ROW_logb, d, x, CODE_NONE, CODE_NONE);
    const int32_t finite = lower_truth(l, OP_isfinite, d, power, CODE_NONE);
    const int32_t whole = lower_convert(l, power, d, IG_I32);
    const int32_t sum = lower_map(l, OP_add, IG_I32, whole, lower_integer(l, IG_I32, more));
    return lower_pick(l, IG_I32, finite, sum, lower_integer(l, IG_I32, 0));
}

static int32_t scaled(lower *l, ig_dtype d, int32_t x, int32_t power)
{
    return lower_row(l, CODE_ROW_scale, d, x, lower_convert(l, power, IG_I32, d), CODE_NONE);
}

static int32_t split_number(lower *l, const kernel_expr *e)
{
    const kernel_type *t = e->args[0]->type;
    const ig_dtype d = lower_lane(t);
    const int32_t x = lower_scalar(l, e->args[0]);
    if (e->builtin == BUILTIN_MODF) {
        const int32_t whole = lower_map(l, OP_trunc, d, x, CODE_NONE);
        const int32_t infinite = lower_truth(l, OP_isinf, d, x, CODE_NONE);
        const int32_t rest = lower_map(l, OP_subtract, d, x, whole);
        const int32_t r = lower_pick(l, d, infinite, lower_constant(l, d, 0), rest);
        put(l, e->args[1], whole);
        return lower_map(l, OP_copysign, d, r, x);
    }
    const int32_t power = exponent(l, d, x, 1);
    put(l, e->args[1], power);
    return scaled(l, d, x, lower_map(l, OP_negative, IG_I32, power, CODE_NONE));
}

static int32_t remainder_and_quotient(lower *l, const kernel_expr *e)
{
    const ig_dtype d = lower_lane(e->args[0]->type);
    const int32_t x = lower_scalar(l, e->args[0]), y = lower_scalar(l, e->args[1]);
    const int32_t r = lower_row(l, CODE_ROW_ieee_remainder, d, x, y, CODE_NONE);
    const int32_t times = lower_map(l, OP_divide, d, lower_map(l, OP_subtract, d, x, r), y);
    const int32_t whole = lower_map(l, OP_round, d, times, CODE_NONE);
    const int32_t low =
        lower_row(l, CODE_ROW_fmod, d, whole,
                  lower_convert(l, lower_integer(l, IG_I32, 8), IG_I32, d), CODE_NONE);
    put(l, e->args[2], lower_convert(l, low, d, IG_I32));
    return r;
}

/* ---- atomics, warps, barriers ---- */

static lower_value atomic(lower *l, const kernel_expr *e)
{
    static const uint8_t rows[] = {ATOMIC_ADD, ATOMIC_SUB,       ATOMIC_EXCHANGE,  ATOMIC_MIN,
                                   ATOMIC_MAX, ATOMIC_INCREMENT, ATOMIC_DECREMENT, ATOMIC_COMPARE,
                                   ATOMIC_AND, ATOMIC_OR,        ATOMIC_XOR};
    const kernel_type *t = e->args[0]->type->of->plain;
    const bool compares = e->builtin == BUILTIN_ATOMIC_CAS;
    const lower_value *v = lower_args(l, e->args + 1, e->n_args - 1);
    lower_place p = lower_pointee(l, e->args[0], t);
    const int32_t d = lower_temp(l, lower_lane(t));
    code_inst *i = lower_emit(l, CODE_ATOMIC, (ig_dtype)p.index, d, p.a, p.b, v[compares].reg[0]);
    i->row = rows[e->builtin - BUILTIN_ATOMIC_ADD];
    i->e = compares ? v[0].reg[0] : CODE_NONE;
    i->to = (uint8_t)lower_stored(t);
    i->scale = p.scale;
    i->offset = p.offset;
    i->object = p.object;
    i->align = t->align;
    if (p.space == SPACE_SHARED || p.space == SPACE_LOCAL)
        i->flags |= CODE_OWN;
    return lower_value_of(l, e->type, d);
}

static int32_t warp(lower *l, code_warp row, ig_dtype value, ig_dtype result, int32_t a, int32_t b,
                    int32_t mask, int32_t width)
{
    const int32_t d = lower_temp(l, result);
    code_inst *i = lower_emit(l, CODE_WARP, value, d, a, b, mask);
    i->row = (uint16_t)row;
    i->e = width;
    return d;
}

/* Shuffles a value of any type: each of its scalars separately. */
static lower_value shuffles(lower *l, const kernel_expr *e, const lower_value *v, code_warp row)
{
    const int32_t choice = lower_convert(l, v[2].reg[0], lower_lane(e->args[2]->type), IG_U32);
    const int32_t width = e->n_args > 3 ? as_integer(l, e->args[3]->type, v[3].reg[0]) : CODE_NONE;
    if (!v[1].reg)
        lower_fail(l, IG_ERR_UNSUPPORTED, "a value with a union in it cannot be shuffled");
    lower_value out = v[1];
    out.reg = kernel_arena_new(l->arena, (size_t)v[1].n * sizeof *out.reg);
    for (int i = 0; i < v[1].n; i++) {
        const ig_dtype d = (ig_dtype)l->c->reg[v[1].reg[i]].dtype;
        out.reg[i] = warp(l, row, d, d, v[1].reg[i], choice, v[0].reg[0], width);
    }
    out.type = e->type;
    return out;
}

static lower_value votes(lower *l, const kernel_expr *e, const lower_value *v, code_warp row)
{
    const ig_dtype d = lower_lane(e->args[1]->type);
    const int32_t r = warp(l, row, d, IG_U32, v[1].reg[0], CODE_NONE, v[0].reg[0], CODE_NONE);
    return lower_value_of(l, e->type, lower_convert(l, r, IG_U32, lower_lane(e->type)));
}

static lower_value warps(lower *l, const kernel_expr *e)
{
    static const int8_t rows[BUILTINS] = {
        [BUILTIN_SHFL] = WARP_SHUFFLE,           [BUILTIN_SHFL_UP] = WARP_SHUFFLE_UP,
        [BUILTIN_SHFL_DOWN] = WARP_SHUFFLE_DOWN, [BUILTIN_SHFL_XOR] = WARP_SHUFFLE_XOR,
        [BUILTIN_SHFL_RANK] = WARP_SHUFFLE_RANK, [BUILTIN_VOTE_ALL] = WARP_ALL,
        [BUILTIN_VOTE_ANY] = WARP_ANY,           [BUILTIN_VOTE_UNI] = WARP_SAME,
        [BUILTIN_BALLOT] = WARP_BALLOT,          [BUILTIN_MATCH_ANY] = WARP_MATCH_ANY,
        [BUILTIN_MATCH_ALL] = WARP_MATCH_ALL,    [BUILTIN_REDUCE_ADD] = WARP_ADD,
        [BUILTIN_REDUCE_MIN] = WARP_MIN,         [BUILTIN_REDUCE_MAX] = WARP_MAX,
        [BUILTIN_REDUCE_AND] = WARP_AND,         [BUILTIN_REDUCE_OR] = WARP_OR,
        [BUILTIN_REDUCE_XOR] = WARP_XOR};
    const code_warp row = (code_warp)rows[e->builtin];
    if (e->builtin == BUILTIN_SYNCWARP || e->builtin == BUILTIN_ACTIVEMASK) {
        if (e->n_args)
            lower_effect(l, e->args[0]);
        const int32_t d = lower_temp(l, IG_U32);
        if (e->builtin == BUILTIN_ACTIVEMASK)
            lower_emit(l, CODE_ACTIVE, IG_U32, d, CODE_NONE, CODE_NONE, CODE_NONE);
        else
            lower_mark(l, CODE_SYNC);
        return lower_value_of(l, e->type, d);
    }
    if (e->builtin == BUILTIN_LANE)
        return lower_value_of(l, e->type, lower_special(l, ORIGIN_LANE));
    const lower_value *v = lower_args(l, e->args, e->builtin == BUILTIN_MATCH_ALL ? 2 : e->n_args);
    if (row <= WARP_SHUFFLE_RANK)
        return shuffles(l, e, v, row);
    if (row < WARP_ADD) {
        const lower_value r = votes(l, e, v, row);
        if (e->builtin == BUILTIN_MATCH_ALL) {
            const ig_dtype d = lower_lane(e->type);
            const int32_t all = lower_convert(l, r.reg[0], d, IG_BOOL);
            put(l, e->args[2], lower_convert(l, all, IG_BOOL, lower_lane(e->args[2]->type->of)));
        }
        return r;
    }
    const ig_dtype d = lower_lane(e->args[1]->type);
    const int32_t r = warp(l, row, d, d, v[1].reg[0], CODE_NONE, v[0].reg[0], CODE_NONE);
    return lower_value_of(l, e->type, lower_rounded(l, e->type, r));
}

static lower_value barrier(lower *l, const kernel_expr *e)
{
    const int32_t a = e->n_args ? lower_convert(l, lower_scalar(l, e->args[0]),
                                                lower_lane(e->args[0]->type), IG_BOOL)
                                : CODE_NONE;
    const int32_t d = e->n_args ? lower_temp(l, IG_I32) : CODE_NONE;
    lower_emit(l, CODE_BARRIER, IG_BOOL, d, a, CODE_NONE, CODE_NONE)->row =
        (uint16_t)(e->builtin - BUILTIN_BARRIER + BARRIER_PLAIN);
    return e->n_args ? lower_value_of(l, e->type, d)
                     : (lower_value){.type = e->type, .address = CODE_NONE};
}

/* ---- printf, assert, time, memory ---- */

static lower_value print(lower *l, const kernel_expr *e)
{
    lane_code *c = l->c;
    const lower_value *v = lower_args(l, e->args, e->n_args);
    int32_t *args = kernel_arena_new(l->arena, (e->n_args + 1) * sizeof *args);
    bool *literal = kernel_arena_new(l->arena, e->n_args + 1);
    for (uint32_t i = 1; i < e->n_args; i++) {
        literal[i - 1] = e->args[i]->kind == EXPR_STRING;
        args[i - 1] = literal[i - 1]
                          ? lower_constant(l, IG_U64, (uintptr_t)e->args[i]->as.text->text)
                          : v[i].reg[0];
    }
    ARENA_ADD(l->arena, c->print, c->n_print, c->print_room,
              (code_print){e->args[0]->as.text->text, (int)e->n_args - 1, args, literal});
    lower_mark(l, CODE_PRINT)->row = (uint16_t)(c->n_print - 1);
    return lower_value_of(l, e->type, lower_integer(l, IG_I32, (int64_t)e->n_args - 1));
}

/* The number of a message about the current place. */
static uint16_t message(lower *l, const char *what)
{
    lane_code *c = l->c;
    kernel_where w = {0};
    const bool known = kernel_source_where(&l->tree->unit.source, l->place, &w);
    const char *file = known ? kernel_arena_text(l->arena, w.name, strlen(w.name)) : "";
    ARENA_ADD(l->arena, c->message, c->n_message, c->message_room,
              (code_message){what, file, w.line});
    return (uint16_t)(c->n_message - 1);
}

static void assertion(lower *l, const kernel_expr *e)
{
    const int32_t a = lower_scalar(l, e->args[0]);
    l->place = e->place;
    lower_emit(l, CODE_ASSERT, IG_BOOL, CODE_NONE, a, CODE_NONE, CODE_NONE)->row =
        message(l, e->args[1]->as.text->text);
}

static int32_t clock_value(lower *l)
{
    const int32_t d = lower_temp(l, IG_U64);
    lower_emit(l, CODE_CLOCK, IG_U64, d, CODE_NONE, CODE_NONE, CODE_NONE);
    return d;
}

/* Copies byte by byte; for MEMSET, the second argument is the byte itself. */
static lower_value move_bytes(lower *l, const kernel_expr *e)
{
    static const kernel_type byte = {.kind = TYPE_U8, .size = 1, .align = 1};
    const lower_value *v = lower_args(l, e->args, e->n_args);
    const bool sets = e->builtin == BUILTIN_MEMSET;
    const int32_t fill = sets ? lower_convert(l, v[1].reg[0], IG_I32, IG_U8) : CODE_NONE;
    const int32_t at = lower_variable(l, IG_I64), zero = lower_integer(l, IG_I64, 0);
    const int32_t n = lower_bits(l, v[2].reg[0], IG_I64);
    lower_emit(l, CODE_COPY, IG_I64, at, zero, CODE_NONE, CODE_NONE);
    const int begin = lower_open(l, CODE_LOOP, CODE_NONE);
    lower_emit(l, CODE_WHILE, IG_BOOL, CODE_NONE, lower_truth(l, OP_less, IG_I64, at, n), CODE_NONE,
               CODE_NONE)
        ->level = (uint16_t)(l->depth - 1);
    lower_place to = {.type = &byte,
                      .a = v[0].reg[0],
                      .b = at,
                      .index = IG_I64,
                      .scale = 1,
                      .space = e->args[0]->space};
    lower_place from = to;
    from.a = v[1].reg[0];
    lower_store_scalar(l, &to, &byte, 0, sets ? fill : lower_load_scalar(l, &from, &byte, 0));
    lower_assign(l, at, lower_map(l, OP_add, IG_I64, at, lower_integer(l, IG_I64, 1)));
    lower_mark(l, CODE_AGAIN)->jump = begin + 1;
    lower_close(l, begin);
    return v[0];
}

/* ---- all of them ---- */

static lower_value others(lower *l, const kernel_expr *e)
{
    const lower_value none = {.type = e->type, .address = CODE_NONE};
    const kernel_type *t = e->type;
    switch (e->builtin) {
    case BUILTIN_SINCOS:
    case BUILTIN_SINCOSPI:
    case BUILTIN_FAST_SINCOS: return sine_and_cosine(l, e);
    case BUILTIN_FREXP:
    case BUILTIN_MODF: return lower_value_of(l, t, split_number(l, e));
    case BUILTIN_REMQUO: return lower_value_of(l, t, remainder_and_quotient(l, e));
    case BUILTIN_PRINTF: return print(l, e);
    case BUILTIN_ASSERT: assertion(l, e); return none;
    case BUILTIN_TRAP:
        lower_mark(l, CODE_TRAP)->row =
            message(l, e->n_args ? e->args[0]->as.text->text : "__trap()");
        return none;
    case BUILTIN_CLOCK:
    case BUILTIN_GLOBALTIMER:
        return lower_value_of(l, t, lower_convert(l, clock_value(l), IG_U64, lower_lane(t)));
    case BUILTIN_NANOSLEEP: lower_effect(l, e->args[0]); return none;
    case BUILTIN_MEMCPY:
    case BUILTIN_MEMSET: return move_bytes(l, e);
    default: break;
    }
    const lower_value *v = lower_args(l, e->args, e->n_args);
    const ig_dtype d = e->n_args ? lower_lane(e->args[0]->type) : IG_F32;
    switch (e->builtin) {
    case BUILTIN_POWI: {
        const int32_t y = lower_convert(l, v[1].reg[0], IG_I32, d);
        return lower_value_of(l, t, lower_map(l, OP_pow, d, v[0].reg[0], y));
    }
    case BUILTIN_LDEXP: return lower_value_of(l, t, scaled(l, d, v[0].reg[0], v[1].reg[0]));
    case BUILTIN_ILOGB:
        return lower_value_of(
            l, t,
            lower_convert(l, lower_row(l, CODE_ROW_logb, d, v[0].reg[0], CODE_NONE, CODE_NONE), d,
                          IG_I32));
    case BUILTIN_JN:
    case BUILTIN_YN: {
        const ig_dtype f = lower_lane(t);
        return lower_value_of(l, t,
                              lower_row(l, e->builtin == BUILTIN_JN ? CODE_ROW_jn : CODE_ROW_yn, f,
                                        lower_convert(l, v[0].reg[0], IG_I32, f), v[1].reg[0],
                                        CODE_NONE));
    }
    case BUILTIN_RNORM3D:
    case BUILTIN_NORM4D:
    case BUILTIN_RNORM4D: return lower_value_of(l, t, norm(l, e, v));
    case BUILTIN_FUNNEL_L:
    case BUILTIN_FUNNEL_LC:
    case BUILTIN_FUNNEL_R:
    case BUILTIN_FUNNEL_RC: return lower_value_of(l, t, funnel(l, e, v));
    case BUILTIN_CONVERT_RN:
    case BUILTIN_CONVERT_RZ:
    case BUILTIN_CONVERT_RU:
    case BUILTIN_CONVERT_RD: return lower_value_of(l, t, convert(l, e, v));
    case BUILTIN_BITCAST: return bitcast(l, e, v);
    case BUILTIN_TEXEL_ADDRESS: return lower_value_of(l, t, v[1].reg[0]);
    case BUILTIN_SHARED_ADDRESS:
    case BUILTIN_SHARED_POINTER:
        return lower_value_of(l, t,
                              lower_map(l,
                                        e->builtin == BUILTIN_SHARED_POINTER ? OP_add : OP_subtract,
                                        IG_U64, v[0].reg[0], lower_special(l, ORIGIN_SHARED)));
    default:
        lower_fail(l, IG_ERR_UNSUPPORTED, "the CPU does not know %s",
                   kernel_builtin_rows[e->builtin].name);
    }
}

lower_value lower_builtin(lower *l, const kernel_expr *e)
{
    const lower_value none = {.type = e->type, .address = CODE_NONE};
    if (e->builtin == BUILTIN_MALLOC || e->builtin == BUILTIN_FREE ||
        e->builtin ==
            BUILTIN_GRID_BARRIER) /* marks of a feature; a function of the library does it */
        return none;
    if (hows[e->builtin].by)
        return lower_value_of(l, e->type, compute(l, e, lower_args(l, e->args, e->n_args)));
    switch (kernel_builtin_rows[e->builtin].class) {
    case CLASS_ATOMIC: return atomic(l, e);
    case CLASS_WARP: return warps(l, e);
    case CLASS_BARRIER: return barrier(l, e);
    case CLASS_FENCE: return none;
    case CLASS_WMMA: lower_fragments(l, e); return none;
    default: return others(l, e);
    }
}
