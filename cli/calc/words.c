/* Text in the calculator: f-strings, print, assert. */
#include "calc/parts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- formats ------------------------------------------------------------------------------------ */

enum { WIDTH_MOST = 1000, PRECISION_MOST = 100 };

/* [[fill]align][sign][0][width][,][.precision][type], as in Python. */
typedef struct format {
    char fill, align, sign, type; /* 0: not given */
    bool groups;
    int width, precision; /* precision -1: not given */
} format;

static int format_number(const char **s, int most)
{
    int n = 0;
    while (isdigit((unsigned char)**s) && n <= most)
        n = 10 * n + (*(*s)++ - '0');
    return n;
}

/* False if the text is not a format. */
static bool format_read(const char *s, format *f)
{
    *f = (format){.precision = -1};
    if (s[0] && s[1] && strchr("<>^", s[1]))
        f->fill = *s++;
    if (*s && strchr("<>^", *s))
        f->align = *s++;
    if (*s && strchr("+- ", *s))
        f->sign = *s++;
    if (*s == '0' && !f->align) {
        f->fill = '0';
        f->align = '=';
        s++;
    }
    f->width = format_number(&s, WIDTH_MOST);
    f->groups = *s == ',';
    s += f->groups;
    if (*s == '.') {
        s++;
        if (!isdigit((unsigned char)*s))
            return false;
        f->precision = format_number(&s, PRECISION_MOST);
    }
    if (*s && strchr("dfFeEgGsxob%", *s))
        f->type = *s++;
    return *s == 0 && f->width <= WIDTH_MOST && f->precision <= PRECISION_MOST;
}

/* Puts a comma between groups of three digits before the point. */
static void group_digits(str *t)
{
    int digits = 0, n = 0;
    while (isdigit((unsigned char)t->s[digits]))
        digits++;
    str out = {0};
    for (; n < digits; n++) {
        if (n && (digits - n) % 3 == 0)
            str_puts(&out, ",");
        str_add(&out, t->s + n, 1);
    }
    str_puts(&out, t->s + digits);
    str_free(t);
    *t = out;
}

/* The magnitude of an integer in base 2, 8 or 16. */
static void whole_digits(str *t, uint64_t i, unsigned base)
{
    char digits[65];
    int n = 0;
    do
        digits[n++] = "0123456789abcdef"[i % base];
    while ((i /= base) != 0);
    while (n)
        str_add(t, &digits[--n], 1);
}

/* The magnitude of a number. NULL, or why it cannot be written so. */
static const char *number_digits(const value *v, const format *f, str *t)
{
    const double size = fabs(value_float_of(v));
    const char type = f->type;
    if (type == 's')
        return "a number has no format 's'";
    if (type == 'd' || type == 'x' || type == 'o' || type == 'b' ||
        (!type && v->kind != V_FLOAT && f->precision < 0)) {
        if (v->kind == V_FLOAT)
            return "the formats d, x, o and b are for ints";
        const int64_t i = value_int_of(v);
        whole_digits(t, i < 0 ? -(uint64_t)i : (uint64_t)i,
                     type == 'x'   ? 16
                     : type == 'o' ? 8
                     : type == 'b' ? 2
                                   : 10);
    } else if (!type && f->precision < 0) {
        print_float(t, size, IG_F64);
    } else {
        const char letter = !type ? 'g' : type == '%' ? 'f' : type;
        const char as[] = {'%', '.', '*', letter, 0};
        str_printf(t, as, f->precision < 0 ? 6 : f->precision, type == '%' ? 100 * size : size);
        str_puts(t, type == '%' ? "%" : "");
    }
    if (f->groups)
        group_digits(t);
    return NULL;
}

/* Adds text with its sign, padded to the width. */
static void pad(str *t, const format *f, const char *sign, const char *text, char usual)
{
    const size_t n = strlen(sign) + strlen(text);
    const size_t more = (size_t)f->width > n ? (size_t)f->width - n : 0;
    const char align = f->align ? f->align : usual, fill = f->fill ? f->fill : ' ';
    const size_t left = align == '>' ? more : align == '^' ? more / 2 : 0;
    str_fill(t, fill, left);
    str_puts(t, sign);
    str_fill(t, fill, align == '=' ? more : 0);
    str_puts(t, text);
    str_fill(t, fill, align == '=' ? 0 : more - left);
}

/* A string as it is typed in Python. */
static void add_typed(str *t, const char *s)
{
    const char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
    str_add(t, &quote, 1);
    for (; *s; s++) {
        if (*s == quote || *s == '\\')
            str_puts(t, "\\");
        str_add(t, *s == '\n' ? "\\n" : *s == '\t' ? "\\t" : s, *s == '\n' || *s == '\t' ? 2 : 1);
    }
    str_add(t, &quote, 1);
}

static bool format_value(calc *c, span where, const value *v, const char *spec, str *t);

/* Adds v as a text: !s, or !r, which quotes strings, and then a format of strings. */
static bool format_converted(calc *c, span where, const value *v, const char *spec, str *t)
{
    str all = {0};
    bool fine = true;
    if (v->kind == V_STRING && spec[1] == 'r')
        add_typed(&all, v->u.s);
    else
        fine = format_value(c, where, v, "", &all);
    const value typed = {.kind = V_STRING,
                         .u.s = arena_string(&c->scratch, all.n ? all.s : "", all.n)};
    str_free(&all);
    return fine && format_value(c, where, &typed, spec + 2 + (spec[2] == ':'), t);
}

/* Adds v in this format. */
static bool format_value(calc *c, span where, const value *v, const char *spec, str *t)
{
    format f;
    value number = *v;
    if (*spec == '!')
        return format_converted(c, where, v, spec, t);
    if (!*spec)
        return print_value(t, v, c->options.full) || calc_fail_library(c, where);
    if (!format_read(spec, &f))
        return calc_fail(c, where, "'%s' is not a format; write {x:.2f}, {x:8d} or {x:>10}", spec);
    if (v->kind == V_ARRAY && ig_size(v->u.array) == 1 &&
        !ig_isdtype(ig_dtype_of(v->u.array), "complex floating")) {
        const void *data = calc_may_read(c, where) ? ig_data(v->u.array) : NULL;
        if (!data)
            return calc_fail_library(c, where);
        number = value_element(data, ig_dtype_of(v->u.array), 0);
    }
    if (!value_is_number(&number) && v->kind != V_STRING)
        return calc_fail(c, where, "a format needs a number or a string, not %s of %lld elements",
                         value_kind_name(v->kind),
                         v->kind == V_ARRAY ? (long long)ig_size(v->u.array) : 0LL);
    if (v->kind == V_STRING) {
        if (f.sign || f.groups || f.align == '=' || (f.type && f.type != 's'))
            return calc_fail(c, where, "'%s' is not a format of a string", spec);
        str cut = {0};
        str_add(&cut, v->u.s,
                f.precision >= 0 ? strnlen(v->u.s, (size_t)f.precision) : strlen(v->u.s));
        pad(t, &f, "", cut.s, '<');
        str_free(&cut);
        return true;
    }
    str digits = {0};
    const char *why = number_digits(&number, &f, &digits);
    const bool minus = signbit(value_float_of(&number)) != 0;
    if (!why)
        pad(t, &f, minus ? "-" : f.sign == '+' ? "+" : f.sign == ' ' ? " " : "", digits.s, '>');
    str_free(&digits);
    return why ? calc_fail(c, where, "%s", why) : true;
}

/* ---- f-strings ---------------------------------------------------------------------------------- */

bool words_format(calc *c, const expr *n, value *out)
{
    str t = {0};
    bool fine = true;
    for (const expr *part = n->child; part && fine; part = part->next) {
        value v;
        if (part->kind == N_LITERAL)
            str_puts(&t, part->literal.u.s);
        else
            fine =
                calc_eval(c, part->child, &v) && format_value(c, part->where, &v, part->name, &t);
    }
    *out = (value){.kind = V_STRING, .u.s = arena_string(&c->scratch, t.n ? t.s : "", t.n)};
    str_free(&t);
    return fine;
}

bool run_str(calc *c, const expr *n, const value *args, value *out)
{
    str t = {0};
    const bool fine = format_value(c, n->where, &args[0], "", &t);
    *out = (value){.kind = V_STRING, .u.s = arena_string(&c->scratch, t.n ? t.s : "", t.n)};
    str_free(&t);
    return fine;
}

/* ---- statements --------------------------------------------------------------------------------- */

bool run_print(calc *c, const expr *n, const value *unused, value *out)
{
    const char *between = " ", *end = "\n";
    given *args;
    int count, shown = 0;
    (void)unused;
    *out = (value){0};
    c->quiet = true;
    if (!arguments_eval(c, n->child, false, &args, &count))
        return false;
    str t = {0};
    for (int i = 0; i < count; i++) {
        const char *keyword = args[i].keyword;
        const bool is_end = keyword && strcmp(keyword, "end") == 0;
        if (keyword && ((!is_end && strcmp(keyword, "sep") != 0) || args[i].v.kind != V_STRING))
            return calc_fail(c, args[i].where, "print takes values, and sep and end in quotes");
        if (keyword)
            *(is_end ? &end : &between) = args[i].v.u.s;
    }
    bool fine = true;
    for (int i = 0; i < count && fine; i++) {
        if (args[i].keyword)
            continue;
        str_puts(&t, shown++ ? between : "");
        fine = format_value(c, args[i].where, &args[i].v, "", &t);
    }
    str_puts(&t, end);
    if (fine && c->options.out && !c->muted)
        fputs(t.s, c->options.out);
    str_free(&t);
    return fine;
}

bool words_assert(calc *c, const expr *n, value *out)
{
    const expr *condition = n->child, *message = condition->next;
    value v, why;
    bool is;
    *out = (value){0};
    c->quiet = true;
    if (!calc_eval(c, condition, &v) || !calc_truth(c, condition, &v, &is))
        return false;
    if (is)
        return true;
    if (!message)
        return calc_fail(c, n->where, "the assertion is false");
    str t = {0};
    if (calc_eval(c, message, &why) && format_value(c, message->where, &why, "", &t))
        calc_fail(c, n->where, "the assertion is false: %s", t.s);
    str_free(&t);
    return false;
}
