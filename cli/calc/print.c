/* The calculator's last step: values -> text, as NumPy prints them (str, its default options).
 *
 * First the elements to be shown are measured, then they are printed in columns of one width. Lines end
 * before column 75; of more than 1000 elements only 3 at each end are shown. */
#include "calc/calc.h"
#include "calc/decimal.h"

#include <math.h>
#include <string.h>

enum { LINE_WIDTH = 75, SHOWN_MOST = 1000, EDGE_ITEMS = 3, PLACES = 8 };

/* The format of the elements of one array. */
typedef struct style {
    ig_dtype dtype;
    bool floats, scientific;
    int before, after;  /* columns left of the point, and right of it (of an exponent: all of it) */
    int places;         /* scientific: digits after the point */
    int exponent_width; /* scientific: its digits */
} style;

typedef struct printer {
    str *out;
    const void *data;
    const int64_t *shape;
    int64_t strides[IG_MAX_NDIM]; /* in elements */
    int ndim;
    bool shorten;
    style style;
} printer;

/* ---- one element ---------------------------------------------------------------------------- */

static void str_exponent(str *t, int exponent, int width)
{
    str_printf(t, "e%c%0*d", exponent < 0 ? '-' : '+', width, exponent < 0 ? -exponent : exponent);
}

/* d.ddde+xx with at least places digits after the point. */
static void str_scientific(str *t, const decimal *d, int places, int exponent_width)
{
    str_printf(t, "%s%c.%.*s", d->negative ? "-" : "", d->digits[0], d->n - 1, d->digits + 1);
    if (places > d->n - 1)
        str_fill(t, '0', (size_t)(places - (d->n - 1)));
    str_exponent(t, d->digits[0] == '0' ? 0 : d->point - 1, exponent_width);
}

static const char *not_finite(double f) { return isnan(f) ? "nan" : f < 0 ? "-inf" : "inf"; }

static void str_whole(str *t, const value *v, ig_dtype dtype)
{
    if (v->kind == V_BOOL)
        str_puts(t, v->u.b ? "True" : "False");
    else if (dtype == IG_U64)
        str_printf(t, "%llu", (unsigned long long)v->u.i);
    else
        str_printf(t, "%lld", (long long)v->u.i);
}

static void str_float(str *t, double f, const style *s)
{
    if (!isfinite(f)) {
        str_puts(t, not_finite(f));
    } else if (s->scientific) {
        decimal d = decimal_scientific(f, s->dtype, s->places, s->places);
        str_scientific(t, &d, s->places, s->exponent_width);
    } else {
        decimal d = decimal_fixed(f, s->dtype, PLACES);
        str_decimal(t, &d);
        str_fill(t, ' ', (size_t)(s->after - decimal_places(&d)));
    }
}

/* The element in its column. */
static void str_element(str *t, const value *v, const style *s)
{
    str word = {0};
    if (s->floats)
        str_float(&word, v->u.f, s);
    else
        str_whole(&word, v, s->dtype);
    int width = s->before + s->after + s->floats;
    if ((int)word.n < width)
        str_fill(t, ' ', (size_t)width - word.n);
    str_add(t, word.s, word.n);
    str_free(&word);
}

/* bf16 is laid out as f32. */
static ig_dtype style_dtype(ig_dtype dtype) { return dtype == IG_BF16 ? IG_F32 : dtype; }

/* Where whole numbers pass the digits that the dtype holds (as NumPy has it since 2.3; for f64 it
 * takes one more). */
static double whole_limit(ig_dtype dtype)
{
    return pow(10, decimal_digits(dtype) + (dtype == IG_F64));
}

void print_float(str *t, double f, ig_dtype dtype)
{
    double magnitude = fabs(f), least = decimal_round(1e-4, style_dtype(dtype));
    if (!isfinite(f)) {
        str_puts(t, not_finite(f));
        return;
    }
    decimal d = decimal_shortest(f, dtype);
    if (magnitude == 0 || (magnitude >= least && magnitude < whole_limit(style_dtype(dtype)))) {
        str_decimal(t, &d);
        if (decimal_places(&d) == 0)
            str_puts(t, "0");
    } else if (d.n == 1) {
        str_printf(t, "%s%c", d.negative ? "-" : "", d.digits[0]);
        str_exponent(t, d.point - 1, 2);
    } else {
        str_scientific(t, &d, 0, 2);
    }
}

/* ---- which elements are shown --------------------------------------------------------------- */

static bool axis_is_shortened(const printer *p, int axis)
{
    return p->shorten && p->shape[axis] > 2 * EDGE_ITEMS;
}

/* The index after i that is shown. */
static int64_t next_shown(const printer *p, int axis, int64_t i)
{
    bool jump = axis_is_shortened(p, axis) && i + 1 == EDGE_ITEMS;
    return jump ? p->shape[axis] - EDGE_ITEMS : i + 1;
}

typedef void visitor(style *s, const value *v, void *context);

static void visit_shown(printer *p, int axis, int64_t offset, visitor *visit, void *context)
{
    if (axis == p->ndim) {
        value v = value_element(p->data, p->style.dtype, offset);
        visit(&p->style, &v, context);
        return;
    }
    for (int64_t i = 0; i < p->shape[axis]; i = next_shown(p, axis, i))
        visit_shown(p, axis + 1, offset + i * p->strides[axis], visit, context);
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* Facts about the elements to be shown, which decide their format. */
typedef struct survey {
    double largest, smallest; /* magnitudes that are finite and not zero; 0: there are none */
    bool finite, nan, inf, minus_inf;
} survey;

static void widen(int *width, int to)
{
    if (*width < to)
        *width = to;
}

static void survey_float(style *s, const value *v, void *context)
{
    (void)s;
    survey *seen = context;
    double magnitude = fabs(v->u.f);
    seen->nan |= isnan(v->u.f) != 0;
    seen->inf |= isinf(v->u.f) != 0;
    seen->minus_inf |= isinf(v->u.f) && v->u.f < 0;
    if (!isfinite(v->u.f))
        return;
    seen->finite = true;
    if (magnitude > seen->largest)
        seen->largest = magnitude;
    if (magnitude != 0 && (seen->smallest == 0 || magnitude < seen->smallest))
        seen->smallest = magnitude;
}

static void measure_float(style *s, const value *v, void *context)
{
    (void)context;
    if (!isfinite(v->u.f))
        return;
    if (s->scientific) {
        decimal d = decimal_scientific(v->u.f, s->dtype, 0, PLACES);
        widen(&s->before, 1 + d.negative);
        widen(&s->places, d.n - 1);
        widen(&s->exponent_width, d.point - 1 >= 100 || d.point - 1 <= -100 ? 3 : 2);
        s->after = s->places + 2 + s->exponent_width;
    } else {
        decimal d = decimal_fixed(v->u.f, s->dtype, PLACES);
        widen(&s->before, d.negative + (d.point > 0 ? d.point : 1));
        widen(&s->after, decimal_places(&d));
    }
}

static void measure_whole(style *s, const value *v, void *context)
{
    (void)context;
    str word = {0};
    str_whole(&word, v, s->dtype);
    widen(&s->before, (int)word.n);
    str_free(&word);
    if (s->dtype == IG_BOOL)
        s->before = (int)strlen("False");
}

/* Past the digits that the dtype holds (8 at most), below 0.0001, or where magnitudes differ too
 * much; all compared in the dtype itself. */
static bool wants_exponents(const survey *seen, ig_dtype dtype)
{
    dtype = style_dtype(dtype);
    double ratio = decimal_round(seen->largest / seen->smallest, dtype);
    return seen->smallest != 0 && (seen->largest >= fmin(whole_limit(dtype), 1e8) ||
                                   seen->smallest < decimal_round(1e-4, dtype) || ratio > 1000);
}

static void measure(printer *p)
{
    style *s = &p->style;
    s->floats = ig_isdtype(s->dtype, "real floating");
    if (!s->floats) {
        visit_shown(p, 0, 0, measure_whole, NULL);
        return;
    }
    survey seen = {0};
    visit_shown(p, 0, 0, survey_float, &seen);
    s->scientific = wants_exponents(&seen, s->dtype);
    visit_shown(p, 0, 0, measure_float, NULL);
    if (seen.nan)
        widen(&s->before, 3 - (s->after + 1));
    if (seen.inf)
        widen(&s->before, 3 + seen.minus_inf - (s->after + 1));
}

/* ---- laying out ----------------------------------------------------------------------------- */

/* Adds a word to the row that ends in column *column, or to a new line where it does not fit. */
static void row_add(printer *p, const str *word, size_t indent, size_t width, size_t *column)
{
    if (*column + word->n > width && *column > indent) {
        str_trim(p->out);
        str_puts(p->out, "\n");
        str_fill(p->out, ' ', indent);
        *column = indent;
    }
    str_add(p->out, word->s, word->n);
    *column += word->n;
}

static void print_row(printer *p, int64_t offset)
{
    int axis = p->ndim - 1;
    size_t indent = (size_t)p->ndim, column = indent;
    size_t width = (size_t)(LINE_WIDTH - axis - 1);
    str word = {0};
    for (int64_t i = 0; i < p->shape[axis]; i = next_shown(p, axis, i)) {
        if (i > 0) {
            str_puts(p->out, " ");
            column++;
        }
        if (axis_is_shortened(p, axis) && i == p->shape[axis] - EDGE_ITEMS) {
            const str dots = {(char *)"...", 3, 0};
            row_add(p, &dots, indent, width, &column);
            str_puts(p->out, " ");
            column++;
        }
        value v = value_element(p->data, p->style.dtype, offset + i * p->strides[axis]);
        word.n = 0;
        str_element(&word, &v, &p->style);
        row_add(p, &word, indent, width, &column);
    }
    str_free(&word);
}

static void print_axis(printer *p, int axis, int64_t offset)
{
    str_puts(p->out, "[");
    if (axis == p->ndim - 1) {
        print_row(p, offset);
    } else {
        size_t lines = (size_t)(p->ndim - 1 - axis), indent = (size_t)axis + 1;
        for (int64_t i = 0; i < p->shape[axis]; i = next_shown(p, axis, i)) {
            if (axis_is_shortened(p, axis) && i == p->shape[axis] - EDGE_ITEMS) {
                str_fill(p->out, '\n', lines);
                str_fill(p->out, ' ', indent);
                str_puts(p->out, "...");
            }
            if (i > 0) {
                str_fill(p->out, '\n', lines);
                str_fill(p->out, ' ', indent);
            }
            print_axis(p, axis + 1, offset + i * p->strides[axis]);
        }
    }
    str_puts(p->out, "]");
}

static bool print_array(str *t, ig_array *x, bool full)
{
    const void *data = ig_data(x);
    if (!data && ig_failed())
        return false;
    ig_ints shape = ig_shape(x);
    printer p = {.out = t, .data = data, .shape = shape.v, .ndim = shape.n};
    p.style.dtype = ig_dtype_of(x);
    int64_t size = 1;
    for (int axis = shape.n - 1; axis >= 0; axis--) {
        p.strides[axis] = size;
        size *= shape.v[axis];
    }
    p.shorten = !full && size > SHOWN_MOST;
    if (size == 0) {
        str_puts(t, "[]");
    } else if (shape.n == 0) {
        value v = value_element(data, p.style.dtype, 0);
        if (v.kind == V_FLOAT)
            print_float(t, v.u.f, p.style.dtype);
        else
            str_whole(t, &v, p.style.dtype);
    } else {
        measure(&p);
        print_axis(&p, 0, 0);
    }
    return true;
}

/* ---- values --------------------------------------------------------------------------------- */

/* (2, 3), (2,): as Python has it. Where there are arrays, each item is on its own line. */
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

/* "name  f32 (2, 3)", a line for each. */
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
                                        : "named arrays",
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
    case V_NONE: str_puts(t, "None"); break;
    default: str_whole(t, v, IG_I64);
    }
    return true;
}
