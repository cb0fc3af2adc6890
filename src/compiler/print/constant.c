/* Constants as text: digits that read back as the same number, with the suffix and the casts of the language. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/print/parts.h"

/* Digits that read back as the same number. */
static void number(printer *p, double x, bool single)
{
    char digits[40];
    if (fabs(x) < 1e7 && x == floor(x)) {
        print_out(p, "%.1f%s", x, single ? "f" : "");
        return;
    }
    for (int n = 1; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, x);
        const double back = strtod(digits, NULL);
        if (single ? (float)back == (float)x : back == x)
            break;
    }
    print_out(p, "%s%s%s", digits, strpbrk(digits, ".e") ? "" : ".0", single ? "f" : "");
}

/* Infinities and NaN by name; false if x is neither. */
static bool special(printer *p, double x, bool single)
{
    if (isfinite(x))
        return false;
    if (is_cuda(p)) { /* NVRTC has no macros for them */
        const char *bits = isnan(x) ? "7fc00000" : x < 0 ? "ff800000" : "7f800000";
        print_out(p, single ? "__uint_as_float(0x%s)" : "(double)__uint_as_float(0x%s)", bits);
        return true;
    }
    const char *name = isnan(x) ? "NAN" : x < 0 ? "(-INFINITY)" : "INFINITY";
    print_out(p, single ? "%s" : "(double)%s", name);
    return true;
}

static void print_float(printer *p, type_kind kind, const kernel_type *t, double x, int level)
{
    const bool half = t->kind == TYPE_F16 && kind == TYPE_F16;
    const bool wrap = signbit(x) && level > LEVEL_UNARY;
    if (half || (kind == TYPE_BF16)) {
        print_out(p, "(%s)", p->lang->values[kind]);
        kind = TYPE_F32;
    }
    print_out(p, "%s", wrap ? "(" : "");
    if (!special(p, x, kind == TYPE_F32))
        number(p, x, kind == TYPE_F32);
    print_out(p, "%s", wrap ? ")" : "");
}

void print_integer(printer *p, const kernel_type *t, uint64_t u, int level)
{
    const bool is_signed = type_is_signed(t), wide = t->size == 8;
    const char *suffix = wide ? "l" : "";
    if (is_cuda(p) && wide)
        suffix = "ll";
    if (!is_signed) {
        if (t->size < 4)
            print_out(p, "(%s)%llu", p->lang->values[t->kind], (unsigned long long)u);
        else
            print_out(p, "%lluu%s", (unsigned long long)u, suffix);
        return;
    }
    const int64_t i = (int64_t)u;
    const bool least = i == (wide ? INT64_MIN : INT32_MIN);
    const bool wrap = least || (i < 0 && level > LEVEL_UNARY);
    if (t->size < 4)
        print_out(p, "(%s)", p->lang->values[t->kind]);
    print_out(p, "%s%lld%s%s%s", wrap || (i < 0 && t->size < 4) ? "(" : "",
              (long long)(least ? i + 1 : i), suffix, least ? " - 1" : "",
              wrap || (i < 0 && t->size < 4) ? ")" : "");
}

void print_constant(printer *p, const kernel_expr *e, int level)
{
    const kernel_type *t = e->type;
    if (t->kind == TYPE_BOOL)
        print_out(p, "%s", e->value.integer ? "true" : "false");
    else if (type_is_float(t))
        print_float(p, print_kind_of(p, e), t, e->value.number, level);
    else if (type_is_pointer(t))
        print_out(p, level > LEVEL_UNARY ? "((%s)%llu)" : "(%s)%llu",
                  print_type(p, t, e->space, true), (unsigned long long)e->value.integer);
    else
        print_integer(p, t, e->value.integer, level);
}
