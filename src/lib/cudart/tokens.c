/* Tokens of the host side: see tokens.h. */
#include "lib/cudart/tokens.h"

#include <string.h>

#include "compiler/pp/pp.h"

enum { MARGIN = 8, CONDITIONS = 64 };

typedef struct reader {
    kernel_unit *unit;
    pp_lexer lexer;
    cuda_tokens *out;
    int *open; /* brackets that have no partner yet; a directive's begin at `base` */
    uint32_t n_open, open_room, base;
    uint32_t conditions[CONDITIONS]; /* n_open at each #if */
    int n_conditions;
} reader;

/* Adds the token that ends where the lexer is. Returns its number. */
static int add(reader *r, cuda_list *l, const kernel_token *t, const char *from)
{
    cuda_token *all = l->at ? l->at - MARGIN : NULL;
    all = kernel_arena_grow(&r->unit->arena, all, &l->room, (uint32_t)l->n + 2 * MARGIN + 1,
                            sizeof *all);
    for (int i = 0; i < MARGIN && !l->n; i++)
        all[i] = (cuda_token){.at = r->lexer.begin, .end = r->lexer.begin, .pair = -1};
    l->at = all + MARGIN;
    l->at[l->n] = (cuda_token){.kind = t->kind,
                               .keyword = t->keyword,
                               .pair = -1,
                               .name = t->kind == TOKEN_NAME ? t->as.name : NULL,
                               .at = from,
                               .end = r->lexer.at};
    return l->n++;
}

static void finish(reader *r, cuda_list *l)
{
    const char *at = l->n ? l->at[l->n - 1].end : r->lexer.begin;
    const kernel_token end = {.kind = TOKEN_END};
    for (int i = 0; i < MARGIN; i++) {
        const int added = add(r, l, &end, at);
        l->at[added].end = at;
    }
    l->n -= MARGIN;
}

/* Opens or closes a bracket of the list. */
static void match(reader *r, cuda_list *l, int i)
{
    cuda_token *t = &l->at[i];
    const int kind = t->kind;
    if (kind == TOKEN_LPAREN || kind == TOKEN_LBRACKET || kind == TOKEN_LBRACE) {
        r->open = kernel_arena_grow(&r->unit->arena, r->open, &r->open_room, r->n_open + 1,
                                    sizeof *r->open);
        r->open[r->n_open++] = i;
    } else if ((kind == TOKEN_RPAREN || kind == TOKEN_RBRACKET || kind == TOKEN_RBRACE) &&
               r->n_open > r->base && l->at[r->open[r->n_open - 1]].kind == kind - 1) {
        t->pair = r->open[--r->n_open];
        l->at[t->pair].pair = i;
    }
}

static void condition(reader *r, const cuda_token *word)
{
    const char *text = word->name ? word->name->text : "";
    if (!strcmp(text, "if") || !strcmp(text, "ifdef") || !strcmp(text, "ifndef")) {
        if (r->n_conditions++ < CONDITIONS)
            r->conditions[r->n_conditions - 1] = r->n_open;
    } else if (!strcmp(text, "else") || !strncmp(text, "elif", 4)) {
        if (r->n_conditions && r->n_conditions <= CONDITIONS &&
            r->conditions[r->n_conditions - 1] < r->n_open)
            r->n_open = r->conditions[r->n_conditions - 1];
    } else if (!strcmp(text, "endif") && r->n_conditions) {
        r->n_conditions--;
    }
}

/* Reads a directive, after its '#'. */
static void directive(reader *r)
{
    cuda_tokens *o = r->out;
    cuda_list line = {0};
    kernel_token t;
    r->base = r->n_open;
    r->lexer.directive = true;
    for (pp_lex(&r->lexer, &t); t.kind != TOKEN_END; pp_lex(&r->lexer, &t)) {
        const char *name;
        size_t bytes;
        bool quoted;
        match(r, &line, add(r, &line, &t, t.place - 1 + r->lexer.begin));
        const bool names = line.n == 1 && t.bytes == 7 && !memcmp(t.text, "include", 7);
        if (names && pp_lex_header(&r->lexer, &name, &bytes, &quoted))
            add(r, &line, &(kernel_token){.kind = TOKEN_STRING}, name - 1);
    }
    r->lexer.directive = false;
    r->n_open = r->base;
    r->base = 0;
    finish(r, &line);
    condition(r, line.at);
    o->directives = kernel_arena_grow(&r->unit->arena, o->directives, &o->room,
                                      (uint32_t)o->n_directives + 1, sizeof *o->directives);
    o->directives[o->n_directives++] = line;
}

static void read_all(reader *r)
{
    kernel_token t;
    for (pp_lex(&r->lexer, &t); t.kind != TOKEN_END; pp_lex(&r->lexer, &t)) {
        if (t.kind == TOKEN_HASH && t.flags & TOKEN_BEGINS)
            directive(r);
        else
            match(r, &r->out->code, add(r, &r->out->code, &t, t.place - 1 + r->lexer.begin));
    }
    finish(r, &r->out->code);
}

bool cuda_tokens_read(kernel_unit *u, const char *text, size_t bytes, cuda_tokens *out)
{
    jmp_buf escape, *outer = u->arena.escape;
    reader r = {.unit = u, .out = out};
    r.lexer = (pp_lexer){u, text, text, text + bytes, 1, true, false};
    *out = (cuda_tokens){0};
    u->arena.escape = &escape;
    const bool fine = !setjmp(escape);
    if (fine)
        read_all(&r);
    u->arena.escape = outer;
    return fine;
}

const char *cuda_header_macros(const char *name)
{
    const char *text = pp_header_text(name);
    return text ? text : "";
}
