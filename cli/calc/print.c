/* Values as text, as Python and NumPy print them. */
#include "calc/calc.h"

#include <string.h>

/* Adds an integer or bool. */
static void str_whole(str *t, const value *v)
{
    if (v->kind == V_BOOL)
        str_puts(t, v->u.b ? "True" : "False");
    else
        str_printf(t, "%lld", (long long)v->u.i);
}

void print_float(str *t, double f, ig_dtype dtype)
{
    char text[IG_FLOAT_TEXT];
    ig_float_text(f, dtype, text);
    str_puts(t, text);
}

static bool print_array(str *t, ig_array *x, bool full)
{
    char *text = ig_to_string(x, full);
    if (!text)
        return false;
    str_puts(t, text);
    ig_free(text);
    return true;
}

/* ---- values --------------------------------------------------------------------------------- */

/* (2, 3), (2,): as in Python. If there are arrays, each item is on its own line. */
static bool print_tuple(str *t, const value *v, bool full)
{
    int n = v->u.items.n;
    bool lines = value_collect(v, NULL, 0) > 0;
    if (!lines)
        str_puts(t, "(");
    for (int i = 0; i < n; i++) {
        const value *item = &v->u.items.v[i];
        const char *quote = !lines && item->kind == V_STRING ? "'" : "";
        str_puts(t, i == 0 ? "" : lines ? "\n" : ", ");
        str_puts(t, quote);
        if (!print_value(t, item, full))
            return false;
        str_puts(t, quote);
    }
    if (!lines)
        str_puts(t, n == 1 ? ",)" : ")");
    return true;
}

/* "name  f32 (2, 3)", one line each. */
static void print_named(str *t, const value *v)
{
    size_t width = 0;
    for (int i = 0; i < v->u.items.n; i++)
        width = strlen(v->names[i]) > width ? strlen(v->names[i]) : width;
    for (int i = 0; i < v->u.items.n; i++) {
        str_printf(t, "%s%-*s  ", i ? "\n" : "", (int)width, v->names[i]);
        print_brief(t, &v->u.items.v[i]);
    }
    if (v->u.items.n == 0)
        str_puts(t, "no arrays");
}

void print_brief(str *t, const value *v)
{
    if (v->kind == V_ARRAY) {
        ig_ints shape = ig_shape(v->u.array);
        str_printf(t, "%s (", ig_dtype_name(ig_dtype_of(v->u.array)));
        for (int i = 0; i < shape.n; i++)
            str_printf(t, "%s%lld", i ? ", " : "", (long long)shape.v[i]);
        str_puts(t, shape.n == 1 ? ",)" : ")");
    } else if (value_has_parts(v)) {
        str_printf(t, "%s of %d",
                   v->kind == V_LIST    ? "list"
                   : v->kind == V_TUPLE ? "tuple"
                                        : "dict",
                   v->u.items.n);
    } else {
        print_value(t, v, false);
    }
}

bool print_value(str *t, const value *v, bool full)
{
    switch (v->kind) {
    case V_ARRAY: return print_array(t, v->u.array, full);
    case V_TUPLE: return print_tuple(t, v, full);
    case V_LIST: {
        ig_array *x = value_to_array(v, IG_DTYPE_NONE);
        return x && print_array(t, x, full);
    }
    case V_FLOAT: print_float(t, v->u.f, IG_F64); break;
    case V_STRING: str_puts(t, v->u.s); break;
    case V_DTYPE: str_puts(t, ig_dtype_name(v->u.dtype)); break;
    case V_REST: str_puts(t, "..."); break;
    case V_NAMED: print_named(t, v); break;
    case V_FUNCTION:
    case V_RANDOM: str_puts(t, value_kind_name(v->kind)); break;
    case V_NONE: str_puts(t, "None"); break;
    default: str_whole(t, v);
    }
    return true;
}
