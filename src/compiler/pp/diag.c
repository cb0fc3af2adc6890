/* Diagnostics: a list of the first DIAG_MAX, and their rendering. */
#include "compiler/pp/diag.h"
#include "base/text.h"
#include "compiler/pp/token.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void kernel_diags_begin(kernel_diags *d, const kernel_source *source, kernel_arena *arena)
{
    *d = (kernel_diags){.source = source, .arena = arena};
}

static const char *format_text(kernel_arena *arena, const char *format, va_list args)
{
    char few[256];
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(few, sizeof few, format, args);
    char *message = kernel_arena_text(arena, few, n < 0 ? 0 : n < (int)sizeof few ? (size_t)n : 0);
    if (n >= (int)sizeof few) {
        message = kernel_arena_get(arena, (size_t)n + 1);
        vsnprintf(message, (size_t)n + 1, format, again);
    }
    va_end(again);
    return message;
}

static const kernel_diag *find_same(const kernel_diags *d, kernel_severity severity,
                                    kernel_place place, const char *message)
{
    for (const kernel_diag *x = d->first; x; x = x->next)
        if (x->severity == severity && x->place == place && strcmp(x->message, message) == 0)
            return x;
    return NULL;
}

static void keep(kernel_diags *d, kernel_severity severity, kernel_place place, const char *code,
                 const char *message)
{
    kernel_diag *diag = kernel_arena_new(d->arena, sizeof *diag);
    diag->severity = severity;
    diag->place = place;
    diag->code = code;
    diag->message = message;
    if (d->last)
        d->last->next = diag;
    else
        d->first = diag;
    d->last = d->current = diag;
}

static void report(kernel_diags *d, kernel_severity severity, kernel_place place, const char *code,
                   const char *format, va_list args)
{
    uint32_t *count = severity == DIAG_ERROR ? &d->n_errors : &d->n_warnings;
    d->current = NULL;
    if (d->n_kept == DIAG_MAX) {
        ++*count;
        return;
    }
    const char *message = format_text(d->arena, format, args);
    const kernel_diag *same = find_same(d, severity, place, message);
    if (same) {
        if (severity == DIAG_ERROR)
            d->repeated = same;
        return;
    }
    ++*count;
    d->n_kept++;
    keep(d, severity, place, code, message);
}

void diag_error(kernel_diags *d, kernel_place place, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(d, DIAG_ERROR, place, code, format, args);
    va_end(args);
}

void diag_warning(kernel_diags *d, kernel_place place, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(d, DIAG_WARNING, place, code, format, args);
    va_end(args);
}

void diag_note(kernel_diags *d, kernel_place place, const char *format, ...)
{
    if (!d->current)
        return;
    va_list args;
    va_start(args, format);
    keep(d, DIAG_NOTE, place, NULL, format_text(d->arena, format, args));
    va_end(args);
}

void diag_why(kernel_diags *d, const char *format, ...)
{
    if (!d->current)
        return;
    va_list args;
    va_start(args, format);
    d->current->why = format_text(d->arena, format, args);
    va_end(args);
}

void diag_do(kernel_diags *d, const char *format, ...)
{
    if (!d->current)
        return;
    va_list args;
    va_start(args, format);
    d->current->remedy = format_text(d->arena, format, args);
    va_end(args);
}

/* ---- showing them ---- */

enum { SHOWN = 100 /* bytes of a line */, CHAIN = 5 /* macros or includes */, TAB = 4 };

typedef struct colours {
    const char *bold, *kind[3], *caret, *plain;
} colours;

static const colours terminal = {
    "\033[1m", {"\033[1;36m", "\033[1;35m", "\033[1;31m"}, "\033[1;32m", "\033[0m"};
static const colours none = {"", {"", "", ""}, "", ""};
static const char *const severities[] = {"note", "warning", "error"};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80);
}

/* The offset after the token at p, judged by its first character and this line alone. */
static uint32_t token_end(const char *line, uint32_t bytes, uint32_t p)
{
    const uint32_t from = p;
    if (p < bytes && (line[p] == '"' || line[p] == '\'' || line[p] == '<')) {
        const char *close = memchr(line + p + 1, line[p] == '<' ? '>' : line[p], bytes - p - 1);
        /* Angle brackets are quotes only around the name of a header. */
        const bool header =
            line[p] == '<' && close && !memchr(line + p, ' ', (size_t)(close - line) - p);
        if (close && (line[p] != '<' || header))
            return (uint32_t)(close - line) + 1;
    }
    while (p < bytes && (is_word(line[p]) || (p > from && line[p] == '.' && is_word(line[from]) &&
                                              line[from] >= '0' && line[from] <= '9')))
        p++;
    return p > from ? p : from + 1;
}

/* The visible part of a line, and its marks, as byte offsets. */
typedef struct shown_line {
    const char *text;
    uint32_t bytes, begin, end; /* shown: begin to end */
    uint32_t caret, to;         /* underlined: caret to to */
} shown_line;

static bool continues(char c) { return ((uint8_t)c & 0xc0) == 0x80; }

static void cut(shown_line *l)
{
    l->begin = 0;
    l->end = l->bytes;
    if (l->bytes <= SHOWN)
        return;
    l->begin = l->caret > SHOWN / 2 ? l->caret - SHOWN / 2 : 0;
    if (l->bytes - l->begin < SHOWN)
        l->begin = l->bytes - SHOWN;
    l->end = l->begin + SHOWN;
    while (l->begin > 0 && continues(l->text[l->begin]))
        l->begin--;
    while (l->end < l->bytes && continues(l->text[l->end]))
        l->end++;
}

static shown_line find_line(const kernel_where *w)
{
    const kernel_file *f = w->file;
    const uint32_t first = f->lines[w->physical_line - 1];
    const char *newline = memchr(f->text + first, '\n', f->bytes - first);
    shown_line l = {.text = f->text + first};
    l.bytes = newline ? (uint32_t)(newline - l.text) : f->bytes - first;
    while (l.bytes && (l.text[l.bytes - 1] == '\r'))
        l.bytes--;
    l.caret = w->column - 1;
    l.to = token_end(l.text, l.bytes, l.caret);
    cut(&l);
    return l;
}

/* Adds the line, or its marks. Both are built by the same steps, so their columns match. */
static void add_line(text *out, const shown_line *l, bool marks)
{
    char row[SHOWN * TAB + 64];
    size_t n = 0, used = 0;
    uint32_t column = 0;
    for (uint32_t i = l->begin; i <= l->end; i++) {
        const char c = i < l->end ? l->text[i] : ' ';
        const char mark = i == l->caret ? '^' : i > l->caret && i < l->to ? '~' : ' ';
        if (continues(c) && i < l->end && i > l->begin) {
            if (!marks)
                row[n++] = c;
        } else {
            const uint32_t width = c == '\t' ? TAB - column % TAB : 1;
            for (uint32_t k = 0; k < width; k++)
                row[n++] = !marks ? ((uint8_t)c < ' ' || c == 0x7f ? (c == '\t' ? ' ' : '?') : c)
                           : k == 0 || mark != '^' ? mark
                                                   : '~';
            column += width;
        }
        if (n > sizeof row - 8)
            break;
        if (row[n - 1] != ' ')
            used = n;
    }
    text_add(out, "%.*s", (int)used, row);
}

static void add_source(text *out, const kernel_where *w, const colours *c)
{
    const shown_line l = find_line(w);
    const char *before = l.begin ? "..." : "", *behind = l.end < l.bytes ? "..." : "";
    text_add(out, "    %s", before);
    add_line(out, &l, false);
    text_add(out, "%s\n    %*s%s", behind, (int)strlen(before), "", c->caret);
    add_line(out, &l, true);
    text_add(out, "%s\n", c->plain);
}

static void add_head(text *out, kernel_severity severity, const colours *c, const kernel_where *w)
{
    if (w)
        text_add(out, "%s%s:%lld:%u: %s", c->bold, w->name, (long long)w->line, w->column,
                 c->plain);
    text_add(out, "%s%s: %s", c->kind[severity], severities[severity], c->plain);
}

/* The macros whose expansion produced a place, innermost first. */
static void add_macros(text *out, const kernel_source *s, kernel_place place, const colours *c)
{
    for (int i = 0; i < CHAIN && place >= PLACE_EXPANDED; i++) {
        const kernel_expansion *e = kernel_source_expansion(s, place);
        kernel_where w;
        if (!e || !kernel_source_where(s, kernel_source_spelled(s, place), &w))
            return;
        add_head(out, DIAG_NOTE, c, &w);
        text_add(out, "in the macro '%s'\n", e->macro->text);
        add_source(out, &w, c);
        place = e->used;
    }
}

static void add_includes(text *out, const kernel_source *s, const kernel_file *file,
                         const colours *c)
{
    for (int i = 0; i < CHAIN && file && file->included; i++) {
        kernel_where w;
        if (!kernel_source_where(s, file->included, &w))
            return;
        add_head(out, DIAG_NOTE, c, &w);
        text_add(out, "'%s' is included here\n", file->name);
        file = w.file;
    }
}

void kernel_diag_render(const kernel_source *s, const kernel_diag *d, bool colour, text *out)
{
    const colours *c = colour ? &terminal : &none;
    kernel_where w;
    const bool placed = kernel_source_where(s, d->place, &w);
    add_head(out, d->severity, c, placed ? &w : NULL);
    text_add(out, "%s%s%s", c->bold, d->message, c->plain);
    if (d->code)
        text_add(out, " [%s]", d->code);
    text_add(out, "\n");
    if (placed)
        add_source(out, &w, c);
    if (d->why)
        text_add(out, "  why: %s\n", d->why);
    if (d->remedy)
        text_add(out, "  do:  %s\n", d->remedy);
    if (placed && d->severity != DIAG_NOTE) {
        add_macros(out, s, d->place, c);
        add_includes(out, s, w.file, c);
    }
}

void kernel_diags_render(const kernel_diags *d, bool colour, text *out)
{
    for (const kernel_diag *diag = d->first; diag; diag = diag->next)
        kernel_diag_render(d->source, diag, colour, out);
    const uint32_t more = d->n_errors + d->n_warnings - d->n_kept;
    if (more)
        text_add(out, "and %u more error%s and warnings\n", more, more == 1 ? "" : "s");
}
