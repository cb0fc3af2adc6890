/* #define and #undef: a macro's parameters and body, made ready for expansion. */
#include "compiler/pp/pp.h"
#include <string.h>

static pp_lexer *lexer(kernel_pp *pp) { return &pp->files[pp->n_files - 1].lexer; }

/* Reads the name of #define or #undef; NULL after an error. */
static kernel_name *read_name(kernel_pp *pp, const char *directive, kernel_token *t)
{
    pp_lex(lexer(pp), t);
    if (t->kind != TOKEN_NAME) {
        diag_error(pp->diags, t->place, NULL, "%s expects the name of a macro, found %s", directive,
                   t->kind == TOKEN_END ? "none" : "something else");
        return NULL;
    }
    kernel_name *name = t->as.name;
    if (name == pp->defined || name == pp->has_include || name == pp->va_args ||
        name == pp->va_opt) {
        diag_error(pp->diags, t->place, NULL, "'%s' cannot be a macro", name->text);
        return NULL;
    }
    return name;
}

static bool add_parameter(kernel_pp *pp, kernel_macro *m, uint32_t *room, const kernel_token *t,
                          kernel_name *name)
{
    for (uint32_t i = 0; i < m->n_params; i++)
        if (m->params[i] == name) {
            diag_error(pp->diags, t->place, NULL, "two parameters of macro '%s' are called '%s'",
                       m->name->text, name->text);
            return false;
        }
    ARENA_ADD(pp->arena, m->params, m->n_params, *room, name);
    return true;
}

/* Reads "a, b, ...)" ; "(" was read. */
static bool read_parameters(kernel_pp *pp, kernel_macro *m)
{
    enum { MOST = 1000 };
    kernel_token t;
    uint32_t room = 0;
    pp_lex(lexer(pp), &t);
    if (t.kind == TOKEN_RPAREN)
        return true;
    for (;; pp_lex(lexer(pp), &t)) {
        if (t.kind == TOKEN_ELLIPSIS) {
            m->variadic = true;
            if (!add_parameter(pp, m, &room, &t, pp->va_args))
                return false;
            pp_lex(lexer(pp), &t);
        } else if (t.kind == TOKEN_NAME && m->n_params < MOST) {
            if (!add_parameter(pp, m, &room, &t, t.as.name))
                return false;
            pp_lex(lexer(pp), &t);
            if (t.kind == TOKEN_ELLIPSIS) {
                m->variadic = true;
                pp_lex(lexer(pp), &t);
            }
        }
        if (t.kind == TOKEN_RPAREN)
            return true;
        if (t.kind != TOKEN_COMMA || m->variadic || m->n_params == 0) {
            diag_error(
                pp->diags, t.place, NULL,
                "the parameters of macro '%s' are names separated by ',' and followed by ')'",
                m->name->text);
            return false;
        }
    }
}

/* PP_PARAM + i if the token is parameter i, else 0. */
static uint32_t parameter(const kernel_macro *m, const kernel_token *t)
{
    if (t->kind == TOKEN_NAME)
        for (uint32_t i = 0; i < m->n_params; i++)
            if (m->params[i] == t->as.name)
                return PP_PARAM + i;
    return 0;
}

/* Marks __VA_OPT__ ( ... ) from token i on; false after an error. */
static bool mark_va_opt(kernel_pp *pp, kernel_macro *m, uint32_t i)
{
    uint32_t depth = 0, close = i + 1;
    for (; close < m->n_body; close++) {
        depth += (m->body[close].kind == TOKEN_LPAREN) - (m->body[close].kind == TOKEN_RPAREN);
        if (depth == 0)
            break;
    }
    if (!m->variadic || i + 1 >= m->n_body || m->body[i + 1].kind != TOKEN_LPAREN ||
        close == m->n_body) {
        diag_error(pp->diags, m->body[i].place, NULL,
                   "__VA_OPT__ belongs in a macro with '...', with its tokens in parentheses");
        return false;
    }
    m->body[i].private = PP_VA_OPT;
    m->body[i + 1].private = PP_VA_OPT_END; /* skipped */
    m->body[close].private = PP_VA_OPT_END;
    return true;
}

/* Finds parameters and operators in the body; false after an error. */
static bool prepare_body(kernel_pp *pp, kernel_macro *m)
{
    uint32_t n = 0;
    m->plain = true;
    for (uint32_t i = 0; i < m->n_body; i++) {
        kernel_token t = m->body[i];
        if (t.kind == TOKEN_HASH_HASH && (i == 0 || i + 1 == m->n_body)) {
            diag_error(pp->diags, t.place, NULL, "## at an end of a macro has nothing to paste");
            return false;
        }
        if (t.kind == TOKEN_HASH && m->function) {
            t.private = i + 1 < m->n_body ? parameter(m, &m->body[i + 1]) : 0;
            if (!t.private) {
                diag_error(pp->diags, t.place, NULL,
                           "# in macro '%s' is not before one of its parameters", m->name->text);
                return false;
            }
            i++;
        } else if (t.kind == TOKEN_NAME && t.as.name == pp->va_args && !parameter(m, &t)) {
            diag_error(pp->diags, t.place, NULL, "__VA_ARGS__ belongs in a macro with '...'");
            return false;
        } else {
            t.private = parameter(m, &t);
        }
        m->plain = m->plain && !t.private && t.kind != TOKEN_HASH_HASH;
        m->body[n++] = t;
    }
    m->n_body = n;
    for (uint32_t i = 0; i < n; i++)
        if (m->body[i].kind == TOKEN_NAME && m->body[i].as.name == pp->va_opt) {
            m->plain = false;
            if (!mark_va_opt(pp, m, i))
                return false;
        }
    return true;
}

static bool same(const kernel_macro *a, const kernel_macro *b)
{
    if (a->n_body != b->n_body || a->n_params != b->n_params || a->function != b->function ||
        a->variadic != b->variadic)
        return false;
    for (uint32_t i = 0; i < a->n_params; i++)
        if (a->params[i] != b->params[i])
            return false;
    for (uint32_t i = 0; i < a->n_body; i++) {
        const kernel_token *x = &a->body[i], *y = &b->body[i];
        if (x->kind != y->kind || x->bytes != y->bytes || memcmp(x->text, y->text, x->bytes) != 0 ||
            (i && (x->flags ^ y->flags) & TOKEN_SPACE))
            return false;
    }
    return true;
}

static void set(kernel_pp *pp, kernel_macro *m)
{
    const kernel_macro *old = m->name->macro;
    if (old && !old->given && !old->builtin && !same(old, m)) {
        diag_warning(pp->diags, m->place, NULL, "macro '%s' is redefined with a different body",
                     m->name->text);
        diag_note(pp->diags, old->place, "it was defined here");
    }
    m->name->macro = m;
}

void pp_define(kernel_pp *pp)
{
    kernel_token t;
    kernel_name *name = read_name(pp, "#define", &t);
    if (!name)
        return;
    kernel_macro *m = kernel_arena_new(pp->arena, sizeof *m);
    m->name = name;
    m->place = t.place;
    m->given = pp->files[pp->n_files - 1].given;
    if (*lexer(pp)->at == '(') {
        m->function = true;
        pp_lex(lexer(pp), &t);
        if (!read_parameters(pp, m))
            return;
    }
    m->body = pp_line(pp, &m->n_body);
    if (prepare_body(pp, m))
        set(pp, m);
}

void pp_undefine(kernel_pp *pp)
{
    kernel_token t;
    kernel_name *name = read_name(pp, "#undef", &t);
    if (name)
        name->macro = NULL;
}

void pp_builtin_macro(kernel_pp *pp, const char *name, pp_builtin builtin)
{
    kernel_macro *m = kernel_arena_new(pp->arena, sizeof *m);
    m->name = pp_name(pp, name);
    m->builtin = (uint8_t)builtin;
    m->name->macro = m;
}
