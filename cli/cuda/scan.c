/* Tokens for the rewriter: see scan.h. */
#include "scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct scanner {
    const char *at, *end;
    scan out;
    int room, directive, n_directives;
    bool begins; /* only white space precedes it on its line */
} scanner;

/* Tokens of padding before the first and after the last one: code may look some tokens back or ahead. */
enum { MARGIN = 8 };

static void add(scanner *s, scan_kind kind, const char *from, const char *to)
{
    if (s->out.n + 2 * MARGIN >= s->room) {
        scan_token *all = s->out.at ? s->out.at - MARGIN : NULL;
        s->room = s->room ? s->room * 2 : 1024;
        s->out.at = (scan_token *)heap_resize(all, (size_t)s->room * sizeof *all) + MARGIN;
    }
    s->out.at[s->out.n++] = (scan_token){.kind = kind,
                                         .mark = kind == SCAN_MARK ? *from : 0,
                                         .at = from,
                                         .bytes = (uint32_t)(to - from),
                                         .directive = s->directive,
                                         .pair = -1};
    s->begins = false;
}

static bool next_is(const scanner *s, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(s->end - s->at) >= n && memcmp(s->at, text, n) == 0;
}

static bool space(scanner *s)
{
    if (next_is(s, "\\\n") || next_is(s, "\\\r\n")) {
        s->at += s->at[1] == '\r' ? 3 : 2;
    } else if (*s->at == '\n') {
        s->directive = 0;
        s->begins = true;
        s->at++;
    } else if (isspace((unsigned char)*s->at)) {
        s->at++;
    } else if (next_is(s, "//")) {
        while (s->at < s->end && *s->at != '\n')
            s->at += next_is(s, "\\\n") ? 2 : 1;
    } else if (next_is(s, "/*")) {
        for (s->at += 2; s->at < s->end && !next_is(s, "*/"); s->at++)
            ;
        s->at = s->end - s->at < 2 ? s->end : s->at + 2;
    } else {
        return false;
    }
    return true;
}

/* Skips a string or character literal, at its first quote. */
static void quoted(scanner *s)
{
    const char quote = *s->at++;
    while (s->at < s->end && *s->at != quote && *s->at != '\n')
        s->at += *s->at == '\\' && s->end - s->at > 1 ? 2 : 1;
    s->at += s->at < s->end && *s->at == quote;
}

/* Skips a raw string R"x( ... )x", at its quote. */
static void raw(scanner *s)
{
    char close[32] = ")";
    size_t n = 0;
    for (s->at++; s->at < s->end && *s->at != '(' && n < sizeof close - 3; n++)
        close[n + 1] = *s->at++;
    close[n + 1] = '"';
    close[n + 2] = 0;
    while (s->at < s->end && !next_is(s, close))
        s->at++;
    s->at = s->end - s->at < (ptrdiff_t)(n + 2) ? s->end : s->at + n + 2;
}

static void token(scanner *s)
{
    const char *from = s->at;
    const unsigned char c = (unsigned char)*from;
    if (isalpha(c) || c == '_' || c == '$' || c >= 0x80) {
        while (s->at < s->end && (isalnum((unsigned char)*s->at) || *s->at == '_' ||
                                  *s->at == '$' || (unsigned char)*s->at >= 0x80))
            s->at++;
        const size_t n = (size_t)(s->at - from);
        const bool before = n <= 3 && s->at < s->end && (*s->at == '"' || *s->at == '\'') &&
                            (strchr("uULR", from[0]) != NULL);
        if (before && from[n - 1] == 'R' && *s->at == '"')
            raw(s);
        else if (before)
            quoted(s);
        add(s, before ? SCAN_STRING : SCAN_NAME, from, s->at);
    } else if (isdigit(c) || (c == '.' && s->end - from > 1 && isdigit((unsigned char)from[1]))) {
        while (s->at < s->end &&
               (isalnum((unsigned char)*s->at) || *s->at == '.' || *s->at == '_' ||
                *s->at == '\'' || ((*s->at == '+' || *s->at == '-') && strchr("eEpP", s->at[-1]))))
            s->at++;
        add(s, SCAN_NUMBER, from, s->at);
    } else if (c == '"' || c == '\'') {
        quoted(s);
        add(s, SCAN_STRING, from, s->at);
    } else {
        if (c == '#' && s->begins && !s->directive)
            s->directive = ++s->n_directives;
        s->at++;
        add(s, SCAN_MARK, from, s->at);
    }
}

static scan_condition scan_conditional(const scan_token *t)
{
    static const struct {
        const char *word;
        scan_condition condition;
    } words[] = {{"if", CONDITION_IF},     {"ifdef", CONDITION_IF},  {"ifndef", CONDITION_IF},
                 {"else", CONDITION_ELSE}, {"elif", CONDITION_ELSE}, {"endif", CONDITION_END}};
    if (t->mark != '#' || !t->directive || t[1].directive != t->directive)
        return CONDITION_NONE;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (scan_is(&t[1], words[i].word))
            return words[i].condition;
    return CONDITION_NONE;
}

int scan_depth(scan_conditions *c, const scan_token *t, int depth)
{
    const scan_condition condition = scan_conditional(t);
    if (condition == CONDITION_IF && c->n++ < SCAN_CONDITIONS)
        c->depth[c->n - 1] = depth;
    else if (condition == CONDITION_ELSE && c->n > 0 && c->n <= SCAN_CONDITIONS)
        return depth < c->depth[c->n - 1] ? depth : c->depth[c->n - 1];
    else if (condition == CONDITION_END && c->n > 0)
        c->n--;
    return depth;
}

/* Matches brackets: those outside of directives with each other, those of a directive among themselves. */
static void pair(scan *s)
{
    int *open = heap_get((size_t)(s->n + 1) * sizeof *open), n = 0;
    scan_conditions conditions = {0};
    for (int i = 0; i < s->n; i++) {
        scan_token *t = &s->at[i];
        n = scan_depth(&conditions, t, n);
        const char *closing = t->mark ? strchr(")]}", t->mark) : NULL;
        if (t->mark && strchr("([{", t->mark)) {
            open[n++] = i;
        } else if (closing) {
            const char wanted = "([{"[closing - ")]}"];
            int k = n;
            while (k &&
                   (s->at[open[k - 1]].directive != t->directive ||
                    s->at[open[k - 1]].mark != wanted) &&
                   s->at[open[k - 1]].directive)
                k--;
            if (k && s->at[open[k - 1]].directive == t->directive &&
                s->at[open[k - 1]].mark == wanted) {
                n = k - 1;
                s->at[open[n]].pair = i;
                t->pair = open[n];
            }
        }
    }
    free(open);
}

scan scan_text(const char *text, size_t bytes)
{
    scanner s = {.at = text, .end = text + bytes, .begins = true};
    while (s.at < s.end)
        if (!space(&s))
            token(&s);
    s.directive = 0;
    for (int i = 0; i < MARGIN; i++)
        add(&s, SCAN_END, s.end, s.end);
    s.out.n -= MARGIN;
    for (int i = 1; i <= MARGIN; i++)
        s.out.at[-i] = (scan_token){.kind = SCAN_END, .at = text, .pair = -1};
    pair(&s.out);
    return s.out;
}

void scan_free(scan *s)
{
    free(s->at ? s->at - MARGIN : NULL);
    *s = (scan){0};
}

bool scan_is(const scan_token *t, const char *word)
{
    return t->bytes == strlen(word) && memcmp(t->at, word, t->bytes) == 0;
}

/* ---- lists ---- */

int scan_behind_angles(const scan *s, int i)
{
    int depth = 0;
    for (int k = i; k < s->n && s->at[k].mark != ';' && s->at[k].mark != '{'; k++) {
        if (s->at[k].pair > k)
            k = s->at[k].pair;
        depth += (s->at[k].mark == '<') - (s->at[k].mark == '>');
        if (!depth)
            return k + 1;
    }
    return i + 1;
}

int scan_next_piece(const scan *s, int i, int end, scan_piece *p)
{
    bool named = true;
    *p = (scan_piece){.from = i, .to = end, .name = -1, .value = -1};
    for (; i < end; i++) {
        const scan_token *t = &s->at[i];
        if (t->mark == ',') {
            p->to = i;
            break;
        }
        if (t->mark == '=' && p->value < 0)
            p->value = i;
        named &= t->mark != '[' && t->mark != '=';
        if (t->kind == SCAN_NAME && named)
            p->name = i;
        if (t->mark == '(' && named && strchr("*&", s->at[i + 1].mark ? s->at[i + 1].mark : 'x') &&
            s->at[i + 2].kind == SCAN_NAME) {
            p->name = i + 2; /* int (*rows)[3] */
            named = false;
        }
        p->variadic |= t->mark == '.';
        if (t->mark == '<')
            i = scan_behind_angles(s, i) - 1;
        else if (t->pair > i)
            i = t->pair;
    }
    p->value = p->value < 0 ? p->to : p->value;
    return p->to + 1;
}
