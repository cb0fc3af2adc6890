/* Basic functions of the parser: tokens, errors and recovery from them, unique names. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler/parse/parser.h"

/* ---- errors ----------------------------------------------------------------------------------- */

enum { MESSAGE_MOST = 1024 };

static void report(parser *p, kernel_place place, const char *format, va_list args)
{
    p->failed = true;
    if (p->quiet)
        return;
    char message[MESSAGE_MOST];
    vsnprintf(message, sizeof message, format, args);
    diag_error(p->diags, place, NULL, "%s", message);
}

void parser_jump(parser *p)
{
    p->failed = true;
    longjmp(*p->guard, 1);
}

void parser_fail(parser *p, kernel_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(p, place, format, args);
    va_end(args);
    parser_jump(p);
}

void parser_fail_do(parser *p, kernel_place place, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(p, place, format, args);
    va_end(args);
    if (!p->quiet)
        diag_do(p->diags, "%s", remedy);
    parser_jump(p);
}

void parser_error(parser *p, kernel_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(p, place, format, args);
    va_end(args);
}

void parser_note(parser *p, kernel_place place, const char *note)
{
    if (!p->quiet)
        diag_note(p->diags, place, "%s", note);
}

static parser_place here_of(const parser *p)
{
    return (parser_place){.t = p->t,
                          .scope = p->scope,
                          .split = p->split,
                          .no_gt = p->no_gt,
                          .pack_at = p->pack_at,
                          .auto_at = p->auto_at,
                          .pack_dots = p->pack_dots};
}

static void go_to(parser *p, parser_place place)
{
    p->t = place.t;
    p->scope = place.scope;
    p->split = place.split;
    p->no_gt = place.no_gt;
    p->pack_at = place.pack_at;
    p->auto_at = place.auto_at;
    p->pack_dots = place.pack_dots;
}

bool parser_guard(parser *p, void (*work)(parser *, void *), void *context)
{
    jmp_buf here;
    jmp_buf *const outer = p->guard;
    parser_place back = here_of(p);
    const int depth = p->depth, nested = p->nested, quiet = p->quiet;
    kernel_instance *const current = p->current;
    kernel_var **const locals_end = p->locals_end;
    const bool is_outside = p->is_outside, converting = p->converting;
    lifetime *const temporaries = p->temporaries;
    const uint32_t conditional = p->conditional;
    p->guard = &here;
    const bool fine = !setjmp(here);
    if (fine) {
        work(p, context);
    } else {
        while (p->scope != back.scope && p->scope && p->scope->is_local)
            scope_close(p, p->scope);
        back.t = p->t;
        back.split = 0;
        go_to(p, back);
        p->depth = depth;
        p->nested = nested;
        p->quiet = quiet;
        p->current = current;
        p->locals_end = locals_end;
        p->is_outside = is_outside;
        p->converting = converting;
        p->temporaries = temporaries;
        p->conditional = conditional;
    }
    p->guard = outer;
    return fine;
}

bool parser_try(parser *p, void (*work)(parser *, void *), void *context)
{
    const bool failed = p->failed;
    p->quiet++;
    const bool fine = parser_guard(p, work, context);
    p->quiet--;
    p->failed = failed;
    return fine;
}

parser_place parser_enter(parser *p, const kernel_token *from, scope *in)
{
    const parser_place back = here_of(p);
    if (++p->nested > NESTED_MOST)
        parser_fail(p, from->place, "definitions are nested too deeply");
    go_to(p, (parser_place){.t = from, .scope = in, .pack_at = -1});
    return back;
}

void parser_leave(parser *p, parser_place back)
{
    p->nested--;
    go_to(p, back);
}

void parser_down(parser *p)
{
    if (++p->depth > DEPTH_MOST)
        parser_fail_do(p, p->t->place, "write it in several steps",
                       "nested too deeply: more than %d levels", DEPTH_MOST);
}

void parser_up(parser *p) { p->depth--; }

/* ---- tokens ----------------------------------------------------------------------------------- */

bool accept(parser *p, kernel_token_kind kind)
{
    if (p->t->kind != kind || p->split)
        return false;
    p->t++;
    return true;
}

bool accept_word(parser *p, kernel_keyword word)
{
    if (!at_word(p, word))
        return false;
    p->t++;
    return true;
}

const char *token_text(parser *p, const kernel_token *t)
{
    if (t->kind == TOKEN_END)
        return "the end of the source";
    if (t->kind == TOKEN_PRAGMA || t->kind == TOKEN_PRAGMA_END)
        return "a #pragma";
    const int most = 40, bytes = t->bytes > 40 ? most : (int)t->bytes;
    return parser_format(p, "'%.*s%s'", bytes, t->text, t->bytes > 40 ? "..." : "");
}

/* A missing token is reported after the last one, where the caret is more useful than on the next line. */
void expect(parser *p, kernel_token_kind kind, const char *where)
{
    if (!accept(p, kind))
        parser_fail(p, p->t->place, "expected '%s' %s, found %s", kernel_token_kind_text(kind),
                    where, token_text(p, p->t));
}

kernel_name *expect_name(parser *p, const char *what)
{
    if (!at(p, TOKEN_NAME) || p->t->keyword)
        parser_fail(p, p->t->place, "expected %s, found %s", what, token_text(p, p->t));
    return (p->t++)->as.name;
}

static int angles(const parser *p)
{
    switch (p->t->kind) {
    case TOKEN_GT: return 1;
    case TOKEN_SHR: return 2;
    case TOKEN_LAUNCH_END: return 3;
    default: return 0;
    }
}

bool at_close_angle(const parser *p) { return angles(p) > p->split; }

void expect_close_angle(parser *p)
{
    if (!at_close_angle(p))
        parser_fail(p, p->t->place, "expected '>' after template arguments, found %s",
                    token_text(p, p->t));
    if (++p->split == angles(p)) {
        p->split = 0;
        p->t++;
    }
}

/* Only brackets of the same kind count, so a missing bracket of another kind inside does no harm. A group
 * inside braces ends at the closing brace at the latest. */
const kernel_token *skip_group(const kernel_token *t)
{
    const int open = t->kind;
    const int close = open == TOKEN_LPAREN   ? TOKEN_RPAREN
                      : open == TOKEN_LBRACE ? TOKEN_RBRACE
                                             : TOKEN_RBRACKET;
    int depth = 0, braces = 0;
    for (; t->kind != TOKEN_END; t++) {
        depth += (t->kind == open) - (t->kind == close);
        if (depth <= 0)
            return t + 1;
        braces += (t->kind == TOKEN_LBRACE) - (t->kind == TOKEN_RBRACE);
        if (braces < 0)
            break;
    }
    return t;
}

bool opens_group(const kernel_token *t)
{
    return t->kind == TOKEN_LPAREN || t->kind == TOKEN_LBRACE || t->kind == TOKEN_LBRACKET;
}

const kernel_token *skip_item(const kernel_token *t)
{
    return opens_group(t) ? skip_group(t) : t + 1;
}

void skip_value(parser *p, kernel_token_kind end)
{
    while (!at(p, TOKEN_COMMA) && !at(p, end) && !at(p, TOKEN_END))
        p->t = skip_item(p->t);
}

/* ---- texts and names -------------------------------------------------------------------------- */

const char *parser_format(parser *p, const char *format, ...)
{
    char made[MESSAGE_MOST];
    va_list args;
    va_start(args, format);
    vsnprintf(made, sizeof made, format, args);
    va_end(args);
    return kernel_arena_text(p->arena, made, strlen(made));
}

kernel_name *name_of(parser *p, const char *text_)
{
    return kernel_name_get(p->names, text_, strlen(text_));
}

/* A table of the names in use: in functions, each with its own stamp, and in the tree, whose stamp is the
 * largest. */
static name_count *count_of(parser *p, const kernel_name *name, uint32_t stamp)
{
    if (2 * (p->counts_used + 1) > p->n_counts) {
        const uint32_t old_n = p->n_counts;
        name_count *old = p->counts;
        p->n_counts = old_n ? 2 * old_n : 256;
        p->counts = kernel_arena_new(p->arena, p->n_counts * sizeof *p->counts);
        p->counts_used = 0;
        for (uint32_t i = 0; i < old_n; i++)
            if (old[i].stamp)
                *count_of(p, old[i].name, old[i].stamp) = old[i];
    }
    uint32_t i = (name->hash ^ stamp * 2654435761u) & (p->n_counts - 1);
    while (p->counts[i].stamp && (p->counts[i].name != name || p->counts[i].stamp != stamp))
        i = (i + 1) & (p->n_counts - 1);
    if (!p->counts[i].stamp) {
        p->counts[i] = (name_count){name, stamp, 0};
        p->counts_used++;
    }
    return &p->counts[i];
}

const char *name_unique(parser *p, const char *wanted, bool in_tree)
{
    const uint32_t stamp = in_tree ? UINT32_MAX : p->stamp;
    uint32_t number = count_of(p, name_of(p, wanted), stamp)->count++;
    const char *made = wanted;
    while (number) {
        made = parser_format(p, "%s_%u", wanted, number + 1);
        if (!count_of(p, name_of(p, made), stamp)->count++)
            break;
        number = count_of(p, name_of(p, wanted), stamp)->count++;
    }
    return made;
}
