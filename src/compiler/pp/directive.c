/* Directives: a table of them, conditionals, and the small ones. */
#include "compiler/pp/pp.h"
#include <string.h>

static pp_lexer *lexer(kernel_pp *pp) { return &pp->files[pp->n_files - 1].lexer; }
static pp_file *file(kernel_pp *pp) { return &pp->files[pp->n_files - 1]; }

/* clang-format off */
#define DIRECTIVES(WORD) \
    WORD(define) WORD(undef) WORD(include) WORD(if) WORD(ifdef) WORD(ifndef) WORD(elif) WORD(else) \
    WORD(endif) WORD(error) WORD(warning) WORD(line) WORD(pragma)
/* clang-format on */
#define AS_ENUM(word) DIRECTIVE_##word,
#define AS_TEXT(word) #word,

typedef enum directive { DIRECTIVE_NONE, DIRECTIVES(AS_ENUM) N_DIRECTIVES } directive;
static const char *const words[N_DIRECTIVES] = {"", DIRECTIVES(AS_TEXT)};

void pp_directives_begin(kernel_pp *pp)
{
    for (int i = 1; i < N_DIRECTIVES; i++)
        pp_name(pp, words[i])->directive = (uint8_t)i;
}

/* ---- conditionals ---- */

static void skip_group(kernel_pp *pp);

/* Opens a conditional, and skips its first group if that is not taken. Inside a skipped group, `taken` is
 * true, so that no other group of it is read. */
static void open_group(kernel_pp *pp, kernel_place place, bool taken)
{
    ARENA_ADD(pp->arena, pp->conditionals, pp->n_conditionals, pp->conditionals_room,
              (pp_conditional){.place = place, .taken = taken});
    if (!taken)
        skip_group(pp);
}

/* The innermost open conditional of this file; if there is none, reports it and returns NULL. */
static pp_conditional *innermost(kernel_pp *pp, kernel_place place, const char *what)
{
    if (pp->n_conditionals > file(pp)->conditionals)
        return &pp->conditionals[pp->n_conditionals - 1];
    diag_error(pp->diags, place, NULL, "#%s without #if", what);
    return NULL;
}

/* Returns true if an #elif or #else is allowed here. */
static bool may_go_on(kernel_pp *pp, pp_conditional *c, kernel_place place, const char *what)
{
    if (file(pp)->guard == GUARD_INSIDE && pp->n_conditionals == file(pp)->conditionals + 1)
        file(pp)->guard = GUARD_NONE;
    if (!c->seen_else)
        return true;
    diag_error(pp->diags, place, NULL, "#%s after #else", what);
    diag_note(pp->diags, c->place, "the #if is here");
    return false;
}

static void close_group(kernel_pp *pp)
{
    pp->n_conditionals--;
    if (file(pp)->guard == GUARD_INSIDE && pp->n_conditionals == file(pp)->conditionals)
        file(pp)->guard = GUARD_DONE;
}

/* Reads the condition of #if or of an #elif that may be taken. */
static bool condition(kernel_pp *pp, kernel_place place)
{
    bool value;
    pp_condition(pp, place, &value);
    return value;
}

/* Handles #elif, #else or #endif; true if the text after it is read, false if it is skipped. */
static bool turn(kernel_pp *pp, directive which, kernel_place place)
{
    pp_conditional *c = innermost(pp, place, words[which]);
    if (!c)
        return true;
    if (which == DIRECTIVE_endif) {
        close_group(pp);
        return true;
    }
    if (!may_go_on(pp, c, place, words[which]))
        return false;
    c->seen_else = which == DIRECTIVE_else;
    if (c->taken)
        return false;
    const uint32_t index = pp->n_conditionals - 1;
    const bool take = which == DIRECTIVE_else || condition(pp, place);
    return pp->conditionals[index].taken = take;
}

/* Skips the rest of a directive's line, including comments that span lines. */
static void pass_line(pp_lexer *l)
{
    kernel_token t;
    do
        pp_lex(l, &t);
    while (t.kind != TOKEN_END);
}

/* Skips groups until one is taken, or until #endif. A loop, since nesting is unbounded. */
static void skip_group(kernel_pp *pp)
{
    const uint32_t outer = pp->n_conditionals;
    pp_lexer *l = lexer(pp);
    for (;;) {
        kernel_token t;
        pass_line(l);
        l->directive = false;
        if (!pp_lex_skip_lines(l))
            return;
        l->directive = true;
        const kernel_place hash = l->first + (kernel_place)(l->at - 1 - l->begin);
        pp_lex(l, &t);
        const directive which = t.kind == TOKEN_NAME ? t.as.name->directive : DIRECTIVE_NONE;
        if (which == DIRECTIVE_if || which == DIRECTIVE_ifdef || which == DIRECTIVE_ifndef) {
            open_group(pp, hash, true);
        } else if (which == DIRECTIVE_elif || which == DIRECTIVE_else || which == DIRECTIVE_endif) {
            const bool ours = pp->n_conditionals == outer;
            if (turn(pp, which, hash) && ours)
                return;
        }
    }
}

static void conditional(kernel_pp *pp, directive which, kernel_place hash)
{
    pp_file *f = file(pp);
    const bool starts = f->guard == GUARD_START && which == DIRECTIVE_ifndef;
    if (which == DIRECTIVE_if) {
        open_group(pp, hash, condition(pp, hash));
        return;
    }
    kernel_token t;
    pp_lex(&f->lexer, &t);
    if (t.kind != TOKEN_NAME) {
        diag_error(pp->diags, t.place, NULL, "#%s expects the name of a macro", words[which]);
        open_group(pp, hash, false);
        return;
    }
    if (starts) {
        f->guard = GUARD_INSIDE;
        f->guard_name = t.as.name;
    }
    const bool is_defined = t.as.name->macro || t.as.name == pp->has_include;
    open_group(pp, hash, is_defined == (which == DIRECTIVE_ifdef));
}

void pp_file_end(kernel_pp *pp)
{
    pp_file *f = file(pp);
    while (pp->n_conditionals > f->conditionals) {
        diag_error(pp->diags, pp->conditionals[--pp->n_conditionals].place, NULL,
                   "this conditional has no #endif");
        f->guard = GUARD_NONE;
    }
    if (f->guard == GUARD_DONE)
        f->original->guard = f->guard_name;
    pp->n_files--;
}

/* ---- the small ones ---- */

static void message(kernel_pp *pp, directive which, kernel_place hash)
{
    enum { MOST = 200 };
    size_t bytes;
    const char *text = pp_lex_rest(lexer(pp), &bytes);
    const int shown = bytes > MOST ? MOST : (int)bytes;
    char *copy = kernel_arena_text(pp->arena, text, (size_t)shown);
    for (int i = 0; i < shown; i++)
        if ((uint8_t)copy[i] < ' ')
            copy[i] = ' ';
    (which == DIRECTIVE_error ? diag_error : diag_warning)(pp->diags, hash, NULL, "#%s%s%s",
                                                           words[which], shown ? " " : "", copy);
}

/* #line 7, #line 7 "name", and "# 7 "name"" as other preprocessors write it. */
static void line_mark(kernel_pp *pp, kernel_place hash)
{
    uint32_t n;
    kernel_token *line = pp_line(pp, &n);
    line = pp_expand_list(pp, line, n, &n);
    kernel_where where;
    kernel_file *f = file(pp)->file;
    if (n == 0 || line[0].kind != TOKEN_INTEGER)
        goto mistake;
    pp_decode(pp->unit, &line[0]);
    if (line[0].kind != TOKEN_INTEGER || line[0].as.integer > INT32_MAX ||
        !kernel_source_where(&pp->unit->source, hash, &where))
        goto mistake;
    const char *name = where.name;
    if (n > 1) {
        if (line[1].kind != TOKEN_STRING)
            goto mistake;
        pp_decode(pp->unit, &line[1]);
        name = line[1].as.string->text;
    }
    const uint32_t offset = (uint32_t)(lexer(pp)->at - lexer(pp)->begin);
    f->marks =
        kernel_arena_grow(pp->arena, f->marks, &f->marks_room, f->n_marks + 1, sizeof *f->marks);
    kernel_where here;
    kernel_source_where(&pp->unit->source, f->first + offset, &here);
    f->marks[f->n_marks++] =
        (kernel_line_mark){.offset = offset + 1,
                           .shift = (int64_t)line[0].as.integer - (int64_t)here.physical_line - 1,
                           .name = name};
    return;
mistake:
    diag_error(pp->diags, hash, NULL, "#line expects a number and optionally a \"name\"");
}

void pp_pragma(kernel_pp *pp, const kernel_token *line, uint32_t n, kernel_place place)
{
    if (n == 0 || line[0].kind != TOKEN_NAME)
        return;
    kernel_name *name = line[0].as.name;
    for (uint32_t i = 1; i < n; i++) /* a pragma inside a pragma is ignored */
        if (line[i].kind == TOKEN_NAME && line[i].as.name == pp->pragma)
            n = i;
    if (name == pp->once && pp->n_files) {
        file(pp)->original->once = true;
    } else if (name == pp->unroll || name == pp->nounroll) {
        kernel_token *list = kernel_arena_get(pp->arena, (n + 1) * sizeof *list);
        memcpy(list, line, n * sizeof *list);
        list[0].kind = TOKEN_PRAGMA;
        list[0].place = place;
        list[n] = (kernel_token){.kind = TOKEN_PRAGMA_END, .place = line[n - 1].place};
        pp_push(pp, list, n + 1);
    }
}

static void pragma(kernel_pp *pp, kernel_place hash)
{
    uint32_t n, n_rest;
    kernel_token *line = pp_line(pp, &n);
    if (n == 0)
        return;
    /* The count of an unroll may be a macro; the pragma's name is not expanded. */
    kernel_token *rest = pp_expand_list(pp, line + 1, n - 1, &n_rest);
    kernel_token *whole = kernel_arena_get(pp->arena, (n_rest + 1) * sizeof *whole);
    whole[0] = line[0];
    memcpy(whole + 1, rest, n_rest * sizeof *whole);
    pp_pragma(pp, whole, n_rest + 1, hash);
}

/* ---- all of them ---- */

static void obey(kernel_pp *pp, const kernel_token *hash, const kernel_token *word)
{
    const directive which = word->kind == TOKEN_NAME ? word->as.name->directive : DIRECTIVE_NONE;
    switch (which) {
    case DIRECTIVE_define: pp_define(pp); break;
    case DIRECTIVE_undef: pp_undefine(pp); break;
    case DIRECTIVE_include: pp_include(pp, hash->place); break;
    case DIRECTIVE_if:
    case DIRECTIVE_ifdef:
    case DIRECTIVE_ifndef: conditional(pp, which, hash->place); break;
    case DIRECTIVE_elif:
    case DIRECTIVE_else:
    case DIRECTIVE_endif:
        if (!turn(pp, which, hash->place))
            skip_group(pp);
        break;
    case DIRECTIVE_error:
    case DIRECTIVE_warning: message(pp, which, hash->place); break;
    case DIRECTIVE_line: line_mark(pp, hash->place); break;
    case DIRECTIVE_pragma: pragma(pp, hash->place); break;
    default:
        diag_error(pp->diags, word->place, NULL, "unknown directive #%s",
                   kernel_token_text(pp->arena, word));
    }
}

void pp_directive(kernel_pp *pp, const kernel_token *hash)
{
    pp_file *f = file(pp);
    kernel_token word;
    f->lexer.directive = true;
    pp_lex(&f->lexer, &word);
    const bool is_first = f->guard == GUARD_START && word.kind == TOKEN_NAME &&
                          word.as.name->directive == DIRECTIVE_ifndef;
    if (f->guard == GUARD_DONE || (f->guard == GUARD_START && !is_first))
        f->guard = GUARD_NONE;
    if (word.kind == TOKEN_INTEGER) {
        f->lexer.at -= word.bytes;
        line_mark(pp, hash->place);
    } else if (word.kind != TOKEN_END) {
        obey(pp, hash, &word);
    }
    /* After an error the rest of the line is skipped. */
    pass_line(&f->lexer);
    f->lexer.directive = false;
}
