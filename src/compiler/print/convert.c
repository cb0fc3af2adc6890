/* Conversions between numbers, by the rules of builtins.def. If a cast of C is undefined or rounds twice, the
 * conversion becomes a function. */
#include <string.h>

#include "compiler/print/parts.h"

enum { TO_NEAREST, TO_ZERO, UPWARDS, DOWNWARDS }; /* in the order of the BUILTIN_CONVERT_ rows */

/* ---- to integers ------------------------------------------------------------------------------ */

static const char *const suffixes[] = {"rte", "rtz", "rtp", "rtn"};

/* The integer type to which a float saturates before its lowest bits are taken. */
static type_kind range_of(const kernel_type *to, const kernel_type *from)
{
    const bool wraps = to->size < 4 && from->kind >= TYPE_F32;
    return wraps ? (type_is_signed(to) ? TYPE_I32 : TYPE_U32) : (type_kind)to->kind;
}

static void integer_opencl(printer *p, const kernel_type *to, const kernel_expr *a, int mode)
{
    const type_kind range = range_of(to, a->type), from = print_kind_of(p, a);
    const char *name = p->lang->values[range];
    const char *convert = print_format(p, "convert_%s_sat_%s", name, suffixes[mode]);
    if (to->size == 8 || (to->size == 4 && from == TYPE_F64)) { /* NaN does not become 0 */
        const char *real = p->lang->values[from];
        const char *made = print_format(p, "ig_%s_of_%s_%s", name, real, suffixes[mode]);
        print_make(
            p, made,
            print_format(p,
                         "static %s %s(%s x)\n{\n    return isnan(x) ? (%s)((ulong)1 << %d) : "
                         "%s(x);\n}\n\n",
                         name, made, real, name, (int)to->size * 8 - 1, convert));
        convert = made;
    }
    print_out(p, range != (type_kind)to->kind ? "(%s)" : "%.0s", p->lang->values[to->kind]);
    print_around(p, print_format(p, "%s(", convert), a, LEVEL_ASSIGN, ")");
}

static void integer_metal(printer *p, const kernel_type *to, const kernel_expr *a, int mode)
{
    static const char *const before[] = {"rint(", "", "ceil(", "floor("};
    static const char *const limits[] = {[TYPE_I8] = ", -128), 127)",
                                         [TYPE_U8] = ", 0u), 255u)",
                                         [TYPE_I16] = ", -32768), 32767)",
                                         [TYPE_U16] = ", 0u), 65535u)"};
    const bool narrow = to->size < 4, clamped = narrow && range_of(to, a->type) == to->kind;
    const char *name = !narrow ? p->lang->values[to->kind] : type_is_signed(to) ? "int" : "uint";
    print_use(p, PRELUDE_SATURATE_INT);
    print_out(p, narrow ? "(%s)" : "%.0s", p->lang->values[to->kind]);
    print_out(p, clamped ? "min(max(ig_to_%s(%s" : "ig_to_%s(%s", name, before[mode]);
    if (print_kind_of(p, a) == TYPE_F16) {
        print_out(p, "(float)");
        print_expr(p, a, LEVEL_UNARY);
    } else {
        print_expr(p, a, LEVEL_ASSIGN);
    }
    print_out(p, "%s)%s", *before[mode] ? ")" : "", clamped ? limits[to->kind] : "");
}

/* ---- to floats -------------------------------------------------------------------------------- */

/* Converts an integer to a float, with directed rounding. TO_NEAREST rounds to odd, so that a later rounding
 * is exact. */
static void float_of_integer(printer *p, const kernel_expr *a, int mode)
{
    print_use(p, PRELUDE_FLOAT_OF_INT);
    print_around(p, type_is_signed(a->type) ? "ig_float_of_long(" : "ig_float_of_ulong(", a,
                 LEVEL_ASSIGN, print_format(p, ", %d)", mode));
}

/* Converts to f16 or bf16 with directed rounding. */
static void narrow_directed(printer *p, const kernel_type *to, const kernel_expr *a, int mode)
{
    const bool bf16 = to->kind == TYPE_BF16;
    print_use(p, bf16 ? PRELUDE_BF16_TOWARD : PRELUDE_F16_TOWARD);
    print_out(p, "%s%s(", print_kind(p, to) == TYPE_F16 ? "(half)" : "",
              bf16 ? "ig_bf16_toward" : "ig_half_toward");
    if (type_is_integer(a->type))
        float_of_integer(p, a, mode);
    else
        print_expr(p, a, LEVEL_ASSIGN);
    print_out(p, ", %d)", mode);
}

static void bf16_once(printer *p, const kernel_expr *a)
{
    print_use(p, PRELUDE_BF16);
    print_out(p, "ig_round_bf16(");
    if (type_is_integer(a->type)) {
        float_of_integer(p, a, TO_NEAREST);
    } else {
        print_use(p, PRELUDE_ODD_F64);
        print_around(p, "ig_odd_double(", a, LEVEL_ASSIGN, ")");
    }
    print_out(p, ")");
}

static bool convert_to_float(printer *p, const kernel_type *to, const kernel_expr *a, int mode)
{
    const bool whole = type_is_integer(a->type);
    const bool half = to->kind == TYPE_F16 || to->kind == TYPE_BF16;
    if (mode == TO_NEAREST) {
        const bool twice = whole ? a->type->size >= 4 : print_kind_of(p, a) == TYPE_F64;
        if (to->kind != TYPE_BF16 || !twice)
            return false;
        bf16_once(p, a);
    } else if (half) {
        narrow_directed(p, to, a, mode);
    } else if (whole && to->kind == TYPE_F32) {
        float_of_integer(p, a, mode);
    } else { /* only OpenCL has double */
        print_around(p,
                     print_format(p, "convert_%s_%s(", p->lang->values[to->kind], suffixes[mode]),
                     a, LEVEL_ASSIGN, ")");
    }
    return true;
}

bool print_convert(printer *p, const kernel_type *to, const kernel_expr *a, int mode, int level)
{
    if (is_cuda(p) || !type_is_arithmetic(a->type) || !type_is_arithmetic(to) ||
        to->kind == TYPE_BOOL || to->kind == a->type->kind)
        return false;
    if (type_is_float(to))
        return convert_to_float(p, to, a, mode);
    if (!type_is_float(a->type) || (p->target->casts_fit && mode == TO_ZERO))
        return false;
    const bool wrap = to->size < 4 && level > LEVEL_UNARY;
    print_out(p, "%s", wrap ? "(" : "");
    if (is_metal(p))
        integer_metal(p, to, a, mode);
    else
        integer_opencl(p, to, a, mode);
    print_out(p, "%s", wrap ? ")" : "");
    return true;
}
