/* CUDA's builtin functions. builtins.def has the texts of functions of values; the others are here, by class. */
#include <string.h>

#include "compiler/print/parts.h"

typedef struct math_row {
    const char *texts[2]; /* of OpenCL C and Metal */
    uint8_t prelude;
} math_row;

static const math_row math_rows[BUILTINS] = {
#define VALUE(id, class, lanes, opencl, metal, piece) \
    [BUILTIN_##id] = {{opencl, metal}, PRELUDE_##piece},
#define DIRECTED(id, lanes)
#include "compiler/builtins.def"
};

_Noreturn static void refuse_missing(printer *p, const kernel_expr *e, const char *code)
{
    print_refuse(p, e->place, code, NULL, "run it on a device of another kind, such as the CPU",
                 "%s has no equivalent of '%s'", p->lang->name,
                 kernel_builtin_rows[e->builtin].name);
    print_stop(p);
}

void print_arguments(printer *p, const kernel_expr *e, const char *before, const char *after)
{
    print_out(p, "%s", before);
    for (uint32_t i = 0; i < e->n_args; i++) {
        print_out(p, "%s", i ? ", " : "");
        print_expr(p, e->args[i], LEVEL_ASSIGN);
    }
    print_out(p, "%s", after);
}

/* ---- values ----------------------------------------------------------------------------------- */

/* Prints a value as an operand of a function; cast is its conversion, or NULL. */
static void operand(printer *p, const kernel_expr *e, const char *cast, int level)
{
    if (cast && type_is_float(e->type)) {
        print_out(p, "(%s)", cast);
        level = LEVEL_UNARY;
    }
    print_expr(p, e, level);
}

/* Prints a text with $0 $1 replaced by the arguments. An argument that appears twice must not have side
 * effects. */
static void fill(printer *p, const kernel_expr *e, const char *s, const char *cast)
{
    for (; *s; s++) {
        if (*s != '$') {
            print_out(p, "%c", *s);
            continue;
        }
        const uint32_t i = (uint32_t)(*++s - '0');
        const char *found = strchr(s, '$');
        for (; found; found = strchr(found + 1, '$'))
            if (found[1] == *s && !print_is_simple(e->args[i])) {
                print_refuse(p, e->place, "IG-EXPR", "the argument would be evaluated twice",
                             "assign the argument to a variable first",
                             "'%s' of an expression with side effects",
                             kernel_builtin_rows[e->builtin].name);
                print_stop(p);
            }
        operand(p, e->args[i], cast, LEVEL_UNARY);
    }
}

static void math(printer *p, const kernel_expr *e, int level)
{
    const bool unrounded = p->unrounded;
    const bool floats = type_is_float(e->args[0]->type);
    const math_row *row = &math_rows[floats && e->builtin == BUILTIN_MIN   ? BUILTIN_FMIN
                                     : floats && e->builtin == BUILTIN_MAX ? BUILTIN_FMAX
                                     : floats && e->builtin == BUILTIN_ABS ? BUILTIN_FABS
                                                                           : e->builtin];
    p->unrounded = false;
    const char *name = row->texts[p->target->language];
    const kernel_type *t = e->args[0]->type;
    if (!*name)
        refuse_missing(p, e, "IG-MATH");
    if (row->prelude && (is_metal(p) || strncmp(name, "ig_", 3) == 0))
        print_use(p, row->prelude);
    /* Halves are computed in float and then rounded. Only an fma would be rounded twice. */
    const bool narrow = t->kind == TYPE_F16 || t->kind == TYPE_BF16;
    const bool native = print_kind(p, t) == TYPE_F16;
    const bool fused = e->builtin == BUILTIN_FMA && narrow;
    const char *cast = native && !fused ? "float" : NULL, *round = NULL;
    if (fused && !native) {
        print_use(p, PRELUDE_FMA_ODD);
        name = "ig_fma_odd";
    }
    if (type_is_float(e->type) && narrow && !(unrounded && !native))
        round = native                 ? (fused ? NULL : "(half)")
                : t->kind == TYPE_BF16 ? "ig_round_bf16("
                                       : "ig_round_half(";
    else if (type_is_integer(e->type) && e->type->kind != TYPE_BOOL &&
             (e->builtin == BUILTIN_ROUND || e->builtin == BUILTIN_ABS ||
              e->builtin == BUILTIN_POPC || e->builtin == BUILTIN_CLZ))
        round = e->type->kind == TYPE_I64 ? "(long)" : e->type->kind == TYPE_I32 ? "(int)" : NULL;
    if (round && narrow && !native)
        print_use(p, t->kind == TYPE_BF16 ? PRELUDE_BF16 : PRELUDE_F16);
    const bool prefix = round && *round == '(', wrap = prefix && level > LEVEL_UNARY;
    print_out(p, "%s%s", wrap ? "(" : "", round ? round : "");
    if (strchr(name, '$')) {
        fill(p, e, name, cast);
    } else {
        print_out(p, "%s(", name);
        for (uint32_t i = 0; i < e->n_args; i++) {
            print_out(p, "%s", i ? ", " : "");
            operand(p, e->args[i], cast, LEVEL_ASSIGN);
        }
        print_out(p, ")");
    }
    print_out(p, "%s%s", round && !prefix ? ")" : "", wrap ? ")" : "");
}

/* Integer functions that need more than a name. */
static void integer(printer *p, const kernel_expr *e, int level)
{
    const kernel_type *t = e->args[0]->type;
    const bool wide = t->size == 8, c = !is_metal(p);
    switch (e->builtin) {
    case BUILTIN_FFS:
        if (!print_is_simple(e->args[0]))
            refuse_missing(p, e, "IG-EXPR");
        print_out(p, "(%d - (int)clz(", wide ? 64 : 32);
        print_expr(p, e->args[0], LEVEL_BIT_AND + 1);
        print_out(p, " & -");
        print_expr(p, e->args[0], LEVEL_POSTFIX);
        print_out(p, "))");
        break;
    case BUILTIN_BREV:
        if (c || wide)
            print_use(p, PRELUDE_BREV);
        print_out(p, "(%s)", p->lang->values[e->type->kind]);
        print_arguments(p, e, wide ? "ig_reverse_long(" : c ? "ig_reverse(" : "reverse_bits(", ")");
        break;
    case BUILTIN_DP4A:
        print_use(p, PRELUDE_DP4A);
        print_arguments(p, e, type_is_signed(t) ? "ig_dp4a_signed(" : "ig_dp4a_unsigned(", ")");
        break;
    default: math(p, e, level); break;
    }
}

/* ---- conversions ------------------------------------------------------------------------------ */

static void bitcast(printer *p, const kernel_expr *e)
{
    const kernel_expr *a = e->args[0];
    const kernel_type *t = e->type, *from = a->type;
    const bool bits_to = print_kind(p, t) != (type_kind)t->kind,
               bits_from = print_kind(p, from) != (type_kind)from->kind;
    if (bits_to || bits_from) { /* a half that is a float here, and has 16 bits in memory */
        const kernel_type *narrow = bits_to ? t : from;
        print_use(p, narrow->kind == TYPE_BF16 ? PRELUDE_BF16 : PRELUDE_F16);
        const char *name = narrow->kind == TYPE_BF16 ? (bits_to ? "ig_from_bf16(" : "ig_to_bf16(")
                                                     : (bits_to ? "ig_from_half(" : "ig_to_half(");
        print_out(p, bits_from ? "(%s)%s" : "%.0s%s",
                  p->lang->values[t->kind] ? p->lang->values[t->kind] : "", name);
        print_expr(p, a, LEVEL_ASSIGN);
        print_out(p, ")");
        return;
    }
    const bool records = (t->kind == TYPE_STRUCT && !print_native(p, t)) ||
                         (from->kind == TYPE_STRUCT && !print_native(p, from));
    const char *to_name = print_type(p, t, SPACE_UNSET, true);
    if (records) {
        const char *from_name = print_type(p, from, SPACE_UNSET, true);
        const char *name = print_format(p, "ig_bits_%s_as_%s", from_name, to_name);
        print_make(p, name,
                   print_format(p,
                                "static %s %s(%s value)\n{\n    union { %s from; %s to; } both;\n"
                                "    both.from = value;\n    return both.to;\n}\n\n",
                                to_name, name, from_name, from_name, to_name));
        print_arguments(p, e, print_format(p, "%s(", name), ")");
        return;
    }
    print_arguments(p, e, print_format(p, is_metal(p) ? "as_type<%s>(" : "as_%s(", to_name), ")");
}

static void convert(printer *p, const kernel_expr *e, int level)
{
    if (print_convert(p, e->type, e->args[0], e->builtin - BUILTIN_CONVERT_RN, level))
        return;
    kernel_expr cast = *e;
    cast.kind = EXPR_CAST;
    cast.a = e->args[0];
    print_expr(p, &cast, level);
}

/* ---- atomics ---------------------------------------------------------------------------------- */

static void atomic_args(printer *p, const kernel_expr *e)
{
    for (uint32_t i = 1; i < e->n_args; i++) {
        print_out(p, ", ");
        print_expr(p, e->args[i], LEVEL_ASSIGN);
    }
}

/* An atomic operation by compare and swap: next is the new value, computed from old and x. */
static void atomic_loop(printer *p, const char *name, const char *space, const kernel_type *t,
                        const char *next)
{
    const bool wide = t->size == 8, whole = type_is_integer(t);
    const char *type = p->lang->values[t->kind], *bits = wide ? "ulong" : "uint";
    const char *to = whole ? "" : print_format(p, "as_%s", bits),
               *from = whole ? "" : print_format(p, "as_%s", type);
    print_make(p, name,
               print_format(p,
                            "static %s %s(volatile %s%s *p, %s x)\n{\n"
                            "    %s old, seen = *p;\n"
                            "    do {\n"
                            "        old = seen;\n"
                            "        seen = %s(%s_cmpxchg((volatile %s%s *)p, %s(old), %s(%s)));\n"
                            "    } while (%s(seen) != %s(old));\n"
                            "    return old;\n"
                            "}\n\n",
                            type, name, space, type, type, type, from, wide ? "atom" : "atomic",
                            space, bits, to, to, next, to, to));
}

static void atomic_opencl(printer *p, const kernel_expr *e)
{
    static const struct {
        const char *name, *whole,
            *real; /* OpenCL's name, and the new value if OpenCL has no such function */
    } rows[] = {{"add", NULL, "old + x"},
                {"sub", NULL, NULL},
                {"xchg", NULL, "x"},
                {"min", NULL, "fmin(old, x)"},
                {"max", NULL, "fmax(old, x)"},
                {"inc", "old >= x ? 0 : old + 1", NULL},
                {"dec", "old == 0 || old > x ? x : old - 1", NULL},
                {"cmpxchg", NULL, NULL},
                {"and", NULL, NULL},
                {"or", NULL, NULL},
                {"xor", NULL, NULL}};
    const int row = e->builtin - BUILTIN_ATOMIC_ADD;
    const kernel_type *t = e->type;
    const bool local = e->args[0]->space == SPACE_SHARED, real = type_is_float(t);
    const bool native = t->kind == TYPE_F32 && e->builtin == BUILTIN_ATOMIC_EXCH;
    const char *next = native ? NULL : real ? rows[row].real : rows[row].whole;
    const char *name = print_format(p, "%s_%s", t->size == 8 ? "atom" : "atomic", rows[row].name);
    if (real && !next && !native)
        refuse_missing(p, e, "IG-A64");
    if (next) {
        name = print_format(p, "ig_atomic_%s_%s_%s", rows[row].name, p->lang->values[t->kind],
                            local ? "local" : "global");
        atomic_loop(p, name, p->lang->spaces[e->args[0]->space], t, next);
    }
    print_out(p, "%s(", name);
    print_expr(p, e->args[0], LEVEL_ASSIGN);
    atomic_args(p, e);
    print_out(p, ")");
}

static void atomic_metal(printer *p, const kernel_expr *e)
{
    static const char *const names[] = {"fetch_add", "fetch_sub", "exchange", "fetch_min",
                                        "fetch_max", NULL,        NULL,       NULL,
                                        "fetch_and", "fetch_or",  "fetch_xor"};
    const char *name = names[e->builtin - BUILTIN_ATOMIC_ADD];
    const bool is_float = e->type->kind == TYPE_F32,
               swap = is_float && e->builtin == BUILTIN_ATOMIC_EXCH;
    const bool wraps = e->builtin == BUILTIN_ATOMIC_INC || e->builtin == BUILTIN_ATOMIC_DEC;
    if (wraps || e->builtin == BUILTIN_ATOMIC_CAS)
        print_use(p, wraps ? PRELUDE_ATOMIC_WRAP : PRELUDE_ATOMIC_CAS);
    else if (is_float && !swap)
        print_use(p, PRELUDE_ATOMIC_FLOAT);
    if (!name)
        print_out(p, wraps ? "ig_atomic_wrap(" : "ig_atomic_cas(");
    else if (is_float && !swap)
        print_out(p, "ig_atomic_%s(", name + strlen("fetch_"));
    else
        print_out(p, swap ? "as_type<float>(atomic_%s_explicit(" : "atomic_%s_explicit(", name);
    print_out(p, "(%satomic_%s *)", p->lang->spaces[e->args[0]->space],
              type_is_signed(e->type) ? "int" : "uint");
    print_expr(p, e->args[0], LEVEL_UNARY);
    if (swap) {
        print_around(p, ", as_type<uint>(", e->args[1], LEVEL_ASSIGN, "), memory_order_relaxed))");
        return;
    }
    atomic_args(p, e);
    print_out(p, wraps               ? (e->builtin == BUILTIN_ATOMIC_INC ? ", true)" : ", false)")
                 : name && !is_float ? ", memory_order_relaxed)"
                                     : ")");
}

/* ---- warps ------------------------------------------------------------------------------------ */

static const char *own_lane(const printer *p)
{
    return is_metal(p) ? "lane" : p->target->masked ? "ig_warp_lane()" : "get_sub_group_local_id()";
}

/* The name of the function that shuffles values of a type. Inactive lanes give 0. If all lanes are active,
 * Metal's own function is enough. */
static const char *shuffle_name(printer *p, const kernel_type *t)
{
    print_use(p, is_metal(p) && t->size == 8 ? PRELUDE_SHUFFLE_WIDE : PRELUDE_SHUFFLE);
    if (is_metal(p))
        return t->size == 8 ? "ig_shuffle_wide" : "ig_shuffle";
    const char *type = p->lang->values[print_kind(p, t)],
               *name = print_format(p, "ig_shuffle_%s", type);
    print_make(p, name,
               print_format(p,
                            "static %s %s(%s value, uint lane)\n{\n"
                            "    %s found = sub_group_shuffle(value, lane);\n"
                            "    return (ig_ballot(true) >> lane & 1) != 0 ? found : 0;\n}\n\n",
                            type, name, type, type));
    return name;
}

static void shuffle(printer *p, const kernel_expr *e)
{
    static const char *const lanes[] = {"at", "up", "down", "xor"};
    const kernel_type *t = e->type;
    const bool whole = is_metal(p) && p->at->together, wide = whole && t->size == 8;
    print_use(p, PRELUDE_LANES);
    if (wide)
        print_out(p, "as_type<%s>(", print_type(p, t, SPACE_LOCAL, false));
    if (p->target->masked) {
        print_around(p, "ig_warp_shuffle(", e->args[0], LEVEL_ASSIGN, ", ");
    } else {
        print_out(p, "%s",
                  wide    ? "simd_shuffle(as_type<uint2>("
                  : whole ? "simd_shuffle("
                          : print_format(p, "%s(", shuffle_name(p, t)));
    }
    print_expr(p, e->args[1], LEVEL_ASSIGN);
    if (wide)
        print_out(p, ")");
    print_out(p, ", ig_lane_%s(%s, ", lanes[e->builtin - BUILTIN_SHFL], own_lane(p));
    print_expr(p, e->args[2], LEVEL_ASSIGN);
    print_out(p, ", ");
    print_expr(p, e->args[3], LEVEL_ASSIGN);
    print_out(p, wide ? ")))" : "))");
}

/* The lanes of a mask vote; all: on the opposite, which no lane may have. */
static void vote(printer *p, const kernel_expr *e)
{
    static const struct {
        const char *before, *between, *after;
    } own[] = {{"(int)((ig_ballot(!(", ")) & ", ") == 0)"},
               {"(int)((ig_ballot((", ") != 0) & ", ") != 0)"},
               {"(ig_ballot(", " != 0) & ", ")"}},
      masked[] = {{"(int)(ig_warp_ballot(", ", !(", ")) == 0)"},
                  {"(int)(ig_warp_ballot(", ", (", ") != 0) != 0)"},
                  {"ig_warp_ballot(", ", (", ") != 0)"}};
    const int row = e->builtin == BUILTIN_VOTE_ALL ? 0 : e->builtin == BUILTIN_VOTE_ANY ? 1 : 2;
    if (!p->target->masked)
        print_use(p, PRELUDE_BALLOT);
    if (e->builtin == BUILTIN_ACTIVEMASK) {
        print_out(p, p->target->masked ? "ig_warp_active()" : "ig_ballot(true)");
    } else if (p->target->masked) {
        print_around(p, masked[row].before, e->args[0], LEVEL_ASSIGN, masked[row].between);
        print_around(p, "", e->args[1], LEVEL_COMMA, masked[row].after);
    } else {
        print_around(p, own[row].before, e->args[1], LEVEL_COMMA, own[row].between);
        print_around(p, "", e->args[0], LEVEL_UNARY, own[row].after);
    }
}

static void warp(printer *p, const kernel_expr *e)
{
    switch (e->builtin) {
    case BUILTIN_SHFL:
    case BUILTIN_SHFL_UP:
    case BUILTIN_SHFL_DOWN:
    case BUILTIN_SHFL_XOR: shuffle(p, e); break;
    case BUILTIN_VOTE_ALL:
    case BUILTIN_VOTE_ANY:
    case BUILTIN_BALLOT:
    case BUILTIN_ACTIVEMASK: vote(p, e); break;
    case BUILTIN_SYNCWARP:
        if (p->target->masked) {
            print_around(p, "ig_warp_sync(", e->args[0], LEVEL_ASSIGN, ")");
            break;
        }
        print_out(p, is_metal(p)
                         ? "simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)"
                         : "sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)");
        break;
    case BUILTIN_LANE: print_out(p, "%s", own_lane(p)); break;
    default: refuse_missing(p, e, "IG-WARP");
    }
}

/* ---- barriers --------------------------------------------------------------------------------- */

const char *print_vote(const printer *p)
{
    if (is_metal(p))
        return p->at->f->is_kernel ? "threadIdx, &vote" : "threadIdx, vote";
    return p->at->f->is_kernel ? "&vote" : "vote";
}

static void barrier(printer *p, const kernel_expr *e)
{
    if (e->builtin == BUILTIN_BARRIER) {
        print_out(p, "%s", p->lang->barrier);
        return;
    }
    const bool all = e->builtin == BUILTIN_BARRIER_AND;
    print_use(p, PRELUDE_VOTE);
    print_out(p, e->builtin == BUILTIN_BARRIER_COUNT ? "(int)ig_count(%s" : "(int)(ig_count(%s",
              p->maybe ? "active && " : "");
    print_expr(p, e->args[0], LEVEL_EQUAL + 1);
    print_out(p, " %s 0, %s)", all ? "==" : "!=", print_vote(p));
    if (e->builtin != BUILTIN_BARRIER_COUNT)
        print_out(p, all ? " == 0)" : " != 0)");
}

static void memory(printer *p, const kernel_expr *e)
{
    static const char letters[] = "pgclpp";
    const bool copy = e->builtin == BUILTIN_MEMCPY;
    if (e->builtin == BUILTIN_SHARED_ADDRESS || e->builtin == BUILTIN_SHARED_POINTER)
        refuse_missing(p, e, "IG-SHADDR");
    if (e->builtin == BUILTIN_TEXEL_ADDRESS) {
        print_out(p, "((%schar *)", p->lang->spaces[SPACE_GLOBAL]);
        print_expr(p, e->args[0], LEVEL_UNARY);
        print_out(p, " + ");
        print_expr(p, e->args[1], LEVEL_UNARY);
        print_out(p, ")");
        return;
    }
    if (e->builtin != BUILTIN_MEMCPY && e->builtin != BUILTIN_MEMSET)
        refuse_missing(p, e, "IG-NEW");
    const uint8_t to = e->args[0]->space, from = copy ? e->args[1]->space : SPACE_UNSET;
    const char *name = print_format(p, "ig_%s_%c%c", copy ? "copy" : "fill", letters[to],
                                    copy ? letters[from] : 'v');
    const char *d = p->lang->spaces[to], *s = p->lang->spaces[from];
    if (copy)
        print_make(
            p, name,
            print_format(p,
                         "static %svoid *%s(%svoid *to, %sconst void *from, ulong bytes)\n{\n"
                         "    for (ulong i = 0; i < bytes; i++)\n"
                         "        ((%suchar *)to)[i] = ((%sconst uchar *)from)[i];\n"
                         "    return to;\n}\n\n",
                         d, name, d, s, d, s));
    else
        print_make(p, name,
                   print_format(p,
                                "static %svoid *%s(%svoid *to, int value, ulong bytes)\n{\n"
                                "    for (ulong i = 0; i < bytes; i++)\n"
                                "        ((%suchar *)to)[i] = (uchar)value;\n"
                                "    return to;\n}\n\n",
                                d, name, d, d));
    print_arguments(p, e, print_format(p, "%s(", name), ")");
}

void print_builtin(printer *p, const kernel_expr *e, int level)
{
    if (is_cuda(p)) {
        print_builtin_cuda(p, e, level);
        return;
    }
    switch ((kernel_builtin_class)kernel_builtin_rows[e->builtin].class) {
    case CLASS_MATH:
    case CLASS_FAST: math(p, e, level); break;
    case CLASS_INT: integer(p, e, level); break;
    case CLASS_CONVERT:
        if (e->builtin == BUILTIN_BITCAST)
            bitcast(p, e);
        else
            convert(p, e, level);
        break;
    case CLASS_ATOMIC:
        if (is_metal(p))
            atomic_metal(p, e);
        else
            atomic_opencl(p, e);
        break;
    case CLASS_WARP: warp(p, e); break;
    case CLASS_BARRIER: barrier(p, e); break;
    case CLASS_FENCE: {
        const char *fence = p->lang->fences[e->builtin - BUILTIN_FENCE_BLOCK];
        if (!fence)
            refuse_missing(p, e, "IG-FENCE");
        print_out(p, "%s", fence);
        break;
    }
    case CLASS_MEMORY: memory(p, e); break;
    case CLASS_CLOCK:
        if (e->builtin != BUILTIN_NANOSLEEP)
            refuse_missing(p, e, "IG-CLOCK");
        print_out(p, "(void)0");
        break;
    case CLASS_ROUND: refuse_missing(p, e, "IG-ROUND");
    case CLASS_WMMA: print_wmma(p, e); break;
    case CLASS_IO:
        print_refuse(p, e->place, "IG-PRINTF",
                     "the output of a kernel is recorded by separate statements",
                     "make it a statement", "'%s' inside an expression",
                     e->builtin == BUILTIN_PRINTF ? "printf" : "assert");
        print_stop(p);
    case CLASS_REFUSED:
        refuse_missing(p, e, kernel_feature_rows[kernel_builtin_rows[e->builtin].feature].code);
    }
}
