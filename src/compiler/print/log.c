/* printf and assert: kernels write records into a buffer, and the host formats them. CUDA has a printf. Its assert and
 * __trap would end the context of the process, so text for our own launches records them, too.
 *
 * A record is the number of its format, the block (3 words), the thread (11, 11 and 10 bits), and the words
 * of its arguments. Strings are known at compile time, so they take no words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "compiler/print/parts.h"

enum { RECORD_HEAD = 5 };

typedef enum log_kind { LOG_WORD, LOG_LONG, LOG_FLOAT, LOG_DOUBLE, LOG_STRING } log_kind;

typedef struct kernel_log_format {
    const char *text;  /* of a printf; of an assert, its condition */
    const char *where; /* of an assert: file:line; else NULL */
    uint8_t *kinds;    /* log_kind of each argument */
    const char **strings;
    uint32_t n_args, n_words;
} kernel_log_format;

/* ---- printing --------------------------------------------------------------------------------- */

static log_kind kind_of(const printer *p, const kernel_expr *e)
{
    if (e->kind == EXPR_STRING)
        return LOG_STRING;
    if (type_is_float(e->type))
        return print_kind_of(p, e) == TYPE_F32 || (e->kind == EXPR_CAST && e->a->type->size < 8)
                   ? LOG_FLOAT
                   : LOG_DOUBLE;
    return e->type->size == 8 ? LOG_LONG : LOG_WORD;
}

static kernel_log_format *format_new(printer *p)
{
    kernel_printed *out = p->printed;
    ARENA_ADD(p->arena, out->formats, out->n_formats, p->formats_room, (kernel_log_format){0});
    return &out->formats[out->n_formats - 1];
}

static const char *copy(printer *p, const kernel_string *s)
{
    return kernel_arena_text(p->arena, s->text, s->bytes);
}

static void words_of(printer *p, const kernel_expr *e, log_kind kind, uint32_t at)
{
    const bool metal = is_metal(p);
    const char *as_uint = metal ? "as_type<uint>" : "as_uint";
    print_line(p);
    if (kind == LOG_FLOAT) {
        if (e->kind == EXPR_CAST && type_is_float(e->a->type) && e->a->type->size < 8)
            e = e->a;
        const bool narrow = print_kind_of(p, e) != TYPE_F32;
        print_out(p, "record[%u] = %s(%s", at, as_uint, narrow ? "(float)" : "");
        print_expr(p, e, narrow ? LEVEL_UNARY : LEVEL_ASSIGN);
        print_out(p, ");\n");
        return;
    }
    if (kind == LOG_WORD) {
        print_out(p, "record[%u] = ", at);
        print_around(p, "", e, LEVEL_ASSIGN, ";\n");
        return;
    }
    for (int half = 0; half < 2; half++) {
        if (half)
            print_line(p);
        print_out(p, "record[%u] = (uint)(", at + (uint32_t)half);
        print_out(p, kind == LOG_DOUBLE ? "as_ulong(" : "(ulong)");
        print_expr(p, e, kind == LOG_DOUBLE ? LEVEL_ASSIGN : LEVEL_UNARY);
        print_out(p, "%s%s);\n", kind == LOG_DOUBLE ? ")" : "", half ? " >> 32" : "");
    }
}

static void write_record(printer *p, uint32_t number, const kernel_log_format *f,
                         kernel_expr *const *args)
{
    const bool metal = is_metal(p);
    if (is_cuda(p)) {
        print_row(p, "ig_record(ig_records, %uu);", number);
        return;
    }
    print_use(p, PRELUDE_LOG);
    if (f->n_words == 0) {
        print_row(p, "ig_record(records, %u, 0%s);", number, metal ? ", threadIdx, blockIdx" : "");
        return;
    }
    print_row(p, "{");
    p->indent++;
    print_row(p, "%suint *record = ig_record(records, %u, %u%s);", p->lang->spaces[SPACE_GLOBAL],
              number, f->n_words, metal ? ", threadIdx, blockIdx" : "");
    print_row(p, "if (record) {");
    p->indent++;
    for (uint32_t i = 0, at = 0; i < f->n_args; i++) {
        if (f->kinds[i] == LOG_STRING)
            continue;
        words_of(p, args[i], f->kinds[i], at);
        at += f->kinds[i] == LOG_LONG || f->kinds[i] == LOG_DOUBLE ? 2 : 1;
    }
    print_close(p);
    print_close(p);
}

/* The letter of the conversion that takes argument i, counted from 0. */
static char letter_of(const char *format, uint32_t i)
{
    for (const char *s = strchr(format, '%'); s; s = strchr(s, '%')) {
        do {
            s += 1 + strspn(s + 1, "-+ #0123456789.hlLqjzt");
            if (*s && *s != '%' && i-- == 0)
                return *s;
        } while (*s == '*');
        s += *s != 0;
    }
    return 0;
}

static void refuse_text(printer *p, const kernel_expr *e)
{
    print_refuse(p, e->place, "IG-PRINTF", "the host makes the text, and this is in device memory",
                 "choose between whole printfs by 'if', or run it with '--device cpu'",
                 "'%%s' takes literal strings in %s", p->lang->name);
    print_stop(p);
}

static void print_printf(printer *p, const kernel_expr *e)
{
    const uint32_t number = p->printed->n_formats;
    kernel_log_format *f = format_new(p);
    f->text = copy(p, e->args[0]->as.text);
    f->n_args = e->n_args - 1;
    f->kinds = kernel_arena_new(p->arena, f->n_args + 1);
    f->strings = kernel_arena_new(p->arena, (f->n_args + 1) * sizeof *f->strings);
    for (uint32_t i = 0; i < f->n_args; i++) {
        const kernel_expr *a = e->args[i + 1];
        f->kinds[i] = kind_of(p, a);
        if (f->kinds[i] != LOG_STRING && letter_of(f->text, i) == 's')
            refuse_text(p, a);
        if (f->kinds[i] == LOG_STRING)
            f->strings[i] = copy(p, a->as.text);
        else
            f->n_words += f->kinds[i] == LOG_LONG || f->kinds[i] == LOG_DOUBLE ? 2 : 1;
    }
    write_record(p, number, f, e->args + 1);
}

static void end_thread(printer *p)
{
    const kernel_type *t = p->at->f->result;
    const bool metal = is_metal(p);
    if (is_cuda(p)) {
        const char *type = print_type(p, t, p->at->f->result_space, false);
        print_row(p,
                  t->kind == TYPE_VOID     ? "IG_EXIT;"
                  : t->kind == TYPE_STRUCT ? "IG_EXIT %s();"
                                           : "IG_EXIT (%s)0;",
                  type);
    } else if (print_flagged(p->at))
        print_row(p, "active = false;");
    else if (t->kind == TYPE_VOID)
        print_row(p, "return;");
    else
        print_row(p,
                  t->kind != TYPE_STRUCT ? "return (%s)0;"
                  : metal                ? "return %s{};"
                                         : "return (%s){0};",
                  print_type(p, t, p->at->f->result_space, false));
}

static void print_assert(printer *p, const kernel_expr *e)
{
    const uint32_t number = p->printed->n_formats;
    const bool trap = e->builtin == BUILTIN_TRAP;
    kernel_log_format *f = format_new(p);
    kernel_where at = {0};
    kernel_source_where(&p->tree->unit.source, e->place, &at);
    f->text = !trap       ? copy(p, e->args[1]->as.text)
              : e->n_args ? copy(p, e->args[0]->as.text)
                          : "__trap()";
    f->where = print_format(p, "%s:%lld", at.name ? at.name : "", (long long)at.line);
    if (trap) {
        write_record(p, number, f, NULL);
        end_thread(p);
        return;
    }
    print_line(p);
    print_around(p, "if (!(", e->args[0], LEVEL_COMMA, ")) {\n");
    p->indent++;
    write_record(p, number, f, NULL);
    end_thread(p);
    print_close(p);
}

bool print_is_logged(const printer *p, const kernel_expr *e)
{
    return e->kind == EXPR_BUILTIN && kernel_builtin_rows[e->builtin].class == CLASS_IO &&
           (!is_cuda(p) || (p->target->hides_globals && e->builtin != BUILTIN_PRINTF));
}

bool print_io(printer *p, const kernel_expr *e)
{
    while (e->kind == EXPR_CAST && e->type->kind == TYPE_VOID)
        e = e->a;
    if (!print_is_logged(p, e))
        return false;
    if (e->builtin == BUILTIN_PRINTF)
        print_printf(p, e);
    else
        print_assert(p, e);
    return true;
}

/* ---- reading ---------------------------------------------------------------------------------- */

typedef struct reader {
    const kernel_log_format *f;
    const uint32_t *at;
    uint32_t arg;
} reader;

static uint64_t take(reader *r, double *number, const char **string)
{
    const uint32_t i = r->arg++;
    uint64_t bits = 0;
    *number = 0;
    *string = "";
    if (i >= r->f->n_args)
        return 0;
    switch (r->f->kinds[i]) {
    case LOG_STRING: *string = r->f->strings[i]; return 0;
    case LOG_FLOAT: {
        float x;
        memcpy(&x, r->at++, sizeof x);
        *number = x;
        return 0;
    }
    case LOG_WORD: return *r->at++;
    default:
        bits = r->at[0] | (uint64_t)r->at[1] << 32;
        memcpy(number, &bits, sizeof bits);
        r->at += 2;
        return bits;
    }
}

/* Formats one conversion, from its '%' on; returns the text after it. */
static const char *conversion(reader *r, const char *s, text *out)
{
    char spec[64] = "%";
    size_t n = 1;
    double number;
    const char *string;
    bool wide = false;
    for (s++; *s && strchr("-+ #0123456789.*hlLqjzt", *s); s++) {
        if (*s == '*') {
            n += (size_t)snprintf(spec + n, 16, "%d", (int)take(r, &number, &string));
        } else if (strchr("hlLqjzt", *s)) {
            wide = wide || strchr("lLqjzt", *s);
        } else if (n < sizeof spec - 24) {
            spec[n++] = *s;
        }
    }
    const char letter = *s ? *s++ : '%';
    if (letter == '%') {
        text_add(out, "%%");
        return s;
    }
    const bool is_long = r->arg < r->f->n_args && r->f->kinds[r->arg] == LOG_LONG;
    const uint64_t bits = take(r, &number, &string);
    char done[512];
    if (strchr("diouxX", letter)) {
        snprintf(spec + n, sizeof spec - n, "ll%c", letter);
        const bool negative = letter == 'd' || letter == 'i';
        const int64_t value = is_long && wide ? (int64_t)bits
                              : negative      ? (int64_t)(int32_t)bits
                                              : (int64_t)(uint32_t)bits;
        snprintf(done, sizeof done, spec, value);
    } else if (letter == 'c') {
        snprintf(spec + n, sizeof spec - n, "c");
        snprintf(done, sizeof done, spec, (int)bits);
    } else if (letter == 'p') {
        snprintf(done, sizeof done, "0x%" PRIx64, bits);
    } else if (letter == 's') {
        snprintf(spec + n, sizeof spec - n, "s");
        snprintf(done, sizeof done, spec, string);
    } else {
        snprintf(spec + n, sizeof spec - n, "%c", letter);
        snprintf(done, sizeof done, spec, number);
    }
    text_add(out, "%s", done);
    return s;
}

static void render(const kernel_log_format *f, const uint32_t *words, text *out)
{
    reader r = {.f = f, .at = words};
    for (const char *s = f->text; *s;) {
        const char *end = strchr(s, '%');
        const size_t plain = end ? (size_t)(end - s) : strlen(s);
        text_add(out, "%.*s", (int)plain, s);
        s += plain;
        if (*s)
            s = conversion(&r, s, out);
    }
}

ig_status kernel_print_drain(const kernel_printed *printed, const uint32_t *words, size_t n,
                             char **out)
{
    text all = {0};
    const uint32_t *assertion = NULL;
    *out = NULL;
    if (n < LOG_HEAD)
        FAIL(IG_ERR_ARGUMENT, "kernel_print_drain: a log of %zu words", n);
    const size_t room = n - LOG_HEAD, used = words[LOG_USED] < room ? words[LOG_USED] : room;
    for (size_t at = 0; at + RECORD_HEAD <= used;) {
        const uint32_t *record = words + LOG_HEAD + at;
        if (record[0] >= printed->n_formats)
            break;
        const kernel_log_format *f = &printed->formats[record[0]];
        if (used - at < RECORD_HEAD + f->n_words)
            break;
        if (!f->where)
            render(f, record + RECORD_HEAD, &all);
        else if (!assertion)
            assertion = record;
        at += RECORD_HEAD + f->n_words;
    }
    if (words[LOG_LOST])
        text_add(&all, "[printf: the buffer was full; %u more were lost]\n", words[LOG_LOST]);
    if (all.used || all.failed) {
        *out = text_take(&all);
        if (!*out)
            return IG_ERR_MEMORY;
    }
    if (!assertion)
        return IG_OK;
    const uint32_t *a = assertion;
    FAIL(IG_ERR_DEVICE, "%s: block (%u, %u, %u), thread (%u, %u, %u): assertion '%s' failed",
         printed->formats[a[0]].where, a[1], a[2], a[3], a[4] & 2047, a[4] >> 11 & 2047, a[4] >> 22,
         printed->formats[a[0]].text);
}
