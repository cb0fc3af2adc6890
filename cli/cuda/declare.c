/* Names and declarations: see declare.h. */
#include "cuda/declare.h"

#include <string.h>

/* ---- names ---- */

void name_mark(kernel_name *name, unsigned flags)
{
    if (name)
        name->symbol = (void *)((uintptr_t)name->symbol | flags);
}

unsigned name_flags(const cuda_token *t)
{
    switch (t->keyword) {
    case KEYWORD___global__: return IS_GLOBAL;
    case KEYWORD___device__: return IS_DEVICE;
    case KEYWORD___host__: return IS_HOST;
    case KEYWORD___constant__: return IS_CONSTANT;
    case KEYWORD___managed__: return IS_MANAGED;
    }
    return t->name ? (unsigned)(uintptr_t)t->name->symbol : 0;
}

void declare_macros(const cuda_tokens *s)
{
    for (int i = 0; i < s->n_directives; i++) {
        const cuda_list *d = &s->directives[i];
        if (d->n < 2 || !token_is(&d->at[0], "define"))
            continue;
        const bool has_params = d->at[2].kind == TOKEN_LPAREN && d->at[2].at == d->at[1].end;
        unsigned flags = 0;
        bool body = false;
        for (int k = 2; k < d->n; k++) {
            const unsigned f = name_flags(&d->at[k]);
            flags |= (f | f >> WITHIN) & QUALIFIERS;
            body |= d->at[k].kind == TOKEN_LBRACE || f >> WITHIN & QUALIFIERS;
        }
        name_mark(d->at[1].name, (body ? flags << WITHIN : flags) | (has_params ? NAMES_MACRO : 0));
    }
}

/* ---- tokens ---- */

bool token_is(const cuda_token *t, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(t->end - t->at) == n && memcmp(t->at, word, n) == 0;
}

bool token_in(const cuda_token *t, const char *words)
{
    const size_t n = (size_t)(t->end - t->at);
    for (; n && *words; words += strcspn(words, " "), words += *words == ' ')
        if (strncmp(words, t->at, n) == 0 && (!words[n] || words[n] == ' '))
            return true;
    return false;
}

void token_add(str *out, const cuda_list *s, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (i > from && s->at[i].at != s->at[i - 1].end)
            str_puts(out, " ");
        str_add(out, s->at[i].at, (size_t)(s->at[i].end - s->at[i].at));
    }
}

int token_angles(const cuda_token *t)
{
    switch (t->kind) {
    case TOKEN_LT: return 1;
    case TOKEN_SHL: return 2;
    case TOKEN_LAUNCH: return 3;
    case TOKEN_GT: return -1;
    case TOKEN_SHR: return -2;
    case TOKEN_LAUNCH_END: return -3;
    default: return 0;
    }
}

int token_behind_angles(const cuda_list *s, int i)
{
    int depth = 0;
    for (int k = i; k < s->n && s->at[k].kind != TOKEN_SEMICOLON && s->at[k].kind != TOKEN_LBRACE;
         k++) {
        if (s->at[k].pair > k)
            k = s->at[k].pair;
        depth += token_angles(&s->at[k]);
        if (depth <= 0)
            return k + 1;
    }
    return i + 1;
}

int token_next_piece(const cuda_list *s, int i, int end, token_piece *p)
{
    bool named = true;
    *p = (token_piece){.from = i, .to = end, .name = -1, .value = -1};
    for (; i < end; i++) {
        const cuda_token *t = &s->at[i];
        if (t->kind == TOKEN_COMMA) {
            p->to = i;
            break;
        }
        if (t->kind == TOKEN_ASSIGN && p->value < 0)
            p->value = i;
        named &= t->kind != TOKEN_LBRACKET && t->kind != TOKEN_ASSIGN;
        if (t->kind == TOKEN_NAME && named)
            p->name = i;
        if (t->kind == TOKEN_LPAREN && named && t[2].kind == TOKEN_NAME &&
            (t[1].kind == TOKEN_STAR || t[1].kind == TOKEN_AMP)) {
            p->name = i + 2; /* int (*rows)[3] */
            named = false;
        }
        p->variadic |= t->kind == TOKEN_ELLIPSIS;
        if (t->kind == TOKEN_LT)
            i = token_behind_angles(s, i) - 1;
        else if (t->pair > i)
            i = t->pair;
    }
    p->value = p->value < 0 ? p->to : p->value;
    return p->to + 1;
}

/* ---- declarations ---- */

/* A macro call that stands alone: NAME(...), with or without a semicolon. */
static bool is_macro_call(const cuda_token *t, const cuda_list *s)
{
    if (!(name_flags(t) & NAMES_MACRO) || t[1].kind != TOKEN_LPAREN || t[1].pair < 0)
        return false;
    const cuda_token *next = &s->at[t[1].pair + 1];
    return next->kind != TOKEN_COLON && next->kind != TOKEN_SCOPE && next->kind != TOKEN_ASSIGN &&
           next->keyword != KEYWORD_const;
}

static const char attributes[] =
    "__launch_bounds__ __attribute__ __align__ alignas decltype __cluster_dims__";

/* The ')' of an attribute such as __launch_bounds__(256), or of a macro with arguments, before the name of a function;
 * i if there is none. */
static int behind_attribute(const cuda_list *s, int i)
{
    const cuda_token *t = &s->at[i];
    if (t[1].kind != TOKEN_LPAREN || t[1].pair < i)
        return i;
    const bool macro = name_flags(t) & NAMES_MACRO && s->at[t[1].pair + 1].kind == TOKEN_NAME;
    return macro || token_in(t, attributes) ? t[1].pair : i;
}

static bool begins_declaration(const cuda_token *t)
{
    return name_flags(t) & QUALIFIERS ||
           token_in(t, "template static extern inline namespace struct typedef using void");
}

/* The body of a constructor, from the ':' of its initializers. */
static int behind_initializers(const cuda_list *s, int i, int end)
{
    for (i++; i < end; i++) {
        const int before = s->at[i - 1].kind;
        if (s->at[i].kind == TOKEN_LBRACE && before != TOKEN_COMMA && before != TOKEN_NAME &&
            before != TOKEN_GT)
            return i;
        if (s->at[i].pair > i)
            i = s->at[i].pair;
    }
    return i;
}

/* The last token of an operator's name, from `operator` on. */
static int operator_end(const cuda_list *s, int i, int end)
{
    while (i + 1 < end && s->at[i + 1].kind != TOKEN_LPAREN)
        i++;
    return s->at[i + 1].pair == i + 2 && s->at[i + 3].kind == TOKEN_LPAREN ? i + 2 : i;
}

static void note_word(const cuda_list *s, int i, declaration *d)
{
    const cuda_token *t = &s->at[i];
    d->flags |= (name_flags(t) & QUALIFIERS) << (d->value < 0 ? 0 : WITHIN);
    switch (t->keyword) {
    case KEYWORD_struct:
    case KEYWORD_class:
    case KEYWORD_union: d->flags |= d->params < 0 ? IS_CLASS : 0; break;
    case KEYWORD_enum: d->flags |= IS_ENUM; break;
    case KEYWORD_const: d->flags |= d->params < 0 ? IS_CONST : 0; break;
    case KEYWORD_constexpr: d->flags |= IS_CONSTEXPR; break;
    case KEYWORD___shared__: d->flags |= IS_SHARED; break;
    case KEYWORD_virtual: d->flags |= IS_VIRTUAL; break;
    case KEYWORD_friend: d->flags |= IS_FRIEND; break;
    default:
        d->flags |= token_is(t, "consteval") ? IS_CONSTEXPR : 0;
        d->flags |= token_is(t, "override") ? IS_VIRTUAL : 0;
    }
    if (d->params < 0 && d->value < 0 && d->colon < 0 && !token_is(t, "final")) {
        d->name = i;
        d->special = -1;
    }
}

static declaration read_macro(const cuda_list *s, declaration d)
{
    const unsigned f = name_flags(&s->at[d.begin]);
    d.flags = IS_MACRO | ((f | f >> WITHIN) & QUALIFIERS);
    d.end = s->at[d.begin + 1].pair;
    const cuda_token *next = &s->at[d.end + 1];
    if (next->kind == TOKEN_SEMICOLON)
        d.end++;
    else if (next->kind == TOKEN_LBRACE && next->pair > 0)
        d.end = next->pair;
    return d;
}

/* Reads a group in parentheses; returns its ')'. */
static int read_parens(const cuda_list *s, int i, declaration *d)
{
    const int next = s->at[i + 1].kind;
    if (d->params < 0 && d->value < 0 && d->name >= 0 && next != TOKEN_STAR && next != TOKEN_AMP)
        d->params = i;
    return s->at[i].pair;
}

/* Reads a group in braces; true if the declaration ends with it: a function does. */
static bool read_braces(const cuda_list *s, int i, declaration *d)
{
    const bool body = d->value < 0 && (d->params >= 0 || d->flags & (IS_CLASS | IS_ENUM));
    if (body && d->body < 0)
        d->body = i;
    if (body && d->params >= 0)
        d->end = s->at[i].pair;
    return body && d->params >= 0;
}

declaration declare_read(const cuda_list *s, int i, int end)
{
    declaration d = {0, i, end - 1, -1, i, -1, -1, -1, -1, -1, -1};
    if (is_macro_call(&s->at[i], s))
        return read_macro(s, d);
    for (; i < end; i++) {
        const cuda_token *t = &s->at[i];
        if (t->keyword == KEYWORD_template && t[1].kind == TOKEN_LT) {
            d.template = i + 1;
            i = token_behind_angles(s, i + 1) - 1;
            d.first = i + 1;
        } else if (t->keyword == KEYWORD_operator) {
            d.name = i;
            i = operator_end(s, i, end);
        } else if (t->kind == TOKEN_NAME && behind_attribute(s, i) > i) {
            i = behind_attribute(s, i);
        } else if (d.params >= 0 && s->at[d.params].pair == i - 1 && begins_declaration(t)) {
            d.flags |= IS_MACRO; /* a macro call without a semicolon precedes the declaration */
            d.end = i - 1;
            return d;
        } else if (t->kind == TOKEN_NAME) {
            note_word(s, i, &d);
        } else if (t->kind == TOKEN_LT && d.value < 0 && d.params < 0) {
            d.special = i;
            i = token_behind_angles(s, i) - 1;
        } else if (t->kind == TOKEN_LPAREN && t->pair > i) {
            i = read_parens(s, i, &d);
        } else if (t->kind == TOKEN_LBRACKET && t->pair > i) {
            i = t->pair;
        } else if (t->kind == TOKEN_COLON && d.colon < 0 && (d.params >= 0 || d.flags & IS_CLASS)) {
            d.colon = i;
            if (d.params >= 0)
                i = behind_initializers(s, i, end) - 1;
        } else if (t->kind == TOKEN_ASSIGN && d.value < 0) {
            d.value = i;
        } else if (t->kind == TOKEN_LBRACE && t->pair > i) {
            if (read_braces(s, i, &d))
                return d;
            i = t->pair;
        } else if (t->kind == TOKEN_SEMICOLON) {
            d.end = i;
            return d;
        }
    }
    return d;
}

int declare_namespace(const cuda_list *s, int i)
{
    if (s->at[i].keyword == KEYWORD_extern && s->at[i + 1].kind == TOKEN_STRING)
        return s->at[i + 2].kind == TOKEN_LBRACE ? i + 2 : -1;
    i += s->at[i].keyword == KEYWORD_inline;
    if (s->at[i].keyword != KEYWORD_namespace)
        return -1;
    while (s->at[i].kind == TOKEN_NAME || s->at[i].kind == TOKEN_SCOPE)
        i++;
    return s->at[i].kind == TOKEN_LBRACE ? i : -1;
}

int declare_between(const cuda_list *s, int i)
{
    if (s->at[i].kind == TOKEN_NAME && s->at[i + 1].kind == TOKEN_COLON)
        return i + 2;
    return s->at[i].kind == TOKEN_SEMICOLON ? i + 1 : i;
}
